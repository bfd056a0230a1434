package correlate

import (
	"cmp"
	"slices"
	"strings"

	"faultline/analysis/aislog"
	"faultline/analysis/ascii"
	"faultline/knowledge"
)

// relayed are answers that AIStore passed on: the store that a bucket's objects come from did not have one, or failed.
type relayed struct {
	first *Client
	n     int
	// absent: what was asked for is not there.
	absent bool
}

// remoteSide is where the trouble of a relayed answer lies.
const remoteSide = "remote"

// fromBehind says that a line holds an answer of the store behind the cluster, other than that it is busy.
func (c *Client) fromBehind() bool {
	busy := knowledge.AISThrottled.Trouble()
	return knowledge.Relayed(c.Text) && !slices.Contains(busy.Faults, c.Fault) && !ascii.Has(c.Text, busy.Words...)
}

// behind is the trouble of the store behind the cluster, as the job's own lines tell it; nil unless the last answer that the ranks in question
// got came from that store.
func (x *inquiry) behind() *trouble {
	if !x.Possible {
		return nil
	}
	t := &trouble{mech: knowledge.AISBackend}
	var last *Client
	for i := range x.lines {
		c := &x.lines[i]
		answered := c.Fault != "" || strings.Contains(c.Text, "STATUS:")
		if !c.ours || !answered || !x.asked(c) || !c.T.Valid || x.Facts.StepsSince(c.T) > 0 {
			continue
		}
		if last = c; !c.fromBehind() {
			continue
		}
		at := c.T.T - x.clock.Shift
		if t.relayed == nil {
			t.relayed = &relayed{first: c, absent: missed(c)}
			t.from = at
		}
		t.relayed.n++
		t.to = at
	}
	if last == nil || !last.fromBehind() {
		return nil
	}
	x.failedReads(t)
	return t
}

// failedReads adds the lines of counters by which targets failed to read while a store behind them did: they write nothing else of it.
func (x *inquiry) failedReads(t *trouble) {
	if !x.clock.Known() {
		return
	}
	for d := range x.daemons {
		for i := range x.daemons[d].Intervals {
			iv := &x.daemons[d].Intervals[i]
			n := iv.Of("err.get.n")
			from, ok := x.wall(d, iv.From)
			to, ok2 := x.wall(d, iv.To)
			if n > 0 && ok && ok2 && iv.Base.File != "" && from <= t.to+late && to >= t.from-late {
				t.points = append(t.points, point{t: to, n: int(n), d: d, line: iv})
			}
		}
	}
	slices.SortStableFunc(t.points, func(a, b point) int { return cmp.Compare(a.t, b.t) })
}

func (r *relayed) statement() string {
	if r.absent {
		return "the store behind AIStore does not have objects that the job asked for (" + plural(r.n, "answer", "answers") + ")"
	}
	return "the store behind AIStore failed, refused or could not be reached (" + plural(r.n, "answer", "answers") + ")"
}

// fromBehind says that a trouble lies behind the cluster.
func (t *trouble) fromBehind() bool {
	return t.relayed != nil || slices.ContainsFunc(t.points, func(p point) bool { return p.event != nil && p.event.Kind == aislog.RemoteThrottled })
}

// readsBehind says that a target asked a store behind the cluster for something, as far as its log goes.
func readsBehind(d *aislog.Daemon) bool {
	return slices.ContainsFunc(d.Intervals, func(iv aislog.Interval) bool {
		return slices.ContainsFunc(iv.By, func(g aislog.Growth) bool { return knowledge.CountsBehind(g.Name) })
	})
}
