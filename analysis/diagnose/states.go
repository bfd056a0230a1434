package diagnose

import (
	"fmt"
	"sort"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/incident"
	"faultline/knowledge/severity"
)

// fullRows is up to how many members a group's rows carry their evidence each, and rowBudget how many rows of the whole
// report do; above it only the roots' rows do. A report of 16,384 ranks has to open in a browser.
const (
	fullRows  = 64
	rowBudget = 1024
)

// groups writes the state of every rank in every group that is stuck, and of the default group where anybody printed
// its counters. Counters of one group never fill another's row.
func (b *builder) groups() {
	f := b.s.Facts
	b.r.Groups = []incident.Group{}
	hasDefault := false
	for _, g := range f.Groups {
		b.r.Groups = append(b.r.Groups, b.group(g))
		hasDefault = hasDefault || g.Default
	}
	if !hasDefault {
		if g := b.defaultFromDumps(); g != nil {
			b.r.Groups = append([]incident.Group{*g}, b.r.Groups...)
		}
	}
}

func (b *builder) group(g *resolve.Group) incident.Group {
	f := b.s.Facts
	out := incident.Group{Key: g.Key, GUID: g.GUID, Desc: g.Desc, Size: optional(g.Size), MembershipBasis: g.Basis, SplitsTensors: resolve.SplitsTensors(g), Ranks: []incident.GroupMember{}}
	if g.Unnamed {
		out.Desc = "name not shown by this PyTorch version"
	}
	if len(g.Pending) > 0 {
		w := b.s.Graph.Stuck(g).Work
		start := g.Pending[0].Start
		for _, p := range g.Pending {
			start = start.Earliest(p.Start)
		}
		out.Stuck = &incident.Stuck{Seq: w.Seq, Op: w.Op, StartedAt: f.Format(start)}
		if w.NumelIn != line.Unknown {
			out.Stuck.Size = new(w.NumelIn)
		}
	}
	done := map[int]bool{}
	for _, p := range g.Pending {
		if p.Rank.ID != resolve.NoRank && done[p.Rank.ID] {
			continue
		}
		m := incident.GroupMember{Node: p.Rank.Node, Role: b.roleIn(p.Rank, true), IdentityEvidence: p.Rank.Basis}
		if p.Rank.ID != resolve.NoRank {
			done[p.Rank.ID] = true
			m.Rank = new(p.Rank.ID)
		} else {
			m.IdentityEvidence = p.Rank.Label
		}
		if p.GroupRank >= 0 {
			m.GroupRank = new(p.GroupRank)
		}
		if e, ok := p.Enqueued(); ok {
			m.Enqueued, m.Completed = new(e), new(p.Completed())
		}
		if b.root[p.Rank.ID] || len(g.Pending) <= fullRows && b.rows < rowBudget {
			m.Evidence = mechanism.PendingEvidence(p)
			b.rows++
		}
		out.Ranks = append(out.Ranks, m)
	}
	for _, id := range g.Members {
		if done[id] {
			continue
		}
		done[id] = true
		out.Ranks = append(out.Ranks, b.idleRow(id, g))
	}
	// Of a group whose members are not known only those stand here who complained of it. Every rank is in the default group: who
	// held it belongs into its table.
	if g.Default {
		for id := range b.root {
			if id != resolve.NoRank && !done[id] {
				out.Ranks = append(out.Ranks, b.idleRow(id, g))
			}
		}
	}
	sort.SliceStable(out.Ranks, func(i, j int) bool { return rowLess(out.Ranks[i], out.Ranks[j]) })
	return out
}

func rowLess(a, b incident.GroupMember) bool {
	if (a.Rank == nil) != (b.Rank == nil) {
		return a.Rank != nil
	}
	if a.Rank != nil {
		return *a.Rank < *b.Rank
	}
	return a.IdentityEvidence < b.IdentityEvidence
}

// idleRow is a member without a watchdog line of this group.
func (b *builder) idleRow(id int, g *resolve.Group) incident.GroupMember {
	f := b.s.Facts
	m := incident.GroupMember{Rank: new(id), Role: incident.Missing}
	r := f.Rank(id)
	if r == nil {
		return m
	}
	m.Node, m.IdentityEvidence = r.Node, r.Basis
	m.Role = b.roleIn(r, false)
	c := g.Counters[id]
	if c == nil && g.Default {
		c = r.Dump
	}
	if c != nil {
		m.Enqueued, m.Completed = new(c.Enqueued), new(c.Completed)
		if b.rows < rowBudget || b.root[id] {
			m.Evidence = []incident.Evidence{mechanism.DumpEvidence(c, id)}
			b.rows++
		}
	}
	return m
}

// defaultFromDumps is the default group's row of everybody who printed its counters, though nothing is stuck in it.
func (b *builder) defaultFromDumps() *incident.Group {
	f := b.s.Facts
	out := incident.Group{Key: "0", GUID: "0", Desc: "default_pg", MembershipBasis: "seen-only", Ranks: []incident.GroupMember{}}
	for _, r := range f.Ranks {
		if r.Dump == nil {
			continue
		}
		m := b.idleRow(r.ID, &resolve.Group{Default: true})
		if len(f.Ranks) > fullRows && !b.root[r.ID] {
			m.Evidence = nil
		}
		out.Ranks = append(out.Ranks, m)
	}
	if len(out.Ranks) == 0 {
		return nil
	}
	if w := f.Job.WorldSize; w > 0 {
		out.Size, out.MembershipBasis = new(w), "config-line"
	}
	return &out
}

