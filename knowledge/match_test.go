package knowledge

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestEverySignatureIsCompleteAndMatchesItsExample(t *testing.T) {
	seen := map[ID]bool{}
	for _, s := range Whole().Signatures() {
		t.Run(string(s.ID), func(t *testing.T) {
			if seen[s.ID] {
				t.Error("id occurs twice")
			}
			seen[s.ID] = true
			if s.Meaning == "" || s.Source == "" || s.Role == "" || len(s.Literals) == 0 {
				t.Error("meaning, source, role or literals are missing")
			}
			if len(s.Literals[0]) < 7 {
				t.Errorf("first literal %q has less than 7 bytes", s.Literals[0])
			}
			if _, ok := MechanismBySlug(s.Mechanism); s.Mechanism != "" && !ok {
				t.Errorf("unknown mechanism %q", s.Mechanism)
			}
			if s.Role == CauseRole && (s.Mechanism == "" || s.Tier == NoTier) {
				t.Error("a cause needs a mechanism and a tier")
			}
			if s.Direct && s.Role != CauseRole {
				t.Error("only a cause can confirm a mechanism")
			}
			if !slices.Contains(Whole().Match(nil, []byte(s.Example)), s.ID) {
				t.Errorf("does not match its own example %q", s.Example)
			}
			// A prefix and a suffix must not matter: lines are glued and labelled.
			if s.ID != "native-aborted" {
				glued := " 41%|███ 366/903]" + s.Example + " and more"
				if !slices.Contains(Whole().Match(nil, []byte(glued)), s.ID) && !strings.Contains(s.Pattern, "^") {
					t.Errorf("does not match its example with text around it")
				}
			}
			if got, ok := Whole().Lookup(s.ID); !ok || got.Meaning != s.Meaning {
				t.Error("cannot be looked up")
			}
		})
	}
}

func TestNoiseIsNothingButNoise(t *testing.T) {
	for _, s := range Whole().Signatures() {
		if s.Role != NoiseRole && s.Role != InfoRole {
			continue
		}
		for _, id := range Whole().Match(nil, []byte(s.Example)) {
			if other, _ := Whole().Lookup(id); other.Role != NoiseRole && other.Role != InfoRole {
				t.Errorf("%s: its example also matches %s, a %s", s.ID, id, other.Role)
			}
		}
	}
}

func TestConsequencesAreNotCauses(t *testing.T) {
	for _, s := range Whole().Signatures() {
		if s.Role != ConsequenceRole {
			continue
		}
		for _, id := range Whole().Match(nil, []byte(s.Example)) {
			if other, _ := Whole().Lookup(id); other.Role == CauseRole {
				t.Errorf("%s: its example also matches the cause %s", s.ID, id)
			}
		}
	}
}

func TestACauseSpeaksForOneMechanism(t *testing.T) {
	for _, s := range Whole().Signatures() {
		if s.Role != CauseRole || !s.Direct {
			continue
		}
		for _, id := range Whole().Match(nil, []byte(s.Example)) {
			if other, _ := Whole().Lookup(id); other.Role == CauseRole && other.Direct && other.Mechanism != s.Mechanism {
				t.Errorf("%s (%s): its example also confirms %s (%s)", s.ID, s.Mechanism, id, other.Mechanism)
			}
		}
	}
}

