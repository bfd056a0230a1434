package simulate

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// hangs lists the mechanisms of stop-line 1.
func hangs() []mechanism {
	return []mechanism{
		{name: "rank-stalled", line: 1, ablations: []string{"no-dump", "silent-root", "no-world", "no-node"}, fit: fitOneGroup, run: playRankStalled},
		{name: "lone-waiter", line: 1, fit: fitDump, run: playLoneWaiter},
		{name: "symmetric-hang", line: 1, ablations: []string{"no-dump", "no-world"}, fit: fitOneGroup, run: playSymmetric},
		{name: "lagging-gpu", line: 1, ablations: []string{"no-dump", "no-world"}, fit: fitCounters, run: playLagging},
		{name: "mismatch", line: 1, ablations: []string{"no-dump"}, fit: fitVisibleRoot, run: playMismatch},
		{name: "gloo-split", line: 1, fit: fitDump, run: playGlooSplit},
		{name: "multi-group-stall", line: 1, ablations: []string{"no-dump", "no-topology", "no-world", "no-node", "silent-root"}, fit: fitMultiGroup, run: playMultiStall},
		{name: "multi-group-hang", line: 1, ablations: []string{"no-dump"}, fit: fitMultiGroup, run: playMultiHang},
		{name: "watchdog-stuck", line: 1, fit: fitHeartbeat, run: playWatchdogStuck},
		{name: "stuck-after-timeout", line: 1, fit: fitHeartbeat, run: playStuckAfterTimeout},
		{name: "late-watchdog", line: 1, ablations: []string{"no-dump", "no-world"}, fit: fitOneGroup, run: playLate},
	}
}

// The sets that the bytes of a hang leave standing.
var (
	// openHang: members of the group are unseen, so somebody may never have come.
	openHang = []string{"rank-stalled", "collective-hang", "gpu-hang"}
	// loneOrOpen: one waiter is known and nobody's counters of its group, so that it may be alone as well.
	loneOrOpen = append([]string{"lone-waiter", "collective-mismatch"}, openHang...)
	// outsiders: one waiter is known and others are shown not to have come, so nobody hangs inside; the unseen may be on
	// either side.
	outsiders = []string{"lone-waiter", "rank-stalled", "collective-mismatch"}
	// pair: one waits for the other, and nobody else is there to say which of them is wrong.
	pair = []string{"lone-waiter", "rank-stalled"}
	// closedHang: every member is seen inside; counters cannot tell the fabric from a kernel.
	closedHang = []string{"collective-hang", "gpu-hang"}
)

// notAHang are first mechanisms that the teardown of a hang may suggest to a hasty reader.
var notAHang = []string{"native-crash", "peer-lost", "exception", "link-error", "cancelled"}

var (
	errOneGroup = errors.New("needs a layout with one group (ddp, fsdp)")
	errGroups   = errors.New("needs several groups and a release that names them (2.3 and later)")
	errDump     = errors.New("needs a release with dump lines (2.4 and later)")
)

func (s *scene) oneGroup() bool { return len(s.groups) == 1 }

// runUp plays everything before the incident and returns when the last step began. The culprit must be chosen before, so
// that noise does not accuse it.
func (s *scene) runUp() time.Duration {
	s.startup()
	last := s.training(sec(12), sec(12)+time.Duration(10+s.rng.IntN(60))*s.stepTime)
	return last + s.jitter(s.stepTime/4) + ms(20)
}

// minority draws fewer than half of the ranks: one, or now and then a few of one node.
func (s *scene) minority() []int {
	first := s.rng.IntN(s.world)
	out := []int{first}
	// Drawn in any case, so that damage and ablation leave the incident itself as it was.
	if few := s.rng.IntN(4) == 0; few && !slices.Contains(fileDamages, s.spec.Damage) && s.spec.Ablate == "" {
		for _, r := range s.ranks[first].node.ranks {
			if r != first && len(out) < 3 && 2*(len(out)+1) < s.world {
				out = append(out, r)
			}
		}
	}
	slices.Sort(out)
	s.root = out[0]
	return out
}

func playRankStalled(s *scene) error {
	if !s.oneGroup() {
		return errOneGroup
	}
	roots := s.minority()
	onset := s.runUp()
	prog := s.stepPrograms()
	at := 0
	if s.rng.IntN(3) == 0 {
		at = s.rng.IntN(len(prog[0]) / 2)
	}
	o := s.play(prog, onset, s.limits(roots, at), nil)
	_, dead := s.timeouts(o, waveOptions{})
	s.teardown(dead)
	s.title = fmt.Sprintf("%s %s %d; %d others wait", neverEnter(roots), prog[0][at].kind, prog[0][at].seq, s.world-len(roots))
	s.judge = func(v *view) Truth { return v.stalled(roots, s.title) }
	return nil
}

