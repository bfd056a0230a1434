package aislog

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

const (
	// flush is how long a daemon holds its last lines back (log.flush_time, one minute unless configured).
	flush = time.Minute
	// apart is how much later than the last line of a file its successor may begin: a file is changed when lines are
	// written out.
	apart = 2*flush + 10*time.Second
)

// Merge makes daemons of files. Their order does not matter. Files in which nothing was found are of no daemon.
func Merge(files []*File) []Daemon {
	files = slices.DeleteFunc(slices.Clone(files), func(f *File) bool { return f == nil || len(f.parts) == 0 })
	slices.SortFunc(files, func(a, b *File) int { return strings.Compare(a.name, b.name) })
	files = slices.CompactFunc(files, func(a, b *File) bool { return a.name == b.name })
	var out []Daemon
	for _, set := range gather(files) {
		out = append(out, set.daemon())
	}
	slices.SortStableFunc(out, func(a, b Daemon) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Role, b.Role), strings.Compare(a.ID, b.ID), a.Covered.From.Wall.Compare(b.Covered.From.Wall))
	})
	return out
}

func (s *set) daemon() Daemon {
	d := Daemon{Role: s.role, ID: s.id, IDFrom: s.from, Cluster: s.cluster}
	slices.SortFunc(s.files, func(a, b *File) int { return strings.Compare(a.name, b.name) })
	d.Warnings = append(d.Warnings, s.odd...)
	copied := copies(s.files)
	var all, errors []*part
	for _, f := range s.files {
		info := FileInfo{Name: f.name, WarningsOnly: f.warningsOnly(), ReadError: f.err, Glued: f.glued}
		if n := len(f.parts); n > 0 {
			info.Head, info.First, info.Last = f.parts[0].head, f.parts[0].first, f.parts[n-1].last
		}
		if c := copied[f]; c != nil {
			info.CopyOf = c.name
		}
		d.Files = append(d.Files, info)
		for _, p := range f.parts {
			if d.Zone == "" {
				d.Zone = p.zone
			}
			for _, a := range p.listens {
				if !slices.Contains(d.Addresses, a) {
					d.Addresses = append(d.Addresses, a)
				}
			}
			d.Targets, d.Proxies = max(d.Targets, p.targets), max(d.Proxies, p.proxies)
			if p.clockOff {
				d.Warnings = append(d.Warnings, f.name+": a date the daemon prints contradicts the one inferred from the first line; from there on, the later one is used")
			}
			switch {
			case info.CopyOf != "":
			case info.WarningsOnly:
				errors = append(errors, p)
			default:
				all = append(all, p)
			}
		}
	}
	stream := all
	if len(all) == 0 {
		stream = errors
	}
	slices.SortStableFunc(stream, func(a, b *part) int {
		return cmp.Or(a.first.Wall.Compare(b.first.Wall), cmp.Compare(a.head, b.head), strings.Compare(a.file.name, b.file.name), cmp.Compare(a.at.Off, b.at.Off))
	})
	if len(stream) > 0 {
		d.Covered = Span{stream[0].first, stream[0].last}
		for _, p := range stream {
			if p.last.Wall.After(d.Covered.To.Wall) {
				d.Covered.To = p.last
			}
		}
		d.runs(stream)
	}
	if len(all) == 0 {
		d.Holes = append(d.Holes, Hole{d.Covered, WarningsOnly})
		errors = nil
	}
	d.groups(stream, errors)
	d.sort()
	return d
}

// runs makes lives of parts, and says what lies between and behind them.
func (d *Daemon) runs(parts []*part) {
	l := lives{d: d}
	for _, p := range parts {
		goesOn, hole := l.follows(p)
		if !goesOn {
			l.begin(p)
		} else if l.last.end != nil && p.begin != nil {
			l.bridge(p, hole)
		}
		l.add(p)
		if goesOn && p.begin == nil { // a file without counters: the next one goes on from the one before
			p.end = l.last.end
		}
		l.last = p
	}
	l.end(nil)
}

