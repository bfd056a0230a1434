package acceptance

import (
	"sync"
	"testing"

	"faultline/analysis/worker"
	"faultline/eval"
	"faultline/simulate"
)

// A small sample, always the same, smaller where a run is brief: each case is run four times, and each time buried in noise.
const (
	unforeseenCases = 60
	unforeseenBrief = 12
)

type trials struct {
	once         sync.Once
	blind, drift []eval.Tried
}

var tried trials

// unforeseen runs a sample as if nobody had foreseen it.
func unforeseen(t *testing.T) (blind, drift []eval.Tried) {
	t.Helper()
	tried.once.Do(func() {
		dir := t.TempDir()
		n := unforeseenCases
		if brief() {
			n = unforeseenBrief
		}
		for _, spec := range simulate.Grid(n, gridSeed, 0) {
			if err := simulate.Write(dir, play(t, spec)); err != nil {
				t.Fatal(err)
			}
		}
		opts := eval.Options{Diagnose: engine, Readers: worker.Foreseen}
		var err error
		if tried.blind, err = eval.Try(t.Context(), []string{dir}, eval.Blind, opts); err != nil {
			t.Fatal(err)
		}
		if tried.drift, err = eval.Try(t.Context(), []string{dir}, eval.Drift, opts); err != nil {
			t.Fatal(err)
		}
	})
	return tried.blind, tried.drift
}

// What the engine makes of what it was not taught gets no worse. The limits are what it reached, and come down with it.
func TestWhatNobodyForesawIsReadNoWorseThanBefore(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("under the race detector the grid has the same goroutines")
	}
	blind, drift := unforeseen(t)
	for _, c := range []struct {
		trial eval.Trial
		all   []eval.Tried
		// Of the figures in their order, in percent: shares at least, faults at most.
		limits []int
	}{
		{eval.Blind, blind, []int{45, 10, 50, 0, 12, 0}},
		{eval.Drift, drift, []int{40, 75, 75, 70, 12, 5}},
	} {
		for i, f := range eval.Figures(c.all) {
			met := f.Tally.Of > 0 && f.Tally.Met*100 >= c.limits[i]*f.Tally.Of
			if f.Fault {
				met = (f.Tally.Of-f.Tally.Met)*100 <= c.limits[i]*f.Tally.Of
			}
			t.Logf("%s: %s: %d of %d", c.trial, f.Title, f.Tally.Met, f.Tally.Of)
			if !met {
				t.Errorf("%s: %s: %d of %d, the limit is %d", c.trial, f.Title, f.Tally.Met, f.Tally.Of, c.limits[i])
			}
		}
	}
	for _, x := range append(blind[:len(blind):len(blind)], drift...) {
		if x.Error != "" {
			t.Errorf("%s, %s: %s", x.Trial, x.ID, x.Error)
		}
	}
}