func TestMatchByWording(t *testing.T) {
	for _, tc := range []struct {
		line string
		want string // ids with spaces; "" = none
	}{
		{"RuntimeError: CUDA out of memory. Tried to allocate 1024.00 MiB (GPU 0; 15.90 GiB total capacity; 14.25 GiB already allocated; 991.56 MiB free; 607.00 KiB cached)", "gpu-oom-allocator"},
		{"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 496.00 MiB. GPU 0 has a total capacty of 14.75 GiB of which 235.06 MiB is free. Process 20398 has 14.52 GiB memory in use. Of the allocated memory 14.06 GiB is allocated by PyTorch, and 330.42 MiB is reserved by PyTorch but unallocated.", "gpu-oom-allocator"},
		{"torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.", "gpu-oom-allocator"},
		{"RuntimeError: CUDA error: out of memory", "gpu-oom-driver"},
		{"a:1:2 [0] proxy.cc:1612 NCCL WARN [Service thread] Accept failed Resource temporarily unavailable", "peer-nccl-service"},
		{"bash: fork: retry: Resource temporarily unavailable", "limit-fork"},
		{"a:1:2 [0] misc/cudawrap.cc:1 NCCL WARN Cuda failure 2 'out of memory'", "gpu-oom-nccl"},
		{"RuntimeError: CUDA error: an illegal memory access was encountered", "cuda-illegal-access"},
		{"a:1:2 [0] enqueue.cc:1 NCCL WARN Cuda failure 700 'an illegal memory access was encountered'", "cuda-illegal-access"},
		{"a:1:2 [0] init.cc:1 NCCL WARN Cuda failure 'invalid device ordinal'", "cuda-invalid-ordinal"},
		{"RuntimeError: filesystem error: cannot create directories: Input/output error [/scratch/ckpt]", "storage-io-error"},
		{"RuntimeError: unable to mmap 1024 bytes from file </lustre/a.bin>: Input/output error (5)", "storage-io-error"},
		{"safetensors_rust.SafetensorError: Error while serializing: IoError(Os { code: 5 }): Input/output error (os error 5)", "storage-io-error checkpoint-safetensors"},
		{"OSError: [Errno 121] Error writing bytes to file. Detail: [errno 121] Remote I/O error", "storage-remote-io"},
		{"OSError: Unable to open file (unable to lock file, errno = 37, error message = 'No locks available')", "storage-no-locks"},
		{"ssh: connect to host n7 port 22: Host is down", "init-ssh"},
		{"a:1:2 [0] enqueue.cc:1 NCCL WARN Cuda failure 716 'misaligned address'", "cuda-misaligned"},
		{"Cuda failure 'hardware stack error'", "cuda-hardware-stack"},
		{"a:1:2 [0] enqueue.cc:1 NCCL WARN Cuda failure 999 'unknown error'", "cuda-unknown"},
		{"torch.AcceleratorError: CUDA driver error: unknown error", "cuda-unknown"},
		{"torch.AcceleratorError: CUDA error: unspecified launch failure", "cuda-launch-failure"},
		{"a:1:2 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer 10.1.2.3<4791> with error 12, opcode 0, len 0, vendor err 129 (Send)", "ib-completion"},
		{"a:1:2 [0] transport/net_ib/p2p.cc:1 NCCL WARN NET/IB: Got completion from peer 10.1.2.3<4791> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129 hca mlx5_3", "ib-completion"},
		{"a:1:2 [0] transport/net_ib/p2p.cc:1 NCCL WARN NET/IB: Got completion from peer 10.1.2.3<4791> with status=IBV_WC_WR_FLUSH_ERR(5) opcode=IBV_WC_SEND(0) vendor_err=249", "ib-flush"},
		{"RuntimeError: DataLoader worker (pid 4242) is killed by signal: Killed.", "loader-worker-signal"},
		{"RuntimeError: DataLoader worker (pid 4242) is killed by signal: Segmentation fault.", "loader-worker-signal"},
		{"slurmstepd: error: Detected 2 oom_kill events in StepId=123.0. Some of the step tasks have been OOM Killed.", "host-oom-slurm"},
		{"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.batch cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.", "host-oom-slurm-old"},
		{"[W socket.cpp:601] [c10d] The client socket has failed to connect to [node1]:29500 (errno: 97 - Address family not supported by protocol).", "init-client-errno97"},
		{"urllib3 NameResolutionError(\"HTTPSConnectionPool: Failed to resolve 'huggingface.co' ([Errno -3] Temporary failure in name resolution)\")", ""},
		{"slurmstepd: error: *** STEP 8.0 ON node01 CANCELLED AT 2026-11-20T23:20:08 DUE to SIGNAL Terminated ***", "slurm-cancelled"},
		{"[node7:4242] Signal: Aborted (6)", ""},
		{"4.2 Killed by nobody", ""},
		{"loss is NaN-safe", ""},
		{"UserWarning: vocab size 50257 is not divisible by 128, padding", ""},
		{"sudo: unable to look up host node1: Name or service not known", ""},
		{"1: [1579244748.838971] [cgpu12:56309:2] ib_md.c:62 UCX DEBUG failed: Input/output error", ""},
		{"rank heartbeat timeout: 600", ""},
		{"Aborted", "native-aborted"},
		{"[I ProcessGroupNCCL.cpp:587] [Rank 0] NCCL watchdog thread started", ""},
	} {
		var ids []string
		for _, id := range Whole().Match(nil, []byte(tc.line)) {
			ids = append(ids, string(id))
		}
		if got := strings.Join(ids, " "); got != tc.want {
			t.Errorf("%q\n got %q\nwant %q", tc.line, got, tc.want)
		}
	}
}

