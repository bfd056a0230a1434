package mechanism

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"faultline/analysis/moved"
	"faultline/analysis/resolve"
	"faultline/analysis/slow"
	"faultline/knowledge"
	"faultline/pattern"
)

// What tools print of the machines of a slow job: a node that differs from all others in what it prints of itself is where to look, whatever the
// tool and whatever it is that differs.

// clearer is by how much more one node must differ than any other to be named.
const clearer = 2

// oddOne is the node that differs most, or the few that differ alike; nil where none does, or several do as much. When other jobs load a switch,
// the link counters of several nodes differ at once: these nodes wait and are not to blame.
func oddOne(f *resolve.Facts) *shift {
	by := map[string]*shift{}
	var places []string
	for _, q := range f.Contrasts.Apart {
		if len(q.Nodes) == 0 || q.Nodes[0] == "" {
			continue
		}
		beside := q.Beside && q.Class == slow.Communication && len(q.Nodes) == 1 && !onBus.MatchString(q.Member) // perhaps a switch
		victims := len(q.Nodes) > 1 && (q.Class == "" || q.Class == slow.Communication)
		if victims || !beside && f.Foreign(q.Nodes[0]) {
			continue
		}
		place := strings.Join(q.Nodes, ",")
		if by[place] == nil {
			by[place] = &shift{apart: true, device: beside}
			places = append(places, place)
		}
		by[place].list = append(by[place].list, q)
	}
	if len(places) == 0 {
		return nil
	}
	slices.SortStableFunc(places, func(a, b string) int { return by[b].weight() - by[a].weight() })
	first := by[places[0]]
	if len(places) > 1 && first.weight() < clearer*by[places[1]].weight() {
		return nil
	}
	return first.classed()
}

// onBus is a device that a host has: no port of a switch has such an address.
var onBus = pattern.New(`[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.`)

// weight is how much a node differs: in how many respects, those of which it is known that they slow a job twice.
func (x *shift) weight() int {
	n := len(x.list)
	for i := range x.list {
		if x.list[i].Class != "" {
			n++
		}
	}
	return n
}

// farApart is by what factor a number of unknown meaning must differ to tell something.
const farApart = 5

// Limits of a number that is set, and not measured: so many others state one value, and it is so far off that.
const (
	uniformRest = 7
	uniformFar  = 1.5
)

// tells says that what differs may slow a job by itself: it changed, it is of a kind that does, or it is far off. Nodes always differ in
// something, such as a firmware version; that alone accuses nobody.
func (x *shift) tells() bool {
	return slices.ContainsFunc(x.list, func(q moved.Quantity) bool {
		low, high := min(math.Abs(q.Was), math.Abs(q.Is)), max(math.Abs(q.Was), math.Abs(q.Is))
		if !q.Apart || q.Class != "" || math.IsNaN(q.IsAt.Value) {
			return !q.Apart || q.Class != ""
		}
		if isSet := q.Uniform && q.Rest >= uniformRest; isSet {
			return high >= uniformFar*low
		}
		return high >= farApart*low
	})
}

// apartSince proposes a node that differs, where a job is slower than an earlier run from its first step on.
func apartSince(slug knowledge.Slug) func(*Scene) *Proposal {
	return func(sc *Scene) *Proposal {
		f := sc.Facts
		p := fellOff(f, slug, 0.85)
		if p == nil {
			return nil
		}
		x := oddOne(f)
		if x == nil || !x.tells() || x.slug() != slug {
			return nil
		}
		q := &x.list[0]
		p.Summary = fmt.Sprintf("%s %s: %s", called(q), changed(q, x.who()), p.Summary)
		x.support(p)
		x.place(f, p)
		return p
	}
}

// oddNode names the node of processes that are late, where nothing else does: what tools print of it differs from all others.
func (p *Proposal) oddNode(f *resolve.Facts) {
	x := oddOne(f)
	if x == nil || x.device || len(p.Nodes) > 1 || len(p.Nodes) == 1 && p.Nodes[0] != x.list[0].Nodes[0] {
		return
	}
	p.Nodes = x.list[0].Nodes
	if p.Scope != "rank" {
		p.Scope = "node"
	}
	x.support(p)
}

// agreed adds what tools print of a node that is named for other reasons.
func (p *Proposal) agreed(f *resolve.Facts) *Proposal {
	if p == nil || len(p.Nodes) != 1 || p.Class != Degraded {
		return p
	}
	if x := oddOne(f); x != nil && x.list[0].Nodes[0] == p.Nodes[0] {
		x.support(p)
	}
	return p
}
