package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// killed is the truth of a death: what the surviving marks prove of it. slug is the mechanism that the culprit's own words
// name; without them its exit code is what is left; without that the victims' errors are, which name nobody.
func (s *scene) killed(world, slug, action string, d death) {
	s.title = world
	s.judge = func(v *view) Truth {
		m, t := s.remains(), Truth{World: world}
		ranks := d.ranks
		switch {
		case m.survive(saysFault):
			t.Candidates, t.Action = []string{slug}, action
			t.ForbidMechanisms = []string{"peer-lost", "link-error", "cancelled", "external-signal", "collective-hang", "rank-stalled"}
			if !m.survive(saysExit) && !s.attributable() && !v.labelled(d.ranks) {
				ranks = nil
				// Nobody signs the words, and yet they stand in the file of one node.
				if nodes := v.rootNodes(d.ranks); s.spec.FileMode == "node" && len(nodes) == 1 && len(d.ranks) < s.world {
					t.RootNodes = nodes
				}
			}
		case m.survive(saysCode):
			t.Candidates = fromCode(d, v.intact)
			if !m.survive(saysExit) {
				ranks = nil
			}
		case m.survive(saysPeer):
			t.Candidates, ranks = []string{"peer-lost", "unknown"}, nil
		default:
			t.Candidates, ranks = []string{"unknown"}, nil
		}
		if len(d.ranks) == s.world {
			ranks = nil // all alike: nobody is the root
		}
		if len(ranks) == 0 {
			return t
		}
		return v.rooted(t, ranks)
	}
}

// labelled tells whether every line of the ranks carries torchrun's local rank and one of them, in the same node's file, says
// which global rank that is.
func (v *view) labelled(ranks []int) bool {
	if v.s.spec.FileMode != "node" || !slices.Contains(v.s.spec.Prefixes, "torchrun-default") {
		return false
	}
	return !slices.ContainsFunc(ranks, func(r int) bool { return !v.seen[r] })
}

// fromCode is what an exit code alone leaves open (formats-workers.md §3, taxonomy.md): 1 is an uncaught Python exception
// whose text is not there; −9 without a sign of the OOM killer proves nothing about the sender; −7 and −11 are crashes. −6 is
// one where the whole file shows nothing before it; where the file is lost it may be PyTorch's own way to end after an error.
func fromCode(d death, whole bool) []string {
	switch {
	case d.code == -9:
		return []string{"external-signal", "host-oom"}
	case d.code == -6 && !whole:
		return []string{"native-crash", "unknown"}
	case d.code < 0:
		return []string{"native-crash"}
	}
	return []string{"exception", "unknown"}
}

// peersMode is how the others take a death; few worlds are small enough for every rank to print a traceback.
func (s *scene) peersMode() string {
	if len(s.nodes) < 2 {
		return "killed"
	}
	modes := []string{"killed", "remote", "remote", "store"}
	if s.world <= 256 {
		modes = append(modes, "loud")
	}
	// Where the culprit's own lines are lost, timeouts of the others would tell of a hang: another incident.
	if s.spec.Ablate == "" && s.spec.Damage != "missing-root-file" && s.spec.Damage != "truncated-root" && s.world <= 2048 {
		modes = append(modes, "late")
	}
	return modes[s.rng.IntN(len(modes))]
}

// faultLines writes the culprit's own lines unless the ablation takes them away, and marks them.
func (s *scene) faultLines(ablation string, write func()) {
	from := s.here()
	write()
	s.mark(from, saysFault)
	if ablation != "" && s.spec.Ablate == ablation {
		s.dropSince(from)
		return
	}
	last := map[int]time.Duration{}
	for _, e := range s.entries[from:] {
		if e.rank >= 0 {
			last[e.rank] = max(last[e.rank], e.at)
		}
	}
	for r := range s.world {
		if at, ok := last[r]; ok {
			s.farewell(r, at+ms(90))
		}
	}
}

// farewell is a harmless line at a process's exit. A file that loses its last line then loses this one, not the cause.
func (s *scene) farewell(r int, t time.Duration) {
	if s.spec.Damage == "no-last" {
		s.plain(r, t, "/usr/local/lib/python3.10/tempfile.py:837: ResourceWarning: Implicitly cleaning up <TemporaryDirectory '/tmp/tmpk3v0x8_q'>")
	}
}

