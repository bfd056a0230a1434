// Package nccl plays jobs on several nodes and writes what NCCL says of them: with NCCL_DEBUG=INFO into files of its own or into the logs
// of the nodes, and what its RAS answers. Every rank has a processor that calls collectives, and waits at some of them for its GPU; a
// collective ends once all its members have called it. What the logs hold is what that leads to, whoever reads them. The wordings are
// those of NCCL 2.10 to 2.28 (src/init.cc, enqueue.cc, transport/net_ib.cc, misc/socket.cc, ras/client_support.cc).
package nccl

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Fault is what goes wrong.
type Fault string

// Faults.
const (
	Stall    Fault = "stall"    // a rank calls nothing any more
	Hang     Fault = "hang"     // everybody has called the same, and it does not end
	Mismatch Fault = "mismatch" // a rank calls another operation, or another size
	Link     Fault = "link"     // transfers between two nodes fail; no line says at which end
	Port     Fault = "port"     // the adapter of a node reports an event of its own
	Healthy  Fault = "healthy"  // the job ends as it should
	Busy     Fault = "busy"     // the logs were copied while the job worked
)

// Faults are all of them.
func Faults() []Fault { return []Fault{Stall, Hang, Mismatch, Link, Port, Healthy, Busy} }

// Spec is one job. The same one always gives the same bytes.
type Spec struct {
	Seed           uint64
	Fault          Fault
	Nodes, PerNode int
	Tensor         bool // the ranks of a node are a group of their own as well
	Waits          bool // processors wait within that group too, so that the peers of a rank that stalls come no further
	Version        string
	Inline         bool // NCCL speaks in the logs of the nodes
	// Silent: the processes were killed, and no line of NCCL stands behind their last calls.
	Silent bool
	// Short is how many logs of ranks that are not at fault end early, at the end of a line; Torn says that they end within one.
	Short int
	Torn  bool
	// Watchdog: one rank's watchdog reports; else the job hangs until its time limit.
	Watchdog bool
}

// Truth is what was played.
type Truth struct {
	Ranks []int    // at fault
	Nodes []string // at fault
	Pair  []string // between which transfers failed
}

// Incident is a played job.
type Incident struct {
	World int
	Logs  map[string][]byte // of the job, by name
	Files map[string][]byte // NCCL's own
	Truth Truth
}

// call is one collective in the program of a rank.
type call struct {
	op    string
	count int
	dtype int
	comm  *comm
	waits bool
}

type comm struct {
	id    uint64
	ranks []int
	split bool
}

type rank struct {
	id, local, pid int
	host, ip       string
	program        []call
	called         int // calls that were made
	halt           int // it makes no more than these; −1 unlimited
	proxies        bool
	ptr            map[*comm]string
	short          int // so many lines of its log are missing at the end
}

// newer says that a version counts only launches that its proxies have work of.
func (s *Spec) newer() bool { return !before(s.Version, "2.20") }

