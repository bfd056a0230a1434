package waitfor

import (
	"maps"
	"slices"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
)

// sight is how it is known that a rank waits for nobody, or that it has not come.
type sight int

const (
	silent sight = iota + 1 // it was seen, and reports no wait
	shown                   // a line or a dump shows it
)

// absence is who has not come to what others wait in.
type absence struct {
	holders map[int]sight
	groups  []*view // those they hold
	between map[int]bool
	unseen  map[int]bool
	// indirect is true where the stuck group's own counters of some holder are not stated.
	indirect bool
}

// held looks for those who hold the others: ranks that have not entered and wait for nobody.
func (g *Graph) held(f *resolve.Facts, stuck []*view) bool {
	free := g.free(f)
	a := g.absent(f, stuck, free)
	if len(a.holders) == 0 && f.Job.WorldSize > 0 && len(a.unseen) == 0 {
		a.holders = g.remaining(f, stuck, free)
	}
	if len(a.holders) == 0 {
		a.holders, a.groups = idleInWorld(f, stuck, free)
	}
	for _, id := range quietFiles(f, a.holders) {
		delete(a.holders, id)
		a.unseen[id] = true
	}
	if len(a.groups) == 0 {
		a.groups = stuck
	}
	roots := slices.Sorted(maps.Keys(a.holders))
	g.Groups, g.Intermediates, g.Unseen = groups(a.groups), keys(a.between), keys(a.unseen)
	g.Idle = len(roots) > 0
	for _, how := range a.holders {
		g.Idle = g.Idle && how == shown
		g.Outside = g.Outside || how == shown
	}
	switch g.Shape = g.shape(f, stuck, roots, a.indirect); g.Shape {
	case Straggle:
		g.Root = roots
	case Split:
		g.Frontier = roots
	case Lone:
		g.Root = g.Waiters
	case Pair:
		g.Frontier = unique(append(roots, g.Waiters...))
	case Unseen:
		g.Frontier = unique(append(roots, g.Unseen...))
		if len(g.Frontier) == 0 {
			g.Frontier = g.quiet(f, free)
		}
	}
	g.lost(f)
	return true
}

// quiet are the few who were seen and report no wait, where nobody states how many ranks there are: one of them may hold those who wait, or one
// that was not seen.
func (g *Graph) quiet(f *resolve.Facts, free map[int]sight) []int {
	if f.Job.WorldSize > 0 || g.Anonymous > 0 || !few(f, len(g.Waiters), g.Free) {
		return nil
	}
	silent := maps.Clone(free)
	for _, id := range quietFiles(f, silent) {
		delete(silent, id)
	}
	return slices.Sorted(maps.Keys(silent))
}

// free are the ranks that were seen when others reported, and wait for nobody.
//
// Where others print their counters at the timeout, a living process prints its own: its monitor thread needs nothing of Python. One that does
// not was not seen then, unless it says itself that it had come to its end. One whose watchdog fired may have waited as the others did.
func (g *Graph) free(f *resolve.Facts) map[int]sight {
	counted := slices.ContainsFunc(f.Ranks, hasCounters)
	out := map[int]sight{}
	for _, id := range g.Free {
		r := f.Rank(id)
		idle := r.Dump != nil && r.Dump.Idle()
		switch {
		case counted && !hasCounters(r) && !ranOut(f, r), r.Fired && !idle:
		case idle || r.Recorded.Nothing():
			out[id] = shown
		default:
			out[id] = silent
		}
	}
	return out
}

// hasCounters says that the counters of a rank are at hand.
func hasCounters(r *resolve.Rank) bool {
	return r.Dump != nil || r.Notified != nil || r.Recorded != nil
}

// absent asks of each member of each stuck group where it is, and who of the ranks that are expected was not seen.
func (g *Graph) absent(f *resolve.Facts, stuck []*view, free map[int]sight) *absence {
	a := &absence{holders: map[int]sight{}, between: map[int]bool{}, unseen: map[int]bool{}}
	for _, v := range stuck {
		holds := false
		for _, id := range v.Members {
			holds = g.ask(f, v, id, free, a) || holds
		}
		if holds {
			a.groups = append(a.groups, v)
		}
	}
	if f.Job.WorldSize == 0 && g.Anonymous > 0 {
		return a // nobody knows which ranks the nameless are
	}
	for id := range f.Job.AtLeast() {
		if free[id] == 0 && !g.Waits(id) {
			a.unseen[id] = true
		}
	}
	return a
}

