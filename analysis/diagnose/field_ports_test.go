package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// timedSteps are the steps from one to another, ten seconds apart.
func timedSteps(from, to, second int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		s := second + 10*(i-from)
		fmt.Fprintf(&b, "2026-03-11 04:%02d:%02d,100 INFO train: step %d/200 loss 2.15\n", s/60, s%60, i)
	}
	return b.String()
}

func completion(host string, pid int, peer string, status int) string {
	return fmt.Sprintf("%s:%d:9 [0] transport/net_ib.cc:1696 NCCL WARN NET/IB : Got completion from peer %s<40982> with status=%d opcode=129 len=0 vendor err 129 (Send)\n", host, pid, peer, status)
}

func commInit(host, ip string, pid, rank int) string {
	return fmt.Sprintf("%[1]s:%[3]d:%[3]d [0] NCCL INFO Bootstrap : Using ib0:%[2]s<0>\n%[1]s:%[3]d:9 [0] NCCL INFO ncclCommInitRank comm 0x55 rank %[4]d nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x6a2 - Init COMPLETE\n", host, ip, pid, rank)
}

// A port that went down and up again, after which training went on, is not why the job failed later; where transfers over it failed in the
// end, it says at which end.
func TestAPortThatCameUpAgain(t *testing.T) {
	const (
		flap   = "n2:12:9 [0] transport/net_ib.cc:253 NCCL WARN NET/IB : mlx5_1:1 Got non-fatal async event: port error(10)\nn2:12:9 [0] transport/net_ib.cc:253 NCCL WARN NET/IB : mlx5_1:1 Got non-fatal async event: port active(9)\n"
		down   = "[Wed Mar 11 04:08:20 2026] mlx5_core 0000:5d:00.0: mlx5_0: Port: 1 Link down\n[Wed Mar 11 04:08:22 2026] mlx5_core 0000:5d:00.0: mlx5_0: Port: 1 Link up\n"
		asleep = "[Wed Mar 11 04:19:10 2026] INFO: task python:11 blocked for more than 120 seconds.\n"
	)
	one, two := commInit("n1", "10.9.0.1", 11, 0), commInit("n2", "10.9.0.2", 12, 1)
	all := timedSteps(1, 100, 30)
	early, later := timedSteps(1, 48, 30), timedSteps(48, 100, 510)
	hung := func(rank int) string {
		return fmt.Sprintf("[rank%[1]d]:[E311 04:27:20.100000000 ProcessGroupNCCL.cpp:632] [Rank %[1]d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=801, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600072 milliseconds before timing out.\n", rank)
	}
	for _, c := range []fieldCase{
		{"the kernel's link, and a read that hangs on the other node", map[string]string{"n1.log": one + all + asleep, "n2.log": two + early + down + later + hung(1)}, []string{"storage-unresponsive"}, "node n1"},
		{"NCCL's port, and an exception of the other node", map[string]string{"n1.log": one + all + raisedBy(0, "KeyError: 'router'"), "n2.log": two + early + flap + later}, []string{"exception"}, "rank 0, node n1"},
		{"transfers fail much later", map[string]string{"n1.log": one + all + completion("n1", 11, "10.9.0.2", 12), "n2.log": two + early + flap + later}, []string{"link-error"}, "node n2"},
		{"a rank that did not enter", map[string]string{"n1.log": fieldSteps + waitedFor(0, 2, 3), "n2.log": flap + signalledAt(9, 1, 0)}, []string{"rank-stalled"}, "rank 1, node n2"},
		{"nothing went on", map[string]string{"n1.log": one + all + hung(0), "n2.log": two + all + flap + hung(1)}, []string{"link-error"}, "node n2"},
	} {
		c.check(t)
	}
}

