package worker

import "bytes"

// words finds out in one pass over a text which of fewer than 128 words it holds. Looking for one after the other costs
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
			h := hash3(word[o], word[o+1], word[o+2])
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

func hash3(a, b, c byte) uint16 {
	return uint16((uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 2654435761 >> 20)
}

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

// first is the place in the list of the first word that the text holds, −1 if it holds none.
func (w *words) first(text []byte) int {
	best := len(w.list)
	for _, i := range w.short {
		if i < best && bytes.Contains(text, []byte(w.list[i])) {
			best = i
		}
	}
	for p := 0; p+3 <= len(text); p += 2 {
		at := w.mark[hash3(text[p], text[p+1], text[p+2])]
		if at == 0 {
			continue
		}
		for _, t := range w.at[at-1] {
			word := w.list[t.word]
			if from := p - t.off; t.word < best && from >= 0 && len(text)-from >= len(word) && string(text[from:from+len(word)]) == word {
				best = t.word
			}
		}
	}
	if best == len(w.list) {
		return -1
	}
	return best
}

// in reports whether the text holds one of the words.
func (w *words) in(text []byte) bool {
	for _, i := range w.short {
		if bytes.Contains(text, []byte(w.list[i])) {
			return true
		}
	}
	for p := 0; p+3 <= len(text); p += 2 {
		at := w.mark[hash3(text[p], text[p+1], text[p+2])]
		if at == 0 {
			continue
		}
		for _, t := range w.at[at-1] {
			word := w.list[t.word]
			if from := p - t.off; from >= 0 && len(text)-from >= len(word) && string(text[from:from+len(word)]) == word {
				return true
			}
		}
	}
	return false
}
