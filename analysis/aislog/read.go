package aislog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"faultline/analysis/scan"
)

// Limits of what is held of one part of a file.
const (
	edge      = 48  // first and last records of a group
	maxGroups = 768 // then peers are no longer told apart
	maxShapes = 64  // texts that the table does not know
	maxStalls = 256
)

// File is what one file says.
type File struct {
	name  string
	hint  string // names that may tell the daemon: of the file, its folders and its archive
	parts []*part
	stats scan.Stats
	err   string
	// digest tells copies of one file apart from other files: what its first lines are.
	digest string
	glued  int
	lines  map[int]int64 // by text: lines that hold it
}

// part is what one file holds between two first lines. Files have one, unless somebody joined several.
type part struct {
	file    *File
	head    Head
	at      At
	opened  Time
	host    string
	pid     int
	role    Role
	id      string
	cluster string
	version string
	zone    string
	listens []string
	targets int
	proxies int
	info    bool // a record of severity I was seen

	first, last     Time
	lastAt          At
	orderly, failed At
	stopped         Time // when it said so
	groups          []*Group
	byKey           map[groupKey]*Group
	shapes          int
	intervals       []Interval
	sums            []Growth
	begin, end      *tick // the first and the last line of counters
	stalls          []Stall
	pauses          []Pause
	clockOff        bool
}

type groupKey struct {
	text  int
	peer  string
	shape string
}

// Source is one file to be read.
type Source struct {
	Name string // as reports call it
	// Archive is the name of the archive that the file was in, if Name does not hold it.
	Archive string
}

// Read reads one file. A file that cannot be read to its end gives what was read; only a cancelled context is an error.
func Read(ctx context.Context, src Source, in io.Reader, sc *Scanner) (*File, error) {
	f := &File{name: src.Name, hint: path.Join(src.Archive, src.Name), lines: map[int]int64{}}
	r := &reader{Scanner: sc, f: f}
	_, r.named = archived(r.f.hint)
	tail := &ending{in: in}
	st, err := sc.sc.Scan(ctx, tail, r.visit)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("reading %s: %w", src.Name, ctx.Err())
	}
	r.toEnd(tail, st)
	r.finish()
	f.stats = st
	if err != nil {
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err
		}
		f.err = clip([]byte(err.Error()), maxText)
	}
	return f, nil
}

// reader is the state of one pass.
type reader struct {
	*Scanner
	f     *File
	p     *part
	clock clock
	names names // of counters

	seen    int64 // everything before this offset was read
	known   []int // texts in the line at hand, noise included
	refused []refusal
	alerts  bool // the next record lists alerts
	pending *tick
	batches int
	flags   int64
	flagged bool
	named   string // the daemon that the archive is named after
	ids     interned
	found   []uint16 // scratch
	grown   []Growth // scratch
	open    stall
}

// begin opens a part.
func (r *reader) begin(h Head) *part {
	r.finish()
	r.p = &part{file: r.f, head: h, byKey: map[groupKey]*Group{}}
	r.p.pid, r.p.role = named(r.f.hint)
	r.f.parts = append(r.f.parts, r.p)
	r.clock = newClock()
	r.flagged, r.pending, r.open = false, nil, stall{}
	return r.p
}

// visit reads a physical line.
func (r *reader) visit(l *scan.Line) (int, error) {
	b := bytes.TrimSuffix(l.Text, []byte("\r"))
	base := l.TextOff
	from := int(max(0, r.seen-base)) // windows of a long line overlap
	if from > len(b) {
		return 0, nil
	}
	if len(r.f.digest) < 512 && l.No <= headLines {
		r.f.digest += clip(b, 200) + "\n"
	}
	more := 0
	r.known = r.told(r.known[:0], l.Marks, b)
	if !l.Long || l.TextOff == l.Off {
		for _, t := range r.known {
			if texts[t].kind != noise {
				r.f.lines[t]++
			}
		}
	}
	mark := 0
	for at := from; at < len(b); {
		next := nextStamp(b, at+1)
		end := next
		if next < 0 {
			end = len(b)
		}
		rec := record{b: b[at:end], at: At{File: r.f.name, Line: l.No, Off: base + int64(at), Len: end - at}, cut: next >= 0}
		for mark < len(l.Marks) && int(l.Marks[mark].At) < at {
			mark++
		}
		to := mark
		for to < len(l.Marks) && int(l.Marks[to].At) < end {
			to++
		}
		rec.whole = at == 0 && next < 0
		more = max(more, r.record(&rec, l.Marks[mark:to]))
		mark = to
		if next < 0 {
			r.seen = base + int64(end)
			break
		}
		r.f.glued++
		at = next
		r.seen = base + int64(at)
	}
	return more, nil
}

