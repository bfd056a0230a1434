package desk

import (
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/incident"
	"faultline/workflow"
)

// runningJob is a conversation about a job that still runs: looked at twice, then it ends.
func runningJob(s *stage) {
	s.engine.diagnose = func(in analysis.Input) (*incident.Report, error) {
		r := report("rank-stalled", incident.Confirmed)
		if in.Moment != nil {
			wastes := 8.0
			r.Triage = &incident.Triage{
				State: incident.StateStalled, Severity: incident.TriageCritical, Clock: incident.ClockFiles, Summary: "The job has stalled", Wastes: &wastes,
				Signs: []incident.TriageSign{
					{Name: incident.SignStep, Level: incident.TriageNone, Text: "1,240 of 5,000, 24%, 6 min ago",
						Evidence: []incident.Evidence{incident.Quote("12345.out", 41, 4000, "step: 1240  loss:  2.31", nil)}},
					{Name: incident.SignWaiting, Level: incident.TriageCritical, Text: "no step for 6 min; until then there was one every 2 s, at most 3 s apart"},
				},
				Absent: []string{"memory", "saves"},
				Next:   incident.TriageNext{Text: "Collect stacks and dumps from all nodes before ending the job. Don't cancel it before that.", Command: "bot collect 12345"},
			}
		}
		return r, nil
	}
	s.fetch.quiet["west/12345"] = s.now.Add(-time.Minute)
	s.says("12345")
	s.does(press("U3", actLookNow, "F-1 1"))
	s.does(press("U3", actLookNow, "F-1"))
	s.now = s.now.Add(10 * time.Minute)
	s.tick()
}

func TestTheThreadOfARunningJob(t *testing.T) {
	s := newStage(t)
	runningJob(s)
	inv := s.at("F-1", workflow.Reported)
	if inv.Running || inv.Verdicts != 1 || inv.Final != 1 || len(inv.Superseded) != 0 {
		t.Errorf("running %v, %d verdicts, %d final, superseded %q", inv.Running, inv.Verdicts, inv.Final, inv.Superseded)
	}
	got := s.transcript()
	golden(t, "running-looks.txt", got)
	before, _, _ := strings.Cut(got, "never joined")
	if strings.Contains(before, "resubmit") {
		t.Error("a running job is to be resubmitted")
	}
	if n := strings.Count(got, "Look again"); n == 0 {
		t.Error("nobody can look again")
	}
}
