package analysis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/knowledge"
)

// TestWhatPeopleHandInBesideTheLogs holds evidence as it is collected in the field against what it says of a job together with its logs.
func TestWhatPeopleHandInBesideTheLogs(t *testing.T) {
	for _, c := range besideCases {
		t.Run(c.name, func(t *testing.T) {
			in := Input{Version: "test"}
			if len(c.logs) > 0 {
				in.Sources = written(t, c.logs, "")
			}
			if len(c.evidence) > 0 {
				in.Evidence = written(t, c.evidence, "")
			}
			r, err := Diagnose(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			var got, root []string
			for _, x := range r.Verdict.Candidates {
				got = append(got, x.Mechanism)
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("said %v (%s: %s), expected %v", got, r.Verdict.Status, r.Verdict.Summary, c.want)
			}
			for _, x := range r.Verdict.Root.Ranks {
				root = append(root, fmt.Sprint("rank ", x))
			}
			for _, n := range r.Verdict.Root.Nodes {
				root = append(root, "node "+n)
			}
			if got := strings.Join(root, ", "); got != c.root {
				t.Errorf("accused %q, expected %q", got, c.root)
			}
			if c.suspect != "" && (len(r.Verdict.Suspects) == 0 || r.Verdict.Suspects[0].Mechanism != c.suspect) {
				t.Errorf("suspects %v, expected %s first", r.Verdict.Suspects, c.suspect)
			}
		})
	}
}

const (
	lostPeerOnH2 = "step 1 loss 2.15\nstep 2 loss 2.14\n[rank0]:[E1201 10:00:30.100200300 ProcessGroupNCCL.cpp:552] [Rank 0] Collective WorkNCCL(SeqNum=811, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) raised the following async exception: NCCL error: remote process exited or there was a network error, NCCL version 2.21.5\n" +
		"ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketProgress: Connection closed by remote peer h2<54000>\n"
	fieldPace       = "10:00:01 step 1 loss 2.15\n10:00:02 step 2 loss 2.14\n10:00:03 step 3 loss 2.13\n10:00:04 step 4 loss 2.12\n"
	diskFailed      = "[Mon Sep 14 04:30:39 2026] nvme nvme1: I/O 900 (I/O Cmd) QID 2 timeout, aborting\n[Mon Sep 14 04:31:10 2026] EXT4-fs (nvme1n1): Remounting filesystem read-only\n"
	crashedOnT7     = "srun: error: t7: task 3: Segmentation fault (core dumped)\nsrun: error: t4: task 0: Terminated\nsrun: error: t5: task 1: Terminated\n"
	killedForMemory = "[Mon Dec  1 10:00:27 2025] Memory cgroup out of memory: Killed process 4012 (ray::WorkerDict) total-vm:512000000kB, anon-rss:401000000kB, file-rss:1200kB, shmem-rss:2000kB, UID:0 pgtables:900000kB oom_score_adj:0\n"
)

const (
	nvlinkFailed = "[2025-06-04 10:00:30] step 1 loss 2.15\n[2025-06-04 10:00:32] step 2 loss 2.14\n[rank5]:[E604 10:00:38.123456789 ProcessGroupNCCL.cpp:1896] [PG ID 0 PG GUID 0(default_pg) Rank 5] Process group watchdog thread terminated with exception: CUDA error: uncorrectable NVLink error detected during the execution\n"
	nvlinkDown   = "[Wed Jun  4 10:00:36 2025] NVRM: Xid (PCI:0000:5e:00): 74, pid=4012, name=python3, NVLink: fatal error detected on link 4(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)\n"
)

const (
	returnedKilled = "[2025-06-04 10:11:04,116] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python3', '-u', 'train.py', '--local_rank=3'] exits with return code = -9\n"
	torchrunKilled = "E0604 10:11:04.114000 2211 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 1 (pid: 2234) of binary: /usr/bin/python3\n" +
		"============================================================\ntrain.py FAILED\n------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n  time      : 2025-06-04_10:11:04\n  host      : n2\n" +
		"  rank      : 5 (local_rank: 1)\n  exitcode  : -9 (pid: 2234)\n  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 2234\n============================================================\n"
)

// killedAt is what a kernel says of a process that it killed for memory, at ten, so many minutes and seconds.
func killedAt(minute string) string {
	return "[Wed Jun  4 10:" + minute + " 2025] Memory cgroup out of memory: Killed process 88123 (python3) total-vm:221311244kB, anon-rss:98111220kB, file-rss:11232kB, shmem-rss:201122kB, UID:0 pgtables:22112kB oom_score_adj:0\n"
}

// minutes are steps of a job, one a minute from ten on.
func minutes(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "2025-06-04 10:%02d:00 step %d loss 2.%03d\n", i, i, 999-i)
	}
	return b.String()
}

// gaveUp is what the watchdog of a rank says that waited since those steps.
func gaveUp(rank int) string {
	return fmt.Sprintf("[rank%[1]d]:[E604 10:49:10.100000000 ProcessGroupNCCL.cpp:632] [Rank %[1]d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=801, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600072 milliseconds before timing out.\n", rank)
}

type besideCase struct {
	name           string
	logs, evidence map[string]string
	want           []string
	root           string
	suspect        string
}

const offTheBus = "[Sat May  9 01:06:20 2026] NVRM: Xid (PCI:0000:c4:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"

// ofMay are steps of mmengine at some times of a day, without an end.
func ofMay(times ...string) string {
	var b strings.Builder
	for i, at := range times {
		fmt.Fprintf(&b, "2026/05/09 %s - mmengine - INFO - Iter(train) [%6d/160000]  base_lr: 5.9e-05 lr: 5.9e-05  eta: 1 day, 3:36:11  time: 0.628  data_time: 0.0081  memory: 14010  loss: 0.8%d\n", at, 10*(i+1), 90-i)
	}
	return b.String()
}

// greeted are NCCL's first lines of the four processes of a node, whose communicator is of eight.
func greeted(host string, first int) string {
	var b strings.Builder
	for i := range 4 {
		fmt.Fprintf(&b, "%s:%d:%d [%d] NCCL INFO Bootstrap : Using eth0:10.1.0.%d<0>\n", host, 41000+i, 41000+i, i, first+1)
		fmt.Fprintf(&b, "%s:%d:%d [%d] NCCL INFO ncclCommInitRank comm 0x55d0a00%d rank %d nranks 8 cudaDev %d nvmlDev %d busId %d000 commId 0x8f3c2d77aa10f001 - Init COMPLETE\n", host, 41000+i, 41900+i, i, i, first+i, i, i, i+1)
	}
	return b.String()
}

