package simulate

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The expected texts are those of the projects and of published logs (PyTorch 1.13 … 2.6, SLURM 22.05 and 24.11 captures).
func TestOOMSpeaksEachGeneration(t *testing.T) {
	for torch, want := range map[string][]string{
		"1.13": {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 3; ", "reserved in total by PyTorch) If reserved memory is >> allocated memory"},
		"2.1":  {"GPU 3 has a total capacty of ", "Process 77 has ", " is reserved by PyTorch but unallocated."},
		"2.2":  {"GPU 3 has a total capacty of "},
		"2.4":  {"torch.cuda.OutOfMemoryError: ", "GPU 3 has a total capacity of ", "Including non-PyTorch memory, this process has "},
		"2.6":  {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 3 has a total capacity of ", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
	} {
		got := oomText(torch, 3, 20, 77)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q lacks %q", torch, got, w)
			}
		}
	}
	if got := oomText("2.6", 6, 19600, 1); !strings.Contains(got, "Tried to allocate 19.14 GiB.") {
		t.Errorf("large sizes are in GiB: %q", got)
	}
}

func TestWordings(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"store barrier", storeBarrier("2.1", 3, 16, 15), "Timed out initializing process group in store based barrier on rank 3, for key: store_based_barrier_key:1 (world_size=16, num_workers_joined=15, timeout=0:30:00"},
		{"store barrier, old", storeBarrier("2.0", 3, 16, 15), "on rank: 3, for key: store_based_barrier_key:1 (world_size=16, num_workers_joined=15, timeout=0:30:00)"},
		{"clients", clientsMissing(600, 8, 16), "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 8/16 clients joined."},
		{"connect", clientTimeout("2.6", "host", 900), "The client socket has timed out after 900s while trying to connect to (host, 29500)."},
		{"refused", refused("host", ""), "The client socket has failed to connect to [host]:29500 (errno: 111 - Connection refused)."},
		{"completion, old", ibCompletion("2.18.1", "10.2.0.5", 33092, 0), "NET/IB : Got completion from peer 10.2.0.5<33092> with error 12, opcode 0, len 0, vendor err 129 (Recv)"},
		{"completion", ibCompletion("2.21.5", "10.2.0.5", 33092, 3), "NET/IB : Got completion from peer 10.2.0.5<33092> with status=12 opcode=0 len=0 vendor err 129 (Recv)"},
		{"remote", ncclRemotePython("2.2", "2.19.3", "x"), "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1331, remote process exited or there was a network error, NCCL version 2.19.3\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nx"},
		{"system", ncclSystem("2.0", "2.14.3", "x", 1269), "RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1269, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.14.3\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. \nLast error:\nx"},
		{"warn", ncclWarn("2.21.5", "", "ng30903", 3063025, 3066048, 0, "misc/socket.cc:49", "socketProgress: Connection closed by remote peer ng30903-ib<51159>"), "\nng30903:3063025:3066048 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer ng30903-ib<51159>"},
		{"warn, stamped", ncclWarn("2.26.2", "2025-06-03 17:48:01", "h", 1, 2, 3, "f.cc:4", "m"), "\n[2025-06-03 17:48:01] h:1:2 [3] f.cc:4 NCCL WARN m"},
		{"accelerator", cudaErrorText("2.8", "unspecified launch failure"), "torch.AcceleratorError: CUDA error: unspecified launch failure\nCUDA kernel errors might be asynchronously reported"},
		{"loader", strings.Join(loaderKilled("bus", 30882), "\n"), "RuntimeError: DataLoader worker (pid 30882) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit."},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, c.got, c.want)
		}
	}
}

func killerScene(t *testing.T, slurm string) *scene {
	t.Helper()
	s, err := newScene(Spec{Seed: 4, Torch: "2.6", NodeCount: 2, PerNode: 2, Layout: Layout{Kind: "ddp", DP: 4}, FileMode: "node"})
	if err != nil {
		t.Fatal(err)
	}
	s.slurm, s.jobID = slurm, 25
	return s
}

