// Package dumps plays jobs that hang, and writes the dumps of their flight recorders. Every rank has a processor that issues work
// and a GPU that does it in order; a collective ends on all its members once it has begun on all of them. What the dumps hold is what
// that leads to, whoever reads them. The formats are those of PyTorch (c10d, FlightRecorder, 2.4 to 2.10).
package dumps

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Fault is what goes wrong on the ranks at fault.
type Fault string

// Faults.
const (
	Processor Fault = "processor" // it issues nothing any more
	Unended   Fault = "unended"   // its GPU takes part, and its own work never comes to its end
	Kernel    Fault = "kernel"    // its GPU is held by a kernel of its own, so that what comes after does not begin
	Other     Fault = "other"     // it calls another operation than its group
	Size      Fault = "size"      // it calls the same with another size
	Network   Fault = "network"   // one collective begins on all its members and ends on none
)

// Faults are all of them.
func Faults() []Fault { return []Fault{Processor, Unended, Kernel, Other, Size, Network} }

// Spec is one job. The same one always gives the same bytes.
type Spec struct {
	Seed       uint64
	Fault      Fault
	TP, PP, DP int // their product is the world
	Version    string
	JSON       bool
	Timing     bool // TORCH_NCCL_ENABLE_TIMING: begun work is known as such
	Ring       int  // records that a recorder keeps
	Lost       int  // dumps that are not there
	Off        int  // recorders that were off
	Faulty     int  // ranks at fault, in different groups
	Steps      int  // of training, at most; 0: a few
}

// Truth is what was played.
type Truth struct {
	Ranks []int // at fault; none for Network
	Lost  []int // whose dump is missing or empty
}

// Incident is a played job.
type Incident struct {
	World int
	Files map[string][]byte // by name
	Truth Truth
}

type group struct {
	name, desc string
	ranks      []int
	p2p        bool
	listed     string // the ranks as a dump lists them
	late       int    // the member that was last seen to hold it
}

// call is one work in the program of a rank.
type call struct {
	group *group
	op    string
	numel int
	seq   int // in its group
	to    string
	wrong bool // it is not what the group calls
}

type rank struct {
	id      int
	program []call
	issued  int // works that the processor has issued
	done    int // works that the GPU has ended
	halt    int // the processor stops there; −1 never
	unended int // from here on the GPU takes part and nothing is seen to end; −1 never
	seen    int // works that are seen to have ended
	stuck   int // the kernel before this work does not end; −1 never
	ahead   int // works that it may have issued beyond those that are seen to have ended
}

// Play plays a job.
func Play(spec Spec) (*Incident, error) {
	inc := &Incident{World: spec.TP * spec.PP * spec.DP, Files: map[string][]byte{}}
	var err error
	inc.Truth, err = Each(spec, func(name string, data []byte) error {
		inc.Files[name] = data
		return nil
	})
	if err != nil {
		return nil, err
	}
	return inc, nil
}

// Each plays a job and hands out its dumps one by one: those of a large job fill more than the memory.
func Each(spec Spec, dump func(name string, data []byte) error) (Truth, error) {
	var truth Truth
	world := spec.TP * spec.PP * spec.DP
	if world < 4 || world > 1<<16 {
		return truth, fmt.Errorf("dumps: a world of %d ranks", world)
	}
	rng := rand.New(rand.NewPCG(spec.Seed, 0x5eed))
	groups := layout(spec)
	ranks := make([]*rank, world)
	for id := range ranks {
		ranks[id] = &rank{id: id, halt: -1, unended: -1, stuck: -1, ahead: 6 + rng.IntN(10)}
	}
	steps := 6 + rng.IntN(5)
	if spec.Steps > 0 {
		steps = spec.Steps
	}
	program(ranks, groups, spec, steps)
	faulty := choose(rng, groups, world, max(1, spec.Faulty))
	at := len(ranks[0].program)/2 + rng.IntN(len(ranks[0].program)/4)
	dead := inject(ranks, faulty, spec.Fault, at)
	run(ranks, dead)
	for _, id := range faulty {
		if ranks[id].acted(spec.Fault, ranks, dead) {
			truth.Ranks = append(truth.Ranks, id)
		}
	}
	order := rng.Perm(world)
	lost := map[int]bool{}
	for _, id := range order[:min(spec.Lost, world/2)] {
		lost[id] = true
	}
	off := map[int]bool{}
	for _, id := range order[min(spec.Lost, world/2):][:min(spec.Off, world/4)] {
		off[id] = true
	}
	for _, r := range ranks {
		if lost[r.id] || off[r.id] {
			truth.Lost = append(truth.Lost, r.id)
		}
		if lost[r.id] {
			continue
		}
		if err := dump(fileName(spec, r.id), write(spec, r, groups, off[r.id])); err != nil {
			return truth, err
		}
	}
	return truth, nil
}

