package aiscluster

import (
	"fmt"
	"time"
)

// What goes wrong in the cluster outside of batches.

// Late takes a target out of the cluster's beginning: it joins when Join is called. Nothing may have been played before.
func (c *Cluster) Late(n *Node) {
	n.lives, n.out = nil, true
	for _, x := range c.nodes() {
		lives := x.lives
		x.lives, x.said = nil, nil
		if lives != nil {
			c.start(x, lives[0].from, lives[0].aged, true)
		}
	}
}

// Join adds a target to the cluster: objects move to it, and while they do some are not found where they are asked for.
func (c *Cluster) Join(n *Node, at time.Time, takes time.Duration) (seen []Seen, asked []*Node) {
	c.comesNew(n, at.Add(-2*time.Second))
	return c.moving(n, at, takes)
}

// Maintain takes a target out of service on purpose, with the same effect.
func (c *Cluster) Maintain(n *Node, at time.Time, takes time.Duration) (seen []Seen, asked []*Node) {
	p := c.Primary()
	old := c.smap
	c.smap++
	c.gen++
	p.say(at.Add(-40*time.Millisecond), 'I', "metasync", fmt.Sprintf("%s: Smap v%d, aism[start-maintenance[g%d], name=%s]", p.Name(), c.smap, c.gen, n.ID))
	p.say(at.Add(-39*time.Millisecond), 'I', "metasync", fmt.Sprintf("%s: RMD v%d, aism[start-maintenance[g%d], name=%s]", p.Name(), c.gen, c.gen, n.ID))
	for i, x := range c.nodes() {
		if x != p {
			x.say(at.Add(-time.Duration(30-i)*time.Millisecond), 'I', "rx-smap", fmt.Sprintf("msync Rx: new %s ( have v%d[%s] aism[start-maintenance[g%d], name=%s] <-- %s )", c.smapText(), old, c.uuid, c.gen, n.ID, p.Name()))
		}
	}
	n.raise(at, at.Add(24*time.Hour), 1024)
	c.rebalances(at, takes)
	return c.moving(n, at, takes)
}

// comesNew starts a target that was never there before.
func (c *Cluster) comesNew(n *Node, at time.Time) {
	n.out = true
	c.start(n, at, false, false)
	p, old := c.Primary(), c.smap
	c.smap++
	c.gen++
	n.out = false
	p.say(at.Add(1500*time.Millisecond), 'I', "joined", fmt.Sprintf("joined %s -> %s", n.Name(), c.smapText()))
	p.say(at.Add(1510*time.Millisecond), 'I', "metasync", fmt.Sprintf("%s: Smap v%d, aism[admin-join-target[g%d], name=%s]", p.Name(), c.smap, c.gen, n.ID))
	n.say(at.Add(1600*time.Millisecond), 'I', "cluster-ok", fmt.Sprintf("%s via primary health: cluster startup Ok, %s", n.Name(), c.smapText()))
	c.running(n, at.Add(1601*time.Millisecond))
	for i, x := range c.nodes() {
		if x != p && x != n {
			x.say(at.Add(1520*time.Millisecond+time.Duration(i)*time.Millisecond), 'I', "rx-smap", fmt.Sprintf("msync Rx: new %s ( have v%d[%s] aism[admin-join-target[g%d], name=%s] <-- %s )", c.smapText(), old, c.uuid, c.gen, n.ID, p.Name()))
		}
	}
}

// moving is what clients meet while a rebalance runs.
func (c *Cluster) moving(n *Node, at time.Time, takes time.Duration) (seen []Seen, asked []*Node) {
	if len(n.lives) > 0 && n.lives[0].from.After(at.Add(-time.Minute)) {
		c.rebalances(at, takes)
	}
	for i, x := range c.peers(n) {
		if i > 2 {
			break
		}
		asked = append(asked, x)
		for k := range 2 + c.rng.IntN(3) {
			t := at.Add(time.Duration(300+k*1900)*time.Millisecond + c.jitter(time.Second))
			seen = append(seen, c.missing(x, t, c.Object()))
		}
	}
	return seen, asked
}

