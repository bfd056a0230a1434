package slurm

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseID(t *testing.T) {
	for in, want := range map[string]string{
		"123": "123", "123_4": "123_4", "123+1": "123+1", "123.0": "123", "123.batch": "123", "16_3.0": "16_3", "17+1.extern": "17+1", "123_[1-4]": "123_[1-4]",
		"10_[3-4%2]": "10_[3-4%2]", "1_0": "1_0",
	} {
		id, err := ParseID(in)
		if err != nil || id.String() != want {
			t.Errorf("ParseID(%q) = %v, %v; want %s", in, id, err, want)
		}
	}
	for _, in := range []string{
		"", "0", "007", "-1", "abc", "123;id", "123 4", "123\n", "123_", "123+", "123_4_5", "123.0.1", "123.x", "$(id)", "123_[", "123_[a]", "12345678901", "123_[1]x", "１２３", "123'",
	} {
		if id, err := ParseID(in); !errors.Is(err, ErrNotAnID) {
			t.Errorf("ParseID(%q) = %v, %v", in, id, err)
		}
	}
	if id, _ := ParseID("123_[1-4]"); id.query() != "123" {
		t.Errorf("asks for %q", id.query())
	}
	for in, want := range map[string]string{"1_[2-4,7%2]": "2347", "1_[0-8:4]": "048", "1": "0123456789", "1_3": "3", "1_[9-2]": ""} {
		id, err := ParseID(in)
		got := ""
		for i := range 10 {
			if id.Wants(i) {
				got += number(i)
			}
		}
		if err != nil || got != want {
			t.Errorf("%s wants %s", in, got)
		}
	}
}

// row makes a line of the columns of columns(nil).
func row(id, raw, user, state, exit, nodes, submit, start, end, name string) string {
	return strings.Join([]string{id, raw, user, "acc", "gpu", state, exit, "0:0", "4", "", nodes, submit, start, end, "01:00:00", "None", "/w", name}, separator) + "\n"
}

func jobsOf(t *testing.T, lines ...string) []Job {
	t.Helper()
	records, err := parseSacct([]byte(strings.Join(lines, "")), columns(nil), separator, nil)
	if err != nil {
		t.Fatal(err)
	}
	return assemble(records, "sacct", 0)
}

func TestAReusedIDMeansTheNewestJob(t *testing.T) {
	jobs := jobsOf(t,
		row("7", "7", "bob", "COMPLETED", "0:0", "n1", "1000", "1010", "1100", "old"),
		row("7", "7", "alice", "FAILED", "1:0", "n[1-2]", "9000", "9010", "9100", "new"))
	if len(jobs) != 1 || jobs[0].User != "alice" || len(jobs[0].Runs) != 1 || len(jobs[0].Notes) != 1 || !strings.Contains(jobs[0].Notes[0], "older job had the same ID 7") {
		t.Errorf("%+v", jobs)
	}
	// The same person, the same name: a job that an administrator started again after its end.
	jobs = jobsOf(t,
		row("7", "7", "alice", "FAILED", "1:0", "n1", "1000", "1010", "1100", "train"),
		row("7", "7", "alice", "COMPLETED", "0:0", "n1", "1200", "1210", "1300", "train"))
	if len(jobs) != 1 || len(jobs[0].Runs) != 2 {
		t.Fatalf("%+v", jobs)
	}
	if r, i := jobs[0].Subject(); i != 0 || !r.Fate().Bad {
		t.Error("a healthy later run clears the failed one")
	}
}

func TestANameWithTheSeparatorOfOthers(t *testing.T) {
	jobs := jobsOf(t, row("7", "7", "alice", "FAILED", "1:0", "n1", "1", "2", "3", "a|b"+separator+"c"))
	if len(jobs) != 1 || jobs[0].Name != "a|b"+separator+"c" || jobs[0].User != "alice" {
		t.Errorf("%+v", jobs)
	}
	text := string(Accounting(jobs))
	for line := range strings.Lines(text) {
		if n := strings.Count(line, "|"); n != len(header)-1 {
			t.Errorf("%d separators in %q", n, line)
		}
	}
	if _, err := parseSacct([]byte("7|7|alice\n"), columns(nil), separator, nil); !errors.Is(err, errShape) {
		t.Errorf("another form: %v", err)
	}
}

// What people write into a submit line makes no row of its own, whatever they guess.
func TestASubmitLineIsNoRow(t *testing.T) {
	cols := columns(map[string]bool{"SubmitLine": true})
	row := func(user, submit string) string {
		cells := make([]string, len(cols))
		for i, c := range cols {
			cells[i] = map[string]string{"JobID": "7", "JobIDRaw": "7", "User": user, "SubmitLine": submit, "JobName": "n"}[c]
		}
		return strings.Join(cells, separator)
	}
	forged := strings.ReplaceAll(row("victim", "sbatch"), separator, "\x1f")
	records, err := parseSacct([]byte(row("mallory", "sbatch x \x1f\n"+forged)+"\n"), cols, separator, nil)
	if err != nil || len(records) != 1 || records[0].User != "mallory" {
		t.Errorf("%+v, %v", records, err)
	}
}

