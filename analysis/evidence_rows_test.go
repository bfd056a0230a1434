package analysis

import (
	"context"
	"strings"
	"testing"
)

// What speaks for itself row by row reaches the report by its package and its row in the list of kinds: its section, its node and its
// quotations, read again.
func TestRowsThatSpeakForThemselvesReachTheReport(t *testing.T) {
	const events = "   2 | 05/06/2026 | 09:12:03 | Memory DIMM_A1 | Uncorrectable ECC | Asserted\n   3 | 05/06/2026 | 09:12:05 | Power Supply PS1 Status | Power Supply AC lost | Asserted\n"
	for _, c := range []struct {
		name, log string
		inline    bool
		evidence  map[string]string
	}{
		{"handed in", "step 1 loss 2.1\n", false, map[string]string{"n2.sel.txt": events}},
		{"pasted into a log", "step 1 loss 2.1\n" + events, true, nil},
	} {
		in := Input{Version: "test", Nodes: []string{"n1", "n2"}, Sources: written(t, map[string]string{"train.log": c.log}, "")}
		if c.evidence != nil {
			in.Evidence = written(t, c.evidence, "")
		}
		r, err := Diagnose(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Artifacts) != 1 || len(r.Artifacts[0].Findings) != 2 || r.Artifacts[0].Inline != c.inline {
			t.Fatalf("%s: %+v %v", c.name, r.Artifacts, r.Warnings)
		}
		first := r.Artifacts[0].Findings[0]
		want := "Power Supply PS1 Status: a power supply lost its input"
		if !c.inline {
			want = "n2: " + want
		}
		if !strings.HasPrefix(first.Statement, want) || len(first.Evidence) != 1 || !strings.Contains(first.Evidence[0].Text, "AC lost") {
			t.Errorf("%s: %+v", c.name, first)
		}
	}
}
