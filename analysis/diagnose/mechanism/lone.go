package mechanism

import (
	"fmt"
	"slices"

	"faultline/analysis/waitfor"
	"faultline/incident"
	"faultline/knowledge"
)

func loneWaiter(s *Scene) *Proposal {
	g, f := s.Graph, s.Facts
	switch g.Shape {
	case waitfor.Lone:
		p := collective(s, knowledge.LoneWaiter)
		p.Ranks, p.Nodes, p.Scope = g.Root, nodesOf(f, g.Root), "rank"
		p.Base = 0.93
		p.Summary = fmt.Sprintf("%s waited alone in a collective that no other rank was going to enter", where(f, g.Root))
		p.Why = fmt.Sprintf("%s had nothing in flight in the same group; only %s did", plural(len(g.Free), "rank", "ranks"), rankWords(g.Root))
		for _, gr := range g.Groups {
			p.For = append(p.For, waitersFinding(s, gr, nil))
		}
		for i, id := range g.Free {
			if i == 3 {
				break
			}
			p.Led = append(p.Led, stragglerFinding(s, id)) // the others speak for it and are no cause
		}
		return p
	case waitfor.Told:
		if !g.AllIdle() || heldByEvidence(s) || ncclDiffer(s) != nil {
			return nil
		}
		p := collective(s, knowledge.LoneWaiter)
		p.Rivals = []knowledge.Slug{knowledge.CollectiveMismatch}
		p.Base = 0.8
		p.Summary = "some rank timed out in a collective; every rank seen had nothing in flight"
		p.Why = fmt.Sprintf("%s were notified by %s, which left no lines of its own here", plural(len(g.Free), "rank", "ranks"), rankWords(g.Waiters))
		for i, id := range g.Free {
			if i == 3 {
				break
			}
			p.For = append(p.For, stragglerFinding(s, id))
		}
		p.Needs = append(p.Needs, needFiles)
		p.misheard(s)
		return p
	}
	return nil
}

// misheard leaves open what a rank said that timed out first, where its lines are at hand and none that is understood tells of the timeout.
func (p *Proposal) misheard(s *Scene) {
	f, who := s.Facts, s.Graph.Waiters
	cut := func(id int) bool {
		switch r := f.Rank(id); {
		case r == nil, r.Lines == 0:
			return true
		}
		return f.Coverage.CutRanks[id]
	}
	if len(who) == 0 || slices.ContainsFunc(who, cut) {
		return
	}
	p.Rivals = append(p.Rivals, knowledge.Unknown)
	p.Needs = slices.DeleteFunc(p.Needs, func(n incident.Need) bool { return n.What == needFiles.What })
	p.Summary = fmt.Sprintf("%s timed out in a collective and notified the others; none of its own lines shows which collective", rankWords(who))
	p.Why = "its log is here, but its timeout report is in an unknown format"
}
