package acceptance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/fetch"
	"faultline/incident"
	"faultline/simulate"
)

// What SLURM keeps of a job may settle what its logs leave open; it never makes a right verdict wrong, never names somebody
// else, and no file, rank or node is there because of it.
func TestTheAccountingMakesNoVerdictWorse(t *testing.T) {
	t.Parallel()
	settled, n := 0, 0
	each := cases(160)
	if third {
		each = 160 // the accounting settles few
	}
	for line := range simulate.Lines() {
		for i, spec := range simulate.Grid(each, *seed+77, line+1) {
			inc := play(t, spec)
			if len(inc.Storage) > 0 {
				continue // its truth rests on logs that this test leaves out
			}
			records, ok := simulate.Accounting(inc)
			if !ok {
				continue
			}
			n++
			dir := filepath.Join(t.TempDir(), "logs")
			in := analysis.Input{Sources: put(t, dir, inc.Files), WorldSize: inc.WorldSize, Workers: 1}
			before := diagnosed(t.Context(), t, inc.ID, in)
			in.Sources = append(in.Sources, put(t, dir, []simulate.File{records})...)
			after := diagnosed(t.Context(), t, inc.ID, in)
			if before == nil || after == nil {
				continue
			}
			if err := sound(after); err != nil {
				t.Errorf("%d %s: %v", i, inc.ID, err)
			}
			if wrong := spoilt(inc, before, after); wrong != "" {
				t.Errorf("%d %s: %s (truth %v on %v %v; was %s %v on %v %v)", i, inc.ID, wrong, inc.Truth.Candidates, inc.Truth.RootRanks, inc.Truth.RootNodes,
					before.Verdict.Status, said(before), before.Verdict.Root.Ranks, before.Verdict.Root.Nodes)
			}
			if len(said(after)) < len(said(before)) || before.Verdict.Mechanism == "unknown" && after.Verdict.Mechanism != "unknown" {
				settled++
			}
			if before.Coverage.Files != after.Coverage.Files || before.Coverage.RanksSeen != after.Coverage.RanksSeen || before.Coverage.Lines != after.Coverage.Lines {
				t.Errorf("%s: the accounting counts as a log", inc.ID)
			}
		}
	}
	t.Logf("%d cases with their accounting, %d of them settled by it", n, settled)
	if n == 0 || !brief() && settled == 0 {
		t.Error("the accounting never said anything")
	}
}

// spoilt says how the accounting made a verdict worse.
func spoilt(inc *simulate.Incident, before, after *incident.Report) string {
	right := func(r *incident.Report) bool {
		return slices.ContainsFunc(inc.Truth.Candidates, func(m string) bool { return slices.Contains(said(r), m) })
	}
	v := &after.Verdict
	world := map[string]string{"host-oom": "host-oom", "node-failure": "node-failure", "time-limit": "time-limit", "preempted": "preempted", "cancelled": "cancelled"}[inc.Spec.Mechanism]
	switch {
	case right(before) && !right(after) && !slices.Contains(said(after), world):
		return "now says " + strings.Join(said(after), ", ")
	case v.Status == incident.Confirmed && !right(after) && v.Mechanism != world:
		return "confirms " + v.Mechanism
	}
	for _, id := range v.Root.Ranks {
		if !slices.Contains(inc.Truth.RootRanks, id) && !slices.Contains(before.Verdict.Root.Ranks, id) {
			return "accuses a rank"
		}
	}
	for _, node := range v.Root.Nodes {
		gone := inc.Played.Root >= 0 && node == inc.Played.Nodes[inc.Played.Root/inc.Spec.PerNode] // the accounting may name it where no log does
		if !gone && !slices.Contains(inc.Truth.RootNodes, node) && !slices.Contains(before.Verdict.Root.Nodes, node) {
			return "accuses " + node
		}
	}
	return ""
}

// The accounting of the same real jobs, beside their logs and alone.
func TestRealSlurmEndingsWithTheirAccounting(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "shared", "samples", "slurm")
	if _, err := os.Stat(root); err != nil {
		t.Skip("no SLURM captures beside the repository: ", err)
	}
	for _, s := range slurmSamples {
		t.Run(s.scenario, func(t *testing.T) {
			table := filepath.Join(root, filepath.Dir(s.scenario), "sacct_parsable2_duplicates.txt")
			set, err := fetch.Local(t.Context(), []string{filepath.Join(root, s.scenario), table}, fetch.LocalOptions{SpoolDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			r := diagnosed(t.Context(), t, s.scenario, analysis.Input{Sources: set.Sources})
			if got := said(r); !slices.Equal(got, strings.Fields(s.candidates)) || strings.Join(r.Verdict.Root.Nodes, " ") != s.nodes {
				t.Errorf("said %v (%s) on %v, expected %s on %q", got, r.Verdict.Summary, r.Verdict.Root.Nodes, s.candidates, s.nodes)
			}
			c := r.Coverage
			if strings.Join(c.NodesExpected, " ") != "node01 node02 node03 node04" || len(c.NodesMissing) > 0 || c.ExpectedFrom != "SLURM's accounting" {
				t.Errorf("expected %v from %q, missing %v", c.NodesExpected, c.ExpectedFrom, c.NodesMissing)
			}
			alone, err := fetch.Local(t.Context(), []string{table}, fetch.LocalOptions{SpoolDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			r = diagnosed(t.Context(), t, s.scenario, analysis.Input{Sources: alone.Sources, JobID: *r.Job.ID})
			v := &r.Verdict
			for _, n := range v.Root.Nodes {
				if n != s.nodes {
					t.Errorf("the accounting alone names %s", n)
				}
			}
			if !slices.Contains(strings.Fields(s.candidates+" unknown"), v.Mechanism) {
				t.Errorf("the accounting alone says %s (%s)", v.Mechanism, v.Status)
			}
		})
	}
}
