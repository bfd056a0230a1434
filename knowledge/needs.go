package knowledge

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// Most texts that hold the literals of a signature do not match its pattern, and finding that out costs a hundred times
// as much as looking for a word. So each pattern has a set of words of which any text that it matches holds one.

// needs are such words of a pattern; nil where none can be told. What the literals hold, a text that is asked for them holds
// anyway.
func needs(pattern string, literals []string) [][]byte {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	var out [][]byte
	for _, w := range required(re.Simplify(), literals) {
		out = append(out, []byte(w))
	}
	return out
}

// maxNeeds bounds the words of one pattern.
const maxNeeds = 8

// required are words of which each match of re holds one: the longest such set, by its shortest word.
func required(re *syntax.Regexp, literals []string) []string {
	switch re.Op {
	case syntax.OpLiteral:
		// What is no UTF-8 in a text matches U+FFFD.
		if re.Flags&syntax.FoldCase == 0 && !slices.Contains(re.Rune, utf8.RuneError) {
			word := string(re.Rune)
			if !slices.ContainsFunc(literals, func(l string) bool { return strings.Contains(l, word) }) {
				return []string{word}
			}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0], literals)
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if words := required(sub, literals); shortest(words) > shortest(best) {
				best = words
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			words := required(sub, literals)
			if len(words) == 0 || len(all)+len(words) > maxNeeds {
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

// possible reports whether the text holds one of the words, if there are any.
func possible(words [][]byte, text []byte) bool {
	for _, w := range words {
		if bytes.Contains(text, w) {
			return true
		}
	}
	return len(words) == 0
}
