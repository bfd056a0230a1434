package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/fetch/source"
	"faultline/workflow"
)

func unix(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

// over is a row of endedColumns.
func over(cells ...string) string { return strings.Join(cells, separator) + "\n" }

func endedWords(list []workflow.Ended) []string {
	var out []string
	for _, e := range list {
		out = append(out, fmt.Sprintf("%s %s of %q %s %s %v %d", e.Job, e.Raw, e.Of, e.State, e.Name, e.Nodes, e.End.Unix()))
	}
	return out
}

func TestTheQueryForJobsThatEnded(t *testing.T) {
	s := &fakeCommand{answers: map[string]source.Output{"sacct -a": {Stdout: []byte(
		over("9", "9", "ana", "a", "p", "TIMEOUT", "n1", "1000", "1010", "1500", "a|b\x1fc") +
			over("7", "7", "ana", "a", "p", "FAILED", "n[1-2]", "1000", "1010", "1100", "train") +
			over("7", "7", "ana", "a", "p", "NODE_FAIL", "n[1-2]", "1000", "1005", "1009", "before the window") +
			over("8", "8", "ana", "a", "p", "FAILED", "n1", "1000", "1010", "2000", "at its end: the next one's") +
			over("10", "10", "ana", "a", "p", "CANCELLED by 1001", "n1", "1000", "1010", "1100", "a person did it") +
			over("11", "11", "ana", "a", "p", "REQUEUED", "n1", "1000", "1010", "1100", "goes on") +
			over("12", "12", "ana", "a", "p", "COMPLETED", "n1", "1000", "1010", "1100", "well") +
			over("13_4", "17", "ana", "a", "p", "OUT_OF_MEMORY", "n1", "1000", "1010", "1100", "element") +
			over("13_[5-9]", "13", "ana", "a", "p", "DEADLINE", "None assigned", "1000", "Unknown", "1100", "never began") +
			over("20+1", "21", "ana", "a", "p", "NODE_FAIL", "n3", "1000", "1010", "1010", "component") +
			over("x; rm", "x", "ana", "a", "p", "FAILED", "n3", "1000", "1010", "1010", "no id") +
			over("14", "14", "ana", "a", "p", "FAILED", "n3", "1000", "1010", "Unknown", "no end"))}}}
	got, err := (&Commands{Command: s}).Ended(context.Background(), unix(1010), unix(2000))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`20+1 21 of "20" NODE_FAIL component [n3] 1010`, `7 7 of "" FAILED train [n1 n2] 1100`, `13 13 of "13" DEADLINE never began [] 1100`,
		`13_4 17 of "13" OUT_OF_MEMORY element [n1] 1100`, "9 9 of \"\" TIMEOUT a|b\x1fc [n1] 1500",
	}
	if !slices.Equal(endedWords(got), want) {
		t.Errorf("got\n%q\nwant\n%q", endedWords(got), want)
	}
	if len(s.ran) != 1 || !strings.HasPrefix(s.ran[0], "sacct -a -X -P -n -D --delimiter="+separator+" -S uts1010 -E uts2000 --state=F,NF,TO,OOM,BF,DL -o JobID,") {
		t.Errorf("ran %q", s.ran)
	}
	for i, e := range got {
		for _, o := range got[:i] {
			if e.Key() == o.Key() {
				t.Errorf("%s and %s have one key", e.Job, o.Job)
			}
		}
	}
}

func TestRunsOfOneNameAreListedWhateverTheirEnd(t *testing.T) {
	s := &fakeCommand{answers: map[string]source.Output{"sacct --user=ana": {Stdout: []byte(
		over("12", "12", "ana", "a", "p", "COMPLETED", "n1", "1000", "1010", "1100", "train") +
			over("10", "10", "ana", "a", "p", "CANCELLED by 1001", "n1", "1000", "1010", "1200", "train") +
			over("13", "13", "ana", "a", "p", "RUNNING", "n1", "1000", "1010", "Unknown", "train") +
			over("14", "14", "berta", "a", "p", "COMPLETED", "n1", "1000", "1010", "1100", "train") +
			over("15", "15", "ana", "a", "p", "COMPLETED", "n1", "1000", "1010", "1100", "train-2"))}}}
	got, err := (&Commands{Command: s}).Runs(context.Background(), "ana", "train", unix(1010), unix(2000))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`12 12 of "" COMPLETED train [n1] 1100`, `10 10 of "" CANCELLED train [n1] 1200`}
	if !slices.Equal(endedWords(got), want) {
		t.Errorf("got\n%q\nwant\n%q", endedWords(got), want)
	}
	if len(s.ran) != 1 || !strings.HasPrefix(s.ran[0], "sacct --user=ana --name=train -X -P") || !strings.Contains(s.ran[0], "--state=F,NF,TO,OOM,BF,DL,CD,CA,PR ") {
		t.Errorf("ran %q", s.ran)
	}
}

func TestTheAccountingOverRESTNamesTheSameJobs(t *testing.T) {
	nodes := "[node01 node02 node03 node04]"
	for file, want := range map[string]string{
		"24.11/slurmrestd_v0.0.42_slurmdb_job.json": `2 2 of "" FAILED exit1kill ` + nodes + " 1795216734",
		"24.11/sacct_json_node_fail.json":           `17 17 of "" NODE_FAIL nodefail ` + nodes + " 1795216995",
		"22.05/sacct_json_failed.json":              `2 2 of "" FAILED exit1 ` + nodes + " 1795216219",
	} {
		raw := sample(t, file)
		asked := ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/openapi") {
				fmt.Fprint(w, `{"paths":{"/slurmdb/v0.0.42/job/{job_id}":{}}}`)
				return
			}
			asked = r.URL.Path + " " + r.URL.Query().Get("state") + " " + r.URL.Query().Get("start_time")
			_, _ = w.Write(raw)
		}))
		got, err := (&REST{URL: server.URL, Client: server.Client()}).Ended(context.Background(), unix(1), unix(1<<40-1))
		server.Close()
		if !slices.Equal(endedWords(got), []string{want}) {
			t.Errorf("%s: %q", file, endedWords(got))
		}
		if err != nil || asked != "/slurmdb/v0.0.42/jobs/ FAILED,NODE_FAIL,TIMEOUT,OUT_OF_MEMORY,BOOT_FAIL,DEADLINE uts1" {
			t.Errorf("%s: %v, asked %q", file, err, asked)
		}
	}
}

func TestTheNextBackendIsAskedWhereOneFails(t *testing.T) {
	broken := &fakeCommand{answers: map[string]source.Output{"sacct": {Code: 1, Stderr: []byte("sacct: error: slurmdbd is down\n")}}}
	works := &fakeCommand{answers: map[string]source.Output{"sacct": {Stdout: []byte(over("7", "7", "ana", "a", "p", "FAILED", "n1", "1000", "1010", "1100", "train"))}}}
	c := &Cluster{Name: "west", Backends: []Backend{&Commands{Command: broken}, &Commands{Command: works}}}
	got, err := c.Ended(context.Background(), unix(0), unix(2000))
	if err != nil || len(got) != 1 || got[0].Cluster != "west" || got[0].Key() != "ended:west:7:1010" {
		t.Errorf("%+v, %v", got, err)
	}
	c.Backends = c.Backends[:1]
	if _, err := c.Ended(context.Background(), unix(0), unix(2000)); err == nil || !strings.Contains(err.Error(), "slurmdbd is down") {
		t.Error(err)
	}
	c.Backends = nil
	if _, err := c.Ended(context.Background(), unix(0), unix(2000)); err == nil || errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}
