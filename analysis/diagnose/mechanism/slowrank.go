package mechanism

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/slow"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// straggling is the method's limit: a rank's time over the median of its peers.
const straggling = 1.5

// idleTimers are timers that measure waiting for others, or work that only some ranks have: slow there says nothing about
// the rank, rather the opposite.
var idleTimers = []string{"recv", "send", "reduce", "gather", "wait", "sync", "barrier", "save", "load", "interval", "embedding", "setup", "init"}

// idleTimer says that a timer is one of them. Where a pipeline has stages, the first and the last alone load data.
func idleTimer(f *resolve.Facts, what string) bool {
	return slow.ClassOf(what) == slow.Data && f.Job.PP != 1 || slices.ContainsFunc(idleTimers, func(w string) bool { return strings.Contains(what, w) })
}

// slowShare is the share of the ranks that may be slow before that is no straggling but how the work is divided, as
// between the stages of a pipeline.
const slowShare = 8

// verdictOn is one report's opinion about its slow ranks.
type verdictOn struct {
	what string
	slow map[int]*compared
	seen int
}

type compared struct {
	rank   int
	node   string
	value  string // "2.50 s, the others 1.00 s"
	factor float64
	at     worker.At
	named  bool
}

// slowRank: times by rank are printed, and one is out of line in most reports and in the last.
func slowRank(s *Scene) *Proposal {
	f := s.Facts
	reports := slices.Concat(timeTables(f), ownTimes(f), extremes(f))
	byWhat := map[string][]verdictOn{}
	var kinds []string
	for _, r := range reports {
		if byWhat[r.what] == nil {
			kinds = append(kinds, r.what)
		}
		byWhat[r.what] = append(byWhat[r.what], r)
	}
	var best []*compared
	var why, slowest string
	for _, what := range kinds {
		list := byWhat[what]
		steady := steadily(list)
		if len(steady) == 0 || len(best) > 0 && best[0].factor >= steady[0].factor {
			continue
		}
		best, slowest = steady, what
		why = fmt.Sprintf("%s are outliers by %s in the last report", rankWords(ids(steady)), what)
		if len(steady) == 1 {
			why = fmt.Sprintf("%s is an outlier by %s in the last report", rankWords(ids(steady)), what)
		}
		if len(list) > 1 {
			why += fmt.Sprintf(" and in most of the %d", len(list))
		}
	}
	if len(best) == 0 {
		return nil
	}
	ranks := ids(best)
	p := &Proposal{Mechanism: knowledge.SlowRank, Class: Degraded, Ranks: ranks, Nodes: nodesOf(f, ranks), Scope: scopeOf(f, ranks), Base: 0.9, Why: why}
	if len(p.Nodes) == 0 {
		named := map[string]bool{}
		for _, c := range best {
			if c.node != "" {
				named[c.node] = true
			}
		}
		p.Nodes = keysOf(named)
	}
	verb := "is"
	if len(ranks) > 1 {
		verb = "are"
	}
	p.Summary = fmt.Sprintf("%s %s slower than the other ranks and slow%s the whole job", where(f, ranks), verb, map[bool]string{true: "s", false: ""}[len(ranks) == 1])
	for i, c := range best {
		if i < 3 {
			p.At = f.At(c.at)
			p.For = append(p.For, finding(fmt.Sprintf("rank %d: %s", c.rank, c.value), QuoteAt(c.at, nil)))
		}
	}
	if slow.ClassOf(slowest) == slow.Data {
		p.Summary += ": loading data takes longer there"
		p.Now = []knowledge.Advice{lateAdvice(where(f, ranks), len(p.Nodes) > 0, true)}
	}
	if d, ok := slowdown(f); ok {
		s := slowing{Slowdown: d}
		s.costs(f, p)
		p.Led = append(p.Led, finding(slower(f, &d), timeQuote(d.BaseAt), timeQuote(d.Onset)))
	}
	return p
}

func slowdown(f *resolve.Facts) (best resolve.Slowdown, ok bool) {
	for _, c := range f.Courses {
		if d, found := c.Slowdown(); found && !d.Weak && (!ok || d.Before+d.After > best.Before+best.After) {
			best, ok = d, true
		}
	}
	return best, ok
}

func ids(list []*compared) []int {
	var out []int
	for _, c := range list {
		out = appendNew(out, c.rank)
	}
	return out
}

// steadily are the ranks that are slow in the last report and in at least half of all, where they are few.
func steadily(list []verdictOn) []*compared {
	last := list[len(list)-1]
	var out []*compared
	for rank, c := range last.slow {
		n := 0
		for _, r := range list {
			if r.slow[rank] != nil {
				n++
			}
		}
		if 2*n >= len(list) {
			out = append(out, c)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].factor != out[j].factor {
			return out[i].factor > out[j].factor
		}
		return out[i].rank < out[j].rank
	})
	if len(out) > max(1, last.seen/slowShare) && !oneNode(out) {
		return nil
	}
	return out
}

func oneNode(list []*compared) bool {
	for _, c := range list {
		if c.node == "" || c.node != list[0].node {
			return false
		}
	}
	return true
}

