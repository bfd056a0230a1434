package correlate

import (
	"fmt"
	"slices"

	"faultline/analysis/aislog"
	"faultline/knowledge"
)

// unfinished is a request that a target took and had not ended when its log was taken, nor any other of its kind since.
type unfinished struct {
	kind     string // "put"
	from, to float64
	line     *aislog.Interval
}

const (
	// hangs is for how long, in seconds, a target must not have ended any request of a kind for one of them to hang.
	hangs = 15.0
	// asksFor is how long a client waits at most before it tells that it timed out.
	asksFor = 120.0
)

// unended finds the requests of the ranks in question that hang: their lines tell of a time-out at a target that took a request of some
// kind by then, and ended none since. Needs the clock.
func (x *inquiry) unended() []*trouble {
	var out []*trouble
	for d := range x.daemons {
		if x.role(x.self(d)) != string(aislog.Target) {
			continue
		}
		for i := range x.lines {
			c := &x.lines[i]
			if u := x.hangsAt(d, c); u != nil {
				out = append(out, &trouble{mech: knowledge.AISSilentStall, about: x.self(d), from: u.from, to: u.to, hangs: u, own: true})
				break
			}
		}
	}
	return out
}

// hangsAt is the request at a target by which a client's line timed out, nil where none hangs.
func (x *inquiry) hangsAt(d int, c *Client) *unfinished {
	timedOut := c.Fault == "timeout" && x.asked(c) && c.T.Valid && slices.Contains(x.reached(c), x.self(d))
	if !x.clock.Known() || !timedOut {
		return nil
	}
	told := c.T.T - x.clock.Shift
	open := map[string]*unfinished{}
	for i := range x.daemons[d].Intervals {
		iv := &x.daemons[d].Intervals[i]
		from, ok := x.wall(d, iv.From)
		to, ok2 := x.wall(d, iv.To)
		if !ok || !ok2 {
			continue
		}
		for kind, u := range open {
			if u.to = to; iv.Of(kind+".n") > 0 || iv.Of("err."+kind+".n") > 0 {
				delete(open, kind)
			}
		}
		for _, kind := range iv.Begun {
			if open[kind] == nil && from >= told-asksFor && from <= told+x.clock.Unc {
				open[kind] = &unfinished{kind: kind, from: from, to: to, line: iv}
			}
		}
	}
	var longest *unfinished
	for _, kind := range []string{"get", "put"} {
		if u := open[kind]; u != nil && u.to-u.from >= hangs && (longest == nil || u.from < longest.from) {
			longest = u
		}
	}
	return longest
}

// hung says that a request hung.
func (t *trouble) hung() string {
	u := t.hangs
	return fmt.Sprintf("%s stalled: it took a %s request and completed none for %s (counter %s.n), until its log was taken", t.about, u.kind, span(u.to-u.from), u.kind)
}
