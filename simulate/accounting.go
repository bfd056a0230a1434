package simulate

import (
	"fmt"
	"strings"
)

// ends are the states in which SLURM's accounting has the job of an incident end, and the exit code of its step, per
// mechanism that is played. What is not here ends in several ways [SLURM 22.05.8 and 24.11.5, sacct -P].
var ends = map[string]struct{ state, exit, derived, step, stepExit string }{
	"time-limit":         {"TIMEOUT", "0:15", "143:0", "FAILED", "15:0"},
	"hang-to-time-limit": {"TIMEOUT", "0:15", "143:0", "FAILED", "15:0"},
	"preempted":          {"PREEMPTED", "0:0", "143:0", "FAILED", "15:0"},
	"cancelled":          {"CANCELLED by 1001", "0:15", "143:0", "FAILED", "15:0"},
	"cancel-after-crash": {"CANCELLED by 1001", "0:15", "143:0", "FAILED", "15:0"},
	"node-failure":       {"NODE_FAIL", "1:0", "143:0", "FAILED", "15:0"},
	"host-oom":           {"FAILED", "1:0", "0:125", "OUT_OF_MEMORY", "0:125"},
	"healthy":            {"COMPLETED", "0:0", "0:0", "COMPLETED", "0:0"},
	"exception":          failed,
	"gpu-oom":            failed,
	"cuda-error":         failed,
	"rank-stalled":       failed,
	"lone-waiter":        failed,
	"symmetric-hang":     failed,
	"mismatch":           failed,
	"multi-group-stall":  failed,
	"peer-lost":          failed,
	"store-retries":      failed,
	"bad-sample":         failed,
}

// failed is what a launcher leaves of whatever ended its processes.
var failed = struct{ state, exit, derived, step, stepExit string }{"FAILED", "1:0", "1:0", "FAILED", "1:0"}

// Accounting writes what "sacct -P" prints of an incident's job, with times as seconds since 1970, as the file that stands
// beside the logs; ok is false where the play leaves open how SLURM sees the job end.
func Accounting(inc *Incident) (f File, ok bool) {
	e, ok := ends[inc.Spec.Mechanism]
	if !ok {
		return File{}, false
	}
	p := &inc.Played
	nodes, gone := strings.Join(p.Nodes, ","), ""
	if e.state == "NODE_FAIL" {
		gone = p.Nodes[p.Root/inc.Spec.PerNode]
	}
	var b strings.Builder
	b.WriteString("JobID|JobIDRaw|User|Account|Partition|State|ExitCode|DerivedExitCode|NNodes|NTasks|NodeList|Submit|Start|End|Timelimit|Restarts|FailedNode|Reason|WorkDir|StdOut|StdErr|SubmitLine|JobName\n")
	row := func(id, user, state, exit, derived string, n int, list, failed, line, name string) {
		fmt.Fprintf(&b, "%s|%s|%s|%s|batch|%s|%s|%s|%d||%s|%d|%d|%d|2-00:00:00|0|%s|None|/scratch/train|||%s|%s\n", id, id, user, user, state, exit, derived, n, list,
			p.Start.Unix()-3600, p.Start.Unix(), p.End.Unix(), failed, line, name)
	}
	job := fmt.Sprint(p.Job)
	row(job, "u1001", e.state, e.exit, e.derived, len(p.Nodes), nodes, gone, "sbatch --output=slurm-%j.out train.sbatch | tee log", "train|large")
	row(job+".batch", "", strings.TrimSuffix(e.state, " by 1001"), e.exit, "", 1, p.Nodes[0], "", "", "batch")
	row(job+".0", "", e.step, e.stepExit, "", len(p.Nodes), nodes, "", "srun train.sh", "train.sh")
	return File{Name: "slurm-accounting.txt", Data: []byte(b.String())}, true
}
