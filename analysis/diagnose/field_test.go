package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/simulate"
)

// fieldCase is a log as some launcher, scheduler or accelerator really prints it, and what has to be made of it. The set is
// that of all candidates; root, where it is asked for, all ranks and nodes that are accused.
type fieldCase struct {
	name  string
	files map[string]string
	want  []string
	root  string // "rank 3, node gpu-2"; "-" for nobody; "" not asked
}

func (c fieldCase) check(t *testing.T) {
	t.Helper()
	var files []simulate.File
	for name, text := range c.files {
		files = append(files, simulate.File{Name: name, Data: []byte(text)})
	}
	slices.SortFunc(files, func(a, b simulate.File) int { return strings.Compare(a.Name, b.Name) })
	if *casesDir != "" {
		writeCase(t, *casesDir, c.name, files)
		return
	}
	f := read(t, files, nil, 0)
	v := Run(f).Verdict
	trail := "\nthe trail:\n" + strings.Join(f.Trail(), "\n") // which rule decided what a line means
	var got []string
	for _, x := range v.Candidates {
		got = append(got, x.Mechanism)
	}
	slices.Sort(got)
	slices.Sort(c.want)
	if !slices.Equal(got, c.want) {
		t.Errorf("%s: said %v (%s: %s), expected %v%s", c.name, got, v.Status, v.Summary, c.want, trail)
	}
	var roots []string
	for _, r := range v.Root.Ranks {
		roots = append(roots, fmt.Sprint("rank ", r))
	}
	for _, n := range v.Root.Nodes {
		roots = append(roots, "node "+n)
	}
	if root := strings.Join(roots, ", "); c.root != "" && root != strings.TrimPrefix(c.root, "-") {
		t.Errorf("%s: accused %q, expected %q%s", c.name, root, c.root, trail)
	}
}

// one is a job whose log is one file.
func one(text string) map[string]string { return map[string]string{"train.log": text} }

const fieldSteps = "step 1 loss 2.15\nstep 2 loss 2.14\nstep 3 loss 2.13\n"

// raisedBy is a traceback as the process of a rank prints it.
func raisedBy(rank int, last string) string {
	var b strings.Builder
	for l := range strings.Lines("Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\n" + strings.TrimSuffix(last, "\n") + "\n") {
		fmt.Fprintf(&b, "[rank%d]: %s", rank, l)
	}
	return b.String()
}

// A set-up that cannot work: none of it is the storage's, the network's or the code's.
func TestFieldSetUp(t *testing.T) {
	for _, c := range []fieldCase{
		{"etcd is not found", one("Traceback (most recent call last):\n  File \"/a/run.py\", line 3, in main\n    f()\netcd.EtcdConnectionFailed: Connection to etcd failed due to MaxRetryError(\"HTTPConnectionPool(host='etcd', port=2379): Max retries exceeded with url: /version (Caused by NewConnectionError('Failed to establish a new connection: [Errno -2] Name or service not known'))\")\n"),
			[]string{"init-unreachable"}, "-"},
		{"a JAX process that could not report", one("2024-04-12 23:39:41.656900: E external/xla/xla/pjrt/distributed/client.cc:96] Coordination service agent in error status: DEADLINE_EXCEEDED: Deadline Exceeded\n2024-04-12 23:39:41.666900: F external/xla/xla/pjrt/distributed/client.h:77] Terminating process because the JAX distributed service detected fatal errors. absl::Status: DEADLINE_EXCEEDED: Deadline Exceeded\n\nRPC: /tensorflow.CoordinationService/RegisterTask\n"),
			[]string{"init-unreachable"}, "-"},
		{"a control group that takes nobody is no full disk", one("slurmstepd: error: common_file_write_uints: write value '39981' to '/sys/fs/cgroup/cpuset/slurm/uid_20006/job_6457/step_batch/cgroup.procs' failed: No space left on device\nslurmstepd: error: job_manager: exiting abnormally: Slurmd could not execve job\n"),
			[]string{"scheduler-error"}, "-"},
		{"driver and library of two versions", one(raisedBy(0, "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / cuda driver combination")),
			[]string{"version-mismatch"}, ""},
		{"locked memory", one("gpu-1:1:2 [0] transport/net_ib.cc:1 NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory\n" + raisedBy(0, "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled system error, NCCL version 2.21.5\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. \nLast error:\nCall to ibv_create_cq failed with error Cannot allocate memory")),
			[]string{"resource-limit"}, ""},
		{"Google's store refuses", one(raisedBy(3, "google.api_core.exceptions.Forbidden: 403 GET https://storage.googleapis.com/storage/v1/b/x: no access")), []string{"config-error"}, ""},
		{"Google's store fails", one(raisedBy(3, "google.api_core.exceptions.RetryError: Timeout of 120.0s exceeded, last exception: 503 GET https://storage.googleapis.com/storage/v1/b/x: Service Unavailable")), []string{"storage-retries-exhausted"}, ""},
		{"Azure's store fails", one(raisedBy(3, "azure.core.exceptions.ServiceResponseError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))")), []string{"storage-retries-exhausted"}, ""},
	} {
		c.check(t)
	}
}

