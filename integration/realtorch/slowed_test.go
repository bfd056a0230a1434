//go:build realtorch

package realtorch

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// slowed is a job that becomes slower half-way and completes.
type slowed struct {
	mode      string // of programs/slowed.py
	mechanism string // "" where it stays as fast as it was
	root      bool   // rank 2 is the one
}

var slowJobs = []slowed{{"healthy", "", false}, {"neighbour", "slow-rank", true}, {"loader", "dataloader-stall", true}, {"save", "slow-checkpoint", false}}

// A neighbour on one rank's processor, a slow loader of one rank and slow saves make real steps slower: they are told apart by what the
// ranks print of their steps, and the rank is named.
func TestRealSlowJobs(t *testing.T) {
	bot := built(t)
	of := systems
	if os.Getenv("FAULTLINE_FULL") == "" {
		of = of[len(of)-1:] // each job trains for half a minute
	}
	for _, sys := range of {
		root := prepared(t, sys.suite)
		for _, s := range slowJobs {
			t.Run(sys.torch+"/"+s.mode, func(t *testing.T) {
				wrong, wide := judgeSlow(t, bot, root, sys, s)
				for again := 0; wrong != "" && again < 2; again++ {
					t.Log(wrong, "once more: a machine that does other things slows ranks down, too")
					wrong, wide = judgeSlow(t, bot, root, sys, s)
				}
				switch {
				case wide:
					t.Skip("the machine is so busy that all ranks became slower, and the report names none: " + wrong)
				case wrong != "":
					t.Error(wrong)
				}
			})
		}
	}
}

// unplaced are what a slow job is called where nothing tells one rank from the others.
var unplaced = []string{"throughput-regression", "slow-communication"}

// judgeSlow runs a job and returns what is wrong with the report; wide where it sees the slowdown and accuses nobody.
func judgeSlow(t *testing.T, bot, root string, sys system, s slowed) (wrong string, wide bool) {
	t.Helper()
	var logs, codes string
	for range 4 {
		if logs, codes = drive(t, root, sys, "slowed-"+s.mode, "--", "slowed.py", "--mode", s.mode, "--rank", fmt.Sprint(guilty)); healthy(codes) {
			break
		}
		t.Logf("it was to end well and ended with %s:\n%s", codes, telling(logs))
	}
	r := diagnose(t, bot, logs)
	v := r.Verdict
	t.Logf("%s %s, root %v", v.Status, v.Mechanism, v.Root.Ranks)
	var ranks []int
	if s.root {
		ranks = []int{guilty}
	}
	switch {
	case r.Verification.Quotes.Held != r.Verification.Quotes.Checked:
		return "a quotation does not hold", false
	case s.mechanism == "" && v.Status != "no-failure", s.mechanism != "" && v.Mechanism != s.mechanism, !slices.Equal(v.Root.Ranks, ranks):
		return fmt.Sprintf("%s %s of %v, and it was %q of %v", v.Status, v.Mechanism, v.Root.Ranks, s.mechanism, ranks),
			s.root && len(v.Root.Ranks) == 0 && slices.Contains(unplaced, v.Mechanism)
	}
	return "", false
}
