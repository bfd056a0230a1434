package aiscluster

import (
	"fmt"
	"time"
)

// Crash is a target that is killed and comes back; what the others say is that of a real cluster of 5.0 whose target was
// killed. It returns what clients saw.
func (c *Cluster) Crash(b *Node, at time.Time, back time.Duration, how string) []Seen {
	if how == "fatal" {
		b.say(at.Add(-3*time.Millisecond), 'E', "fatal", "FATAL ERROR: runtime: out of memory: cannot allocate 67108864-byte block (206158430208 in use)")
	}
	b.end(at, how != "fatal")
	var seen []Seen
	for i, a := range c.Targets {
		if a == b || !a.alive(at) {
			continue
		}
		seen = append(seen, c.brokenBy(a, b, at.Add(time.Duration(1+7*i)*time.Millisecond), back)...)
	}
	seen = append(seen, c.evicts(b, at, back)...)
	c.comesBack(b, at.Add(back))
	return seen
}

// Restart is a target that somebody stops and starts again. The others wait for it.
func (c *Cluster) Restart(b *Node, at time.Time, back time.Duration) {
	c.stop(b, at)
	c.comesBack(b, at.Add(back))
}

// refusing is the error of a connection that nobody takes.
func refusing(addr string) string {
	return fmt.Sprintf("dial tcp %s: connect: connection refused", addr)
}

// brokenBy is one target's view of another's death.
func (c *Cluster) brokenBy(a, b *Node, at time.Time, back time.Duration) []Seen {
	var seen []Seen
	if !c.rel.batches {
		if back < 30*time.Second {
			return nil
		}
		for i := range 3 + c.rng.IntN(4) { // until it is evicted nobody else is asked for its objects
			t := at.Add(28500*time.Millisecond + time.Duration(i)*900*time.Millisecond + c.jitter(300*time.Millisecond))
			seen = append(seen, c.missing(a, t, c.Object()))
		}
		return seen
	}
	stream := fmt.Sprintf("shared-dm[%s<=%s]", b.ID, a.ID)
	eof := stream + " sbr_proto_hdr:[ctx: n=0 err: unexpected EOF]"
	a.say(at, 'W', "sdm-rx", a.Name()+" shared-dm "+eof)
	a.refused(at.Add(60*time.Microsecond), "ErrSBR", eof, "PUT", "/v1/objstream/shared-dm", "", "recv.go:137")
	n := 3 + c.rng.IntN(5)
	for i := range n {
		t := at.Add(time.Duration(150+i*700)*time.Millisecond + c.jitter(400*time.Millisecond))
		o, work := c.Object(), c.Work()
		get := fmt.Sprintf("Get \"http://%s%s?gfn=true&provider=%s\": %s", b.data(), c.objectPath(o), c.provider(), refusing(b.data()))
		reason := fmt.Sprintf("GFN(%s/%s, %s): %s", c.Bucket, o, b.Name(), get)
		if c.rel.index < 2 {
			reason = get
		}
		s := c.batchFailed(a, t, "wrapError", reason, work, fmt.Sprintf("objs:[%d %d.00KiB] gfn:1 gfn-err:1 age:%d.36ms", i, 128*i, 5+i))
		s.Object = o
		seen = append(seen, s)
		if c.rel.neighbours {
			a.grow(t, "getbatch.gfn.n", 1)
			a.grow(t, "err.gfn.getbatch.n", 1)
		}
		if c.rel.index >= 2 {
			a.say(t.Add(200*time.Microsecond), 'W', "abort-wi", fmt.Sprintf("%s abortWI %s Post \"http://%s/v1/xactions/t2tctrl/get-batch/%s/%s/abortWI\": %s", c.xname(), b.Name(), b.control(), c.job, work, refusing(b.control())))
		}
	}
	t := at.Add(4 * time.Second)
	a.say(t, 'W', "yelp", fmt.Sprintf("Error: shared-dm[%s=>%s] [ write tcp4 %s:36204->%s: write: broken pipe ]", a.ID, b.ID, a.ip, b.data()))
	for t = t.Add(time.Second); t.Before(at.Add(min(back, 28*time.Second))); t = t.Add(2 * time.Second) {
		a.say(t, 'W', "yelp", fmt.Sprintf("Error: shared-dm[%s=>%s] [ error when dialing %s: dial tcp4 %s: connect: connection refused ]", a.ID, b.ID, b.data(), b.data()))
		a.say(t.Add(90*time.Microsecond), 'I', "sb-again", fmt.Sprintf("sb-[%s-v%d-shared-dm] successfully restablished connectivity to %s", a.ID, c.smap, b.ID))
		a.say(t.Add(120*time.Microsecond), 'W', "sdm-reconnect", fmt.Sprintf("%s reconnect/send: shared-dm --> %s <nil>", a.Name(), b.ID))
	}
	return seen
}

