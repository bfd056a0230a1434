package aiscluster

import (
	"fmt"
	"time"
)

// What goes wrong in batches and between daemons while all of them live.

// late are what peers say of a batch that is gone: entries that still come for it. They are consequences.
func (c *Cluster) late(dt *Node, at time.Time, work string) {
	for i := range 1 + c.rng.IntN(3) {
		t := at.Add(time.Duration(3+i*40) * time.Millisecond)
		switch c.rel.index {
		case 0, 1:
			dt.say(t, 'E', "recv", fmt.Sprintf("shared-dm err: shared-dm: xid %s not found, dropping recv [oname: %s]", c.job, c.Object()))
			dt.say(t.Add(30*time.Microsecond), 'E', "recv", fmt.Sprintf("shared-dm err: %s %s out-of-bounds index %d (recv'd len=0, %s)", c.xname(), dt.Name(), 9+i, c.wid(work)))
		default:
			dt.say(t, 'W', "sdm-drop", fmt.Sprintf("shared-dm xid %s not found - dropping %s", c.job, c.Object()))
			dt.say(t.Add(30*time.Microsecond), 'W', "moss-index", fmt.Sprintf("%s %s out-of-bounds index %d (recv'd len=0, %s)", c.xname(), dt.Name(), 9+i, c.wid(work)))
		}
	}
}

// peers are the targets but one.
func (c *Cluster) peers(b *Node) []*Node {
	var out []*Node
	for _, n := range c.Targets {
		if n != b && n.alive(c.begin.Add(time.Minute)) {
			out = append(out, n)
		}
	}
	return out
}

// BreakStreams breaks every stream to and from one target for a while, although it lives: what clients saw comes back.
func (c *Cluster) BreakStreams(b *Node, at time.Time) []Seen {
	var seen []Seen
	for round := range 2 + c.rng.IntN(3) {
		for i, a := range c.peers(b) {
			t := at.Add(time.Duration(round)*7*time.Second + time.Duration(i*13)*time.Millisecond + c.jitter(9*time.Millisecond))
			pipe := fmt.Sprintf("write tcp4 %s:%d->%s: write: broken pipe", a.ip, 36200+i, b.data())
			a.say(t, 'W', "yelp", fmt.Sprintf("Error: shared-dm[%s=>%s] [ %s ]", a.ID, b.ID, pipe))
			if c.rel.index < 2 {
				a.say(t.Add(70*time.Microsecond), 'E', "term", fmt.Sprintf("shared-dm[%s=>%s] terminated [reason: 'error' ctx: dropping %s err: %s]", a.ID, b.ID, c.Object(), pipe))
			} else {
				a.say(t.Add(70*time.Microsecond), 'E', "term", fmt.Sprintf("shared-dm[%s=>%s] terminated [%s ctx: dropping %s]", a.ID, b.ID, pipe, c.Object()))
			}
			eof := fmt.Sprintf("shared-dm[%s<=%s] sbr_obj_data_eof:[ctx: n=%d err: unexpected EOF]", a.ID, b.ID, 4096*(1+c.rng.IntN(30)))
			b.say(t.Add(400*time.Microsecond), 'W', "sdm-rx", b.Name()+" shared-dm "+eof)
			b.refused(t.Add(460*time.Microsecond), "ErrSBR", eof, "PUT", "/v1/objstream/shared-dm", "", "recv.go:137")
			work := c.Work()
			reason := fmt.Sprintf("%s %s failed to receive %s from %s: %s", c.xname(), b.Name(), c.Object(), a.Name(), eof)
			b.say(t.Add(700*time.Microsecond), 'W', "moss-recv", reason)
			seen = append(seen, c.batchFailed(b, t.Add(900*time.Microsecond), "ErrSBR", reason, work, fmt.Sprintf("objs:[%d %d.00KiB] in-rx:1 age:%d.5ms", 3+i, 384+128*i, 20+i)))
			b.grow(t, "err.soft.getbatch.n", int64(2+c.rng.IntN(5)))
			c.late(b, t.Add(2*time.Millisecond), work)
			a.say(t.Add(time.Second), 'W', "sdm-reconnect", fmt.Sprintf("%s reconnect/send: shared-dm --> %s <nil>", a.Name(), b.ID))
			b.say(t.Add(1010*time.Millisecond), 'W', "sdm-back", fmt.Sprintf("%s shared-dm successful reconnect from %s", b.Name(), a.ID))
		}
	}
	if c.rel.index >= 2 {
		b.say(at.Add(40*time.Minute), 'I', "sdm-stats", "shared-dm stats: drops 41 rxerr 3 sbrs 12")
	}
	return seen
}

// LoseObjects is a designated target that misses more entries of its batches than it may, and drops the rest of them.
func (c *Cluster) LoseObjects(dt *Node, at time.Time) []Seen {
	var seen []Seen
	for i := range 3 + c.rng.IntN(5) {
		t := at.Add(time.Duration(i)*1700*time.Millisecond + c.jitter(800*time.Millisecond))
		work := c.Work()
		c.late(dt, t.Add(-50*time.Millisecond), work)
		reason := fmt.Sprintf("%s: %s exceeded soft-errors limit: 9 (max: 8)", c.xname(), c.wid(work))
		if c.rel.index < 2 {
			reason = fmt.Sprintf("%s: work item %q exceeded soft-errors limit: 9 (max: 8)", c.xname(), work)
		}
		dt.grow(t, "err.soft.getbatch.n", 9)
		seen = append(seen, c.batchFailed(dt, t, "", reason, work, fmt.Sprintf("objs:[%d %d.00MiB] soft-errs:9 age:%d.2ms", 17+i, 2+i, 300+i)))
		c.late(dt, t.Add(20*time.Millisecond), work)
	}
	return seen
}

