package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"faultline/simulate"
)

// gathering is what the watchdog of these ranks says of an all-gather over the default group.
func gathering(in, out int64, ranks ...int) string {
	var b strings.Builder
	for _, r := range ranks {
		fmt.Fprintf(&b, "[rank%d]:[E531 18:49:48.928853486 ProcessGroupNCCL.cpp:629] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=149, "+
			"OpType=_ALLGATHER_BASE, NumelIn=%d, NumelOut=%d, Timeout(ms)=1800000) ran for 1800002 milliseconds before timing out.\n", r, r, in, out)
		fmt.Fprintf(&b, "[rank%d]:[E531 18:49:48.928953486 ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: "+
			"149 PG status: last enqueued work: 149, last completed work: 148\n", r, r)
	}
	return b.String()
}

func TestAnAllGatherOfAllRanksTellsHowManyThereAre(t *testing.T) {
	everyone := []string{"collective-hang", "gpu-hang"}
	open := append([]string{"rank-stalled"}, everyone...)
	for _, c := range []fieldCase{
		{"all four are here", one(fieldSteps + gathering(1000, 4000, 0, 1, 2, 3)), everyone, "-"},
		{"one of eight is not", one(fieldSteps + gathering(1000, 8000, 0, 1, 2, 3, 4, 6, 7)), open, "-"},
		{"the sizes are of a smaller group than the ranks", one(fieldSteps + gathering(1000, 2000, 0, 1, 2, 3)), open, "-"},
		{"the sizes are no multiple", one(fieldSteps + gathering(1000, 4001, 0, 1, 2, 3)), open, "-"},
	} {
		c.check(t)
	}
}

