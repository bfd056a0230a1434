package diagnose

import (
	"strings"
	"testing"

	"faultline/analysis/artifact/stacks"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// What is among the evidence is not to be taken once more; of whom it is, where it is of others, is said.
func TestWhatWasTakenIsNotToBeTakenAgain(t *testing.T) {
	m, _ := knowledge.MechanismBySlug("rank-stalled")
	var take knowledge.Advice
	for _, a := range m.Now {
		if a.Takes() == knowledge.Stacks {
			take = a
		}
	}
	if take.Text == "" {
		t.Fatal("nothing tells to take a stack")
	}
	stood := func(ranks ...int) (out []*resolve.Stood) {
		for _, id := range ranks {
			out = append(out, &resolve.Stood{Stack: &stacks.Stack{}, Rank: id})
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		stood []*resolve.Stood
		root  []int
		taken bool
		but   string
	}{
		{"none is here", nil, []int{5}, false, ""},
		{"its own is here", stood(4, 5), []int{5}, true, ""},
		{"only those of others", stood(0, 1, 2), []int{5}, false, "ranks 0-2"},
		{"one of two", stood(5), []int{5, 6}, false, "rank 5."},
		{"whose they are is not proven", stood(resolve.NoRank), []int{5}, false, ""},
		{"nobody is at fault", stood(0), nil, false, ""},
	} {
		b := &builder{r: &incident.Report{}, s: &mechanism.Scene{Facts: &resolve.Facts{Stood: tt.stood}}}
		b.r.Verdict.Root.Ranks = tt.root
		taken, but := b.taken(take)
		if taken != tt.taken || !strings.Contains(but, tt.but) || tt.but == "" && but != "" {
			t.Errorf("%s: taken %t, but %q", tt.name, taken, but)
		}
	}
}
