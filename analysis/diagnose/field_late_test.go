package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// Who enters what others have given up held those, unless it is a later attempt that came as far.
func TestWhoCameLate(t *testing.T) {
	const job = "torchrun --standalone --nproc-per-node 4 train.py\n"
	report := func(rank int, clock string) string {
		return fmt.Sprintf("[rank%d]:[E607 %s.253530467 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=300, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600008 milliseconds before timing out.\n"+
			"[rank%d]:[E607 %s.255881356 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: 300 PG status: last enqueued work: 300, last completed work: 299\n", rank, clock, rank, rank, clock, rank)
	}
	told := func(rank int, clock string) string {
		return fmt.Sprintf("[rank%d]:[E607 %s.386713100 ProcessGroupNCCL.cpp:1682] [PG ID 0 PG GUID 0(default_pg) Rank %d] Received a dump signal due to a collective timeout from  rank 3 and we will try our best to dump the debug info. Last enqueued NCCL work: 300, last completed NCCL work: 299.\n", rank, clock, rank)
	}
	idle := strings.ReplaceAll(told(4, "10:10:01"), "work: 300", "work: 299")
	gaveUp := job + report(0, "10:10:00") + report(1, "10:10:00") + report(2, "10:10:00")
	all := []string{"collective-hang", "gpu-hang"}
	for _, c := range []fieldCase{
		{"it came after two minutes", one(gaveUp + report(3, "10:22:00")), []string{"rank-stalled"}, "rank 3"},
		{"another never came", one(strings.Replace(job, "4", "5", 1) + report(0, "10:10:00") + report(1, "10:10:00") + report(2, "10:10:00") + report(3, "10:22:00") + idle), []string{"rank-stalled"}, "rank 4"},
		{"it began with them", one(gaveUp + report(3, "10:10:30")), all, "-"},
		{"the others are there again", one(gaveUp + report(3, "10:40:00") + told(0, "10:40:01") + told(1, "10:40:01") + told(2, "10:40:01")), all, "-"},
		{"steps were made since", map[string]string{"a.log": job + "2025-06-07 10:12:00 INFO step 1 loss 2.5\n2025-06-07 10:13:00 INFO step 2 loss 2.4\n", "b.log": gaveUp + report(3, "10:40:00")}, all, "-"},
		{"hours later", one(gaveUp + report(3, "14:40:00")), all, "-"},
	} {
		c.check(t)
	}
}

// Those of one tensor-parallel group come late to their data-parallel groups when one of them does.
func TestSeveralWhoCameLateToTheirGroups(t *testing.T) {
	text := "  tensor_model_parallel_size ...................... 2\n  world_size ...................................... 8\n"
	for r := range 8 {
		clock := "10:10:00"
		if r/2 == 1 {
			clock = "10:22:00"
		}
		text += fmt.Sprintf("[rank%[1]d]:[E607 %[2]s.253530467 ProcessGroupNCCL.cpp:632] [Rank %[3]d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=300, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600008 milliseconds before timing out.\n"+
			"[rank%[1]d]:[E607 %[2]s.255881356 ProcessGroupNCCL.cpp:2268] [PG ID 2 PG GUID %[4]d(DATA_PARALLEL_GROUP) Rank %[3]d]  failure detected by watchdog at work sequence id: 300 PG status: last enqueued work: 300, last completed work: 299\n", r, clock, r/2, 10+r%2)
	}
	fieldCase{"of one group", one(text), []string{"rank-stalled", "collective-hang", "gpu-hang"}, "-"}.check(t)
}

// A script prints the kernel's lines last, in the zone of the node, which need not be the container's.
func TestTheKernelsLinesAtTheEnd(t *testing.T) {
	hung := "torchrun --standalone --nproc-per-node 4 train.py\n" + inDefault(0, 300, "ALLREDUCE", 64, 64, 300, 299) + inDefault(1, 300, "ALLREDUCE", 64, 64, 300, 299) + inDefault(2, 300, "ALLREDUCE", 64, 64, 300, 299)
	for _, hour := range []string{"21", "23"} {
		fieldCase{hour, one(hung + "[Sat Jun  7 " + hour + ":42:17 2025] NVRM: Xid (PCI:0000:9d:00): 79, pid=5120, name=python, GPU has fallen off the bus.\n"), []string{"gpu-off-bus"}, "-"}.check(t)
	}
}
