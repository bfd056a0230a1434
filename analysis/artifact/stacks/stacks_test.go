package stacks

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/analysis/line"
)

const spyLoader = `Process 4242: /usr/bin/python -u train.py --local_rank=3
Python v3.10.12 (/usr/bin/python3.10)

Thread 4242 (idle): "MainThread"
    wait (threading.py:320)
        Arguments:
            self: <Condition at 0x7f>
            timeout: 5
    get (queue.py:180)
    _try_get_data (torch/utils/data/dataloader.py:1133)
        Locals:
            rank: 7
    _next_data (torch/utils/data/dataloader.py:1329)
    __next__ (torch/utils/data/dataloader.py:631)
    train (train.py:88)
    <module> (train.py:120)
Thread 4300 (idle): "QueueFeederThread"
    wait (threading.py:320)
    _feed (multiprocessing/queues.py:231)
    _bootstrap (threading.py:973)
`

const handlerReduce = `Timeout (0:05:00)!
Thread 0x00007fd1fc8d36c0 (most recent call first):
  File "/opt/py/lib/python3.11/threading.py", line 327 in wait
  File "/opt/py/lib/python3.11/threading.py", line 1002 in _bootstrap

Thread 0x00007fd1fd63ab80 (most recent call first):
  File "/opt/py/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 2219 in all_reduce
  File "/opt/py/lib/python3.11/site-packages/torch/distributed/c10d_logger.py", line 75 in wrapper
  File "/home/u/train.py", line 7 in step
  File "/home/u/train.py", line 11 in <module>
`

const gdbSync = `Attaching to process 4242
[New LWP 4250]
[Thread debugging using libthread_db enabled]

Thread 2 (Thread 0x7ff3238706c0 (LWP 4250) "pt_nccl_watchdg"):
#0  __futex_abstimed_wait_common64 (private=0) at ./nptl/futex-internal.c:57
#1  0x00007ff323ea3f7b in std::condition_variable::wait(std::unique_lock<std::mutex>&) () from /lib/libstdc++.so.6

Thread 1 (Thread 0x7ff3245d3b80 (LWP 4242) "python3"):
#0  0x00007ffcb1bf6cdb in clock_gettime ()
#1  0x00007f1ce0a12345 in ?? () from /lib/x86_64-linux-gnu/libcuda.so.1
#2  0x00007f1ce0a54321 in cudaStreamSynchronize () from /opt/libcudart.so.12
#3  0x00007f1ce0b54321 in _PyEval_EvalFrameDefault (f=Frame 0x55d, for file /home/u/train.py, line 42, in step (x=1)) at Python/ceval.c:100
`

// kinds are the formats, each with one process.
type kind struct {
	name, text string
	tool       Tool
	pid        int
	place      Place
	op, frame  string
	user       string
	threads    int
}

