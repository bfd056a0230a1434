package syncpoint

import (
	"fmt"
	"slices"
	"strconv"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/incident"
)

// place is how far a rank has come in a group: the last work it completed, and the line that states it.
type place struct {
	rank     int
	done     int64
	evidence incident.Evidence
}

// Gap compares how far the members of a group have come. It is nil where they stand at the same number, where fewer than
// two are known, and where counters cannot be compared: in a group that mixes collectives with send and receive, and
// among groups that share a name.
func Gap(s *mechanism.Scene, g *resolve.Group) *incident.SeqGap {
	if g.P2P || g.Unnamed && !g.Default {
		return nil
	}
	places := stated(s, g)
	if len(places) < 2 {
		return nil
	}
	first, last := places[0], places[0]
	for _, p := range places {
		if p.done > first.done {
			first = p
		}
		if p.done < last.done {
			last = p
		}
	}
	if first.done == last.done {
		return nil
	}
	out := &incident.SeqGap{Collectives: first.done - last.done, Ahead: []int{}, Behind: []int{}}
	for _, p := range places {
		switch p.done {
		case first.done:
			out.Ahead = append(out.Ahead, p.rank)
		case last.done:
			out.Behind = append(out.Behind, p.rank)
		}
	}
	slices.Sort(out.Ahead)
	slices.Sort(out.Behind)
	gap := derived("difference", out.Collectives, first.evidence, last.evidence)
	out.Evidence = []incident.Evidence{gap}
	out.Statement = fmt.Sprintf("%s %s %s ahead of %s in %s", words(out.Ahead), is(len(out.Ahead)), count(out.Collectives, "collective"), words(out.Behind), groupName(g))
	n, why, ok := perStep(s.Facts, g)
	if !ok {
		out.Statement += ": the number per step is unknown, so these may not be whole steps"
		if why != "" {
			out.Statement += " (" + why + ")"
		}
		return out
	}
	out.PerStep = &n.value
	rest := out.Collectives % n.value
	out.Evidence = append(out.Evidence, n.evidence...)
	out.Evidence = append(out.Evidence, derived("remainder", rest, gap, n.evidence[0]))
	if rest == 0 {
		k := out.Collectives / n.value
		out.Steps = &k
		out.Evidence = append(out.Evidence, derived("quotient", k, gap, n.evidence[0]))
		out.Statement += fmt.Sprintf(": exactly %s of %d, so the calls within a step match but the number of steps done doesn't", count(k, "step"), n.value)
		return out
	}
	out.Statement += fmt.Sprintf(": not a whole number of steps of %d, so they are at different points within a step", n.value)
	if s.Graph.Shape == waitfor.Diverged {
		out.Statement += ", as after a collective that only some of them called"
	}
	return out
}

// Whole says that a gap is known to be a whole number of steps, and whether that is known at all.
func Whole(g *incident.SeqGap) (whole, known bool) {
	if g == nil || g.PerStep == nil {
		return false, false
	}
	return g.Steps != nil, true
}

func derived(formula string, result int64, in ...incident.Evidence) incident.Evidence {
	return incident.Evidence{Kind: incident.KindDerived, Formula: formula, Inputs: in, Result: strconv.FormatInt(result, 10)}
}

// stated lists the members whose counters of this very group a line states: those who wait, and in the default group
// those who were told and have nothing in flight. Both stand still: their counters are no samples any more.
func stated(s *mechanism.Scene, g *resolve.Group) []place {
	f := s.Facts
	var out []place
	seen := map[int]bool{}
	view := s.Graph.First(g)
	for _, p := range g.Pending {
		id := p.Rank.ID
		if id == resolve.NoRank || seen[id] || view[p.Rank] != p {
			continue
		}
		seen[id] = true
		if p.State == nil || p.Work.Seq < 0 || p.State.Completed != p.Work.Seq-1 {
			continue
		}
		out = append(out, place{rank: id, done: p.State.Completed, evidence: completed(p, id)})
	}
	if !g.Default {
		return out
	}
	for _, r := range f.Ranks {
		if r.Dump.Idle() && !seen[r.ID] && resolve.GroupKey(r.Dump.Group) == g.Key {
			out = append(out, place{rank: r.ID, done: r.Dump.Enqueued, evidence: mechanism.DumpEvidence(r.Dump, r.ID)})
		}
	}
	return out
}

// completed holds a state line to its last completed work alone: the number that is compared.
func completed(p *resolve.Pending, rank int) incident.Evidence {
	ev := mechanism.StateEvidence(p.State, rank)
	pred := *ev.Predicate
	pred.Fields = slices.Clone(pred.Fields[len(pred.Fields)-1:])
	ev.Predicate = &pred
	return ev
}

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}

func is(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func words(ids []int) string {
	switch {
	case len(ids) == 1:
		return "rank " + strconv.Itoa(ids[0])
	case len(ids) > 12:
		return fmt.Sprintf("%d ranks", len(ids))
	}
	return "ranks " + mechanism.Ranges(ids)
}

func groupName(g *resolve.Group) string {
	switch {
	case g.Default:
		return "the default group"
	case g.Desc != "":
		return fmt.Sprintf("group %s (%s)", g.Key, g.Desc)
	}
	return "group " + g.Key
}
