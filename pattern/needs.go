package pattern

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Most texts that an expression is held against do not match it, and finding that out costs many times as much as looking for
// a word. So each expression has a few sets of words: a text that it matches holds one of each.

// need is a set of words; a text that matches holds one of them, in any case of letters. Texts that are not ASCII may hold others
// that fold to the same, and are not judged.
type need struct {
	words []string  // in lower case
	first [256]bool // the bytes that one may begin with
}

const (
	mostNeeds    = 3 // sets of one expression
	mostWords    = 8 // of one set
	shortestWord = 3
)

// needsOf are the sets of an expression, the longest words first.
func needsOf(expr string) []need {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	var sets [][]string
	collect(re.Simplify(), &sets)
	slices.SortStableFunc(sets, func(a, b []string) int { return shortest(b) - shortest(a) })
	var needs []need
	for _, words := range sets[:min(len(sets), mostNeeds)] {
		n := need{words: words}
		for _, w := range words {
			n.first[w[0]], n.first[unicode.ToUpper(rune(w[0]))] = true, true
		}
		needs = append(needs, n)
	}
	return needs
}

// collect adds the sets of which each match of re holds a word.
func collect(re *syntax.Regexp, sets *[][]string) {
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		collect(re.Sub[0], sets)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			collect(sub, sets)
		}
	case syntax.OpLiteral, syntax.OpAlternate:
		if words := required(re); len(words) > 0 && shortest(words) >= shortestWord {
			*sets = append(*sets, words)
		}
	}
}

// required are words of which each match of re holds one, the set with the longest; nil where none can be told.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		word := make([]byte, 0, len(re.Rune))
		for _, c := range re.Rune {
			if c >= utf8.RuneSelf {
				return nil
			}
			word = append(word, byte(unicode.ToLower(c)))
		}
		return []string{string(word)}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if words := required(sub); shortest(words) > shortest(best) {
				best = words
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			words := required(sub)
			if len(words) == 0 || len(all)+len(words) > mostWords {
				return nil
			}
			all = append(all, words...)
		}
		return all
	}
	return nil
}

func shortest(words []string) int {
	n := 0
	for i, w := range words {
		if i == 0 || len(w) < n {
			n = len(w)
		}
	}
	return n
}

// met reports whether a text may hold one of the words.
func (n *need) met(b []byte) bool {
	for i, c := range b {
		if c >= utf8.RuneSelf {
			return true
		}
		if n.first[c] && n.at(b[i:]) {
			return true
		}
	}
	return false
}

// at reports whether one of the words stands at the beginning of b.
func (n *need) at(b []byte) bool {
	for _, w := range n.words {
		if len(w) > len(b) {
			continue
		}
		k := 0
		for k < len(w) && lower(b[k]) == w[k] {
			k++
		}
		if k == len(w) {
			return true
		}
	}
	return false
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
