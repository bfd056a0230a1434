package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// inDefault is how a rank of PyTorch 2.7 reports that it waits in a work of the default group, with its counters.
func inDefault(rank, seq int, op string, in, out, enqueued, completed int) string {
	return fmt.Sprintf("[rank%d]:[E607 21:52:16.253530467 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=%s, NumelIn=%d, NumelOut=%d, Timeout(ms)=600000) ran for 600008 milliseconds before timing out.\n"+
		"[rank%d]:[E607 21:52:16.255881356 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: %d PG status: last enqueued work: %d, last completed work: %d\n",
		rank, rank, seq, op, in, out, rank, rank, seq, enqueued, completed)
}

const fourRanks = "torchrun --standalone --nproc-per-node 4 train.py\n"

// A watchdog reports the first work that it finds open. A completed counter that fits none is that of the sends and receives of the group.
func TestACounterOfSendsAndReceives(t *testing.T) {
	job := func(completed ...int) map[string]string {
		b := fourRanks
		for r, c := range completed {
			b += inDefault(r, 808, "ALLREDUCE", 4096, 4096, 810, c)
		}
		return one(b)
	}
	inside := []string{"collective-hang", "gpu-hang"}
	fieldCase{"one completed what is no collective", job(807, 807, 41, 807), inside, "-"}.check(t)
	fieldCase{"all the same", job(807, 807, 807, 807), inside, "-"}.check(t)
}

// An all-gather of a list takes tensors of different sizes.
func TestPartsOfAnAllGather(t *testing.T) {
	job := func(whole int, parts ...int) map[string]string {
		b := fourRanks
		for r, n := range parts {
			b += inDefault(r, 63, "ALLGATHER", n, whole, 63, 62)
		}
		return one(b)
	}
	for _, c := range []fieldCase{
		{"they add up", job(42, 10, 12, 9, 11), []string{"collective-hang", "gpu-hang"}, "-"},
		{"they do not", job(40, 10, 10, 9, 10), []string{"collective-mismatch"}, "rank 2"},
		{"one is not seen, and they may", job(42, 10, 12, 9), []string{"rank-stalled", "collective-hang", "gpu-hang"}, "-"},
		{"one is not seen, and they are even", job(40, 10, 10, 9), []string{"collective-mismatch"}, "-"},
	} {
		c.check(t)
	}
}

// Those who were told print the counters of the default group alone.
func TestToldInAJobOfManyGroups(t *testing.T) {
	told := toldOf(0) + toldOf(1) + toldOf(2) + toldOf(3)
	const sizes = "using world size: 5, data-parallel size: 5, context-parallel size: 1, tensor-model-parallel size: 1, pipeline-model-parallel size: 1\n"
	const many = "using world size: 8, data-parallel size: 4, context-parallel size: 1, tensor-model-parallel size: 2, pipeline-model-parallel size: 1\n"
	for _, c := range []fieldCase{
		{"of one", one(sizes + told), []string{"lone-waiter", "collective-mismatch"}, "-"},
		{"of many", one(many + told + toldOf(5) + toldOf(6) + toldOf(7)), []string{"rank-stalled", "collective-hang", "gpu-hang", "lone-waiter", "collective-mismatch"}, "-"},
	} {
		c.check(t)
	}
}

