package mechanism

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"faultline/analysis/artifact/snapshot"
	"faultline/analysis/moved"
	"faultline/analysis/resolve"
	"faultline/analysis/slow"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/knowledge/severity"
)

// Tables over time decide where a slowdown is: what changed when it began, for one and not for the rest, is where to look. What changed for all
// says only what it is. Several places at once decide nothing.

// shift is what the tables say of one slowdown.
type shift struct {
	list  []moved.Quantity // of that place, or of all
	class slow.Class
	all   bool
	// device is true where the place is none of the job's nodes, reach where it is several nodes whose collectives alone are slow: neither is a
	// node at fault.
	device, reach bool
	// apart: what tools print of the machines at one moment says it, and not when it began.
	apart bool
	work  []moved.Quantity // that it has more of since, and takes longer for
}

// shifted is what the tables say of a slowdown, or what tools print of the machines; nil where they say nothing, or name several places.
func shifted(f *resolve.Facts) *shift {
	if x := onePlace(f, f.Contrasts.Moved); x != nil {
		return x
	}
	if x := oddOne(f); x != nil {
		return x
	}
	return outgrown(f)
}

// outgrown is what a count says that grew far more than those beside it between two readings, where it is of no node of the job: of a switch, a server.
func outgrown(f *resolve.Facts) *shift {
	list := f.Contrasts.Outgrown
	one := !slices.ContainsFunc(list, func(q moved.Quantity) bool { return q.Member != list[0].Member })
	if len(list) == 0 || !one || len(list[0].Nodes) > 0 || !slices.Contains([]slow.Class{slow.Communication, slow.Data, slow.Save}, list[0].Class) {
		return nil
	}
	return &shift{list: list[:1], class: list[0].Class, apart: true}
}

// onePlace is the one place that quantities speak of.
func onePlace(f *resolve.Facts, all []moved.Quantity) *shift {
	by := map[string]*shift{}
	var own, devices, reaches, ranks []*shift
	everywhere := &shift{all: true}
	var work []moved.Quantity
	for _, q := range all {
		if q.Work {
			if !q.All {
				work = append(work, q)
			}
			continue
		}
		if q.All {
			everywhere.list = append(everywhere.list, q)
			continue
		}
		device := q.Beside && q.Class == slow.Communication && len(q.Nodes) == 1 && q.Member != ""
		if q.Beside && !device && len(q.Nodes) > 0 && f.Foreign(q.Nodes[0]) {
			continue
		}
		key := strings.Join(q.Nodes, ",")
		if key == "" {
			key = q.Member
		}
		x := by[key]
		if x == nil {
			x = &shift{device: device, reach: !device && len(q.Nodes) > 1 && q.Class == slow.Communication}
			by[key] = x
			switch {
			case x.device:
				devices = append(devices, x)
			case x.reach:
				reaches = append(reaches, x)
			case len(q.Nodes) == 0 && len(q.Ranks) > 0:
				ranks = append(ranks, x) // on which node that is, the tables don't say
			default:
				own = append(own, x)
			}
		}
		x.list = append(x.list, q)
	}
	if len(devices) == 1 && len(reaches) == 1 { // those that the device connects
		devices[0].list = append(devices[0].list, reaches[0].list...)
	}
	for _, places := range [][]*shift{own, devices, reaches, ranks} {
		if len(places) > 1 {
			return nil
		}
		if len(places) == 1 {
			return places[0].classed().burdened(work)
		}
	}
	if len(everywhere.list) == 0 {
		return nil
	}
	x := everywhere.classed()
	if slices.ContainsFunc(x.list, func(q moved.Quantity) bool { return q.Class != x.class }) {
		return nil
	}
	return x
}

// classed notes what most quantities of a place are about.
func (x *shift) classed() *shift {
	n := map[slow.Class]int{}
	for _, q := range x.list {
		n[q.Class]++
	}
	for _, q := range x.list {
		if x.class == "" || n[q.Class] > n[x.class] && q.Class != "" {
			x.class = q.Class
		}
	}
	return x
}

// mostOfIt is what share of a growth more work must be to explain it.
const mostOfIt = 0.7

// burdened notes what more the place has to do since, where that explains what it takes longer.
func (x *shift) burdened(work []moved.Quantity) *shift {
	q := &x.list[0]
	for _, w := range work {
		same := w.Member == q.Member && slices.Equal(w.Nodes, q.Nodes)
		if same && w.Was > 0 && q.Was > 0 && w.Is/w.Was-1 >= mostOfIt*(q.Is/q.Was-1) {
			x.work = append(x.work, w)
		}
	}
	return x
}

