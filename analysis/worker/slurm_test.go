package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/line"
)

func TestTaskExits(t *testing.T) {
	for _, tc := range []struct {
		text  string
		hosts string
		tasks []int
		what  string
		code  int
	}{
		{"srun: error: node03: task 5: Exited with exit code 1", "node03", []int{5}, "Exited with exit code 1", 1},
		{"srun: error: node04: tasks 6-7: Terminated", "node04", []int{6, 7}, "Terminated", line.Unknown},
		{"srun: error: node[01-02]: tasks 0,2-3: Exited with exit code 143", "node01 node02", []int{0, 2, 3}, "Exited with exit code 143", 143},
		{"srun: error: node7: task 17: Aborted (core dumped)", "node7", []int{17}, "Aborted (core dumped)", line.Unknown},
		{"srun: error: nid006024: task 0: Out Of Memory", "nid006024", []int{0}, "Out Of Memory", line.Unknown},
		{"0: srun: error: n1: task 2: Segmentation fault\r", "n1", []int{2}, "Segmentation fault", line.Unknown},
	} {
		obs := observe(t, tc.text+"\n")
		if len(obs.TaskExits) != 1 {
			t.Errorf("%q: %d task exits", tc.text, len(obs.TaskExits))
			continue
		}
		e := obs.TaskExits[0]
		if strings.Join(e.Hosts, " ") != tc.hosts || !slices.Equal(e.Tasks, tc.tasks) || e.What != tc.what || e.Code != tc.code {
			t.Errorf("%q: %+v", tc.text, e)
		}
	}
}

func TestGluedTaskExitsAreAllRead(t *testing.T) {
	obs := observe(t, "srun: error: n1: task 2: Killedsrun: error: n2: tasks 4-5: Killed\n")
	if len(obs.TaskExits) != 2 || obs.TaskExits[0].What != "Killed" || !slices.Equal(obs.TaskExits[1].Tasks, []int{4, 5}) {
		t.Errorf("%+v", obs.TaskExits)
	}
}

