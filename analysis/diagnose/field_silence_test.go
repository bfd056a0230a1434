package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// caughtIn is how a rank of PyTorch 2.4 reports that it waits in the default group; those of that generation print no counters when told.
func caughtIn(rank, seq int) string {
	return fmt.Sprintf("[rank%d]:[E607 21:52:16.253530467 ProcessGroupNCCL.cpp:607] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600008 milliseconds before timing out.\n"+
		"[rank%d]:[E607 21:52:16.255881356 ProcessGroupNCCL.cpp:1664] [PG 0 (default_pg) Rank %d] Exception (either an error or timeout) detected by watchdog at work: %d, last enqueued NCCL work: %d, last completed NCCL work: %d.\n",
		rank, rank, seq, rank, rank, seq, seq, seq-1)
}

// A rank that says nothing may have been ended before its own watchdog fired, and one whose line another writer tore has not been silent.
func TestSilentRanks(t *testing.T) {
	job := func(but ...int) string {
		var b strings.Builder
		b.WriteString("torchrun --standalone --nproc-per-node 8 train.py\n")
		for r := range 8 {
			fmt.Fprintf(&b, "[rank%d]: step 1 loss 2.0\n", r)
		}
		for r := range 8 {
			if len(but) == 0 || r != but[0] && (len(but) < 2 || r != but[1]) {
				b.WriteString(caughtIn(r, 300))
			}
		}
		return b.String()
	}
	torn, other := caughtIn(5, 300), caughtIn(4, 300)
	cut := strings.Index(torn, "tchdog caught")
	hang := []string{"rank-stalled", "collective-hang", "gpu-hang"}
	for _, c := range []fieldCase{
		{"one", one(job(5)), []string{"rank-stalled"}, "rank 5"},
		{"two", one(job(5, 2)), hang, "-"},
		{"one whose line was torn", one(job(5) + torn[:cut] + other[:strings.Index(other, "\n")+1] + torn[cut:strings.Index(torn, "\n")+1]), hang, "-"},
	} {
		c.check(t)
	}
}

// A receiver that waits while all others are idle has a sender, which is one of them.
func TestAReceiverThatWaitsAlone(t *testing.T) {
	b := "torchrun --standalone --nproc-per-node 8 train.py\n" +
		"[rank4]:[E607 21:52:16.253530467 ProcessGroupNCCL.cpp:632] [Rank 4] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=31, OpType=%s, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600008 milliseconds before timing out.\n" +
		"[rank4]:[E607 21:52:16.255881356 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank 4]  failure detected by watchdog at work sequence id: 31 PG status: last enqueued work: 31, last completed work: 30\n"
	for r := range 8 {
		if r != 4 {
			b += toldOf(r)
		}
	}
	fieldCase{"a receive", one(fmt.Sprintf(b, "RECV")), []string{"rank-stalled", "lone-waiter", "collective-mismatch"}, "-"}.check(t)
	fieldCase{"a collective", one(fmt.Sprintf(b, "ALLREDUCE")), []string{"lone-waiter"}, "rank 4"}.check(t)
}

// Half of the ranks have left what the others wait in.
func TestOneWorkFurtherOn(t *testing.T) {
	job := func(further int) map[string]string {
		b := fourRanks
		for r := range 4 {
			seq := 300 + r/2*further
			b += inDefault(r, seq, "ALLREDUCE", 4096, 4096, seq, seq-1)
		}
		return one(b)
	}
	fieldCase{"one", job(1), []string{"collective-hang", "gpu-hang", "collective-mismatch"}, "-"}.check(t)
	fieldCase{"none", job(0), []string{"collective-hang", "gpu-hang"}, "-"}.check(t)
}

