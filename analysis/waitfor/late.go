package waitfor

import (
	"cmp"
	"slices"

	"faultline/analysis/resolve"
)

const (
	// lateBy is how many seconds after another member's report a rank must have begun to wait to be late: clocks differ from node to node.
	lateBy = 60
	// deadBy is how many seconds after that those who gave up no longer write, and outlives how long their job may outlive their report.
	deadBy, outlives = 300, 3600
)

// late finds the few ranks that came to a work when other members had already given it up: they held those, whatever they wait for now.
func (g *Graph) late(f *resolve.Facts, stuck []*view) bool {
	for _, id := range g.Free {
		if r := f.Rank(id); r.Dump != nil && r.Dump.Idle() {
			return false // who has not come at all held those who came late, too
		}
	}
	var roots []int
	var where []*view
	for _, v := range stuck {
		if came := v.latecomers(f); len(came) > 0 {
			roots, where = append(roots, came...), append(where, v)
		}
	}
	if len(roots) == 0 {
		return false
	}
	g.Groups, g.Late = groups(where), true
	if roots = unique(roots); len(where) > 1 && len(roots) > 1 {
		// Those who came late to several groups had waited for each other in another: one of them is it.
		g.Shape, g.Frontier = Unseen, roots
		return true
	}
	g.Shape, g.Root, g.Idle = Straggle, roots, true
	return true
}

// latecomers are the few members that came to a work after another had given it up; none where one of them has no proven rank.
func (v *view) latecomers(f *resolve.Facts) []int {
	gaveUp := v.gaveUp()
	if gaveUp == nil || v.P2P || v.nameless() {
		return nil
	}
	var came []int
	for r, p := range v.first {
		if p.Work.Seq != v.seq || !f.Compared(gaveUp.At, p.At) || !gaveUp.Report.Add(lateBy).Before(p.Start) {
			continue
		}
		if r.ID == resolve.NoRank {
			return nil
		}
		came = append(came, r.ID)
	}
	few := len(came) > 0 && 2*len(came) < len(v.first)
	if !few || v.again(f, gaveUp, came) {
		return nil
	}
	return came
}

// gaveUp is who reported first that it had waited in vain for the group's stuck work; nil where nobody numbers it.
func (v *view) gaveUp() *resolve.Pending {
	var first *resolve.Pending
	for _, p := range v.first {
		switch {
		case v.seq < 0, p.Work.Seq != v.seq, !p.Start.Valid:
		case first == nil, cmp.Or(cmp.Compare(p.Report.T, first.Report.T), cmp.Compare(p.Rank.ID, first.Rank.ID)) < 0:
			first = p
		}
	}
	return first
}

// again says that those who came late may be of a later attempt that got as far: the job made steps since, or those who had given up
// are there again.
func (v *view) again(f *resolve.Facts, gaveUp *resolve.Pending, came []int) bool {
	if f.StepsSince(gaveUp.Report) > 0 {
		return true
	}
	first := gaveUp.Report
	for i, id := range came {
		if p := v.byID[id]; i == 0 || p.Start.T < first.T {
			first = p.Start
		}
	}
	if gaveUp.Report.Add(outlives).Before(first) {
		return true
	}
	for r := range v.first {
		if !slices.Contains(came, r.ID) && r.Last.Valid && first.Add(deadBy).Before(r.Last) {
			return true
		}
	}
	return false
}
