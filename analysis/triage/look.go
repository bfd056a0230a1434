package triage

import (
	"slices"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// look is one triage in the making.
type look struct {
	f     *resolve.Facts
	r     *incident.Report
	clock clock
	said  map[worker.Pos]string
	main  *resolve.Course // the one whose step counts; nil where no step is printed
	t     *incident.Triage

	pace   float64 // seconds a step takes now, 0 unknown
	slower float64 // how many times longer that is than at first; 0 where it is not
	broken bool    // the loss is no number any more
	silent []voice // those that went silent while others print
	stall  stall
}

// sign adds an answer with the lines that prove it.
func (l *look) sign(name, level, text string, at ...*worker.At) *incident.TriageSign {
	s := incident.TriageSign{Name: name, Level: level, Text: text}
	var seen []worker.Pos
	for _, a := range at {
		if a == nil || slices.Contains(seen, a.Pos) {
			continue
		}
		seen = append(seen, a.Pos)
		e := incident.Quote(a.File, a.Line, a.Off, "", nil)
		e.Span = a.Len
		s.Evidence = append(s.Evidence, e)
	}
	l.t.Signs = append(l.t.Signs, s)
	return &l.t.Signs[len(l.t.Signs)-1]
}

// absent notes what these logs do not print.
func (l *look) absent(name string) { l.t.Absent = append(l.t.Absent, name) }

// gpus is how many GPUs the job holds, by its world size or else by the ranks that were seen; 0 unknown.
func (l *look) gpus() int { return max(l.f.Job.WorldSize, len(l.f.Ranks), l.f.Job.Least) }

// valued fills the numbers of a sign; a base of 0 is none.
func (l *look) valued(s *incident.TriageSign, value, base float64, unit string) {
	s.Value, s.Unit = rounded(value), unit
	if base != 0 {
		s.Base = rounded(base)
	}
}

// stall is the time without a step.
type stall struct {
	late    bool    // the next step is overdue
	since   float64 // seconds since the last step
	watch   float64 // seconds after which the watchdog of a collective ends the job
	watchAt *worker.At
}

// voice is a process that prints all the time: of one that spoke at its start only, silence says nothing.
type voice struct {
	rank           int // NoRank where nothing proves it
	name, node     string
	usual, longest float64
	last           *worker.At
	step           int64
	ago            float64
	timed          bool
}

// recent is how many of the last step lines make "now", and as many of the first ones "at its start": medians of both are compared.
const recent = 10

// last is the newest step line; nil where none is printed.
func (l *look) last() *resolve.Point {
	if l.main == nil {
		return nil
	}
	return &l.main.Points[len(l.main.Points)-1]
}

// clearly is the ratio from which on a figure is not what it was. The method's limit is the same.
const clearly = 1.1

func tail[T any](v []T, n int) []T { return v[max(0, len(v)-n):] }

// running says that a mechanism is one of jobs that go on: they are slow, or learn nothing.
func running(mechanism string) bool {
	return knowledge.GoesOn(knowledge.Slug(mechanism))
}
