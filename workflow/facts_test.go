package workflow

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/incident"
)

// knowing is a stage whose cluster can be asked.
type knowing struct {
	*stage
	found Found
}

func (k *knowing) Locate(context.Context, string, string) (Found, error) { return k.found, nil }

func newKnowing(found Found) (*knowing, *[]analysis.Input) {
	k := &knowing{newStage(), found}
	k.Fetch = k
	k.files["facts"] = []incident.Source{{Name: "slurm-accounting.txt", Path: "facts"}}
	var asked []analysis.Input
	verdict := k.verdict
	k.verdict = func(in analysis.Input) (*incident.Report, error) {
		asked = append(asked, in)
		return verdict(in)
	}
	return k, &asked
}

func TestWhatTheClusterSaysIsReadWithTheLogsThatAPersonGives(t *testing.T) {
	k, asked := newKnowing(Found{Base: []string{"facts"}, Nodes: []string{"n0", "n1"}, NodesFrom: "sacct", Notes: []string{"Job 4242 ended FAILED; I found none of its logs."}})
	k.open(t)
	if inv := k.at(t, AwaitingLogs); !slices.Equal(inv.Places, []string{"facts"}) || !slices.Equal(inv.Expected, []string{"n0", "n1"}) {
		t.Fatalf("%+v", inv)
	}
	if !strings.Contains(strings.Join(k.seen, "\n"), "say: Job 4242 ended FAILED; I found none of its logs.") {
		t.Error(k.seen)
	}
	k.handle(t, Input{Event: LogsGiven, Places: []string{"a"}})
	in := (*asked)[0]
	if len(in.Sources) != 2 || !slices.Equal(in.Nodes, []string{"n0", "n1"}) || in.NodesFrom != "sacct" {
		t.Errorf("%+v", in)
	}
	k.handle(t, Input{Event: Evidence, Nodes: []string{"x1"}}) // a person's word counts more
	if in = (*asked)[len(*asked)-1]; !slices.Equal(in.Nodes, []string{"x1"}) || in.NodesFrom != "" {
		t.Errorf("%+v", in)
	}
}

func TestAJobThatIsNotPermittedIsNotToldAbout(t *testing.T) {
	for _, found := range []Found{{Base: []string{"facts"}}, {Places: []string{"a"}}} {
		found.Users, found.Notes, found.Nodes = []string{"bob"}, []string{"Job 4242 of bob"}, []string{"n0"}
		k, _ := newKnowing(found)
		k.Permit = func(Investigation, Found) bool { return false }
		k.open(t)
		if inv := k.at(t, AwaitingLogs); len(inv.Places)+len(inv.Expected) != 0 || strings.Contains(strings.Join(k.seen, "\n"), "bob") {
			t.Errorf("%+v %q", inv, k.seen)
		}
	}
}

func TestAJobThatTheClusterCallsRunningIsAskedAbout(t *testing.T) {
	k, _ := newKnowing(Found{Places: []string{"a"}, Running: true, Written: time.Unix(1, 0)})
	k.Quiet = func(string) time.Duration { return time.Minute }
	k.open(t)
	k.at(t, AwaitingEnd)
	if ended, err := k.HasEnded(context.Background(), "1"); ended || err != nil {
		t.Error(ended, err)
	}
	k.found.Running = false
	if ended, err := k.HasEnded(context.Background(), "1"); !ended || err != nil {
		t.Error(ended, err)
	}
}
