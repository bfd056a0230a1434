package resolve

import (
	"math"
	"slices"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// Turn is a change of how a run trains, from one step line to the next: the size of its batch, its learning rate, or that it went back to an
// earlier step.
type Turn struct {
	At      worker.At
	Kind    string // worker.NumericBatch, worker.NumericRate or TurnResumed
	Was, Is float64
}

// TurnResumed is the kind of a turn where the run went back to an earlier step.
const TurnResumed = "resumed"

const (
	// rateJump is by how much a learning rate changes in one line that no schedule changes so.
	rateJump = 1.5
	// warmLines are at the beginning of a course, where a warm-up multiplies it from line to line.
	warmLines = 8
)

// Turns are those of a course, in the order of its file.
func (f *Facts) Turns(c *Course) (turns []Turn) {
	if len(c.Points) == 0 {
		return nil
	}
	for i := 1; i < len(c.Points); i++ {
		if a, b := &c.Points[i-1], &c.Points[i]; a.Step != line.Unknown && b.Step < a.Step && b.Step >= 0 {
			turns = append(turns, Turn{*b.At, TurnResumed, float64(a.Step), float64(b.Step)})
		}
	}
	warm := c.Points[min(warmLines, len(c.Points)-1)].At.Off
	numbers := worker.Within(f.Obs.Numerics, c.File)
	batches := batchChanges(f.Courses, numbers)[c.File]
	batch := 0.0
	for i := range numbers {
		n := &numbers[i]
		switch n.Kind {
		case worker.NumericBatch:
			if slices.Contains(batches, n.Off) {
				turns = append(turns, Turn{n.At, n.Kind, batch, n.Value})
			}
			batch = n.Value
		case worker.NumericRate:
			if n.Off > warm && n.Was > 0 && n.Value > 0 && math.Abs(math.Log(n.Value/n.Was)) >= math.Log(rateJump) {
				turns = append(turns, Turn{n.At, n.Kind, n.Was, n.Value})
			}
		}
	}
	slices.SortStableFunc(turns, func(a, b Turn) int { return int(a.At.Off - b.At.Off) })
	return turns
}

// turnLines are how many lines before a loss changes its course what it does may have begun.
const turnLines = 20

// Before are the turns shortly before a line of a course, or in the lines next to it.
func (f *Facts) Before(c *Course, p *Point) []Turn {
	i := slices.IndexFunc(c.Points, func(x Point) bool { return x.At.Pos == p.At.Pos })
	if i < 0 {
		return nil
	}
	from, to := c.Points[max(i-turnLines, 0)].At.Off, c.Points[min(i+2, len(c.Points)-1)].At.Off
	return slices.DeleteFunc(f.Turns(c), func(t Turn) bool { return t.At.Off <= from || t.At.Off > to })
}

// Rate is the learning rate at a line, give or take a schedule's step, and the highest until then; ok is false where none is printed.
func (f *Facts) Rate(c *Course, p *Point) (is worker.Numeric, top float64, ok bool) {
	for _, n := range worker.Within(f.Obs.Numerics, c.File) {
		if n.Kind == worker.NumericRate && n.Off <= p.At.Off {
			is, top, ok = n, max(top, n.Value), true
		}
	}
	return is, top, ok
}

// Spent is a learning rate that ran out while steps go on: they change nothing any more.
type Spent struct {
	At         worker.Numeric // the line from which on it is 0
	From, Last *Point         // with a loss, since
	N          int            // of them
}

// Spent finds where the learning rate of a course became 0 for good, many lines before the end of the log and of the run.
func (f *Facts) Spent(c *Course) (s Spent, ok bool) {
	for _, n := range worker.Within(f.Obs.Numerics, c.File) {
		if n.Kind == worker.NumericRate {
			s.At, ok = n, n.Value == 0 && n.Was > 0
		}
	}
	if !ok {
		return s, false
	}
	for _, p := range c.Losses() {
		if p.At.Off < s.At.Off {
			continue
		}
		if s.From == nil {
			s.From = p
		}
		s.Last, s.N = p, s.N+1
	}
	return s, s.N >= plateauLeast && (c.Total <= 0 || float64(s.Last.Step) < plateauNearly*float64(c.Total))
}