// timeTables judges the reports that set ranks side by side.
func timeTables(f *resolve.Facts) []verdictOn {
	type key struct {
		file   string
		report int64
		what   string
	}
	groups := map[key][]*worker.RankTime{}
	var order []key
	for i := range f.Obs.RankTimes {
		x := &f.Obs.RankTimes[i]
		if x.Unit == "extreme" || x.Unit == "seconds" && idleTimer(f, x.What) {
			continue
		}
		k := key{x.File, x.Report, x.What}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], x)
	}
	var out []verdictOn
	for _, k := range order {
		r := verdictOn{what: k.what, slow: map[int]*compared{}}
		if world := f.Job.WorldSize; world > 0 {
			r.seen = world
		}
		r.compare(f, groups[k])
		out = append(out, r)
	}
	return out
}

// compare finds the slow ranks of one report. Where it lists the slowest and the fastest only, a rank is slow if it is so
// beside the mildest of the slowest: the median is no worse than that.
func (r *verdictOn) compare(f *resolve.Facts, list []*worker.RankTime) {
	r.seen = max(r.seen, len(list))
	var values []float64
	low := 0.0
	for _, x := range list {
		values = append(values, x.Value)
		if x.Side == "low" {
			low = max(low, x.Value)
		}
	}
	sort.Float64s(values)
	middle := values[(len(values)-1)/2]
	for _, x := range list {
		c := &compared{rank: x.Rank, node: x.Node, at: x.At, named: x.Named}
		if c.node == "" {
			c.node = f.RankNode(x.Rank)
		}
		switch {
		case x.Named:
			c.factor, c.value = straggling, "flagged as a straggler by the job's monitor, based on "+x.What
		case x.Unit == "seconds" && len(list) >= 3 && middle > 0:
			c.factor = x.Value / middle
			c.value = fmt.Sprintf("%s %s; the median of %d ranks is %s", x.What, Seconds(x.Value), len(list), Seconds(middle))
		case x.Side == "low" && x.Value > 0 && low > 0 && len(list) >= 3 && 2*countLow(list) <= max(r.seen, 2):
			c.factor = low / x.Value
			c.value = fmt.Sprintf("%s %.4g; the next slowest have %.4g", x.What, x.Value, low)
		default:
			continue
		}
		if c.factor > straggling || c.named {
			r.slow[c.rank] = c
		}
	}
}

func countLow(list []*worker.RankTime) int {
	n := 0
	for _, x := range list {
		if x.Side == "low" {
			n++
		}
	}
	return n
}

// extremes judges reports that tell the lowest and the highest rate of all ranks only. How the others are is not known, and the stages of
// a pipeline differ for good: the lowest counts where all had been alike before, or where the job has no stages, and where it
// stays the same rank.
func extremes(f *resolve.Facts) []verdictOn {
	const (
		alike = 1.2 // highest over lowest
		least = 3   // reports
	)
	var out []verdictOn
	wasAlike := f.Job.PP == 1
	var other *worker.RankTime
	for i := range f.Obs.RankTimes {
		high := &f.Obs.RankTimes[i]
		if high.Unit != "extreme" {
			continue
		}
		low := other
		if other = high; low == nil || low.File != high.File || low.Report != high.Report {
			continue
		}
		if low.Side == "high" { // both stand in one line
			low, high = high, low
		}
		by := high.Value / low.Value
		if by < alike {
			wasAlike, out = true, nil
			continue
		}
		r := verdictOn{what: "the lowest throughput of all", slow: map[int]*compared{}, seen: max(f.Job.WorldSize, 2)}
		if by > straggling && low.Value > 0 {
			c := &compared{rank: low.Rank, factor: by, at: low.At, value: fmt.Sprintf("%s %.4g; the fastest, rank %d, has %.4g", low.What, low.Value, high.Rank, high.Value)}
			if rk := f.Rank(low.Rank); rk != nil {
				c.node = rk.Node
			}
			r.slow[low.Rank] = c
		}
		out = append(out, r)
	}
	if !wasAlike || len(out) < least {
		return nil
	}
	return out
}

// ownTimes compares the step times that ranks print of themselves, where at least three do. In a synchronous job all are
// alike unless they leave waiting out.
func ownTimes(f *resolve.Facts) []verdictOn {
	const least = 5
	r := verdictOn{what: "its own step time", slow: map[int]*compared{}}
	type own struct {
		c    *resolve.Course
		last *resolve.Point
		mid  float64
	}
	var all []own
	seen := map[int]bool{}
	for _, c := range f.Courses {
		ps := c.Timed()
		if c.Rank == resolve.NoRank || len(ps) < least || seen[c.Rank] || !ps[len(ps)-1].Printed {
			continue
		}
		seen[c.Rank] = true
		var v []float64
		for _, p := range ps[len(ps)/2:] { // how it is now
			v = append(v, p.Seconds)
		}
		sort.Float64s(v)
		all = append(all, own{c, ps[len(ps)-1], v[(len(v)-1)/2]})
	}
	if len(all) < 3 {
		return nil
	}
	var mids []float64
	for _, o := range all {
		mids = append(mids, o.mid)
	}
	sort.Float64s(mids)
	middle := mids[(len(mids)-1)/2]
	r.seen = max(len(all), f.Job.WorldSize)
	for _, o := range all {
		if x := o.mid / middle; x > straggling {
			c := &compared{rank: o.c.Rank, factor: x, at: *o.last.At, value: fmt.Sprintf("its steps take %s; the median of %d ranks is %s", Seconds(o.mid), len(all), Seconds(middle))}
			if rk := f.Rank(o.c.Rank); rk != nil {
				c.node = rk.Node
			}
			r.slow[o.c.Rank] = c
		}
	}
	return []verdictOn{r}
}