// FailDisk is a disk of a target that returns errors until its mountpath is disabled.
func (c *Cluster) FailDisk(n *Node, at time.Time) []Seen {
	mp := n.mpath(0)
	var seen []Seen
	for i := range 6 + c.rng.IntN(8) {
		t, o := at.Add(time.Duration(i)*900*time.Millisecond+c.jitter(500*time.Millisecond)), c.Object()
		err := fmt.Sprintf("read %s/@%s/%s/%%ob/%s: input/output error", n.mpaths[0], c.provider(), c.bucket(), o)
		if i == 0 {
			n.say(t.Add(-80*time.Microsecond), 'E', "fshc-wake", fmt.Sprintf("%s: waking up FSHC to check %s, err: %s", n.Name(), mp, err))
			n.grow(t, "err.fshc.n", 1)
		}
		n.refused(t, "PathError", err, "GET", c.objectPath(o), "", "tgtobj.go:1150", "target.go:990")
		n.grow(t, "err.get.n", 1)
		n.grow(t, "err.io.get.n", 1)
		seen = append(seen, Seen{At: t, Status: 500, Message: err, URL: c.objectURL(n, o), Object: o})
	}
	t := at.Add(11 * time.Second)
	n.say(t, 'E', "fshc-all", "## IO errors (12) exceeded configured limit, which is: (no more than 10 in 10s)")
	n.say(t.Add(20*time.Microsecond), 'W', "fshc-all-w", "waking up FSHC to check all mountpaths...")
	t = t.Add(4 * time.Second)
	n.say(t, 'E', "fshc-limit", "exceeded I/O error limit: (read 7, write 3 (max-errors 3, write-size 1MiB, pass #2))")
	n.say(t.Add(10*time.Microsecond), 'W', "fshc-proceed", "proceeding to disable "+mp)
	off := mp + " now disabled"
	if c.rel.index >= 1 {
		off += ", reason: DEGRADED"
	}
	n.say(t.Add(40*time.Millisecond), 'I', "fshc-off", off)
	n.raise(t, t.Add(24*time.Hour), flagDiskFault)
	return seen
}

// Full is a target that runs out of space: writes and objects that must first be fetched are refused.
func (c *Cluster) Full(n *Node, at time.Time, lasts time.Duration) []Seen {
	capText := "cap(used 13.6TiB, avail 213.0KiB [min=91%, avg=96%, max=100], OOS)"
	oos := "out of space: used 100% of total capacity on at least one of the mountpaths (total used 13.63TiB out of 13.97TiB)"
	n.raise(at, at.Add(24*time.Hour), flagOOS)
	n.raise(at.Add(20*time.Second), at.Add(24*time.Hour), flagDiskOOS)
	xid := c.id(9)
	n.say(at, 'W', "cleanup", fmt.Sprintf("%s running store cleanup: %s", n.Name(), capText))
	n.say(at.Add(30*time.Microsecond), 'E', "fshc-oos", fmt.Sprintf("%s: OOS (%s) via FSHC, %s", n.Name(), capText, n.mpath(0)))
	first := c.Object()
	n.refused(at.Add(190*time.Microsecond), "PathError", fmt.Sprintf("[fs-path] %s/%s.fBG.1b9e: no space left on device", c.Bucket, first), "GET", c.objectPath(first), "", "target.go:1237", "target.go:794")
	n.say(at.Add(500*time.Microsecond), 'W', "cleanup-rm", fmt.Sprintf("x-cleanup-store[%s] post-rm('deleted'): %s", xid, oos))
	n.say(at.Add(2*time.Second), 'I', "lru", fmt.Sprintf("x-lru[%s]-%s started, dont-evict-time 2h0m, %s", c.id(9), n.wall(at.Add(2*time.Second)).Format("15:04:05.000000"), capText))
	for t := at.Add(12 * time.Second); t.Before(at.Add(lasts)); t = t.Add(2 * time.Minute) {
		n.write(t, record{sev: 'W', text: fmt.Sprintf("missing: disk.%s(out-of-space).read.bps", n.disks[0])})
		n.say(t.Add(50*time.Microsecond), 'W', "no-cleanup", fmt.Sprintf("%s: _not_ running store cleanup: (%d, 10m0s), %s", n.Name(), at.UnixNano(), capText))
	}
	var seen []Seen
	for i := range 8 + c.rng.IntN(10) {
		t, o := at.Add(time.Duration(i)*800*time.Millisecond+2*time.Millisecond), c.Object()
		n.refused(t, "ErrCapExceeded", oos, "GET", c.objectPath(o), "", "target.go:1139", "target.go:794")
		n.grow(t, "err.get.n", 1)
		seen = append(seen, Seen{At: t, Status: 507, Message: oos, URL: c.objectURL(n, o), Object: o})
	}
	n.grow(at, "err.io.put.n", 1)
	return seen
}