var kinds = []kind{
	{name: "py-spy with arguments and locals", text: spyLoader, tool: PySpy, pid: 4242, place: Loader, frame: "_try_get_data", user: "train", threads: 2},
	{name: "labels of srun in front", text: labelled(spyLoader, "12: "), tool: PySpy, pid: 4242, place: Loader, frame: "_try_get_data", user: "train", threads: 2},
	{name: "labels of pdsh in front", text: labelled(spyLoader, "node07: "), tool: PySpy, pid: 4242, place: Loader, frame: "_try_get_data", user: "train", threads: 2},
	{name: "colours of a terminal", text: strings.ReplaceAll(spyLoader, "_try_get_data", "\x1b[32m_try_get_data\x1b[0m"), tool: PySpy, pid: 4242, place: Loader, frame: "_try_get_data", user: "train", threads: 2},
	{name: "faulthandler's timer", text: handlerReduce, tool: FaultHandler, place: Collective, op: "all_reduce", frame: "all_reduce", user: "step", threads: 2},
	{name: "faulthandler at a crash, the rank in front", text: labelled("Fatal Python error: Aborted\n\nCurrent thread 0x00007fd1fd63ab80 (most recent call first):\n  File \"/home/u/train.py\", line 7 in step\n  ...\n\nExtension modules: numpy (total: 1)\n", "[rank3]: "),
		tool: FaultHandler, place: User, frame: "step", user: "step", threads: 1},
	{name: "faulthandler of Python 3.14 names threads and the stack of C", text: "Current thread 0x00007fd1fd63ab80 [python] (most recent call first):\n  File \"/home/u/train.py\", line 7 in step\n\nCurrent thread's C stack trace (most recent call first):\n  Binary file \"/usr/bin/python3\", at _Py_DumpStack+0x3c [0x56]\n",
		tool: FaultHandler, place: User, frame: "step", user: "step", threads: 1},
	{name: "gdb, all threads", text: gdbSync, tool: GDB, pid: 4242, place: Sync, frame: "cudaStreamSynchronize", user: "step", threads: 2},
	{name: "pstack without symbols of Python", text: "Thread 1 (process 77):\n#0  0x00007f in __libc_read () from /lib/libc.so.6\n#1  0x00007f in ncclGroupEndInternal() () from /opt/libnccl.so.2\n#2  0x00007f in ?? ()\n", tool: GDB, place: Collective, op: "ncclGroupEndInternal", frame: "ncclGroupEndInternal()", threads: 1},
	{name: "eu-stack", text: "PID 77 - process\nTID 77:\n#0  0x00007f3b poll\n#1  0x00007f3c take_gil - /usr/lib/libpython3.10.so.1.0\nTID 80:\n#0  0x00007f3b poll\n", tool: GDB, pid: 77, place: GIL, frame: "take_gil", threads: 2},
	{name: "the kernel's stack", text: "==> /proc/280058/stack <==\n[<0>] cxiWaitEventWait+0x208/0x330 [mmfslinux]\n[<0>] gpfs_f_rdwr_iter+0x217/0x300 [mmfslinux]\n[<0>] ksys_write+0x4f/0xb0\n", tool: Kernel, pid: 280058, place: Storage, frame: "cxiWaitEventWait", threads: 1},
	{name: "py-spy as JSON", text: `[
  {
    "pid": 4242,
    "thread_id": 139,
    "thread_name": "MainThread",
    "os_thread_id": 4242,
    "active": false,
    "owns_gil": false,
    "frames": [
      {
        "name": "read",
        "filename": "/opt/lib/python3.10/site-packages/torch/serialization.py",
        "module": null,
        "short_filename": "torch/serialization.py",
        "line": 700,
        "locals": [{"name": "name", "addr": 1, "arg": true, "repr": "1"}]
      },
      {
        "name": "_save",
        "filename": "/opt/lib/python3.10/site-packages/torch/serialization.py",
        "module": null,
        "short_filename": "torch/serialization.py",
        "line": 850,
        "locals": null
      }
    ],
    "process_info": null
  }
]
`, tool: PySpy, pid: 4242, place: Checkpoint, frame: "_save", threads: 1},
	{name: "pystack", text: `$ pystack remote --native 812
Traceback for thread 845 (pt_autograd_0) [] (most recent call last):
    (C) File "???", line 0, in __clone3 (libc.so.6)

Traceback for thread 812 (python) [Has the GIL] (most recent call last):
    (Python) File "/w/tune.py", line 40, in main
        loss = step(batch)
    (Python) File "/opt/site-packages/torch/distributed/distributed_c10d.py", line 2501, in all_reduce
        work.wait()
`, tool: Traceback, pid: 812, place: Collective, op: "all_reduce", frame: "all_reduce", user: "main", threads: 2},
	{name: "threads that print where they are", text: `Thread MainThread (most recent call last):
  File "/w/tune.py", line 40, in main
    save(model)
  File "/opt/site-packages/torch/serialization.py", line 850, in _save
    zip_file.write_record(name, storage, num_bytes)
Thread Thread-2 (most recent call last):
  File "/usr/lib/python3.11/threading.py", line 1002, in _bootstrap
    self._bootstrap_inner()
`, tool: Traceback, place: Checkpoint, frame: "_save", user: "main", threads: 2},
	{name: "gdb, in a library that reads a file", text: `# gdb -p 77 -batch -ex bt
#0  0x00007f11 in __GI___libc_preadv64 (fd=9) at preadv64.c:26
#1  0x00007f12 in nc4_io_read () from /usr/lib/libnetcdf.so.19
#2  0x00007f13 in nc_get_vara_float () from /usr/lib/libnetcdf.so.19
#3  0x00005511 in _PyEval_EvalFrameDefault ()
`, tool: GDB, pid: 77, place: Files, frame: "nc_get_vara_float", threads: 1},
}

