package acceptance

import (
	"os"
	"testing"

	"faultline/eval"
)

func haveCorpus() bool {
	_, err := os.Stat(corpus)
	return err == nil
}

// acceptance of the real cases counts those whose answer their worker logs hold; what must not be said counts in all.
func TestTheCorpusIsDiagnosed(t *testing.T) {
	t.Parallel()
	needCorpus(t)
	hold(t, grid(t).board, false, []goal{
		{metric: eval.Ran, permil: 1000, cases: 50},
		{metric: eval.AcceptTruth, permil: 950, cases: 12},
		{metric: eval.Verified, permil: 1000, cases: 50},
		{metric: eval.Proven, permil: 1000, cases: 50},
		{metric: eval.NoGround, cases: 20},
		{metric: eval.Innocent, cases: 10},
		{metric: eval.Forbidden, cases: 50},
		{metric: eval.ControlBlamed, cases: 4},
		{metric: eval.SelfContradiction, cases: 50},
	})
}
