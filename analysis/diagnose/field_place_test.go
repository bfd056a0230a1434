package diagnose

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"faultline/simulate"
)

const (
	bareError = "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\nValueError: shapes (4,) and (5,)\n"
	accLines  = "round 1 rank R acc 0.1\nround 2 rank R acc 0.2\nround 3 rank R acc 0.3\n"
)

func ownLines(rank string) string { return strings.ReplaceAll(accLines, "R", rank) }

// What a file says of itself is the place of what it holds, where the names of files or its siblings confirm it.
func TestTheirOwnPlace(t *testing.T) {
	with := func(files map[string]string, name, more string) map[string]string {
		out := maps.Clone(files)
		out[name] += more
		return out
	}
	ranks := map[string]string{"a": ownLines("0"), "b": ownLines("1"), "c": ownLines("2")}
	leaders := map[string]string{"a": ownLines("0"), "b": ownLines("8"), "c": ownLines("16")}
	nodes := map[string]string{"ax1.txt": "node ax1, 4 GPUs\n" + fieldSteps, "ax2.txt": "node ax2, 4 GPUs\n" + fieldSteps}
	cause := []string{"exception"}
	for _, c := range []fieldCase{
		{"a rank in each line", with(ranks, "b", bareError), cause, "rank 1"},
		{"the first ranks of nodes, which write for all of theirs", with(leaders, "b", bareError), cause, "-"},
		{"one that speaks of another", map[string]string{"a": ownLines("0") + "rank 1 acc 0.4\n", "b": ownLines("1") + bareError}, cause, "-"},
		{"a warning that names two in every file", map[string]string{"a": "versions differ: rank 0 has 2.21, rank 3 has 2.26\n" + ownLines("x"), "b": "versions differ: rank 0 has 2.21, rank 3 has 2.26\n" + bareError}, cause, "-"},
		{"the same numbers on two nodes", with(map[string]string{"a": ownLines("0"), "b": ownLines("1"), "c": ownLines("0"), "d": ownLines("1")}, "b", bareError), cause, "-"},
		{"numbers in the names of files, of which one is not here", map[string]string{"p1.log": ownLines("1"), "p2.log": ownLines("2") + bareError, "p3.log": ownLines("3")}, cause, "rank 2"},
		{"two streams of a process", map[string]string{"out.0": ownLines("0"), "out.1": ownLines("1"), "err.0": "", "err.1": bareError}, cause, "rank 1"},
		{"a node that each file gives", with(nodes, "ax2.txt", bareError), cause, "node ax2"},
		{"a prompt, and the file is called so", map[string]string{"ax7.log": "[me@ax7 run]$ ./start\n" + fieldSteps + bareError, "b.log": fieldSteps}, cause, "node ax7"},
		{"the node on which the batch script runs", map[string]string{"job.out": "host ax1\n" + fieldSteps + bareError, "b.log": fieldSteps}, cause, "-"},
		{"the node of a peer", map[string]string{"ax1.txt": "node ax1\nwaiting for node ax2\n" + fieldSteps + bareError, "ax2.txt": "node ax2\n" + fieldSteps}, cause, "node ax1"},
		{"a key in front of a line", map[string]string{"ax1.txt": fieldSteps + "top5: the best so far\n" + bareError, "b": fieldSteps}, cause, "-"},
		{"called by the host that another file gives", map[string]string{"run.txt": "host ax-3\n" + fieldSteps, "check-ax-3.log": bareError}, cause, "node ax-3"},
	} {
		c.check(t)
	}
}

// Of a merged log an error that no label places is of the only task that srun saw end with an error of its own.
func TestTheOnlyTaskThatFailed(t *testing.T) {
	const failed, ended = "srun: error: bk-7: task 21: Exited with exit code 1\n", "srun: error: bk-4: task 3: Terminated\n"
	for _, c := range []fieldCase{
		{"one", one(fieldSteps + bareError + failed + ended), []string{"exception"}, "node bk-7"},
		{"two", one(fieldSteps + bareError + failed + "srun: error: bk-5: task 9: Exited with exit code 1\n"), []string{"exception"}, "-"},
		{"of another file", map[string]string{"a.log": fieldSteps + bareError, "b.log": failed}, []string{"exception"}, "-"},
	} {
		c.check(t)
	}
}

// A file's name may be the host's of whom other processes speak as their peer; and a signal that one node's launcher alone got went to that node.
func TestAFileNamedForAPeer(t *testing.T) {
	const (
		lost = "[rank1]:[E919 11:20:34.331206408 ProcessGroupNCCL.cpp:632] [Rank 1] Collective WorkNCCL(SeqNum=91, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) raised the following async exception: NCCL error: remote process exited or there was a network error, NCCL version 2.21.5\n" +
			"ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketProgress: Connection closed by remote peer "
		told = "W0919 11:20:05.311000 3340 torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down workers\n"
	)
	began := strings.ReplaceAll(timedSteps(1, 30, 30), "2026-03-11 04:", "2026-09-19 11:")
	for _, c := range []fieldCase{
		{"its peer says so", map[string]string{"agent-vb1.log": began + lost + "vb3.local<51204>\n", "agent-vb3.log": began + bareError}, nil, ""},
		{"its store is named so", map[string]string{"agent-vb1.log": began + "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (vb3.local, 29500).\n", "agent-vb3.log": began + bareError}, nil, ""},
	} {
		var in []simulate.File
		for _, name := range slices.Sorted(maps.Keys(c.files)) {
			in = append(in, simulate.File{Name: name, Data: []byte(c.files[name])})
		}
		f := read(t, in, nil, 0)
		if got := f.Coverage.NodesSeen; !slices.Equal(got, []string{"vb1", "vb3"}) { // and the other file is called alike
			t.Errorf("%s: nodes %v", c.name, got)
		}
	}
	for _, c := range []fieldCase{
		{"one node's launcher was told to stop", map[string]string{"agent-vb1.log": began + lost + "vb3.local<51204>\n", "agent-vb3.log": began + told}, []string{"external-signal"}, "node vb3"},
		{"nobody names the file's host", map[string]string{"agent-vb1.log": began + lost + "10.0.0.3<51204>\n", "agent-vb3.log": began + told}, []string{"external-signal"}, "-"},
	} {
		c.check(t)
	}
}