// A watchdog that only reports ends nothing, and of another attempt the earlier one's is not the end.
func TestAWaitThatTheJobCameThrough(t *testing.T) {
	steps := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "[rank0]: 2025-06-07 21:%02d:00 step %d loss 2.%d\n", i, i, i)
		}
		return b.String()
	}
	caught := strings.SplitAfter(inDefault(1, 88, "ALLREDUCE", 4, 4, 88, 87), "\n")[0]
	const finished, down = "[rank0]: 2025-06-07 21:59:00 Training finished\n", "[rank1]:[E607 21:52:17.253530467 ProcessGroupNCCL.cpp:684] [Rank 1] To avoid data inconsistency, we are taking the entire process down.\n"
	open := []string{"rank-stalled", "lone-waiter"}
	const two = "torchrun --standalone --nproc-per-node 2 train.py\n"
	for _, c := range []fieldCase{
		{"and finished", one(two + steps(20, 50) + caught + steps(53, 58) + finished), []string{"completed"}, "-"},
		{"its process was taken down, and another went on", one(two + steps(20, 50) + caught + down + steps(53, 58) + finished), []string{"completed"}, "-"},
		{"its process was taken down", one(two + steps(20, 50) + caught + down + finished), open, "-"},
		{"what stands below is of before", one(two + caught + steps(20, 50) + "[rank0]: 2025-06-07 21:50:30 Training finished\n"), open, "-"},
	} {
		c.check(t)
	}
}

// In reinforcement learning a job runs servers of its own: that one does not answer accuses no store.
func TestAServerOfTheJobThatDoesNotAnswer(t *testing.T) {
	const refused = "HTTPConnectionPool(host='127.0.0.1', port=%d): Max retries exceeded with url: %s (Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at 0x7f0a>: Failed to establish a new connection: [Errno 111] Connection refused'))"
	get := func(port int, path string) string { return fmt.Sprintf(refused, port, path) }
	gone := []string{"peer-lost", "unknown"}
	for _, c := range []fieldCase{
		{"an engine, by what it was asked for", one(fieldSteps + raisedBy(0, "requests.exceptions.ConnectionError: "+get(8000, "/generate/"))), gone, "-"},
		{"a store, by what it was asked for", one(fieldSteps + raisedBy(0, "requests.exceptions.ConnectionError: "+get(51080, "/v1/objects/b/o"))), []string{"storage-retries-exhausted"}, ""},
		{"an engine, in a line of a log", one(fieldSteps + "ERROR request failed: " + get(8000, "/generate") + "\n" + raisedBy(2, "KeyError: 'text'")), []string{"exception"}, "rank 2"},
		{"one of many servers", one(fieldSteps + raisedBy(0, "httpx.ConnectError: All connection attempts failed")), gone, "-"},
		{"a server by its number", one(fieldSteps + raisedBy(0, "aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host 10.0.0.4:15006 ssl:default [Connect call failed ('10.0.0.4', 15006)]")), gone, "-"},
		{"the same, in a loader", one(fieldSteps + inLoader(0, "aiohttp.client_exceptions.ClientConnectorError", "Cannot connect to host 10.0.0.4:9000 ssl:default [Connect call failed ('10.0.0.4', 9000)]")), []string{"storage-retries-exhausted"}, "rank 0"},
		{"a server by its name", one(fieldSteps + raisedBy(0, "aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host data.example.org:443 ssl:default [Connect call failed ('10.0.0.4', 443)]")), []string{"storage-retries-exhausted"}, ""},
	} {
		c.check(t)
	}
}

// Of one that waits the line is torn that says in what.
func TestACallThatNoLineNames(t *testing.T) {
	job := func(last func(string) string) map[string]string {
		b := fourRanks
		for r := range 3 {
			b += inDefault(r, 900, "ALLREDUCE", 4096, 4096, 900, 899)
		}
		return one(b + last(inDefault(3, 900, "BROADCAST", 4096, 4096, 900, 899)))
	}
	for _, c := range []fieldCase{
		{"whole", job(func(s string) string { return s }), []string{"collective-mismatch"}, "rank 3"},
		{"its operation is torn off", job(func(s string) string {
			return strings.Replace(s, "OpType=BROADCAST, NumelIn=4096, NumelOut=4096", "OpTy#", 1)
		}), []string{"collective-hang", "gpu-hang", "collective-mismatch"}, "-"},
		{"its first line is lost", job(func(s string) string { return s[strings.Index(s, "\n")+1:] }), []string{"collective-hang", "gpu-hang", "collective-mismatch"}, "-"},
	} {
		c.check(t)
	}
}
