package waitfor

import (
	"maps"

	"faultline/analysis/resolve"
	"faultline/knowledge"
)

// InVain says that a failure is a rank's word that it waited in vain.
func InVain(fl *resolve.Failure) bool { return fl.Says(knowledge.WaitedInVain) }

// gloo reads the waiting off the time-outs of Gloo, and of libraries like it, where no watchdog of NCCL reports: who timed out waited, and a rank that was
// seen and reports nothing did not come, if it is one of few.
func (g *Graph) gloo(f *resolve.Facts) bool {
	waits, ok := g.inVain(f)
	if !ok {
		return false
	}
	g.Gloo, g.Waiters = true, keys(waits)
	seen := map[int]bool{}
	for _, r := range f.Ranks {
		seen[r.ID] = r.Lines > 0 && !f.Coverage.CutRanks[r.ID]
		if seen[r.ID] && !waits[r.ID] {
			g.Free = append(g.Free, r.ID)
		}
	}
	for id := range f.Job.AtLeast() {
		if !seen[id] && !waits[id] {
			g.Frontier = append(g.Frontier, id)
		}
	}
	everyone := f.Job.Counted() && len(g.Frontier) == 0 && g.Anonymous == 0
	switch {
	case everyone && len(g.Free) > 0 && few(f, len(g.Waiters), g.Free):
		g.Shape, g.Root = Straggle, g.Free
	case f.Job.WorldSize > 0 && len(waits) == f.Job.WorldSize:
		g.Shape = AllWait
	default:
		g.Shape, g.Frontier = Unseen, unique(append(g.Frontier, g.Free...))
	}
	return true
}

// few says that those who wait for nobody are so few beside the waiters, and where they are several so close together, that one thing may hold them.
func few(f *resolve.Facts, waits int, free []int) bool {
	n := len(free)
	if n < 2 {
		return n == 1 && waits > 1
	}
	return n < waits && float64(n) <= silentShare*float64(n+waits) && oneNode(f, free)
}

// inVain are the ranks that waited in vain, by their own words; ok is false where none did, or something failed by itself: time-outs elsewhere
// follow from it.
func (g *Graph) inVain(f *resolve.Facts) (waits map[int]bool, ok bool) {
	waits = map[int]bool{}
	for _, fl := range f.Failures {
		if !fl.Says(knowledge.OverGloo | knowledge.WaitedInVain | knowledge.PeerLeft) {
			if fl.Role == knowledge.CauseRole {
				return nil, false
			}
			continue
		}
		if InVain(fl) {
			ok = true
			g.OnGPU = g.OnGPU || !fl.Says(knowledge.OverGloo)
			g.Report = g.Report.Earliest(fl.When())
		}
		if fl.Rank == resolve.NoRank {
			g.Anonymous++
		} else {
			waits[fl.Rank] = true
		}
	}
	return waits, ok
}

// told is the case in which only those who were told are seen. A rank whose communicator failed tells others in the same words.
func (g *Graph) told(f *resolve.Facts) {
	notified, from := 0, map[int]bool{}
	for _, r := range f.Ranks {
		if r.Notified == nil && r.Dump == nil {
			continue
		}
		if r.FromLocal || r.Erred {
			from[r.ID] = !r.Erred
			continue
		}
		notified++
		if r.Dump != nil && !r.Dump.Idle() {
			g.Busy = true
			continue
		}
		g.Free = append(g.Free, r.ID)
	}
	for i := range f.Obs.Dumps {
		if d := &f.Obs.Dumps[i]; !d.Local && d.From >= 0 {
			r := f.Rank(d.From)
			from[d.From] = r == nil || !r.Erred
		}
		g.Report = g.Report.Earliest(f.At(f.Obs.Dumps[i].At))
	}
	maps.DeleteFunc(from, func(_ int, waited bool) bool { return !waited })
	if notified == 0 || len(from) == 0 {
		return
	}
	g.Shape = Told
	g.Waiters = keys(from)
	g.Partial = f.Job.WorldSize == 0 || notified+len(from) < f.Job.WorldSize
	g.Elsewhere = max(f.Job.TP, f.Job.CP, f.Job.EP, f.Job.PP) > 1
	if len(from) == 1 && g.AllIdle() {
		g.Frontier = g.Waiters
	}
}

// AllIdle says of Told that all but those who told are seen, and known to have had nothing in flight.
func (g *Graph) AllIdle() bool { return !g.Partial && !g.Busy && !g.Elsewhere }
