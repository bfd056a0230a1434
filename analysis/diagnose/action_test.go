package diagnose

import (
	"testing"

	"faultline/simulate"
)

// A line that leaves open who has to act decides neither that nor whether a change is needed.
func TestWhoActsOnAnErrorOfCUDA(t *testing.T) {
	for _, c := range []struct{ name, last, resubmit, owner string }{
		{"of the program", "RuntimeError: CUDA error: an illegal memory access was encountered", "after-fix", "job-code"},
		{"of nobody knows whom", "RuntimeError: CUDA error: unknown error", "unknown", "unknown"},
		{"a GPU that somebody else has", "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable", "unknown", "unknown"},
	} {
		r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(fieldSteps + raisedBy(3, c.last))}}, nil, 0))
		if r.Verdict.Mechanism != "cuda-error" || r.Action.Resubmit != c.resubmit || r.Action.Owner != c.owner {
			t.Errorf("%s: %s, resubmit %s, %s acts", c.name, r.Verdict.Mechanism, r.Action.Resubmit, r.Action.Owner)
		}
	}
}
