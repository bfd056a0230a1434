package aiscluster

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/cespare/xxhash/v2"
)

// What people do to a cluster, and what the daemons write of it: texts of ais/prxcycle.go, ais/metasync.go, ais/tgtcp.go,
// xact/xs/moss.go, xact/xs/evict.go and xact/base.go, and of a cluster of 5.0 to which it was done.

// home is the target that keeps an object while all are in service (core/meta/hrw.go).
func (c *Cluster) home(object string) *Node {
	digest := hashed(c.provider() + "/@#/" + c.bucket() + "/" + object)
	var out *Node
	most := uint64(0)
	for _, n := range c.Targets {
		if w := xoshiro(hashed(n.ID) ^ digest); w >= most {
			out, most = n, w
		}
	}
	return out
}

// hashed is the hash that AIStore takes of names, with its seed.
func hashed(s string) uint64 {
	h := xxhash.NewWithSeed(1103515245)
	_, _ = h.WriteString(s) // it never fails
	return h.Sum64()
}

func xoshiro(seed uint64) uint64 {
	z := seed + 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	z = (z ^ (z >> 31)) + 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	z = (z ^ (z >> 31)) * 5
	return bits.RotateLeft64(z, 7) * 9
}

// ObjectAt is the name of an object that a target keeps.
func (c *Cluster) ObjectAt(n *Node) string {
	for {
		if o := c.Object(); c.home(o) == n {
			return o
		}
	}
}

// Withdraw puts a target into maintenance without a rebalance: its objects are asked for elsewhere, and are not there. No daemon
// writes that it did not find them.
func (c *Cluster) Withdraw(n *Node, at time.Time) []Seen {
	p, old := c.Primary(), c.smap
	c.smap++
	const act = "aism[start-maintenance]"
	p.say(at, 'I', "admin", fmt.Sprintf("%s: start-maintenance([%s]) opts={%s [] true false false false}", p.Name(), n.Name(), n.ID))
	if c.rel.index == 3 {
		p.say(at.Add(85*time.Microsecond), 'W', "admin-warn", fmt.Sprintf("%s: start-maintenance reb=false [%s] - executing \"start-maintenance\" _and_ not running global rebalance may lead to a loss of data; to rebalance manually at a later time, run: `ais start rebalance`", p.Name(), n.ID))
	}
	p.say(at.Add(84*time.Millisecond), 'I', "metasync", fmt.Sprintf("%s: Smap v%d, %s", p.Name(), c.smap, act))
	for i, x := range c.nodes() {
		t := at.Add(time.Duration(90+i) * time.Millisecond)
		if x == p || !x.alive(t) {
			continue
		}
		x.say(t, 'I', "rx-smap", fmt.Sprintf("msync Rx: new %s ( have v%d[%s] %s <-- %s )", c.smapText(), old, c.uuid, act, p.Name()))
	}
	if c.rel.batches {
		n.say(at.Add(88*time.Millisecond), 'I', "moss-end", fmt.Sprintf("%s aborting: %s: term-kalive by \"start-maintenance\"", c.xname(), n.Name()))
	}
	n.raise(at, at.Add(24*time.Hour), 1024)
	var seen []Seen
	peers := c.peers(n)
	for i := range 8 + c.rng.IntN(8) {
		x, o := peers[c.rng.IntN(len(peers))], c.ObjectAt(n)
		seen = append(seen, c.notThere(x, at.Add(time.Duration(300+i*900)*time.Millisecond+c.jitter(300*time.Millisecond)), o))
	}
	return seen
}

// DeleteListed is somebody who deletes a list of objects. The targets that kept them no longer find them.
func (c *Cluster) DeleteListed(at time.Time) []Seen {
	id, first := c.id(9), c.Object()
	names := 40 + c.rng.IntN(400)
	x := fmt.Sprintf("x-delete-listrange[%s]-%s", id, c.Bucket)
	for i, n := range c.Targets {
		t := at.Add(time.Duration(i) * 3 * time.Millisecond)
		if !n.alive(t) {
			continue
		}
		if c.rel.index >= 2 {
			n.say(t.Add(5*time.Millisecond), 'I', "listed", fmt.Sprintf("%s ctl: list(%d names):[%s, ...]", x, names, first))
		}
		n.say(t.Add(11*time.Millisecond), 'I', "xact-end", fmt.Sprintf("%s-%s-00:00:00.000000 finished", x, n.wall(t).Format("15:04:05.000000")))
		n.grow(t, "del.n", int64(names/len(c.Targets)))
	}
	var seen []Seen
	for i := range 8 + c.rng.IntN(8) {
		o := c.Object()
		seen = append(seen, c.notThere(c.home(o), at.Add(time.Duration(300+i*900)*time.Millisecond+c.jitter(300*time.Millisecond)), o))
	}
	return seen
}

