package diagnose

import (
	"fmt"
	"testing"
)

// From PyTorch 2.6 on the watchdog tells of an error in the words in which it tells of a time-out. A rank whose peer crashed did not wait in
// a collective that hung.
func TestAWatchdogThatMetAnErrorWaitedForNobody(t *testing.T) {
	const (
		raised = "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/a/train.py\", line 9, in <module>\n[rank1]:     dist.all_reduce(x)\n" +
			"[rank1]: torch.distributed.DistBackendError: NCCL error in: /a/NCCLUtils.cpp:77, remote process exited or there was a network error, NCCL version 2.26.2\n" +
			"[rank1]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n[rank1]: Last error:\n" +
			"[rank1]: socketProgress: Connection closed by remote peer n2.cluster<55012>\n"
		crashed = "E0830 12:01:02.551000 88 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -11) local_rank: 1 (pid: 190) of binary: /usr/bin/python3\n"
	)
	async := func(rank, seq int) string {
		return fmt.Sprintf("[rank%d]:[E830 12:01:01.123450000 ProcessGroupNCCL.cpp:552] [Rank %d] Collective WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=16384, NumelOut=16384, Timeout(ms)=600000) raised the following async exception: NCCL error: remote process exited or there was a network error, NCCL version 2.26.2\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketProgress: Connection closed by remote peer n2.cluster<55012>\n", rank, rank, seq)
	}
	state := func(rank, seq int) string {
		return fmt.Sprintf("[rank%d]:[E830 12:01:01.123456789 ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: %d PG status: last enqueued work: %d, last completed work: %d\n", rank, rank, seq, seq, seq-1)
	}
	dump := func(rank int, from string) string {
		return fmt.Sprintf("[rank%d]:[E830 12:01:02.253550467 ProcessGroupNCCL.cpp:1682] [PG ID 0 PG GUID 0(default_pg) Rank %d] Received a dump signal due to a collective timeout from %s and we will try our best to dump the debug info. Last enqueued NCCL work: 7121, last completed NCCL work: 7121.This is most likely caused by incorrect usages of collectives\n", rank, rank, from)
	}
	block := childFailed("12:00:59", "n2.cluster", 3, 1, -11)
	hang := []string{"rank-stalled", "collective-hang", "gpu-hang", "lone-waiter", "collective-mismatch"}
	for _, c := range []fieldCase{
		{"its watchdog says so, and a peer crashed", one(fieldSteps + async(1, 7121) + state(1, 7121) + crashed + block), []string{"native-crash"}, "rank 3, node n2"},
		{"its main thread says so", one(fieldSteps + state(1, 7121) + raised + crashed + block), []string{"native-crash"}, "rank 3, node n2"},
		{"nobody tells why the peer went", one(fieldSteps + async(1, 7121) + state(1, 7121)), []string{"peer-lost", "unknown"}, "-"},
		{"and told others in the words of a time-out", one(fieldSteps + async(1, 7121) + state(1, 7121) + dump(1, "this local rank") + dump(0, " rank 1") + dump(2, " rank 1")), []string{"peer-lost", "unknown"}, "-"},
		{"others were told by one that is not seen", one(fieldSteps + async(1, 7121) + state(1, 7121) + dump(0, " rank 5") + dump(2, " rank 5")), hang, "-"},
		{"nothing says what the watchdog met", one(fieldSteps + state(1, 7121)), hang, ""},
		{"others waited, and met its end", one(fieldSteps + watchdog(0, 7121, "ALLREDUCE", 16384) + async(1, 7121) + state(1, 7121)), []string{"rank-stalled", "collective-hang", "gpu-hang"}, "-"},
	} {
		c.check(t)
	}
}

// A port that went down after thousands of collectives was there before.
func TestALinkThatHadCarriedCollectives(t *testing.T) {
	failed := func(seq int) map[string]string {
		async := "[rank%d]:[E512 08:11:02.113377812 ProcessGroupNCCL.cpp:542] [Rank %d] Collective WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=33554432, NumelOut=33554432, Timeout(ms)=1800000) raised the following async exception: NCCL error: remote process exited or there was a network error, NCCL version 2.21.5\n"
		return map[string]string{
			"node-a.log": "node-a:1411:1702 [3] misc/ibvwrap.cc:262 NCCL WARN NET/IB : mlx5_3:1 Got async event : port error\n" + fmt.Sprintf(async, 3, 3, seq),
			"node-b.log": "node-b:2411:2702 [3] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.1.0.21<51210> with error 12, opcode 0, len 0, vendor err 129 (Send) localGid ::ffff:10.1.0.22 remoteGid ::ffff:10.1.0.21\n" + fmt.Sprintf(async, 11, 11, seq),
		}
	}
	for _, c := range []fieldCase{
		{"after many", failed(88121), []string{"link-error"}, "node node-a"},
		{"in the first", failed(1), []string{"link-error", "init-unreachable"}, ""},
	} {
		c.check(t)
	}
}