// Who begins to wait when the scheduler has told others to end waits for those.
func TestAWaitThatBeganBehindTheEnd(t *testing.T) {
	end := func(at string) string {
		return "slurmstepd: error: *** STEP 8.0 ON a1 CANCELLED AT 2025-06-07T" + at + " DUE TO PREEMPTION ***\n"
	}
	const first = "[rank0]: 2025-06-07 21:30:00 step 1 loss 2.0\n"
	hang := []string{"rank-stalled", "collective-hang", "gpu-hang", "lone-waiter", "collective-mismatch"}
	for _, c := range []fieldCase{
		{"it began behind", one(first + end("21:42:10") + caughtIn(3, 300)), []string{"preempted"}, "-"},
		{"it had begun before", one(first + end("21:42:30") + caughtIn(3, 300)), hang, "-"},
		{"it began long after, in another run", one(first + end("21:12:10") + caughtIn(3, 300)), hang, "-"},
	} {
		c.check(t)
	}
}

// A job reports its first steps one by one and then every five hundredth: that nothing was reported for less than that is no silence.
func TestStepsThatAreReportedMoreSeldomLater(t *testing.T) {
	start, job := time.Date(2025, 6, 7, 9, 0, 0, 0, time.UTC), "world_size=8\n"
	for i := 1; i <= 32; i++ {
		step := i
		if i > 20 {
			step = 500 * (i - 20)
		}
		job += fmt.Sprintf("%s INFO step %d/100000 loss %.3f\n", start.Add(time.Duration(2*step)*time.Second).Format(time.DateTime), step, 3-float64(step)/1e5)
	}
	end := start.Add((2*6000 + 900) * time.Second).Format("2006-01-02T15:04:05")
	for _, c := range []fieldCase{
		{"a time limit", one(job + "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT " + end + " DUE TO TIME LIMIT ***\n"), []string{"time-limit"}, "-"},
		{"cancelled", one(job + "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT " + end + " ***\n"), []string{"cancelled"}, "-"},
	} {
		c.check(t)
	}
}

// A limit of a minute leaves a hang no time to become a long silence: that it fills most of the run is what counts.
func TestAShortLimitCutsAHang(t *testing.T) {
	start := time.Date(2025, 6, 7, 9, 0, 0, 0, time.UTC)
	job := func(worked, silent int) map[string]string {
		b := "world_size=8\n"
		for i := range worked {
			b += fmt.Sprintf("%s INFO step %d/100000 loss %.3f\n", start.Add(time.Duration(i)*time.Second).Format(time.DateTime), i+1, 3/(1+float64(i)/20))
		}
		end := start.Add(time.Duration(worked+silent) * time.Second).Format("2006-01-02T15:04:05")
		return one(b + "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT " + end + " DUE TO TIME LIMIT ***\n")
	}
	for _, c := range []fieldCase{
		{"most of the run", job(20, 40), []string{"time-limit", "rank-stalled", "collective-hang", "gpu-hang"}, "-"},
		{"as long as the work", job(40, 40), []string{"time-limit", "rank-stalled", "collective-hang", "gpu-hang"}, "-"},
		{"a small part", job(300, 60), []string{"time-limit"}, "-"},
		{"a few steps' time", job(40, 9), []string{"time-limit"}, "-"},
	} {
		c.check(t)
	}
}

// One waits in a group of which nobody says who else is in it.
func TestOneOfAGroupOfUnknownMembers(t *testing.T) {
	job := func(guid, desc string) map[string]string {
		b := "torchrun --standalone --nproc-per-node 8 train.py\n" +
			"[rank7]:[E607 21:52:16.253530467 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600008 milliseconds before timing out.\n" +
			"[rank7]:[E607 21:52:16.255881356 ProcessGroupNCCL.cpp:2268] [PG ID 4 PG GUID " + guid + desc + " Rank 1]  failure detected by watchdog at work sequence id: 88 PG status: last enqueued work: 88, last completed work: 87\n"
		for r := range 7 {
			b += toldOf(r)
		}
		return one(b)
	}
	set := []string{"rank-stalled", "lone-waiter", "collective-mismatch"}
	fieldCase{"by its hash", job("9d21c07e55", ""), set, "-"}.check(t)
	fieldCase{"by its name", job("70", "(EMBEDDING_GROUP)"), set, "-"}.check(t)
}