// notThere is an answer of which a daemon keeps no line.
func (c *Cluster) notThere(n *Node, at time.Time, object string) Seen {
	n.grow(at, "err.get.n", 1)
	return Seen{At: at, Status: 404, Message: fmt.Sprintf("%s: %s/%s does not exist", n.Name(), c.Bucket, object), URL: c.redirectURL(n, object, at), Object: object}
}

// Freeze holds a target for a while: it writes nothing and answers nobody, and goes on afterwards as if nothing had been. Requests
// that waited are served then, late.
func (c *Cluster) Freeze(n *Node, at time.Time, lasts time.Duration) []Seen {
	n.frozen = append(n.frozen, span{at, at.Add(lasts)})
	p := c.Primary()
	deadline := "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
	health := fmt.Sprintf("Get \"http://%s/v1/health\": %s", n.control(), deadline)
	for t := at.Add(14*time.Second + c.jitter(6*time.Second)); t.Before(at.Add(lasts)); t = t.Add(18*time.Second + c.jitter(6*time.Second)) {
		p.say(t, 'W', "fast-kalive", fmt.Sprintf("%s failed to fast-kalive %s err: [ %s 0 ]", p.Name(), n.Name(), health))
		p.say(t.Add(4*time.Second), 'W', "slow-kalive", fmt.Sprintf("%s failed to slow-kalive %s - retrying [ %s 0 8s %s ]", p.Name(), n.Name(), health, c.smapText()))
		p.grow(t, "err.kalive.n", 2)
		p.raise(t, t.Add(5*time.Minute), flagKeepAlive)
	}
	n.waits = append(n.waits, bump{at.Add(lasts), "get.redir.ns", int64(lasts) * 7 / 10})
	var seen []Seen
	for i := range 3 {
		t := at.Add(4*time.Second + time.Duration(i)*2*time.Second + c.jitter(time.Second))
		if !c.rel.batches {
			o := c.ObjectAt(n)
			seen = append(seen, Seen{At: t, Status: 500, Message: fmt.Sprintf("Get \"%s\": %s", c.objectURL(n, o), deadline), URL: c.objectURL(p, o), Object: o})
			continue
		}
		path := fmt.Sprintf("%s/noxid/%s/%d", c.batchPath(), c.Work(), len(c.Targets))
		msg := fmt.Sprintf("Post \"http://%s%s?provider=%s&tid=%s\": %s", n.control(), path, c.provider(), n.ID, deadline)
		p.write(t, record{sev: 'E', text: fmt.Sprintf("Error: %s: GET %s (%s: %s])", msg, c.batchPath(), p.Name(), c.rel.chain("ml.go:216", "ml.go:53"))})
		seen = append(seen, Seen{At: t, Status: 400, Message: msg, URL: c.batchURL(p)})
	}
	return seen
}

// span is a stretch of true time.
type span struct{ from, to time.Time }

// still says that a daemon stood still at a moment.
func (n *Node) still(at time.Time) bool {
	for _, f := range n.frozen {
		if at.After(f.from) && at.Before(f.to) {
			return true
		}
	}
	return false
}

// Busy is load that harms nobody: processors that have much to do, and say so.
func (c *Cluster) Busy(n *Node, at time.Time, lasts time.Duration) {
	n.raise(at, at.Add(lasts), flagOutOfCPU)
	n.say(at, 'E', "cpu-extreme", fmt.Sprintf("%s CPU utilization: extremely high [ %d 48 ]", n.Name(), 46+c.rng.IntN(3)))
	for t := at.Add(40 * time.Second); t.Before(at.Add(lasts)); t = t.Add(2*time.Minute + c.jitter(time.Minute)) {
		n.say(t, 'E', "cpu-extreme", fmt.Sprintf("%s CPU utilization: extremely high [ %d 48 ]", n.Name(), 46+c.rng.IntN(3)))
	}
	n.say(at.Add(lasts), 'W', "cpu-high", fmt.Sprintf("%s CPU utilization: high [ %d 48 ]", n.Name(), 41+c.rng.IntN(6)))
}
