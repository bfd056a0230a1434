package aiscluster

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Seen is what a client is answered where a request fails: the text of the daemon's own line.
type Seen struct {
	At      time.Time
	Status  int
	Message string
	URL     string
	Object  string
}

// Work is one batch: its id, as the proxy gave it.
func (c *Cluster) Work() string {
	id := c.Primary().ID
	return id[:min(7, len(id))] + "-" + c.id(5)
}

// xname is the batch job as lines name it.
func (c *Cluster) xname() string { return fmt.Sprintf("x-get-batch[%s]-%s", c.job, c.Bucket) }

func (c *Cluster) cname() string {
	if c.rel.index < 2 {
		return c.xname()
	}
	return fmt.Sprintf("get-batch[%s]", c.job)
}

// wid is a work item in an error text: quoted from 4.5 on.
func (c *Cluster) wid(work string) string {
	if c.rel.index < 2 {
		return "wid=" + work
	}
	return fmt.Sprintf("wid=%q", work)
}

// refused writes the line of a request that failed on a node. The message is what the client is told.
func (n *Node) refused(at time.Time, tcode, message, method, path, caller string, chain ...string) {
	s := message
	if tcode != "" {
		s = tcode + ": " + message
	}
	s += ": " + method + " " + path
	if caller != "" {
		s += " (called by " + caller + ")"
	}
	calls := n.c.rel.chain(chain...) + "])"
	if strings.Contains(message, n.Name()) {
		s += " (stack: [" + calls
	} else {
		s += " (" + n.Name() + ": " + calls
	}
	n.write(at, record{sev: 'E', text: s})
}

func (c *Cluster) batchPath() string { return "/v1/ml/moss/" + c.bucket() }

func (c *Cluster) objectPath(o string) string { return "/v1/objects/" + c.bucket() + "/" + o }

func (c *Cluster) objectURL(n *Node, o string) string {
	return "http://" + n.public() + c.objectPath(o) + "?provider=" + c.provider()
}

// redirectURL is where the proxy sent a client for an object: it states the moment, in nanoseconds to the base of 36.
func (c *Cluster) redirectURL(n *Node, o string, at time.Time) string {
	return fmt.Sprintf("%s&pid=%s&utm=%s", c.objectURL(n, o), c.Primary().ID, strconv.FormatInt(at.UnixNano(), 36))
}

func (c *Cluster) batchURL(n *Node) string {
	return "http://" + n.public() + c.batchPath() + "?provider=" + c.provider()
}

// Object is the name of an object of the job's bucket.
func (c *Cluster) Object() string {
	return fmt.Sprintf("train/shard-%06d.tar", c.rng.IntN(100000))
}

// batchFailed is a batch that its designated target gives up, and the answer to the client.
func (c *Cluster) batchFailed(dt *Node, at time.Time, tcode, reason, work, state string) Seen {
	switch c.rel.index {
	case 0:
		dt.say(at, 'I', "moss-abort", fmt.Sprintf("%s %s bcast abort [ %s <nil> ]", c.xname(), dt.Name(), reason))
	case 1:
		dt.say(at, 'I', "moss-abort", fmt.Sprintf("%s %s bcast abort [ %s <nil> ]", c.xname(), dt.Name(), reason))
	default:
		dt.say(at, 'W', "moss-abort", fmt.Sprintf("%s %s bcast abort [ %s ]", c.xname(), dt.Name(), reason))
		dt.say(at.Add(18*time.Microsecond), 'W', "moss-err", fmt.Sprintf("%s err: %s [ work:%s %s ] streaming: false", c.cname(), reason, c.wid(work), state))
	}
	dt.grow(at, "err.getbatch.n", 1)
	dt.refused(at.Add(140*time.Microsecond), tcode, reason, "GET", c.batchPath(), "", "ml.go:460", "ml.go:358")
	return Seen{At: at.Add(200 * time.Microsecond), Status: 500, Message: reason, URL: c.batchURL(dt)}
}

// missing is an object that a target does not have.
func (c *Cluster) missing(n *Node, at time.Time, object string) Seen {
	msg := fmt.Sprintf("%s: %s/%s does not exist", n.Name(), c.Bucket, object)
	n.refused(at, "ErrNotFound", msg, "GET", c.objectPath(object), "", "target.go:990", "target.go:702")
	n.grow(at, "err.get.n", 1)
	return Seen{At: at, Status: 404, Message: msg, URL: c.objectURL(n, object), Object: object}
}

