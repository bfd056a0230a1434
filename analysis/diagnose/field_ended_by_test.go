package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"faultline/simulate"
)

// denseSteps are steps as Megatron prints them, five seconds apart: so many that the scanner does not look at all of them.
func denseSteps(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " [%s] iteration %8d/  100000 | consumed samples: %12d | elapsed time per iteration (ms): 5123.4 | throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: 2.912000E-04 | global batch size:   512 | lm loss: %.6E | loss scale: 1.0 | grad norm: 0.412 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
			time.Unix(1741082400+int64(i)*51/10, 0).UTC().Format(time.DateTime), i+1, i*512, 3.2-0.0001*float64(i))
	}
	return b.String()
}

// That a job stood still before its time was up is seen in a long log, too, of which only stretches are read: what was passed over is
// no pause.
func TestStoodStillBeforeTheLimitInALongLog(t *testing.T) {
	end := func(at string) string {
		return "slurmstepd: error: *** STEP 77.0 ON gn11 CANCELLED AT 2025-03-" + at + " DUE TO TIME LIMIT ***\n"
	}
	stalled := []string{"rank-stalled", "collective-hang", "gpu-hang"}
	for _, c := range []fieldCase{
		{"four hours of silence", one(denseSteps(900) + end("04T16:00:00")), stalled, "-"},
		{"of a log of megabytes", one(denseSteps(12000) + end("05T06:40:00")), stalled, "-"},
		{"since NCCL was set up", one("n1:4000:4000 [0] NCCL INFO cudaDriverVersion 12040\nNCCL version 2.21.5+cuda12.4\nn1:4000:5000 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n" + end("04T16:00:00")), []string{"time-limit", "unknown"}, "-"},
		{"none", one(denseSteps(900) + end("04T11:16:31")), []string{"time-limit"}, "-"},
		{"none in a log of megabytes", one(denseSteps(12000) + end("05T03:00:15")), []string{"time-limit"}, "-"},
	} {
		c.check(t)
	}
}

// A loss that is printed with few digits stands still on paper only.
func TestTheLossThatStoodStillWhenTheTimeWasUp(t *testing.T) {
	steps := func(format string, by float64) string {
		var b strings.Builder
		for i := range 600 {
			fmt.Fprintf(&b, "2025-03-04 10:%02d:%02d step %d loss "+format+"\n", i/10, i%10*6, i, 2.2-by*float64(i))
		}
		return b.String()
	}
	const limit = "=>> PBS: job killed: walltime 3635 exceeded limit 3600\n"
	const owner = "TERM_OWNER: job killed by owner.\nExited with exit code 130.\n"
	for _, c := range []fieldCase{
		{"one digit behind the point", one(steps("%.1f", 0.00005) + limit), []string{"time-limit"}, "-"},
		{"and it was cancelled", one(steps("%.1f", 0.00005) + owner), []string{"cancelled"}, "-"},
		{"printed in full", one(steps("%.5f", 0) + limit), []string{"loss-plateau"}, "-"},
		{"in full, and it was cancelled", one(steps("%.5f", 0) + owner), []string{"loss-plateau"}, "-"},
	} {
		c.check(t)
	}
}

// An abort below an error of NCCL, of whatever kind, is PyTorch's own way to end a process.
func TestAnAbortBelowAnErrorOfNCCL(t *testing.T) {
	const said = "[rank2]:[E304 10:11:01.100000000 ProcessGroupNCCL.cpp:552] [Rank 2] Collective WorkNCCL(SeqNum=9182, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) raised the following async exception: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\n"
	const efa = "ip-10-1-0-4:8801:9120 [2] nccl_net_ofi_rdma.cpp:1482 NCCL WARN NET/OFI Request 0x7f completed with error. RC: 107. Error: 4109 (Unresponsive receiver (reachable by EFA device but handshake failed)). Completed length: 0\n"
	block := "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n============================================================\ntrain.py FAILED\n------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n  time      : 2025-03-04_10:11:10\n  host      : ip-10-1-0-4\n  rank      : 2 (local_rank: 2)\n  exitcode  : -6 (pid: 8801)\n  error_file: <N/A>\n  traceback : Signal 6 (SIGABRT) received by PID 8801\n============================================================\n"
	for _, c := range []fieldCase{
		{"the peer did not answer", one(fieldSteps + efa + said + block), []string{"peer-lost", "link-error", "unknown"}, "-"},
		{"nobody says why", one(fieldSteps + said + block), []string{"unknown"}, "-"},
		{"nothing of the kind was said", one(fieldSteps + block), []string{"native-crash", "unknown"}, "rank 2, node ip-10-1-0-4"},
	} {
		c.check(t)
	}
}

