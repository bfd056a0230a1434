package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// Launchers beside torchrun, and what follows in all ranks from the end of one.
func TestFieldOtherLaunchers(t *testing.T) {
	const (
		shut   = "Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to allreduce, allgather or broadcast a tensor after one of the ranks finished execution."
		caught = "Traceback (most recent call last):\n  File \"/opt/horovod/torch/mpi_ops.py\", line 869, in synchronize\n    wait(handle)\nRuntimeError: " + shut +
			"\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/a/train.py\", line 9, in main\n    optimizer.step()\nhorovod.common.exceptions.HorovodInternalError: " + shut + "\n"
		own     = "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\nKeyError: 'tok'\n"
		reports = "RuntimeError: Horovod detected that one or more processes exited with non-zero status, thus causing the job to be terminated. The first process to do so was:\nProcess name: 2\nExit code: 1\n"
		bad     = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
	)
	intel := func(rank, pid int, node, how string) string {
		return fmt.Sprintf("\n%s\n%s=   RANK %d PID %d RUNNING AT %s\n=   KILLED BY SIGNAL: %s\n%[1]s\n", strings.Repeat("=", 80), bad, rank, pid, node, how)
	}
	mpich := func(code, says string) string {
		return bad + "=   PID 48211 RUNNING AT c117\n=   EXIT CODE: " + code + "\n=   CLEANING UP REMAINING PROCESSES\n=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n=====\n" + says
	}
	for _, c := range []fieldCase{
		{"horovodrun: one failed, the others say that Horovod stopped", one(fieldSteps + taggedWith("[0]<stderr>:", caught) + taggedWith("[1]<stderr>:", caught) + taggedWith("[2]<stderr>:", own) + reports),
			[]string{"exception"}, "rank 2"},
		{"horovodrun: nobody says why", one(fieldSteps + taggedWith("[0]<stderr>:", caught) + taggedWith("[1]<stderr>:", caught)), []string{"peer-lost", "unknown"}, "-"},
		{"Horovod may have gone on without a host", one(fieldSteps + taggedWith("[0]<stderr>:", caught) + "step 4 loss 2.12\nstep 5 loss 2.11\nTraining finished.\n"), []string{"peer-lost", "unknown"}, "-"},
		{"and did not come to its end", one(fieldSteps + taggedWith("[0]<stderr>:", caught) + "step 4 loss 2.12\n"), []string{"peer-lost", "unknown"}, "-"},
		{"Intel MPI: the one that crashed stands between those that were killed", one(fieldSteps + intel(3, 70, "c-3", "9 (Killed)") + intel(4, 71, "c-4", "11 (Segmentation fault)") + intel(5, 72, "c-4", "9 (Killed)")),
			[]string{"native-crash"}, "rank 4, node c-4"},
		{"Intel MPI: all were killed, nobody was first", one(fieldSteps + intel(3, 70, "c-3", "9 (Killed)") + intel(4, 71, "c-4", "9 (Killed)")), []string{"external-signal", "host-oom"}, "-"},
		{"MPICH: a crash", one(fieldSteps + mpich("139", "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)\n")), []string{"native-crash"}, ""},
		{"MPICH: a kill", one(fieldSteps + mpich("9", "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n")), []string{"external-signal", "host-oom"}, ""},
		{"MPICH: an error", one(fieldSteps + mpich("1", "")), []string{"exception", "unknown"}, "-"},
		{"a rank that calls MPI_Abort need not be the one that failed", one(fieldSteps + "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\nwith errorcode -1.\n"), []string{"unknown"}, "-"},
		{"the same under MPICH", one(fieldSteps + "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 3\n"), []string{"unknown"}, "-"},
		{"Paddle's launcher", one(fieldSteps + "LAUNCH ERROR 2023-06-29 02:36:22,520 Container failed !!!\nContainer rank 3 status failed cmd ['/usr/bin/python', '-u', 'train.py'] code 1 log log/workerlog.3 \n"), []string{"unknown"}, "-"},
		{"MindSpore's launcher", one(fieldSteps + "[ERROR] ME(1:2,MainProcess):2025-03-10-09:40:12.440.000 [process_entity/_api.py:268] Worker process 163 exit with exception.\n"), []string{"unknown"}, "-"},
		{"YARN names the host", one(fieldSteps + "25/01/15 10:21:44 ERROR YarnScheduler: Lost executor 4 on ip-9-44: Container killed by YARN for exceeding physical memory limits. 61.2 GB of 60 GB physical memory used.\n" +
			"Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    run()\npy4j.protocol.Py4JJavaError: An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"), []string{"host-oom"}, "node ip-9-44"},
		{"Ray's head is gone", one(fieldSteps + "(RayTrainWorker pid=1133, ip=10.0.0.5) [2024-05-26 11:26:16,798 E 1133 1528] gcs_rpc_client.h:554: Failed to connect to GCS within 60 seconds. GCS may have been killed. It's either GCS is terminated by `ray stop` or is killed unexpectedly.\n"), []string{"peer-lost", "unknown"}, "-"},
		{"Ray's head was not reached", one("Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in <module>\n    ray.init()\nRuntimeError: Failed to connect to GCS. Last 0 lines of error files:\n"), []string{"init-unreachable"}, "-"},
		{"a node has not joined Ray's cluster", one("(TaskRunner pid=11) ValueError: Total available GPUs 8.0 is less than total desired GPUs 16\n"), []string{"config-error"}, "-"},
		{"SLURM's mail about the job", one(fieldSteps + "Slurm Job_id=77 Name=train Ended, Run time 1-00:00:12, TIMEOUT, ExitCode 0\n"), []string{"time-limit"}, "-"},
		{"mpirun, cut off", one(fieldSteps + "Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n"), []string{"unknown"}, "-"},
		{"mpirun of a process that did not leave MPI", one(fieldSteps + "mpirun has exited due to process rank 3 with PID 0 on\nnode cn12 exiting improperly. There are three reasons this could occur:\n"), []string{"unknown"}, "-"},
		{"Hydra, cut off", one(fieldSteps + "Error executing job with overrides: ['trainer.devices=8']\n"), []string{"unknown"}, "-"},
		{"Ctrl-C in front of srun", one(fieldSteps + "srun: interrupt (one more within 1 sec to abort)\nsrun: StepId=77.0 tasks 0-7: running\n^Csrun: sending Ctrl-C to StepId=77.0\n"), []string{"external-signal"}, "-"},
		{"and SLURM ended the step", one(fieldSteps + "^Csrun: sending Ctrl-C to StepId=77.0\nsrun: Job step aborted: Waiting up to 32 seconds for job step to finish.\nslurmstepd: error: *** STEP 77.0 ON n1 CANCELLED AT 2025-03-04T10:20:12 ***\n"), []string{"cancelled", "unknown"}, "-"},
		{"a session that broke off", one(fieldSteps + "client_loop: send disconnect: Broken pipe\n"), []string{"unknown"}, "-"},
		{"when all was done", one(fieldSteps + "Training completed.\nConnection to gpu-17 closed by remote host.\n"), []string{"completed"}, "-"},
		{"Ray of two versions", one("Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in <module>\n    ray.init()\nRuntimeError: Version mismatch: The cluster was started with:\n    Ray: 2.40.0\n    Python: 3.10.12\nThis process on node 10.0.0.4 was started with:\n    Ray: 2.43.0\n"), []string{"version-mismatch"}, "-"},
		{"DeepSpeed and another CUDA", one(raisedBy(1, "deepspeed.ops.op_builder.builder.CUDAMismatchException: >- DeepSpeed Op Builder: Installed CUDA version 11.8 does not match the version torch was compiled with 12.1, unable to compile cuda/cpp extensions without a matching cuda version.")), []string{"version-mismatch"}, "rank 1"},
		{"JAX and another cuDNN", one("2025-09-03 11:00:01.331: E external/xla/xla/stream_executor/cuda/cuda_dnn.cc:456] Loaded runtime CuDNN library: 8.9.4 but source was compiled with: 9.1.0.  CuDNN library needs to have matching major version.\n"), []string{"version-mismatch"}, "-"},
		{"a GPU that does not answer at the start", one(raisedBy(1, "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero.")), []string{"cuda-error"}, "rank 1"},
		{"no GPU of AMD's", one(raisedBy(1, "RuntimeError: No HIP GPUs are available")), []string{"cuda-error"}, "rank 1"},
		{"a data set that the hub does not know", one(raisedBy(1, "datasets.exceptions.DatasetNotFoundError: Dataset 'a/b' doesn't exist on the Hub or cannot be accessed.")), []string{"config-error"}, "rank 1"},
		{"SkyPilot: it failed", one(fieldSteps + "Job finished (status: FAILED).\n"), []string{"unknown"}, "-"},
		{"SkyPilot: somebody cancelled it", one(fieldSteps + "Job finished (status: CANCELLED).\n"), []string{"cancelled"}, "-"},
		{"SkyPilot: it came to its end", one(fieldSteps + "Job finished (status: SUCCEEDED).\n"), []string{"completed"}, "-"},
		{"what kubectl describes ended with an error", map[string]string{"describe.txt": "    State:          Terminated\n      Reason:       Error\n      Exit Code:    137\n", "train.log": fieldSteps}, []string{"unknown"}, "-"},
		{"a container beside it that was ended when it had finished", map[string]string{"describe.txt": "    State:          Terminated\n      Reason:       Error\n      Exit Code:    143\n", "train.log": fieldSteps + "Training completed with eval loss 1.2\n"}, []string{"completed"}, "-"},
		{"what it describes came to its end", map[string]string{"describe.txt": "    State:          Terminated\n      Reason:       Completed\n      Exit Code:    0\n", "train.log": fieldSteps}, []string{"completed"}, "-"},
		{"two OpenMP runtimes", one("OMP: Error #15: Initializing libiomp5.so, but found libomp.so already initialized.\n"), []string{"version-mismatch"}, "-"},
		{"Spark does not say why", one(fieldSteps + "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    run()\npy4j.protocol.Py4JJavaError: An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"), []string{"peer-lost", "unknown"}, "-"},
	} {
		c.check(t)
	}
}

