package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"faultline/simulate"
)

// A signal that a process passed over ended nothing, if the process says below that it came to its end.
func TestASignalThatWasLetPass(t *testing.T) {
	const passed = "submitit WARNING (2022-09-25 20:29:44,001) - Bypassing signal SIGTERM\n"
	const lightning = "[rank: 0] Received SIGTERM: 15\nBypassing SIGTERM: 15\n"
	const done = "`Trainer.fit` stopped: `max_epochs=3` reached.\n"
	const success = "submitit INFO (2022-09-25 20:31:14,870) - Job completed successfully\n"
	for _, c := range []fieldCase{
		{"submitit", one(fieldSteps + passed + done + success), []string{"completed"}, "-"},
		{"Lightning", one(fieldSteps + lightning + done), []string{"completed"}, "-"},
		{"no end", one(fieldSteps + lightning), []string{"external-signal"}, "-"},
		{"no end, though a few steps more", one(fieldSteps + lightning + "step 4 loss 2.12\nstep 5 loss 2.11\n"), []string{"external-signal"}, "-"},
		{"another rank's end", map[string]string{"r0.log": fieldSteps + lightning, "r1.log": fieldSteps + lightning + done}, []string{"external-signal"}, "-"},
		{"it was not let pass", one(fieldSteps + "[rank: 0] Received SIGTERM: 15\n" + "{'train_runtime': 120.5, 'train_samples_per_second': 3.1, 'train_loss': 2.1, 'epoch': 0.4}\n"), []string{"external-signal"}, "-"},
	} {
		c.check(t)
	}
}

// That a program which was started ended badly, says nothing of why, whatever words a launcher has for it; a rank that raises it had
// started a helper, and died of that.
func TestAnotherProgramEndedBadly(t *testing.T) {
	raised := func(last string) string {
		return "Traceback (most recent call last):\n  File \"/opt/launch.py\", line 3, in <module>\n    main()\n" + last + "\n"
	}
	const ffprobe = "subprocess.CalledProcessError: Command '['ffprobe', 'a.mp4']' returned non-zero exit status 1."
	const gone = "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3, remote process exited or there was a network error, NCCL version 2.21.5\n"
	for _, c := range []fieldCase{
		{"torch_xla's", one(fieldSteps + raised("RuntimeError: Remote command exitted with code: 143")), []string{"unknown"}, "-"},
		{"a home-made one", one(fieldSteps + raised("RuntimeError: Training failed with exit code: 137")), []string{"unknown"}, "-"},
		{"after an error", one(fieldSteps + raisedBy(2, "ValueError: bad") + raised("RuntimeError: Process 2 exited with code 1")), []string{"exception"}, "rank 2"},
		{"a sentence", one(fieldSteps + raised("RuntimeError: Expected process group 3 to be ready")), []string{"exception", "unknown"}, "-"},
		{"a rank's own", one(fieldSteps + raisedBy(3, "RuntimeError: ffmpeg process exited with code 1") + gone), []string{"exception", "unknown"}, "rank 3"},
		{"a rank's own command", one(fieldSteps + raisedBy(3, ffprobe) + gone), []string{"exception"}, "rank 3"},
	} {
		c.check(t)
	}
}

// Runtimes that tell of a crash or of a broken set-up in words of their own.
func TestWhatRuntimesPrintWhenTheyEnd(t *testing.T) {
	const ccom = "2023-Aug-01 16:14:43.0210 332066:332508 [31] bootstrap.cc:89 CCOM WARN Timeout waiting for incoming connection (waited 120 sec)\n"
	const load = "RuntimeError: INTERNAL: Nrt::Load failed on NeuronCores 0-0(2): nrt_load status=1, error message=\"Non specific failure\".\n"
	const nvml = "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\nLast error:\nFailed to open libnvidia-ml.so.1\n"
	for _, c := range []fieldCase{
		{"Abseil", one(fieldSteps + "*** SIGSEGV received at time=1741087710 on cpu 77 ***\nPC: @     0x7f1b  (unknown)  raise\n"), []string{"native-crash"}, "-"},
		{"libtpu", one(fieldSteps + "*** SIGSEGV (@0x68), see go/stacktraces#s15 received by PID 21830 (TID 24110) on cpu 33; stack trace: ***\n"), []string{"native-crash"}, "-"},
		{"it ended itself", one(fieldSteps + raisedBy(3, "ValueError: bad") + "*** SIGABRT received at time=1741087710 on cpu 77 ***\n"), []string{"exception"}, "rank 3"},
		{"Neuron's workers did not meet", one(ccom + load), []string{"init-unreachable"}, "-"},
		{"the driver's library is not in the container", one(raisedBy(1, "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:317, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\n"+nvml)), []string{"config-error"}, ""},
	} {
		c.check(t)
	}
}

