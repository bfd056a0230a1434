package acceptance

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"faultline/analysis"
	"faultline/incident"
	"faultline/simulate"
	"faultline/simulate/stacks"
)

// stackSpecs vary places, ways to wait, formats, layouts and what of the dumps is there.
func stackSpecs(n int) []stacks.Spec {
	rng := rand.New(rand.NewPCG(2026, 12))
	var out []stacks.Spec
	for i := range n {
		shape := [][2]int{{8, 8}, {8, 4}, {16, 8}, {32, 8}}[rng.IntN(4)]
		out = append(out, stacks.Spec{Seed: uint64(i), Place: stacks.Places()[i%len(stacks.Places())], Waiting: []stacks.Waiting{stacks.Calls, stacks.Calls, stacks.Syncs, stacks.Item}[rng.IntN(4)],
			Format: stacks.Formats()[rng.IntN(len(stacks.Formats()))], Layout: stacks.Layouts()[rng.IntN(len(stacks.Layouts()))], World: shape[0], PerNode: shape[1], Root: rng.IntN(shape[0]),
			Cover: []string{"all", "all", "all", "half", "no root", "only root"}[rng.IntN(6)], Twice: rng.IntN(3) == 0, Helpers: rng.IntN(3) == 0})
	}
	return out
}

// ofStack is the mechanism that a place shows as.
var ofStack = map[stacks.Place]string{stacks.Queue: "dataloader-stall", stacks.Inline: "dataloader-stall", stacks.Save: "checkpoint-io", stacks.Kernel: "storage-unresponsive", stacks.Compile: "rank-busy"}

// openly says that the others wait where their frames do not show it: nothing tells them from a rank at fault.
func openly(s stacks.Spec) bool {
	return s.Waiting == stacks.Item && s.Format != stacks.Native && s.Format != stacks.GDB && s.Place != stacks.Save
}

// untied says that nothing ties the kernel's stack to the process: faulthandler states no pid.
func untied(s stacks.Spec) bool {
	return s.Place == stacks.Kernel && s.Format == stacks.FaultHandler && s.Layout != stacks.PerNode && s.Layout != stacks.Pdsh
}

// Nothing but stacks is given. Where they show it the rank at fault and the reason are found; else nobody is accused.
func TestStacksNameWhoHoldsTheOthers(t *testing.T) {
	t.Parallel()
	n := 240
	if brief() {
		n = 72
	}
	exact, decidable := 0, 0
	for _, spec := range stackSpecs(n) {
		inc, err := stacks.Play(spec)
		if err != nil {
			t.Fatal(err)
		}
		r := judgeStacks(t, inc, nil)
		want := ofStack[spec.Place]
		tells := want != "" && inc.Truth.Seen && inc.Truth.Others >= 3 && !openly(spec) && !untied(spec)
		if (spec.Place == stacks.Save || spec.Place == stacks.Compile) && !spec.Twice {
			tells = false // so a healthy run may look, too
		}
		if spec.Layout == stacks.Bare && spec.Twice || spec.Layout == stacks.Label && spec.Twice {
			tells = tells && want != "checkpoint-io" && want != "rank-busy" // nothing says that two dumps are of one process
		}
		what := fmt.Sprintf("%+v, truth %+v: %s %v of ranks %v on %v", spec, inc.Truth, r.Verdict.Status, candidates(r), r.Verdict.Root.Ranks, r.Verdict.Root.Nodes)
		if accused(r, inc.Truth) {
			t.Errorf("accused: %s", what)
			continue
		}
		if len(r.Verification.Withdrawn) > 0 || len(r.Artifacts) == 0 {
			t.Errorf("%d kinds of evidence, withdrawn %v: %s", len(r.Artifacts), r.Verification.Withdrawn, what)
		}
		if !tells {
			if r.Verdict.Status != incident.Inconclusive && (want == "" || r.Verdict.Mechanism != want) {
				t.Errorf("the stacks do not tell that: %s", what)
			}
			continue
		}
		decidable++
		named := !inc.Truth.Named && len(r.Verdict.Root.Ranks) == 0 || slices.Equal(r.Verdict.Root.Ranks, []int{inc.Truth.Rank})
		if slices.Equal(candidates(r), []string{want}) && named {
			exact++
		} else {
			t.Errorf("not exact: %s", what)
		}
	}
	t.Logf("%d of %d exact", exact, decidable)
	if decidable < n/4 {
		t.Errorf("only %d of %d cases can be decided", decidable, n)
	}
}

