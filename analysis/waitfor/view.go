package waitfor

import (
	"faultline/analysis/resolve"
)

// view is one stuck group, read.
type view struct {
	*resolve.Group
	first map[*resolve.Rank]*resolve.Pending // each process's first open collective there
	byID  map[int]*resolve.Pending
	seq   int64 // commonest
	op    string
	size  int64
	start resolve.Moment // the earliest of them
}

func newView(gr *resolve.Group) *view {
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
	}
	type key struct {
		seq  int64
		op   string
		size int64
	}
	n := map[key]int{}
	for _, p := range v.first {
		if p.Work.Seq >= 0 {
			n[key{p.Work.Seq, p.Work.Op, p.Work.NumelIn}]++
		}
	}
	best := key{seq: -1}
	for k, c := range n {
		b := n[best]
		if c > b || (c == b && (k.seq > best.seq || k.seq == best.seq && (k.op > best.op || k.op == best.op && k.size > best.size))) {
			best = k
		}
	}
	v.seq, v.op, v.size = best.seq, best.op, best.size
	for _, p := range v.first {
		if p.Start.Valid && (!v.start.Valid || p.Start.T < v.start.T) {
			v.start = p.Start
		}
	}
	return v
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
	r := f.Rank(id)
	if r == nil {
		return false, false
	}
	if v.Default && r.Dump != nil && !v.P2P {
		return r.Dump.Enqueued >= v.seq, true
	}
	return false, false
}