// To whoever sent to it a process that died of its own looks like a link that is gone; one that itself had lost somebody before proves nothing.
func TestATransferToAProcessThatDied(t *testing.T) {
	one, two := commInit("n1", "10.9.0.1", 11, 0), commInit("n2", "10.9.0.2", 12, 1)
	const (
		steps  = "step 1 loss 2.15\nstep 2 loss 2.14\nstep 3 loss 2.13\n"
		closed = "n2:12:9 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer n1<51159>\n"
		segv   = "[n2:00012] *** Process received signal ***\n[n2:00012] Signal: Segmentation fault (11)\n"
	)
	failed := one + steps + completion("n1", 11, "10.9.0.2", 13)
	for _, c := range []fieldCase{
		{"of an exception", map[string]string{"n1.log": failed, "n2.log": two + steps + raisedBy(1, "ValueError: shapes (4,) and (5,)")}, []string{"exception"}, "rank 1, node n2"},
		{"of its GPU", map[string]string{"n1.log": failed, "n2.log": two + steps + "NVRM: Xid (PCI:0000:97:00): 79, GPU has fallen off the bus.\n"}, []string{"gpu-off-bus"}, "node n2"},
		{"of a crash", map[string]string{"n1.log": failed, "n2.log": two + steps + segv}, []string{"native-crash"}, "rank 1, node n2"},
		{"on the node that reports it", map[string]string{"n1.log": failed + raisedBy(2, "ValueError: shapes (4,) and (5,)"), "n2.log": two + steps}, []string{"exception", "link-error"}, "-"},
		{"of a node that nobody is known to have sent to", map[string]string{"n1.log": "n1:11:9 [0] NCCL INFO Channel 00/0\n" + steps + completion("n1", 11, "10.9.0.7", 13), "n3.log": steps + raisedBy(3, "ValueError: shapes (4,) and (5,)")}, []string{"exception", "link-error"}, "-"},
		{"of a crash, after it had lost the other", map[string]string{"n1.log": failed, "n2.log": two + steps + closed + segv}, []string{"link-error", "native-crash"}, "-"},
		{"its own port says so", map[string]string{"n1.log": failed + "n1:11:9 [0] transport/net_ib.cc:99 NCCL WARN NET/IB : mlx5_3:1 Got async event : port error\n", "n2.log": two + steps + raisedBy(1, "ValueError: shapes (4,) and (5,)")},
			[]string{"exception", "link-error"}, "-"},
	} {
		c.check(t)
	}
}

// Processes end one after another: who is still there hears the others go.
func TestConnectionsClosedAfterTheEnd(t *testing.T) {
	const closed = "n2:12:9 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer n1<51159>\n"
	steps, over := timedSteps(1, 9, 30), "2026-03-11 04:02:10,100 INFO train: Training finished\n"
	for _, c := range []fieldCase{
		{"the program had finished", map[string]string{"n1.log": steps + over, "n2.log": steps + over + closed}, []string{"completed"}, "-"},
		{"it had not", map[string]string{"n1.log": steps, "n2.log": steps + closed}, []string{"peer-lost", "unknown"}, "-"},
		{"it had, and went on to something else", map[string]string{"n1.log": steps + over, "n2.log": steps + over + "2026-03-11 04:12:10,100 INFO train: final evaluation\n" + closed}, []string{"peer-lost", "unknown"}, "-"},
		{"it had, and saved for ten minutes", map[string]string{"n1.log": steps + over, "n2.log": steps + over + "[2026-03-11 04:13:10] " + closed}, []string{"peer-lost", "unknown"}, "-"},
		{"it had, and an error is told below", map[string]string{"n1.log": steps + over, "n2.log": steps + over + closed + "ERROR: job exited with status 137\n"}, []string{"peer-lost", "unknown"}, "-"},
		{"a save whose end nobody tells, and steps below it", map[string]string{"n1.log": steps + over, "n2.log": "2026-03-11 04:00:20,100 [INFO] saving checkpoint to /fs/ckpt/step_0\n" + steps + over + closed}, []string{"completed"}, "-"},
		{"it had, and another had not", map[string]string{"n1.log": steps, "n2.log": timedSteps(1, 30, 30) + over + closed}, []string{"peer-lost", "unknown"}, "-"},
		{"it had, and somebody still worked", map[string]string{"n1.log": steps + over, "n2.log": steps + over + closed + raisedBy(1, "torch.distributed.DistBackendError: NCCL error in: a.cpp:9, remote process exited or there was a network error, NCCL version 2.21.5")}, []string{"peer-lost", "unknown"}, "-"},
	} {
		c.check(t)
	}
}

