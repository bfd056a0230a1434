package worker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/line"
)

const plainTrace = `Traceback (most recent call last):
  File "/job/train.py", line 301, in <module>
    main()
    ^^^^^^
  File "/job/train.py", line 12, in main
    loss.backward()
RuntimeError: CUDA error: an illegal memory access was encountered
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1

`

func TestPlainTraceback(t *testing.T) {
	obs := observe(t, plainTrace+"done\n")
	if len(obs.Exceptions) != 1 {
		t.Fatalf("got %+v", obs.Exceptions)
	}
	e := obs.Exceptions[0]
	want := []Frame{{"/job/train.py", 301, "<module>"}, {"/job/train.py", 12, "main"}}
	if e.Type != "RuntimeError" || e.Message != "CUDA error: an illegal memory access was encountered" || !slices.Equal(e.Frames, want) {
		t.Errorf("got %+v", e)
	}
	if e.Line != 7 || e.Begin.Line != 1 || e.Torn || e.LoaderWorker != line.Unknown {
		t.Errorf("got line %d begin %d torn %v worker %d", e.Line, e.Begin.Line, e.Torn, e.LoaderWorker)
	}
	if obs.UnclassifiedN != 0 {
		t.Errorf("unclassified %+v", obs.Unclassified)
	}
}

// prefixed puts p in front of every line that is not empty, as PyTorch's excepthook does.
func prefixed(p, text string) []string {
	var out []string
	for _, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if l != "" {
			l = p + l
		}
		out = append(out, l)
	}
	return out
}

func TestInterleavedRankPrefixedTracebacksAreTakenApart(t *testing.T) {
	for _, form := range []string{"[rank%d]: ", "1%d: ", "[default%d]:", "(Worker pid=10%d) "} {
		a, b := prefixed(fmt.Sprintf(form, 3), plainTrace), prefixed(fmt.Sprintf(form, 5), strings.ReplaceAll(plainTrace, "line 12,", "line 13,"))
		var lines []string
		for i := range a {
			lines = append(lines, a[i], b[i])
		}
		obs := observe(t, strings.Join(lines, "\n")+"\n")
		if len(obs.Exceptions) != 2 {
			t.Fatalf("%s: got %d exceptions", form, len(obs.Exceptions))
		}
		for i, e := range obs.Exceptions {
			if e.Torn || len(e.Frames) != 2 || e.Frames[1].Line != 12+i || e.Type != "RuntimeError" {
				t.Errorf("%s: got %+v", form, e)
			}
		}
		if *obs.Exceptions[0].Who() == *obs.Exceptions[1].Who() {
			t.Errorf("%s: two writers became one: %+v", form, obs.Exceptions[0].Who())
		}
	}
}

func TestInterleavedTracebacksWithoutPrefixAreTorn(t *testing.T) {
	a := prefixed("", strings.TrimRight(plainTrace, "\n"))
	var lines []string
	for _, l := range a {
		lines = append(lines, l, l)
	}
	obs := observe(t, strings.Join(lines, "\n")+"\n")
	if len(obs.Exceptions) != 2 {
		t.Fatalf("got %d exceptions", len(obs.Exceptions))
	}
	for _, e := range obs.Exceptions {
		if !e.Torn || e.Frames != nil || e.Type != "RuntimeError" {
			t.Errorf("frames of nobody in particular must not be given to anybody: %+v", e)
		}
	}
}

func TestChainedTracebacks(t *testing.T) {
	for _, marker := range []string{
		"The above exception was the direct cause of the following exception:",
		"During handling of the above exception, another exception occurred:",
	} {
		obs := observe(t, `Traceback (most recent call last):
  File "/a.py", line 1, in a
    x()
StopIteration

`+marker+`

Traceback (most recent call last):
  File "/b.py", line 2, in b
    raise E from e
lhotse.ais.batch_loader.AISBatchLoaderError: Batch result iterator exhausted prematurely. Expected more objects
next line of the program
`)
		if len(obs.Exceptions) != 1 {
			t.Fatalf("got %+v", obs.Exceptions)
		}
		e := obs.Exceptions[0]
		if e.Type != "lhotse.ais.batch_loader.AISBatchLoaderError" || len(e.Cause) != 1 || e.Cause[0].Type != "StopIteration" || e.Cause[0].Line != 4 {
			t.Errorf("got %+v", e)
		}
	}
}

