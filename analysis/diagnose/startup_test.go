package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/simulate"
)

// A connection that is refused at start-up says that nobody listens at its other end. Whether a process died there or never
// could be reached, only that end's own log tells.
func TestRefusedAtStartUp(t *testing.T) {
	const frames = "[rank%[1]d]: Traceback (most recent call last):\n[rank%[1]d]:   File \"/a/train.py\", line 3, in main\n[rank%[1]d]:     dist.barrier()\n"
	refused := func(node string, rank int) string {
		return node + ":41:77 [0] misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to 10.9.0.7<34567> failed : Connection refused\n" +
			fmt.Sprintf(frames+"[rank%[1]d]: torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:77, unhandled system error, NCCL version 2.21.5\n"+
				"[rank%[1]d]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\n", rank)
	}
	gaveUp := func(rank int) string {
		return fmt.Sprintf(frames+"[rank%[1]d]: torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:77, remote process exited or there was a network error, NCCL version 2.26.2\n"+
			"[rank%[1]d]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n[rank%[1]d]: Last error:\n"+
			"[rank%[1]d]: socketPollConnect: connect to 10.9.0.7<34567> returned Connection refused, exceeded error retry count after 35 attempts\n", rank)
	}
	died := func(rank int, what string) string { return fmt.Sprintf(frames+"[rank%[1]d]: %[2]s\n", rank, what) }
	file := func(name, text string) simulate.File { return simulate.File{Name: name, Data: []byte(text)} }
	for _, tc := range []struct {
		name  string
		files []simulate.File
		nodes []string
		world int
		want  []string // candidates, sorted
		text  string   // in the summary
		need  string   // in one of the needs
	}{
		{"nobody says what logs to expect", []simulate.File{file("a.log", refused("n1", 0))}, nil, 0,
			[]string{"init-unreachable", "peer-lost"}, "did not accept a connection", "the process at 10.9.0.7"},
		{"the peer's log is missing", []simulate.File{file("error-7-n1.out", refused("n1", 0))}, []string{"n1", "n2"}, 2,
			[]string{"init-unreachable", "peer-lost"}, "did not accept a connection", "the process at 10.9.0.7"},
		{"every log is here and nobody died", []simulate.File{file("error-7-n1.out", refused("n1", 0)), file("error-7-n2.out", refused("n2", 1))}, []string{"n1", "n2"}, 2,
			[]string{"init-unreachable"}, "did not accept a connection", ""},
		{"the reason stands at the end of the message", []simulate.File{file("a.log", gaveUp(3))}, nil, 0,
			[]string{"init-unreachable", "peer-lost"}, "connect to 10.9.0.7<34567> returned Connection refused, exceeded error retry count", "the process at 10.9.0.7"},
		{"the peer had died, by its own log", []simulate.File{file("error-7-n1.out", refused("n1", 0)), file("error-7-n2.out", died(1, "ValueError: bad vocabulary"))}, []string{"n1", "n2"}, 2,
			[]string{"exception"}, "bad vocabulary", ""},
		{"memory that a peer ran out of", []simulate.File{file("a.log", refused("n1", 0)), file("b.log", died(1, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."))}, nil, 0,
			[]string{"gpu-oom"}, "out of memory", ""},
		{"a call that nobody names", []simulate.File{file("a.log", "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:825, unhandled system error, NCCL version 2.7.8\nncclSystemError: System call (socket, malloc, munmap, etc) failed.\n")}, nil, 0,
			[]string{"init-unreachable", "peer-lost", "unknown"}, "system call", "peers"},
		{"a name that nobody knows is no peer's death", []simulate.File{file("a.log", "socket.gaierror: [Errno -2] Name or service not known\n")}, nil, 0,
			[]string{"init-unreachable"}, "", ""},
	} {
		v := Run(read(t, tc.files, tc.nodes, tc.world)).Verdict
		var got []string
		for _, c := range v.Candidates {
			got = append(got, c.Mechanism)
		}
		slices.Sort(got)
		needed := tc.need == ""
		for _, n := range v.Needs {
			needed = needed || strings.Contains(n.What, tc.need)
		}
		open := len(tc.want) > 1
		if !slices.Equal(got, tc.want) || !strings.Contains(v.Summary, tc.text) || !needed || open != (v.Confidence < 0.9) {
			t.Errorf("%s: said %v (%.2f): %s; needs %v", tc.name, got, float64(v.Confidence), v.Summary, v.Needs)
		}
	}
}

// A process that met the store and waited there for others says only that somebody never came. Where another process failed, of
// whatever, that is why.
func TestSomebodyWhoFailedNeverJoined(t *testing.T) {
	const short = "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/a/train.py\", line 3, in main\n[rank0]:     f()\n" +
		"[rank0]: torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 3/4 clients joined.\n"
	const keys = "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/a/train.py\", line 3, in main\n[rank0]:     f()\n" +
		"[rank0]: torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /default_pg/0//cuda//3\n"
	on := func(first, second string) map[string]string {
		return map[string]string{"error-7-a1.out": first, "error-7-a2.out": second}
	}
	for _, c := range []fieldCase{
		{"an exception", on(short, raisedBy(3, "ValueError: no such preset: big")), []string{"exception"}, "rank 3, node a2"},
		{"GPU memory that another job holds", on(short, raisedBy(3, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of 79.11 GiB of which 1.02 MiB is free.")), []string{"gpu-oom"}, "rank 3, node a2"},
		{"a mount", on(short, raisedBy(3, "OSError: [Errno 116] Stale file handle: '/data/vocab.json'")), []string{"storage-unresponsive"}, "rank 3, node a2"},
		{"a key of the store", on(keys, raisedBy(3, "ValueError: no such preset: big")), []string{"exception"}, "rank 3, node a2"},
		{"nobody is seen to fail", on(short, "starting\n"), []string{"init-unreachable"}, ""},
		{"only the logs of who waits are there", map[string]string{"error-7-a1.out": short}, []string{"init-unreachable", "unknown"}, "-"},
		{"one log of all", map[string]string{"slurm-7.out": short + "starting\n"}, []string{"init-unreachable"}, ""},
		{"the other could not connect", on(short, raisedBy(3, "torch.distributed.DistNetworkError: The client socket has timed out after 600s while trying to connect to (a1, 29500).")), []string{"init-unreachable"}, ""},
		{"its own later failure explains nothing", on(short+raisedBy(0, "ValueError: no process group"), "starting\n"), []string{"init-unreachable"}, ""},
	} {
		c.check(t)
	}
}