// Who has completed what the others wait in does not hold them there.
func TestOneThatHasLeft(t *testing.T) {
	job := func(done int) map[string]string {
		b := fourRanks
		for r := range 3 {
			b += inDefault(r, 900, "ALLREDUCE", 4096, 4096, 900, 899)
		}
		return one(b + toldAt("607", "21:52:17", 3, done))
	}
	fieldCase{"not yet there", job(899), []string{"rank-stalled"}, "rank 3"}.check(t)
	fieldCase{"further on", job(901), []string{"rank-stalled", "collective-hang", "gpu-hang", "collective-mismatch"}, "-"}.check(t)
}

// Works of other numbers may be other operations: FSDP's alternate, so that it tells nothing of one that lags.
func TestOneBehindInAnotherOperation(t *testing.T) {
	job := func(op string) map[string]string {
		b := fourRanks
		for r := range 3 {
			b += inDefault(r, 126, "_ALLGATHER_BASE", 1024, 4096, 128, 125)
		}
		return one(b + inDefault(3, 122, op, 1024, 4096, 127, 121))
	}
	fieldCase{"the same", job("_ALLGATHER_BASE"), []string{"gpu-hang"}, "rank 3"}.check(t)
	fieldCase{"another", job("_REDUCE_SCATTER_BASE"), []string{"gpu-hang"}, "rank 3"}.check(t)
}

// A monitored barrier asks one rank after the other and names the first that does not answer.
func TestTheFirstThatAMonitoredBarrierAsks(t *testing.T) {
	failed := func(rank int) string {
		return raisedBy(0, fmt.Sprintf("RuntimeError: [Rank 0]: Rank %d failed to pass monitoredBarrier in 300000 ms", rank))
	}
	came := raisedBy(3, "RuntimeError: Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.")
	const world = "torchrun --standalone --nproc-per-node 8 train.py\n"
	for _, c := range []fieldCase{
		{"the first", one(world + failed(1)), []string{"rank-stalled", "lone-waiter", "collective-mismatch"}, "-"},
		{"the first, and others came", one(world + came + failed(1)), []string{"rank-stalled"}, "rank 1"},
		{"a later one", one(world + failed(5)), []string{"rank-stalled"}, "rank 5"},
	} {
		c.check(t)
	}
}

// What accelerators of other makers say of a kernel, and of memory, that failed.
func TestKernelsThatFailedElsewhere(t *testing.T) {
	for _, c := range []fieldCase{
		{"on an NPU, by its runtime", one(fieldSteps + "[rank3]: EZ9999: The error from device(chipId:3, dieId:0), serial number is 17, there is an aicore error exception, core id is 12, error code = 0x800000, dump info: pc start: 0x12\n" + raisedBy(3, "RuntimeError: NPU function error: AclrtSynchronizeStream")), []string{"cuda-error"}, "rank 3"},
		{"on an NPU, by its code", one(fieldSteps + raisedBy(3, "RuntimeError: NPU function error: AclrtSynchronizeStream, error code is 507015")), []string{"cuda-error"}, "rank 3"},
		{"ROCm had no memory", one(fieldSteps + ":0:rocdevice.cpp :2724: 12 us: Callback: Queue 0x15 Aborting with error : HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources. Code: 0x1008 Available Free mem : 0 MB\n"), []string{"gpu-oom"}, ""},
		{"ROCm had memory", one(fieldSteps + ":0:rocdevice.cpp :2724: 12 us: Callback: Queue 0x15 Aborting with error : HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources. Code: 0x1008 Available Free mem : 13386 MB\n"), []string{"cuda-error"}, ""},
	} {
		c.check(t)
	}
}