func playException(s *scene) error {
	t := s.begin()
	r := s.anyRank()
	f := userFaults[s.rng.IntN(len(userFaults))]
	trace := pyTraceback(loopFrames(f.frames...), f.exc)
	variants := []string{"one", "one", "chained", "loader", "all"}
	if s.spec.Ablate == "" && !slices.Contains(fileDamages, s.spec.Damage) {
		variants = append(variants, "two")
	}
	if s.torchrun && s.spec.Ablate == "" {
		variants = append(variants, "record")
	}
	variant := variants[s.rng.IntN(len(variants))]
	d := death{ranks: []int{r}, at: t + ms(300), code: 1, peers: s.peersMode()}
	world := fmt.Sprintf("rank %d raised an exception in the training loop (%s)", r, variant)
	switch variant {
	case "chained":
		g := userFaults[s.rng.IntN(len(userFaults))]
		trace = pyChain(pick(s.rng, pyDirectCause, pyDuringAnother), trace, pyTraceback(loopFrames(
			pyFrame{File: pyLoop, Line: 231, Func: "on_error", Code: "self.dump_state(step)"}), g.exc))
	case "loader":
		trace = loaderFault(s.rng.IntN(8), f.exc)
	case "two":
		// Both within the same moment, on two nodes where there are two: neither can have caused the other.
		if o := (r + s.world/2) % s.world; o != r {
			d.ranks = []int{min(r, o), max(r, o)}
			world = fmt.Sprintf("ranks %d and %d raised the same exception in the same step", d.ranks[0], d.ranks[1])
		}
	case "all":
		d.ranks, d.peers = make([]int, s.world), "killed"
		for i := range d.ranks {
			d.ranks[i] = i
		}
		world = "every rank raised the same exception in the same step"
	}
	s.blame(d)
	if variant == "record" {
		s.recorded(d, trace)
	} else {
		s.faultLines("traceback", func() {
			for i, x := range d.ranks {
				s.python(x, t+ms(i%50), trace...)
			}
		})
		s.falls(d)
	}
	s.killed(world, "exception", "after-fix", d)
	return nil
}

// recorded is a death whose traceback only the agent's block holds: @record wrote it to the error file
// (torch/distributed/elastic/multiprocessing/errors/__init__.py), and the launcher's own redirects took stderr away.
func (s *scene) recorded(d death, trace []string) {
	from := s.here()
	s.falls(d)
	n := s.ranks[d.ranks[0]].node.index
	for i := from; i < len(s.entries); i++ {
		e := &s.entries[i]
		if e.to != toNode || e.node != n || !strings.Contains(e.text, "Root Cause (first observed failure)") {
			continue
		}
		local := s.ranks[d.ranks[0]].local
		e.text = strings.ReplaceAll(e.text, "error_file: <N/A>", fmt.Sprintf("error_file: /tmp/torchelastic_q1w2e3r4/%d_abcdefgh/attempt_0/%d/error.json", s.jobID, local))
		e.text = strings.ReplaceAll(e.text, "traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html",
			"traceback : "+strings.Join(trace, "\n    "))
		e.says |= saysFault
	}
}

func playGPUOOM(s *scene) error {
	variant := pick(s.rng, "late", "late", "all", "cublas", "nccl")
	if s.spec.Ablate != "" && variant == "all" {
		variant = "late"
	}
	r := s.anyRank()
	d := death{ranks: []int{r}, code: 1, peers: s.peersMode()}
	var t time.Duration
	world := fmt.Sprintf("the GPU of rank %d ran out of memory late in the run (%s)", r, variant)
	if variant == "all" {
		s.startup()
		t = sec(14)
		d.ranks, d.peers = make([]int, s.world), "killed"
		for i := range d.ranks {
			d.ranks[i] = i
		}
		world = "every GPU ran out of memory in the first step"
	} else {
		t = s.begin()
	}
	d.at = t + ms(300)
	s.blame(d)
	if variant == "nccl" {
		s.ncclOOM(&d, t)
	} else {
		size := pick(s.rng, 20, 130, 496, 512, 1536, 19600)
		s.faultLines("message", func() {
			for i, x := range d.ranks {
				exc := oomText(s.v.name, s.ranks[x].local, size, s.ranks[x].pid)
				if variant == "cublas" {
					exc = cublasAlloc
				}
				s.python(x, t+ms(7*(i%40)), pyTraceback(cudaFrames(1+s.rng.IntN(2)), exc)...)
			}
		})
	}
	s.falls(d)
	s.killed(world, "gpu-oom", "after-fix", d)
	return nil
}