// What NCCL, JAX and launchers say of a failure that they do not explain, and what they say that explains nothing.
func TestACallIntoNCCLFailed(t *testing.T) {
	failed := func(how string) string {
		return "Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    dist.all_reduce(x)\nRuntimeError: NCCL error in: /pytorch/torch/lib/c10d/ProcessGroupNCCL.cpp:272, " + how + "\n"
	}
	const net = "n1:118:990 [0] graph/topo.h:230 NCCL WARN Could not find NET with id 0\n"
	const tpu = "I0223 22:58:05.579842 140312230876992 xla_bridge.py:660] Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so: libtpu.so: cannot open shared object file: No such file or directory\n"
	const jax = "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: NCCL operation ncclGetUniqueId(&id) failed: Unable to load NCCL library. Multi-GPU collectives will not work..\n"
	for _, c := range []fieldCase{
		{"of CUDA", one(failed("unhandled cuda error")), []string{"cuda-error", "unknown"}, "-"},
		{"of itself", one(failed("internal error, NCCL version 2.14.3")), []string{"peer-lost", "unknown"}, "-"},
		{"of a card that is not there", one(net + failed("internal error, NCCL version 2.25.1")), []string{"config-error"}, "-"},
		{"JAX looks for TPUs and finds none", one(tpu), []string{"unknown"}, "-"},
		{"and fails of something else", one(tpu + fieldSteps + raisedBy(2, "ValueError: bad")), []string{"exception"}, "rank 2"},
		{"and has no NCCL", one(tpu + jax), []string{"version-mismatch"}, "-"},
	} {
		c.check(t)
	}
	if v := Run(read(t, []simulate.File{{Name: "t.log", Data: []byte(failed("internal error"))}}, nil, 0)).Verdict; strings.Contains(v.Summary, "a peer disappeared") {
		t.Errorf("an error inside NCCL: %s", v.Summary)
	}
}

// Where a file shows only the ranks of its node, that they all fail alike says nothing of the others.
func TestAllThatAreSeenFail(t *testing.T) {
	const block = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n============\ntrain.py FAILED\n------------\nFailures:\n[1]:\n  time      : 2023-08-01_10:01:30\n  host      : amd-3\n  rank      : %d (local_rank: 1)\n  exitcode  : -4 (pid: 4412)\n  error_file: <N/A>\n  traceback : Signal 4 (SIGILL) received by PID 4412\n------------\nRoot Cause (first observed failure):\n[0]:\n  time      : 2023-08-01_10:01:30\n  host      : amd-3\n  rank      : %d (local_rank: 0)\n  exitcode  : -4 (pid: 4411)\n  error_file: <N/A>\n  traceback : Signal 4 (SIGILL) received by PID 4411\n============\n"
	for _, c := range []struct {
		name        string
		first       int
		scope, says string
	}{
		{"the whole job", 0, "all", "no single rank caused it"},
		{"one node of many", 16, "unknown", "no lines from the other ranks"},
	} {
		v := Run(read(t, []simulate.File{{Name: "t.log", Data: fmt.Appendf(nil, block, c.first+1, c.first)}}, nil, 0)).Verdict
		if v.Mechanism != "native-crash" || v.Scope != c.scope || !strings.Contains(v.Why, c.says) {
			t.Errorf("%s: %s, %s: %s", c.name, v.Mechanism, v.Scope, v.Why)
		}
	}
}

