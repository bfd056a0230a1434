package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/simulate"
)

// What the wide grid showed to be judged wrongly once, each by its cause.
func TestWhatTheGridShowed(t *testing.T) {
	const (
		steps  = "[rank0]: 2026-03-01 10:00:01,000 INFO trainer: step 1 loss 2.15\n[rank0]: 2026-03-01 10:00:02,000 INFO trainer: step 2 loss 2.14\n[rank0]: 2026-03-01 10:00:03,000 INFO trainer: step 3 loss 2.13\n"
		lost   = "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/a/train.py\", line 3, in main\n[rank1]:     f()\n[rank1]: torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1331, remote process exited or there was a network error, NCCL version 2.21.5\n[rank1]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n"
		border = "============================================================\n"
		term   = "W0301 10:00:47.412000 46741 torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down workers\n"
		store  = "[rank%d]: Traceback (most recent call last):\n[rank%d]:   File \"/a/train.py\", line 3, in main\n[rank%d]:     f()\n[rank%d]: RuntimeError: Timed out initializing process group in store based barrier on rank: %d, for\n"
	)
	block1 := border + "train.py FAILED\nRoot Cause (first observed failure):\n[0]:\n" + block(1, 1, "10:00:40", "To enable traceback see: https://pytorch.org") + border
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"a signal that comes after lost peers did not begin it", steps + lost + block1 + term, []string{"peer-lost", "unknown"}},
		{"a signal before anything else did", steps + term, []string{"external-signal"}},
		{"a barrier's time-out whose numbers are cut off", fmt.Sprintf(store, 0, 0, 0, 0, 0) + fmt.Sprintf(store, 1, 1, 1, 1, 1), []string{"init-unreachable"}},
		{"a traceback that is cut inside another back end's collective", split("all_gather"), []string{"collective-mismatch"}},
		{"a heartbeat monitor whose last words are lost still ended its process", steps + "[rank2]:[E301 10:43:41.447411859 ProcessGroupNCCL.cpp:1278] [PG 0 (default_pg) Rank 2] Heartbeat monitor timed out! Process will be terminated after dumping debug info. workMetaList_.size()=1\n" +
			border + "train.py FAILED\nRoot Cause (first observed failure):\n[0]:\n" + block(2, -6, "10:44:00", "Signal 6 (SIGABRT) received by PID 4002") + border, []string{"watchdog-stuck"}},
		{"one that is cut elsewhere says nothing", split("get_rank"), []string{"rank-stalled"}},
	} {
		v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(c.text)}}, nil, 4)).Verdict
		var got []string
		for _, x := range v.Candidates {
			got = append(got, x.Mechanism)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: said %v (%s: %s), expected %v", c.name, got, v.Status, v.Summary, c.want)
		}
	}
}

// split is a hang in which ranks 0 to 2 wait in NCCL while rank 3 has nothing in flight there, and its traceback ends, without
// its last line, in a function of torch.distributed.
func split(function string) string {
	var b strings.Builder
	for r := range 3 {
		fmt.Fprintf(&b, "[rank%d]:[E301 10:10:00.5%d ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=405, OpType=_ALLGATHER_BASE, NumelIn=8, NumelOut=32, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n", r, r, r)
		fmt.Fprintf(&b, "[rank%d]:[E301 10:10:00.6%d ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: 405 PG status: last enqueued work: 407, last completed work: 404\n", r, r, r)
	}
	b.WriteString("[rank3]:[E301 10:10:01.500000000 ProcessGroupNCCL.cpp:1743] [PG ID 0 PG GUID 0(default_pg) Rank 3] Received a dump signal due to a collective timeout from  rank 0 and we will try our best to dump the debug info. Last enqueued NCCL work: 404, last completed NCCL work: 404.This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks, the order of collectives is not same for all ranks or the scheduled collective, for some reason, didn't run. Additionally, this can be caused by GIL deadlock or other reasons such as network errors or bugs in the communications library (e.g. NCCL), etc. \n")
	fmt.Fprintf(&b, "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/a/train.py\", line 3, in main\n[rank3]:     gather()\n"+
		"[rank3]:   File \"/usr/lib/python3.10/site-packages/torch/distributed/distributed_c10d.py\", line 3521, in %s\n[rank3]:     work.wait()\n", function)
	return b.String()
}

// A loss that is not finite is everybody's: the rank whose check stops first need not be where it began. Numbers that a rank
// checks before they are added up are its own.
func TestWhoFindsALossNotFiniteIsNotItsOrigin(t *testing.T) {
	for text, want := range map[string][]int{
		"AssertionError: loss is not finite": nil,
		"AssertionError: Rank 5: found NaN in local grad norm in backward pass before data-parallel communication collective": {5},
	} {
		v := Run(read(t, spoken(5, 3, text), nil, 8)).Verdict
		if v.Mechanism != "non-finite-loss" || !slices.Equal(v.Root.Ranks, want) && len(v.Root.Ranks)+len(want) > 0 {
			t.Errorf("%s: %s, rank %v", text, v.Mechanism, v.Root.Ranks)
		}
	}
}
