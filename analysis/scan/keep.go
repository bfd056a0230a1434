package scan

import (
	"bytes"
	"slices"
)

// Kept is text that went by, for those who would otherwise have to decompress a file a second time to see a few lines
// of it: lines that were delivered, up to a limit, and the end of the content.
type Kept struct {
	most  int
	text  []byte
	parts []part // ascending
	total int64  // bytes of the content; −1: not known
}

// part is a part of the content that is kept at text[at:end].
type part struct {
	off     int64
	at, end int
}

// NewKept returns a place for about so many bytes.
func NewKept(most int) *Kept { return &Kept{most: most, total: -1} }

// Keep returns a scanner of the same literals that puts into k what it delivers. It serves one Scan.
func (s *Scanner) Keep(k *Kept) *Scanner {
	keeping := *s
	keeping.kept = k
	return &keeping
}

// line keeps the line b[start:end] of a block at off, with its \n.
func (k *Kept) line(b []byte, off int64, start, end int) {
	end = min(end+1, len(b))
	if len(k.text)+end-start <= k.most {
		k.add(b[start:end], off+int64(start))
	}
}

func (k *Kept) add(text []byte, off int64) {
	at := len(k.text)
	k.text = append(k.text, text...)
	k.parts = append(k.parts, part{off, at, len(k.text)})
}

// tail keeps the last bytes of the content, which b at off is the end of.
func (k *Kept) tail(b []byte, off int64) {
	const most = 64 << 10
	n := max(len(b)-most, 0)
	k.total = off + int64(len(b))
	from := off + int64(n)
	for len(k.parts) > 0 && k.parts[len(k.parts)-1].off >= from {
		k.parts = k.parts[:len(k.parts)-1] // it is kept once more
	}
	k.add(b[n:], from)
}

// At returns the n bytes of the content from off on, or what is there of them up to the end of a line or of the content.
// It reports false if that was not kept.
func (k *Kept) At(off int64, n int) ([]byte, bool) {
	i, found := slices.BinarySearchFunc(k.parts, off, func(p part, off int64) int {
		switch {
		case p.off < off:
			return -1
		case p.off > off:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 || off-k.parts[i].off >= int64(k.parts[i].end-k.parts[i].at) {
		return nil, false
	}
	p := k.parts[i]
	text := k.text[p.at+int(off-p.off) : p.end]
	if len(text) >= n {
		return text[:n:n], true
	}
	return text, off+int64(len(text)) == k.total || bytes.IndexByte(text, '\n') >= 0
}
