package eval

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"faultline/incident"
)

// The engine is given a case's logs, as most people give them, and its number of ranks only where that is asked for.
func TestTheNumberOfRanksIsGivenWhereItIsAskedFor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"case.json": `{"id":"a","flags":{"world_size":8},"accept":["unknown"]}`, "logs/a.log": "step 1 loss 2.0\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for sized, want := range map[bool]int{false: 0, true: 8} {
		got := -1
		opts := Options{Sized: sized, Diagnose: func(_ context.Context, in CaseInput) (*incident.Report, error) {
			got = in.WorldSize
			return &incident.Report{}, nil
		}}
		if _, err := Run(t.Context(), []string{filepath.Dir(dir)}, opts); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("sized %v: the engine was told of %d ranks, not %d", sized, got, want)
		}
	}
}