// lives are the runs of a daemon, while its parts are read in the order of their times.
type lives struct {
	d    *Daemon
	last *part            // of the run at hand
	sums map[string]int64 // of its counters
}

func (l *lives) run() *Run { return &l.d.Runs[len(l.d.Runs)-1] }

func (l *lives) hole(from, to Time, why Gap) {
	l.d.Holes = append(l.d.Holes, Hole{Span{from, to}, why})
}

// follows says whether a part goes on with the run at hand, and whether something is missing between them.
func (l *lives) follows(p *part) (goesOn, hole bool) {
	if l.last == nil || p.head == StartedUp {
		return false, false
	}
	sameProcess := p.pid == 0 || l.last.pid == 0 || p.pid == l.last.pid
	goesOn = sameProcess && l.run().Ended == ""
	if hole = !goesOn || p.first.Wall.Sub(l.last.last.Wall) > apart; hole {
		l.hole(l.last.last, p.first, BetweenFiles)
	}
	return goesOn, hole
}

// begin ends the run at hand and begins one with a part.
func (l *lives) begin(p *part) {
	if l.last != nil {
		l.end(p)
	} else if p.head != StartedUp {
		l.hole(Time{}, p.first, BeforeFirst)
	}
	l.d.Runs = append(l.d.Runs, Run{Start: p.first, Started: p.head == StartedUp, StartAt: p.at, Baseless: p.head != StartedUp})
	l.sums = map[string]int64{}
}

// end says how the run at hand ended, before the part that begins the next one; nil where none follows.
func (l *lives) end(next *part) {
	r := l.run()
	r.Totals = sortGrowth(l.sums)
	if r.Ended == Orderly || r.Ended == Failed {
		return
	}
	flushed := r.Last
	flushed.Wall = flushed.Wall.Add(flush)
	switch {
	case next == nil:
		r.Ended = Open
		l.hole(r.Last, flushed, NotFlushed)
	case l.last.file.warningsOnly() || l.last.file.err != "" || !l.last.file.stats.EndsClean:
		r.Ended = Unclear
	case next.head == StartedUp:
		r.Ended = Killed
		if flushed.Wall.After(next.opened.Wall) {
			flushed = next.opened
		}
		l.hole(r.Last, flushed, LostTail)
	default:
		r.Ended = Open
	}
}

// bridge notes what the counters grew by between the end of the last part and the beginning of the next.
func (l *lives) bridge(p *part, hole bool) {
	by, reset := grown(nil, l.last.end, p.begin)
	for _, g := range by {
		l.sums[g.Name] += g.N
	}
	l.d.Intervals = append(l.d.Intervals, Interval{From: l.last.end.time, To: p.begin.time, At: p.begin.at, Base: l.last.end.at, By: fineOnly(by), Reset: reset, Hole: hole,
		Batches: p.begin.batches, Slow: slow(p.begin.values)})
}

// add enters into the run at hand what a part holds.
func (l *lives) add(p *part) {
	r := l.run()
	for _, g := range p.sums {
		l.sums[g.Name] += g.N
	}
	if r.Version == "" {
		r.Version = p.version
	}
	if r.Last.IsZero() || !p.last.Wall.Before(r.Last.Wall) {
		r.Last, r.LastAt = p.last, p.lastAt
	}
	switch {
	case p.last.Wall.Sub(p.stopped.Wall) > flush: // whatever it said, it went on
	case p.failed != At{}:
		r.Ended, r.EndAt = Failed, p.failed
	case p.orderly != At{}:
		r.Ended, r.EndAt = Orderly, p.orderly
	}
	l.d.Intervals = append(l.d.Intervals, p.intervals...)
	l.d.Stalls = append(l.d.Stalls, p.stalls...)
	l.d.Pauses = append(l.d.Pauses, p.pauses...)
}