// The workers' logs leave a set, as the logs of the rank at fault are missing; the stacks leave one mechanism of it, and a revision says why.
func TestStacksDecideWhatTheLogsLeaveOpen(t *testing.T) {
	t.Parallel()
	n := 64
	if brief() {
		n = 16
	}
	exact, decidable, open := 0, 0, 0
	for i, spec := range stackSpecs(n) {
		job, err := simulate.Generate(simulate.Spec{Seed: uint64(i), Mechanism: "rank-stalled", Torch: []string{"2.3", "2.5", "2.7"}[i%3], Layout: simulate.Layout{Kind: "ddp", TP: 1, CP: 1, EP: 1, DP: 16, PP: 1},
			NodeCount: 2, PerNode: 8, FileMode: "rank", Damage: "missing-root-file"})
		if err != nil {
			t.Fatal(err)
		}
		spec.World, spec.PerNode, spec.Nodes, spec.Root = 16, 8, job.Played.Nodes, job.Played.Root
		if spec.Place == stacks.Running {
			spec.Place = stacks.Queue
		}
		inc, err := stacks.Play(spec)
		if err != nil {
			t.Fatal(err)
		}
		without, r := judgeStacks(t, nil, job), judgeStacks(t, inc, job)
		what := fmt.Sprintf("%+v, truth %+v: %v, with the stacks %s %v of ranks %v on %v", spec, inc.Truth, candidates(without), r.Verdict.Status, candidates(r), r.Verdict.Root.Ranks, r.Verdict.Root.Nodes)
		if len(candidates(without)) < 2 {
			t.Errorf("the logs alone decide it: %s", what)
			continue
		}
		open++
		if accused(r, inc.Truth) {
			t.Errorf("accused: %s", what)
			continue
		}
		want := ofStack[spec.Place]
		if want == "" || !inc.Truth.Seen || inc.Truth.Others < 3 || openly(spec) && !inc.Truth.Named || untied(spec) {
			if len(candidates(r)) == 1 && want != r.Verdict.Mechanism {
				t.Errorf("the stacks do not tell that: %s", what)
			}
			continue
		}
		decidable++
		named := !inc.Truth.Named && len(r.Verdict.Root.Ranks) == 0 || slices.Equal(r.Verdict.Root.Ranks, []int{inc.Truth.Rank})
		if slices.Equal(candidates(r), []string{want}) && named && len(r.Revisions) > 0 {
			exact++
		} else {
			t.Errorf("not exact, %d revisions: %s", len(r.Revisions), what)
		}
	}
	t.Logf("%d of %d exact, %d sets", exact, decidable, open)
}

// By the logs every rank waits, or the one at fault is another: the stack of a rank in its loader accuses it of nothing.
func TestStacksDoNotAccuseWhoWaitsItself(t *testing.T) {
	t.Parallel()
	for i, mechanism := range []string{"symmetric-hang", "lagging-gpu", "lone-waiter", "mismatch", "rank-stalled", "late-watchdog", "watchdog-stuck", "gpu-oom", "exception", "native-crash", "time-limit", "preempted", "cancelled", "healthy"} {
		job, err := simulate.Generate(simulate.Spec{Seed: uint64(100 + i), Mechanism: mechanism, Torch: "2.5", Layout: simulate.Layout{Kind: "ddp", TP: 1, CP: 1, EP: 1, DP: 16, PP: 1}, NodeCount: 2, PerNode: 8, FileMode: "rank"})
		if err != nil {
			t.Fatal(err)
		}
		other := (max(job.Played.Root, 0) + 5) % 16
		inc, err := stacks.Play(stacks.Spec{Seed: 1, Place: stacks.Queue, Waiting: stacks.Calls, Format: stacks.PySpy, Layout: stacks.PerNode, World: 16, PerNode: 8, Nodes: job.Played.Nodes, Root: other, Cover: "all"})
		if err != nil {
			t.Fatal(err)
		}
		without, r := judgeStacks(t, nil, job), judgeStacks(t, inc, job)
		if slices.Contains(r.Verdict.Root.Ranks, other) || r.Verdict.Mechanism == "dataloader-stall" && r.Verdict.Status != incident.Inconclusive {
			t.Errorf("%s of %v: %v of ranks %v without the stacks, %v of ranks %v with that of rank %d", mechanism, job.Truth.RootRanks, candidates(without), without.Verdict.Root.Ranks, candidates(r), r.Verdict.Root.Ranks, other)
		}
		if len(r.Artifacts) == 0 {
			t.Errorf("%s: what the stacks show is not said", mechanism)
		}
	}
}

func candidates(r *incident.Report) []string {
	var set []string
	for _, c := range r.Verdict.Candidates {
		set = append(set, c.Mechanism)
	}
	return set
}

// accused says that somebody is named who is not at fault.
func accused(r *incident.Report, truth stacks.Truth) bool {
	return slices.ContainsFunc(r.Verdict.Root.Ranks, func(id int) bool { return id != truth.Rank }) ||
		slices.ContainsFunc(r.Verdict.Root.Nodes, func(n string) bool { return n != truth.Node })
}

func judgeStacks(t *testing.T, inc *stacks.Incident, job *simulate.Incident) *incident.Report {
	t.Helper()
	dir := t.TempDir()
	in := analysis.Input{Version: "test"}
	put := func(name string, data []byte) incident.Source {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return incident.Source{Name: name, Path: p, Bytes: int64(len(data))}
	}
	if job != nil {
		in.WorldSize = 16
		for _, f := range job.Files {
			in.Sources = append(in.Sources, put(f.Name, f.Data))
		}
	}
	if inc != nil {
		for _, name := range slices.Sorted(maps.Keys(inc.Files)) {
			in.Evidence = append(in.Evidence, put(name, inc.Files[name]))
		}
	}
	r, err := analysis.Diagnose(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
