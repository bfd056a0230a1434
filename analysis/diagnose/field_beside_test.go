package diagnose

import (
	"fmt"
	"testing"
)

// childFailed is torchrun's block on a process of a node, at a time of 17 September 2025.
func childFailed(at, host string, rank, local, code int) string {
	return fmt.Sprintf("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \ntrain.py FAILED\n------------\nFailures:\n  <NO_OTHER_FAILURES>\n------------\nRoot Cause (first observed failure):\n[0]:\n"+
		"  time      : 2025-09-17_%s\n  host      : %s\n  rank      : %d (local_rank: %d)\n  exitcode  : %d (pid: %d)\n  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n", at, host, rank, local, code, 700+local)
}

// What an inference engine tells of itself in a trainer's log is no rank's, and what a rank ends of is its own.
func TestAnEngineBesideTheTrainerIsNoRank(t *testing.T) {
	const oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.40 GiB. GPU 1 has a total capacity of 79.19 GiB of which 1.07 GiB is free.\n"
	told := raisedBy(0, "RuntimeError: Request failed: 500, Internal Server Error") + childFailed("05:20:01", "box7", 0, 0, 1)
	for _, c := range []fieldCase{
		{"the engine's core", one(fieldSteps + "(EngineCore_DP0 pid=881) ERROR 09-17 05:20:00 [core.py:710] " + oom + told), []string{"gpu-oom"}, "node box7"},
		{"the engine's worker 1, beside ranks that train", one(fieldSteps + "(VllmWorker rank=1 pid=882) ERROR 09-17 05:20:00 [multiproc_executor.py:470] " + oom + told), []string{"gpu-oom"}, "node box7"},
		{"the engine's worker 1, of a service", one("(VllmWorker rank=1 pid=882) ERROR 09-17 05:20:00 [multiproc_executor.py:470] " + oom), []string{"gpu-oom"}, "rank 1"},
		{"a rank that says nothing of whose line it is", one(fieldSteps + oom + childFailed("05:20:01", "box7", 3, 3, 1)), []string{"gpu-oom"}, "rank 3, node box7"},
	} {
		c.check(t)
	}
}
