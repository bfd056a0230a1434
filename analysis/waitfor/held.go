package waitfor

import (
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
)

// held looks for those who hold the others: ranks that have not entered and wait for nobody.
func (g *Graph) held(f *resolve.Facts, stuck []*view) bool {
	world := f.Job.WorldSize
	waiting := len(g.Waiters) + g.Anonymous
	free := map[int]bool{}
	idle := map[int]bool{} // free and shown idle by their own line
	dumps := false
	for _, r := range f.Ranks {
		dumps = dumps || r.Dump != nil || r.Notified != nil || r.Recorded != nil
	}
	for _, id := range g.Free {
		r := f.Rank(id)
		// Where others print their counters at the time-out, a living process prints its own: its monitor thread needs
		// nothing of Python. One that does not was not seen then, unless it says itself that it had come to its end.
		if dumps && r.Dump == nil && r.Notified == nil && r.Recorded == nil && !ranOut(f, r) {
			continue
		}
		if r.Fired && (r.Dump == nil || !r.Dump.Idle()) {
			continue // it was not silent: it may have waited as the others did
		}
		free[id] = true
		if r.Dump != nil && r.Dump.Idle() || r.Recorded != nil && r.Recorded.Idle {
			idle[id] = true
		}
	}
	// Who is a proven holder: a member that has not entered a group's stuck work.
	holders, proven := map[int]bool{}, map[int]bool{}
	mid := map[int]bool{}
	indirect := false // some holder's counters of the stuck group itself are not stated
	unseen := map[int]bool{}
	var rootGroups []*view
	for _, v := range stuck {
		held := false
		for _, id := range v.Members {
			if v.pending(id) != nil {
				continue
			}
			entered, known := v.joined(f, id)
			switch {
			case entered:
				if r := f.Rank(id); r != nil && r.Dump != nil && r.Dump.Completed < v.seq && !g.Waits(id) {
					free[id] = false // in flight, its own watchdog had not fired yet
				}
			case g.Waits(id):
				mid[id] = true
			case free[id] && !known && !idle[id] && v.Basis == "seen-only":
				// A member by the order of ranks: that it is silent proves nothing where others may be unseen. Of a known world all are asked
				// below.
				if world == 0 {
					unseen[id] = true
				}
			case free[id]:
				holders[id] = true
				held = true
				// Told by another and quiet in every group: had it been waiting here, its own watchdog would have fired.
				if known || idle[id] && (v.Complete() || v.Basis == "seen-only") {
					proven[id] = true
				}
				if !known {
					indirect = true
				}
			default:
				unseen[id] = true
			}
		}
		if held {
			rootGroups = append(rootGroups, v)
		}
	}
	g.Intermediates = keys(mid)
	expected := f.Job.AtLeast()
	if world == 0 && g.Anonymous > 0 {
		expected = 0 // which of them waited nobody knows
	}
	for id := range expected {
		if !free[id] && !g.Waits(id) {
			unseen[id] = true
		}
	}
	// Where no group's membership is known beyond those seen, a rank that waits for nobody while everyone else of the
	// world waits is the only end that the chain of waiting can have.
	complete := false
	for _, v := range stuck {
		complete = complete || v.Complete()
	}
	if len(holders) == 0 && world > 0 && len(unseen) == 0 {
		for id, is := range free {
			if is && !g.left(f, stuck, id) {
				holders[id] = true
				if idle[id] && len(stuck) > 0 {
					proven[id] = true
				}
			}
		}
	}
	// A rank shown idle in the very group that others wait in holds it, whoever else may exist.
	if len(holders) == 0 {
		for _, v := range stuck {
			if !v.Default {
				continue
			}
			for id := range free {
				if entered, known := v.joined(f, id); known && !entered {
					holders[id], proven[id] = true, true
				}
			}
			if len(holders) > 0 {
				rootGroups = append(rootGroups, v)
			}
		}
	}
	g.quietFiles(f, holders, proven, unseen)
	if len(rootGroups) == 0 {
		rootGroups = stuck
	}
	g.Groups = groups(rootGroups)
	roots := keys(holders)
	g.Idle = len(roots) > 0
	for _, id := range roots {
		g.Idle = g.Idle && proven[id]
	}
	switch {
	case len(roots) == 0 && len(unseen) == 0 && world > 0 && complete && g.cyclic(stuck):
		g.Shape = Cycle
	case len(roots) == 0:
		g.Shape, g.Frontier = Unseen, keys(unseen)
	case indirect && len(roots) > 1 && float64(len(roots)) > silentShare*float64(waiting+len(roots)):
		// Many who were told and reported nothing: more likely they were ended before their own watchdogs fired.
		g.Shape, g.Frontier = Unseen, unique(append(keys(unseen), roots...))
	case !g.Idle && (len(unseen) > 0 || len(roots) > 1 && (float64(len(roots)) > silentShare*float64(waiting+len(roots)) || !oneNode(f, roots))),
		!g.Idle && g.Anonymous > 0 && (world == 0 || waiting+len(roots) > world):
		// Silence proves nothing where others are unseen too, or where many are silent, or some on different nodes: a launcher may have ended
		// one before its own watchdog fired. And a process that waited without a name may be the one that seems silent.
		g.Shape, g.Frontier = Unseen, unique(append(keys(unseen), roots...))
	case waiting == 1 && len(stuck) == 1 && (stuck[0].P2P || !stuck[0].Default && !stuck[0].Complete()):
		// Somebody has not sent, or not received: who, no counter says, for each pair has its own. Or one of a group of which nobody says
		// who else is in it has not come.
		g.Shape, g.Frontier = Unseen, unique(append(keys(unseen), roots...))
	case waiting == 1 && len(roots) == 1 && len(unseen) == 0:
		g.Shape, g.Frontier = Pair, unique(append(roots, g.Waiters...))
	case waiting == 1 && g.Idle && len(unseen) == 0:
		g.Shape, g.Root = Lone, g.Waiters
	case waiting == 1:
		g.Shape, g.Frontier = Unseen, unique(append(keys(unseen), roots...))
	case len(roots) < waiting:
		g.Shape, g.Root = Straggle, roots
	default:
		g.Shape, g.Frontier = Split, roots
	}
	g.Outside = len(proven) > 0
	g.Unseen = keys(unseen)
	g.lost(f)
	return true
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
		last := r.LastAt.Line
		if r.LastAt.File == "" { // its lines bear no label: it is known by its file
			for j := range f.Tails {
				if f.Tails[j].File == d.File && f.Tails[j].EndsClean {
					last = f.Tails[j].Lines
				}
			}
		} else if r.LastAt.File != d.File {
			continue
		}
		if d.Line <= last && last-d.Line <= lastWords {
			return true
		}
	}
	return false
}