func TestSlurmWordings(t *testing.T) {
	old, new := killerScene(t, "22.05"), killerScene(t, "24.11")
	old.oomEvent(0, 0, 1)
	new.oomEvent(0, 0, 2)
	new.jobCancelled(time.Second, " DUE TO TIME LIMIT")
	for _, c := range []struct{ got, want string }{
		{old.entries[0].text, "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=25.0. Some of your processes may have been killed by the cgroup out-of-memory handler."},
		{new.entries[0].text, "slurmstepd: error: Detected 2 oom_kill events in StepId=25.0. Some of the step tasks have been OOM Killed."},
		{new.entries[1].text[:len("slurmstepd: error: *** JOB 25 ON ")], "slurmstepd: error: *** JOB 25 ON "},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if !strings.HasSuffix(new.entries[1].text, " DUE TO TIME LIMIT ***") {
		t.Errorf("the reason is not at the end: %q", new.entries[1].text)
	}
}

// The simulator must not learn its formats from the readers.
func TestKillersImportNothingOfOurs(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no sources", err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if strings.HasPrefix(i.Path.Value, `"faultline`) && !strings.HasPrefix(i.Path.Value, `"faultline/simulate/`) {
				t.Errorf("%s imports %s", name, i.Path.Value)
			}
		}
	}
}

// find generates incidents of a mechanism until one satisfies ok.
func find(t *testing.T, p Spec, ok func(*Incident) bool) *Incident {
	t.Helper()
	for seed := uint64(1); seed < 60; seed++ {
		p.Seed = seed
		inc, err := Generate(p)
		if err != nil {
			t.Fatal(err)
		}
		if ok(inc) {
			return inc
		}
	}
	t.Fatalf("no %s in 60 seeds fits", p.Mechanism)
	return nil
}

func TestTruthFollowsTheBytes(t *testing.T) {
	base := Spec{Torch: "2.6", NodeCount: 4, PerNode: 2, Layout: Layout{Kind: "ddp", DP: 8}, FileMode: "node"}
	with := func(mechanism, ablate, damage string) Spec {
		p := base
		p.Mechanism, p.Ablate, p.Damage = mechanism, ablate, damage
		return p
	}
	any := func(*Incident) bool { return true }
	for _, c := range []struct {
		name string
		spec Spec
		want []string
		root bool // a rank is proven
	}{
		{"SIGKILL without a sign of the OOM killer", with("killed", "", ""), []string{"external-signal", "host-oom"}, true},
		{"OOM event taken away", with("native-crash", "trace", ""), []string{"native-crash"}, true},
		{"traceback taken away", with("gpu-ecc", "message", ""), []string{"exception", "unknown"}, true},
		{"reason taken away", with("time-limit", "reason", ""), []string{"cancelled", "unknown"}, false},
		{"preemption's reason taken away", with("preempted", "reason", ""), []string{"cancelled", "unknown"}, false},
		{"node failure without srun's line", with("node-failure", "place", ""), []string{"node-failure"}, false},
		{"signal from outside", with("external-signal", "", ""), []string{"external-signal"}, false},
		{"healthy", with("healthy", "", ""), []string{"completed"}, false},
	} {
		inc := find(t, c.spec, any)
		if !slices.Equal(inc.Truth.Candidates, c.want) {
			t.Errorf("%s: candidates %v, want %v", c.name, inc.Truth.Candidates, c.want)
		}
		if got := len(inc.Truth.RootRanks) > 0; got != c.root {
			t.Errorf("%s: root ranks %v", c.name, inc.Truth.RootRanks)
		}
	}
	// An old release puts no rank in front of a traceback: without the agent's block nobody can be named.
	old := with("exception", "exit", "")
	old.Torch = "2.0"
	if inc := find(t, old, any); len(inc.Truth.RootRanks) != 0 || !slices.Equal(inc.Truth.Candidates, []string{"exception"}) {
		t.Errorf("unattributable exception: %+v", inc.Truth)
	}
	// With the culprit's file gone and its agent unheard the victims' errors name nobody.
	lost := find(t, with("exception", "", "missing-root-file"), func(i *Incident) bool {
		return strings.Contains(i.Title, "rank") && !strings.Contains(i.Title, "every")
	})
	if len(lost.Truth.RootRanks) != 0 || !slices.Contains(lost.Truth.Candidates, "unknown") {
		t.Errorf("culprit's file missing: %+v", lost.Truth)
	}
}
