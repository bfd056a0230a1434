package simulate

import (
	"fmt"
	"time"
)

// head is the start of a run that never reaches its first step: the batch script's line, the agents' banner and, where NCCL
// or the framework would follow, nothing.
func (s *scene) head() time.Duration {
	s.batch(0, fmt.Sprintf("batch start job=%d nodelist=%s", s.jobID, s.hostlist()))
	for _, r := range s.ranks {
		if s.spec.Noise >= 1 && r.local == 0 {
			s.plain(r.id, ms(900), "pyxis: imported docker image: registry.example.org/train/pytorch")
		}
		s.plain(r.id, sec(2)+s.jitter(sec(2)), pySite+"torch/cuda/__init__.py:61: FutureWarning: The pynvml package is deprecated. Please install nvidia-ml-py instead.")
	}
	return sec(6) + s.jitter(sec(4))
}

// everyone writes the same lines on every rank (or on those of who), a moment apart, and ends the processes.
func (s *scene) everyone(t time.Duration, code int, write func(r int, at time.Duration)) {
	var dead []exit
	for r := range s.world {
		at := t + s.jitter(ms(900))
		write(r, at)
		s.farewell(r, at+ms(390))
		dead = append(dead, exit{rank: r, at: at + ms(400), code: code})
	}
	s.teardown(dead)
}

// allAlike is the truth of a failure that every rank meets at start.
func (s *scene) allAlike(world, action string, candidates ...string) {
	s.fixed(Truth{World: world, Candidates: candidates, Action: action})
}

func playConfig(s *scene) error {
	t := s.head()
	if s.torchrun && s.rng.IntN(6) == 0 {
		return s.portTaken(t)
	}
	faults := configFaults(s.world)
	f := faults[s.rng.IntN(len(faults))]
	s.everyone(t, f.code, func(r int, at time.Duration) { s.startupLines(f, r, at) })
	s.allAlike("every rank stopped at its configuration: "+f.name, "after-fix", "config-error")
	return nil
}

func playVersion(s *scene) error {
	t := s.head()
	faults := versionFaults()
	i := s.rng.IntN(len(faults) + 1)
	if i == len(faults) {
		// NCCL compares versions when the communicator is set up: one image of two is another.
		odd := 1 + s.rng.IntN(s.world-1)
		msg := fmt.Sprintf("Mismatched NCCL version detected : rank %d version 22105 rank %d version 22602", 0, odd)
		s.everyone(t, 1, func(r int, at time.Duration) {
			s.ncclWarned(r, at, "init.cc:1040", msg)
			class := "torch.distributed.DistBackendError"
			if before(s.v.name, "2.1") {
				class = "RuntimeError"
			}
			s.python(r, at+ms(5), pyTraceback(firstFrames(), fmt.Sprintf("%s: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1333, invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version %s\nncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\n%s", class, s.v.nccl, msg))...)
		})
		s.allAlike("two images with different NCCL", "after-fix", "version-mismatch")
		return nil
	}
	f := faults[i]
	s.everyone(t, f.code, func(r int, at time.Duration) { s.startupLines(f, r, at) })
	s.allAlike("the image does not fit: "+f.name, "after-fix", "version-mismatch")
	return nil
}

// startupLines are one rank's lines of a startup fault. An import fails before PyTorch can put the rank in front.
func (s *scene) startupLines(f startupFault, r int, at time.Duration) {
	if f.usage != nil {
		for i, l := range f.usage {
			s.plain(r, at+time.Duration(i)*20*time.Microsecond, l)
		}
		return
	}
	for i, l := range pyTraceback(f.frames, f.exc) {
		s.plain(r, at+time.Duration(i)*30*time.Microsecond, l)
	}
}

