package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// hungAt is what a rank of PyTorch 2.7 prints when it waited in vain in the default group for ten minutes, and toldAt what one prints that
// was told; day and clock are their stamp's.
func hungAt(day, clock string, rank, seq int) string {
	return fmt.Sprintf("[rank%d]:[E%s %s.253530467 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600008 milliseconds before timing out.\n"+
		"[rank%d]:[E%s %s.255881356 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: %d PG status: last enqueued work: %d, last completed work: %d\n",
		rank, day, clock, rank, seq, rank, day, clock, rank, seq, seq, seq-1)
}

func toldAt(day, clock string, rank, done int) string {
	return fmt.Sprintf("[rank%d]:[E%s %s.253550467 ProcessGroupNCCL.cpp:1682] [PG ID 0 PG GUID 0(default_pg) Rank %d] Received a dump signal due to a collective timeout from  rank 0 and we will try our best to dump the debug info. Last enqueued NCCL work: %d, last completed NCCL work: %d.\n",
		rank, day, clock, rank, done, done)
}

// Several attempts stand in the same files, and each hung: only the last one counts, whether steps between them tell or that nobody of a group
// gets to another work once a member has given up one.
func TestAttemptsThatHung(t *testing.T) {
	const world = "torchrun --standalone --nproc-per-node 4 train.py\n"
	steps := func(day string, hour, from int) string {
		var b strings.Builder
		for i := range 30 {
			fmt.Fprintf(&b, "2025-%s %02d:%02d:00 INFO step %d loss 2.%d\n", day, hour, i, from+i, i)
		}
		return b.String()
	}
	hung := func(day, clock string, idle, seq int) (ranks [4]string) {
		for r := range ranks {
			if ranks[r] = hungAt(day, clock, r, seq); r == idle {
				ranks[r] = toldAt(day, clock, r, seq-1)
			}
		}
		return ranks
	}
	one4 := func(r [4]string) string { return r[0] + r[1] + r[2] + r[3] }
	each := func(a, b [4]string) map[string]string {
		files := map[string]string{"launch.log": world}
		for r := range a {
			files[fmt.Sprintf("%d/stderr.log", r)] = a[r] + b[r]
		}
		return files
	}
	first, last := hung("310", "02:50:30", 3, 500), hung("312", "09:50:30", 2, 900)
	node0 := world + steps("03-10", 2, 100) + first[0] + first[1] + steps("03-12", 9, 130) + last[0] + last[1]
	for _, c := range []fieldCase{
		{"of two nodes' files one has no steps", map[string]string{"node0.out": node0, "node1.out": first[2] + first[3] + last[2] + last[3]}, []string{"rank-stalled"}, "rank 2, node node1"},
		{"the second node was replaced", map[string]string{"node0.out": node0, "node1.out": first[2] + first[3], "node2.out": last[2] + last[3]}, []string{"rank-stalled"}, "rank 2, node node2"},
		{"steps go on where they were", one(world + steps("03-10", 2, 100) + one4(hung("310", "02:50:30", 3, 500)) + steps("03-12", 9, 130) + one4(hung("312", "09:50:30", 2, 900))), []string{"rank-stalled"}, "rank 2"},
		{"the first had failed of something else", one(world + steps("03-10", 2, 100) + raisedBy(1, "KeyError: 'x'") + strings.Replace(childFailed("02:30:00", "n3", 1, 1, 1), "09-17", "03-10", 1) + steps("03-12", 9, 130) + one4(last)), []string{"rank-stalled"}, "rank 2"},
		{"the last failed of something else", one(world + steps("03-10", 2, 100) + one4(first) + steps("03-12", 9, 130) + raisedBy(1, "KeyError: 'x'") + childFailed("09:30:00", "n3", 1, 1, 1)), []string{"exception"}, "rank 1, node n3"},
		{"the last crashed", one(world + steps("03-10", 2, 100) + one4(first) + steps("03-12", 9, 130) + "srun: error: n1: task 2: Segmentation fault (core dumped)\n"), []string{"native-crash"}, ""},
		{"the last found its disk full", one(world + steps("03-10", 2, 100) + one4(first) + steps("03-12", 9, 130) + "ERROR: cannot write /out/step_150.pt: No space left on device\n"), []string{"storage-full"}, "-"},
		{"on the same day", one(world + steps("03-12", 2, 100) + one4(hung("312", "02:50:30", 3, 500)) + steps("03-12", 9, 130) + one4(hung("312", "09:50:30", 2, 900))), []string{"rank-stalled"}, "rank 2"},
		{"steps out of a buffer, below what the launcher tells", one(world + steps("09-17", 2, 100) + raisedBy(1, "KeyError: 'x'") + childFailed("03:31:00", "n3", 1, 1, 1) + steps("09-17", 3, 130) + "srun: error: n3: task 1: Exited with exit code 1\n"), []string{"exception"}, "rank 1, node n3"},
		{"steps out of a buffer, below what watchdogs report", one(world + steps("03-12", 8, 100) + steps("03-12", 9, 130)[:300] + one4(last) + steps("03-12", 9, 130)[300:] + childFailed("09:52:00", "n3", 1, 1, -6)), []string{"rank-stalled"}, "rank 2, node n3"},
		{"steps that a rank still makes by itself", one(world + steps("03-12", 9, 100) + one4(last) + strings.NewReplacer(":00 ", " ", " 09:0", " 09:50:3", " 09:1", " 09:50:4").Replace(steps("03-12", 9, 130)[:600])), []string{"rank-stalled"}, "rank 2"},
		{"each rank has its file", each(hung("310", "02:50:30", 3, 500), hung("312", "09:50:30", 2, 900)), []string{"rank-stalled"}, "rank 2"},
		{"both in the same work", each(hung("310", "02:50:30", 3, 500), hung("312", "09:50:30", 2, 500)), []string{"rank-stalled"}, "rank 2"},
	} {
		c.check(t)
	}
}

