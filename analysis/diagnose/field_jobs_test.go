package diagnose

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// What the kernel of a node says in a file of the job bears its host's name, however few lines do; the file is not tied to that node by it.
func TestFieldAKernelsLineNamesItsHost(t *testing.T) {
	const xid = "Oct 25 09:20:00 gpu12 kernel: NVRM: Xid (PCI:0000:2d:00): 79, pid=17326, name=python3, GPU has fallen off the bus.\n"
	const key = "model2: GPU has fallen off the bus\n"
	steps := clocked(0, 0, 20)
	for _, c := range []fieldCase{
		{"the kernel's", one(steps + xid), []string{"gpu-off-bus"}, "node gpu12"},
		{"a key of what is printed", one(steps + key), []string{"gpu-off-bus"}, "-"},
		{"another error of that file", one(steps + "Oct 25 09:20:00 gpu12 kernel: perf: interrupt took too long\n" + "RuntimeError: CUDA error: uncorrectable ECC error encountered\n"), []string{"gpu-ecc"}, "-"},
	} {
		c.check(t)
	}
}

// A node's name may look like anything: that a file bears it is known by SLURM's lines, or by the names of the other files.
func TestFieldAFileCalledByItsNode(t *testing.T) {
	const ecc = "RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
	told := func(host string) string { return "srun: error: " + host + ": task 1: Exited with exit code 1\n" }
	job := func(first, second, host string) map[string]string {
		files := map[string]string{first: fieldSteps, second: ecc}
		if host != "" {
			files["slurm-4242.out"] = told(host)
		}
		return files
	}
	for _, c := range []fieldCase{
		{"SLURM names it", job("dgx-h100-04.err", "dgx-h100-107.err", "dgx-h100-107"), []string{"gpu-ecc"}, "node dgx-h100-107"},
		{"behind other words", job("logs.4242.cn-a4.txt", "logs.4242.cn-a7.txt", "cn-a7"), []string{"gpu-ecc"}, "node cn-a7"},
		{"SLURM names another", job("dgx-h100-04.err", "dgx-h100-107.err", "h100-1"), []string{"gpu-ecc"}, "-"},
		{"a number behind a hyphen is the node's, or a task's", job("error-4242-pool0-0072.out", "error-4242-pool0-0073.out", ""), []string{"gpu-ecc"}, "-"},
		{"SLURM says that it is the node's", job("error-4242-pool0-0072.out", "error-4242-pool0-0073.out", "pool0-0073"), []string{"gpu-ecc"}, "node pool0-0073"},
		{"a number that is a part of another host's name", job("error-4242-gpu11.out", "error-4242-gpu12.out", "gpu"), []string{"gpu-ecc"}, "node gpu12"},
		{"SLURM says that it is a task's", job("error-4242-node7-02.out", "error-4242-node7-03.out", "node7"), []string{"gpu-ecc"}, "node node7"},
		{"no node is called just worker", job("error-4242-worker-0.out", "error-4242-worker-1.out", ""), []string{"gpu-ecc"}, "node worker-1"},
	} {
		c.check(t)
	}
}

