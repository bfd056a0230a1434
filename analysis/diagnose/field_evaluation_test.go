package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// One rank evaluates while the others wait for it: its bar, drawn for as long as they waited, tells. A bar of another length may be of an
// evaluation of all ranks, in which this one stood still for whatever reason.
func TestFieldEvaluation(t *testing.T) {
	job := func(bar string) map[string]string {
		steps := strings.ReplaceAll(fieldSteps, "step ", "[rank0]: step ")
		return map[string]string{
			"launch.log": "torchrun --standalone --nproc-per-node 4 train.py\n",
			"train.log":  steps + "[rank0]: Evaluating:   1%|          | 50/5000 [00:06<10:00,  8.1it/s]\n" + bar + waitedFor(1, 2, 3),
		}
	}
	for _, c := range []fieldCase{
		{"it went on for as long as they waited", job("[rank0]: Evaluating:  96%|█████████▌| 4800/5000 [09:48<00:25,  8.1it/s]\n"), []string{"rank-busy"}, "rank 0"},
		{"it had come to its end", job("[rank0]: Evaluating: 100%|██████████| 5000/5000 [09:58<00:00,  8.1it/s]\n"), []string{"rank-stalled"}, "rank 0"},
		{"it stalled soon", job("[rank0]: Evaluating:   5%|▌         | 250/5000 [00:31<09:58,  8.1it/s]\n"), []string{"rank-stalled"}, "rank 0"},
		{"it had begun long before", job("[rank0]: Evaluating:  96%|█████████▌| 4800/5000 [49:48<02:25,  1.1s/it]\n"), []string{"rank-stalled"}, "rank 0"},
	} {
		c.check(t)
	}
}

// A job that evaluates makes no steps, and is not silent.
func TestFieldEvaluationIsNoSilence(t *testing.T) {
	steps := func(from, to int, form string) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "2025-05-12 03:%02d:00 - INFO - "+form+"\n", i, i*10)
		}
		return b.String()
	}
	const limit = "slurmstepd: error: *** JOB 991 ON n1 CANCELLED AT 2025-05-12T03:50:01 DUE TO TIME LIMIT ***\n"
	for _, c := range []fieldCase{
		{"until the limit", one(steps(0, 30, "step %d loss 2.1") + steps(30, 50, "eval batch %d/4000") + limit), []string{"time-limit"}, "-"},
		{"what is no evaluation says nothing of the training", one(steps(0, 30, "step %d loss 2.1") + steps(30, 50, "monitor: memory used %d GB") + limit), []string{"rank-stalled", "collective-hang", "gpu-hang"}, "-"},
	} {
		c.check(t)
	}
}
