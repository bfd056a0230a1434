package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// Failures of public reports whose wordings nobody had foreseen: what a process was about, how a launcher saw it end, and what it had said
// before a check of its own ended it.
func TestFieldUnforeseen(t *testing.T) {
	const (
		joining = "Traceback (most recent call last):\n  File \"train.py\", line 209, in <module>\n    main()\n" +
			"  File \"/opt/py/site-packages/torch/distributed/distributed_c10d.py\", line 703, in _new_process_group_helper\n    pg = ProcessGroupGloo(prefix_store, rank, world_size, timeout=timeout)\n"
		waiting = "Traceback (most recent call last):\n  File \"train.py\", line 209, in <module>\n    main()\n  File \"/home/u/feed.py\", line 12, in fetch\n    sock.recv(4)\n"
		lost    = "2025-06-03 17:48:01.330561: E external/xla/xla/service/gpu/nccl_utils.cc:191] Aborting communicator: 0x5555a108ff90 due to async NCCL error: remote process exited or there was a network error\n"
		check   = "2025-06-03 17:48:01.330601: F external/xla/xla/service/gpu/nccl_utils.cc:203] Check failed: false\nFatal Python error: Aborted\n"
	)
	const (
		unheard = "[DEBUG] 2026-10-11 02:44:37,674 dynamic_rendezvous: As part of the sync operation the node(s) 'gn7_18231_0' have been removed from the rendezvous 'exp77' since they had no heartbeat.\n"
		aborted = "[ERROR] 2026-10-11 02:44:41,300 api: failed (exitcode: -6) local_rank: 0 (pid: 44120) of binary: /opt/conda/bin/python\n[default0]:[rank0]: bye\n"
	)
	exit := func(node, code string) string {
		return node + ": [2025-06-03 17:48:01,123] [ERROR] [launch.py:321:sigkill_handler] ['/usr/bin/python3', '-u', 'train.py', '--local_rank=7'] exits with return code = " + code + "\n"
	}
	for _, c := range []fieldCase{
		{"a group that is joined in vain", one(joining + "RuntimeError: Connection timed out\n"), []string{"init-unreachable"}, "-"},
		{"another error while a group is joined", one(joining + "RuntimeError: lane 3 has no owner\n"), []string{"exception", "unknown"}, "-"},
		{"a connection of the program's own", one(waiting + "RuntimeError: Connection timed out\n"), []string{"exception", "unknown"}, "-"},
		{"a launcher sees an abort", one(exit("192.168.83.120", "-6")), []string{"native-crash", "unknown"}, "node 192.168.83.120"},
		{"two launchers do, at one time", one(exit("192.168.83.120", "-6") + exit("192.168.83.121", "-6")), []string{"native-crash", "unknown"}, "-"},
		{"a launcher sees an abort and a kill", one(exit("192.168.83.120", "-6") + exit("192.168.83.121", "-9")), []string{"external-signal", "host-oom"}, ""},
		{"an abort below a node that is no longer heard", one(fieldSteps + unheard + aborted), []string{"peer-lost", "unknown"}, "node gn7"},
		{"an abort of which nobody says why", one(fieldSteps + aborted), []string{"native-crash"}, "rank 0"},
		{"more memory of an accelerator than any has", one(fieldSteps + "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17592186044416 bytes.\n"), []string{"exception"}, "-"},
		{"as much as it may have", one(fieldSteps + "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 34359738368 bytes.\n"), []string{"gpu-oom"}, "-"},
		{"a check that a lost peer fails", one(lost + check), []string{"peer-lost", "unknown"}, "-"},
		{"a check that fails before", one(check + lost), []string{"native-crash"}, "-"},
	} {
		c.check(t)
	}
}

// An exception in words that nobody knows is the code's fault only where the code raised it in its own class and by itself.
func TestFieldExceptionsInUnknownWords(t *testing.T) {
	const (
		own    = "Traceback (most recent call last):\n  File \"/opt/train/train.py\", line 209, in <module>\n    main()\n  File \"/opt/train/model.py\", line 12, in forward\n    return self.mlp(x)\n"
		loaded = "Traceback (most recent call last):\n  File \"/opt/train/train.py\", line 3, in <module>\n    import model\n  File \"/opt/train/model.py\", line 2, in <module>\n    from layers import Block\n"
	)
	record := func(in, final string) string {
		own := "Traceback (most recent call last):\n" + in + "  File \"/opt/train/train.py\", line 9, in main\n" + in + "    step()\n" + in + final + "\n====\n"
		return strings.Replace(childFailed("05:20:01", "box7", 3, 3, 1), "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n", own, 1)
	}
	inBlock := strings.Replace(childFailed("05:20:01", "box7", 3, 3, 1), "<N/A>\n", "/tmp/e.json\n", 1)
	for _, c := range []fieldCase{
		{"of the program", one(fieldSteps + own + "LaneFault: lane 3 has no owner\n"), []string{"exception"}, ""},
		{"of PyTorch", one(fieldSteps + own + "torch.cuda.MemoryFault: lane 3 has no owner\n"), []string{"exception", "unknown"}, ""},
		{"while a module was imported", one(own + "LaneFault: lane 3 has no owner\n"), []string{"exception"}, ""},
		{"while another module was imported", one(loaded + "LaneFault: lane 3 has no owner\n"), []string{"exception", "unknown"}, ""},
		{"a list that a launcher begins below is none", one(fieldSteps + own + inBlock), []string{"exception", "unknown"}, ""},
		{"a launcher's record of it, moved in by two", one(fieldSteps + record("  ", "ZeroDivisionError: division by zero")), []string{"exception"}, "rank 3, node box7"},
		{"a launcher's record of it, moved in by four", one(fieldSteps + record("    ", "ZeroDivisionError: division by zero")), []string{"exception"}, "rank 3, node box7"},
		{"a record without what was raised", one(fieldSteps + record("    ", "")), []string{"exception", "unknown"}, "rank 3, node box7"},
	} {
		c.check(t)
	}
}