// groups joins the groups of the parts. Records of ERROR files count where the INFO files hold fewer of their minute: what
// they hold of it is the same or more.
func (d *Daemon) groups(stream, errors []*part) {
	joined := map[groupKey]*Group{}
	side := map[groupKey]*Group{}
	seenFile := map[*File]bool{}
	for i, parts := range [][]*part{stream, errors} {
		into := joined
		if i == 1 {
			into = side
		}
		for _, p := range parts {
			for _, g := range d.addressed(p) {
				key := groupKey{g.text, g.Peer, g.shape}
				t := into[key]
				if t == nil {
					t = &Group{Kind: g.Kind, Peer: g.Peer, text: g.text, shape: g.shape, Lines: map[string]int64{}}
					into[key] = t
				}
				t.Events = append(t.Events, g.Events...)
				t.Minutes = sumMinutes(t.Minutes, g.Minutes)
				t.Lines[p.file.name] = p.file.lines[g.text]
			}
			seenFile[p.file] = true
		}
	}
	for key, s := range side {
		t := joined[key]
		if t == nil {
			joined[key] = s
			continue
		}
		have := map[string]bool{}
		for i := range t.Events {
			have[t.Events[i].key()] = true
		}
		counted := t.Minutes
		if t.First().Time.Proof != NoDay { // what has no date, as on stderr, is no other record
			s.Minutes = slices.DeleteFunc(s.Minutes, func(m Minute) bool { return m.Unix < 0 })
		}
		t.Minutes = maxMinutes(counted, s.Minutes)
		for i := range s.Events {
			if e := &s.Events[i]; !have[e.key()] && gained(counted, t.Minutes, e.Time.Wall.Unix()/60*60) {
				t.Events = append(t.Events, *e)
				t.Lines[e.File] = s.Lines[e.File]
			}
		}
	}
	for _, g := range joined {
		for _, m := range g.Minutes {
			g.Count += m.Count
		}
		if g.text < 0 {
			g.Lines = nil
		}
		slices.SortStableFunc(g.Events, func(a, b Event) int { return a.compare(&b) })
		if n := len(g.Events); n > 2*edge {
			g.Events = slices.Concat(g.Events[:edge], g.Events[n-edge:])
		}
		d.Groups = append(d.Groups, *g)
	}
}

// addressed are the groups of a part with the daemon itself taken off their peers. An ERROR file does not say whose it is: the
// first daemon that its records name is then often the writer.
func (d *Daemon) addressed(p *part) []*Group {
	if d.ID == "" || p.id != "" {
		return p.groups
	}
	var out []*Group
	by := map[groupKey]*Group{}
	for _, g := range p.groups {
		if g.Peer != d.ID {
			out = append(out, g)
			continue
		}
		held := map[int64]int{} // by minute
		for _, e := range g.Events {
			e.Peer = peerOf([]byte(e.Text), d.ID)
			k := groupKey{g.text, e.Peer, g.shape}
			o := by[k]
			if o == nil {
				o = &Group{Kind: g.Kind, Peer: e.Peer, text: g.text, shape: g.shape}
				by[k] = o
				out = append(out, o)
			}
			minute := e.Time.Wall.Unix() / 60 * 60
			held[minute]++
			o.Events = append(o.Events, e)
			o.Minutes = sumMinutes(o.Minutes, []Minute{{minute, 1}})
		}
		// Of too many records only some are held; the rest count with the first.
		first := by[groupKey{g.text, peerOf([]byte(g.First().Text), d.ID), g.shape}]
		for _, m := range g.Minutes {
			if rest := m.Count - held[m.Unix]; rest > 0 {
				first.Minutes = sumMinutes(first.Minutes, []Minute{{m.Unix, rest}})
			}
		}
	}
	return out
}

// key tells records of different files apart by what they say and when.
func (e *Event) key() string { return e.Text }

