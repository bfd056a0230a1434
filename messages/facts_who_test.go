package messages

import (
	"testing"

	"faultline/incident"
)

func TestAHeadingCountsWhoSlowsTheJob(t *testing.T) {
	for want, root := range map[string]incident.Root{
		"One rank slows all others": {Ranks: []int{4}, Nodes: []string{"n1"}},
		"2 ranks slow all others":   {Ranks: []int{4, 5}, Nodes: []string{"n1"}},
		"One node slows all others": {Nodes: []string{"n1"}},
		"2 nodes slow all others":   {Nodes: []string{"n1", "n2"}},
	} {
		if got := who(root, "slows all others"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := who(incident.Root{Nodes: []string{"n1"}}, "stalled"); got != "One rank stalled" {
		t.Errorf("%q", got)
	}
}