// waits are ranks whose watchdog gave up in the same collective of the default group.
func waits(ranks ...int) string {
	var b strings.Builder
	for _, r := range ranks {
		fmt.Fprintf(&b, "[rank%d]:[E604 10:10:40.00000%d777 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2042, OpType=ALLREDUCE, NumelIn=8388608, NumelOut=8388608, Timeout(ms)=600000) ran for 600011 milliseconds before timing out.\n", r, r, r)
		fmt.Fprintf(&b, "[rank%d]:[E604 10:10:40.00000%d888 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: 2042 PG status: last enqueued work: 2045, last completed work: 2041\n", r, r, r)
	}
	return b.String()
}

const besideSteps = " [2025-06-04 10:00:35] iteration        8/   50000 | consumed samples:         4096 | elapsed time per iteration (ms): 4987.8 | learning rate: 1.500000E-04 | global batch size:   512 | lm loss: 2.394400E+00 | loss scale: 1.0 | grad norm: 0.38 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"

var besidePace = strings.ReplaceAll(besideSteps, "10:00:35", "10:00:05") + strings.ReplaceAll(besideSteps, "10:00:35", "10:00:10") + strings.ReplaceAll(besideSteps, "10:00:35", "10:00:15") +
	strings.ReplaceAll(besideSteps, "10:00:35", "10:00:20") + strings.ReplaceAll(besideSteps, "10:00:35", "10:00:25") + strings.ReplaceAll(besideSteps, "10:00:35", "10:00:30") + besideSteps

// stackOf is the main thread of a rank as py-spy prints it, below the header that docs/evidence.md proposes.
func stackOf(host string, rank int, frames ...string) string {
	return fmt.Sprintf("==== %s rank %d pid %d ====\nProcess %[3]d: /opt/venv/bin/python train.py\nPython v3.10.14 (/opt/venv/bin/python3.10)\n\nThread %[3]d (active): \"MainThread\"\n    %[4]s\n",
		host, rank, 5100+rank, strings.Join(frames, "\n    "))
}

// stacksIn are stacks of ranks that wait in an all-reduce.
func stacksIn(host string, ranks ...int) string {
	var b strings.Builder
	for _, r := range ranks {
		b.WriteString(stackOf(host, r, "all_reduce (torch/distributed/distributed_c10d.py:1322)", "train_step (train.py:78)"))
	}
	return b.String()
}

func stuckWatchdogs(ranks ...int) string {
	var b strings.Builder
	for _, r := range ranks {
		fmt.Fprintf(&b, "[rank%d]:[E604 10:10:40.00000%d111 ProcessGroupNCCL.cpp:1746] [PG ID 0 PG GUID 0(default_pg) Rank %d] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.\n", r, r, r)
	}
	return b.String()
}

// notJoined is a report of torchfrtrace.
func notJoined(group string, seq int, missing, expected string) string {
	return fmt.Sprintf("Not all ranks joining collective, sequence number: %d\ninternal record id: %d\ngroup info: %s\ncollective: nccl:all_reduce\nmissing ranks: %s\ninput sizes: [[64]]\noutput sizes: [[64]]\nworld size: %d\nexpected ranks: %s\ncollective state: scheduled\ncollective stack trace: \n all_reduce at /p/torch/distributed/distributed_c10d.py:2707\nmain at /w/train.py:40\n",
		seq, seq-1, group, missing, strings.Count(expected, ",")+1, expected)
}

// ended are ranks whose process PyTorch's monitor ended.
func ended(ranks ...int) string {
	var b strings.Builder
	for _, r := range ranks {
		fmt.Fprintf(&b, "[rank%d]:[F604 10:10:40.00000%d111 ProcessGroupNCCL.cpp:1557] [PG ID 0 PG GUID 0(default_pg) Rank %d] Terminating the process after attempting to dump debug info, due to collective timeout or exception.\n", r, r, r)
	}
	return b.String()
}

func one24(text string) map[string]string { return map[string]string{"train.log": besidePace + text} }

func ibstat(host string, lid int) string {
	return fmt.Sprintf("==== %s ====\nCA 'mlx5_2'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tBase lid: %d\n\t\tLink layer: InfiniBand\n", host, lid)
}

func perfquery(lid, errors int) string {
	return fmt.Sprintf("# Port counters: Lid %d port 1 (CapMask: 0x5A00)\nPortSelect:......................1\nSymbolErrorCounter:..............%d\nLinkErrorRecoveryCounter:........%d\nLinkDownedCounter:...............%[3]d\nPortRcvErrors:...................%[2]d\n", lid, errors, errors/9000)
}

// bridged is a node whose processes found the bridge of their container.
func bridged(host string, first int) string {
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(strings.ReplaceAll(greeted(host, first), fmt.Sprintf("10.1.0.%d", first+1), "172.17.0.2"), "Init COMPLETE", "Init START"))
	for r := first; r < first+4; r++ {
		for _, l := range []string{"Traceback (most recent call last):", "  File \"/w/train.py\", line 5, in <module>", "    dist.barrier()",
			"torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2251, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5",
			"ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. ", "Last error:", "socketStartConnect: Connect to 172.17.0.2<41231> failed : Connection refused"} {
			fmt.Fprintf(&b, "[rank%d]: %s\n", r, l)
		}
	}
	return b.String()
}

