package simulate

import (
	"fmt"
	"slices"
	"time"
)

// due is the reason in every CANCELLED line, or nothing where the ablation takes it away: a bare CANCELLED is left, as scancel
// writes it.
func (s *scene) due(reason string) string {
	if s.spec.Ablate == "reason" {
		return ""
	}
	return reason
}

// playEnding is a healthy run that SLURM ends: the noise of every process being terminated says nothing.
func playEnding(slug, due, action string) func(*scene) error {
	return func(s *scene) error {
		t := s.begin()
		s.controllerEnds(t, s.due(due))
		truth := Truth{World: "a healthy run, ended by SLURM:" + due, Candidates: []string{slug}, Action: action}
		if due == "" {
			truth.World = "a healthy run, cancelled by its owner"
		}
		if slug == "cancelled" || s.due(due) == "" {
			// Bytes show a bare CANCELLED and nothing wrong before it.
			truth.Candidates, truth.Action, truth.NoFailure = cancelledBare, "", true
		}
		truth.ForbidMechanisms = []string{"exception", "native-crash", "external-signal", "host-oom"}
		s.fixed(truth)
		return nil
	}
}

// playHangToTimeLimit is a hang whose watchdogs report and take nobody down (asynchronous error handling is off), until the
// time limit ends the job: the limit is only the end of it.
func playHangToTimeLimit(s *scene) error {
	if !s.oneGroup() {
		return errOneGroup
	}
	roots := s.minority()
	onset := s.runUp()
	prog := s.stepPrograms()
	o := s.play(prog, onset, s.limits(roots, 0), nil)
	s.end = o
	fired, _ := s.timeouts(o, waveOptions{survives: true})
	last := onset
	for _, f := range fired {
		last = max(last, f.at)
	}
	s.controllerEnds(last+sec(600+s.rng.IntN(7200)), " DUE TO TIME LIMIT")
	s.title = fmt.Sprintf("%s a collective; the time limit ends the wait", neverEnter(roots))
	s.judge = func(v *view) Truth {
		t := v.stalled(roots, s.title)
		t.ForbidMechanisms = append(slices.Clone(t.ForbidMechanisms), "time-limit", "external-signal")
		return t
	}
	return nil
}

// playNodeFailure is a node that dies: its file stops, the others go on until they notice or the controller does.
func playNodeFailure(s *scene) error {
	if len(s.nodes) < 2 {
		return fmt.Errorf("a node failure that somebody reports needs a second node")
	}
	t := s.begin()
	// The batch host cannot be the one that failed and also the one that reports it.
	n := 1 + s.rng.IntN(len(s.nodes)-1)
	s.root = s.nodes[n].ranks[0]
	detect := t + sec(20+s.rng.IntN(280))
	if s.rng.IntN(2) == 0 && s.spec.Ablate == "" {
		// NCCL notices before SlurmdTimeout is over.
		for i := range 1 + s.rng.IntN(4) {
			r := s.ranks[s.nodes[(n+1+i%(len(s.nodes)-1))%len(s.nodes)].ranks[i%s.spec.PerNode]]
			if r.node.index != n {
				from := s.here()
				s.remoteError(r.id, t+sec(2)+s.jitter(sec(10)), s.nodes[n])
				s.mark(from, saysPeer)
			}
		}
	}
	if s.spec.Ablate != "place" {
		s.add(entry{at: detect, to: toBatch, rank: -1, node: n, text: "srun: error: Node failure on " + s.nodes[n].name})
	}
	const due = " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"
	if s.spec.Ablate == "place" {
		// Nothing ties the failure to a node: the step's end leaves no trace in any node's file, so that a file which stops
		// says no more than its peers do.
		s.srunAborts(detect)
		s.jobCancelled(detect+ms(5), due)
	} else {
		s.controllerEnds(detect+ms(10), s.due(due), n)
	}
	truth := Truth{World: s.nodes[n].name + " died; the controller noticed " + (detect - t).Round(time.Second).String() + " later", Candidates: []string{"node-failure"}, Action: "yes"}
	if s.spec.Ablate != "place" {
		truth.RootNodes = []string{s.nodes[n].name}
	}
	truth.ForbidMechanisms = []string{"peer-lost", "cancelled", "exception"}
	s.fixed(truth)
	return nil
}

// playRequeue is a run that SLURM requeued and a second one, in the same files, that failed: the last one is asked about.
func playRequeue(s *scene) error {
	t := s.begin()
	s.controllerEnds(t, pick(s.rng, " DUE TO JOB REQUEUE", " DUE TO PREEMPTION", " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"))
	// The second run is played on a clock of its own and then moved behind the first.
	first, zero := len(s.entries), s.start
	gap := t + sec(130+s.rng.IntN(400))
	s.start = s.start.Add(gap)
	for _, n := range s.nodes { // other processes
		more := 500 + s.rng.IntN(9000)
		n.agentPID += more
		for _, r := range n.ranks {
			s.ranks[r].pid += more
		}
	}
	r := s.anyRank()
	s.root = r
	fault := s.begin()
	f := userFaults[s.rng.IntN(len(userFaults))]
	d := death{ranks: []int{r}, at: fault + ms(300), code: 1, peers: pick(s.rng, "killed", "remote")}
	s.faultLines("", func() { s.python(r, fault, pyTraceback(loopFrames(f.frames...), f.exc)...) })
	s.falls(d)
	s.start = zero
	for i := first; i < len(s.entries); i++ {
		s.entries[i].at += gap
	}
	s.killed(fmt.Sprintf("the run was requeued; in its second run rank %d raised an exception", r), "exception", "after-fix", d)
	return nil
}

