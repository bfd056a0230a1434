package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Marks of the process killers: what a line proves about the death, beyond what says names. Truth is computed from the marks
// of the lines that survive ablation and damage.
const (
	saysFault  says = 1 << (16 + iota) // the culprit's own words: traceback's last line, fatal signal, device error
	saysExit                           // the culprit's exit code next to its rank: elastic block, srun task line
	saysCode                           // the culprit's exit code at all
	saysPeer                           // a victim's remote error
	saysReason                         // the scheduler's or kernel's reason
)

// mark adds marks to the entries written since mark from was taken.
func (s *scene) mark(from int, f says) {
	for i := from; i < len(s.entries); i++ {
		s.entries[i].says |= f
	}
}

// here is the point from which mark counts.
func (s *scene) here() int { return len(s.entries) }

// dropSince removes the entries since from: an ablation takes away lines that were written.
func (s *scene) dropSince(from int) { s.entries = s.entries[:from] }

// begin plays a healthy run up to a random moment and returns the moment at which something breaks in it.
func (s *scene) begin() time.Duration {
	s.startup()
	last := s.training(sec(12), sec(12)+time.Duration(8+s.rng.IntN(40))*s.stepTime)
	return last + s.jitter(s.stepTime/2) + ms(20)
}

// anyRank is a random culprit. Rank 0 and the last rank print the progress; they are culprits as often as the others.
func (s *scene) anyRank() int { return s.rng.IntN(s.world) }

// attributable tells whether the lines of a rank's Python traceback can be tied to the rank: a prefix of their own, a file
// per rank, or a task label on every line.
func (s *scene) attributable() bool {
	return s.v.pyRank || s.ownFiles() || s.spec.FileMode == "single" || slices.Contains(s.spec.Prefixes, "ray")
}

// ownFiles: one file per rank or per task of one rank.
func (s *scene) ownFiles() bool { return s.spec.FileMode == "rank" || s.spec.FileMode == "task" }

// blame names the culprit that damage acts on; where all ranks die alike there is none.
func (s *scene) blame(d death) {
	if len(d.ranks) < s.world {
		s.root = d.ranks[0]
	}
}

// death is the end of the culprit and how the others take it.
type death struct {
	ranks []int // who died of the cause, in order
	at    time.Duration
	code  int // exit code of each
	// peers: "killed" (srun ends the step before they notice), "remote" (NCCL errors within seconds), "store" (rank 0's
	// store is gone), "loud" (tracebacks of every other rank), "late" (their watchdogs, a timeout later).
	peers string
	how   string // srun's word for the task when it is not the signal's name: "Out Of Memory"
}

// falls writes what follows a death: the victims' errors, the agents' blocks, srun's lines and the end of the step.
func (s *scene) falls(d death) {
	nodes := map[int]bool{}
	var dead []exit
	for i, r := range d.ranks {
		nodes[s.ranks[r].node.index] = true
		dead = append(dead, exit{rank: r, at: d.at + ms(min(4*i, 800)), code: d.code})
	}
	t := d.at + ms(1200)
	if d.peers == "late" {
		dead = append(dead, s.waitInVain(d, nodes)...)
	} else if d.peers != "killed" {
		host := s.ranks[d.ranks[0]].node
		budget := 3 + s.rng.IntN(6)
		if d.peers == "loud" {
			budget = s.world
		}
		for _, r := range s.ranks {
			// The agent kills the rest of its own node before NCCL notices; srun's line then tells the culprit's task from them.
			if budget == 0 || nodes[r.node.index] {
				continue
			}
			budget--
			at := t + s.jitter(sec(4))
			from := s.here()
			code := 1
			switch {
			case d.peers == "store" && s.rng.IntN(2) == 0:
				s.c10(r.id, at, 'W', "TCPStore.cpp:125", storeBroken(host.name, 30000+r.id%20000, 30+r.local))
				s.remoteError(r.id, at+ms(200), host)
			case s.v.terminated() && s.rng.IntN(3) == 0 && d.peers != "loud":
				s.asyncError(r.id, at, host)
				code = -6
			default:
				s.remoteError(r.id, at, host)
			}
			s.mark(from, saysPeer)
			dead = append(dead, exit{rank: r.id, at: at + ms(900), code: code})
		}
	}
	from := s.here()
	s.teardown(dead)
	// srun tells of those that it terminated only after it said that it does.
	for i := from; i < len(s.entries); i++ {
		if e := &s.entries[i]; e.to == toBatch && strings.HasSuffix(e.text, ": Terminated") {
			e.at += ms(300)
		}
	}
	if d.how != "" {
		s.reword(from, d)
	}
	s.markExits(from, d)
}

