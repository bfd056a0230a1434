package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"faultline/simulate"
)

// What launchers, and programs that start others, print when one of those has ended: who it was, what followed from it, and what
// they do themselves.
func TestFieldEndsThatLaunchersTell(t *testing.T) {
	const (
		zombies = "[rank: 3] Child process with PID 4242 terminated with code %d. Forcefully terminating all other processes to avoid zombies 🧟\nKilled\n"
		sglang  = "[2025-04-23 21:31:41 TP2] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/a/sglang/srt/managers/scheduler.py\", line 2015, in run_scheduler_process\n    scheduler.event_loop_normal()\n%s\n\n[2025-04-23 21:31:41] Received sigquit from a child process. It usually means the child failed.\nKilled\n"
		first   = "mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. The first process to do so was:\n\n  Process name: %s\n  Exit code:    1\n--------------------------------------------------------------------------\n"
		peer    = "An MPI communication peer process has unexpectedly disconnected.  This\nusually indicates a failure in the peer process (e.g., a crash or\notherwise exiting without calling MPI_FINALIZE first).\n\n  Local host: gpu-13\n  Local PID:  7720\n  Peer host:  gpu-16\n"
		crash   = "[1,7]<stderr>:*** SIGSEGV (@0x0) received by PID %d (TID 0x7f42fc2) from PID 0; stack trace: ***\n"
	)
	for _, c := range []fieldCase{
		{"Composer says who crashed", one(fieldSteps + "ERROR:composer.cli.launcher:Rank 2 crashed with exit code -7.\nWaiting up to 30 seconds for all training processes to terminate. Press Ctrl-C to exit immediately.\nGlobal rank 0 (PID 1220) exited with code -15\n"), []string{"native-crash"}, "rank 2"},
		{"Lightning kills itself after a crash", one(fieldSteps + fmt.Sprintf(zombies, -11)), []string{"native-crash"}, ""},
		{"and after a kill", one(fieldSteps + fmt.Sprintf(zombies, -9)), []string{"external-signal", "host-oom"}, "-"},
		{"and after an exception", one(fieldSteps + raisedBy(3, "ValueError: bad") + fmt.Sprintf(zombies, 1)), []string{"exception"}, "rank 3"},
		{"SGLang ends itself", one(fmt.Sprintf(sglang, "RuntimeError: Prefill out of memory. Try to lower your batch size.\nTry to allocate 8192 tokens.")), []string{"gpu-oom"}, "-"},
		{"killed by another long after an engine ended", one("kill_process_tree called: parent_pid=4242, include_parent=True\n" + manySteps(300) + "Killed\n"), []string{"external-signal", "host-oom"}, "-"},
		{"the shell's own word", one(fieldSteps + "Killed\n"), []string{"external-signal", "host-oom"}, "-"},
		{"mpirun names the first", one(fieldSteps + fmt.Sprintf(first, "[[11377,1],3]")), []string{"exception", "unknown"}, "rank 3"},
		{"since Open MPI 5", one(fieldSteps + fmt.Sprintf(first, "[prterun-gpu-1-4242@1,3]")), []string{"exception", "unknown"}, "rank 3"},
		{"who crashes because its peer is gone", one(fieldSteps + peer + fmt.Sprintf(crash, 7720) + "mpirun noticed that process rank 7 with PID 7720 on node gpu-13 exited on signal 11 (Segmentation fault).\n"), []string{"peer-lost", "unknown"}, "-"},
		{"who crashes beside it", one(fieldSteps + peer + fmt.Sprintf(crash, 4711)), []string{"native-crash"}, "rank 7"},
		{"who had crashed before", one(fieldSteps + fmt.Sprintf(crash, 7720) + peer), []string{"native-crash"}, "rank 7"},
		{"a pod whose node is not heard of", one(fieldSteps + "    message: 'Taint manager: deleting due to NoExecute taint'\n    reason: DeletionByTaintManager\n"), []string{"node-failure", "preempted"}, "-"},
		{"an event of it", one(fieldSteps + "Normal  TaintManagerEviction  1m  taint-eviction-controller  Marking for deletion Pod default/llm-worker-2\n"), []string{"unknown"}, "-"},
		{"a server that the trainer needs", one(raisedBy(0, "ConnectionError: The vLLM server can't be reached at http://0.0.0.0:8000 after 240.0 seconds. Make sure the server is running by running `trl vllm-serve`.")), []string{"init-unreachable"}, "-"},
		{"a program that does not fit", one(fieldSteps + raisedBy(0, "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Error loading program 'jit_train_step': Attempting to reserve 12.31G at the bottom of memory. That was not possible.")), []string{"gpu-oom"}, ""},
		{"a buffer that does not fit, without a header", one("RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 512.00M. That was not possible. There are 71.20M free.; (0x1x0_HBM0)\n"), []string{"gpu-oom"}, "-"},
	} {
		c.check(t)
	}
}

