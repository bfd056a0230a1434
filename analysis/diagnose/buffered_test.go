package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// A process that dies writes its traceback at once and what it held back of its other output behind it, so that steps below a traceback
// need not have come after it.
func TestStepsBelowATracebackMayHaveStoodInABuffer(t *testing.T) {
	raised := func(in string) string {
		return "Traceback (most recent call last):\n  File \"/a/train.py\", line 31, in " + in + "\n    y = d['k']\nKeyError: 'k'\n"
	}
	bars := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll("  4%|4         | 4N/1000 [00:40<16:00,  1.00it/s, loss=2.1]\n", "N", string(rune('0'+i))))
		}
		return b.String()
	}
	falling := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "step %d loss %.4f lr 0.0001 grad_norm 1.2 tokens_per_second 12345 memory 71.2GiB\n", i, 9-float64(i)/100)
		}
		return b.String()
	}
	steps := stepsFrom(1, 60)
	for _, c := range []fieldCase{
		{"nobody caught it, and no step is above it", one(raised("<module>") + steps), []string{"completed", "exception"}, "-"},
		{"it was caught in a function", one(raised("load") + steps), []string{"completed"}, "-"},
		{"a task ended with an error", one(raised("<module>") + steps + "srun: error: n1: task 0: Exited with exit code 1\n"), []string{"exception"}, ""},
		{"the program says that it finished", one(raised("<module>") + steps + "Training finished.\n"), []string{"completed"}, "-"},
		{"the steps above it had not been held back either", one(stepsFrom(1, 9) + raised("<module>") + stepsFrom(9, 60)), []string{"completed"}, "-"},
		{"steps above it fill a buffer", one(stepsFrom(1, 400) + raised("<module>") + stepsFrom(400, 430)), []string{"completed", "exception"}, "-"},
		{"and then the time was up", one(stepsFrom(1, 400) + raised("<module>") + stepsFrom(400, 430) + "slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 2025-03-12T10:00:00 DUE TO TIME LIMIT ***\n"), []string{"exception", "time-limit"}, "-"},
		{"and then it was preempted", one(stepsFrom(1, 400) + raised("<module>") + stepsFrom(400, 430) + "slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 2025-03-12T10:00:00 DUE TO PREEMPTION ***\n"), []string{"exception", "preempted"}, "-"},
		{"more below it than a buffer holds", one(falling(1, 400) + raised("<module>") + falling(400, 650)), []string{"completed"}, "-"},
		{"bars are not held back", one(raised("<module>") + bars(9)), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}