func (e *Event) compare(o *Event) int {
	return cmp.Or(e.Time.Wall.Compare(o.Time.Wall), strings.Compare(e.Text, o.Text), strings.Compare(e.File, o.File), cmp.Compare(e.Off, o.Off))
}

// gained says that a minute has more records than were counted before.
func gained(before, after []Minute, minute int64) bool {
	n := func(list []Minute) int {
		if i, ok := slices.BinarySearchFunc(list, minute, byMinute); ok {
			return list[i].Count
		}
		return 0
	}
	return n(after) > n(before)
}

func byMinute(m Minute, t int64) int { return cmp.Compare(m.Unix, t) }

func sumMinutes(a, b []Minute) []Minute {
	return mergeMinutes(a, b, func(x, y int) int { return x + y })
}

func maxMinutes(a, b []Minute) []Minute {
	return mergeMinutes(a, b, func(x, y int) int { return max(x, y) })
}

func mergeMinutes(a, b []Minute, both func(x, y int) int) []Minute {
	out := make([]Minute, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Unix < b[0].Unix:
			out, a = append(out, a[0]), a[1:]
		case len(a) == 0 || b[0].Unix < a[0].Unix:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, Minute{a[0].Unix, both(a[0].Count, b[0].Count)})
			a, b = a[1:], b[1:]
		}
	}
	return out
}

func (d *Daemon) sort() {
	slices.SortStableFunc(d.Groups, func(a, b Group) int {
		return cmp.Or(a.First().compare(b.First()), cmp.Compare(a.text, b.text), strings.Compare(a.Peer, b.Peer), strings.Compare(a.shape, b.shape))
	})
	slices.SortStableFunc(d.Intervals, func(a, b Interval) int { return cmp.Or(a.From.Wall.Compare(b.From.Wall), a.To.Wall.Compare(b.To.Wall)) })
	d.Intervals = coarser(d.Intervals, allIntervals)
	slices.SortStableFunc(d.Pauses, func(a, b Pause) int {
		return cmp.Or(a.From.Wall.Compare(b.From.Wall), strings.Compare(a.Before.File, b.Before.File), cmp.Compare(a.Before.Off, b.Before.Off))
	})
	slices.SortStableFunc(d.Holes, func(a, b Hole) int {
		return cmp.Or(a.To.Wall.Compare(b.To.Wall), strings.Compare(string(a.Why), string(b.Why)))
	})
	slices.Sort(d.Addresses)
	slices.Sort(d.Warnings)
	d.Warnings = slices.Compact(d.Warnings)
}

// Without are daemons without what stands at these places.
func Without(all []Daemon, bad func(file string, off int64) bool) []Daemon {
	is := func(at At) bool { return bad(at.File, at.Off) }
	out := make([]Daemon, 0, len(all))
	for _, d := range all {
		d.Groups = slices.Clone(d.Groups)
		for i := range d.Groups {
			d.Groups[i].Events = slices.DeleteFunc(slices.Clone(d.Groups[i].Events), func(e Event) bool { return is(e.At) })
		}
		d.Groups = slices.DeleteFunc(d.Groups, func(g Group) bool { return len(g.Events) == 0 })
		d.Stalls = slices.DeleteFunc(slices.Clone(d.Stalls), func(s Stall) bool { return is(s.Begin) || is(s.End) })
		d.Pauses = slices.DeleteFunc(slices.Clone(d.Pauses), func(p Pause) bool { return is(p.Before) || is(p.After) })
		d.Runs = slices.DeleteFunc(slices.Clone(d.Runs), func(r Run) bool { return r.Started && is(r.StartAt) })
		for i := range d.Runs {
			if is(d.Runs[i].LastAt) {
				d.Runs[i].LastAt = At{}
			}
			if is(d.Runs[i].EndAt) {
				d.Runs[i].EndAt = At{}
			}
		}
		out = append(out, d)
	}
	return out
}
