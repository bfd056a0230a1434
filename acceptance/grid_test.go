package acceptance

import (
	"path/filepath"
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

func gridDir(n int) (string, error) {
	dir := filepath.Join(scratch, "grid")
	for _, spec := range simulate.Grid(n, *seed, 0) {
		inc, err := simulate.Generate(spec)
		if err != nil {
			return "", err
		}
		if err := simulate.Write(dir, inc); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// grade includes the corpus where it is there, so that the scoreboard is made of the same run.
func grade(t *testing.T) graded {
	dir, err := gridDir(cases(1000))
	if err != nil {
		return graded{err: err}
	}
	dirs := []string{dir}
	if haveCorpus() {
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
	cases  int // a table that applies to nothing proves nothing: at least so many of 1,000
}

func TestTheGridIsDiagnosed(t *testing.T) {
	hold(t, grid(t).board, true, []goal{
		{metric: eval.Ran, permil: 1000, cases: 1000},
		{metric: eval.InCandidates, permil: 995, cases: 1000},
		{metric: eval.ExactSet, permil: 970, cases: 150},
		{metric: eval.FirstRight, permil: 970, cases: 500},
		{metric: eval.RootRank, permil: 990, cases: 300},
		{metric: eval.RootNode, permil: 990, cases: 300},
		{metric: eval.Origin, permil: 970, cases: 500},
		{metric: eval.Decision, permil: 970, cases: 150},
		{metric: eval.Coverage, permil: 990, cases: 30},
		{metric: eval.Verified, permil: 1000, cases: 1000},
		{metric: eval.Proven, permil: 1000, cases: 1000},
		{metric: eval.NoGround, cases: 200},
		{metric: eval.Innocent, cases: 200},
		{metric: eval.Intermediate, cases: 15},
		{metric: eval.Forbidden, cases: 200},
		{metric: eval.ControlBlamed, cases: 40},
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
		if want := g.cases; tally.Of < want && !(simulated && testing.Short()) {
			t.Errorf("%s applies to %d cases only, expected %d or more", l.Title, tally.Of, want)
		}
		bad := !l.Fault && tally.Met*1000 < g.permil*tally.Of || l.Fault && missed > g.atMost
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

func TestEveryReportHasItsFormAndHolds(t *testing.T) {
	a := grid(t).audit
	for _, w := range a.wrong {
		t.Error(w)
	}
	if a.n < cases(1000) || a.proofs < 10*a.n {
		t.Errorf("%d reports with %d proofs: this test has nothing to check", a.n, a.proofs)
	}
}