// What SLURM refuses as such it refuses again; a closed terminal is no stranger's signal.
func TestRefusedOrHungUp(t *testing.T) {
	const hup = "W0304 10:12:02.100000 231 torch/distributed/elastic/agent/server/api.py:704] Received Signals.SIGHUP death signal, shutting down workers\n" +
		"Traceback (most recent call last):\n  File \"/opt/conda/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\ntorch.distributed.elastic.multiprocessing.api.SignalException: Process 231 got signal: %d\n"
	for _, c := range []struct {
		name, text, want, says string
	}{
		{"more than was given", "srun: error: Unable to create step for job 77: More processors requested than permitted\n", "config-error", "rejected the step"},
		{"not now", "srun: error: Unable to create step for job 77: Requested nodes are busy\n", "scheduler-error", "could not create the step"},
		{"hung up", fieldSteps + fmt.Sprintf(hup, 1), "external-signal", "SIGHUP"},
		{"told to end", fieldSteps + fmt.Sprintf(hup, 15), "external-signal", "a signal from outside"},
	} {
		v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(c.text)}}, nil, 0)).Verdict
		if v.Mechanism != c.want || !strings.Contains(v.Summary, c.says) {
			t.Errorf("%s: %s: %s", c.name, v.Mechanism, v.Summary)
		}
	}
}

// A pod's status names the node that Kubernetes lost; a script that asks for a step when its job is over tells of no failure.
func TestTheNodeThatKubernetesLost(t *testing.T) {
	const lost = "Status:           Terminating (lasts 5m)\nReason:           NodeLost\nMessage:          Node gpu-node-21 which was running pod llm-worker-3 is unresponsive\n"
	const gone = "[rank0]:[E304 10:11:30.100000000 ProcessGroupNCCL.cpp:552] [Rank 0] Collective WorkNCCL(SeqNum=91822, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) raised the following async exception: NCCL error: remote process exited or there was a network error, NCCL version 2.21.5\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n"
	const refused = "srun: error: Unable to create step for job 11: Requested node configuration is not available\n"
	const late = "srun: error: Unable to create step for job 11: Job/step already completing or completed\n"
	for _, c := range []fieldCase{
		{"the node is named", map[string]string{"w0.log": fieldSteps + gone, "describe.txt": lost}, []string{"node-failure"}, "node gpu-node-21"},
		{"another pod's node, in a list of events", one(fieldSteps + lost + fieldSteps + "Training completed.\n"), []string{"unknown"}, "-"},
		{"an allocation ends", one(fieldSteps + "salloc: Job 11 has exceeded its time limit and its allocation has been revoked.\n"), []string{"time-limit"}, "-"},
		{"an allocation ends that nobody used any more", one(fieldSteps + "Training completed.\nsalloc: Job 11 has exceeded its time limit and its allocation has been revoked.\n"), []string{"completed"}, "-"},
		{"a step too late", one(fieldSteps + "[after training is done] datetime: 2025-03-04 10:36:01\n" + late), []string{"completed"}, "-"},
		{"a step too late, and no end", one(fieldSteps + late), []string{"unknown"}, "-"},
		{"a step that cannot be", one(fieldSteps + refused), []string{"config-error"}, "-"},
		{"a step that cannot be, after a task was killed", one(fieldSteps + "srun: error: node3: task 12: Killed\n" + refused), []string{"external-signal", "host-oom"}, "-"},
		{"a step that cannot be, after a check of the nodes", one("srun: error: n1: task 0: Exited with exit code 1\n" + refused), []string{"config-error"}, ""},
		{"a step that cannot be, after a failure", one(fieldSteps + raisedBy(3, "ValueError: bad") + refused), []string{"exception"}, "rank 3"},
		{"a step too late after a failure", one(fieldSteps + raisedBy(3, "ValueError: bad") + late), []string{"exception"}, "rank 3"},
	} {
		c.check(t)
	}
}