// roleIn is a rank's role in a group that it is pending in, or not.
func (b *builder) roleIn(r *resolve.Rank, pending bool) string {
	isRoot := b.root[r.ID]
	switch {
	case pending && isRoot && b.s.Graph.Shape == waitfor.Lag:
		return incident.Lagging
	case pending && isRoot && b.s.Graph.Shape == waitfor.Lone:
		return incident.LoneWaiter
	case pending && isRoot && b.s.Graph.Shape == waitfor.Diverged:
		return incident.FirstFailure
	case pending:
		return incident.Waiter
	case isRoot && b.collective():
		return incident.Straggler
	case isRoot:
		return incident.FirstFailure
	case b.s.Facts.Coverage.CutRanks[r.ID]:
		return incident.Unobserved
	case r.Notified != nil:
		return incident.Notified
	case r.Dump != nil:
		return incident.Notified
	case r.Recorded != nil:
		return incident.Unobserved
	case r.Lines == 0 && len(r.Failures) == 0:
		return incident.Missing
	}
	return incident.Unobserved
}

func (b *builder) collective() bool {
	return len(b.d.winners) > 0 && b.d.winners[0].Class == mechanism.Collective
}

// ranks writes each rank's part over all groups: what the rank map shows.
func (b *builder) ranks() {
	f := b.s.Facts
	b.r.Ranks = []incident.RankState{}
	healthy := b.r.Verdict.Status == incident.NoFailure
	seen := map[int]bool{}
	for _, r := range f.Ranks {
		seen[r.ID] = true
		st := incident.RankState{Rank: r.ID, Node: r.Node}
		if r.Local >= 0 {
			st.LocalRank = new(r.Local)
		}
		st.Role, st.Note = b.part(r, b.root[r.ID])
		if healthy && st.Role == incident.Unobserved {
			st.Role = "ok"
		}
		b.r.Ranks = append(b.r.Ranks, st)
	}
	for id := range f.Job.WorldSize {
		if !seen[id] {
			b.r.Ranks = append(b.r.Ranks, incident.RankState{Rank: id, Role: incident.Missing, Note: "no lines from this rank in any file"})
		}
	}
	sort.SliceStable(b.r.Ranks, func(i, j int) bool { return b.r.Ranks[i].Rank < b.r.Ranks[j].Rank })
}

func (b *builder) part(r *resolve.Rank, root bool) (role, note string) {
	g := b.s.Graph
	switch {
	case root && b.collective():
		switch g.Shape {
		case waitfor.Lag:
			return incident.Lagging, "behind its group but still issuing work"
		case waitfor.Lone:
			return incident.LoneWaiter, "waited alone"
		case waitfor.Diverged:
			return incident.FirstFailure, "issued a mismatched collective"
		}
		if r.Recorded.Nothing() {
			return incident.Straggler, "nothing in flight according to its flight recorder; blocked the other ranks"
		}
		if r.Dump != nil && mechanism.IdleAlone(b.s, r) {
			return incident.Straggler, fmt.Sprintf("nothing in flight (enqueued %d, completed %d); blocked the other ranks", r.Dump.Enqueued, r.Dump.Completed)
		}
		if r.Dump != nil {
			return incident.Straggler, "reported no timeout of its own; blocked the other ranks"
		}
		return incident.Straggler, "reported nothing; blocked the other ranks"
	case root && b.r.Verdict.Origin == "performance":
		return incident.Lagging, "slower than the other ranks"
	case root:
		if len(r.Failures) > 0 {
			return incident.FirstFailure, Excerpt(r.Failures[0].Text)
		}
		return incident.FirstFailure, "failed first"
	case len(r.Pending) > 0:
		p := r.Pending[0]
		note = fmt.Sprintf("waited in %s #%d", p.Work.Op, p.Work.Seq)
		if e, ok := p.Enqueued(); ok {
			note += fmt.Sprintf(" (enqueued %d, completed %d)", e, p.Completed())
		}
		if len(r.Pending) > 1 {
			note += fmt.Sprintf(" and in %d more", len(r.Pending)-1)
		}
		return incident.Waiter, note
	case g.Waits(r.ID):
		return incident.Waiter, "its own watchdog fired; the line showing where is missing"
	case b.s.Facts.Coverage.CutRanks[r.ID]:
		return incident.Unobserved, "its file ends before the incident"
	case r.Notified != nil || r.Dump != nil:
		return incident.Notified, "notified by another rank; nothing in flight in the default group"
	case len(r.Failures) > 0:
		return incident.Victim, Excerpt(r.Failures[0].Text)
	case r.Exit.Failed():
		return incident.Victim, fmt.Sprintf("exit code %d", r.Exit.Code)
	case r.Recorded.Nothing():
		return incident.Unobserved, "nothing in flight according to its flight recorder"
	case r.Lines == 0:
		return incident.Missing, "no lines from this rank in any file"
	}
	if len(b.d.winners) > 0 && b.d.winners[0].Class == mechanism.Nothing {
		return "ok", ""
	}
	return incident.Unobserved, "no line shows what it was doing"
}

// mostExcerpt is how many letters of a line a statement repeats.
const mostExcerpt = 161

// Excerpt is as much of a line as a statement repeats.
func Excerpt(text string) string { return severity.Excerpt(text, mostExcerpt) }
