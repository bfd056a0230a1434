package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// coalesced is a batch of calls that a rank waited in, in a group of its own.
func coalesced(rank int, seq, in, out int64) string {
	return fmt.Sprintf("[rank%[1]d]:[E318 07:39:53.71344919%[1]d ProcessGroupNCCL.cpp:629] [Rank %[1]d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%[2]d, OpType=COALESCED, NumelIn=%[3]d, NumelOut=%[4]d, Timeout(ms)=600000) ran for 600007 milliseconds before timing out.\n"+
		"[rank%[1]d]:[E318 07:39:53.81344919%[1]d ProcessGroupNCCL.cpp:2168] [PG ID 2 PG GUID 9 Rank %[1]d]  failure detected by watchdog at work sequence id: %[2]d PG status: last enqueued work: %[2]d, last completed work: %[5]d\n", rank, seq, in, out, seq-1)
}

// What PyTorch calls COALESCED is a batch of sends, or a collective over several tensors: its sizes tell.
func TestTheSizesOfABatchTellWhatItIs(t *testing.T) {
	batch := func(in, out func(r int) int64, ranks ...int) map[string]string {
		var b strings.Builder
		b.WriteString(fieldSteps)
		for _, r := range ranks {
			b.WriteString(coalesced(r, 12, in(r), out(r)))
		}
		return one(b.String())
	}
	all := []int{0, 1, 2, 3}
	own := func(r int) int64 { return int64(1024 * (1 + r)) }
	odd := func(r int) int64 { return int64(4096 + r/3*512) }
	times := func(in func(int) int64) func(int) int64 { return func(r int) int64 { return 4 * in(r) } }
	for _, c := range []fieldCase{
		{"gathered, of four sizes", batch(own, times(own), all...), []string{"collective-mismatch"}, "-"},
		{"gathered, one of another size", batch(odd, times(odd), all...), []string{"collective-mismatch"}, "rank 3"},
		{"scattered, of four sizes", batch(times(own), own, all...), []string{"collective-mismatch"}, "-"},
		{"gathered alike: one of the four is missing", batch(func(int) int64 { return 4096 }, func(int) int64 { return 16384 }, 0, 1, 3), []string{"rank-stalled", "collective-hang", "gpu-hang"}, "-"},
	} {
		c.check(t)
	}
}

// What a library tries and does without, it reports as information.
func TestWhatIsOnlyTriedProvesNothing(t *testing.T) {
	for _, c := range []fieldCase{
		{"NCCL looks for a symbol", one("n1:23491:23491 [0] NCCL INFO dlsym failed on ibv_reg_dmabuf_mr - /lib/libibverbs.so.1: undefined symbol: ibv_reg_dmabuf_mr\n" + fieldSteps), []string{"completed"}, "-"},
		{"an extension is optional", one("INFO 06-03 17:48:01 [registry.py:12] no fused kernel: /a/fused.so: undefined symbol: _ZN2at4_ops5emptyE\n" + fieldSteps), []string{"completed"}, "-"},
		{"what is warned of counts", one("n1:23491:23491 [0] misc/dl.cc:12 NCCL WARN Call to dlopen failed: /lib/libx.so: undefined symbol: ibv_reg_dmabuf_mr\n"), []string{"version-mismatch"}, "-"},
	} {
		c.check(t)
	}
}

const lostPeer = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.1]:41234"

// Numbers that one rank alone found wrong, and that another had found sound before it lost that one, are its own.
func TestWhoseNumbersWereWrong(t *testing.T) {
	const nan = "AssertionError: loss is nan at step 13"
	for _, c := range []fieldCase{
		{"one's, another lost it", one(fieldSteps + raisedBy(3, nan) + raisedBy(2, lostPeer)), []string{"non-finite-loss"}, "rank 3"},
		{"one's, in other words", one(fieldSteps + raisedBy(3, "ValueError: Loss is NaN on this rank") + raisedBy(0, lostPeer)), []string{"non-finite-loss"}, "rank 3"},
		{"rank 0 may check for all", one(fieldSteps + raisedBy(0, nan) + raisedBy(2, lostPeer)), []string{"non-finite-loss"}, "-"},
		{"two's", one(fieldSteps + raisedBy(3, nan) + raisedBy(1, nan) + raisedBy(2, lostPeer)), []string{"non-finite-loss"}, "-"},
		{"nobody else says anything", one(fieldSteps + raisedBy(3, nan)), []string{"non-finite-loss"}, "-"},
	} {
		c.check(t)
	}
}

// A signal that only one node's launcher had, while the other's processes lost theirs, went to that node. Whose a file is the name of another
// tells, whose own lines prove that it holds its node's.
func TestASignalToOneNode(t *testing.T) {
	const (
		told   = "W1126 02:41:08.922000 15763 torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down workers\n"
		failed = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n============================================================\ntrain.py FAILED\n------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n  time      : 2026-11-26_02:41:16\n  host      : gpu-7\n  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 16055)\n  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n============================================================\n"
	)
	lost := "2026-11-26 02:41:00,000 step 4 loss 2.1\n" + raisedBy(0, lostPeer) + failed
	for _, c := range []fieldCase{
		{"by the names of files", map[string]string{"run-gpu-7.log": lost, "run-gpu-8.log": told}, []string{"external-signal"}, "node gpu-8"},
		{"the names are of another kind", map[string]string{"run-gpu-7.log": lost, "launch-b.log": told}, []string{"external-signal"}, "-"},
		{"both had it", map[string]string{"run-gpu-7.log": told + lost, "run-gpu-8.log": told}, []string{"external-signal"}, "-"},
	} {
		c.check(t)
	}
}
