package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// The journal and syslog put the lines of all processes of a node into one file, and tell them apart by their numbers: which rank each is, its
// own lines say.
func TestProcessesInAJournal(t *testing.T) {
	journal := func(stamp, program string, same bool) string {
		var b strings.Builder
		n := 0
		say := func(pid int, text string) {
			fmt.Fprintf(&b, "%s node-4 %s[%d]: %s\n", fmt.Sprintf(stamp, n/60, n%60), program, pid, text)
			n++
		}
		for i := range 40 {
			rank := 8 + i%4
			if same && i > 3 {
				rank = 8 // another process says that it is the same
			}
			say(5000+i%4, fmt.Sprintf("rank=%d step=%d loss=2.%02d", rank, i/4, 90-i))
		}
		say(5002, "Traceback (most recent call last):")
		say(5001, "Traceback (most recent call last):")
		say(5002, `  File "/a/train.py", line 40, in <module>`)
		say(5001, `  File "/a/train.py", line 44, in <module>`)
		say(5002, "    step(batch)")
		say(5001, "    loss.backward()")
		say(5002, "ValueError: negative sequence length")
		say(5001, "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:275, remote process exited or there was a network error")
		return b.String()
	}
	const iso, old = "2026-05-06T09:%02d:%02d+0200", "May  6 09:%02d:%02d"
	for _, c := range []fieldCase{
		{"short-iso", one(journal(iso, "python3", false)), []string{"exception"}, "rank 10, node node-4"},
		{"syslog", one(journal(old, "python", false)), []string{"exception"}, "rank 10, node node-4"},
		{"as PyTorch calls its processes", one(journal(iso, "pt_main_thread", false)), []string{"exception"}, "rank 10, node node-4"},
		{"numbers that contradict each other", one(journal(iso, "python3", true)), []string{"exception"}, "node node-4"},
	} {
		c.check(t)
	}
}