// ncclOOM is NCCL's own allocation failing: it prints so after its peers have already lost their sockets to it.
func (s *scene) ncclOOM(d *death, t time.Duration) {
	r := s.ranks[d.ranks[0]]
	warn := func(k *rank, at time.Duration, file, msg string) { s.ncclWarned(k.id, at, file, msg) }
	from := s.here()
	for i := range min(3, s.world-1) {
		k := s.ranks[(r.id+1+i)%s.world]
		warn(k, t-ms(1500-200*i), "misc/socket.cc:49", fmt.Sprintf("socketProgress: Connection closed by remote peer %s<%d>", r.node.fqdn, 51000+i))
		warn(k, t-ms(1480-200*i), "proxy.cc:1143", "Socket recv failed while polling for opId=0x55a51966cc80")
	}
	s.mark(from, saysPeer)
	s.faultLines("message", func() {
		warn(r, t, "include/alloc.h:178", "Cuda failure 'out of memory'")
		warn(r, t+ms(1), "include/alloc.h:185", "Failed to CUDA calloc 6291456 bytes")
		s.python(r.id, t+ms(40), pyTraceback(collectiveFrames(s.rng.IntN(3)), ncclCuda(s.v.name, s.v.nccl, "Cuda failure 'out of memory'", 1331))...)
	})
}

func playCUDAError(s *scene) error {
	return playDevice(s, cudaFaults[s.rng.IntN(len(cudaFaults))], "cuda-error", "")
}

func playECC(s *scene) error {
	return playDevice(s, "uncorrectable ECC error encountered", "gpu-ecc", "")
}

// playDevice is a CUDA error that surfaces in the main thread (exit 1) or in the watchdog (SIGABRT).
func playDevice(s *scene, text, slug, action string) error {
	t := s.begin()
	r := s.anyRank()
	s.root = r
	d := death{ranks: []int{r}, at: t + ms(400), code: 1, peers: s.peersMode()}
	surface := pick(s.rng, "main", "both", "watchdog")
	if s.spec.Ablate != "" {
		surface = "main" // SIGABRT without a word would be another incident
	}
	if surface == "watchdog" && !s.v.terminated() {
		surface = "both"
	}
	s.faultLines("message", func() {
		if text == "device-side assert triggered" {
			for i, l := range deviceAssert(s.rng.IntN(200), 1+s.rng.IntN(5)) {
				s.plain(r, t-ms(20)+ms(i), l)
			}
		}
		if surface != "watchdog" {
			s.python(r, t, pyTraceback(cudaFrames(s.rng.IntN(4)), cudaErrorText(s.v.name, text))...)
		}
		if surface != "main" {
			d.code = -6
			s.watchdogCUDA(r, t+ms(60), text)
		}
	})
	s.falls(d)
	s.killed(fmt.Sprintf("the GPU of rank %d: %s (%s)", r, text, surface), slug, action, d)
	return nil
}

// watchdogCUDA is the NCCL watchdog meeting a CUDA error when it queries its events: no timeout is involved.
func (s *scene) watchdogCUDA(r int, t time.Duration, text string) {
	v := s.v
	msg := "CUDA error: " + text + "\n" + strings.TrimRight(cudaAsyncNote(v.name), "\n") +
		"\n\nException raised from c10_cuda_check_implementation at ../c10/cuda/CUDAException.cpp:43 (most recent call first):" +
		"\nframe #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x7f3a1cd0d446 in /usr/local/lib/python3.10/dist-packages/torch/lib/libc10.so)" +
		"\nframe #1: c10::detail::torchCheckFail(char const*, char const*, unsigned int, std::string const&) + 0x64 (0x7f3a1ccb76e4 in /usr/local/lib/python3.10/dist-packages/torch/lib/libc10.so)"
	if !v.terminated() {
		s.plain(r, t, "terminate called after throwing an instance of 'c10::Error'\n  what():  "+msg)
		return
	}
	word := "Process group watchdog thread terminated with exception: "
	if before(v.name, "2.3") {
		word = "NCCL watchdog thread terminated with exception: "
	}
	line := v.groupPrefix(s.groups[0], r) + word + msg
	s.c10(r, t, 'E', pg(v.at.terminated), line)
	s.plain(r, t+ms(10), "terminate called after throwing an instance of '"+v.exception+"'\n  what():  "+line)
}

func playHostOOM(s *scene) error {
	t := s.begin()
	r := s.anyRank()
	s.root = r
	n := s.ranks[r].node.index
	if s.rng.IntN(4) == 0 {
		return s.loaderOOM(t, r)
	}
	d := death{ranks: []int{r}, at: t, code: -9, peers: s.peersMode(), how: "Out Of Memory"}
	if s.spec.Ablate == "event" {
		d.how = ""
		if s.torchrun {
			d.how = "Exited with exit code 1"
		}
	} else {
		from := s.here()
		s.oomEvent(n, t+sec(1), 1+s.rng.IntN(2))
		s.mark(from, saysReason)
	}
	s.falls(d)
	world := fmt.Sprintf("the kernel killed rank %d: %s was out of memory", r, s.nodes[n].name)
	s.title = world
	s.judge = func(v *view) Truth {
		m, t := s.remains(), Truth{World: world}
		switch {
		case s.spec.Ablate != "event" && (m.survive(saysReason) || m.holds(": Out Of Memory")):
			t.Candidates, t.Action = []string{"host-oom"}, "after-fix"
		case m.survive(saysCode):
			t.Candidates = []string{"external-signal", "host-oom"}
		case m.survive(saysPeer):
			t.Candidates = []string{"peer-lost", "unknown"}
		default:
			t.Candidates = []string{"unknown"}
		}
		var ranks []int
		if m.survive(saysExit) {
			ranks = d.ranks
		}
		t = v.rooted(t, ranks)
		if m.holds(s.nodes[n].name+": task") && t.Candidates[0] == "host-oom" {
			t.RootNodes = []string{s.nodes[n].name} // srun's Out Of Memory names the node
		}
		return t
	}
	return nil
}

