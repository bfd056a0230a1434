package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// inGroup is how a rank of PyTorch 2.6 reports that it waited in a group that nobody describes, and toldOf how one prints its counters of the
// default group after another's time-out.
func inGroup(rank, place int) string {
	return fmt.Sprintf("[rank%d]:[E607 21:52:16.253530467 ProcessGroupNCCL.cpp:629] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3106, OpType=ALLREDUCE, NumelIn=16666624, NumelOut=16666624, Timeout(ms)=600000) ran for 600008 milliseconds before timing out.\n"+
		"[rank%d]:[E607 21:52:16.255881356 ProcessGroupNCCL.cpp:2168] [PG ID 1 PG GUID 1 Rank %d]  failure detected by watchdog at work sequence id: 3106 PG status: last enqueued work: 3111, last completed work: 3105\n",
		rank, place, rank, place)
}

func toldOf(rank int) string {
	return fmt.Sprintf("[rank%d]:[E607 21:52:17.253530467 ProcessGroupNCCL.cpp:1369] [PG ID 0 PG GUID 0(default_pg) Rank %d] Observed flight recorder dump signal from another rank via TCPStore.\n"+
		"[rank%d]:[E607 21:52:17.253550467 ProcessGroupNCCL.cpp:1682] [PG ID 0 PG GUID 0(default_pg) Rank %d] Received a dump signal due to a collective timeout from  rank 4 and we will try our best to dump the debug info. Last enqueued NCCL work: 11, last completed NCCL work: 11.This is most likely caused by incorrect usages of collectives\n",
		rank, rank, rank, rank)
}

// A group is described by nobody, and how many ranks there are no line says. That PyTorch numbers members in the order of their global ranks
// proves who is between two others.
func TestAMemberByTheOrderOfRanks(t *testing.T) {
	group := func(shift int, but ...int) map[string]string {
		var b strings.Builder
		b.WriteString(fieldSteps)
		for r := range 8 {
			if len(but) == 0 || r != but[0] {
				b.WriteString(inGroup(r+shift, r))
			}
		}
		for r := range 8 {
			b.WriteString(toldOf(r + shift))
		}
		return one(b.String())
	}
	hang := []string{"rank-stalled", "collective-hang", "gpu-hang"}
	for _, c := range []fieldCase{
		{"one of eight is missing", group(0, 5), []string{"rank-stalled"}, "rank 5"},
		{"the last one need not be a member", group(0, 7), hang, "-"},
		{"the eight of the second node", group(8, 3), []string{"rank-stalled"}, "rank 11"},
		{"nobody is missing", group(0), hang, "-"},
	} {
		c.check(t)
	}
}

// What launchers say that came back to a rendezvous after the job, or lost it in the middle.
func TestARendezvousThatIsGone(t *testing.T) {
	const (
		closed = "Traceback (most recent call last):\n  File \"/a/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n  File \"/a/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py\", line 635, in run\n    raise RendezvousClosedError()\ntorch.distributed.elastic.rendezvous.api.RendezvousClosedError\n"
		lost   = "Traceback (most recent call last):\n  File \"/a/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n  File \"/a/torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py\", line 119, in _call_store\n    raise RendezvousConnectionError(\ntorch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details.\n"
		async  = "[rank1]:[E415 21:17:08.996319560 ProcessGroupNCCL.cpp:552] [Rank 1] Collective WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) raised the following async exception: NCCL error: remote process exited or there was a network error, NCCL version 2.21.5\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketProgress: Connection closed by remote peer ip-172-31-45-209<32926>\n"
		ended  = "srun: error: cdr2596: task 1: Exited with exit code 1\nsrun: Terminating StepId=21941655.1\n"
	)
	for _, c := range []fieldCase{
		{"closed, and srun tells the launcher's end", one(closed + ended), []string{"unknown"}, "-"},
		{"lost when the processes had long talked to each other", one(fmt.Sprintf(async, 335) + lost), []string{"peer-lost", "unknown"}, "-"},
		{"never had", one(lost), []string{"init-unreachable", "peer-lost"}, "-"},
	} {
		c.check(t)
	}
}

