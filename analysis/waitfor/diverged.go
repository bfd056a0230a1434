package waitfor

import (
	"faultline/analysis/resolve"
)

// diverged finds groups whose members are stuck at different works: a lagging GPU, or calls that do not match.
func (g *Graph) diverged(f *resolve.Facts, stuck []*view) bool {
	var lag, div []*view
	var lagRoot, divRoot []int
	unknown := false
	var lagged []int // by the counters of dumps, over all groups
	for _, v := range stuck {
		if v.P2P || v.Unnamed && !v.Default && !v.Single || len(v.first) < 2 && len(v.Counters) == 0 {
			continue
		}
		var lagging, proven, odd []*resolve.Rank
		differ := false // one that lags is in another operation
		for r, p := range v.first {
			if p.Work.Seq < 0 || v.ahead[r] {
				continue // a torn line, of which nobody knows the work; or one that was let go
			}
			e, eKnown := p.Enqueued()
			open, cKnown := p.FirstOpen()
			behind := v.seq - p.Work.Seq
			if cKnown {
				behind = max(behind, v.seq-open)
			}
			otherOp := p.Work.Op != v.op && p.Work.Op != "" && v.op != ""
			switch {
			case v.passed(r, open, p.Work.Op):
				proven = append(proven, r)
			case p.Work.Seq == v.seq && (otherOp ||
				p.Work.NumelIn != v.size && p.Work.NumelIn > 0 && v.size > 0 && sized(&p.Work) && !v.uneven()):
				odd = append(odd, r)
			case behind >= lagBy && eKnown && e >= v.seq:
				lagging, differ = append(lagging, r), differ || otherOp
			case p.Work.Seq != v.seq && (eKnown && e < v.seq || otherOp || p.Work.Seq > v.seq):
				if abs(behind) >= lagBy {
					odd = append(odd, r)
				}
			}
		}
		// What others have left, a rank that lags has taken part in: no majority is needed within the group.
		if len(proven) < len(v.Counters) {
			for _, r := range proven {
				lagged = append(lagged, r.ID)
			}
		}
		switch {
		case len(odd) > 0:
			div = append(div, v)
			unseen := max(0, v.atLeast(f)-len(v.first)) // they may stand on either side
			if 2*(len(odd)+unseen) < len(v.first)+unseen {
				for _, r := range odd {
					if r.ID == resolve.NoRank {
						unknown = true
					} else {
						divRoot = append(divRoot, r.ID)
					}
				}
			}
		case len(lagging) > 0 && 2*len(lagging) < max(len(v.first), 2):
			lag = append(lag, v)
			for _, r := range lagging {
				if r.ID == resolve.NoRank {
					unknown = true
				} else {
					lagRoot = append(lagRoot, r.ID)
				}
			}
		case differ && len(v.first) == v.Size:
			// No majority says which side is the usual one; that nobody completes what another member has not begun says that they do not match.
			div = append(div, v)
		}
	}
	if lagged = unique(lagged); len(lagged) > 0 && 2*len(lagged) < recorded(f) {
		g.Shape, g.Root = Lag, lagged
		for _, v := range stuck {
			for _, id := range lagged {
				if v.byID[id] != nil && !v.P2P {
					lag = append(lag, v)
					break
				}
			}
		}
		g.Groups = groups(lag)
		return true
	}
	switch {
	case len(div) > 0:
		g.Shape, g.Root, g.RankUnknown = Diverged, unique(divRoot), unknown
		g.Groups = groups(div)
	case len(lag) > 0:
		g.Shape, g.Root, g.RankUnknown = Lag, unique(lagRoot), unknown
		g.Groups = groups(lag)
	default:
		return false
	}
	return true
}

// uneven says that parts of different sizes may be what an all-gather was called with: a list of tensors is gathered as well where they
// differ. All expect the same whole, and the parts add up to it, or could.
func (v *view) uneven() bool {
	if v.op != "ALLGATHER" {
		return false
	}
	whole, parts := int64(-1), int64(0)
	for _, p := range v.first {
		if p.Work.Seq != v.seq || p.Work.Op != v.op || p.Work.NumelIn < 0 || p.Work.NumelOut <= 0 || whole >= 0 && p.Work.NumelOut != whole {
			return false
		}
		whole, parts = p.Work.NumelOut, parts+p.Work.NumelIn
	}
	if len(v.first) == v.Size {
		return parts == whole
	}
	return parts <= whole && (v.size == 0 || whole%v.size != 0)
}

