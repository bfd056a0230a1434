package acceptance

import (
	"path/filepath"
	"testing"

	"faultline/eval"
	"faultline/simulate"
)

// TestSynchronisationPointsAreNamed plays hangs at the synchronisation points of frameworks: the rank that did not come is
// found or the set is left open, nobody who waits or was let go is accused, and the point is among those that are named.
func TestSynchronisationPointsAreNamed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(scratch, "syncs")
	n := cases(300)
	for _, spec := range simulate.Grid(n, *seed+5, 5) {
		inc, err := simulate.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := simulate.Write(dir, inc); err != nil {
			t.Fatal(err)
		}
	}
	a := &audit{}
	board, err := eval.Run(t.Context(), []string{dir}, eval.Options{Diagnose: a.engine, Sized: true})
	if err != nil {
		t.Fatal(err)
	}
	hold(t, board, true, []goal{
		{metric: eval.Ran, permil: 1000, cases: n},
		{metric: eval.InCandidates, permil: 995, cases: n},
		{metric: eval.FirstRight, permil: 970, cases: n / 3},
		{metric: eval.RootRank, permil: 990, cases: n / 3},
		{metric: eval.SyncPoint, permil: 990, cases: n / 2},
		{metric: eval.Verified, permil: 1000, cases: n},
		{metric: eval.Proven, permil: 1000, cases: n},
		{metric: eval.NoGround, cases: 1},
		{metric: eval.Innocent, cases: n / 3},
		{metric: eval.Forbidden, cases: n / 3},
	})
	for _, w := range a.wrong {
		t.Error(w)
	}
}