func fileName(spec Spec, id int) string {
	if spec.Version == "2.10" {
		return fmt.Sprintf("comm_lib_trace_rank_%d", id)
	}
	return fmt.Sprintf("nccl_trace_rank_%d", id)
}

// layout makes the groups as Megatron does: tensor fastest, then data, then pipeline.
func layout(spec Spec) []*group {
	id := func(t, d, p int) int { return t + spec.TP*(d+spec.DP*p) }
	all := &group{name: "0", desc: "default_pg"}
	for i := range spec.TP * spec.PP * spec.DP {
		all.ranks = append(all.ranks, i)
	}
	groups := []*group{all}
	add := func(desc string, p2p bool, ranks []int) {
		if len(ranks) > 1 {
			slices.Sort(ranks)
			groups = append(groups, &group{name: fmt.Sprint(len(groups) + 2), desc: desc, ranks: ranks, p2p: p2p})
		}
	}
	for p := range spec.PP {
		for d := range spec.DP {
			var m []int
			for t := range spec.TP {
				m = append(m, id(t, d, p))
			}
			add("TENSOR_MODEL_PARALLEL_GROUP", false, m)
		}
	}
	for p := range spec.PP {
		for t := range spec.TP {
			var m []int
			for d := range spec.DP {
				m = append(m, id(t, d, p))
			}
			add("DATA_PARALLEL_GROUP", false, m)
		}
	}
	for d := range spec.DP {
		for t := range spec.TP {
			var m []int
			for p := range spec.PP {
				m = append(m, id(t, d, p))
			}
			add("PIPELINE_MODEL_PARALLEL_GROUP", true, m)
		}
	}
	return groups
}

// program writes what every rank calls, step by step: forward through the stages, backward, the gradients of the replicas, and a loss
// that all share.
func program(ranks []*rank, groups []*group, spec Spec, steps int) {
	next := map[*group]int{}
	emit := func(g *group, op string, numel int) {
		next[g]++
		for _, id := range g.ranks {
			ranks[id].program = append(ranks[id].program, call{group: g, op: op, numel: numel, seq: next[g]})
		}
	}
	send := func(g *group, from, to int) { // places in the group
		next[g]++
		for place, word := range map[int]string{from: fmt.Sprintf("send %d->%d", from, to), to: fmt.Sprintf("recv %d<-%d", to, from)} {
			id := g.ranks[place]
			ranks[id].program = append(ranks[id].program, call{group: g, op: word[:4], numel: 4096, seq: next[g], to: word})
		}
	}
	of := func(desc string) []*group {
		return slices.DeleteFunc(slices.Clone(groups), func(g *group) bool { return g.desc != desc })
	}
	tensor, data, pipe := of("TENSOR_MODEL_PARALLEL_GROUP"), of("DATA_PARALLEL_GROUP"), of("PIPELINE_MODEL_PARALLEL_GROUP")
	stage := func(p int) []*group {
		return slices.DeleteFunc(slices.Clone(tensor), func(g *group) bool { return g.ranks[0]/(spec.TP*spec.DP) != p })
	}
	for range steps {
		for p := range spec.PP {
			for _, g := range stage(p) {
				emit(g, "all_gather_base", 8192)
				emit(g, "all_reduce", 4096)
			}
			for _, g := range pipe {
				if p+1 < spec.PP {
					send(g, p, p+1)
				}
			}
		}
		for p := spec.PP - 1; p >= 0; p-- {
			for _, g := range stage(p) {
				emit(g, "reduce_scatter_base", 8192)
			}
			for _, g := range pipe {
				if p > 0 {
					send(g, p, p-1)
				}
			}
		}
		for _, g := range data {
			emit(g, "all_reduce", 65536)
		}
		emit(groups[0], "all_reduce", 1)
	}
}

