package explain

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"faultline/knowledge"
	"faultline/knowledge/severity"
)

func ids(es []Entry) []string {
	var out []string
	for _, e := range es {
		out = append(out, e.ID)
	}
	return out
}

// A line that no table knows is explained by what it states.
func TestALineThatStatesItsCauseIsExplained(t *testing.T) {
	for text, want := range map[string][]string{
		"ticketd.Refused: KRB_AP_ERR_SKEW":     {"states-clock"},
		"ledger: the access token has expired": {"states-credentials"},
		"ledger: something went astray":        nil,
	} {
		if got := ids(Text(text).Entries); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestWhatIsAskedForByNameComesFirst(t *testing.T) {
	for _, tc := range []struct{ text, first, mechanism string }{
		{"rank-stalled", "rank-stalled", "rank-stalled"},
		{"one rank stalled", "rank-stalled", "rank-stalled"},
		{"gpu oom", "gpu-oom", "gpu-oom"},
		{"exit code 137", "SIGKILL", ""},
		{"exited with 1", "exit code 1", ""},
		{"-9", "SIGKILL", ""},
		{"−9", "SIGKILL", ""},
		{"137", "SIGKILL", ""},
		{"signal 15", "SIGTERM", ""},
		{"sigterm", "SIGTERM", ""},
		{"0:53", "0:53", "scheduler-error"},
		{"0:9", "SIGKILL", ""},
		{"0:125", "0:125", "host-oom"},
		{"1:0", "exit code 1", ""},
		{"Xid 79", "Xid 79", "gpu-off-bus"},
		{"xid: 63", "Xid 63", "gpu-ecc"},
		{"79", "Xid 79", "gpu-off-bus"},
		{"errno 116", "errno 116", "storage-unresponsive"},
		{"[Errno 28]", "errno 28", "storage-full"},
		{"ESTALE", "errno 116", "storage-unresponsive"},
		{"straggler", "straggler", ""},
		{"Stragglers", "straggler", ""},
		{"what is a straggler?", "straggler", ""},
		{"what does NCCL_DEBUG mean?", "NCCL_DEBUG", ""},
		{"NCCL", "NCCL", ""},
		{"oom", "out of memory", ""},
		{"NCCL_TIMEOUT", "NCCL_TIMEOUT", ""},
		{"export NCCL_TIMEOUT=1800", "NCCL_TIMEOUT", ""},
		{"ReqNodeNotAvail", "ReqNodeNotAvail", ""},
		{"QOSMaxJobsPerUserLimit", "QOSMaxJobsPerUserLimit", ""},
		{"NODE_FAIL", "NODE_FAIL", "node-failure"},
		{"ChildFailedError", "ChildFailedError", ""},
		{"gpu-oom-allocator", "gpu-oom-allocator", "gpu-oom"},
		{"NCCL error: unhandled system error, ETIMEDOUT", "peer-nccl-code", ""},
		{"exit code 137; NODE_FAIL", "SIGKILL", ""},
	} {
		a := Text(tc.text)
		if len(a.Entries) == 0 {
			t.Errorf("%q: nothing; nearest %q", tc.text, ids(a.Nearest))
			continue
		}
		if e := a.Entries[0]; e.ID != tc.first || string(e.Mechanism) != tc.mechanism {
			t.Errorf("%q: %s (%s) first of %q, want %s (%s)", tc.text, e.ID, e.Mechanism, ids(a.Entries), tc.first, tc.mechanism)
		}
	}
}

func TestLinesOfLogs(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string // these, in this order, first
		role       knowledge.Role
	}{
		{"allocator", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", []string{"gpu-oom-allocator"}, knowledge.CauseRole},
		{"small letters, a part", "cuda out of memory", []string{"gpu-oom", "gpu-oom-allocator"}, knowledge.CauseRole},
		{"broken into two by a terminal", "RuntimeError: CUDA error: an illegal memory\naccess was encountered", []string{"cuda-illegal-access"}, knowledge.CauseRole},
		{"wording before the number in it", "OSError: [Errno 116] Stale file handle", []string{"storage-stale", "errno 116"}, knowledge.CauseRole},
		{"kernel line", "NVRM: Xid (PCI:0000:65:00): 79, pid='N/A', GPU has fallen off the bus.", []string{"gpu-fallen-off", "xid-79", "Xid 79"}, knowledge.CauseRole},
		{"a waiter's line", "[rank5]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580)", []string{"watchdog-timeout"}, knowledge.SymptomRole},
		{"state of a watchdog", "[PG ID 2 PG GUID 5(mesh_dp) Rank 3]  failure detected by watchdog at work sequence id: 4711 PG status: last enqueued work: 4713, last completed work: 4710", []string{"read-watchdog-state"}, knowledge.SymptomRole},
		{"launcher", "failed (exitcode: -9) local_rank: 3 (pid: 4242) of binary: /usr/bin/python3", []string{"teardown-exit-code", "SIGKILL"}, knowledge.ConsequenceRole},
		{"task", "srun: error: node03: task 5: Exited with exit code 1", []string{"read-task-exit", "exit code 1"}, knowledge.ConsequenceRole},
		{"accounting", "JobId=4242 JobState=FAILED Reason=RaisedSignal:53(Real-time_signal_19) ExitCode=0:53", []string{"0:53"}, knowledge.CauseRole},
		{"queue", "4242 gpu train me PD 0:00 16 (ReqNodeNotAvail, UnavailableNodes:node07)", []string{"ReqNodeNotAvail"}, knowledge.InfoRole},
		{"the program's own error", "Traceback (most recent call last):\n  File \"t.py\", line 1, in f\nmylib.ShardError: shard 7", []string{"ShardError"}, knowledge.CauseRole},
		{"the library's error", "ZeroDivisionError: division by zero", []string{"ZeroDivisionError"}, knowledge.CauseRole},
		{"noise", "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default", []string{"noise-omp"}, knowledge.NoiseRole},
		{"the cause before what follows from it, wherever it stands",
			"srun: error: node03: task 5: Killed\nConnection closed by remote peer\nOSError: [Errno 28] No space left on device\nBrokenPipeError: [Errno 32] Broken pipe",
			[]string{"storage-full", "errno 28"}, knowledge.CauseRole},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := Text(tc.text)
			got := ids(a.Entries)
			if len(got) < len(tc.want) || !slices.Equal(got[:len(tc.want)], tc.want) {
				t.Fatalf("%q, want %q first (nearest %q)", got, tc.want, ids(a.Nearest))
			}
			if a.Entries[0].Role != tc.role {
				t.Errorf("%s, want %s", a.Entries[0].Role, tc.role)
			}
		})
	}
}

