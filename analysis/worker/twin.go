package worker

import (
	"bytes"
	"slices"

	"faultline/analysis/line"
	"faultline/analysis/scan"
)

// In a storm the same traceback comes again and again, with another message under the same frames. Once several of a writer, with the
// same bytes between the header and the final line, said nothing by any line of theirs, the next are taken as a whole: the frames are
// known, and of the final line what was raised is read. What a traceback says is said where it is raised, as of all of them. One in
// twinShare is read line by line.

const (
	twinFrom  = 4       // tracebacks that are read before one is taken as a whole
	twinShare = 64      // one in so many is read in any case
	maxTwins  = 8       // bodies of a header,
	maxHeads  = 1 << 10 // and headers of a file
	maxFinals = 16      // outlines of the final lines below a body
)

// twin is what tracebacks of a writer with the same frames have in common.
type twin struct {
	pre    line.Prefix // of its lines
	writer *writer
	body   []byte // its lines between the header and the final line
	lines  int    // how many these are
	frames []Frame
	storms []*storm           // in whose accounts its header and these lines are
	quiet  int                // tracebacks in a row whose lines there said nothing by themselves
	finals map[uint64]*ending // by their outline
	n      int                // how many were met
}

// ending is what is known of final lines.
type ending struct {
	quiet int // how many said nothing by themselves
	storm *storm
}

// watched is a traceback that is read line by line, to learn what its like says.
type watched struct {
	of       *twin
	from     int64 // the number of its header
	said     bool  // a line below that said something by itself
	outlined uint64
}

// twins are those of a file.
type twins struct {
	byHead map[string][]*twin
	watch  watched
	lines  outline // scratch
	begun  *trace  // the traceback whose header was read last
	all    int     // lines that were taken with others
}

// twinOf finds what is known of the traceback whose header the line is: nothing where it is not certain that all its lines stand below
// it, side by side. final is its final line.
func (r *reader) twinOf(l *scan.Line) (tw *twin, final []byte) {
	d, q := r.table, &r.twins
	if !slices.Contains(l.Hits, d.header) || !r.mayLeap(l) {
		return nil, nil
	}
	label, ok := bytes.CutSuffix(l.Text, []byte(tracebackHeader+":"))
	if !ok {
		return nil, nil
	}
	known := q.byHead[string(l.Text)]
	for i, tw := range known {
		if bytes.HasPrefix(l.Below, tw.body) {
			if final := finalBelow(l.Below[len(tw.body):], label); final != nil {
				known[0], known[i] = tw, known[0]
				return tw, final
			}
		}
	}
	if len(known) == maxTwins || known == nil && len(q.byHead) == maxHeads {
		return nil, nil
	}
	n, lines := 0, 0
	for indentedBelow(l.Below[n:], label) {
		n += bytes.IndexByte(l.Below[n:], '\n') + 1
		lines++
	}
	if final = finalBelow(l.Below[n:], label); lines == 0 || final == nil {
		return nil, nil
	}
	if q.byHead == nil {
		q.byHead = map[string][]*twin{}
	}
	tw = &twin{body: bytes.Clone(l.Below[:n]), lines: lines, finals: map[uint64]*ending{}}
	q.byHead[string(l.Text)] = append(known, tw)
	return tw, final
}

// mayLeap reports whether lines below this one may be taken with it.
func (r *reader) mayLeap(l *scan.Line) bool {
	switch {
	case !r.decided, l.Off < routineFrom, l.Last, l.Passed, l.Long, l.Final, l.Below == nil, r.section > 0, r.sc.thorough:
		return false
	}
	return r.alone()
}

// indentedBelow reports whether below begins with a whole indented line that has this label.
func indentedBelow(below, label []byte) bool {
	b, ok := lineBelow(below, label)
	return ok && indented(b) && len(bytes.TrimSpace(b)) > 0
}

// finalBelow is the line that below begins with, if it has this label and is a final line; else nil.
func finalBelow(below, label []byte) []byte {
	b, ok := lineBelow(below, label)
	if !ok || indented(b) || continuation(b) || len(b) > maxText {
		return nil
	}
	typ, msg, ok := finalLine(b)
	if !ok || len(msg) == 0 && !exceptionName(typ) {
		return nil
	}
	return below[:len(label)+len(b)]
}

// lineBelow is the line that below begins with, without the label, if it is whole and plain.
func lineBelow(below, label []byte) (b []byte, ok bool) {
	end := bytes.IndexByte(below, '\n')
	if end < 0 || !bytes.HasPrefix(below[:end], label) {
		return nil, false
	}
	b = below[len(label):end]
	return b, bytes.IndexByte(b, '\r') < 0 && bytes.IndexByte(b, '\x1b') < 0
}