// Stall is a target whose batches wait: it receives nothing, and says almost nothing. Load must come after it.
func (c *Cluster) Stall(n *Node, at time.Time, lasts time.Duration) []Seen {
	if c.stalled == nil {
		c.stalled = map[*Node]time.Time{}
	}
	c.stalled[n] = at
	var seen []Seen
	for i := range 2 + c.rng.IntN(3) {
		t := at.Add(2*time.Minute + time.Duration(i)*7*time.Minute + c.jitter(30*time.Second))
		if t.After(at.Add(lasts)) {
			break
		}
		work := c.Work()
		reason := fmt.Sprintf("%s: timed out waiting for missing entry at index %d [ %s, %s, total-wait=20s ]", c.xname(), 6+i, n.Name(), c.wid(work))
		seen = append(seen, c.batchFailed(n, t, "", reason, work, fmt.Sprintf("objs:[%d %d.00KiB] gfn:5 age:2m0.039415552s", 6+i, 768+128*i)))
	}
	return seen
}

// Press is a target whose disks are busy until it turns batches away; the pressure is there before.
func (c *Cluster) Press(n *Node, at time.Time, memory bool, lasts time.Duration) []Seen {
	from := at.Add(-3*time.Minute - c.jitter(90*time.Second))
	adv := "load=critical sleep=10ms [mem=low cpu=low dsk=critical]"
	if memory {
		adv = "load=critical sleep=100ms [mem=critical cpu=low dsk=low]"
		n.raise(from, at.Add(lasts), flagOOM)
		for t := from; t.Before(at.Add(lasts)); t = t.Add(time.Minute) {
			if c.rel.index < 2 {
				n.say(t, 'E', "mem-extreme", fmt.Sprintf("extreme memory pressure [ ncrit %d actual 812646400 min 2147483648 ]", 3+c.rng.IntN(40)))
			} else {
				n.say(t, 'E', "mem-extreme", fmt.Sprintf("extreme memory pressure actual: 812646400 min: 2147483648 cnt: %d", 3+c.rng.IntN(40)))
			}
			n.say(t.Add(10*time.Second), 'W', "mem-oom", n.Name()+" "+n.ID+".gmm alert: oom")
			n.say(t.Add(11*time.Second), 'W', "mem-free", n.ID+".gmm free mem to OS(pressure,force,togc,load) [ 3 true 5.1GiB 41 ]")
		}
	} else {
		n.loads = append(n.loads, diskLoad{from, at.Add(lasts), func(i int) string {
			return fmt.Sprintf("%dMiB/s, 131KiB, 11MiB/s, 88KiB, %d%%", 1900+40*i, 97+i%3)
		}})
	}
	for t := from; t.Before(at); t = t.Add(time.Minute) { // slowed down at first, said once a minute
		n.say(t, 'W', "moss-press", c.throttled(adv))
	}
	n.flow(from, at.Add(lasts), map[string]float64{"getbatch.throttle.ns": 2.1e8})
	var seen []Seen
	for i := range 5 + c.rng.IntN(8) {
		t := at.Add(time.Duration(i)*2300*time.Millisecond + c.jitter(900*time.Millisecond))
		work := c.Work()
		msg := fmt.Sprintf("%s: %s rejected due to resource pressure (%s, pending=%d)", c.xname(), c.wid(work), adv, 20+c.rng.IntN(30))
		if c.rel.index < 2 {
			msg = fmt.Sprintf("%s: work item %q rejected due to resource pressure (%s)", c.xname(), work, adv)
		}
		path := fmt.Sprintf("/v1/ml/moss/%s/noxid/%s/%d", c.bucket(), work, len(c.Targets))
		p := c.Proxies[c.rng.IntN(len(c.Proxies))]
		n.refused(t, "ErrTooManyRequests", msg, "POST", path, p.Name(), "ml.go:434", "ml.go:358")
		p.refused(t.Add(400*time.Microsecond), "ErrTooManyRequests", msg, "POST", path, p.Name(), "ml.go:216", "ml.go:53")
		n.grow(t, "err.getbatch.n", 1)
		seen = append(seen, Seen{At: t.Add(500 * time.Microsecond), Status: 429, Message: msg, URL: c.batchURL(p)})
	}
	return seen
}

// throttled is the line of a target that slows batches down.
func (c *Cluster) throttled(adv string) string {
	if c.rel.index < 2 {
		return fmt.Sprintf("resource pressure: %s - sleeping/delaying: 10ms", adv)
	}
	return fmt.Sprintf("%s pending: %d resource pressure: %s throttle: 10ms", c.xname(), 10+c.rng.IntN(30), adv)
}

// Grumble is pressure that is there all day and turns nobody away.
func (c *Cluster) Grumble(n *Node, from, to time.Time) {
	for t := from; t.Before(to); t = t.Add(time.Minute + c.jitter(3*time.Second)) {
		if c.rel.batches {
			n.say(t, 'W', "moss-press", c.throttled("load=critical sleep=10ms [mem=low cpu=low dsk=critical]"))
		} else {
			n.say(t, 'W', "cpu-high", fmt.Sprintf("%s CPU utilization: high [ %d 48 ]", n.Name(), 41+c.rng.IntN(6)))
		}
	}
	n.loads = append(n.loads, diskLoad{from, to, func(i int) string {
		return fmt.Sprintf("%dMiB/s, 131KiB, 11MiB/s, 88KiB, %d%%", 1700+40*i, 95+i%3)
	}})
	if c.rel.batches {
		n.flow(from, to, map[string]float64{"getbatch.throttle.ns": 1.6e8})
	}
}
