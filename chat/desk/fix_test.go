package desk

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

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

// nextStage is fixStage in a channel that watches; the cluster calls job 12345 train, ana's.
func nextStage(t *testing.T, next func(r *incident.Report)) *watchStage {
	s := newWatchStage(t)
	fixStage(s.stage, next)
	s.policy.Watches = nil // nothing is begun by itself
	s.desk.Flow.Facts = func(context.Context, string, string) (workflow.Found, error) {
		return workflow.Found{Name: "train", Users: []string{"ana"}}, nil
	}
	s.says("12345")
	return s
}

// runs is a run of the job that began after the failure and ended just now.
func (s *watchStage) runs(job, state string, change ...func(*workflow.Ended)) {
	s.ended(job, append([]func(*workflow.Ended){func(e *workflow.Ended) { e.State, e.Start = state, s.now.Add(-time.Second) }}, change...)...)
	s.fetch.files["/logs/west/"+job] = []incident.Source{{Name: "12399.out", Path: "/logs/west/" + job + "/out"}}
}

func TestTheNextRunOfAJobShowsWhetherAFixHolds(t *testing.T) {
	for name, c := range map[string]struct {
		next  func(r *incident.Report)
		state workflow.State
		say   string
	}{
		"it passes":      {ran(90), workflow.Resolved, "Fixed: Job 12400"},
		"it fails again": {failedAgain, workflow.Reported, "Not fixed: Job 12400"},
	} {
		t.Run(name, func(t *testing.T) {
			s := nextStage(t, c.next)
			s.says("fixed F-1 halved the batch")
			s.at("F-1", workflow.Fixing)
			s.passes(1)
			s.runs("1", "COMPLETED", named("another job"))
			s.runs("2", "COMPLETED", of("berta"))
			s.runs("3", "COMPLETED", func(e *workflow.Ended) { e.Start = s.now.Add(-time.Hour) }) // began before the failure
			s.runs("4", "CANCELLED")
			s.passes(2)
			s.at("F-1", workflow.Fixing)
			s.runs("12400", "COMPLETED")
			s.passes(2)
			inv := s.at("F-1", c.state)
			if inv.Fix.Job != "12400" || !inv.Fix.Found || inv.Fix.Text != "halved the batch" || inv.Fix.Outcome == "" {
				t.Errorf("%+v", inv.Fix)
			}
			if got := s.transcript(); strings.Count(got, c.say) == 0 || strings.Count(got, "is the next run of this job") != 1 {
				t.Errorf("no %q:\n%s", c.say, got)
			}
			s.passes(3)
			if inv := s.at("F-1", c.state); inv.Fix.Job != "12400" {
				t.Errorf("it went on looking: %+v", inv.Fix)
			}
		})
	}
}

// A run that tells nothing does not end the search.
func TestARunThatTellsNothingIsFollowedByTheNext(t *testing.T) {
	last := int64(20)
	s := nextStage(t, func(r *incident.Report) {
		ran(last)(r)
		r.Verdict.Ending, r.Verdict.Mechanism = incident.EndUnseen, "unknown"
	})
	s.says("fixed F-1 halved the batch")
	s.passes(1)
	s.runs("12400", "TIMEOUT")
	s.passes(2)
	s.at("F-1", workflow.VerifyingFix)
	last = 90
	s.runs("12401", "TIMEOUT")
	s.passes(2)
	if inv := s.at("F-1", workflow.Resolved); inv.Fix.Job != "12401" {
		t.Errorf("%+v", inv.Fix)
	}
}

// New evidence leads back to a report; the fix that waits for its proof is not forgotten over it.
func TestNewEvidenceDoesNotForgetAFix(t *testing.T) {
	s := nextStage(t, ran(90))
	s.says("fixed F-1 halved the batch")
	if err := s.desk.Flow.Handle(context.Background(), "F-1", workflow.Input{Event: workflow.LogsGiven, Places: []string{"/logs/west/12345"}}); err != nil {
		t.Fatal(err)
	}
	s.settle()
	s.at("F-1", workflow.Fixing)
	s.passes(1)
	s.runs("12400", "COMPLETED")
	s.accounting.err = errors.New("slurmdbd is down")
	if err := s.workers.Watcher.NextRuns(context.Background()); err == nil {
		t.Error("nobody hears that the cluster does not answer")
	}
	s.accounting.err = nil
	s.passes(2)
	s.at("F-1", workflow.Resolved)
}
