// Package ascii tells the classes of the characters that logs are made of.
package ascii

// Digit says that a character is a decimal digit.
func Digit[C byte | rune](c C) bool { return c >= '0' && c <= '9' }

// Lower says that a character is a small letter, and Upper a capital.
func Lower[C byte | rune](c C) bool { return c >= 'a' && c <= 'z' }
func Upper[C byte | rune](c C) bool { return c >= 'A' && c <= 'Z' }

// Letter says that a character is a letter.
func Letter[C byte | rune](c C) bool { return Lower(c | 0x20) }

// Alnum says that a character is a letter or a digit.
func Alnum[C byte | rune](c C) bool { return Digit(c) || Letter(c) }
