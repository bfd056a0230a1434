// Package styletest is the ear for texts that people read: tests hold every text of the product against it. It finds constructions that read
// like a translation; that it finds none does not make a text a good one.
package styletest

import (
	"regexp"
	"strings"
)

// Bounds of one sentence.
const (
	mostWords   = 25
	mostClauses = 2 // joined by semicolons
)

var (
	banned = regexp.MustCompile(`(?i)\b(nothing that can|which of them|of which|whoever|befall|befell|stands for|says that it|is told of|by whom|nobody states|no line tells|` +
		`cannot be said|give or take|in vain|heard no more|mend|mends|mended|mending|hand in|deed|it is said|time-outs?)\b`)
	// theOthers is the noun, not "the others' logs" of files or the determiner.
	theOthers = regexp.MustCompile(`(?i)\b(held|hold|holds|waited for|wait for|waits for|before|until|while|than|of|from) the others\b`)
	sentences = regexp.MustCompile(`[.!?:](?:\s+|$)`)
	asItIs    = regexp.MustCompile("“[^”]*”|`[^`]*`|\"[^\"]*\"")
	aWord     = regexp.MustCompile(`[A-Za-z0-9]`)
)

// Faults names what is wrong with the wording of a text. What stands in quotation marks is somebody else's.
func Faults(text string) []string {
	text = asItIs.ReplaceAllString(text, "“”")
	out := Banned(text)
	for _, s := range sentences.Split(text, -1) {
		if n := words(s); n > mostWords {
			out = append(out, "a sentence too long: "+s)
		}
		if strings.Count(s, "; ") > mostClauses {
			out = append(out, "too many clauses: "+s)
		}
	}
	return out
}

// Banned names the constructions in a text that no text has.
func Banned(text string) []string {
	return append(banned.FindAllString(text, -1), theOthers.FindAllString(text, -1)...)
}

func words(s string) (n int) {
	for w := range strings.FieldsSeq(s) {
		if aWord.MatchString(w) {
			n++
		}
	}
	return n
}
