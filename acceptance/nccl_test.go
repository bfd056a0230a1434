package acceptance

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/incident"
	"faultline/simulate/nccl"
)

// ncclSpecs vary faults, layouts, versions, where NCCL's lines stand and how much of them is there.
func ncclSpecs(n int) []nccl.Spec {
	rng := rand.New(rand.NewPCG(2026, 22))
	var out []nccl.Spec
	for i := range n {
		layout := [][2]int{{2, 4}, {4, 1}, {2, 8}, {4, 4}, {3, 2}, {8, 4}}[rng.IntN(6)]
		s := nccl.Spec{Seed: uint64(i), Fault: nccl.Faults()[i%len(nccl.Faults())], Nodes: layout[0], PerNode: layout[1], Tensor: rng.IntN(2) == 0,
			Version: []string{"2.10", "2.14", "2.18", "2.19", "2.21", "2.23", "2.26", "2.28"}[rng.IntN(8)], Inline: rng.IntN(3) == 0, Watchdog: rng.IntN(3) > 0, Silent: rng.IntN(4) == 0}
		s.Waits = s.Tensor && rng.IntN(2) == 0
		if rng.IntN(4) == 0 {
			s.Short, s.Torn = 1+rng.IntN(2), rng.IntN(2) == 0
		}
		out = append(out, s)
	}
	return out
}

// NCCL's lines and little else: the rank that called nothing more is found where its log goes on behind its last call, the one that
// called something else where both calls are there, and both ends of a transfer that failed. Nobody is accused by a log that ends early.
func TestNCCLLogsNameTheCulprit(t *testing.T) {
	t.Parallel()
	n := 210
	if brief() {
		n = 84
	}
	exact, decidable, accused := 0, 0, 0
	for _, spec := range ncclSpecs(n) {
		inc, err := nccl.Play(spec)
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
			accused++
			t.Errorf("accused: %s", what)
			continue
		}
		if v := r.Verification; len(v.Withdrawn) > 0 {
			t.Errorf("withdrawn %v: %s", v.Withdrawn, what)
		}
		if !slices.ContainsFunc(ofNCCL(spec), func(m string) bool { return slices.Contains(set, m) }) {
			t.Errorf("%v is not among: %s", ofNCCL(spec), what)
			continue
		}
		if !decides(spec) {
			continue
		}
		decidable++
		right := slices.Equal(r.Verdict.Root.Ranks, inc.Truth.Ranks) || len(inc.Truth.Ranks) == 0 && len(r.Verdict.Root.Ranks) == 0
		switch spec.Fault {
		case nccl.Stall, nccl.Mismatch:
			right = right && len(set) == 1
		case nccl.Hang:
			right = slices.Equal(set, []string{"collective-hang", "gpu-hang"})
		case nccl.Port:
			right = slices.Equal(r.Verdict.Root.Nodes, inc.Truth.Nodes)
		case nccl.Link:
			right = !slices.ContainsFunc(inc.Truth.Pair, func(h string) bool { return !strings.Contains(r.Verdict.Summary, h) })
		}
		if right {
			exact++
		} else {
			t.Errorf("not exact: %s", what)
		}
	}
	t.Logf("%d incidents, %d of %d that the lines decide are exact, %d accused", n, exact, decidable, accused)
	if decidable < n/3 {
		t.Errorf("only %d of %d are decided by the lines", decidable, n)
	}
}

// Of a job in which everybody called the same, lines of one process are lost in the middle of its log: that is nobody's fault.
func TestLostLinesOfNCCLAccuseNobody(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2026, 24))
	for i := range 40 {
		inc, err := nccl.Play(nccl.Spec{Seed: uint64(i), Fault: nccl.Hang, Nodes: 2, PerNode: 4, Tensor: i%2 == 0, Version: []string{"2.18", "2.21", "2.27"}[i%3], Watchdog: i%4 > 0})
		if err != nil {
			t.Fatal(err)
		}
		names := slices.Sorted(maps.Keys(inc.Files))
		name := names[rng.IntN(len(names))]
		lines := strings.SplitAfter(string(inc.Files[name]), "\n")
		var calls []int
		for k, l := range lines {
			if strings.Contains(l, ": opCount ") {
				calls = append(calls, k)
			}
		}
		at, n := calls[rng.IntN(len(calls)-2)], 1+rng.IntN(2)
		inc.Files[name] = []byte(strings.Join(slices.Delete(lines, at, at+n), ""))
		if r := judgeNCCL(t, inc); len(r.Verdict.Root.Ranks)+len(r.Verdict.Root.Nodes) > 0 || r.Verdict.Mechanism == "collective-mismatch" && len(r.Verdict.Candidates) == 1 {
			t.Errorf("seed %d, %d lines of %s lost: %s of ranks %v: %s", i, n, name, r.Verdict.Mechanism, r.Verdict.Root.Ranks, r.Verdict.Why)
		}
	}
}

// ofNCCL is what must be among the candidates, one of them.
func ofNCCL(s nccl.Spec) []string {
	switch s.Fault {
	case nccl.Stall:
		return []string{"rank-stalled"}
	case nccl.Hang:
		return []string{"collective-hang"}
	case nccl.Mismatch:
		if !decides(s) { // by the job's logs alone it is a hang
			return []string{"collective-mismatch", "collective-hang"}
		}
		return []string{"collective-mismatch"}
	case nccl.Link, nccl.Port:
		return []string{"link-error"}
	}
	return []string{"completed"}
}

// decides says that the lines alone tell it.
func decides(s nccl.Spec) bool {
	whole := s.Short == 0
	named := s.Version >= "2.18" || !s.Tensor || s.PerNode == 1 // before, nothing names the groups of the nodes apart
	switch s.Fault {
	case nccl.Stall:
		return whole && named && !s.Silent
	case nccl.Hang:
		return whole && named && s.Watchdog
	case nccl.Mismatch: // from 2.20 on NCCL's own count tells only of ranks at a node's edge that no line is missing
		return whole && (s.Version < "2.20" || s.PerNode < 3)
	case nccl.Link, nccl.Port:
		return true
	}
	return false
}

func judgeNCCL(t *testing.T, inc *nccl.Incident) *incident.Report {
	t.Helper()
	dir := t.TempDir()
	in := analysis.Input{Version: "test"}
	for dest, files := range map[*[]incident.Source]map[string][]byte{&in.Sources: inc.Logs, &in.Evidence: inc.Files} {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			p := filepath.Join(dir, name)
			if err := os.WriteFile(p, files[name], 0o600); err != nil {
				t.Fatal(err)
			}
			*dest = append(*dest, incident.Source{Name: name, Path: p, Bytes: int64(len(files[name]))})
		}
	}
	r, err := analysis.Diagnose(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