func TestFields(t *testing.T) {
	for _, tc := range []struct {
		id, line string
		want     map[string]string
	}{
		{"gpu-oom-allocator", "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 4.00 GiB total capacity; 3.46 GiB already allocated; 0 bytes free; 3.47 GiB reserved in total by PyTorch) If",
			map[string]string{"tried": "20.00 MiB", "gpu": "0", "total": "4.00 GiB", "allocated": "3.46 GiB", "free": "0 bytes", "reserved": "3.47 GiB"}},
		{"gpu-oom-allocator", "CUDA out of memory. Tried to allocate 19.14 GiB. GPU 6 has a total capacity of 79.33 GiB of which 8.35 GiB is free. Process 7 has 1.00 GiB memory in use. Including non-PyTorch memory, this process has 70.97 GiB memory in use. Of the allocated memory 68.65 GiB is allocated by PyTorch, with 1.00 GiB allocated in private pools (e.g., CUDA Graphs), and 853.04 MiB is reserved by PyTorch but unallocated.",
			map[string]string{"tried": "19.14 GiB", "gpu2": "6", "total2": "79.33 GiB", "free2": "8.35 GiB", "other_pid": "7", "other": "1.00 GiB", "process": "70.97 GiB", "allocated2": "68.65 GiB", "reserved2": "853.04 MiB"}},
		{"ib-completion", "NCCL WARN NET/IB: Got completion from peer 192.168.3.5<53908> with status=12 opcode=129 len=1048576 vendor err 129 (Recv) localGid ::ffff:192.168.6.3 remoteGids::ffff:192.168.6.5 hca mlx5_10",
			map[string]string{"peer": "192.168.3.5", "status2": "12", "vendor": "129", "hca": "mlx5_10"}},
		{"nccl-connect-refused", "r11i6n2:1:2 [1] include/socket.h:403 NCCL WARN Connect to 10.148.3.247<56821> failed : Connection refused",
			map[string]string{"peer": "10.148.3.247", "error": "Connection refused"}},
		{"peer-nccl-call", "Net : Call to recv from 10.200.84.247<58355> failed : Broken pipe",
			map[string]string{"call": "recv from", "peer": "10.200.84.247", "error": "Broken pipe"}},
		{"noise-omp", "Setting OMP_NUM_THREADS environment variable for each process to be 1", nil},
		{"no-such-id", "x", nil},
	} {
		got := Whole().Fields(ID(tc.id), []byte(tc.line))
		if len(got) != len(tc.want) {
			t.Errorf("%s: got %q, want %q", tc.id, got, tc.want)
			continue
		}
		for k, v := range tc.want {
			if got[k] != v {
				t.Errorf("%s: %s = %q, want %q", tc.id, k, got[k], v)
			}
		}
	}
}

