package workflow

import (
	"slices"
	"strings"
	"testing"

	"faultline/incident"
)

// report builds the part of a report that a revision looks at.
func report(mechanism, status string, rootRanks []int, resubmit string, quotes ...string) *incident.Report {
	r := &incident.Report{
		Verdict: incident.Verdict{Mechanism: mechanism, Status: status, Root: incident.Root{Ranks: rootRanks}},
		Action:  incident.Action{Resubmit: resubmit},
	}
	link := incident.Link{Role: incident.Cause}
	for i, file := range quotes {
		link.Evidence = append(link.Evidence, incident.Quote(file, int64(i+7), 0, "text of "+file, nil))
	}
	r.Chain = append(r.Chain, link)
	return r
}

func TestNothingUnchangedIsAnnounced(t *testing.T) {
	r := report("rank-stalled", incident.Probable, []int{77}, "yes", "a.out")
	same := report("rank-stalled", incident.Probable, []int{77}, "yes", "a.out", "b.out")
	if got := Revise(r, same); len(got) != 0 {
		t.Errorf("announced %+v", got)
	}
	if got := Revise(nil, r); len(got) != 0 {
		t.Errorf("a first report revises nothing, got %+v", got)
	}
}

func TestEachOverturnedConclusionIsAnnouncedOnce(t *testing.T) {
	base := func() *incident.Report { return report("rank-stalled", incident.Probable, []int{77}, "yes", "a.out") }
	cases := []struct {
		name     string
		change   func(*incident.Report)
		was, now string
	}{
		{"mechanism", func(r *incident.Report) { r.Verdict.Mechanism = "gpu-ecc" }, "“one rank stalled” (likely)", "“an uncorrectable GPU memory error” (likely)"},
		{"status", func(r *incident.Report) { r.Verdict.Status = incident.Confirmed }, "“one rank stalled” (likely)", "“one rank stalled” (confirmed)"},
		{"root", func(r *incident.Report) { r.Verdict.Root.Ranks = []int{3, 4, 5} }, "root: rank 77", "root: ranks 3-5"},
		{"accusation dropped", func(r *incident.Report) { r.Verdict.Root.Ranks = nil }, "root: rank 77", "root rank and node unknown"},
		{"action", func(r *incident.Report) { r.Action.ExcludeNodes = []string{"node09"} }, "resubmit: yes", "resubmit: yes, without node09"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			now := base()
			c.change(now)
			got := Revise(base(), now)
			if len(got) != 1 || got[0].Was != c.was || got[0].Now != c.now || got[0].Because == "" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestWhatChangedTogetherIsOneRevisionWithOneReason(t *testing.T) {
	old := report("unknown", incident.Inconclusive, nil, "unknown", "a.out")
	now := report("rank-stalled", incident.Probable, []int{77}, "yes", "a.out", "b.out")
	got := Revise(old, now)
	if len(got) != 1 {
		t.Fatalf("%d revisions: %+v", len(got), got)
	}
	if want := "“not explained by these logs” (can't tell); root rank and node unknown; resubmit: unknown"; got[0].Was != want {
		t.Errorf("was %q, want %q", got[0].Was, want)
	}
	if want := "“one rank stalled” (likely); root: rank 77; resubmit: yes"; got[0].Now != want {
		t.Errorf("now %q, want %q", got[0].Now, want)
	}
}

func TestTheReasonIsWhatTheOlderReportDidNotHave(t *testing.T) {
	old := report("rank-stalled", incident.Probable, []int{77}, "yes", "a.out")
	now := report("cuda-ecc", incident.Confirmed, []int{77}, "yes", "a.out", "b.out")
	got := Revise(old, now)
	if len(got) != 1 || !strings.Contains(got[0].Because, `b.out:8 says "text of b.out"`) || strings.Contains(got[0].Because, "a.out") {
		t.Fatalf("got %+v", got)
	}
	if len(got[0].Evidence) != 1 || got[0].Evidence[0].File != "b.out" {
		t.Errorf("evidence %+v", got[0].Evidence)
	}
}

func TestWithoutNewLinesTheReasonIsStillTrue(t *testing.T) {
	old := report("rank-stalled", incident.Probable, []int{77}, "yes", "a.out")
	withdrawn := report("unknown", incident.Inconclusive, nil, "unknown", "a.out")
	withdrawn.Verification.Withdrawn = []string{"rank 77 never entered 4711"}
	if got := Revise(old, withdrawn); !strings.Contains(got[0].Because, "rank 77 never entered 4711") {
		t.Errorf("got %q", got[0].Because)
	}
	rules := report("unknown", incident.Inconclusive, nil, "unknown", "a.out")
	rules.Engine.RulesVersion = "2"
	if got := Revise(old, rules); !strings.Contains(got[0].Because, "different rules") {
		t.Errorf("got %q", got[0].Because)
	}
	missing := report("rank-stalled", incident.Probable, []int{77}, "yes", "a.out")
	missing.Coverage.NodesMissing = []string{"node09", "node10"}
	fewer := report("unknown", incident.Inconclusive, nil, "unknown", "a.out")
	fewer.Coverage.NodesMissing = []string{"node10"}
	if got := Revise(missing, fewer); !strings.Contains(got[0].Because, "logs of node09 are no longer missing") {
		t.Errorf("got %q", got[0].Because)
	}
}

func TestRanksFoldRuns(t *testing.T) {
	for want, in := range map[string][]int{"": nil, "5": {5}, "0-3, 7": {3, 1, 2, 0, 7}, "1-2, 4-5": {5, 4, 2, 1, 1}} {
		before := slices.Clone(in)
		if got := ranks(in); got != want || !slices.Equal(in, before) {
			t.Errorf("ranks(%v) = %q, want %q", before, got, want)
		}
	}
}

// The reason is given in words where a link of the chain has them, with the line that it rests on.
func TestTheReasonIsSaidInWords(t *testing.T) {
	old := report("unknown", incident.Inconclusive, nil, "unknown", "a.out")
	now := report("rank-stalled", incident.Probable, []int{77}, "yes", "a.out", "late.out", "other.out")
	now.Chain[0].Statement = "rank 77 on node09 had nothing in flight."
	got := Revise(old, now)
	if len(got) != 1 || got[0].Because != `rank 77 on node09 had nothing in flight: late.out:8 says "text of late.out"` || len(got[0].Evidence) != 1 {
		t.Errorf("got %+v", got)
	}
}