// A program that repeats its watchdog's words in a line of its own is not another process that waited.
func TestWordsOfAWatchdogThatAreRepeated(t *testing.T) {
	text := watchdog(1, 4013, "BROADCAST", 1) + "[2024-07-24 07:51:10,112][__main__][CRITICAL] - Training failed due to [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4013, OpType=BROADCAST, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600041 milliseconds before timing out.:\n"
	fieldCase{"one waited", one(fieldSteps + text), []string{"rank-stalled", "collective-hang", "gpu-hang", "lone-waiter", "collective-mismatch"}, "-"}.check(t)
}

// The file of each rank is named by its number, as the labels in most of them show: whose the others are follows. How many ranks there are
// the launcher was told.
func TestTheFileOfARankThatWroteNoLabel(t *testing.T) {
	job := func(name, launched, last string) map[string]string {
		files := map[string]string{"launch.log": launched}
		for r := range 8 {
			text := fieldSteps
			if r != 2 {
				text += watchdog(r, 3300, "ALLREDUCE", 25600000) + toldOf(r)
			}
			files[fmt.Sprintf(name, r)] = text
		}
		files[fmt.Sprintf(name, 2)] += last
		return files
	}
	const (
		told  = "torchrun --nnodes 1 --nproc-per-node 8 train.py\n"
		table = "INFO:torch.distributed.launcher.api:Starting elastic_operator with launch configs:\n  entrypoint       : train.py\n  min_nodes        : 1\n  max_nodes        : 1\n  nproc_per_node   : 8\n"
		ended = "finished epoch 0 after 107 batches\ndone\n"
	)
	hang := []string{"rank-stalled", "collective-hang", "gpu-hang"}
	for _, c := range []fieldCase{
		{"its data had ended", job("worker_%d.log", told, ended), []string{"uneven-data"}, "rank 2"},
		{"the same, by the launcher's table", job("worker_%d.log", table, ended), []string{"uneven-data"}, "rank 2"},
		{"the same, on the only node", job("worker_%d.log", "torchrun --standalone --nproc-per-node 8 train.py\n", ended), []string{"uneven-data"}, "rank 2"},
		{"how many nodes there are the environment may say", job("worker_%d.log", "torchrun --nproc-per-node 8 train.py\n", ended), hang, "-"},
		{"it may be one of more", job("worker_%d.log", "torchrun --nnodes 1:4 --nproc-per-node 8 train.py\n", ended), hang, "-"},
		{"it says nothing of its end", job("worker_%d.log", told, ""), hang, "-"},
		{"the numbers are others", job("1%d.log", told, ended), hang, "-"},
	} {
		c.check(t)
	}
}

// stuckSince is how the heartbeat monitor of a rank reports that its watchdog stood still.
func stuckSince(rank int, at string) string {
	return fmt.Sprintf("[rank%d]:[E304 %s.123456789 ProcessGroupNCCL.cpp:1746] [PG ID 0 PG GUID 0(default_pg) Rank %d] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.\n", rank, at, rank)
}

// Others time out at 10:20:30, after ten minutes.
func TestAWatchdogThatStoodStillWhenOthersBeganToWait(t *testing.T) {
	var waits strings.Builder
	waits.WriteString(fieldSteps)
	for r := range 7 {
		waits.WriteString(watchdog(r, 4401, "ALLREDUCE", 1048576))
	}
	hang := []string{"rank-stalled", "collective-hang", "gpu-hang"}
	for _, c := range []fieldCase{
		{"it stalled before", one(waits.String() + stuckSince(7, "10:18:00")), []string{"watchdog-stuck"}, "rank 7"},
		{"it stalled much later", one(waits.String() + stuckSince(7, "10:28:30")), hang, "-"},
		{"one that waited itself", one(waits.String() + stuckSince(3, "10:18:00")), hang, "-"},
	} {
		c.check(t)
	}
}

