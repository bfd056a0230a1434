package mechanism

import (
	"fmt"
	"slices"

	"faultline/analysis/cost"
	"faultline/analysis/resolve"
	"faultline/analysis/slow"
	"faultline/knowledge"
)

// lateAllAlong: a few processes take longer than the rest from the first step on, and the rest wait for them just as long.
func lateAllAlong(sc *Scene) *Proposal {
	f := sc.Facts
	if _, changed := worstSlowdown(f); changed || f.Job.PP > 1 {
		return nil // stages of a pipeline differ for good
	}
	l, ok := f.LateAlways()
	if !ok || slow.ClassOf(l.Phase) == slow.Data || 2*len(l.Voices) >= len(l.Waiters) {
		return nil
	}
	v := &l.Voices[0]
	p := &Proposal{Mechanism: knowledge.SlowRank, Class: Degraded, Base: 0.85, Explains: displacedBySlow, Waste: cost.Waste(v.Slowed.Now / v.Slowed.Base)}
	who := lateAre(f, &l, p)
	if nodes := hostsOfRanks(f, p.Ranks); len(p.Nodes) == 0 && len(nodes) == 1 {
		p.Nodes, p.Scope = nodes, "node"
	}
	p.oddNode(f)
	quick, late := times(v, l.Phase)
	p.Summary = fmt.Sprintf("%s takes %s on %s from the first step on, and %s on the quickest process: steps take %s and could take %s (%.0f%% lost)", l.Phase, Seconds(late), who, Seconds(quick),
		Seconds(v.Slowed.Now), Seconds(v.Slowed.Base), 100*p.Waste)
	p.Why = fmt.Sprintf("the other %s take longer for %s instead: they wait", plural(len(l.Waiters), "process", "processes"), l.Waited)
	for i := range l.Voices[:min(len(l.Voices), 3)] {
		p.For = append(p.For, finding(fmt.Sprintf("%s of a late process", l.Phase), QuoteAt(l.Voices[i].Quotes[l.Phase][1], nil)))
	}
	p.Led = append(p.Led, finding(fmt.Sprintf("%s of a process that waits", l.Waited), QuoteAt(l.Waiters[0].Quotes[l.Waited][1], nil)))
	p.Now = []knowledge.Advice{lateAdvice(who, len(p.Nodes) > 0, false)}
	return p
}

// hostsOfRanks are the nodes on which ranks are known to run.
func hostsOfRanks(f *resolve.Facts, ranks []int) []string {
	nodes := nodesOf(f, ranks)
	slices.Sort(nodes)
	return slices.Compact(nodes)
}
