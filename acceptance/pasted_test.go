package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/simulate"
)

const caught = `[rank1]: Traceback (most recent call last):
[rank1]:   File "/opt/train/loop.py", line 41, in step
[rank1]:     loss = model(batch)
[rank1]: ValueError: sample 17 is empty
`

// steps are progress lines of the first ranks of a run.
func steps(from, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " iteration %8d/  500 | consumed samples: %d | elapsed time per iteration (ms): 730.1 | lm loss: 2.15E+00 |\n", from+i, (from+i)*8)
	}
	return b.String()
}

// TestAFailureThatTheJobSurvivedIsNone: a traceback ends a job only if something tells of a death, or nothing follows it.
func TestAFailureThatTheJobSurvivedIsNone(t *testing.T) {
	t.Parallel()
	const finished = "`Trainer.fit` stopped: `max_epochs=3` reached.\n"
	for _, c := range []struct {
		name, log, want string
	}{
		{"steps go on and the program finishes", steps(1, 5) + caught + steps(6, 20) + finished, "completed"},
		{"steps go on to the end of the log", steps(1, 5) + caught + steps(6, 20), "completed"},
		{"nothing follows", steps(1, 5) + caught, "exception"},
		{"a step or two from a buffer", steps(1, 5) + caught + steps(6, 2), "exception"},
		{"steps from a buffer, and the launcher saw it die", steps(1, 5) + caught + steps(6, 20) +
			"E0603 17:48:01.005000 100 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 1 (pid: 4242) of binary: /usr/bin/python3\n", "exception"},
		{"the time limit comes later", steps(1, 5) + caught + steps(6, 20) +
			"slurmstepd: error: *** STEP 12.0 ON node1 CANCELLED AT 2025-06-03T17:48:01 DUE TO TIME LIMIT ***\n", "time-limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := put(t, t.TempDir(), []simulate.File{{Name: "train.log", Data: []byte(c.log)}})
			r := diagnosed(t.Context(), t, c.name, analysis.Input{Sources: src})
			if r.Verdict.Mechanism != c.want {
				t.Errorf("said %s (%s: %s), expected %s", r.Verdict.Mechanism, r.Verdict.Status, r.Verdict.Summary, c.want)
			}
			if survived := len(r.Warnings) > 0; survived != (c.want != "exception") {
				t.Errorf("warnings %q", r.Warnings)
			}
		})
	}
}

// TestAClaimedWorldSizeIsHeldAgainstTheRanks: a line or a flag may claim any number.
func TestAClaimedWorldSizeIsHeldAgainstTheRanks(t *testing.T) {
	t.Parallel()
	const seen = "[rank0]: hello\n[rank15]: hello\n" + caught
	for _, c := range []struct {
		name, log string
		flag      int
		want      int // 0: unknown
		warned    bool
	}{
		{"a flag that fits", seen, 16, 16, false},
		{"a flag below the ranks that appear", seen, 8, 0, true},
		{"a flag below, and the job says the right number", "Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/16\n" + seen, 8, 16, true},
		{"a line that claims two billion", "Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/2147483647\n" + seen, 0, 0, true},
		{"a rank prefix that no job has", "[rank2000000000]: hello\n" + seen, 16, 16, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := put(t, t.TempDir(), []simulate.File{{Name: "train.log", Data: []byte(c.log)}})
			r := diagnosed(t.Context(), t, c.name, analysis.Input{Sources: src, WorldSize: c.flag})
			got := 0
			if r.Job.WorldSize != nil {
				got = *r.Job.WorldSize
			}
			if got != c.want || (len(r.Warnings) > 0) != c.warned {
				t.Errorf("world size %d, warnings %q", got, r.Warnings)
			}
		})
	}
}
