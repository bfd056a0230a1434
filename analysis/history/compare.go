package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/incident"
	"faultline/knowledge"
)

// This is the run that is compared.
type This struct {
	Who
	Job       string
	Run       int
	Name      string
	Start     string
	Nodes     []string
	WorldSize int
	Framework string
}

// Past is what is left of a book for one run: the earlier runs that it can be compared with.
type Past struct {
	This
	Warnings []string
	book     *Book
	runs     []*Run // all but this one
	near     []*Run // those of the same cluster, as far as is known
}

// Past compares a run with a book.
func (b *Book) Past(this This) *Past {
	p := &Past{This: this, book: b}
	clusters := map[string]bool{}
	for _, r := range b.Runs {
		if this.Job != "" && r.Job == this.Job && r.Run == this.Run && (r.Cluster == "" || this.Cluster == "" || r.Cluster == this.Cluster) {
			continue // this very run
		}
		p.runs = append(p.runs, r)
		if r.Cluster != "" {
			clusters[r.Cluster] = true
		}
	}
	if this.Cluster == "" && len(clusters) > 1 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s contains runs from %d clusters, and nothing shows which one this job ran on: nodes were not compared (give --cluster NAME)", b.Files[0], len(clusters)))
		return p
	}
	for _, r := range p.runs {
		if r.Cluster == "" || this.Cluster == "" || r.Cluster == this.Cluster {
			p.near = append(p.near, r)
		}
	}
	return p
}

// sameName says that both are runs of the same job, by name, and by submitter where both are known.
func (p *Past) sameName(r *Run) bool {
	return p.Name != "" && r.Name == p.Name && (p.User == "" || r.User == "" || p.User == r.User)
}

// Summary counts what there is to compare with.
func (p *Past) Summary() incident.History {
	h := incident.History{Files: slices.Clone(p.book.Files), Runs: len(p.runs), Recurrences: []incident.Recurrence{}}
	for _, r := range p.runs {
		if p.sameName(r) {
			h.SameName++
		}
	}
	for _, r := range p.near {
		if slices.ContainsFunc(p.Nodes, func(n string) bool { return r.nodes[n] }) {
			h.SharedNodes++
		}
	}
	return h
}

// rare is the chance below which a coincidence is no good explanation.
const rare = 0.01

// atLeast is the chance that of independent events at least k happen. The order of the events does not matter.
func atLeast(k int, chances []float64) float64 {
	const most = 64 // beyond it the chance of 64 is an upper bound
	k = min(k, most)
	chances = slices.Clone(chances)
	slices.Sort(chances)
	dist := make([]float64, k+1) // the last one: k or more
	dist[0] = 1
	for _, c := range chances {
		for i := k; i >= 0; i-- {
			up := 0.0
			if i > 0 {
				up = dist[i-1] * c
			}
			if i < k {
				dist[i] = dist[i]*(1-c) + up
			} else {
				dist[i] += up
			}
		}
	}
	return math.Min(dist[k], 1)
}

// told says that the verdict of an earlier run may be built upon.
func (r *Run) told() bool {
	return r.Status == incident.Confirmed || r.Status == incident.Probable
}

// Host looks for earlier runs in which the node was the root of such a failure as a machine can cause. machine says which
// mechanisms those are. It is nil where there is none.
//
// It weighs when chance is no good explanation: if the root of each failed run had fallen on its nodes at random, the node
// would have been the root that often in less than one of a hundred histories. Runs in which the rank explains as much as
// the machine are left out of that: the same rank of the same job, and rank 0, which has duties of its own.
func (p *Past) Host(node string, ranks []int, machine func(mechanism knowledge.Slug) bool) *incident.Recurrence {
	var on, root, free []*Run
	var chances []float64
	for _, r := range p.near {
		if !r.nodes[node] {
			continue
		}
		on = append(on, r)
		if !r.told() || r.Completed || len(r.RootNodes) == 0 || !machine(knowledge.Slug(r.Mechanism)) {
			continue
		}
		hit := slices.Contains(r.RootNodes, node)
		if hit {
			root = append(root, r)
		}
		if hit && p.sameRank(r, ranks) {
			continue
		}
		chances = append(chances, min(1, float64(len(r.RootNodes))/float64(max(len(r.nodes), r.NodesCount))))
		if hit {
			free = append(free, r)
		}
	}
	if len(root) == 0 {
		return nil
	}
	out := &incident.Recurrence{Kind: incident.SameHost, What: node, Times: len(root), Of: len(on), Runs: ids(root)}
	out.Statement = fmt.Sprintf("%s was the culprit in %d of the %s that ran on it", node, len(root), earlier(on))
	is := incident.Member{Name: "root_nodes", Value: node}
	times, ok1 := p.book.count(root, is)
	of, ok2 := p.book.count(on, incident.Member{Name: "nodes", Value: node})
	out.Weighs = ok1 && ok2 && len(free) > 0 && atLeast(len(free), chances) < rare
	switch {
	case out.Weighs:
		out.Statement += ", more often than chance explains"
	case len(free) == 0:
		out.Statement += ", but each time a rank explains it as well as the machine does"
	default:
		out.Statement += "; that may be chance"
	}
	out.Evidence = evidence(root, []string{"mechanism", "root_ranks", "root_nodes"}, pair{times, ok1}, pair{of, ok2})
	return out
}

// sameRank says that the rank explains a recurrence as well as the host does, or that nothing says it does not.
func (p *Past) sameRank(r *Run, ranks []int) bool {
	if slices.Contains(r.RootRanks, 0) {
		return true
	}
	another := p.Name != "" && r.Name != "" && r.Name != p.Name
	if len(ranks) == 0 || len(r.RootRanks) == 0 {
		return !another
	}
	return !another && slices.ContainsFunc(ranks, func(id int) bool { return slices.Contains(r.RootRanks, id) })
}

