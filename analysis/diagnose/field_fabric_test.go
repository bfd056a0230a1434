package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// each is what all of n ranks raise alike.
func each(n int, last string) string {
	var b strings.Builder
	for r := range n {
		b.WriteString(raisedBy(r, last))
	}
	return b.String()
}

const ncclSays = "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:94, %s (run with NCCL_DEBUG=INFO for details), NCCL version 2.26.2\n%s\nLast error:\n%s"

// What NCCL, UCX, libfabric and HCCL say of links, cards and ports, in their own words.
func TestWordsOfFabrics(t *testing.T) {
	const (
		p2p   = "P2P is disabled between NVLINK connected GPUs 5 and 4. This should not be the case given their connectivity, and is probably due to a hardware issue. If you still want to proceed, you can set NCCL_IGNORE_DISABLED_P2P=1."
		mnnvl = "MNNVL (cliqueSize 8) is available but not working on this system. Check the IMEX channel configuration (/dev/nvidia-caps-imex-channels). Set NCCL_MNNVL_ENABLE=0 to ignore this issue."
		types = "socketFinalizeAccept: wrong type 4 != 3"
		efa   = "ip-10-1-1-5:4120:4388 [2] process_completions:234 NCCL WARN NET/OFI Request 0x7f completed with error. RC: 103. Error: 4123 (Unresponsive receiver (reachable by EFA device but handshake failed)). Completed length: 0\n"
		ucx   = "[n1:49:0:49] ib_mlx5_log.c:179  Remote operation error on mlx5_0:1/IB (synd 0x14 vend 0x89 hw_synd 0/0)\n[n1:49:0:49] ib_mlx5_log.c:179  RC QP 0x23b wqe[0]: RDMA_READ s-- [rva 0x14 rkey 0x18] [va 0x14 len 589824 lkey 0x18] [rqpn 0xa90 dlid=4 sl=0 port=1 src_path_bits=0]\n==== backtrace (tid: 49) ====\n[n1:49] *** Process received signal ***\n[n1:49] Signal: Aborted (6)\n"
		hccl  = "InnerRunOpApi:torch_npu/csrc/framework/OpParamMaker.cpp:281 OPS function error: HcclAllreduce, error code is 6\n[ERROR] 2025-07-23-03:49:57 (PID:27, Device:1, RankID:1) ERR01100 OPS call acl api failed.\nEI0006: [PID: 27] 2025-07-23-03:49:57.444.436 Getting socket times out. Reason: Remote Rank did not send the data in time. Please check the reason for the rank being stuck"
	)
	for _, c := range []fieldCase{
		{"NVLink that the driver keeps closed", one(each(8, fmt.Sprintf(ncclSays, "unhandled cuda error", "ncclUnhandledCudaError: Call to CUDA function failed.", p2p))), []string{"gpu-nvlink"}, "-"},
		{"no IMEX channel", one(each(8, fmt.Sprintf(ncclSays, "unhandled system error", "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.", mnnvl))), []string{"config-error"}, "-"},
		{"sockets here, InfiniBand there: who says so is one of two ends", one("gpu-1:16:61 [0] misc/socket.cc:441 NCCL WARN " + types + "\n" +
			raisedBy(0, fmt.Sprintf(ncclSays, "internal error", "ncclInternalError: Internal check failed.", types))), []string{"config-error"}, "-"},
		{"a receiver over EFA is gone: its own exception", one(fieldSteps + raisedBy(3, "ValueError: Expected input batch_size (1021) to match target batch_size (1024).") + efa), []string{"exception"}, "rank 3"},
		{"a receiver over EFA is gone: nothing else", one(fieldSteps + efa), []string{"peer-lost", "link-error", "unknown"}, "-"},
		{"UCX ends the process by a remote error", one(fieldSteps + ucx), []string{"link-error"}, "-"},
		{"MPI finds no way to a rank", one("[gpu1:15] pml_ucx.c:419 Error: ucp_ep_create(proc=9) failed: Destination is unreachable\n[gpu1:15] pml_ucx.c:472 Error: Failed to resolve UCX endpoint for rank 9\n"),
			[]string{"init-unreachable", "peer-lost"}, "-"},
		{"HCCL's operation that found nobody", one(raisedBy(1, "RuntimeError: "+hccl)), []string{"init-unreachable", "peer-lost"}, "-"},
		{"HCCL's port is taken", one("[ERROR] HCCL(27,python3):2025-07-23-03:47:57.070.463 [hccl_socket.cc:100] [27][HcclSocket][Listen] socket type[1], listen on ip[192.168.20.160] and specific port[16666] fail. Please check the port status and whether the port is been using by other process.\n" +
			raisedBy(1, "RuntimeError: "+hccl)), []string{"config-error"}, "-"},
	} {
		c.check(t)
	}
}