var besideCases = []besideCase{
	{"a process without a rank that the kernel killed for memory", map[string]string{"ds.log": minutes(0, 8) + returnedKilled},
		map[string]string{"dmesg.txt": killedAt("11:01")}, []string{"host-oom"}, "", ""},
	{"one that was killed an hour before", map[string]string{"ds.log": minutes(0, 8) + returnedKilled},
		map[string]string{"dmesg.txt": killedAt("01:01")}, []string{"external-signal", "host-oom"}, "", ""},
	{"a step takes longer than the launcher to see what was killed", map[string]string{"train.log": minutes(0, 4) + torchrunKilled},
		map[string]string{"dmesg-n2.txt": killedAt("11:01")}, []string{"host-oom"}, "node n2", ""},
	{
		name: "a port of which NCCL tells no time, and the kernel that training went on after it",
		logs: map[string]string{
			"j-4242-n1.err": minutes(0, 40) + gaveUp(0),
			"j-4242-n2.err": "n2:12:9 [0] transport/net_ib.cc:253 NCCL WARN NET/IB : mlx5_1:1 Got async event : port error\n" + gaveUp(1),
		},
		evidence: map[string]string{"dmesg-n2.txt": "[Wed Jun  4 10:05:12 2025] mlx5_core 0000:5d:00.0 ib1: Link down\n[Wed Jun  4 10:05:20 2025] mlx5_core 0000:5d:00.0 ib1: Link up\n"},
		want:     []string{"collective-hang", "gpu-hang", "rank-stalled"},
	},
	{
		name: "the kernel's word stands between the last time in the logs and the first process's end, and one process of the node failed on its GPU",
		logs: map[string]string{
			"j-4242-n1.err":  "step 1 loss 2.15\n[rank0]: ok\n",
			"j-4242-n2.err":  "2025-06-04 09:40:00 WARNING Failed to decode sample 7, skipping\n[rank4]: ok\n" + "[rank5]: Traceback (most recent call last):\n[rank5]:   File \"/a/train.py\", line 3, in main\n[rank5]:     torch.cuda.synchronize()\n[rank5]: RuntimeError: CUDA error: unspecified launch failure\n",
			"slurm-4242.out": "srun: error: n2: task 1: Exited with exit code 1\nsrun: Terminating StepId=4242.0\nslurmstepd: error: *** STEP 4242.0 ON n1 CANCELLED AT 2025-06-04T10:00:20 ***\n",
		},
		evidence: map[string]string{"dmesg-n2.txt": "[Wed Jun  4 10:00:12 2025] NVRM: Xid (PCI:0000:02:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"},
		want:     []string{"gpu-off-bus"}, root: "rank 5, node n2",
	},
	{
		name:     "the kernel reports a disk's errors, and a process could not write",
		logs:     map[string]string{"job.err": "[rank22]: OSError: [Errno 30] Read-only file system: '/scratch/cache/k22.arrow'\n"},
		evidence: map[string]string{"dmesg-sv6.txt": diskFailed},
		want:     []string{"storage-unresponsive"}, root: "node sv6",
	},
	{
		name:     "the kernel reports a disk's errors, and a process ended otherwise",
		logs:     map[string]string{"job.err": "step 1 loss 2.15\n[rank22]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.50 GiB. GPU 2 has a total capacity of 79.10 GiB of which 1.94 GiB is free.\n"},
		evidence: map[string]string{"dmesg-sv6.txt": diskFailed},
		want:     []string{"gpu-oom"}, root: "rank 22",
	},
	{
		name: "a process printed where it stood still, and no step came after that",
		logs: map[string]string{"attempt_0/0/stdout.log": fieldPace, "attempt_0/1/stdout.log": fieldPace,
			"attempt_0/0/stderr.log": "Timeout (0:05:00)!\nThread 0x00007f29ac2b7214 (most recent call first):\n  File \"/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py\", line 2506 in all_reduce\n  File \"/opt/rec/train.py\", line 104 in main\n",
			"attempt_0/1/stderr.log": "Timeout (0:05:00)!\nThread 0x00007f345fbabc7f (most recent call first):\n  File \"/opt/rec/cache.py\", line 77 in lookup\n  File \"/opt/rec/train.py\", line 90 in main\n"},
		want: []string{"unknown"},
	},
	{
		name:     "a process crashed on a machine whose memory met an error",
		logs:     map[string]string{"launcher.out": crashedOnT7},
		evidence: map[string]string{"dmesg-t7.txt": "[Wed Jul 15 19:15:02 2026] EDAC MC1: 1 UE memory read error on CPU_SrcID#1_MC#1_Chan#0_DIMM#0 (channel:0 slot:0 page:0x1f0aa offset:0x0 grain:32)\n"},
		want:     []string{"native-crash", "thermal-power"}, root: "node t7",
	},
	{
		name:     "a process crashed on a machine that corrected an error",
		logs:     map[string]string{"launcher.out": crashedOnT7},
		evidence: map[string]string{"dmesg-t7.txt": "[Wed Jul 15 19:15:02 2026] EDAC MC1: 1 CE memory read error on CPU_SrcID#1_MC#1_Chan#0_DIMM#0 (channel:0 slot:0 page:0x1f0aa offset:0x0 grain:32)\n"},
		want:     []string{"native-crash"}, root: "node t7",
	},
	{
		name:     "the kernel killed a process of a training on the host that others lost",
		logs:     map[string]string{"h1.log": lostPeerOnH2},
		evidence: map[string]string{"dmesg-h2.txt": killedForMemory},
		want:     []string{"host-oom"},
		root:     "node h2",
	},
	{
		name:     "the kernel killed a process of a training on another host",
		logs:     map[string]string{"h1.log": lostPeerOnH2},
		evidence: map[string]string{"dmesg-h7.txt": killedForMemory},
		want:     []string{"peer-lost", "unknown"},
	},
	{
		name: "NCCL's communicator of all ranks states how many there are",
		logs: map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3), "error-1-n2.out": greeted("n2", 4) + waits(4, 5, 6, 7)},
		want: []string{"collective-hang", "gpu-hang"},
	},
	{
		name: "a communicator that two processes share a rank of is not that of all",
		logs: map[string]string{"error-1-n1.out": strings.ReplaceAll(greeted("n1", 0), "nranks 8", "nranks 4") + besideSteps + waits(0, 1, 2, 3),
			"error-1-n2.out": strings.ReplaceAll(greeted("n2", 0), "nranks 8", "nranks 4") + waits(4, 5, 6, 7)},
		want: []string{"collective-hang", "gpu-hang", "rank-stalled"},
	},
	{
		name: "NCCL's lines after the first ones say nothing of the largest communicator",
		logs: map[string]string{"error-1-n1.out": strings.ReplaceAll(greeted("n1", 0), "Bootstrap : Using", "Channel 00") + besideSteps + waits(0, 1, 2, 3)},
		want: []string{"collective-hang", "gpu-hang", "rank-stalled"},
	},
	{
		name:     "a file server is silent on the node of the rank that stayed away",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2), "error-1-n2.out": greeted("n2", 4) + waits(4, 5, 6, 7)},
		evidence: map[string]string{"kern-n1.log": "Jun  4 10:01:10 n1 kernel: nfs: server nas01 not responding, still trying\nJun  4 10:14:40 n1 kernel: nfs: server nas01 OK\n"},
		want:     []string{"rank-stalled"}, root: "rank 3, node n1", suspect: "storage-unresponsive",
	},
	{
		name: "the link on the other end went down",
		logs: map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + "n1:41002:41920 [2] transport/net_ib.cc:1908 NCCL WARN NET/IB : Got completion from peer 10.1.0.5<41231> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid fe80::1 remoteGids fe80::2 hca mlx5_2\n",
			"error-1-n2.out": greeted("n2", 4) + waits(4, 5, 6, 7)},
		evidence: map[string]string{"n2.journal": "Jun 04 10:00:41 n2 kernel: mlx5_core 0000:5d:00.0 ibp93s0: Link down\nJun 04 10:00:58 n2 kernel: mlx5_core 0000:5d:00.0 ibp93s0: Link up\n"},
		want:     []string{"link-error"}, root: "node n2",
	},
	{
		name:     "an adapter's health failed after the last line of a job that was well",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besidePace, "error-1-n2.out": greeted("n2", 4) + besidePace},
		evidence: map[string]string{"n2.journal": "Jun 04 09:40:41 n2 kernel: audit: type=1400\nJun 04 10:04:58 n2 kernel: mlx5_core 0000:5d:00.0: poll_health:852:(pid 0): device's health compromised - reached miss count\n"},
		want:     []string{"link-error", "unknown"}, root: "node n2",
	},
	{
		name:     "an adapter's health failed while steps went on",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besidePace, "error-1-n2.out": greeted("n2", 4) + besidePace},
		evidence: map[string]string{"n2.journal": "Jun 04 10:00:12 n2 kernel: mlx5_core 0000:5d:00.0: poll_health:852:(pid 0): device's health compromised - reached miss count\n"},
		want:     []string{"completed", "unknown"},
	},
	{
		name: "an adapter failed as a whole, NCCL up to 2.21",
		logs: map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3),
			"error-1-n2.out": greeted("n2", 4) + "n2:41002:41902 [2] transport/net_ib.cc:93 NCCL WARN NET/IB : mlx5_2:1 Got async event : local catastrophic error\n"},
		want: []string{"link-error"}, root: "node n2",
	},
	{
		name: "a prefetching thread waits for the loader, its main thread for that thread, and the silence before the end proves the hang",
		logs: map[string]string{"slurm-551.out": "SLURM_JOB_ID=551\n" + besidePace + "slurmstepd: error: *** STEP 551.0 ON gx1 CANCELLED AT 2025-06-04T12:40:00 ***\n"},
		evidence: map[string]string{"stacks.txt": stackOf("gx1", 0, "wait (threading.py:302)", "get (queue.py:170)", "__next__ (fairseq/data/iterators.py:648)") +
			"Thread 0x7FA5B1FFF700 (active): \"Thread-7\"\n    _try_get_data (torch/utils/data/dataloader.py:1011)\n    run (fairseq/data/iterators.py:609)\n    _bootstrap_inner (threading.py:932)\n    _bootstrap (threading.py:890)\n" +
			stacksIn("gx1", 1, 2, 3)},
		want: []string{"dataloader-stall"}, root: "rank 0, node gx1",
	},
	{
		name:     "watchdogs were stuck where all but one waited",
		logs:     map[string]string{"train.log": besidePace + stuckWatchdogs(0, 1, 3)},
		evidence: map[string]string{"stacks.txt": stacksIn("gx1", 0, 1, 3) + stackOf("gx1", 2, "_try_get_data (torch/utils/data/dataloader.py:1132)", "main (train.py:40)")},
		want:     []string{"dataloader-stall"}, root: "rank 2, node gx1",
	},
	{
		name:     "the watchdog of the one that stood elsewhere was stuck as well",
		logs:     map[string]string{"train.log": besidePace + stuckWatchdogs(0, 1, 2, 3)},
		evidence: map[string]string{"stacks.txt": stacksIn("gx1", 0, 1, 3) + stackOf("gx1", 2, "_try_get_data (torch/utils/data/dataloader.py:1132)", "main (train.py:40)")},
		want:     []string{"watchdog-stuck"},
	},
	{
		name:     "torchfrtrace names who did not join, and only one node's log is here",
		logs:     map[string]string{"error-1-n2.out": besideSteps + waits(4, 5, 6, 7)},
		evidence: map[string]string{"fr_trace.txt": "loaded 8 files in 0.1s\n" + notJoined("0:default_pg", 2042, "{3}", "{0, 1, 2, 3, 4, 5, 6, 7}")},
		want:     []string{"rank-stalled"}, root: "rank 3",
	},
	{
		name:     "torchfrtrace names who did not join a collective that all have left behind",
		logs:     map[string]string{"error-1-n2.out": besideSteps + waits(4, 5, 6, 7)},
		evidence: map[string]string{"fr_trace.txt": "loaded 8 files in 0.1s\n" + notJoined("0:default_pg", 12, "{3}", "{0, 1, 2, 3, 4, 5, 6, 7}")},
		want:     []string{"collective-hang", "gpu-hang", "rank-stalled"},
	},
	{
		name: "torchfrtrace below the log of the job, whose processes the monitor ended",
		logs: map[string]string{"slurm-7.out": besidePace + ended(0, 1, 2) + "$ torchfrtrace --prefix nccl_trace_rank_ /tmp/\n" + notJoined("0:default_pg", 2042, "{3}", "{0, 1, 2, 3}")},
		want: []string{"rank-stalled"}, root: "rank 3",
	},
	{
		name: "without it such a log is no good end",
		logs: map[string]string{"slurm-7.out": besidePace + ended(0, 1, 2, 3)},
		want: []string{"unknown"},
	},
	{
		name:     "of who is missing in torchfrtrace one waits in another group",
		evidence: map[string]string{"fr.txt": notJoined("5:dp", 900, "{5}", "{1, 3, 5, 7}") + notJoined("2:tp", 411, "{4}", "{4, 5, 6}")},
		want:     []string{"rank-stalled"}, root: "rank 4",
	},
	{
		name:     "most are missing in torchfrtrace",
		evidence: map[string]string{"fr.txt": notJoined("0:default_pg", 31117, "{3, 4, 5, 6, 7}", "{0, 1, 2, 3, 4, 5, 6, 7}")},
		want:     []string{"collective-mismatch", "rank-stalled"},
	},
	{
		name: "torchfrtrace finds calls that do not match",
		evidence: map[string]string{"fr.txt": "Collective sequence number: 7 has errors\ninternal record id: 6\ngroup info: 0:default_pg\ncollective: nccl:all_reduce\nworld size: 4\nexpected ranks: {0, 1, 2, 3}\n" +
			"error msg: Culprit rank 1; Error type: COLLECTIVE_TYPE_MISMATCH, Expected collective type: 'all_reduce' does not match found collective type: 'broadcast'\n"},
		want: []string{"collective-mismatch"},
	},
	{
		name:     "torchfrtrace of a job of another size",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3), "error-1-n2.out": greeted("n2", 4) + waits(4, 5, 6, 7)},
		evidence: map[string]string{"fr.txt": notJoined("0:default_pg", 12, "{1}", "{0, 1, 2, 3}")},
		want:     []string{"collective-hang", "gpu-hang"},
	},
	{
		name: "SLURM's records are handed in beside the logs",
		logs: map[string]string{"slurm-9.out": "SLURM_JOB_ID=9\n" + besidePace},
		evidence: map[string]string{"job.txt": "JobId=9 JobName=train\n   UserId=u(1001) GroupId=g(1001) MCS_label=N/A\n   JobState=TIMEOUT Reason=TimeLimit Dependency=(null)\n   RunTime=24:00:12 TimeLimit=1-00:00:00 TimeMin=N/A\n" +
			"   StartTime=2025-06-03T10:03:15 EndTime=2025-06-04T10:03:27 Deadline=N/A\n   NodeList=n1\n"},
		want: []string{"time-limit"},
	},
	{
		name: "sacct's table without -P, beside a log that only stops",
		logs: map[string]string{"slurm-9.out": "SLURM_JOB_ID=9\n" + besidePace},
		evidence: map[string]string{"sacct.txt": "JobID           JobName  Partition      State ExitCode \n------------ ---------- ---------- ---------- -------- \n9                 train        gpu OUT_OF_ME+    0:125 \n" +
			"9.batch           batch            OUT_OF_ME+    0:125 \n"},
		want: []string{"host-oom"},
	},
	{
		name:     "counters of a LID, whose port another file knows",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3), "error-1-n2.out": greeted("n2", 4) + waits(4, 5, 6, 7)},
		evidence: map[string]string{"ibstat.txt": ibstat("n1", 30) + ibstat("n2", 31), "pq1.txt": "Wed Jun  4 10:02:00 UTC 2025\n" + perfquery(31, 3), "pq2.txt": "Wed Jun  4 10:09:00 UTC 2025\n" + perfquery(31, 41000)},
		want:     []string{"link-error"}, root: "node n2",
	},
	{
		name:     "counters of a LID that two ports have",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3), "error-1-n2.out": greeted("n2", 4) + waits(4, 5, 6, 7)},
		evidence: map[string]string{"ibstat.txt": ibstat("n1", 31) + ibstat("n2", 31), "pq1.txt": "Wed Jun  4 10:02:00 UTC 2025\n" + perfquery(31, 3), "pq2.txt": "Wed Jun  4 10:09:00 UTC 2025\n" + perfquery(31, 41000)},
		want:     []string{"collective-hang", "gpu-hang"},
	},
	{
		name: "NCCL 2.4 says that calls do not match",
		logs: one24("node1:105:185 [0] init.cc:1247 NCCL WARN Mismatched collective detected, please check your collective calls at and around rank 11. You can use NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=COLL to see the collective logs\n"),
		want: []string{"collective-mismatch"},
	},
	{
		name: "two nodes look for each other at an address that both have",
		logs: map[string]string{"error-1-n1.out": bridged("n1", 0), "error-1-n2.out": bridged("n2", 4)},
		want: []string{"init-unreachable"},
	},
	{
		name: "an address that one node has does not answer",
		logs: map[string]string{"error-1-n1.out": bridged("n1", 0), "error-1-n2.out": strings.ReplaceAll(bridged("n2", 4), "Using eth0:172.17.0.2", "Using eth0:10.1.0.2")},
		want: []string{"init-unreachable"}, // all eight of the communicator say so: none is gone
	},
	{
		name:     "SLURM's records of another job, which the name of a file tells",
		logs:     map[string]string{"error-88121-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3), "error-88121-n2.out": greeted("n2", 4) + waits(4, 5, 6, 7)},
		evidence: map[string]string{"sacct.txt": "JobID|State|ExitCode\n777|OUT_OF_MEMORY|0:125\n777.0|OUT_OF_MEMORY|0:125\n"},
		want:     []string{"collective-hang", "gpu-hang"},
	},
	{
		name:     "SLURM's records of another job, which the log tells",
		logs:     map[string]string{"train.log": "SLURM_JOB_ID=88121\n" + besidePace},
		evidence: map[string]string{"sacct.txt": "JobID|State|ExitCode\n777|OUT_OF_MEMORY|0:125\n777.0|OUT_OF_MEMORY|0:125\n"},
		want:     []string{"completed"},
	},
	{
		name:     "dumps of an earlier run of the same size",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3)},
		evidence: dumpsAt(311, 8, 5),
		want:     []string{"collective-hang", "gpu-hang", "rank-stalled"},
	},
	{
		name:     "dumps of this run",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3)},
		evidence: dumpsAt(2042, 8, 5),
		want:     []string{"rank-stalled"}, root: "rank 5",
	},
	{
		name:     "the dump of one rank is of an earlier run",
		evidence: with(dumpsAt(2042, 4, -1), "nccl_trace_rank_2", strings.ReplaceAll(dumpsAt(311, 4, 2)["nccl_trace_rank_2"], "17586105055", "17586005055")),
		want:     []string{"collective-hang", "collective-mismatch", "gpu-hang", "rank-stalled"},
	},
	{
		name:     "a kernel log with what ends jobs, below the last step",
		logs:     map[string]string{"20260509.log": ofMay("01:03:55", "01:04:01", "01:04:07", "01:04:13")},
		evidence: map[string]string{"dmesg-bx4.txt": offTheBus},
		want:     []string{"gpu-off-bus", "unknown"}, root: "node bx4",
	},
	{
		name:     "a kernel log with what ends jobs, and steps after it",
		logs:     map[string]string{"20260509.log": ofMay("01:04:13", "01:06:10", "01:08:10", "01:10:10")},
		evidence: map[string]string{"dmesg-bx4.txt": offTheBus},
		want:     []string{"completed"},
	},
	{
		name:     "one answer of NCCL's RAS alone, a rank well behind",
		evidence: map[string]string{"ras.txt": strings.Replace(behindInRAS(8, 6), "operation 5119", "operation 5101", 1)},
		want:     []string{"rank-stalled", "unknown"}, root: "rank 6, node 10.9.0.2",
	},
	{
		name:     "one answer of NCCL's RAS alone, a rank one behind",
		evidence: map[string]string{"ras.txt": behindInRAS(8, 6)},
		want:     []string{"unknown"},
	},
	{
		name:     "an answer of NCCL's RAS of a larger job",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3)},
		evidence: map[string]string{"ras-1.txt": behindInRAS(16, 6), "ras-2.txt": behindInRAS(16, 6)},
		want:     []string{"collective-hang", "gpu-hang", "rank-stalled"},
	},
	{
		name:     "NCCL's own logs of this job",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3)},
		evidence: called("n", "0x8f3c2d77aa10f001", 6),
		want:     []string{"rank-stalled"}, root: "rank 6, node n2",
	},
	{
		name:     "NCCL's own logs of another job",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3)},
		evidence: called("z", "0x77aa", 6),
		want:     []string{"collective-hang", "gpu-hang", "rank-stalled"},
	},
	{
		name:     "an answer of NCCL's RAS of days before",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3)},
		evidence: map[string]string{"ras.json": strings.ReplaceAll(deadInRAS, "2025-06-04", "2025-05-30")},
		want:     []string{"collective-hang", "gpu-hang", "rank-stalled"},
	},
	{
		name:     "an answer of NCCL's RAS of that day",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3)},
		evidence: map[string]string{"ras.json": deadInRAS},
		want:     []string{"peer-lost", "rank-stalled"}, root: "rank 6",
	},
	{
		name:     "an answer of NCCL's RAS of this job",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3)},
		evidence: map[string]string{"ras-1.txt": behindInRAS(8, 6), "ras-2.txt": behindInRAS(8, 6)},
		want:     []string{"rank-stalled"}, root: "rank 6, node 10.9.0.2",
	},
	{
		name:     "a process slept in the kernel on another node than that of the rank that stayed away",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2), "error-1-n2.out": greeted("n2", 4) + waits(4, 5, 6, 7)},
		evidence: map[string]string{"kern-n2.log": sleptOn("n2")},
		want:     []string{"rank-stalled"}, root: "rank 3, node n1",
	},
	{
		name:     "a process slept in the kernel on the node of the rank that stayed away",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2), "error-1-n2.out": greeted("n2", 4) + waits(4, 5, 6, 7)},
		evidence: map[string]string{"kern-n1.log": sleptOn("n1")},
		want:     []string{"storage-unresponsive"}, root: "node n1",
	},
	{
		name:     "a GPU was lost days before the job",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3), "error-1-n2.out": greeted("n2", 4) + waits(4, 5, 6, 7)},
		evidence: map[string]string{"nvidia-smi-n2.txt": "Mon Jun  2 08:31:00 CEST 2025\nUnable to determine the device handle for GPU0000:02:00.0: GPU is lost.  Reboot the system to recover this GPU\n"},
		want:     []string{"collective-hang", "gpu-hang"},
	},
	{
		name:     "a GPU is lost after the job",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3), "error-1-n2.out": greeted("n2", 4) + waits(4, 5, 6, 7)},
		evidence: map[string]string{"nvidia-smi-n2.txt": "Wed Jun  4 10:31:00 CEST 2025\nUnable to determine the device handle for GPU0000:02:00.0: GPU is lost.  Reboot the system to recover this GPU\n"},
		want:     []string{"gpu-off-bus"}, root: "rank 5, node n2",
	},
	{
		name:     "a process finds one GPU less where one is gone",
		logs:     map[string]string{"error-1-n2.out": greeted("n2", 4) + "[rank7]: Traceback (most recent call last):\n[rank7]:   File \"/w/t.py\", line 4, in <module>\n[rank7]:     main()\n[rank7]: RuntimeError: CUDA error: invalid device ordinal\n"},
		evidence: map[string]string{"nvidia-smi-n2.txt": "Unable to determine the device handle for GPU0000:04:00.0: Unknown Error\n"},
		want:     []string{"gpu-off-bus"}, root: "rank 7, node n2",
	},
	{
		name:     "a process finds one GPU less where one does not start",
		logs:     map[string]string{"error-1-n2.out": greeted("n2", 4) + "[rank7]: Traceback (most recent call last):\n[rank7]:   File \"/w/t.py\", line 4, in <module>\n[rank7]:     main()\n[rank7]: RuntimeError: CUDA error: invalid device ordinal\n"},
		evidence: map[string]string{"dmesg-n2.txt": "[Wed Jun  4 10:00:12 2025] NVRM: GPU 0000:04:00.0: RmInitAdapter failed! (0x26:0x65:0x1)\n"},
		want:     []string{"gpu-off-bus"}, root: "rank 7, node n2",
	},
	{
		name:     "a GPU that does not start beside those of the job",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3), "error-1-n2.out": greeted("n2", 4) + waits(4, 5, 6, 7)},
		evidence: map[string]string{"dmesg-n2.txt": "[Wed Jun  4 10:00:12 2025] NVRM: GPU 0000:04:00.0: RmInitAdapter failed! (0x26:0x65:0x1)\n"},
		want:     []string{"collective-hang", "gpu-hang"},
	},
	{
		name:     "a kernel's log of a node that no log is named for",
		logs:     map[string]string{"train-gpu01.log": besideSteps + waits(0, 1, 2, 3), "train-gpu02.log": waits(4, 5, 6, 7)},
		evidence: map[string]string{"gpu77.dmesg": "[Wed Jun  4 10:00:36 2025] NVRM: Xid (PCI:0000:02:00): 79, pid=9, name=python, GPU has fallen off the bus.\n"},
		want:     []string{"collective-hang", "gpu-hang", "rank-stalled"},
	},
	{
		name:     "a GPU is reset because its memory failed",
		logs:     map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3), "error-1-n2.out": greeted("n2", 4) + waits(4, 5, 6, 7)},
		evidence: map[string]string{"dmesg-n2.txt": "[Wed Jun  4 10:00:36 2025] amdgpu 0000:02:00.0: amdgpu: socket: 1, die: 0 2 uncorrectable hardware errors detected in umc block\n[Wed Jun  4 10:00:36 2025] amdgpu 0000:02:00.0: amdgpu: GPU reset begin!\n"},
		want:     []string{"gpu-ecc"}, root: "rank 5, node n2",
	},
	{
		name:     "a test of DCGM failed where a kernel had",
		logs:     map[string]string{"error-1-n1.out": "using world size: 8, data-parallel size: 8\n" + greeted("n1", 0) + besideSteps, "error-1-n2.out": greeted("n2", 4) + besidePace + launchFailed},
		evidence: map[string]string{"n2-dcgmi-diag.txt": "Successfully ran diagnostic for group.\n+---------------------------+------------------------------------------------+\n| Diagnostic                | Result                                         |\n+===========================+================================================+\n|-----  Hardware  ----------+------------------------------------------------|\n| GPU Memory                | Fail - GPU: 1                                  |\n| Diagnostic                | Pass - All                                     |\n+---------------------------+------------------------------------------------+\n"},
		want:     []string{"cuda-error", "gpu-ecc"}, root: "rank 5, node n2",
	},
	{
		name: "a kernel's messages as JSON",
		logs: map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + waits(0, 1, 2, 3), "error-1-n2.out": greeted("n2", 4) + waits(4, 5, 6, 7)},
		evidence: map[string]string{"dmesg-n2.json": "{\n   \"dmesg\": [\n      {\n         \"pri\": 5,\n         \"time\":     0.000000,\n         \"msg\": \"Linux version 6.8.0-45-generic\"\n      },{\n         \"pri\": 3,\n" +
			"         \"time\": 88120.120034,\n         \"msg\": \"NVRM: Xid (PCI:0000:02:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\"\n      }\n   ]\n}\n"},
		want: []string{"gpu-off-bus"}, root: "rank 5, node n2",
	},
	{
		name:     "memory of a GPU failed on another node than that of the process that reports an error of CUDA",
		logs:     map[string]string{"error-1-n1.out": "using world size: 8, data-parallel size: 8\n" + greeted("n1", 0) + besideSteps, "error-1-n2.out": greeted("n2", 4) + besidePace + launchFailed},
		evidence: map[string]string{"dmesg-n1.txt": "[Wed Jun  4 10:00:36 2025] NVRM: Xid (PCI:0000:02:00): 48, pid=9, name=python, DBE (double bit error) ECC Error\n"},
		want:     []string{"cuda-error", "gpu-ecc"},
	},
	{
		name:     "memory of its own GPU failed",
		logs:     map[string]string{"error-1-n1.out": "using world size: 8, data-parallel size: 8\n" + greeted("n1", 0) + besideSteps, "error-1-n2.out": greeted("n2", 4) + besidePace + launchFailed},
		evidence: map[string]string{"dmesg-n2.txt": "[Wed Jun  4 10:00:36 2025] NVRM: Xid (PCI:0000:02:00): 48, pid=9, name=python, DBE (double bit error) ECC Error\n"},
		want:     []string{"gpu-ecc"}, root: "rank 5, node n2",
	},
	{
		name:     "where a rank is no line tells, and one kernel tells of the same",
		logs:     map[string]string{"train.log": nvlinkFailed},
		evidence: map[string]string{"dmesg-n2.txt": nvlinkDown},
		want:     []string{"gpu-nvlink"}, root: "rank 5, node n2",
	},
	{
		name:     "where a rank is no line tells, and two kernels tell of the same",
		logs:     map[string]string{"train.log": nvlinkFailed},
		evidence: map[string]string{"dmesg-n2.txt": nvlinkDown, "dmesg-n3.txt": nvlinkDown},
		want:     []string{"gpu-nvlink"}, root: "rank 5",
	},
	{
		name: "NCCL's proxy takes no connection while a job falls to pieces",
		logs: map[string]string{"error-1-n1.out": greeted("n1", 0) + besideSteps + "n1:41000:41990 [0] proxy.cc:1612 NCCL WARN [Service thread] Accept failed Resource temporarily unavailable\n",
			"error-1-n2.out": greeted("n2", 4) + "[rank6]: Traceback (most recent call last):\n[rank6]:   File \"/w/t.py\", line 4, in <module>\n[rank6]:     main()\n[rank6]: KeyError: 'input_ids'\n"},
		want: []string{"exception"}, root: "rank 6, node n2",
	},
}

