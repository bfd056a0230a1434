package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/simulate"
)

func drawnLanes(t *testing.T, spec simulate.Spec) (*incident.Report, *incident.Lanes) {
	t.Helper()
	r := Run(facts(t, spec))
	if r.Lanes == nil {
		t.Fatalf("%s: nothing is drawn", spec.Mechanism)
	}
	return r, r.Lanes
}

// The rank that the others waited for comes first and is shown as awaited; those who waited are shown waiting beside it.
func TestLanesShowWhoWaitedForWhom(t *testing.T) {
	r, l := drawnLanes(t, laneSpec("rank-stalled", 16))
	first := l.Lanes[0]
	if want := fmt.Sprintf("rank %d", r.Verdict.Root.Ranks[0]); !first.Root || !strings.HasPrefix(first.Name, want) {
		t.Fatalf("the first lane is %q, root %v, want that of %s", first.Name, first.Root, want)
	}
	doing := func(l incident.Lane) (out []string) {
		for _, s := range l.Spans {
			out = append(out, s.Doing)
		}
		return out
	}
	if got := doing(first); !slices.Contains(got, incident.LaneStalls) || slices.Contains(got, incident.LaneWaits) {
		t.Errorf("the stalled rank: %v", got)
	}
	others := slices.IndexFunc(l.Lanes, func(l incident.Lane) bool { return l.Kind == "nodes" })
	if others < 0 || !slices.Contains(doing(l.Lanes[others]), incident.LaneWaits) || l.Lanes[others].Root {
		t.Errorf("the other nodes do not wait: %+v", l.Lanes)
	}
	if !slices.ContainsFunc(l.Lanes, func(l incident.Lane) bool { return l.Kind == "scheduler" && len(l.Marks) > 0 }) {
		t.Error("the scheduler's end is not drawn")
	}
}

// Of a job of many nodes few lanes are drawn, and every event with a time stands on one of them, within the picture.
func TestLanesHoldEveryEventOfAnyJob(t *testing.T) {
	for _, mechanism := range []string{"rank-stalled", "gpu-oom", "host-oom", "node-failure", "non-finite-loss", "throughput-regression", "time-limit", "healthy", "cancelled"} {
		for _, nodes := range []int{2, 4, 32} {
			r, l := drawnLanes(t, laneSpec(mechanism, nodes))
			if len(l.Lanes) > 16 {
				t.Errorf("%s, %d nodes: %d lanes", mechanism, nodes, len(l.Lanes))
			}
			on := map[int]int{}
			for _, lane := range l.Lanes {
				for _, m := range lane.Marks {
					on[m.Event]++
					if m.At < 0 || m.At > l.Seconds+0.1 {
						t.Errorf("%s: %q stands at %v of %v s", mechanism, m.Text, m.At, l.Seconds)
					}
				}
				for _, s := range lane.Spans {
					if s.From < 0 || s.To < s.From || s.To > l.Seconds+0.1 {
						t.Errorf("%s: %s %s from %v to %v of %v s", mechanism, lane.Name, s.Doing, s.From, s.To, l.Seconds)
					}
				}
			}
			if l.Focus < 0 || l.Focus >= l.Seconds {
				t.Errorf("%s: begins at %v of %v s", mechanism, l.Focus, l.Seconds)
			}
			for i, e := range r.Timeline {
				if want := e.Time != nil; on[i] > 1 || want != (on[i] == 1) {
					t.Errorf("%s, %d nodes: event %d (%s) stands on %d lanes", mechanism, nodes, i, e.Event, on[i])
				}
			}
		}
	}
}

// A slowdown whose onset has a time has its row there.
func TestASlowdownHasARowAtItsOnset(t *testing.T) {
	clock := regexp.MustCompile(`\d\d:\d\d:\d\d`)
	timed := 0
	for seed := range uint64(8) {
		spec := laneSpec("throughput-regression", 4)
		spec.Seed = seed
		r := Run(facts(t, spec))
		onset := clock.FindString(r.Verdict.Summary)
		if onset == "" {
			continue
		}
		timed++
		if !slices.ContainsFunc(r.Timeline, func(e incident.Event) bool { return e.Kind == incident.EventError && e.Time != nil }) {
			t.Errorf("seed %d: it began at %s, and no row has a time: %+v", seed, onset, r.Timeline)
		}
	}
	if timed == 0 {
		t.Fatal("no onset has a time")
	}
}

func laneSpec(mechanism string, nodes int) simulate.Spec {
	return simulate.Spec{Mechanism: mechanism, Torch: "2.7", NodeCount: nodes, PerNode: 8, FileMode: "node", Seed: uint64(nodes),
		Layout: simulate.Layout{Kind: "ddp", TP: 1, CP: 1, EP: 1, DP: nodes * 8, PP: 1}}
}