func TestSlurmEnds(t *testing.T) {
	for _, tc := range []struct {
		text string
		want End // At is not compared
		time string
	}{
		{"slurmstepd: error: *** STEP 1943824.0 ON jean-zay-iam17 CANCELLED AT 2023-03-06T03:17:51 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
			End{Kind: "cancelled", Entity: "STEP", ID: "1943824.0", Host: "jean-zay-iam17", Reason: "NODE FAILURE"}, "2023-3-6 3:17:51"},
		{"slurmstepd-node01: error: *** JOB 12 ON node01 CANCELLED AT 2026-11-20T23:12:06 DUE TO TIME LIMIT ***",
			End{Kind: "cancelled", Entity: "JOB", ID: "12", Host: "node01", Reason: "TIME LIMIT"}, "2026-11-20 23:12:6"},
		{"0: slurmstepd: error: *** STEP 405737.0 ON cgpu12 CANCELLED AT 2020-01-16T23:05:49 ***",
			End{Kind: "cancelled", Entity: "STEP", ID: "405737.0", Host: "cgpu12"}, "2020-1-16 23:5:49"},
		{"slurmstepd: error: *** STEP 8.0 ON n1 CANCELLED AT 2026-11-20T23:20:08 DUE to SIGNAL Terminated ***",
			End{Kind: "cancelled", Entity: "STEP", ID: "8.0", Host: "n1", Reason: "SIGNAL Terminated"}, "2026-11-20 23:20:8"},
		{"slurmstepd-node01: error: *** STEP 13.0 ON node01 FAILED (non-zero exit code or other failure mode) ***",
			End{Kind: "failed", Entity: "STEP", ID: "13.0", Host: "node01"}, ""},
		{"slurmstepd: error: *** STEP 8.0 ON n1 UNCORRECTABLE MEMORY ERROR AT 2026-11-20T23:20:08 ***",
			End{Kind: "uncorrectable-memory", Entity: "STEP", ID: "8.0", Host: "n1", Hosts: []string{"n1"}}, "2026-11-20 23:20:8"},
		{"slurmstepd: error: *** STEP 8.0 STEPD TERMINATED ON n1 AT 2026-11-20T23:20:08 DUE TO JOB NOT ENDING WITH SIGNALS ***",
			End{Kind: "stepd-terminated", Entity: "STEP", ID: "8.0", Host: "n1", Reason: "JOB NOT ENDING WITH SIGNALS"}, "2026-11-20 23:20:8"},
		{"slurmstepd-node02: error: Detected 1 oom-kill event(s) in StepId=25.0. Some of your processes may have been killed by the cgroup out-of-memory handler.",
			End{Kind: "oom", Entity: "STEP", ID: "25.0", Host: "node02", N: 1}, ""},
		{"slurmstepd: error: Detected 3 oom_kill events in StepId=8538204.batch. Some of the step tasks have been OOM Killed.",
			End{Kind: "oom", Entity: "STEP", ID: "8538204.batch", N: 3}, ""},
		{"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=25.0 cgroup. Some of your processes may have been killed",
			End{Kind: "oom", Entity: "STEP", ID: "25.0", N: 1}, ""},
		{"[2026-11-20T03:49:31.119] Killing JobId=77120 on failed node vn17", End{Kind: "node-failure", System: "SLURM's controller", Entity: "JOB", ID: "77120", Hosts: []string{"vn17"}, Says: "Killing JobId=77120 on failed node vn17"}, ""},
		{"salloc: error: Node failure on worker-1", End{Kind: "node-failure", Hosts: []string{"worker-1"}}, ""},
		{"srun: error: Node failure on node[03,07]", End{Kind: "node-failure", Hosts: []string{"node03", "node07"}}, ""},
		{"srun: launch/slurm: _step_signal: Terminating StepId=5.0", End{Kind: "terminating", Entity: "STEP", ID: "5.0"}, ""},
		{"srun: Terminating job step 405737.0", End{Kind: "terminating", Entity: "STEP", ID: "405737.0"}, ""},
		{"srun: Job step aborted: Waiting up to 62 seconds for job step to finish.", End{Kind: "aborted", Entity: "STEP"}, ""},
		{"srun: Job allocation 22 has been revoked.", End{Kind: "revoked", Entity: "JOB", ID: "22"}, ""},
		{"srun: error: task 0 launch failed: Slurmd could not connect IO", End{Kind: "launch-failed", Text: "task 0 launch failed: Slurmd could not connect IO"}, ""},
		{"srun: error: Task launch for StepId=5.0 failed on node node03: Job credential expired",
			End{Kind: "launch-failed", Entity: "STEP", ID: "5.0", Hosts: []string{"node03"}, Text: "Job credential expired"}, ""},
	} {
		obs := observe(t, tc.text+"\n")
		if len(obs.Ends) != 1 {
			t.Errorf("%q: %d ends", tc.text, len(obs.Ends))
			continue
		}
		got := obs.Ends[0]
		if s := got.Stamp; tc.time != "" && (stampText(s) != tc.time || s.Emitter != line.Slurm) {
			t.Errorf("%q: stamp %+v", tc.text, s)
		}
		hosts := slices.Equal(got.Hosts, tc.want.Hosts)
		got.At, got.Hosts, tc.want.Hosts = At{}, nil, nil
		if !hosts || !sameEnd(got, tc.want) {
			t.Errorf("%q:\n got %+v\nwant %+v", tc.text, got, tc.want)
		}
		if obs.UnclassifiedN != 0 {
			t.Errorf("%q: counted as unclassified", tc.text)
		}
	}
}

func sameEnd(a, b End) bool {
	return a.Kind == b.Kind && a.Entity == b.Entity && a.ID == b.ID && a.Host == b.Host && a.Reason == b.Reason && a.N == b.N && a.Text == b.Text
}

func stampText(s line.Stamp) string {
	return fmt.Sprintf("%d-%d-%d %d:%d:%d", s.Year, s.Month, s.Day, s.Hour, s.Minute, s.Second)
}

func TestTaskListsAreBounded(t *testing.T) {
	for _, s := range []string{"0-99999999999", "5-3", "x", "-1", "0-70000", "1,,2"} {
		if got := expandTasks(s); got != nil {
			t.Errorf("%q: %d tasks", s, len(got))
		}
	}
}

// slurmSample reads all text files of one scenario of the real captures as one file each.
func slurmSample(t *testing.T, path string) *Observations {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "samples", "slurm")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no real SLURM captures beside the repository")
	}
	files, err := filepath.Glob(filepath.Join(dir, path))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files (%v)", path, err)
	}
	var all []*Observations
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, observe(t, string(b)))
	}
	out := all[0]
	for _, o := range all[1:] {
		out.Ends = append(out.Ends, o.Ends...)
		out.TaskExits = append(out.TaskExits, o.TaskExits...)
		out.RunMarks = append(out.RunMarks, o.RunMarks...)
		out.Identities = append(out.Identities, o.Identities...)
		out.UnclassifiedN += o.UnclassifiedN
	}
	return out
}

