package mechanism

import (
	"fmt"

	"faultline/analysis/waitfor"
)

func gpuHang(s *Scene) *Proposal {
	g, f := s.Graph, s.Facts
	if p := fromFailures(s, "gpu-hang"); p != nil {
		return p
	}
	if g.Shape != waitfor.Lag {
		return nil
	}
	p := collective(s, "gpu-hang")
	p.Ranks, p.Nodes, p.Scope = g.Root, nodesOf(f, g.Root), scopeOf(f, g.Root)
	p.Base = 0.93
	p.Summary = fmt.Sprintf("the GPU of %s stopped finishing work while its process kept issuing it", where(f, g.Root))
	if len(g.Root) == 0 {
		p.Summary = "a GPU stopped finishing work while its process kept issuing it"
	}
	p.Why = "its first uncompleted collective is well behind its group's although it issued as many as the others"
	for _, gr := range g.Groups {
		p.For = append(p.For, mismatchFinding(gr))
	}
	return p
}

func collectiveHang(s *Scene) *Proposal {
	g := s.Graph
	if g.Shape != waitfor.Full && !(g.Shape == waitfor.Unseen && rasAgrees(s.Facts)) {
		return nil
	}
	p := collective(s, "collective-hang")
	p.Rivals = []string{"gpu-hang"}
	p.Base = 0.94
	p.Summary = fmt.Sprintf("every rank of %s entered %s and none came out", groupList(g.Groups), stuckIn(s, g.Groups[0]))
	p.Why = "all members are in flight in the same work, none lags: the network, NCCL or one GPU hangs, and counters cannot say which"
	if g.IsAhead {
		p.Rivals = append(p.Rivals, "collective-mismatch")
		p.Base = 0.9
		p.Summary = fmt.Sprintf("every rank of %s waits, some of them further on than the others", groupList(g.Groups))
		p.Why = "the others wait in an operation that its sender leaves early, so that being ahead alone proves no mismatch"
	}
	for i, gr := range g.Groups {
		if i == 3 {
			break
		}
		p.For = append(p.For, waitersFinding(s, gr, nil))
	}
	if len(g.Downstream) > 0 {
		p.Led = append(p.Led, finding(fmt.Sprintf("%s hang because their members wait there", plural(len(g.Downstream), "other group", "other groups")), pendingIn(g.Downstream)...))
	}
	return p
}
