package diagnose

import (
	"strings"
	"testing"

	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/simulate"
)

// A line without a time of its own must not be shown at the time that happens to stand above it.
func TestALineWithoutATimeSaysSo(t *testing.T) {
	at := func(s float64) resolve.Moment { return resolve.Moment{T: s, Unc: 1, Valid: true} }
	ended := &resolve.Rank{Exit: &resolve.Exit{T: at(90)}}
	for name, c := range map[string]struct {
		failure resolve.Failure
		want    float64
		note    string
	}{
		"its own time":        {resolve.Failure{T: at(50), NotBefore: at(10), Proc: ended}, 50, ""},
		"its process ended":   {resolve.Failure{NotBefore: at(10), Proc: ended}, 90, "at or before this time"},
		"ended before it":     {resolve.Failure{NotBefore: at(95), Proc: ended}, 95, "at or after this time"},
		"nothing but a bound": {resolve.Failure{NotBefore: at(10)}, 10, "at or after this time"},
	} {
		if when, note := untimed(&c.failure); when.T != c.want || note != c.note {
			t.Errorf("%s: %v %q", name, when.T, note)
		}
	}
	if when, _ := untimed(&resolve.Failure{}); when.Valid {
		t.Error("no bound at all, and yet a time")
	}
}

// A line that says in two ways that a peer was lost is shown once.
func TestNoStepOfTheStoryShowsALineTwice(t *testing.T) {
	text := fieldSteps + raisedBy(2, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 2 has a total capacity of 79.15 GiB of which 1.00 GiB is free.") +
		"node3:4242:4300 [3] misc/socket.cc:484 NCCL WARN socketProgress: Connection closed by remote peer node1<41000>\n"
	told := false
	for _, l := range Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(text)}}, nil, 0)).Chain {
		for i, e := range l.Evidence {
			told = told || strings.Contains(e.Text, "remote peer") || strings.Contains(l.Statement, "lost their peers")
			for _, d := range l.Evidence[:i] {
				if d.File == e.File && d.Offset == e.Offset && d.Kind == e.Kind {
					t.Errorf("%s shows line %d twice", l.Statement, e.Line)
				}
			}
		}
	}
	if !told {
		t.Error("no step tells of the lost peer")
	}
}

// SLURM calls it a cancellation, too, when it ends a step whose processes have failed: only where nothing failed may a person have done it.
func TestACancellationAfterAFailureIsNoPersons(t *testing.T) {
	ends := func(mechanism string) (out []string) {
		for _, e := range Run(facts(t, simulate.Spec{Mechanism: mechanism, Seed: 5, Torch: "2.8", Layout: simulate.Layout{Kind: "ddp", DP: 32}, NodeCount: 4, PerNode: 8, FileMode: "node"})).Timeline {
			if e.Kind == incident.EventEnd && strings.Contains(e.Event, "cancelled") {
				out = append(out, e.Event)
			}
		}
		return out
	}
	if got := ends("rank-stalled"); len(got) != 1 || !strings.Contains(got[0], "after its processes have failed") {
		t.Errorf("after a failure: %q", got)
	}
	if got := ends("cancelled"); len(got) != 1 || got[0] != "SLURM: cancelled" {
		t.Errorf("without one: %q", got)
	}
}