func labelled(text, label string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(label + l)
	}
	return b.String()
}

func read(t *testing.T, text string) *File {
	t.Helper()
	f, err := Read(context.Background(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEveryFormatIsRead(t *testing.T) {
	for _, c := range kinds {
		t.Run(c.name, func(t *testing.T) { wellRead(t, c, c.text) })
		t.Run(c.name+", copied with blanks", func(t *testing.T) { wellRead(t, c, strings.ReplaceAll(c.text, "\n", "  \n")) })
	}
}

// wellRead reads one of the kinds, as it is written or as it was copied.
func wellRead(t *testing.T, c kind, text string) {
	t.Helper()
	if !Recognise([]byte(text)) {
		t.Error("not recognised")
	}
	f := read(t, text)
	if len(f.Stacks) != 1 {
		t.Fatalf("%d stacks", len(f.Stacks))
	}
	s := f.Stacks[0]
	if s.Tool != c.tool || s.PID != c.pid || s.Place != c.place || s.Op != c.op || s.Threads != c.threads || s.Kind != Trainer {
		t.Errorf("%s %d %s %q of %d threads, %s", s.Tool, s.PID, s.Place, s.Op, s.Threads, s.Kind)
	}
	if s.Named < 0 || s.Thread.Frames[s.Named].Func != c.frame {
		t.Errorf("named by frame %d of %v, not %s", s.Named, s.Thread.Frames, c.frame)
	}
	user := ""
	if s.User >= 0 {
		user = s.Thread.Frames[s.User].Func
	}
	if user != c.user {
		t.Errorf("the job's own code is %q, not %q", user, c.user)
	}
	held(t, text, f)
}

// held holds every fact to the bytes where it says it stands.
func held(t *testing.T, text string, f *File) {
	t.Helper()
	at := func(what string, a At, part string) {
		if a.Off < 0 || a.Off+int64(a.Len) > int64(len(text)) {
			t.Fatalf("%s stands at %+v of %d bytes", what, a, len(text))
		}
		got := text[a.Off : a.Off+int64(a.Len)]
		if !strings.Contains(stripped(got), part) || strings.Contains(got, "\n") {
			t.Errorf("%s stands in %q", what, got)
		}
		if n := int64(strings.Count(text[:a.Off], "\n")) + 1; n != a.No {
			t.Errorf("%s stands in line %d, not %d", what, n, a.No)
		}
	}
	for i := range f.Stacks {
		s := &f.Stacks[i]
		at("the thread", s.Thread.At, "")
		for k := range s.Thread.Frames {
			at(s.Thread.Frames[k].Func, s.Thread.Frames[k].At, strings.TrimSuffix(s.Thread.Frames[k].Func, "?"))
		}
	}
	for i := range f.States {
		at("a process", f.States[i].At, f.States[i].Stat)
	}
}

func stripped(s string) string { return string(line.StripANSI(nil, []byte(s))) }

func TestManyDumpsInOneFile(t *testing.T) {
	var b strings.Builder
	for rank := range 5 {
		fmt.Fprintf(&b, "==== node%02d rank %d ====\n%s\n", 7+rank/4, rank, strings.ReplaceAll(spyLoader, "4242", fmt.Sprint(4242+rank)))
	}
	f := read(t, b.String())
	if len(f.Stacks) != 5 {
		t.Fatalf("%d stacks", len(f.Stacks))
	}
	for rank, s := range f.Stacks {
		if s.Rank != rank || s.PID != 4242+rank || s.Host != fmt.Sprintf("node%02d", 7+rank/4) || s.Local != 3 {
			t.Errorf("dump %d is read as of rank %d, local %d, pid %d on %s", rank, s.Rank, s.Local, s.PID, s.Host)
		}
	}
	held(t, b.String(), f)
}

// Several tasks of srun write at the same time: lines of one stand between those of another.
func TestLinesOfSeveralProcessesAreToldApartByTheirLabels(t *testing.T) {
	a, b := strings.SplitAfter(labelled(spyLoader, "0: "), "\n"), strings.SplitAfter(labelled(strings.ReplaceAll(strings.ReplaceAll(spyLoader, "4242", "5252"), "dataloader", "other"), "1: "), "\n")
	var mixed strings.Builder
	for i := range a {
		mixed.WriteString(a[i] + b[i])
	}
	f := read(t, mixed.String())
	if len(f.Stacks) != 2 || f.Stacks[0].PID != 4242 || f.Stacks[0].Place != Loader || f.Stacks[1].PID != 5252 || f.Stacks[1].Place == Loader {
		t.Fatalf("%+v", f.Stacks)
	}
	if f.Stacks[0].At.Who.Task != 0 || f.Stacks[1].At.Who.Task != 1 {
		t.Error("the labels are lost")
	}
}

func TestHeadersNameRanksOnlyWhereTheySayGlobalOnes(t *testing.T) {
	for text, want := range map[string][3]any{
		"==== node07 rank 12 ====":         {12, "node07", 0},
		"### host=gpu-3 pid=4242":          {-1, "gpu-3", 4242},
		"--- local rank 3 on host n12":     {-1, "n12", 0},
		"==> stacks/rank12.txt <==":        {12, "", 0},
		"Rank 7:":                          {7, "", 0},
		"==== tp rank 3 node_rank 4 pid 9": {-1, "", 9},
	} {
		h, ok := headerOf(text)
		if !ok || h.rank != want[0] || h.host != want[1] || h.pid != want[2] {
			t.Errorf("%s: rank %d, host %q, pid %d, %t", text, h.rank, h.host, h.pid, ok)
		}
	}
	for _, text := range []string{"loss at rank 3 is 2.0", "----------------", "step 12: rank 4 is done", "# loading"} {
		if h, ok := headerOf(text); ok {
			t.Errorf("%q is taken for a header: %+v", text, h)
		}
	}
}

func TestEnvironmentsAboveADumpNameTheRank(t *testing.T) {
	f := read(t, "RANK=9\nLOCAL_RANK=1\nHOSTNAME=node02\n"+handlerReduce+"RANK=10\n"+handlerReduce)
	if len(f.Stacks) != 2 || f.Stacks[0].Rank != 9 || f.Stacks[0].Local != 1 || f.Stacks[0].Host != "node02" || f.Stacks[1].Rank != 10 || f.Stacks[1].Local != line.Unknown {
		t.Errorf("%+v", f.Stacks)
	}
}

func TestWhatIsNoRankIsToldApart(t *testing.T) {
	for frame, want := range map[string]Kind{
		"_worker_loop (torch/utils/data/_utils/worker.py:308)":                       LoaderWorker,
		"_invoke_run (torch/distributed/elastic/agent/server/api.py:893)":            Launcher,
		"wrapper (torch/distributed/elastic/multiprocessing/errors/__init__.py:345)": Trainer,
		"main (multiprocessing/resource_tracker.py:200)":                             Helper,
	} {
		f := read(t, "Thread 7 (idle): \"MainThread\"\n    read (mine.py:3)\n    "+frame+"\n    <module> (train.py:1)\n")
		if f.Stacks[0].Kind != want {
			t.Errorf("%s is a %s, not a %s", frame, f.Stacks[0].Kind, want)
		}
	}
}

func TestHooksOfTheBackwardPassDecide(t *testing.T) {
	f := read(t, `Thread 7 (active): "MainThread"
    _engine_run_backward (torch/autograd/graph.py:744)
    backward (torch/autograd/__init__.py:289)
    <module> (train.py:9)
Thread 0x7F11 (idle)
    all_gather_into_tensor (torch/distributed/distributed_c10d.py:2897)
    _pre_backward_hook (torch/distributed/fsdp/_runtime_utils.py:660)
Thread 12 (idle): "Thread-1"
    wait (threading.py:320)
    _bootstrap (threading.py:973)
`)
	if s := f.Stacks[0]; s.Place != Collective || s.Op != "all_gather_into_tensor" {
		t.Errorf("%s %s", s.Place, s.Op)
	}
}

func TestListsOfProcesses(t *testing.T) {
	text := "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\nu   280058  117  4.6 17517200480 24494736 ? Dl  00:36 291:14 python train.py\nu   280059 87.9  4.4 17508566232 23526964 ? Rl  00:36 217:52 python train.py\n"
	f := read(t, text)
	if len(f.States) != 2 || !f.States[0].Sleeps() || f.States[0].PID != 280058 || f.States[1].Sleeps() || f.States[1].Command != "python train.py" {
		t.Errorf("%+v", f.States)
	}
	held(t, text, f)
	f = read(t, "  PID STAT WCHAN                            CMD\n   77 D    rpc_wait_bit_killable            python x\n   78 S    -                                bash\n")
	if len(f.States) != 2 {
		t.Errorf("%+v", f.States)
	}
}

func TestALogThatQuotesAStackIsNotOne(t *testing.T) {
	var log strings.Builder
	for i := range 60 {
		fmt.Fprintf(&log, "step %d loss 2.%d\n", i, i)
	}
	text := log.String() + handlerReduce
	if Recognise([]byte(text)) {
		t.Error("a log is taken for stacks")
	}
	if !Pasted([]byte(text)) {
		t.Error("the stacks in it are not found")
	}
	for _, other := range []string{"", "\n\n", "hello\n", "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nValueError: x\n", `[{"pid": 1}]`, log.String()} {
		if Recognise([]byte(other)) || Pasted([]byte(other)) {
			t.Errorf("taken for stacks: %.40q", other)
		}
	}
}

func TestDamagedInputIsRefusedWithOneSentence(t *testing.T) {
	for _, text := range []string{"", "nothing\n", `[{"thread_id": 1, "os_thread_id": 2, "frames": [{"name"`, `[{"thread_id": 1, "os_thread_id": 2}, 7, [[[[`} {
		_, err := Read(context.Background(), strings.NewReader(text))
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
	// A line of a megabyte, and a dump behind it.
	f := read(t, strings.Repeat("x", 1<<20)+"\n"+spyLoader)
	if len(f.Stacks) != 1 || f.Stacks[0].Thread.Frames[0].At.No != 6 {
		t.Errorf("%+v", f.Stacks)
	}
}

// Every row of the table finds its own frame, and none below it in the table takes that away.
func TestEveryRowOfTheTableTellsAPlace(t *testing.T) {
	for i := range table {
		r := &table[i]
		for name := range strings.FieldsSeq(r.funcs) {
			f := Frame{Func: strings.TrimSuffix(name, "*"), File: r.file, Native: r.native, Kernel: r.kernel}
			if f.Func == "" {
				f.Func = "anything"
			}
			if strings.HasSuffix(r.file, "/") {
				f.File += "some.py"
			}
			place, _, named := placeOf([]Frame{f})
			if place != r.place || named != 0 {
				t.Errorf("%s in %s stands for %s, the table says %s", f.Func, f.File, place, r.place)
			}
			f.File = "/opt/lib/python3.11/site-packages/" + f.File
			if place, _, _ := placeOf([]Frame{f}); place != r.place && r.file != "" {
				t.Errorf("%s in %s stands for %s, the table says %s", f.Func, f.File, place, r.place)
			}
		}
		if r.place.Says() == Nowhere.Says() {
			t.Errorf("%s has no words", r.place)
		}
	}
}

func TestTheInnermostFrameThatTellsCounts(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []Frame
		place  Place
	}{
		{"a broadcast in a data loader waits for others", []Frame{{Func: "broadcast", File: "torch/distributed/distributed_c10d.py"}, {Func: "__next__", File: "torch/utils/data/dataloader.py"}}, Collective},
		{"a lock is taken for the loader", []Frame{{Func: "wait", File: "threading.py"}, {Func: "get", File: "queue.py"}, {Func: "_try_get_data", File: "torch/utils/data/dataloader.py"}}, Loader},
		{"the barrier of a save waits for others", []Frame{{Func: "barrier", File: "torch/distributed/distributed_c10d.py"}, {Func: "save_checkpoint", File: "train.py"}}, Collective},
		{"bytes of a save", []Frame{{Func: "write", File: "fsspec/spec.py"}, {Func: "save_checkpoint", File: "train.py"}}, Checkpoint},
		{"running what was compiled is no compiling", []Frame{{Func: "_fn", File: "torch/_dynamo/eval_frame.py"}, {Func: "step", File: "train.py"}}, User},
		{"a framework's own gathering of parameters", []Frame{{Func: "all_gather_coalesced", File: "deepspeed/runtime/zero/partition_parameters.py"}, {Func: "_call_impl", File: "torch/nn/modules/module.py"}}, Collective},
		{"a framework's reduction of gradients", []Frame{{Func: "partition_grads", File: "deepspeed/runtime/zero/stage3.py"}, {Func: "__reduce_and_partition_ipg_grads", File: "deepspeed/runtime/zero/stage3.py"}}, Collective},
		{"the loader below a gathering", []Frame{{Func: "_try_get_data", File: "torch/utils/data/dataloader.py"}, {Func: "broadcast_batch", File: "megatron/core/utils.py"}}, Loader},
		{"a function of the job's own that is named alike", []Frame{{Func: "all_gather_names", File: "train.py"}}, User},
		{"a file that is only named alike", []Frame{{Func: "save", File: "mytorch/serialization.py"}}, User},
	} {
		if place, _, _ := placeOf(c.frames); place != c.place {
			t.Errorf("%s: %s, not %s", c.name, place, c.place)
		}
	}
}

func TestTheCorpusIsRead(t *testing.T) {
	files, _ := filepath.Glob("../../../../shared/corpus/012-*/logs/*.pyspy.log")
	if len(files) == 0 {
		t.Skip("the corpus is not here")
	}
	n := map[Place]int{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f := read(t, string(data))
		for _, s := range f.Stacks {
			n[s.Place]++
			if s.Place == Loader && s.PID != 688514 {
				t.Errorf("process %d is in its loader", s.PID)
			}
		}
		held(t, string(data), f)
	}
	if n[Loader] != 1 || n[Collective] != 15 {
		t.Errorf("%v", n)
	}
}

func FuzzRead(f *testing.F) {
	for _, c := range kinds {
		f.Add([]byte(c.text))
		f.Add([]byte(labelled(c.text, "[rank1]: ")))
	}
	f.Add([]byte("  PID STAT CMD\n 7 D x\n"))
	f.Add([]byte("Thread 1 (active): \"MainThread\"\nThread 2 (active): \"MainThread\"\n    a (b.py:1)\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		Recognise(data[:min(len(data), HeadLen)])
		file, err := Read(context.Background(), bytes.NewReader(data))
		if err != nil {
			return
		}
		for i := range file.Stacks {
			s := &file.Stacks[i]
			if s.Named >= len(s.Thread.Frames) || s.User >= len(s.Thread.Frames) || len(s.Thread.Frames) == 0 {
				t.Fatalf("frames %d, named %d, user %d", len(s.Thread.Frames), s.Named, s.User)
			}
			for _, fr := range s.Thread.Frames {
				if fr.At.Off < 0 || fr.At.Off+int64(fr.At.Len) > int64(len(data)) || fr.At.No < 1 {
					t.Fatalf("a frame stands at %+v of %d bytes", fr.At, len(data))
				}
			}
		}
	})
}

// A line that holds nothing, before any stack began, is one like others.
func TestEmptyLinesBeforeAStack(t *testing.T) {
	const text = "step 1\n\n[rank3]:\n5: \nFatal Python error: Aborted\n\nThread 0x00007f1a2b3c4d5e (most recent call first):\n  File \"/a.py\", line 3 in f\n"
	Recognise([]byte(text))
	if f, err := Read(t.Context(), strings.NewReader(text)); err != nil || len(f.Stacks) == 0 {
		t.Errorf("%v, %v", f, err)
	}
}

// PyTorch prints where a collective that failed was called; that is no stack of a process.
func TestTheCallOfACollectiveIsNoStack(t *testing.T) {
	text := "[rank3]:[E ProcessGroupNCCL.cpp:629] Stack trace of the failed collective: \n#0 all_reduce from /venv/torch/distributed/distributed_c10d.py:2806\n" +
		"#1 wrapper from /venv/torch/distributed/c10d_logger.py:81\n#2 main from /a/train.py:12\n"
	if Pasted([]byte(text)) {
		t.Error("it is read as a stack")
	}
	if !Pasted([]byte("log\n#0  0x00007f12 in clone3 () from /lib/x86_64-linux-gnu/libc.so.6\n#1  0x00007f13 in main () at train.c:12\n")) {
		t.Error("gdb's is not read")
	}
}