// playSchedulerError is a step that never starts.
func playSchedulerError(s *scene) error {
	s.batch(0, fmt.Sprintf("batch start job=%d nodelist=%s", s.jobID, s.hostlist()))
	switch s.spec.Damage {
	case "truncated-root", "truncated-other": // there is nothing to cut
		s.spec.Damage = ""
	}
	n := s.rng.IntN(len(s.nodes))
	f := launchFaults[s.rng.IntN(len(launchFaults))]
	s.cannotLaunch(f, n, sec(5))
	s.root, s.title = s.nodes[n].ranks[0], "the step could not start: "+f.name
	s.judge = func(*view) Truth {
		t := Truth{World: s.title, Candidates: []string{"scheduler-error"}}
		switch {
		case f.node && !s.remains().holds(f.sign):
			t.Candidates = []string{"unknown"} // the node's own file had it all
		case f.name == "communication" || f.node:
			t.RootNodes = []string{s.nodes[n].name}
		}
		return t
	}
	return nil
}

// playSignal is SIGTERM to every agent with nothing of SLURM and no error before it.
func playSignal(s *scene) error {
	t := s.begin()
	for n, nd := range s.nodes {
		at := t + s.jitter(ms(800))
		s.agent(n, at, 'W', "elastic.agent.server.api", 719, "Received 15 death signal, shutting down workers")
		for i, r := range nd.ranks {
			s.agent(n, at+ms(1+i), 'W', elasticAPI, 897, fmt.Sprintf("Sending process %d closing signal SIGTERM", s.ranks[r].pid))
		}
		s.onNode(n, at+sec(1), 0, fmt.Sprintf("torch.distributed.elastic.multiprocessing.api.SignalException: Process %d got signal: 15", nd.agentPID))
	}
	for n := range s.nodes {
		s.srunTasks(t+sec(3)+s.jitter(sec(1)), n, []int{n}, "Exited with exit code 1")
	}
	s.title = "something outside the job sent SIGTERM to its launchers"
	s.judge = func(v *view) Truth {
		t := Truth{World: s.title, Candidates: []string{"external-signal"}}
		if !v.intact { // an earlier error may be in what is not there
			t.Candidates = append(t.Candidates, "unknown")
		}
		return t
	}
	return nil
}

// playPeerLost is a culprit whose lines nobody has: the others saw their peer go, and nothing says why. Two mechanisms are
// left standing: the symptom itself, and a cause that lies in what is not there.
func playPeerLost(s *scene) error {
	if len(s.nodes) < 2 {
		return fmt.Errorf("a lost peer needs a second node")
	}
	t := s.begin()
	r := s.anyRank()
	n := s.ranks[r].node.index
	s.root = r
	seen := map[int]bool{}
	var dead []exit
	for i := range 2 + s.rng.IntN(5) {
		v := s.ranks[(r+s.spec.PerNode)%s.world]
		if i > 0 {
			v = s.ranks[s.rng.IntN(s.world)]
		}
		if v.node.index == n || seen[v.id] {
			continue
		}
		seen[v.id] = true
		at := t + s.jitter(sec(3))
		from := s.here()
		s.remoteError(v.id, at, s.nodes[n])
		s.mark(from, saysPeer)
		dead = append(dead, exit{rank: v.id, at: at + ms(900), code: 1})
	}
	s.teardown(dead)
	lost := func(e entry) bool { return e.to != toBatch && e.node == n && (s.torchrun || e.rank == r) }
	switch s.spec.Damage {
	case "", "truncated-root", "missing-root-file":
		if s.spec.FileMode != "single" {
			s.spec.Damage = "missing-root-file"
			lost = func(entry) bool { return false }
		}
	}
	// The batch script's own file has only its head: the exits of the tasks went to a terminal.
	s.entries = slices.DeleteFunc(s.entries, func(e entry) bool { return lost(e) || e.to == toBatch && e.at > t })
	s.title = fmt.Sprintf("rank %d on %s went away, and its lines are not here", r, s.nodes[n].name)
	s.judge = func(*view) Truth {
		t := Truth{World: s.title, Candidates: []string{"unknown"}}
		if s.remains().survive(saysPeer) {
			t.Candidates = append(t.Candidates, "peer-lost")
		}
		return t
	}
	return nil
}

// playConsequence is a cancellation that is the consequence of a task's death (srun -K): the cause stays the death.
func playConsequence(s *scene) error {
	t := s.begin()
	r := s.anyRank()
	s.root = r
	d := death{ranks: []int{r}, at: t, code: -11, peers: "killed"}
	s.faultLines("", func() {
		for i, l := range faulthandler("Segmentation fault", 0x7f1000000000+s.rng.Uint64()&0xffffff000) {
			s.plain(r, t-ms(60)+time.Duration(i)*30*time.Microsecond, l)
		}
	})
	s.falls(d)
	s.killed(fmt.Sprintf("rank %d crashed, and srun cancelled the step for it", r), "native-crash", "", d)
	return nil
}
