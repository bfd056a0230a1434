package desk

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/incident"
	"faultline/workflow"
)

// lessonStage is a channel in which cases of one failure were mended in various ways.
func lessonStage(t *testing.T) *stage {
	s := newStage(t)
	s.desk.Flow.Lessons = s.desk.Lessons
	s.engine.diagnose = func(analysis.Input) (*incident.Report, error) { return report("gpu-oom", incident.Confirmed), nil }
	past := []struct {
		change func(inv *workflow.Investigation)
		of     string
	}{
		{fixedBy("halved the micro-batch", incident.Fixed), "gpu-oom"},
		{fixedBy("batch 8 -> 4", incident.NotFixed), "gpu-oom"},
		{fixedBy("smaller batch", incident.Fixed), "gpu-oom"},
		{fixedBy("smaller batch again", incident.Fixed), "gpu-oom"},
		{fixedBy("prayed, password=hunter2hunter2", incident.Fixed), "gpu-oom"},
		{fixedBy("smaller batch", ""), "gpu-oom"},            // nobody knows yet
		{fixedBy("smaller batch", incident.Fixed), "killed"}, // another failure
		{func(inv *workflow.Investigation) { // people say that it was another failure
			fixedBy("smaller batch", incident.Fixed)(inv)
			inv.Outcome = &workflow.Outcome{Verdict: "wrong", Mechanism: "gpu-ecc"}
		}, "gpu-oom"},
		{func(inv *workflow.Investigation) { // of another channel
			fixedBy("smaller batch", incident.Fixed)(inv)
			inv.Home.Channel = "C2"
		}, "gpu-oom"},
	}
	for i, p := range past {
		inv := workflow.Investigation{ID: fmt.Sprintf("F-%d", i+1), Job: fmt.Sprint(100 + i), Home: workflow.Home{Team: "T1", Channel: "C1", Requester: "U1"},
			State: workflow.Resolved, Report: report(p.of, incident.Confirmed)}
		p.change(&inv)
		if err := s.store.Save(context.Background(), workflow.Change{Investigation: &inv}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func fixedBy(text, outcome string) func(inv *workflow.Investigation) {
	return func(inv *workflow.Investigation) {
		inv.Fix = &workflow.Fix{Text: text, By: "U3", Outcome: outcome}
	}
}

func TestTheNextCaseHearsWhatHelpedBefore(t *testing.T) {
	s := lessonStage(t)
	s.says("12345")
	inv := s.at("F-10", workflow.Reported)
	if len(inv.Lessons) != 1 || plain(inv.Lessons[0]) != "Worked here before: Reduce the micro-batch size (3 of 4 times: F-4, F-3, F-1)." {
		t.Errorf("%q", inv.Lessons)
	}
	told := 0
	for _, p := range s.all() {
		if p.Key == "final-1" {
			told += strings.Count(textOf(t, p), "*Worked here before*: Reduce the micro-batch size (3 of 4 times: F-4, F-3, F-1).")
		}
	}
	if told != 1 {
		t.Errorf("it is %d times under the verdict", told)
	}
	got := s.says("fixes F-10")
	for _, want := range []string{"What helps when a GPU ran out of memory", "Reduce the micro-batch size. Risk: Slower steps", "*Worked here 3 of 4 times: F-4, F-3, F-1.*",
		"In this channel's words: prayed, password=", "*Worked 1 of 1 time: F-5.*", "Shard parameters"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "hunter2") {
		t.Errorf("a secret is shown:\n%s", got)
	}
}

// What was forgotten is not remembered, and one case of which nobody knows how it ended teaches nothing.
func TestNothingIsRememberedWhereNothingWasLearnt(t *testing.T) {
	s := lessonStage(t)
	s.store.crowd = true // the number of a case that was forgotten is not given again
	for range 9 {
		_, _ = s.store.NewID(context.Background())
	}
	for _, id := range []string{"F-1", "F-3", "F-4", "F-5"} {
		if err := s.store.Forget(context.Background(), id, "U1"); err != nil {
			t.Fatal(err)
		}
	}
	s.says("12345")
	rows, _ := s.store.Find(context.Background(), workflow.Query{Job: "12345"})
	inv := s.at(rows[0].ID, workflow.Reported)
	if len(inv.Lessons) != 0 {
		t.Errorf("%q", inv.Lessons)
	}
	if got := s.says("fixes " + inv.ID); !strings.Contains(got, "*Worked here 0 of 1 time.*") {
		t.Errorf("what did not help is not said:\n%s", got)
	}
}
