package aislog

import (
	"bytes"

	"faultline/analysis/ascii"
)

// stampLen is the length of "I 23:15:03.284784 ".
const stampLen = 18

// stamp reads what every record begins with: severity and time of day in microseconds. It reports false where b does not
// begin so. The space at its end may be missing where the line ends.
func stamp(b []byte) (severity byte, micros int64, ok bool) {
	if len(b) < stampLen-1 || b[1] != ' ' || b[4] != ':' || b[7] != ':' || b[10] != '.' || b[0] != 'I' && b[0] != 'W' && b[0] != 'E' {
		return 0, 0, false
	}
	if len(b) >= stampLen && b[stampLen-1] != ' ' {
		return 0, 0, false
	}
	n := func(from, to int) int64 {
		v := int64(0)
		for _, c := range b[from:to] {
			if !ascii.Digit(c) {
				ok = false
				return 0
			}
			v = v*10 + int64(c-'0')
		}
		return v
	}
	ok = true
	h, m, s, us := n(2, 4), n(5, 7), n(8, 10), n(11, 17)
	if !ok || h > 23 || m > 59 || s > 60 {
		return 0, 0, false
	}
	return b[0], ((h*60+m)*60+s)*1_000_000 + us, true
}

// nextStamp is where, from the given place on, a record begins: the newline in front of it was lost. −1: nowhere.
func nextStamp(b []byte, from int) int {
	const dot = 10 // its place in a stamp
	for i := from + dot; i < len(b); i++ {
		j := bytes.IndexByte(b[i:], '.')
		if j < 0 {
			return -1
		}
		if i += j; b[i-3] == ':' && b[i-6] == ':' {
			if _, _, ok := stamp(b[i-dot:]); ok {
				return i - dot
			}
		}
	}
	return -1
}

// early are what a daemon puts in front of records before its log is open, or while it stops.
var early = [][]byte{[]byte("Error: logging before flag.Parse: "), []byte("[while stopping:] ")}

// prefixed is how many bytes of b stand in front of its stamp.
func prefixed(b []byte) int {
	n := 0
	for range 2 * len(early) {
		for _, e := range early {
			if bytes.HasPrefix(b[n:], e) {
				n += len(e)
			}
		}
	}
	return n
}

// message is a record without its stamp and without the place in the source, "moss:684 ", which some have.
func message(b []byte) []byte {
	if _, _, ok := stamp(b); ok {
		b = b[min(stampLen, len(b)):]
	}
	i := 0
	for i < len(b) && (b[i] == '_' || ascii.Lower(b[i]) || ascii.Digit(b[i])) {
		i++
	}
	if i == 0 || i >= len(b) || b[i] != ':' {
		return b
	}
	j := i + 1
	for j < len(b) && ascii.Digit(b[j]) {
		j++
	}
	if j == i+1 || j >= len(b) || b[j] != ' ' {
		return b
	}
	return b[j+1:]
}