// evicts is the primary's view of a target's death: requests that cannot be handed on, probes in vain, and its removal.
func (c *Cluster) evicts(b *Node, at time.Time, back time.Duration) []Seen {
	p := c.Primary()
	var seen []Seen
	for i := range 4 + c.rng.IntN(8) {
		t := at.Add(time.Duration(400+i*800)*time.Millisecond + c.jitter(500*time.Millisecond))
		if t.After(at.Add(min(back, 15*time.Second))) {
			break
		}
		if c.rel.batches {
			path := fmt.Sprintf("/v1/ml/moss/%s/noxid/%s/%d", c.bucket(), c.Work(), len(c.Targets))
			msg := fmt.Sprintf("Post \"http://%s%s?provider=%s&tid=%s\": %s", b.control(), path, c.provider(), b.ID, refusing(b.control()))
			p.refused(t, "Error", msg, "GET", c.batchPath(), "", "ml.go:216", "ml.go:53")
			seen = append(seen, Seen{At: t, Status: 500, Message: msg, URL: c.batchURL(p)})
			continue
		}
		o := c.Object()
		seen = append(seen, Seen{At: t, Status: 0, Message: refusing(b.public()), URL: c.objectURL(b, o), Object: o})
	}
	probe := at.Add(13*time.Second + c.jitter(200*time.Millisecond))
	if back < 14*time.Second {
		return seen
	}
	health := fmt.Sprintf("Get \"http://%s/v1/health\": %s", b.control(), refusing(b.control()))
	p.say(probe, 'W', "fast-kalive", fmt.Sprintf("%s failed to fast-kalive %s err: [ %s 0 ]", p.Name(), b.Name(), health))
	for i := range 2 {
		t := probe.Add(time.Duration(i)*7*time.Second + 96*time.Microsecond)
		if t.Before(at.Add(back)) {
			p.say(t, 'W', "slow-kalive", fmt.Sprintf("%s failed to slow-kalive %s - retrying [ %s 0 4s %s ]", p.Name(), b.Name(), health, c.smapText()))
			p.grow(t, "err.kalive.n", 2)
		}
	}
	p.raise(probe, probe.Add(5*time.Minute), flagKeepAlive)
	if gone := at.Add(28 * time.Second); back > 28*time.Second {
		c.remove(b, gone)
	}
	return seen
}

// remove takes a target out of the cluster map.
func (c *Cluster) remove(b *Node, at time.Time) {
	p := c.Primary()
	p.say(at, 'E', "removed", fmt.Sprintf("slow-kalive failure after 3 attempts - removing %s from %s", b.Name(), c.smapText()))
	b.out = true
	old := c.smap
	c.smap++
	p.say(at.Add(2*time.Millisecond), 'I', "metasync", fmt.Sprintf("%s: Smap v%d", p.Name(), c.smap))
	for i, n := range c.nodes() {
		if n != p && n != b {
			n.say(at.Add(time.Duration(3+i)*time.Millisecond), 'I', "rx-smap", fmt.Sprintf("msync Rx: new %s ( have v%d[%s] aism[] <-- %s )", c.smapText(), old, c.uuid, p.Name()))
		}
	}
}

