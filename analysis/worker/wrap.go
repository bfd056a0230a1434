package worker

import (
	"bytes"
	"unicode/utf8"

	"faultline/analysis/line"
)

// Text that went through a terminal, a chat or an issue form may be wrapped at a fixed column, in the middle of tokens:
// "ran f" and on the next line "or 1800010 milliseconds". Such a file is known by its head: no line is wider than the
// column, several are exactly as wide, and tokens continue on the line after them or blanks fill lines up to it. Then lines of that width are joined
// with what follows. Lines that merely are equally long (eight ranks that say the same) do not look so: they begin
// alike, and what follows them is a message of its own.

const (
	minWrap, maxWrap = 80, 240
	// maxHead bounds what is kept of the head until it is decided.
	maxHead = 256 << 10
	// maxWrapped is how many lines one record may be wrapped into.
	maxWrapped = 40
)

// wrapWidth returns the column at which the lines are wrapped, 0 if they are not.
func wrapWidth(head []phys) int {
	width := 0
	for i := range head {
		width = max(width, lineWidth(head[i].raw))
	}
	if width < minWrap || width > maxWrap {
		return 0
	}
	full, torn, filled, between := 0, 0, 0, 0
	var begins [][]byte
	for i := range head {
		if lineWidth(head[i].raw) != width {
			continue
		}
		if padded(head[i].raw) {
			filled++
			continue
		}
		full++
		if bytes.HasSuffix(bytes.TrimSuffix(head[i].raw, []byte("\r")), []byte(" ")) {
			between++
		}
		if b := beginning(head[i].raw); !containsBytes(begins, b) {
			begins = append(begins, b)
		}
		if i+1 < len(head) && tearsToken(head[i].raw, head[i+1].raw) {
			torn++
		}
	}
	if filled > 0 { // that shows where the column is: one torn token is enough, and lines may be wrapped between words
		torn, full = torn*(1+filled), full-between
	}
	if torn < 3 || torn*3 < full || len(begins) < 2 {
		return 0
	}
	return width
}

// lineWidth is the columns of the last line in raw, about: one per rune, none for escape sequences.
func lineWidth(raw []byte) int {
	raw = raw[bytes.LastIndexByte(raw, '\n')+1:]
	raw = bytes.TrimSuffix(raw, []byte("\r"))
	raw = raw[bytes.LastIndexByte(raw, '\r')+1:]
	return utf8.RuneCount(line.StripANSI(nil, raw))
}

// tearsToken reports whether a token seems to run from the end of one line into the next.
func tearsToken(a, b []byte) bool {
	a, b = bytes.TrimSuffix(a, []byte("\r")), bytes.TrimSuffix(b, []byte("\r"))
	return len(a) > 0 && len(b) > 0 && (isWord(a[len(a)-1]) || a[len(a)-1] == '/') &&
		(isWord(b[0]) || b[0] == '/' || b[0] == '.') && continues(b)
}

// padded reports whether a line was filled up with blanks to the column, as text copied out of a terminal is: then it
// ends where it ends.
func padded(raw []byte) bool {
	return bytes.HasSuffix(bytes.TrimSuffix(raw, []byte("\r")), []byte("  "))
}

// beginning is how a line begins, with digits made equal: lines of one kind begin alike.
func beginning(raw []byte) []byte {
	b := bytes.Clone(raw[:min(len(raw), 8)])
	for i, c := range b {
		if c >= '0' && c <= '9' {
			b[i] = '0'
		}
	}
	return b
}

func containsBytes(list [][]byte, b []byte) bool {
	for _, x := range list {
		if bytes.Equal(x, b) {
			return true
		}
	}
	return false
}
