package trace

import (
	"cmp"
	"slices"
	"strings"

	"faultline/analysis/ascii"
)

// Limits of a comparison.
const (
	leastSteps = 3
	slowBy     = 1.2 // a rank's own time over its peers', from where on it is out of line
	heldBy     = 0.1 // of a step that the peers wait longer than it
	mostSteps  = 2.0 / 3
	fewSteps   = 12  // with fewer, chance makes one rank the slowest in two of three: one step may be otherwise
	explains   = 0.6 // of what a rank is slower by, from where on something is why
	sameWork   = 0.02
)

// Causes are what the time of a rank that holds the others goes into.
const (
	Loading = "loading" // it waits for its data
	Slower  = "slower"  // its GPU runs as many kernels as the others', for longer
	More    = "more"    // it runs more or other kernels, or operations, than the others
	Host    = "host"    // its GPU lies idle: nothing is launched
)

// Comparison sets the ranks of one job side by side. Only durations are compared: their clocks need not agree.
type Comparison struct {
	Ranks []int
	Steps []int64 // that all of them recorded
	// Held are the ranks that the others wait for.
	Held []Held
	// Turns: in most steps somebody is waited for, and it is not the same rank.
	Turns bool
	// Not says why nothing can be compared; "" where it was.
	Not string
}

// Held is a rank that holds others: it works longer than they do, and waits less in the very collectives in which they wait for it.
type Held struct {
	Rank  int
	N     int // steps of Comparison.Steps in which it is so
	Ratio float64
	Cause string // "" open
	// Uneven: work travels between ranks in this job (all-to-all), so that it may have got more of it. Partial: not all ranks are
	// at hand, and it waits itself: somebody else may be slower still.
	Uneven, Partial bool
	Witness         Witness
}

// Witness is one step that shows it, beside one peer.
type Witness struct {
	Step         int64
	Peer         int
	Mine, Theirs *Step
	Op           string
	Nth          int // of the collectives of that kind in the step, from 1
	MyCall       Call
	TheirCall    Call
}

// Compare sets traces side by side by global rank; world is how many ranks there are, 0 unknown.
func Compare(traces map[int]*Trace, world int) *Comparison {
	c := &Comparison{}
	x := comparer{traces: traces, c: c}
	for id := range traces {
		c.Ranks = append(c.Ranks, id)
	}
	slices.Sort(c.Ranks)
	if len(c.Ranks) < 2 {
		c.Not = "it takes the traces of two ranks at least"
		return c
	}
	grouped, gpus := 0, 0
	for _, id := range c.Ranks {
		t := traces[id]
		x.pairs, x.exchange = x.pairs || t.Pairs, x.exchange || t.Exchange
		if t.Grouped {
			grouped++
		}
		if t.GPU {
			gpus++
		}
	}
	x.grouped = grouped == len(c.Ranks)
	x.partial = world == 0 || len(c.Ranks) < world
	switch {
	case gpus != 0 && gpus != len(c.Ranks):
		c.Not = "some traces have kernels of a GPU and others have none"
		return c
	case x.pairs && !x.grouped:
		c.Not = "there are sends and receives, and no collective states its group: stages of a pipeline do different work"
		return c
	}
	x.common()
	if len(c.Steps) < leastSteps {
		c.Not = "fewer than three steps (ProfilerStep#) are in all of the traces"
		return c
	}
	x.judge()
	return c
}

type comparer struct {
	traces                            map[int]*Trace
	c                                 *Comparison
	pairs, exchange, grouped, partial bool
	at                                map[int][]*Step // by rank, as Comparison.Steps
}

