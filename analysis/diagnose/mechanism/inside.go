package mechanism

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/incident"
	"faultline/knowledge"
)

func gpuHang(s *Scene) *Proposal {
	g, f := s.Graph, s.Facts
	if p := sharing(fromFailures(s, knowledge.GPUHang)); p != nil {
		if hosts := namedHosts(f, knowledge.IDMegascaleHost); len(hosts) > 0 {
			p.Nodes, p.Scope = hosts, "node"
		}
		if k := p.kernel(); k != nil {
			p.Explains = []knowledge.Slug{knowledge.CUDAError, knowledge.Exception, knowledge.NativeCrash}
			return p.told(k, alone(s))
		}
		return p
	}
	if g.Shape != waitfor.Lag {
		return nil
	}
	p := collective(s, knowledge.GPUHang)
	p.Ranks, p.Nodes, p.Scope = g.Root, nodesOf(f, g.Root), scopeOf(f, g.Root)
	p.Base = 0.93
	p.Summary = fmt.Sprintf("the GPU of %s stopped making progress while its process kept issuing work", where(f, g.Root))
	if len(g.Root) == 0 {
		p.Summary = "a GPU stopped making progress while its process kept issuing work"
	}
	p.Why = "its first uncompleted collective is well behind its group's, although it issued as many as the other ranks"
	if g.Unstarted {
		p.Base = 0.9
		p.Why = "every rank entered the same collective; the other GPUs started it but this one didn't: an earlier kernel there has not finished"
		for _, gr := range g.Groups {
			p.For = append(p.For, unstartedFinding(s, gr))
		}
		return p
	}
	if recorded := passedFindings(s); len(recorded) > 0 {
		p.Why = "according to the flight recorders, other ranks completed collectives that need it, and it did not"
		p.For = recorded
		return p
	}
	for _, gr := range g.Groups {
		p.For = append(p.For, mismatchFinding(s.Facts, gr))
	}
	return p
}

// unnamedCall says that it is not known of all members of a group that they called the same: no line names the operation of one, or they
// name different ones without a number.
func unnamedCall(g *resolve.Group) bool {
	return slices.ContainsFunc(g.Pending, func(p *resolve.Pending) bool {
		return p.Work.Op == "" || p.Work.Seq < 0 && p.Work.Op != g.Pending[0].Work.Op
	})
}

// namedHosts are the hosts that lines of a signature name.
func namedHosts(f *resolve.Facts, sign knowledge.ID) []string {
	set := map[string]bool{}
	for i := range f.Obs.Signs {
		if v := &f.Obs.Signs[i]; v.ID == sign {
			for h := range strings.SplitSeq(f.Known.Fields(v.ID, []byte(v.Text))["hosts"], ",") {
				if h = resolve.ShortHost(strings.TrimSpace(h)); h != "" {
					set[h] = true
				}
			}
		}
	}
	return keysOf(set)
}

// unstartedFinding says whose GPU has not begun what the others of a group have.
func unstartedFinding(s *Scene, gr *resolve.Group) incident.Finding {
	var ranks []int
	var not, begun []incident.Evidence
	for _, p := range gr.Pending {
		switch {
		case p.Phase == "started" && len(begun) == 0:
			begun = append(begun, recordEvidence(p.Record))
		case p.Phase == "scheduled":
			ranks, not = append(ranks, p.Rank.ID), append(not, recordEvidence(p.Record))
		}
	}
	return finding(fmt.Sprintf("%s in %s was scheduled but not started on %s's GPU, and started on the others", stuckIn(s, gr), groupName(gr), rankWords(ranks)), append(not[:min(len(not), 3)], begun...)...)
}

// passedFindings says by the dumps what each root has not completed and another member of the same group has.
func passedFindings(s *Scene) []incident.Finding {
	var out []incident.Finding
	for _, id := range s.Graph.Root {
		n := 0
		for _, gr := range s.Graph.Groups {
			own, peer, most := s.Graph.Of(gr, id), -1, int64(-1)
			if own == nil || own.Record == nil || gr.Counters[id] == nil {
				continue
			}
			for _, m := range gr.Members {
				if c := gr.Counters[m]; c != nil && m != id && c.Completed > most {
					peer, most = m, c.Completed
				}
			}
			if most < own.Work.Seq {
				continue
			}
			out = append(out, finding(fmt.Sprintf("%s has not completed %s #%d in %s, which needs it; rank %d completed it and got to #%d",
				own.Rank.Describe(), own.Work.Op, own.Work.Seq, groupName(gr), peer, most), recordEvidence(own.Record), recordEvidence(gr.Counters[peer].Record)))
			if n++; n == 2 {
				break
			}
		}
	}
	return out
}

func collectiveHang(s *Scene) *Proposal {
	g := s.Graph
	level := g.Shape == waitfor.Unseen && ncclLevel(s)
	if g.Shape != waitfor.Full && !level && !(g.Shape == waitfor.Unseen && rasAgrees(s.Facts)) || ncclDiffer(s) != nil || heldByEvidence(s) {
		return nil
	}
	p := collective(s, knowledge.CollectiveHang)
	p.Rivals = []knowledge.Slug{knowledge.GPUHang}
	p.Base = 0.94
	p.Summary = fmt.Sprintf("every rank in %s entered %s; none completed it", groupList(g.Groups), stuckInAll(s, g.Groups))
	p.Why = "all members are in the same operation and none lags: the network, NCCL or one GPU is hung; counters can't tell which"
	if g.IsAhead {
		p.Rivals = append(p.Rivals, knowledge.CollectiveMismatch)
		p.Base = 0.9
		p.Summary = fmt.Sprintf("every rank in %s is waiting, some ahead of the rest", groupList(g.Groups))
		p.Why = "the rest are waiting in an operation that its sender leaves early, so being ahead doesn't prove a mismatch"
	}
	if !g.IsAhead && slices.ContainsFunc(g.Groups, g.Scattered) {
		p.Rivals = append(p.Rivals, knowledge.CollectiveMismatch)
		p.Base = 0.9
		p.Summary = fmt.Sprintf("every rank in %s is waiting, some one operation ahead of the rest", groupList(g.Groups))
		p.Why = "the counters don't show why some ranks left an operation that others are still in: the network, NCCL or a GPU is hung, or they called one more or fewer"
	}
	if !slices.Contains(p.Rivals, knowledge.CollectiveMismatch) && slices.ContainsFunc(g.Groups, unnamedCall) {
		p.Rivals = append(p.Rivals, knowledge.CollectiveMismatch)
		p.Base = 0.9
		p.Why = "all members are in flight; for some, no line shows the operation or its number"
	}
	if g.Shape == waitfor.Unseen {
		p.Frontier = nil // nobody stayed away: it is not one of those who were not seen
	}
	if level {
		p.Why = "according to NCCL's own logs, every rank called the same operations, so none was missing: the network, NCCL or one GPU is hung; counters can't tell which"
		p.For = append(p.For, levelFinding(s))
	}
	for i, gr := range g.Groups {
		if i == 3 {
			break
		}
		p.For = append(p.For, waitersFinding(s, gr, nil))
	}
	if x := neverWorked(g.Groups); x != nil {
		p.Suspects = append(p.Suspects, *x)
	}
	if len(g.Downstream) > 0 {
		p.Led = append(p.Led, finding(fmt.Sprintf("%s hang because their members are waiting there", plural(len(g.Downstream), "other group", "other groups")), pendingIn(g.Downstream)...))
	}
	return p
}
