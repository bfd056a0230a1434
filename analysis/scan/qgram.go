package scan

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// The filter: the text is looked at every stride bytes, each time at the word of four bytes that begins there. A literal of
// stride+2 bytes or more is seen at one of stride neighbouring offsets, whatever comes before it; of these words at most
// the last hangs over its end, by one byte. So with the words at stride neighbouring offsets of each literal in a table, the
// one that hangs over with every byte that may follow, no literal is missed. The shortest literal decides how far apart
// the looks may be; which offsets stand for a longer one is free, and those whose words are rarest in logs make the fewest
// false alarms.
const (
	gram      = 4
	maxStride = 4
	hashLog   = 18
	groupLog  = 12
	// lastLog is how many bits of a word's last byte the hash depends on; the others change only its top bits.
	lastLog  = 5
	hashMul  = 2654435761&^(1<<(8-lastLog)-1) | 1<<(8-lastLog)
	slotStep = 1 << (hashLog - lastLog) // between the slots of words that differ in their last byte
)

// match is a literal as it stands in a block: b[start:end].
type match struct {
	lit        uint16
	start, end int
}

// entry says that literal lit has this word at offset off, as far as the mask goes.
type entry struct {
	word, mask uint32
	lit        uint16
	off        uint16
}

type filter struct {
	stride  int
	lits    []string
	flags   [1 << hashLog]uint8     // by hash: what may follow a word of this hash, see follow
	first   [1<<groupLog + 1]uint32 // by group: where its entries begin; they end where the next group's begin
	entries []entry                 // ordered by group
}

func hash(w uint32) uint32 { return w * hashMul >> (32 - hashLog) }

// follow is the bit of a byte that stands behind a word.
func follow(c byte) uint8 { return 1 << (c & 7) }

// group tells words apart by their first three bytes.
func group(w uint32) uint32 { return (w << 8) * hashMul >> (32 - groupLog) }

// slots calls f with every hash that a word may have of which the masked bytes are known: all, or all but the last.
func slots(w, mask uint32, f func(h uint32)) {
	h := hash(w & mask)
	if mask == 1<<32-1 {
		f(h)
		return
	}
	for n := range uint32(1 << lastLog) {
		f((h + n*slotStep) % (1 << hashLog))
	}
}

// newFilter builds the table for the literals that are not left out; ids index lits. seen says how often words occur.
func newFilter(lits []string, out []bool, seen []uint16) *filter {
	f := &filter{lits: lits, stride: maxStride}
	for id, l := range lits {
		if !out[id] {
			f.stride = min(f.stride, len(l)-2)
		}
	}
	at := f.windows(out, seen)
	for id, l := range lits {
		if out[id] {
			continue
		}
		for off := at[id]; off < at[id]+f.stride; off++ {
			e := entry{lit: uint16(id), off: uint16(off)}
			e.word, e.mask = wordOf(l, off)
			next := uint8(1<<8 - 1)
			if off+gram < len(l) {
				next = follow(l[off+gram])
			}
			slots(e.word, e.mask, func(h uint32) { f.flags[h] |= next })
			f.entries = append(f.entries, e)
		}
	}
	slices.SortStableFunc(f.entries, func(a, b entry) int { return int(group(a.word)) - int(group(b.word)) })
	for i, n := 0, 0; i < len(f.first); i++ {
		for n < len(f.entries) && int(group(f.entries[n].word)) < i {
			n++
		}
		f.first[i] = uint32(n)
	}
	return f
}

// wordOf is the word at offset off of a literal, and which bytes of it are the literal's.
func wordOf(l string, off int) (word, mask uint32) {
	var w [gram]byte
	n := copy(w[:], l[off:])
	return binary.LittleEndian.Uint32(w[:]), uint32(1<<(8*n) - 1)
}