// A compiler that fails while the program runs is what failed; of a program that a launcher started, its own lines say why it did.
func TestFieldCompilers(t *testing.T) {
	const unbuilt = "ImportError: /home/u/.cache/torch_extensions/py310_cu121/cpu_adam/cpu_adam.so: cannot open shared object file: No such file or directory"
	failed := func(command, last string) map[string]string {
		var b strings.Builder
		for r := range 4 {
			b.WriteString(raisedBy(r, "subprocess.CalledProcessError: Command '"+command+"' returned non-zero exit status 1.\n\nThe above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\n"+last))
		}
		return one(b.String())
	}
	for _, c := range []fieldCase{
		{"PyTorch's extensions", failed("['ninja', '-v']", "RuntimeError: Error building extension 'fused'"), []string{"exception"}, "-"},
		{"inductor", failed("['g++', '/tmp/x.cpp', '-D', 'TORCH_INDUCTOR_CPP_WRAPPER']", "torch._inductor.exc.CppCompileError: C++ compile error"), []string{"exception"}, "-"},
		{"Triton", one(raisedBy(2, "subprocess.CalledProcessError: Command '['/usr/bin/x86_64-linux-gnu-gcc-12', '/tmp/main.c', '-lcuda']' returned non-zero exit status 1.")), []string{"exception"}, "rank 2"},
		{"inductor, in its newer words", one(raisedBy(2, "torch._inductor.exc.InductorError: CalledProcessError: Command '['/usr/bin/gcc', '/tmp/cuda_utils.c', '-O3', '-lcuda']' returned non-zero exit status 1.")), []string{"exception"}, "rank 2"},
		{"dynamo, in its older words", one(raisedBy(2, "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nCalledProcessError: Command '['/usr/bin/gcc', '/tmp/main.c', '-O3', '-lcuda']' returned non-zero exit status 1.")), []string{"exception"}, "rank 2"},
		{"who waited for what was to be compiled", one(raisedBy(0, "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.") + raisedBy(1, unbuilt) + raisedBy(2, unbuilt)), []string{"exception"}, "rank 0"},
		{"and who was to compile it is not seen", one(raisedBy(1, unbuilt) + raisedBy(2, unbuilt)), []string{"unknown"}, "-"},
		{"a launcher", one("Traceback (most recent call last):\n  File \"/a/launch.py\", line 3, in main\n    f()\nsubprocess.CalledProcessError: Command '['/usr/bin/python', 'train.py', '--cc', 'gcc']' returned non-zero exit status 1.\n"), []string{"unknown"}, "-"},
	} {
		c.check(t)
	}
}

// A bar that counts the batches of an epoch tells no step. That it goes on behind a checkpoint that was loaded, after SLURM had taken the
// job back into its queue, tells of another run.
func TestRequeuedAndOnlyABarTells(t *testing.T) {
	bar := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i += 10 {
			fmt.Fprintf(&b, "Epoch 3:  %d%%|████      | %d/1000 [05:21<10:20,  0.65it/s, v_num=77, train_loss=2.380]\n", i/10, i)
		}
		return b.String()
	}
	const requeue = "slurmstepd: error: *** JOB 77 ON gpu01 CANCELLED AT 2025-02-11T15:27:25 DUE TO JOB REQUEUE ***\n"
	const load = "Restoring states from the checkpoint path at /ckpt/hpc_ckpt_1.ckpt\n"
	const end = "`Trainer.fit` stopped: `max_epochs=4` reached.\n"
	for _, c := range []fieldCase{
		{"it went on and finished", one(bar(300, 400) + requeue + load + bar(410, 990) + end), []string{"completed"}, "-"},
		{"it goes on", one(bar(300, 400) + requeue + load + bar(410, 900)), []string{"completed"}, "-"},
		{"what a dying process still prints", one(bar(300, 400) + requeue + bar(400, 420)), []string{"cancelled"}, "-"},
	} {
		c.check(t)
	}
}

