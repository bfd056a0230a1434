package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
)

const recordsHeader = "JobID|JobIDRaw|User|Account|Partition|State|ExitCode|DerivedExitCode|NNodes|NTasks|NodeList|Submit|Start|End|Timelimit|Restarts|FailedNode|Reason|WorkDir|StdOut|StdErr|SubmitLine|JobName\n"

// rec is one line of the file that the fetcher writes. from and to are minutes after 12:00 UTC of the day in the logs.
func rec(id, state, exit, derived, nodes string, from, to int, failed string) string {
	const noon = 1795262400 // 2026-11-21T12:00:00Z
	return fmt.Sprintf("%s|%s|hidden|hidden|batch|%s|%s|%s|4|8|%s|%d|%d|%d|01:00:00||%s|None|/hidden|||sbatch hidden.sh|hidden\n", id, id, state, exit, derived, nodes, noon+from*60, noon+from*60, noon+to*60, failed)
}

func step(n, minute int) string {
	return fmt.Sprintf("[rank%d]: 2026-11-21 12:%02d:00,000 - INFO - step %d/5000 | loss 2.%d | lr 1.0e-04\n", n, minute, minute*10, 900-minute)
}

func steps(rank, from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(step(rank, i))
	}
	return b.String()
}

const traceback = "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/opt/job/train.py\", line 214, in <module>\n[rank1]:     main()\n[rank1]: KeyError: 'y'\n"