// taggedWith is a text with a launcher's tag in front of each line.
func taggedWith(tag, text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(tag + l)
	}
	return b.String()
}

// Clouds take machines back.
func TestFieldMachinesTakenBack(t *testing.T) {
	for _, c := range []fieldCase{
		{"Compute Engine", one(fieldSteps + "ERROR 2024-09-01T10:12:31.0Z service The replica workerpool1-2 was preempted: Instance was preempted by Compute Engine.\n"), []string{"preempted"}, "-"},
		{"EC2", one(fieldSteps + "2024-05-05 12:06:05,104 watcher[811] WARNING EC2 Spot Instance interruption notice received\nW0505 12:08:06.1 140 torch/distributed/elastic/agent/server/api.py:704] Received 15 death signal, shutting down workers\n"), []string{"preempted"}, "-"},
		{"Azure", one(fieldSteps + "Preempt event received: {'EventType': 'Preempt', 'ResourceType': 'VirtualMachine', 'EventStatus': 'Scheduled'}\n"), []string{"preempted"}, "-"},
		{"a machine that Azure only restarts", one(fieldSteps + "event received: {'EventType': 'Reboot', 'ResourceType': 'VirtualMachine', 'EventStatus': 'Scheduled'}\n"), []string{"completed"}, "-"},
		{"who watches for it", one("Starting EC2 Spot Instance interruption notice watcher\n" + fieldSteps + raisedBy(1, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")), []string{"gpu-oom"}, "rank 1"},
		{"an earlier machine", one("previous instance was preempted, resuming from step 0\n" + fieldSteps), []string{"completed"}, "-"},
		{"a word of it in a setting", one("spot: will watch for an EC2 Spot Instance interruption\n" + fieldSteps), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}

// What accelerators beside CUDA's, and other systems, say of memory.
func TestFieldMemoryElsewhere(t *testing.T) {
	const (
		adopted = "slurmstepd: error: Detected 1 oom_kill event in StepId=77.extern. Some of the step tasks have been OOM Killed.\n"
		bus     = "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n"
	)
	for _, c := range []fieldCase{
		{"MindSpore", one(fieldSteps + raisedBy(3, "RuntimeError: Device(id:3) memory isn't enough and alloc failed, kernel name: Default/MatMul-op311, alloc size: 2147483648B.")), []string{"gpu-oom"}, "rank 3"},
		{"the kubelet's event", one(fieldSteps + "Warning  SystemOOM  2m  kubelet, node-7  System OOM encountered, victim process: python, pid: 33121\n"), []string{"host-oom"}, "-"},
		{"the kubelet's event of somebody else", one(fieldSteps + "Warning  SystemOOM  6d  kubelet, node-7  System OOM encountered, victim process: prometheus, pid: 33121\n"), []string{"completed"}, "-"},
		{"a service that systemd's daemon for it ended", one(fieldSteps + "systemd-oomd[812]: Killed /system.slice/prometheus.service due to memory pressure for /system.slice being 71.12% > 50.00% for > 20s with reclaim activity\n"), []string{"completed"}, "-"},
		{"HTCondor", one(fieldSteps + "012 (1234.000.000) 2025-09-03 11:20:12 Job was held.\n\tError from slot1@n7: Docker job has gone over memory limit of 65536 Mb\n"), []string{"host-oom"}, "-"},
		{"systemd's daemon for it", one(fieldSteps + "systemd-oomd[812]: Killed /user.slice/user-1000.slice/session-3.scope due to memory pressure for /user.slice being 71.12% > 50.00% for > 20s with reclaim activity\nKilled\n"), []string{"host-oom"}, "-"},
		{"somebody's who had logged in, when the job had finished", one(fieldSteps + "Training completed.\n" + adopted), []string{"completed"}, "-"},
		{"in the same step, while the job ran", one(fieldSteps + adopted), []string{"host-oom"}, "-"},
		{"shared memory of a rank and its loader", one(fieldSteps + bus + childDied(5, 9, -7)), []string{"dataloader-worker-killed"}, "rank 9, node gn01"},
		{"a rank's bus error alone", one(fieldSteps + childDied(5, 9, -7)), []string{"native-crash"}, "rank 9, node gn01"},
		{"Neuron's memory is broken", one(fieldSteps + raisedBy(3, "RuntimeError: Bad StatusOr access: INTERNAL: RunNeuronCCImpl: error condition NEURONX_RT_EXEC failed: nrt_execute status=1201")), []string{"gpu-ecc"}, "rank 3"},
		{"Neuron waited in vain", one(fieldSteps + raisedBy(3, "RuntimeError: Bad StatusOr access: INTERNAL: RunNeuronCCImpl: error condition NEURONX_RT_EXEC failed: nrt_execute status=5")), []string{"peer-lost", "unknown"}, "-"},
		{"Windows' paging file, in another language", one(fieldSteps + raisedBy(1, "OSError: [WinError 1455] 页面文件太小，无法完成操作。 Error loading \"x.dll\" or one of its dependencies.")), []string{"host-oom"}, ""},
		{"a thread of NCCL had nothing to accept", one(fieldSteps + "gpu1:5511:5901 [0] NCCL WARN [Service thread] Accept failed Resource temporarily unavailable\n" + raisedBy(3, "ValueError: bad")), []string{"exception"}, "rank 3, node gpu1"},
		{"a thread that could not be started", one(fieldSteps + "OpenBLAS blas_thread_init: pthread_create failed for thread 63 of 64: Resource temporarily unavailable\n"), []string{"resource-limit"}, ""},
	} {
		c.check(t)
	}
}

// Flux tells what ended a job in words of its own, without a time of day.
func TestFieldFlux(t *testing.T) {
	const (
		doom = "261.098s: flux-shell[0]: FATAL: doom: rank 2 on host n12 exited and exit-timeout=30s has expired\n261.446s: job.exception type=exec severity=0 rank 2 on host n12 exited and exit-timeout=30s has expired\n"
		oom  = "230.432s: flux-shell[1]: ERROR: oom: Memory cgroup out of memory: killed 1 task on n12.\n230.474s: flux-shell[1]: ERROR: oom: memory.peak = 444.927G\n"
	)
	for _, c := range []fieldCase{
		{"the time was up", one(fieldSteps + "3600.215s: job.exception type=timeout severity=0 resource allocation expired\nflux-job: task(s) Terminated\n"), []string{"time-limit"}, "-"},
		{"it was cancelled", one(fieldSteps + "1200.215s: job.exception type=cancel severity=0 \nflux-job: task(s) Terminated\n"), []string{"cancelled"}, "-"},
		{"a node ran out of memory", one(fieldSteps + oom + doom + "flux-job: task(s) Killed\n"), []string{"host-oom"}, "node n12"},
		{"a node was lost", one(fieldSteps + "230.432s: job.exception type=node-failure severity=2 lost contact with job shell on n12 (shell rank 3)\n231.446s: job.exception type=exec severity=0 lost contact with job shell on broker n12 (rank 17)\n"), []string{"node-failure"}, "node n12"},
		{"of the task that ended first no line says why", one(fieldSteps + doom + "flux-job: task(s) exited with exit code 1\n"), []string{"unknown"}, "node n12"},
		{"one that raised something", one(fieldSteps + raisedBy(2, "KeyError: 'labels'") + doom + "flux-job: task(s) exited with exit code 1\n"), []string{"exception"}, "rank 2"},
		{"all tasks ended well", one(fieldSteps + "INFO: Training finished.\n"), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}

// Docker did not start the container; what Docker says below steps of a job is of another.
func TestFieldDockerDidNotStart(t *testing.T) {
	const daemon = "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].\n"
	for _, c := range []fieldCase{
		{"no runtime for GPUs", one(daemon), []string{"config-error"}, "-"},
		{"above the steps of a job", one(daemon + fieldSteps + "INFO: Training finished.\n"), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}

// childDied is torchrun's account of one process.
func childDied(local, rank, code int) string {
	return fmt.Sprintf("train.py FAILED\n------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n  time      : 2025-03-04_10:20:04\n  host      : gn01\n"+
		"  rank      : %d (local_rank: %d)\n  exitcode  : %d (pid: 2235)\n  error_file: <N/A>\n  traceback : Signal %d received by PID 2235\n============================================================\n", rank, local, code, -code)
}
