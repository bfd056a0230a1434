package diagnose

import (
	"testing"

	"faultline/simulate"
)

// A mistake of a program's own is nothing that the end of another process makes it raise: without a word of which came first both stand.
func TestAMistakeIsNotExplainedByTheEndOfAnotherProcess(t *testing.T) {
	const (
		oom    = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB of which 1.00 GiB is free."
		key    = "KeyError: 'tokens'"
		killed = "slurmstepd: error: Detected 1 oom_kill event in StepId=4242.0. Some of the step tasks have been OOM Killed.\nsrun: error: n1: task 1: Out Of Memory\n"
	)
	apart := func(three, five string) map[string]string {
		return map[string]string{"rank_3.log": raisedBy(3, three), "rank_5.log": raisedBy(5, five)}
	}
	for _, c := range []fieldCase{
		{"two ranks, no times", apart(oom, key), []string{"exception", "gpu-oom"}, "-"},
		{"the other way round", apart(key, oom), []string{"exception", "gpu-oom"}, "-"},
		{"an error that a lost peer may make", apart(oom, "RuntimeError: the peer did not answer"), []string{"gpu-oom"}, "rank 3"},
		{"one rank: what it printed first", map[string]string{"rank_3.log": raisedBy(3, oom) + raisedBy(3, key)}, []string{"gpu-oom"}, "rank 3"},
		{"a mistake above the kernel's kill", one(fieldSteps + raisedBy(1, key) + "saving emergency checkpoint\n" + killed), []string{"exception", "host-oom"}, "-"},
		{"a mistake below it", one(fieldSteps + killed + raisedBy(1, key)), []string{"host-oom"}, ""},
	} {
		c.check(t)
	}
}

// Whichever it was, a change has to be made first: that much is decided.
func TestCausesThatAllNeedAFixSaySo(t *testing.T) {
	for _, c := range []struct{ three, five, resubmit string }{
		{"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "KeyError: 'tokens'", "after-fix"},
		{"RuntimeError: CUDA error: uncorrectable ECC error encountered", "KeyError: 'tokens'", "unknown"},
	} {
		r := Run(read(t, []simulate.File{{Name: "rank_3.log", Data: []byte(raisedBy(3, c.three))}, {Name: "rank_5.log", Data: []byte(raisedBy(5, c.five))}}, nil, 0))
		if len(r.Verdict.Candidates) != 2 || r.Action.Resubmit != c.resubmit {
			t.Errorf("%s beside %s: %v, resubmit %s (%s)", c.three, c.five, r.Verdict.Candidates, r.Action.Resubmit, r.Action.Text)
		}
	}
}