func TestWhoWaitsInDeepEPIsNotAtFault(t *testing.T) {
	const (
		gave = "RuntimeError: DeepEP error: timeout (dispatch CPU)"
		trap = "DeepEP dispatch NVL receiver timeout, channel: 6, RDMA: 0, nvl: 0, src NVL: 5, head: 315, tail: 315\n" +
			"DeepEP dispatch forwarder timeout (RDMA meta), channel: 2, RDMA: 1, nvl: 7, src RDMA lane: 3, dst NVL: 7, meta: 0, 0, 0, 0\n" +
			"terminate called after throwing an instance of 'EPException'\n  what():  Failed: CUDA error /opt/DeepEP/csrc/deep_ep.cpp:83 'unspecified launch failure'\n"
		launch = "RuntimeError: CUDA error: unspecified launch failure"
	)
	open := []string{"rank-stalled", "collective-hang", "gpu-hang"}
	for _, c := range []fieldCase{
		{"the host gave up on all ranks", one(fieldSteps + raisedBy(0, gave) + raisedBy(1, gave) + raisedBy(2, gave) + raisedBy(3, gave)), open, "-"},
		{"one had run out of memory", one(fieldSteps + raisedBy(3, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.12 GiB.") + raisedBy(0, gave) + raisedBy(1, gave)),
			[]string{"gpu-oom"}, "rank 3"},
		{"the kernels gave up and trapped", one(fieldSteps + trap + trap), open, "-"},
		{"what Python says of the trap", one(fieldSteps + trap + raisedBy(2, launch)), open, "-"},
		{"a launch failure before anybody waited", one(fieldSteps + raisedBy(2, launch) + trap), []string{"cuda-error"}, "rank 2"},
	} {
		c.check(t)
	}
}

func TestWhatTheSystemRefusedIsNoMatterOfVersions(t *testing.T) {
	const lib = "ImportError: /home/u/.triton/cache/QX4/__triton_launcher.cpython-312-x86_64-linux-gnu.so: "
	for _, c := range []fieldCase{
		{"a shared cache lost the file", one(fieldSteps + raisedBy(2, lib+"cannot stat shared object: Stale file handle")), []string{"storage-unresponsive"}, "rank 2"},
		{"the mount cannot read it", one(fieldSteps + raisedBy(2, lib+"cannot read file data: Input/output error")), []string{"storage-unresponsive"}, "rank 2"},
		{"a symbol is missing", one(fieldSteps + raisedBy(2, lib+"undefined symbol: cuTensorMapEncode")), []string{"version-mismatch"}, "rank 2"},
	} {
		c.check(t)
	}
}

// torchtitan's launcher labels lines with "[rankN]:" too, and its N counts the ranks of a node.
func TestALabelOfTheLauncherIsNoGlobalRank(t *testing.T) {
	twice := func(local int, text string) string {
		var b strings.Builder
		for l := range strings.Lines(text) {
			fmt.Fprintf(&b, "[rank%d]:%s", local, l)
		}
		return b.String()
	}
	const titan = "[rank0]:[titan] 2025-06-04 10:00:02,903 - root - INFO - step: 1  loss:  3.001  grad_norm:  0.71\n[rank0]:[titan] 2025-06-04 10:00:04,903 - root - INFO - step: 2  loss:  3.002  grad_norm:  0.71\n"
	const full = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.12 GiB."
	first := titan
	for r := range 4 {
		first += twice(r, gathering(1000, 8000, r))
	}
	const died = "[rank1]:Fatal Python error: none_dealloc: deallocating None: bug likely caused by a refcount error in a C extension\n"
	const block = "Root Cause (first observed failure):\n[0]:\n  time      : 2025-06-04_10:00:45\n  host      : n2\n  rank      : 5 (local_rank: 1)\n  exitcode  : -6 (pid: 9001)\n" +
		"  error_file: <N/A>\n  traceback : Signal 6 (SIGABRT) received by PID 9001\n"
	for _, c := range []fieldCase{
		{"the third rank of the second node", map[string]string{"slurm-9-n1.out": first, "slurm-9-n2.out": titan + twice(2, raisedBy(6, full)) + twice(0, gathering(1000, 8000, 4))},
			[]string{"gpu-oom"}, "rank 6, node n2"},
		{"lines that bear the launcher's label only", map[string]string{"slurm-9-n1.out": first, "slurm-9-n2.out": titan + died + block}, []string{"native-crash"}, "rank 5, node n2"},
		{"that of the second node alone", map[string]string{"slurm-9-n2.out": titan + died + block}, []string{"native-crash"}, "rank 5, node n2"},
		{"PyTorch's own label stays the global rank", map[string]string{"slurm-9-n1.out": fieldSteps, "slurm-9-n2.out": fieldSteps + raisedBy(6, full)}, []string{"gpu-oom"}, "rank 6, node n2"},
	} {
		c.check(t)
	}
}

// Words that stood unread in logs that people have shown.
func TestFieldLastWords(t *testing.T) {
	for _, c := range []fieldCase{
		{"the scale of gradients is used up", one(fieldSteps + raisedBy(2, "RuntimeError: grad_scale is too small, exiting: 0.0")), []string{"non-finite-loss"}, "-"},
		{"apex halves a scale that is nothing", one(fieldSteps + "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 5e-324\nGradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 0.0\n" +
			"Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\nZeroDivisionError: float division by zero\n"), []string{"non-finite-loss"}, "-"},
		{"apex halves a scale, as it does", one("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\n" + fieldSteps + raisedBy(2, "KeyError: 'x'")), []string{"exception"}, "rank 2"},
		{"an assertion of a C library", one(fieldSteps + "python: /opt/ds/aio_common.cpp:125: int _do_io_complete(long long int): Assertion `n_completes >= min_completes' failed.\n"), []string{"native-crash"}, "-"},
		{"NVML does not answer while a full GPU is reported", one(fieldSteps + raisedBy(2, "RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at \"../c10/cuda/CUDACachingAllocator.cpp\":830, please report a bug to PyTorch. ")),
			[]string{"gpu-oom"}, "rank 2"},
		{"a checkpoint of another layout", one(raisedBy(0, "RuntimeError: Missing key in checkpoint state_dict: optimizer.param_groups.0.lr.") +
			raisedBy(1, "RuntimeError: Missing key in checkpoint state_dict: optimizer.param_groups.0.lr.")), []string{"config-error"}, "-"},
	} {
		c.check(t)
	}
}

// Where nobody says how many ranks there are the set stays what it is; what stands first is what there is a sign of.
func TestWhatStandsFirstWhereEveryoneSeenWaits(t *testing.T) {
	for _, c := range []struct {
		name, log, first string
		suspect          bool
	}{
		{"no number is missing", waitedOn(0, 1, 2, 3), "collective-hang", false},
		{"one is", waitedOn(0, 1, 3), "rank-stalled", false},
		{"one may be: five are an odd number", waitedOn(0, 1, 2, 3, 4), "rank-stalled", false},
		{"Ray shows one line for several ranks", strings.ReplaceAll(waitedOn(0, 1), "timing out.\n", "timing out. [repeated 14x across cluster]\n"), "rank-stalled", false},
		{"nothing was ever completed", strings.ReplaceAll(waitedOn(0, 1, 2, 3), "completed work: 404", "completed work: -1"), "collective-hang", true},
	} {
		v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(c.log)}}, nil, 0)).Verdict
		suspect := len(v.Suspects) > 0 && v.Suspects[0].Mechanism == "init-unreachable"
		if len(v.Candidates) != 3 || v.Mechanism != c.first || v.Candidates[0].Mechanism != c.first || suspect != c.suspect {
			t.Errorf("%s: said %s of %v, suspects %v", c.name, v.Mechanism, v.Candidates, v.Suspects)
		}
	}
}

// A stall that begins with a save is mostly the save's, whatever the script calls it and whoever is proven to hold the others.
func TestAWaitThatBeginsWithASave(t *testing.T) {
	const last = "2025-03-01 09:59:59,600 INFO step 404 loss 2.11\n"
	save := "2025-03-01 10:00:00,400 INFO Saving latest checkpoint\n" // half a second behind the beginning of the wait
	held := []string{"rank-stalled", "collective-hang", "gpu-hang"}
	world := "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/4\n"
	for _, c := range []fieldCase{
		{"rank 0 is not among those who waited", one(world + last + save + waitedOn(1, 2, 3)), []string{"checkpoint-io"}, "rank 0"},
		{"how many ranks there are nobody says", one(last + save + waitedOn(1, 2, 3)), append([]string{"checkpoint-io"}, held...), "-"},
		{"the save is over", one(last + save + "2025-03-01 10:00:00,900 INFO Model saved.\n" + waitedOn(1, 2, 3)), held, "-"},
		{"steps follow it", one(save + "2025-03-01 10:00:04,600 INFO step 404 loss 2.11\n" + waitedOn(1, 2, 3)), held, "-"},
	} {
		c.check(t)
	}
}
