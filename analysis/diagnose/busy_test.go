package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// tokenizing is the bar of a process that prepares the data for all, as it was last drawn.
func tokenizing(percent int, ran string) string {
	return fmt.Sprintf("Tokenizing the corpus (num_proc=16): %3d%%|█████     | %d/100000 [%s<20:00, 41.59 examples/s]\n", percent, percent*1000, ran)
}

// waitedFor is what the watchdogs of ranks say that waited ten minutes in the default group's first barrier.
func waitedFor(ranks ...int) string {
	var b strings.Builder
	for _, r := range ranks {
		const work = "WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600031 milliseconds before timing out."
		fmt.Fprintf(&b, "[rank%d]:[E311 09:20:00.223344556 ProcessGroupNCCL.cpp:616] [Rank %d] Watchdog caught collective operation timeout: %s\n", r, r, work)
		fmt.Fprintf(&b, "[rank%d]:[E311 09:20:00.223344557 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank %d] Exception (either an error or timeout) detected by watchdog at work: 1, last enqueued NCCL work: 1, last completed NCCL work: -1.\n", r, r)
	}
	return b.String()
}

// notGiven is what a process raises that waited for rank 0 at its first collective.
func notGiven(rank int, why string) string {
	return raisedBy(rank, fmt.Sprintf("torch.distributed.DistBackendError: [%d] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: %s", rank, why))
}

// One process prepares the data for all, without a rank in front of its lines. The others give up before it is done; that is no hang.
func TestWorkOfOneForAllThatOutlivesTheTimeout(t *testing.T) {
	hang := []string{"rank-stalled", "collective-hang", "gpu-hang"}
	const index = " > WARNING: could not find index map files, building the indices on rank 0 ...\n > only one epoch required, setting separate_last_epoch to False\n"
	for _, c := range []fieldCase{
		{"a bar goes on", one(tokenizing(40, "09:58") + waitedFor(1, 2, 3)), []string{"rank-busy"}, "rank 0"},
		{"who draws it, nothing tells", one(tokenizing(40, "09:58") + waitedFor(1, 3)), []string{"rank-busy"}, "-"},
		{"another process begins the like when it gave up", one(tokenizing(40, "09:58") + waitedFor(1, 2) + tokenizing(0, "00:00") + waitedFor(3)), []string{"rank-busy"}, "rank 0"},
		{"the bar was full", one(tokenizing(100, "09:58") + waitedFor(1, 2, 3)), hang, "-"},
		{"the bar had only begun", one(tokenizing(40, "00:58") + waitedFor(1, 2, 3)), hang, "-"},
		{"steps were made since", one(tokenizing(40, "09:58") + fieldSteps + waitedFor(1, 2, 3)), hang, "-"},
		{"Megatron says on which rank", one(index + waitedFor(1, 2, 3)), []string{"rank-busy"}, "rank 0"},
		{"Megatron says that it was done", one(index + " > elapsed time to build and save shuffle-idx mapping (seconds): 4.836150\n" + waitedFor(1, 2, 3)), hang, "-"},
		{"the first rank waited, too", one(index + waitedFor(0, 1, 2, 3)), hang, "-"},
		{"the work failed", one(tokenizing(40, "09:58") + raisedBy(0, "KeyError: 'text'") + waitedFor(1, 2, 3)), []string{"exception"}, "rank 0"},
		{"a model is loaded", one(strings.ReplaceAll(tokenizing(40, "09:58"), "Tokenizing the corpus (num_proc=16)", "Loading checkpoint shards") + waitedFor(1, 2, 3)), []string{"rank-busy"}, "rank 0"},
		{"which rank loads it is told", one("[rank2]: " + strings.ReplaceAll(tokenizing(40, "09:58"), "Tokenizing the corpus (num_proc=16)", "Loading checkpoint shards") + waitedFor(0, 1, 3)),
			[]string{"rank-busy"}, "rank 2"},
		{"a model was loaded", one(strings.ReplaceAll(tokenizing(100, "09:58"), "Tokenizing the corpus (num_proc=16)", "Loading checkpoint shards") + waitedFor(1, 2, 3)), hang, "-"},
		{"others wait for NCCL's address", one(tokenizing(40, "30:11") + notGiven(1, "Socket Timeout")), []string{"rank-busy"}, "rank 0"},
		{"the same, of later versions", one(tokenizing(40, "1:30:11") + notGiven(1, "wait timeout after 1800000ms, keys: /default_pg/0//cuda//0")), []string{"rank-busy"}, "rank 0"},
		{"the first rank was gone", one(tokenizing(40, "30:11") + notGiven(1, "Connection reset by peer")), []string{"init-unreachable", "peer-lost"}, "-"},
		{"others wait for one whose work failed", one(tokenizing(40, "30:11") + raisedBy(0, "KeyError: 'text'") + notGiven(1, "Socket Timeout")), []string{"exception"}, "rank 0"},
	} {
		c.check(t)
	}
}
