package diagnose

import (
	"slices"
	"strings"
	"testing"

	"faultline/simulate"
)

// Megatron's checks name the rank and the node that they run on, where no launcher does.
func TestNumbersNameTheirRank(t *testing.T) {
	const (
		step   = " iteration     1092/    2000 | consumed samples:       292608 | elapsed time per iteration (ms): 219658.2 | lm loss: 2.607045E+00 | loss scale: 1.0 | grad norm: 0.037 | number of nan iterations:   0 |\n"
		frames = "Traceback (most recent call last):\n  File \"/w/core/buffer.py\", line 3, in check_grads\n    check()\n"
		rerun  = "ERROR:megatron.core.rerun_state_machine:"
		found  = rerun + "Unexpected result nan on rank 5 at iteration #1093 invocation #1 (message='found NaN in local forward loss calculation')\n"
		again  = rerun + "Rank 5, node rack4-gpu2, device 5, iteration #1093: "
	)
	for _, tc := range []struct {
		name, text string
		want       []string // candidates, sorted
		ranks      []int
		nodes      []string
	}{
		{"an assertion, core 0.5 to 0.9", step + frames + "AssertionError: Rank 21: found NaN in local grad norm in backward pass before data-parallel communication collective. Device: 5, node: rack4-gpu2\n",
			[]string{"non-finite-loss"}, []int{21}, []string{"rack4-gpu2"}},
		{"its twin of the loss", frames + "AssertionError: Rank 21: found NaN in local forward loss calculation. Device: 5, node: rack4-gpu2.site.org\n",
			[]string{"non-finite-loss"}, []int{21}, []string{"rack4-gpu2"}},
		{"validate_result, 0.10 on", step + frames + "RuntimeError: Rank 21, node rack4-gpu2, device 5, iteration 1093: Unexpected result nan (message='found NaN in local grad norm for bucket #0 in backward pass before data-parallel communication collective')\n",
			[]string{"non-finite-loss"}, []int{21}, []string{"rack4-gpu2"}},
		{"wrapped by a framework", frames + "RuntimeError: Training execution failed: Rank 21, node rack4-gpu2, device 5, iteration 1: Unexpected result inf (message='found Inf in local forward loss calculation')\n",
			[]string{"non-finite-loss"}, []int{21}, []string{"rack4-gpu2"}},
		{"no rank in it", frames + "AssertionError: found NaN in local grad norm in backward pass\n", []string{"non-finite-loss"}, nil, nil},
		{"the launcher's prefix goes before", strings.ReplaceAll("[rank3]: "+frames+"AssertionError: Rank 21: found NaN in local grad norm in backward pass before data-parallel communication collective. Device: 5, node: rack4-gpu2", "\n", "\n[rank3]: ") + "\n",
			[]string{"non-finite-loss"}, []int{3}, nil},
		{"found, to be computed again", step + found, []string{"non-finite-loss"}, []int{5}, nil},
		{"another result on the same GPU", step + found + again + "Possible transient error!!\n", []string{"non-finite-loss", "silent-corruption"}, []int{5}, []string{"rack4-gpu2"}},
		{"another result on another GPU does not accuse that one", step + again + "Possible persistent error!!\n", []string{"silent-corruption"}, nil, nil},
	} {
		v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(tc.text)}}, nil, 0)).Verdict
		var got []string
		for _, c := range v.Candidates {
			got = append(got, c.Mechanism)
		}
		slices.Sort(got)
		if !slices.Equal(got, tc.want) || !slices.Equal(v.Root.Ranks, tc.ranks) && len(v.Root.Ranks)+len(tc.ranks) > 0 ||
			!slices.Equal(v.Root.Nodes, tc.nodes) && len(v.Root.Nodes)+len(tc.nodes) > 0 {
			t.Errorf("%s: said %v, ranks %v on %v: %s", tc.name, got, v.Root.Ranks, v.Root.Nodes, v.Summary)
		}
	}
}
