package verify

import (
	"bytes"
	"encoding/binary"
)

// anyOf finds out in one pass over a text whether it holds one of several strings: a count in a storm of errors asks for
// two dozen that must not stand in any of a hundred thousand lines.
type anyOf struct {
	singly [][]byte            // looked for one after the other
	ends   [][]ending          // of the others, those of one hash together
	marks  [1 << endBits]uint8 // by hash: their place in ends + 1
}

// ending is a string and three bytes in a row of its last four: of the two there are one stands at an even place of the text, so that
// every second place is enough.
type ending struct {
	off  int // of the three bytes in text
	text []byte
}

const (
	endBits = 12
	// fewStrings is how many are looked for faster one after the other.
	fewStrings = 3
	maxEnds    = 1<<8 - 3
)

func newAnyOf(list [][]byte) *anyOf {
	a := &anyOf{}
	for _, s := range list {
		if len(s) < 4 || len(list) <= fewStrings || len(a.ends) > maxEnds {
			a.singly = append(a.singly, s)
			continue
		}
		for off := len(s) - 4; off <= len(s)-3; off++ {
			h := endHash(three(s[off:]))
			if a.marks[h] == 0 {
				a.ends = append(a.ends, nil)
				a.marks[h] = uint8(len(a.ends))
			}
			e := &a.ends[a.marks[h]-1]
			*e = append(*e, ending{off, s})
		}
	}
	return a
}

func three(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }

// endHash is the place of three bytes in the table; there may be a fourth behind them.
func endHash(b uint32) uint32 { return b << 8 * 2654435761 >> (32 - endBits) }

func (a *anyOf) in(text []byte) bool {
	for _, s := range a.singly {
		if bytes.Contains(text, s) {
			return true
		}
	}
	if len(a.ends) == 0 {
		return false
	}
	rest := text
	for ; len(rest) >= 4; rest = rest[2:] {
		if m := a.marks[endHash(binary.LittleEndian.Uint32(rest))]; m != 0 && stands(a.ends[m-1], text, len(text)-len(rest)) {
			return true
		}
	}
	if len(rest) < 3 {
		return false
	}
	m := a.marks[endHash(three(rest))]
	return m != 0 && stands(a.ends[m-1], text, len(text)-3)
}

// stands reports whether one of the strings stands where three of its bytes are at p.
func stands(ends []ending, text []byte, p int) bool {
	for _, e := range ends {
		if from := p - e.off; from >= 0 && bytes.HasPrefix(text[from:], e.text) {
			return true
		}
	}
	return false
}
