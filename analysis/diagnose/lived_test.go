package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// stepsFrom are the step lines of a trainer from one step up to another.
func stepsFrom(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "step %d loss 2.11 lr 0.0001 grad_norm 1.2 tokens_per_second 12345 memory 71.2GiB\n", i)
	}
	return b.String()
}

// waitedOn are ranks that waited for the same collective in vain.
func waitedOn(ranks ...int) string {
	var b strings.Builder
	for _, r := range ranks {
		fmt.Fprintf(&b, "[rank%d]:[E301 10:10:00.5 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=405, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n", r, r)
		fmt.Fprintf(&b, "[rank%d]:[E301 10:10:00.6 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: 405 PG status: last enqueued work: 405, last completed work: 404\n", r, r)
	}
	return b.String()
}

// What a program lived on with did not end it, however loud it was; what it may have died of stays a cause.
func TestWhatTheJobLivedOnWith(t *testing.T) {
	const rollout = "(TaskRunner pid=1524) [response] def f(x):\n(TaskRunner pid=1524) Traceback (most recent call last):\n(TaskRunner pid=1524)   File \"/tmp/sandbox/t.py\", line 5, in <module>\n(TaskRunner pid=1524)     print(f([]))\n(TaskRunner pid=1524) IndexError: list index out of range\n"
	verl := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "(TaskRunner pid=1524) step:%d - global_seqlen/min:484245.000%s - actor/pg_loss:0.01 - timing_s/step:93.1\n", i, strings.Repeat(" - critic/score/mean:0.558", 60))
		}
		return b.String()
	}
	oom := raisedBy(2, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.35 GiB.")
	hang := []string{"rank-stalled", "collective-hang", "gpu-hang"}
	for _, c := range []fieldCase{
		{"a program that a model wrote raised something", one(verl(1, 2) + rollout + verl(2, 8)), []string{"completed"}, "-"},
		{"the same, and then all ranks wait", one(verl(1, 2) + rollout + verl(2, 22) + waitedOn(0, 1, 2, 3)), hang, "-"},
		{"memory ran out, the batch was skipped, and long after that all ranks wait", one(stepsFrom(1, 9) + oom + stepsFrom(9, 600) + waitedOn(0, 1, 2, 3)), hang, "-"},
		{"steps that stood in a buffer when memory ran out", one(stepsFrom(1, 9) + oom + stepsFrom(9, 60) + waitedOn(0, 1, 3)), []string{"gpu-oom"}, "rank 2"},
		{"steps that begin anew may be those of another run", one(stepsFrom(1, 9) + oom + stepsFrom(1, 600) + waitedOn(0, 1, 3)), []string{"gpu-oom"}, "rank 2"},
	} {
		c.check(t)
	}
}

// What became of a job is what its newest run tells.
func TestWhatBecameOfARestart(t *testing.T) {
	const (
		failed = "E0304 10:11:13.100000 3990 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 2 (pid: 4002) of binary: /opt/conda/bin/python\n" +
			"I0304 10:11:13.100000 3990 torch/distributed/elastic/agent/server/api.py:889] [default] Worker group FAILED. 3/3 attempts left; will restart worker group\n"
		taken = "slurmstepd: error: *** JOB 551 ON gpu01 CANCELLED AT 2025-01-10T15:27:25 DUE TO PREEMPTION ***\n"
		done  = "Training completed.\n"
	)
	for _, c := range []fieldCase{
		{"restarted, and finished", one(stepsFrom(1, 9) + failed + stepsFrom(4, 40) + done), []string{"completed"}, "-"},
		{"restarted, and still on its way: the failure is what there is to tell of", one(stepsFrom(1, 9) + failed + stepsFrom(4, 40)), []string{"exception", "unknown"}, "-"},
		{"taken back, begun anew and finished", one(stepsFrom(1, 9) + taken + stepsFrom(4, 40) + done), []string{"completed"}, "-"},
		{"taken back, resumed where it was, and failed", one(stepsFrom(1, 9) + taken + "Restoring states from the checkpoint path at /ckpt/8\n" + stepsFrom(9, 40) + raisedBy(3, "KeyError: 'labels'")), []string{"exception"}, "rank 3"},
		{"taken back, and what it still printed", one(stepsFrom(1, 9) + taken + stepsFrom(9, 14)), []string{"preempted"}, "-"},
	} {
		c.check(t)
	}
}