func TestDataLoaderWorkersTracebackIsTheCause(t *testing.T) {
	obs := observe(t, strings.Join(prefixed("[rank2]: ", `Traceback (most recent call last):
  File "/job/train.py", line 9, in <module>
    for batch in loader:
ConnectionError: Caught ConnectionError in DataLoader worker process 8.
Original Traceback (most recent call last):
  File "/usr/lib/urllib3/connectionpool.py", line 703, in urlopen
    httplib_response = self._make_request(
urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='x', port=443): Max retries exceeded

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/usr/lib/requests/adapters.py", line 519, in send
    raise ConnectionError(e, request=request)
requests.exceptions.ConnectionError: (MaxRetryError)

`), "\n")+"\n[rank2]:[W603 17:48:01.005271823 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called before program exit\n")
	if len(obs.Exceptions) != 1 {
		t.Fatalf("got %d: %+v", len(obs.Exceptions), obs.Exceptions)
	}
	e := obs.Exceptions[0]
	if e.Type != "ConnectionError" || e.LoaderWorker != 8 || e.Who().Global != 2 || len(e.Cause) != 2 {
		t.Fatalf("got %+v", e)
	}
	if e.Cause[0].Type != "urllib3.exceptions.MaxRetryError" || e.Cause[1].Type != "requests.exceptions.ConnectionError" {
		t.Errorf("got causes %q, %q", e.Cause[0].Type, e.Cause[1].Type)
	}
}

func TestTracebackCutBeforeItsFinalLine(t *testing.T) {
	obs := observe(t, strings.Join(prefixed("[rank7]: ", plainTrace)[:4], "\n"))
	if len(obs.Exceptions) != 1 || obs.Exceptions[0].Type != "" || len(obs.Exceptions[0].Frames) != 1 || obs.Exceptions[0].Who().Global != 7 {
		t.Errorf("got %+v", obs.Exceptions)
	}
}

func TestTwoTracebacksOfOneWriterOneAfterTheOther(t *testing.T) {
	obs := observe(t, plainTrace+strings.ReplaceAll(plainTrace, "RuntimeError", "ValueError"))
	if len(obs.Exceptions) != 2 || obs.Exceptions[0].Type != "RuntimeError" || obs.Exceptions[1].Type != "ValueError" || len(obs.Exceptions[1].Cause) != 0 {
		t.Errorf("got %+v", obs.Exceptions)
	}
}

func TestFinalLineWithoutTraceback(t *testing.T) {
	tests := []struct {
		text string
		typ  string // "" for none
	}{
		{"[rank4]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [10.0.0.7]:31485", "RuntimeError"},
		{"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError"},
		{"ConnectionError: Caught ConnectionError in DataLoader worker process 8.", "ConnectionError"},
		{"ValueError: printed by somebody", "ValueError"}, // whether it ended the program, the rest of the file tells
		{"SomeError: printed by somebody", ""},
		{"RuntimeError: CUDA error: an illegal memory access was encountered", ""}, // a signature says more
		{"2025-06-03 17:48:01,123 - root - WARNING - torch.FooError: handled", ""},
		{"Retrying fn in 3.2 seconds as it raised ConnectionError: reset", ""},
	}
	for _, tt := range tests {
		obs := observe(t, tt.text+"\n")
		got := ""
		if len(obs.Exceptions) == 1 {
			got = obs.Exceptions[0].Type
		}
		if got != tt.typ || len(obs.Exceptions) > 1 {
			t.Errorf("%s\ngot %+v", tt.text, obs.Exceptions)
		}
	}
}

func TestMessageOfSeveralLinesIsMatchedWhole(t *testing.T) {
	obs := observe(t, strings.Join(prefixed("[rank1]: ", `Traceback (most recent call last):
  File "/job/train.py", line 9, in <module>
    dist.barrier()
torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1333, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.18.1
ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. 
Last error:
socketProgress: Connection closed by remote peer node-9<51159>
`), "\n")+"\nwatch out\n")
	if len(obs.Exceptions) != 1 {
		t.Fatalf("got %+v", obs.Exceptions)
	}
	e := obs.Exceptions[0]
	if e.Type != "torch.distributed.DistBackendError" || !slices.Contains(e.Signs, "peer-nccl-closed") {
		t.Errorf("the peer stands in the last line of the message: %+v", e)
	}
}

func TestCppExceptions(t *testing.T) {
	obs := observe(t, `terminate called after throwing an instance of 'c10::CUDAError'
terminate called after throwing an instance of 'c10::Error'
  what():  CUDA error: unknown error
  what():  CUDA error: uncorrectable ECC error encountered
Exception raised from query at /pytorch/x.cpp:1 (most recent call first):
`)
	if len(obs.Exceptions) != 2 {
		t.Fatalf("got %+v", obs.Exceptions)
	}
	if obs.Exceptions[0].Message == obs.Exceptions[1].Message {
		t.Errorf("two processes, two messages: %+v", obs.Exceptions)
	}
	obs = observe(t, "terminate called without an active exception\n")
	if len(obs.Exceptions) != 1 || obs.Exceptions[0].Type != "terminate" {
		t.Errorf("got %+v", obs.Exceptions)
	}
}

