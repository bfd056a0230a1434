package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/simulate"
)

// block is an item of torchrun's failure block.
func block(rank, code int, at, traceback string) string {
	return fmt.Sprintf("  time      : 2026-03-01_%s\n  host      : n1\n  rank      : %d (local_rank: %d)\n  exitcode  : %d (pid: %d)\n  error_file: <N/A>\n  traceback : %s\n",
		at, rank, rank, code, 4000+rank, traceback)
}

// People hand in what they copied: one file, the last lines, often without a word of who wrote them.
func TestPastedEndings(t *testing.T) {
	const (
		step   = " iteration      183/  250000 | consumed samples: 187392 | elapsed time per iteration (ms): 125.7 | lm loss: 2.471678E+00 |\n"
		border = "============================================================\n"
		frames = "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\n"
		loader = "FileNotFoundError: Caught FileNotFoundError in DataLoader worker process 5.\nOriginal Traceback (most recent call last):\n" +
			"  File \"/a/data.py\", line 9, in __getitem__\n    open(p)\nFileNotFoundError: [Errno 2] No such file or directory: '/d/1.jpg'\n"
		cuda = "terminate called after throwing an instance of 'c10::DistBackendError'\n" +
			"  what():  [PG ID 0 PG GUID 0(default_pg) Rank 2] Process group watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered\n"
	)
	next := func(n int) string { return strings.Replace(step, " 183/", fmt.Sprintf(" %d/", n), 1) }
	srun := func(how string) string {
		return step + step + "srun: error: n1: task 3: " + how + "\nsrun: launch/slurm: _step_signal: Terminating StepId=12.0\nsrun: error: n2: tasks 4-7: Terminated\n"
	}
	for _, tc := range []struct {
		name, text string
		want       []string // candidates, sorted
		ranks      []int
		phase      string
	}{
		{"the launcher's SIGKILL after another rank's error is teardown",
			border + "train.py FAILED\nFailures:\n[1]:\n" + block(0, -9, "10:00:31", "Signal 9 (SIGKILL) received by PID 4000") +
				"Root Cause (first observed failure):\n[0]:\n" + block(1, 1, "10:00:00", "To enable traceback see: https://pytorch.org") + border,
			[]string{"exception", "unknown"}, []int{1}, "unknown"},
		{"SIGKILL alone does not say who sent it",
			"E0301 10:00:00.000000 41 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -9) local_rank: 3 (pid: 44) of binary: /usr/bin/python3\n",
			[]string{"external-signal", "host-oom"}, nil, "unknown"},
		{"a rank of the default group is the global one", cuda, []string{"cuda-error"}, []int{2}, "unknown"},
		{"a file that a loader misses before the first step", frames + loader, []string{"bad-sample", "config-error"}, nil, "unknown"},
		{"a file that a loader misses in training", step + step + frames + loader, []string{"bad-sample"}, nil, "training"},
		{"a missing key in one traceback is not every rank's", frames + "KeyError: 'hidden_size'\n", []string{"config-error", "exception"}, nil, "init"},
		{"a library's word for a CUDA error names none", "RuntimeError: NCCL Error 1: unhandled cuda error (run with NCCL_DEBUG=INFO for details)\n",
			[]string{"cuda-error", "unknown"}, nil, "unknown"},
		{"a full disk below a save that began", step + "03/01 10:00:00 - mmengine - INFO - Saving checkpoint at 14 epochs\n" + frames + "OSError: [Errno 28] No space left on device\n",
			[]string{"storage-full"}, nil, "checkpoint"},
		{"a task that ended itself with a code of its own", srun("Exited with exit code 7"), []string{"exception", "unknown"}, nil, "training"},
		{"a shell that saw SIGABRT", srun("Exited with exit code 134"), []string{"native-crash", "unknown"}, nil, "training"},
		{"a shell that saw SIGKILL", srun("Exited with exit code 137"), []string{"external-signal", "host-oom"}, nil, "training"},
		{"a shell that saw SIGTERM", srun("Exited with exit code 143"), []string{"unknown"}, nil, "training"},
		{"a time limit that names no reporter", step + step + "slurmd[n1]: *** JOB 1234 CANCELLED AT 2013-01-01T00:00:00 DUE TO TIME LIMIT ***\n", []string{"collective-hang", "gpu-hang", "rank-stalled", "time-limit"}, nil, "training"},
		{"NCCL gave up connecting", "n1:1:2 [0] NCCL INFO socketPollConnect: connect returned Connection refused, retrying (34/34) after sleep for 3400 msec\n" +
			"torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:77, remote process exited or there was a network error, NCCL version 2.26.2\n" +
			"ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketPollConnect: connect returned Connection refused, exceeded error retry count (35)\n",
			[]string{"init-unreachable", "peer-lost"}, nil, "init"},
		{"a traceback whose beginning was not copied", "    loss.backward()\n  File \"/a/train.py\", line 3, in step\n    run_backward(\nRuntimeError: Trying to backward through the graph a second time\n",
			[]string{"exception"}, nil, "unknown"},
		{"frames that lead to nothing", step + step + step + "  File \"/a/train.py\", line 3, in step\n    print_stack()\nslow batch\n" + step, []string{"completed"}, nil, "training"},
		{"a stack that a logger printed", step + "Stack (most recent call last):\n  File \"/a/train.py\", line 3, in step\n    log.info('x', stack_info=True)\n2026-03-01 10:00:00,123 - root - INFO - on it goes\nValueError: of somebody else\n" + next(184) + next(185) + next(186),
			[]string{"completed"}, nil, "training"},
		{"Hydra names what it could not make", "Error executing job with overrides: ['trainer.devices=8']\nError in call to target 'models.Encoder':\nTypeError(\"__init__() got an unexpected keyword argument 'depth'\")\nfull_key: model\n",
			[]string{"exception"}, nil, "unknown"},
		{"a box that the rich library draws", step + "╭───── Traceback (most recent call last) ─────╮\n│ /a/train.py:41 in <module>   │\n│                              │\n│ ❱ 41 │   main()              │\n╰──────────────────────────────╯\nKeyError: 'labels'\n",
			[]string{"exception"}, nil, "training"},
		{"the last words of a program", step + step + "ValueError: batch of 16 does not match labels of 8\nsee the manual\n", []string{"exception"}, nil, "training"},
		{"words that the program went on after", step + "ValueError: sample 7 is empty\n" + next(184) + next(185) + next(186), []string{"completed"}, nil, "training"},
		{"a launcher that saw it end by itself", "E0603 17:48:01.005000 100 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 1 (pid: 4242) of binary: /usr/bin/python3\n",
			[]string{"exception", "unknown"}, nil, "unknown"},
		{"a check in a C++ library", step + "F0501 10:00:00.123456  1234 stream.cc:404] Check failed: status.ok() INTERNAL: no\n*** Check failure stack trace: ***\n", []string{"native-crash"}, nil, "training"},
		{"an error that the trainer caught", "epoch 001:     10 / 2212 loss=12.4, num_updates=9, lr=1e-05\n| WARNING | OOM: Ran out of memory with exception: CUDA out of memory. Tried to allocate 93.75 GiB\n" +
			"epoch 001:     20 / 2212 loss=12.3, num_updates=19, lr=1e-05\nepoch 001:     30 / 2212 loss=12.2, num_updates=29, lr=1e-05\n| INFO | done training in 3884.3 seconds\n",
			[]string{"completed"}, nil, "shutdown"},
	} {
		f := read(t, []simulate.File{{Name: "pasted.log", Data: []byte(tc.text)}}, nil, 0)
		v := Run(f).Verdict
		var got []string
		for _, c := range v.Candidates {
			got = append(got, c.Mechanism)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != strings.Join(tc.want, " ") || !slices.Equal(v.Root.Ranks, tc.ranks) && len(v.Root.Ranks)+len(tc.ranks) > 0 || v.Phase != tc.phase {
			t.Errorf("%s: said %v, ranks %v, phase %s", tc.name, got, v.Root.Ranks, v.Phase)
		}
	}
}
