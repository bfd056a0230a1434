package scan

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// The filter: a literal of n bytes holds, in any window of stride+gram−1 of them, one complete q-gram of gram bytes at
// each residue modulo stride. So if the stride q-grams of one window are in a table, looking at one q-gram every stride
// bytes of the text misses no literal. The shortest literal decides how far apart the looks may be; which window stands
// for a longer one is free, and the one whose q-grams are rarest in logs makes the fewest false alarms.
const (
	maxGram   = 4
	maxStride = 4
	hashLog   = 16
)

// match is a literal as it stands in a block: b[start:end].
type match struct {
	lit        uint16
	start, end int
}

// entry says that literal lit has this q-gram at offset off.
type entry struct {
	gram uint32
	lit  uint16
	off  uint16
}

type filter struct {
	stride, gram int
	mask         uint32 // the bytes of a word that belong to a q-gram
	lits         []string
	flags        [1 << hashLog]uint8
	first        []uint16 // by hash: where its entries begin; they end where the next hash's begin
	entries      []entry  // ordered by hash
}

func hash(g uint32) uint32 { return g * 2654435761 >> (32 - hashLog) }

// newFilter builds the table for the literals that are not left out; ids index lits.
func newFilter(lits []string, out []bool) *filter {
	shortest := maxGram + maxStride - 1
	for id, l := range lits {
		if !out[id] {
			shortest = min(shortest, len(l))
		}
	}
	f := &filter{lits: lits, gram: min(maxGram, shortest)}
	f.stride = shortest - f.gram + 1
	f.mask = uint32(1<<(8*f.gram) - 1)
	seen := f.frequencies()
	for id, l := range lits {
		if out[id] {
			continue
		}
		w := f.rarest(l, seen)
		for off := w; off < w+f.stride; off++ {
			g := f.load([]byte(l), off)
			f.flags[hash(g)] = 1
			f.entries = append(f.entries, entry{gram: g, lit: uint16(id), off: uint16(off)})
		}
	}
	slices.SortStableFunc(f.entries, func(a, b entry) int { return int(hash(a.gram)) - int(hash(b.gram)) })
	f.first = make([]uint16, len(f.flags)+1)
	for i, n := 0, 0; i < len(f.first); i++ {
		for n < len(f.entries) && int(hash(f.entries[n].gram)) < i {
			n++
		}
		f.first[i] = uint16(n)
	}
	return f
}

// load is the q-gram at p; gram bytes follow there.
func (f *filter) load(b []byte, p int) uint32 {
	if p+4 <= len(b) {
		return binary.LittleEndian.Uint32(b[p:]) & f.mask
	}
	var w [4]byte
	copy(w[:], b[p:])
	return binary.LittleEndian.Uint32(w[:]) & f.mask
}

// line looks for the first line of b[from:] that holds a literal, b[from:] being the start of a line. It appends to dst
// what literals the line holds and returns it with the line's borders, start < 0 if there is none.
func (f *filter) line(dst []match, b []byte, from int) (found []match, start, end int) {
	for p := from; ; {
		if p = f.suspect(b, p); p < 0 {
			return dst, -1, 0
		}
		n := len(dst)
		if dst = f.verify(dst, b, p, from, len(b)); len(dst) == n {
			p += f.stride
			continue
		}
		at := dst[n].start
		start = bytes.LastIndexByte(b[from:at], '\n') + 1 + from
		end = len(b)
		if i := bytes.IndexByte(b[dst[n].end:], '\n'); i >= 0 {
			end = dst[n].end + i
		}
		return f.collectFrom(dst, b, p+f.stride, start, end), start, end
	}
}

// suspect is the first position from p on, in steps of stride, whose q-gram is in the table, −1 if there is none.
func (f *filter) suspect(b []byte, p int) int {
	flags := &f.flags
	switch {
	case f.gram == maxGram && f.stride == 4:
		for ; p+16 <= len(b); p += 16 {
			q := b[p : p+16 : p+16]
			if flags[hash(binary.LittleEndian.Uint32(q))]|flags[hash(binary.LittleEndian.Uint32(q[4:]))]|
				flags[hash(binary.LittleEndian.Uint32(q[8:]))]|flags[hash(binary.LittleEndian.Uint32(q[12:]))] != 0 {
				break
			}
		}
	case f.gram == maxGram && f.stride == 2:
		for ; p+10 <= len(b); p += 8 {
			q := b[p : p+10 : p+10]
			if flags[hash(binary.LittleEndian.Uint32(q))]|flags[hash(binary.LittleEndian.Uint32(q[2:]))]|
				flags[hash(binary.LittleEndian.Uint32(q[4:]))]|flags[hash(binary.LittleEndian.Uint32(q[6:]))] != 0 {
				break
			}
		}
	}
	for ; p+f.gram <= len(b); p += f.stride {
		if flags[hash(f.load(b, p))] != 0 {
			return p
		}
	}
	return -1
}

// collect appends to dst what literals b[from:to] holds.
func (f *filter) collect(dst []match, b []byte, from, to int) []match {
	return f.collectFrom(dst, b, from, from, to)
}

// collectFrom does so for the q-grams from p on.
func (f *filter) collectFrom(dst []match, b []byte, p, from, to int) []match {
	for p = f.suspect(b[:to], p); p >= 0; p = f.suspect(b[:to], p+f.stride) {
		dst = f.verify(dst, b, p, from, to)
	}
	return dst
}

// verify appends the literals within b[from:to] whose q-gram stands at p.
func (f *filter) verify(dst []match, b []byte, p, from, to int) []match {
	g := f.load(b, p)
	h := hash(g)
	for _, e := range f.entries[f.first[h]:f.first[h+1]] {
		if e.gram != g {
			continue
		}
		l := f.lits[e.lit]
		s := p - int(e.off)
		if s < from || s+len(l) > to || string(b[s:s+len(l)]) != l {
			continue
		}
		dst = append(dst, match{lit: e.lit, start: s, end: s + len(l)})
	}
	return dst
}

// frequencies counts the q-grams of typical text, by hash.
func (f *filter) frequencies() []uint16 {
	seen := make([]uint16, 1<<hashLog)
	text := []byte(typical)
	for p := 0; p+f.gram <= len(text); p++ {
		if h := hash(f.load(text, p)); seen[h] < 1<<15 {
			seen[h]++
		}
	}
	return seen
}

// rarest is the offset of the window whose q-grams are the least frequent in typical text; of equal ones that whose
// bytes are.
func (f *filter) rarest(l string, seen []uint16) int {
	best, at := 0.0, 0
	for w := 0; w+f.stride+f.gram-1 <= len(l); w++ {
		cost := 0.0
		for o := w; o < w+f.stride; o++ {
			cost += float64(seen[hash(f.load([]byte(l), o))]) + share(l[o:o+f.gram])
		}
		if w == 0 || cost < best {
			best, at = cost, w
		}
	}
	return at
}

// share estimates from its bytes how often a q-gram occurs that typical text does not hold: below 1.
func share(g string) float64 {
	f := 0.5
	for i := range len(g) {
		switch c := g[i]; {
		case c >= '0' && c <= '9', strings.IndexByte(" etaoinrs", c) >= 0:
		case c >= 'a' && c <= 'z', strings.IndexByte(".:-/,_[]|=", c) >= 0:
			f *= 0.5
		default:
			f *= 0.15
		}
	}
	return f
}