// Step looks for earlier runs of the same job that ended after the same step with the same mechanism. It is nil where there
// is none. It weighs when chance is no good explanation: if each of the runs that ended so had ended at any of the steps it
// logged alike, this step would have been hit that often in less than one of a hundred histories.
func (p *Past) Step(step int64, mechanism string) *incident.Recurrence {
	var such, same []*Run
	var chances []float64
	for _, r := range p.runs {
		if !p.sameName(r) || !r.told() || r.Mechanism != mechanism || r.Step == nil {
			continue
		}
		such = append(such, r)
		chances = append(chances, 1/float64(max(1, r.StepsLogged)))
		if *r.Step == step {
			same = append(same, r)
		}
	}
	if len(same) == 0 {
		return nil
	}
	out := &incident.Recurrence{Kind: incident.SameStep, What: strconv.FormatInt(step, 10), Times: len(same), Of: len(such), Runs: ids(same)}
	out.Statement = fmt.Sprintf("step %d was the last one in %d of the %s of this job that ended in the same way", step, len(same), earlier(such))
	is := []incident.Member{{Name: "name", Value: p.Name}, {Name: "mechanism", Value: mechanism}}
	times, ok1 := p.book.count(same, append([]incident.Member{{Name: "step", Value: out.What}}, is...)...)
	of, ok2 := p.book.count(such, is...)
	if out.Weighs = ok1 && ok2 && atLeast(len(same), chances) < rare; out.Weighs {
		out.Statement += ", more often than chance explains"
	} else {
		out.Statement += "; that may be chance"
	}
	out.Evidence = evidence(same, []string{"mechanism", "step"}, pair{times, ok1}, pair{of, ok2})
	return out
}

// Elsewhere says that all runs which ended after this step had their root on other nodes than these.
func (p *Past) Elsewhere(rec *incident.Recurrence, nodes []string) bool {
	n := 0
	for _, r := range p.runs {
		if !slices.Contains(rec.Runs, r.ID) {
			continue
		}
		if len(r.RootNodes) == 0 || slices.ContainsFunc(nodes, func(x string) bool { return slices.Contains(r.RootNodes, x) }) {
			return false
		}
		n++
	}
	return n > 0 && len(nodes) > 0
}

// Item looks for earlier runs whose failure names the same item. It is nil where there is none. A name is met again by
// chance only where it is no item's own: so it weighs, unless runs that failed otherwise cite it as well.
func (p *Past) Item(item, mechanism string) *incident.Recurrence {
	var same, named []*Run
	alike := true
	for _, r := range p.runs {
		if r.Item == "" || r.Completed {
			continue
		}
		named = append(named, r)
		if r.Item == item {
			same = append(same, r)
			alike = alike && r.Mechanism == mechanism
		}
	}
	if len(same) == 0 {
		return nil
	}
	out := &incident.Recurrence{Kind: incident.SameItem, What: item, Times: len(same), Of: len(named), Runs: ids(same)}
	out.Statement = fmt.Sprintf("the failure named the same item in %d of the %s that named one: %s", len(same), earlier(named), item)
	times, ok := p.book.count(same, incident.Member{Name: "item", Value: item})
	out.Weighs = ok && alike
	out.Evidence = evidence(same, []string{"mechanism", "item"}, pair{times, ok})
	return out
}

type pair struct {
	e  incident.Evidence
	ok bool
}

// quoted is how many lines are quoted beside the counts, and listed how many runs are named.
const (
	quoted = 2
	listed = 20
)

// evidence puts the counts first and then quotes the newest of the runs.
func evidence(runs []*Run, members []string, counts ...pair) []incident.Evidence {
	out := []incident.Evidence{}
	for _, c := range counts {
		if c.ok {
			out = append(out, c.e)
		}
	}
	for i, r := range newest(runs) {
		if i == quoted {
			break
		}
		out = append(out, r.quote(members...))
	}
	return out
}

func ids(runs []*Run) []string {
	out := []string{}
	for i, r := range newest(runs) {
		if i == listed {
			break
		}
		out = append(out, r.ID)
	}
	return out
}

// newest orders runs by their end, the newest first; those whose end is not stated by their number.
func newest(runs []*Run) []*Run {
	out := slices.Clone(runs)
	slices.SortFunc(out, func(x, y *Run) int { return later(y, x) })
	return out
}

func later(x, y *Run) int {
	tx, okx := moment(x.End)
	ty, oky := moment(y.End)
	if okx && oky {
		if c := tx.Compare(ty); c != 0 {
			return c
		}
	}
	jx, ex := strconv.ParseInt(x.Job, 10, 64)
	jy, ey := strconv.ParseInt(y.Job, 10, 64)
	if ex == nil && ey == nil && jx != jy {
		return cmp.Compare(jx, jy)
	}
	return cmp.Or(cmp.Compare(x.Run, y.Run), strings.Compare(x.ID, y.ID))
}

// moment reads a time of a report: RFC 3339, the zone left out where it was not proven. Without a year there is no order.
func moment(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// earlier writes "41 earlier jobs", or runs where a job is among them more than once.
func earlier(runs []*Run) string {
	jobs := map[string]bool{}
	for _, r := range runs {
		jobs[r.Cluster+"/"+r.Job] = true
	}
	noun := "job"
	if len(jobs) < len(runs) {
		noun = "run"
	}
	if len(runs) == 1 {
		return "1 earlier " + noun
	}
	return fmt.Sprintf("%d earlier %ss", len(runs), noun)
}
