package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/knowledge"
	"faultline/simulate"
)

// chained is what Python prints of an exception that was raised from another.
func chained(cause, last string) string {
	const rank = "[rank1]: "
	return rank + "Traceback (most recent call last):\n" + rank + "  File \"/job/data.py\", line 9, in read\n" + rank + "    return parse(path)\n" +
		rank + cause + "\n\n" + rank + "The above exception was the direct cause of the following exception:\n\n" +
		rank + "Traceback (most recent call last):\n" + rank + "  File \"/job/train.py\", line 20, in <module>\n" + rank + "    ds = build()\n" + rank + last + "\n"
}

// An exception without words of its own tells nobody what to mend: what it was raised from is said, and quoted.
func TestWhatAnExceptionWasRaisedFromIsSaid(t *testing.T) {
	const cause = "ValueError: column 'label' of train-00013.csv holds text"
	for name, c := range map[string]struct{ text, said, quoted string }{
		"datasets":       {chained(cause, "datasets.exceptions.DatasetGenerationError: An error occurred while generating the dataset"), cause, "ValueError"},
		"tenacity":       {chained(cause, "tenacity.RetryError: RetryError[<Future at 0x7fd1 state=finished raised ValueError>]"), cause, "ValueError"},
		"Ray Train":      {chained(cause, "ray.train.base_trainer.TrainingFailedError: The Ray Train run failed. Please inspect the previous error messages for a cause."), cause, "ValueError"},
		"words of both":  {chained(cause, "RuntimeError: Failed to build the index"), "RuntimeError: Failed to build the index; raised from " + cause, "RuntimeError"},
		"said again":     {chained(cause, "RuntimeError: index: column 'label' of train-00013.csv holds text"), "RuntimeError: index: column 'label' of train-00013.csv holds text", "RuntimeError"},
		"no more to say": {chained("_queue.Empty", "RuntimeError: no batch came"), "RuntimeError: no batch came", "RuntimeError"},
		"a pool's process, and nothing shows why": {chained("_queue.Empty", "x.BrokenProcessPool: A process in the process pool was terminated abruptly while the future was running or pending."),
			"BrokenProcessPool: A process in the process pool was terminated abruptly while the future was running or pending.", "BrokenProcessPool"},
		"another one while the first was handled": {strings.Replace(chained(cause, "RuntimeError: Failed to build the index"),
			"The above exception was the direct cause of the following exception:", "During handling of the above exception, another exception occurred:", 1),
			"RuntimeError: Failed to build the index", "RuntimeError"},
		"below a colon": {chained(cause, "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n[rank1]: AssertionError: libcuda.so cannot found!"),
			"BackendCompilerFailed: backend='inductor' raised: AssertionError: libcuda.so cannot found!; raised from " + cause, "BackendCompilerFailed"},
		"another rank's, by a checkpoint": {"[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/job/train.py\", line 20, in <module>\n" +
			"[rank1]: torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([3])\n" +
			"[rank1]: Traceback (most recent call last): (RANK 3)\n[rank1]:   File \"/job/io.py\", line 5, in write\n[rank1]: " + cause + "\n", cause, "ValueError"},
	} {
		text := fieldSteps + c.text
		lines := strings.Split(text, "\n")
		r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(text)}}, nil, 0))
		quoted := slices.ContainsFunc(r.Hypotheses, func(h incident.Hypothesis) bool {
			return len(h.For) > 0 && len(h.For[0].Evidence) > 0 && strings.Contains(lines[h.For[0].Evidence[0].Line-1], c.quoted)
		})
		said, _ := strings.CutPrefix(r.Verdict.Summary, "rank 1: ")
		if i := strings.LastIndex(said, c.said); i < 0 || i+len(c.said) != len(said) || !quoted {
			t.Errorf("%s: %s, by %+v", name, r.Verdict.Summary, r.Hypotheses)
		}
	}
}