// batched says that all that wait in a group of senders and receivers do so in a batch of the same number: batch_isend_irecv makes one work of
// what each sends and receives, so their counters run together.
func (v *view) batched() bool {
	for _, p := range v.first {
		if p.Work.Op != "COALESCED" || p.Work.Seq != v.seq {
			return false
		}
	}
	return true
}

// unstarted finds the few ranks on whose GPU the work that all are in has not begun, where on the others it has: an earlier kernel
// does not end there. It must be the first work that the rank has open in any group: else it may wait for that.
func (g *Graph) unstarted(full []*view) {
	first := map[int]int64{}
	for _, v := range g.views {
		for id, p := range v.byID {
			if o, seen := first[id]; !seen || p.Order < o {
				first[id] = p.Order
			}
		}
	}
	var roots []int
	var where []*view
	for _, v := range full {
		began, same := 0, true
		var not []int
		for id, p := range v.byID {
			switch {
			case p.Work.Seq != v.seq || p.Phase == "":
				same = false
			case p.Phase == "started":
				began++
			case p.Order != first[id]:
				same = false
			default:
				not = append(not, id)
			}
		}
		if same && len(not) > 0 && 2*len(not) < began+len(not) && began+len(not) == v.Size {
			roots, where = append(roots, not...), append(where, v)
		}
	}
	if len(where) > 0 {
		g.Shape, g.Root, g.Unstarted, g.Groups = Lag, unique(roots), true, groups(where)
	}
}

// recorded is how many ranks' dumps are at hand.
func recorded(f *resolve.Facts) int {
	n := 0
	for _, r := range f.Ranks {
		if r.Recorded != nil {
			n++
		}
	}
	return n
}

// passed says that by the counters of dumps another member has completed a work that this one has not, and that nobody
// completes without all: so this one had entered it, and its GPU did not come to its end.
//
// Dumps of a hang are taken at different moments, and the last work may have ended in between: it takes lagBy works.
func (v *view) passed(r *resolve.Rank, open int64, op string) bool {
	if len(v.Counters) == 0 || open < 0 || rootedOps[op] || op == "" || v.Counters[r.ID] == nil || v.Counters[r.ID].Enqueued < open {
		return false
	}
	most := v.completed
	if v.furthest == r.ID {
		most = v.completed2
	}
	return most >= open+lagBy-1
}

// full finds groups all of whose members are in flight in the same work: nobody outside holds them. That alone proves
// nothing while any rank of the job is free or unseen: work that is enqueued behind another group's stuck work on the
// same GPU is in flight too. So it takes the whole world, waiting.
func (g *Graph) full(f *resolve.Facts, stuck []*view) bool {
	world := f.Job.WorldSize
	if world == 0 {
		return false
	}
	inFlight := map[int]bool{}
	for _, id := range g.Waiters {
		inFlight[id] = true
	}
	for _, v := range stuck {
		if !v.Default {
			continue
		}
		for _, r := range f.Ranks {
			if r.Dump != nil && r.Dump.Enqueued >= v.seq && r.Dump.Completed < v.seq {
				inFlight[r.ID] = true
			}
		}
	}
	if len(inFlight)+g.Anonymous < world {
		return false
	}
	var full []*view
	for _, v := range stuck {
		if v.P2P && !v.batched() || v.Size < 2 {
			continue
		}
		n := 0
		for _, p := range v.first {
			if p.Work.Seq == v.seq || abs(v.seq-p.Work.Seq) < lagBy || p.Work.Seq > v.seq && len(v.ahead) > 0 {
				n++
			}
		}
		// A member told by another may be in flight without having reported it: its counters say so.
		if v.Default {
			for _, r := range f.Ranks {
				if v.pending(r.ID) == nil && r.Dump != nil && r.Dump.Enqueued >= v.seq && r.Dump.Completed < v.seq {
					n++
				}
			}
		}
		if n >= v.Size {
			full = append(full, v)
		}
	}
	if len(full) == 0 {
		return false
	}
	g.Shape, g.Groups = Full, groups(full)
	g.unstarted(full)
	return true
}
