package redact

import (
	"strings"
	"unicode/utf8"
)

// replacement stands for every byte or rune that a person could not see or that a terminal, a browser or a chat would
// obey. It is visible on purpose: a reader should know that something was there.
const replacement = utf8.RuneError

// sanitize makes text from a log harmless to look at. Terminal control sequences are dropped whole; invalid UTF-8, NUL,
// other control characters, bidirectional overrides and invisible characters become U+FFFD. Newline and tab stay,
// CR LF becomes LF, and a lone CR (a progress bar returning to column 1) becomes LF: it must never overwrite what stands before it.
func sanitize(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == 0x1b:
			if n := escapeLen(s[i:]); n > 0 {
				i += n
				continue
			}
			b.WriteRune(replacement)
			i++
			continue
		case c == '\r':
			i++
			if i < len(s) && s[i] == '\n' {
				i++
			}
			b.WriteByte('\n')
			continue
		case c == '\n' || c == '\t' || (c >= 0x20 && c < 0x7f):
			b.WriteByte(c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if hidden(r) {
			r = replacement
		}
		b.WriteRune(r)
		i += n
	}
	return b.String()
}

// clean is the fast path: printable ASCII, newline and tab only.
func clean(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

// hidden tells runes that must not reach a screen: C0 and C1 controls, bidirectional controls (Unicode Standard Annex 9),
// zero-width spaces, line and paragraph separators, interlinear annotation and tag characters.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r == 0x061c, r == 0x200b, r == 0x200e, r == 0x200f, r == 0xfeff, r == 0x00ad, r == 0x180e:
		return true
	case r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

// escapeLen returns the length of the ECMA-48 control sequence at the start of s (which begins with ESC), or 0 where it
// is none. A sequence without its end is not swallowed: it would hide the rest of the line.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '[': // CSI: parameters 0x30–0x3f, intermediates 0x20–0x2f, one final byte 0x40–0x7e
		for i := 2; i < len(s); i++ {
			switch c := s[i]; {
			case c >= 0x40 && c <= 0x7e:
				return i + 1
			case c < 0x20 || c > 0x3f:
				return 0
			}
		}
	case ']', 'P', '_', '^', 'X': // OSC, DCS, APC, PM, SOS: up to BEL or ESC \
		for i := 2; i < len(s) && i < 512; i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == '\n':
				return 0
			}
		}
	case '(', ')': // character set
		if len(s) > 2 && s[2] >= 0x30 && s[2] <= 0x7e {
			return 3
		}
	case '=', '>', '7', '8', 'c', 'M':
		return 2
	}
	return 0
}
