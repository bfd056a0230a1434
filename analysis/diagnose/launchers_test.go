package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"faultline/simulate"
)

// Other batch systems than SLURM write why they ended a job into its output, too; LSF puts it above what the job printed.
func TestFieldBatchSystems(t *testing.T) {
	lsf := func(reason string) map[string]string {
		return one("Sender: LSF System <lsf@b1>\nSubject: Job 11: <t> in cluster <c> Exited\n\n" + reason + "\nExited with exit code 140.\n\nThe output (if any) follows:\n\n" + strings.Repeat(fieldSteps, 3))
	}
	for _, c := range []fieldCase{
		{"PBS: wall time", one(fieldSteps + "=>> PBS: job killed: walltime 21643 exceeded limit 21600\n"), []string{"time-limit"}, "-"},
		{"PBS: memory", one(fieldSteps + "=>> PBS: job killed: mem 5402931kb exceeded limit 5368709kb\n"), []string{"host-oom"}, "-"},
		{"LSF: run limit", lsf("TERM_RUNLIMIT: job killed after reaching LSF run time limit."), []string{"time-limit"}, "-"},
		{"LSF: memory", lsf("TERM_MEMLIMIT: job killed after reaching LSF memory usage limit."), []string{"host-oom"}, "-"},
		{"LSF: a person", lsf("TERM_OWNER: job killed by owner."), []string{"cancelled"}, "-"},
		{"LSF: preempted", lsf("TERM_PREEMPT: job killed after preemption."), []string{"preempted"}, "-"},
		{"Volcano: preempted", one(fieldSteps + "  message: 'Pod is evicted, because of preempt'\n"), []string{"preempted"}, "-"},
		{"Ray: preempted", one(fieldSteps + "(TrainController pid=7) The actor died because its node has died. Node Id: b1\n(TrainController pid=7) \tthe actor's node was preempted: spot\n"), []string{"preempted"}, "-"},
		{"an exception before PBS ended the job", one(fieldSteps + raisedBy(3, "ValueError: bad") + "=>> PBS: job killed: walltime 21643 exceeded limit 21600\n"), []string{"exception"}, "rank 3"},
	} {
		c.check(t)
	}
}

// What a launcher says of a host that it cannot reach, or lost, is neither a good end nor the program's doing.
func TestFieldHostsAndPaths(t *testing.T) {
	for _, c := range []fieldCase{
		{"mpirun lost a daemon", one(fieldSteps + "ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[1,0],0] on node l\n  Remote daemon: [[1,0],1] on node w-0\n"), []string{"peer-lost", "unknown"}, "-"},
		{"mpirun cannot reach a host", one("ssh: connect to host 10.0.0.7 port 2222: Connection refused\nORTE was unable to reliably start one or more daemons.\n"), []string{"init-unreachable"}, "-"},
		{"a master that nobody knows", one(raisedBy(1, "ValueError: host not found: Name or service not known")), []string{"init-unreachable"}, ""},
		{"no launcher on the path", one("/var/spool/slurmd/job00091/slurm_script: line 22: torchrun: command not found\n"), []string{"config-error"}, "-"},
		{"a command is missing that nothing needs", one("run.sh: line 3: module: command not found\n" + fieldSteps), []string{"completed"}, "-"},
		{"an image of a DALI pipeline", one(raisedBy(3, "RuntimeError: Critical error in pipeline:\nError in thread 2: [/d/image_factory.cc:100] Unrecognized image format. Supported formats are: JPEG, PNG. File: /d/x.JPEG")), []string{"bad-sample"}, "rank 3"},
		{"s3fs is told to slow down", one(raisedBy(5, "OSError: [Errno 16] Please reduce your request rate.")), []string{"storage-retries-exhausted"}, ""},
		{"a compiler's cache on NFS", one(raisedBy(3, "ImportError: /home/u/.triton/cache/4/__triton_launcher.so: cannot stat shared object: Stale file handle")), []string{"storage-unresponsive"}, "rank 3"},
		{"BeeGFS does not reach its server", one(raisedBy(6, "OSError: [Errno 70] Communication error on send: '/mnt/beegfs/a.bin'")), []string{"storage-unresponsive"}, "rank 6"},
		{"a data set that is not in the cache", one(raisedBy(0, "datasets.exceptions.OfflineModeIsEnabled: Offline mode is enabled. Cannot reach 'a/b' on the Hub")), []string{"config-error"}, ""},
		{"a hub out of reach", one(raisedBy(0, "ConnectionError: Couldn't reach 'a/b' on the Hub (ConnectionError)")), []string{"storage-retries-exhausted"}, ""},
		{"srun cannot use its settings", one("srun: fatal: SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.\n"), []string{"config-error"}, "-"},
		{"shared memory of an earlier run", one(raisedBy(1, "FileExistsError: [Errno 17] File exists: '/000010_locals'")), []string{"config-error"}, ""},
		{"NCCL's plug-in is not there", one(raisedBy(1, "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:275, invalid usage, NCCL version 2.21.5\nncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\nError: network AWS Libfabric not found.")), []string{"config-error"}, ""},
	} {
		c.check(t)
	}
}

