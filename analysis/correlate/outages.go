package correlate

import (
	"maps"
	"math"
	"slices"

	"faultline/analysis/aislog"
	"faultline/knowledge"
)

// outages are the times in which a daemon was not there, by its own log.
func (x *inquiry) outages() []*outage {
	var out []*outage
	for d := range x.daemons {
		runs := x.daemons[d].Runs
		for i := range runs {
			r := &runs[i]
			if r.Ended == aislog.Open || r.LastAt.File == "" {
				continue
			}
			from, ok := x.left(d, r)
			if !ok {
				continue
			}
			o := &outage{id: x.self(d), from: from, to: math.Inf(1), run: r, orderly: r.Ended == aislog.Orderly}
			if i+1 < len(runs) {
				if !runs[i+1].Started {
					continue
				}
				o.next = &runs[i+1]
				if to, ok := x.wall(d, runs[i+1].Start); ok {
					o.to = to
				}
			}
			out = append(out, o)
		}
	}
	return out
}

// absences are the times in which daemons were not members of the cluster, as others tell, where their own logs tell of no
// outage: a log is lost with its container, and a daemon that is down hands out none.
func (x *inquiry) absences(own []*outage) []*outage {
	gone, back := map[string][]point{}, map[string][]float64{}
	for d := range x.daemons {
		for i := range x.daemons[d].Groups {
			g := &x.daemons[d].Groups[i]
			for k := range g.Events {
				e := &g.Events[k]
				t, ok := x.wall(d, e.Time)
				switch {
				case !ok || e.Peer == "":
				case e.Kind == aislog.Left || e.Kind == aislog.Removed:
					gone[e.Peer] = append(gone[e.Peer], point{t: t, n: 1, event: e, d: d})
				case e.Kind == aislog.Joined:
					back[e.Peer] = append(back[e.Peer], t)
				}
			}
		}
	}
	var out []*outage
	for _, id := range slices.Sorted(maps.Keys(gone)) {
		slices.Sort(back[id])
		for _, p := range gone[id] {
			o := &outage{id: id, from: p.t, to: math.Inf(1), told: []point{p}, orderly: p.event.Kind == aislog.Left}
			if later := slices.IndexFunc(back[id], func(t float64) bool { return t > o.from }); later >= 0 {
				o.to = back[id][later]
			}
			known := slices.ContainsFunc(own, func(own *outage) bool { return own.id == id && own.from <= o.to+60 && own.to >= o.from-60 })
			if !known && !x.present(id, o.from-30, o.from+30) {
				out = append(out, o)
			}
		}
	}
	return out
}

// left is when a daemon was gone. One that stops in order leaves the cluster first, and may write on for a while.
func (x *inquiry) left(d int, r *aislog.Run) (float64, bool) {
	const takes = 60.0
	last, ok := x.wall(d, r.Last)
	first := last
	if r.Ended != aislog.Orderly {
		return first, ok
	}
	for i := range x.daemons[d].Groups {
		g := &x.daemons[d].Groups[i]
		if g.Kind != aislog.Stopping {
			continue
		}
		for k := range g.Events {
			if t, ok := x.wall(d, g.Events[k].Time); ok && last-t <= takes {
				first = min(first, t)
			}
		}
	}
	return first, ok
}

// present says that a daemon's own log goes on over a time without a break.
func (x *inquiry) present(id string, from, to float64) bool {
	d := x.find(id)
	if d < 0 {
		return false
	}
	for i := range x.daemons[d].Runs {
		r := &x.daemons[d].Runs[i]
		start, ok := x.wall(d, r.Start)
		last, ok2 := x.wall(d, r.Last)
		if ok && ok2 && start <= from && last >= to {
			return true
		}
	}
	return false
}

// withOutages puts what others saw of a daemon and its own outages together. Who took no connection while its own log went
// on was not down: the way to it was closed.
func (x *inquiry) withOutages(seen []*trouble, outages []*outage, about string) []*trouble {
	var out []*trouble
	used := map[*outage]bool{}
	for _, t := range seen {
		for _, o := range outages {
			if o.id != about || used[o] || t.from > o.to+60 || t.to < o.from-5 {
				continue
			}
			used[o] = true
			t.down, t.own = o, o.run != nil
			// It was gone at some time after its last line, and before others saw it.
			t.from = min(o.from, t.from)
			if !math.IsInf(o.to, 1) {
				t.to = max(t.to, o.to)
			}
			break
		}
		if t.down == nil && x.present(about, t.from-30, t.to+30) {
			t.mech = knowledge.AISNetwork
		}
		out = append(out, t)
	}
	for _, o := range outages {
		if o.id != about || used[o] {
			continue
		}
		to := o.to
		if math.IsInf(to, 1) {
			to = o.from
		}
		out = append(out, &trouble{mech: knowledge.AISDaemonRestart, about: about, from: o.from, to: to, points: o.told, down: o, own: o.run != nil})
	}
	return out
}
