package worker

import (
	"bytes"
	"slices"
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
	return slices.ContainsFunc(list, func(x []byte) bool { return bytes.Equal(x, b) })
}

// held is a physical line whose tail seems to stand on the next one.
type held struct {
	phys
	joined int
	above  []byte // the line above its first
}

// unwrappedLine is the last line that was joined of several, as it was before somebody wrapped it.
type unwrappedLine struct {
	text []byte
	last int64 // number of the last of them
}

const maxJoined = 3

// maxHeld bounds the lines that are held back: wrapped ones are as narrow as a terminal, but may follow a bar.
const maxHeld = 8 << 10

// holds reports whether the tail of raw, joined from so many lines, seems to stand on the next line.
func (r *reader) holds(raw []byte, joined int) bool {
	if r.width > 0 && joined < maxWrapped && lineWidth(raw) == r.width && !padded(raw) {
		return true
	}
	return len(raw) <= maxHeld && joined < maxJoined && cutShort(unwrapped(raw))
}

// release reads the held line as it is: nothing that follows belongs to it.
func (r *reader) release() {
	if h := r.held; h != nil {
		r.held = nil
		no := r.lineNo
		r.lineNo = h.no + int64(h.joined)
		r.unheld(h)
		r.lineNo = max(no, r.lineNo)
	}
}

// unheld reads a line that was held back; the scanner stands below it by now.
func (r *reader) unheld(h *held) {
	r.heldAbove = &h.above
	r.physical(&h.phys)
	r.heldAbove = nil
	if h.joined > 0 {
		r.mended = unwrappedLine{unwrapped(h.raw), h.no + int64(h.joined)}
	}
}

// continues reports whether a line can be the tail of a wrapped one, rather than a message of its own.
func continues(text []byte) bool {
	text = bytes.TrimRight(text, "\r")
	if len(bytes.TrimSpace(text)) == 0 {
		return false
	}
	p := line.Parse(text)
	if p.Stamp.Kind != line.NoStamp || p.Source != "" || p.Who.Global != line.Unknown {
		return false
	}
	for _, s := range []string{"Exception raised from", "frame #", "terminate called", "Traceback", "  what():", "Fatal Python error"} {
		if bytes.HasPrefix(text, []byte(s)) {
			return false
		}
	}
	return true
}

// unwrapped is raw without the line ends of joined lines.
func unwrapped(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for rest := raw; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return append(out, rest...)
		}
		out = append(out, bytes.TrimSuffix(rest[:i], []byte("\r"))...)
		rest = rest[i+1:]
	}
}