// Accelerators that are no CUDA device, and networks that are no InfiniBand.
func TestFieldAccelerators(t *testing.T) {
	for _, c := range []fieldCase{
		{"a TPU's core halted, behind a progress bar", one("  0%|          | 1/7800 [00:01<2:37:37,  1.21s/it]F0000 00:00:1717141650.890307    9276 pjrt_computation_client.cc:487] Non-OK-status: status status: INTERNAL: Core halted unexpectedly: INTERNAL: Accelerator device halted prematurely, perhaps due to an on-device check-failure.\n"),
			[]string{"cuda-error"}, "-"},
		{"HCCL's wait in vain accuses nobody, least of all an error's code", one(fieldSteps + "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\nRuntimeError: The Inner error is reported as above. The process exits for this inner error, and the current working operator name is HcclAllreduce.\nEI0002: [PID: 1234] The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify record from remote rank [12].\n"),
			[]string{"peer-lost", "unknown"}, "-"},
		{"a wait for an NPU that ran into its limit is no error of the code, and a rank of the group is not one of the job", one(fieldSteps + "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\nRuntimeError: npuSynchronizeDevice:build/x.ts:516 NPU function error: AclrtSynchronizeDeviceWithTimeout, error code is 507048\n[ERROR] 2025-10-11-15:09:34 (PID:2969, Device:5, RankID:101) ERR00100 PTA call acl api failed\nEI0002: [PID: 2969] The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify record from remote rank: [24]. base information: [streamID:[109]]\n"),
			[]string{"peer-lost", "unknown"}, "-"},
		{"an NPU without memory, and who waits to connect to it", one(fieldSteps + raisedBy(3, "RuntimeError: NPU out of memory. Tried to allocate 1.50 GiB (NPU 3; 60.97 GiB total capacity; 57.77 GiB already allocated; 57.77 GiB current active; 1.02 GiB free)") + raisedBy(0, "RuntimeError: createHCCLComm:build/x.ts:1047 HCCL function error: HcclCommInitRootInfo(numRanks, &rootInfo, rank, hcclComm), error code is 4\nEI0006: 2024-08-05-18:15:21.270.506 Getting socket times out. Reason: Remote Rank did not send the data in time.")),
			[]string{"gpu-oom"}, "rank 3"},
		{"a port of HCCL that is taken", one(raisedBy(0, "RuntimeError: createHCCLComm:build/x.ts:1479 HCCL function error: HcclGetRootInfo(&hcclID), error code is 11\nEJ0003: [PID: 159] 2025-03-26-17:01:02.816.428 Failed to bind the IP port. Reason: The IP address and port have been bound already.")),
			[]string{"config-error"}, ""},
		{"who segfaults behind a rank that RCCL gave up", one("5: node2:5102:5377 [1] src/transport/p2p.cc:290 NCCL WARN HIP failure 'invalid device pointer'\n5: [FATAL ERROR]: HIP failure: 'invalid device pointer'\n4: Fatal Python error: Segmentation fault\n6: Fatal Python error: Segmentation fault\nsrun: error: node2: task 5: Exited with exit code 1\nsrun: error: node2: tasks 4,6: Segmentation fault (core dumped)\n"),
			[]string{"cuda-error"}, "node node2"},
		{"Gaudi's memory", one(fieldSteps + raisedBy(2, "RuntimeError: [Rank:2] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::1073741824 (1024)MB")), []string{"gpu-oom"}, "rank 2"},
		{"EFA", one(fieldSteps + "algo-1:462:531 [0] process_completions:106 NCCL WARN NET/OFI Request 0x7f completed with error. RC: 21. Error: unknown error. Completed length: 0\n"), []string{"link-error"}, ""},
		{"the loss became something else", one(fieldSteps + "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\nFloatingPointError: Loss became infinite or NaN at iteration=4!\n"), []string{"non-finite-loss"}, ""},
	} {
		c.check(t)
	}
}

