package pattern

import (
	"maps"
	"slices"
	"sync"
	"unicode/utf8"
)

// Set tells of many expressions in one go which of them a text may match: the words that they need are looked for together.
type Set struct {
	list  []*Regexp
	once  sync.Once
	words need
	of    []uint64 // by word: the expressions of which a match holds one of several such words
	free  uint64   // the expressions that need none
}

// NewSet makes a set of at most 64 expressions.
func NewSet(list ...*Regexp) *Set {
	if len(list) > 64 {
		panic("pattern: a set of more than 64 expressions")
	}
	return &Set{list: list}
}

func (s *Set) build() {
	const most = 255 // what a stretch can tell apart
	of := map[string]uint64{}
	for i, r := range s.list {
		if r.compiled(); len(r.needs) == 0 || len(of)+len(r.needs[0].words) > most {
			s.free |= 1 << i
			continue
		}
		for _, w := range r.needs[0].words {
			of[w] |= 1 << i
		}
	}
	s.words = needOf(slices.Collect(maps.Keys(of)))
	for _, w := range s.words.words {
		s.of = append(s.of, of[w])
	}
}

// May returns those that the text may match, a bit for each; the others it does not match.
func (s *Set) May(text string) uint64 {
	s.once.Do(s.build)
	may := s.free
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf {
			return 1<<len(s.list) - 1 // it may fold to a letter
		}
		by := s.words.by[c]
		for k := by.from; k < by.to; k++ {
			if starts(text[i:], s.words.words[k]) {
				may |= s.of[k]
			}
		}
	}
	return may
}