// called are NCCL's own logs of eight processes, of which one called a collective less.
func called(host, id string, behind int) map[string]string {
	out := map[string]string{}
	for r := range 8 {
		h, pid := fmt.Sprint(host, r/4+1), 41000+r%4
		at := fmt.Sprintf("%s:%d:%d [%d] NCCL INFO ", h, pid, pid, r%4)
		text := at + fmt.Sprintf("Bootstrap : Using eth0:10.1.0.%d<0>\n", r/4+1) +
			at + fmt.Sprintf("ncclCommInitRank comm 0x55d0a00%d rank %d nranks 8 cudaDev %d nvmlDev %d busId %d000 commId %s - Init COMPLETE\n", r, r, r%4, r%4, r%4+1, id)
		for i := range 9 {
			if r != behind || i < 8 {
				text += at + fmt.Sprintf("AllReduce: opCount %x sendbuff 0x7f00 recvbuff 0x7f00 count 64 datatype 9 op 0 root 0 comm 0x55d0a00%d [nranks=8] stream 0x55ee\n", i, r)
			}
		}
		out[fmt.Sprintf("nccl.%s.%d", h, pid)] = text + at + fmt.Sprintf("comm 0x55d0a00%d rank %d nranks 8 cudaDev %d busId %d000 - Abort COMPLETE\n", r, r, r%4, r%4+1)
	}
	return out
}

