package aislog

import (
	"bytes"
	"io"

	"faultline/analysis/scan"
)

// toEnd reads the last lines once more for the time that they end at.
func (r *reader) toEnd(t *ending, st scan.Stats) {
	if r.p == nil {
		return
	}
	b, off := t.lines()
	no := st.Lines - int64(bytes.Count(b, []byte{'\n'}))
	if len(b) == 0 || b[len(b)-1] == '\n' {
		no++
	}
	for len(b) > 0 {
		line, rest, _ := bytes.Cut(b, []byte{'\n'})
		if off >= r.seen {
			if severity, micros, ok := stamp(line); ok {
				r.p.info = r.p.info || severity == 'I'
				rec := record{b: line, at: At{File: r.f.name, Line: no, Off: off, Len: len(line)}, time: r.clock.at(micros)}
				r.span(&rec)
			}
		}
		off += int64(len(b) - len(rest))
		no++
		b = rest
	}
}

// tailBytes of a file are kept to see when it ends; a line of a daemon is at most 32 KiB long.
const tailBytes = 64 << 10

// ending keeps the last bytes that went through it.
type ending struct {
	in  io.Reader
	buf []byte
	off int64 // of buf
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.in.Read(p)
	b := p[:n]
	if cut := len(b) - tailBytes; cut > 0 {
		e.off += int64(len(e.buf) + cut)
		e.buf, b = e.buf[:0], b[cut:]
	}
	if drop := len(e.buf) + len(b) - 4*tailBytes; drop > 0 && len(e.buf) > tailBytes {
		drop = len(e.buf) - tailBytes
		e.off += int64(drop)
		e.buf = append(e.buf[:0], e.buf[drop:]...)
	}
	e.buf = append(e.buf, b...)
	return n, err
}

// lines are the last whole lines and where they begin.
func (e *ending) lines() ([]byte, int64) {
	b, off := e.buf, e.off
	if drop := len(b) - tailBytes; drop > 0 {
		b, off = b[drop:], off+int64(drop)
	}
	if off > 0 {
		i := bytes.IndexByte(b, '\n') + 1
		if i == 0 {
			return nil, off
		}
		b, off = b[i:], off+int64(i)
	}
	return b, off
}
