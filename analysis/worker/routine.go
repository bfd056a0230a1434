package worker

import (
	"bytes"
	"cmp"
	"slices"

	"faultline/analysis/line"
	"faultline/analysis/scan"
)

// Long logs repeat a few lines with other numbers. Once many lines of an outline said nothing new, the next are held back instead of
// being read: of each writer and outline the last one is kept, and how many came before it. They are read, in order, before the next
// line that is something else, so that the reader then knows all that it would know of the last of each; and one in routineShare is
// read in any case. Lines to which what others did before does not belong, a save or a new wording of a healthy job, wait and are read
// in order with those, some of them at a time: else each would have the last line of everybody read. In the first bytes of a file, in
// the last, and while a block is open, every line is read.

const (
	routineFrom   = 128 << 10 // bytes at the top of a file of which every line is read
	routineAfter  = 16        // lines of an outline in a row that are no news
	routineOwn    = 2         // of which so many of the same writer
	routineSteps  = 256       // or so many, where they are steps: a course has to have them
	routineShare  = 16        // of the lines held back one in so many is read,
	routineSeldom = 128       // later one in so many
	routineLong   = 1 << 12   // lines held back make it later
	maxPatterned  = 1 << 14   // outlines of a file
	maxRoutines   = 1 << 13   // outlines and writers of a file
	maxStrikes    = 64        // an outline that was news so often is never held back
	struckBits    = 8
	struckOut     = 256 // after so many of those in a row
	struckShare   = 16  // the outline of one in so many lines is taken
	calmAfter     = 64  // lines of a kind in a row that were calm
	mostWaiting   = 32  // lines of such kinds that wait
)

// patterned is what is known of the lines of an outline.
type patterned struct {
	quiet   int    // lines in a row that were no news
	strikes int    // lines that were
	whose   uint16 // which of its numbers say who writes; known once quiet reached routineAfter
	asked   bool   // whose is known
	writers map[uint64]*routine
	face    *face
	hits    []uint16 // what each of its lines holds
}

// routine is an outline of one writer.
type routine struct {
	of   *patterned
	n    int    // lines in a row that were read and no news
	does effect // of them
	held int    // lines that were held back since the last that was read
	last heldLine
}

// heldLine is a line that will be read later.
type heldLine struct {
	no, off int64
	text    []byte
	hits    []uint16
	marks   []scan.Mark
	before  []byte
	bare    bool // hits and marks are to be found yet
}

func (h *heldLine) set(l *scan.Line) {
	l.Fill()
	h.bare = false
	h.no, h.off = l.No, l.TextOff
	h.text, h.before = append(h.text[:0], l.Text...), append(h.before[:0], l.Before...)
	h.hits, h.marks = append(h.hits[:0], l.Hits...), append(h.marks[:0], l.Marks...)
}

// waiting is a line that is to be read with those before it that are held back.
type waiting struct {
	of  *patterned // as of patterned.learn
	own *routine
	heldLine
}

// routines are those of a file.
type routines struct {
	kinds    map[uint64]*patterned
	faces    faces
	outline  outline // of the line
	outlined int64   // with this number
	held     []*routine
	waiting  []waiting
	calm     map[uint64]int       // lines in a row that were calm, by the literals that they hold
	n        int                  // outlines and writers
	since    int                  // lines held back since the held ones were read
	all      int                  // lines held back
	struck   [1 << struckBits]int // lines in a row whose outline is never held back, by the literals that they hold
}

// of finds what is known of an outline; nil where there are too many of them.
func (q *routines) of(hash uint64) *patterned {
	p := q.kinds[hash]
	if p == nil && len(q.kinds) < maxPatterned {
		if q.kinds == nil {
			q.kinds = map[uint64]*patterned{}
		}
		p = &patterned{}
		q.kinds[hash] = p
	}
	return p
}

