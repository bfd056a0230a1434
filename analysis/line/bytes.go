package line

import "bytes"

func isDigit(c byte) bool { return c-'0' <= 9 }
func isLetter(c byte) bool {
	c |= 0x20
	return c >= 'a' && c <= 'z'
}
func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }

// inName are the bytes that names of files and functions consist of in records, apart from the dot.
var inName = func() (set [256]bool) {
	for c := range set {
		set[c] = isAlnum(byte(c)) || bytes.IndexByte([]byte("_-/<>+"), byte(c)) >= 0
	}
	return set
}()

// at is b[i], or 0 beyond the end.
func at(b []byte, i int) byte {
	if i < 0 || i >= len(b) {
		return 0
	}
	return b[i]
}

func hasAt(b []byte, i int, s string) bool {
	return i >= 0 && len(b)-i >= len(s) && string(b[i:i+len(s)]) == s
}

// number reads decimal digits at i, at most max of them; the end is i if there is none or the run is longer.
func number(b []byte, i, max int) (v, end int) {
	j := i
	for j < len(b) && isDigit(b[j]) {
		if j-i == max {
			return 0, i
		}
		v = v*10 + int(b[j]-'0')
		j++
	}
	return v, j
}

// fixed reads exactly n digits at i.
func fixed(b []byte, i, n int) (int, bool) {
	if len(b)-i < n {
		return 0, false
	}
	v := 0
	for _, c := range b[i : i+n] {
		if !isDigit(c) {
			return 0, false
		}
		v = v*10 + int(c-'0')
	}
	return v, true
}

// two is the number of the first two bytes of b if both are digits, else more than any such number.
func two(b []byte) int {
	hi, lo := b[0]-'0', b[1]-'0'
	if hi > 9 || lo > 9 {
		return 100
	}
	return int(hi)*10 + int(lo)
}

// spaces is the index of the first byte at or after i that is not a blank.
func spaces(b []byte, i int) int {
	for i < len(b) && b[i] == ' ' {
		i++
	}
	return i
}

// closing is the index of c in b[i:i+max], or −1.
func closing(b []byte, i, max int, c byte) int {
	if i > len(b) {
		return -1
	}
	e := min(len(b), i+max)
	k := bytes.IndexByte(b[i:e], c)
	if k < 0 {
		return -1
	}
	return i + k
}
