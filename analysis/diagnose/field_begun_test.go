package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// Work that is begun while all others wait is that of the only rank that does not.
func TestWorkBegunWhileTheOthersWait(t *testing.T) {
	waits := func(ranks ...int) string {
		var b strings.Builder
		for _, r := range ranks {
			fmt.Fprintf(&b, "[rank%d]:[E917 05:30:00.5 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n"+
				"[rank%d]:[E917 05:30:00.6 ProcessGroupNCCL.cpp:2271] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: 5 PG status: last enqueued work: 5, last completed work: 4\n", r, r, r, r)
		}
		return b.String()
	}
	index := func(at string) string {
		return "using world size: 4, data-parallel size: 4\n[2025-09-17 " + at + "] INFO:megatron.core.datasets.gpt_dataset:\tBuild and save the shuffle index to a-shuffle_index.npy\n"
	}
	for _, c := range []fieldCase{
		{"while rank 0 alone does not wait", map[string]string{"a.log": index("05:29:00") + waits(1, 2, 3)}, []string{"rank-busy"}, "rank 0"},
		{"before anybody waited", map[string]string{"a.log": index("05:19:00") + waits(1, 2, 3)}, []string{"rank-stalled", "collective-hang", "gpu-hang"}, "-"},
		{"while rank 2 does not wait, either", map[string]string{"a.log": index("05:29:00") + waits(1, 3)}, []string{"rank-stalled", "collective-hang", "gpu-hang"}, "-"},
	} {
		c.check(t)
	}
}