// loaderOOM is the kernel killing a DataLoader worker of a rank: the rank raises, and the event is why.
func (s *scene) loaderOOM(t time.Duration, r int) error {
	d := death{ranks: []int{r}, at: t + sec(1), code: 1, peers: s.peersMode()}
	n := s.ranks[r].node.index
	if s.spec.Ablate != "event" {
		from := s.here()
		s.oomEvent(n, t+ms(900), 1)
		s.mark(from, saysReason)
		s.farewell(s.nodes[n].ranks[0], t+ms(950))
	}
	s.faultLines("", func() { s.python(r, t+ms(300), loaderKilled("killed", s.ranks[r].pid+4000)...) })
	s.falls(d)
	s.killed(fmt.Sprintf("the kernel killed a DataLoader worker of rank %d: %s was out of memory", r, s.nodes[n].name), "dataloader-worker-killed", "after-fix", d)
	inner := s.judge
	s.judge = func(v *view) Truth {
		t, m := inner(v), s.remains()
		if m.survive(saysReason) {
			t.Candidates, t.Action = []string{"host-oom"}, "after-fix"
		}
		return t
	}
	return nil
}

func playKilled(s *scene) error {
	t := s.begin()
	r := s.anyRank()
	s.root = r
	d := death{ranks: []int{r}, at: t, code: -9, peers: s.peersMode()}
	s.falls(d)
	s.killed(fmt.Sprintf("something sent SIGKILL to rank %d, and nothing says what", r), "", "", d)
	return nil
}

func playNativeCrash(s *scene) error {
	t := s.begin()
	r := s.anyRank()
	s.root = r
	kind := pick(s.rng, "segv", "segv", "abort", "bus")
	d := death{ranks: []int{r}, at: t + ms(100), peers: s.peersMode()}
	thread := 0x7f1000000000 + s.rng.Uint64()&0xffffff000
	var lines []string
	switch kind {
	case "segv":
		d.code = -11
		lines = faulthandler("Segmentation fault", thread)
	case "abort":
		d.code = -6
		lines = append([]string{pick(s.rng, "free(): invalid pointer", "double free or corruption (!prev)", "malloc(): unsorted double linked list corrupted", "corrupted size vs. prev_size")},
			faulthandler("Aborted", thread)...)
		if s.rng.IntN(2) == 0 && s.spec.Damage != "no-last" {
			lines = lines[:1]
		}
	case "bus":
		d.code = -7
		lines = faulthandler("Bus error", thread)
	}
	s.faultLines("trace", func() {
		for i, l := range lines {
			s.plain(r, t+time.Duration(i)*30*time.Microsecond, l)
		}
	})
	if !s.torchrun {
		d.how = signalTexts[-d.code] + pick(s.rng, "", " (core dumped)")
	}
	s.falls(d)
	s.killed(fmt.Sprintf("the process of rank %d crashed (%s)", r, kind), "native-crash", "", d)
	// Plain text of the C library names no rank: only its own file, a label or the exit does.
	inner := s.judge
	s.judge = func(v *view) Truth {
		t := inner(v)
		if !s.remains().survive(saysExit) && !s.ownFiles() && s.spec.FileMode != "single" {
			t.RootRanks, t.RootNodes = nil, nil
		}
		return t
	}
	return nil
}

func playLoaderKilled(s *scene) error {
	t := s.begin()
	r := s.anyRank()
	s.root = r
	kind := pick(s.rng, "killed", "bus", "gone")
	d := death{ranks: []int{r}, at: t + ms(300), code: 1, peers: s.peersMode()}
	s.faultLines("message", func() {
		s.python(r, t, loaderKilled(kind, s.ranks[r].pid+4000)...)
	})
	s.falls(d)
	s.killed(fmt.Sprintf("a DataLoader worker of rank %d died (%s)", r, kind), "dataloader-worker-killed", "after-fix", d)
	return nil
}
