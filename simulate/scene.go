package simulate

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// scene is one incident while it is being written: a cluster, its clocks, and the lines written so far. Times are true
// time since scene.start; every emitter prints them through its own clock and zone.
type scene struct {
	spec  Spec
	v     *generation
	rng   *rand.Rand
	start time.Time
	jobID int
	slurm string // "22.05" or "24.11": wording of srun and slurmstepd

	world    int
	nodes    []*node
	ranks    []*rank
	groups   []*group // groups[0] is the default group
	torchrun bool     // one agent per node; otherwise srun starts one task per rank
	frame    *framework

	timeoutMS int
	step      int           // optimizer step reached by training
	stepTime  time.Duration // of one step
	loss      float64

	entries []entry
	judge   func(*view) Truth // set by the mechanism; called once the final bytes are known
	title   string
	// root is the simulated culprit; ablation and damage named "root" act on it. −1: none.
	root int
	// intent is the true state of the programs at the end; see program.go.
	end *outcome
	// cluster is the storage beside the job; nil: it has none whose logs are at hand.
	cluster *storageSide
	// callStack is what the flight recorder knows of the failed call; nil: it is off.
	callStack []string
	// askedWorld, askedNodes: the operator passes the world size, the node list.
	askedWorld, askedNodes bool
}

type node struct {
	index    int
	name     string
	fqdn     string
	ranks    []int
	skew     time.Duration // of its wall clock
	phase    time.Duration // of its monotonic clock's sub-second part against the wall clock
	local    time.Duration // zone of slurmstepd and srun
	inside   time.Duration // zone inside the container: ranks and agents
	agentPID int
	ip       string
}

type rank struct {
	id     int
	local  int
	node   *node
	pid    int
	groups []*group // in the order of their creation in this process: the index is the PG ID
	// sticky is the in-group rank of the first work that failed in this process (−1: none yet): from 2.3 on
	// WorkNCCL::logPrefix keeps it in a function-local static.
	sticky int
}

// group is one process group.
type group struct {
	guid  string
	desc  string
	kind  string // default, tp, cp, ep, dp, pp, mp, shard, replicate
	ranks []int  // global ranks; the index is the rank within the group
	base  int    // collectives finished before the simulated step
	baseP int    // the same for point-to-point
	pos   map[int]int
	ids   map[int]int
}

func (g *group) rankIn(global int) int {
	if g.pos == nil {
		g.pos = make(map[int]int, len(g.ranks))
		for i, r := range g.ranks {
			g.pos[r] = i
		}
	}
	if i, ok := g.pos[global]; ok {
		return i
	}
	return -1
}

func (g *group) localID(global int) int { return g.ids[global] }

// says is what a line states, for a reader that understands it. Truth is computed from the says of the surviving lines.
type says uint

const (
	saysRank     says = 1 << iota // a global rank printed it
	saysNode                      // ties its rank to its node
	saysState                     // its rank's collective state: a timeout or a dump line
	saysWorld                     // the world size
	saysGroups                    // the members of the groups, or the sizes that determine them
	saysFileHost                  // the host of everything in this file
	saysNodes                     // the nodes of the job
	saysSizes                     // what the default group was gathering, whose sizes tell how many it has
)

// dest is the kind of file that a line goes to.
type dest int

const (
	toRank  dest = iota // the rank's own stream
	toNode              // a task of the node that is not a rank: agent, slurmstepd
	toBatch             // the batch script's file
)

type entry struct {
	at   time.Duration
	seq  int
	to   dest
	rank int // −1: none
	node int
	text string // may hold newlines: one write
	says says
	bar  bool // ends in \r, not \n
}

func (s *scene) add(e entry) {
	e.seq = len(s.entries)
	s.entries = append(s.entries, e)
}

// ms, sec: short durations.
func ms(n int) time.Duration  { return time.Duration(n) * time.Millisecond }
func sec(n int) time.Duration { return time.Duration(n) * time.Second }

