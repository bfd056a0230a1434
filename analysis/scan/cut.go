package scan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// piece is a part of the content that can be searched without its neighbours: whole lines, or a window of a line that is
// too long to be held.
type piece struct {
	b      []byte
	above  []byte // the last bytes before b, which lie right before it in memory; none behind a window
	below  []byte // what was read of the bytes behind b, which lie right behind it
	off    int64  // of b in the content
	total  int64  // where the content ends; −1: not known yet
	window bool
	skip   bool // it is not to be searched
	final  bool // the content ends in it without \n
	// What was found ahead, by which filter; nil: nothing was looked for.
	by    *filter
	found []match
}

// cutter cuts content into pieces, in order. How it is read makes no difference to what is delivered.
type cutter struct {
	*Scanner
	r     io.Reader
	off   int64  // of what comes next
	rest  []byte // what was read and not given, behind ctx bytes of what was
	ctx   int
	long  bool // the last piece was a window
	ended bool
	err   error // that ended it, io.EOF included

	bytes, nuls int64
	lastByte    byte
	holes       []Hole
	run0        int64 // length of the run of NUL bytes at the end of what was read
}

// next cuts the next piece, in the memory of buf. The piece before stays as it was only if it has other memory.
func (c *cutter) next(p *piece, buf []byte) bool {
	from, n := c.ctx, copy(buf, c.rest)
	*p = piece{off: c.off, total: -1, found: p.found[:0]}
	for !c.ended {
		if n-from > c.opts.MaxLine+c.hold() {
			p.b, p.window = buf[from:from+c.opts.MaxLine], true
			keep := c.opts.MaxLine - c.overlap
			c.rest, c.ctx, c.long = buf[from+keep:n], 0, true
			c.off += int64(keep)
			return true
		}
		var m int
		m, c.err = fill(c.r, buf[n:n+c.opts.ChunkSize])
		c.count(buf[n : n+m])
		n += m
		end := from + bytes.LastIndexByte(buf[from:max(n-c.hold(), from)], '\n') + 1
		if c.err != nil {
			c.ended, end = true, n
			p.total = c.off + int64(n-from)
		}
		if end == from {
			continue
		}
		p.b, p.above, p.below = buf[from:end], buf[:from], buf[end:n]
		p.final = c.ended && buf[end-1] != '\n'
		p.skip = c.skipped(end - from)
		c.ctx = min(aboveMost, end)
		c.rest = buf[end-c.ctx : n]
		c.off += int64(end - from)
		c.long = false
		return true
	}
	return false
}

// skipped says whether the next n bytes are not to be searched. The end of a long line that was begun is searched all the
// same.
func (c *cutter) skipped(n int) bool {
	return c.skipTo > 0 && !c.long && c.off >= c.skipFrom && c.off+int64(n) <= c.skipTo
}

// failure is why the content ended before its end.
func (c *cutter) failure() error {
	if c.err == nil || errors.Is(c.err, io.EOF) {
		return nil
	}
	return fmt.Errorf("after %d bytes: %w", c.bytes, c.err)
}

// fill reads until b is full or the reader ends or fails. Unlike io.ReadFull it hands errors on as they are.
func fill(r io.Reader, b []byte) (n int, err error) {
	idle := 0
	for n < len(b) && err == nil {
		var m int
		m, err = r.Read(b[n:])
		n += m
		if m > 0 {
			idle = 0
		} else if idle++; idle > 100 && err == nil {
			err = io.ErrNoProgress
		}
	}
	return n, err
}
