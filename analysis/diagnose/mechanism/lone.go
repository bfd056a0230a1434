package mechanism

import (
	"fmt"

	"faultline/analysis/waitfor"
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
		return p
	}
	return nil
}