// People type a word or two. None of that proves a cause, and what several failures print is answered by the general entry.
func TestAFragmentLeadsToTheMostGeneralEntry(t *testing.T) {
	for text, first := range map[string]string{
		"Killed": "SIGKILL", "Terminated": "SIGTERM", "Aborted": "SIGABRT", "bus error": "SIGBUS", "Segmentation fault": "SIGSEGV", "core dumped": "native-crash",
		"Connection reset by peer": "errno 104", "connection refused": "errno 111", "Broken pipe": "errno 32", "Permission denied": "errno 13",
		"No space left on device": "errno 28", "disk quota exceeded": "errno 122", "too many open files": "errno 24", "timed out": "errno 110",
		"exit 137": "SIGKILL", "oom_kill": "host-oom", "CUDA OOM": "gpu-oom", "CUDA out of memory": "gpu-oom", "node fail": "node-failure", "ECC error": "gpu-ecc",
		"loss is nan": "non-finite-loss", "NaN loss": "nan-raised-encountered", "cuda error": "cuda-error", "DataLoader worker killed": "dataloader-worker-killed",
	} {
		a := Text(text)
		if len(a.Entries) == 0 || a.Entries[0].ID != first || a.Entries[0].Direct || a.Open {
			t.Errorf("%q: %q (open: %v), want %s first and no proof", text, ids(a.Entries), a.Open, first)
		}
	}
	for _, text := range []string{"NCCL timeout", "nccl error", "unhandled system error"} { // whoever prints it waits, or lost a peer
		if a := Text(text); len(a.Entries) == 0 || a.Entries[0].Role != knowledge.SymptomRole || a.Entries[0].Mechanism != "" {
			t.Errorf("%q: %q, want a symptom that names no failure", text, ids(a.Entries))
		}
	}
	for _, text := range []string{"hang", "cudnn error"} {
		if a := Text(text); !a.Open || len(a.Entries) < 2 || slices.ContainsFunc(a.Entries, func(e Entry) bool { return e.Kind != Mechanism || !e.Part }) {
			t.Errorf("%q: %q (open: %v), want the failures that print it", text, ids(a.Entries), a.Open)
		}
	}
	for _, text := range []string{"error", "fail", "failed", "rank", "the job"} {
		if a := Text(text); len(a.Entries) != 0 && a.Entries[0].Kind != Term && a.Entries[0].Kind != Scheduler {
			t.Errorf("%q says nothing, and leads to %q", text, ids(a.Entries))
		}
	}
}

