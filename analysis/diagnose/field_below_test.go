package diagnose

import (
	"strings"
	"testing"
)

// What stands right below a traceback is no part of its message where it is another program's line, and does not say what was raised.
func TestLinesBelowATraceback(t *testing.T) {
	const raised = fieldSteps + "Traceback (most recent call last):\n  File \"/w/train.py\", line 10, in <module>\n    main()\n  File \"/w/train.py\", line 7, in main\n    loss = f(x)\n" +
		"RuntimeError: The size of tensor a (128) must match the size of tensor b (64) at non-singleton dimension 1\n"
	for _, c := range []fieldCase{
		{"the old launcher ends the others", one(raised + "Killing subprocess 5112\nKilling subprocess 5113\n"), []string{"exception"}, "-"},
		{"MPI is told", one(raised + "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\n"), []string{"exception"}, "-"},
		{"make ran it", one(raised + "make: *** [train] Error 1\n"), []string{"exception"}, "-"},
		{"kubectl ran it", one(raised + "command terminated with exit code 1\n"), []string{"exception"}, "-"},
		{"and on its way out it crashed", one(raised + "double free or corruption (!prev)\n"), []string{"exception", "native-crash"}, "-"},
		{"after a healthy run the launcher says the same", one(fieldSteps + "Training completed\nKilling subprocess 5112\n"), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}

// A script may say that the training finished whatever became of its program; nobody had caught what the program raised.
func TestAScriptsWordThatTrainingFinished(t *testing.T) {
	const (
		raised = "Traceback (most recent call last):\n  File \"/w/train.py\", line 10, in <module>\n    main()\nRuntimeError: bad shapes\n"
		caught = "Traceback (most recent call last):\n  File \"/w/train.py\", line 10, in worker\n    push()\nRuntimeError: no room\n"
	)
	for _, c := range []fieldCase{
		{"below what a process raised", one(fieldSteps + raised + "Training completed.\n"), []string{"completed", "exception"}, ""},
		{"below what a rank raised", one(fieldSteps + prefixed(0, raised) + "Training completed.\n"), []string{"completed", "exception"}, ""},
		{"below a full disk that a rank met", one(fieldSteps + prefixed(1, strings.Replace(raised, "RuntimeError: bad shapes", "OSError: [Errno 28] No space left on device: '/ckpt/x.pt'", 1)) + "Training completed.\n"), []string{"completed", "storage-full"}, ""},
		{"below what was caught", one(fieldSteps + caught + "Training completed.\n"), []string{"completed"}, "-"},
		{"when training had gone on", one(fieldSteps + raised + "step 4 loss 2.12\nstep 5 loss 2.11\nstep 6 loss 2.1\nTraining completed.\n"), []string{"completed"}, "-"},
		{"with early stopping", one(fieldSteps + "Training completed with early stopping\n"), []string{"completed"}, "-"},
		{"with errors", one(fieldSteps + raised + "Training finished with errors\n"), []string{"exception", "unknown"}, "-"},
	} {
		c.check(t)
	}
}

// Versions that do not fit end a process when it begins. What a helper or a script says of them later is not how the job ended.
func TestVersionsOfAHelperAreNotThePrograms(t *testing.T) {
	const (
		nvml   = "Failed to initialize NVML: Driver/library version mismatch\n"
		module = "ModuleNotFoundError: No module named 'flash_attn_3'\n"
		raised = "Traceback (most recent call last):\n  File \"/w/train.py\", line 10, in <module>\n    main()\nKeyError: 'labels'\n"
	)
	for _, c := range []fieldCase{
		{"a tool when all is over", one(fieldSteps + "Training completed\n" + nvml), []string{"completed"}, "-"},
		{"a tool when a rank had failed", one(fieldSteps + prefixed(3, raised) + nvml), []string{"exception"}, "rank 3"},
		{"a helper amid the training", one(fieldSteps + module + prefixed(3, raised)), []string{"exception"}, "rank 3"},
		{"a tool when a process had failed", one(fieldSteps + raised + nvml), []string{"exception"}, "-"},
		{"a helper before the training", one(module + fieldSteps + "step 4 loss 2.1\nstep 5 loss 2.0\n" + prefixed(3, raised)), []string{"exception"}, "rank 3"},
		{"a helper before the training of a job that was killed", one("OMP: Error #15: Initializing libiomp5.so, but found libomp.so already initialized.\n" + fieldSteps + "step 4 loss 2.1\nstep 5 loss 2.0\nsrun: error: n3: task 5: Killed\n"), []string{"external-signal", "host-oom"}, "-"},
		{"at the start", one(nvml + "Traceback (most recent call last):\n  File \"/w/train.py\", line 1, in <module>\n    init()\nRuntimeError: no device\n"), []string{"version-mismatch"}, ""},
		{"and nothing else tells", one(fieldSteps + nvml), []string{"version-mismatch"}, ""},
		{"late, and SLURM ends the step of it", one(fieldSteps + "0: " + module + "srun: error: n3: task 0: Exited with exit code 1\nsrun: Terminating StepId=77.0\nslurmstepd: error: *** STEP 77.0 ON n3 CANCELLED AT 2026-11-20T10:02:00 ***\n"), []string{"version-mismatch"}, ""},
		{"late, and the time was up", one(fieldSteps + module + "slurmstepd: error: *** JOB 77 ON n3 CANCELLED AT 2026-11-20T10:02:00 DUE TO TIME LIMIT ***\n"), []string{"time-limit", "rank-stalled", "collective-hang", "gpu-hang"}, "-"},
	} {
		c.check(t)
	}
}

// Python heads an exception that nobody can catch; the next one that stands further below is another.
func TestTheExceptionBelowOneThatIsIgnored(t *testing.T) {
	const (
		head   = "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f11>\n"
		own    = "Traceback (most recent call last):\n  File \"/a/torch/utils/data/dataloader.py\", line 1479, in __del__\n    self._shutdown_workers()\nAssertionError: can only test a child process\n"
		raised = "Traceback (most recent call last):\n  File \"/w/train.py\", line 10, in <module>\n    main()\nKeyError: 'labels'\n"
	)
	for _, c := range []fieldCase{
		{"cut off", one(head + fieldSteps + raised), []string{"exception"}, "-"},
		{"whole", one(fieldSteps + head + own + raised), []string{"exception"}, "-"},
		{"two that are mingled", one(fieldSteps + head + head + own + own + "Training completed\n"), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}
