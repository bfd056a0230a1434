package eval

import (
	"strings"
	"testing"

	"faultline/incident"
)

func TestAReportThatDeniesItselfIsFound(t *testing.T) {
	whole := func() *incident.Report {
		return &incident.Report{
			Verdict:  incident.Verdict{Status: incident.Probable, Scope: "rank", Root: incident.Root{Ranks: []int{3}, Nodes: []string{"n1"}}},
			Action:   incident.Action{ExcludeNodes: []string{"n1"}},
			Ranks:    []incident.RankState{{Rank: 0, Role: incident.Waiter}, {Rank: 3, Role: incident.Straggler}, {Rank: 4, Role: incident.Missing}},
			Coverage: incident.Coverage{NodesSeen: []string{"n1"}, NodesMissing: []string{"n2"}, RanksMissing: []int{4}},
			Chain: []incident.Link{
				{Role: incident.Cause, Statement: "rank 3 on n1 had nothing in flight"},
				{Role: incident.Cause, Statement: "rank 0 on n1 waits in ALLREDUCE #3; rank 3 is behind"},
				{Role: incident.Cause, Statement: "rank 4's monitored barrier lists the ranks that did not pass"},
			},
		}
	}
	if got := Contradictions(whole()); got != nil {
		t.Errorf("a report that agrees with itself: %v", got)
	}
	for want, change := range map[string]func(r *incident.Report){
		"scope and root":  func(r *incident.Report) { r.Verdict.Scope = "all" },
		"status and root": func(r *incident.Report) { r.Verdict.Status = incident.NoFailure },
		"status and candidates": func(r *incident.Report) {
			r.Verdict.Status, r.Verdict.Candidates = incident.Confirmed, make([]incident.Candidate, 2)
		},
		"advice and root":  func(r *incident.Report) { r.Action.ExcludeNodes[0] = "n7" },
		"map and root":     func(r *incident.Report) { r.Ranks[1].Role = incident.Victim },
		"map and coverage": func(r *incident.Report) { r.Ranks[2].Role = "ok" },
		"verdict and candidates": func(r *incident.Report) {
			r.Verdict.Mechanism, r.Verdict.Candidates = "gpu-oom", []incident.Candidate{{Mechanism: "host-oom"}}
		},
		"candidates and suspects": func(r *incident.Report) {
			r.Verdict.Mechanism, r.Verdict.Candidates, r.Verdict.Suspects = "gpu-oom", []incident.Candidate{{Mechanism: "gpu-oom"}}, []incident.Suspect{{Mechanism: "gpu-oom"}}
		},
		"heading and root": func(r *incident.Report) {
			r.Verdict.Summary, r.Verdict.Root, r.Action.ExcludeNodes = "n1: a transfer failed", incident.Root{}, nil
		},
		"root and map": func(r *incident.Report) { r.Ranks[1].Node = "n2" },
		"advice with a hole": func(r *incident.Report) {
			r.Recommendations = []incident.Recommendation{{When: "now", Text: "Look at the card.", Command: "ssh {node} ibstat"}}
		},
		"sends people to n9": func(r *incident.Report) {
			r.Coverage.NodesSeen = []string{"n1", "n9"}
			r.Recommendations = []incident.Recommendation{{When: "now", Text: "Look at the card.", Command: "ssh n9 ibstat"}}
		},
		"coverage and itself": func(r *incident.Report) {
			r.Coverage.RanksExpected, r.Coverage.RanksSeen = new(4), 5
		},
		"verdict and storage": func(r *incident.Report) {
			r.Storage.Judgement, r.Verdict.Root.Component = "cleared", new("ais:t1")
		},
		"chain and root": func(r *incident.Report) { r.Chain[0].Statement = "rank 4 on n1 had nothing in flight" },
	} {
		r := whole()
		change(r)
		if got := strings.Join(Contradictions(r), "; "); !strings.Contains(got, want) {
			t.Errorf("%s: found %q", want, got)
		}
	}
}