// srun names a node that failed without a time; where slurmstepd tells with one that an earlier run ended of it, so did srun.
func TestFieldANodeThatFailedUnderAnEarlierRun(t *testing.T) {
	end := func(at string) string {
		return "slurmstepd: error: *** STEP 4242.0 ON n1 CANCELLED AT 2026-05-06T" + at + " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"
	}
	const failed = "srun: error: Node failure on n2\n"
	oom := raisedBy(5, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.") + gone(1)
	first, second := torchrunAt("08:59:00")+clocked(0, 0, 30)+end("09:32:00"), torchrunAt("09:59:00")+clocked(60, 25, 50)
	for _, c := range []fieldCase{
		{"and the next ran out of memory", map[string]string{"j-4242-n1.err": first + second, "j-4242-n3.err": torchrunAt("08:59:00") + torchrunAt("09:59:00") + oom,
			"slurm-4242.out": failed + "srun: error: n3: task 2: Exited with exit code 1\n"}, []string{"gpu-oom"}, "rank 5, node n3"},
		{"under the last one", map[string]string{"j-4242-n1.err": first + second + end("10:31:00"), "slurm-4242.out": failed}, []string{"node-failure"}, "node n2"},
	} {
		c.check(t)
	}
}

// A job started its processes again after one had failed, and came to its end.
func TestFieldStartedAgainAndFinished(t *testing.T) {
	again := "W0506 09:31:00.000000 900 torch/distributed/elastic/agent/server/api.py:914] [default] Worker group FAILED. 3/3 attempts left; will restart worker group\n"
	for _, c := range []fieldCase{
		{"after a number of steps", one(torchrunAt("08:59:00") + clocked(0, 0, 30) + raisedBy(5, "KeyError: 'labels'") + gone(1) + again + clocked(60, 25, 50) + "2026-05-06 10:26:00,000 INFO train: training finished after 50 steps\n"), []string{"completed"}, "-"},
		{"it finished nothing", one(torchrunAt("08:59:00") + clocked(0, 0, 30) + raisedBy(5, "KeyError: 'labels'") + gone(1) + again + clocked(60, 25, 50) + "2026-05-06 10:26:00,000 INFO train: training finished afterwards is evaluated\n"), []string{"exception"}, "rank 5"},
	} {
		c.check(t)
	}
}

// Retries without a rank, in the file of the node whose rank held the others, and in no other.
func TestFieldRetriesBesideWhoHeldTheOthers(t *testing.T) {
	retries := func(minute int) string {
		var b strings.Builder
		for k := range 6 {
			fmt.Fprintf(&b, "2026-03-11 09:%02d:30,000 WARNING aistore.sdk.request_client: Retrying (%d/10) GET http://proxy:51080/v1/objects/train/shard_%06d.tar after ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))\n", minute+k, k+1, 122)
		}
		return b.String()
	}
	job := func(held, others string) map[string]string {
		return map[string]string{
			"j-4242-n1.err": "2026-03-11 09:00:00,000 INFO world_size=8\n" + others + waitedFor(0, 1, 2, 3),
			"j-4242-n2.err": "2026-03-11 09:00:00,000 INFO start\n" + held + waitedFor(4, 5, 6) + toldAt("311", "09:20:01", 7, 0),
		}
	}
	for _, c := range []fieldCase{
		{"while they waited", job(retries(11), ""), []string{"dataloader-stall"}, "rank 7, node n2"},
		{"a checkpoint that is uploaded", job(strings.NewReplacer("GET", "PUT", "train/shard_000122.tar", "ckpt/step_200.pt").Replace(retries(11)), ""), []string{"checkpoint-io"}, "rank 7, node n2"},
		{"something else that is uploaded", job(strings.NewReplacer("GET", "PUT", "train/shard_000122.tar", "logs/n2.gz").Replace(retries(11)), ""), []string{"rank-busy"}, "rank 7, node n2"},
		{"it does not say what", job(strings.ReplaceAll(retries(11), "GET http", "http"), ""), []string{"dataloader-stall"}, "rank 7, node n2"},
		{"long before", job(retries(1), ""), []string{"rank-stalled"}, "rank 7, node n2"},
		{"others read, too", job(retries(11), retries(12)), []string{"rank-stalled"}, "rank 7, node n2"},
		{"only others read", job("", retries(11)), []string{"rank-stalled"}, "rank 7, node n2"},
	} {
		c.check(t)
		more := maps.Clone(c.files)
		more["j-4242-n3.err"] = "2026-03-11 09:00:00,000 INFO start\n"
		fieldCase{c.name + ", and a node that says nothing", more, c.want, c.root}.check(t)
	}
}

// In a file of all ranks nothing says whose they are.
func TestFieldRetriesInTheFileOfAll(t *testing.T) {
	tries := ""
	for k := range 6 {
		tries += fmt.Sprintf("2026-03-11 09:%02d:30,000 WARNING aistore.sdk.request_client: Retrying (%d/10) GET http://proxy:51080/v1/objects/train/shard_000122.tar after ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))\n", 11+k, k+1)
	}
	all := "2026-03-11 09:00:00,000 INFO world_size=8\n" + tries + waitedFor(0, 1, 2, 3, 4, 5, 6) + toldAt("311", "09:20:01", 7, 0)
	fieldCase{"nobody's", one(all), []string{"rank-stalled"}, "rank 7"}.check(t)
}

// A port went down and came up again, and no transfer is told to have failed: it held nobody. One that did not come back is told.
func TestFieldAPortThatCameBack(t *testing.T) {
	event := func(port, what string) string {
		return "n2:900:950 [1] transport/net_ib.cc:94 NCCL WARN NET/IB : " + port + " Got async event : " + what + "\n"
	}
	job := func(text string) map[string]string {
		return map[string]string{"j-4242-n1.err": clocked(0, 0, 30), "j-4242-n2.err": "2026-05-06 09:00:00,000 INFO start\n" + text}
	}
	down, up := event("mlx5_1:1", "port error"), event("mlx5_1:1", "port active")
	lost := "[rank9]:[E506 09:31:00.5 ProcessGroupNCCL.cpp:552] [Rank 9] Collective WorkNCCL(SeqNum=211, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) raised the following async exception: NCCL error: remote process exited or there was a network error, NCCL version 2.21.5\n" +
		"ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n"
	for _, c := range []fieldCase{
		{"it came back", job(down + up), []string{"completed"}, "-"},
		{"another did", job(down + event("mlx5_2:1", "port active")), []string{"link-error"}, "node n2"},
		{"it went down again", job(down + up + down), []string{"link-error"}, "node n2"},
		{"it came back twice", job(down + up + down + up), []string{"completed"}, "-"},
		{"it had come before", job(up + down), []string{"link-error"}, "node n2"},
		{"and others' transfers fail", job(down + up + "n3:900:950 [1] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.4.5.7<41022> with status=12 opcode=0 len=0 vendor err 129 (Send)\n"), []string{"link-error"}, "-"},
		{"and a peer was lost", job(down + up + lost), []string{"peer-lost", "unknown"}, "-"},
	} {
		c.check(t)
	}
}

// Of one node a line tells of a full disk that somebody caught: its ranks waited all the same for another node's, which did not come.
func TestFieldWhoCameAllTheSame(t *testing.T) {
	const full = "WARNING:root:Failed to write an event file: [Errno 28] No space left on device\n"
	job := func(first, second string) map[string]string {
		return map[string]string{
			"j-4242-n1.err": "2026-03-11 09:00:00,000 INFO world_size=8\n" + first + waitedFor(0, 1, 2, 3),
			"j-4242-n2.err": "2026-03-11 09:00:00,000 INFO start\n" + second + waitedFor(4, 5, 6) + toldAt("311", "09:20:01", 7, 0),
		}
	}
	for _, c := range []fieldCase{
		{"on another node", job(full, ""), []string{"rank-stalled"}, "rank 7, node n2"},
		{"by a rank that waited", job("[rank2]: "+full, ""), []string{"rank-stalled"}, "rank 7, node n2"},
		{"on the node of who did not come", job("", full), []string{"storage-full"}, "node n2"},
		{"by who did not come", job("", "[rank7]: "+full), []string{"storage-full"}, "rank 7, node n2"},
	} {
		c.check(t)
	}
}

// A trainer says that it was interrupted; others go on after it said so.
func TestFieldATrainerThatWasInterrupted(t *testing.T) {
	const said = "\nDetected KeyboardInterrupt, attempting graceful shutdown ...\n"
	for _, c := range []fieldCase{
		{"and no more", one(clocked(0, 0, 30) + said), []string{"external-signal", "unknown"}, "-"},
		{"and trained again", one(clocked(0, 0, 30) + said + clocked(31, 30, 60)), []string{"completed"}, "-"},
		{"behind an error", one(clocked(0, 0, 30) + raisedBy(3, "KeyError: 'labels'") + said), []string{"exception"}, "rank 3"},
	} {
		c.check(t)
	}
}

// Several ranks write into a node's file, and PyTorch goes on below a record without its label: that is no part of another's exception.
func TestFieldWhatPyTorchGoesOnWithIsNoneOfAnExceptions(t *testing.T) {
	const (
		lost  = "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketProgress: Connection closed by remote peer n2<59191>\n"
		async = "[rank5]:[E ProcessGroupNCCL.cpp:493] [Rank 5] Collective WorkNCCL(SeqNum=500, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) raised the following async exception: NCCL error: remote process exited or there was a network error, NCCL version 2.20.5\n"
		tb    = "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\n"
	)
	for _, c := range []fieldCase{
		{"an error of the code", one(fieldSteps + tb + "ValueError: batch of 12 does not match labels of 11\n" + async + lost), []string{"exception"}, "-"},
		{"NCCL's own, between whose lines another record stands", one(fieldSteps + tb + "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1333, remote process exited or there was a network error, NCCL version 2.20.5\n" + async + lost),
			[]string{"peer-lost", "unknown"}, "-"},
	} {
		c.check(t)
	}
}

// The store on rank 0's node went away while the others trained: no good end, unless training was about to end.
func TestFieldTheStoreLeftMidway(t *testing.T) {
	const gone = "[rank9]:[E506 09:31:00.123456789 ProcessGroupNCCL.cpp:1662] [PG ID 0 PG GUID 0(default_pg) Rank 9] Failed to check the \"should dump\" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe\n"
	steps := func(total string) string {
		return strings.ReplaceAll(clocked(0, 0, 30), " loss", "/"+total+" loss")
	}
	for _, c := range []fieldCase{
		{"midway", one(steps("5000") + gone), []string{"unknown"}, "-"},
		{"at the end", one(steps("30") + gone), []string{"completed"}, "-"},
		{"and they went on", one(steps("5000") + gone + strings.ReplaceAll(clocked(40, 30, 60), " loss", "/5000 loss")), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}

// A program caught an exception and logged it as a warning, in the file of a node that tells of no steps: the job failed of something else, or not.
func TestFieldWhatIsOnlyWarnedOf(t *testing.T) {
	const tb = "Traceback (most recent call last):\n  File \"/a/decode.py\", line 88, in decode\n    return json.loads(raw)\njson.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n"
	const warned, erred = "WARNING:root:skipping sample 7712\n" + tb, "ERROR:root:sample 7712\n" + tb
	const short = "Traceback (most recent call last):\n  File \"/a/loop.py\", line 88, in step\n    loss.backward()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
	job := func(second string) map[string]string {
		return map[string]string{"j-4242-n1.err": clocked(0, 0, 30), "j-4242-n2.err": "start\n" + second}
	}
	hung := func(second string, ranks ...int) map[string]string {
		return map[string]string{"j-4242-n1.err": "2026-03-11 09:00:00,000 INFO world_size=8\n" + waitedFor(0, 1, 2, 3) + toldAt("311", "09:20:01", 7, 0), "j-4242-n2.err": "start\n" + second + waitedFor(ranks...)}
	}
	for _, c := range []fieldCase{
		{"and it trained", job(warned + "INFO:root:next shard\n"), []string{"completed"}, "-"},
		{"and wrote nothing more", job(warned), []string{"exception", "completed"}, ""},
		{"and wrote nothing more, and another failed", map[string]string{"j-4242-n1.err": clocked(0, 0, 30) + raisedBy(1, "KeyError: 'labels'"), "j-4242-n2.err": "start\n" + warned}, []string{"exception"}, "rank 1, node n1"},
		{"and its task ended with an error some steps below", one(fieldSteps + "WARNING:root:giving up\n" + short + clocked(40, 0, 30) + "srun: error: n2: task 3: Exited with exit code 1\n"), []string{"gpu-oom"}, ""},
		{"an error", job(erred), []string{"exception"}, "node n2"},
		{"and another failed", job(warned + raisedBy(9, "KeyError: 'labels'")), []string{"exception"}, "rank 9, node n2"},
		{"and its process ended with an error", job(warned + gone(1)), []string{"exception"}, "node n2"},
		{"and it ended there", one(fieldSteps + "WARNING:root:a batch is short\n" + short), []string{"gpu-oom"}, "-"},
		{"and it ended there of an item", one(fieldSteps + warned), []string{"exception"}, "-"},
		{"and it was ended there", one(fieldSteps + warned + "slurmstepd: error: *** STEP 77.0 ON n2 CANCELLED AT 2026-03-11T10:34:00 ***\n"), []string{"exception"}, "-"},
		{"and further steps", one(fieldSteps + warned + clocked(40, 0, 30)), []string{"completed"}, "-"},
		{"of memory", job("WARNING:root:a batch is long\n" + short), []string{"gpu-oom"}, "node n2"},
		{"and another was missed", job(warned + "srun: error: n2: task 8: Exited with exit code 1\n"), []string{"exception"}, "node n2"},
		{"of another writer", job("WARNING:root:a batch is short\n" + raisedBy(9, "KeyError: 'labels'")), []string{"exception"}, "rank 9, node n2"},
		{"and its ranks waited for another", hung(warned, 4, 5, 6), []string{"rank-stalled"}, "rank 7, node n1"},
		{"of a rank that left the loop and waited elsewhere", one(fieldSteps + prefixed(3, "WARNING:root:leaving the loop\n"+short) + watchdog(0, 412, "ALLREDUCE", 16384) + watchdog(1, 412, "ALLREDUCE", 16384) + watchdog(3, 412, "BARRIER", 1)), []string{"gpu-oom"}, "rank 3"},
	} {
		c.check(t)
	}
}

// A script of one node prints into the job's log of that node which of its GPUs the driver cannot reach any more.
func TestFieldAGPUThatIsLost(t *testing.T) {
	files := map[string]string{"j-4242-n1.err": clocked(0, 0, 30), "j-4242-n2.err": "start\nUnable to determine the device handle for GPU0000:60:00.0: GPU is lost.  Reboot the system to recover this GPU\n"}
	fieldCase{"its node", files, []string{"gpu-off-bus"}, "node n2"}.check(t)
}