// quietFiles takes back silent holders where the whole file of several ranks is silent: then it is as likely that the
// node or its log was lost as that all of them stalled.
func (g *Graph) quietFiles(f *resolve.Facts, holders, proven, unseen map[int]bool) {
	writers := map[string][]int{}
	for _, r := range f.Ranks {
		if r.Lines == 0 {
			continue
		}
		for _, file := range r.Files {
			writers[file] = append(writers[file], r.ID)
		}
	}
	for _, ids := range writers {
		quiet := len(ids) > 1
		for _, id := range ids {
			quiet = quiet && holders[id] && !proven[id]
		}
		if !quiet {
			continue
		}
		for _, id := range ids {
			holders[id] = false
			unseen[id] = true
		}
	}
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

// cyclic says that complete groups wait for each other in a circle and that nobody stands outside of it.
func (g *Graph) cyclic(stuck []*view) bool {
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
	state := map[*view]int{}
	var visit func(*view) bool
	visit = func(v *view) bool {
		state[v] = 1
		for _, w := range edges[v] {
			if state[w] == 1 || state[w] == 0 && visit(w) {
				return true
			}
		}
		state[v] = 2
		return false
	}
	for _, v := range stuck {
		if state[v] == 0 && visit(v) {
			return true
		}
	}
	return false
}
