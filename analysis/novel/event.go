package novel

import (
	"slices"
	"strings"
	"unicode"

	"faultline/knowledge/severity"
)

// Bounds within which lines tell of one event, and say the same.
const (
	eventLines = 12  // of one writer in one file
	sameWords  = 0.8 // of those of the shorter line, at most, if it says something else
	leastOf    = 3   // words that are compared; letters of a word that counts
)

// Pick chooses at most so many lines to show, in the order in which they are given. A line that says again what another said is left out. What
// sounds like a failure comes first, and of lines that one writer printed together one; the others where room is left.
func Pick(lines []*Line, most int) []*Line {
	kept := map[*Line]bool{}
	var shown []*Line
	for _, fit := range []func(l *Line) bool{
		func(l *Line) bool { return l.Level >= severity.Failed && !slices.ContainsFunc(shown, l.sameEvent) },
		func(l *Line) bool { return l.Level >= severity.Failed },
		func(*Line) bool { return true },
	} {
		for _, l := range lines {
			told := func(o *Line) bool { return l.Within(o) || l.repeats(o) }
			if len(shown) < most && !kept[l] && fit(l) && !slices.ContainsFunc(shown, told) {
				shown, kept[l] = append(shown, l), true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(lines), func(l *Line) bool { return !kept[l] })
}

// repeats says that a line says in its words what another one says.
func (l *Line) repeats(o *Line) bool {
	a, b := wordsOf(l), wordsOf(o)
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < leastOf {
		return false
	}
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	return float64(both) > sameWords*float64(len(a))
}

// wordsOf are the words of a line's message, in lower case.
func wordsOf(l *Line) map[string]bool {
	text := Template(Message(l.Text))
	if l.Stop != nil {
		text = l.Stop.Says()
	}
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(w) >= leastOf {
			words[w] = true
		}
	}
	return words
}

// sameEvent says that the writers of a line printed another one close to it.
func (l *Line) sameEvent(o *Line) bool {
	type writers struct {
		file        string
		rank, files int
		lines       int64
	}
	same := writers{l.File, l.Rank, l.Files, l.N} == writers{o.File, o.Rank, o.Files, o.N}
	apart := l.At.Line - o.At.Line
	return same && max(apart, -apart) <= eventLines
}
