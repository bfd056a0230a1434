package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// attempt is what one attempt of a job prints: its steps from one on, and how it ended.
func attempt(from, to int, end string) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "[rank0]: step %d loss 2.%03d\n", i, i)
	}
	return b.String() + end
}

// unsigned is a text whose lines of steps do not say which rank wrote them.
func unsigned(text string) string { return strings.ReplaceAll(text, "[rank0]: step ", "step ") }

// gone is what torchrun says of a process that ended with an exception. Below its default level of logging it says no
// more when it starts the processes again.
func gone(local int) string {
	return fmt.Sprintf("E1012 10:50:03.000000 1000 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: %d (pid: 100%d) of binary: /usr/bin/python\n", local, local)
}

// What an earlier attempt died of is not why the last one ended, whichever way it began again in the same file.
func TestEarlierAttemptsAreNotTheLastOnesEnd(t *testing.T) {
	const (
		oom     = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
		key     = "KeyError: 'label'"
		count   = "SLURM_RESTART_COUNT=1\n"
		requeue = "slurmstepd: error: *** JOB 4242 ON gpu01 CANCELLED AT 2026-10-12T10:40:00 DUE TO JOB REQUEUE ***\n"
		limit   = "slurmstepd: error: *** STEP 4242.0 ON gpu01 CANCELLED AT 2026-10-12T12:00:00 DUE TO TIME LIMIT ***\n"
		srun    = "srun: error: gpu01: task 0: Exited with exit code 1\n"
		again   = "I1012 10:51:01.000000 1000 torch/distributed/elastic/agent/server/api.py:525] [default] Rendezvous complete for workers. Result:\n  restart_count=1\n  group_rank=0\n"
	)
	first := attempt(0, 30, raisedBy(1, oom))
	last := attempt(20, 50, raisedBy(0, key)) + gone(0)
	hung := []string{"rank-stalled", "collective-hang", "gpu-hang"}
	for _, c := range []fieldCase{
		{"requeued, and the script says so", one(first + gone(1) + count + last), []string{"exception"}, "rank 0"},
		{"requeued by SLURM", one(first + requeue + last), []string{"exception"}, "rank 0"},
		{"the script tries again", one(first + gone(1) + last), []string{"exception"}, "rank 0"},
		{"the script tries again, with srun", one(first + srun + last), []string{"exception"}, "rank 0"},
		{"torchrun tries again", one(first + gone(1) + again + last), []string{"exception"}, "rank 0"},
		{"three attempts", one(first + gone(1) + attempt(10, 30, raisedBy(1, oom)) + gone(1) + last), []string{"exception"}, "rank 0"},
		{"the last one hangs", one(first + gone(1) + attempt(20, 50, waitedFor(0, 2, 3))), hung, "-"},
		{"the last one runs into the limit", one(first + gone(1) + attempt(20, 50, limit)), append([]string{"time-limit"}, hung...), "-"},
		{"the last one, of which nobody signs the steps", one(unsigned(first+gone(1)) + unsigned(last)), []string{"exception"}, "rank 0"},
		{"another process empties its buffer", one(unsigned(first+gone(1)) + unsigned(attempt(0, 30, "")) + gone(0)), []string{"gpu-oom"}, "rank 1"},
		{"nothing failed in the last", one(first + gone(1) + attempt(20, 50, "")), []string{"gpu-oom"}, "rank 1"},
		{"others still print what they had done", one(first + gone(1) + attempt(29, 31, limit)), []string{"gpu-oom"}, "rank 1"},
		{"another process's failure is below it", one(first + gone(1) + raisedBy(0, "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, remote process exited or there was a network error") + gone(0)),
			[]string{"gpu-oom"}, "rank 1"},
	} {
		c.check(t)
	}
}
