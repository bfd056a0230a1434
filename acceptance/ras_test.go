package acceptance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"faultline/simulate/nccl"
)

// What RAS answers decides who held the others where the job's logs show a hang and two answers have the same rank behind, or one counts
// a process as dead. One answer, or a job that works, accuses nobody.
func TestRASNamesTheCulpritOnlyWhereItProvesIt(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2026, 23))
	named, decidable := 0, 0
	for i := range 80 {
		layout := [][2]int{{2, 4}, {4, 1}, {4, 8}, {8, 4}}[rng.IntN(4)]
		spec := nccl.RAS{Seed: uint64(i), Answer: nccl.Answers()[i%len(nccl.Answers())], Nodes: layout[0], PerNode: layout[1], Times: 1 + rng.IntN(2), JSON: rng.IntN(2) == 0,
			Apart: []int{2, 90}[rng.IntN(2)], Hangs: rng.IntN(3) > 0}
		spec.Pasted = !spec.JSON && rng.IntN(3) == 0
		inc, err := nccl.PlayRAS(spec)
		if err != nil {
			t.Fatal(err)
		}
		r := judgeNCCL(t, inc)
		var set []string
		for _, c := range r.Verdict.Candidates {
			set = append(set, c.Mechanism)
		}
		what := fmt.Sprintf("%+v: %v of ranks %v, nodes %v; at fault %+v; %s", spec, set, r.Verdict.Root.Ranks, r.Verdict.Root.Nodes, inc.Truth, r.Verdict.Why)
		if slices.ContainsFunc(r.Verdict.Root.Ranks, func(id int) bool { return !slices.Contains(inc.Truth.Ranks, id) }) ||
			slices.ContainsFunc(r.Verdict.Root.Nodes, func(id string) bool { return !slices.Contains(inc.Truth.Nodes, id) }) {
			t.Errorf("accused: %s", what)
		}
		if v := r.Verification; len(v.Withdrawn) > 0 {
			t.Errorf("withdrawn %v: %s", v.Withdrawn, what)
		}
		proven := spec.Answer == nccl.Dead && spec.Hangs || spec.Answer == nccl.Behind && spec.Hangs && spec.Times == 2 && (!spec.JSON || spec.Apart > 60)
		switch {
		case proven:
			decidable++
			if slices.Contains(set, "rank-stalled") && slices.Equal(r.Verdict.Root.Ranks, inc.Truth.Ranks) {
				named++
			} else {
				t.Errorf("not named: %s", what)
			}
		case spec.Answer == nccl.Level && spec.Hangs:
			if !slices.Equal(set, []string{"collective-hang", "gpu-hang"}) {
				t.Errorf("everybody came: %s", what)
			}
		case spec.Answer != nccl.Dead && len(r.Verdict.Root.Ranks)+len(r.Verdict.Root.Nodes) > 0:
			t.Errorf("named without proof: %s", what)
		}
	}
	t.Logf("%d of %d named", named, decidable)
	if decidable < 10 {
		t.Errorf("only %d are decided", decidable)
	}
}