// The coordination service of JAX, and XLA's own rendezvous: a barrier of the running program is no start-up that failed, and the one at the end
// holds nobody.
func TestBarriersOfJAX(t *testing.T) {
	const (
		steps   = "I0929 17:41:10.100000 10 train.py:88] completed step: 10, seconds: 0.73, loss: 10.8\nI0929 17:42:10.100000 10 train.py:88] completed step: 11, seconds: 0.73, loss: 10.8\nI0929 17:43:10.100000 10 train.py:88] completed step: 12, seconds: 0.73, loss: 10.8\n"
		raised  = "Traceback (most recent call last):\n  File \"/a/jax_utils.py\", line 75, in barrier_sync\n    client.wait_at_barrier(name, timeout_in_ms=int(timeout * 1000.0))\njaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: %s. Timed out task names:\n/job:jax_worker/replica:0/task:3\n\n"
		late    = "E0929 17:50:48.594192 10 coordination_service_agent.cc:481] Failed to disconnect from coordination service with status: DEADLINE_EXCEEDED: Barrier timed out. Id: Shutdown::0. This usually happens because a task triggered the barrier too early or too slowly.\n# of tasks that reached the barrier: 7/8.\nThe first task at the barrier: /job:jax_worker/replica:0/task:2. Some timed out task names:\n/job:jax_worker/replica:0/task:0\n. Proceeding with agent shutdown anyway.\n"
		stuck   = "E0929 17:50:19.100000   52 rendezvous.cc:100] [id=1] This thread has been waiting for `first call to collective operation 190; run_id=-85` for 20 seconds and may be stuck. Expected 8 threads to join the rendezvous, but not all of them arrived on time.\n"
		ended   = "F0929 17:50:39.100000   52 rendezvous.cc:127] [id=1] Termination timeout for `first call to collective operation 190; run_id=-85` of 40 seconds exceeded. Exiting to ensure a consistent program state. Expected 8 threads to join the rendezvous, but only 7 of them arrived on time.\nAborted (core dumped)\n"
		unstuck = "E0929 17:50:21.100000   52 rendezvous.cc:107] [id=1] Thread is unstuck! Warning above was a false-positive. Perhaps the timeout is too short: `first call to collective operation 190; run_id=-85`. Expected 8 threads to join the rendezvous, but not all of them arrived on time.\n"
		done    = "I0929 17:59:10.100000 10 train.py:99] Training finished.\n"
	)
	for _, c := range []fieldCase{
		{"while it trains", one(steps + fmt.Sprintf(raised, "levanter_barrier_sync_3")), []string{"rank-stalled"}, "rank 3"},
		{"at the start", one(fmt.Sprintf(raised, "PjRT_Client_Connect")), []string{"init-unreachable"}, "-"},
		{"at the end", one(steps + done + late), []string{"completed"}, "-"},
		{"XLA ended the process", one(steps + stuck + ended), []string{"rank-stalled", "collective-hang", "gpu-hang"}, "-"},
		{"XLA was wrong", one(steps + stuck + unstuck + strings.ReplaceAll(steps, "17:4", "17:5") + done), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}

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