// A daemon that holds a node's processes, or a trainer, says that it was told to end: nobody knows by whom, and no kernel log tells.
func TestADaemonWasToldToEnd(t *testing.T) {
	const raylet = "[2025-03-04 10:36:01,117 I 412 412] main.cc:483: received SIGTERM. Existing local drain request = None\n" +
		"[2025-03-04 10:36:01,118 I 412 412] main.cc:284: Raylet graceful shutdown triggered, reason = EXPECTED_TERMINATION, reason message = received SIGTERM\n" +
		"[2025-03-04 10:36:01,125 I 412 418] agent_manager.cc:80: Agent process with name dashboard_agent/7 exited, exit code 0.\n"
	for _, c := range []fieldCase{
		{"a raylet", one(raylet), []string{"external-signal", "unknown"}, "-"},
		{"a launcher of one's own", one(fieldSteps + "supervisor: caught signal SIGTERM, stopping 8 workers\n"), []string{"external-signal"}, "-"},
		{"a raylet behind the end", map[string]string{"train.log": fieldSteps + "[after training is done] datetime: 2025-03-04 10:36:00\n", "raylet.err": raylet}, []string{"completed"}, "-"},
		{"what it will do", one(fieldSteps + "on SIGTERM: saves and ends; handlers for SIGTERM, SIGINT are installed\n"), []string{"completed"}, "-"},
	} {
		c.check(t)
		if v := Run(read(t, []simulate.File{{Name: "a.log", Data: []byte(raylet)}}, nil, 0)).Verdict; len(v.Needs) == 0 || strings.Contains(v.Needs[0].What, "kernel") {
			t.Errorf("needs %v", v.Needs)
		}
	}
}

// What a shell says of a program that SIGTERM ended is no good end; of a helper that a script stops itself it says nothing of the job.
func TestTheShellSaysTerminated(t *testing.T) {
	const script = "/var/spool/slurmd/job00042/slurm_script: line 31: 40123 Terminated              %s\n"
	const done = "[after training is done] datetime: 2025-03-04 10:36:01\n"
	for _, c := range []fieldCase{
		{"in a terminal", one(fieldSteps + "Terminated\n"), []string{"external-signal"}, "-"},
		{"in a script", one(fieldSteps + fmt.Sprintf(script, "torchrun --nproc-per-node=8 train.py")), []string{"external-signal"}, "-"},
		{"a helper", one(fieldSteps + fmt.Sprintf(script, "nvidia-smi dmon > gpu.log")), []string{"completed"}, "-"},
		{"a helper that was killed", one(fieldSteps + strings.Replace(fmt.Sprintf(script, "nvidia-smi dmon > gpu.log"), "Terminated", "Killed    ", 1) + done), []string{"completed"}, "-"},
		{"the training was killed", one(fieldSteps + strings.Replace(fmt.Sprintf(script, "python train.py"), "Terminated", "Killed    ", 1)), []string{"external-signal", "host-oom"}, "-"},
		{"a training that says what to monitor", one(fieldSteps + fmt.Sprintf(script, "python -u /code/train.py --monitor val_loss --watch --telemetry off")), []string{"external-signal"}, "-"},
		{"one of a package for monitoring", one(fieldSteps + fmt.Sprintf(script, "python -m monitoring.exporter --port 9100")), []string{"completed"}, "-"},
		{"a helper in Python that was killed", one(fieldSteps + strings.Replace(fmt.Sprintf(script, "python gpu_monitor.py --every 10"), "Terminated", "Killed    ", 1) + done), []string{"completed"}, "-"},
		{"a helper in Python", one(fieldSteps + fmt.Sprintf(script, "python gpu_monitor.py --every 10")), []string{"completed"}, "-"},
		{"a helper behind the end", one(fieldSteps + done + fmt.Sprintf(script, "nvidia-smi dmon > gpu.log")), []string{"completed"}, "-"},
		{"of tasks that srun ended", one(fieldSteps + "srun: error: gn2: task 3: Exited with exit code 1\nsrun: Terminating StepId=42.0\nTerminated\n"), []string{"exception", "unknown"}, "-"},
		{"kubectl says 143", one(fieldSteps + "command terminated with exit code 143\n"), []string{"unknown"}, "-"},
		{"an editor says 137", one(fieldSteps + "\nProcess finished with exit code 137 (interrupted by signal 9: SIGKILL)\n"), []string{"unknown"}, "-"},
		{"an editor says 0", one(fieldSteps + "\nProcess finished with exit code 0\n"), []string{"completed"}, "-"},
		{"a helper above the steps", one(fmt.Sprintf(script, "python -m http.server") + fieldSteps + done), []string{"completed"}, "-"},
		{"a part of the job above them", one("Terminated\n" + fieldSteps), []string{"completed"}, "-"},
		{"below a failure", one(fieldSteps + raisedBy(3, "ValueError: bad") + "Terminated\n"), []string{"exception"}, "rank 3"},
	} {
		c.check(t)
	}
}

