package diagnose

import (
	"fmt"
	"slices"
	"testing"

	"faultline/simulate"
)

// A collective that the watchdog aborted leaves garbage behind: whoever was in it and goes on with that fails in consequence,
// whatever it says. The same error of a rank that was elsewhere comes first.
func TestWhatComesBackFromAnAbortedCollective(t *testing.T) {
	wait := func(r int) string {
		return fmt.Sprintf("[rank%[1]d]:[E813 12:25:30.691567129 ProcessGroupNCCL.cpp:632] [Rank %[1]d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=57, OpType=ALLGATHER, NumelIn=1, NumelOut=4, Timeout(ms)=600000) ran for 600038 milliseconds before timing out.\n"+
			"[rank%[1]d]:[E813 12:25:30.692163833 ProcessGroupNCCL.cpp:2271] [PG ID 1 PG GUID 1 Rank %[1]d]  failure detected by watchdog at work sequence id: 57 PG status: last enqueued work: 57, last completed work: 56\n", r)
	}
	oom := func(file, fn string) string {
		return "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"/w/train.py\", line 5, in <module>\n[rank2]:     main()\n[rank2]:   File \"" + file + "\", line 42, in " + fn +
			"\n[rank2]:     x.resize_(size)\n[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 184.13 GiB. GPU 2 has a total capacity of 79.14 GiB.\n"
	}
	for _, tc := range []struct {
		name, text string
		want       []string
		ranks      []int
	}{
		{"in the collective", wait(0) + wait(1) + oom("/opt/torch/distributed/distributed_c10d.py", "all_gather_object"), []string{"collective-hang", "gpu-hang", "rank-stalled"}, nil},
		{"in the program", wait(0) + wait(1) + oom("/w/model.py", "forward"), []string{"gpu-oom"}, []int{2}},
		{"in the collective, before anybody waited long", oom("/opt/torch/distributed/distributed_c10d.py", "all_gather_object") + wait(0) + wait(1), []string{"gpu-oom"}, []int{2}},
	} {
		v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(tc.text)}}, nil, 0)).Verdict
		var got []string
		for _, c := range v.Candidates {
			got = append(got, c.Mechanism)
		}
		slices.Sort(got)
		if !slices.Equal(got, tc.want) || !slices.Equal(v.Root.Ranks, tc.ranks) && len(v.Root.Ranks)+len(tc.ranks) > 0 {
			t.Errorf("%s: said %v, ranks %v: %s", tc.name, got, v.Root.Ranks, v.Summary)
		}
	}
}
