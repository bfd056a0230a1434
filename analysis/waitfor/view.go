package waitfor

import (
	"cmp"
	"strings"

	"faultline/analysis/resolve"
)

// view is one stuck group, read.
type view struct {
	*resolve.Group
	first map[*resolve.Rank]*resolve.Pending // each process's first open collective there
	byID  map[int]*resolve.Pending
	seq   int64 // commonest, or see rooted
	op    string
	size  int64
	start resolve.Moment // the earliest of them
	// ahead are processes that wait in a later work than those who wait in a rooted one: its root has sent, or its
	// senders have handed over, without the others.
	ahead map[*resolve.Rank]bool
	// By the counters of dumps: the member that has completed most, how many, and how many the one after it has.
	furthest              int
	completed, completed2 int64
}

func newView(f *resolve.Facts, gr *resolve.Group) *view {
	v := &view{Group: gr, first: map[*resolve.Rank]*resolve.Pending{}, byID: map[int]*resolve.Pending{}}
	for _, p := range gr.Pending {
		// A torn line that states no number does not stand for one that does.
		if old := v.first[p.Rank]; old == nil || p.Work.Seq >= 0 && (old.Work.Seq < 0 || p.Work.Seq < old.Work.Seq) {
			v.first[p.Rank] = p
		}
	}
	for r, p := range v.first {
		if r.ID != resolve.NoRank {
			v.byID[r.ID] = p
		}
		v.start = v.start.Earliest(p.Start)
	}
	v.commonest()
	v.count()
	v.rooted(f)
	return v
}

// commonest moves the view to the work that most wait in, of several as common the latest.
func (v *view) commonest() {
	type work struct {
		seq  int64
		op   string
		size int64
	}
	n := map[work]int{}
	for _, p := range v.first {
		if p.Work.Seq >= 0 {
			n[work{p.Work.Seq, p.Work.Op, p.Work.NumelIn}]++
		}
	}
	best := work{seq: -1}
	for k, c := range n {
		if cmp.Or(c-n[best], cmp.Compare(k.seq, best.seq), strings.Compare(k.op, best.op), cmp.Compare(k.size, best.size)) > 0 {
			best = k
		}
	}
	v.seq, v.op, v.size = best.seq, best.op, best.size
}

// count finds by the counters of dumps who has completed most.
func (v *view) count() {
	v.furthest, v.completed, v.completed2 = resolve.NoRank, never, never
	for id, c := range v.Counters {
		switch {
		case v.furthest == resolve.NoRank || c.Completed > v.completed:
			v.furthest, v.completed, v.completed2 = id, c.Completed, v.completed
		case c.Completed > v.completed2:
			v.completed2 = c.Completed
		}
	}
}

// never is less than any counter.
const never = int64(-1) << 63

// rootedOps are operations that some of their members leave before all have come: the root of a broadcast when it has
// sent, and in a ring everybody between it and the first who is missing; whoever hands over to the root of the others.
var rootedOps = map[string]bool{"BROADCAST": true, "REDUCE": true, "GATHER": true, "SCATTER": true}

// rooted moves the view to the earliest work in which somebody waits, where that is a rooted operation: then whoever
// waits further on is ahead and need not have diverged. It stays with the commonest work where the few who are behind
// have enqueued that as well and everybody is in flight: then they lag.
func (v *view) rooted(f *resolve.Facts) {
	if v.P2P || v.nameless() {
		return
	}
	low := v.seq
	for _, p := range v.first {
		if p.Work.Seq >= 0 && p.Work.Seq < low {
			low = p.Work.Seq
		}
	}
	behind, further, lag := 0, 0, true
	op, size := "", int64(-1)
	for _, p := range v.first {
		switch {
		case p.Work.Seq > low:
			further++
		case p.Work.Seq == low:
			if !rootedOps[p.Work.Op] || op != "" && (p.Work.Op != op || p.Work.NumelIn != size) {
				return
			}
			op, size = p.Work.Op, p.Work.NumelIn
			behind++
			e, known := p.Enqueued()
			lag = lag && known && e >= v.seq
		}
	}
	if lag && behind < further && !v.someoneOutside(f, low) {
		return
	}
	ahead := map[*resolve.Rank]bool{}
	for r, p := range v.first {
		if d := p.Work.Seq - low; d >= lagBy || d > 0 && p.Work.Op != op {
			ahead[r] = true
		}
	}
	if len(ahead) > 0 {
		v.seq, v.op, v.size, v.ahead = low, op, size, ahead
	}
}