// LimitRate is the proxies' own limit of requests.
func (c *Cluster) LimitRate(at time.Time) []Seen {
	var seen []Seen
	for i := range 12 + c.rng.IntN(30) {
		p := c.Proxies[i%len(c.Proxies)]
		t, o := at.Add(time.Duration(i)*310*time.Millisecond+c.jitter(200*time.Millisecond)), c.Object()
		p.refused(t, "ErrRateLimitFrontend", "Too Many Requests", "GET", c.objectPath(o), "", "proxy.go:1002", "proxy.go:871")
		p.grow(t, "err.get.n", 1)
		seen = append(seen, Seen{At: t, Status: 429, Message: "Too Many Requests", URL: c.objectURL(p, o), Object: o})
	}
	return seen
}

// SlowDown is the store behind the bucket that throttles; the targets try again, and give up.
func (c *Cluster) SlowDown(at time.Time) []Seen {
	var seen []Seen
	for i := range 8 + c.rng.IntN(20) {
		n := c.Targets[i%len(c.Targets)]
		t, o := at.Add(time.Duration(i)*450*time.Millisecond+c.jitter(300*time.Millisecond)), c.Object()
		msg := fmt.Sprintf("aws-error[SlowDown: %s/%s]", c.Bucket, o)
		if c.rel.index == 3 {
			msg = fmt.Sprintf("backend rate limiter: request still throttled after 5 retry attempts and %d.%ds total backoff: %s", 20+c.rng.IntN(20), c.rng.IntN(10), msg)
		}
		n.refused(t, "ErrTooManyRequests", msg, "GET", c.objectPath(o), "", "target.go:990", "target.go:702")
		n.grow(t, "ratelim.retry.get.n", 5)
		n.grow(t, "ratelim.retry.get.ns.total", int64(5*4e9))
		n.grow(t, "err.get.n", 1)
		seen = append(seen, Seen{At: t, Status: 503, Message: msg, URL: c.objectURL(n, o), Object: o})
	}
	return seen
}

// FailBehind is the store behind the bucket that fails, or is not to be reached. The targets pass that on, and count it; they write
// nothing of it. Source: AIStore ais/backend, v1.5.0.
func (c *Cluster) FailBehind(at time.Time, how int) []Seen {
	why := []string{
		"aws-error[InternalError: We encountered an internal error. Please try again.]",
		"gcp-error[Get \"https://storage.googleapis.com/speech\": dial tcp: lookup storage.googleapis.com: i/o timeout]",
		"remote-cluster[Xk3pQ9sTz/@far]: dial tcp 10.0.40.7:51080: connect: connection refused",
	}[how%3]
	var seen []Seen
	for i := range 8 + c.rng.IntN(20) {
		n := c.Targets[i%len(c.Targets)]
		t, o := at.Add(time.Duration(i)*450*time.Millisecond+c.jitter(300*time.Millisecond)), c.Object()
		n.grow(t, "err.get.n", 1)
		seen = append(seen, Seen{At: t, Status: 500, Message: why, URL: c.objectURL(n, o), Object: o})
	}
	return seen
}

// Expire is a token that runs out: every request that carries it is refused from one moment on.
func (c *Cluster) Expire(at time.Time, requests int) []Seen {
	why := `invalid token from header "Authorization": invalid token [err: token expired]`
	if !c.rel.auth {
		why = "token expired: user trainer, token expired"
	}
	var seen []Seen
	for i := range requests {
		p := c.Proxies[i%len(c.Proxies)]
		t, o := at.Add(time.Duration(i)*11*time.Millisecond+c.jitter(5*time.Millisecond)), c.Object()
		if c.rel.auth {
			p.say(t, 'W', "token", "token validation failed: "+why)
			p.grow(t, "auth.fail.n", 1)
			p.grow(t, "auth.expiredtoken.n", 1)
			p.grow(t, "auth.total.n", 1)
		}
		p.refused(t.Add(70*time.Microsecond), "", why, "GET", c.objectPath(o), "", "prxauth.go:367", "proxy.go:871")
		seen = append(seen, Seen{At: t.Add(200 * time.Microsecond), Status: 401, Message: why, URL: c.objectURL(p, o), Object: o})
	}
	return seen
}

