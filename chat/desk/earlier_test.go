package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/incident"
	"faultline/workflow"
)

// nightly is a run of the job "nightly" on 16 nodes with steps of so many seconds; a bad node is the one it failed on.
func nightly(job, bad string, seconds float64) *incident.Report {
	r := report("gpu-ecc", incident.Confirmed)
	name := "nightly"
	world, rank := 128, 3
	r.Job.ID, r.Job.Name, r.Job.WorldSize = &job, &name, &world
	r.Job.Versions = []incident.NameOf{{Name: "pytorch", Value: "2.6.0"}}
	for i := range 16 {
		r.Coverage.NodesSeen = append(r.Coverage.NodesSeen, fmt.Sprintf("node%02d", i))
	}
	r.Verdict.Root = incident.Root{Ranks: []int{rank}, Nodes: []string{bad}}
	r.Figures = []incident.Figure{{Name: incident.SignStepTime, Unit: "s", N: 200, Median: seconds, Spread: 0.01, First: seconds, Last: seconds}}
	if bad == "" {
		r.Verdict = incident.Verdict{Status: incident.NoFailure, Mechanism: "completed", Ending: incident.EndSeen}
	}
	return r
}

// pastStage is a channel with earlier cases, and the run of job 12345, which failed on node07.
func pastStage(t *testing.T, now *incident.Report, cases ...func(inv *workflow.Investigation)) *stage {
	t.Helper()
	s := newStage(t)
	s.desk.Flow.Lessons = s.desk.Lessons
	s.engine.diagnose = func(analysis.Input) (*incident.Report, error) { return now, nil }
	for i, change := range cases {
		inv := workflow.Investigation{ID: fmt.Sprintf("F-%d", i+1), Job: fmt.Sprint(100 + i), Home: workflow.Home{Team: "T1", Channel: "C1", Requester: "U1"}, State: workflow.Closed}
		change(&inv)
		if err := s.store.Save(context.Background(), workflow.Change{Investigation: &inv}); err != nil {
			t.Fatal(err)
		}
	}
	s.says("12345")
	return s
}

func past(bad string, seconds float64, change ...func(inv *workflow.Investigation)) func(inv *workflow.Investigation) {
	return func(inv *workflow.Investigation) {
		inv.Report = nightly(inv.Job, bad, seconds)
		for _, c := range change {
			c(inv)
		}
	}
}

func elsewhere(inv *workflow.Investigation) { inv.Home.Channel = "C2" }
func held(inv *workflow.Investigation)      { inv.Held = true }
func denied(inv *workflow.Investigation) {
	inv.Outcome = &workflow.Outcome{Verdict: "wrong", Mechanism: "killed"}
}

func TestAReportRemembersTheChannelsEarlierCases(t *testing.T) {
	slower := nightly("12345", "node07", 7)
	slower.Job.Versions[0].Value = "2.7.1"
	for name, c := range map[string]struct {
		now   *incident.Report
		cases []func(inv *workflow.Investigation)
		want  []string
	}{
		"nothing is known": {slower, nil, nil},
		"once may be chance": {nightly("12345", "node07", 4), []func(*workflow.Investigation){past("node07", 4)}, []string{
			"Compared with F-1, an earlier run of this job: step time 4 s, previously 4 (unchanged)."}},
		"again and again": {otherRank(slower), []func(*workflow.Investigation){past("node07", 4), past("node03", 4), past("node07", 4), past("node07", 4), past("", 4.4)}, []string{
			"Seen here before: node07 was the culprit in 3 of the 5 earlier jobs that ran on it, more often than chance explains (F-4, F-3, F-1). Resubmit without it (sbatch --exclude=node07), and have it checked.",
			"Compared with F-5, an earlier run of this job: step time 7 s, previously 4.4 (+59%).",
			"Changed since F-5, the last good run of this job: pytorch 2.7.1."}},
		"what the channel may not see, and what people call wrong": {otherRank(slower), []func(*workflow.Investigation){past("node07", 4, elsewhere), past("node07", 4, held), past("node07", 4, denied)}, []string{
			"Compared with F-3, an earlier run of this job: step time 7 s, previously 4 (+75%)."}},
		"another cluster": {otherRank(slower), []func(*workflow.Investigation){past("node07", 4, func(inv *workflow.Investigation) { inv.Cluster = "east" })}, []string{
			"Compared with F-1, an earlier run of this job: step time 7 s, previously 4 (+75%)."}},
	} {
		s := pastStage(t, c.now, c.cases...)
		inv := s.at(fmt.Sprintf("F-%d", len(c.cases)+1), workflow.Reported)
		var got []string
		for _, l := range inv.Lessons {
			got = append(got, plain(l))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// otherRank is a failure of another rank, so that nothing but the node explains it.
func otherRank(r *incident.Report) *incident.Report {
	with := *r
	with.Verdict.Root.Ranks = []int{57}
	return &with
}