var patterns = sync.OnceValue(func() map[ID]*regexp.Regexp {
	m := map[ID]*regexp.Regexp{}
	for _, s := range Whole().Signatures() {
		if s.Pattern != "" {
			m[s.ID] = regexp.MustCompile(s.Pattern)
		}
	}
	return m
})

// naive is what Match must equal: every signature by itself.
func naive(text []byte) []ID {
	var ids []ID
	for _, s := range Whole().Signatures() {
		ok, re := false, patterns()[s.ID]
		for from, n := 0, 0; !ok && n < maxTries; n++ {
			i := bytes.Index(text[from:], []byte(s.Literals[0]))
			if i < 0 {
				break
			}
			at := from + i
			rest, all := text[at+len(s.Literals[0]):], true
			for _, l := range s.Literals[1:] {
				j := bytes.Index(rest, []byte(l))
				if j < 0 {
					all = false
					break
				}
				rest = rest[j+len(l):]
			}
			ok = all && (re == nil || re.Match(text[max(0, at-patternBefore):min(len(text), at+patternAfter)]))
			from = at + 1
		}
		for _, n := range s.Not {
			ok = ok && !bytes.Contains(text, []byte(n))
		}
		if ok {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

func FuzzMatch(f *testing.F) {
	for _, s := range Whole().Signatures() {
		f.Add([]byte(s.Example))
	}
	f.Add([]byte("out of memory. Tried to allocate \x00 \xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4096 {
			t.Skip()
		}
		got := Whole().Match(nil, text)
		if want := naive(text); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		for _, id := range got {
			Whole().Fields(id, text)
		}
	})
}

func TestMatchLooksAtABoundedPart(t *testing.T) {
	text := append(bytes.Repeat([]byte("x"), maxMatchText), "KeyboardInterrupt"...)
	if got := Whole().Match(nil, text); len(got) != 0 {
		t.Errorf("matched %q beyond the bound", got)
	}
}

// A line that repeats what a signature begins with is looked at closely a bounded number of times.
func TestARepeatedLiteralCostsNoMoreThanAFew(t *testing.T) {
	for _, s := range Whole().Signatures() {
		for _, unit := range []string{s.Literals[0], s.Example, strings.Repeat(s.Literals[0], 2) + " "} {
			text := bytes.Repeat([]byte(unit), 8<<10/len(unit)+1)
			kinds := 0 // signatures whose first literal is there
			for _, o := range Whole().Signatures() {
				if bytes.Contains(text, []byte(o.Literals[0])) {
					kinds++
				}
			}
			if _, looks := index().match(nil, text); looks > kinds*maxTries {
				t.Errorf("%s: %q, repeated: %d places for %d signatures", s.ID, unit, looks, kinds)
			}
		}
	}
}

func BenchmarkMatchMiss(b *testing.B) {
	text := []byte(strings.Repeat("iteration 1580/500000 | consumed samples: 404480 | elapsed time per iteration (ms): 730.1 | ", 3))
	b.SetBytes(int64(len(text)))
	var dst []ID
	for b.Loop() {
		dst = Whole().Match(dst[:0], text)
	}
}

func TestExceptionMeaningIgnoresTheModule(t *testing.T) {
	if a, b := ExceptionMeaning("torch.distributed.DistBackendError"), ExceptionMeaning("DistBackendError"); a == "" || a != b {
		t.Errorf("%q, %q", a, b)
	}
	if got := ExceptionMeaning("mylib.MyError"); got != "" {
		t.Errorf("%q", got)
	}
}

func TestCodesThatAProgramChoosesItself(t *testing.T) {
	for code, want := range map[int]bool{0: false, 1: true, 2: true, 7: true, 119: true, 120: false, 124: true, 125: false, 126: false, 127: false,
		134: false, 137: false, 139: false, 143: false, 254: false, 255: true, -6: false, -9: false} {
		if EndedItself(code) != want {
			t.Errorf("%d: %v", code, !want)
		}
	}
}
