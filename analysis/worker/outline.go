package worker

import (
	"encoding/binary"
	"faultline/analysis/ascii"
	"math/bits"
)

// outline is what is left of a line without its numbers and paths: lines of one kind from one program have the same. Of a number
// it keeps whether it is zero, because programs report what went wrong as a count that no longer is; behind a word such as
// "code" or "status" it keeps the number itself.
type outline struct {
	hash uint64
	n    int // how many numbers were found
	runs [outlineRuns]run
}

// run is where a number stands.
type run struct{ from, to uint16 }

const (
	outlineRuns = 16      // numbers whose places are kept: the first of a line, among which those stand that say who writes
	mostOutline = 4 << 10 // bytes of a line that has an outline
)

// with is the hash of the outline in a line that holds these literals.
func (s *outline) with(hits []uint16) uint64 {
	h := s.hash
	for _, id := range hits {
		h = stir(h, uint64(id))
	}
	return h
}

// read takes the outline of a text of at most mostOutline bytes.
func (s *outline) read(b []byte) {
	h := uint64(outlineSeed)
	s.n = 0
	for i := 0; i < len(b); {
		var w uint64
		if i+8 <= len(b) {
			w = binary.LittleEndian.Uint64(b[i:])
		} else {
			w = lastWord(b[i:])
		}
		d := varying(w)
		if d == 0 {
			h, i = stir(h, w), i+8
			continue
		}
		n := bits.TrailingZeros64(d) &^ 7
		h, i = stir(h, w&(1<<n-1)|uint64(n)<<56), i+n/8
		if b[i] == '/' {
			h, i = stir(h, '/'), pathEnd(b, i)
			continue
		}
		from := i
		var zero bool
		i, zero = numeralEnd(b, i)
		switch {
		case telling(b, from):
			for _, c := range b[from:i] {
				h = stir(h, uint64(c))
			}
		case zero:
			h = stir(h, '0')
		default:
			h = stir(h, '1')
		}
		if s.n < outlineRuns {
			s.runs[s.n] = run{uint16(from), uint16(i)}
			s.n++
		}
	}
	s.hash = h
}

const (
	outlineSeed = 0x51_7C_C1_B7_27_22_0A_95
	outlineOdd  = 0x9E_37_79_B9_7F_4A_7C_15
)

func stir(h, w uint64) uint64 {
	h = (h ^ w) * outlineOdd
	return h ^ h>>32
}

// lastWord is fewer than eight bytes, as if zeros stood behind them.
func lastWord(b []byte) (w uint64) {
	for i, c := range b {
		w |= uint64(c) << (8 * i)
	}
	return w
}

// varying sets the high bit of every byte that is a digit or a slash, which stand side by side in ASCII.
func varying(w uint64) uint64 {
	const ones, high = 0x01_01_01_01_01_01_01_01, 0x80_80_80_80_80_80_80_80
	low := w &^ high
	return (low + (0x80-'/')*ones) &^ (low + (0x80-'9'-1)*ones) &^ w & high
}

// numeralEnd is where a number ends that begins at b[i], in base 16 as well as in base 10, and whether it is zero.
func numeralEnd(b []byte, i int) (end int, zero bool) {
	zero = true
	for i < len(b) {
		switch c := numeralByte[b[i]]; {
		case c == 0 || c == '.' && (i+1 == len(b) || !ascii.Digit(b[i+1])):
			return i, zero
		case c == '1':
			zero = false
		}
		i++
	}
	return i, zero
}

// numeralByte tells what continues a number: 0 nothing, '0' and '.' what zero is made of, '1' what any other is.
var numeralByte = func() (t [256]byte) {
	for _, c := range "123456789abcdefABCDEFx" {
		t[c] = '1'
	}
	t['0'], t['.'] = '0', '.'
	return t
}()

// pathEnd is where a path ends that has a slash at b[i]. Its first name is read: it may be a bucket's.
func pathEnd(b []byte, i int) int {
	if i == 0 || !isWord(b[i-1]) && b[i-1] != '-' && b[i-1] != '.' {
		return i + 1
	}
	for i < len(b) && !pathStop[b[i]] {
		i++
	}
	return i
}

// pathStop are the bytes that end a path.
var pathStop = func() (t [256]bool) {
	for c := range t {
		t[c] = c <= ' '
	}
	for _, c := range ",;:=()[]{}<>|\"'`" {
		t[c] = true
	}
	return t
}()

// telling reports whether the number at b[from] is known by its value: an exit code, a status, a signal or an errno.
func telling(b []byte, from int) bool {
	i := from - 1
	for i >= 0 && i > from-4 && (b[i] == ' ' || b[i] == '=' || b[i] == ':' || b[i] == '(' || b[i] == '"' || b[i] == '-') {
		i--
	}
	if i < 1 {
		return false
	}
	switch string(b[i-1 : i+1]) {
	case "de", "us", "al", "no", "it", "id":
		switch {
		case endsIn(b[:i+1], "code"), endsIn(b[:i+1], "status"), endsIn(b[:i+1], "signal"), endsIn(b[:i+1], "rrno"), endsIn(b[:i+1], "exit"), endsIn(b[:i+1], "Xid"):
			return true
		}
	}
	return false
}

func endsIn(b []byte, s string) bool { return len(b) >= len(s) && string(b[len(b)-len(s):]) == s }