func TestWhatSLURMKeepsIsEvidence(t *testing.T) {
	logs := func(more string) map[string]string {
		return map[string]string{"error-4242-0.out": steps(0, 0, 20), "error-4242-1.out": steps(1, 0, 20) + more}
	}
	nodes := "node[01-02]"
	cases := []struct {
		name    string
		files   map[string]string
		records string
		nodes   string // slurm-nodes.txt
		want    string // the verdict's mechanism
		also    []string
		status  string
		root    []string
		warning string
	}{
		{name: "the step knows of a kill for memory, its job only that it failed", files: logs(""),
			records: rec("4242", "FAILED", "1:0", "0:125", nodes, 0, 20, "") + rec("4242.0", "OUT_OF_MEMORY", "0:125", "", nodes, 0, 20, ""), want: "host-oom", status: incident.Probable},
		{name: "a node that failed is named", files: logs(""),
			records: rec("4242", "NODE_FAIL", "1:0", "143:0", nodes, 0, 20, "node02") + rec("4242.0", "FAILED", "15:0", "", nodes, 0, 20, ""), want: "node-failure", status: incident.Confirmed, root: []string{"node02"}},
		{name: "a node that failed is not named where nothing names it", files: logs(""),
			records: rec("4242", "NODE_FAIL", "0:0", "0:0", nodes, 0, 20, ""), want: "node-failure", status: incident.Probable},
		{name: "a node that booted inside the run was gone", files: logs(""),
			records: rec("4242", "NODE_FAIL", "0:0", "0:0", nodes, 0, 20, ""), want: "node-failure", status: incident.Confirmed, root: []string{"node01"},
			nodes: "NodeName=node01 Arch=x86_64 CoresPerSocket=1\n   State=IDLE ThreadsPerCore=1\n   BootTime=1795263000 SlurmdStartTime=1795263060\n" +
				"NodeName=node09 Arch=x86_64 CoresPerSocket=1\n   State=IDLE ThreadsPerCore=1\n   BootTime=1795263000 SlurmdStartTime=1795263060\n"},
		{name: "a node that booted before the run says nothing", files: logs(""),
			records: rec("4242", "TIMEOUT", "0:15", "143:0", nodes, 0, 20, ""), want: "time-limit", status: incident.Confirmed,
			nodes: "NodeName=node01 Arch=x86_64 CoresPerSocket=1\n   State=IDLE ThreadsPerCore=1\n   BootTime=1795260000 SlurmdStartTime=1795263060\n"},
		{name: "a healthy run reaches its time limit", files: logs(""),
			records: rec("4242", "TIMEOUT", "0:15", "143:0", nodes, 0, 20, "") + rec("4242.0", "FAILED", "15:0", "", nodes, 0, 20, ""), want: "time-limit", status: incident.Confirmed},
		{name: "the job state is not its cause: it had stalled long before its time limit", files: logs(""),
			records: rec("4242", "TIMEOUT", "0:15", "143:0", nodes, 0, 59, "") + rec("4242.0", "FAILED", "15:0", "", nodes, 0, 59, ""), want: "rank-stalled"},
		{name: "a failure before the time limit stays the cause", files: logs(traceback),
			records: rec("4242", "TIMEOUT", "0:15", "143:0", nodes, 0, 59, ""), want: "exception", root: []string{"node02"}},
		{name: "preempted", files: logs(""), records: rec("4242", "PREEMPTED", "0:0", "143:0", nodes, 0, 20, ""), want: "preempted", status: incident.Confirmed},
		{name: "cancelled by a user", files: logs(""), records: rec("4242", "CANCELLED by 1001", "0:15", "143:0", nodes, 0, 20, ""), want: "cancelled", status: incident.NoFailure},
		{name: "kill-on-bad-exit prints the line of a cancellation, and nobody cancelled", files: logs("slurmstepd: error: *** STEP 4242.0 ON node01 CANCELLED AT 2026-11-21T12:19:30 ***\n"),
			records: rec("4242", "FAILED", "15:0", "0:15", nodes, 0, 20, "") + rec("4242.0", "CANCELLED", "0:15", "", nodes, 0, 20, ""), want: "unknown"},
		{name: "completed", files: logs(""), records: rec("4242", "COMPLETED", "0:0", "0:0", nodes, 0, 20, "") + rec("4242.0", "COMPLETED", "0:0", "", nodes, 0, 20, ""), want: "completed", status: incident.NoFailure},
		{name: "a step that failed in a job that completed", files: logs(""), records: rec("4242", "COMPLETED", "0:0", "1:0", nodes, 0, 20, "") + rec("4242.0", "FAILED", "1:0", "", nodes, 0, 20, ""),
			want: "exception", also: []string{"unknown"}, status: incident.Inconclusive},
		{name: "logs and records that contradict each other are both shown", files: logs(traceback), records: rec("4242", "COMPLETED", "0:0", "0:0", nodes, 0, 20, "") + rec("4242.0", "COMPLETED", "0:0", "", nodes, 0, 20, ""),
			want: "exception", also: []string{"completed"}, status: incident.Inconclusive, root: []string{"node02"}, warning: "the logs show a failure"},
		{name: "an output file that could not be opened", files: map[string]string{"slurm-4242.out": "run 0\n"}, records: rec("4242", "FAILED", "0:53", "0:0", nodes, 0, 1, ""), want: "scheduler-error"},
		{name: "a process died of a fault of its own, and srun's lines are not here", files: logs(""), records: rec("4242", "FAILED", "11:0", "0:11", nodes, 0, 20, "") + rec("4242.batch", "FAILED", "11:0", "", "node01", 0, 20, "") + rec("4242.0", "CANCELLED", "0:11", "", nodes, 0, 20, ""),
			want: "native-crash", status: incident.Probable},
		{name: "an exit code of 11 is not a signal", files: logs(""), records: rec("4242", "FAILED", "11:0", "11:0", nodes, 0, 20, "") + rec("4242.0", "FAILED", "11:0", "", nodes, 0, 20, ""), want: "unknown"},
		{name: "of several runs the newest that failed is looked at, though a later one went well", files: logs(""),
			records: rec("4242", "NODE_FAIL", "0:0", "143:0", nodes, -60, -30, "node02") + rec("4242", "COMPLETED", "0:0", "0:0", nodes, 0, 20, "") + rec("4242.0", "COMPLETED", "0:0", "", nodes, 0, 20, ""),
			want:    "node-failure", root: []string{"node02"}, warning: "a requeue may have overwritten it"},
		{name: "what the later run printed, which wrote over the log, is not the failed run's", files: logs(traceback),
			records: rec("4242", "FAILED", "1:0", "1:0", nodes, -317, -20, "") + rec("4242", "COMPLETED", "0:0", "0:0", nodes, 0, 20, ""),
			want:    "exception", also: []string{"unknown"}, status: incident.Inconclusive, warning: "so they are not used for it"},
		{name: "what the failed run printed in another zone stays its own", files: logs(traceback),
			records: rec("4242", "FAILED", "1:0", "1:0", nodes, -120, -90, "") + rec("4242", "COMPLETED", "0:0", "0:0", nodes, -10, 40, ""),
			want:    "exception", root: []string{"node02"}},
		{name: "a run taken back into the queue did not fail", files: logs(""),
			records: rec("4242", "REQUEUED", "0:0", "143:0", nodes, -60, -30, "") + rec("4242", "COMPLETED", "0:0", "0:0", nodes, 0, 20, ""), want: "completed", status: incident.NoFailure},
		{name: "a job with the same id long ago is another one", files: logs(""),
			records: strings.ReplaceAll(rec("4242", "NODE_FAIL", "0:0", "143:0", nodes, -6000, -5000, "node02"), "hidden", "older") + rec("4242", "TIMEOUT", "0:15", "0:0", nodes, 0, 20, ""), want: "time-limit", warning: "an older job"},
		{name: "the records of another job are not used", files: logs(traceback), records: rec("77", "NODE_FAIL", "0:0", "143:0", nodes, 0, 20, "node02"), want: "exception", warning: "doesn't list job 4242"},
		{name: "a batch script that prints what SLURM knows of its job writes a log", files: map[string]string{
			"slurm-4242.out": "JobId=4242 JobName=x\n   JobState=RUNNING Reason=None\n   NodeList=node[01-02]\n\n" + steps(0, 0, 9) + traceback}, records: "JobID|State\n4242|FAILED\n", want: "exception"},
		{name: "the controller's own words", files: logs(""), want: "node-failure", root: []string{"node01"},
			records: "JobID|State|NodeList|Start|End\n4242|NODE_FAIL|node[01-02]|2026-11-21T12:00:00|2026-11-21T12:20:00\n",
			nodes:   "NodeName=node01 Arch=x86_64 CoresPerSocket=1\n   State=DOWN* ThreadsPerCore=1\n   BootTime=2026-11-20T12:00:00 SlurmdStartTime=2026-11-20T12:01:00\n   Reason=Not responding [hidden@2026-11-21T12:20:05]\n"},
		{name: "few columns are enough", files: logs(""), records: "JobID|State\n4242|NODE_FAIL\n", want: "node-failure"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.files["slurm-accounting.txt"] = c.records
			if !strings.HasPrefix(c.records, "JobID|") {
				c.files["slurm-accounting.txt"] = recordsHeader + c.records
			}
			if c.nodes != "" {
				c.files["slurm-nodes.txt"] = c.nodes
			}
			r, err := Diagnose(t.Context(), Input{Sources: write(t, c.files)})
			if err != nil {
				t.Fatal(err)
			}
			v := r.Verdict
			var candidates []string
			for _, x := range v.Candidates {
				candidates = append(candidates, x.Mechanism)
			}
			if v.Mechanism != c.want || c.status != "" && v.Status != c.status || !slices.Equal(v.Root.Nodes, append([]string{}, c.root...)) {
				t.Errorf("%s %s %v on %v: %s; %s", v.Status, v.Mechanism, candidates, v.Root.Nodes, v.Summary, v.Why)
			}
			for _, want := range c.also {
				if !slices.Contains(candidates, want) {
					t.Errorf("candidates %v lack %s", candidates, want)
				}
			}
			if c.warning != "" && !strings.Contains(strings.Join(r.Warnings, "\n"), c.warning) {
				t.Errorf("warnings %q lack %q", r.Warnings, c.warning)
			}
			if len(r.Verification.Withdrawn) > 0 || r.Verification.Quotes.Held != r.Verification.Quotes.Checked {
				t.Errorf("%d of %d quotations confirmed, withdrawn: %q", r.Verification.Quotes.Held, r.Verification.Quotes.Checked, r.Verification.Withdrawn)
			}
			eachEvidence(r, func(e *incident.Evidence) {
				if strings.Contains(e.Text, "hidden") {
					t.Errorf("who ran what is quoted: %q", e.Text)
				}
			})
			if want := len(c.files) - 1 - min(len(c.nodes), 1); r.Coverage.Files != want {
				t.Errorf("%d files are counted as logs, want %d", r.Coverage.Files, want)
			}
		})
	}
}

