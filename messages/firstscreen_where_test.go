package messages

import (
	"testing"

	"faultline/incident"
)

// The one file that tells is named where nobody is; beside a set of causes its clues name it.
func TestTheOneFileIsShown(t *testing.T) {
	v := incident.Verdict{Status: incident.Probable, Scope: "all", Root: incident.Root{File: "edge5.out", Of: 5}, Candidates: make([]incident.Candidate, 1)}
	if got, want := unplaced(v), "Only in edge5.out, of 5 logs; no rank or node is proven."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	v.Candidates = make([]incident.Candidate, 2)
	if got := unplaced(v); got != "" {
		t.Errorf("%q", got)
	}
}
