package acceptance

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"faultline/analysis"
	"faultline/incident"
	"faultline/simulate"
	"faultline/simulate/kernel"
)

// kernelSpecs take every fault and every control through the forms of the log, with and without NCCL's lines, and through a clock in
// another zone where the fault is told.
func kernelSpecs() []kernel.Spec {
	var out []kernel.Spec
	seed := uint64(0)
	for _, f := range slices.Concat(kernel.Faults(), kernel.Controls()) {
		for i, form := range kernel.Forms() {
			if brief() && (int(seed)+i)%3 != 0 {
				seed++
				continue
			}
			s := kernel.Spec{Seed: seed, Fault: f, Form: form, Nodes: 2 + int(seed%3), PerNode: []int{2, 4, 8}[seed%3], NCCL: seed%3 != 1}
			switch f {
			case kernel.OtherGPU, kernel.OtherProc:
				s.NCCL = true // else nothing tells whose GPU it is
			case kernel.LongBefore, kernel.Teardown, kernel.SurvivedXid:
				if form == kernel.Bare {
					s.Form = kernel.Ctime // without any time nothing tells that it was at another one
				}
			}
			if slices.Contains(kernel.Faults(), f) && seed%5 == 4 {
				s.Zone = 2
			}
			out = append(out, s)
			seed++
		}
	}
	return out
}

// What the kernel of a node says makes one mechanism of the set that the logs leave open, with the GPU and the rank where the logs tie
// them, and a revision; what only looks like a cause changes nothing and accuses nobody.
func TestKernelLogsDecide(t *testing.T) {
	t.Parallel()
	specs := kernelSpecs()
	right, exact, ranked, accused, controls := 0, 0, 0, 0, 0
	for _, spec := range specs {
		inc := kernel.Play(spec)
		r := judgeKernel(t, inc)
		v, truth := &r.Verdict, &inc.Truth
		var set []string
		for _, c := range v.Candidates {
			set = append(set, c.Mechanism)
		}
		what := fmt.Sprintf("%+v: %v of ranks %v, nodes %v, component %v (%s); truth %+v", spec, set, v.Root.Ranks, v.Root.Nodes, component(v), v.Why, *truth)
		wrong := slices.ContainsFunc(v.Root.Ranks, func(id int) bool { return !slices.Contains(truth.Ranks, id) }) ||
			slices.ContainsFunc(v.Root.Nodes, func(n string) bool { return !slices.Contains(truth.Nodes, n) })
		if wrong {
			accused++
			t.Errorf("accused: %s", what)
			continue
		}
		if n := len(r.Verification.Withdrawn); n > 0 {
			t.Errorf("%d withdrawn: %s", n, what)
		}
		if slices.Contains(kernel.Controls(), spec.Fault) {
			controls++
			if !slices.Equal(set, truth.Mechanisms) || len(r.Revisions) > 0 {
				t.Errorf("a control changed the verdict: %s", what)
			}
			if len(r.Artifacts) == 0 {
				t.Errorf("nothing is said of the kernel log: %s", what)
			}
			continue
		}
		if !slices.Equal(set, truth.Mechanisms) {
			t.Errorf("not decided: %s", what)
			continue
		}
		right++
		if truth.Set && len(r.Revisions) == 0 {
			t.Errorf("no revision: %s", what)
		}
		if spec.Form == kernel.Bare || spec.Zone != 0 {
			continue // nothing ties the time: the node alone is named
		}
		if truth.Exact && len(truth.Ranks) > 0 {
			ranked++
			if slices.Equal(v.Root.Ranks, truth.Ranks) && (truth.GPU == "" || component(v) == "gpu:"+truth.GPU) {
				exact++
			} else {
				t.Errorf("rank or GPU not exact: %s", what)
			}
		}
	}
	t.Logf("%d cases: %d of %d decided, rank and GPU exact in %d of %d, %d controls, %d accused", len(specs), right, len(specs)-controls-accused, exact, ranked, controls, accused)
	if want := 60; len(specs) < want && !brief() {
		t.Errorf("%d cases only", len(specs))
	}
}

// A kernel's log that names no node tells of this job's process where the launcher saw one of the same number killed.
func TestAKilledProcessIsKnownByItsNumber(t *testing.T) {
	t.Parallel()
	const border = "============================================================\n"
	log := steps(1, 9) + border + "train.py FAILED\nRoot Cause (first observed failure):\n[0]:\n  time      : 2026-03-01_10:44:00\n  host      : n1\n  rank      : 2 (local_rank: 2)\n" +
		"  exitcode  : -9 (pid: 4002)\n  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 4002\n" + border
	for pid, want := range map[int]string{4002: "[host-oom] of ranks [2]", 555: "[external-signal host-oom] of ranks [2]"} {
		dmesg := fmt.Sprintf("[Sun Mar  1 10:43:57 2026] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"+
			"[Sun Mar  1 10:43:57 2026] Memory cgroup out of memory: Killed process %d (python) total-vm:98000000kB, anon-rss:64000000kB, file-rss:7000kB, shmem-rss:0kB\n", pid)
		src := put(t, t.TempDir(), []simulate.File{{Name: "dmesg.log", Data: []byte(dmesg)}, {Name: "train.log", Data: []byte(log)}})
		v := diagnosed(t.Context(), t, fmt.Sprint(pid), analysis.Input{Sources: src}).Verdict
		var set []string
		for _, c := range v.Candidates {
			set = append(set, c.Mechanism)
		}
		if got := fmt.Sprintf("%v of ranks %v", set, v.Root.Ranks); got != want {
			t.Errorf("process %d: %s (%s), expected %s", pid, got, v.Summary, want)
		}
	}
}

func component(v *incident.Verdict) string {
	if v.Root.Component == nil {
		return ""
	}
	return *v.Root.Component
}

func judgeKernel(t *testing.T, inc *kernel.Incident) *incident.Report {
	t.Helper()
	dir := t.TempDir()
	in := analysis.Input{Version: "test", JobID: "4242"}
	add := func(to *[]incident.Source, files map[string][]byte) {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			p := filepath.Join(dir, name)
			if err := os.WriteFile(p, files[name], 0o600); err != nil {
				t.Fatal(err)
			}
			*to = append(*to, incident.Source{Name: name, Path: p, Bytes: int64(len(files[name]))})
		}
	}
	add(&in.Sources, inc.Logs)
	add(&in.Evidence, inc.Evidence)
	r, err := analysis.Diagnose(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
