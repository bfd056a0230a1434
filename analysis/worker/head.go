package worker

import (
	"bytes"
	"slices"
	"sync"

	"faultline/analysis/line"
	"faultline/analysis/scan"
)

// head is the first lines of a file, which are read once all are known.
type head struct {
	lines []phys
	text  []byte // theirs,
	hits  []uint16
	marks []scan.Mark
}

// heads are to be filled by one file after the other: of many short files they are most of what is read.
var heads = sync.Pool{New: func() any { return new(head) }}

// keepHead adds a line to the head.
func (r *reader) keepHead(p *phys) {
	if r.head == nil {
		r.head = heads.Get().(*head)
	}
	h := r.head
	text, hits, marks := len(h.text), len(h.hits), len(h.marks)
	h.text, h.hits, h.marks = append(h.text, p.raw...), append(h.hits, p.hits...), append(h.marks, p.marks...)
	own := *p
	own.raw, own.hits, own.marks, own.before = h.text[text:len(h.text):len(h.text)], h.hits[hits:len(h.hits):len(h.hits)], h.marks[marks:len(h.marks):len(h.marks)], nil
	h.lines = append(h.lines, own)
}

// decide reads the head.
func (r *reader) decide() (more int) {
	r.decided = true
	h := r.head
	if h == nil {
		return 0
	}
	r.head = nil
	r.width, r.margin = wrapWidth(h.lines), marginOf(h.lines)
	if r.width == 0 && r.margin == nil {
		r.envelopes.Columns = r.columnsOf(h.lines)
		r.passing.Columns = r.envelopes.Columns
	}
	r.compareClocks(h.lines)
	r.saidPlace(h.lines)
	r.line = nil
	for i := range h.lines {
		if i > 0 {
			r.headAbove = h.lines[i-1].raw
		}
		if p := &h.lines[i]; !p.window {
			r.heard(p.raw, p.off, p.no, p.hits)
		}
		more = r.take(&h.lines[i], len(h.lines[i].raw) >= maxHead)
	}
	r.headAbove = slices.Clone(r.headAbove) // the room is another file's from now on
	clear(h.lines)
	h.lines, h.text, h.hits, h.marks = h.lines[:0], h.text[:0], h.hits[:0], h.marks[:0]
	heads.Put(h)
	return more
}

// columnsOf learns what a collector put into the lines of a file.
func (r *reader) columnsOf(head []phys) *line.Columns {
	lines := make([][]byte, len(head))
	for i := range head {
		lines[i] = head[i].raw
	}
	return line.LearnColumns(lines, r.spots)
}

// spots are lines from here and there in a file: those at its head may all be of one writer.
func (r *reader) spots() (lines [][]byte) {
	const places, size, each = 24, 4 << 10, 20
	if r.at == nil || r.line == nil {
		return nil
	}
	from := r.line.Off
	step := max(size, (r.size-from)/places)
	for i := range int64(places) {
		b := make([]byte, size)
		n, _ := r.at.ReadAt(b, from+step*i) // at the end of the file there is less, or nothing
		whole := bytes.Split(b[:n], []byte{'\n'})
		if len(whole) > 2 {
			whole = whole[1 : len(whole)-1] // the first and the last are cut
			lines = append(lines, whole[:min(len(whole), each)]...)
		}
	}
	return lines
}
