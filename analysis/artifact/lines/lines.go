// Package lines gives the readers of text evidence one line at a time with where it stands: bounded, whatever the file holds.
package lines

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"faultline/pattern"
)

// Max is how much of a line is read; tools for people write shorter ones. What is longer is cut, and counted as a line all the same.
const Max = 4096

// Place is where something stands in a file: line, offset in bytes, and how many bytes of it were read.
type Place struct {
	Line, Offset int64
	Len          int
}

// Line is one line, without its end.
type Line struct {
	Place
	Text string
	// Cut is true where the line is longer than Text.
	Cut bool
}

// Each calls f for every line of r. It ends with the first error of f, of the context or of the reader.
func Each(ctx context.Context, r io.Reader, f func(Line) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	off, no := int64(0), int64(0)
	for {
		if no&1023 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		raw, err := br.ReadSlice('\n')
		if len(raw) == 0 && err != nil {
			return end(err)
		}
		no++
		l := Line{Place: Place{Line: no, Offset: off}}
		l.Cut = errors.Is(err, bufio.ErrBufferFull)
		off += int64(len(raw))
		text := bytes.TrimRight(raw, "\r\n")
		if no == 1 {
			cut := bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
			l.Offset += int64(len(text) - len(cut))
			text = cut
		}
		if len(text) > Max {
			text, l.Cut = text[:Max], true
		}
		l.Text, l.Len = string(text), len(text)
		for errors.Is(err, bufio.ErrBufferFull) {
			raw, err = br.ReadSlice('\n')
			off += int64(len(raw))
		}
		if ferr := f(l); ferr != nil {
			return ferr
		}
		if err != nil {
			return end(err)
		}
	}
}

func end(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Quotable says that a line can be quoted as a whole.
func (l Line) Quotable() bool { return !l.Cut && utf8.ValidString(l.Text) }

// label is what launchers put in front of each line: mpirun "[1,0]<stdout>:", srun "12: ", clush and pdsh "node03: ".
var label = pattern.New(`^(?:\[\d{1,6},\d{1,6}\]<std(?:out|err)>: ?|[ ]{0,5}\d{1,6}: |([A-Za-z][A-Za-z0-9.-]{0,62}): ?)`)

// Peel takes one label of a launcher off the left; host is the name in it, "" where it holds none.
func Peel(text string) (rest, host string, ok bool) {
	m := label.FindStringSubmatchIndex(text)
	if m == nil {
		return text, "", false
	}
	if m[2] >= 0 {
		host = text[m[2]:m[3]]
	}
	return text[m[1]:], host, true
}

// prompts: "root@node03:~# ibstat", "[user@node03 ~]$ ibstat mlx5_0".
var prompt = pattern.New(`^\[?(?:\([\w.-]{1,40}\) )?[\w.-]{1,40}@([A-Za-z0-9][A-Za-z0-9.-]{0,62})(?::[^#$]{0,200}| [^\]]{0,200}\])?\s?[#$] ?(.*)$`)

// Prompt reads a shell's prompt with the command behind it. A bare "$ " or "# " names no host, and is one only where it stands
// before one of the commands that the caller knows.
func Prompt(text string) (host, command string, ok bool) {
	if m := prompt.FindStringSubmatch(text); m != nil {
		return m[1], strings.TrimSpace(m[2]), true
	}
	for _, p := range []string{"$ ", "+ "} {
		if rest, found := strings.CutPrefix(text, p); found {
			return "", strings.TrimSpace(rest), true
		}
	}
	return "", "", false
}
