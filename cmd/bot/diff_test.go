package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// A run is compared with what the history keeps of the last good one: what it was set up with, and its figures.
func TestDiffComparesWithTheHistoryOfTheJob(t *testing.T) {
	dir := t.TempDir()
	run := func(job string, seconds float64, end string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "SLURM_JOB_ID=%s\nSLURM_JOB_NAME=nightly\nWORLD_SIZE=8\n", job)
		at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
		for step := range 60 {
			at = at.Add(time.Duration(seconds * float64(time.Second)))
			fmt.Fprintf(&b, "%s INFO step=%d loss=%.4f tokens/s=%.0f mem=70.0%%\n", at.Format("2006-01-02 15:04:05"), step+1, 3-float64(step)/100, 16384/seconds)
		}
		logs := filepath.Join(dir, job)
		if err := os.MkdirAll(logs, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(logs, "slurm-"+job+".out"), []byte(b.String()+end), 0o644); err != nil {
			t.Fatal(err)
		}
		return logs
	}
	file := filepath.Join(dir, "history.jsonl")
	good := run("4241", 2, "Training completed\n")
	keep := func(logs string) string { return call(t, "", "diagnose", "--format", "history", logs).out }
	failed := run("4242", 9, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.10 GiB of which 341.31 MiB is free.\n")
	if err := os.WriteFile(file, []byte(keep(good)+keep(failed)), 0o644); err != nil {
		t.Fatal(err)
	}
	call(t, "", "diff", file, run("4243", 2.4, "Training completed\n")).want(t, exitInconclusive, "Regression:", "job 4241", "throughput 6827 tokens/s, previously 8192 (-17%)")
	call(t, "", "diff", file, run("4244", 2, "Training completed\n")).want(t, exitOK, "No worse:", "throughput and memory are no worse")
	call(t, "", "diff", filepath.Join(dir, "none.jsonl"), good).want(t, exitUnreadable)
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
