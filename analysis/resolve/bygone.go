package resolve

import (
	"cmp"
	"fmt"
	"slices"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// bygoneSlack is how many seconds a wait must have begun after another one was reported to be of a later attempt: clocks differ, and a
// process goes down a minute after its watchdog's report.
const bygoneSlack = 60

// bygone drops the waits of attempts before the last: nobody of a group can get to another of its works once a member has given up
// one, so whoever began to wait in another after that was reported belongs to a later attempt. Up to the last such report nothing that
// tells of waiting counts.
func (g *grouper) bygone() {
	f := g.f
	cut := Moment{}
	var last worker.At
	for _, at := range g.older {
		if m := f.At(at); m.Valid && (!cut.Valid || m.T > cut.T) {
			cut, last = m, at
		}
	}
	for _, gr := range g.order {
		if gr.Unnamed || gr.P2P {
			continue
		}
		for _, p := range gr.Pending {
			if !p.Report.Valid || p.Work.Seq < 0 || cut.Valid && p.Report.T <= cut.T {
				continue
			}
			if slices.ContainsFunc(gr.Pending, func(q *Pending) bool {
				return (f.Compared(p.At, q.At) && p.Report.Add(bygoneSlack).Before(q.Start) || p.Report.Add(farthestZones).Before(q.Start)) && q.Work.Seq >= 0 && q.Work.Seq != p.Work.Seq
			}) {
				cut, last = p.Report, p.At
			}
		}
	}
	if !cut.Valid {
		return
	}
	f.bygone = cut
	over := func(p *Pending) bool { return p.Report.Valid && p.Report.T <= cut.T }
	for _, gr := range g.order {
		gr.Pending = slices.DeleteFunc(gr.Pending, over)
	}
	for _, r := range f.byRank {
		r.Pending = slices.DeleteFunc(r.Pending, over)
		f.moved(r)
	}
	f.Anonymous = slices.DeleteFunc(f.Anonymous, func(r *Rank) bool {
		r.Pending = slices.DeleteFunc(r.Pending, over)
		return len(r.Pending) == 0
	})
	f.Warnings = append(f.Warnings, fmt.Sprintf("what the watchdogs report up to %s:%d is of an earlier attempt: others began to wait in other works of the group after it", last.File, last.Line))
}

// Compared says that the clocks of two lines are one, or were compared by what befell both nodes.
func (f *Facts) Compared(a, b worker.At) bool {
	if a.File == b.File {
		return true
	}
	x, y := f.ident.nodeOf(a), f.ident.nodeOf(b)
	return x != "" && y != "" && (x == y || f.Tied(x) && f.Tied(y))
}

// longAfter says that a line was written so long after another one that its process cannot have been going down in between.
func longAfter(a, b worker.At) bool {
	x, dated := season(stampOf(a))
	y, both := season(stampOf(b))
	return dated && both && x > y+2*bygoneSlack
}

// moved forgets on which node a rank was, where its files of several attempts are of several nodes, but for where it waits.
func (f *Facts) moved(r *Rank) {
	first := ""
	for _, file := range r.Files {
		n := f.ident.nodeOf(worker.At{Pos: worker.Pos{File: file}})
		if n != "" && first != "" && n != first {
			if r.Node, r.NodeBasis = "", ""; len(r.Pending) > 0 {
				f.placed(r, r.Pending[0].At)
			}
			return
		}
		first = cmp.Or(first, n)
	}
}

// placed puts a rank of which nobody knows the node where a line of it was written.
func (f *Facts) placed(r *Rank, at worker.At) {
	if r.Node == "" {
		r.Node, r.NodeBasis = f.ident.nodeOf(at), f.ident.nodeBasis[at.File]
	}
}

// isBygone says that a line about a time-out is of an earlier attempt.
func (f *Facts) isBygone(at worker.At) bool {
	if !f.bygone.Valid {
		return false
	}
	m := f.At(at)
	return m.Valid && m.T <= f.bygone.T+bygoneSlack
}

// season is when in a year a process wrote a line, so that stamps without a year can be compared with others.
func season(s line.Stamp) (float64, bool) {
	if s.Emitter != line.Container {
		return 0, false
	}
	switch s.Kind {
	case line.DateTime, line.Zoned, line.MonthDay:
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

type report struct {
	off int64
	at  float64
}
