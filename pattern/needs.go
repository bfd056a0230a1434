package pattern

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Most texts that an expression is held against do not match it, and finding that out costs many times as much as looking for
// a word. So each expression has a few sets of words: a text that it matches holds one of each.

// need is a set of words; a text that matches holds one of them, in any case of letters. Texts that are not ASCII may hold others
// that fold to the same, and are not judged.
type need struct {
	words []string     // in lower case, sorted
	by    [256]stretch // of words: those that begin with a byte, in any case
}

// stretch is a part of a list.
type stretch struct{ from, to uint8 }

func needOf(words []string) need {
	n := need{words: slices.Clone(words)}
	slices.Sort(n.words)
	for i, w := range n.words {
		by := &n.by[w[0]]
		if by.to == 0 {
			by.from = uint8(i)
		}
		by.to = uint8(i + 1)
		n.by[unicode.ToUpper(rune(w[0]))] = *by
	}
	return n
}

const (
	mostNeeds    = 3 // sets of one expression
	mostWords    = 8 // of one set
	mostJoined   = 4 // of words that are made of others side by side
	shortestWord = 3
)

// needsOf are the sets of an expression, the longest words first.
func needsOf(expr string) []need {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	var needs []need
	for _, words := range required(re.Simplify()) {
		needs = append(needs, needOf(words))
	}
	return needs
}

// required are sets of words of each of which any match of re holds one, the longest words first.
func required(re *syntax.Regexp) (sets [][]string) {
	switch re.Op {
	case syntax.OpLiteral:
		sets = selective(whole(re))
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		run := []string{""} // what stands side by side is one word: expressions come with what alternatives have in common in front
		for _, sub := range re.Sub {
			if longer := joined(run, whole(sub)); longer != nil {
				run = longer
				continue
			}
			sets = append(append(sets, selective(run)...), required(sub)...)
			run = []string{""}
		}
		sets = append(sets, selective(run)...)
	case syntax.OpAlternate:
		if sets = selective(whole(re)); sets != nil {
			break
		}
		sets = [][]string{nil}
		for _, sub := range re.Sub {
			sets = either(sets, required(sub))
		}
	}
	slices.SortStableFunc(sets, func(a, b []string) int { return shortest(b) - shortest(a) })
	return sets[:min(len(sets), mostNeeds)]
}

// either are sets of which a text holds a word that holds one of each set of a or one of each set of b.
func either(a, b [][]string) (sets [][]string) {
	for _, x := range a {
		for _, y := range b {
			if len(x)+len(y) <= mostWords {
				sets = append(sets, slices.Concat(x, y))
			}
		}
	}
	return sets[:min(len(sets), mostNeeds*mostNeeds)]
}

// whole are all texts that re matches, in lower case; nil where they are many, or not ASCII.
func whole(re *syntax.Regexp) (texts []string) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText:
		return []string{""}
	case syntax.OpLiteral:
		var word []byte
		for _, c := range re.Rune {
			if c >= utf8.RuneSelf {
				return nil
			}
			word = append(word, lower(byte(c)))
		}
		return []string{string(word)}
	case syntax.OpCapture:
		return whole(re.Sub[0])
	case syntax.OpQuest:
		if texts = whole(re.Sub[0]); texts == nil || len(texts) == mostWords {
			return nil
		}
		return append(texts, "")
	case syntax.OpConcat:
		texts = []string{""}
		for _, sub := range re.Sub {
			if texts = joined(texts, whole(sub)); texts == nil {
				return nil
			}
		}
		return texts
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			more := whole(sub)
			if more == nil || len(texts)+len(more) > mostWords {
				return nil
			}
			texts = append(texts, more...)
		}
		return texts
	}
	return nil
}

// joined are the texts of a with those of b behind them; nil where they are too many.
func joined(a, b []string) (texts []string) {
	if len(b) == 0 || len(a)*len(b) > mostJoined && len(a) > 1 && len(b) > 1 {
		return nil
	}
	for _, x := range a {
		for _, y := range b {
			texts = append(texts, x+y)
		}
	}
	return texts
}

// selective is a set of words of which few texts hold one, as a list of sets: each is long enough, or has marks in it that
// prose has not.
func selective(words []string) [][]string {
	for _, w := range words {
		if len(w) < shortestWord && !strings.ContainsAny(w, "%|{}<>#@*") {
			return nil
		}
	}
	if len(words) == 0 {
		return nil
	}
	return [][]string{words}
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
func met[text string | []byte](n *need, b text) bool {
	for i := range len(b) {
		c := b[i]
		if c >= utf8.RuneSelf {
			return true
		}
		if at(n, b[i:]) {
			return true
		}
	}
	return false
}

// at reports whether one of the words stands at the beginning of b, which is not empty.
func at[text string | []byte](n *need, b text) bool {
	by := n.by[b[0]]
	for _, w := range n.words[by.from:by.to] {
		if starts(b, w) {
			return true
		}
	}
	return false
}

// starts reports whether b begins with a word in lower case, in any case of letters; the first byte is known to be the word's.
func starts[text string | []byte](b text, word string) bool {
	if len(word) > len(b) {
		return false
	}
	k := 1
	for k < len(word) && lower(b[k]) == word[k] {
		k++
	}
	return k == len(word)
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
