package worker

import (
	"bytes"
	"slices"

	"faultline/analysis/line"
	"faultline/analysis/scan"
)

// What container runtimes and structured loggers put around lines is taken off before anything else is read, with the place
// of each byte remembered: observations cite the file as it is.

// What bounds a line that a runtime cut into parts, and how many they may be.
const (
	maxPart  = 1 << 20
	maxParts = 32
)

// part is the beginning of a line, of which only parts are here yet.
type part struct {
	phys
	last   int64 // number of the line with the latest one
	errors bool  // the stream
}

// enveloped reads a line that stands in an envelope; it reports false where there is none. What was logged may be several
// lines, which then share a number.
func (r *reader) enveloped(p *phys) bool {
	if p.window {
		return false
	}
	e, ok := r.envelopes.Unwrap(bytes.TrimSuffix(p.raw, []byte("\r")))
	if !ok {
		p.stamp, p.by = e.Stamp, e.By
		return false
	}
	r.release()
	h := r.part
	if h != nil && (h.errors != e.Errors || p.no != h.last+1 || len(h.raw)+len(e.Text) > maxPart || len(h.starts) == maxParts) {
		r.parted()
		h = nil
	}
	switch {
	case h == nil && e.Partial:
		room := &r.joins
		h = &part{phys: phys{no: p.no, off: p.off, stamp: e.Stamp, by: e.By, raw: room.raw[:0], at: room.at[:0], starts: room.starts[:0]}, errors: e.Errors}
		r.part = h
	case h == nil:
		r.logged(p, &e)
		return true
	}
	if h.no != p.no {
		h.starts = append(h.starts, len(h.raw))
	}
	h.at = slices.Grow(h.at, len(e.Text)+1)
	for i := range e.Text {
		h.at = append(h.at, int32(p.off-h.off)+int32(e.Place(i)))
	}
	h.raw, h.last, h.cut = append(h.raw, e.Text...), p.no, p.cut
	h.end = int32(p.off-h.off) + int32(e.Place(len(e.Text)))
	if !e.Partial {
		r.parted()
	}
	return true
}

// parted reads the parts of a line that are here: the next one is missing, or they are all.
func (r *reader) parted() {
	h := r.part
	if h == nil {
		return
	}
	r.part = nil
	h.at = append(h.at, h.end)
	h.hits, h.marks = r.sc.Marks(r.joins.hits[:0], r.joins.marks[:0], h.raw)
	no := r.lineNo
	r.lineNo = h.last
	r.physical(&h.phys)
	r.lineNo = max(no, r.lineNo)
	r.joins = *h
}

// logged reads what an envelope holds.
func (r *reader) logged(p *phys, e *line.Envelope) {
	if len(p.before) > 0 && e.Stamp.Kind == line.NoStamp {
		r.passed(p.before, p.off-int64(len(p.before)), p.no-int64(bytes.Count(p.before, []byte{'\n'})), 0)
	}
	q := phys{no: p.no, off: p.off, stamp: e.Stamp, by: e.By, passed: p.passed, all: true}
	for from := 0; ; {
		n := bytes.IndexByte(e.Text[from:], '\n')
		to := from + n
		if n < 0 {
			to = len(e.Text)
		}
		one := q
		one.raw = e.Text[from:to]
		one.cut = p.cut && n < 0
		if e.At != nil {
			one.at = e.At[from : to+1]
		} else {
			one.off += int64(e.From + from)
			one.all, one.hits, one.marks = p.all, nil, nil
			r.inside(&one, p, e.From+from)
		}
		r.physical(&one)
		if n < 0 {
			break
		}
		from = to + 1
	}
	if e.Whole && bytes.IndexByte(e.Text, '\n') >= 0 {
		// Nothing of the message stands on the next line.
		open := r.open
		r.open = nil
		kept := open[:0]
		for _, b := range open {
			if b.from < p.no {
				kept = append(kept, b)
				continue
			}
			b.f(r, nil)
		}
		r.open = append(kept, r.open...)
	}
}

// inside gives a stretch of a line, which begins at from, its share of the literals.
func (r *reader) inside(one, p *phys, from int) {
	for _, m := range p.marks {
		at := int(m.At) - from
		if at >= 0 && at+len(r.table.literals[m.Lit]) <= len(one.raw) {
			one.marks = append(one.marks, scan.Mark{At: int32(at), Lit: m.Lit})
			one.hits = scan.Insert(one.hits, m.Lit)
		}
	}
	one.hits = slices.Clip(one.hits)
}