// jitter is a random duration in [0, max).
func (s *scene) jitter(max time.Duration) time.Duration {
	if max <= 0 {
		return 0
	}
	return time.Duration(s.rng.Int64N(int64(max)))
}

// wall is the time that a process inside the container of a node prints.
func (s *scene) wall(n *node, t time.Duration) time.Time {
	return s.start.Add(t + n.skew + n.inside)
}

// outside is the time that slurmstepd and srun of a node print.
func (s *scene) outside(n *node, t time.Duration) time.Time {
	return s.start.Add(t + n.skew + n.local)
}

// c10Prefix is the c10 logger's prefix. MMDD HH:MM:SS comes from time(), the nine digits from CLOCK_MONOTONIC: unrelated
// phases [PyTorch 2.4–2.7 c10/util/Logging.cpp].
func (s *scene) c10Prefix(r int, t time.Duration, sev byte, file string) string {
	n := s.ranks[r].node
	out := ""
	if s.v.rank {
		out = fmt.Sprintf("[rank%d]:", r)
	}
	if !s.v.stamp {
		return fmt.Sprintf("%s[%c %s] ", out, sev, file)
	}
	w := s.wall(n, t)
	mono := (t + n.phase) % time.Second
	return fmt.Sprintf("%s[%c%d%02d %s.%09d %s] ", out, sev, int(w.Month()), w.Day(), w.Format("15:04:05"), mono.Nanoseconds(), file)
}

// c10 writes a line of the C++ logger on a rank; msg may hold further lines.
func (s *scene) c10(r int, t time.Duration, sev byte, file, msg string) {
	f := says(0)
	if s.v.rank {
		f = saysRank
	}
	s.add(entry{at: t, to: toRank, rank: r, node: s.ranks[r].node.index, text: s.c10Prefix(r, t, sev, file) + msg, says: f})
}

// c10State is c10 for a line that shows the rank's collective state.
func (s *scene) c10State(r int, t time.Duration, file, msg string) {
	s.add(entry{at: t, to: toRank, rank: r, node: s.ranks[r].node.index, text: s.c10Prefix(r, t, 'E', file) + msg, says: saysRank | saysState})
}

// pg names a line of ProcessGroupNCCL.cpp.
func pg(line int) string { return fmt.Sprintf("ProcessGroupNCCL.cpp:%d", line) }

// plain writes text as a rank prints it, with nothing in front.
func (s *scene) plain(r int, t time.Duration, msg string) {
	s.add(entry{at: t, to: toRank, rank: r, node: s.ranks[r].node.index, text: msg})
}

// said is plain for a line that states something.
func (s *scene) said(r int, t time.Duration, f says, msg string) {
	s.add(entry{at: t, to: toRank, rank: r, node: s.ranks[r].node.index, text: msg, says: f})
}

// python writes the lines of a traceback, one write each as Python's printer does, with [rankN]: where the release has it.
func (s *scene) python(r int, t time.Duration, lines ...string) {
	for i, l := range lines {
		f := says(0)
		if s.v.pyRank {
			l, f = fmt.Sprintf("[rank%d]: %s", r, l), saysRank
		}
		s.add(entry{at: t + time.Duration(i)*50*time.Microsecond, to: toRank, rank: r, node: s.ranks[r].node.index, text: l, says: f})
	}
}

// onNode writes a line of a node's own process (not a rank) to the node's file.
func (s *scene) onNode(n int, t time.Duration, f says, msg string) {
	s.add(entry{at: t, to: toNode, rank: -1, node: n, text: msg, says: f})
}

// batch writes a line to the batch script's file.
func (s *scene) batch(t time.Duration, msg string) {
	s.add(entry{at: t, to: toBatch, rank: -1, node: 0, text: msg})
}

// node0 is the batch host.
func (s *scene) node0() *node { return s.nodes[0] }

// pick returns one of the choices.
func pick[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }
