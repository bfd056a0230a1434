package explain

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Similarity, where nothing matched: the words that a text shares with an entry, rare words counting more, and for a single
// word its likeness to the entry's name. Deterministic; ties keep the order of the tables.

const (
	maxWords = 200 // distinct words of a text that are compared
	minScore = 0.3 // below it an entry is not worth showing
)

type document struct {
	entry Entry
	words map[string]bool
	names []map[[3]rune]bool // trigrams
}

type library struct {
	docs []document
	// rarity of a word: the logarithm of how few entries have it.
	rarity map[string]float64
}

var index = sync.OnceValue(func() *library {
	l := &library{rarity: map[string]float64{}}
	for _, e := range all() {
		d := document{entry: e, words: map[string]bool{}, names: []map[[3]rune]bool{trigrams(e.ID)}}
		if e.Kind != Line {
			d.names = append(d.names, trigrams(e.Title))
		}
		for _, text := range []string{e.ID, e.Title, e.Meaning, e.Example} {
			for _, w := range words(text) {
				d.words[w] = true
			}
		}
		for w := range d.words {
			l.rarity[w]++
		}
		l.docs = append(l.docs, d)
	}
	for w, n := range l.rarity {
		l.rarity[w] = math.Log(1 + float64(len(l.docs))/n)
	}
	return l
})

// words are runs of three or more letters, small, each once, in order. Numbers differ from line to line and say nothing.
func words(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(w) >= 3 && !slices.Contains(out, w) {
			out = append(out, w)
		}
		if len(out) == maxWords {
			break
		}
	}
	return out
}

// nearest are the entries most like a text; none where nothing is like it.
func nearest(text string) []Entry {
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "")
	}
	l, asked := index(), words(text)
	total := 0.0
	unseen := math.Log(1 + float64(len(l.docs)))
	weightOf := func(w string) float64 {
		if r, ok := l.rarity[w]; ok {
			return r
		}
		return unseen
	}
	for _, w := range asked {
		total += weightOf(w)
	}
	name := strings.Join(strings.Fields(text), " ")
	asks := map[[3]rune]bool{}
	if len(name) <= 64 {
		asks = trigrams(name)
	}
	type scored struct {
		entry Entry
		score float64
	}
	var best []scored
	for _, d := range l.docs {
		s, shared := 0.0, 0
		for _, w := range asked {
			if d.words[w] {
				s += weightOf(w)
				shared++
			}
		}
		switch {
		case shared == 0 || shared == 1 && len(asked) > 2: // one word in common is no likeness
			s = 0
		case len(asked) == 1:
			s = 0.5
		default:
			s /= total
		}
		for _, n := range d.names {
			s = max(s, likeness(asks, n))
		}
		if s >= minScore {
			best = append(best, scored{d.entry, s})
		}
	}
	slices.SortStableFunc(best, func(a, b scored) int {
		return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(weight(a.entry), weight(b.entry)))
	})
	var out []Entry
	for _, b := range best[:min(len(best), maxNearest)] {
		out = append(out, b.entry)
	}
	return out
}

// likeness is the share of common trigrams (Dice), from 0 to 1.
func likeness(x, y map[[3]rune]bool) float64 {
	common := 0
	for t := range x {
		if y[t] {
			common++
		}
	}
	return 2 * float64(common) / float64(max(1, len(x)+len(y)))
}

func trigrams(s string) map[[3]rune]bool {
	out := map[[3]rune]bool{}
	r := []rune("  " + strings.ToLower(s) + " ")
	for i := 0; i+3 <= len(r); i++ {
		out[[3]rune{r[i], r[i+1], r[i+2]}] = true
	}
	return out
}