// SLURM could not give the job its private /tmp on one node.
func TestNoPrivateTmp(t *testing.T) {
	fieldCase{"one node of two", map[string]string{"error-91-0.out": "torch imported\n", "error-91-1.out": "slurmstepd: error: container_p_join: open failed /scratch/91/.active: No such file or directory\nslurmstepd: error: container_g_join failed: 91\n",
		"slurm-91.out": "srun: error: n2: tasks 4-7: Exited with exit code 1\nsrun: Terminating StepId=91.0\nsrun: error: n1: tasks 0-3: Terminated\n"}, []string{"scheduler-error"}, "node n2"}.check(t)
}

// What SLURM's programs could not do before a job ever came to train is why it ended, and the line of its end tells of nobody's wish.
func TestStepsThatSLURMEndedByItself(t *testing.T) {
	const (
		over = "slurmstepd: error: *** STEP 93.0 ON n1 CANCELLED AT 2026-03-11T04:03:00 ***\nsrun: Job step aborted: Waiting up to 32 seconds for job step to finish.\nsrun: error: n2: tasks 4-7: Killed\nsrun: error: n1: tasks 0-3: Killed\n"
		odd  = "slurmstepd: error: switch_q_setup: rail 3 is not usable\n"
		ompi = "The application appears to have been direct launched using \"srun\",\nbut OMPI was not built with SLURM's PMI support and therefore cannot\nexecute. There are several options for building PMI support under\nSLURM, depending upon the SLURM version you are using:\n"
	)
	for _, c := range []fieldCase{
		{"PMI2 gave up", one("srun: error: mpi/pmi2: failed to send temp kvs to compute nodes\n" + over), []string{"init-unreachable"}, "-"},
		{"an error that nobody knows", one(odd + over), []string{"cancelled", "unknown"}, "-"},
		{"it trained", one(odd + fieldSteps + over), []string{"cancelled", "unknown"}, "-"},
		{"in another file, in capitals", map[string]string{"slurm-93.out": "srun: ERROR: Node FAILURE on n2\n" + over,
			"error-93-0.out": fieldSteps + "slurmstepd: error: *** STEP 93.0 ON n1 CANCELLED AT 2026-03-11T04:03:00 ***\n"}, []string{"cancelled", "unknown"}, "-"},
		{"nothing but the end", one(over), []string{"cancelled", "unknown"}, "-"},
		{"Open MPI does not know SLURM", one(ompi + ompi + "srun: error: n1: tasks 0-3: Exited with exit code 1\nsrun: error: n2: tasks 4-7: Exited with exit code 1\n"), []string{"config-error"}, "-"},
	} {
		c.check(t)
	}
}

// Two ranks are not most of a job, though only they say which they are: the launcher names more tasks.
func TestTwoRanksOfMany(t *testing.T) {
	lib := raisedBy(4, "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory") + raisedBy(5, "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory")
	ends := "srun: error: n3: tasks 4-5: Exited with exit code 1\nsrun: Terminating StepId=90.0\nsrun: error: n1: tasks 0-1: Terminated\nsrun: error: n2: tasks 2-3: Terminated\nsrun: error: n4: tasks 6-7: Terminated\n"
	fieldCase{"a library of one node", map[string]string{"error-90-2.out": lib, "slurm-90.out": ends}, []string{"version-mismatch"}, "rank 4, rank 5"}.check(t)
}

// A save that outlives the wait of the others is what held them, whatever case a script writes it in, and though it ended well.
func TestASaveThatOutlivesTheWait(t *testing.T) {
	held := "WORLD_SIZE=4\n" + timedSteps(1, 100, 30) + "2026-03-11 04:17:11,000 [INFO] [rank0]: saving checkpoint to /fs/ckpt/step_99\n"
	for r := 1; r < 4; r++ {
		held += fmt.Sprintf("[rank%[1]d]:[E311 04:27:20.100000000 ProcessGroupNCCL.cpp:632] [Rank %[1]d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=801, OpType=BROADCAST, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600072 milliseconds before timing out.\n"+
			"[rank%[1]d]:[E311 04:27:20.200000000 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank %[1]d]  failure detected by watchdog at work sequence id: 801 PG status: last enqueued work: 801, last completed work: 800\n", r)
	}
	fieldCase{"it ended", one(held + "2026-03-11 04:27:41,000 [INFO] [rank0]: saved checkpoint to /fs/ckpt/step_99 in 629.4 s\n"), []string{"checkpoint-io"}, "rank 0"}.check(t)
}