// Who comes to a work when others have given it up has held them.
func TestARankThatCameTooLate(t *testing.T) {
	const world = "torchrun --standalone --nproc-per-node 4 train.py\n"
	job := func(clock string) map[string]string {
		return one(world + hungAt("312", "09:50:30", 0, 900) + hungAt("312", "09:50:30", 1, 900) + hungAt("312", "09:50:31", 2, 900) + hungAt("312", clock, 3, 900))
	}
	hang := []string{"collective-hang", "gpu-hang"}
	for _, c := range []fieldCase{
		{"a quarter of an hour", job("10:05:40"), []string{"rank-stalled"}, "rank 3"},
		{"while they waited", job("09:58:40"), hang, "-"},
		{"within the error of clocks", job("10:01:10"), hang, "-"},
	} {
		c.check(t)
	}
}

// A clock that nobody compared with the others' may be wrong: who seems to have come late, or in another attempt, need not have.
func TestAClockThatIsWrong(t *testing.T) {
	node := func(clock string, seq int, ranks ...int) string {
		b := "WORLD_SIZE=8\n"
		for _, r := range ranks {
			b += hungAt("312", clock, r, seq)
		}
		return b
	}
	job := func(clock string, seq int) map[string]string {
		return map[string]string{"a.log": node("10:20:30", 900, 0, 1, 2, 3, 4, 5), "b.log": node(clock, seq, 6, 7)}
	}
	for _, c := range []fieldCase{
		{"ahead", job("10:41:10", 900), []string{"collective-hang", "gpu-hang"}, "-"},
		{"of another zone", job("02:20:31", 900), []string{"collective-hang", "gpu-hang"}, "-"},
		{"ahead, and in another work", job("10:41:10", 905), []string{"collective-mismatch"}, "rank 6, rank 7"},
	} {
		c.check(t)
	}
}
