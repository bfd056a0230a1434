package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"faultline/simulate"
)

// called are the lines by which processes give their number, as scripts of Transformers print them.
func called(ranks ...int) string {
	var b strings.Builder
	for _, r := range ranks {
		fmt.Fprintf(&b, "11/26/2026 02:35:45 - WARNING - __main__ - Process rank: %d, device: cuda:%d, n_gpu: 1, distributed training: True\n", r, r%2)
	}
	return b.String()
}

// A rank that gave its number and says nothing when the others wait in vain or lose a peer is whom they waited for, or lost.
func TestARankThatOnlyCalledItself(t *testing.T) {
	wait := func(r int) string {
		return raisedBy(r, "RuntimeError: [./gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 30000ms for recv operation to complete")
	}
	lost := func(r int) string {
		return raisedBy(r, "RuntimeError: [./gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:1414")
	}
	const closing = "W1126 02:52:40.208000 31134 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 31432 closing signal SIGTERM\n"
	hang, gone := []string{"rank-stalled", "collective-hang"}, []string{"peer-lost", "unknown"}
	two := func(a, b string) map[string]string { return map[string]string{"n1.log": a, "n2.log": b} }
	for _, c := range []fieldCase{
		{"one is silent", two(called(0, 1)+fieldSteps+wait(0)+wait(1), called(2, 3)+wait(2)), []string{"rank-stalled"}, "rank 3"},
		{"nobody is silent", two(called(0, 1)+fieldSteps+wait(0)+wait(1), called(2, 3)+wait(2)+wait(3)), hang, "-"},
		{"the numbers begin again on each node", two(called(0, 1)+fieldSteps+wait(0)+wait(1), called(0, 1)+wait(2)), hang, "-"},
		{"a number is left out", two(called(0, 1)+fieldSteps+wait(0)+wait(1), called(2, 4)+wait(2)), hang, "-"},
		{"a rank that did not call itself", two(called(0, 1)+fieldSteps+wait(0)+wait(1), called(2, 3)+wait(5)), hang, "-"},
		{"one loses nobody", two(called(0, 1)+fieldSteps+lost(0)+lost(1), called(2, 3)+lost(2)), gone, "rank 3"},
		{"one may have been ended first", two(called(0, 1)+fieldSteps+lost(0)+lost(1), called(2, 3)+lost(2)+closing), gone, "-"},
		{"two are silent", two(called(0, 1)+fieldSteps+lost(0)+lost(1), called(2, 3)), gone, "-"},
	} {
		c.check(t)
	}
}

// The title of a launcher's account of a failure stands below that failure: it tells of no sender of a signal on another node.
func TestASignalToOneNodeAndTheAccountOfAnother(t *testing.T) {
	const (
		told    = "W1126 02:41:08.922000 15763 torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down workers\n"
		account = "============================================================\n/srv/job/finetune.py FAILED\n------------------------------------------------------------\n" +
			"Root Cause (first observed failure):\n[0]:\n  time      : 2026-11-26_02:41:16\n  host      : n1\n  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 16055)\n"
	)
	lost := raisedBy(0, "RuntimeError: [./gloo/transport/tcp/pair.cc:525] Read error [10.0.0.7]:3995: Connection reset by peer")
	fieldCase{"", map[string]string{"train-n1.log": called(0, 1) + fieldSteps + lost + account, "train-n2.log": called(2, 3) + told}, []string{"external-signal"}, "node n2"}.check(t)
}

// A count with the seconds since it began shows work that goes on, whatever it is called.
func TestAClockOfWorkThatOutlivesTheTimeout(t *testing.T) {
	hang := []string{"rank-stalled", "collective-hang", "gpu-hang"}
	clock := func(each, from float64) (s string) {
		for n := 885; n < 890; n++ {
			s += fmt.Sprintf("skipped %d000 batches, elapsed %.2f s\n", n, from+each*float64(n))
		}
		return s
	}
	for _, c := range []fieldCase{
		{"it goes on", one(clock(23.2, 0) + waitedFor(1, 2, 3)), []string{"rank-busy"}, "rank 0"},
		{"it ends below the report", one(clock(23.2, 0) + waitedFor(0, 3) + "all batches skipped, elapsed 22534.10 s\n"), []string{"rank-busy"}, "-"},
		{"it ended before", one(clock(23.2, 0) + "all batches skipped, elapsed 22534.10 s\n" + waitedFor(1, 2, 3)), hang, "-"},
		{"each took as long", one(clock(0.001, 700) + waitedFor(1, 2, 3)), hang, "-"},
		{"it had only begun", one(clock(0.1, 0) + waitedFor(1, 2, 3)), hang, "-"},
	} {
		c.check(t)
	}
}

// Who waits further on than the others is said: the sender of a broadcast, or one that called something else.
func TestWhoWaitsFurtherOn(t *testing.T) {
	text := fieldSteps + watchdog(1, 532339, "BROADCAST", 5164000) + watchdog(2, 532339, "BROADCAST", 5164000) + watchdog(0, 532341, "_ALLGATHER_BASE", 513)
	v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(text)}}, nil, 0)).Verdict
	if want := "rank 0 in _ALLGATHER_BASE #532341, 2 ahead; "; !strings.Contains(v.Summary, want) {
		t.Errorf("%q, want %q in it", v.Summary, want)
	}
}

// What stands in one process's file alone is looked for there, whatever the mechanism mostly concerns.
func TestTheOneFileIsNamed(t *testing.T) {
	const full = "thread 'loader' panicked at src/io.rs:41:9: Too many open files (os error 24)\n"
	files := func(names ...string) (out []simulate.File) {
		for _, n := range names {
			text := fieldSteps
			if strings.HasPrefix(n, "w5") {
				text += full
			}
			out = append(out, simulate.File{Name: n, Data: []byte(text)})
		}
		return out
	}
	for _, c := range []struct {
		names []string
		file  string
		of    int
	}{{[]string{"w0.log", "w2.log", "w5.log"}, "w5.log", 3}, {[]string{"w5.log"}, "", 0}, {[]string{"w5.err", "w5.out"}, "", 0}} {
		v := Run(read(t, files(c.names...), nil, 0)).Verdict
		if v.Mechanism != "resource-limit" || v.Root.File != c.file || v.Root.Of != c.of {
			t.Errorf("%v: %s, %q of %d", c.names, v.Mechanism, v.Root.File, v.Root.Of)
		}
	}
}

// A member that rank 0's barrier names by its number in the group is named so, where its global rank is not known.
func TestAMemberThatABarrierNames(t *testing.T) {
	const text = "[0] epoch end\nRuntimeError: [/opt/pytorch/torch/csrc/distributed/c10d/ProcessGroupGloo.cpp:3150] [Rank 0]: Rank 13 failed to pass monitoredBarrier in 600000 ms\n" +
		"RuntimeError: Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.\n"
	v := Run(read(t, []simulate.File{{Name: "o.log", Data: []byte(text)}}, nil, 0)).Verdict
	if v.Mechanism != "rank-stalled" || v.Root.Named != "rank 13 of its process group" || len(v.Root.Ranks) > 0 {
		t.Errorf("%s: %s, named %q, ranks %v", v.Mechanism, v.Summary, v.Root.Named, v.Root.Ranks)
	}
}