// common finds the steps that all have.
func (x *comparer) common() {
	n := map[int64]int{}
	for _, t := range x.traces {
		for i := range t.Steps {
			if t.Steps[i].Number != None && t.Steps[i].Dur > 0 {
				n[t.Steps[i].Number]++
			}
		}
	}
	for id, k := range n {
		if k == len(x.traces) {
			x.c.Steps = append(x.c.Steps, id)
		}
	}
	slices.Sort(x.c.Steps)
	x.at = map[int][]*Step{}
	for id, t := range x.traces {
		for _, number := range x.c.Steps {
			i, _ := slices.BinarySearchFunc(t.Steps, number, func(s Step, n int64) int { return cmp.Compare(s.Number, n) })
			x.at[id] = append(x.at[id], &t.Steps[i])
		}
	}
}

// judge looks for ranks that are out of line in most steps.
func (x *comparer) judge() {
	anybody := make([]bool, len(x.c.Steps))
	teams := x.teams()
	for _, id := range x.c.Ranks {
		peers := teams[id]
		if len(peers) == 0 {
			continue
		}
		var out []int
		var ratios []float64
		partial := 0
		for i := range x.c.Steps {
			r, waits, ok := x.outOfLine(id, peers, i)
			if !ok {
				continue
			}
			anybody[i] = true
			out, ratios = append(out, i), append(ratios, r)
			if waits {
				partial++
			}
		}
		if float64(len(out)) < mostSteps*float64(len(x.c.Steps)) || len(out) < leastSteps || len(x.c.Steps) < fewSteps && len(out) < len(x.c.Steps)-1 {
			continue
		}
		sorted := slices.Sorted(slices.Values(ratios))
		h := Held{Rank: id, N: len(out), Ratio: sorted[(len(sorted)-1)/2], Uneven: x.exchange, Partial: x.partial && 2*partial > len(out)}
		h.Cause = x.cause(id, peers, out)
		typical := out[slices.Index(ratios, h.Ratio)]
		if w, ok := x.witness(id, peers, typical); ok {
			h.Witness = w
			x.c.Held = append(x.c.Held, h)
		}
	}
	n := 0
	for _, b := range anybody {
		if b {
			n++
		}
	}
	x.c.Turns = len(x.c.Held) == 0 && float64(n) >= mostSteps*float64(len(anybody))
}

// teams are, for each rank, those that do the same work as it: who is in a group with it. Where stages of a pipeline exist, the
// group of the whole job does not count.
func (x *comparer) teams() map[int][]int {
	out := map[int][]int{}
	if !x.grouped {
		for _, id := range x.c.Ranks {
			out[id] = slices.DeleteFunc(slices.Clone(x.c.Ranks), func(o int) bool { return o == id })
		}
		return out
	}
	in := map[string][]int{}
	for _, id := range x.c.Ranks {
		t := x.traces[id]
		seen := map[string]bool{}
		for i := range t.Steps {
			for _, o := range t.Steps[i].Ops {
				whole := o.Desc == "default_pg" || t.World > 0 && o.Size == t.World
				if o.Group == "" || seen[o.Group] || x.pairs && whole || pairwise(o.Name) {
					continue
				}
				seen[o.Group] = true
				in[o.Group] = append(in[o.Group], id)
			}
		}
	}
	for _, ids := range in {
		for _, id := range ids {
			out[id] = append(out[id], ids...)
		}
	}
	for id, ids := range out {
		slices.Sort(ids)
		out[id] = slices.DeleteFunc(slices.Compact(ids), func(o int) bool { return o == id })
	}
	return out
}

func pairwise(op string) bool {
	op = strings.ToLower(op)
	return ascii.Has(op, "send", "recv")
}

// outOfLine says that a rank holds its peers in a step, by how many times its own work is longer than theirs, and whether it waits
// for somebody itself.
func (x *comparer) outOfLine(id int, peers []int, i int) (ratio float64, waits, ok bool) {
	mine := x.at[id][i]
	own := middle(peers, func(p int) int64 { return x.at[p][i].Own() })
	wait := middle(peers, func(p int) int64 { return x.at[p][i].Exposed })
	if own <= 0 || float64(mine.Own()) < slowBy*float64(own) || float64(wait-mine.Exposed) < heldBy*float64(mine.Dur) {
		return 0, false, false
	}
	if _, gap := x.kind(id, peers, i); float64(gap) < heldBy*float64(mine.Dur) {
		return 0, false, false
	}
	return float64(mine.Own()) / float64(own), 2*mine.Exposed > wait, true
}

