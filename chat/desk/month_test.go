package desk

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"faultline/incident"
	"faultline/workflow"
)

// casesOf fills a channel with cases of the last days: each fourth ran out of memory on node n7, the others of various kinds.
func casesOf(t *testing.T, s *stage, channel string, n int) {
	t.Helper()
	for i := range n {
		r := report("exception", incident.Confirmed)
		hours := 10.0
		r.Verdict.Root = incident.Root{}
		if i%4 == 0 {
			r = report("gpu-ecc", incident.Confirmed)
			r.Verdict.Root = incident.Root{Ranks: []int{3}, Nodes: []string{"n7"}}
			r.Coverage.NodesSeen, hours = []string{"n7", "n8"}, 100
		}
		if i%4 > 1 {
			r.Verdict = incident.Verdict{Status: incident.NoFailure, Mechanism: "completed", Origin: "none"}
			r.Coverage.NodesSeen = []string{fmt.Sprint("m", i), "n8"}
		}
		r.Action.Lost.GPUHours = &hours
		asked := s.now.Add(-time.Duration(i) * 12 * time.Hour)
		inv := workflow.Investigation{ID: fmt.Sprintf("F-%s%d", channel, i), Job: fmt.Sprint(1000 + i), Home: workflow.Home{Team: "T1", Channel: channel, Requester: "U1"},
			State: workflow.Closed, Asked: asked, Report: r}
		if i%8 == 0 {
			inv.Outcome = &workflow.Outcome{Verdict: "right"}
			inv.Fix = &workflow.Fix{Text: "drained", Outcome: incident.Fixed}
		}
		entries := []workflow.Entry{{Kind: "transition", To: workflow.LocatingJob, At: asked}, {Kind: "transition", To: workflow.Reported, At: asked.Add(4 * time.Minute)}}
		if err := s.store.Save(context.Background(), workflow.Change{Investigation: &inv, Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAMonthIsSummedUp(t *testing.T) {
	s := newStage(t)
	s.now = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	casesOf(t, s, "C1", 40)
	casesOf(t, s, "C2", 3)
	got := s.says("digest month")
	wants(t, got, "*Last 30 days*: 40 cases, 20 with a single cause.", "4 min (median), 4 min at most", "An uncorrectable GPU memory error: 10 cases, 1000 GPU hours lost", "10 cases, 100 GPU hours lost",
		"Verdicts: 5 right, 0 wrong, 35 not rated.", "Fixes: 5 proven by the next run, 0 not, 0 waiting.", "n7 was the culprit in 10 of the 10 runs")
	if got := s.does(command("C2", "digest month")); !strings.Contains(got, "3 cases") || strings.Contains(got, "culprit") {
		t.Errorf("of few cases of another channel: %s", got)
	}
}

func TestTheMonthBeforeIsPostedOnceOnTheFirst(t *testing.T) {
	s := newWatchStage(t)
	s.now = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	casesOf(t, s.stage, "C1", 40)
	s.now = time.Date(2026, 4, 1, 8, 0, 0, 0, time.UTC)
	for range 2 { // two processes
		for _, r := range routines {
			if r.kind == workflow.JobMonth {
				if err := r.insert(context.Background(), s.store, s.now); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	s.settle()
	told := 0
	for _, p := range s.all() {
		if p.Kind == workflow.PostMessage && p.Channel == "C1" && strings.Contains(textOf(t, p), "*March 2026*: 40 cases") {
			told++
			if text := textOf(t, p); strings.Contains(text, "n7") || !strings.Contains(text, "Patterns in these runs: ") {
				t.Errorf("a post that nothing takes back names a node, or no pattern: %s", text)
			}
		}
	}
	if told != 1 {
		t.Errorf("posted %d times", told)
	}
	s.now = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC) // May had none
	before := len(s.all())
	for _, r := range routines {
		if r.kind == workflow.JobMonth {
			_ = r.insert(context.Background(), s.store, s.now)
		}
	}
	s.settle()
	if n := len(s.all()); n != before {
		t.Errorf("%d posts of a month without cases", n-before)
	}
}