func TestTheRecordsSayWhichNodesAreMissing(t *testing.T) {
	files := map[string]string{"error-4242-0.out": steps(0, 0, 9), "error-4242-2.out": steps(2, 0, 9), "slurm-accounting.txt": recordsHeader +
		rec("4242", "RESIZING", "0:0", "0:0", "node[01-04]", 0, 5, "") + rec("4242", "FAILED", "1:0", "0:0", "node[01-03]", 5, 9, "") + rec("4242.batch", "FAILED", "1:0", "", "node01", 0, 9, "") +
		rec("4242.0", "FAILED", "1:0", "", "node[01-04]", 0, 9, "")}
	r, err := Diagnose(t.Context(), Input{Sources: write(t, files)})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Coverage
	if strings.Join(c.NodesExpected, " ") != "node01 node02 node03 node04" || strings.Join(c.NodesMissing, " ") != "node02 node04" || c.ExpectedFrom != "SLURM's accounting" {
		t.Errorf("expected %v, missing %v, from %s", c.NodesExpected, c.NodesMissing, c.ExpectedFrom)
	}
}

// Files are named after the number that SLURM counts by: each component of a heterogeneous job has its own, and counts its nodes
// from 0.
func TestComponentsOfOneJobAreOneJob(t *testing.T) {
	hosts := func(rank int, host string) string {
		return fmt.Sprintf("%s:10:10 [0] NCCL INFO ncclCommInitRank comm 0x55d0c0de0010 rank %d nranks 2 cudaDev 0 busId 1000 commId 0x5ca1ab1e - Init COMPLETE\n", host, rank)
	}
	parts := recordsHeader + strings.ReplaceAll(rec("17+0", "FAILED", "1:0", "0:0", "node11", 0, 9, ""), "17+0|17+0", "17+0|17") +
		strings.ReplaceAll(rec("17+1", "FAILED", "1:0", "0:0", "node12", 0, 9, ""), "17+1|17+1", "17+1|18")
	files := map[string]string{"error-17-0.out": hosts(0, "node11") + steps(0, 0, 9), "error-18-0.out": hosts(1, "node12") + steps(1, 0, 9) + traceback, "slurm-accounting.txt": parts}
	for _, id := range []string{"", "17", "18"} {
		r, err := Diagnose(t.Context(), Input{Sources: write(t, files), JobID: id})
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Verdict; v.Mechanism != "exception" || !slices.Equal(v.Root.Nodes, []string{"node12"}) || *r.Job.ID != "17" || r.Coverage.Files != 2 || len(r.Coverage.NodesMissing) > 0 {
			t.Errorf("%q: %s on %v, job %s, %d files, missing %v", id, v.Mechanism, v.Root.Nodes, *r.Job.ID, r.Coverage.Files, r.Coverage.NodesMissing)
		}
	}
	files["error-18-0.out"] = steps(1, 0, 9) + traceback // nothing but its name says where it was written
	r, err := Diagnose(t.Context(), Input{Sources: write(t, files)})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Verdict.Root.Nodes) > 0 {
		t.Errorf("%v is accused by an index that counts from 0 in each component", r.Verdict.Root.Nodes)
	}
}

func TestRecordsAloneAreEnoughToSpeakOf(t *testing.T) {
	r, err := Diagnose(t.Context(), Input{Sources: write(t, map[string]string{"x.txt": recordsHeader + rec("9", "TIMEOUT", "0:15", "0:0", "n[1-2]", 0, 9, "")})})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Status != incident.Inconclusive || r.Verdict.Mechanism != "time-limit" || r.Job.ID == nil || *r.Job.ID != "9" {
		t.Errorf("%s %s of job %v: a job that hung reaches its time limit as well", r.Verdict.Status, r.Verdict.Mechanism, r.Job.ID)
	}
}
