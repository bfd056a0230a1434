package mechanism

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/incident"
	"faultline/knowledge"
)

// Needs that decide between the reasons of a hang.
var (
	needPySpy = artefact(knowledge.Stacks)
	needFR    = artefact(knowledge.FlightRecorder)
	needDmesg = artefact(knowledge.KernelLog)
	needFiles = incident.Need{What: knowledge.UnseenRanks, Why: "the stalled rank may be one of them", Command: logsOfJob, Obtainable: now}
	needWorld = incident.Need{What: "the world size", Why: "without it, a missing rank can't be detected", Command: "bot diagnose --world-size N …", Obtainable: now}
)

func collective(s *Scene, slug knowledge.Slug) *Proposal {
	g := s.Graph
	return &Proposal{Mechanism: slug, Class: Collective, Groups: g.Groups, At: g.Start, Scope: "group", Frontier: g.Frontier}
}

// entered are the mechanisms of an operation that does not end; Gloo works on the CPU, where no GPU can be at fault.
func entered(onGPU bool) []knowledge.Slug {
	all := knowledge.HavingNature(knowledge.Entered)
	if onGPU {
		return all
	}
	return slices.DeleteFunc(all, func(s knowledge.Slug) bool { return s.Is(knowledge.Hardware) })
}

// waitersFinding says who waited in what, with at most three ranks quoted and the whole set as one claim.
func waitersFinding(s *Scene, g *resolve.Group, skip map[int]bool) incident.Finding {
	var ev []incident.Evidence
	n := 0
	ranks, further := map[*resolve.Rank]bool{}, map[*resolve.Rank]bool{}
	stuck := s.Graph.Stuck(g)
	ahead := s.Graph.IsAhead && stuck != nil
	for _, p := range g.Pending {
		if skip[p.Rank.ID] && p.Rank.ID != resolve.NoRank {
			continue
		}
		if ahead && p.Work.Seq > stuck.Work.Seq {
			further[p.Rank] = true
			continue
		}
		ranks[p.Rank] = true
		if n < 2 {
			ev = append(ev, PendingEvidence(p)...)
			n++
		}
	}
	if set, ok := SetEvidence(s.Facts, g); ok {
		ev = append(ev, set)
	}
	waited := ""
	for _, p := range g.Pending {
		if p.Work.RanForMS > 0 {
			waited = fmt.Sprintf(" for %s", duration(float64(p.Work.RanForMS)/1000))
			break
		}
	}
	beside := ""
	if !ahead && s.Graph.Scattered(g) {
		beside = " or another operation"
	}
	who := plural(len(ranks), "rank", "ranks")
	if len(ranks) == 1 {
		for r := range ranks {
			if r.ID != resolve.NoRank {
				who = r.Describe()
			}
		}
	}
	text := fmt.Sprintf("%s waited in %s%s of %s%s", who, stuckIn(s, g), beside, groupName(g), waited)
	for r := range ranks {
		delete(further, r) // it waits in both
	}
	if len(further) > 0 {
		text += fmt.Sprintf("; %s further on, as a broadcast's sender can be", plural(len(further), "rank waited", "ranks waited"))
	}
	return ofWait(finding(text, ev...))
}

// pendingOf quotes the first collective that a rank waits in.
func pendingOf(s *Scene, id int) []incident.Evidence {
	if r := s.Facts.Rank(id); r != nil && len(r.Pending) > 0 {
		return PendingEvidence(r.Pending[0])
	}
	return nil
}

// pendingIn quotes one waiting rank of the first of some groups.
func pendingIn(gs []*resolve.Group) []incident.Evidence {
	for _, g := range gs {
		if len(g.Pending) > 0 {
			return PendingEvidence(g.Pending[0])
		}
	}
	return nil
}

// Duration is a span in words: "12 s", "3 min", "2.5 h".
func Duration(sec float64) string { return duration(sec) }

func duration(sec float64) string {
	switch {
	case sec >= 7200:
		return fmt.Sprintf("%.1f h", sec/3600)
	case sec >= 120:
		return fmt.Sprintf("%.0f min", sec/60)
	}
	return fmt.Sprintf("%.0f s", sec)
}

func scopeOf(f *resolve.Facts, ids []int) string {
	switch {
	case len(ids) == 1:
		return "rank"
	case len(ids) > 1 && len(nodesOf(f, ids)) == 1:
		return "node"
	case len(ids) > 1:
		return "group"
	}
	return "unknown"
}

// glooFinding quotes those who timed out in Gloo or in a library like it.
func glooFinding(s *Scene) incident.Finding {
	var ev []incident.Evidence
	n, where := 0, ""
	for _, fl := range s.Facts.Failures {
		if waitfor.InVain(fl) {
			n++
			if where = cmp.Or(fl.Entry().Exchange, where, "a collective"); fl.Says(knowledge.OverGloo) {
				where = "a Gloo collective"
			}
			if len(ev) < 3 {
				ev = append(ev, FailureEvidence(fl))
			}
		}
	}
	return ofWait(finding(fmt.Sprintf("%s timed out in %s", plural(n, "rank", "ranks"), where), ev...))
}

func groupList(gs []*resolve.Group) string {
	if len(gs) == 0 {
		return "a group"
	}
	if len(gs) > 2 {
		return plural(len(gs), "process group", "process groups")
	}
	var names []string
	for _, g := range gs {
		names = append(names, groupName(g))
	}
	return strings.Join(names, " and ")
}

// stuckIn says what a group is stuck in: "ALLREDUCE #1580".
func stuckIn(s *Scene, g *resolve.Group) string {
	if len(g.Pending) == 0 {
		return "a collective"
	}
	w := s.Graph.Stuck(g).Work
	op := cmp.Or(w.Op, "a collective")
	if w.Seq == line.Unknown {
		return op
	}
	return fmt.Sprintf("%s #%d", op, w.Seq)
}

// stuckInAll is what several groups are stuck in. Of groups that are stuck in different operations it says how many are in the commonest.
func stuckInAll(s *Scene, gs []*resolve.Group) string {
	n, first := map[string]int{}, stuckIn(s, gs[0])
	for _, g := range gs {
		what := stuckIn(s, g)
		if n[what]++; n[what] > n[first] {
			first = what
		}
	}
	switch {
	case len(n) == 1:
		return first
	case n[first] == 1:
		return "its group's collective"
	}
	return fmt.Sprintf("its group's collective (%s in %d of them)", first, n[first])
}