// Of processes that meet the same fault of a node's GPUs, all of one node, that node is to be looked at, were they all the ranks there are.
func TestTheFaultOfOneNodesGPUs(t *testing.T) {
	failed := func(host string, rank int, text string) string {
		return raisedBy(rank, text) + fmt.Sprintf("============================================================\ntrain.py FAILED\n------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n  time      : 2025-03-04_10:16:50\n  host      : %s\n  rank      : %d (local_rank: %d)\n  exitcode  : 1 (pid: %d)\n  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n============================================================\n", host, rank, rank, 40120+rank)
	}
	const link = "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution"
	for _, c := range []fieldCase{
		{"two ranks of one node", map[string]string{"w.log": fieldSteps + failed("b3", 2, link) + failed("b3", 6, link)}, []string{"gpu-nvlink"}, "rank 2, rank 6, node b3"},
		{"of two nodes", map[string]string{"w.log": fieldSteps + failed("b3", 2, link), "v.log": fieldSteps + failed("b4", 10, link)}, []string{"gpu-nvlink"}, "-"},
		{"a fault of the program", map[string]string{"w.log": fieldSteps + failed("b3", 2, "ValueError: bad") + failed("b3", 6, "ValueError: bad")}, []string{"exception"}, "-"},
		{"no multicast memory", map[string]string{"w.log": failed("b3", 5, "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:93, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.29.3\nncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nFailed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 401 'the operation cannot be performed in the present state'.")}, []string{"gpu-nvlink"}, "node b3"},
	} {
		c.check(t)
	}
}