// What batch_isend_irecv sends and receives is one work: where both ends of each pair are in the same, all are in.
func TestABatchOfSendsThatNeverEnds(t *testing.T) {
	pairs := func(op string, seq func(rank int) int) map[string]string {
		var b strings.Builder
		b.WriteString("    world_size ...................................... 4\n    tensor_model_parallel_size ...................... 2\n    pipeline_model_parallel_size .................... 2\n")
		for r := range 4 {
			fmt.Fprintf(&b, "[rank%d]:[E1013 03:22:49.683087154 ProcessGroupNCCL.cpp:629] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=%s, NumelIn=18446744073709551615, NumelOut=18446744073709551615, Timeout(ms)=600000) ran for 600096 milliseconds before timing out.\n"+
				"[rank%d]:[E1013 03:22:49.683187154 ProcessGroupNCCL.cpp:2168] [PG ID 6 PG GUID 9%d(PIPELINE_MODEL_PARALLEL_GROUP) Rank %d]  failure detected by watchdog at work sequence id: %d PG status: last enqueued work: %d, last completed work: %d\n",
				r, r/2, seq(r), op, r, r%2, r/2, seq(r), seq(r), seq(r)-1)
		}
		return one(b.String())
	}
	for _, c := range []fieldCase{
		{"a batch", pairs("COALESCED", func(int) int { return 7 }), []string{"collective-hang", "gpu-hang"}, "-"},
		{"batches of different numbers", pairs("COALESCED", func(r int) int { return 7 + r/2 }), []string{"collective-hang", "gpu-hang", "rank-stalled"}, "-"},
		{"single sends", pairs("SEND", func(int) int { return 7 }), []string{"collective-hang", "gpu-hang", "rank-stalled"}, "-"},
	} {
		c.check(t)
	}
}

// torch.distributed.checkpoint raises on all ranks what failed on one.
func TestACheckpointErrorThatAllRanksTell(t *testing.T) {
	told := func(ranks ...int) map[string]string {
		var b strings.Builder
		for _, r := range ranks {
			b.WriteString(raisedBy(r, "torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([2])\nTraceback (most recent call last): (RANK 2)\n  File \"/a/torch/distributed/checkpoint/filesystem.py\", line 771, in read_data\n    f()\nFileNotFoundError: [Errno 2] No such file or directory: '/scratch/ckpt/__2_0.distcp'"))
		}
		return one(b.String())
	}
	for _, c := range []fieldCase{
		{"all below it are members", told(0, 1, 2, 3), []string{"checkpoint-io"}, "rank 2"},
		{"one below it is not seen", told(1, 2, 3), []string{"checkpoint-io"}, ""},
	} {
		c.check(t)
	}
}

// NCCLs of two versions misread each other.
func TestTwoVersionsOfNCCL(t *testing.T) {
	truncated := func(version string) string {
		return "NCCL version " + version + "+cuda12.4\n" + raisedBy(0, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2251, internal error, NCCL version "+version+"\nncclInternalError: Internal check failed.\nLast error:\nMessage truncated : received 1024 bytes instead of 256")
	}
	for _, c := range []fieldCase{
		{"two", map[string]string{"a.log": truncated("2.21.5"), "b.log": truncated("2.18.1")}, []string{"version-mismatch"}, "-"},
		{"one", map[string]string{"a.log": truncated("2.21.5"), "b.log": truncated("2.21.5")}, []string{"collective-mismatch"}, "-"},
	} {
		c.check(t)
	}
}

// Each process has a file for what it prints and one for its errors, as torchrun's --log-dir makes them. The last that the one which held the
// others wrote before it was told is what it was about, unless those who waited wrote the like.
func TestTheLastLineBeforeARankWasTold(t *testing.T) {
	job := func(idle, waiting string) map[string]string {
		files := map[string]string{"attempt_0/0/stdout.log": fieldSteps}
		for r := range 8 {
			text := waiting + watchdog(r, 12, "ALLREDUCE", 1048576)
			if r == 6 {
				text = idle
			}
			files[fmt.Sprintf("attempt_0/%d/stderr.log", r)] = strings.ReplaceAll(text, "%R", fmt.Sprint(r)) + toldOf(r)
		}
		return files
	}
	const batch = "[rank%R]: waiting for next batch (360 s)\n"
	for _, c := range []fieldCase{
		{"it waited for data", job(batch, ""), []string{"dataloader-stall"}, "rank 6"},
		{"others say the same", job(batch, batch), []string{"rank-stalled"}, "rank 6"},
		{"something else stands between", job(batch+"[rank6]: one\n[rank6]: two\n[rank6]: three\n", ""), []string{"rank-stalled"}, "rank 6"},
	} {
		c.check(t)
	}
}
