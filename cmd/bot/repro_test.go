package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// collectiveJob writes the logs of a simulated incident and returns their directory.
func collectiveJob(t *testing.T, mechanism string) string {
	t.Helper()
	dir := t.TempDir()
	call(t, "", "simulate", "--mechanism", mechanism, "--seed", "3", "--out", dir).want(t, exitOK)
	logs, err := filepath.Glob(filepath.Join(dir, "*", "logs"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%v, %v", logs, err)
	}
	return logs[0]
}

func TestReproWritesTheScriptOfAMismatch(t *testing.T) {
	logs := collectiveJob(t, "mismatch")
	out := filepath.Join(t.TempDir(), "repro.py")
	call(t, "", "repro", "--cpu", "--out", out, logs).want(t, exitOK)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`BACKEND = "gloo"`, "def odd(", "collective-mismatch"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(string(text), "is not known") {
		t.Errorf("the two calls of the report were not found:\n%.600s", text)
	}
}

func TestReproTakesAReportAsWellAsItsLogs(t *testing.T) {
	logs := collectiveJob(t, "rank-stalled")
	report := filepath.Join(t.TempDir(), "report.json")
	call(t, "", "diagnose", "--out", report, logs).want(t, exitOK)
	fromLogs := call(t, "", "repro", logs)
	fromLogs.want(t, exitOK, "rank-stalled, small", `BACKEND = "nccl"`)
	if fromReport := call(t, "", "repro", "--report", report); fromReport.out != fromLogs.out {
		t.Errorf("another script:\n%s\n%s", fromReport.out, fromReport.err)
	}
}

func TestReproSaysWhenThereIsNothingToShow(t *testing.T) {
	call(t, "", "repro", collectiveJob(t, "gpu-oom")).want(t, exitOK, "No script reproduces gpu-oom itself. This one tests memory alone", "python3 probe.py memory > result.txt", "def memory(args):")
	logs := collectiveJob(t, "host-oom")
	r := call(t, "", "repro", logs)
	r.want(t, exitInconclusive, "host-oom", "Instead: ")
	if r.out != "" {
		t.Errorf("a script all the same:\n%s", r.out)
	}
	call(t, "", "repro", "--mechanism", "rank-stalled", logs).want(t, exitUsage, "not a candidate; choose")
	call(t, "", "repro").want(t, exitUsage, "bot repro logs-4242/")
	call(t, "", "repro", "--report", filepath.Join(logs, "nothing.json")).want(t, exitUnreadable, "nothing.json")
	none := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(none, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	call(t, "", "repro", "--report", none).want(t, exitUnreadable, "is not a report")
}