// portTaken is another process on the rendezvous port of the first node: its agent cannot serve the store.
func (s *scene) portTaken(t time.Duration) error {
	s.onNode(0, t, 0, "[W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).")
	s.onNode(0, t+ms(1), 0, "[E socket.cpp:472] [c10d] The server socket has failed to listen on any local network address.")
	class := "RuntimeError"
	if !before(s.v.name, "2.1") {
		class = "torch.distributed.DistNetworkError"
	}
	for i, l := range pyTraceback([]pyFrame{
		{File: "/usr/local/bin/torchrun", Line: 8, Func: "<module>", Code: "sys.exit(main())"},
		{File: pySite + "torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py", Line: 55, Func: "next_rendezvous", Code: "self._store = TCPStore(  # type: ignore[call-arg]"},
	}, class+": The server socket has failed to listen on any local network address. The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use). The server socket has failed to bind to 0.0.0.0:29500 (errno: 98 - Address already in use).") {
		s.onNode(0, t+ms(5)+time.Duration(i)*30*time.Microsecond, 0, l)
	}
	s.srunTasks(t+sec(1), 0, []int{0}, "Exited with exit code 1")
	s.stepEnds(t + sec(1) + ms(40))
	for n := 1; n < len(s.nodes); n++ {
		s.srunTasks(t+sec(2), n, []int{n}, "Terminated")
	}
	s.srunDone(t + sec(3))
	s.root = 0 // whose file the damage calls the root's: the only one that says it
	s.title = "the rendezvous port of the first node was taken"
	s.judge = func(*view) Truth {
		t := Truth{World: s.title, Candidates: []string{"config-error"}, Action: "after-fix"}
		if !s.remains().holds("errno: 98") {
			t.Candidates, t.Action = []string{"unknown"}, ""
		}
		return t
	}
	return nil
}

func playInit(s *scene) error {
	t := s.head()
	master := s.nodes[0]
	variants := []string{"dns", "refused", "interface", "clients", "barrier", "completion"}
	if s.torchrun {
		variants = append(variants, "rendezvous", "connection")
	}
	if len(s.nodes) < 2 {
		variants = []string{"interface"}
	}
	variant := variants[s.rng.IntN(len(variants))]
	world := "the ranks could not reach each other at start: " + variant
	warn := func(r int, at time.Duration, line int, msg string) {
		s.c10unranked(r, at, fmt.Sprintf("socket.cpp:%d", line), msg)
	}
	switch variant {
	case "dns", "refused":
		limit := pick(s.rng, 60, 300, 900)
		s.everyone(t+sec(limit), 1, func(r int, at time.Duration) {
			for i := range 3 {
				w := t + sec(i*limit/4) + s.jitter(sec(1))
				if variant == "dns" {
					warn(r, w, 663, unresolved("IPv6", master.name))
					warn(r, w+ms(1), 663, unresolved("IPv4", master.name))
				} else {
					warn(r, w, 697, refused(master.fqdn, master.ip))
				}
			}
			s.early(r, at, pyTraceback(storeFrames(), clientTimeout(s.v.name, master.name, limit)))
		})
	case "interface":
		s.everyone(t, 1, func(r int, at time.Duration) {
			s.ncclWarned(r, at, "bootstrap.cc:45", "Bootstrap : no socket interface found")
			s.python(r, at+ms(5), pyTraceback(firstFrames(), ncclInternal(s.v.name, s.v.nccl, "Bootstrap : no socket interface found"))...)
		})
	case "completion":
		// The fabric fails in the first collective, before any step: a link, or a fabric that never let them through. The text
		// is the same, so both stand.
		s.everyone(t+sec(20), 1, func(r int, at time.Duration) {
			peer := s.nodes[(s.ranks[r].node.index+1)%len(s.nodes)]
			msg := ibCompletion(s.v.nccl, peer.ip, 40000+r%20000, s.ranks[r].local)
			s.ncclWarned(r, at, "transport/net_ib.cc:1296", msg)
			s.python(r, at+ms(5), pyTraceback(firstFrames(), ncclRemotePython(s.v.name, s.v.nccl, msg))...)
		})
		s.allAlike("InfiniBand gave up in the first collective", "", "init-unreachable", "link-error")
		return nil
	case "clients":
		joined := s.world / 2
		limit := pick(s.rng, 300, 600)
		s.everyone(t+sec(limit), 1, func(r int, at time.Duration) {
			switch {
			case r == 0 && !before(s.v.name, "2.4"):
				s.early(r, at, pyTraceback(storeFrames(), clientsMissing(limit, joined, s.world)))
			case r == 0:
				s.early(r, at, pyTraceback(storeFrames(), storeTimeout(s.v.name)))
			case r >= joined:
				warn(r, t+sec(limit/3), 697, "[c10d] The client socket has failed to connect to ["+master.fqdn+"]:29500 (errno: 110 - Connection timed out).")
				s.early(r, at, pyTraceback(storeFrames(), clientTimeout(s.v.name, master.name, limit)))
			default:
				s.early(r, at+ms(900), pyTraceback(storeFrames(), storeTimeout(s.v.name)))
			}
		})
	case "barrier":
		// Only the first rank of each joined node gets to print: who is missing cannot be told from who was stopped.
		joined := s.world - s.spec.PerNode
		var dead []exit
		for r := 0; r < joined; r += s.spec.PerNode {
			at := t + sec(1800) + s.jitter(ms(900))
			s.early(r, at, pyTraceback(initFrames(pyFrame{File: pySite + "torch/distributed/distributed_c10d.py", Line: 469, Func: "_store_based_barrier", Code: "raise RuntimeError("}), storeBarrier(s.v.name, r, s.world, joined)))
			s.farewell(r, at+ms(290))
			dead = append(dead, exit{rank: r, at: at + ms(300), code: 1})
		}
		s.teardown(dead)
	case "rendezvous", "connection":
		exc := pySite + "torch/distributed/elastic/rendezvous/"
		at := t + sec(600)
		for n := range s.nodes {
			block := pyTraceback([]pyFrame{
				{File: "/usr/local/bin/torchrun", Line: 8, Func: "<module>", Code: "sys.exit(main())"},
				{File: exc + "dynamic_rendezvous.py", Line: 1115, Func: "next_rendezvous", Code: "self._op_executor.run(join_op, deadline, self._get_deadline)"},
			}, "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError")
			if variant == "connection" {
				at = t + sec(60)
				block = pyChain(pyDirectCause, pyTraceback([]pyFrame{
					{File: exc + "c10d_rendezvous_backend.py", Line: 155, Func: "_create_tcp_store", Code: "store = TCPStore("},
				}, clientTimeout(s.v.name, master.name, 60)), pyTraceback([]pyFrame{
					{File: "/usr/local/bin/torchrun", Line: 8, Func: "<module>", Code: "sys.exit(main())"},
					{File: exc + "c10d_rendezvous_backend.py", Line: 178, Func: "_create_tcp_store", Code: "raise RendezvousConnectionError("},
				}, "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details."))
			}
			x := at + s.jitter(sec(2))
			for i, l := range block {
				s.onNode(n, x+time.Duration(i)*30*time.Microsecond, 0, l)
			}
			s.srunTasks(x+sec(1), n, []int{n}, "Exited with exit code 1")
		}
	}
	s.allAlike(world, "", "init-unreachable")
	return nil
}