func TestStates(t *testing.T) {
	if State("CANCELLED by 1001") != cancelled || CancelledBy("CANCELLED by 1001") != "1001" || State("CANCELLED+") != cancelled || CancelledBy("FAILED") != "" {
		t.Error("states")
	}
	run := func(state string, steps ...Step) Fate {
		r := Run{Records: []Record{{State: state, ExitCode: "0:0", End: time.Unix(9, 0)}}, Steps: steps}
		return r.Fate()
	}
	for _, c := range []struct {
		got  Fate
		want string
	}{
		{run("COMPLETED", Step{Name: "0", State: "FAILED", ExitCode: "1:0"}), "FAILED (1:0) in step 0"},
		{run("FAILED", Step{Name: "batch", State: "FAILED"}, Step{Name: "0", State: outOfMemory, ExitCode: "0:125"}, Step{Name: "1", State: "FAILED"}), "OUT_OF_MEMORY (0:125) in step 0"},
		{run("TIMEOUT", Step{Name: "0", State: "FAILED", ExitCode: "15:0"}), "TIMEOUT"},
		{run(nodeFail, Step{Name: "0", State: cancelled}), "NODE_FAIL"},
		{run("FAILED", Step{Name: "extern", State: outOfMemory}, Step{Name: "0", State: completed}), "FAILED"},
		{run("FAILED", Step{Name: "batch", State: outOfMemory, ExitCode: "0:125"}), "OUT_OF_MEMORY (0:125) in step batch"},
	} {
		if c.got.String() != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

const shown = `JobId=19 ArrayJobId=16 ArrayTaskId=3 JobName=sweep lr=0.1 JobState=FAKE
   UserId=alice(1001) GroupId=alice(1001) MCS_label=N/A
   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)
   Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=143:0
   DerivedExitCode=0:15
   RunTime=00:00:05 TimeLimit=00:10:00 TimeMin=N/A
   SubmitTime=1795216214 EligibleTime=1795216214
   StartTime=1795216214 EndTime=1795216219 Deadline=N/A
   Partition=batch AllocNode:Sid=vm:100
   NodeList=node[01-02] FailedNode=node02
   NumNodes=2 NumCPUs=8 NumTasks=8 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   Command=/lab/w/job.sbatch --x=1
   WorkDir=/lab/my work
   StdErr=/lab/w/e_19.err
   StdIn=/dev/null
   StdOut=/lab/w/o_19.out
   Power=

JobId=16 ArrayJobId=16 ArrayTaskId=5-9%2 JobName=sweep
   UserId=alice(1001) GroupId=alice(1001) MCS_label=N/A
   JobState=PENDING Reason=Priority Dependency=(null)
   SubmitTime=1795216214 StartTime=Unknown EndTime=Unknown
   NodeList=(null)
`

func TestScontrolShowJob(t *testing.T) {
	records := parseShowJob([]byte(shown), nil)
	if len(records) != 2 {
		t.Fatalf("%d records", len(records))
	}
	r := records[0]
	if r.JobID != "16_3" || r.Raw != "19" || r.State != "FAILED" || r.User != "alice" || r.Restarts != 2 || r.ExitCode != "143:0" || r.NodeList != "node[01-02]" || r.FailedNode != "node02" ||
		r.WorkDir != "/lab/my work" || r.StdErr != "/lab/w/e_19.err" || r.StdOut != "/lab/w/o_19.out" || r.End.Unix() != 1795216219 || !strings.HasPrefix(r.Job, "sweep lr=0.1") {
		t.Errorf("%+v", r)
	}
	if p := records[1]; p.JobID != "16_[5-9%2]" || p.State != "PENDING" || !p.Start.IsZero() || p.NodeList != "" {
		t.Errorf("%+v", p)
	}
}

func TestOnlyTheNodesOfTheJobAreEvidence(t *testing.T) {
	out := "NodeName=node01 Arch=x86_64 CoresPerSocket=1\n   State=DOWN+NOT_RESPONDING\n   Reason=Not responding [slurm@1795216995]\n\nNodeName=node010\n   State=IDLE\n"
	got := parseNodes([]byte(out), map[string]bool{"node01": true})
	if len(got) != 1 || !strings.HasSuffix(got["node01"], "Reason=Not responding [slurm@1795216995]") {
		t.Errorf("%q", got)
	}
}

func TestNumbersOfJSONInAllTheirForms(t *testing.T) {
	for in, want := range map[string]int{
		`5`: 5, `"5"`: 5, `{"set":true,"infinite":false,"number":5}`: 5, `{"set":false,"infinite":false,"number":5}`: None, `{"set":true,"infinite":true,"number":0}`: None,
		`null`: None, `"x"`: None, `{}`: None, `[]`: None, `5.0`: 5, `-1`: None, `{"number":{"number":{}}}`: None, `1e300`: None,
	} {
		tr, err := parseTree([]byte(in))
		if err != nil || tr.count() != want {
			t.Errorf("%s: %d, %v; want %d", in, tr.count(), err, want)
		}
	}
	for in, want := range map[string]string{
		`"FAILED"`: "FAILED", `["FAILED"]`: "FAILED", `["RUNNING","COMPLETING"]`: completing, `["PENDING","REQUEUED"]`: requeued, `[]`: "", `null`: "", `"CANCELLED"`: cancelled,
	} {
		tr, _ := parseTree([]byte(in))
		if got := stateOf(tr, tree{}); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestArraysAreAnsweredInGroups(t *testing.T) {
	var lines []string
	for i := range 200 {
		state, exit := "COMPLETED", "0:0"
		if i >= 100 && i < 135 {
			state, exit = "FAILED", "1:0"
		} else if i < 2 {
			state, exit = "TIMEOUT", "0:0"
		}
		id := "50_" + number(i)
		lines = append(lines, row(id, number(1000+i), "alice", state, exit, "n1", "1000", "1010", "1100", "sweep"))
	}
	s := Summarize(jobsOf(t, lines...))
	if got := s.String(); got != "37 of 200 failed: 35 alike, FAILED (1:0); 2 with TIMEOUT" {
		t.Error(got)
	}
	if task, ok := s.Representative(); !ok || task != 100 {
		t.Errorf("representative %d", task)
	}
}

func FuzzSacct(f *testing.F) {
	f.Add([]byte(row("7", "7", "a", "FAILED", "1:0", "n[1-3]", "1", "2", "3", "x")+row("7.0", "7.0", "", "FAILED", "1:0", "n1", "1", "2", "3", "x")), true)
	f.Add([]byte("7|7|x"), false)
	f.Fuzz(func(t *testing.T, raw []byte, unit bool) {
		sep := separator
		if !unit {
			sep = "|"
		}
		records, err := parseSacct(raw, columns(nil), sep, time.UTC)
		if err != nil {
			return
		}
		check(t, assemble(records, "sacct", 0))
		parseFields(raw)
	})
}

// check holds jobs to what everything else relies on.
func check(t *testing.T, jobs []Job) {
	for i := range jobs {
		j := &jobs[i]
		if _, err := ParseID(j.ID); err != nil {
			t.Fatal(err)
		}
		if r, k := j.Subject(); r == nil || k < 0 || k >= len(j.Runs) {
			t.Fatalf("job %s has no run", j.ID)
		} else {
			_ = r.Fate().String()
		}
	}
	_ = Summarize(jobs).String()
	text := Accounting(jobs)
	for line := range bytes.Lines(text) {
		if bytes.Count(line, []byte("|")) != len(header)-1 {
			t.Fatalf("row %q", line)
		}
	}
}

func FuzzScontrol(f *testing.F) {
	f.Add([]byte(shown))
	f.Add([]byte("NodeName=a State=IDLE\nNodeName=b"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		check(t, assemble(parseShowJob(raw, time.UTC), "scontrol", 0))
		parseNodes(raw, map[string]bool{"a": true})
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"jobs":[{"job_id":2,"state":{"current":["FAILED"]},"job_state":"FAILED","steps":[{"step":{"id":"2.0"},"state":["FAILED"]}]}],"nodes":[{"name":"a","state":["DOWN"]}]}`))
	f.Add([]byte(`{"errors":[{"error_number":2017}],"meta":{"slurm":{"version":{"major":"24","minor":"11"}}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		tr, err := parseTree(raw)
		if err != nil {
			return
		}
		db := dbRecords(tr)
		check(t, assemble(db, "slurmrestd", tr.release()))
		live := liveRecords(tr)
		check(t, assemble(live, "slurmrestd", tr.release()))
		nodeText(tr, map[string]bool{"a": true})
		firstError(tr)
	})
}

// A step's submit line holds line ends where a script is given in quotes: the rows are whole all the same.
func TestARowMayHoldLineEnds(t *testing.T) {
	cols := []string{"JobID", "JobIDRaw", "State", "SubmitLine", "JobName"}
	text := "7|7|FAILED|sbatch job.sh|train\n7.0|7.0|FAILED|srun bash -c \n\necho a\n|bash\n7.1|7.1|COMPLETED|srun b|two\nlines\n"
	records, err := parseSacct([]byte(text), cols, "|", nil)
	if err != nil || len(records) != 1 || len(records[0].Steps) != 2 || records[0].Steps[0].Job != "bash" || records[0].Steps[1].State != "COMPLETED" {
		t.Errorf("%+v %v", records, err)
	}
	for _, bad := range []string{"7|7|FAILED\n8|8|FAILED|sbatch|x\n", "7|7|FAILED\n", "7\n"} {
		if records, err := parseSacct([]byte(bad), cols, "|", nil); err == nil {
			t.Errorf("%q: %+v", bad, records)
		}
	}
}
