//go:build realslurm

package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestJobsThatReallyFail(t *testing.T) {
	bot := filepath.Join(t.TempDir(), "bot")
	if out, err := exec.Command("go", "build", "-o", bot, "../../cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	c := start(t)
	t.Run("host lists", func(t *testing.T) { hostlists(t, c) })
	all := scenarios()
	jobs := make([]job, len(all))
	for i, sc := range all {
		sbatch := sc.sbatch
		if !slices.ContainsFunc(sbatch, func(a string) bool { return strings.HasPrefix(a, "-N") }) {
			sbatch = append([]string{"-N4"}, sbatch...)
		}
		if !slices.Contains(sbatch, ":") {
			sbatch = append([]string{"--ntasks-per-node=2"}, sbatch...)
		}
		jobs[i] = c.submit(t, sc.name, sbatch, sc.script)
	}
	for i, sc := range slices.Backward(all) { // what takes SLURM long to see is disturbed last
		if sc.disturb == nil {
			continue
		}
		tasks := sc.tasks
		if tasks == 0 {
			tasks = 8
		}
		c.trains(t, jobs[i], tasks)
		sc.disturb(t, c, jobs[i])
	}
	configs := c.ways(t)
	for i, sc := range slices.Backward(all) { // and judged last
		t.Run(sc.name, func(t *testing.T) {
			j := jobs[i]
			c.ended(t, j)
			if sc.elements == nil {
				c.byID(t, bot, sc, j, j.id, configs)
			}
			if sc.name == "exit1" {
				c.missesOne(t, bot, j, configs["commands"])
			}
			write(t, filepath.Join(j.dir, "slurm-accounting.txt"), c.accounting(t, j), 0o644)
			write(t, filepath.Join(j.dir, "slurm-nodes.txt"), c.must(t, "scontrol", "show", "node"), 0o644)
			if sc.elements == nil {
				judge(t, sc, diagnose(t, bot, "--job", j.id, j.dir), j.dir)
			}
			for _, e := range sc.elements {
				one := sc
				if e == "0" || e == "2" {
					one.mechanisms, one.noFailure, one.rooted = []string{"completed"}, true, false
				}
				judge(t, one, diagnose(t, bot, "--job", j.id+"_"+e, j.dir), j.dir)
				c.byID(t, bot, one, j, j.id+"_"+e, configs)
			}
		})
	}
}

func judge(t *testing.T, sc scenario, r report, dir string) {
	t.Helper()
	v, cov := r.Verdict, r.Coverage
	var candidates []string
	for _, c := range v.Candidates {
		candidates = append(candidates, c.Mechanism)
	}
	t.Logf("%s %s %v, root %v %v, run %d, %d of %d nodes, expected from %q %q", v.Status, v.Mechanism, candidates, v.Root.Ranks, v.Root.Nodes, r.Job.Run,
		len(cov.NodesExpected)-len(cov.NodesMissing), len(cov.NodesExpected), cov.ExpectedFrom, r.Warnings)
	if len(sc.mechanisms) > 0 && !slices.Contains(sc.mechanisms, v.Mechanism) {
		t.Errorf("mechanism %s, want one of %v", v.Mechanism, sc.mechanisms)
	}
	for _, want := range sc.candidates {
		if !slices.Contains(candidates, want) {
			t.Errorf("candidates %v lack %s", candidates, want)
		}
	}
	if sc.noFailure != (v.Status == "no-failure") {
		t.Errorf("status %s", v.Status)
	}
	for _, rank := range v.Root.Ranks {
		if !slices.Contains(sc.ranks, rank) {
			t.Errorf("rank %d is accused", rank)
		}
	}
	for _, node := range v.Root.Nodes {
		if !slices.Contains(sc.nodes, node) {
			t.Errorf("%s is accused", node)
		}
	}
	if sc.rooted && len(v.Root.Ranks)+len(v.Root.Nodes) == 0 {
		t.Error("no root is named")
	}
	if r.Job.Run != sc.run {
		t.Errorf("run %d was looked at, want %d", r.Job.Run, sc.run)
	}
	if sc.ran != nil && !slices.Equal(cov.NodesExpected, sc.ran) || len(cov.NodesMissing) > 0 || !strings.Contains(cov.ExpectedFrom, "accounting") {
		t.Errorf("expected %v from %q, missing %v", cov.NodesExpected, cov.ExpectedFrom, cov.NodesMissing)
	}
	if r.Verification.Quotes.Held != r.Verification.Quotes.Checked || len(r.Verification.Withdrawn) > 0 {
		t.Errorf("%d of %d quotations confirmed, withdrawn: %q", r.Verification.Quotes.Held, r.Verification.Quotes.Checked, r.Verification.Withdrawn)
	}
	if t.Failed() {
		show(t, dir)
	}
}

// show prints what the job left behind.
func show(t *testing.T, dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range files {
		b, err := os.ReadFile(name)
		const most = 1500
		if err == nil && len(b) > 0 && filepath.Base(name) != "slurm-nodes.txt" {
			t.Logf("--- %s (%d bytes)\n%s", filepath.Base(name), len(b), b[max(0, len(b)-most):])
		}
	}
}
