package analysis

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
)

// A job that ends at 23:30:00, and two daemons of which one was killed at a quarter past.
const storageJob = `2026-11-20 23:00:00,000 INFO [rank0] starting with world_size=1
2026-11-20 23:20:00,000 INFO step 10 loss 2.5
[rank0]: Traceback (most recent call last):
[rank0]:   File "/app/train.py", line 10, in <module>
[rank0]:     main()
[rank0]: RuntimeError: CUDA error: unknown error
2026-11-20 23:30:00,000 ERROR the end
`

var storageLogs = map[string]string{
	"aisproxy-p-0.tar.gz/aisproxy.h.INFO.1120-220000.1": "Started up at 2026/11/20 22:00:00, host h, go1.26.8 for linux/amd64\n" +
		"I 22:00:00.100000 daemon:240 Node p[p-0], Version 5.0.v1.5.0, build lab\n" +
		"E 22:00:01.000000 slow:1 slow-kalive failure after 3 attempts - removing t[t-2] from Smap v3[N_g66e331O, p[p-0], t=2, p=1]\n" +
		"W 23:15:10.000000 kalive:266 p[p-0] failed to fast-kalive t[t-1] err: [ Get \"http://10.0.0.1:51081/v1/health\": dial tcp 10.0.0.1:51081: connect: connection refused 0 ]\n" +
		"E 23:15:40.000000 kalive:439 slow-kalive failure after 3 attempts - removing t[t-1] from Smap v6[N_g66e331O, p[p-0], t=2, p=1]\n" +
		"E 23:16:00.000000 token required: GET /v1/daemon (p[p-0]: htrun.go:1640 <- prxauth.go:367])\n" +
		"I 23:16:10.000000 {err.get.n:7,get.n:900,state.flags:6}\n",
	"aistarget-t-1.tar.gz/aistarget.h.INFO.1120-220000.1": "Started up at 2026/11/20 22:00:00, host h, go1.26.8 for linux/amd64\n" +
		"I 22:00:00.100000 daemon:240 Node t[t-1], Version 5.0.v1.5.0, build lab\nI 23:15:00.000000 {put.n:10,state.flags:6}\n",
	"aistarget-t-1.tar.gz/aistarget.h.INFO.1120-231800.1": "Started up at 2026/11/20 23:18:00, host h, go1.26.8 for linux/amd64\n" +
		"I 23:18:00.100000 daemon:240 Node t[t-1], Version 5.0.v1.5.0, build lab\nE 23:18:01.000000 t:1 \xff\xfe invalid t[t-1] thing\n",
	"notes.txt": "nothing of this is a log\n",
}