// early writes a traceback of a rank before init_process_group is over: no release puts the rank in front yet.
func (s *scene) early(r int, t time.Duration, lines []string) {
	for i, l := range lines {
		s.plain(r, t+time.Duration(i)*30*time.Microsecond, l)
	}
}

// c10unranked is a C++ log line before the process knows its rank.
func (s *scene) c10unranked(r int, t time.Duration, file, msg string) {
	p := s.c10Prefix(r, t, 'W', file)
	if s.v.rank {
		p = p[len(fmt.Sprintf("[rank%d]:", r)):]
	}
	s.plain(r, t, p+msg)
}

// ncclWarned writes a WARN of NCCL on a rank.
func (s *scene) ncclWarned(r int, t time.Duration, file, msg string) {
	k := s.ranks[r]
	s.plain(r, t, ncclWarn(s.v.nccl, s.stamp(r, t, "2006-01-02 15:04:05"), k.node.name, k.pid, k.pid+305, k.local, file, msg))
}

// limitFault is a limit of the process or the container that NCCL or the loader runs into.
type limitFault struct {
	name string
	file string // NCCL's source, where NCCL warns: then it is met when the communicators are set up
	text func(nccl string) string
}

// Texts of NCCL 2.14 … 2.27 (transport/net_ib.cc, misc/shmutils.cc, misc/socket.cc), of CPython and of torch.multiprocessing.
var limitFaults = []limitFault{
	{"memlock", "transport/net_ib.cc:703", func(string) string {
		return "Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory"
	}},
	{"shm", "misc/shmutils.cc:72", func(nccl string) string {
		text := "Error: failed to extend /dev/shm/nccl-4Xq1bZ to 9637892 bytes"
		if !before(nccl, "2.24") {
			text += ", error: No space left on device (28)"
		}
		return text
	}},
	{"accept", "misc/socket.cc:484", func(string) string { return "socketTryAccept: Accept failed: Too many open files" }},
	{"files", "", func(string) string { return "OSError: [Errno 24] Too many open files" }},
	{"ancdata", "", func(string) string { return "RuntimeError: received 0 items of ancdata" }},
}

