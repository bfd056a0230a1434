package worker

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// words finds out in one pass over a text which of at most 128 words it holds. Looking for one after the other costs
// more than everything else that is done to a line.
//
// A word of four bytes or more holds three bytes in a row at an even and at an odd place of any text; so two such triples
// of each are in a table, and the text is looked at every second byte. Shorter words are looked for one by one.
type words struct {
	list  []string
	short []int          // in list
	mark  [1 << 12]uint8 // by hash of a triple: its place in at + 1, 0 if there is none
	at    [][]triple
}

// triple is a place in a word, three bytes from where on are in the table.
type triple struct {
	word, off int
}

func newWords(list ...string) *words {
	w := &words{list: list}
	for i, word := range list {
		if len(word) < 4 {
			w.short = append(w.short, i)
			continue
		}
		off := rarePair(word)
		for o := off; o < off+2; o++ {
			h := hash3(uint32(word[o]) | uint32(word[o+1])<<8 | uint32(word[o+2])<<16)
			if w.mark[h] == 0 {
				w.at = append(w.at, nil)
				w.mark[h] = uint8(len(w.at))
			}
			at := &w.at[w.mark[h]-1]
			*at = append(*at, triple{i, o})
		}
	}
	return w
}

// hash3 is the place of three bytes in the table; there may be a fourth behind them.
func hash3(b uint32) uint32 { return b << 8 * 2654435761 >> 20 }

// rarePair is where in a word the four bytes stand that are the rarest in logs, about.
func rarePair(word string) int {
	best, at := -1, 0
	for o := 0; o+4 <= len(word); o++ {
		cost := 0
		for _, c := range []byte(word[o : o+4]) {
			if bytes.IndexByte([]byte(" etaoinrscdl"), c) < 0 {
				cost++
			}
		}
		if cost > best {
			best, at = cost, o
		}
	}
	return at
}

// wordSet is a set of words by their places in the list.
type wordSet [2]uint64

func (f *wordSet) add(i int)            { f[i/64] |= 1 << (i % 64) }
func (f wordSet) within(g wordSet) bool { return f[0]&g[0]|f[1]&g[1] != 0 }

// part is the set of n words from one on.
func (w *words) part(from, n int) (set wordSet) {
	for i := range n {
		set.add(from + i)
	}
	return set
}

// first is the smallest member of the set that also is one of g, −1 if there is none.
func (f wordSet) first(g wordSet) int {
	switch {
	case f[0]&g[0] != 0:
		return bits.TrailingZeros64(f[0] & g[0])
	case f[1]&g[1] != 0:
		return 64 + bits.TrailingZeros64(f[1]&g[1])
	}
	return -1
}

// in says which of the words the text holds.
func (w *words) in(text []byte) (f wordSet) {
	for _, i := range w.short {
		if bytes.Contains(text, []byte(w.list[i])) {
			f.add(i)
		}
	}
	b := text
	for ; len(b) >= 4; b = b[2:] {
		if at := w.mark[hash3(binary.LittleEndian.Uint32(b))]; at != 0 {
			w.compare(&f, at, text, len(text)-len(b))
		}
	}
	if len(b) == 3 {
		if at := w.mark[hash3(uint32(b[0])|uint32(b[1])<<8|uint32(b[2])<<16)]; at != 0 {
			w.compare(&f, at, text, len(text)-len(b))
		}
	}
	return f
}

// compare adds the words of which one of these triples stands at p.
//
//go:noinline
func (w *words) compare(f *wordSet, at uint8, text []byte, p int) {
	for _, t := range w.at[at-1] {
		word := w.list[t.word]
		if from := p - t.off; from >= 0 && len(text)-from >= len(word) && string(text[from:from+len(word)]) == word {
			f.add(t.word)
		}
	}
}
