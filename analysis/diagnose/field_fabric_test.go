package diagnose

import (
	"strings"
	"testing"
)

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

// What actors of several nodes print stands in the driver's file: the one host that NCCL names there is not that of the others.
func TestAFileOfRaysActorsIsOfNoNode(t *testing.T) {
	far := "(TrainWorker pid=4009, ip=10.1.0.6) "
	text := "(TrainWorker pid=4000, ip=10.1.0.0) step 12 loss 1.9\n(TrainWorker pid=4001, ip=10.1.0.1) gpu-1:4001:4388 [0] misc/socket.cc:81 NCCL WARN socketProgress: Connection closed by remote peer 10.1.0.6<41234>\n"
	for l := range strings.Lines(raisedBy(6, "RuntimeError: CUDA error: unspecified launch failure")) {
		text += far + l
	}
	fieldCase{"a host that another actor names", one(text), []string{"cuda-error"}, "rank 6"}.check(t)
}
