package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"faultline/simulate"
)

// labelled is a text with srun's label of a task in front of each line.
func labelled(task int, text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		fmt.Fprintf(&b, "%d: %s", task, l)
	}
	return b.String()
}

// waitedAt is what the watchdogs of ranks say at an hour.
func waitedAt(hour int, ranks ...int) string {
	return strings.ReplaceAll(waitedFor(ranks...), " 09:20:00", fmt.Sprintf(" %02d:20:00", hour))
}

// signalledAt is what a rank says that was told of the time-out, with nothing in flight.
func signalledAt(hour, rank, by int) string {
	return fmt.Sprintf("[rank%d]:[E311 %02d:20:02.223344556 ProcessGroupNCCL.cpp:1282] [PG ID 0 PG GUID 0(default_pg) Rank %d] Received a global dump signal from rank %d, and will start to dump the debug info. Last enqueued NCCL work: 0, last completed NCCL work: 0.\n", rank, hour, rank, by)
}

// Logs of many nodes in one file, and what a node's name stands in.
func TestFieldWhichNodeWroteIt(t *testing.T) {
	const warn = "n1:900:950 [0] misc/socket.cc:881 NCCL WARN Call to recv from 10.0.0.7<41022> failed : Connection refused\n"
	exits := "srun: error: n1: task 0: Exited with exit code 1\nsrun: error: n2: task 1: Terminated\n"
	merged := func(second int) map[string]string {
		return one(labelled(0, warn+waitedAt(9, 0, 1, 2, 3)) + labelled(1, waitedAt(second, 5, 6, 7)+signalledAt(second, 4, 0)) + exits)
	}
	files := map[string]string{}
	for r := range 8 {
		text := waitedAt(9, r)
		if r == 4 {
			text = signalledAt(9, 4, 0)
		}
		files[fmt.Sprintf("job-4242-n%d-rank%d.err", 1+r/4, r)] = text
	}
	for _, c := range []fieldCase{
		{"srun's labels are launchers", merged(9), []string{"rank-stalled"}, "rank 4, node n2"},
		{"whose clocks show other hours", merged(10), []string{"rank-stalled"}, "rank 4, node n2"},
		{"a file for each rank", files, []string{"rank-stalled"}, "rank 4, node n2"},
		{"files that call a node one", map[string]string{"node-n1.log": waitedAt(9, 0, 1, 2, 3), "node-n2.log": "slurmstepd: error: Detected 1 oom_kill event in StepId=44.0. " +
			"Some of the step tasks have been OOM Killed.\nsrun: error: n2: task 1: Out Of Memory\n" + waitedAt(9, 5, 6, 7)}, []string{"host-oom"}, "node n2"},
	} {
		c.check(t)
	}
}

// What the client of an experiment tracker tells of its own servers did not end the job.
func TestFieldTelemetryCaughtItself(t *testing.T) {
	const frames = "  File \"/usr/lib/python3/dist-packages/wandb/sdk/lib/retry.py\", line 131, in __call__\n    result = self._call_fn(*args, **kwargs)\n" +
		"  File \"/usr/lib/python3/dist-packages/requests/adapters.py\", line 700, in send\n    raise ConnectionError(e, request=request)\n" +
		"requests.exceptions.ConnectionError: HTTPSConnectionPool(host='api.wandb.ai', port=443): Max retries exceeded with url: /graphql\n"
	const head = "Traceback (most recent call last):\n"
	const thread = "Exception in thread Thread-7:\n" + head + "  File \"/usr/lib/python3.12/threading.py\", line 1075, in _bootstrap_inner\n    self.run()\n"
	const program = head + "  File \"/a/train.py\", line 9, in <module>\n    wandb.init()\n"
	for _, c := range []fieldCase{
		{"told", map[string]string{"a.log": fieldSteps, "b.log": head + frames}, []string{"completed"}, "-"},
		{"in a thread of it", map[string]string{"a.log": fieldSteps, "b.log": thread + frames}, []string{"completed"}, "-"},
		{"something else ended it", one(head + frames + raisedBy(3, "KeyError: 'labels'")), []string{"exception"}, "rank 3"},
		{"it reached the program", one(program + frames), []string{"exception", "unknown"}, "-"},
	} {
		c.check(t)
	}
}