// More processes than GPUs is a wrong start, but where a GPU of that node is gone it is that.
func TestTooFewGPUs(t *testing.T) {
	text := raisedBy(15, "RuntimeError: CUDA error: invalid device ordinal") + "============================================================\ntrain.py FAILED\n------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n  time      : 2025-03-04_10:16:50\n  host      : hx1\n  rank      : 15 (local_rank: 7)\n  exitcode  : 1 (pid: 40123)\n  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n============================================================\n"
	if v := Run(read(t, []simulate.File{{Name: "o.log", Data: []byte(text)}}, nil, 0)).Verdict; v.Mechanism != "config-error" {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
}

// A job whose training was over when its time was up has nothing to do again.
func TestTheTimeWasUpBehindTheEnd(t *testing.T) {
	const saved = "  successfully saved checkpoint from iteration     300 to /ckpt\n[after training is done] datetime: 2025-03-04 10:26:01\n"
	const end = "slurmstepd: error: *** JOB 2 ON gn1 CANCELLED AT 2025-03-04T14:00:00 DUE TO TIME LIMIT ***\n"
	for _, c := range []struct{ name, text, resubmit string }{
		{"over", denseSteps(300) + saved + end, "no"},
		{"not over", denseSteps(300) + "slurmstepd: error: *** JOB 2 ON gn1 CANCELLED AT 2025-03-04T10:25:40 DUE TO TIME LIMIT ***\n", "yes"},
	} {
		r := Run(read(t, []simulate.File{{Name: "slurm-2.out", Data: []byte(c.text)}}, nil, 0))
		if r.Verdict.Mechanism != "time-limit" || r.Action.Resubmit != c.resubmit || (r.Action.Finished != nil) != (c.resubmit == "no") {
			t.Errorf("%s: %s, resubmit %s, finished %v", c.name, r.Verdict.Summary, r.Action.Resubmit, r.Action.Finished)
		}
		if again := strings.Contains(r.Recommendations[0].Text, "Resubmit"); again != (c.resubmit == "yes") {
			t.Errorf("%s: %s", c.name, r.Recommendations[0].Text)
		}
	}
}

// Of a long log only stretches are read: when steps slowed down is known as well as the lines that were looked at tell.
func TestSlowerSomewhereInALongLog(t *testing.T) {
	lines := strings.SplitAfter(denseSteps(12000), "\n")
	for i := 6000; i < len(lines); i++ {
		lines[i] = strings.Replace(lines[i], "(ms): 5123.4", "(ms): 12900.0", 1)
	}
	v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(strings.Join(lines, ""))}}, nil, 0)).Verdict
	var from, to int
	_, err := fmt.Sscanf(v.Summary, "steps slowed down between step %d and step %d:", &from, &to)
	if v.Mechanism != "throughput-regression" || err != nil || from > 6000 || to <= 6000 {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
}

// Words of older and other launchers by which they tell how a job ended.
func TestOtherLaunchersEnds(t *testing.T) {
	const aborted = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
	const bare = "slurmstepd: error: *** STEP 15947.0 ON node008 CANCELLED AT 2025-03-04T10:50:33 ***\nsrun: error: node008: task 0: Killed\nsrun: Terminating job step 15947.0\n"
	for _, c := range []fieldCase{
		{"salloc's time was up", one(fieldSteps + "salloc: Job 19622 has exceeded its time limit and its allocation has been revoked.\n" + aborted + "srun: error: gpu1: task 0: Killed\n"), []string{"time-limit"}, "-"},
		{"SLURM looked at the memory itself", one(fieldSteps + "slurmstepd: error: Step 15947.0 exceeded memory limit (6776728 > 6291456), being killed\nslurmstepd: error: Exceeded job memory limit\n" + aborted + bare), []string{"host-oom"}, "-"},
		{"as older and newer ones print it", one(fieldSteps + "slurmstepd: Job 6398 exceeded memory limit (50385312 > 49152000), being killed\nslurmstepd: *** JOB 6398 CANCELLED AT 2025-03-04T16:40:47 *** on a1\n"), []string{"host-oom"}, "-"},
		{"by the step's name", one(fieldSteps + "slurmstepd: error: StepId=7.batch exceeded memory limit (734003200 > 52428800), being killed\nslurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2025-03-04T10:09:00 ***\n"), []string{"host-oom"}, "-"},
		{"and killed nothing", one(fieldSteps + "[after training is done] datetime: 2025-03-04 10:36:01\nslurmstepd: error: Exceeded job memory limit at some point.\n"), []string{"completed"}, "-"},
		{"Torque lost a node", one(fieldSteps + "=>> PBS: job killed: node 1 (cn123) requested job terminate, 'EOF' (code 1099) - received SISTER_EOF attempting to communicate with sister MoM's\n"), []string{"node-failure"}, "node cn123"},
		{"MPI had failed before", one(fieldSteps + "Fatal error in PMPI_Scatterv: Message truncated, error stack:\nPMPI_Scatterv(386)................: MPI_Scatterv(sbuf=0xe1d490) failed\n=>> PBS: job killed: walltime 1220 exceeded limit 1200\n"), []string{"collective-mismatch"}, "-"},
		{"jsrun", one(fieldSteps + "ERROR:  One or more process (first noticed rank 12) terminated with signal 11 (core dumped)\n"), []string{"native-crash"}, "rank 12"},
		{"a machine that is taken back", one(fieldSteps + "Dec 17 16:03:58Z w1 start-worker 2024/12/17 16:03:58 GCP Metadata Service says termination is imminent\n"), []string{"preempted"}, "-"},
	} {
		c.check(t)
	}
}

