package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"faultline/eval"
	"faultline/incident"
)

// With --logs-only nobody tells the engine how many ranks there are.
func TestLogsOnlyWithholdsTheNumberOfRanks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	text := "step 1 loss 2.0\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in := eval.CaseInput{ID: "a", WorldSize: 8, Sources: []incident.Source{{Name: "a.log", Path: path, Bytes: int64(len(text))}}}
	for logsOnly, want := range map[bool]bool{false: true, true: false} {
		r, err := (&evaluation{logsOnly: logsOnly}).diagnose()(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		if told := r.Job.WorldSize != nil; told != want {
			t.Errorf("logs only %v: the number of ranks was told: %v", logsOnly, told)
		}
	}
}
