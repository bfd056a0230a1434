package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"faultline/simulate"
)

// Work that is begun while all others wait is that of the only rank that does not.
func TestWorkBegunWhileTheOthersWait(t *testing.T) {
	waits := func(ranks ...int) string {
		var b strings.Builder
		for _, r := range ranks {
			fmt.Fprintf(&b, "[rank%d]:[E917 05:30:00.5 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n"+
				"[rank%d]:[E917 05:30:00.6 ProcessGroupNCCL.cpp:2271] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: 5 PG status: last enqueued work: 5, last completed work: 4\n", r, r, r, r)
		}
		return b.String()
	}
	index := func(at string) string {
		return "using world size: 4, data-parallel size: 4\n[2025-09-17 " + at + "] INFO:megatron.core.datasets.gpt_dataset:\tBuild and save the shuffle index to a-shuffle_index.npy\n"
	}
	for _, c := range []fieldCase{
		{"while rank 0 alone does not wait", map[string]string{"a.log": index("05:29:00") + waits(1, 2, 3)}, []string{"rank-busy"}, "rank 0"},
		{"before anybody waited", map[string]string{"a.log": index("05:19:00") + waits(1, 2, 3)}, []string{"rank-stalled", "collective-hang", "gpu-hang"}, "-"},
		{"while rank 2 does not wait, either", map[string]string{"a.log": index("05:29:00") + waits(1, 3)}, []string{"rank-stalled", "collective-hang", "gpu-hang"}, "-"},
	} {
		c.check(t)
	}
}

// Before a step is seen nobody knows that the job can work at all: what stopped it for an unknown reason may stop it again.
func TestNothingShowsThatItWouldGoOn(t *testing.T) {
	const stall = "[1,0]<stderr>:[2025-03-04 10:12:02.1: W horovod/common/stall_inspector.cc:107] One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\nMissing ranks:\n1: [broadcast.weights_0]\n"
	const segv = "[2025-03-04 10:12:02,999] [ERROR] [launch.py:324:sigkill_handler] ['python', '-u', 'train.py', '--local_rank=1'] exits with return code = -11\n"
	const ecc = "[E ProcessGroupNCCL.cpp:916] [Rank 1] NCCL watchdog thread terminated with exception: CUDA error: uncorrectable ECC error encountered\n"
	for _, c := range []struct{ name, text, want string }{
		{"a rank that stalled", stall, "unknown"},
		{"a crash", segv, "unknown"},
		{"a crash after steps", fieldSteps + segv, "yes"},
		{"a damaged GPU", ecc, "yes"},
	} {
		r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(c.text)}}, nil, 0))
		if r.Action.Resubmit != c.want {
			t.Errorf("%s: %s: resubmit %s, not %s", c.name, r.Verdict.Mechanism, r.Action.Resubmit, c.want)
		}
	}
	for want, text := range map[string]string{"rank 1 of its process group": ecc, "": ecc + strings.ReplaceAll(ecc, "Rank 1", "Rank 2")} {
		if r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(text)}}, nil, 0)); r.Verdict.Root.Named != want || len(r.Coverage.RanksMissing) > 0 {
			t.Errorf("named %q, not %q; missing %v", r.Verdict.Root.Named, want, r.Coverage.RanksMissing)
		}
	}
}

// A loss scale that falls in every step, far below where runs settle, is no good sign; one that is found from above is none at all.
func TestALossScaleThatFallsToTheEnd(t *testing.T) {
	falls := func(from, to int) string {
		var b strings.Builder
		for i, v := 0, from; v > to; i, v = i+1, v/2 {
			fmt.Fprintf(&b, "step %d loss 2.0\n[2025-03-04 10:12:%02d,018] [INFO] [loss_scaler.py:181:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: %d, reducing to %d\n", 300+i, i, v, v/2)
		}
		return b.String()
	}
	for _, c := range []fieldCase{
		{"to the end", one(falls(64, 2)), []string{"non-finite-loss", "unknown"}, "-"},
		{"and it settled", one(falls(64, 2) + manySteps(300)), []string{"completed"}, "-"},
		{"from above", one(falls(1<<30, 1<<24)), []string{"completed"}, "-"},
		{"three times", one(falls(32, 4)), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}

// The copy of the batch script that slurmd keeps is not the job's.
func TestTheCopyOfTheBatchScriptIsGone(t *testing.T) {
	const gone = "slurmstepd: error: execve(): %s: No such file or directory\n"
	for _, c := range []fieldCase{
		{"slurmd's copy", one(fmt.Sprintf(gone, "/var/spool/slurmd/job00042/slurm_script")), []string{"scheduler-error"}, "-"},
		{"a program", one(fmt.Sprintf(gone, "/home/u/train")), []string{"config-error"}, "-"},
	} {
		c.check(t)
	}
}
