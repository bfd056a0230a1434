package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDiffComparesTwoRuns(t *testing.T) {
	dir := t.TempDir()
	oom, good := filepath.Join(dir, "oom"), filepath.Join(dir, "good")
	call(t, "", "simulate", "--mechanism", "gpu-oom", "--seed", "3", "--out", oom).want(t, exitOK)
	call(t, "", "simulate", "--mechanism", "throughput-regression", "--seed", "3", "--out", good).want(t, exitOK)
	oom, good = only(t, oom), only(t, good)

	call(t, "", "diff", oom, oom).want(t, exitInconclusive, "Not fixed:", "failed again", "No recorded difference.")
	call(t, "", "diff", oom, good).want(t, exitInconclusive, "Regression:", "past step 39", "the new run slowed", "Changed")

	report := filepath.Join(dir, "report.json")
	call(t, "", "diagnose", "--format", "json", "--out", report, oom)
	call(t, "", "diff", "--json", report, good).want(t, exitInconclusive, `"schema": "faultline.rerun/v1"`, `"outcome": "regression"`)

	call(t, "", "diff", oom).want(t, exitUsage, "name two runs")
	call(t, "", "diff", oom, filepath.Join(dir, "none")).want(t, exitUnreadable)
}

// only is the folder of the logs of the only incident below a folder.
func only(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 {
		t.Fatal(len(list), err)
	}
	return filepath.Join(dir, list[0].Name(), "logs")
}
