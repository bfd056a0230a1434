package correlate

import (
	"fmt"
	"slices"

	"faultline/analysis/aislog"
	"faultline/knowledge"
)

// countedDeletion is the deletion of objects one by one: no record tells of it, or of what it took, but the targets count it.
const countedDeletion = "delete"

// deletions adds the lines of counters by which a target deleted objects, but for those that the records of a request explain.
func (x *inquiry) deletions(d int, by map[troubleKey][]point) {
	if x.role(x.self(d)) != string(aislog.Target) {
		return
	}
	k := troubleKey{mech: knowledge.AISAdministration, action: countedDeletion}
	for i := range x.daemons[d].Intervals {
		iv := &x.daemons[d].Intervals[i]
		n := iv.Of("del.n")
		from, ok := x.wall(d, iv.From)
		to, ok2 := x.wall(d, iv.To)
		if n > 0 && ok && ok2 && iv.Base.File != "" && !x.requested(from-late, to+late) {
			by[k] = append(by[k], point{t: from, n: int(n), d: d, line: iv})
		}
	}
}

// requested says that a record of a request to delete, evict or destroy lies in a time.
func (x *inquiry) requested(from, to float64) bool {
	for d := range x.daemons {
		for i := range x.daemons[d].Groups {
			g := &x.daemons[d].Groups[i]
			if g.Kind != aislog.Administration {
				continue
			}
			within := func(e aislog.Event) bool {
				t, ok := x.wall(d, e.Time)
				return ok && t >= from && t <= to && acts[e.Action].takes == ofBucket
			}
			if slices.ContainsFunc(g.Events, within) {
				return true
			}
		}
	}
	return false
}

// missing says that a request of the ranks in question did not find what a trouble may have taken away.
func (x *inquiry) missing(t *trouble) bool {
	return slices.ContainsFunc(x.lines, func(c Client) bool {
		return x.asked(&c) && x.reaches(t, &c) != otherwise
	})
}

// deletedAt says that the target that should have an object counts deletions; true where it is not known which one that is.
func (x *inquiry) deletedAt(t *trouble, c *Client) bool {
	home := x.home(c.object())
	return home == "" || slices.ContainsFunc(t.points, func(p point) bool { return x.self(p.d) == home })
}

// deleted says how many objects were deleted.
func (t *trouble) deleted() string {
	n := 0
	targets := map[int]bool{}
	for _, p := range t.points {
		n += p.n
		targets[p.d] = true
	}
	text := "1 object was deleted"
	if n > 1 {
		text = fmt.Sprintf("%d objects were deleted one by one", n)
	}
	return text + " on " + plural(len(targets), "target", "targets") + " (counter del.n)"
}
