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
var served = map[string]bool{"get.ns": true, "get.redir.ns": true, "put.ns": true, "put.redir.ns": true, "append.ns": true, "head.ns": true}

// slowLine is a line of counters by which requests of clients took a second or more on average.
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
		if _, sec := longest(iv); sec > 0 {
			if t, ok := x.wall(d, iv.To); ok {
				out = append(out, slowLine{t, iv, sec})
			}
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

// longest is the longest of those latencies in a line of counters, in seconds, 0 where there is none.
func longest(iv *aislog.Interval) (name string, sec float64) {
	for _, g := range iv.Slow {
		if !served[g.Name] {
			continue
		}
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
		t := l.t
		if from, ok := x.wall(d, l.iv.From); ok && l.iv.Base.File != "" {
			t = max(from, t-math.Round(l.sec))
		}
		by[k] = append(by[k], point{t: t, n: 1, d: d, line: l.iv})
	}
}