// Tasks that did not come to a barrier of JAX before any step may never have been started.
func TestABarrierBeforeTheFirstStep(t *testing.T) {
	const barrier = "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: multihost_broadcast_sync0. Timed out task names:\n/job:jax_worker/replica:0/task:3\n"
	for _, c := range []fieldCase{
		{"before", one(barrier), []string{"init-unreachable", "rank-stalled"}, "rank 3"},
		{"after steps", one(fieldSteps + barrier), []string{"rank-stalled"}, "rank 3"},
	} {
		c.check(t)
	}
}

// Launchers and services that say in one line how a process ended.
func TestOneLineSaysHowItEnded(t *testing.T) {
	paddle := func(code int) string {
		return fmt.Sprintf("LAUNCH INFO 2023-05-01 10:11:12,001 Pod failed\nLAUNCH ERROR 2023-05-01 10:11:12,002 Container failed !!!\nContainer rank 3 status failed cmd ['/usr/bin/python3', '-u', 'run.py'] code %d log log/workerlog.3 \n", code)
	}
	const sagemaker = "sagemaker.exceptions.UnexpectedStatusException: Error for Training job t-1: Failed. Reason: AlgorithmError: "
	const old = "ValueError: Error training t-1: Failed Reason: AlgorithmError: Exit Code: 139\n"
	for _, c := range []fieldCase{
		{"Paddle's container was killed", one(fieldSteps + paddle(-9)), []string{"external-signal", "host-oom"}, "-"},
		{"it crashed", one(fieldSteps + paddle(-11)), []string{"native-crash"}, "-"},
		{"it ended by itself", one(fieldSteps + paddle(1)), []string{"unknown"}, "-"},
		{"SageMaker's crashed", one(fieldSteps + sagemaker + "Exit Code: 139\n"), []string{"native-crash"}, "-"},
		{"in the words of an old SDK", one(fieldSteps + old), []string{"native-crash"}, "-"},
		{"it does not say of what", one(fieldSteps + sagemaker + "ExecuteUserScriptError:\nCommand \"/opt/conda/bin/python3.6 /train.py\"\n"), []string{"unknown"}, "-"},
		{"oneCCL found no network", one("2026:08:13-02:11:01:(77) |CCL_ERROR| atl_ofi_helper.cpp:1118 atl_ofi_get_prov_list: fi_getinfo error: ret -61, providers 0\nRuntimeError: oneCCL: atl_ofi_comm.cpp:232 init_transport: EXCEPTION: failed to initialize ATL\n"), []string{"init-unreachable"}, "-"},
	} {
		c.check(t)
	}
}

// A container that could not start for want of a file or a right will not start the next time either.
func TestAContainerThatWillNotStartByItself(t *testing.T) {
	const said = "slurmstepd: error: pyxis: container start failed with error code: 1\nslurmstepd: error: pyxis: printing contents of log file ...\nslurmstepd: error: pyxis:     %s\nslurmstepd: error: pyxis: couldn't start container\nsrun: error: n1: task 0: Exited with exit code 1\n"
	for _, c := range []struct{ reason, resubmit string }{
		{"enroot-switchroot: failed to execute: /bin/bash: No such file or directory", "after-fix"},
		{"mkdir: cannot create directory '/run/enroot': Permission denied", "after-fix"},
		{"[ERROR] URL https://registry.example.org/v2/train/manifests/24.01 returned error code: 503 Service Unavailable", "yes"},
	} {
		r := Run(read(t, []simulate.File{{Name: "slurm-1.out", Data: fmt.Appendf(nil, said, c.reason)}}, nil, 0))
		if r.Verdict.Mechanism != "scheduler-error" || r.Action.Resubmit != c.resubmit {
			t.Errorf("%s: %s, resubmit %s", c.reason, r.Verdict.Mechanism, r.Action.Resubmit)
		}
	}
}

