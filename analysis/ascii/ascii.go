// Package ascii tells the classes of the characters that logs are made of, and which words a text holds.
package ascii

import (
	"slices"
	"strings"
)

// Digit says that a character is a decimal digit.
func Digit[C byte | rune](c C) bool { return c >= '0' && c <= '9' }

// Lower says that a character is a small letter, and Upper a capital.
func Lower[C byte | rune](c C) bool { return c >= 'a' && c <= 'z' }
func Upper[C byte | rune](c C) bool { return c >= 'A' && c <= 'Z' }

// Letter says that a character is a letter.
func Letter[C byte | rune](c C) bool { return Lower(c | 0x20) }

// Alnum says that a character is a letter or a digit.
func Alnum[C byte | rune](c C) bool { return Digit(c) || Letter(c) }

// Has says that a text holds one of the words.
func Has(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// Begins says that a text begins with one of the words.
func Begins(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(text, w) })
}

// Number reads the decimal digits at the beginning of a text, at the most so many; length is 0 where there are none, or more.
func Number(b []byte, most int) (n int64, length int) {
	for length < len(b) && Digit(b[length]) {
		if length == most {
			return 0, 0
		}
		n = 10*n + int64(b[length]-'0')
		length++
	}
	return n, length
}
