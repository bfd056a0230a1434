package line

import "bytes"

// Segments calls visit for every stretch of text between carriage returns, with its offset in text. Progress bars
// overwrite themselves with \r, so a message may follow any number of them in one physical line. A \r right before the
// end is CRLF and belongs to no segment; empty segments are skipped unless text itself is empty.
func Segments(text []byte, visit func(off int, seg []byte)) {
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	off := 0
	for {
		i := bytes.IndexByte(text[off:], '\r')
		if i < 0 {
			if off < len(text) || off == 0 {
				visit(off, text[off:])
			}
			return
		}
		if i > 0 {
			visit(off, text[off:off+i])
		}
		off += i + 1
	}
}

// SkipEscape returns b without the escape sequence that it begins with.
func SkipEscape(b []byte) []byte { return b[escLen(b):] }

const esc = 0x1b

// Pieces calls visit for every stretch of seg that StripANSI keeps, with its offset.
func Pieces(seg []byte, visit func(off int, piece []byte)) {
	for off := 0; off < len(seg); {
		n := bytes.IndexByte(seg[off:], esc)
		if n < 0 {
			n = len(seg) - off
		}
		if n > 0 {
			visit(off, seg[off:off+n])
		}
		if off += n; off < len(seg) {
			off += escLen(seg[off:])
		}
	}
}

// StripANSI returns seg without terminal escape sequences: seg itself if it has none, else the rest appended to
// dst[:0]. It also drops the bytes of a sequence that the segment cuts short.
func StripANSI(dst, seg []byte) []byte {
	i := bytes.IndexByte(seg, esc)
	if i < 0 {
		return seg
	}
	dst = dst[:0]
	for {
		dst = append(dst, seg[:i]...)
		seg = seg[i+escLen(seg[i:]):]
		if i = bytes.IndexByte(seg, esc); i < 0 {
			return append(dst, seg...)
		}
	}
}

// escLen is the length of the escape sequence at b[0] (ECMA-48 CSI and OSC; any other is taken as two bytes).
func escLen(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
			// A byte that cannot be part of a control sequence: it was cut by another writer. Keep what follows.
			if b[i] < 0x20 || b[i] > 0x7e || i > maxCSI {
				return i
			}
		}
		return len(b)
	case ']':
		for i := 2; i < len(b) && i < maxOSC; i++ {
			if b[i] == 7 {
				return i + 1
			}
			if b[i] == esc {
				if i+1 < len(b) && b[i+1] == '\\' {
					return i + 2
				}
				return i
			}
		}
		return 2
	case esc:
		return 1
	}
	return 2
}

const (
	maxCSI = 32
	maxOSC = 512
)