// clocked are steps with their times, one a minute from a minute after nine on.
func clocked(minute, from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		at := minute + i - from
		fmt.Fprintf(&b, "2026-05-06 %02d:%02d:00,000 step %d loss 2.%03d\n", 9+at/60, at%60, i, 999-i)
	}
	return b.String()
}

// torchrunAt is the line by which torchrun begins.
func torchrunAt(clock string) string {
	return "W0506 " + clock + ".000000 900 torch/distributed/run.py:792] Setting OMP_NUM_THREADS environment variable for each process to be 1 in default\n"
}

// What a job died of before it was started again stands in the files of some nodes; that it went on, in those of others.
func TestFieldAttemptsOverFilesOfNodes(t *testing.T) {
	const (
		told  = "srun: error: n2: task 1: Exited with exit code 1\nsrun: Terminating StepId=77.0\nslurmstepd: error: *** STEP 77.0 ON n1 CANCELLED AT 2026-05-06T09:31:00 ***\nsrun: error: n1: task 0: Terminated\n"
		over  = "INFO: Training finished.\n"
		key   = "KeyError: 'labels'"
		crash = "srun: error: n1: task 0: Segmentation fault (core dumped)\nsrun: Terminating StepId=77.0\n"
	)
	first, second := clocked(0, 0, 30), clocked(60, 25, 50)
	died := raisedBy(5, key) + gone(1)
	losses := strings.Repeat("{'loss': 2.1488, 'grad_norm': 0.2884, 'learning_rate': 0.0003, 'epoch': 0.0024}\n", 12)
	for _, c := range []fieldCase{
		{"torchrun began again on all", map[string]string{"j-4242-n1.err": torchrunAt("08:59:00") + first + torchrunAt("09:59:00") + second + over,
			"j-4242-n2.err": torchrunAt("08:59:00") + died + torchrunAt("09:59:00")}, []string{"completed"}, "-"},
		{"and failed again", map[string]string{"j-4242-n1.err": torchrunAt("08:59:00") + first + torchrunAt("09:59:00") + second + raisedBy(1, "ValueError: bad") + gone(1),
			"j-4242-n2.err": torchrunAt("08:59:00") + died + torchrunAt("09:59:00")}, []string{"exception"}, "rank 1, node n1"},
		{"something else began that trained nothing", map[string]string{"j-4242-n1.err": torchrunAt("08:59:00") + first + torchrunAt("09:31:00") + raisedBy(1, "ValueError: no such model") + gone(1),
			"j-4242-n2.err": torchrunAt("08:59:00") + died + torchrunAt("09:31:00")}, []string{"exception"}, ""},
		{"steps without numbers", map[string]string{"j-4242-n1.err": torchrunAt("08:59:00") + losses + torchrunAt("09:59:00") + losses + raisedBy(1, "ValueError: bad") + gone(1),
			"j-4242-n2.err": torchrunAt("08:59:00") + died + torchrunAt("09:59:00")}, []string{"exception"}, "rank 1, node n1"},
		{"another node's torchrun came late", one(torchrunAt("08:59:00") + died + torchrunAt("09:05:00") + "[rank1]: ok\n"), []string{"exception"}, "rank 5"},
		{"SLURM ended the step, and others went on", map[string]string{"j-4242-n1.err": first + second + over, "j-4242-n2.err": raisedBy(5, key), "slurm-77.out": told}, []string{"completed"}, "-"},
		{"and it crashed", map[string]string{"j-4242-n1.err": first + second, "j-4242-n2.err": "ok\n", "slurm-77.out": told + crash}, []string{"native-crash"}, ""},
		{"it had not gone on", map[string]string{"j-4242-n1.err": first, "j-4242-n2.err": raisedBy(5, key), "slurm-77.out": told}, []string{"exception"}, "rank 5, node n2"},
		{"a clock of another zone", map[string]string{"j-4242-n1.err": clocked(0, 0, 90), "j-4242-n2.err": raisedBy(5, key), "slurm-77.out": told}, []string{"exception"}, "rank 5, node n2"},
	} {
		c.check(t)
	}
}

