package scan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
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
	hashLog   = 15 // the table fits into a first-level cache of 32 KB: a larger one gives fewer false alarms and takes longer
	groupLog  = 13
	// lastLog is how many bits of a word's last byte the hash depends on; the others change only its top bits.
	lastLog  = 3
	hashMul  = 2654435761&^(1<<(8-lastLog)-1) | 1<<(8-lastLog)
	slotStep = 1 << (hashLog - lastLog) // between the slots of words that differ in their last byte
)

// match is a literal as it stands in a block: b[start:end].
type match struct {
	lit        uint16
	start, end int
}

// word is one that a literal has, as far as the mask goes.
type word struct{ word, mask uint32 }

// entry says that literal lit has its word at offset off, and begins with head, as far as its mask goes: most literals of which
// one word stands in a text by accident are dismissed by that, without a look at them.
type entry struct {
	head, headMask uint64
	lit, off, size uint16
}

type filter struct {
	stride  int
	lits    []string
	flags   [1 << hashLog]uint8     // by hash: what may follow a word of this hash, see follow
	first   [1<<groupLog + 1]uint16 // by group: where its words begin; they end where the next group's begin
	words   []word                  // ordered by group; apart from the entries because most that are met are not the text's
	entries []entry                 // of the words
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

// newFilter builds the table for the literals that are not left out; ids index lits.
func newFilter(lits []string, out []bool, words [][]gauged) *filter {
	f := &filter{lits: lits, stride: maxStride}
	for id, l := range lits {
		if !out[id] {
			f.stride = min(f.stride, len(l)-2)
		}
	}
	at := f.windows(out, words)
	for id, l := range lits {
		if out[id] {
			continue
		}
		for off := at[id]; off < at[id]+f.stride; off++ {
			e := entry{lit: uint16(id), off: uint16(off), size: uint16(len(l))}
			e.head, e.headMask = headOf(l)
			w, mask := wordOf(l, off)
			next := uint8(1<<8 - 1)
			if off+gram < len(l) {
				next = follow(l[off+gram])
			}
			slots(w, mask, func(h uint32) { f.flags[h] |= next })
			f.words, f.entries = append(f.words, word{w, mask}), append(f.entries, e)
		}
	}
	f.arrange()
	return f
}

// arrange orders words and entries by group, those of one group as they came.
func (f *filter) arrange() {
	for _, w := range f.words {
		f.first[group(w.word)+1]++
	}
	for g := range len(f.first) - 1 {
		f.first[g+1] += f.first[g]
	}
	next, words, entries := f.first, f.words, f.entries
	f.words, f.entries = make([]word, len(words)), make([]entry, len(entries))
	for i, w := range words {
		at := &next[group(w.word)]
		f.words[*at], f.entries[*at] = w, entries[i]
		*at++
	}
}

// wordOf is the word at offset off of a literal, and which bytes of it are the literal's.
func wordOf(l string, off int) (word, mask uint32) {
	var w [gram]byte
	n := copy(w[:], l[off:])
	return binary.LittleEndian.Uint32(w[:]), uint32(1<<(8*n) - 1)
}

// headOf are the first eight bytes of a literal, and which of them there are.
func headOf(l string) (head, mask uint64) {
	var w [8]byte
	n := copy(w[:], l)
	return binary.LittleEndian.Uint64(w[:]), ^uint64(0) >> (64 - 8*n)
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
func (f *filter) line(l *looks, dst []match, b []byte, from int) (found []match, start, end int) {
	for p := from; ; p += f.stride {
		if p = l.first(f, b, p, len(b)); p < 0 {
			return dst, -1, 0
		}
		n := len(dst)
		if dst = f.verify(dst, b, p, from, len(b)); len(dst) == n {
			continue
		}
		at := dst[n].start
		start = lineStart(b, from, at)
		end = len(b)
		if i := bytes.IndexByte(b[dst[n].end:], '\n'); i >= 0 {
			end = dst[n].end + i
		}
		return f.collectFrom(l, dst, b, p+f.stride, start, end), start, end
	}
}

// collect appends to dst what literals b[from:to] holds.
func (f *filter) collect(dst []match, b []byte, from, to int) []match {
	b = b[:to]
	var met [stretch / 64]uint64
	for p := from; p+gram-1 <= to; {
		n := f.takeStretch(b[p:], &met)
		for i, left := range met[:(n+63)/64] {
			for ; left != 0; left &= left - 1 {
				dst = f.verify(dst, b, p+(64*i+bits.TrailingZeros64(left))*f.stride, from, to)
			}
		}
		p += n * f.stride
	}
	return dst
}

// collectFrom does so for the words from p on.
func (f *filter) collectFrom(l *looks, dst []match, b []byte, p, from, to int) []match {
	for p = l.first(f, b, p, to); p >= 0; p = l.first(f, b, p+f.stride, to) {
		dst = f.verify(dst, b, p, from, to)
	}
	return dst
}

// sieve is a filter of few literals for the short texts of single lines: its table fits into the first-level cache.
type sieve struct {
	*filter
	flags [1 << sieveLog]uint8
}

const sieveLog = 12

func newSieve(lits []string, of []bool, words [][]gauged) *sieve {
	out := make([]bool, len(of))
	for id := range of {
		out[id] = !of[id]
	}
	s := &sieve{filter: newFilter(lits, out, words)}
	for _, w := range s.words {
		slots(w.word, w.mask, func(h uint32) { s.flags[h>>(hashLog-sieveLog)] |= s.filter.flags[h] })
	}
	return s
}

// collect appends to dst what literals b[from:to] holds.
func (s *sieve) collect(dst []match, b []byte, from, to int) []match {
	p := from
	for ; p+gram < to; p += s.stride {
		if s.flags[hash(binary.LittleEndian.Uint32(b[p:]))>>(hashLog-sieveLog)]&follow(b[p+gram]) != 0 {
			dst = s.verify(dst, b, p, from, to)
		}
	}
	if p+gram-1 <= to {
		dst = s.verify(dst, b, p, from, to)
	}
	return dst
}

// verify appends the literals within b[from:to] whose word stands at p.
func (f *filter) verify(dst []match, b []byte, p, from, to int) []match {
	w := load(b, p)
	g := group(w)
	words, entries := f.words, f.entries
	for i, last := int(f.first[g]), int(f.first[g+1]); i < last; i++ {
		if x := &words[i]; (x.word^w)&x.mask != 0 {
			continue
		}
		e := &entries[i]
		s := p - int(e.off)
		end := s + int(e.size)
		if s < from || end > to {
			continue
		}
		if s+8 <= len(b) && (binary.LittleEndian.Uint64(b[s:])^e.head)&e.headMask != 0 {
			continue
		}
		if string(b[s:end]) == f.lits[e.lit] {
			dst = append(dst, match{lit: e.lit, start: s, end: end})
		}
	}
	return dst
}

// What a slot costs, where one is an occurrence of its word in typical text: one more slot has its part in the words that
// only by accident fall into it, one more literal in a slot is compared whenever another one's word is met.
const (
	newSlot    = 0.1
	sharedSlot = 0.05
	hotSlot    = 0.1 // of what the slot costs the first literal: each one in it is compared wherever its word stands
)

// gauged is a word of a literal.
type gauged struct {
	slot uint32
	cost float64 // of taking the slot
	hang bool    // it hangs over the literal's end: it takes many slots, which are not accounted for
}

// gauge says of each literal's words what they cost. seen says how often words occur.
func gauge(lits []string, seen []uint16) [][]gauged {
	n := 0
	for _, l := range lits {
		n += len(l) - gram + 2
	}
	all := make([]gauged, n)
	words := make([][]gauged, len(lits))
	for id, l := range lits {
		n := len(l) - gram + 2
		words[id], all = all[:n:n], all[n:]
		for o := range words[id] {
			w, mask := wordOf(l, o)
			h := hash(w)
			words[id][o] = gauged{slot: h, cost: newSlot + share(l[o:min(o+gram, len(l))]) + float64(seen[h])}
			if o == n-1 {
				words[id][o] = gauged{cost: 1, hang: true}
				slots(w, mask, func(h uint32) { words[id][o].cost += float64(seen[h]) })
			}
		}
	}
	return words
}

// windows chooses for each literal the offset of the first of the words that stand for it: those that make the fewest
// false alarms, which are the words that typical text lacks and that few others have or need.
func (f *filter) windows(out []bool, words [][]gauged) []int {
	var order []int
	users := make([]uint16, 1<<hashLog) // of a slot
	at := make([]int, len(f.lits))
	for id, l := range f.lits {
		if !out[id] && len(l) > f.stride+gram-2 { // else there is only one window
			order = append(order, id)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(f.lits[a]) - len(f.lits[b]) })
	use := func(list []gauged, n int) {
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
						cost += sharedSlot*float64(n) + hotSlot*word.cost
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
	const often, seldom = 8, 2
	seen := make([]uint16, 1<<hashLog)
	count(seen, typical, often)
	count(seen, troubled, seldom)
	return seen
}

// count adds the words of a text and of variants of it with other digits.
func count(seen []uint16, sample string, variants int) {
	text := []byte(sample)
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
