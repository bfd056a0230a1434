package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"faultline/workflow"
)

// Several logs in one text, each under the header that tail and head print where they are given many files:
//
//	==> rank_0.log <==
//	…
//
//	==> rank_1.log <==
//
// The headers are all that says which lines are of whom, so that such a text is unpacked like an archive. "tail -f" repeats a
// header whenever another file grows: what stands under equal ones is one file.

// maxHeader bounds a header's line.
const maxHeader = maxNameLen + len("==>  <==\r\n")

// byteOrder is the mark that Windows' editors put in front of a text.
const byteOrder = "\xef\xbb\xbf"

// header is the name in a header's line, without its line end.
func header(l []byte) (string, bool) {
	l = bytes.TrimRight(l, "\r\n")
	name, ok := bytes.CutPrefix(l, []byte("==> "))
	if !ok {
		return "", false
	}
	name, ok = bytes.CutSuffix(name, []byte(" <=="))
	// "==> /proc/4711/stack <==" is a kernel's stack: evidence beside logs, which is read as a whole.
	if !ok || len(name) == 0 || len(name) > maxNameLen || bytes.HasPrefix(name, []byte("/proc/")) {
		return "", false
	}
	return string(name), true
}

// isJoined says of a text's start that it is of several logs under headers.
func isJoined(start []byte) bool {
	start = bytes.TrimLeft(bytes.TrimPrefix(start, []byte(byteOrder)), "\r\n")
	end := bytes.IndexByte(start, '\n')
	if end < 0 {
		return false
	}
	_, ok := header(start[:end])
	return ok
}

// Limits of what is taken apart. What has more is read as one text.
const (
	maxParts   = 4 << 10
	maxHeaders = 16 << 10
)

// logEndings are endings of logs. Scripts print such headers, too, over what they show of a folder ("==> config.yaml <==") or before they
// ask each node something ("==> node3 <==").
var logEndings = map[string]bool{".log": true, ".out": true, ".err": true, ".txt": true, ".stdout": true, ".stderr": true}

// several says that a file whose text begins with a header is of more than one log, and of nothing else.
func (g *gatherer) several(p string) bool {
	f, err := g.gate.Open(p)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, 4)
	n, err := f.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	var r io.Reader = f
	if z, closer := unpack(bufio.NewReader(f), start[:n]); z != nil {
		defer closer()
		r = z
	}
	b := bufio.NewReaderSize(r, 64<<10)
	if mark, _ := b.Peek(len(byteOrder)); string(mark) == byteOrder {
		if _, err := b.Discard(len(byteOrder)); err != nil {
			return false
		}
	}
	names, headers := map[string]bool{}, 0
	for whole := true; ; {
		l, err := b.ReadSlice('\n')
		if name, ok := header(l); ok && whole && len(l) <= maxHeader {
			name = relative(name)
			clean, fits := safe(name)
			headers++
			if names[name] = true; !fits || hidden(clean) || !logEndings[extension(clean)] || len(names) > maxParts || headers > maxHeaders {
				return false
			}
		}
		if whole = err == nil; err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return len(names) > 1
		}
	}
}

// joined takes such a text apart, and each part as an archive's entry.
func (u *unpacking) joined(r io.Reader) error {
	dir, err := os.MkdirTemp(u.opts.SpoolDir, "joined-")
	if err != nil {
		return workflow.NotKept(err)
	}
	defer os.RemoveAll(dir)
	p := parts{unpacking: u, dir: dir, index: map[string]int{}}
	err = errors.Join(p.split(bufio.NewReaderSize(r, 64<<10)), p.close())
	base := common(p.names)
	for i, name := range p.names {
		f, ferr := u.gate.Open(p.file(i))
		if ferr != nil {
			return errors.Join(err, ferr)
		}
		ferr = u.entry(strings.TrimPrefix(name, base), f)
		f.Close()
		os.Remove(p.file(i))
		if ferr != nil {
			return errors.Join(err, ferr)
		}
	}
	return err
}

// parts are the files of one such text, while they are written.
type parts struct {
	*unpacking
	dir   string
	names []string
	index map[string]int
	f     *os.File
	w     *bufio.Writer
	n     int64
}

func (p *parts) file(i int) string { return filepath.Join(p.dir, fmt.Sprint(i)) }

// split writes the parts. The empty line in front of a header is the header's.
func (p *parts) split(r *bufio.Reader) error {
	if mark, _ := r.Peek(len(byteOrder)); string(mark) == byteOrder {
		if _, err := r.Discard(len(byteOrder)); err != nil {
			return err
		}
	}
	blank := []byte(nil) // held back
	from := true         // at the beginning of a line
	for {
		l, err := r.ReadSlice('\n')
		whole := from
		from = err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return err
		}
		if err := p.ctx.Err(); err != nil {
			return err
		}
		if name, ok := header(l); ok && whole && len(l) <= maxHeader {
			blank = nil
			if err := p.open(name); err != nil {
				return err
			}
		} else if len(l) > 0 && p.w != nil {
			if p.n += int64(len(blank) + len(l)); p.n > p.lim.spool-p.spooled {
				return errSpool
			}
			was := blank
			if blank = nil; whole && len(bytes.TrimRight(l, "\r\n")) == 0 {
				blank, l = bytes.Clone(l), nil
			}
			if _, err := p.w.Write(append(was, l...)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			if p.w != nil {
				_, err := p.w.Write(blank)
				return err
			}
			return nil
		}
	}
}

// open goes on with the part of a name.
func (p *parts) open(name string) error {
	if err := p.close(); err != nil {
		return err
	}
	name = relative(name)
	i, ok := p.index[name]
	if !ok {
		if i = len(p.names); i > p.lim.entries {
			return p.full()
		}
		p.index[name], p.names = i, append(p.names, name)
	}
	f, err := os.OpenFile(p.file(i), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return workflow.NotKept(err)
	}
	p.f, p.w = f, bufio.NewWriterSize(workflow.Keeping(f), 64<<10)
	return nil
}

func (p *parts) close() error {
	if p.f == nil {
		return nil
	}
	err := errors.Join(p.w.Flush(), p.f.Close())
	p.f, p.w = nil, nil
	return err
}

// relative is a path without what leads to its place from elsewhere: "../logs/a" and "/scratch/logs/a" name a log, and no place here.
func relative(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if name == "" {
		return "log"
	}
	return name
}

// common is the folder that all names have in front, with its slash.
func common(names []string) string {
	if len(names) == 0 {
		return ""
	}
	dir := names[0]
	for _, name := range names {
		for {
			dir = dir[:strings.LastIndexByte(dir, '/')+1]
			if strings.HasPrefix(name, dir) {
				break
			}
			dir = strings.TrimSuffix(dir, "/")
		}
	}
	return dir
}
