package slurm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// sample reads a real capture; they lie beside the repository.
func sample(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "samples", "slurm", name))
	if err != nil {
		t.Skipf("the real captures are not here: %v", err)
	}
	return raw
}

// sampleJobs reads a capture of `sacct -D -P` with its header line.
func sampleJobs(t *testing.T, name string) map[string]*Job {
	t.Helper()
	head, rest, _ := strings.Cut(string(sample(t, name)), "\n")
	records, err := parseSacct([]byte(rest), strings.Split(head, "|"), "|", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string]*Job{}
	list := assemble(records, "sacct", 0)
	for i := range list {
		jobs[list[i].ID] = &list[i]
	}
	return jobs
}

func TestStepsDecideHowRealJobsEnded(t *testing.T) {
	for file, want := range map[string]map[string]string{
		"22.05/sacct_parsable2_duplicates.txt": {
			"1": "COMPLETED", "2": "FAILED (1:0) in step 0", "3": "FAILED (0:15) in step 0", "4": "FAILED (0:11) in step 0", "9": "CANCELLED (0:15)",
			"11": "CANCELLED (0:9) in step 0", "12": "TIMEOUT (0:15)", "15": "FAILED (1:0) in step 2", "17+0": "FAILED (7:0)", "16_3": "COMPLETED", "16_4": "FAILED (3:0)",
			"22": "NODE_FAIL (0:15)", "23": "NODE_FAIL", "24": "COMPLETED", "25": "OUT_OF_MEMORY (0:125) in step 0", "26": "OUT_OF_MEMORY (0:125) in step 0",
		},
		"24.11/sacct_parsable2_duplicates.txt": {
			"2": "FAILED (0:15) in step 0", "5": "CANCELLED", "6": "CANCELLED (0:9) in step 0", "7": "TIMEOUT", "8": "REQUEUED", "15": "PREEMPTED", "16": "COMPLETED",
			"17": "NODE_FAIL (1:0)", "18": "FAILED (1:0)",
		},
	} {
		jobs := sampleJobs(t, file)
		for id, fate := range want {
			j := jobs[id]
			if j == nil {
				t.Errorf("%s: no job %s", file, id)
				continue
			}
			r, _ := j.Subject()
			if got := r.Fate().String(); got != fate {
				t.Errorf("%s: job %s: %s, want %s", file, id, got, fate)
			}
		}
	}
}

func TestTheNodeThatWasLostStaysExpected(t *testing.T) {
	j := sampleJobs(t, "24.11/sacct_parsable2_duplicates.txt")["18"]
	if len(j.Runs) != 1 || len(j.Runs[0].Records) != 2 {
		t.Fatalf("%d runs", len(j.Runs))
	}
	if got := strings.Join(j.Runs[0].Nodes(), " "); got != "node01 node02 node03 node04" {
		t.Errorf("nodes %s", got)
	}
	if steps := j.Runs[0].Steps; len(steps) != 2 || steps[1].Name != "0" {
		t.Errorf("steps %+v", steps)
	}
}

func TestRequeuesAreRunsOfOneJob(t *testing.T) {
	j := sampleJobs(t, "22.05/sacct_parsable2_duplicates.txt")["14"]
	if len(j.Runs) != 3 || len(j.Notes) != 0 {
		t.Fatalf("%d runs, notes %v", len(j.Runs), j.Notes)
	}
	if r, i := j.Subject(); i != 1 || r.State() != "PREEMPTED" || r.Restart != 1 {
		t.Errorf("subject is run %d, %s", i, r.State())
	}
	if j.Newest().Started() || !j.Ended() {
		t.Error("the third run was cancelled while it waited")
	}
	if got := sampleJobs(t, "24.11/sacct_parsable2_duplicates.txt")["17"].Runs[0].FailedNodes(); !slices.Equal(got, []string{"node03"}) {
		t.Errorf("failed nodes %v", got)
	}
}

func TestRealJSONAgreesWithRealText(t *testing.T) {
	text := sampleJobs(t, "24.11/sacct_parsable2_duplicates.txt")
	for file, id := range map[string]string{"24.11/sacct_json.json": "2", "24.11/sacct_json_node_fail.json": "17", "24.11/slurmrestd_v0.0.42_slurmdb_job.json": "2"} {
		tr, err := parseTree(sample(t, file))
		if err != nil {
			t.Fatal(err)
		}
		records := dbRecords(tr)
		jobs := assemble(records, "slurmrestd", tr.release())
		if len(jobs) != 1 || jobs[0].ID != id || jobs[0].Release != 2411 || jobs[0].User != "alice" || jobs[0].WorkDir != "/lab/w" {
			t.Fatalf("%s: %+v", file, jobs)
		}
		got, want := jobs[0].Newest(), text[id].Newest()
		if got.State() != want.State() || got.End().Unix() != want.End().Unix() || !slices.Equal(got.Nodes(), want.Nodes()) || len(got.Steps) != 2 ||
			!slices.Equal(got.FailedNodes(), want.FailedNodes()) || got.Fate().State != want.Fate().State {
			t.Errorf("%s: %+v\nwant %+v", file, got, want)
		}
		if got.Steps[1].Name != "0" || got.Steps[1].NTasks != 8 || got.Steps[1].NodeList != "node[01-04]" {
			t.Errorf("%s: step %+v", file, got.Steps[1])
		}
	}
}

func TestExitCodesOfOldJSONAreNotBelieved(t *testing.T) {
	tr, err := parseTree(sample(t, "22.05/sacct_json_failed.json"))
	if err != nil {
		t.Fatal(err)
	}
	records := dbRecords(tr)
	if len(records) != 1 || records[0].State != "FAILED" || records[0].ExitCode != "" || len(records[0].Steps) == 0 || records[0].Steps[0].ExitCode != "" {
		t.Errorf("%+v", records)
	}
	if tr, err = parseTree(sample(t, "22.05/slurmrestd_v0.0.38_job_failed.json")); err != nil {
		t.Fatal(err)
	}
	live := liveRecords(tr)
	if len(live) != 1 || live[0].State != "FAILED" || live[0].ExitCode != "" || live[0].StdErr != "/lab/w/logs/sbatch_%x_%j.err" || live[0].User != "alice" {
		t.Errorf("%+v", live)
	}
	if tr, err = parseTree(sample(t, "24.11/slurmrestd_v0.0.42_slurm_job.json")); err != nil {
		t.Fatal(err)
	}
	live = liveRecords(tr)
	if len(live) != 1 || live[0].State != "FAILED" || live[0].ExitCode != "143:0" || live[0].Derived != "0:15" || live[0].NNodes != 4 || live[0].Limit != "00:10:00" {
		t.Errorf("%+v", live)
	}
}

func TestARealQueueIsRead(t *testing.T) {
	tr, err := parseTree(sample(t, "22.05/squeue_json.json"))
	if err != nil {
		t.Fatal(err)
	}
	records := liveRecords(tr)
	for _, r := range records {
		if _, err := ParseID(r.JobID); err != nil {
			t.Errorf("%v", err)
		}
	}
	if len(records) < 5 {
		t.Errorf("%d jobs", len(records))
	}
}
