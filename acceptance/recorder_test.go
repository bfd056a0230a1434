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
	"faultline/simulate/dumps"
)

// dumpSpecs vary faults, layouts, formats and what of the dumps is there.
func dumpSpecs(n int) []dumps.Spec {
	rng := rand.New(rand.NewPCG(2026, 11))
	var out []dumps.Spec
	for i := range n {
		layout := [][3]int{{4, 1, 1}, {1, 1, 8}, {4, 1, 2}, {2, 2, 4}, {4, 2, 4}, {8, 1, 4}, {4, 4, 4}, {1, 4, 4}}[rng.IntN(8)]
		s := dumps.Spec{Seed: uint64(i), Fault: dumps.Faults()[i%len(dumps.Faults())], TP: layout[0], PP: layout[1], DP: layout[2], Version: []string{"2.4", "2.9", "2.10"}[rng.IntN(3)],
			JSON: rng.IntN(4) == 0, Timing: rng.IntN(2) == 0, Ring: []int{20, 64, 2000}[rng.IntN(3)], Faulty: 1 + rng.IntN(2)}
		if rng.IntN(3) == 0 {
			s.Lost = 1 + rng.IntN(2)
		}
		if rng.IntN(6) == 0 {
			s.Off = 1
		}
		out = append(out, s)
	}
	return out
}

// ofFault is the mechanism that a fault shows as.
var ofFault = map[dumps.Fault]string{dumps.Processor: "rank-stalled", dumps.Unended: "gpu-hang", dumps.Kernel: "gpu-hang", dumps.Other: "collective-mismatch", dumps.Size: "collective-mismatch", dumps.Network: "collective-hang"}

// Nothing but the dumps is given. Where all are there the ranks at fault and the kind of fault are found, wherever the dumps tell them; where
// some are missing nobody else is accused, and the truth is among what is left open.
func TestFlightRecordersNameTheCulprit(t *testing.T) {
	t.Parallel()
	n := 240
	if brief() {
		n = 60
	}
	exact, whole, accused, lost := 0, 0, 0, 0
	for _, spec := range dumpSpecs(n) {
		inc, err := dumps.Play(spec)
		if err != nil {
			t.Fatal(err)
		}
		r := judgeDumps(t, inc)
		var set []string
		for _, c := range r.Verdict.Candidates {
			set = append(set, c.Mechanism)
		}
		roots := r.Verdict.Root.Ranks
		wrong := slices.DeleteFunc(slices.Clone(roots), func(id int) bool { return slices.Contains(inc.Truth.Ranks, id) })
		what := fmt.Sprintf("%+v: %v of ranks %v, frontier %v; at fault %v, missing %v", spec, set, roots, r.Verdict.Root.Frontier, inc.Truth.Ranks, inc.Truth.Lost)
		if len(wrong) > 0 {
			accused++
			t.Errorf("accused: %s", what)
			continue
		}
		if len(inc.Truth.Lost) > 0 && slices.Contains(set, "unknown") && r.Verdict.Status == incident.Inconclusive {
			continue // nothing is said, which is no error where dumps are missing
		}
		if !slices.Contains(set, ofFault[spec.Fault]) {
			lost++
			t.Errorf("the truth is not among: %s", what)
			continue
		}
		if v := r.Verification; len(v.Withdrawn) > 0 || v.Records.Checked == 0 {
			t.Errorf("%d records, withdrawn %v: %s", v.Records.Checked, v.Withdrawn, what)
		}
		if len(inc.Truth.Lost) > 0 || spec.Fault == dumps.Network || spec.Fault == dumps.Kernel && !spec.Timing {
			continue // the dumps do not tell who it was
		}
		whole++
		if len(set) == 1 && slices.Equal(roots, inc.Truth.Ranks) {
			exact++
		} else {
			t.Errorf("not exact: %s", what)
		}
	}
	t.Logf("%d of %d exact, %d accused, %d without the truth", exact, whole, accused, lost)
}

func judgeDumps(t *testing.T, inc *dumps.Incident) *incident.Report {
	t.Helper()
	dir := t.TempDir()
	in := analysis.Input{Version: "test"}
	for _, name := range slices.Sorted(maps.Keys(inc.Files)) {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, inc.Files[name], 0o600); err != nil {
			t.Fatal(err)
		}
		in.Evidence = append(in.Evidence, incident.Source{Name: name, Path: p, Bytes: int64(len(inc.Files[name]))})
	}
	r, err := analysis.Diagnose(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
