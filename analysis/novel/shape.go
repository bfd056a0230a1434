package novel

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// Constants of the hash: eight bytes at a time, multiplied by an odd number without pattern and folded.
const (
	seed = 0x51_7C_C1_B7_27_22_0A_95
	odd  = 0x9E_37_79_B9_7F_4A_7C_15
	ones = 0x01_01_01_01_01_01_01_01
	high = 0x80 * ones
)

// Hash is the shape of a line as one number: lines that differ only in their numbers, of whatever length, have the same. A number is a
// run of digits with the hexadecimal digits that follow it. It is a function of the bytes alone and allocates nothing.
func Hash(b []byte) uint64 {
	h := uint64(seed)
	i := 0
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		d := digits(w)
		if d == 0 {
			h = mix(h, w)
			i += 8
			continue
		}
		n := bits.TrailingZeros64(d)
		h = mix(h, w&(1<<(n&^7)-1)|'0'<<(n&^7)) // the bytes before the number, and one zero for it
		i += n/8 + 1
		for i < len(b) && numeric[b[i]] {
			i++
		}
	}
	return fold(rest(h, b[i:]))
}

// rest hashes fewer than eight bytes, as if zeros stood behind them.
func rest(h uint64, b []byte) uint64 {
	for len(b) > 0 {
		var w uint64
		for i, c := range b {
			w |= uint64(c) << (8 * i)
		}
		d := digits(w)
		if d == 0 {
			return mix(h, w)
		}
		n := bits.TrailingZeros64(d)
		h = mix(h, w&(1<<(n&^7)-1)|'0'<<(n&^7))
		i := n/8 + 1
		for i < len(b) && numeric[b[i]] {
			i++
		}
		b = b[i:]
	}
	return h
}

func fold(h uint64) uint64 { return h ^ h>>29 }

// digits sets the high bit of every byte that is an ASCII digit.
func digits(w uint64) uint64 {
	low := w &^ high
	return (low + (0x80-'0')*ones) &^ (low + (0x80-'9'-1)*ones) &^ w & high
}

func mix(h, w uint64) uint64 {
	h = (h ^ w) * odd
	return h ^ h>>32
}

// numeric are the bytes that continue a number.
var numeric = func() (t [256]bool) {
	for _, c := range "0123456789abcdefABCDEFx" {
		t[c] = true
	}
	return t
}()

// Template is the line without what differs from one to the next of its kind: numbers are 0, hexadecimal words <hex>, paths <path>,
// addresses <host>, and what stands in quotes is "…".
func Template(line string) string {
	var out strings.Builder
	out.Grow(len(line))
	for i := 0; i < len(line); {
		c := line[i]
		switch {
		case c == ' ' || c == '\t':
			if s := out.String(); s != "" && s[len(s)-1] != ' ' {
				out.WriteByte(' ')
			}
			i++
		case quoteEnd(line, i) > 0:
			out.WriteString(`"…"`)
			i = quoteEnd(line, i)
		default:
			end := i
			for end < len(line) && strings.IndexByte(" \t,;()[]{}\"'`=", line[end]) < 0 {
				end++
			}
			if end == i {
				out.WriteByte(c)
				i++
				continue
			}
			out.WriteString(masked(line[i:end]))
			i = end
		}
	}
	return out.String()
}

// quoteEnd is where a quoted string that begins at i ends, 0 where none does. An apostrophe within a word begins none.
func quoteEnd(line string, i int) int {
	c := line[i]
	if c != '"' && c != '\'' && c != '`' || i > 0 && letter(line[i-1]) {
		return 0
	}
	const longest = 200
	rest := line[i+1 : min(len(line), i+1+longest)]
	closing := c
	if c == '`' {
		closing = '\''
		if strings.IndexByte(rest, '\'') < 0 {
			closing = '`'
		}
	}
	n := strings.IndexByte(rest, closing)
	if n < 0 {
		return 0
	}
	return i + 1 + n + 1
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// masked is one word of a template.
func masked(word string) string {
	body := strings.TrimRight(word, ".:!?")
	tail := word[len(body):]
	switch {
	case strings.Contains(body, "://"), len(body) > 1 && strings.Contains(strings.TrimLeft(body, "/"), "/"), strings.HasPrefix(body, "/") && len(body) > 1:
		return "<path>" + tail
	case address(body):
		return "<host>" + tail
	case hexadecimal(body):
		return "<hex>" + tail
	}
	var out strings.Builder
	last := byte(0)
	for i := range len(body) {
		c := body[i]
		if c >= '0' && c <= '9' {
			if last != '0' {
				out.WriteByte('0')
			}
			last = '0'
			continue
		}
		out.WriteByte(c)
		last = c
	}
	return out.String() + tail
}

// address says that a word is an IPv4 address, or a name with dots and a digit, perhaps with a port.
func address(word string) bool {
	host, _, _ := strings.Cut(word, ":")
	if strings.Count(host, ".") < 2 {
		return false
	}
	digit := false
	for i := range len(host) {
		c := host[i]
		switch {
		case c >= '0' && c <= '9':
			digit = true
		case !letter(c) && c != '.' && c != '-':
			return false
		}
	}
	return digit
}

// hexadecimal says that a word is a number in base 16: 0x…, or six and more of its digits with one above 9 and one not.
func hexadecimal(word string) bool {
	if strings.HasPrefix(word, "0x") && len(word) > 2 {
		return true
	}
	const least = 6
	if len(word) < least {
		return false
	}
	digit, above := false, false
	for i := range len(word) {
		c := word[i]
		switch {
		case c >= '0' && c <= '9':
			digit = true
		case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
			above = true
		case c != '-':
			return false
		}
	}
	return digit && above
}