// ask notes where a member of a stuck group is, and says whether it holds the group. One that is found in flight is no longer free.
func (g *Graph) ask(f *resolve.Facts, v *view, id int, free map[int]sight, a *absence) bool {
	entered, known := v.joined(f, id)
	how := free[id]
	switch {
	case entered:
		if r := f.Rank(id); r != nil && r.Dump != nil && r.Dump.Completed < v.seq {
			delete(free, id) // its own watchdog had not fired yet
		}
	case g.Waits(id):
		a.between[id] = true
	case how == 0:
		a.unseen[id] = true
	case how == silent && !known && v.Basis == "seen-only" && !v.Complete():
		// A member by the order of ranks: that it is silent proves nothing where others may be unseen. A known world is asked as a whole.
		if f.Job.WorldSize == 0 {
			a.unseen[id] = true
		}
	default:
		a.indirect = a.indirect || !known
		a.holders[id] = max(a.holders[id], v.sightOf(how, known))
		return true
	}
	return false
}

// sightOf is how it is known that a member has not come: shown by the group's counters of it, or where it was told by another and is quiet in every
// group: had it been waiting here, its own watchdog would have fired.
func (v *view) sightOf(how sight, known bool) sight {
	if known || how == shown && (v.Complete() || v.Basis == "seen-only") {
		return shown
	}
	return silent
}

// remaining are the free ranks of a world in which everyone else waits: where no group's membership is known beyond those seen, they are the only
// end that the chain of waiting can have.
func (g *Graph) remaining(f *resolve.Facts, stuck []*view, free map[int]sight) map[int]sight {
	out := maps.Clone(free)
	maps.DeleteFunc(out, func(id int, _ sight) bool { return g.left(f, stuck, id) })
	return out
}

// idleInWorld are the ranks shown idle in the very group that others wait in: they hold it, whoever else may exist.
func idleInWorld(f *resolve.Facts, stuck []*view, free map[int]sight) (map[int]sight, []*view) {
	holders := map[int]sight{}
	var where []*view
	for _, v := range stuck {
		if !v.Default {
			continue
		}
		for id := range free {
			if entered, known := v.joined(f, id); known && !entered {
				holders[id] = shown
			}
		}
		if len(holders) > 0 {
			where = append(where, v)
		}
	}
	return holders, where
}

// shape is what those who wait and those who did not come make together.
func (g *Graph) shape(f *resolve.Facts, stuck []*view, roots []int, indirect bool) Shape {
	waiting := g.Waiting()
	switch {
	case len(roots) == 0 && len(g.Unseen) == 0 && f.Job.WorldSize > 0 && cyclic(stuck):
		return Cycle
	case len(roots) == 0, g.doubtful(f, roots, indirect), waiting == 1 && unknownPeer(stuck):
		return Unseen
	case waiting > len(roots):
		return Straggle
	case waiting > 1:
		return Split
	case len(g.Unseen) > 0:
		return Unseen
	case len(roots) == 1:
		return Pair
	case g.Idle:
		return Lone
	}
	return Unseen
}

// doubtful says that those who seem to hold the others need not: where others are unseen too, or where many are silent, or some on different nodes, a
// launcher may have ended one before its own watchdog fired, and a process that waited without a name may be the one that seems silent. Many who
// were told and reported nothing were more likely ended, too.
func (g *Graph) doubtful(f *resolve.Facts, roots []int, indirect bool) bool {
	waiting := g.Waiting()
	several := len(roots) > 1
	many := several && float64(len(roots)) > silentShare*float64(waiting+len(roots))
	if many && indirect {
		return true
	}
	nameless := g.Anonymous > 0 && (f.Job.WorldSize == 0 || waiting+len(roots) > f.Job.WorldSize)
	unproven := len(g.Unseen) > 0 || many || nameless
	return !g.Idle && (unproven || several && !oneNode(f, roots))
}

