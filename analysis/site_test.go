package analysis

import (
	"testing"

	"faultline/incident"
)

// A site's report takes the place of a proven one only where it accuses nobody else, and as surely.
func TestReportsAgreeOnWhomTheyAccuse(t *testing.T) {
	accusing := func(status, mechanism string, ranks []int, nodes ...string) *incident.Report {
		return &incident.Report{Verdict: incident.Verdict{Status: status, Mechanism: mechanism, Root: incident.Root{Ranks: ranks, Nodes: nodes}}}
	}
	proven := accusing("confirmed", "gpu-ecc", []int{5, 7}, "n5", "n7")
	for _, c := range []struct {
		name string
		site *incident.Report
		want bool
	}{
		{"the same", accusing("confirmed", "gpu-ecc", []int{7, 5}, "n7", "n5"), true},
		{"a rank more", accusing("confirmed", "gpu-ecc", []int{3, 5, 7}, "n5", "n7"), false},
		{"a node more", accusing("confirmed", "gpu-ecc", []int{5, 7}, "n3", "n5", "n7"), false},
		{"a rank less", accusing("confirmed", "gpu-ecc", []int{5}, "n5", "n7"), false},
		{"another cause", accusing("confirmed", "gpu-nvlink", []int{5, 7}, "n5", "n7"), false},
		{"less sure", accusing("probable", "gpu-ecc", []int{5, 7}, "n5", "n7"), false},
	} {
		if got := agree(proven, c.site); got != c.want {
			t.Errorf("%s: agree is %t", c.name, got)
		}
	}
}
