package aislog

import (
	"strings"
	"time"
)

// counters reads a line of counters.
func (r *reader) counters(rec *record, msg []byte) {
	values, whole, ok := r.names.read(msg)
	if !ok {
		return
	}
	r.settle()
	p := r.p
	t := &tick{time: rec.time, at: rec.at, values: values, whole: whole && !rec.cut}
	if v := t.value(strings.TrimSuffix(litFlags, ":")); v != 0 && (!r.flagged || v != r.flags) {
		if names := FlagNames(v); len(names) > 0 || r.flagged && v != r.flags {
			r.event(rec, []byte(strings.Join(names, " ")), -1, Flags)
		}
		r.flags, r.flagged = v, true
	}
	if p.begin == nil {
		p.begin = t
		if p.head == StartedUp { // they count from the start of the daemon
			zero := &tick{time: p.opened, whole: true}
			r.interval(zero, t)
		}
	} else {
		r.interval(p.end, t)
		if p.end != p.begin {
			r.names.room = p.end.values
		}
	}
	p.end, r.pending = t, t
}

func (r *reader) interval(from, to *tick) {
	p := r.p
	by, reset := grown(r.grown[:0], from, to)
	r.grown = by
	p.sums = addTo(p.sums, by)
	p.intervals = append(p.intervals, Interval{From: from.time, To: to.time, At: to.at, Base: from.at, By: fineOnly(by), Reset: reset, Slow: slow(to.values), Begun: begun(to.values, by)})
	if len(p.intervals) > maxIntervals {
		p.intervals = coarser(p.intervals, maxIntervals/2)
	}
}

// settle ends a tick: whatever it prints has been seen.
func (r *reader) settle() {
	t := r.pending
	if t == nil {
		return
	}
	r.pending = nil
	t.batches = r.batches
	if n := len(r.p.intervals); n > 0 && r.p.intervals[n-1].At == t.at {
		r.p.intervals[n-1].Batches = r.batches
	}
	r.stalls(t, r.batches)
	r.batches = 0
}

func (r *reader) stalls(t *tick, batches int) {
	in, gfn, wait := t.value("stream.in.n"), t.value("getbatch.gfn.n"), t.value("getbatch.rxwait.ns")
	o := &r.open
	if batches == 0 || in != o.Received || o.Begin == (At{}) || gfn < o.gfn {
		r.close()
		if batches > 0 {
			*o = stall{Stall: Stall{Span: Span{t.time, t.time}, Begin: t.at, End: t.at, Received: in, Ticks: 1}, gfn0: gfn, gfn: gfn, wait0: wait, wait: wait}
		}
		return
	}
	// Before 4.3 nobody counts what came from neighbours: there that batches waited most of the time, and for nothing, tells it.
	waiting := gfn == 0 && wait-o.wait > int64(t.time.Wall.Sub(o.To.Wall))/2
	if gfn > o.gfn || waiting {
		o.moved++
	}
	o.gfn, o.wait = gfn, wait
	o.To, o.End = t.time, t.at
	o.Recovered, o.Waited = gfn-o.gfn0, time.Duration(max(0, wait-o.wait0))
	o.Ticks++
}

// close keeps a stall that is one.
func (r *reader) close() {
	if r.open.real() && len(r.p.stalls) < maxStalls {
		r.p.stalls = append(r.p.stalls, r.open.Stall)
	}
	r.open = stall{}
}
