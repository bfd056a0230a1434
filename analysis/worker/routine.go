package worker

import (
	"bytes"
	"slices"

	"faultline/analysis/line"
	"faultline/analysis/scan"
)

// Long logs repeat a few lines with other numbers. Once many lines of an outline said nothing new, the next are held back instead of
// being read: of each writer and outline the last one is kept, and how many came before it. They are read, in order, before the next
// line that is something else, so that the reader then knows all that it would know of the last of each; and one in routineShare is
// read in any case. In the first bytes of a file, in the last, and while a block is open, every line is read.

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
)

// patterned is what is known of the lines of an outline.
type patterned struct {
	quiet   int    // lines in a row that were no news
	strikes int    // lines that were
	whose   uint16 // which of its numbers say who writes; known once quiet reached routineAfter
	asked   bool   // whose is known
	writers map[uint64]*routine
}

// routine is an outline of one writer.
type routine struct {
	of      *patterned
	n       int    // lines in a row that were read and no news
	does    effect // of them
	held    int    // lines that were held back since the last that was read
	no, off int64  // the last of them
	text    []byte
	hits    []uint16
	marks   []scan.Mark
	before  []byte
}

// routines are those of a file.
type routines struct {
	kinds   map[uint64]*patterned
	outline outline // scratch
	held    []*routine
	n       int                  // outlines and writers
	since   int                  // lines held back since the held ones were read
	all     int                  // lines held back
	struck  [1 << struckBits]int // lines in a row whose outline is never held back, by the literals that they hold
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

// routine holds a line back whose like is no news; it reports false where the line is to be read, and then what it knows of its
// outline and its writer's lines of it.
func (r *reader) routine(l *scan.Line) (held bool, p *patterned, own *routine) {
	if !r.mayRepeat(l) {
		return false, nil, nil
	}
	q := &r.routines
	struck := &q.struck[r.table.kind(l.Hits)>>(64-struckBits)]
	if *struck > struckOut && l.No%struckShare != 0 {
		return false, nil, nil
	}
	q.outline.read(l.Text, l.Hits)
	p = q.of(q.outline.hash)
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
	own = q.own(p, l.Text)
	if own == nil || own.n < routineOwn || own.does&stepped != 0 && (own.n < routineSteps || r.table.thinned(l.Hits)) {
		return false, p, own
	}
	r.hold(own, l)
	return true, p, own
}

// mayRepeat reports whether a line may be held back: it stands where that is done, and nobody waits for it.
func (r *reader) mayRepeat(l *scan.Line) bool {
	switch {
	case !r.decided, l.Off < routineFrom, l.Last, l.Passed, l.Long, l.Final, len(l.Hits) == 0, len(l.Text) > mostOutline, r.section > 0, r.sc.thorough:
		return false
	}
	return r.alone() && !slices.ContainsFunc(r.open, func(b openBlock) bool { return b.last >= l.No })
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

// hold keeps a line as the last of its writer's routine.
func (r *reader) hold(own *routine, l *scan.Line) {
	q := &r.routines
	if own.held == 0 {
		q.held = append(q.held, own)
	}
	own.held++
	own.no, own.off = l.No, l.TextOff
	own.text = append(own.text[:0], l.Text...)
	own.before = append(own.before[:0], l.Before...)
	l.Fill()
	own.hits, own.marks = append(own.hits[:0], l.Hits...), append(own.marks[:0], l.Marks...)
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

// resume reads the lines that are held back; of those that did nothing, who wrote them and when is enough, unless it is asked
// whether that is still so.
func (r *reader) resume(check bool) {
	q := &r.routines
	if len(q.held) == 0 {
		return
	}
	list := q.held
	q.held, q.since = nil, 0
	slices.SortFunc(list, func(a, b *routine) int { return int(a.no - b.no) })
	r.line, r.below, r.ending = nil, nil, false
	for _, own := range list {
		more := own.held - 1
		own.held = 0
		if own.does == 0 && !check {
			if len(own.before) > 0 {
				r.written(own.no, own.off, own.text)
				r.above(r.rec.Prefix, own.before, own.off, own.no)
			}
			r.passed(own.text, own.off, own.no, 0)
		} else {
			p := phys{no: own.no, off: own.off, raw: own.text, hits: own.hits, marks: own.marks, before: own.before}
			r.does, r.undrawn = 0, int64(more)
			r.take(&p, false)
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
	q.held = list[:0]
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