// slug is the mechanism that a shift speaks for.
func (x *shift) slug() knowledge.Slug {
	switch {
	case len(x.work) > 0:
		return knowledge.ThroughputRegression // no part of the cluster is at fault
	case x.class == slow.Data:
		return knowledge.DataloaderStall
	case x.class == slow.Communication:
		return knowledge.SlowCommunication
	case x.class == slow.Save:
		return knowledge.SlowCheckpoint
	case x.class == slow.Experts:
		return knowledge.ThroughputRegression // no part of the cluster is at fault
	case !x.all:
		return knowledge.SlowRank
	case x.class == slow.Host, x.class == slow.Optimizer:
		return knowledge.SlowHost
	}
	return knowledge.SlowCompute
}

// fits says that the phases of a step do not speak against a shift: they leave open what grew, or it is that, or what the host or a GPU does to it.
func (s *slowing) fits(x *shift) bool {
	switch {
	case s.open(), s.Class == x.class, len(x.work) > 0:
		return true
	case x.class == slow.Host, x.class == "":
		return !x.all && s.Class != slow.Communication
	}
	return false
}

// movedTo proposes a mechanism for which the tables speak.
func movedTo(slug knowledge.Slug) func(*Scene) *Proposal {
	return func(sc *Scene) *Proposal {
		f := sc.Facts
		s, ok := slowed(f)
		if !ok {
			return nil
		}
		x := shifted(f)
		if x == nil || x.apart && (!x.tells() || oneSlowed(f) != nil || linkFound(f)) {
			return nil
		}
		if x.apart && x.class == "" {
			x.class = s.Class // what differs is of no known kind, and what grew is known
		}
		if x.slug() != slug || !s.fits(x) {
			return nil
		}
		p := s.proposal(f, slug, 0.88)
		q := &x.list[0]
		neighbour := strings.TrimPrefix(p.Summary, slower(f, &s.Slowdown))
		p.Summary = fmt.Sprintf("%s %s: %s", called(q), changed(q, x.who()), slower(f, &s.Slowdown))
		if s.Class == x.class && len(s.Phases) > 0 {
			p.Summary = fmt.Sprintf("%s; %s %s", s.grew(f), called(q), changed(q, x.who()))
		}
		p.Summary += neighbour
		if q.Alone || x.apart {
			p.Base = 0.8
		}
		x.support(p)
		if x.class == slow.Experts || len(x.work) > 0 {
			p.uneven(x)
			return p
		}
		x.place(f, p)
		return p
	}
}

// uneven says what it means where the shares of experts changed: the model does it, and no machine.
func (p *Proposal) uneven(x *shift) {
	if len(x.work) > 0 {
		w := &x.work[0]
		p.Summary = fmt.Sprintf("%s has more to do: %s %s, and %s", x.who(), w.What, changed(w, x.who()), p.Summary)
		p.Why += "; it has that much more to do, so its hardware is not slower: in a mixture of experts its experts are popular, else its share of the data is larger"
		p.For = append([]incident.Finding{QuantityFinding(w)}, p.For...)
	} else {
		p.Summary = "the experts share the work unevenly: " + p.Summary
		p.Why += "; ranks that hold a popular expert compute longer, and all wait for them in the all-to-all: that is no fault of a node"
	}
	p.Moot = append(p.Moot, allAdvice(p.Mechanism)...)
	p.Now = []knowledge.Advice{{Text: "Check the router: the weight of the balancing loss, the capacity factor, and what changed in data or learning rate at that step."}}
	if !x.all {
		p.Named = x.who()
	}
}

// support adds what the tables show.
func (x *shift) support(p *Proposal) {
	q := &x.list[0]
	p.Why += "; " + called(q) + " " + changed(q, x.who())
	if q.Rest > 0 {
		p.Why += fmt.Sprintf(", and not on the other %d in these tables", q.Rest)
	}
	for i := range x.list[:min(len(x.list), 3)] {
		p.For = append(p.For, QuantityFinding(&x.list[i]))
	}
}

// agrees says that the place of a shift is where processes are late: their node, or one in the names of all their files, or where nothing says
// on which node they run, the only one on which the tables show a reason.
func (x *shift) agrees(p *Proposal, l *resolve.Late) bool {
	nodes := x.list[0].Nodes
	if x.all || x.device || len(nodes) != 1 {
		return false
	}
	if len(p.Nodes) > 0 {
		return len(p.Nodes) == 1 && p.Nodes[0] == nodes[0]
	}
	named := func(v resolve.Voice) bool { return strings.Contains(v.File, nodes[0]) }
	if slices.ContainsFunc(l.Waiters, named) {
		return false
	}
	class := slow.ClassOf(l.Phase)
	return class == x.class || class == "" || x.class == slow.Host || !slices.ContainsFunc(l.Voices, func(v resolve.Voice) bool { return !named(v) })
}

