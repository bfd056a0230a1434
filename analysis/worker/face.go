package worker

import "slices"

// Where a log says the same again and again, its lines are known by their outlines before anybody looks for a literal in them. A line is
// taken by its face if the lines that had it before all held the same literals, or none, and its writer's next one would be held back
// anyhow. What stands in numbers and paths may be a literal, too: the lines of a routine that are read are searched again, and a face
// whose lines differ is no longer trusted.

const (
	silentAfter = 16 // lines of a face in a row without a literal
	silentShare = 64 // of those one in so many is searched,
	luckless    = 16 // and one in so many where most are not known by their faces
	mostLuck    = 64
)

// face is what is known of lines by their outline alone.
type face struct {
	of     *patterned // nil: none of them held a literal
	silent int        // lines without a literal
	mixed  bool       // some held others than the rest
}

// faces are those of a file.
type faces struct {
	by    map[uint64]*face
	asked *face // that of the line which was searched last because it was not known,
	no    int64 // and its number
	luck  int   // below zero: few lines are known by their faces
}

// at finds what is known of a face; nil where there are too many of them.
func (q *faces) at(hash uint64) *face {
	f := q.by[hash]
	if f == nil && len(q.by) < maxPatterned {
		if q.by == nil {
			q.by = map[uint64]*face{}
		}
		f = &face{}
		q.by[hash] = f
	}
	return f
}

// met notes that a line with this outline is one of p, by the literals that it holds.
func (q *faces) met(hash uint64, p *patterned, hits []uint16) {
	f := q.at(hash)
	switch {
	case f == nil || p == nil:
	case f.of == nil && f.silent == 0:
		f.of, p.face, p.hits = p, f, slices.Clone(hits)
	case f.of != p:
		f.mixed = true
	}
}

// searched notes that the line with this number is the next that holds a literal: that which was asked for before holds none, if it is another.
func (q *faces) searched(no int64) {
	if f := q.asked; f != nil && q.no != no {
		f.silent++
		f.mixed = f.mixed || f.of != nil
	}
	q.asked = nil
}

// peek takes a line before it is searched, if its like is known. See scan.Peeker.
func (r *reader) peek(text []byte, no, off int64) (taken bool) {
	if !r.mayHold(len(text), no, off) {
		return false
	}
	q := &r.routines.faces
	q.searched(no)
	if q.luck < 0 && no%luckless != 0 {
		return false
	}
	if r.knows(text, no, off) {
		q.luck = min(q.luck+1, mostLuck)
		return true
	}
	q.luck = max(q.luck-2, -mostLuck)
	return false
}

// knows reports whether the like of a line is known, and holds it back.
func (r *reader) knows(text []byte, no, off int64) bool {
	q := &r.routines
	q.outline.read(text)
	q.outlined = no
	f := q.faces.at(q.outline.hash)
	if f == nil || f.mixed {
		return false
	}
	p := f.of
	if p == nil {
		if f.silent > silentAfter && f.silent%silentShare != 0 {
			f.silent++
			return true
		}
		q.faces.asked, q.faces.no = f, no
		return false
	}
	nccl := func(id uint16) bool { return r.table.nccl[id] } // see spoken
	switch {
	case p.strikes >= maxStrikes, p.quiet < routineAfter, !p.asked, r.table.thinned(p.hits), !r.called && slices.ContainsFunc(p.hits, nccl):
		return false
	}
	own := q.own(p, text)
	if !own.known(r.table, p.hits) {
		return false
	}
	h := &own.last
	h.no, h.off, h.bare = no, off, true
	h.text, h.before, h.hits, h.marks = append(h.text[:0], text...), h.before[:0], h.hits[:0], h.marks[:0]
	r.hold(own)
	return true
}
