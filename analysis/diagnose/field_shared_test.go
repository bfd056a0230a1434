package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// What file systems, stores and accelerators say of a shared resource, and what launchers say of themselves, is not the program's
// doing.
func TestFieldSharedResources(t *testing.T) {
	retry := "[2025-03-11 03:53:27 WARNING] Retrying in 1s [Retry 1/5].\n[2025-03-11 03:54:27 WARNING] Retrying in 8s [Retry 5/5].\n"
	missing := raisedBy(2, "FileNotFoundError: hf://datasets/a/b@2d0accdd/train/c.jsonl.zst")
	pyxis := "slurmstepd: error: pyxis: child 211034 failed with error code: 1\nslurmstepd: error: pyxis:     tar: usr/lib/libcublasLt.so: Cannot write: No space left on device\n" +
		"slurmstepd: error: pyxis: couldn't start container\nsrun: error: gpu-12: task 1: Exited with exit code 1\n"
	npu := "[rank%d]:[W903 16:50:00.000000001 compiler_depend.ts:409] Warning: NPU warning, error code is 507046[Error]: \n" +
		"EE1002: 2024-09-03-16:50:00.041.231 Stream synchronize timeout. rtDeviceSynchronize execute failed, reason=[stream sync timeout]\n"
	life := func(at string) string {
		return "submitit INFO (2022-07-12 " + at + ",762) - Starting with JobEnvironment(job_id=60, hostname=n1, local_rank=0(2), node=0(1), global_rank=0(2))\n"
	}
	taken := "submitit WARNING (2022-07-12 04:18:45,881) - Caught signal SIGHUP on n1: this job is preempted.\nsubmitit INFO (2022-07-12 04:18:45,912) - Requeued job 60 (3 remaining timeouts)\n"
	for _, c := range []fieldCase{
		{"a lock service that does not answer", one(raisedBy(1, "OSError: [Errno 37] No locks available")), []string{"storage-unresponsive"}, "rank 1"},
		{"a remote file behind retries in vain", one(fieldSteps + retry + missing), []string{"storage-retries-exhausted"}, "rank 2"},
		{"a remote file without retries", one(fieldSteps + missing), []string{"config-error"}, ""},
		{"no room for the container", one(pyxis), []string{"storage-full"}, "node gpu-12"},
		{"no room for the image", one("slurmstepd: error: pyxis: child 5 failed with error code: 1\nslurmstepd: error: pyxis:     Write failed because No space left on device\n" +
			"slurmstepd: error: pyxis: couldn't start container\nsrun: error: gpu-12: task 1: Exited with exit code 1\n"), []string{"storage-full"}, "node gpu-12"},
		{"a checkpoint of another shape", one(raisedBy(0, "megatron.core.dist_checkpointing.core.CheckpointingException: Global shape mismatch for loaded ((4096, 68)) and expected ((4096, 72)) tensor for key w")), []string{"config-error"}, ""},
		{"a TPU without memory", one(fieldSteps + "Traceback (most recent call last):\n  File \"t.py\", line 2, in f\n    g()\nRuntimeError: Resource exhausted: From /job:tpu_worker/replica:0/task:0:\n" +
			"  (0) Resource exhausted: Attempting to reserve 3.95G at the bottom of memory. That was not possible.\n"), []string{"gpu-oom"}, ""},
		{"Kueue: preempted", one(fieldSteps + "57s  Normal  Preempted  workload/j  Preempted to accommodate a workload (UID: 5c) due to prioritization in the ClusterQueue\n"), []string{"preempted"}, "-"},
		{"dstack: interrupted, or lost", one(fieldSteps + "Run failed with error code INTERRUPTED_BY_NO_CAPACITY. Check CLI and server logs for more details.\n"), []string{"node-failure", "preempted"}, "-"},
		{"SageMaker: interrupted", one(fieldSteps + "2024-03-01 12:10:01 Interrupted - Training job interrupted\n"), []string{"preempted"}, "-"},
		{"Ray Train: no room for its workers", one(raisedBy(0, "ray.train.v2._internal.exceptions.WorkerGroupStartupTimeoutError: The worker group startup timed out after 600.0 seconds waiting for 16 workers.")), []string{"scheduler-error"}, ""},
		{"cancelled, and a process cannot be killed", one(fieldSteps + "slurmstepd: error: *** STEP 63.0 ON c1 CANCELLED AT 2020-12-14T09:43:55 ***\n" +
			"slurmstepd: error: *** STEP 63.0 STEPD TERMINATED ON c2 AT 2020-12-14T09:44:56 DUE TO JOB NOT ENDING WITH SIGNALS ***\n"), []string{"cancelled", "unknown"}, "node c2"},
		{"the time limit, and a process cannot be killed", one(fieldSteps + "slurmstepd: error: *** STEP 63.0 ON c1 CANCELLED AT 2020-12-14T09:43:55 DUE TO TIME LIMIT ***\n" +
			"slurmstepd: error: *** STEP 63.0 STEPD TERMINATED ON c2 AT 2020-12-14T09:44:56 DUE TO JOB NOT ENDING WITH SIGNALS ***\n"), []string{"time-limit", "unknown"}, "node c2"},
		{"finished, and a process cannot be killed", map[string]string{"slurm-91.out": fieldSteps + "Training finished\n",
			"slurmctld.log": "[2025-05-02T04:05:02.000] error: slurmd error running JobId=91 on node(s)=c2: Kill task failed\n"}, []string{"completed"}, "-"},
		{"the controller drains a node of a cancelled job", map[string]string{"slurm-91.out": fieldSteps + "slurmstepd: error: *** STEP 91.0 ON c1 CANCELLED AT 2025-05-02T04:00:55 ***\n",
			"slurmctld.log": "[2025-05-02T04:05:02.000] error: slurmd error running JobId=91 on node(s)=c2: Kill task failed\n"}, []string{"cancelled", "unknown"}, "node c2"},
		{"the controller drains a node of another job", map[string]string{"slurm-91.out": fieldSteps + "slurmstepd: error: *** STEP 91.0 ON c1 CANCELLED AT 2025-05-02T04:00:55 ***\n",
			"slurmctld.log": "[2025-05-02T04:05:02.000] error: slurmd error running JobId=90 on node(s)=c2: Kill task failed\n"}, []string{"cancelled", "unknown"}, "-"},
		{"Vertex AI: a replica out of memory", one(fieldSteps + "ERROR The replica workerpool0-0 ran out-of-memory and exited with a non-zero status of 137(SIGKILL).\n"), []string{"host-oom"}, "-"},
		{"a service says that a replica failed", one(fieldSteps + "The replica workerpool1-1 exited with a non-zero status of 1. Termination reason: Error.\n"), []string{"unknown"}, "-"},
		{"an operator says that a pod failed", one(fieldSteps + "PyTorchJob llm is failed because 1 Worker replica(s) failed.\n"), []string{"unknown"}, "-"},
		{"an exception, and a service says that it failed", one(fieldSteps + raisedBy(3, "ValueError: bad") + "Run failed with error code CONTAINER_EXITED_WITH_ERROR. Check CLI and server logs.\n"), []string{"exception"}, "rank 3"},
		{"a container that ended well", one(fieldSteps + "trainer-1 exited with code 0\n"), []string{"completed"}, "-"},
		{"a container that did not", one(fieldSteps + "trainer-1 exited with code 137\n"), []string{"unknown"}, "-"},
		{"replicas that lost one another", one(fieldSteps + "worker-1 Error reported to Coordinator: <class 'tensorflow.python.framework.errors_impl.UnavailableError'>, Stream removed\n"), []string{"peer-lost", "unknown"}, "-"},
		{"JAX: one of many came", one(fieldSteps + "E0708 11:02:01.101101 77 agent.cc:726] Shutdown barrier failed: INTERNAL: Shutdown barrier has failed.\nBarrier result: 'DEADLINE_EXCEEDED: Barrier timed out. Id: Shutdown::14::0.\n" +
			"# of tasks that reached the barrier: 1/256.\nThe first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:\n/job:jax_worker/replica:0/task:17\n"),
			[]string{"lone-waiter", "rank-stalled"}, "-"},
		{"JAX: two of eight did not come, one is named", one(fieldSteps + "DEADLINE_EXCEEDED: Barrier timed out. Id: step::14::0.\n" +
			"# of tasks that reached the barrier: 6/8.\nThe first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:\n/job:jax_worker/replica:0/task:5\n"),
			[]string{"rank-stalled"}, "-"},
		{"libfabric cannot be set up, then somebody cancelled", one("n1:8716:9558 [7] create_nccl_ofi_component:459 NCCL WARN NET/OFI Couldn't open AV. RC: -22, ERROR: Invalid argument\n" +
			"slurmstepd: error: *** STEP 4.0 ON n1 CANCELLED AT 2019-09-13T10:11:12 ***\n"), []string{"init-unreachable"}, ""},
		{"Open MPI cannot start", one("[b1:11363] *** An error occurred in MPI_Init\n[b1:11363] *** on a NULL communicator\nsrun: error: b1: tasks 3-4: Exited with exit code 1\n"), []string{"init-unreachable"}, ""},
		{"MPICH cannot start at a rank", one("Abort(1094543) on node 5 (rank 5 in comm 0): Fatal error in PMPI_Init: Other MPI error, error stack:\n"), []string{"init-unreachable"}, ""},
		{"an XPU that was reset", one(raisedBy(1, "RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)")), []string{"cuda-error"}, "rank 1"},
		{"an XPU without memory", one(fieldSteps + "|CCL_ERROR| worker.cpp:338 ccl_worker_func: oneCCL: ze error at zeCommandQueueExecuteCommandLists, code: ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY\n"), []string{"gpu-oom"}, ""},
		{"oneCCL names the setting that it needs", one(raisedBy(0, "RuntimeError: oneCCL: global.cpp:150 getenv_local_coord: EXCEPTION: to get local_idx/count from ATL, set CCL_ZE_IPC_EXCHANGE=sockets explicitly")), []string{"config-error"}, ""},
		{"a node under disk pressure", one(fieldSteps + "Message:        Pod The node had condition: [DiskPressure].\n"), []string{"storage-full"}, ""},
		{"Megascale names a host", one(fieldSteps + "E0712 10:22:41.101101 77 hang.cc:211] Megascale detects a hang that is likely caused by bad TPU chips on the following hosts. Please remove the hosts.\n" +
			"The host that have bad TPUs are: w3\nFull error digest:\n"), []string{"dataloader-stall", "gpu-hang"}, "node w3"},
		{"Megascale sees different programs", one(fieldSteps + "Megascale detects a hang that is likely caused by inconsistent TPU programs. This can be caused by some workers running with different JIT functions.\n"),
			[]string{"collective-mismatch"}, "-"},
		{"Megascale cannot tell", one(fieldSteps + "Megascale detects a hang but cannot determine the root cause. Please inspect the full digest below.\n"), []string{"unknown"}, "-"},
		{"an NPU without memory", one(raisedBy(0, "RuntimeError: The Inner error is reported as above. The process exits for this inner error, and the current working operator name is Conv2D.") +
			"[PID: 2109] 2026-04-09-21:56:40.384.694 Memory_Allocation_Failure(EL0004): Failed to allocate memory requested by GE module.\n"), []string{"gpu-oom"}, ""},
		{"a node that shuts down", one(fieldSteps + "Message:  Pod was terminated in response to imminent node shutdown.\n"), []string{"node-failure", "preempted"}, "-"},
		{"a job's deadline", one(fieldSteps + "2m  Warning  DeadlineExceeded  job/llm  Job was active longer than specified deadline\n"), []string{"time-limit"}, "-"},
		{"no node for the pods", one("3m  Warning  FailedScheduling  pod/w-0  0/12 nodes are available: 12 Insufficient nvidia.com/gpu.\n"), []string{"scheduler-error"}, "-"},
		{"no node at first, and an exception later", one("3m  Warning  FailedScheduling  pod/w-0  0/12 nodes are available: 12 Insufficient nvidia.com/gpu.\n" + fieldSteps + raisedBy(3, "ValueError: bad")), []string{"exception"}, "rank 3"},
		{"a device that is not free", one("Message: Pod Update plugin resources failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected\n"),
			[]string{"scheduler-error"}, "-"},
		{"a liveness probe", one(fieldSteps + "1m  Normal  Killing  pod/llm-0  Container pytorch failed liveness probe, will be restarted\n"), []string{"external-signal", "rank-stalled", "unknown"}, "-"},
		{"SageMaker: no machines", one("Failed. Reason: CapacityError: Unable to provision requested ML compute capacity.\n"), []string{"scheduler-error"}, "-"},
		{"SageMaker: too little memory", one(fieldSteps + "Failed. Reason: ClientError: Please use an instance type with more memory, or reduce the size of training data processed on an instance.\n"), []string{"host-oom"}, "-"},
		{"srun lost a daemon", one(fieldSteps + "srun: error: step_launch_notify_io_failure: aborting, io error with slurmstepd on node 3\nsrun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n" +
			"slurmstepd: error: *** STEP 61.0 ON c1 CANCELLED AT 2025-04-01T10:05:00 ***\n"), []string{"node-failure", "unknown"}, "-"},
		{"srun lost a daemon while a cancelled step ended", one(fieldSteps + "slurmstepd: error: *** STEP 61.0 ON c1 CANCELLED AT 2025-04-01T10:05:00 ***\n" +
			"srun: error: step_launch_notify_io_failure: aborting, io error with slurmstepd on node 3\n"), []string{"cancelled", "unknown"}, "-"},
		{"a shard that is not what its index says", one(raisedBy(4, "ValueError: Checksum failure: /tmp/mds/shard.00041.mds.zstd")), []string{"bad-sample"}, "rank 4"},
		{"a prolog failed", one("salloc: Prolog failure on node k3-6\nsalloc: error: Job allocation 23 has been revoked\n"), []string{"scheduler-error"}, "node k3-6"},
		{"PMIx heard nothing", one("slurmstepd: error:  mpi/pmix_v3: pmixp_coll_ring_reset_if_to: n1 [0]: pmixp_coll_ring.c:742: 0x14ce: collective timeout seq=0\n" +
			"slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2022-06-21T09:21:33 ***\n"), []string{"init-unreachable"}, "-"},
		{"a Gaudi that another process holds", one(raisedBy(0, "RuntimeError: synStatus=20 [Device already acquired] Device acquire failed.")), []string{"config-error"}, ""},
		{"NPUs that wait", one(fieldSteps + fmt.Sprintf(npu, 0) + fmt.Sprintf(npu, 1)), []string{"peer-lost", "collective-hang", "unknown"}, "-"},
		{"submitit started again and finished", one(life("04:17:53") + fieldSteps + taken + life("04:21:41") + fieldSteps + "submitit INFO (2022-07-12 04:31:02,118) - Job completed successfully\n"),
			[]string{"completed"}, "-"},
		{"submitit put the job back", one(life("04:17:53") + fieldSteps + taken), []string{"cancelled"}, "-"},
		{"an error that nobody knows behind the last step", one(strings.Repeat(fieldSteps, 2) + "[rank0]: FATAL flux capacitor: out of plutonium\n"), []string{"unknown"}, "-"},
		{"an error that nobody knows, and steps behind it", one(fieldSteps + "[rank0]: FATAL flux capacitor: out of plutonium\n" + "step 4 loss 2.1\nstep 5 loss 2.1\n"), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}
