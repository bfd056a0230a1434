package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// The reminder that a group was not closed is printed where the program ends: it is nothing else that the program went on to.
func TestTheReminderOfAGroupIsNoWork(t *testing.T) {
	const (
		over     = "saving checkpoint at iteration     300 to /ckpt\n  successfully saved checkpoint from iteration     300 to /ckpt\n[after training is done] datetime: 2025-03-04 10:26:01\n"
		reminder = "[rank0]:[W304 10:26:05.112233445 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())\n"
		closed   = "cn01:7712:7900 [0] misc/socket.cc:58 NCCL WARN socketProgress: Connection closed by remote peer cn02.cluster<48122>\n"
		testing  = "[2025-03-04 10:26:05] INFO evaluating on the test set\n"
	)
	for _, c := range []fieldCase{
		{"a peer leaves below it", one(fieldSteps + over + reminder + closed), []string{"completed"}, "-"},
		{"a peer leaves below other work", one(fieldSteps + over + testing + closed), []string{"peer-lost", "unknown"}, "-"},
	} {
		c.check(t)
	}
}

// Who waited at the meeting point for all processes of another node had come past what those failed of.
func TestOneNodeLacksWhatAnotherHas(t *testing.T) {
	const lacks = "Traceback (most recent call last):\n  File \"/app/train.py\", line 3, in <module>\n    import flash_attn\nImportError: /opt/venv/flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs\n"
	const waited = "[rank0]: torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 4/8 clients joined.\n"
	tasks := func(from, to int) string {
		var b strings.Builder
		for n := from; n <= to; n++ {
			for _, l := range strings.SplitAfter(lacks, "\n") {
				if l != "" {
					b.WriteString(string(rune('0'+n)) + ": " + l)
				}
			}
		}
		return b.String()
	}
	const ends = "srun: error: gn01: task 0: Exited with exit code 1\nsrun: error: gn02: tasks 4-7: Exited with exit code 1\n"
	for _, c := range []fieldCase{
		{"by rank", one(tasks(4, 7) + "0: " + waited + ends), []string{"version-mismatch"}, "rank 4, rank 5, rank 6, rank 7, node gn02"},
		{"by file", map[string]string{"slurm-8-gn01.err": waited, "slurm-8-gn02.err": strings.Repeat(lacks, 4)}, []string{"version-mismatch"}, "node gn02"},
		{"and nobody waited", one(tasks(4, 7) + ends), []string{"version-mismatch"}, "-"},
		{"everywhere", one(tasks(0, 7) + ends), []string{"version-mismatch"}, "-"},
	} {
		c.check(t)
	}
}

// A file that a dataset does not find after steps had been made is an item of it, whether a worker of a loader or the rank itself looked.
func TestAnItemThatIsGone(t *testing.T) {
	missing := func(rank int, file string) string {
		return fmt.Sprintf("[rank%d]: Traceback (most recent call last):\n[rank%d]:   File \"/a/train.py\", line 3, in main\n[rank%d]:     batch = next(it)\n", rank, rank, rank) +
			fmt.Sprintf("[rank%d]:   File \"%s\", line 91, in __getitem__\n[rank%d]:     open(path)\n[rank%d]: FileNotFoundError: [Errno 2] No such file or directory: '/data/part-71.bin'\n", rank, file, rank, rank)
	}
	all := ""
	for r := range 8 {
		all += missing(r, "/m/core/datasets/indexed_dataset.py")
	}
	for _, c := range []fieldCase{
		{"in training", one(fieldSteps + missing(3, "/a/dataset.py")), []string{"bad-sample"}, "rank 3"},
		{"elsewhere in the program", one(fieldSteps + missing(3, "/a/model.py")), []string{"config-error"}, "rank 3"},
		{"before the first step", one(all), []string{"config-error"}, "-"},
	} {
		c.check(t)
	}
}

// Ranks are numbered from 0: where others of them are seen that failed otherwise, a few that fail alike are not everybody.
func TestAFewOfThoseWhoAreSeen(t *testing.T) {
	few := ""
	for r := 4; r < 8; r++ {
		few += raisedBy(r, "ValueError: sample 9182 has negative length")
	}
	const gone = "[rank9]: torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:268, remote process exited or there was a network error, NCCL version 2.21.5\n"
	for _, c := range []fieldCase{
		{"others are seen", one(fieldSteps + few + gone), []string{"exception"}, "rank 4, rank 5, rank 6, rank 7"},
		{"nobody else is seen", one(fieldSteps + few), []string{"exception"}, "-"},
	} {
		c.check(t)
	}
}

// What a daemon of the node kills for memory is the job's where it is a program of the job's kind.
func TestEarlyOOM(t *testing.T) {
	const kills = "Nov  3 08:28:00 kt9 earlyoom[801]: sending SIGTERM to process 40211 uid 1000 \"%s\": oom_score 1300, VmRSS 300211 MiB\n"
	const ended = "E1103 08:28:01.051000 4112 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -15) local_rank: 4 (pid: 40211) of binary: /usr/bin/python3\n"
	for _, c := range []fieldCase{
		{"of the job", map[string]string{"syslog-kt9.txt": fmt.Sprintf(kills, "python3"), "train-kt9.log": fieldSteps + ended}, []string{"host-oom"}, "node kt9"},
		{"of another", map[string]string{"syslog-kt9.txt": fmt.Sprintf(kills, "firefox"), "train-kt9.log": fieldSteps}, []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}