func TestFaultHandlerKeepsTheCurrentThread(t *testing.T) {
	obs := observe(t, `Fatal Python error: Segmentation fault

Thread 0x00007f0000000001 (most recent call first):
  File "/usr/lib/threading.py", line 324 in wait

Current thread 0x00007f0000000002 (most recent call first):
  File "/job/kernel.py", line 7 in launch
  File "/job/train.py", line 9 in <module>

Extension modules: numpy.core._multiarray_umath (total: 1)
`)
	if len(obs.Exceptions) != 1 {
		t.Fatalf("got %+v", obs.Exceptions)
	}
	e := obs.Exceptions[0]
	if e.Message != "Segmentation fault" || len(e.Frames) != 2 || e.Frames[1].File != "/job/kernel.py" || e.Frames[1].Func != "launch" {
		t.Errorf("got %+v", e)
	}
}

func TestExceptionGroup(t *testing.T) {
	obs := observe(t, `  + Exception Group Traceback (most recent call last):
  |   File "/job/train.py", line 9, in <module>
  |     run()
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
`)
	if len(obs.Exceptions) != 1 || obs.Exceptions[0].Type != "ExceptionGroup" || len(obs.Exceptions[0].Frames) != 1 {
		t.Errorf("got %+v", obs.Exceptions)
	}
}

func TestRichTraceback(t *testing.T) {
	obs := observe(t, `╭─────────────────────────────── Traceback (most recent call last) ────────────────────────────────╮
│ /job/train.py:301 in <module>                                                                    │
│                                                                                                  │
│   298 │   if args.resume:                                                                        │
│ ❱ 301 │   main()                                                                                 │
╰──────────────────────────────────────────────────────────────────────────────────────────────────╯
ValueError: too many values
`)
	if len(obs.Exceptions) != 1 || obs.Exceptions[0].Type != "ValueError" || len(obs.Exceptions[0].Frames) != 1 || obs.Exceptions[0].Frames[0] != (Frame{"/job/train.py", 301, "<module>"}) {
		t.Errorf("got %+v", obs.Exceptions)
	}
}

func TestKeptTextIsBounded(t *testing.T) {
	r := newReader("f", &Scanner{table: whole()})
	e := Exception{Message: strings.Repeat("x", maxText)}
	for range maxKept/maxText + 10 {
		emit(r, &r.obs.Exceptions, e)
	}
	if r.kept > maxKept+maxText || r.dropped == 0 {
		t.Errorf("kept %d bytes, dropped %d", r.kept, r.dropped)
	}
}

// Python goes on after what it prints of __del__ and of a closed standard output.
func TestExceptionsThatPythonIgnoresAreNone(t *testing.T) {
	const trace = "Traceback (most recent call last):\n  File \"x.py\", line 3, in __del__\n    y()\n"
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"in a destructor":        {"step 1\nException ignored in: <function F.__del__ at 0x7f>\n" + trace + "AssertionError: can only test a child process\n", nil},
		"while deallocating":     {"Exception ignored while calling deallocator <function F.__del__ at 0x7f>:\n" + trace + "AttributeError: 'F' object has no attribute 'q'\n", nil},
		"of a rank":              {"[rank3]: Exception ignored in: <function F.__del__ at 0x7f>\n" + strings.ReplaceAll("[rank3]: "+strings.TrimSuffix(trace, "\n"), "\n", "\n[rank3]: ") + "\n[rank3]: RuntimeError: x\n", nil},
		"of an output":           {"Exception ignored in: <_io.TextIOWrapper name='<stdout>' mode='w' encoding='utf-8'>\nBrokenPipeError: [Errno 32] Broken pipe\n", nil},
		"a failure above":        {trace + "KeyError: 'a'\nException ignored in: <function F.__del__ at 0x7f>\n" + trace + "AssertionError: b\n", []string{"KeyError"}},
		"a failure below":        {"Exception ignored in: <function F.__del__ at 0x7f>\n" + trace + "AssertionError: b\n\n" + trace + "KeyError: 'a'\n", []string{"KeyError"}},
		"two writers at once":    {strings.Repeat("Exception ignored in: <function F.__del__ at 0x7f>\n", 2) + strings.Repeat("Traceback (most recent call last):\n", 2) + "AssertionError: b\nAssertionError: b\n", nil},
		"of somebody else":       {"[rank2]: Exception ignored in: <function F.__del__ at 0x7f>\n" + trace + "KeyError: 'a'\n", []string{"KeyError"}},
		"only words of a logger": {"2025-06-03 17:48:01,123 - x - INFO - Exception ignored by the user\n" + trace + "KeyError: 'a'\n", []string{"KeyError"}},
	} {
		var got []string
		for _, e := range observe(t, "\n"+tt.text).Exceptions {
			got = append(got, e.Type)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: read %v, not %v", name, got, tt.want)
		}
	}
}