// someoneOutside says that a member is not seen in flight: it may be the one for whom a rooted operation waits.
func (v *view) someoneOutside(f *resolve.Facts, seq int64) bool {
	if !v.Default {
		return v.Size > len(v.first)
	}
	if f.Job.WorldSize > len(f.Ranks)+len(f.Anonymous) {
		return true
	}
	for _, r := range f.Ranks {
		if r.Lines > 0 && v.byID[r.ID] == nil && (r.Dump == nil || r.Dump.Enqueued < seq) {
			return true
		}
	}
	return false
}

// First is each process's first open collective in a group.
func (g *Graph) First(gr *resolve.Group) map[*resolve.Rank]*resolve.Pending {
	if v := g.views[gr]; v != nil {
		return v.first
	}
	return nil
}

// Scattered says that members of a group wait in different works of it, and have for as long as their watchdogs let them: one of them may
// have called something else, or once more or less. Senders and receivers each count their own, and a broadcast lets its root go on.
func (g *Graph) Scattered(gr *resolve.Group) bool {
	var first *resolve.Pending
	differ := false
	for _, p := range g.First(gr) {
		if p.Work.Seq < 0 {
			continue
		}
		differ = differ || first != nil && p.Work.Seq != first.Work.Seq
		if first == nil || p.Work.Seq < first.Work.Seq {
			first = p
		}
	}
	return differ && !gr.P2P && !rootedOps[first.Work.Op]
}

// Of is a rank's first open collective in a group; nil if it waits in none there.
func (g *Graph) Of(gr *resolve.Group, id int) *resolve.Pending {
	if v := g.views[gr]; v != nil {
		return v.byID[id]
	}
	return nil
}

// Stuck is the collective that a group hangs in: the one in which most wait, or the broadcast that some have left. It is
// nil where nothing of the group is pending.
func (g *Graph) Stuck(gr *resolve.Group) *resolve.Pending {
	v := g.views[gr]
	if v == nil {
		return nil
	}
	for _, p := range gr.Pending {
		if p.Work.Seq == v.seq && p.Work.Op == v.op && p.Work.NumelIn == v.size {
			return p
		}
	}
	return gr.Pending[0] // no line states a number
}

func (v *view) earlier(o *view) bool {
	a, b := v.start, o.start
	if a.Valid && b.Valid && a.T != b.T {
		return a.T < b.T
	}
	return v.Key < o.Key
}

// atLeast is how many members the group has: its size where that is known, else what the highest rank in it proves.
func (v *view) atLeast(f *resolve.Facts) int {
	if v.Size > 0 {
		return v.Size
	}
	n := len(v.first)
	for _, p := range v.first {
		n = max(n, p.GroupRank+1)
	}
	if v.Default {
		for _, r := range f.Ranks {
			n = max(n, r.ID+1)
		}
	}
	return n
}

// pending looks a rank's collective in this group up.
func (v *view) pending(id int) *resolve.Pending { return v.byID[id] }

// joined says whether a rank is shown to have entered the group's stuck work, and whether that is known at all.
func (v *view) joined(f *resolve.Facts, id int) (entered, known bool) {
	if p := v.pending(id); p != nil {
		return true, true
	}
	if c := v.Counters[id]; c != nil && !v.P2P {
		return c.Enqueued >= v.seq, true
	}
	r := f.Rank(id)
	if r == nil {
		return false, false
	}
	if v.Default && r.Dump != nil && !v.P2P {
		return r.Dump.Enqueued >= v.seq, true
	}
	return false, false
}