// What is shown of a store that cannot be reached is what gave up, not one of the tries.
func TestStoreOutOfReachIsToldByWhatGaveUp(t *testing.T) {
	log := "[W socket.cpp:663] [c10d] The client socket has failed to connect to [localhost]:29500 (errno: 111 - Connection refused).\n" +
		"[E socket.cpp:922] [c10d] The client socket has timed out after 60s while trying to connect to (node1, 29500).\n"
	v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(log)}}, nil, 0)).Verdict
	if v.Mechanism != "init-unreachable" || strings.Contains(v.Summary, "One try") {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
}

// A socket that is not connected is no file system.
func TestSocketIsNoStorage(t *testing.T) {
	log := fieldSteps + "terminate called after throwing an instance of 'std::system_error'\n  what():  Transport endpoint is not connected\n" +
		"Traceback (most recent call last):\n  File \"/usr/lib/python3.6/multiprocessing/spawn.py\", line 115, in _main\n    self = reduction.pickle.load(from_parent)\n_pickle.UnpicklingError: pickle data was truncated\n"
	for _, c := range Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(log)}}, nil, 0)).Verdict.Candidates {
		if c.Mechanism == "storage-unresponsive" || c.Mechanism == "checkpoint-io" {
			t.Errorf("said %s", c.Mechanism)
		}
	}
}

// A container that does not start is told by its runtime's own words, and by a node only where another one's started.
func TestFieldContainers(t *testing.T) {
	pyxis := func(task int, reason string) string {
		return fmt.Sprintf("%[1]d: slurmstepd: error: pyxis: container start failed with error code: 1\n%[1]d: slurmstepd: error: pyxis: printing enroot log file:\n"+
			"%[1]d: slurmstepd: error: pyxis:     %[2]s\n%[1]d: slurmstepd: error: pyxis: couldn't start container\n", task, reason)
	}
	const mount = "enroot-mount: failed to mount: /data at /tmp/e/data: Permission denied"
	for _, tc := range []struct{ name, text, root, says string }{
		{"every node", pyxis(0, mount) + pyxis(1, mount) + "srun: error: n1: task 0: Exited with exit code 1\nsrun: error: n2: task 1: Exited with exit code 1\n", "-", "Permission denied"},
		{"one of two", pyxis(1, mount) + "srun: error: n2: task 1: Exited with exit code 1\nsrun: Terminating StepId=7.0\nsrun: error: n1: task 0: Terminated\n", "node n2", "enroot-mount: failed to mount: /data"},
		{"a hook that crashed", pyxis(1, "     34 Segmentation fault      (core dumped) | pwck") + pyxis(1, "nvidia-container-cli: ldcache error: process /sbin/ldconfig terminated with signal 9") +
			"srun: error: n2: task 1: Exited with exit code 1\nsrun: Terminating StepId=7.0\nsrun: error: n1: task 0: Terminated\n", "node n2", "ldcache error"},
	} {
		fieldCase{tc.name, one(tc.text), []string{"scheduler-error"}, tc.root}.check(t)
		v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(tc.text)}}, nil, 0)).Verdict
		if !strings.Contains(v.Summary, tc.says) {
			t.Errorf("%s: %q does not give the reason %q", tc.name, v.Summary, tc.says)
		}
	}
}

// Clusters whose nodes are known by their addresses: an address has no domain to cut off.
func TestNodesKnownByTheirAddress(t *testing.T) {
	for _, c := range []fieldCase{
		{"a launch that failed", one("srun: error: Task launch for StepId=8.0 failed on node 10.0.0.7: Communication connection failure\n"), []string{"scheduler-error"}, "node 10.0.0.7"},
		{"a node that failed", one(fieldSteps + "srun: error: Node failure on 10.0.0.7\n"), []string{"node-failure"}, "node 10.0.0.7"},
		{"one with a domain", one(fieldSteps + "srun: error: Node failure on GPU-7.cluster.example\n"), []string{"node-failure"}, "node gpu-7"},
	} {
		c.check(t)
	}
}