func TestRealCaptures(t *testing.T) {
	for _, tc := range []struct {
		path         string
		first        string   // first task exit: "task what"
		ends         []string // kinds with reasons that must occur
		node         string   // node-failure's host
		unclassified int
	}{
		{path: "22.05/abrt_kill_on_bad_exit/*", first: "3 Aborted", ends: []string{"terminating"}},
		{path: "22.05/bus_error/*", first: "2 Bus error"},
		{path: "22.05/segv/*", first: "5 Segmentation fault"},
		{path: "22.05/exit1/*", first: "5 Exited with exit code 1"},
		{path: "22.05/kill9_kill_on_bad_exit/*", first: "2 Killed", ends: []string{"terminating"}},
		{path: "22.05/node_fail/*", ends: []string{"node-failure", "cancelled NODE FAILURE", "aborted"}, node: "node03", first: "2 Exited with exit code 143"},
		{path: "22.05/oom/*", first: "2 Out Of Memory", ends: []string{"oom"}},
		{path: "22.05/oom_kill_on_bad_exit/*", first: "2 Out Of Memory", ends: []string{"oom", "terminating", "cancelled"}},
		{path: "22.05/timeout/*", ends: []string{"cancelled TIME LIMIT"}, first: "6 Exited with exit code 143"},
		{path: "22.05/scancel/*", ends: []string{"cancelled"}, first: "3 Exited with exit code 143"},
		{path: "22.05/sbatch_signal_usr1/*", ends: []string{"failed"}, first: "4 Killed"},
		{path: "24.11/exit1_kill_on_bad_exit/*", first: "5 Exited with exit code 1", ends: []string{"terminating", "cancelled"}},
		{path: "24.11/node_fail/*", ends: []string{"node-failure", "cancelled NODE FAILURE"}, node: "node03", first: "2 Exited with exit code 143"},
		{path: "24.11/node_fail_no_kill/*", ends: []string{"node-failure"}, node: "node03"},
		{path: "24.11/preempt_append/*", ends: []string{"cancelled PREEMPTION"}, first: "2 Exited with exit code 143"},
		{path: "24.11/requeue_append/*", ends: []string{"cancelled JOB REQUEUE"}, first: "5 Exited with exit code 143"},
		{path: "22.05/srun_misc_launch_errors_and_wait.out", ends: []string{"launch-failed", "aborted"}, first: "1 Exited with exit code 2"},
	} {
		t.Run(tc.path, func(t *testing.T) {
			obs := slurmSample(t, tc.path)
			first := ""
			if len(obs.TaskExits) > 0 {
				first = fmt.Sprint(obs.TaskExits[0].Tasks[0], " ", obs.TaskExits[0].What)
			}
			if first != tc.first {
				t.Errorf("first task exit %q, want %q", first, tc.first)
			}
			var kinds []string
			node := ""
			for _, e := range obs.Ends {
				kinds = append(kinds, strings.TrimSpace(string(e.Kind)+" "+string(e.Reason)))
				if e.Kind == "node-failure" {
					node = strings.Join(e.Hosts, " ")
				}
			}
			for _, want := range tc.ends {
				if !slices.Contains(kinds, want) {
					t.Errorf("no %q among %q", want, kinds)
				}
			}
			if node != tc.node {
				t.Errorf("failed node %q, want %q", node, tc.node)
			}
			if obs.UnclassifiedN != tc.unclassified {
				t.Errorf("%d unclassified: %+v", obs.UnclassifiedN, obs.Unclassified)
			}
		})
	}
}

func TestRealCaptureOfARequeuedJobHasTwoRuns(t *testing.T) {
	obs := slurmSample(t, "22.05/requeue_then_preempt_append/sbatch*")
	if len(obs.RunMarks) != 1 || obs.RunMarks[0].Kind != "requeue" || obs.RunMarks[0].Count != 1 || obs.RunMarks[0].Line != 12 {
		t.Errorf("%+v", obs.RunMarks)
	}
}

func TestRealCapturesTieRanksToHosts(t *testing.T) {
	obs := slurmSample(t, "22.05/oom/error-26-*")
	hosts := map[int]string{}
	for _, id := range obs.Identities {
		hosts[id.Global] = id.Host
	}
	if len(hosts) != 8 || hosts[2] != "node02" || hosts[7] != "node04" {
		t.Errorf("%v", hosts)
	}
}

func FuzzSlurm(f *testing.F) {
	for _, s := range []string{
		"srun: error: node[01-02]: tasks 0,2-3: Exited with exit code 143",
		"slurmstepd: error: *** STEP 8.0 ON n1 CANCELLED AT 2026-11-20T23:20:08 DUE TO TIME LIMIT ***",
		"slurmstepd: error: Detected 3 oom_kill events in StepId=1.0. Some", "srun: error: Node failure on n[1-99999999]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		obs := observe(t, s)
		for _, e := range obs.TaskExits {
			if len(e.Tasks) == 0 || len(e.Tasks) > maxTasks {
				t.Fatalf("%d tasks", len(e.Tasks))
			}
		}
	})
}
