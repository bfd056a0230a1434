// Package triage answers what one asks first of a job that still runs: is it alive, who went silent, does it learn, is it as fast as it
// was, what would be lost now, and what to do. It decides by what the logs print, measured against the job's own beginning; what they do
// not print is named and not guessed. The moment is an input: the package is pure.
package triage

import (
	"fmt"
	"slices"

	"faultline/analysis/figures"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// Wanted are the lines whose text Look needs: the step lines, for what they print besides step and loss.
func Wanted(f *resolve.Facts) []worker.At {
	var out []worker.At
	for _, c := range f.Courses {
		for i := range c.Points {
			out = append(out, *c.Points[i].At)
		}
	}
	return out
}

// Look says what the job looks like at a moment. r is the verdict on the same facts, sources are their files, and said is the text of the
// lines that are Wanted.
func Look(f *resolve.Facts, r *incident.Report, at Moment, sources []incident.Source, said map[worker.Pos]string) *incident.Triage {
	l := &look{f: f, r: r, clock: newClock(f, at, sources), said: said, t: &incident.Triage{At: at.text(), State: incident.StateRunning}}
	l.t.Clock = l.clock.basis
	l.main = figures.Main(f)
	l.ended()
	l.age()
	l.step()
	l.loss()
	l.stepTime()
	l.throughput()
	l.memory()
	l.save()
	l.voices()
	l.failure()
	l.waiting()
	l.lastGood()
	l.conclude()
	return l.t
}

// ended notes that the job does not run any more.
func (l *look) ended() {
	if l.r.Verdict.Ending == incident.EndSeen || l.f.Job.ExitOK != nil || slices.ContainsFunc(l.f.Ends, final) {
		l.t.State = incident.StateEnded
	}
}

// final says that an end leaves no job: a process that the kernel kills for memory may.
func final(e *resolve.End) bool { return e.Line.Kind != worker.EndOOM }

// failure takes over what the engine concludes where a failure is in the logs already: then the rest of the screen is second. Steps that
// go on after it say that the job lived through it.
func (l *look) failure() {
	v := &l.r.Verdict
	if v.Status != incident.Confirmed && v.Status != incident.Probable || running(v.Mechanism) {
		return
	}
	s := incident.TriageSign{Name: incident.SignFailure, Level: incident.TriageCritical, Text: capital(v.Summary), Ranks: v.Root.Ranks, Nodes: v.Root.Nodes}
	for _, link := range l.r.Chain {
		for _, e := range link.Evidence {
			if e.Kind == incident.KindQuote && len(s.Evidence) < 2 {
				s.Evidence = append(s.Evidence, e)
			}
		}
	}
	switch {
	case l.t.State == incident.StateEnded:
	case l.broken && slices.ContainsFunc(s.Evidence, l.told): // the loss has said it
		return
	case len(s.Evidence) > 0 && !slices.ContainsFunc(s.Evidence, func(e incident.Evidence) bool { return !l.outlived(e) }):
		s.Level, s.Text = incident.TriageNote, s.Text+"; steps continued after it"
	default:
		l.t.State = incident.StateFailing
	}
	l.t.Signs = slices.Insert(l.t.Signs, 0, s)
}

// told says that a sign rests on a line already.
func (l *look) told(e incident.Evidence) bool {
	return slices.ContainsFunc(l.t.Signs, func(s incident.TriageSign) bool {
		return slices.ContainsFunc(s.Evidence, func(o incident.Evidence) bool { return o.File == e.File && o.Line == e.Line })
	})
}

// outlived says that steps are reported after a line: below it, or clearly later than its file was last written.
func (l *look) outlived(e incident.Evidence) bool {
	const steps = 3
	p := l.last()
	if p == nil {
		return false
	}
	if e.File == p.At.File {
		n := len(l.main.Points)
		return n >= steps && l.main.Points[n-steps].At.Off > e.Offset
	}
	stepped, ok := l.clock.ago(p.T, p.At)
	written, known := l.clock.untouched(e.File)
	return ok && known && written > stepped+steps*l.pace
}

// age says since when the job runs.
func (l *look) age() {
	when := l.f.Job.Start
	i := slices.IndexFunc(l.f.Tails, func(t worker.Tail) bool { return l.f.At(t.First) == when })
	s, ok := l.clock.since(when)
	if i < 0 || !ok || !l.clock.exact {
		l.absent("start time")
		return
	}
	text := span(s)
	if world := l.f.Job.WorldSize; world > 0 {
		text += fmt.Sprintf(" on %s", count(world, "rank"))
		if n := nodes(l.f); n > 0 {
			text += fmt.Sprintf(" and %s", count(n, "node"))
		}
	}
	l.valued(l.sign(incident.SignAge, incident.TriageNone, text, &l.f.Tails[i].First), s, 0, "s")
}

func nodes(f *resolve.Facts) int {
	return max(len(f.Coverage.NodesExpected), len(f.Coverage.NodesSeen))
}
