package correlate

import (
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/aislog"
	"faultline/knowledge"
)

// standstill is a time in which a daemon wrote nothing, while others asked in vain or requests waited: it stood still. That it went
// on afterwards takes nothing back.
type standstill struct {
	d        int
	from, to float64
	pause    aislog.Pause
	// late is the line of counters after it whose latencies show how long requests had waited; nil where none does.
	late *aislog.Interval
}

const (
	// beats is how many of its usual intervals a busy daemon must miss before its silence means something.
	beats = 3
	// waited is how much of a pause a request must have waited to be evidence of it.
	waited = 0.3
)

// cadence is how often a daemon writes its counters while it is asked, in seconds; 0 unknown.
func (x *inquiry) cadence(d int) float64 {
	var all []float64
	for i := range x.daemons[d].Intervals {
		iv := &x.daemons[d].Intervals[i]
		from, ok := x.wall(d, iv.From)
		to, ok2 := x.wall(d, iv.To)
		if ok && ok2 && !iv.Hole && iv.Base.File != "" && to > from && slices.ContainsFunc(requests, func(c string) bool { return iv.Of(c) > 0 }) {
			all = append(all, to-from)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// standstills finds the pauses of a daemon that something else confirms: others that it did not answer, or requests that had waited.
func (x *inquiry) standstills(d int, unanswered []point) []*standstill {
	if slices.ContainsFunc(x.daemons[d].Holes, func(h aislog.Hole) bool { return h.Why == aislog.WarningsOnly }) {
		return nil
	}
	var out []*standstill
	unreached := x.unreached(d)
	cadence := x.cadence(d)
	least := beats * cadence
	for _, p := range x.pauses(d) {
		from, ok := x.wall(d, p.From)
		to, ok2 := x.wall(d, p.To)
		if !ok || !ok2 || p.Lines > 0 && cadence == 0 {
			continue
		}
		s := &standstill{d: d, from: from, to: to, pause: p}
		held, usual := slices.ContainsFunc(unanswered, s.holds), to-from < least
		if usual && !held {
			continue // a pause as any other
		}
		s.late = x.waitedFor(d, from, to, least)
		if unreached && s.late == nil {
			continue // a process that stands still takes connections: it could not be reached
		}
		if late := s.late != nil; late && held || !usual && (late || held) {
			out = append(out, s)
		}
	}
	return out
}

// unreached says that the job tried in vain to connect to a daemon, which is the kernel's to answer, and not the daemon's.
func (x *inquiry) unreached(d int) bool {
	return slices.ContainsFunc(x.lines, func(c Client) bool {
		return strings.Contains(c.Text, "onnectTimeout") && slices.Contains(x.addressed(&c), x.self(d))
	})
}

// holds says that a record of others falls into a standstill. They give up some seconds after it began, and report at its end.
func (s *standstill) holds(p point) bool {
	const reported = 15.0
	return p.d != s.d && p.t >= s.from && p.t <= s.to+reported
}

// pauses are a daemon's own, and the silence at the end of its log where others' logs go on.
func (x *inquiry) pauses(d int) []aislog.Pause {
	out := slices.Clone(x.daemons[d].Pauses)
	runs := x.daemons[d].Runs
	if len(runs) == 0 {
		return out
	}
	last := &runs[len(runs)-1]
	if last.Ended != aislog.Open || last.LastAt.File == "" {
		return out
	}
	end := x.daemons[d].Covered
	for i := range x.daemons {
		if c := x.daemons[i].Covered; c.To.Wall.After(end.To.Wall) {
			end = c
		}
	}
	const unwritten = 75.0 // up to a minute of lines waits in memory
	from, ok := x.wall(d, last.Last)
	to, ok2 := x.wall(d, end.To)
	if ok && ok2 && to-from > unwritten {
		out = append(out, aislog.Pause{Span: aislog.Span{From: last.Last, To: end.To}, Before: last.LastAt, After: last.LastAt})
	}
	return out
}

// waitedFor is a line of counters right after a pause by which requests had waited for a good part of it.
func (x *inquiry) waitedFor(d int, from, to, least float64) *aislog.Interval {
	for _, l := range x.slowFrom(d, to-0.5) {
		if l.t > to+max(10, least) {
			break
		}
		if l.sec >= waited*(to-from) {
			return l.iv
		}
	}
	return nil
}

// stoodStill turns what others saw of a daemon that wrote nothing in the meantime into what it was. What they saw at other times
// stays what it is.
func (x *inquiry) stoodStill(all []*trouble) []*trouble {
	for d := range x.daemons {
		var seen []*trouble
		var points []point
		for _, t := range all {
			if t.mech.Is(knowledge.ToldByPeers) && t.about == x.self(d) {
				seen, points = append(seen, t), append(points, t.points...)
			}
		}
		for _, s := range x.standstills(d, points) {
			n := &trouble{mech: knowledge.AISSilentStall, about: x.self(d), from: x.waitedSince(s), to: s.to, still: s, own: true}
			for _, t := range seen {
				t.points, n.points = divide(t.points, n.points, s.holds)
			}
			all = append(all, n)
		}
		for _, t := range seen {
			if len(t.points) > 0 {
				t.from, t.to = t.points[0].t, t.points[len(t.points)-1].t
			}
		}
	}
	return slices.DeleteFunc(all, func(t *trouble) bool { return len(t.points) == 0 && t.pointsOnly() })
}

// waitedSince is when a standstill began, by its last line or by the requests that had waited for longer when it was over.
func (x *inquiry) waitedSince(s *standstill) float64 {
	if s.late == nil {
		return s.from
	}
	told, ok := x.wall(s.d, s.late.To)
	if _, sec := longest(s.late); ok {
		return min(s.from, told-sec)
	}
	return s.from
}

// pointsOnly says that a trouble rests on records alone.
func (t *trouble) pointsOnly() bool {
	return t.down == nil && t.stall == nil && t.still == nil && t.hangs == nil
}

// divide takes points that fit from one list to the other.
func divide(from, to []point, fits func(point) bool) (rest, taken []point) {
	for _, p := range from {
		if fits(p) {
			to = append(to, p)
		} else {
			rest = append(rest, p)
		}
	}
	return rest, to
}

// unfinished is a request that a target took and had not ended for long, nor any other of its kind in that time.
type unfinished struct {
	kind     string // "put"
	from, to float64
	line     *aislog.Interval
	ended    bool // one did afterwards, before its log was taken
}

const (
	// hangs is for how long, in seconds, a target must not have ended any request of a kind for one of them to hang.
	hangs = 15.0
	// asksFor is how long a client waits at most before it tells that it timed out.
	asksFor = 120.0
)

// unended finds the requests that hang: lines of the job tell of a time-out at a target that took a request of some
// kind by then, and ended none since. Needs the clock.
func (x *inquiry) unended() []*trouble {
	var out []*trouble
	for d := range x.daemons {
		if x.daemons[d].Role != aislog.Target || readsBehind(x.daemons[d]) {
			continue // what it has from a store behind it may hang there
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
	timedOut := c.Fault == "timeout" && !c.Over && c.T.Valid && slices.Contains(x.reached(c), x.self(d))
	if !x.clock.Known() || !timedOut {
		return nil
	}
	told := c.T.T - x.clock.Shift
	since := told - waitOf(c.Text)
	var out *unfinished
	for _, kind := range []string{"get", "put"} {
		u := x.longUnended(d, kind, told-asksFor, told+x.clock.Unc)
		if u != nil && (out == nil || u.from < out.from) {
			out = u
		}
	}
	if out != nil {
		out.from = min(out.from, since)
	}
	return out
}

// waitOf is for how many seconds a client had waited when it told that it timed out: "(read timeout=20)". 0 where it does not say.
func waitOf(text string) float64 {
	_, rest, ok := strings.Cut(text, "read timeout=")
	digits := digitsOf(rest)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || float64(n) > asksFor {
		return 0
	}
	return float64(n)
}

// longUnended is a request of a kind that a target took within a time and ended none of for long; nil where there is none. That one
// ended at last, when the client had long given up, takes nothing back.
func (x *inquiry) longUnended(d int, kind string, earliest, latest float64) *unfinished {
	var u *unfinished
	for i := range x.daemons[d].Intervals {
		iv := &x.daemons[d].Intervals[i]
		from, ok := x.wall(d, iv.From)
		to, ok2 := x.wall(d, iv.To)
		within := ok && ok2 && from >= earliest && from <= latest
		switch ended := iv.Of(kind+".n") > 0 || iv.Of("err."+kind+".n") > 0; {
		case ended && u != nil && u.to-u.from >= hangs:
			u.ended = true
			return u
		case ended:
			u = nil
		case u != nil && ok2:
			u.to = to
		case within && slices.Contains(iv.Begun, kind):
			u = &unfinished{kind: kind, from: from, to: to, line: iv}
		}
	}
	if u == nil || u.to-u.from < hangs {
		return nil
	}
	return u
}
