package mechanism

import (
	"fmt"

	"faultline/analysis/artifact/numbers"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// nonFiniteAt is nonFinite, with the rank whose own numbers went wrong first where tables by rank prove it.
func nonFiniteAt(s *Scene) *Proposal {
	p := nonFinite(s)
	f := s.Facts
	if f.Tabled == nil || f.Tabled.Origin == nil {
		return p
	}
	o := f.Tabled.Origin
	if p == nil {
		if len(o.Later) == 0 {
			return nil // it stayed that rank's own
		}
		p = &Proposal{Mechanism: knowledge.NonFiniteLoss, Class: Degraded, Direct: true, Base: 0.9,
			Why:       "the per-rank tables show where it appeared first: the other ranks' values at that step are normal",
			Plausible: fmt.Sprintf("the numbers had already gone bad (%s:%d); nothing links that to how the job ended", o.First.File, o.First.At.Line)}
	}
	p.Ranks = []int{o.First.Rank}
	p.Nodes, p.Scope = nodesOf(f, p.Ranks), "rank"
	p.Summary = fmt.Sprintf("the %s on %s became NaN or infinite at step %d, before any other rank's", o.What, where(f, p.Ranks), o.First.Step)
	p.For = append([]incident.Finding{OriginFinding(f, o)}, p.For...)
	return p
}

// OriginFinding says whose numbers were none first.
func OriginFinding(f *resolve.Facts, o *numbers.Origin) incident.Finding {
	ev := []incident.Evidence{PointEvidence(o.First), PointEvidence(o.Beside[0])}
	text := fmt.Sprintf("at step %d the %s on rank %d is %s, while the other %d ranks in the tables are finite (rank %d: %s)", o.First.Step, o.What, o.First.Rank, o.First.Text,
		len(o.Beside), o.Beside[0].Rank, o.Beside[0].Text)
	if len(o.Later) > 0 {
		text += fmt.Sprintf("; %s followed, rank %d at step %d", plural(len(o.Later), "rank", "ranks"), o.Later[0].Rank, o.Later[0].Step)
		if axis, members, ok := followed(f.Tabled, o); ok {
			text += fmt.Sprintf(", and the first to follow are in its %s-parallel group (%s)", numbers.AxisNames[axis], rankWords(members))
		}
		ev = append(ev, PointEvidence(o.Later[0]))
	}
	return finding(text, ev...)
}

// followed is the group of the rank whose numbers were none first, where those that followed in the next step that has any are of it, and
// the group is not all that are compared.
func followed(t *resolve.Tabled, o *numbers.Origin) (axis int, members []int, ok bool) {
	ranks := []int{o.First.Rank}
	for _, p := range o.Later {
		if p.Step == o.Later[0].Step {
			ranks = append(ranks, p.Rank)
		}
	}
	axis, members, ok = t.Holding(ranks)
	return axis, members, ok && len(members) < o.Ranks
}

// SplitWhere says which group the ranks that differ are, where they are one as a whole.
func SplitWhere(t *resolve.Tabled, s *numbers.Split) string {
	if s.Axis != numbers.Unplaced || len(s.Odd) < 2 || s.Rest.File == "" {
		return ""
	}
	if axis, ok := t.GroupOf(oddRanks(s)); ok {
		return fmt.Sprintf("; the ranks that differ form one %s-parallel group", numbers.AxisNames[axis])
	}
	return ""
}

// PointEvidence quotes the line of a value.
func PointEvidence(p numbers.Point) incident.Evidence {
	e := incident.Quote(p.File, p.At.Line, p.At.Off, "", nil)
	if p.Text != "" {
		e.Predicate = &incident.Predicate{Literals: []string{p.Text}}
	}
	e.Span = p.At.Len
	return e
}

// replicaDiffers: copies of the same parameters were equal, and then those of one rank were not. Nothing but a wrong result on that rank
// makes it so, or a step that this rank alone skipped.
func replicaDiffers(s *Scene) *Proposal {
	f := s.Facts
	if f.Tabled == nil {
		return nil
	}
	var best *numbers.Split
	for i := range f.Tabled.Splits {
		x := &f.Tabled.Splits[i]
		if f.Replicas(x) && x.One() && (best == nil || x.Odd[0].Step < best.Odd[0].Step) {
			best = x
		}
	}
	if best == nil {
		return nil
	}
	for i := range f.Tabled.Splits { // another rank differs elsewhere as early: nobody is the odd one
		if x := &f.Tabled.Splits[i]; f.Replicas(x) && x.Odd[0].Step <= best.Odd[0].Step && (!x.One() || x.Odd[0].Rank != best.Odd[0].Rank) {
			return nil
		}
	}
	id := best.Odd[0].Rank
	p := &Proposal{Mechanism: knowledge.SilentCorruption, Class: Degraded, Ranks: []int{id}, Nodes: nodesOf(f, []int{id}), Scope: "rank", Base: 0.85,
		Summary: fmt.Sprintf("the parameters on %s differ from its replicas from step %d on", where(f, []int{id}), best.Odd[0].Step),
		Why:     fmt.Sprintf("replicas apply the same update to the same parameters; those of the other %d ranks still agree", best.Ranks-1),
		For:     []incident.Finding{SplitFinding(best)}, Explains: append([]knowledge.Slug{knowledge.NonFiniteLoss}, endedSlow...)}
	p.Suspects = []incident.Suspect{{Mechanism: string(knowledge.NonFiniteLoss), Why: "it would look the same if only this rank skipped a step because of an overflow"}}
	return p
}

// SplitFinding says from where on values differ that had been equal.
func SplitFinding(s *numbers.Split) incident.Finding {
	first := s.Odd[0]
	name := s.What
	if s.Group != "" {
		name += " in group " + s.Group
	}
	everyone := "all ranks"
	if s.Axis != numbers.Unplaced {
		everyone = fmt.Sprintf("all ranks in a %s-parallel group (%s)", numbers.AxisNames[s.Axis], rankWords(s.Members))
	}
	if s.Rest.File == "" {
		return finding(fmt.Sprintf("the %s was the same on %s up to step %d; at step %d no value is shared by most of the %d ranks", name, everyone, s.Equal.Step, first.Step, s.Ranks), PointEvidence(s.Equal), PointEvidence(first))
	}
	return finding(fmt.Sprintf("the %s was the same on %s up to step %d; at step %d it is %s on %s and %s on the other %d", name, everyone, s.Equal.Step, first.Step, first.Text, rankWords(oddRanks(s)),
		s.Rest.Text, s.Ranks-len(s.Odd)), PointEvidence(s.Equal), PointEvidence(first), PointEvidence(s.Rest))
}

func oddRanks(s *numbers.Split) []int {
	var out []int
	for _, p := range s.Odd {
		out = append(out, p.Rank)
	}
	return out
}