// deadInRAS is an answer in which a process is dead.
const deadInRAS = `{"nccl_version": "2.28.9", "timestamp": "2025-06-04 10:08:00", "communicators_count": 1, "communicators": [{"hash": "0x6f1d", "size": 8, "ranks_count": 7, "missing_ranks_count": 1, "ranks": [],
"missing_ranks": [{"rank": 6, "host": "10.1.0.2", "pid": 41002, "cuda_dev": 2, "nvml_dev": 2, "status": {"unresponsive": true, "considered_dead": true}}]}]}
`

const launchFailed = "[rank5]: Traceback (most recent call last):\n[rank5]:   File \"/w/t.py\", line 4, in <module>\n[rank5]:     loss.backward()\n[rank5]: RuntimeError: CUDA error: unspecified launch failure\n"

// dumpsAt are dumps of all ranks of a job, which wait in an all-reduce, but for one that has not come, or nobody for −1.
func dumpsAt(seq, ranks, away int) map[string]string {
	members := make([]int, ranks)
	for r := range members {
		members[r] = r
	}
	out := map[string]string{}
	for r := range ranks {
		counters, w := [2]int{seq, seq - 1}, dumped{"0", "all_reduce", seq, "started"}
		if r == away {
			counters, w = [2]int{seq - 1, seq - 1}, dumped{"0", "all_reduce", seq - 1, "completed"}
		}
		dump := dumpOf(map[string][]int{"0": members}, map[string][2]int{"0": counters}, w)
		out[fmt.Sprint("nccl_trace_rank_", r)] = strings.ReplaceAll(dump, "[[64]]", "[[8388608]]")
	}
	return out
}