// No part of a known line, in words, is taken for the proof that the whole line is.
func TestNoPartOfALineIsProof(t *testing.T) {
	for _, s := range knowledge.Whole().Signatures() {
		words := strings.Fields(s.Example)
		for _, n := range []int{2, 3} {
			part := strings.Join(words[:min(n, len(words))], " ")
			for _, e := range Text(part).Entries {
				if e.Direct && e.Kind == Line && len(knowledge.Whole().Match(nil, []byte(part))) == 0 && !strings.EqualFold(part, e.ID) {
					t.Errorf("%q is called proof of %s", part, e.ID)
				}
			}
		}
	}
}

// Whatever is known leads to itself: by its own example, and by the name under which the list shows it.
func TestEverySignatureExplainsItself(t *testing.T) {
	for _, s := range slices.Concat(knowledge.Whole().Signatures(), knowledge.Readings()) {
		got := ids(Text(s.Example).Entries)
		if i := slices.Index(got, string(s.ID)); i < 0 || i > 3 {
			t.Errorf("%s: its example leads to %q", s.ID, got)
		}
	}
}

func TestEveryEntryCanBeAskedFor(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range List() {
		key := string(e.Kind) + " " + e.ID
		if seen[key] {
			t.Errorf("%s is listed twice", key)
		}
		seen[key] = true
		if e.ID == "" || e.Title == "" || e.Meaning == "" || e.Source == "" {
			t.Errorf("%s is incomplete: %+v", key, e)
		}
		name := strings.TrimSuffix(e.ID, "*")
		a := Text(name)
		if !slices.ContainsFunc(a.Entries, func(x Entry) bool { return x.Kind == e.Kind && x.Meaning == e.Meaning }) {
			t.Errorf("%s leads to %q", key, ids(a.Entries))
		}
	}
	if len(seen) < 500 {
		t.Errorf("only %d entries", len(seen))
	}
}

func TestNothingKnownIsSaidAndTheNearestOffered(t *testing.T) {
	for _, tc := range []struct{ text, near string }{
		{"stragler", "straggler"},
		{"NCCL_TIMEOT", "NCCL_TIMEOUT"},
		{"rank stalled forever", "rank-stalled"},
		{"whether the file system of the node was full of checkpoints and is out of inodes", "storage-full"},
		{"zzzz qqqq xxxx", ""},
		{"1234567", ""},
		{"?", ""},
	} {
		a := Text(tc.text)
		if len(a.Entries) != 0 {
			t.Errorf("%q is claimed to be %q", tc.text, ids(a.Entries))
		}
		if tc.near != "" && !slices.Contains(ids(a.Nearest), tc.near) || tc.near == "" && len(a.Nearest) > 0 {
			t.Errorf("%q: nearest %q, want %q", tc.text, ids(a.Nearest), tc.near)
		}
	}
}