// load is the word at p; gram−1 bytes at least follow there.
func load(b []byte, p int) uint32 {
	if p+gram <= len(b) {
		return binary.LittleEndian.Uint32(b[p:])
	}
	return uint32(b[p]) | uint32(b[p+1])<<8 | uint32(b[p+2])<<16
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

// suspect is the first position from p on, in steps of stride, whose word is in the table, with a byte behind it that may
// follow; −1 if there is none.
func (f *filter) suspect(b []byte, p int) int {
	flags := &f.flags
	switch f.stride {
	case 4:
		for ; p+33 <= len(b); p += 32 {
			q := (*[33]byte)(b[p:])
			if flags[hash(binary.LittleEndian.Uint32(q[:]))]|flags[hash(binary.LittleEndian.Uint32(q[4:]))]|
				flags[hash(binary.LittleEndian.Uint32(q[8:]))]|flags[hash(binary.LittleEndian.Uint32(q[12:]))]|
				flags[hash(binary.LittleEndian.Uint32(q[16:]))]|flags[hash(binary.LittleEndian.Uint32(q[20:]))]|
				flags[hash(binary.LittleEndian.Uint32(q[24:]))]|flags[hash(binary.LittleEndian.Uint32(q[28:]))] == 0 {
				continue
			}
			for n := 0; n < 32; n += 4 {
				if flags[hash(binary.LittleEndian.Uint32(q[n:]))]&follow(q[n+gram]) != 0 {
					return p + n
				}
			}
		}
	case 3:
		for ; p+26 <= len(b); p += 24 {
			q := (*[26]byte)(b[p:])
			if flags[hash(binary.LittleEndian.Uint32(q[:]))]|flags[hash(binary.LittleEndian.Uint32(q[3:]))]|
				flags[hash(binary.LittleEndian.Uint32(q[6:]))]|flags[hash(binary.LittleEndian.Uint32(q[9:]))]|
				flags[hash(binary.LittleEndian.Uint32(q[12:]))]|flags[hash(binary.LittleEndian.Uint32(q[15:]))]|
				flags[hash(binary.LittleEndian.Uint32(q[18:]))]|flags[hash(binary.LittleEndian.Uint32(q[21:]))] == 0 {
				continue
			}
			for n := 0; n < 24; n += 3 {
				if flags[hash(binary.LittleEndian.Uint32(q[n:]))]&follow(q[n+gram]) != 0 {
					return p + n
				}
			}
		}
	}
	for ; p+gram <= len(b); p += f.stride {
		if flags[hash(binary.LittleEndian.Uint32(b[p:]))] != 0 {
			return p
		}
	}
	if p+gram-1 <= len(b) && flags[hash(load(b, p))] != 0 {
		return p
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

// verify appends the literals within b[from:to] whose word stands at p.
func (f *filter) verify(dst []match, b []byte, p, from, to int) []match {
	w := load(b, p)
	g := group(w)
	for _, e := range f.entries[f.first[g]:f.first[g+1]] {
		if (e.word^w)&e.mask != 0 {
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

// What a slot costs, where one is an occurrence of its word in typical text: one more slot has its part in the words that
// only by accident fall into it, one more literal in a slot is compared whenever another one's word is met.
const (
	newSlot    = 0.1
	sharedSlot = 0.05
)

// windows chooses for each literal the offset of the first of the words that stand for it: those that make the fewest
// false alarms, which are the words that typical text lacks and that few others have or need.
func (f *filter) windows(out []bool, seen []uint16) []int {
	type word struct {
		slot uint32
		cost float64 // of taking the slot
		hang bool    // it hangs over the literal's end: it takes many slots, which are not accounted for
	}
	words := make([][]word, len(f.lits))
	var order []int
	users := make([]uint16, 1<<hashLog) // of a slot
	at := make([]int, len(f.lits))
	for id, l := range f.lits {
		switch {
		case out[id]:
			continue
		case len(l) == f.stride+gram-2:
			continue // there is only one window
		}
		order = append(order, id)
		words[id] = make([]word, len(l)-gram+2)
		for o := range words[id] {
			w, mask := wordOf(l, o)
			h := hash(w)
			words[id][o] = word{slot: h, cost: newSlot + share(l[o:min(o+gram, len(l))]) + float64(seen[h])}
			if o == len(l)-gram+1 {
				words[id][o] = word{cost: 1, hang: true}
				slots(w, mask, func(h uint32) { words[id][o].cost += float64(seen[h]) })
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(f.lits[a]) - len(f.lits[b]) })
	use := func(list []word, n int) {
		for _, w := range list {
			if !w.hang {
				users[w.slot] += uint16(n)
			}
		}
	}
	for round := range 2 {
		for _, id := range order {
			list := words[id]
			if round > 0 {
				use(list[at[id]:at[id]+f.stride], -1)
			}
			best := 0.0
			for w := 0; w+f.stride <= len(list); w++ {
				cost := 0.0
				for _, word := range list[w : w+f.stride] {
					if n := users[word.slot]; n > 0 && !word.hang {
						cost += sharedSlot * float64(n)
					} else {
						cost += word.cost
					}
				}
				if w == 0 || cost < best {
					best, at[id] = cost, w
				}
			}
			use(list[at[id]:at[id]+f.stride], 1)
		}
	}
	return at
}

// frequencies counts the words of typical text, by hash: as it stands, and with other digits in it.
func frequencies() []uint16 {
	const variants = 8
	seen := make([]uint16, 1<<hashLog)
	text := []byte(typical)
	digit := uint32(1)
	for range variants {
		for p := 0; p+gram <= len(text); p++ {
			if h := hash(binary.LittleEndian.Uint32(text[p:])); seen[h] < 1<<15 {
				seen[h]++
			}
		}
		for i, c := range text {
			if c >= '0' && c <= '9' {
				digit = digit*1664525 + 1013904223
				text[i] = byte('0' + digit>>16%10)
			}
		}
	}
	return seen
}

// share estimates from its bytes how often a word occurs that typical text does not hold: below 1.
func share(word string) float64 {
	f := 0.5
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9', common[c]:
		case c >= 'a' && c <= 'z', usual[c]:
			f *= 0.5
		default:
			f *= 0.15
		}
	}
	return f
}

var common, usual = [256]bool{
	' ': true, 'e': true, 't': true, 'a': true, 'o': true, 'i': true, 'n': true, 'r': true, 's': true,
}, [256]bool{'.': true, ':': true, '-': true, '/': true, ',': true, '_': true, '[': true, ']': true, '|': true, '=': true}
