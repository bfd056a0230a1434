//go:build realslurm

package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// scenario is one job of the table of ways in which SLURM sees a job end.
type scenario struct {
	name   string
	sbatch []string // more of sbatch's arguments
	script []string // of batch.sh
	tasks  int      // 0 = 8 on 4 nodes
	// disturb happens while every task is running.
	disturb func(t *testing.T, c *cluster, j job)
	// mechanisms are those of which each is a right first answer; where it is a set, all of candidates must stand in it.
	mechanisms, candidates []string
	noFailure              bool
	// ranks and nodes are the only ones that may be named as the root; rooted says that one must be.
	ranks  []int
	nodes  []string
	rooted bool
}

const guilty = 5 // of programs/train.sh; on the third node of four

func scenarios() []scenario {
	third := []string{"node03"}
	five := []int{guilty}
	return []scenario{
		{name: "timelimit", sbatch: []string{"--time=1"}, script: []string{"forever"}, mechanisms: []string{"time-limit"}},
		{name: "exit1", script: []string{"exit", "1"}, candidates: []string{"exception", "unknown"}, ranks: five, nodes: third},
		{name: "raise-kill", script: []string{"--kill-on-bad-exit=1", "--", "raise"}, mechanisms: []string{"exception"}, ranks: five, nodes: third, rooted: true},
		{name: "segv", script: []string{"signal", "SEGV"}, mechanisms: []string{"native-crash"}, ranks: five, nodes: third, rooted: true},
		{name: "nodefail", sbatch: []string{"-p", "doomed", "--no-requeue"}, script: []string{"forever"}, mechanisms: []string{"node-failure"}, nodes: []string{"node09"}, rooted: true,
			disturb: func(_ *testing.T, c *cluster, _ job) { c.crash("node09") }},
	}
}

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
		sbatch := append([]string{"-N4", "--ntasks-per-node=2"}, sc.sbatch...)
		jobs[i] = c.submit(t, sc.name, sbatch, sc.script)
	}
	for i, sc := range all {
		if sc.disturb != nil {
			tasks := sc.tasks
			if tasks == 0 {
				tasks = 8
			}
			c.trains(t, jobs[i], tasks)
			sc.disturb(t, c, jobs[i])
		}
	}
	for i, sc := range slices.Backward(all) { // the time limit is the last to end
		t.Run(sc.name, func(t *testing.T) {
			c.ended(t, jobs[i])
			write(t, filepath.Join(jobs[i].dir, "slurm-accounting.txt"), c.accounting(t, jobs[i]), 0o644)
			judge(t, sc, diagnose(t, bot, jobs[i].dir), jobs[i].dir)
		})
	}
}

func judge(t *testing.T, sc scenario, r report, dir string) {
	t.Helper()
	v := r.Verdict
	var candidates []string
	for _, c := range v.Candidates {
		candidates = append(candidates, c.Mechanism)
	}
	t.Logf("%s %s %v, root %v %v, %d of %d nodes, expected from %q", v.Status, v.Mechanism, candidates, v.Root.Ranks, v.Root.Nodes,
		len(r.Coverage.NodesExpected)-len(r.Coverage.NodesMissing), len(r.Coverage.NodesExpected), r.Coverage.ExpectedFrom)
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
	if r.Verification.Quotes.Held != r.Verification.Quotes.Checked {
		t.Errorf("%d of %d quotations hold", r.Verification.Quotes.Held, r.Verification.Quotes.Checked)
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
		if err == nil && len(b) > 0 {
			t.Logf("--- %s (%d bytes)\n%s", filepath.Base(name), len(b), b[max(0, len(b)-most):])
		}
	}
}
