//go:build realslurm

package slurm

import (
	"path/filepath"
	"strings"
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
	// elements of an array that are judged, "1" for "4242_1"; those with even numbers completed.
	elements []string

	// mechanisms are those of which each is a right first answer; where it is a set, all of candidates must stand in it.
	mechanisms, candidates []string
	noFailure              bool
	// ranks and nodes are the only ones that may be named as the root; rooted says that one must be.
	ranks  []int
	nodes  []string
	rooted bool
	run    int // which run must have been looked at
	// where it ran: what must be expected, from the accounting alone
	ran []string
}

var (
	four  = []string{"node01", "node02", "node03", "node04"}
	lost  = []string{"node07", "node08", "node09", "node10"}
	third = []string{"node03"} // of four, with rank 5
	five  = []int{5}
)

const doomed = "node09"

// scenarios are in the order in which they are submitted and disturbed; those that take long come first.
func scenarios() []scenario {
	killed := []string{"--kill-on-bad-exit=1", "--"}
	with := func(a []string, b ...string) []string { return append(append([]string{}, a...), b...) }
	scontrol := func(args ...string) func(*testing.T, *cluster, job) {
		return func(t *testing.T, c *cluster, j job) {
			args := append([]string{}, args...)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "JOB", j.id)
			}
			c.must(t, args[0], args[1:]...)
		}
	}
	return []scenario{
		{name: "timelimit", sbatch: []string{"--time=1"}, script: []string{"forever"}, mechanisms: []string{"time-limit"}, ran: four},
		{name: "nodefail", sbatch: []string{"-p", "doomed", "--no-requeue"}, script: []string{"forever"}, mechanisms: []string{"node-failure"}, nodes: []string{doomed}, rooted: true, ran: lost},
		// The file of the run that lost a node is written over by the next, which is healthy: nothing but the accounting knows.
		{name: "nodefail-again", sbatch: []string{"-p", "doomed", "--requeue"}, script: []string{"forever", "then", "ok"}, disturb: nodeDies, mechanisms: []string{"node-failure"}, nodes: []string{doomed}, ran: lost},
		{name: "requeue-append", sbatch: []string{"--open-mode=append"}, script: []string{"--open-mode=append", "--", "forever", "then", "raise"}, disturb: scontrol("scontrol", "requeue", "JOB"),
			mechanisms: []string{"exception"}, ranks: five, nodes: third, rooted: true, run: 1, ran: four},
		{name: "requeue-truncate", script: []string{"forever", "then", "ok"}, disturb: scontrol("scontrol", "requeue", "JOB"), mechanisms: []string{"completed"}, noFailure: true, run: 1, ran: four},
		{name: "preempted", sbatch: []string{"-p", "low", "-N2", "--exclusive", "--no-requeue"}, script: []string{"forever"}, tasks: 4, disturb: func(t *testing.T, c *cluster, _ job) {
			c.submit(t, "preempting", []string{"-p", "high", "-N2", "--ntasks-per-node=1", "--exclusive"}, []string{"ok"})
		}, mechanisms: []string{"preempted"}, ran: []string{"node05", "node06"}},

		{name: "ok", script: []string{"ok"}, mechanisms: []string{"completed"}, noFailure: true, ran: four},
		{name: "exit1", script: []string{"exit", "1"}, candidates: []string{"exception", "unknown"}, ranks: five, nodes: third, ran: four},
		{name: "exit1-kill", script: with(killed, "exit", "1"), candidates: []string{"exception", "unknown"}, ranks: five, nodes: third, ran: four},
		{name: "raise-kill", script: with(killed, "raise"), mechanisms: []string{"exception"}, ranks: five, nodes: third, rooted: true, ran: four},
		{name: "codes", script: []string{"codes"}, candidates: []string{"exception", "unknown"}, ran: four},
		{name: "segv", script: []string{"signal", "SEGV"}, mechanisms: []string{"native-crash"}, ranks: five, nodes: third, rooted: true, ran: four},
		{name: "segv-kill", script: with(killed, "signal", "SEGV"), mechanisms: []string{"native-crash"}, ranks: five, nodes: third, rooted: true, ran: four},
		{name: "bus", script: []string{"signal", "BUS"}, mechanisms: []string{"native-crash"}, ranks: five, nodes: third, rooted: true, ran: four},
		{name: "abrt-kill", script: with(killed, "signal", "ABRT"), mechanisms: []string{"native-crash"}, ranks: five, nodes: third, rooted: true, ran: four}, // its whole file is here: PyTorch would have said why
		{name: "sigkill-kill", script: with(killed, "signal", "KILL"), candidates: []string{"external-signal", "host-oom"}, ranks: five, nodes: third, ran: four},

		{name: "scancel", script: []string{"forever"}, disturb: scontrol("scancel", "JOB"), mechanisms: []string{"cancelled"}, noFailure: true, ran: four},
		{name: "scancel-stubborn", script: []string{"stubborn"}, disturb: scontrol("scancel", "JOB"), mechanisms: []string{"cancelled"}, noFailure: true, ran: four},
		{name: "scancel-step", script: []string{"forever"}, disturb: scontrol("scancel", "JOB.0"), mechanisms: []string{"cancelled"}, noFailure: true, ran: four},
		{name: "usr1", script: []string{"forever"}, disturb: scontrol("scancel", "--batch", "--signal=USR1", "JOB"), candidates: []string{"external-signal", "time-limit"}, ran: four},

		{name: "array", sbatch: []string{"-N2", "--array=0-3", "--output=slurm-%A_%a.out", "--export=ALL,GUILTY=3"}, script: []string{"raise"}, tasks: 4, elements: []string{"0", "1", "2", "3"},
			mechanisms: []string{"exception"}, ranks: []int{3}, nodes: []string{"node02", "node03", "node04"}, rooted: true},
		{name: "het", sbatch: []string{"-p", "het", "-N1", "--ntasks=1", "--export=ALL,WORLD=3,GUILTY=2", ":", "-p", "het", "-N1", "--ntasks=2"}, script: []string{"--het-group=0,1", "--", "raise"}, tasks: 3,
			mechanisms: []string{"exception"}, ranks: []int{2}, nodes: []string{"node11", "node12"}, rooted: true, ran: []string{"node11", "node12"}},
	}
}

// nodeDies takes a node away under the two jobs of its partition, waits until SLURM has noticed, and brings it back.
func nodeDies(t *testing.T, c *cluster, j job) {
	c.trains(t, job{"nodefail", filepath.Join(c.work, "nodefail")}, 8) // the other one, which nobody disturbs but this
	c.crash(doomed)
	c.await(t, "requeued "+j.id, func() bool {
		out, err := c.try("squeue", "-h", "-j", j.id, "-o", "%T")
		return err == nil && strings.TrimSpace(out) == "PENDING"
	})
	c.slurmd(t, doomed)
}