// waitInVain is the others in the step that the dead never joined, until their watchdogs end them.
func (s *scene) waitInVain(d death, nodes map[int]bool) []exit {
	from := s.here()
	prog := s.stepPrograms()
	limit := make([]int, s.world)
	silent := map[int]bool{}
	for r := range limit {
		limit[r] = -1
	}
	gone := func(r int) bool { return silent[r] }
	for _, r := range d.ranks {
		limit[r], silent[r] = s.rng.IntN(len(prog[r])), true
	}
	o := s.play(prog, d.at, limit, nil)
	s.end = o
	if s.torchrun { // the agent has ended the rest of its node long before
		for n := range nodes {
			for _, r := range s.nodes[n].ranks {
				silent[r] = true
			}
		}
	}
	_, dead := s.timeouts(o, waveOptions{silent: silent})
	// The monitor speaks for every rank of the job; the processes that are gone say nothing.
	kept := s.entries[:from]
	for _, e := range s.entries[from:] {
		if e.rank < 0 || !gone(e.rank) {
			kept = append(kept, e)
		}
	}
	s.entries = kept
	return dead
}

// terminated tells whether the release's watchdog prints why it ends the process (2.1 and later).
func (v *generation) terminated() bool { return v.at.terminated != 0 }

// remoteError is a rank whose main thread waits in a collective when NCCL reports that a peer is gone.
func (s *scene) remoteError(r int, t time.Duration, host *node) {
	last := ncclRemoteLast(s.v.nccl, host.fqdn, host.ip, 40000+s.rng.IntN(20000), s.rng.IntN(3))
	if s.spec.Noise >= 1 {
		s.ncclWarned(r, t-ms(3), "misc/socket.cc:49", last)
	}
	s.python(r, t, pyTraceback(collectiveFrames(s.rng.IntN(3)), ncclRemotePython(s.v.name, s.v.nccl, last))...)
}

// asyncError is a rank whose watchdog finds NCCL's asynchronous error and takes the process down.
func (s *scene) asyncError(r int, t time.Duration, host *node) {
	v, g := s.v, s.groups[0]
	msg := ncclRemote(v.nccl, ncclRemoteLast(v.nccl, host.fqdn, host.ip, 40000+s.rng.IntN(20000), 0))
	inGroup := fmt.Sprintf("[Rank %d] ", g.rankIn(r))
	prefix := v.groupPrefix(g, r)
	if !before(v.name, "2.5") {
		s.c10(r, t, 'E', pg(v.at.some-60), inGroup+fmt.Sprintf("Collective WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=%d) raised the following async exception: %s", g.base+1, s.timeoutMS, msg))
	}
	s.c10(r, t+ms(20), 'E', pg(v.at.some), inGroup+"Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.")
	down := "To avoid data inconsistency, we are taking the entire process down."
	if !before(v.name, "2.3") {
		down = inGroup + down
	}
	s.c10(r, t+ms(21), 'E', pg(v.at.avoid), down)
	ended := prefix + "Process group watchdog thread terminated with exception: " + msg
	if before(v.name, "2.3") {
		ended = prefix + "NCCL watchdog thread terminated with exception: " + msg
	}
	s.c10(r, t+ms(24), 'E', pg(v.at.terminated), ended)
	s.abort(r, t+ms(30), ended)
}

// abort is the C++ runtime ending a process that an exception left (libstdc++), and CPython's report of it.
func (s *scene) abort(r int, t time.Duration, what string) {
	s.plain(r, t, fmt.Sprintf("terminate called after throwing an instance of '%s'\n  what():  %s", s.v.exception, what))
	if s.rng.IntN(2) == 0 {
		for i, l := range faulthandler("Aborted", 0x7f1000000000+s.rng.Uint64()&0xffffff000) {
			s.plain(r, t+ms(1)+time.Duration(i)*20*time.Microsecond, l)
		}
	}
}

// reword replaces srun's word for the culprits' task.
func (s *scene) reword(from int, d death) {
	for i := from; i < len(s.entries); i++ {
		e := &s.entries[i]
		if e.to != toBatch || !strings.HasPrefix(e.text, "srun: error: ") {
			continue
		}
		if e.node != s.ranks[d.ranks[0]].node.index || strings.HasSuffix(e.text, ": Terminated") {
			continue
		}
		if j := strings.LastIndex(e.text, ": "); j > 0 {
			e.text = e.text[:j+2] + d.how
		}
		return
	}
}

// markExits marks the lines of the tear-down that give the culprits' exit codes: the block of their agent, or srun's line
// for their tasks.
func (s *scene) markExits(from int, d death) {
	nodes := map[int]bool{}
	for _, r := range d.ranks {
		nodes[s.ranks[r].node.index] = true
	}
	for i := from; i < len(s.entries); i++ {
		e := &s.entries[i]
		switch {
		case e.rank >= 0 || !nodes[e.node]:
		case s.torchrun && e.to == toNode && strings.Contains(e.text, "Root Cause (first observed failure)"):
			e.says |= saysExit | saysCode
		case s.torchrun && e.to == toNode && strings.Contains(e.text, "failed (exitcode:"):
			e.says |= saysCode
		case !s.torchrun && e.to == toBatch && strings.HasPrefix(e.text, "srun: error: ") && !strings.HasSuffix(e.text, ": Terminated"):
			e.says |= saysExit | saysCode
		}
	}
	if s.spec.Ablate == "exit" {
		s.entries = slices.DeleteFunc(s.entries, func(e entry) bool { return e.says&(saysExit|saysCode) != 0 })
	}
}
