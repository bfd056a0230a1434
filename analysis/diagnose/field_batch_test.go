package diagnose

import "testing"

// What the batch systems beside SLURM, and those that start processes for the job, say of its end.
func TestEndsThatOtherSystemsTellOf(t *testing.T) {
	const (
		detail = "Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.\n"
		actor  = "The actor is dead because its worker process has died. " + detail
		raylet = "(raylet) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker. Worker IP address: 10.0.50.112 Worker port: 10015 Worker PID: 2938 " + detail
		sge    = "05/04/2011 03:36:38|  main|n7|W|job 48.1 exceeded hard wallclock time - initiate terminate method\n"
		memory = "W|job 48 exceeds job hard limit \"h_vmem\" of queue \"gpu.q@n7\" (34400000000.00000 > limit:34359738368.00000) - sending SIGKILL\n"
		exited = "  \"statusReason\": \"Essential container in task exited\",\n"
		done   = "[after training is done] datetime: 2025-03-04 10:36:01\n"
	)
	for _, c := range []fieldCase{
		{"Ray lost an actor", one(fieldSteps + actor), []string{"external-signal", "host-oom", "native-crash", "peer-lost", "unknown"}, "-"},
		{"Ray lost a worker", one(fieldSteps + raylet), []string{"external-signal", "host-oom", "native-crash", "peer-lost", "unknown"}, "-"},
		{"an actor is lost because of what a rank raised", one(fieldSteps + raisedBy(3, "ValueError: bad") + actor), []string{"exception"}, "rank 3"},
		{"an actor's node is lost", one(fieldSteps + "The actor is dead because its node has died. Node Id: 56b97436e67393f15565e024278867700c2bd0ec6ca9e0dac7261fd1\n"), []string{"node-failure", "peer-lost", "unknown"}, "-"},
		{"Grid Engine's limit", one(fieldSteps + sge), []string{"time-limit"}, "-"},
		{"Grid Engine's limit of memory", one(fieldSteps + memory), []string{"host-oom"}, "-"},
		{"Grid Engine's mail about another job", one("SLURM_JOB_ID=4242\n" + fieldSteps + sge + memory), []string{"completed"}, "-"},
		{"AWS Batch's limit", one(fieldSteps + "\"statusReason\": \"Job attempt duration exceeded timeout\",\n"), []string{"time-limit"}, "-"},
		{"AWS Batch lost a host", one(fieldSteps + "\"statusReason\": \"Host EC2 (instance i-0282b396e52b4c95d) terminated.\",\n"), []string{"node-failure", "preempted"}, "-"},
		{"AWS Batch and memory", one(fieldSteps + "\"reason\": \"OutOfMemoryError: Container killed due to memory usage\",\n" + exited), []string{"host-oom"}, "-"},
		{"a container that ended", one(fieldSteps + exited), []string{"completed"}, "-"},
		{"a container that ended below the end", one(fieldSteps + done + exited), []string{"completed"}, "-"},
		{"SLURM's mail about a node", one(fieldSteps + "Slurm Job_id=77 Name=train Failed, Run time 1-17:47:31, NODE_FAIL, ExitCode 0\n"), []string{"node-failure"}, "-"},
		{"SLURM's mail below the end", one(fieldSteps + done + "Slurm Job_id=77 Name=train Failed, Run time 1-17:47:31, NODE_FAIL, ExitCode 0\n"), []string{"unknown"}, "-"},
	} {
		c.check(t)
	}
}