// What launchers and schedulers put around lines, and say of processes.
func TestFieldLaunchers(t *testing.T) {
	const oom = "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of 79.11 GiB of which 1.02 GiB is free.\n"
	labelled := func(label, text string) string {
		var b strings.Builder
		for l := range strings.Lines(text) {
			b.WriteString(label + l)
		}
		return b.String()
	}
	pretty := func(text string) string {
		var b strings.Builder
		for l := range strings.Lines(text) {
			fmt.Fprintf(&b, "  {\n    \"severity\": \"ERROR\",\n    \"textPayload\": %q,\n    \"timestamp\": \"2024-05-01T10:00:00Z\"\n  },\n", strings.TrimSuffix(l, "\n"))
		}
		return b.String()
	}
	for _, c := range []fieldCase{
		{"what was raised while Ray made an actor", one("Traceback (most recent call last):\n  File \"/a/ray/worker.py\", line 2882, in get\n    f()\nray.exceptions.ActorDiedError: The actor died because of an error raised in its creation task, ray::policy-0-2:Worker.__init__() (pid=2791977, ip=10.65.6.13, actor_id=79f3)\n  File \"/a/worker.py\", line 210, in __init__\n    g()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of 79.11 GiB of which 1.02 GiB is free.\n"), []string{"gpu-oom"}, "-"},
		{"SageMaker", one(labelled("[1,mpirank:3,algo-1]<stdout>:", fieldSteps) + labelled("[1,mpirank:3,algo-1]<stderr>:", oom)), []string{"gpu-oom"}, "rank 3, node algo-1"},
		{"Determined", one(labelled("[2024-05-12T10:00:00.123456Z] 5b1f2c3d [rank=3] || ", oom)), []string{"gpu-oom"}, "rank 3"},
		{"records in JSON over several lines", one(pretty(raisedBy(5, "RuntimeError: CUDA error: an illegal memory access was encountered"))), []string{"cuda-error"}, "rank 5"},
		{"srun names the node of a label", one(labelled("12: ", fieldSteps+oom) + "srun: error: node07: task 12: Exited with exit code 1\n"), []string{"gpu-oom"}, "node node07"},
		{"mpirun names the rank", one("[gpu-2:12345] *** Process received signal ***\n[gpu-2:12345] Signal: Segmentation fault (11)\nmpirun noticed that process rank 5 with PID 12345 on node gpu-2 exited on signal 11 (Segmentation fault).\n"), []string{"native-crash"}, "rank 5, node gpu-2"},
		{"mpirun's number is no rank where it started launchers", one("mpirun noticed that process rank 1 with PID 12345 on node gpu-2 exited on signal 11 (Segmentation fault).\nE0304 10:11:13.100000 3990 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -11) local_rank: 2 (pid: 4002) of binary: /opt/conda/bin/python\n"), []string{"native-crash"}, "node gpu-2"},
		{"a container over its limit", one(fieldSteps + "    State:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n"), []string{"host-oom"}, "-"},
		{"a pod that filled the node's disk", one("Reason:       Evicted\nMessage:      The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 9Gi.\n"), []string{"storage-full"}, "-"},
	} {
		c.check(t)
	}
}