// limits bounds what some ranks enqueue.
func (s *scene) limits(ranks []int, at int) []int {
	out := make([]int, s.world)
	for i := range out {
		out[i] = -1
	}
	for _, r := range ranks {
		out[r] = at
	}
	return out
}

// stalled is the truth of a stall. A staller is proven
//   - by its own dump line, which shows it alive with nothing in flight (one group: its counters are that group's); or
//   - by silence, if it was seen before, its file ends cleanly, the world size is known and no file is missing or cut:
//     then everybody else is shown waiting and it is not.
//
// With several groups the dump line's counters are the default group's and prove less: the staller is the one without any
// timeout, which needs the world size, and either every file or stated groups (then its own group waits for it, whoever
// else is unseen), or every file and a group that can only be waiting for it.
// Otherwise anybody unseen may hold the rest, or nobody does: the set stays open and nobody may be named.
func (v *view) stalled(roots []int, world string) Truth {
	t := Truth{World: world, ForbidMechanisms: notAHang, Intermediates: v.s.end.intermediates(v.s)}
	for _, r := range roots {
		var proven bool
		if v.s.oneGroup() {
			proven = v.state[r] || v.seen[r] && v.whole[r] && v.world && v.intact
		} else {
			proven = v.seen[r] && v.whole[r] && (v.world && (v.intact || v.state[r] && v.groups) || v.intact && v.placed(r))
		}
		if proven {
			t.RootRanks = append(t.RootRanks, r)
		}
	}
	waiting, idle, unseen := v.sides()
	switch {
	case len(t.RootRanks) == 0:
		t.Candidates = v.open()
		return t
	case v.s.world == 2 && unseen == 0:
		t.Candidates, t.RootRanks = pair, nil
		return t
	case v.s.oneGroup() && waiting <= 1 && idle > 0 && unseen > 0:
		t.Candidates, t.RootRanks = v.open(), nil
		return t
	}
	t.Candidates, t.RootNodes = []string{"rank-stalled"}, v.rootNodes(t.RootRanks)
	return t
}

// placed says that the lines prove a rank to be of a group in which all others wait, whatever the size of the world: what they gather or
// scatter tells how many they are, and the rank is the one between neighbours whose ranks are as far apart as their places in the
// group, which PyTorch numbers by ascending ranks.
func (v *view) placed(r int) bool {
	if !v.s.v.numel || v.s.v.group < groupNameDesc {
		return false
	}
	for _, g := range v.s.ranks[r].groups {
		me := g.rankIn(r)
		if g == v.s.groups[0] || me == len(g.ranks)-1 {
			continue
		}
		before := -1
		if me > 0 {
			before = g.ranks[me-1]
		}
		all := g.ranks[me+1]-before == 2
		for _, o := range g.ranks {
			all = all && (o == r || v.state[o] && slices.ContainsFunc(v.s.end.pendings(v.s, o), func(p pending) bool {
				return p.op.g == g && (p.op.kind == "_ALLGATHER_BASE" || p.op.kind == "_REDUCE_SCATTER_BASE")
			}))
		}
		if all {
			return true
		}
	}
	return false
}

// sides counts the ranks that are shown waiting, shown idle, and not shown.
func (v *view) sides() (waiting, idle, unseen int) {
	for r := range v.s.world {
		switch {
		case !v.state[r]:
			unseen++
		case len(v.s.end.pendings(v.s, r)) > 0:
			waiting++
		default:
			idle++
		}
	}
	return waiting, idle, unseen
}

// lostToo adds what a missing or cut file leaves open: the rank in it may have failed in any way.
func lostToo(set []string) []string { return append(slices.Clone(set), "unknown") }

// open is what a hang leaves standing where nobody is proven to have held the others. The same bytes have the same set,
// whatever was played.
func (v *view) open() []string {
	if !v.intact {
		return lostToo(v.unseen())
	}
	return v.unseen()
}

func (v *view) unseen() []string {
	waiting, idle, unseen := v.sides()
	switch {
	case !v.s.oneGroup() || waiting > 1:
		return openHang
	case waiting == 1 && idle > 0:
		return outsiders
	case waiting == 0 && unseen == 1: // all others were told by it and are idle; in which group it waited is lost
		return outsiders
	}
	return loneOrOpen
}

