package diagnose

import (
	"strings"
	"testing"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/simulate"
)

// Each rule is checked against a neighbour that it must not hold for, too.
func TestAReportSaysWhatItsLinesRuleOut(t *testing.T) {
	for name, c := range map[string]struct {
		spec simulate.Spec
		want []string
		open string
	}{
		"a rank that stayed away": {simulate.Spec{Mechanism: "rank-stalled", Seed: 5, Torch: "2.7", Layout: simulate.Layout{Kind: "ddp", DP: 32}, NodeCount: 4, PerNode: 8, FileMode: "node"}, []string{"no sign of a fault of NCCL or the network", "had not crashed", "joined: the node was up"}, "What was rank"},
		"one GPU of a node":       {simulate.Spec{Mechanism: "gpu-ecc", Seed: 7, Torch: "2.7", Layout: simulate.Layout{Kind: "ddp", DP: 32}, NodeCount: 4, PerNode: 8, FileMode: "node"}, []string{"no sign that other GPUs are affected", "had trained up to step"}, ""},
	} {
		inc, err := simulate.Generate(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		r := Run(read(t, inc.Files, nil, 0))
		if r.Narrowing == nil {
			t.Errorf("%s: nothing is ruled out", name)
			continue
		}
		var said []string
		for _, f := range r.Narrowing.RulesOut {
			said = append(said, f.Statement)
			if len(f.Evidence) == 0 {
				t.Errorf("%s: no line for %q", name, f.Statement)
			}
		}
		all := strings.Join(said, "\n")
		for _, w := range c.want {
			if !strings.Contains(all, w) {
				t.Errorf("%s: no %q in\n%s", name, w, all)
			}
		}
		if !strings.HasPrefix(r.Narrowing.Open, c.open) {
			t.Errorf("%s: asks %q", name, r.Narrowing.Open)
		}
		if len(r.Narrowing.Lingered) == 0 {
			t.Errorf("%s: not a word of how long the job ran on", name)
		}
	}
}

// Of a node whose ranks all stayed away, or all report the error, no line says that the node is well.
func TestANodeThatIsOutAsAWholeIsNotRuledOut(t *testing.T) {
	inc, err := simulate.Generate(simulate.Spec{Mechanism: "gpu-ecc", Seed: 7, Torch: "2.7", Layout: simulate.Layout{Kind: "ddp", DP: 32}, NodeCount: 4, PerNode: 8, FileMode: "node"})
	if err != nil {
		t.Fatal(err)
	}
	f := read(t, inc.Files, nil, 0)
	first := Run(f)
	root := f.Rank(first.Verdict.Root.Ranks[0])
	for _, o := range f.Ranks {
		if o.Node == root.Node && o != root {
			o.Failures = append(o.Failures, root.Failures...)
		}
	}
	r := Run(f)
	if r.Narrowing == nil {
		t.Fatal("nothing is narrowed at all")
	}
	for _, x := range r.Narrowing.RulesOut {
		if strings.Contains(x.Statement, "one GPU") {
			t.Errorf("all ranks of the node report it, and yet: %s", x.Statement)
		}
	}
}

// Whoever is asked what a rank did is told that its log was looked into, and holds nothing.
func TestTheOpenQuestionSaysThatTheLogIsSilent(t *testing.T) {
	spec := simulate.Spec{Mechanism: "rank-stalled", Seed: 5, Torch: "2.7", Layout: simulate.Layout{Kind: "ddp", DP: 32}, NodeCount: 4, PerNode: 8, FileMode: "node"}
	for _, found := range []bool{true, false} {
		f := facts(t, spec)
		f.LastWords = func(r *resolve.Rank, _ resolve.Moment, _ map[string]int64) (worker.At, string, bool) {
			return r.LastAt, "unpacking", found
		}
		r := Run(f)
		if r.Narrowing == nil || strings.Contains(r.Narrowing.Open, "holds no line") == found {
			t.Errorf("a line was found: %v, and the question is %+v", found, r.Narrowing)
		}
	}
}
