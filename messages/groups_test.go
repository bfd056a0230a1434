package messages

import (
	"strings"
	"testing"

	"faultline/incident"
)

// Where a group lies says which of its exchanges cross the network.
func TestAGroupSaysOverHowManyNodesItSpans(t *testing.T) {
	on := func(nodes ...string) (list []incident.GroupMember) {
		for _, n := range nodes {
			list = append(list, incident.GroupMember{Node: n})
		}
		return list
	}
	for _, c := range []struct {
		desc         string
		tensors      bool
		members      []incident.GroupMember
		title, stuck string
	}{
		{"TENSOR_MODEL_PARALLEL_GROUP", true, on("n1", "n1", "n2", "n2"), " on 2 nodes", "This tensor-parallel group spans 2 nodes"},
		{"mesh_tp", true, on("n1", "n2", ""), " on at least 2 nodes", "This tensor-parallel group spans at least 2 nodes"},
		{"TENSOR_MODEL_PARALLEL_GROUP", true, on("n1", "n1", ""), "", ""},
		{"TENSOR_AND_DATA_PARALLEL_GROUP", false, on("n1", "n2"), " on 2 nodes", ""},
		{"default_pg", false, on("n1", "n2", "n3"), " on 3 nodes", ""},
		{"default_pg", false, on("", ""), "", ""},
	} {
		v := groupOf(incident.Group{Key: "7", Desc: c.desc, MembershipBasis: "config-line", SplitsTensors: c.tensors, Ranks: c.members})
		if got := strings.Contains(v.Title, " on "); got != (c.title != "") || !strings.Contains(v.Title, c.title) {
			t.Errorf("%s: title %q, want %q", c.desc, v.Title, c.title)
		}
		if !strings.HasPrefix(v.Stuck, c.stuck) || c.stuck == "" && v.Stuck != "" {
			t.Errorf("%s: says %q, want %q", c.desc, v.Stuck, c.stuck)
		}
	}
}
