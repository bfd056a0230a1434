package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"faultline/simulate"
)

// What a job is started with may differ on one node, where all its processes fail so while others only notice; what one process of one
// node tells may be everybody's.
func TestFieldWhatOneNodeLacks(t *testing.T) {
	const (
		head  = "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\n"
		lib   = head + "ImportError: /a/x.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs\n"
		path  = head + "FileNotFoundError: [Errno 2] No such file or directory: '/data/tokens.bin'\n"
		began = "start\n"
	)
	noticed := raisedBy(1, "torch.distributed.DistNetworkError: failed to recv, got 0 bytes")
	job := func(there, elsewhere string) map[string]string {
		return map[string]string{"error-4242-n1.out": began + elsewhere, "error-4242-n2.out": began + there, "error-4242-n3.out": began, "error-4242-n4.out": began}
	}
	for _, c := range []fieldCase{
		{"a library", job(strings.Repeat(lib, 4), noticed), []string{"version-mismatch"}, "node n2"},
		{"a library, and nobody else says anything", job(strings.Repeat(lib, 4), ""), []string{"version-mismatch"}, "-"},
		{"a library, told by one process", job(lib, noticed), []string{"version-mismatch"}, "-"},
		{"a library, on two nodes", job(strings.Repeat(lib, 4), strings.Repeat(lib, 4)+noticed), []string{"version-mismatch"}, "-"},
		{"a path", job(strings.Repeat(path, 4), noticed), []string{"config-error"}, "node n2"},
	} {
		c.check(t)
	}
}

// Every member that waited reports the same ones who did not come, by their numbers in a group of which PyTorch up to 2.2 does not say which.
func TestFieldWhoEveryReportNames(t *testing.T) {
	report := func(rank int) string {
		return fmt.Sprintf("[rank%d]:[E ProcessGroupNCCL.cpp:523] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600031 milliseconds before timing out.\n"+
			"\t - [%d] Timeout at collective: ALLREDUCE, #41\n\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n\t     [2] finished collective #40, but didn't join collective #41 (count from 1)\n"+
			"\t - Snapshot of ranks' latest states:\n\t   #41 started ranks:\n\t     [0, 1, 3] started ALLREDUCE\n\t   #40 finished ranks:\n\t     [2] finished ALLREDUCE\n", rank, rank, rank)
	}
	all := report(0) + report(1) + report(3)
	for _, c := range []fieldCase{
		{"of all ranks", one("using world size: 4, data-parallel size: 4\n" + all), []string{"rank-stalled"}, "rank 2"},
		{"of a group, perhaps", one("using world size: 16, data-parallel size: 4\n" + all), []string{"rank-stalled"}, "-"},
	} {
		c.check(t)
	}
}

// srun ends a step by itself when a task has left it long before the others.
func TestFieldATaskThatLeftBeforeTheOthers(t *testing.T) {
	const (
		end  = "slurmstepd: error: *** STEP 4242.0 ON n1 CANCELLED AT 2026-05-06T09:31:40 ***\n"
		left = "srun: First task exited 60s ago\nsrun: StepId=4242.0 task 3: exited\nsrun: StepId=4242.0 tasks 0-2: running\nsrun: Terminating StepId=4242.0\nsrun: error: n1: tasks 0-2: Terminated\n"
		by   = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\nsrun: error: n1: tasks 0-3: Terminated\n"
	)
	for _, c := range []fieldCase{
		{"--wait", map[string]string{"error-4242-n1.out": clocked(0, 0, 30) + end, "slurm-4242.out": left}, []string{"unknown"}, "-"},
		{"somebody cancelled it", map[string]string{"error-4242-n1.out": clocked(0, 0, 30) + end, "slurm-4242.out": by}, []string{"cancelled"}, "-"},
	} {
		c.check(t)
	}
}

// The file of one node was cut off in the words that others raised as well, or in an earlier run than theirs.
func TestFieldAFileThatWasCutOff(t *testing.T) {
	wait := func(rank int) string {
		return raisedBy(rank, "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete")
	}
	third := wait(3)
	const world = "torchrun --standalone --nproc-per-node 4 train.py\n"
	taken := "slurmstepd: error: *** STEP 4242.0 ON n1 CANCELLED AT 2026-05-06T09:32:00 DUE TO PREEMPTION ***\n"
	told := "W0506 09:32:01.000000 900 torch/distributed/elastic/agent/server/api.py:704] Received 15 death signal, shutting down workers\n"
	cut := "Traceback (most recent call last):\n  File \"/usr/lib/torchrun\", line 33, in <module>\n    sys.exit(main())\n  File \"/usr/lib/api.py\", li"
	first, second := torchrunAt("08:59:00")+clocked(0, 0, 30)+taken+told, torchrunAt("09:59:00")+clocked(60, 25, 50)+"INFO: Training finished.\n"
	for _, c := range []fieldCase{
		{"in the words of a wait", map[string]string{"j-4242-n1.err": world + wait(0) + wait(1), "j-4242-n2.err": third[:len(third)-12]}, []string{"rank-stalled", "collective-hang"}, "-"},
		{"when SLURM had taken the job back", map[string]string{"j-4242-n1.err": first + second, "j-4242-n2.err": torchrunAt("08:59:00") + told + cut}, []string{"completed"}, "-"},
		{"and the next run failed", map[string]string{"j-4242-n1.err": first + second[:len(second)-len("INFO: Training finished.\n")] + raisedBy(0, "KeyError: 'labels'"), "j-4242-n2.err": torchrunAt("08:59:00") + told + cut}, []string{"exception"}, "rank 0, node n1"},
	} {
		c.check(t)
	}
}

// All that is seen of one node cannot reach a peer, and nobody of another says so: that is one end of two, and no word for the whole job.
func TestFieldOneNodeThatReachesNobody(t *testing.T) {
	const route = "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:77, unhandled system error, NCCL version 2.26.2\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. \nLast error:\nsocketStartConnect: Connect to 10.4.1.7<51123> failed : No route to host"
	began := func(rank int) string {
		return fmt.Sprintf("n%d:%d:9 [%d] NCCL INFO ncclCommInitRank comm 0x55 rank %d nranks 4 cudaDev %d nvmlDev %d busId 1b000 commId 0x9a - Init START\n", 1+rank/2, 90+rank, rank%2, rank, rank%2, rank%2)
	}
	warn := func(rank int) string {
		return fmt.Sprintf("n2:%d:9 [%d] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.4.1.7<51123> failed : No route to host\n", 90+rank, rank%2)
	}
	files := map[string]string{"j-4242-n1.err": began(0) + began(1) + "[rank0]: start\n[rank1]: start\n", "j-4242-n2.err": began(2) + began(3) + warn(2) + warn(3) + raisedBy(2, route) + raisedBy(3, route)}
	fieldCase{"of one node", files, []string{"init-unreachable"}, "-"}.check(t)
	var in []simulate.File
	for _, name := range []string{"j-4242-n1.err", "j-4242-n2.err"} {
		in = append(in, simulate.File{Name: name, Data: []byte(files[name])})
	}
	if v := Run(read(t, in, nil, 0)).Verdict; v.Scope == "all" || v.Status != "probable" {
		t.Errorf("%s, scope %s", v.Status, v.Scope)
	}
}
