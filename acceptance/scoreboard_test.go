package acceptance

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"faultline/eval"
)

const scoreboard = "../docs/scoreboard.md"

// The scoreboard in docs/ is that of the engine as it is; FAULTLINE_FULL=1 compares, as CI does. After a change that is meant: go test ./acceptance -update.
func TestTheScoreboardInTheDocumentationIsCurrent(t *testing.T) {
	t.Parallel()
	needCorpus(t)
	if brief() {
		t.Skip("the scoreboard is made of the whole grid: FAULTLINE_FULL=1")
	}
	if *seed != gridSeed {
		t.Skip("the scoreboard is made of another seed")
	}
	var got bytes.Buffer
	if err := grid(t).board.Markdown(&got); err != nil {
		t.Fatal(err)
	}
	if err := storageGrid(t).board.StorageMarkdown(&got); err != nil {
		t.Fatal(err)
	}
	blind, drift := unforeseen(t)
	if err := eval.TriedMarkdown(&got, blind, drift); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(scoreboard, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(scoreboard)
	if err != nil {
		t.Fatalf("%v (write it: go test ./acceptance -run Scoreboard -update)", err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		a, b := bytes.Split(want, []byte("\n")), bytes.Split(got.Bytes(), []byte("\n"))
		for i := range min(len(a), len(b)) {
			if !bytes.Equal(a[i], b[i]) {
				t.Fatalf("docs/scoreboard.md is not current (go test ./acceptance -run Scoreboard -update).\nline %d is   %s\nthe engine %s", i+1, a[i], b[i])
			}
		}
		t.Fatalf("docs/scoreboard.md is not current: %d lines, the engine gives %d (go test ./acceptance -run Scoreboard -update)", len(a), len(b))
	}
}

// A sample is the beginning of the same grid, so a case that fails in it stands in the scoreboard. The goals leave a sample room for chance;
// a regression of a few cases would fit into that.
func TestNoCaseFailsThatTheScoreboardPasses(t *testing.T) {
	t.Parallel()
	if *seed != gridSeed {
		t.Skip("the scoreboard is made of another seed")
	}
	var got bytes.Buffer
	if err := errors.Join(grid(t).board.Markdown(&got), storageGrid(t).board.StorageMarkdown(&got)); err != nil {
		t.Fatal(err)
	}
	known, err := os.ReadFile(scoreboard)
	if err != nil {
		t.Fatal(err)
	}
	const failed = "* `"
	for line := range bytes.Lines(got.Bytes()) {
		if bytes.HasPrefix(line, []byte(failed)) && !bytes.Contains(known, line) {
			t.Errorf("docs/scoreboard.md does not know that this case fails: %s", line)
		}
	}
}