func playLoneWaiter(s *scene) error {
	if !s.oneGroup() || s.v.dump == dumpNone {
		return errors.Join(errOneGroup, errDump)
	}
	lone := s.rng.IntN(s.world)
	s.root = lone
	onset := s.runUp()
	prog := s.stepPrograms()
	var others []int
	for r := range s.world {
		if r != lone {
			others = append(others, r)
		}
	}
	at := s.rng.IntN(3)
	o := s.play(prog, onset, s.limits(others, at), nil)
	_, dead := s.timeouts(o, waveOptions{})
	s.teardown(dead)
	s.title = fmt.Sprintf("only rank %d enters %s %d; nobody else has anything in flight", lone, prog[lone][at].kind, prog[lone][at].seq)
	s.judge = func(v *view) Truth {
		t := Truth{World: s.title, Candidates: []string{"lone-waiter"}, ForbidMechanisms: append([]string{"rank-stalled", "dataloader-stall"}, notAHang...)}
		// Unseen ranks may wait as well, and then it is a split or a stall.
		if !v.intact {
			t.Candidates, t.ForbidMechanisms = v.open(), notAHang
			return t
		}
		if s.world == 2 {
			t.Candidates, t.ForbidMechanisms = pair, notAHang
			return t
		}
		t.RootRanks, t.RootNodes = []int{lone}, v.rootNodes([]int{lone})
		return t
	}
	return nil
}

// stuckAt makes the k-th collective of a group hang with everybody in it.
func stuckAt(g *group, k int) func(meet) bool {
	return func(m meet) bool { return m.g == g && m.k == k && m.src < 0 }
}

// symmetric runs up to a hang inside a collective of the default group.
func (s *scene) symmetric() (*outcome, *op) {
	onset := s.runUp()
	prog := s.stepPrograms()
	k := 1 + s.rng.IntN(len(prog[0])/2-1)
	return s.play(prog, onset, nil, stuckAt(s.groups[0], k)), &prog[0][k-1]
}

// closed is the truth of a hang with every member inside: it needs every file, and the number of members.
func (v *view) closed(world string) Truth {
	t := Truth{World: world, Candidates: closedHang, ForbidMechanisms: notAHang, Intermediates: v.s.end.intermediates(v.s)}
	if !v.intact || !v.world {
		t.Candidates = v.open()
	}
	return t
}

func playSymmetric(s *scene) error {
	if !s.oneGroup() {
		return errOneGroup
	}
	o, w := s.symmetric()
	_, dead := s.timeouts(o, waveOptions{})
	s.teardown(dead)
	s.title = fmt.Sprintf("all %d ranks hang inside %s %d", s.world, w.kind, w.seq)
	s.judge = func(v *view) Truth { return v.closed(s.title) }
	return nil
}

func playLate(s *scene) error {
	if !s.oneGroup() {
		return errOneGroup
	}
	o, w := s.symmetric()
	late := time.Duration(2+s.rng.IntN(6))*time.Hour + s.jitter(time.Hour)
	_, dead := s.timeouts(o, waveOptions{late: late})
	s.teardown(dead)
	s.title = fmt.Sprintf("all %d ranks hang inside %s %d; the watchdogs report %s late", s.world, w.kind, w.seq, late.Round(time.Minute))
	s.judge = func(v *view) Truth { return v.closed(s.title) }
	return nil
}

// playLagging: one GPU has not finished work that the others finished long ago, while its CPU goes on enqueuing.
func playLagging(s *scene) error {
	if !s.oneGroup() || s.v.state == stateNone {
		return errors.Join(errOneGroup, errors.New("needs the counters of 2.3 and later"))
	}
	root := s.rng.IntN(s.world)
	s.root = root
	onset := s.runUp()
	prog := s.stepPrograms()
	first := slices.IndexFunc(prog[0], func(o op) bool { return o.sync }) // one stretch without a wait of the CPU
	if first < 4 {
		first = len(prog[0])/2 - 1
	}
	behind := 3 + s.rng.IntN(min(2, first-2))
	at := behind + s.rng.IntN(first-behind+1)
	o := s.play(prog, onset, nil, stuckAt(s.groups[0], at+1))
	o.done[root] -= behind
	_, dead := s.timeouts(o, waveOptions{})
	s.teardown(dead)
	s.title = fmt.Sprintf("the GPU of rank %d is %d collectives behind while its CPU keeps enqueuing", root, behind)
	s.judge = func(v *view) Truth {
		if !v.state[root] {
			return v.closed(s.title)
		}
		return Truth{World: s.title, Candidates: []string{"gpu-hang"}, RootRanks: []int{root}, RootNodes: v.rootNodes([]int{root}), ForbidMechanisms: notAHang}
	}
	return nil
}

