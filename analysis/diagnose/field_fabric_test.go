package diagnose

import (
	"strings"
	"testing"
)

// A process that a signal ended below its last step has not ended well, whatever is known of why.
func TestAnAbortBelowTheLastStep(t *testing.T) {
	for _, c := range []fieldCase{
		{"in the middle", one(fieldSteps + "Aborted (core dumped)\n"), []string{"unknown"}, "-"},
		{"after the program's own end", one(fieldSteps + "Training finished.\nAborted (core dumped)\n"), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}

// Of a node that cannot use its GPUs the others wait at the store; that one of them tried the store before it was there changes nothing.
func TestWaitingForANodeThatFailed(t *testing.T) {
	waits := "[W603 17:48:01.005271823 socket.cpp:755] [c10d] The client socket has failed to connect to [node-a]:29500 (errno: 111 - Connection refused).\n" +
		raisedBy(0, "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 8/16 clients joined.")
	failed := ""
	for r := 8; r < 16; r++ {
		failed += raisedBy(r, "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized")
	}
	fieldCase{"the fabric of one node is not up", map[string]string{"a.log": waits, "b.log": failed}, []string{"gpu-nvlink"}, ""}.check(t)
}

// Two ranks of a group wait in works that are one apart: whoever completed the earlier one did not do so without the other, or they do not
// call the same.
func TestWaitersOneWorkApart(t *testing.T) {
	text := "[rank0]:[E1123 00:52:57.664949121 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1516, OpType=ALLREDUCE, NumelIn=25427968, NumelOut=25427968, Timeout(ms)=600000) ran for 600017 milliseconds before timing out.\n" +
		"[rank0]:[E1123 00:52:57.665427695 ProcessGroupNCCL.cpp:1664] [PG 1 Rank 0] Exception (either an error or timeout) detected by watchdog at work: 1516, last enqueued NCCL work: 1516, last completed NCCL work: 1515.\n" +
		"[rank1]:[E1123 00:52:57.704703955 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1517, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600046 milliseconds before timing out.\n" +
		"[rank1]:[E1123 00:52:57.705110000 ProcessGroupNCCL.cpp:1664] [PG 1 Rank 1] Exception (either an error or timeout) detected by watchdog at work: 1517, last enqueued NCCL work: 1517, last completed NCCL work: 1516.\n"
	fieldCase{"who is wrong nothing says", one(fieldSteps + text), []string{"rank-stalled", "collective-hang", "gpu-hang", "collective-mismatch"}, "-"}.check(t)
}

// What actors of several nodes print stands in the driver's file: the one host that NCCL names there is not that of the others.
func TestAFileOfRaysActorsIsOfNoNode(t *testing.T) {
	far := "(TrainWorker pid=4009, ip=10.1.0.6) "
	text := "(TrainWorker pid=4000, ip=10.1.0.0) step 12 loss 1.9\n(TrainWorker pid=4001, ip=10.1.0.1) gpu-1:4001:4388 [0] misc/socket.cc:81 NCCL WARN socketProgress: Connection closed by remote peer 10.1.0.6<41234>\n"
	for l := range strings.Lines(raisedBy(6, "RuntimeError: CUDA error: unspecified launch failure")) {
		text += far + l
	}
	fieldCase{"a host that another actor names", one(text), []string{"cuda-error"}, "rank 6"}.check(t)
}
