package scan

import "bytes"

// maxHoles bounds how many holes are kept; a file with more is named by its first ones.
const maxHoles = 1024

// count takes note of bytes as they are read.
func (c *cutter) count(b []byte) {
	if len(b) == 0 {
		return
	}
	c.lastByte = b[len(b)-1]
	if bytes.IndexByte(b, 0) < 0 {
		c.hole(c.bytes)
		c.bytes += int64(len(b))
		return
	}
	for i := 0; i < len(b); {
		if b[i] != 0 {
			c.hole(c.bytes + int64(i))
			z := bytes.IndexByte(b[i:], 0)
			if z < 0 {
				break
			}
			i += z
			continue
		}
		j := i + nulRun(b[i:])
		c.run0 += int64(j - i)
		c.nuls += int64(j - i)
		i = j
	}
	c.bytes += int64(len(b))
}

// nulRun is how many NUL bytes b begins with.
func nulRun(b []byte) int {
	n := 0
	for len(b)-n >= len(zeros) && bytes.Equal(b[n:n+len(zeros)], zeros[:]) {
		n += len(zeros)
	}
	for n < len(b) && b[n] == 0 {
		n++
	}
	return n
}

var zeros [256]byte

// hole ends the run of NUL bytes that reaches up to end.
func (c *cutter) hole(end int64) {
	if c.run0 >= minHole && len(c.holes) < maxHoles {
		c.holes = append(c.holes, Hole{Off: end - c.run0, Len: c.run0})
	}
	c.run0 = 0
}

// stats closes the books of a content with so many newlines.
func (c *cutter) stats(newlines int64) Stats {
	c.hole(c.bytes)
	st := Stats{Bytes: c.bytes, Lines: newlines, NULs: c.nuls, Holes: c.holes}
	if c.bytes > 0 && c.lastByte != '\n' {
		st.Lines++
	}
	return st
}