// A rank that is one work further on than the others is in the next operation of the program, whatever that is; two further on, others
// would have had to come along. Works of one number in different operations may be a mismatch, also where nobody names the group.
func TestOneWorkFurtherOnInAnotherOperation(t *testing.T) {
	waits := func(rank, seq int, op string, done int) string {
		return fmt.Sprintf("[rank%[1]d]:[E816 00:34:01.133910474 ProcessGroupNCCL.cpp:629] [Rank %[1]d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%[2]d, OpType=%[3]s, NumelIn=71552, NumelOut=572416, Timeout(ms)=600000) ran for 600004 milliseconds before timing out.\n"+
			"[rank%[1]d]:[E816 00:34:01.140650164 ProcessGroupNCCL.cpp:2168] [PG ID 1 PG GUID 1 Rank %[1]d]  failure detected by watchdog at work sequence id: %[2]d PG status: last enqueued work: %[2]d, last completed work: %[4]d\n", rank, seq, op, done)
	}
	others := ""
	for _, r := range []int{0, 1, 2, 3, 4, 6, 7} {
		others += waits(r, 900, "_ALLGATHER_BASE", 899)
	}
	const unnamed = "[E ProcessGroupNCCL.cpp:828] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=80, OpType=ALLGATHER, Timeout(ms)=1800000) ran for 1805926 milliseconds before timing out.\n" +
		"[E ProcessGroupNCCL.cpp:828] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=80, OpType=%s, Timeout(ms)=1800000) ran for 1805991 milliseconds before timing out.\n"
	all := []string{"collective-hang", "collective-mismatch", "gpu-hang", "rank-stalled"}
	for _, c := range []fieldCase{
		{"one further on", one(others + waits(5, 901, "ALLREDUCE", 900)), all, "-"},
		{"three further on", one(others + waits(5, 903, "ALLREDUCE", 902)), []string{"collective-mismatch"}, "rank 5"},
		{"another operation", one(others + waits(5, 900, "ALLREDUCE", 899)), []string{"collective-mismatch"}, "rank 5"},
		{"in groups without a name", one(fmt.Sprintf(unnamed, "BROADCAST")), all, "-"},
		{"what one sends and the other receives", one(fmt.Sprintf(strings.ReplaceAll(unnamed, "ALLGATHER", "RECV"), "SEND")), []string{"collective-hang", "gpu-hang", "rank-stalled"}, "-"},
		{"all alike", one(fmt.Sprintf(unnamed, "ALLGATHER")), []string{"collective-hang", "gpu-hang", "rank-stalled"}, "-"},
		{"what Horovod's launcher raises", one(fieldSteps + "Traceback (most recent call last):\n  File \"launch.py\", line 3, in <module>\n    f()\nRuntimeError: Horovod detected that one or more processes exited with non-zero status, thus causing the job to be terminated. The first process to do so was:\nProcess name: 0\nExit code: 1\n"), []string{"exception", "unknown"}, "rank 0"},
	} {
		c.check(t)
	}
}

// What interrupted a job is told as its launcher names it, and what to do fits the accelerator.
func TestWhatInterruptedItAndWhereItRan(t *testing.T) {
	const end = "W0304 10:12:02.100000 231 torch/distributed/elastic/agent/server/api.py:704] Received Signals.SIGINT death signal, shutting down workers\n" +
		"Traceback (most recent call last):\n  File \"/opt/conda/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\ntorch.distributed.elastic.multiprocessing.api.SignalException: Process 231 got signal: 2\n"
	for _, c := range []struct{ name, text, mechanism, says string }{
		{"Ctrl-C", fieldSteps + end, "external-signal", "SIGINT"},
		{"an NPU", fieldSteps + raisedBy(5, "RuntimeError: rtStreamSynchronize execution failed, reason=[aicore exception]"), "cuda-error", "ASCEND_LAUNCH_BLOCKING=1"},
		{"ROCm", fieldSteps + "Memory access fault by GPU node-1 on address 0x1e4000. Reason: Page not present or supervisor privilege.\n", "cuda-error", "AMD_SERIALIZE_KERNEL=3"},
		{"CUDA", fieldSteps + raisedBy(5, "RuntimeError: CUDA error: an illegal memory access was encountered"), "cuda-error", "CUDA_LAUNCH_BLOCKING=1"},
		{"ssh", "node2: kex_exchange_identification: Connection closed by remote host\npdsh@node1: node2: ssh exited with exit code 255\n", "init-unreachable", "ssh"},
	} {
		r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(c.text)}}, nil, 0))
		said := r.Verdict.Summary
		for _, a := range r.Recommendations {
			said += " " + a.Command
		}
		if r.Verdict.Mechanism != c.mechanism || !strings.Contains(said, c.says) {
			t.Errorf("%s: %s: %s", c.name, r.Verdict.Mechanism, said)
		}
	}
}