// A loader's process that disappeared is a consequence of what it could not do, where that is told.
func TestWhatALoadersProcessDiedOfIsTheCause(t *testing.T) {
	text := fieldSteps + chained("RuntimeError: unable to open shared memory object </torch_1_2_3> in read-write mode: Too many open files (24)",
		"RuntimeError: DataLoader worker (pid(s) 3344) exited unexpectedly")
	r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(text)}}, nil, 0))
	if r.Verdict.Mechanism != "resource-limit" || !strings.Contains(r.Verdict.Summary, "Too many open files") {
		t.Errorf("%s: %s", r.Verdict.Mechanism, r.Verdict.Summary)
	}
}

// Ray's monitor of memory says which node ran out, wherever its words are printed.
func TestRaysMonitorOfMemoryNamesTheNode(t *testing.T) {
	const (
		monitor = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n" +
			"Memory on the node (IP: 10.0.0.9, ID: 90efe9) where the task (actor ID: a6755d, name=RayTrainWorker.__init__, pid=91085, memory used=24.99GB) was running was " +
			"243.62GB / 251.28GB (0.969525), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: a8101) because it was the most recently scheduled task\n"
		driver = "Traceback (most recent call last):\n  File \"/job/train.py\", line 40, in <module>\n    trainer.fit()\n"
		raylet = "(raylet, ip=10.0.0.9) [2026-10-12 10:20:02,241 E 11 11] (raylet) node_manager.cc:3064: 1 Workers (tasks / actors) killed due to memory pressure (OOM), " +
			"0 Workers crashed due to other reasons at node (ID: 90efe9, IP: 10.0.0.9) over the last time period.\n"
	)
	for name, text := range map[string]string{
		"an exception": driver + monitor,
		"raised again": driver + monitor + "\nThe above exception was the direct cause of the following exception:\n\n" + driver + "ray.train.base_trainer.TrainingFailedError: The Ray Train run failed.\n",
		"its daemon":   raylet,
		"both":         raylet + driver + monitor,
	} {
		r := Run(read(t, []simulate.File{{Name: "driver.log", Data: []byte("(RayTrainWorker pid=4411, ip=10.0.0.8) step 10 loss 2.31\n" + text)}}, nil, 0))
		if r.Verdict.Mechanism != "host-oom" || !slices.Equal(r.Verdict.Root.Nodes, []string{"10.0.0.9"}) || strings.Contains(r.Verdict.Summary, "pid=") {
			t.Errorf("%s: %s on %v: %s", name, r.Verdict.Mechanism, r.Verdict.Root.Nodes, r.Verdict.Summary)
		}
	}
	r := Run(read(t, []simulate.File{{Name: "driver.log", Data: []byte(driver + "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n")}}, nil, 0))
	if r.Verdict.Mechanism != "host-oom" || len(r.Verdict.Root.Nodes) > 0 {
		t.Errorf("without an address: %s on %v", r.Verdict.Mechanism, r.Verdict.Root.Nodes)
	}
}

// Where the calls of all members are stated, no dump tells more of who called what; where a member's is not, one may.
func TestAMismatchThatIsStatedAsksForNoDumps(t *testing.T) {
	waits := func(rank int, op string) string {
		const work = "(SeqNum=12, OpType=%s, NumelIn=100, NumelOut=100, Timeout(ms)=600000) ran for 600010 milliseconds before timing out."
		return fmt.Sprintf("[rank%d]:[E1012 11:59:00.000000000 ProcessGroupNCCL.cpp:616] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL"+work+"\n", rank, rank, op) +
			fmt.Sprintf("[rank%d]:[E1012 11:59:00.000000001 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank %d] Exception (either an error or timeout) "+
				"detected by watchdog at work: 12, last enqueued NCCL work: 12, last completed NCCL work: 11.\n", rank, rank)
	}
	text := waits(0, "ALLREDUCE") + waits(1, "ALLREDUCE") + waits(2, "ALLREDUCE") + waits(3, "BROADCAST")
	for world, asks := range map[int]bool{4: false, 8: true} {
		r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(text)}}, nil, world))
		asked := slices.ContainsFunc(r.Verdict.Needs, func(n incident.Need) bool { return n.Artefact == knowledge.FlightRecorder })
		if r.Verdict.Mechanism != "collective-mismatch" || asked != asks {
			t.Errorf("%d ranks: %s needs %+v", world, r.Verdict.Mechanism, r.Verdict.Needs)
		}
	}
}