// The store that rank 0 keeps goes away under ranks that were training: the job did not end well, though no line says what
// ended it. Where rank 0 or the program says that it finished, it did.
func TestAStoreThatGoesAway(t *testing.T) {
	store := func(last string) map[string]string {
		files := map[string]string{}
		for r := 8; r < 12; r++ {
			files[fmt.Sprintf("rank%d.log", r)] = fieldSteps + last + fmt.Sprintf("[rank%d]:[W304 10:20:30.123456789 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=55, addr=[gpu-2]:44444, remote=[gpu-1]:29500): failed to recv, got 0 bytes\n", r)
		}
		return files
	}
	finished := store("")
	finished["rank0.log"] = fieldSteps
	for _, c := range []fieldCase{
		{"without a line of rank 0", store(""), []string{"peer-lost", "unknown"}, "-"},
		{"the program says that it finished", store("Training completed.\n"), []string{"completed"}, "-"},
		{"rank 0 went as far as the others, and nothing failed", finished, []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}

// watchdog is how a rank of PyTorch 2.6 reports that it waited.
func watchdog(rank, seq int, op string, size int) string {
	return fmt.Sprintf("[rank%d]:[E304 10:20:30.123456789 ProcessGroupNCCL.cpp:629] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=%s, NumelIn=%d, NumelOut=%d, Timeout(ms)=600000) ran for 600041 milliseconds before timing out.\n"+
		"[rank%d]:[E304 10:20:30.123556789 ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: %d PG status: last enqueued work: %d, last completed work: %d\n",
		rank, rank, seq, op, size, size, rank, rank, seq, seq, seq-1)
}

// One rank failed and says so; then it waited as well, in something else, until its own watchdog ended it. The others waited
// for it. What it says first counts, though no line of it has a time.
func TestWhoFailedAndThenWaited(t *testing.T) {
	victims := func(last string) map[string]string {
		files := map[string]string{"rank3.log": fieldSteps + last}
		for r := range 3 {
			files[fmt.Sprintf("rank%d.log", r)] = fieldSteps + watchdog(r, 500, "ALLREDUCE", 25000000)
		}
		return files
	}
	wait := watchdog(3, 500, "ALLREDUCE", 1)
	for _, c := range []fieldCase{
		{"memory", victims(raisedBy(3, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.") + wait), []string{"gpu-oom"}, "rank 3"},
		{"code", victims(raisedBy(3, "ValueError: too many values to unpack (expected 2)") + wait), []string{"exception"}, "rank 3"},
		{"hardware", victims(raisedBy(3, "RuntimeError: CUDA error: uncorrectable ECC error encountered") + wait), []string{"gpu-ecc"}, "rank 3"},
		{"a transfer", victims("gpu-2:100:200 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.1<48000> with status=12 opcode=0 len=0 vendor err 129 (Recv)\n" + wait), []string{"link-error"}, ""},
		{"below its own report it is the teardown's", victims(watchdog(3, 500, "ALLREDUCE", 25000000) + raisedBy(3, "RuntimeError: CUDA error: unspecified launch failure")), []string{"collective-hang", "gpu-hang", "rank-stalled"}, "-"},
	} {
		c.check(t)
	}
}

// A chain of exceptions is told from its first block on. That what a program catches all the time came before a lost peer says
// nothing.
func TestAnExceptionOnTheWayOut(t *testing.T) {
	chain := func(first string) map[string]string {
		return one(fieldSteps + raisedBy(3, first+"\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/a/train.py\", line 50, in main\n    dist.barrier()\n"+
			"torch.distributed.DistBackendError: NCCL error in: x.cpp:1, remote process exited or there was a network error, NCCL version 2.21.5\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."))
	}
	for _, c := range []fieldCase{
		{"its own error", chain("ValueError: bad shape"), []string{"exception"}, "rank 3"},
		{"its own memory", chain("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB."), []string{"gpu-oom"}, "rank 3"},
		{"a look-up that misses", chain("KeyError: 'cached'"), []string{"peer-lost", "unknown"}, "-"},
	} {
		c.check(t)
	}
}

// A pipe between two processes of one machine is no connection to a store.
func TestAPipeThatBreaks(t *testing.T) {
	fieldCase{"the thread that pins memory", one(fieldSteps + `Exception in thread Thread-1 (_pin_memory_loop):
Traceback (most recent call last):
  File "/opt/conda/lib/python3.10/site-packages/torch/utils/data/_utils/pin_memory.py", line 28, in do_one_step
    r = in_queue.get(timeout=MP_STATUS_CHECK_INTERVAL)
  File "/opt/conda/lib/python3.10/multiprocessing/connection.py", line 509, in Client
    answer_challenge(c, authkey)
ConnectionResetError: [Errno 104] Connection reset by peer
Traceback (most recent call last):
  File "/a/train.py", line 20, in main
    for b in loader:
  File "/opt/conda/lib/python3.10/site-packages/torch/utils/data/dataloader.py", line 1029, in _get_data
    raise RuntimeError('Pin memory thread exited unexpectedly')
RuntimeError: Pin memory thread exited unexpectedly
`), []string{"exception", "unknown"}, "-"}.check(t)
}

// An EOFError of a file that is empty, or of a terminal that is none, has its own cause; one of a pipe has it elsewhere. What
// mostly follows from something else is said nevertheless where it is all there is.
func TestWhatEndsTooEarly(t *testing.T) {
	const loading = "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in <module>\n    main()\n" +
		"  File \"/opt/torch/utils/data/_utils/fetch.py\", line 52, in fetch\n    data = [self.dataset[idx] for idx in possibly_batched_index]\n" +
		"  File \"/a/data.py\", line 9, in __getitem__\n    return pickle.load(f)\nEOFError: Ran out of input\n"
	for _, c := range []fieldCase{
		{"an empty file", one(fieldSteps + raisedBy(3, "EOFError: Ran out of input")), []string{"exception"}, "rank 3"},
		{"an empty sample", one(fieldSteps + loading), []string{"bad-sample"}, "-"},
		{"nobody at the terminal", one(fieldSteps + raisedBy(0, "EOFError: EOF when reading a line")), []string{"exception"}, "rank 0"},
		{"a pipe", one(fieldSteps + raisedBy(3, "EOFError")), []string{"unknown"}, "-"},
	} {
		c.check(t)
	}
	file := simulate.File{Name: "train.log", Data: []byte(fieldSteps + raisedBy(3, "BrokenPipeError: [Errno 32] Broken pipe"))}
	v := Run(read(t, []simulate.File{file}, nil, 0)).Verdict
	if v.Status != incident.Inconclusive || !strings.Contains(v.Summary, "BrokenPipeError: [Errno 32] Broken pipe") {
		t.Errorf("%s: %s", v.Status, v.Summary)
	}
}

// What all processes of the one node say that is seen, and no rank signs, is its hardware's where it can be nothing else.
func TestProcessesOfOneNodeMeetItsFabric(t *testing.T) {
	const down = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized"
	var label, code strings.Builder
	for i := range 8 {
		for l := range strings.Lines("Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\n") {
			fmt.Fprintf(&label, "[%d]: %s", i, l)
			fmt.Fprintf(&code, "[%d]: %s", i, l)
		}
		fmt.Fprintf(&label, "[%d]: %s\n", i, down)
		fmt.Fprintf(&code, "[%d]: ValueError: no such column\n", i)
	}
	fieldCase{"the fabric", map[string]string{"node5.log": label.String()}, []string{"gpu-nvlink"}, "node node5"}.check(t)
	fieldCase{"the program", map[string]string{"node5.log": code.String()}, []string{"exception"}, "-"}.check(t)
}

// A run whose last lines tell of its end has not completed, whatever its steps say: nobody may go back to bed on it.
func TestAnEndThatIsNoGoodOne(t *testing.T) {
	const elastic = "torch.distributed.elastic.agent.server.api: [WARNING] Received %s death signal, shutting down workers\n"
	for _, c := range []fieldCase{
		{"Ctrl-C", one(fieldSteps + "^CTraceback (most recent call last):\n  File \"/a/train.py\", line 3, in <module>\n    main()\nKeyboardInterrupt\n"), []string{"external-signal", "unknown"}, "-"},
		{"the launcher was told to stop, as Python up to 3.10 prints it", one(fieldSteps + "[2024-05-12 10:00:00,123] " + fmt.Sprintf(elastic, "Signals.SIGTERM")), []string{"external-signal"}, "-"},
		{"as it does since", one(fieldSteps + "[2024-05-12 10:00:00,123] " + fmt.Sprintf(elastic, "15")), []string{"external-signal"}, "-"},
		{"JAX was told to stop", one(fieldSteps + "2024-05-12 10:00:00.123456: E external/xla/xla/tsl/distributed_runtime/preemption/preemption_notifier.cc:89] SIGTERM caught at 2024-05-12T10:00:00.1+00:00\n"), []string{"external-signal"}, "-"},
		{"the driver was going down", one(fieldSteps + raisedBy(0, "RuntimeError: CUDA error: driver shutting down")), []string{"unknown"}, "-"},
		{"a launcher that finds its rendezvous no more", one(fieldSteps + "Traceback (most recent call last):\n  File \"/opt/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\ntorch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details.\n"), []string{"peer-lost", "unknown"}, "-"},
		{"an exception that it lived through", one(fieldSteps + raisedBy(0, "BrokenPipeError: [Errno 32] Broken pipe") + "step 4 loss 2.12\nstep 5 loss 2.11\nstep 6 loss 2.10\nstep 7 loss 2.09\n"), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}

// Processes that one Python program started itself, and frameworks that are not PyTorch.
func TestFieldOtherPrograms(t *testing.T) {
	spawned := func(signal string) map[string]string {
		return one("Traceback (most recent call last):\n  File \"/a/main.py\", line 3, in <module>\n    mp.spawn(main_worker, nprocs=8)\ntorch.multiprocessing.spawn.ProcessExitedException: process 3 terminated with signal " + signal + "\n")
	}
	for _, c := range []fieldCase{
		{"a crash", spawned("SIGSEGV"), []string{"native-crash"}, "-"},
		{"a kill", spawned("SIGKILL"), []string{"external-signal", "host-oom"}, "-"},
		{"JAX's check", one(fieldSteps + raisedBy(0, "FloatingPointError: invalid value (nan) encountered in jit(train_step).")), []string{"non-finite-loss"}, ""},
		{"TensorFlow's memory", one(raisedBy(0, "ResourceExhaustedError: OOM when allocating tensor with shape[1024,1024] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc")), []string{"gpu-oom"}, ""},
		{"JAX's NCCL", one(fieldSteps + raisedBy(0, "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: NCCL operation ncclGroupEnd() failed: unhandled system error (run with NCCL_DEBUG=INFO for details).")), []string{"peer-lost", "unknown"}, "-"},
		{"Horovod's wrapper", one(fieldSteps + raisedBy(0, "horovod.common.exceptions.HorovodInternalError: ncclAllReduce failed: unhandled system error")), []string{"peer-lost", "unknown"}, "-"},
		{"Orbax", one(raisedBy(0, "ValueError: Error opening \"zarr\" driver: Error reading local file \"/ckpt/10/params/.zarray\": NOT_FOUND")), []string{"checkpoint-io"}, ""},
		{"Ray's memory monitor", one("(raylet, ip=10.0.0.9) node_manager.cc:3040: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: abc, IP: 10.0.0.9) over the last time period.\n"), []string{"host-oom"}, ""},
		{"a storage client, seen by its class alone", one(fieldSteps + raisedBy(3, "requests.exceptions.ReadTimeout: (ReadTimeoutError(\"HTTPSConnectionPool(host='store', port=443): Read timed out. (read timeout=10)\"), '(Request ID: abc)')")), []string{"storage-retries-exhausted"}, "rank 3"},
	} {
		c.check(t)
	}
}

// Who is refused first when the job's token runs out broke nothing; a token that is damaged may be so where it was read.
func TestATokenOfTheJobAccusesNobody(t *testing.T) {
	refused := func(why string) map[string]string {
		return one(fieldSteps + raisedBy(2, "aistore.sdk.errors.AISError: STATUS:"+why+", REQ_URL:http://store/v1/objects/b/o"))
	}
	for _, c := range []fieldCase{
		{"it ran out", refused(`401, MESSAGE:invalid token from header "Authorization": invalid token [err: token expired]`), []string{"ais-auth"}, "-"},
		{"it lacks a right", refused(`403, MESSAGE:insufficient permissions [uid=1, op=GET]`), []string{"ais-auth"}, "-"},
		{"it is damaged", refused(`401, MESSAGE:token is malformed: token contains an invalid number of segments`), []string{"ais-auth"}, "rank 2"},
	} {
		c.check(t)
	}
}

// Half of the ranks fail alike. Where they are those of one node, and another node's do not, it is that node; a program fails alike
// wherever it runs.
func TestHalfOfTheRanksAreOneNode(t *testing.T) {
	job := func(last string) map[string]string {
		var failed strings.Builder
		for r := 4; r < 8; r++ {
			failed.WriteString(raisedBy(r, last))
		}
		return map[string]string{
			"error-9-k1.out": raisedBy(0, "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 4/8 clients joined."),
			"error-9-k2.out": failed.String(),
		}
	}
	for _, c := range []fieldCase{
		{"a mount", job("OSError: [Errno 116] Stale file handle: '/mnt/x/train.py'"), []string{"storage-unresponsive"}, "rank 4, rank 5, rank 6, rank 7, node k2"},
		{"the program", job("ValueError: could not convert string to float: 'x'"), []string{"exception"}, "-"},
	} {
		c.check(t)
	}
}

// A name with a digit and a colon in front of one line or other is no host: no log may make a node of it.
func TestAKeyIsNoNode(t *testing.T) {
	oom := "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.\n"
	for _, line := range []string{"ckpt2: saved to disk", "model2: loaded", "mlx5-0: port is active", "h100: detected 8 gpus", "v2.1: release notes"} {
		fieldCase{line, one(fieldSteps + line + "\n" + oom), []string{"gpu-oom"}, "-"}.check(t)
	}
	var labelled strings.Builder
	for l := range strings.Lines(fieldSteps + oom) {
		labelled.WriteString("worker-1: " + l)
	}
	fieldCase{"a launcher's label is one", one("[2024-05-12 10:00:00,123] [INFO] [runner.py:605:main] cmd = python train.py\n" + labelled.String()), []string{"gpu-oom"}, "node worker-1"}.check(t)
}

// A hub out of reach, values that are no numbers, and a node that Ray hears no more of.
func TestFieldWordings(t *testing.T) {
	const dead = "2024-05-01 10:00:00,464\tWARNING worker.py:2037 -- The node with node id: 9426f44574cc and address: 10.9.0.13 and node name: 10.9.0.13 has been marked dead because the detector has missed too many heartbeats from it. This can happen when a \t(1) raylet crashes unexpectedly (OOM, preempted node, etc.) \n"
	const gone = "Traceback (most recent call last):\n  File \"/a/main.py\", line 3, in main\n    f()\nray.exceptions.ActorDiedError: The actor died because of an error: its node has died.\n"
	for _, c := range []fieldCase{
		{"a hub that cannot be asked, or was not to be", one(raisedBy(2, "OSError: We couldn't connect to 'https://hf-mirror.example' to load the files, and couldn't find them in the cached files.")), []string{"storage-retries-exhausted", "config-error"}, ""},
		{"the same of one file, of older versions", one(raisedBy(2, "OSError: We couldn't connect to 'https://huggingface.co' to load this file, couldn't find it in the cached files and it looks like org/model is not the path to a directory containing a file named config.json.")), []string{"storage-retries-exhausted", "config-error"}, ""},
		{"logits that are no numbers", one(fieldSteps + raisedBy(2, "ValueError: Expected parameter logits (Tensor of shape (8, 50257)) of distribution Categorical(logits: torch.Size([8, 50257])) to satisfy the constraint IndependentConstraint(Real(), 1), but found invalid values:\ntensor([[nan, nan]])")), []string{"non-finite-loss"}, ""},
		{"a scale below zero is the program's own", one(fieldSteps + raisedBy(2, "ValueError: Expected parameter scale (Tensor of shape (8,)) of distribution Normal(loc: torch.Size([8]), scale: torch.Size([8])) to satisfy the constraint GreaterThan(lower_bound=0.0), but found invalid values:")), []string{"exception"}, "rank 2"},
		{"a node that Ray lost", one(fieldSteps + dead + gone), []string{"node-failure"}, "node 10.9.0.13"},
		{"a node that Ray lost, and training went on", one(dead + fieldSteps + raisedBy(2, "KeyError: 'x'")), []string{"exception"}, "rank 2"},
		{"a node that Ray lost because its processes failed", one(fieldSteps + raisedBy(2, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of 79.11 GiB of which 1.02 MiB is free.") + dead + gone), []string{"gpu-oom"}, "rank 2"},
	} {
		c.check(t)
	}
}

// An adapter that says that its own port went down is the cause; that transfers to it failed elsewhere is what came of it.
func TestAPortThatWentDownSpeaksFirst(t *testing.T) {
	files := []simulate.File{
		{Name: "error-5-c1.out", Data: []byte(fieldSteps + "c1:50:90 [2] transport/net_ib.cc:2251 NCCL WARN NET/IB: Got completion from peer 10.7.0.2<40002> with status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_4\n")},
		{Name: "error-5-c2.out", Data: []byte(fieldSteps + "c2:51:91 [2] transport/net_ib.cc:160 NCCL WARN NET/IB : mlx5_4:1 Got async event : port error\n")},
	}
	v := Run(read(t, files, nil, 0)).Verdict
	if v.Mechanism != "link-error" || !slices.Equal(v.Root.Nodes, []string{"c2"}) || !strings.HasPrefix(v.Summary, "c2: ") {
		t.Errorf("said %s of %v: %s", v.Mechanism, v.Root.Nodes, v.Summary)
	}
}