// Ordinary lines of healthy jobs are not explained away as failures.
func TestOrdinaryTextIsNotClaimed(t *testing.T) {
	for _, text := range []string{
		"iteration 1580/500000 | consumed samples: 404480 | elapsed time per iteration (ms): 730.1",
		"{'loss': 2.15, 'grad_norm': 0.4, 'learning_rate': 1e-05, 'epoch': 0.12}",
		"saving checkpoint at iteration    1500 to /ckpt",
		"node07",
	} {
		if a := Text(text); len(a.Entries) != 0 {
			t.Errorf("%q is claimed to be %q", text, ids(a.Entries))
		}
	}
}

func TestTheTextIsBounded(t *testing.T) {
	a := Text(strings.Repeat("x", MaxText) + "\nCUDA out of memory. Tried to allocate")
	if !a.Cut || len(a.Entries) != 0 {
		t.Errorf("cut %v, %q", a.Cut, ids(a.Entries))
	}
	long := Text("a\nOSError: [Errno 28] No space left on device: " + strings.Repeat("é", 4000))
	if len(long.Entries) == 0 || len(long.Entries[0].Text) > maxShown+len("…") || !utf8.ValidString(long.Entries[0].Text) {
		t.Errorf("%d bytes are repeated", len(long.Entries[0].Text))
	}
	var many strings.Builder
	for _, s := range knowledge.Whole().Signatures() {
		many.WriteString(s.Example + "\n")
	}
	if a := Text(many.String()); len(a.Entries) != maxEntries || a.More == 0 {
		t.Errorf("%d entries, %d more", len(a.Entries), a.More)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range knowledge.Whole().Signatures()[:40] {
		f.Add(s.Example)
	}
	for _, s := range []string{"-9", "0:53", "Xid 79", "what is \xff?", "export A=\x00", "Reason=None (x, State=TIMEOUT", strings.Repeat("[", 99), "exit code 99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := Text(text)
		if len(a.Entries) > 0 && len(a.Nearest) > 0 || len(a.Entries) > maxEntries || len(a.Nearest) > maxNearest {
			t.Fatalf("%d entries, %d nearest", len(a.Entries), len(a.Nearest))
		}
		for _, e := range slices.Concat(a.Entries, a.Nearest) {
			if e.ID == "" || e.Meaning == "" || len(e.Text) > maxShown+len("…") {
				t.Fatalf("%+v", e)
			}
		}
		if again := Text(text); !reflect.DeepEqual(a, again) {
			t.Fatal("a second time another answer")
		}
	})
}

// What is not known is told at least as bad as it sounds, and the C library's messages are known in its other languages.
func TestWhatIsNotKnownSoundsAsItDoes(t *testing.T) {
	for text, want := range map[string]severity.Level{"mux: lane 3 torn, panicked": severity.Crash, "lane 3 mislaid\nERROR mux lane 3": severity.Failed, "a calm line": severity.Calm} {
		if a := Text(text); len(a.Entries) > 0 || a.Sounds.Level != want {
			t.Errorf("%q sounds like %s, entries %q", text, a.Sounds.Level, ids(a.Entries))
		}
	}
	for text, want := range map[string]string{"/job: línea 12: 4242 Violación de segmento": "native-segv", "écriture: Aucun espace disponible sur le périphérique": "storage-full", "读取: 段错误": "native-segv"} {
		if got := ids(Text(text).Entries); len(got) == 0 || got[0] != want {
			t.Errorf("%q leads to %q, not to %s", text, got, want)
		}
	}
}