// What others say of a job, or it says of itself, for what it is.
func TestFieldWords(t *testing.T) {
	scales := func() string {
		var b strings.Builder
		for v := 65536.0; v > 1e-7; v /= 2 {
			fmt.Fprintf(&b, "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to %v\n", v)
		}
		return b.String()
	}()
	for _, c := range []fieldCase{
		{"a hint that quotes the watchdog", one("Tip: if NCCL hangs with \"Watchdog caught collective operation timeout\", set NCCL_DEBUG=INFO.\n" + stepsFrom(1, 20) + "Training completed.\n"), []string{"completed"}, "-"},
		{"Gloo got more than it expected", one(fieldSteps + raisedBy(0, "RuntimeError: [enforce fail at /pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:446] op.preamble.length <= op.nbytes. 8388608 vs 4194304")), []string{"collective-mismatch"}, ""},
		{"a stranger knocked at Gloo's port", one(fieldSteps + raisedBy(0, "RuntimeError: [enforce fail at /pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:446] op.preamble.length <= op.nbytes. 8389772277102077774 vs 4")), []string{"exception", "unknown"}, ""},
		{"NeMo was told to stop", one(fieldSteps + "[NeMo I 2025-01-10 15:27:25 preemption:71] Preemption detected, saving checkpoint and exiting\n"), []string{"external-signal"}, "-"},
		{"the launcher's monitor took a process for stuck", one(fieldSteps + "[2025-06-03 17:48:01,123] [WARNING] [RankMonitorServer4242@node7:12] [Cycle 0] Did not get subsequent heartbeat. Waited 180.00 seconds.\n"), []string{"external-signal", "rank-stalled", "unknown"}, "-"},
		{"apex halved its loss scale away", one(fieldSteps + scales + "ZeroDivisionError: float division by zero\n"), []string{"non-finite-loss"}, ""},
		{"a division by zero with a sound loss scale", one(fieldSteps + "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\n" + raisedBy(1, "ZeroDivisionError: float division by zero")), []string{"exception"}, "rank 1"},
	} {
		c.check(t)
	}
}

// Who waited in vain, or was told, is not who failed.
func TestOthersExceptionsAccuseNobody(t *testing.T) {
	set := []string{"peer-lost", "unknown"}
	oom := raisedBy(2, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.35 GiB.")
	for last, want := range map[string][]string{
		"RuntimeError: Operation timed out!":                                                     set,
		"RuntimeError: [Rank 0][ProcessGroupUCC-0][READY]failed to wait work, UCC_ERR_TIMED_OUT": set,
		"RuntimeError: Bad StatusOr access: UNAVAILABLE: Socket closed":                          set,
		"jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats): /job:jax_worker/replica:0/task:2": set,
		"grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with: status = StatusCode.UNAVAILABLE":                                    set,
		"mpi4py.MPI.Exception: MPI_ERR_OTHER: known error not in list":                                                                                        set,
		"RuntimeError: Training was terminated because another rank raised an exception":                                                                      set,
		"ray.exceptions.RayChannelTimeoutError: System error: Timed out waiting for object available to read.":                                                set,
		"vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.":                             set,
		"RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}":                                                      set,
		"ConnectionAbortedError: [Errno 103] Software caused connection abort":                                                                                set,
		"ConnectionRefusedError: [Errno 111] Connection refused":                                                                                              append([]string{"exception"}, set...),
		"OSError: [Errno 113] No route to host":                                                                                                               append([]string{"exception"}, set...),
		"TimeoutError: [Errno 110] Connection timed out":                                                                                                      append([]string{"exception"}, set...),
		"asyncio.exceptions.TimeoutError":                                                                                                                     append([]string{"exception"}, set...),
	} {
		fieldCase{"alone: " + last, one(fieldSteps + raisedBy(0, last) + raisedBy(1, last)), want, "-"}.check(t)
		fieldCase{"beside a rank that ran out of memory: " + last, one(fieldSteps + raisedBy(0, last) + oom + raisedBy(3, last)), []string{"gpu-oom"}, "rank 2"}.check(t)
		fieldCase{"beside a rank whose code failed: " + last, one(fieldSteps + raisedBy(0, last) + raisedBy(2, "KeyError: 'labels'") + raisedBy(3, last)), []string{"exception"}, "rank 2"}.check(t)
	}
}