// A card that could not use its own memory tells nothing of the way to its peer.
func TestAnErrorOfTheCardsOwn(t *testing.T) {
	warn := func(status int) string {
		return fmt.Sprintf("tp7:185303:186751 [1] transport/net_ib.cc:2453 NCCL WARN NET/IB: Got completion from peer 10.99.91.63<51161> with status=%d opcode=32614 len=32614 vendor err 81 (Send) hca mlx5_1\n", status)
	}
	for _, c := range []fieldCase{
		{"local protection", one(fieldSteps + warn(4)), []string{"config-error", "link-error"}, "-"},
		{"no answer", one(fieldSteps + warn(12)), []string{"link-error"}, ""},
		{"both", one(fieldSteps + warn(4) + warn(12)), []string{"link-error"}, ""},
	} {
		c.check(t)
	}
}

// PyTorch's hint below an error of CUDA names device-side assertions, whatever the error was.
func TestTheHintBelowAnErrorOfCUDA(t *testing.T) {
	const hint = "\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
	for _, c := range []fieldCase{
		{"an error that has no name of its own", one(fieldSteps + raisedBy(3, "RuntimeError: CUDA error: invalid program counter"+hint)), []string{"cuda-error"}, "rank 3"},
		{"an assertion", one(fieldSteps + raisedBy(3, "RuntimeError: CUDA error: device-side assert triggered"+hint)), []string{"cuda-error"}, "rank 3"},
		{"Gloo has no address", one(raisedBy(0, "RuntimeError: [enforce fail at gloo/transport/tcp/device.cc:84] ifa != nullptr. Unable to find address for: eth1")), []string{"init-unreachable"}, "-"},
	} {
		c.check(t)
	}
}

// Whoever collects lines may stamp those that have no time of their own long afterwards: below the reports of a hang they stand all the same.
func TestStampsOfWhoCollectedTheLines(t *testing.T) {
	var hung strings.Builder
	for _, r := range []int{0, 1, 2} {
		hung.WriteString(waitedFor(r))
	}
	text := fieldSteps + hung.String() +
		"[rank0]:[E311 09:20:35.100000000 ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID 0(default_pg) Rank 0] Process group watchdog thread terminated with exception: CUDA error: unspecified launch failure\nterminate called after throwing an instance of 'c10::DistBackendError'\n  what():  [PG ID 0 PG GUID 0(default_pg) Rank 0] Process group watchdog thread terminated with exception: CUDA error: unspecified launch failure\n"
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString("2025-03-11T10:53:36.123456789Z " + l)
	}
	v := Run(read(t, []simulate.File{{Name: "pod.log", Data: []byte(b.String())}}, nil, 0)).Verdict
	if v.Mechanism == "cuda-error" || len(v.Root.Ranks) > 0 {
		t.Errorf("%s of %v: %s", v.Mechanism, v.Root.Ranks, v.Summary)
	}
}

// A signal long after the training was over ends what is left of it.
func TestASignalBehindTheEnd(t *testing.T) {
	const over = "[after training is done] datetime: 2025-03-04 10:03:01\n"
	told := func(at string) string {
		return "W0304 " + at + ".000000 31 torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down workers\n"
	}
	for _, c := range []fieldCase{
		{"long after", one(denseSteps(30) + over + told("10:16:45")), []string{"completed"}, "-"},
		{"at once", one(denseSteps(30) + over + told("10:02:40")), []string{"completed", "external-signal"}, "-"},
		{"in a last save", one(denseSteps(30) + over + "saving checkpoint at iteration      30 to /ckpt in torch_dist format\n" + told("10:16:45")), []string{"completed", "external-signal"}, "-"},
		{"in what began behind it", one(denseSteps(30) + over + "converting the checkpoint, shard 3 of 61\n" + told("10:16:45")), []string{"completed", "external-signal"}, "-"},
		{"before", one(denseSteps(30) + told("10:02:40") + over), []string{"external-signal"}, "-"},
	} {
		c.check(t)
	}
}
