package verify

import (
	"bytes"
	"encoding/binary"
)

// anyOf finds out in one pass over a text whether it holds one of several strings: a count in a storm of errors asks for
// two dozen that must not stand in any of a hundred thousand lines.
type anyOf struct {
	singly [][]byte // looked for one after the other
	ends   []ending // the others
	marks  [1 << endBits / 64]uint64
}

// ending is a string, with the hash of its last four bytes.
type ending struct {
	hash uint32
	text []byte
}

const (
	endBits = 12
	// fewStrings is how many are looked for faster one after the other.
	fewStrings = 3
)

func newAnyOf(list [][]byte) *anyOf {
	a := &anyOf{}
	for _, s := range list {
		if len(s) < 4 || len(list) <= fewStrings {
			a.singly = append(a.singly, s)
			continue
		}
		h := endHash(s[len(s)-4:])
		a.marks[h/64] |= 1 << (h % 64)
		a.ends = append(a.ends, ending{h, s})
	}
	return a
}

func endHash(b []byte) uint32 { return binary.LittleEndian.Uint32(b) * 2654435761 >> (32 - endBits) }

func (a *anyOf) in(text []byte) bool {
	for _, s := range a.singly {
		if bytes.Contains(text, s) {
			return true
		}
	}
	if len(a.ends) == 0 {
		return false
	}
	for i := 0; i+4 <= len(text); i++ {
		h := endHash(text[i:])
		if a.marks[h/64]>>(h%64)&1 == 0 {
			continue
		}
		for _, e := range a.ends {
			if e.hash == h && bytes.HasSuffix(text[:i+4], e.text) {
				return true
			}
		}
	}
	return false
}