// Conflict is two readers who fetch one object at a moment: the second is told to try again. It is harmless, and both sides
// say so.
func (c *Cluster) Conflict(at time.Time) Seen {
	n, o := c.Targets[c.rng.IntN(len(c.Targets))], c.Object()
	for !n.alive(at) {
		n = c.Targets[c.rng.IntN(len(c.Targets))]
	}
	msg := fmt.Sprintf("object %q is currently busy, please try again", c.Bucket+"/"+o)
	n.refused(at, "ErrBusy", msg, "GET", c.objectPath(o), "", "target.go:990", "target.go:702")
	n.grow(at, "err.get.n", 1)
	return Seen{At: at, Status: 409, Message: msg, URL: c.objectURL(n, o), Object: o}
}

// Load is a job that reads the bucket: batches (or objects, before Get-Batch) a second over the whole cluster.
func (c *Cluster) Load(from, to time.Time, perSecond float64) {
	share := 1 / float64(len(c.Targets))
	for i, n := range c.Targets {
		k := perSecond * share * (0.9 + 0.02*float64(i%9))
		if !c.rel.batches {
			n.flow(from, to, map[string]float64{"get.n": k * 16, "get.ns.total": k * 16 * 2.1e6, "get.size": k * 16 * 131072})
			continue
		}
		out := map[string]float64{"stream.out.n": k * 31 * (1 - share), "stream.out.size": k * 31 * (1 - share) * 131072}
		in := map[string]float64{"getbatch.n": k, "getbatch.obj.n": k * 32, "getbatch.obj.size": k * 32 * 131072, "getbatch.rxwait.ns": k * 8.2e6,
			"stream.in.n": k * 32 * (1 - share), "stream.in.size": k * 32 * (1 - share) * 131072}
		n.flow(from, to, out)
		listed := to.Add(time.Minute)
		if at, ok := c.stalled[n]; ok && at.Before(to) {
			n.flow(from, at, in)
			slow := map[string]float64{"getbatch.rxwait.ns": 3.9e9}
			if c.rel.neighbours {
				slow["getbatch.gfn.n"] = 0.4
			}
			n.flow(at, to, slow)
			if !c.rel.neighbours {
				for t := at.Add(25 * time.Second); t.Before(to); t = t.Add(20*time.Second + c.jitter(20*time.Second)) {
					n.say(t, 'I', "moss-gfn-ok", fmt.Sprintf("%s %s GFN ok: %s", c.cname(), c.Work(), c.Object()))
				}
			}
			listed = to.Add(10 * time.Minute)
		} else {
			n.flow(from, to, in)
		}
		n.runs = append(n.runs, running{from, listed, "get-batch[" + c.job + "]"})
		began := from.Add(time.Duration(i) * time.Millisecond)
		n.say(began, 'I', "moss-run", fmt.Sprintf("%s run: %s without \"bewarm\" []", n.Name(), c.xname()))
		n.say(began.Add(84*time.Microsecond), 'I', "sb-open", fmt.Sprintf("open sb-[%s-v%d-shared-dm]", n.ID, c.smap))
		n.say(began.Add(92*time.Microsecond), 'I', "sdm-open", n.Name()+" open shared-dm")
		n.say(listed.Add(time.Duration(i)*time.Second), 'I', "moss-idle", c.cname()+" idle expired"+c.idle(n))
	}
	if !c.rel.batches {
		for _, p := range c.Proxies {
			p.flow(from, to, map[string]float64{"get.n": perSecond * 16 / float64(len(c.Proxies))})
		}
	}
}

func (c *Cluster) idle(n *Node) string {
	if c.rel.index == 0 {
		return " - finishing"
	}
	return fmt.Sprintf(" [ %s:[reqs:%d objs:(%d,%d.%02dGiB)] ]", n.Name(), 200+c.rng.IntN(900), 9000+c.rng.IntN(9000), 1+c.rng.IntN(40), c.rng.IntN(100))
}

