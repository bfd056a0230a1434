package aiscluster

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"
)

// flow is something that goes on: counters that grow.
type flow struct {
	from, to time.Time
	per      map[string]float64 // a second
}

// bump is one growth of a counter.
type bump struct {
	at   time.Time
	name string
	n    int64
}

// raised is a stretch with a state flag.
type raised struct {
	from, to time.Time
	bit      int64
}

// running is a job of the daemon's own list.
type running struct {
	from, to time.Time
	name     string
}

// diskLoad is a stretch in which a disk is worth a line.
type diskLoad struct {
	from, to time.Time
	text     func(i int) string
}

// State flags.
const (
	flagStarted      = 2 | 4
	flagRebalancing  = 8
	flagRestarted    = 128
	flagOOS          = 256
	flagOOM          = 512
	flagLowMemory    = 4096
	flagDiskFault    = 8192
	flagGoroutines   = 32768
	flagKeepAlive    = 524288
	flagOutOfCPU     = 1048576
	flagLowCPU       = 2097152
	flagDiskOOS      = 4194304
	statsPhase       = 5 * time.Second
	capacityInterval = 4 * time.Hour
)

// red are the flags that a target lists in its log.
var red = []struct {
	bit  int64
	name string
}{{flagOOS, "OOS"}, {flagOOM, "OOM"}, {flagDiskFault, "disk-fault"}, {flagGoroutines, "high-number-of-goroutines"}, {flagKeepAlive, "keep-alive-errors"},
	{flagOutOfCPU, "out-of-cpu"}, {flagLowCPU, "low-cpu"}, {flagDiskOOS, "disk-OOS"}, {flagLowMemory, "low-memory"}}

func (n *Node) grow(at time.Time, name string, by int64) {
	n.bumps = append(n.bumps, bump{at, name, by})
}

func (n *Node) flow(from, to time.Time, per map[string]float64) {
	n.flows = append(n.flows, flow{from, to, per})
}

func (n *Node) raise(from, to time.Time, bit int64) {
	n.raised = append(n.raised, raised{from, to, bit})
}

// flags is the state at a moment.
func (n *Node) flags(at time.Time) int64 {
	f := int64(flagStarted)
	if n.c.lowCPU {
		f |= flagLowCPU
	}
	for _, r := range n.raised {
		if !at.Before(r.from) && at.Before(r.to) {
			f |= r.bit
		}
	}
	return f
}

// counted are the counters of a life at a moment.
func (n *Node) counted(l *life, at time.Time) map[string]int64 {
	sum := map[string]float64{}
	for _, f := range n.flows {
		from, to := f.from, f.to
		if from.Before(l.from) {
			from = l.from
		}
		if to.After(at) {
			to = at
		}
		if !to.After(from) {
			continue
		}
		for k, v := range f.per {
			sum[k] += v * (to.Sub(from).Seconds() + wobble(to, k)*n.c.spec.StatsEvery.Seconds())
		}
	}
	out := map[string]int64{}
	for k, v := range sum {
		out[k] = int64(math.Floor(v + 1e-6))
	}
	for _, b := range n.bumps {
		if !b.at.Before(l.from) && !b.at.After(at) {
			out[b.name] += b.n
		}
	}
	for k, v := range l.base {
		if _, grows := out[k]; grows || len(n.flows) > 0 && k == "put.n" {
			out[k] += v
		}
	}
	return out
}

// wobble is by how much of an interval a counter is ahead: no load is even. It depends on nothing but its arguments.
func wobble(at time.Time, name string) float64 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%d %s", at.UnixMilli(), name[:strings.IndexByte(name, '.')])
	return float64(h.Sum32()%1000) / 2500
}

