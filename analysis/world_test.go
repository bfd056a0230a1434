package analysis

import (
	"fmt"
	"strings"
	"testing"
)

// made is how processes tell that they have made a communicator.
func made(node string, pid, of int, ranks ...int) string {
	var b strings.Builder
	for _, r := range ranks {
		fmt.Fprintf(&b, "%s:%d:%d [%d] NCCL INFO comm 0x55aaa098%04d rank %d nranks %d cudaDev %d busId %d000 - Init COMPLETE\n", node, pid+r, pid+r+200, r, pid+r, r, of, r, r+1)
	}
	return b.String()
}

// The largest communicator holds all ranks where the processes that are here show no larger one, nor two of its size.
func TestTheLargestCommunicatorHoldsAllRanks(t *testing.T) {
	const first = "n1:100:100 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\nn1:100:300 [0] NCCL INFO Using network IB\n"
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"all made it":                             {made("n1", 100, 4, 0, 1, 2, 3), 4},
		"most of it made it":                      {made("n1", 100, 6, 0, 1, 2, 3), 6},
		"half of it made it":                      {made("n1", 100, 8, 0, 1, 2, 3), 0},
		"one made it, whose first lines are here": {first + made("n1", 100, 8, 0), 8},
		"two of its size":                         {made("n1", 100, 4, 0, 1, 2, 3) + made("n2", 300, 4, 0, 1, 2, 3), 0},
		"a larger one elsewhere":                  {made("n1", 100, 4, 0, 1, 2, 3) + made("n2", 300, 8, 4, 5, 6, 7), 0},
		"a rank beyond it":                        {made("n1", 100, 4, 0, 1, 2, 3) + "[rank5]: step 3\n", 0},
	} {
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"train.log": c.text}, "")})
		got := 0
		if r.Job.WorldSize != nil {
			got = *r.Job.WorldSize
		}
		if got != c.want {
			t.Errorf("%s: %d ranks, expected %d", name, got, c.want)
		}
	}
}
