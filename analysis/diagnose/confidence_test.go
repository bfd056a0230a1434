package diagnose

import (
	"testing"

	"faultline/analysis/diagnose/mechanism"
	"faultline/simulate"
)

// More evidence never states less, thin evidence stays what it is, and nothing is certain.
func TestStatedConfidenceKeepsTheOrderOfEvidence(t *testing.T) {
	last := 0.0
	for i := range 101 {
		base := float64(i) / 100
		got := stated(base)
		if got < last || got > highest {
			t.Errorf("%.2f states %.3f, %.2f stated %.3f", base, got, base-0.01, last)
		}
		if base < solid && got != base {
			t.Errorf("%.2f states %.3f", base, got)
		}
		last = got
	}
	if stated(solid) != lowest || stated(best) != highest || stated(1) != highest {
		t.Errorf("%.3f at %.2f, %.3f at %.2f, %.3f at 1", stated(solid), solid, stated(best), best, stated(1))
	}
}

// What is missing lowers the confidence of what is said, and the members of a set share what the set has.
func TestConfidenceOfPartialFilesAndSets(t *testing.T) {
	whole, lost := 0, 0
	for _, spec := range simulate.Grid(150, 3, 0) {
		if spec.NodeCount*spec.PerNode > 32 {
			continue
		}
		f := facts(t, spec)
		v := run(f, mechanism.All()).Verdict
		sum := 0.0
		for _, c := range v.Candidates {
			if c.Mechanism != unknown { // it excludes nothing
				sum += float64(c.Confidence)
			}
		}
		if d := sum - float64(v.Confidence); d > 1e-9 || d < -1e-9 {
			t.Errorf("%+v: members have %.3f, the set %.3f", spec, sum, float64(v.Confidence))
		}
		if v.Confidence > highest {
			t.Errorf("%+v: states %.3f", spec, float64(v.Confidence))
		}
		if f.Coverage.Partial {
			lost++
		} else {
			whole++
		}
	}
	if whole == 0 || lost == 0 {
		t.Errorf("%d whole, %d partial", whole, lost)
	}
}