// written puts files below a new directory and returns them as sources, each under its name.
func written(t *testing.T, files map[string]string, prefix string) []incident.Source {
	t.Helper()
	dir := t.TempDir()
	var out []incident.Source
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out = append(out, incident.Source{Name: prefix + name, Path: p, Bytes: int64(len(text))})
	}
	slices.SortFunc(out, func(a, b incident.Source) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func diagnosed(t *testing.T, in Input) *incident.Report {
	t.Helper()
	r, err := Diagnose(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func daemonNamed(t *testing.T, r *incident.Report, name string) *incident.StorageDaemon {
	t.Helper()
	for i := range r.Storage.Daemons {
		if r.Storage.Daemons[i].Name == name {
			return &r.Storage.Daemons[i]
		}
	}
	t.Fatalf("no %s among %d daemons", name, len(r.Storage.Daemons))
	return nil
}

func TestLogsOfTheStorageAreToldAndDecideNothing(t *testing.T) {
	job := written(t, map[string]string{"train.log": storageJob}, "")
	plain := diagnosed(t, Input{Sources: job})
	r := diagnosed(t, Input{Sources: job, Storage: written(t, storageLogs, "ais-logs/")})
	if !reflect.DeepEqual(r.Verdict, plain.Verdict) || !reflect.DeepEqual(r.Chain, plain.Chain) || !reflect.DeepEqual(r.Coverage, plain.Coverage) ||
		!reflect.DeepEqual(r.Hypotheses, plain.Hypotheses) || !reflect.DeepEqual(r.Action, plain.Action) || r.Storage.Judgement != plain.Storage.Judgement {
		t.Error("the storage's logs change what is concluded of the job's")
	}
	s := r.Storage
	if s.Status != "partial" || s.Clocks != "unproven" || s.Window == nil || *s.Window != "2026-11-20T22:30:00/2026-11-20T23:35:00" || len(s.Daemons) != 2 {
		t.Fatalf("%+v", s)
	}
	if v := r.Verification; v.Quotes.Held != v.Quotes.Checked || v.Counts.Held != v.Counts.Checked || v.Counts.Held == 0 || len(v.Withdrawn) > 0 {
		t.Errorf("verification: %+v", v)
	}
	target, proxy := daemonNamed(t, r, "target t-1"), daemonNamed(t, r, "proxy p-0")
	if len(target.Lives) != 2 || target.Lives[0].Ended != "killed" || target.NotCovered[0].Why != "lost-tail" {
		t.Errorf("%+v", target)
	}
	for _, e := range proxy.Events {
		want := map[string]int{"t-2": 0, "t-1": 1, "": 1}
		peer := ""
		if e.Peer != nil {
			peer = *e.Peer
		}
		if e.InWindow == nil || *e.InWindow != want[peer] {
			t.Errorf("%s about %q: %v within the window", e.Kind, peer, e.InWindow)
		}
		if e.Kind == "refused" && (!e.Administrative || e.Level != "background") {
			t.Errorf("somebody who looked at the cluster is no alarm: %+v", e)
		}
		if len(e.Evidence) == 0 || e.Evidence[0].Text == "" {
			t.Errorf("%s is not quoted: %+v", e.Kind, e.Evidence)
		}
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "notes.txt") }) {
		t.Errorf("what is no log of a daemon is said: %q", r.Warnings)
	}
	if !slices.ContainsFunc(r.Sources, func(s incident.Source) bool { return strings.HasPrefix(s.Name, "ais-logs/") && s.SHA256 != "" }) {
		t.Errorf("the cited logs have no sums: %+v", r.Sources)
	}
}

func TestTheOrderOfTheStoragesLogsDoesNotMatter(t *testing.T) {
	job, logs := written(t, map[string]string{"train.log": storageJob}, ""), written(t, storageLogs, "ais-logs/")
	want, err := json.Marshal(diagnosed(t, Input{Sources: job, Storage: logs, Workers: 1}))
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(logs)
	got, err := json.Marshal(diagnosed(t, Input{Sources: job, Storage: logs, Workers: 4}))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("another order, another report")
	}
}

func TestDaemonLogsAmongTheJobsAreNotOfTheJob(t *testing.T) {
	job := written(t, map[string]string{"train.log": storageJob}, "")
	plain := diagnosed(t, Input{Sources: job})
	logs := written(t, storageLogs, "")
	mixed := append(slices.Clone(job), slices.DeleteFunc(logs, func(s incident.Source) bool { return s.Name == "notes.txt" })...)
	r := diagnosed(t, Input{Sources: mixed})
	if len(r.Storage.Daemons) != 2 || !reflect.DeepEqual(r.Coverage, plain.Coverage) || !reflect.DeepEqual(r.Verdict, plain.Verdict) {
		t.Errorf("%d daemons; %+v", len(r.Storage.Daemons), r.Coverage)
	}
	if _, err := Diagnose(context.Background(), Input{Sources: mixed[1:]}); err == nil || !strings.Contains(err.Error(), "give the job's logs") {
		t.Errorf("logs of daemons alone: %v", err)
	}
}

func TestCompressedLogsOfTheStorage(t *testing.T) {
	text := storageLogs["aisproxy-p-0.tar.gz/aisproxy.h.INFO.1120-220000.1"]
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, text)
	z.Close()
	logs := written(t, map[string]string{"aisproxy.h.INFO.1120-220000.1.gz": b.String()}, "")
	logs[0].Origin = "archive:aisproxy-p-0.tar.gz"
	r := diagnosed(t, Input{Sources: written(t, map[string]string{"train.log": storageJob}, ""), Storage: logs})
	d := daemonNamed(t, r, "proxy p-0")
	if len(d.Events) == 0 || r.Verification.Quotes.Held != r.Verification.Quotes.Checked {
		t.Errorf("%+v %+v", d, r.Verification)
	}
	cut := b.Bytes()[:b.Len()-40]
	logs = written(t, map[string]string{"x.gz": string(cut)}, "")
	r = diagnosed(t, Input{Sources: written(t, map[string]string{"train.log": storageJob}, ""), Storage: logs})
	if d := r.Storage.Daemons[0]; d.Files[0].ReadError == nil {
		t.Errorf("a file that is cut is said to be: %+v", d.Files)
	}
}
