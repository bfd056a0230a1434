package diagnose

import (
	"strings"
	"testing"

	"faultline/simulate"
)

// What happened says no more than the lines prove, and what they prove in full.
func TestWhatHappenedIsTrueOfTheWholeJob(t *testing.T) {
	megatron := simulate.Layout{Kind: "megatron", TP: 4, CP: 1, EP: 2, DP: 2, PP: 1}
	pipelined := simulate.Layout{Kind: "megatron", TP: 4, CP: 1, EP: 2, DP: 8, PP: 2}
	for name, c := range map[string]struct {
		spec               simulate.Spec
		mechanism, summary string
	}{
		"groups that hang in operations of their own": {
			spec: simulate.Spec{Mechanism: "multi-group-hang", Torch: "2.8", Layout: megatron, NodeCount: 2, Noise: 2}, mechanism: "collective-hang",
			summary: "every rank in 8 process groups entered its group's collective (_REDUCE_SCATTER_BASE #146878 in 4 of them); none completed it"},
		"ranks that wait in other groups": {
			spec: simulate.Spec{Mechanism: "multi-group-stall", Torch: "2.7", Layout: pipelined, NodeCount: 16, Noise: 1}, mechanism: "rank-stalled",
			summary: "rank 90 on dgx-h100-24 never joined _ALLGATHER_BASE #25564; 127 ranks waited, there or in other groups"},
		"a loss that was printed elsewhere than the error": {
			spec: simulate.Spec{Mechanism: "nan-then-raise", Torch: "recent", Layout: simulate.Layout{Kind: "ddp", TP: 1, CP: 1, EP: 1, DP: 16, PP: 1}, NodeCount: 2, Noise: 2}, mechanism: "non-finite-loss",
			summary: "the loss became NaN or infinite at step 1733; rank 13 on dgx-h100-14: RuntimeError: Non-finite loss encountered at step 1736: nan"},
		"a slow job that its time limit ended": {
			spec: simulate.Spec{Mechanism: "throughput-regression", Torch: "2.8", Layout: simulate.Layout{Kind: "megatron", TP: 2, CP: 1, EP: 1, DP: 2, PP: 2}, NodeCount: 1, Noise: 3, ZoneMix: true}, mechanism: "throughput-regression",
			summary: "steps slowed down from step 876 on, 05:44:00 ± 5 s: 5.55 s per step, up from 1.95 s (×2.85, 65% lost); SLURM ended the step (time limit)"},
		"a job that the scheduler ended": {
			spec: simulate.Spec{Mechanism: "preempted", Torch: "recent", Layout: simulate.Layout{Kind: "fsdp", TP: 1, CP: 1, EP: 1, DP: 32, PP: 1}, NodeCount: 4, ZoneMix: true}, mechanism: "preempted",
			summary: "the scheduler preempted the job; the last step logged was 40"},
	} {
		c.spec.Seed, c.spec.PerNode, c.spec.FileMode = 1, 8, "node"
		inc, err := simulate.Generate(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		v := Run(read(t, inc.Files, nil, 0)).Verdict
		if v.Candidates[0].Mechanism != c.mechanism || v.Summary != c.summary {
			t.Errorf("%s: %s: %q", name, v.Candidates[0].Mechanism, v.Summary)
		}
		if v.Root.Only != "" || v.Root.File != "" {
			t.Errorf("%s: placed in %q of %q, and the lines are in several", name, v.Root.File, v.Root.Only)
		}
	}
}

// Nodes whose logs begin hours apart, by what zones are apart, began together: the job is not that old.
func TestALogInAnotherZoneDoesNotMakeTheJobOlder(t *testing.T) {
	inc, err := simulate.Generate(simulate.Spec{Seed: 1, Mechanism: "slow-rank", Torch: "2.7", Layout: simulate.Layout{Kind: "fsdp", TP: 1, CP: 1, EP: 1, DP: 64, PP: 1},
		NodeCount: 8, PerNode: 8, FileMode: "node", Prefixes: []string{"collector"}, ZoneMix: true, Noise: 3})
	if err != nil {
		t.Fatal(err)
	}
	r := Run(read(t, inc.Files, nil, 0))
	const began, ended = "2026-09-27T05:42:21", "2026-09-27T05:45:48"
	if from, to := r.Coverage.TimeFrom, r.Coverage.TimeTo; from == nil || to == nil || *from != began || *to != ended {
		t.Errorf("from %v to %v, expected %s to %s", from, to, began, ended)
	}
}

// Nothing is as many as the ranks where nothing says how many there are.
func TestOfAnUnknownWorldNobodySaysThatAllFailed(t *testing.T) {
	inc, err := simulate.Generate(simulate.Spec{Seed: 1, Mechanism: "version-mismatch", Torch: "2.7", Layout: simulate.Layout{Kind: "fsdp", TP: 1, CP: 1, EP: 1, DP: 64, PP: 1}, NodeCount: 16, PerNode: 4, FileMode: "node", Noise: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := Run(read(t, inc.Files, nil, 0))
	if v := r.Verdict; r.Job.WorldSize == nil && !strings.HasPrefix(v.Why, "most logs report the same") || r.Job.WorldSize != nil {
		t.Errorf("world %v: %q", r.Job.WorldSize, v.Why)
	}
	if why := Run(read(t, inc.Files, nil, 64)).Verdict.Why; !strings.HasPrefix(why, "as many processes as there are ranks") {
		t.Errorf("of 64 ranks: %q", why)
	}
}