// told adds the texts that a line with these marks holds, each once.
func (r *reader) told(known []int, marks []scan.Mark, b []byte) []int {
	for _, m := range marks {
		for _, t := range r.byLiteral[m.Lit] {
			if !slices.Contains(known, t) && (alone(&texts[t]) || says(&texts[t], b)) {
				known = append(known, t)
			}
		}
	}
	return known
}

// record is one record in a line.
type record struct {
	b        []byte
	at       At
	cut      bool
	whole    bool // it is all of its line
	severity byte
	time     Time
}

// record reads one record. It returns how many lines it wants to see after it.
func (r *reader) record(rec *record, marks []scan.Mark) int {
	if h, t, host := heading(rec.b); h != Headless {
		p := r.begin(h)
		p.at, p.host = rec.at, host
		r.clock.start(t)
		p.opened = r.clock.now()
		p.first, p.last, p.lastAt = p.opened, p.opened, rec.at
		return 0
	}
	if r.p == nil {
		r.begin(Headless)
		r.p.at = rec.at
	}
	if n := prefixed(rec.b); n > 0 {
		rec.whole = false
		rec.b, rec.at.Off, rec.at.Len = rec.b[n:], rec.at.Off+int64(n), rec.at.Len-n
	}
	severity, micros, stamped := stamp(rec.b)
	if stamped {
		rec.severity = severity
		rec.time = r.clock.at(micros)
		r.span(rec)
		if len(r.refused) > 0 {
			r.release(rec.time.Wall)
		}
		r.p.info = r.p.info || severity == 'I'
	} else {
		rec.time = r.clock.now()
	}
	msg := message(rec.b)
	alerts := r.alerts
	r.alerts = false
	if alerts && len(msg) > 0 && msg[0] == '[' {
		r.event(rec, msg, -1, Alerts)
		return 0
	}
	best, plumb, alarm := -1, rec.at.Line <= headLines, false
	for _, m := range marks {
		plumb = plumb || r.plumbing[m.Lit]
		alarm = alarm || r.alarm[m.Lit]
		if rec.whole {
			continue
		}
		for _, t := range r.byLiteral[m.Lit] {
			if (best < 0 || t < best) && says(&texts[t], rec.b) {
				best = t
			}
		}
	}
	if rec.whole && len(r.known) > 0 {
		best = slices.Min(r.known)
	}
	if plumb && r.plumb(rec, msg, micros) {
		if r.alerts {
			return 1
		}
		return 0
	}
	if r.p.cluster == "" || best >= 0 && aboutMembers[texts[best].kind] {
		r.members(msg)
	}
	switch {
	case best >= 0:
		r.event(rec, msg, best, texts[best].kind)
	case alarm && (severity == 'W' || severity == 'E'):
		r.event(rec, msg, -1, Other)
	}
	return 0
}

// span widens what the part covers.
func (r *reader) span(rec *record) {
	p := r.p
	if p.first.IsZero() || rec.time.Wall.Before(p.first.Wall) && p.head == Headless {
		p.first = rec.time
	}
	if p.last.IsZero() || !rec.time.Wall.Before(p.last.Wall) {
		p.paused(rec)
		p.last, p.lastAt = rec.time, rec.at
	}
}

const (
	// shortest is how long a daemon writes nothing before that may mean something: keep-alives are sent every few seconds.
	shortest   = 8 * time.Second
	maxPauses  = 256  // of an hour of one file: one of 14 s and more always has room
	mostPauses = 8192 // of one file
)