// comesBack starts a target that died: it joins, is not ready at first, and a rebalance runs.
func (c *Cluster) comesBack(b *Node, at time.Time) {
	p := c.Primary()
	wasOut := b.out
	old := c.smap
	c.start(b, at, false, false)
	b.raise(at, at.Add(10*time.Hour), flagRestarted)
	b.out = false
	join := at.Add(18 * time.Millisecond)
	p.say(join, 'I', "autoreg", fmt.Sprintf("%s: autoreg(\"self-join-target\") %s (Smap v%d)", p.Name(), b.Name(), old))
	if wasOut {
		c.smap += 2
		c.gen++
		for _, what := range []string{"Conf v9", fmt.Sprintf("Smap v%d", c.smap), "BMD v12", fmt.Sprintf("RMD v%d", c.gen)} {
			p.say(join.Add(13*time.Millisecond), 'I', "metasync", fmt.Sprintf("%s: %s, aism[self-join-target[g%d], name=%s]", p.Name(), what, c.gen, b.ID))
		}
	}
	if c.rel.batches {
		for i := range 2 + c.rng.IntN(3) {
			t := at.Add(time.Duration(97+i*60) * time.Millisecond)
			path := fmt.Sprintf("/v1/ml/moss/%s/noxid/%s/%d", c.bucket(), c.Work(), len(c.Targets))
			b.refused(t, "", "not ready yet", "POST", path, p.Name(), "ml.go:338")
			p.refused(t.Add(500*time.Microsecond), "", "not ready yet", "POST", path, p.Name(), "ml.go:216", "ml.go:53")
		}
	}
	b.say(at.Add(1040*time.Millisecond), 'I', "cluster-ok", fmt.Sprintf("%s via primary health: cluster startup Ok, %s", b.Name(), c.smapText()))
	c.running(b, at.Add(1041*time.Millisecond))
	for i, n := range c.nodes() {
		if n != p && wasOut {
			n.say(at.Add(2*time.Second+time.Duration(i)*time.Millisecond), 'I', "rx-smap", fmt.Sprintf("msync Rx: new %s ( have v%d[%s] aism[self-join-target[g%d], name=%s] <-- %s )", c.smapText(), old, c.uuid, c.gen, b.ID, p.Name()))
		}
	}
	if wasOut {
		c.rebalances(at.Add(2*time.Second), time.Duration(45+c.rng.IntN(240))*time.Second)
	}
}

// rebalances writes a rebalance of all targets.
func (c *Cluster) rebalances(at time.Time, takes time.Duration) {
	for i, n := range c.Targets {
		if !n.alive(at) {
			continue
		}
		t := at.Add(time.Duration(5+i) * time.Millisecond)
		log := fmt.Sprintf("%s[g%d,v%d]", n.Name(), c.gen, c.smap)
		x := fmt.Sprintf("x-rebalance[g%d]-%s", c.gen, n.wall(t).Format("15:04:05.000000"))
		n.say(t, 'I', "start-reb", fmt.Sprintf("%s starting rebalance[g%d]", n.Name(), c.gen))
		n.say(t.Add(3*time.Millisecond), 'I', "reb-run", log+" - running "+x)
		n.say(t.Add(3100*time.Microsecond), 'I', "reb-init", log+" initializing")
		n.say(t.Add(3200*time.Microsecond), 'I', "gfn-on", "global on timed off")
		n.say(t.Add(3300*time.Microsecond), 'I', "reb-start", log+" start no-ec run")
		n.raise(t, t.Add(takes), flagRebalancing)
		n.runs = append(n.runs, running{t, t.Add(takes), fmt.Sprintf("rebalance[g%d]", c.gen)})
		n.flow(t, t.Add(takes), map[string]float64{"stream.in.n": 22, "stream.in.size": 22 * 131072, "stream.out.n": 21, "stream.out.size": 21 * 131072})
		end := t.Add(takes)
		n.say(end.Add(-12*time.Second), 'I', "reb-finish", log+" finish no-ec run")
		n.say(end, 'I', "reb-end", fmt.Sprintf("%s done %s-%s", log, x, n.wall(end).Format("15:04:05.000000")))
		n.say(end.Add(7*time.Microsecond), 'I', "gfn-off", "global off")
	}
	c.Primary().say(at.Add(takes+20*time.Millisecond), 'I', "reb-done", fmt.Sprintf("rebalance[g%d] done", c.gen))
}
