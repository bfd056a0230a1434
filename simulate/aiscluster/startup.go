package aiscluster

import (
	"fmt"
	"time"
)

// title is what a daemon calls itself.
func (n *Node) title() string {
	container := "container:cgroup-v2"
	if !n.c.spec.Containers {
		container = "container:cgroup-v1"
	}
	if n.c.rel.index < 2 {
		container = fmt.Sprintf("containerized=%t", n.c.spec.Containers)
	}
	return fmt.Sprintf("Node %s, Version %s, build 2026-09-02T11:20:31, CPUs(48, runtime=48), %s", n.Name(), n.c.rel.version, container)
}

// start begins a life. first: with the whole cluster; otherwise the daemon comes back to one that runs.
func (c *Cluster) start(n *Node, at time.Time, aged, first bool) {
	l := &life{from: at, aged: aged, base: map[string]int64{}, pid: 1}
	if !c.spec.Containers {
		l.pid = 1600 + n.index + 4000*len(n.lives) + c.rng.IntN(900)
	}
	n.lives = append(n.lives, l)
	if aged {
		for _, k := range []string{"get.n", "put.n", "getbatch.n", "lst.n"} {
			l.base[k] = int64(1e4 + c.rng.IntN(4e6))
		}
		return
	}
	t := at.Add(3 * time.Millisecond)
	step := func() time.Time { t = t.Add(time.Duration(4+c.rng.IntN(900)) * time.Microsecond); return t }
	n.say(step(), 'E', "log-dir", "Warning: load initial global config from /etc/ais/ais.json")
	n.say(step(), 'I', "log-dir", fmt.Sprintf("log.dir: %q; l4.proto: tcp; pub port: %d; verbosity: 3", "/var/log/ais", n.port()))
	n.say(step(), 'I', "config", fmt.Sprintf("config: %q; stats_time: 10s; authentication: %t; backends: [aws]", "/etc/ais/.ais.conf", c.rel.auth))
	n.say(step(), 'I', "version", n.title()[len("Node "+n.Name()+", "):])
	for _, x := range []struct{ key, what, addr string }{{"public", "PUBLIC (user)", n.public()}, {"control", "INTRA-CONTROL", n.control()}, {"data", "INTRA-DATA", n.data()}} {
		n.say(step(), 'I', x.key, fmt.Sprintf("%s access: {%s %s http://%s %s} (config: %s)", x.what, n.ip, x.addr[len(n.ip)+1:], x.addr, x.addr, n.ip))
	}
	memory := fmt.Sprintf("memory: %s.gmm[(used 41GiB, free 82GiB, buffcache 125GiB, actfree 198GiB), pressure 'low', (min-free 2GiB, low-wm 16GiB]", n.ID)
	if n.target {
		n.say(step(), 'I', "tid", "initialized tid "+n.Name()+" from env")
		n.say(step(), 'I', "memory", memory)
		n.say(step(), 'I', "volume", fmt.Sprintf("volume: [%d.4TiB, nvme]", 3*len(n.mpaths)))
	} else {
		n.say(step(), 'I', "pid", "Initialized "+n.Name()+" from env")
		n.say(step(), 'I', "pmemory", memory)
	}
	n.say(step(), 'I', "title", n.title()+"\n") // a title ends in a newline of its own
	if first {
		c.first(n, t)
		return
	}
	n.say(step(), 'I', "primary-ok", n.Name()+": primary responded Ok via http://"+c.Primary().control())
}

// first is the rest of the start-up of a whole cluster.
func (c *Cluster) first(n *Node, t time.Time) {
	if n == c.Primary() {
		for i, x := range c.Targets {
			if x.out {
				continue
			}
			n.say(t.Add(time.Duration(60+9*i)*time.Millisecond), 'I', "joined", fmt.Sprintf("joined %s -> Smap v%d[, %s, t=%d, p=1]", x.Name(), 2+i, n.Name(), i+1))
		}
		up := t.Add(15 * time.Second)
		n.say(up, 'I', "uuid", n.Name()+" new cluster UUID: "+c.uuid)
		n.say(up.Add(2*time.Millisecond), 'I', "metasync", fmt.Sprintf("%s: Smap v%d", n.Name(), c.smap))
		n.say(up.Add(9*time.Millisecond), 'I', "cluster-up", n.Name()+" primary: cluster started up")
	} else {
		up := t.Add(15*time.Second + c.jitter(40*time.Millisecond))
		n.say(up, 'I', "rx-smap", fmt.Sprintf("msync Rx: new %s ( have v0[] aism[] <-- %s )", c.smapText(), c.Primary().Name()))
	}
	c.running(n, t.Add(18*time.Second+c.jitter(100*time.Millisecond)))
}

// running is the last of a start-up: the daemon serves.
func (c *Cluster) running(n *Node, t time.Time) {
	if n.target {
		n.say(t, 'I', "ready", n.Name()+" is ready")
		n.say(t.Add(473*time.Millisecond), 'I', "stats", "Starting targetstats")
		n.say(t.Add(724*time.Millisecond), 'I', "talive", "Starting talive")
		return
	}
	n.say(t, 'I', "stats", "Starting proxystats")
	n.say(t.Add(250*time.Millisecond), 'I', "palive", "Starting palive")
}

// stop is an orderly end.
func (c *Cluster) stop(n *Node, at time.Time) {
	n.say(at.Add(-900*time.Millisecond), 'I', "shutdown", "Shutting down HTTP")
	n.say(at, 'I', "terminated", "Terminated OK via Signal 15")
	n.end(at, false)
}