// Who is told to end raises an exception in many programs: that is no failure of a run that the scheduler took away, and no reason to
// report that run in place of the one that followed it.
func TestRequeuedAndTheSignalWasRaised(t *testing.T) {
	const (
		taken  = "slurmstepd: error: *** JOB 77 ON gpu01 CANCELLED AT 2025-02-11T15:27:25 DUE TO PREEMPTION ***\n"
		raised = "torch.distributed.elastic.multiprocessing.api.SignalException: Process 811 got signal: 15\n"
		load   = "Restoring states from the checkpoint path at /ckpt/hpc_ckpt_1.ckpt\n"
	)
	for _, c := range []fieldCase{
		{"it goes on", one(course(0, 40, 9, -0.1) + taken + raised + load + course(30, 90, 6, -0.05)), []string{"completed"}, "-"},
		{"it had failed before it was taken", one(course(0, 40, 9, -0.1) + raisedBy(1, "KeyError: 'labels'") + taken + raised + load + course(30, 90, 6, -0.05)), []string{"exception"}, "rank 1"},
		{"nothing followed", one(course(0, 40, 9, -0.1) + taken + raised), []string{"preempted"}, "-"},
	} {
		c.check(t)
	}
}

// A device's name in front of a line is no host.
func TestADeviceIsNoNode(t *testing.T) {
	for _, line := range []string{"mlx5: host_unknown: got completion with error:", "eth0: link becomes ready", "nvme0: I/O timeout"} {
		fieldCase{line, one(fieldSteps + line + "\n" + raisedBy(3, "ValueError: bad")), []string{"exception"}, "rank 3"}.check(t)
	}
}

// Where the launcher says who ended first and nothing says why, that is what is said.
func TestWhoEndedFirstIsSaid(t *testing.T) {
	text := fieldSteps + "gpu-7:470:611 [0] NCCL INFO [Service thread] Connection closed by localRank 0\n" +
		"Traceback (most recent call last):\n  File \"/opt/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" +
		"============================================================\ntrain.py FAILED\nRoot Cause (first observed failure):\n[0]:\n  time      : 2025-09-11_16:21:58\n  host      : gpu-7\n  rank      : 5 (local_rank: 5)\n  exitcode  : -6 (pid: 470)\n" +
		"  error_file: <N/A>\n  traceback : Signal 6 (SIGABRT) received by PID 470\n============================================================\n"
	v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(text)}}, nil, 0)).Verdict
	if v.Mechanism != "unknown" || !strings.Contains(v.Summary, "rank 5") || !strings.Contains(v.Summary, "SIGABRT") {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
}

// manySteps are so many lines of training.
func manySteps(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "step %d loss 2.%03d\n", i+1, 999-i)
	}
	return b.String()
}

// A signal that one launcher of several got was not sent to the whole job.
func TestASignalToOneOfSeveralIsNotTheWholeJobs(t *testing.T) {
	const asked = "W1030 03:00:02.698000 2201 torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down workers\n"
	for name, of := range map[string]int{"all": 4, "unknown": 1} {
		var files []simulate.File
		for i := range 4 {
			text := fieldSteps
			if i < of {
				text += asked
			}
			files = append(files, simulate.File{Name: fmt.Sprintf("agent.w%d.log", i), Data: []byte(text)})
		}
		if v := Run(read(t, files, nil, 0)).Verdict; v.Mechanism != "external-signal" || v.Scope != name {
			t.Errorf("%d of 4: %s, of %s", of, v.Mechanism, v.Scope)
		}
	}
}
