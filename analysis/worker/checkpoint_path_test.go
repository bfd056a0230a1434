package worker

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"faultline/analysis/line"
)

// The step of a path is the last number behind a name of a step.
func TestStepOfPath(t *testing.T) {
	asks := regexp.MustCompile(`(?:global_step|checkpoint[-_]|iter_|iteration[-_=]?|step[-_=]?)(\d+)`)
	parts := []string{"global_step", "checkpoint-", "checkpoint_", "checkpoint", "iter_", "iter", "iteration", "iteration=", "step", "step-", "step=", "/", "-", "mp_rank_", "7", "00", "1200", ".pt", "é"}
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 20000 {
		var b strings.Builder
		for range 1 + rng.IntN(7) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		want := int64(line.Unknown)
		if all := asks.FindAllStringSubmatch(b.String(), -1); len(all) > 0 {
			want = exact(all[len(all)-1][1])
			found++
		}
		if got := stepOfPath(b.String()); got != want {
			t.Errorf("%q: %d, not %d", b.String(), got, want)
		}
	}
	if found < 1000 {
		t.Errorf("only %d paths held a step", found)
	}
}

// A set of rules is the bits of one number.
func TestRulesFitIntoTheirSets(t *testing.T) {
	for name, n := range map[string]int{"retries": len(ioRules), "doings": len(doingRules), "checkpoints": len(checkpointRules)} {
		if n > 64 {
			t.Errorf("%d rules of %s: a set has room for 64", n, name)
		}
	}
}
