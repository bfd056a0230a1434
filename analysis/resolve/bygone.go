package resolve

import (
	"cmp"
	"slices"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// bygoneSlack is how many seconds a wait must have begun after another one was reported to be of a later attempt: clocks differ, and a
// process goes down a minute after its watchdog's report.
const bygoneSlack = 60

// dropBygone drops the waits of attempts before the last: nobody of a group can get to another of its works once a member has given up
// one, so whoever began to wait in another after that was reported belongs to a later attempt. Up to when those began to wait nothing
// that tells of waiting counts.
func (g *grouper) dropBygone() {
	var reports []Moment
	var begun []Moment // beside each the beginning of a wait that belongs to a later attempt
	cut, last := Moment{}, worker.At{}
	pair := func(report, start Moment, at worker.At) {
		reports, begun = append(reports, report), append(begun, start)
		if !cut.Valid || report.T > cut.T {
			cut, last = report, at
		}
	}
	for _, o := range g.older {
		if m := g.At(o.at); m.Valid && o.p.Start.Valid {
			pair(m, o.p.Start, o.at)
		}
	}
	for _, gr := range g.order {
		if gr.Unnamed || gr.P2P {
			continue
		}
		waits := byStart(gr)
		for _, p := range gr.Pending {
			if first := g.nextWait(waits, p); first.Valid {
				pair(p.Report, first, p.At)
			}
		}
	}
	next := Moment{}
	for i := range reports {
		if begun[i].T > cut.T {
			next = next.Earliest(begun[i])
		}
	}
	if !next.Valid {
		return
	}
	g.bygone = next
	over := func(p *Pending) bool { return p.Report.Valid && p.Report.T < next.T }
	for _, gr := range g.order {
		gr.Pending = slices.DeleteFunc(gr.Pending, over)
	}
	for _, r := range g.byRank {
		r.Pending = slices.DeleteFunc(r.Pending, over)
		r.moved(g.ident)
	}
	g.Anonymous = slices.DeleteFunc(g.Anonymous, func(r *Rank) bool {
		r.Pending = slices.DeleteFunc(r.Pending, over)
		return len(r.Pending) == 0
	})
	g.warn.add("the watchdog reports up to %s:%d are from an earlier attempt: afterwards, other ranks waited in other collectives of the group", last.File, last.Line)
}

// byStart are the waits of a group in the order in which they began.
func byStart(gr *Group) []*Pending {
	var waits []*Pending
	for _, p := range gr.Pending {
		if p.Work.Seq >= 0 && p.Start.Valid {
			waits = append(waits, p)
		}
	}
	slices.SortStableFunc(waits, func(a, b *Pending) int { return cmp.Compare(a.Start.T, b.Start.T) })
	return waits
}

// nextWait is when a member of the group first began to wait in another work after one was reported, clearly.
func (s *sight) nextWait(waits []*Pending, p *Pending) Moment {
	if !p.Report.Valid || p.Work.Seq < 0 {
		return Moment{}
	}
	from, _ := slices.BinarySearchFunc(waits, p.Report.T+bygoneSlack, func(q *Pending, t float64) int { return cmp.Compare(q.Start.T, t) })
	for _, q := range waits[from:] {
		if q.Work.Seq != p.Work.Seq && p.Report.Add(bygoneSlack).Before(q.Start) && (s.Compared(p.At, q.At) || p.Report.Add(farthestZones).Before(q.Start)) {
			return q.Start
		}
	}
	return Moment{}
}

// longAfter says that a line was written so long after another one that its process cannot have been going down in between.
func longAfter(a, b worker.At) bool {
	x, dated := season(stampOf(a))
	y, both := season(stampOf(b))
	return dated && both && x > y+2*bygoneSlack
}

// moved forgets on which node a rank was, where its files of several attempts are of several nodes, but for where it waits.
func (r *Rank) moved(ident *identity) {
	first := ""
	for _, file := range r.Files {
		n := ident.nodeOf(worker.At{Pos: worker.Pos{File: file}})
		if n != "" && first != "" && n != first {
			if r.Node = ""; len(r.Pending) > 0 {
				r.placed(ident, r.Pending[0].At)
			}
			return
		}
		first = cmp.Or(first, n)
	}
}

// placed puts a rank of which nobody knows the node where a line of it was written.
func (r *Rank) placed(ident *identity, at worker.At) {
	if r.Node == "" {
		r.Node = ident.nodeOf(at)
	}
}

// season is when in a year a process wrote a line, so that stamps without a year can be compared with others. One that states its zone is
// not compared: PyTorch's own are of whatever zone the machine is set to.
func season(s line.Stamp) (float64, bool) {
	if s.Emitter != line.Container {
		return 0, false
	}
	switch s.Kind {
	case line.DateTime, line.MonthDay:
		s.Kind = line.MonthDay
		return (&clock{}).civil(s)
	}
	return 0, false
}

// hangsIn are where the reports of watchdogs stand in each file, and when in the year they were written.
func hangsIn(obs *worker.Observations) map[string][]report {
	out := map[string][]report{}
	for i := range obs.Timeouts {
		t := &obs.Timeouts[i]
		if at, ok := season(stampOf(t.At)); ok {
			out[t.File] = append(out[t.File], report{t.Off, at})
		}
	}
	return out
}

// endsIn are where launchers and watchdogs tell in each file that processes failed, and when in the year that was.
func endsIn(obs *worker.Observations) map[string][]report {
	out := hangsIn(obs)
	note := func(at worker.At, stamp line.Stamp) {
		if t, ok := season(stamp); ok {
			out[at.File] = append(out[at.File], report{at.Off, t})
		}
	}
	for i := range obs.ChildFailed {
		note(obs.ChildFailed[i].At, obs.ChildFailed[i].Time)
	}
	for i := range obs.ChildExits {
		note(obs.ChildExits[i].At, stampOf(obs.ChildExits[i].At))
	}
	return out
}

type report struct {
	off int64
	at  float64
}

// youngestOf is when the youngest of the reports up to a place was written, 0 without one.
func youngestOf(reports []report, upto int64) (at float64) {
	for _, r := range reports {
		if r.off <= upto {
			at = max(at, r.at)
		}
	}
	return at
}