// Others are the other users of the cluster: PUTs and single GETs all the time, and what daemons say of their own.
func (c *Cluster) Others(from, to time.Time) {
	for i, n := range c.Targets {
		n.flow(from, to, map[string]float64{"put.n": 0.4, "put.ns.total": 0.4 * 6.1e5, "put.size": 0.4 * 262144, "get.n": 0.8, "get.ns.total": 0.8 * 1.7e6, "get.size": 0.8 * 65536})
		for at := from.Add(c.jitter(20 * time.Minute)); at.Before(to); at = at.Add(12*time.Minute + c.jitter(30*time.Minute)) {
			c.chatter(n, at, i)
		}
	}
	for _, p := range c.Proxies {
		p.flow(from, to, map[string]float64{"put.n": 0.4 * float64(len(c.Targets)) / float64(len(c.Proxies)), "get.n": 0.8 * float64(len(c.Targets)) / float64(len(c.Proxies))})
		if c.rel.auth {
			p.flow(from, to, map[string]float64{"auth.success.n": 0.05, "auth.total.n": 0.05, "acl.total.n": 0.05})
		}
	}
	for at := from.Add(c.jitter(time.Hour)); at.Before(to); at = at.Add(40*time.Minute + c.jitter(2*time.Hour)) {
		x := c.Targets[c.rng.IntN(len(c.Targets))]
		c.Primary().say(at, 'I', "slow-ok", fmt.Sprintf("%s slow-kalive %s OK after the first attempt", c.Primary().Name(), x.Name()))
	}
}

// chatter is something that daemons print when all is well.
func (c *Cluster) chatter(n *Node, at time.Time, i int) {
	other := "x-prefetch-listrange[" + c.id(9) + "]-s3://archive"
	switch c.rng.IntN(6) {
	case 0:
		n.say(at, 'I', "prefetch", n.Name()+" "+other+" finished")
	case 1:
		n.say(at, 'I', "log-gc", "GC logs: skipping: .INFO. total: 212009984 max: 536870912")
	case 2:
		n.say(at, 'W', "cpu-high", fmt.Sprintf("%s CPU utilization: high [ %d 48 ]", n.Name(), 41+c.rng.IntN(6)))
	case 3:
		n.grow(at, "err.http.write.n", 1)
		if c.rel.index >= 1 {
			n.say(at, 'I', "client-gone", fmt.Sprintf("Warning: [client gone] write tcp %s->10.40.1.%d:%d: write: broken pipe: GET /v1/objects/archive/%s", n.public(), 10+i, 30000+c.rng.IntN(20000), c.Object()))
		} else {
			n.say(at, 'W', "client-gone", fmt.Sprintf("Warning: failed to transmit GET response [ write tcp %s->10.40.1.%d:%d: write: broken pipe ]", n.public(), 10+i, 30000+c.rng.IntN(20000)))
		}
	case 4: // a signed address that no longer fits into the line's buffer: the next line is glued to it
		token := strings.Repeat("IQoJb3JpZ2luX2VjEJr", 110)
		if c.rel.index >= 1 {
			n.say(at, 'I', "client-gone", fmt.Sprintf("Warning: [client gone] write tcp %s->10.40.1.%d:%d: write: connection reset by peer: GET /s3/archive/%s?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Security-Token=%s", n.public(), 10+i, 30000+c.rng.IntN(20000), c.Object(), token))
		}
	default:
		n.say(at, 'I', "txn", fmt.Sprintf("txn-create-bck[%s]-ais://tmp%d done]", c.id(9), c.rng.IntN(90)))
	}
}

// Pull is somebody who takes the logs: the requests leave lines only where they were refused.
func (c *Cluster) Pull(at time.Time, wrongTokens int) {
	p := c.Primary()
	if !c.rel.auth {
		return
	}
	for i := range wrongTokens {
		t := at.Add(time.Duration(i*19) * time.Millisecond)
		why := "token required"
		if i%2 == 1 {
			why = `invalid token from header "Authorization": invalid token [err: token signature is invalid: signature is invalid]`
		}
		p.say(t, 'W', "token", "token validation failed: "+why)
		p.refused(t.Add(80*time.Microsecond), "", why, "GET", "/v1/daemon", "", "prxauth.go:367", "proxy.go:2591", "proxy.go:2574")
		p.grow(t, "auth.fail.n", 1)
		p.grow(t, "auth.total.n", 1)
	}
}