// What fails in a collective fails on all its ranks but the one at fault: an exception of few in words of their own comes before the one that
// all others met in a library, unless those are proven to have been first.
func TestFieldFewRaiseAnother(t *testing.T) {
	library := "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\n  File \"/opt/py/site-packages/mux/lane.py\", line 3, in claim\n    pull()\nRuntimeError: [mux/pair.cc:534] lane is gone [10.1.1.%d]:4%d\n"
	met := func(ranks ...int) string {
		var b strings.Builder
		for _, r := range ranks {
			for l := range strings.Lines(fmt.Sprintf(library, r, r)) {
				fmt.Fprintf(&b, "[rank%d]: %s", r, l)
			}
		}
		return b.String()
	}
	own, refused := raisedBy(1, "AssertionError: shard 7 is empty"), raisedBy(1, "OSError: shard 7 has no uplink")
	for _, c := range []fieldCase{
		{"one in its own words", one(fieldSteps + own + met(0, 2, 3)), []string{"exception"}, "rank 1"},
		{"printed below the others", one(fieldSteps + met(0, 2, 3) + own), []string{"exception"}, "rank 1"},
		{"one to which the system refused something", one(fieldSteps + refused + met(0, 2, 3)), []string{"exception", "unknown"}, "rank 1"},
		{"not so few", one(fieldSteps + own + met(0, 2)), []string{"exception"}, "-"},
		{"the others in their own words", one(fieldSteps + refused + raisedBy(0, "AssertionError: a") + raisedBy(2, "AssertionError: a") + raisedBy(3, "AssertionError: a")), []string{"exception"}, "-"},
	} {
		c.check(t)
	}
}

// Who timed out first is said by those that it notified. Where its own log is at hand, and no line in it is understood to tell of the timeout, what
// it said is not missing: it may be anything.
func TestFieldTimeoutsThatAreNotUnderstood(t *testing.T) {
	const told = "[rank%d]:[E603 17:48:01.5 ProcessGroupNCCL.cpp:1434] [PG ID 0 PG GUID 0(default_pg) Rank %d] Received a dump signal due to a collective timeout from  rank 1 and we will try our best to dump the debug info. Last enqueued NCCL work: 6, last completed NCCL work: %d.\n"
	others := fmt.Sprintf(told+told, 0, 0, 5, 2, 2, 5)
	spoke := "[rank1]: step 3 loss 2.13\n[rank1]:[E603 17:48:01.4 ProcessGroupNCCL.cpp:632] [Rank 1] the supervisor found the collective past its limit\n"
	for _, c := range []fieldCase{
		{"its log is at hand", one(fieldSteps + spoke + others), []string{"collective-hang", "gpu-hang", "rank-stalled", "unknown"}, "-"},
		{"its log is missing", one(fieldSteps + others), []string{"collective-hang", "gpu-hang", "rank-stalled"}, "-"},
	} {
		c.check(t)
	}
}

// srun ends a step by itself only after a task has failed, or has left: where that is all it says, nobody knows that nothing broke.
func TestFieldStepsThatSrunEndsByItself(t *testing.T) {
	const (
		cancelled = "slurmstepd: error: *** STEP 4.0 ON gn7 CANCELLED AT 2025-03-04T10:12:44 ***\n"
		ended     = "srun: Terminating StepId=4.0\nsrun: error: gn7: tasks 0-7: Terminated\n"
		aborted   = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
	)
	files := func(srun string) map[string]string {
		return map[string]string{"slurm-4.out": srun, "train-4.out": stampedSteps("2025-03-04 10:12:", 30) + cancelled}
	}
	for _, c := range []fieldCase{
		{"after a line in strange words", files("srun: NODE GN8: TASK 14 IS NO MORE: KILLED\n" + ended), []string{"cancelled", "unknown"}, "-"},
		{"on somebody's word", files(aborted + ended), []string{"cancelled"}, "-"},
	} {
		c.check(t)
	}
}

// stampedSteps are steps, one a second, of a job that works until the end.
func stampedSteps(minute string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%02d,000 - trainer - INFO - step %d loss 2.%d\n", minute, i+10, i, 100+i)
	}
	return b.String()
}
