package worker

import (
	"bytes"

	"faultline/analysis/line"
)

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
