package waitfor

import (
	"slices"

	"faultline/analysis/resolve"
)

// apart is groups whose members are stuck at different works, and the few that are not where the others are.
type apart struct {
	groups []*view
	ranks  []*resolve.Rank
}

func (a *apart) add(v *view, ranks []*resolve.Rank) {
	a.groups, a.ranks = append(a.groups, v), append(a.ranks, ranks...)
}

// diverged finds groups whose members are stuck at different works: a lagging GPU, or calls that do not match.
func (g *Graph) diverged(f *resolve.Facts, stuck []*view) bool {
	var lag, div apart
	var passed []*resolve.Rank
	for _, v := range stuck {
		if !v.comparable() {
			continue
		}
		in := v.compare()
		// What others have left, a rank that lags has taken part in: no majority is needed within the group.
		if len(in[hasPassed]) < len(v.Counters) {
			passed = append(passed, in[hasPassed]...)
		}
		odd, lagging := in[isOdd], slices.Concat(in[isLagging], in[isLaggingElsewhere])
		switch {
		case len(odd) > 0:
			unseen := max(0, v.atLeast(f)-len(v.first)) // they may be on either side
			if 2*(len(odd)+unseen) >= len(v.first)+unseen {
				odd = nil
			}
			div.add(v, odd)
		case len(lagging) > 0 && 2*len(lagging) < max(len(v.first), 2):
			lag.add(v, lagging)
		case len(in[isLaggingElsewhere]) > 0 && len(v.first) == v.Size:
			// No majority says which side is the usual one; that nobody completes what another member has not begun says that they do not match.
			div.add(v, nil)
		}
	}
	if lagged := named(passed); len(lagged) > 0 && 2*len(lagged) < recorded(f) {
		for _, v := range stuck {
			if !v.P2P && slices.ContainsFunc(lagged, func(id int) bool { return v.byID[id] != nil }) {
				lag.groups = append(lag.groups, v)
			}
		}
		g.Shape, g.Root, g.Groups = Lag, lagged, groups(lag.groups)
		return true
	}
	switch {
	case len(div.groups) > 0:
		g.Root = named(div.ranks)
		g.Shape, g.Groups = Diverged, groups(div.groups)
	case len(lag.groups) > 0:
		g.Root = named(lag.ranks)
		g.Shape, g.Groups = Lag, groups(lag.groups)
	default:
		return false
	}
	return true
}

// named are the global ranks of processes; anonymous where one is not known.
func named(ranks []*resolve.Rank) (ids []int) {
	for _, r := range ranks {
		if r.ID != resolve.NoRank {
			ids = append(ids, r.ID)
		}
	}
	return unique(ids)
}

// comparable says that the members of a group count the same works: senders and receivers do not, and a group without a name may be several.
func (v *view) comparable() bool {
	return !v.P2P && !v.nameless() && (len(v.first) > 1 || len(v.Counters) > 0)
}

// nameless says that what is read as one group may be several.
func (v *view) nameless() bool { return v.Unnamed && !v.Default && !v.Single }

// stance is where a member is, measured by what its group is stuck in.
type stance int

const (
	isThere            stance = iota
	hasPassed                 // another member completed what this one has entered and has not
	isOdd                     // it called something else, or not as often
	isLagging                 // it has called what the others are in, and an earlier work is still open
	isLaggingElsewhere        // and that is another operation
)

// compare sorts the members by their stance. A torn line, whose work nobody knows, and a member that was let go take none.
func (v *view) compare() map[stance][]*resolve.Rank {
	out := map[stance][]*resolve.Rank{}
	for r, p := range v.first {
		if p.Work.Seq >= 0 && !v.ahead[r] {
			s := v.stance(r, p)
			out[s] = append(out[s], r)
		}
	}
	return out
}

func (v *view) stance(r *resolve.Rank, p *resolve.Pending) stance {
	enqueued, eKnown := p.Enqueued()
	open, cKnown := p.FirstOpen()
	behind := v.seq - p.Work.Seq
	if cKnown {
		behind = max(behind, v.seq-open)
	}
	otherOp := p.Work.Op != v.op && p.Work.Op != "" && v.op != ""
	otherCount := p.Work.Seq > v.seq || eKnown && enqueued < v.seq
	switch {
	case v.passed(r, open, p.Work.Op):
		return hasPassed
	case p.Work.Seq == v.seq && (otherOp || v.otherSize(p)):
		return isOdd
	case abs(behind) < lagBy:
		return isThere
	case behind > 0 && eKnown && enqueued >= v.seq && otherOp:
		return isLaggingElsewhere
	case behind > 0 && eKnown && enqueued >= v.seq:
		return isLagging
	case p.Work.Seq != v.seq && (otherOp || otherCount):
		return isOdd
	}
	return isThere
}

// otherSize says that a member called the operation with a size that does not match.
func (v *view) otherSize(p *resolve.Pending) bool {
	stated := p.Work.NumelIn > 0 && v.size > 0
	return stated && p.Work.NumelIn != v.size && sized(&p.Work) && !v.uneven()
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
	inFlight := map[int]bool{}
	for _, id := range g.Waiters {
		inFlight[id] = true
	}
	var full []*view
	for _, v := range stuck {
		// A member told by another may be in flight without having reported it: its counters say so.
		counted := v.inFlight(f)
		for _, id := range counted {
			inFlight[id] = true
		}
		if v.P2P && !v.batched() || v.Size < 2 {
			continue
		}
		n := len(counted)
		for _, p := range v.first {
			if p.Work.Seq == v.seq || abs(v.seq-p.Work.Seq) < lagBy || p.Work.Seq > v.seq && len(v.ahead) > 0 {
				n++
			}
		}
		if n >= v.Size {
			full = append(full, v)
		}
	}
	everybody := f.Job.WorldSize > 0 && len(inFlight)+g.Anonymous >= f.Job.WorldSize
	if !everybody || len(full) == 0 {
		return false
	}
	g.Shape, g.Groups = Full, groups(full)
	g.unstarted(full)
	return true
}

// inFlight are the ranks that report no wait in the default group and have, by their counters, entered its stuck work and not completed it.
func (v *view) inFlight(f *resolve.Facts) (ids []int) {
	if !v.Default {
		return nil
	}
	for _, r := range f.Ranks {
		if v.pending(r.ID) == nil && r.Dump != nil && r.Dump.Enqueued >= v.seq && r.Dump.Completed < v.seq {
			ids = append(ids, r.ID)
		}
	}
	return ids
}
