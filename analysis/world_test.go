package analysis

import (
	"fmt"
	"slices"
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

// A rank that must exist and wrote no line is asked for, and is one of those who may have held the others.
func TestARankThatMustExist(t *testing.T) {
	gaveUp := func(rank int, seq int, op string, in, out int64) string {
		return fmt.Sprintf("[rank%[1]d]:[E513 13:25:57.71478166%[1]d ProcessGroupNCCL.cpp:616] [Rank %[1]d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%[2]d, OpType=%[3]s, NumelIn=%[4]d, NumelOut=%[5]d, Timeout(ms)=1800000) ran for 1800042 milliseconds before timing out.\n"+
			"[rank%[1]d]:[E513 13:25:57.71478167%[1]d ProcessGroupNCCL.cpp:1785] [PG ID 1 PG GUID 7 Rank %[1]d] Exception (either an error or timeout) detected by watchdog at work: %[2]d, last enqueued NCCL work: %[2]d, last completed NCCL work: %[6]d.\n", rank, seq, op, in, out, seq-1)
	}
	all := func(ranks []int, op string, in, out int64) string {
		var b strings.Builder
		for _, r := range ranks {
			b.WriteString(gaveUp(r, 9, op, in, out))
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		text    string
		missing []int
	}{
		"by the sizes of what is gathered":  {all([]int{0, 1, 2}, "_ALLGATHER_BASE", 512, 2048), []int{3}},
		"by the sizes of what is scattered": {all([]int{1, 2, 3}, "_REDUCE_SCATTER_BASE", 2048, 512), []int{0}},
		"by a gap between numbers":          {all([]int{0, 1, 3}, "ALLREDUCE", 512, 512), []int{2}},
		"by a communicator's size":          {"n1:4:9 [0] NCCL INFO comm 0x55aaa0981234 rank 0 nranks 4 cudaDev 0 busId 1000 - Abort COMPLETE\n" + all([]int{0, 1, 2}, "ALLREDUCE", 512, 512), []int{3}},
		"nothing is missing":                {all([]int{0, 1, 2}, "ALLREDUCE", 512, 512), nil},
	} {
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"train.log": c.text}, "")})
		if !slices.Equal(r.Coverage.RanksMissing, c.missing) || !slices.Equal(r.Verdict.Root.Frontier, c.missing) || r.Job.WorldSize != nil {
			t.Errorf("%s: missing %v, among %v; expected %v", name, r.Coverage.RanksMissing, r.Verdict.Root.Frontier, c.missing)
		}
	}
}