// kind is the kind of collective by which the peers waited longest, beside the rank.
func (x *comparer) kind(id int, peers []int, i int) (best *Op, gap int64) {
	mine := x.at[id][i]
	for k := range mine.Ops {
		o := &mine.Ops[k]
		if pairwise(o.Name) {
			continue
		}
		var theirs []int64
		for _, p := range peers {
			if q := x.at[p][i].op(o); q != nil && q.N == o.N {
				theirs = append(theirs, q.Total)
			}
		}
		if len(theirs) == 0 {
			continue
		}
		slices.Sort(theirs)
		if g := theirs[(len(theirs)-1)/2] - o.Total; g > gap {
			best, gap = o, g
		}
	}
	return best, gap
}

func (s *Step) op(like *Op) *Op {
	for i := range s.Ops {
		if s.Ops[i].Name == like.Name && s.Ops[i].Group == like.Group {
			return &s.Ops[i]
		}
	}
	return nil
}

// cause is what the rank is slower by.
func (x *comparer) cause(id int, peers []int, steps []int) string {
	diff := func(of func(*Step) int64) float64 {
		var list []int64
		for _, i := range steps {
			list = append(list, of(x.at[id][i])-middle(peers, func(p int) int64 { return of(x.at[p][i]) }))
		}
		slices.Sort(list)
		return float64(list[(len(list)-1)/2])
	}
	own := explains * diff((*Step).Own)
	more := diff(func(s *Step) int64 { return int64(s.Kernels) })
	usual := sameWork * float64(middle(peers, func(p int) int64 { return int64(x.at[p][steps[0]].Kernels) }))
	other := more > usual || more < -usual
	gpu := x.traces[id].GPU
	switch {
	case diff(func(s *Step) int64 { return s.Loader }) >= own:
		return Loading
	case !gpu && other:
		return More
	case gpu && diff(func(s *Step) int64 { return s.Compute }) >= own:
		if other {
			return More
		}
		return Slower
	case gpu && diff(func(s *Step) int64 { return s.Idle }) >= own:
		return Host
	}
	return ""
}

// witness chooses the collective of a step that shows it best, beside the peer in the middle.
func (x *comparer) witness(id int, peers []int, i int) (Witness, bool) {
	w := Witness{Step: x.c.Steps[i], Mine: x.at[id][i]}
	o, _ := x.kind(id, peers, i)
	if o == nil {
		return w, false
	}
	beside := slices.DeleteFunc(slices.Clone(peers), func(p int) bool {
		q := x.at[p][i].op(o)
		return q == nil || q.N != o.N
	})
	slices.SortStableFunc(beside, func(a, b int) int { return cmp.Compare(x.at[a][i].op(o).Total, x.at[b][i].op(o).Total) })
	w.Peer = beside[(len(beside)-1)/2]
	w.Theirs, w.Op = x.at[w.Peer][i], o.Name
	q, gap := w.Theirs.op(o), int64(0)
	for k := range o.N {
		a, ok := o.At(k)
		b, ok2 := q.At(k)
		if ok && ok2 && a.At.Known() && b.At.Known() && b.Dur-a.Dur > gap {
			gap, w.Nth, w.MyCall, w.TheirCall = b.Dur-a.Dur, k+1, a, b
		}
		if k == len(o.First)-1 && o.N > len(o.First)+len(o.Last) {
			continue
		}
	}
	return w, w.Nth > 0
}

// middle is the lower median over ranks.
func middle(ranks []int, of func(int) int64) int64 {
	v := make([]int64, len(ranks))
	for i, p := range ranks {
		v[i] = of(p)
	}
	slices.Sort(v)
	return v[(len(v)-1)/2]
}