// paused keeps the pause before a record. Of too many in an hour the shortest gives way: a day without work does not hide the others.
func (p *part) paused(rec *record) {
	if p.last.IsZero() || p.last.Proof != rec.time.Proof && p.last.Proof == NoDay || rec.time.Wall.Sub(p.last.Wall) < shortest {
		return
	}
	n := Pause{Span: Span{p.last, rec.time}, Before: p.lastAt, After: rec.at, Lines: max(0, rec.at.Line-p.lastAt.Line-1)}
	least, same := len(p.pauses)-1, 0
	for i := len(p.pauses) - 1; i >= 0 && n.From.Wall.Sub(p.pauses[i].From.Wall) < time.Hour; i-- {
		same++
		if p.pauses[i].length() < p.pauses[least].length() {
			least = i
		}
	}
	if same < maxPauses {
		if p.pauses = append(p.pauses, n); len(p.pauses) == 2*mostPauses {
			p.pauses = longestPauses(p.pauses)
		}
		return
	}
	if p.pauses[least].length() < n.length() {
		p.pauses = append(slices.Delete(p.pauses, least, least+1), n)
	}
}

// longestPauses are the longest half, by time.
func longestPauses(list []Pause) []Pause {
	slices.SortStableFunc(list, func(a, b Pause) int { return cmp.Compare(b.length(), a.length()) })
	list = list[:len(list)/2]
	slices.SortStableFunc(list, func(a, b Pause) int { return a.From.Wall.Compare(b.From.Wall) })
	return list
}

func (s Span) length() time.Duration { return s.To.Wall.Sub(s.From.Wall) }

// plumb reads what is no event by itself. It reports false where the record may be one all the same.
func (r *reader) plumb(rec *record, msg []byte, micros int64) bool {
	p := r.p
	if len(msg) > 0 && msg[0] == '{' {
		r.counters(rec, msg)
		return true
	}
	if bytes.HasPrefix(msg, []byte(litRunning)) {
		r.batches = bytes.Count(msg, []byte("get-batch["))
		return true
	}
	if bytes.HasPrefix(msg, []byte(litAlerts)) {
		r.alerts = true
		return true
	}
	if bytes.Contains(rec.b, []byte(litMarker)) && r.clock.mark(rec.b, micros) {
		p.clockOff = p.clockOff || r.clock.off
		p.zone = r.clock.zone
		p.last = r.clock.now()
		return true
	}
	for _, d := range [...]struct {
		role Role
		key  string
	}{{Target, litTarget}, {Proxy, litProxy}} {
		if id := between(msg, d.key, "]"); ident(id) && p.id == "" {
			p.role, p.id = d.role, id
		}
	}
	if bytes.Contains(msg, []byte(litAccess)) {
		if a := listens(msg); a != "" && !slices.Contains(p.listens, a) && len(p.listens) < maxListens {
			p.listens = append(p.listens, a)
		}
		return true
	}
	if id := token(msg, litCluster); ident(id) {
		p.cluster = id
		return true
	}
	if role, id, version := title(msg); version != "" {
		if id != "" {
			p.role, p.id = role, id
		}
		p.version = version
		return true
	}
	return false
}

// finish closes a part: times that stood before its first marker get their day.
func (r *reader) finish() {
	p := r.p
	if p == nil {
		return
	}
	r.settle()
	r.close()
	for _, f := range r.refused {
		r.add(&f.record, f.msg, r.cues(f.msg), f.text, Refused, "")
	}
	r.refused = nil
	for _, g := range p.groups {
		g.settle()
	}
	c := &r.clock
	if !c.zero.IsZero() {
		for _, t := range []*Time{&p.opened, &p.first, &p.last, &p.stopped} {
			c.mend(t)
		}
		for _, g := range p.groups {
			if g.Events[0].Time.Proof == NoDay {
				shift := c.zero.Sub(undated)
				for i := range g.Minutes {
					if g.Minutes[i].Unix < undated.AddDate(1000, 0, 0).Unix() {
						g.Minutes[i].Unix += int64(shift.Seconds())
					}
				}
			}
			for i := range g.Events {
				c.mend(&g.Events[i].Time)
			}
		}
		for i := range p.intervals {
			c.mend(&p.intervals[i].From)
			c.mend(&p.intervals[i].To)
		}
		for i := range p.stalls {
			c.mend(&p.stalls[i].From)
			c.mend(&p.stalls[i].To)
		}
		for i := range p.pauses {
			c.mend(&p.pauses[i].From)
			c.mend(&p.pauses[i].To)
		}
		for _, t := range []*tick{p.begin, p.end} {
			if t != nil {
				c.mend(&t.time)
			}
		}
	}
	r.p = nil
}
