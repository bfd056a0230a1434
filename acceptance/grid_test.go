package acceptance

import (
	"errors"
	"math"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"faultline/eval"
	"faultline/simulate"
)

// graded is a scoreboard with what the audit found while it was made.
type graded struct {
	board *eval.Scoreboard
	audit *audit
	err   error
}

// grid plays and grades the seeded grid of both stop-lines, once.
func grid(t *testing.T) graded {
	t.Helper()
	once.Do(func() { result = grade(t) })
	if result.err != nil {
		t.Fatal(result.err)
	}
	return result
}

var (
	once   sync.Once
	result graded
)

// gridCases is how many cases the grid has, over all stop-lines.
const gridCases = 2000

// gridDir writes n cases; writing is as much work as a tenth of the diagnosis, so it uses every core.
func gridDir(n int) (string, error) {
	dir := filepath.Join(scratch, "grid")
	specs := simulate.Grid(n, *seed, 0)
	errs := make([]error, len(specs))
	todo := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range todo {
				inc, err := simulate.Generate(specs[i])
				if err == nil {
					err = simulate.Write(dir, inc)
				}
				errs[i] = err
			}
		})
	}
	for i := range specs {
		todo <- i
	}
	close(todo)
	wg.Wait()
	return dir, errors.Join(errs...)
}

// grade includes the corpus where it is there, so that the scoreboard is made of the same run.
func grade(t *testing.T) graded {
	dir, err := gridDir(share(gridCases))
	if err != nil {
		return graded{err: err}
	}
	dirs := []string{dir}
	if haveCorpus() && !raced {
		dirs = append(dirs, corpus)
	}
	a := &audit{}
	board, err := eval.Run(t.Context(), dirs, eval.Options{Diagnose: a.engine})
	return graded{board, a, err}
}

// goal is a row of the acceptance table.
type goal struct {
	metric eval.Metric
	permil int // of the cases it applies to, at least
	atMost int // for faults: offences
	cases  int // a table that applies to nothing proves nothing: at least so many of 2,000
}

// mayMiss is how many of n cases may miss the goal. Chance may put more of the misses into a sample than its share: two deviations more.
func (g goal) mayMiss(n int) int {
	most := float64((1000-g.permil)*n) / 1000
	if brief() {
		most += 2 * math.Sqrt(most)
	}
	return int(most)
}

// The engine gets the logs only. Up to PyTorch 2.3 few lines tell how many ranks there are, which is what the missed ranks want.
func TestTheGridIsDiagnosed(t *testing.T) {
	t.Parallel()
	hold(t, grid(t).board, true, []goal{
		{metric: eval.Ran, permil: 1000, cases: gridCases},
		{metric: eval.InCandidates, permil: 995, cases: gridCases},
		{metric: eval.ExactSet, permil: 970, cases: 300},
		{metric: eval.FirstRight, permil: 970, cases: 1000},
		{metric: eval.RootRank, permil: 970, cases: 600},
		{metric: eval.RootNode, permil: 970, cases: 600},
		{metric: eval.Origin, permil: 970, cases: 1000},
		{metric: eval.Decision, permil: 970, cases: 300},
		{metric: eval.Coverage, permil: 940, cases: 60},
		{metric: eval.Verified, permil: 1000, cases: gridCases},
		{metric: eval.Proven, permil: 1000, cases: gridCases},
		{metric: eval.NoGround, cases: 400},
		{metric: eval.Innocent, cases: 400},
		{metric: eval.Intermediate, cases: 30},
		{metric: eval.Forbidden, cases: 400},
		{metric: eval.ControlBlamed, cases: 80},
		{metric: eval.SelfContradiction, cases: gridCases},
	})
}

// hold checks goals on the simulated or the real half of a board, and names the cases that miss one.
func hold(t *testing.T, board *eval.Scoreboard, simulated bool, goals []goal) {
	t.Helper()
	lines := map[eval.Metric]eval.Line{}
	for _, l := range board.Lines() {
		lines[l.Metric] = l
	}
	for _, g := range goals {
		l := lines[g.metric]
		tally := l.Real
		if simulated {
			tally = l.Simulated
		}
		missed := tally.Of - tally.Met
		want := g.cases
		if simulated && brief() {
			want = share(want) / 2 // a sample is not exactly as the whole
		}
		if tally.Of < want {
			t.Errorf("%s applies to %d cases only, expected %d or more", l.Title, tally.Of, want)
		}
		bad := missed > g.mayMiss(tally.Of)
		if l.Fault {
			bad = missed > g.atMost
		}
		t.Logf("%-52s %d of %d", l.Title, tally.Met, tally.Of)
		if !bad {
			continue
		}
		t.Errorf("%s: %d of %d cases miss it", l.Title, missed, tally.Of)
		for i := range board.Cases {
			c := &board.Cases[i]
			if c.Simulated != simulated {
				continue
			}
			for _, s := range c.Failed() {
				if s.Metric == g.metric {
					t.Logf("  %s: %s", c.ID, s.Why)
				}
			}
		}
	}
}

// What the engine states is what is observed: in every bin that holds enough to say so, stated and observed confidence are
// within 0.05 of each other; of verdicts, and of the members of sets.
func TestConfidenceIsCalibrated(t *testing.T) {
	t.Parallel()
	const apart = 0.05
	enough := 30
	if brief() {
		enough = 70 // of fewer cases, more have to be alike before chance is no explanation
	}
	b := grid(t).board
	for what, bins := range map[string][]eval.Bin{"verdicts": b.Calibration(true), "members of sets": b.MemberCalibration()} {
		filled := 0
		for _, bin := range bins {
			t.Logf("%s, %.2f and more: %d stated %.3f, right %.3f", what, bin.From, bin.N, bin.Stated, bin.Observed)
			if bin.N < enough {
				continue
			}
			filled++
			if math.Abs(bin.Over) > apart {
				t.Errorf("%s, %.2f and more: %d stated %.3f, right are %.3f", what, bin.From, bin.N, bin.Stated, bin.Observed)
			}
		}
		if filled == 0 && !raced && !testing.Short() {
			t.Errorf("%s: no bin holds %d", what, enough)
		}
	}
	for i := range b.Cases {
		if c := &b.Cases[i]; c.Confidence > 0.98 {
			t.Errorf("%s: %s states %.3f", c.ID, c.Mechanism, float64(c.Confidence))
		}
	}
}

func TestEveryReportHasItsFormAndHolds(t *testing.T) {
	t.Parallel()
	a := grid(t).audit
	for _, w := range a.wrong {
		t.Error(w)
	}
	if a.n < share(gridCases) || a.proofs < 10*a.n {
		t.Errorf("%d reports with %d proofs: this test has nothing to check", a.n, a.proofs)
	}
}
