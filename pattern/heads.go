package pattern

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// An expression that begins with words, as (?i)\b(?:reading|opening) does, costs most where it does not match yet: it is tried at
// each byte of a line. A match can't begin before the first such word, so that is where it is looked for.

// heads are the words that a match begins with, in any case of letters.
type heads struct {
	need
	bounded bool // all stand at the beginning of a word
}

const mostHeads = 64

// headsOf are the heads of an expression; without words where it may begin otherwise, or looks for the beginning of the text, which
// would be another one where what stands before the first head is left out.
func headsOf(expr string) heads {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return heads{}
	}
	if re = re.Simplify(); looksBack(re) {
		return heads{}
	}
	words := begins(re)
	if slices.Contains(words, "") {
		return heads{}
	}
	return heads{needOf(words), bounded(re)}
}

// looksBack tells whether an expression asks for the beginning of a text or a line.
func looksBack(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginText || re.Op == syntax.OpBeginLine || slices.ContainsFunc(re.Sub, looksBack)
}

// bounded tells whether a match begins at the boundary of a word.
func bounded(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpWordBoundary:
		return true
	case syntax.OpCapture, syntax.OpConcat:
		return bounded(re.Sub[0])
	}
	return false
}

// begins are words with one of which each match of re begins, in lower case; "" among them where a match may begin with anything.
func begins(re *syntax.Regexp) []string {
	if texts := whole(re); texts != nil {
		return texts
	}
	any := []string{""}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return begins(re.Sub[0])
	case syntax.OpConcat:
		run := any
		for _, sub := range re.Sub {
			if longer := joined(run, whole(sub)); longer != nil {
				run = longer
				continue
			}
			if longer := joined(run, begins(sub)); longer != nil {
				return longer
			}
			return run
		}
		return run
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			all = append(all, begins(sub)...)
		}
		if len(all) <= mostHeads {
			return all
		}
	}
	return any
}

// start is where in a text the expression is to be looked for: one byte before the first head, so that the boundary in front of it is
// seen. It is -1 where no head stands in the text, and 0 where that is not known.
func start[text string | []byte](h *heads, b text) int {
	if len(h.words) == 0 {
		return 0
	}
	for i := range len(b) {
		c := b[i]
		if c >= utf8.RuneSelf {
			return 0 // it may fold to a letter
		}
		inWord := h.bounded && i > 0 && wordByte(b[i-1]) && wordByte(c)
		if inWord || !at(&h.need, b[i:]) {
			continue
		}
		if i < 2 || h.bounded && h.by[b[i-1]].to > 0 {
			return 0 // what was no boundary would become one
		}
		return i - 1
	}
	return -1
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