// unknownPeer says that nothing shows whom a single waiter waits for: senders and receivers count each pair by itself, and a group's other members
// may be unknown.
func unknownPeer(stuck []*view) bool {
	if len(stuck) > 1 {
		return false
	}
	v := stuck[0]
	return v.P2P || !v.Default && !v.Complete()
}

// left says that a rank has already completed what others wait in, in every group: it does not hold them there.
func (g *Graph) left(f *resolve.Facts, stuck []*view, id int) bool {
	r := f.Rank(id)
	for _, v := range stuck {
		if !v.Default || v.P2P || r == nil || r.Dump == nil || r.Dump.Completed < v.seq {
			return false
		}
	}
	g.Left = true
	return true
}

// oneNode says that ranks are known to be on one node, so that one thing may have held them all.
func oneNode(f *resolve.Facts, ranks []int) bool {
	for _, id := range ranks {
		if r := f.Rank(id); r == nil || r.Node == "" || r.Node != f.Rank(ranks[0]).Node {
			return false
		}
	}
	return true
}

// lastWords is how many lines a process may write behind the one that tells the end of its data, and end.
const lastWords = 5

// ranOut says that the last that a rank wrote is that its data or its epoch had ended.
func ranOut(f *resolve.Facts, r *resolve.Rank) bool {
	for i := range f.Did {
		d := &f.Did[i]
		if d.Kind != worker.DoingEnd || d.Rank != r.ID {
			continue
		}
		if last := lastLine(f, r, d.File); d.Line <= last && last-d.Line <= lastWords {
			return true
		}
	}
	return false
}

// lastLine is the last line of a rank in a file, 0 where it is not known. One whose lines bear no label is known by its file.
func lastLine(f *resolve.Facts, r *resolve.Rank, file string) int64 {
	if r.LastAt.File == file {
		return r.LastAt.Line
	}
	if r.LastAt.File == "" {
		for i := range f.Tails {
			if t := &f.Tails[i]; t.File == file && t.EndsClean {
				return t.Lines
			}
		}
	}
	return 0
}

// quietFiles are silent holders that may be none: where the whole file of several ranks is silent, it is as likely that the node or its log was lost
// as that all of them stalled.
func quietFiles(f *resolve.Facts, holders map[int]sight) []int {
	writers := map[string][]int{}
	for _, r := range f.Ranks {
		if r.Lines == 0 {
			continue
		}
		for _, file := range r.Files {
			writers[file] = append(writers[file], r.ID)
		}
	}
	spoke := func(id int) bool { return holders[id] != silent }
	var out []int
	for _, ids := range writers {
		if len(ids) > 1 && !slices.ContainsFunc(ids, spoke) {
			out = append(out, ids...)
		}
	}
	return out
}

// lost says whether the frontier's own files are missing or cut.
func (g *Graph) lost(f *resolve.Facts) {
	gone := map[int]bool{}
	for _, id := range f.Coverage.RanksMissing {
		gone[id] = f.Coverage.Partial
	}
	for id := range f.Coverage.CutRanks {
		gone[id] = true
	}
	for _, id := range g.Frontier {
		g.Lost = g.Lost || gone[id]
	}
}

// cyclic says that complete groups wait for each other in a circle.
func cyclic(stuck []*view) bool {
	// Edges between groups: v waits for w where a member of v that has not entered v's work is pending in w.
	pendingIn := map[int][]*view{}
	for _, v := range stuck {
		for id := range v.byID {
			pendingIn[id] = append(pendingIn[id], v)
		}
	}
	edges := map[*view][]*view{}
	for _, v := range stuck {
		if !v.Complete() || v.P2P {
			continue
		}
		for _, id := range v.Members {
			if v.pending(id) == nil {
				edges[v] = append(edges[v], pendingIn[id]...)
			}
		}
	}
	done, open := map[*view]bool{}, map[*view]bool{}
	var circle func(*view) bool
	circle = func(v *view) bool {
		if open[v] || done[v] {
			return open[v]
		}
		open[v] = true
		found := slices.ContainsFunc(edges[v], circle)
		open[v], done[v] = false, true
		return found
	}
	return slices.ContainsFunc(stuck, circle)
}