// choose takes ranks that share no group but that of the whole world.
func choose(rng *rand.Rand, groups []*group, world, n int) []int {
	var out []int
	for _, id := range rng.Perm(world) {
		shares := func(o int) bool {
			return slices.ContainsFunc(groups[1:], func(g *group) bool { return slices.Contains(g.ranks, id) && slices.Contains(g.ranks, o) })
		}
		if len(out) < n && !slices.ContainsFunc(out, shares) && 4*(len(out)+1) <= world {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// work is one occurrence of a collective.
type work struct {
	group *group
	seq   int
}

// inject puts the fault into the ranks. It returns the works that never end.
func inject(ranks []*rank, faulty []int, fault Fault, at int) map[work]bool {
	dead := map[work]bool{}
	for _, id := range faulty {
		r := ranks[id]
		k := min(at, len(r.program)-1)
		collective := func(i int) bool { return i < len(r.program) && !r.program[i].group.p2p }
		switch fault {
		case Processor:
			r.halt = k
		case Unended:
			for !collective(k) {
				k--
			}
			r.unended = k
		case Kernel:
			for k > 0 && !collective(k) {
				k--
			}
			r.stuck = k
		case Other, Size:
			for !collective(k) || len(r.program[k].group.ranks) < 3 {
				if k++; k >= len(r.program) {
					k = 0
				}
			}
			c := &r.program[k]
			if fault == Size {
				c.numel += 8 * len(c.group.ranks)
			} else {
				c.op = map[bool]string{true: "broadcast", false: "all_reduce"}[c.op == "all_reduce"]
			}
			c.wrong = true
			dead[work{c.group, c.seq}] = true
		case Network:
			for !collective(k) {
				k++
			}
			dead[work{ranks[id].program[k].group, ranks[id].program[k].seq}] = true
		}
	}
	return dead
}

// run lets processors and GPUs go on until nothing moves.
func run(ranks []*rank, dead map[work]bool) {
	for moved := true; moved; {
		moved = false
		for _, r := range ranks {
			for r.issued < len(r.program) && (r.halt < 0 || r.issued < r.halt) && r.issued-r.seen < r.ahead {
				r.issued++
				moved = true
			}
		}
		for _, r := range ranks {
			if c, ok := r.head(); ok && ends(ranks, c, dead) {
				for _, id := range members(c) {
					m := ranks[id]
					m.done++
					if m.unended < 0 || m.done <= m.unended {
						m.seen = m.done
					}
				}
				moved = true
			}
		}
	}
}

// acted says that the job came as far as the fault of a rank, so that the dumps can show it: another one may have held it before.
func (r *rank) acted(fault Fault, ranks []*rank, dead map[work]bool) bool {
	switch fault {
	case Processor:
		return r.issued == r.halt && r.done == r.halt
	case Unended: // others of a group have ended a later work of it
		return slices.ContainsFunc(r.program[r.seen:r.issued], func(c call) bool {
			return !c.group.p2p && slices.ContainsFunc(c.group.ranks, func(id int) bool {
				return id != r.id && ranks[id].unended < 0 && slices.ContainsFunc(ranks[id].program[:ranks[id].seen], func(o call) bool { return o.group == c.group && o.seq > c.seq })
			})
		})
	case Kernel:
		return r.done == r.stuck && r.issued > r.stuck
	case Other, Size:
		open := r.program[r.done:r.issued]
		return slices.ContainsFunc(open, func(c call) bool {
			first := slices.IndexFunc(open, func(o call) bool { return o.group == c.group })
			return c.wrong && dead[work{c.group, c.seq}] && open[first].seq == c.seq
		})
	}
	return false
}

// head is the work that a rank's GPU is in: it has begun there.
func (r *rank) head() (call, bool) {
	if r.done >= r.issued || r.stuck >= 0 && r.done >= r.stuck {
		return call{}, false
	}
	return r.program[r.done], true
}

// members are those who take part in a work.
func members(c call) []int {
	if !c.group.p2p {
		return c.group.ranks
	}
	var from, to int
	if c.op == "send" {
		_, _ = fmt.Sscanf(c.to, "send %d->%d", &from, &to)
	} else {
		_, _ = fmt.Sscanf(c.to, "recv %d<-%d", &to, &from)
	}
	return []int{c.group.ranks[from], c.group.ranks[to]}
}

func ends(ranks []*rank, c call, dead map[work]bool) bool {
	if dead[work{c.group, c.seq}] {
		return false
	}
	begun := func(id int) bool {
		h, ok := ranks[id].head()
		return ok && h.group == c.group && h.seq == c.seq
	}
	if g := c.group; !g.p2p && !begun(g.ranks[g.late]) {
		return false
	}
	for i, id := range members(c) {
		if !begun(id) {
			c.group.late = i
			return false
		}
	}
	return true
}
