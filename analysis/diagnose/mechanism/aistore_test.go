package mechanism

import (
	"testing"

	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// Only a job that is seen to have come to its end was not stopped; one that became slower, or whose lines stop, may have been.
func TestWhatAJobAsksOfItsStore(t *testing.T) {
	last := []resolve.ProgressPoint{{Progress: &worker.Progress{Phase: worker.Training, Step: 192, Total: 192}}}
	midway := []resolve.ProgressPoint{{Progress: &worker.Progress{Phase: worker.Training, Step: 95, Total: 192}}}
	for _, c := range []struct {
		name         string
		p            Proposal
		progress     []resolve.ProgressPoint
		done, unsure bool
	}{
		{"its end was seen", Proposal{Class: Nothing, Ending: incident.EndSeen}, midway, true, false},
		{"its last step was seen", Proposal{Class: Nothing}, last, true, false},
		{"its lines stop", Proposal{Class: Nothing}, midway, false, true},
		{"how it ended is open", Proposal{Class: Nothing, Rivals: []knowledge.Slug{knowledge.Unknown}}, last, false, true},
		{"all of it became slower", Proposal{Class: Degraded}, midway, false, true},
		{"a rank became slower", Proposal{Class: Degraded, Ranks: []int{3}}, midway, false, false},
		{"it hung", Proposal{Class: Local, Ranks: []int{3}}, midway, false, false},
	} {
		q := question(&Scene{Facts: &resolve.Facts{Progress: c.progress}, Graph: &waitfor.Graph{}}, []*Proposal{&c.p})
		if q.Done != c.done || q.Unsure != c.unsure {
			t.Errorf("%s: done %v, unsure %v", c.name, q.Done, q.Unsure)
		}
	}
}
