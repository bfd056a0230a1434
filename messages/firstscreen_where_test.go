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

// Where nothing is placed but the first clue, that is said, and that it proves nothing.
func TestWhereTheFirstClueIs(t *testing.T) {
	rank := 7
	report := func(v incident.Verdict, clues ...incident.Standout) *incident.Report {
		return &incident.Report{Verdict: v, Standouts: clues}
	}
	unknown := incident.Verdict{Mechanism: "unknown", Status: incident.Inconclusive}
	slow := incident.Verdict{Mechanism: "communication-slow", Status: incident.Probable, Scope: "all"} // one slow rank slows all: this denies nobody
	named := unknown
	named.Root.Named = "task 4"
	for _, c := range []struct {
		r    *incident.Report
		want string
	}{
		{report(unknown, incident.Standout{Node: "n44"}, incident.Standout{Node: "n41"}), "Clue 1 is from n44; not proven to be at fault."},
		{report(unknown, incident.Standout{Node: "n44", Rank: &rank}), "Clue 1 is from rank 7 on n44; not proven to be at fault."},
		{report(unknown, incident.Standout{}), "No rank or node is proven."},
		{report(slow), "The whole job; no rank or node stands out."},
		{report(named, incident.Standout{Node: "n44"}), "Task 4, according to other processes; not proven."},
	} {
		if got := whereText(c.r); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
