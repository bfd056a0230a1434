package bundle

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"faultline/messages/redact"
)

const (
	// maxLine bounds the memory that one line takes; what is longer is cut, and says so.
	maxLine = 256 << 10
	// maxLog bounds the content of one log in a bundle; what is longer is cut, and says so.
	maxLog = 1 << 30
	// maxKeyLines bounds how far a private key without an end masks what follows; the longest real ones have 210 lines.
	maxKeyLines = 1000
)

// errCut says that a log is longer than what a bundle holds of it.
var errCut = errors.New("only the beginning is here: the file exceeds the bundle's limit")

// redactLog copies a log, redacted: line n of the copy is line n of the log. A carriage return inside a line, which would begin a new
// line here, is written as ␍.
func redactLog(w io.Writer, r io.Reader, limit int64) error {
	out := window{w: bufio.NewWriter(w)}
	in := bufio.NewReaderSize(&io.LimitedReader{R: r, N: limit}, 64<<10)
	var keys keyMasker
	var read int64
	for {
		line, n, err := readLine(in)
		read += n
		if n > 0 {
			out.open = !strings.HasSuffix(line, "\n")
			if err := out.add(keys.next(strings.TrimSuffix(line, "\n"))); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(err, out.close())
		}
	}
	if err := out.close(); err != nil {
		return err
	}
	if read >= limit {
		return errCut
	}
	return nil
}

const (
	// around is how many lines before and behind a line are read with it: a value may stand below its name, a secret on two lines.
	around = 8
	// windowLines and windowBytes bound what is redacted at a time.
	windowLines = 128
	windowBytes = 512 << 10
)

// window redacts lines together with those around them.
type window struct {
	w       *bufio.Writer
	lines   []string
	bytes   int
	written int  // of the lines, those at the front that were written and stay for what follows them
	open    bool // the last line has no end
}

func (w *window) add(line string) error {
	w.lines = append(w.lines, line)
	w.bytes += len(line)
	if len(w.lines) < windowLines && w.bytes < windowBytes {
		return nil
	}
	return w.write(max(w.written, len(w.lines)-around))
}

// write writes the lines up to one of them, and forgets all but those around it.
func (w *window) write(upTo int) error {
	clean := strings.Split(redact.String(strings.Join(w.lines, "\n")), "\n")
	if len(clean) != len(w.lines) { // a mask took a line's end: no telling which line is which
		clean = nil
		for _, line := range w.lines {
			clean = append(clean, redact.String(line))
		}
	}
	for i := w.written; i < upTo; i++ {
		end := "\n"
		if w.open && i == len(w.lines)-1 {
			end = ""
		}
		if _, err := w.w.WriteString(oneLine(clean[i]) + end); err != nil {
			return err
		}
	}
	from := max(0, upTo-around)
	w.lines = append(w.lines[:0], w.lines[from:]...)
	w.written, w.bytes = upTo-from, 0
	for _, line := range w.lines {
		w.bytes += len(line)
	}
	return nil
}

// close writes what is left.
func (w *window) close() error {
	if err := w.write(len(w.lines)); err != nil {
		return err
	}
	return w.w.Flush()
}

// readLine reads one line with its end; of a line that is too long, the beginning and a remark. n is what was read of the log.
func readLine(in *bufio.Reader) (line string, n int64, err error) {
	var b bytes.Buffer
	var left int64
	for {
		part, err := in.ReadSlice('\n')
		n += int64(len(part))
		if room := maxLine - b.Len(); len(part) > room {
			left += int64(len(part) - room)
			part = part[:room]
		}
		b.Write(part)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if left > 0 {
			ended := err == nil
			if ended {
				left-- // the line's end
			}
			// A token that is cut is no token any more, and would not be masked: cut before it.
			kept := b.Bytes()
			if i := bytes.LastIndexByte(kept, ' '); i > len(kept)-4096 && i > 0 {
				left += int64(len(kept) - i)
				kept = kept[:i]
			} else {
				left += min(4096, int64(len(kept)))
				kept = kept[:max(0, len(kept)-4096)]
			}
			line = fmt.Sprintf("%s [… %d bytes of this line are left out]", kept, left)
			if ended {
				line += "\n"
			}
			return line, n, err
		}
		return b.String(), n, err
	}
}

// keyMasker masks private keys, which have more lines than a window.
type keyMasker struct {
	left int // lines that still belong to a key
}

func (m *keyMasker) next(line string) string {
	line = strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\r", "␍")
	if m.left > 0 {
		m.left--
		if i := strings.Index(line, "-----END "); i >= 0 {
			m.left = 0
			rest := line[i+len("-----END "):]
			if j := strings.Index(rest, "-----"); j >= 0 {
				return redact.Mask + m.next(rest[j+len("-----"):])
			}
		}
		return redact.Mask
	}
	if i := strings.LastIndex(line, "-----BEGIN "); i >= 0 && strings.Contains(line[i:], "PRIVATE KEY") && !strings.Contains(line[i:], "-----END ") {
		m.left = maxKeyLines
		return line[:i] + redact.Mask
	}
	return line
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", "␍") }
