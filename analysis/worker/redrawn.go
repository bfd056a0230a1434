package worker

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"faultline/analysis/ascii"
	"faultline/analysis/line"
)

// A bar is drawn over itself with \r, in some logs for hours within one physical line. Of pictures in a row that differ
// in nothing but their numbers and how far the bar is filled, the first, the last and one in drawEvery are read; the others
// count (Progress.N). One that says anything else, a loss that is no number included, differs in more. In the first
// wholeBars bytes of a file and in its last ones all are read; where a file has many of them, fewer.
const (
	drawEvery  = 8
	drawSeldom = 64
	manyDrawn  = 1 << 12
	wholeBars  = 64 << 10
)

// picture is a segment of a line, with the literals that stand in it.
type picture struct {
	off   int
	seg   []byte
	marks []uint16
}

// redraws follows the segments of one physical line.
type redraws struct {
	last   picture // the one before
	run    int     // how many like it stand before that one in a row
	held   bool    // it was not read yet
	passed int64   // those before it that were not read and will not be
}

// redrawn reads the segments of a line with nothing but everyday literals.
func (r *reader) redrawn(p *phys, text []byte) {
	d := &r.draws
	*d = redraws{last: picture{marks: d.last.marks[:0]}}
	next := 0 // of p.marks
	line.Segments(text, func(off int, seg []byte) {
		first := next
		for next < len(p.marks) && int(p.marks[next].At) < off+len(seg) {
			next++
		}
		marks := p.marks[first:next]
		same := d.last.seg != nil && len(marks) == len(d.last.marks)
		for i := 0; same && i < len(marks); i++ {
			same = marks[i].Lit == d.last.marks[i]
		}
		if same && r.apart() && alike(d.last.seg, seg) {
			d.run++
			if d.held {
				d.passed++
			}
		} else {
			r.drawn(p)
			d.run = 0
		}
		d.last.off, d.last.seg, d.held = off, seg, true
		d.last.marks = d.last.marks[:0]
		for _, m := range marks {
			d.last.marks = append(d.last.marks, m.Lit)
		}
		every := drawEvery
		if r.pictures++; r.pictures > manyDrawn {
			every = drawSeldom
		}
		if d.run%every == 0 {
			r.drawn(p)
		}
	})
	r.drawn(p)
}

// drawn reads the picture that was held back.
func (r *reader) drawn(p *phys) {
	if d := &r.draws; d.held {
		r.undrawn, d.held, d.passed = d.passed, false, 0
		r.segment(p, d.last.off, d.last.seg)
		r.undrawn = 0
	}
}

// beside reads a bar that only open blocks asked for, if it is none of theirs: who drew it, and when. It reports false where
// a block may want a part of the line.
func (r *reader) beside(p *phys) bool {
	text := bytes.TrimSuffix(p.raw, []byte("\r"))
	var outer line.Who
	var head []byte // of the segment before
	none, last := true, 0
	line.Segments(text, func(off int, seg []byte) {
		n := percent(seg)
		if last = off; n < 0 || seg[len(seg)-1] != ']' || bytes.Contains(seg[n:], []byte("][")) || bytes.Contains(seg[n:], []byte("] [")) {
			none = false // no bar, or something behind it
		}
		if !none || head != nil && string(seg[:n]) == string(head) {
			return
		}
		head = seg[:n:n]
		r.written(p.no, p.off+int64(off), seg)
		if off == 0 {
			outer = r.rec.Who
		}
		r.rec.Who = r.rec.Who.Labelled(outer)
		none = r.apart()
	})
	if !none || head == nil {
		return false
	}
	if last > 0 { // else it was just read
		r.written(p.no, p.off+int64(last), text[last:])
		r.rec.Who = r.rec.Who.Labelled(outer)
	}
	r.account()
	r.header.alone = false
	return true
}

// alike reports whether two pictures of a bar differ in nothing but numbers and how far it is filled. What stands before
// the percentage is who draws it: there they do not differ at all.
func alike(a, b []byte) bool {
	i, j := percent(a), percent(b)
	if i < 0 || j < 0 || string(a[:i]) != string(b[:j]) {
		return false
	}
	for {
		n := common(a[i:], b[j:])
		if i+n == len(a) && j+n == len(b) {
			return true
		}
		for n > 0 && inPicture[a[i+n-1]] { // back to where the number began, or the filling
			n--
		}
		i, j = i+n, j+n
		n, what := fluent(a[i:])
		m, same := fluent(b[j:])
		if n == 0 || m == 0 || what != same {
			return false
		}
		i, j = i+n, j+m
	}
}

// percent is where the percentage begins, with the blanks before it; negative where there is none.
func percent(b []byte) int {
	i := bytes.IndexByte(b, '%')
	for i > 0 && (b[i-1] == ' ' || b[i-1] == '.' || ascii.Digit(b[i-1])) {
		i--
	}
	return i
}

// isBar reports whether a record is a picture of a bar and nothing else behind it.
func isBar(b []byte) bool {
	i := percent(b)
	return i >= 0 && bytes.Contains(b[i:], []byte("%|")) && b[len(b)-1] == ']'
}

// common is how many bytes both begin with.
func common(a, b []byte) int {
	n := 0
	for n+8 <= len(a) && n+8 <= len(b) {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// inPicture are the bytes of numbers, and those of which bars are drawn.
var inPicture = func() (set [256]bool) {
	for c := range set {
		set[c] = c >= '0' && c <= '9' || c == '.' || c == ' ' || c == '#' || c == 0xe2 || c >= 0x80 && c <= 0xbf
	}
	return set
}()

// What differs from picture to picture.
const (
	counting = iota
	filling
)

// fluent is how many of the first bytes are a number, or a part of the bar, and which of both.
func fluent(b []byte) (n, kind int) {
	for n < len(b) && (ascii.Digit(b[n]) || b[n] == '.') {
		n++
	}
	if n > 0 {
		return n, counting
	}
	for n < len(b) {
		switch {
		case b[n] == ' ', b[n] == '#':
			n++
		case n+2 < len(b) && b[n] == 0xe2 && b[n+1] >= 0x94 && b[n+1] <= 0x96: // box drawing and blocks: U+2500 to U+25BF
			n += 3
		default:
			return n, filling
		}
	}
	return n, filling
}