func with(files map[string]string, name, text string) map[string]string {
	files[name] = text
	return files
}

// behindInRAS is an answer of RAS in which one rank is behind.
func behindInRAS(ranks, behind int) string {
	return fmt.Sprintf("NCCL version 2.27.5 compiled with CUDA 12.9\n\nJob summary\n===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n(total)   per node  per process    (total)  (total)\n"+
		"      2          %d            1         %d       %[2]d\n\nCommunicators... (0.00s)\n=============\n\nGroup     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"+
		"    #  in group  per comm  per node  per comm  in group\n    0         1         2         %[1]d        %[2]d        %[2]d   RUNNING  MISMATCH\n\nErrors\n======\n\nWarnings\n========\n\n"+
		"#0-0 (6f1d2e77aa10b00c) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n  %[3]d ranks have launched up to operation 5120\n"+
		"  Rank %[4]d has launched up to operation 5119 -- GPU 2 managed by process 9142 on node 10.9.0.2\n", ranks/2, ranks, ranks-1, behind)
}

// sleptOn is a kernel that says of a process that it waits for NFS.
func sleptOn(node string) string {
	var b strings.Builder
	for _, l := range []string{"INFO: task python:5106 blocked for more than 120 seconds.", "Call Trace:", " rpc_wait_bit_killable+0x1e/0xa0 [sunrpc]", " nfs4_proc_getattr+0x60/0x100 [nfsv4]"} {
		fmt.Fprintf(&b, "Jun  4 10:02:10 %s kernel: %s\n", node, l)
	}
	return b.String()
}

