package scan

import "bytes"

// Long logs consist of lines that say how far a job is, alike by the million: what a reader makes of them is a course,
// for which a part of them is enough, while every line that says anything else has to be found. So the content is
// divided into cells by offset. In the first cells, in the last bytes, and wherever lines with nothing but frequent
// literals are few, all literals are searched for. Behind a cell full of such lines, cells are passed over: one, then
// two, four, up to maxGap, each time with one cell between in which the first enough frequent lines are looked at. In a
// cell that is passed over the other literals are searched for as everywhere, and a line that holds one is delivered with
// all its literals.
//
// A cell's lines are those that begin in it, so nothing here depends on how the content was read.
const (
	cellSize = 64 << 10
	headSize = 2 * cellSize // always searched for everything
	tailSize = cellSize     // likewise
	minDense = 48           // frequent lines that make a cell full of them,
	halfFull = cellSize / 2 // or so many bytes of them
	enough   = 32           // of them are looked at in a cell between two that are passed over
	maxGap   = 32           // cells passed over in one go
	few      = 16           // other frequent lines: as long as there were fewer,
	patience = 4 << 10      // so many lines of nothing but slow literals make no cell full

	aboveMost = 2 << 10 // bytes of Line.Before
	belowMost = 8 << 10 // bytes of Line.Below: less than what is held back
)

// hold is how many bytes are kept back until it is known whether the content ends there.
func (s *Scanner) hold() int {
	if s.rare == s.filter {
		return 0
	}
	return tailSize
}

// thinner decides, line by line, whether lines with nothing but frequent literals count.
type thinner struct {
	until int64 // where the present cell, or the present row of cells that are passed over, ends
	pass  bool  // they are passed over
	gap   int64 // how many cells were last passed over
	dense int   // frequent lines seen in this cell,
	bytes int   // and how long they are together
	slow  int   // lines of nothing but slow literals seen so far
	quick int   // other frequent lines seen so far
	tail  int64 // where the last bytes begin; unknown: beyond everything
}

func newThinner() thinner { return thinner{until: cellSize, tail: 1 << 62} }

// end tells where the content ends.
func (t *thinner) end(total int64) { t.tail = total - tailSize }

// at moves on to the line that begins at off and reports whether it may be passed over.
func (t *thinner) at(off int64) bool {
	for off >= t.until {
		switch {
		case t.pass:
			t.pass, t.until = false, t.until+cellSize
		case t.dense < minDense && t.bytes < halfFull:
			t.gap, t.until = 0, t.until+cellSize
		case t.until < headSize:
			t.until += cellSize
		default:
			t.skip()
		}
		t.dense, t.bytes = 0, 0
	}
	return t.pass && off < t.tail
}

// skip passes over the next cells.
func (t *thinner) skip() {
	t.gap = min(max(2*t.gap, 1), maxGap)
	t.pass, t.until = true, t.until+t.gap*cellSize
}

// saw counts a line of n bytes.
func (t *thinner) saw(off int64, n int, found []match, common, slow []bool) {
	if t.pass || len(found) == 0 {
		return
	}
	quick := false
	for _, m := range found {
		if !common[m.lit] {
			return
		}
		quick = quick || !slow[m.lit]
	}
	if off >= t.until {
		return
	}
	// What NCCL prints at the start must not hide the few steps that were made between it and the end.
	if quick {
		t.quick++
	} else if t.slow++; t.quick < few && t.slow <= patience {
		return
	}
	t.bytes += n
	if t.dense++; (t.dense >= enough || t.bytes >= halfFull) && t.gap > 0 {
		t.skip() // with what is left of this cell
	}
}

// before are the last whole lines above b[start:], of those that were passed over since a line was delivered.
func (p *pass) before(b []byte, start int) []byte {
	n := int(min(p.off+int64(start)-p.since, aboveMost+1))
	cut := n > aboveMost
	n = min(n, aboveMost)
	lines := p.upward(b, start, n)
	if len(lines) < n {
		return nil
	}
	if cut {
		lines = lines[bytes.IndexByte(lines, '\n')+1:]
	}
	return lines[:len(lines):len(lines)]
}

// upward are the n bytes in front of b[start], as far as they are still there. p.above and b lie side by side.
func (p *pass) upward(b []byte, start, n int) []byte {
	if n <= start {
		return b[start-n : start]
	}
	at := max(len(p.above)+start-n, 0)
	return p.above[at : len(p.above)+start]
}

// lineAbove is Line.Above of the line that was delivered last.
func (p *pass) lineAbove() []byte {
	lines := p.upward(p.whole, p.start, aboveMost)
	if len(lines) == 0 {
		return nil
	}
	lines = lines[:len(lines)-1]
	i := bytes.LastIndexByte(lines, '\n')
	if i < 0 && int64(len(lines)+1) < p.off+int64(p.start) {
		return nil
	}
	return lines[i+1 : len(lines) : len(lines)]
}

// behind is Line.Below of the line that ends at b[end].
func (p *pass) behind(b []byte, end int) []byte {
	if p.hold() == 0 {
		return nil
	}
	from := min(end+1, len(b))
	to := min(from+belowMost, len(b)+p.below)
	return b[from:to:to] // reaches into what lies behind b
}

// search finds the next line of b[from:], from being the start of one, that is to be delivered, and its literals
// (p.found). Where start is negative there is none before b[to:], which is the start of a line or the end of b.
func (p *pass) search(b []byte, from int) (to, start, end int) {
	if p.rare == p.filter {
		start, end = p.next(p.filter, b, from)
		return len(b), start, end
	}
	pass := p.thin.at(p.off + int64(from))
	if p.thin.pass && !p.over {
		p.since = p.off + int64(from)
	}
	p.over = p.thin.pass
	// The lines that begin before this place are treated like this one.
	border := p.thin.until
	if pass {
		border = min(border, p.thin.tail)
	}
	to = len(b)
	if border -= p.off; border < int64(len(b)) {
		if i := bytes.IndexByte(b[max(int(border)-1, from):], '\n'); i >= 0 {
			to = max(int(border)-1, from) + i + 1
		}
	}
	if !pass {
		start, end = p.next(p.filter, b[:to], from)
		return to, start, end
	}
	switch start, end = p.next(p.rare, b[:to], from); {
	case start < 0:
	case p.ready.by == p.filter: // those before the first rare one were passed
		p.found = p.filter.collect(p.found[:0], b, start, end)
	default:
		p.lacks = true
	}
	return to, start, end
}

// fill adds the frequent literals to a line that was just delivered.
func (p *pass) fill(l *Line) {
	p.found = p.often.collect(p.found[:0], l.Text, 0, len(l.Text))
	p.add(0, 0)
	l.Hits, l.Marks = p.hits, p.marks
}

// allCommon reports whether p.found are frequent literals.
func (p *pass) allCommon() bool {
	for _, m := range p.found {
		if !p.common[m.lit] {
			return false
		}
	}
	return true
}