func playLimit(s *scene) error {
	f := limitFaults[s.rng.IntN(len(limitFaults))]
	one := s.rng.IntN(2) == 0 || s.spec.Ablate != ""
	if one {
		f = limitFaults[3+s.rng.IntN(2)] // a leak on one rank shows in the run
	}
	if f.file == "" {
		t := s.begin()
		r := s.anyRank()
		d := death{ranks: []int{r}, at: t + ms(300), code: 1, peers: s.peersMode()}
		if !one {
			d.peers, d.ranks = "killed", make([]int, s.world)
			for i := range d.ranks {
				d.ranks[i] = i
			}
		}
		s.blame(d)
		s.faultLines("message", func() {
			for i, x := range d.ranks {
				s.python(x, t+ms(3*(i%60)), pyTraceback(loopFrames(
					pyFrame{File: pySite + "torch/utils/data/dataloader.py", Line: 1132, Func: "_try_get_data", Code: "data = self._data_queue.get(timeout=timeout)"},
					pyFrame{File: pySite + "torch/multiprocessing/reductions.py", Line: 307, Func: "rebuild_storage_fd", Code: "fd = df.detach()"}), f.text(s.v.nccl))...)
			}
		})
		s.falls(d)
		s.killed("a limit was reached: "+f.name, "resource-limit", "after-fix", d)
		return nil
	}
	t := s.head()
	s.everyone(t+sec(4), 1, func(r int, at time.Duration) {
		s.ncclWarned(r, at, f.file, f.text(s.v.nccl))
		s.python(r, at+ms(5), pyTraceback(firstFrames(), ncclSystem(s.v.name, s.v.nccl, f.text(s.v.nccl), 1333))...)
	})
	s.allAlike("every rank met a limit at start: "+f.name, "after-fix", "resource-limit")
	return nil
}

// playHealthy is a run that ends well, with all the noise of healthy runs.
func playHealthy(s *scene) error {
	t := s.begin()
	if s.rng.IntN(2) == 0 { // a spike of the loss that recovers
		kept := s.loss
		s.loss *= 3
		s.frame.progress(s, t)
		s.loss = kept
		t = s.training(t, t+8*s.stepTime) + ms(50)
	}
	s.retries(t)
	s.frame.save(s, t+sec(1))
	end := t + sec(3)
	for _, r := range s.ranks {
		at := end + s.jitter(sec(1))
		if !before(s.v.name, "2.4") && s.rng.IntN(2) == 0 {
			s.c10(r.id, at, 'W', pg(1250), notDestroyed)
		}
		if s.spec.Noise >= 1 && r.id != 0 && r.id%7 == 3 && !before(s.v.name, "2.4") {
			s.c10(r.id, at+ms(800), 'W', "TCPStore.cpp:125", storeBroken(s.nodes[0].fqdn, 30000+r.id%20000, 40+r.local))
		}
		if s.spec.Noise >= 2 && before(s.v.name, "2.0") && !s.torchrun {
			s.plain(r.id, at+ms(900), fmt.Sprintf("Killing subprocess %d", r.pid))
		}
	}
	s.plain(0, end+sec(1), "Training finished.")
	s.batch(end+sec(4), "srun rc=0")
	s.fixed(Truth{World: "a healthy run", Candidates: []string{"completed"}, NoFailure: true,
		ForbidMechanisms: []string{"host-oom", "native-crash", "exception", "peer-lost", "storage-retries-exhausted", "non-finite-loss"}})
	return nil
}

// retries are resets of idle connections that the first retry heals.
func (s *scene) retries(t time.Duration) {
	for i := range s.rng.IntN(6) {
		r := s.rng.IntN(s.world)
		s.plain(r, t+ms(30*i), "WARNING:root:Retrying <unknown>.request in 0.6 seconds as it raised ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer')).")
	}
}