// leaps takes a traceback whose header the line is with all its lines, or all but the final one, if that is certain to say what it said
// before.
func (r *reader) leaps(l *scan.Line) bool {
	tw, final := r.twinOf(l)
	if tw == nil {
		return false
	}
	hits := r.find(final)
	r.twins.lines.read(final)
	hash := r.twins.lines.with(hits)
	tw.n++
	if tw.quiet < twinFrom || tw.n%twinShare == 0 || !r.room(tw, l.No) {
		r.twins.watch = watched{of: tw, from: l.No, outlined: hash}
		return false
	}
	r.line, r.ending = l, false
	r.below, r.belowFrom = l.Below, l.TextOff+int64(len(l.Text))
	r.lineNo = l.No
	r.expire()
	r.above(&tw.pre, l.Before, l.Off, l.No)
	rec := r.taken(tw, l.No, l.TextOff, l.Text)
	if r.follows(rec); !rec.Taken {
		readTraceback(r, rec)
	}
	t := r.twins.begun
	if !t.bare(rec) {
		return true
	}
	t.cur.Frames = tw.frames
	n, lines := int64(tw.lines), tw.lines
	if rec.Who.Host == "" {
		r.hostless += n
	}
	if w := rec.writer; w != &r.nobody && w != &r.crowd {
		w.span.Lines += n
	}
	for _, s := range tw.storms {
		s.n++
	}
	if r.lineNo += n; tw.finals[hash].known() {
		if s := tw.finals[hash].storm; s != nil {
			s.n++
		}
		r.lineNo++
		lines++
		rec = r.taken(tw, r.lineNo, r.belowFrom+1+int64(len(tw.body)), final)
		t.body(r, rec, final[tw.pre.Len:])
	} else {
		r.twins.watch = watched{of: tw, from: l.No, outlined: hash}
	}
	r.expire()
	t.budget -= lines
	r.twins.all += lines
	l.Skip = lines
	return true
}

func (e *ending) known() bool { return e != nil && e.quiet >= twinFrom }

// taken is the record of a line of a traceback that is taken as a whole.
func (r *reader) taken(tw *twin, no, off int64, text []byte) *record {
	rec := &r.rec
	*rec = record{}
	r.pre = tw.pre
	rec.Raw, rec.Text, rec.Msg = text, text, text[tw.pre.Len:]
	rec.Prefix, rec.Who = &r.pre, tw.pre.Who
	rec.Pos = Pos{File: r.file, Line: no, Off: off, Len: len(text)}
	r.attribute(rec, tw.writer)
	r.header.alone, r.knew = false, true
	return rec
}

// room reports whether nobody but the traceback itself wants its lines: the blocks that are open at its header are tracebacks of others,
// or the one of its writer that it ends.
func (r *reader) room(tw *twin, no int64) bool {
	own := 0
	for i := range r.open {
		b := r.open[i]
		if b.last < no {
			continue
		}
		if !b.trace {
			return false
		}
		w := tw.pre.Who
		if b.who.Host == "" {
			w.Host = "" // see trace.message
		}
		if w == b.who {
			own++
		}
	}
	return own <= 1 && len(r.open) < maxOpen
}

// bare reports whether the trace is one whose header is this record, in which nothing else was read.
func (t *trace) bare(rec *record) bool {
	return t != nil && t.inside && !t.torn && !t.orphan && t.label == nil && t.indent == 0 && !t.stamped && t.who == rec.Who &&
		t.cur.Begin == rec.Pos && len(t.cur.Frames) == 0 && t.budget > maxFollow/4
}

// witness learns from a line that was read.
func (r *reader) witness(l *scan.Line) {
	w := &r.twins.watch
	if w.of == nil {
		return
	}
	tw, at := w.of, l.No-w.from
	if at > int64(tw.lines)+1 {
		w.of = nil
		return
	}
	quiet := r.does&^(opensBlock|inBlock) == 0 && r.does != 0 && len(r.open) > 0 && r.rec.Line == l.No
	for _, id := range l.Hits {
		quiet = quiet && !r.table.nccl[id] && !r.table.frequent[id]
	}
	switch {
	case at == 0:
		pre := r.rec.Prefix
		if !quiet || !r.twins.begun.bare(&r.rec) || r.rec.Who != pre.Who || pre.Stamp.Kind != line.NoStamp || pre.Outer.Kind != line.NoStamp || own(&r.rec) ||
			pre.Len != len(l.Text)-len(tracebackHeader+":") {
			w.of = nil
			return
		}
		tw.pre, tw.writer = *pre, r.rec.writer
		tw.storms = tw.storms[:0]
		tw.accounted(&r.rec)
	case at < int64(tw.lines):
		tw.accounted(&r.rec)
		w.said = w.said || !quiet || !r.rec.Taken
	case at == int64(tw.lines):
		tw.accounted(&r.rec)
		t := r.twins.begun
		whole := quiet && !w.said && r.rec.Taken && t.inside && t.cur.Begin.Line == w.from && len(t.cur.Frames) > 0
		if !whole || tw.quiet > 0 && !slices.Equal(tw.frames, t.cur.Frames) {
			tw.quiet = 0
			w.of = nil
			return
		}
		tw.quiet++
		tw.frames = slices.Clip(slices.Clone(t.cur.Frames))
	case at == int64(tw.lines)+1:
		w.of = nil
		e := tw.finals[w.outlined]
		switch {
		case e != nil:
		case len(tw.finals) == maxFinals:
			return
		default:
			e = &ending{}
			tw.finals[w.outlined] = e
		}
		if e.storm = r.rec.storm; quiet && r.rec.Taken {
			e.quiet++
		} else {
			e.quiet = min(e.quiet, 0) - twinFrom
		}
	}
}

// accounted notes in which account a line is.
func (tw *twin) accounted(rec *record) {
	if rec.storm != nil {
		tw.storms = append(tw.storms, rec.storm)
	}
}