// A kernel names its node; where nothing ties that node to the job, it is no root, and what to do names it all the same.
func TestTheNodeOfAKernelThatNothingTiesToTheJob(t *testing.T) {
	kernels := map[string]string{"alerts.log": "Alert on gn-11: May 19 07:08:57 gn-11 kernel: [680111.646286] NVRM: Xid (PCI:0000:10:1c): 63, pid=1850, Row Remapper: New row marked for remapping, reset gpu to activate\n" +
		"Alert on gn-12: May 29 01:37:38 gn-12 kernel: [257087.812628] NVRM: Xid (PCI:0000:90:1c): 64, pid=1850, Row Remapper: Failed to remap row\n"}
	r, err := Diagnose(context.Background(), Input{Version: "test", Evidence: written(t, kernels, "")})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Verdict.Root.Nodes) > 0 || !strings.Contains(r.Action.Text, "whether gn-12 was one of the job's nodes") {
		t.Errorf("root %v: %s", r.Verdict.Root.Nodes, r.Action.Text)
	}
}

// TestTheLogOfANodesControllerOpensTheEnd: of a job whose lines stop, where it tells of a fault on that day.
func TestTheLogOfANodesControllerOpensTheEnd(t *testing.T) {
	steps := "ranks 8-15 on hx2\n"
	for i := range 40 {
		steps += fmt.Sprintf("2026-05-06 09:%02d:00 step %d/900 loss 2.1\n", i, i)
	}
	const asserted = "   2 | %s | 09:42:03 UTC | Power Supply PS1 Status | Power Supply AC lost | Asserted\n   3 | %[1]s | 09:42:05 UTC | Processor #0x60 | Thermal Trip | Asserted\n"
	for name, c := range map[string]struct {
		date string
		more string
		want string
	}{
		"on that day":   {"05/06/2026", "", incident.Inconclusive},
		"a year before": {"05/06/2025", "", incident.NoFailure},
		"on another":    {"03/06/2026", "", incident.NoFailure},
		"it finished":   {"05/06/2026", "Training completed.\n", incident.NoFailure},
	} {
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"t.log": steps + c.more, "bmc-hx2.txt": fmt.Sprintf(asserted, c.date)}, "")})
		if r.Verdict.Status != c.want {
			t.Errorf("%s: %s, %s", name, r.Verdict.Status, r.Verdict.Summary)
		}
	}
}

func TestAFaultOnTheDayOnWhichTheLogsStop(t *testing.T) {
	steps := loop(80, "", func(i int, _ bool) string {
		return fmt.Sprintf("step=%d loss=%.4f step_time=1.00", 10*i, 3-0.001*float64(i))
	})
	for day, want := range map[string]bool{"02/03/2026": true, "02/03/26": true, "02/03/2025": false, "02/02/2026": false} {
		sel := fmt.Sprintf("   1 | %[1]s | 14:38:00 | Memory DIMM_A1 | Uncorrectable ECC | Asserted\n   2 | %[1]s | 14:38:02 | Processor #0x60 | IERR | Asserted\n", day)
		v := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": steps}, ""), Evidence: written(t, map[string]string{"sel-n7.txt": sel}, "")}).Verdict
		if got := v.Mechanism == string(knowledge.NodeFailure); got != want {
			t.Errorf("%s: %s: %s", day, v.Mechanism, v.Summary)
		}
	}
}