// ticks writes the counters of a life, the markers of the hours, and what a target adds to its counters.
func (n *Node) ticks(l *life, until time.Time) {
	if !l.to.IsZero() && l.to.Before(until) {
		until = l.to
	}
	every := n.c.spec.StatsEvery
	phase := statsPhase + time.Duration(n.index*271+40)*time.Millisecond
	if l.aged {
		phase = time.Duration(n.index*1371+400) * time.Millisecond
	}
	if !n.target {
		phase += 130 * time.Millisecond
	}
	hour := l.from.Add(time.Hour)
	if l.aged {
		hour = l.from.Add(time.Duration(7+n.index*3%50) * time.Minute)
	}
	var before map[string]int64
	var wasFlags int64
	last := l.from
	capacity := l.from
	for at := l.from.Add(phase); at.Before(until); at = at.Add(every) {
		if n.still(at) {
			continue
		}
		now, flags := n.counted(l, at), n.flags(at)
		if changed := !equal(now, before) || flags != wasFlags; changed && len(now) > 0 {
			n.write(at, record{sev: 'I', text: n.pseudoJSON(now, before, flags, at, at.Sub(last))})
			if n.target {
				n.after(at, flags, &capacity)
			}
		}
		before, wasFlags, last = now, flags, at
		if at.After(hour) || at.Equal(hour) {
			wall := n.wall(at)
			n.say(at.Add(38*time.Microsecond), 'I', "marker", fmt.Sprintf("%s %s =============", wall.Format("02 Jan 06 15:04"), n.c.spec.Zone))
			hour = hour.Add(time.Hour)
		}
	}
}

func equal(a, b map[string]int64) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

// after is what follows a target's counters: capacity now and then, alerts, disks under load, running jobs.
func (n *Node) after(at time.Time, flags int64, capacity *time.Time) {
	us := time.Microsecond
	label := fmt.Sprintf("l%d", n.index)
	var alerts []string
	for _, r := range red {
		if flags&r.bit != 0 {
			alerts = append(alerts, r.name)
		}
	}
	full := flags&(flagOOS|flagDiskOOS) != 0
	if full || !at.Before(*capacity) {
		for i, m := range n.mpaths {
			text := fmt.Sprintf("%s, %q: used %d%%, avail %d.%dGiB", m, label, 61+n.index+i, 900+17*i, n.index%10)
			if full && i == 0 {
				text = fmt.Sprintf("%s, %q: (out-of-space)", m, label)
			}
			n.write(at.Add(time.Duration(4+i)*us), record{sev: 'I', text: text})
		}
		*capacity = at.Add(capacityInterval)
	}
	if slices.ContainsFunc(alerts, func(a string) bool { return a != "low-cpu" && a != "keep-alive-errors" }) {
		n.write(at.Add(9*us), record{sev: 'I', text: "Warning: state alerts:"})
		n.write(at.Add(10*us), record{sev: 'I', text: "[" + strings.Join(alerts, " ") + "]"})
	}
	for _, d := range n.loads {
		if !at.Before(d.from) && at.Before(d.to) {
			for i := range n.disks {
				if text := d.text(i); text != "" {
					n.write(at.Add(time.Duration(12+i)*us), record{sev: 'I', text: n.disks[i] + ": " + text})
				}
			}
		}
	}
	var names []string
	for _, r := range n.runs {
		if !at.Before(r.from) && at.Before(r.to) {
			names = append(names, r.name)
		}
	}
	if len(names) > 0 {
		n.write(at.Add(20*us), record{sev: 'I', text: fmt.Sprintf("running(%d): %s", len(names), strings.Join(names, " "))})
	}
}

// pseudoJSON is a line of counters: sorted, zeros left out, keys without quotes. Averages and rates are of the last interval.
func (n *Node) pseudoJSON(now, before map[string]int64, flags int64, at time.Time, d time.Duration) string {
	out := map[string]int64{"state.flags": flags}
	for _, w := range n.waits {
		if !w.at.After(at) && w.at.After(at.Add(-d)) {
			out[w.name] = w.n
		}
	}
	for k, v := range now {
		if v == 0 {
			continue
		}
		out[k] = v
		root, ok := strings.CutSuffix(k, ".ns.total")
		if ok && (root == "get" || root == "put") {
			if ops := now[root+".n"] - before[root+".n"]; ops > 0 && before != nil {
				out[root+".ns"] = (v - before[k]) / ops
			}
		}
		if root, ok = strings.CutSuffix(k, ".size"); ok && (root == "get" || root == "put") && before != nil && d >= time.Second {
			if r := (v - before[k]) / int64(d.Seconds()); r > 0 {
				out[root+".bps"] = r
			}
		}
	}
	if n.c.rng.IntN(6) == 0 {
		out["kalive.ns"] = 400000 + n.c.rng.Int64N(900000)
	}
	keys := make([]string, 0, len(out))
	for k := range out {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b strings.Builder
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%d", k, out[k])
	}
	b.WriteByte('}')
	return b.String()
}