// Cut is a network that loses what goes to and from one target; it lives, and its own log goes on.
func (c *Cluster) Cut(n *Node, at time.Time, lasts time.Duration) []Seen {
	p := c.Primary()
	var seen []Seen
	deadline := "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
	for t := at.Add(4 * time.Second); t.Before(at.Add(lasts)); t = t.Add(19*time.Second + c.jitter(6*time.Second)) {
		health := fmt.Sprintf("Get \"http://%s/v1/health\": %s", n.control(), deadline)
		p.say(t, 'W', "fast-kalive", fmt.Sprintf("%s failed to fast-kalive %s err: [ %s 0 ]", p.Name(), n.Name(), health))
		p.say(t.Add(4*time.Second), 'W', "slow-kalive", fmt.Sprintf("%s failed to slow-kalive %s - retrying [ %s 0 4s %s ]", p.Name(), n.Name(), health, c.smapText()))
		p.say(t.Add(9*time.Second), 'I', "slow-ok", fmt.Sprintf("%s slow-kalive %s OK after the first attempt", p.Name(), n.Name()))
		p.grow(t, "err.kalive.n", 2)
		n.say(t.Add(700*time.Millisecond), 'W', "kalive-retry", fmt.Sprintf("%s => %s failure - retrying: [ false 4s Post \"http://%s/v1/cluster/keepalive\": %s 0 ]", n.Name(), p.Name(), p.control(), deadline))
		n.say(t.Add(8*time.Second), 'I', "kalive-ok", fmt.Sprintf("%s => %s OK after 2 attempts tout 4s", n.Name(), p.Name()))
		n.grow(t, "err.kalive.n", 1)
		p.raise(t, t.Add(5*time.Minute), flagKeepAlive)
		n.raise(t, t.Add(5*time.Minute), flagKeepAlive)
	}
	for i, a := range c.peers(n) {
		for k := range 3 {
			t := at.Add(time.Duration(i*170+k*6100)*time.Millisecond + c.jitter(400*time.Millisecond))
			if !c.rel.batches {
				o := c.Object()
				seen = append(seen, c.farGet(a, n, t, o))
				continue
			}
			a.say(t, 'W', "yelp", fmt.Sprintf("Error: shared-dm[%s=>%s] [ error when dialing %s: dialing to the given TCP address timed out ]", a.ID, n.ID, n.data()))
			work := c.Work()
			reason := fmt.Sprintf("%s: network error while retrieving entry at index %d [ %s, %s, err=read tcp4 %s:%d->%s: i/o timeout ]", c.xname(), 4+k, a.Name(), c.wid(work), a.ip, 36300+k, n.data())
			seen = append(seen, c.batchFailed(a, t.Add(100*time.Millisecond), "", reason, work, fmt.Sprintf("objs:[%d %d.00KiB] age:20.0s", 4+k, 512)))
		}
	}
	return seen
}

// farGet is an object that a target must fetch from a neighbour that it does not reach.
func (c *Cluster) farGet(a, n *Node, at time.Time, o string) Seen {
	msg := fmt.Sprintf("%s: gfn failure, %s %q, err: Get \"http://%s%s?gfn=true&provider=%s\": dial tcp %s: i/o timeout", a.Name(), n.Name(), "o["+c.Bucket+"/"+o+"]", n.data(), c.objectPath(o), c.provider(), n.data())
	a.say(at, 'E', "gfn-fail", msg)
	a.refused(at.Add(100*time.Microsecond), "", msg, "GET", c.objectPath(o), "", "target.go:990", "target.go:702")
	a.grow(at, "err.get.n", 1)
	return Seen{At: at, Status: 500, Message: msg, URL: c.objectURL(a, o), Object: o}
}
