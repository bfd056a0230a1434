package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/simulate"
)

// crashed writes the logs of a crash and returns their directory and the job.
func crashed(t *testing.T, seed uint64) (dir string, inc *simulate.Incident) {
	t.Helper()
	inc, err := simulate.Generate(simulate.Spec{Seed: seed, Mechanism: "native-crash", Torch: "2.5", FileMode: "node",
		Layout: simulate.Layout{Kind: "ddp", TP: 1, CP: 1, EP: 1, DP: 64, PP: 1}, NodeCount: 16, PerNode: 4})
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "logs")
	for _, f := range inc.Files {
		write(t, filepath.Join(dir, f.Name), string(f.Data))
	}
	write(t, filepath.Join(dir, "environment.txt"), "SLURM_JOB_NAME=nightly\nhf_token=hf_"+strings.Repeat("a1B2", 9)+"\n")
	return dir, inc
}

func TestDiagnosisIsComparedWithAHistory(t *testing.T) {
	dir, inc := crashed(t, 5)
	line := call(t, "", "diagnose", "--format", "history", "--cluster", "west", "--user", "u-77", dir)
	line.want(t, 0)
	var rec map[string]any
	if err := json.Unmarshal([]byte(line.out), &rec); err != nil || strings.Count(line.out, "\n") != 1 {
		t.Fatalf("%v in %q", err, line.out)
	}
	if rec["id"] != fmt.Sprintf("west/%d/0", inc.Played.Job) || rec["name"] != "nightly" || rec["user"] != "u-77" || rec["mechanism"] != "native-crash" {
		t.Errorf("%v", rec)
	}
	data, _ := simulate.History(inc, simulate.HistorySpec{Kind: "host", Name: "nightly"})
	file := write(t, filepath.Join(t.TempDir(), "past.jsonl"), string(data)+line.out) // its own line is no earlier runs
	r := call(t, "", "diagnose", "--full", "--history", file, "--cluster", "west", dir)
	r.want(t, 0, "Seen before", "of the 41 earlier jobs", "Drain ", "scontrol update NodeName=", "past.jsonl:")
	call(t, "", "diagnose", "--format", "json", "--history", file, dir).want(t, 0, `"runs": 41`, `"weighs": true`)
	html := filepath.Join(t.TempDir(), "r.html")
	call(t, "", "diagnose", "--out", html, "--history", file, dir).want(t, 0)
	if b, _ := os.ReadFile(html); !strings.Contains(string(b), "Earlier runs") {
		t.Error("no earlier runs in the page")
	}
	call(t, "", "diagnose", "--history", filepath.Join(t.TempDir(), "none.jsonl"), dir).want(t, exitUsage, "no such file", "--format history")
	call(t, "", "diagnose", "--history", dir, dir).want(t, 0, "Segmentation fault") // logs of an earlier run
	// What is no history changes nothing but for the warning.
	call(t, "", "diagnose", "--full", "--history", write(t, filepath.Join(t.TempDir(), "x"), "\x00\xffrubbish\n"), dir).want(t, 0, "x:1: not used", "no earlier runs in x")
}

func TestALineOfHistoryNeedsAJob(t *testing.T) {
	logs := write(t, filepath.Join(t.TempDir(), "some.log"), "Training completed\n")
	call(t, "", "diagnose", "--format", "history", logs).want(t, 1, "--job ID")
	call(t, "", "diagnose", "--format", "history", "--job", "31", logs).want(t, 0, `"id":"31/0"`)
}

func TestTheHistoryOfAServedBotIsExported(t *testing.T) {
	yaml := fmt.Sprintf("data: {dir: %q}\n", filepath.Join(t.TempDir(), "data"))
	s := kept(t, yaml)
	defer s.Close()
	file := filepath.Join(t.TempDir(), "history.jsonl")
	here(t, "", yaml, "export", "--history", "--out", file).want(t, 0, "history.jsonl: 1 run\n")
	b, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(b), `"job":"4242"`) {
		t.Errorf("%v %s", err, b)
	}
	here(t, "", yaml, "export", "--history", "--cluster", "nowhere").want(t, 0)
	here(t, "", yaml, "export", "--history", "F-1").want(t, exitUsage, "leave out F-1")
}

func TestASimulatedHistoryIsComparedAsItIsWritten(t *testing.T) {
	dir := t.TempDir()
	call(t, "", "simulate", "--mechanism", "native-crash", "--ranks", "128", "--seed", "4", "--history", "host", "--out", dir).want(t, 0)
	made, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(made) != 1 {
		t.Fatal(err, made)
	}
	call(t, "", "diagnose", "--history", filepath.Join(made[0], "history.jsonl"), filepath.Join(made[0], "logs")).want(t, 0, "was the culprit in 4 of the 41 earlier jobs")
	call(t, "", "simulate", "--history", "none", "--out", dir).want(t, exitUsage, "bot simulate --list")
	call(t, "", "simulate", "--list").want(t, 0, "Histories of earlier runs", "host-same-rank")
}