// routine holds a line back, which mayRepeat, whose like is no news; it reports false where the line is to be read, and then what it
// knows of its outline and its writer's lines of it.
func (r *reader) routine(l *scan.Line) (held bool, p *patterned, own *routine) {
	q := &r.routines
	struck := &q.struck[r.table.kind(l.Hits)>>(64-struckBits)]
	if *struck > struckOut && l.No%struckShare != 0 {
		return false, nil, nil
	}
	if q.outlined != l.No {
		q.outline.read(l.Text)
	}
	p = q.of(q.outline.with(l.Hits))
	q.faces.met(q.outline.hash, p, l.Hits)
	if p == nil || p.strikes >= maxStrikes {
		*struck = min(*struck+1, struckOut+1)
		return false, nil, nil
	}
	*struck = 0
	if p.quiet < routineAfter {
		return false, p, nil
	}
	if !p.asked {
		p.whose, p.asked = r.whose(l.Text, &q.outline), true
	}
	if own = q.own(p, l.Text); !own.known(r.table, l.Hits) {
		return false, p, own
	}
	own.last.set(l)
	r.hold(own)
	return true, p, own
}

// known reports whether the next line of a routine, in which these literals stand, is no news.
func (own *routine) known(d *dispatch, hits []uint16) bool {
	switch {
	case own == nil, own.n < routineOwn:
		return false
	case own.does&stepped == 0:
		return true
	}
	return own.n >= routineSteps && !d.thinned(hits)
}

// mayRepeat reports whether a line may be held back: it stands where that is done, and nobody waits for it.
func (r *reader) mayRepeat(l *scan.Line) bool {
	switch {
	case l.Last, l.Passed, l.Long, l.Final, len(l.Hits) == 0:
		return false
	}
	return r.mayHold(len(l.Text), l.No, l.Off)
}

// mayHold reports whether a line of n bytes stands where lines are held back, and nobody waits for it.
func (r *reader) mayHold(n int, no, off int64) bool {
	switch {
	case !r.decided, off < routineFrom, n > mostOutline, r.section > 0, r.sc.thorough:
		return false
	}
	return r.alone() && !slices.ContainsFunc(r.open, func(b *openBlock) bool { return b.last >= no })
}

// thinned reports whether the scanner itself passes over some of the lines with these literals where they are many.
func (d *dispatch) thinned(hits []uint16) bool {
	return !slices.ContainsFunc(hits, func(id uint16) bool { return !d.frequent[id] })
}

// own finds the lines of an outline that the writer of a text wrote; nil where there are too many of them.
func (q *routines) own(p *patterned, text []byte) *routine {
	h := uint64(outlineSeed)
	for i, run := range q.outline.runs[:q.outline.n] {
		if p.whose>>i&1 == 1 {
			h = stir(h, fnv(fnvOffset, text[run.from:run.to]))
		}
	}
	own := p.writers[h]
	if own == nil && q.n < maxRoutines {
		if p.writers == nil {
			p.writers = map[uint64]*routine{}
		}
		own = &routine{of: p}
		p.writers[h] = own
		q.n++
	}
	return own
}

// whose finds the numbers of a line that say who writes, by changing one after the other.
func (r *reader) whose(text []byte, s *outline) (set uint16) {
	was := r.author(text)
	changed := slices.Clone(text)
	for i := range s.n {
		at := s.runs[i].to - 1
		changed[at] ^= 1
		if now := r.author(changed); now != was {
			set |= 1 << i
		}
		changed[at] ^= 1
	}
	return set
}

// authors are who wrote the first and the last segment of a line.
type authors struct{ first, last line.Who }

func (r *reader) author(text []byte) (a authors) {
	text = bytes.TrimSuffix(text, []byte("\r"))
	if first := bytes.IndexByte(text, '\r'); first >= 0 {
		r.written(0, 0, text[:first])
		a.first = r.rec.Who
	}
	r.written(0, 0, text[bytes.LastIndexByte(text, '\r')+1:])
	a.last = r.rec.Who
	return a
}

// hold notes that a line is held back, the last of its writer's routine.
func (r *reader) hold(own *routine) {
	q := &r.routines
	if own.held == 0 {
		q.held = append(q.held, own)
	}
	own.held++
	q.since++
	q.all++
	share := routineShare
	if q.all > routineLong {
		share = routineSeldom
	}
	if q.since >= share*len(q.held) {
		r.resume(true)
	}
}