// Play plays a job.
func Play(spec Spec) (*Incident, error) {
	world := spec.Nodes * spec.PerNode
	if spec.Nodes < 2 || spec.PerNode < 1 || world > 1024 {
		return nil, fmt.Errorf("nccl: %d nodes of %d ranks", spec.Nodes, spec.PerNode)
	}
	rng := rand.New(rand.NewPCG(spec.Seed, 0xcc1))
	all := &comm{id: rng.Uint64() >> 1}
	ranks := make([]*rank, world)
	tensor := make([]*comm, spec.Nodes)
	for id := range ranks {
		node := id / spec.PerNode
		r := &rank{id: id, local: id % spec.PerNode, pid: 20000 + 37*id + rng.IntN(30), host: fmt.Sprintf("gpu%02d", node+1), ip: fmt.Sprintf("10.4.0.%d", node+11), halt: -1, ptr: map[*comm]string{}}
		r.proxies = r.local == 0 || r.local == spec.PerNode-1
		ranks[id] = r
		all.ranks = append(all.ranks, id)
		if tensor[node] == nil {
			tensor[node] = &comm{id: rng.Uint64() >> 1, split: !before(spec.Version, "2.18") && rng.IntN(2) == 0}
		}
		tensor[node].ranks = append(tensor[node].ranks, id)
		r.ptr[all] = fmt.Sprintf("0x55%010x", rng.Uint64()&0xffffffffff)
		r.ptr[tensor[node]] = fmt.Sprintf("0x55%010x", rng.Uint64()&0xffffffffff)
	}
	steps := 5 + rng.IntN(6)
	for _, r := range ranks {
		tp := tensor[r.id/spec.PerNode]
		for range steps {
			if spec.Tensor && spec.PerNode > 1 {
				r.program = append(r.program, call{"AllGather", 8192, 9, tp, false}, call{"ReduceScatter", 8192, 9, tp, spec.Waits}, call{"AllReduce", 4096, 9, tp, spec.Waits})
			}
			r.program = append(r.program, call{"AllReduce", 1 << 20, 9, all, false}, call{"AllReduce", 1<<19 + 7, 9, all, false}, call{"AllReduce", 1, 7, all, true})
		}
	}
	inc := &Incident{World: world, Logs: map[string][]byte{}, Files: map[string][]byte{}}
	culprit := ranks[rng.IntN(world)]
	at := len(culprit.program)/2 + rng.IntN(len(culprit.program)/3)
	stuck := -1 // in every program, the call that does not end
	switch spec.Fault {
	case Stall:
		culprit.halt = at
		inc.Truth = Truth{Ranks: []int{culprit.id}, Nodes: []string{culprit.host}}
	case Hang:
		for culprit.program[at].comm != all {
			at++
		}
		stuck = at
	case Mismatch:
		for culprit.program[at].comm != all {
			at++
		}
		c := &culprit.program[at]
		if rng.IntN(2) == 0 {
			c.op = "Broadcast"
		} else {
			c.count += 1024
		}
		stuck = at
		inc.Truth = Truth{Ranks: []int{culprit.id}, Nodes: []string{culprit.host}}
	case Link:
		stuck = at
		other := ranks[(culprit.id+spec.PerNode)%world]
		inc.Truth.Pair = []string{culprit.host, other.host}
	case Port:
		stuck = at
		inc.Truth.Nodes = []string{culprit.host}
	}
	run(ranks, stuck)
	if spec.Fault == Busy {
		for _, r := range ranks { // each log is copied at its own moment
			r.called -= rng.IntN(7)
		}
	}
	for _, id := range rng.Perm(world)[:min(spec.Short, world/3)] {
		tells := spec.Fault == Link || spec.Fault == Port // the ends of the link tell it
		if !slices.Contains(inc.Truth.Ranks, id) && !(tells && (id == culprit.id || id == (culprit.id+spec.PerNode)%world)) {
			ranks[id].short = 1 + rng.IntN(3)
		}
	}
	w := writer{spec: spec, rng: rng, inc: inc, ranks: ranks, all: all, tensor: tensor, culprit: culprit}
	w.nccl()
	w.logs()
	return inc, nil
}

// run lets the processors call until nothing moves.
func run(ranks []*rank, stuck int) {
	for moved := true; moved; {
		moved = false
		for _, r := range ranks {
			for r.called < len(r.program) && (r.halt < 0 || r.called < r.halt) {
				if r.called > 0 {
					if last := r.program[r.called-1]; (last.waits || stuck >= 0 && r.called > stuck) && !ended(ranks, r, stuck) {
						break
					}
				}
				r.called++
				moved = true
			}
		}
	}
}

// ended says that what a rank called last has ended on its GPU, and so everything before it.
func ended(ranks []*rank, r *rank, stuck int) bool {
	i := r.called - 1
	if stuck >= 0 && i >= stuck {
		// It waits for its GPU at the next point at which it does.
		return !r.program[i].waits
	}
	for k := 0; k <= i; k++ {
		c := r.program[k].comm
		n := 0
		for _, x := range r.program[:k+1] {
			if x.comm == c {
				n++
			}
		}
		for _, id := range c.ranks {
			m := 0
			for _, x := range ranks[id].program[:ranks[id].called] {
				if x.comm == c {
					m++
				}
			}
			if m < n {
				return false
			}
		}
	}
	return true
}

func before(a, b string) bool {
	var ax, ay, bx, by int
	_, _ = fmt.Sscanf(a, "%d.%d", &ax, &ay)
	_, _ = fmt.Sscanf(b, "%d.%d", &bx, &by)
	return ax < bx || ax == bx && ay < by
}
