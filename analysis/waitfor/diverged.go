package waitfor

import (
	"faultline/analysis/resolve"
)

// diverged finds groups whose members are stuck at different works: a lagging GPU, or calls that do not match.
func (g *Graph) diverged(f *resolve.Facts, stuck []*view) bool {
	var lag, div []*view
	var lagRoot, divRoot []int
	unknown := false
	for _, v := range stuck {
		if v.P2P || v.Unnamed && !v.Default || len(v.first) < 2 {
			continue
		}
		var lagging, odd []*resolve.Rank
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
			case p.Work.Seq == v.seq && (otherOp ||
				p.Work.NumelIn != v.size && p.Work.NumelIn > 0 && v.size > 0 && equalSizes[p.Work.Op]):
				odd = append(odd, r)
			case behind >= lagBy && eKnown && e >= v.seq:
				lagging = append(lagging, r)
			case p.Work.Seq != v.seq && (eKnown && e < v.seq || otherOp || p.Work.Seq > v.seq):
				if abs(behind) >= lagBy || otherOp {
					odd = append(odd, r)
				}
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
		}
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
		if v.P2P || v.Size == 0 || v.Size < 2 {
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
	return true
}
