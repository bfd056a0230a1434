package mechanism

import (
	"cmp"
	"fmt"
	"slices"

	"faultline/analysis/artifact/gpustate"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// slowedGPU is one GPU that runs below what its work asks for, while others of the job do not.
type slowedGPU struct {
	node, name, why, component string
	rank                       int
	several                    bool // name stands for more than one
	evidence                   incident.Evidence
}

// is says that it is slowed down.
func (g *slowedGPU) is() string {
	if g.several {
		return g.name + " are slowed down (" + g.why + ")"
	}
	return g.name + " is slowed down (" + g.why + ")"
}

// slowReasons are the states in which a GPU runs below what its work asks for.
var slowReasons = []gpustate.Key{gpustate.SlowHeat, gpustate.SlowPower, gpustate.SlowHW, gpustate.SlowSoft}

// lowest are what a GPU has less of than its peers where it is slowed down without a reason given: by their share of the peers' median.
var lowest = []struct {
	key   gpustate.Key
	share float64
}{{gpustate.Clock, 0.8}, {gpustate.Limit, 0.85}}

// seenGPU is a GPU of one of the job's nodes.
type seenGPU struct {
	state *resolve.GPUState
	place int
}

func (g *seenGPU) of(k gpustate.Key) *gpustate.Value { return g.state.State.GPUs[g.place].Of(k) }

// oneSlowed is the one GPU of the job's nodes that is slowed down; nil where there is none, more than one, or nothing to compare with.
func oneSlowed(f *resolve.Facts) *slowedGPU {
	var all []seenGPU
	for _, s := range f.GPUStates {
		if s.Node == "" || f.Foreign(s.Node) {
			continue
		}
		for i := range s.State.GPUs {
			all = append(all, seenGPU{s, i})
		}
	}
	var found *slowedGPU
	for i := range all {
		x := all[i].slowed(all)
		switch {
		case x == nil:
		case found == nil:
			found = x
		case x.node != found.node:
			return nil
		default: // several of one node
			found.name, found.component, found.rank, found.several = "several GPUs on "+x.node, "", resolve.NoRank, true
		}
	}
	return found
}

// slowed says how a GPU is slowed down, nil where it is not or no other GPU is known in that respect.
func (g *seenGPU) slowed(all []seenGPU) *slowedGPU {
	for _, k := range slowReasons {
		if v := g.of(k); v != nil && v.N > 0 && len(peers(all, k)) > 1 {
			return g.as(string(k), v)
		}
	}
	for _, l := range lowest {
		v, others := g.of(l.key), peers(all, l.key)
		if v == nil || len(others) < 4 || idle(g) {
			continue
		}
		if middle := others[(len(others)-1)/2]; v.N > 0 && float64(v.N) < l.share*float64(middle) {
			return g.as(fmt.Sprintf("%s: %d; the median of %d GPUs is %d", l.key, v.N, len(others), middle), v)
		}
	}
	return nil
}

// idle says that a GPU does next to nothing: its clock is low for that.
func idle(g *seenGPU) bool {
	const busy = 50
	v := g.of(gpustate.Busy)
	return v != nil && v.N < busy
}

// peers are the values of all GPUs that state one and work, ascending.
func peers(all []seenGPU, k gpustate.Key) []int64 {
	var out []int64
	for i := range all {
		if v := all[i].of(k); v != nil && !idle(&all[i]) {
			out = append(out, v.N)
		}
	}
	slices.Sort(out)
	return out
}

func (g *seenGPU) as(why string, v *gpustate.Value) *slowedGPU {
	s, d := g.state, &g.state.State.GPUs[g.place]
	x := &slowedGPU{node: s.Node, rank: s.Ranks[g.place], why: why, name: fmt.Sprintf("GPU %s on %s", cmp.Or(d.PCI, fmt.Sprint(d.Index)), s.Node), evidence: QuoteAt(s.At(v.Place), nil)}
	if d.PCI != "" {
		x.component = "gpu:" + d.PCI
	}
	return x
}
