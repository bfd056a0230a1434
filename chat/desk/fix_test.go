package desk

import (
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/incident"
	"faultline/workflow"
)

// fixStage is a channel whose job 12345 ran out of memory at step 40; job 12399 is what next makes of it.
func fixStage(s *stage, next func(r *incident.Report)) {
	s.fetch.where["west/12399"] = []string{"/logs/west/12399"}
	s.fetch.users["west/12399"] = []string{"ana"}
	s.fetch.files["/logs/west/12399"] = []incident.Source{{Name: "12399.out", Path: "/logs/west/12399/12399.out"}}
	s.engine.diagnose = func(in analysis.Input) (*incident.Report, error) {
		r := report("gpu-oom", incident.Confirmed)
		step := int64(40)
		r.Job.LastStep = &step
		if len(in.Sources) > 0 && in.Sources[0].Name == "12399.out" {
			next(r)
		}
		return r, nil
	}
}

func ran(to int64) func(r *incident.Report) {
	return func(r *incident.Report) {
		r.Job.LastStep = &to
		r.Verdict = incident.Verdict{Status: incident.NoFailure, Mechanism: "completed", Origin: "none", Ending: incident.EndSeen}
		r.Action, r.Ranks = incident.Action{Resubmit: "no"}, nil
	}
}

func failedAgain(*incident.Report) {}

func TestTheRunWithTheFixDecides(t *testing.T) {
	for name, c := range map[string]struct {
		next  func(r *incident.Report)
		state workflow.State
		say   string
	}{
		"it passes":      {ran(90), workflow.Resolved, "Fixed: Job 12399 completed"},
		"it fails again": {failedAgain, workflow.Reported, "Not fixed: Job 12399 failed again"},
		"it is not so far": {func(r *incident.Report) {
			ran(20)(r)
			r.Verdict.Ending, r.Verdict.Mechanism = incident.EndUnseen, "unknown"
		}, workflow.VerifyingFix, "Can't tell yet: Job 12399 reached step 20"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			fixStage(s, c.next)
			s.says("12345")
			s.says("fixed F-1 12399 halved the batch")
			s.at("F-1", c.state)
			s.at("F-2", workflow.Reported)
			thread := s.transcript()
			if n := strings.Count(thread, "compared with the run that failed"); n != 1 || !strings.Contains(thread, c.say) {
				t.Errorf("%d comparisons, want one with %q:\n%s", n, c.say, thread)
			}
		})
	}
}

// The case of the new run may have its verdict before anybody says that it has the fix.
func TestARunThatHasItsVerdictIsComparedAtOnce(t *testing.T) {
	s := newStage(t)
	fixStage(s, ran(90))
	s.says("12345")
	s.says("12399")
	s.says("fixed F-1 12399")
	s.at("F-1", workflow.Resolved)
	if n := strings.Count(s.transcript(), "Fixed: Job 12399"); n == 0 {
		t.Errorf("no comparison:\n%s", s.transcript())
	}
}

func TestAPostmortemComesIntoTheThread(t *testing.T) {
	s := newStage(t)
	fixStage(s, ran(90))
	s.says("12345")
	s.says("postmortem F-1")
	if got := s.transcript(); !strings.Contains(got, "postmortem.md") || !strings.Contains(got, "postmortem.html") {
		t.Errorf("no page in the thread:\n%s", got)
	}
	s.at("F-1", workflow.Reported)
}
