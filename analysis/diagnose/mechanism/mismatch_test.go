package mechanism

import (
	"testing"

	"faultline/analysis/worker"
)

func TestHowCallsDiffer(t *testing.T) {
	for want, m := range map[string]worker.Mismatch{
		"different collectives: REDUCE on group rank 3, BARRIER on group rank 4":         {RankA: 3, RankB: 4, OpA: "REDUCE", OpB: "BARRIER", SeqA: 7, SeqB: 8},
		"BARRIER under different sequence numbers: 1 on group rank 0, 2 on group rank 5": {RankA: 0, RankB: 5, OpA: "BARRIER", OpB: "BARRIER", SeqA: 1, SeqB: 2},
		"": {RankA: 0, RankB: 5, OpA: "REDUCE", OpB: "REDUCE", SeqA: 2, SeqB: 2, TensorA: "[4] Float cpu", TensorB: "[5] Float cpu"},
	} {
		if got := apart(&m, []int{m.RankA}, []int{m.RankB}); got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
	if got := apart(&worker.Mismatch{RankA: 1, RankB: -1, OpA: "REDUCE"}, []int{1}, nil); got != "" {
		t.Errorf("nobody says what the others called, and yet: %q", got)
	}
}
