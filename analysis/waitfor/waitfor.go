// Package waitfor builds the one wait-for graph of a run: over all process groups, who waits in which collective, who
// has not entered it, and therefore who holds whom. A rank that holds one group while it is pending in another is an
// intermediate, never the root. The package judges counters only; why a rank did not come is not its question.
package waitfor

import (
	"slices"
	"sort"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
)

// Shape is the picture that the counters of a run form.
type Shape int

const (
	NoHang   Shape = iota
	Straggle       // a minority is proven not to have entered what the others wait in
	Split          // as many or more are idle as wait: counters cannot say who is wrong
	Lone           // exactly one waits, all others are shown idle
	Pair           // one waits, one is idle, nobody else: either may be wrong
	Full           // every member is in flight in the same work, none lags
	Lag            // all in flight; one rank's first open work is well behind while it keeps enqueuing
	Diverged       // members are stuck at different works, operations or sizes
	Cycle          // groups wait for each other in a circle
	Unseen         // those who could hold the others were not seen, or membership is unknown
	AllWait        // every rank waits, and no line says in what
	Told           // ranks were told of a timeout that no line of the one who reported it shows
)

// lagBy is how many works behind its group a rank must be to count as lagging: completed counters are samples.
const lagBy = 2

// silentShare bounds how many silent ranks may be read as stragglers: where many are silent, they were more likely
// killed before their own watchdog fired.
const silentShare = 0.4

// Graph is the result.
type Graph struct {
	Shape Shape
	// Root are the ranks that hold everyone (Straggle), lag (Lag), are the lone waiter (Lone) or the smaller side
	// (Diverged); empty where nothing proves them.
	Root []int
	// Idle is true where every root rank is shown idle by its own line; false where some root is only silent.
	Idle bool
	// Frontier are ranks among which the root may be; never an accusation.
	Frontier []int
	// Unseen are expected ranks whose state nothing shows.
	Unseen []int
	// Lost is true where files that could show the frontier are missing or cut: what they would say nothing bounds.
	Lost bool
	// Partial is true of Told where some ranks of the job are not among those who told and were told; Busy where some who
	// were told had work in flight themselves.
	Partial, Busy bool
	// Elsewhere is true of Told where the job has groups beside the default one: whose counters alone those who were told print.
	Elsewhere bool
	// Outside is true where some rank is shown not to have entered what others wait in: then it is no hang inside.
	Outside bool
	// Late is true of Straggle, and of Unseen, where the roots, or the frontier, are there at last, and came when others had given up.
	Late bool
	// Unstarted is true of Lag where the roots' GPUs have not begun what all are in, and those of the others have.
	Unstarted bool
	// Groups that are stuck at the root of the waiting; Downstream are stuck because of them.
	Groups, Downstream []*resolve.Group
	// IsAhead is true where somebody waits further on than those who wait in a broadcast or another operation with a root: being ahead proves
	// no divergence, and excludes none.
	IsAhead       bool
	Left          bool  // somebody waits for nobody, and has completed what the others wait in
	Waiters       []int // ranks pending somewhere
	Intermediates []int // hold a group while pending in another
	Free          []int // seen, nothing pending anywhere
	Anonymous     int   // waiting processes without a proven rank
	Start, Report resolve.Moment
	// Gloo is true where the waiting is read off the time-outs of Gloo, or of a library like it, which name no group and no work; OnGPU
	// where it was kernels that waited.
	Gloo, OnGPU bool
	// reported is, for each file, where its first line stands that reports a wait.
	reported map[string]int64
	views    map[*resolve.Group]*view
}

// ReportedAbove says that a wait was reported above this place in its file.
func (g *Graph) ReportedAbove(p worker.Pos) bool {
	off, ok := g.reported[p.File]
	return ok && off < p.Off
}

// Waits says whether a rank waits in any group.
func (g *Graph) Waits(rank int) bool {
	i := sort.SearchInts(g.Waiters, rank)
	return i < len(g.Waiters) && g.Waiters[i] == rank
}

// Waiting is how many processes wait, those without a proven rank among them.
func (g *Graph) Waiting() int { return len(g.Waiters) + g.Anonymous }

// Build reads the counters of a run.
func Build(f *resolve.Facts) *Graph {
	g := &Graph{reported: map[string]int64{}, views: map[*resolve.Group]*view{}}
	stuck := g.read(f)
	if len(stuck) == 0 {
		if !g.gloo(f) {
			g.told(f)
		}
		return g
	}
	for _, r := range f.Ranks {
		seen := r.Lines > 0 && !f.Coverage.CutRanks[r.ID] || r.Recorded != nil
		if seen && !g.Waits(r.ID) {
			g.Free = append(g.Free, r.ID)
		}
	}
	for _, step := range []func(*resolve.Facts, []*view) bool{g.late, g.diverged, g.full, g.held} {
		if step(f, stuck) {
			break
		}
	}
	for _, v := range stuck {
		if !slices.Contains(g.Groups, v.Group) {
			g.Downstream = append(g.Downstream, v.Group)
		}
	}
	return g
}

// read takes in what is pending: the stuck groups, the first one to start first, who waits and who is ahead in them.
func (g *Graph) read(f *resolve.Facts) []*view {
	waits := map[int]bool{}
	var stuck []*view
	for _, gr := range f.Groups {
		if len(gr.Pending) == 0 {
			continue
		}
		v := newView(f, gr)
		g.views[gr] = v
		stuck = append(stuck, v)
		for r := range v.first {
			if r.ID == resolve.NoRank {
				g.Anonymous++
			} else {
				waits[r.ID] = true
			}
		}
		g.IsAhead = g.IsAhead || len(v.ahead) > 0
		for _, p := range gr.Pending {
			g.report(p)
		}
	}
	for _, r := range f.Ranks {
		if r.FromLocal && len(stuck) > 0 {
			waits[r.ID] = true // its own watchdog fired, if only in a group no line of it names
		}
	}
	g.Waiters = keys(waits)
	sort.SliceStable(stuck, func(i, j int) bool { return stuck[i].earlier(stuck[j]) })
	return stuck
}

// report notes where and when a wait was reported. One that only a dump shows has no line.
func (g *Graph) report(p *resolve.Pending) {
	if p.At.File == "" {
		return
	}
	if off, seen := g.reported[p.At.File]; !seen || p.At.Off < off {
		g.reported[p.At.File] = p.At.Off
	}
	g.Start, g.Report = g.Start.Earliest(p.Start), g.Report.Earliest(p.Report)
}

// sized tells whether the sizes of a work must agree over the ranks of its group.
func sized(w *worker.Work) bool { return equalSizes[w.Op] || w.Shares() > 0 }

// equalSizes are operations whose input size must agree over the ranks of a group.
var equalSizes = map[string]bool{
	"ALLREDUCE": true, "BROADCAST": true, "REDUCE": true, "ALLGATHER": true, "_ALLGATHER_BASE": true,
	"_REDUCE_SCATTER_BASE": true, "REDUCE_SCATTER": true, "BARRIER": true, "ALLREDUCE_COALESCED": true,
}

func groups(vs []*view) []*resolve.Group {
	var out []*resolve.Group
	for _, v := range vs {
		out = append(out, v.Group)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return out
}

func keys(m map[int]bool) []int {
	out := make([]int, 0, len(m))
	for k, v := range m {
		if v {
			out = append(out, k)
		}
	}
	sort.Ints(out)
	return out
}

func unique(v []int) []int {
	m := map[int]bool{}
	for _, x := range v {
		m[x] = true
	}
	return keys(m)
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}
