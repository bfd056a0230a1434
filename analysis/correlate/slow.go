package correlate

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"faultline/analysis/aislog"
	"faultline/knowledge"
)

// served are latencies of requests that clients wait for.
var served = map[string]bool{"get.ns": true, "get.redir.ns": true, "put.ns": true, "append.ns": true, "head.ns": true}

// slowLine is a line of counters by which requests took a second or more on average.
type slowLine struct {
	t   float64 // by the common clock
	iv  *aislog.Interval
	sec float64
}

// slowLines are those of a daemon, by time.
func (x *inquiry) slowLines(d int) []slowLine {
	if x.slow == nil {
		x.slow = make([][]slowLine, len(x.daemons))
		for i := range x.daemons {
			x.slow[i] = x.readSlow(i)
		}
	}
	return x.slow[d]
}

func (x *inquiry) readSlow(d int) []slowLine {
	var out []slowLine
	for i := range x.daemons[d].Intervals {
		iv := &x.daemons[d].Intervals[i]
		if len(iv.Slow) == 0 {
			continue
		}
		if t, ok := x.wall(d, iv.To); ok {
			_, sec := longest(iv)
			out = append(out, slowLine{t, iv, sec})
		}
	}
	slices.SortStableFunc(out, func(a, b slowLine) int { return cmp.Compare(a.t, b.t) })
	return out
}

// slowFrom are those from a moment on.
func (x *inquiry) slowFrom(d int, t float64) []slowLine {
	all := x.slowLines(d)
	return all[sort.Search(len(all), func(i int) bool { return all[i].t >= t }):]
}

// longest is the longest latency in a line of counters, in seconds.
func longest(iv *aislog.Interval) (name string, sec float64) {
	for _, g := range iv.Slow {
		if s := float64(g.N) / 1e9; s > sec || s == sec && g.Name < name {
			name, sec = g.Name, s
		}
	}
	return name, sec
}

// slowness adds the lines of counters by which a daemon's requests took long on average to its signs of pressure. A line with such
// a latency tells of the time before it.
func (x *inquiry) slowness(d int, by map[troubleKey][]point) {
	k := troubleKey{mech: knowledge.AISResourcePressure, about: x.self(d)}
	for _, l := range x.slowLines(d) {
		if !slices.ContainsFunc(l.iv.Slow, func(g aislog.Growth) bool { return served[g.Name] }) {
			continue
		}
		t := l.t
		if from, ok := x.wall(d, l.iv.From); ok && l.iv.Base.File != "" {
			t = max(from, t-math.Round(l.sec))
		}
		by[k] = append(by[k], point{t: t, n: 1, d: d, slow: l.iv})
	}
}
