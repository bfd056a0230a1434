package scan

import "bytes"

// maxHoles bounds how many holes are kept; a file with more is named by its first ones.
const maxHoles = 1024

// count takes note of bytes as they are read.
func (p *pass) count(b []byte) {
	if len(b) == 0 {
		return
	}
	p.lines += int64(bytes.Count(b, newline))
	p.lastByte = b[len(b)-1]
	if bytes.IndexByte(b, 0) < 0 {
		p.hole(p.bytes)
		p.bytes += int64(len(b))
		return
	}
	for i := 0; i < len(b); {
		if b[i] != 0 {
			p.hole(p.bytes + int64(i))
			z := bytes.IndexByte(b[i:], 0)
			if z < 0 {
				break
			}
			i += z
			continue
		}
		j := i + nulRun(b[i:])
		p.run0 += int64(j - i)
		p.nuls += int64(j - i)
		i = j
	}
	p.bytes += int64(len(b))
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
func (p *pass) hole(end int64) {
	if p.run0 >= minHole && len(p.holes) < maxHoles {
		p.holes = append(p.holes, Hole{Off: end - p.run0, Len: p.run0})
	}
	p.run0 = 0
}

// stats closes the books.
func (p *pass) stats() Stats {
	p.hole(p.bytes)
	st := Stats{Bytes: p.bytes, Lines: p.lines, NULs: p.nuls, Holes: p.holes}
	if p.bytes > 0 && p.lastByte != '\n' {
		st.Lines++
	}
	return st
}