// place names the node or the ranks, and what to do about them.
func (x *shift) place(f *resolve.Facts, p *Proposal) {
	q := &x.list[0]
	switch {
	case x.all:
		return
	case x.device:
		p.Named = x.who()
		p.Now = append([]knowledge.Advice{{Text: fmt.Sprintf("Check the cable and both ends of %s, or take the port out of service.", x.who())}}, p.Now...)
		return
	case x.reach:
		p.Named = few(q.Nodes, 4)
		p.Now = append([]knowledge.Advice{{Text: fmt.Sprintf("Check what %s share: their switch and its uplinks.", few(q.Nodes, 4))}}, p.Now...)
		return
	case len(q.Nodes) == 0:
		p.Named = x.who()
		if len(q.Ranks) > 0 {
			p.Ranks, p.Nodes, p.Scope = q.Ranks, nodesOf(f, q.Ranks), scopeOf(f, q.Ranks)
		}
		p.Now = append([]knowledge.Advice{{Text: fmt.Sprintf("Find out why %s %s on %s.", called(q), differs(q), x.who())}}, p.Now...)
		return
	}
	p.Nodes, p.Scope, p.Machine = q.Nodes, "node", true
	if len(q.Ranks) == 1 {
		p.Ranks, p.Scope = q.Ranks, "rank"
	}
	p.Now = append([]knowledge.Advice{{Text: fmt.Sprintf("Find out why %s %s on %s, or exclude {root} at the next restart.", called(q), differs(q), few(q.Nodes, 3)), Command: "sbatch --exclude={root} …"}}, p.Now...)
}

// called is a quantity without the headings above it.
func called(q *moved.Quantity) string {
	if i := strings.LastIndex(q.What, snapshot.Under); i >= 0 {
		return q.What[i+len(snapshot.Under):]
	}
	return q.What
}

// differs says what became of a quantity.
func differs(q *moved.Quantity) string {
	if q.Apart {
		return "differs"
	}
	return "changed"
}

// who is whose quantities changed.
func (x *shift) who() string { return whose(&x.list[0]) }

func whose(q *moved.Quantity) string {
	switch {
	case q.All && q.Members > 1:
		return fmt.Sprintf("all %d in these tables", q.Members)
	case q.All:
		return "the one in these tables"
	case len(q.Nodes) == 0:
		return q.Member
	case q.Member == "":
		return few(q.Nodes, 4)
	}
	return q.Member + " on " + q.Nodes[0]
}

// changed says from what to what a quantity went, and where.
func changed(q *moved.Quantity, who string) string {
	switch {
	case q.Apart:
		return fmt.Sprintf("is `%s` on %s, and `%s` elsewhere", inShort(q.IsAt.Text), who, inShort(q.OtherAt.Text))
	case q.Was == q.Is:
		return fmt.Sprintf("stayed at %s on %s, and changed elsewhere", q.IsAt.Text, who)
	case math.IsNaN(q.WasAt.Value) || math.IsNaN(q.IsAt.Value):
		return fmt.Sprintf("went from `%s` to `%s` on %s", inShort(q.WasAt.Text), inShort(q.IsAt.Text), who)
	case q.Growing:
		return fmt.Sprintf("grows on %s: %s → %s", who, q.WasAt.Text, q.IsAt.Text)
	case q.Rate:
		return fmt.Sprintf("grew %.3g times as fast on %s", q.Is/max(q.Was, 1e-9), who)
	case q.Grown():
		return fmt.Sprintf("rose from %s to %s on %s", q.WasAt.Text, q.IsAt.Text, who)
	}
	return fmt.Sprintf("fell from %s to %s on %s", q.WasAt.Text, q.IsAt.Text, who)
}

// inShort is a line or a value as it fits in a sentence.
func inShort(text string) string {
	const most = 100
	return severity.Excerpt(strings.ReplaceAll(text, "`", "'"), most)
}

// QuantityFinding quotes a value before, one since, and one since of a member that did not change.
func QuantityFinding(q *moved.Quantity) incident.Finding {
	text := fmt.Sprintf("%s %s", called(q), changed(q, whose(q)))
	switch {
	case q.Alone:
		text += "; the step lines have no time to compare that with"
	case !q.Growing && !q.Apart:
		text += " when the steps slowed down"
	}
	list := []moved.Place{q.WasAt, q.IsAt}
	if q.OtherAt.Point != nil {
		text += fmt.Sprintf("; %d others stayed as they were", q.Rest)
		list = append(list, q.OtherAt)
	}
	var ev []incident.Evidence
	for _, at := range list {
		ev = append(ev, QuotePlace(at.File, at.Point.Place, &incident.Predicate{Literals: []string{at.Text}}))
	}
	return finding(text, ev...)
}

// burdened says that whoever takes longer since a slowdown has that much more to do.
func burdened(f *resolve.Facts) bool {
	x := shifted(f)
	return x != nil && len(x.work) > 0
}
