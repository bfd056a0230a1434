package workflow

import (
	"context"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/incident"
)

// A look at a running job is said of its moment; it may be repeated, and the report of the end is a first verdict, though no file changed.
func TestALookAtARunningJobIsNoVerdict(t *testing.T) {
	s := chatStage()
	s.Quiet = func(string) time.Duration { return 2 * time.Minute }
	s.located, s.written = []string{"a", "b"}, s.now
	var moments []time.Time
	state := incident.StateRunning
	s.verdict = func(in analysis.Input) (*incident.Report, error) {
		r := report("completed", incident.NoFailure, nil, "no", "a.out", "b.out")
		if in.Moment != nil {
			moments = append(moments, in.Moment.At)
			r.Triage = &incident.Triage{State: state, Severity: incident.TriageNone}
		}
		return r, nil
	}
	s.open(t)
	s.work(t)
	s.at(t, AwaitingEnd)
	for range 2 {
		s.now = s.now.Add(time.Minute)
		s.handle(t, Input{Event: LookNow})
		s.work(t)
		inv := s.at(t, Reported)
		if !inv.momentary() || len(inv.Report.Revisions) != 0 || len(inv.Open) != 0 {
			t.Fatalf("triage %v, revisions %v, open %v", inv.Report.Triage, inv.Report.Revisions, inv.Open)
		}
		if n := len(moments); !moments[n-1].Equal(s.now) {
			t.Errorf("looked at %v, want %v", moments[n-1], s.now)
		}
	}

	s.verdict = func(in analysis.Input) (*incident.Report, error) {
		if in.Moment != nil {
			t.Error("the job is taken to run after its end")
		}
		return report("gpu-ecc", incident.Confirmed, []int{3}, "yes", "a.out", "b.out"), nil
	}
	s.now = s.now.Add(3 * time.Minute)
	if ended, err := s.HasEnded(context.Background(), "1"); !ended || err != nil {
		t.Fatal(ended, err)
	}
	s.work(t)
	inv := s.at(t, Reported)
	if inv.momentary() || inv.Report.Verdict.Mechanism != "gpu-ecc" || len(inv.Report.Revisions) != 0 {
		t.Errorf("%s, revisions %v", inv.Report.Verdict.Mechanism, inv.Report.Revisions)
	}
	if err := s.Handle(context.Background(), "1", Input{Event: LookNow}); err == nil {
		t.Error("a job that ended is looked at as if it ran")
	}
}

// A snapshot in the store keeps when the files of a running job were written.
func TestASnapshotKeepsWhenFilesWereWritten(t *testing.T) {
	at := time.Date(2025, 6, 3, 14, 0, 0, 0, time.UTC).UnixNano()
	inv := Investigation{ID: "1", Running: true, Sources: []incident.Source{{Name: "a", Path: "/a"}, {Name: "b", Path: "/b", Written: at}}}
	b, err := inv.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeInvestigation(b)
	if err != nil || got.Sources[1].Written != at || got.Sources[0].Written != 0 {
		t.Errorf("%v %v", got.Sources, err)
	}
}