// late heartbeat texts.
const stuckAdvice = "This typically indicates a NCCL/CUDA API (e.g., CudaEventDestroy) hang blocking the watchdog, and could be triggered by another thread holding the GIL inside a CUDA api (for example, CudaEventDestroy), or other deadlock-prone behaviors.If you suspect the watchdog is not actually stuck and a longer timeout would help, you can either increase the timeout (TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC) to a larger value or disable the heartbeat monitor (TORCH_NCCL_ENABLE_MONITORING=0).If either of aforementioned helps, feel free to file an issue to PyTorch about the short timeout or false positive abort; otherwise, please attempt to debug the hang. "

// heartbeat is a monitor that kills its process because the watchdog thread stands still.
func (s *scene) heartbeat(r int, t time.Duration) exit {
	v := s.v
	in := v.groupPrefix(s.groups[0], r)
	text := fmt.Sprintf("ProcessGroupNCCL's watchdog got stuck for %d seconds without making progress in monitoring enqueued collectives. %s", v.heartbeat, stuckAdvice)
	if v.dump < dumpDue { // 2.2 to 2.4
		s.c10State(r, t, pg(v.at.stuck-9), in+"Heartbeat monitor timed out! Process will be terminated after dumping debug info. workMetaList_.size()=1")
		s.c10(r, t+sec(1), 'F', pg(v.at.stuck), in+text)
	} else {
		s.c10State(r, t, pg(v.at.stuck), in+text)
	}
	if v.at.terminate != 0 {
		s.c10(r, t+sec(8), 'F', pg(v.at.terminate), in+"Terminating the process after attempting to dump debug info, due to ProcessGroupNCCL watchdog hang.")
	}
	return exit{r, t + sec(8) + ms(30), -6}
}

func playWatchdogStuck(s *scene) error {
	if s.v.heartbeat == 0 {
		return errors.New("needs the heartbeat monitor of 2.2 and later")
	}
	stuck := s.minority()
	if s.rng.IntN(3) == 0 { // everybody
		stuck = stuck[:0]
		for r := range s.world {
			stuck = append(stuck, r)
		}
	}
	onset := s.runUp()
	s.end = &outcome{onset: onset}
	var dead []exit
	for _, r := range stuck {
		dead = append(dead, s.heartbeat(r, onset+sec(s.v.heartbeat)+s.jitter(sec(1))))
	}
	s.teardown(dead)
	s.title = fmt.Sprintf("the watchdog threads of %d of %d ranks stand still", len(stuck), s.world)
	s.judge = func(v *view) Truth {
		t := Truth{World: s.title, Candidates: []string{"watchdog-stuck"}, ForbidMechanisms: append([]string{"rank-stalled", "collective-hang", "gpu-hang"}, notAHang...)}
		var shown []int
		unseen := 0
		for r := range s.world {
			if slices.Contains(stuck, r) && v.state[r] {
				shown = append(shown, r)
			} else if !v.whole[r] {
				unseen++
			}
		}
		if len(shown) == 0 {
			t.Candidates, t.ForbidMechanisms = []string{"unknown"}, nil
		} else if 2*(len(shown)+unseen) < s.world {
			t.RootRanks, t.RootNodes = shown, v.rootNodes(shown)
		}
		return t
	}
	return nil
}

// playStuckAfterTimeout: collective timeouts first, and minutes later the monitors of some ranks report watchdogs that
// hang in the abort. The hang is the failure, the monitors are its consequence.
func playStuckAfterTimeout(s *scene) error {
	if !s.oneGroup() || s.v.heartbeat == 0 {
		return errors.Join(errOneGroup, errors.New("needs the heartbeat monitor of 2.2 and later"))
	}
	o, w := s.symmetric()
	fired, dead := s.timeouts(o, waveOptions{survives: true})
	last := fired[len(fired)-1].at
	for _, r := range s.minority() {
		dead = append(dead, s.heartbeat(r, last+sec(s.v.heartbeat)+s.jitter(sec(2))))
	}
	s.root = -1
	s.teardown(dead)
	s.title = fmt.Sprintf("all %d ranks hang inside %s %d; %d monitors speak minutes later", s.world, w.kind, w.seq, len(dead))
	s.judge = func(v *view) Truth {
		t := v.closed(s.title)
		t.ForbidMechanisms = append([]string{"watchdog-stuck"}, t.ForbidMechanisms...)
		return t
	}
	return nil
}
