package diagnose

import (
	"math"
	"slices"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// quietFor is how long after one line of a kind another one belongs to the next event: ranks report the same save at different times, and an
// evaluation prints a line for each batch.
const quietFor = 60

// troubled are the kinds of rows that a failure begins with.
var troubled = []string{incident.EventWait, incident.EventTimeout, incident.EventError, incident.EventTold, incident.EventExit}

// precursors counts what the run did again and again before its failure began, and how long before that the last one began. One run tells
// nothing by it; many do (analysis/history).
func (b *builder) precursors() {
	f := b.s.Facts
	start := f.Job.Start
	if !start.Valid || b.r.Verdict.Status == incident.NoFailure {
		return
	}
	onset := math.Inf(1)
	for i, e := range b.r.Timeline {
		if b.when[i].Valid && slices.Contains(troubled, e.Kind) {
			onset = min(onset, b.when[i].T)
		}
	}
	if math.IsInf(onset, 1) || onset <= start.T {
		return
	}
	var saves, evaluations []float64
	add := func(list []float64, m resolve.Moment) []float64 {
		if m.Valid && m.T >= start.T && m.T <= onset {
			list = append(list, m.T)
		}
		return list
	}
	for i := range f.Saves {
		if k := f.Saves[i].Kind; k == worker.SaveStart || k == worker.SaveDone {
			saves = add(saves, f.At(f.Saves[i].At))
		}
	}
	for i := range f.Progress {
		if f.Progress[i].Phase == worker.Evaluation {
			evaluations = add(evaluations, f.Progress[i].T)
		}
	}
	for _, k := range []struct {
		kind string
		at   []float64
	}{{incident.BeforeSave, saves}, {incident.BeforeEvaluation, evaluations}} {
		if n, last := bursts(k.at); n > 0 {
			b.r.Before = append(b.r.Before, incident.Precursor{Kind: k.kind, N: n, Last: math.Round(onset - last), Over: math.Round(onset - start.T)})
		}
	}
}

// bursts counts moments that lie apart, and gives where the last of them begins.
func bursts(at []float64) (n int, last float64) {
	slices.Sort(at)
	for i, t := range at {
		if i == 0 || t-at[i-1] > quietFor {
			n, last = n+1, t
		}
	}
	return n, last
}