// waits keeps a line until those before it are read that are held back, if lines of its kind are calm.
func (r *reader) waits(l *scan.Line, of *patterned, own *routine) bool {
	q := &r.routines
	kind := r.table.kind(l.Hits)
	if len(q.held) == 0 || len(q.waiting) == mostWaiting || q.calm[kind] < calmAfter || r.echoing.has(kind) {
		return false
	}
	if len(q.waiting) == cap(q.waiting) {
		q.waiting = slices.Grow(q.waiting, mostWaiting)
	}
	q.waiting = q.waiting[:len(q.waiting)+1]
	w := &q.waiting[len(q.waiting)-1]
	w.of, w.own = of, own
	w.set(l)
	return true
}

// calmed notes what a line did that was read, of a kind by the literals that it holds.
func (q *routines) calmed(kind uint64, does effect) {
	if does&^calmly != 0 {
		delete(q.calm, kind)
		return
	}
	if q.calm == nil {
		q.calm = map[uint64]int{}
	}
	if n := q.calm[kind]; n < calmAfter && (n > 0 || len(q.calm) < maxPatterned) {
		q.calm[kind] = n + 1
	}
}

// resume reads the lines that are held back, and those that wait for them, in order. It is asked by check whether lines that did nothing
// still do nothing.
func (r *reader) resume(check bool) {
	q := &r.routines
	if len(q.held) == 0 {
		return
	}
	held, waiting := q.held, q.waiting
	q.held, q.waiting, q.since = nil, nil, 0
	slices.SortFunc(held, func(a, b *routine) int { return cmp.Compare(a.last.no, b.last.no) })
	r.line, r.below, r.ending = nil, nil, false
	next := 0 // of those that wait
	for _, own := range held {
		for ; next < len(waiting) && waiting[next].no < own.last.no; next++ {
			r.waited(&waiting[next])
		}
		r.routinely(own, check)
	}
	for ; next < len(waiting); next++ {
		r.waited(&waiting[next])
	}
	q.held, q.waiting = held[:0], waiting[:0]
}

// routinely reads the last line of a routine; of lines that did nothing, who wrote them and when is enough, unless it is to be checked.
func (r *reader) routinely(own *routine, check bool) {
	more := own.held - 1
	own.held = 0
	if l := &own.last; own.does == 0 && !check {
		if len(l.before) > 0 {
			r.written(l.no, l.off, l.text)
			r.above(r.rec.Prefix, l.before, l.off, l.no)
		}
		r.passed(l.text, l.off, l.no, 0)
	} else {
		if l.bare {
			l.bare = false
			l.hits, l.marks = r.sc.Marks(l.hits, l.marks, l.text)
			own.of.face.mixed = own.of.face.mixed || !slices.Equal(l.hits, own.of.hits)
		}
		r.undrawn = int64(more)
		r.readLater(l)
		r.undrawn = 0
		own.of.learn(own, r.effect())
	}
	if w := r.rec.writer; w != &r.nobody && w != &r.crowd {
		w.span.Lines += int64(more)
	}
	if r.rec.Who.Host == "" {
		r.hostless += int64(more)
	}
}

// waited reads a line that waited.
func (r *reader) waited(w *waiting) {
	r.readLater(&w.heldLine)
	does := r.effect()
	if w.of != nil {
		w.of.learn(w.own, does)
	}
	r.routines.calmed(r.table.kind(w.hits), does)
}

// readLater reads a line that was kept.
func (r *reader) readLater(l *heldLine) {
	r.does = 0
	p := phys{no: l.no, off: l.off, raw: l.text, hits: l.hits, marks: l.marks, before: l.before}
	r.take(&p, false)
}

// effect is what reading the last line did.
func (r *reader) effect() effect {
	if len(r.open) > 0 || r.held != nil || r.part != nil {
		return r.does | news
	}
	return r.does
}

// learn notes what the line did that was read last.
func (p *patterned) learn(own *routine, does effect) {
	if does&news != 0 {
		p.quiet = 0
		p.strikes++
		for _, w := range p.writers {
			w.n = 0
		}
		return
	}
	p.quiet++
	if own != nil {
		if own.does != does {
			own.n, own.does = 0, does
		}
		own.n++
	}
}