// What names two names neither, and what stands in a node's file without a rank is not of whoever waited there.
func TestFieldNobodyIsNamedForAnother(t *testing.T) {
	mismatch := func(rank int) string {
		return fmt.Sprintf("n%d:90%d:91%d [0] init.cc:943 NCCL WARN Mismatched NCCL version detected : rank %d version 22105 rank 3 version 21903\n", 1+rank/2, rank, rank, rank)
	}
	tries := ""
	for i := 1; i <= 5; i++ {
		tries += fmt.Sprintf("2026-03-11 09:0%d:00 WARNING aistore.client Retrying GET ais://audio/shard-00467.tar, attempt %d/5: HTTPConnectionPool(host='10.9.8.7', port=51081): Read timed out.\n", i, i)
	}
	const raised = "requests.exceptions.ConnectionError: HTTPConnectionPool(host='10.9.8.7', port=51081): Max retries exceeded with url: /v1/objects/audio/shard-000123.tar"
	const unloadable = "Traceback (most recent call last):\n  File \"/a/train.py\", line 9, in <module>\n    torch.load(path)\nRuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory\n"
	aborted := childFailed("10:20:05", "n1", 0, 0, -6)
	for _, c := range []fieldCase{
		{"two versions of NCCL", map[string]string{"j-4242-n1.err": mismatch(0) + mismatch(1), "j-4242-n2.err": mismatch(2)}, []string{"version-mismatch"}, "-"},
		{"more processes raised it than the launcher saw end", map[string]string{"j-4242-n1.err": strings.Repeat(unloadable, 4) + childFailed("10:20:05", "n1", 0, 0, 1),
			"j-4242-n2.err": strings.Repeat(unloadable, 4) + childFailed("10:20:05", "n2", 4, 0, 1)}, []string{"checkpoint-io"}, "-"},
		{"another's tries in vain", map[string]string{"j-4242-n1.err": tries + raisedBy(1, raised) + waitedFor(0, 2) + aborted, "j-4242-n2.err": waitedFor(3, 4)}, []string{"storage-retries-exhausted"}, "rank 1, node n1"},
	} {
		c.check(t)
	}
}

// What is raised on every rank because of one names nobody, whichever rank's lines are here.
func TestFieldRaisedOnEveryRank(t *testing.T) {
	for _, c := range []fieldCase{
		{"one rank ran out of data", one(fieldSteps + raisedBy(5, "RuntimeError: Detected at least one rank that exhausted inputs. Throwing across all ranks.")), []string{"uneven-data"}, "-"},
		{"Accelerate saw unlike shapes", one(fieldSteps + raisedBy(1, "accelerate.utils.operations.DistributedOperationException: Cannot apply desired operation due to shape mismatches. All shapes across devices must be valid.\n\nOperation: `accelerate.utils.operations.gather`\nInput shapes:\n  - Process 0: [4, 512]\n  - Process 1: [3, 512]")), []string{"collective-mismatch"}, "-"},
	} {
		c.check(t)
	}
}

// Of a rank that is seen and does not say that it waited nobody says that it did, where the number of ranks is not known.
func TestFieldWhoDidNotWaitIsSaid(t *testing.T) {
	for text, said := range map[string]string{
		waitedAt(9, 0, 1, 2) + "[rank3]: Training finished, exiting.\n": "rank 3 does not report waiting; the world size is unknown",
		waitedAt(9, 0, 1, 2): "every rank seen was waiting; the world size is unknown",
	} {
		if r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(text)}}, nil, 0)); !strings.Contains(r.Verdict.Why, said) {
			t.Errorf("%q is not said, but %q", said, r.Verdict.Why)
		}
	}
}
