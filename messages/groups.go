package messages

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"faultline/incident"
)

// groupView is one process group with its members folded into a few rows.
type groupView struct {
	Title string // description, key, size, basis
	Stuck string
	Rows  []groupRow
	worst int
}

// groupRow stands for all members with the same role and counters.
type groupRow struct {
	Look                int
	Role                string
	N                   int
	Ranks, Nodes        string
	Enqueued, Completed string
	first               int
}

// maxGroupRows bounds the rows of one group: beyond it, members of one role are shown with the range of their counters.
const maxGroupRows = 12

func groupViews(r *incident.Report) []groupView {
	out := make([]groupView, 0, len(r.Groups))
	for _, g := range r.Groups {
		out = append(out, groupOf(g))
	}
	// The groups that tell something come first; otherwise in the report's order.
	slices.SortStableFunc(out, func(a, b groupView) int { return cmp.Compare(a.worst, b.worst) })
	return out
}

// unnamedGroup is the key of a group whose name no line shows.
const unnamedGroup = "unnamed"

func groupOf(g incident.Group) groupView {
	name := flat(g.Desc)
	if name == "" {
		name = flat(g.Key)
	} else if g.Key != "" && g.Key != g.Desc {
		name += " (" + flat(g.Key) + ")"
	}
	title := "Group " + name
	if g.Key == unnamedGroup {
		title = "Unnamed group (" + flat(cmp.Or(g.Desc, "its name is unknown")) + ")"
	}
	v := groupView{Title: title, worst: len(looks)}
	if g.Size != nil {
		v.Title += ", " + count(*g.Size, "member")
	}
	nodes, span := nodesIn(g)
	if nodes > 1 {
		v.Title += " on " + span
	}
	v.Title += "; membership from " + basisText(g.MembershipBasis)
	if s := g.Stuck; s != nil {
		v.Stuck = "hung in " + flat(s.Op) + " #" + strconv.FormatInt(s.Seq, 10)
		if s.Size != nil {
			v.Stuck += " (" + count(int(*s.Size), "element") + ")"
		}
		if s.StartedAt != nil {
			v.Stuck += ", started at " + flat(*s.StartedAt)
		}
		if y := s.Sync; y != nil {
			v.Stuck += ". " + sentence(y.Statement)
			if y.Waits != "" {
				v.Stuck += " " + sentence(y.Waits)
			}
			if y.Check != "" {
				v.Stuck += " " + sentence(y.Check)
			}
			v.Stuck = strings.TrimRight(v.Stuck, ".")
		}
	}
	if g.Gap != nil && g.Gap.Statement != "" {
		if v.Stuck != "" {
			v.Stuck += ". "
		}
		v.Stuck += strings.TrimRight(sentence(g.Gap.Statement), ".")
	}
	if nodes > 1 && g.SplitsTensors {
		if v.Stuck != "" {
			v.Stuck += ". "
		}
		v.Stuck += "This tensor-parallel group spans " + span + ", so what it exchanges in each layer crosses the network"
	}
	v.Rows = foldMembers(g.Ranks, false)
	if len(v.Rows) > maxGroupRows {
		v.Rows = foldMembers(g.Ranks, true)
	}
	for _, row := range v.Rows {
		v.worst = min(v.worst, row.Look)
	}
	if g.Stuck != nil {
		v.worst -= len(looks) // whoever hangs comes before whoever does not
	}
	return v
}

// nodesIn is how many nodes hold the members of a group, in words, too: at least so many where a member's node is not known.
func nodesIn(g incident.Group) (n int, words string) {
	nodes := map[string]bool{}
	for _, m := range g.Ranks {
		nodes[m.Node] = true
	}
	all := !nodes[""] && (g.Size == nil || *g.Size <= len(g.Ranks))
	delete(nodes, "")
	if n = len(nodes); all {
		return n, count(n, "node")
	}
	return n, "at least " + count(n, "node")
}

func basisText(b string) string {
	switch b {
	case "recorder":
		return "the flight recorder"
	case "config-line":
		return "a configuration line"
	case "topology":
		return "the job's topology"
	case "seen-only":
		return "the ranks seen (may be incomplete)"
	}
	return "an unknown source"
}

// foldMembers folds members of equal role, and unless byRole of equal counters, into one row.
func foldMembers(members []incident.GroupMember, byRole bool) []groupRow {
	type key struct {
		look                int
		enqueued, completed string
	}
	type fold struct {
		row          groupRow
		ranks, local []int
		nodes        map[string]bool
		enq, comp    span
	}
	folds := make(map[key]*fold)
	var order []*fold
	for _, m := range members {
		k := key{look: gravity(m.Role)}
		if !byRole {
			k.enqueued, k.completed = number(m.Enqueued), number(m.Completed)
		}
		f := folds[k]
		if f == nil {
			f = &fold{row: groupRow{Look: k.look, Role: looks[k.look].Words, first: 1 << 30}, nodes: map[string]bool{}}
			folds[k] = f
			order = append(order, f)
		}
		f.row.N++
		switch {
		case m.Rank != nil:
			f.ranks = append(f.ranks, *m.Rank)
			f.row.first = min(f.row.first, *m.Rank)
		case m.GroupRank != nil:
			f.local = append(f.local, *m.GroupRank)
		}
		if m.Node != "" {
			f.nodes[m.Node] = true
		}
		f.enq.add(m.Enqueued)
		f.comp.add(m.Completed)
	}
	rows := make([]groupRow, 0, len(order))
	for _, f := range order {
		row := f.row
		if len(f.ranks) > 0 {
			row.Ranks = shortRanges(f.ranks)
		}
		if len(f.local) > 0 {
			if row.Ranks != "" {
				row.Ranks += "; "
			}
			row.Ranks += "in the group " + shortRanges(f.local) + " (global rank not proven)"
		}
		names := make([]string, 0, len(f.nodes))
		for n := range f.nodes {
			names = append(names, n)
		}
		row.Nodes = nodeList(names)
		row.Enqueued, row.Completed = f.enq.String(), f.comp.String()
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b groupRow) int {
		return cmp.Or(cmp.Compare(a.Look, b.Look), cmp.Compare(a.first, b.first), cmp.Compare(a.Enqueued, b.Enqueued))
	})
	return rows
}

func number(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return strconv.FormatInt(*n, 10)
}

// span is the range of some numbers, of which a few may be unknown.
type span struct {
	lo, hi  int64
	known   bool
	unknown bool
}

func (s *span) add(n *int64) {
	switch {
	case n == nil:
		s.unknown = true
	case !s.known:
		s.lo, s.hi, s.known = *n, *n, true
	default:
		s.lo, s.hi = min(s.lo, *n), max(s.hi, *n)
	}
}

func (s span) String() string {
	switch {
	case !s.known:
		return "unknown"
	case s.lo == s.hi && !s.unknown:
		return strconv.FormatInt(s.lo, 10)
	case s.lo == s.hi:
		return strconv.FormatInt(s.lo, 10) + " or unknown"
	}
	t := strconv.FormatInt(s.lo, 10) + " to " + strconv.FormatInt(s.hi, 10)
	if s.unknown {
		t += " or unknown"
	}
	return t
}
