// Package aiscluster plays an AIStore cluster and writes what its daemons log: proxies and targets of four releases, their
// start-up, counters, markers, rotation, deaths, and what goes wrong in them. Its texts come from the sources of the releases and
// from captures of a cluster that was run, never from our readers; it imports nothing of ours.
package aiscluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Spec selects a cluster; the same Spec, seed and calls always give the same bytes.
type Spec struct {
	Release          string
	Targets, Proxies int
	Containers       bool // pid 1, ids and host names of pods
	// Zone and Offset are those of the daemons' clocks, Skew what they are wrong by.
	Zone         string
	Offset, Skew time.Duration
	// Aged: the daemons started long before, and what they wrote first has been removed. Their oldest file is a rotated one.
	Aged bool
	// RotateAt is the size at which a file is rotated; 0: never.
	RotateAt int
	// StatsEvery is how often a busy daemon prints its counters.
	StatsEvery time.Duration
	// Errors: the ERROR files come along, which repeat warnings and errors.
	Errors bool
	// Packed: one tar.gz a node, as "ais log get cluster" leaves them; otherwise a folder a node.
	Packed bool
}

// Cluster is a cluster while it is being played. Times are true time.
type Cluster struct {
	Proxies, Targets []*Node
	Bucket           string // with its provider: ais://speech

	spec    Spec
	rel     *release
	rng     *rand.Rand
	begin   time.Time
	uuid    string
	smap    int
	gen     int // of the last rebalance
	job     string
	lowCPU  bool
	stalled map[*Node]time.Time
	seq     int
}

// New is a cluster whose logs begin at a moment. It is up by then.
func New(spec Spec, seed uint64, begin time.Time) (*Cluster, error) {
	rel, err := findRelease(spec.Release)
	if err != nil {
		return nil, err
	}
	if spec.Targets < 2 || spec.Proxies < 1 {
		return nil, fmt.Errorf("aiscluster: %d targets and %d proxies: at least 2 and 1", spec.Targets, spec.Proxies)
	}
	if spec.StatsEvery <= 0 {
		spec.StatsEvery = time.Minute
	}
	c := &Cluster{spec: spec, rel: rel, rng: rand.New(rand.NewPCG(seed, 0xa15a15a15)), begin: begin, smap: 4 + spec.Targets}
	c.uuid = c.id(9)
	c.job = "gbt-" + c.id(9)
	c.Bucket = "ais://speech"
	c.lowCPU = c.rng.IntN(4) == 0
	for i := range spec.Proxies {
		c.Proxies = append(c.Proxies, c.newNode(false, i))
	}
	for i := range spec.Targets {
		c.Targets = append(c.Targets, c.newNode(true, i+1))
	}
	for i, n := range c.nodes() {
		at := begin.Add(time.Duration(i*7) * time.Millisecond)
		c.start(n, at, spec.Aged, true)
	}
	return c, nil
}

// Batches says whether jobs read by Get-Batch from this release.
func (c *Cluster) Batches() bool { return c.rel.batches }

// Primary is the proxy that leads.
func (c *Cluster) Primary() *Node { return c.Proxies[0] }

func (c *Cluster) nodes() []*Node {
	return append(append([]*Node{}, c.Proxies...), c.Targets...)
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// id is a short unique id as AIStore makes them.
func (c *Cluster) id(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[c.rng.IntN(len(letters))]
	}
	if b[0] >= '0' && b[0] <= '9' {
		b[0] = 'k'
	}
	return string(b)
}

// smapText is the cluster map as lines name it.
func (c *Cluster) smapText() string {
	t := 0
	for _, n := range c.Targets {
		if !n.out {
			t++
		}
	}
	return fmt.Sprintf("Smap v%d[%s, p[%s], t=%d, p=%d]", c.smap, c.uuid, c.Primary().ID, t, len(c.Proxies))
}

func (c *Cluster) jitter(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return time.Duration(c.rng.Int64N(int64(most)))
}

// bucket is the bucket's name without its provider.
func (c *Cluster) bucket() string {
	_, name, _ := strings.Cut(c.Bucket, "://")
	return name
}

// provider is what AIStore calls the provider of the bucket: "aws" for "s3://speech".
func (c *Cluster) provider() string {
	scheme, _, _ := strings.Cut(c.Bucket, "://")
	if scheme == "s3" {
		return "aws"
	}
	return scheme
}

// Node is one daemon.
type Node struct {
	ID     string
	c      *Cluster
	target bool
	index  int
	host   string
	ip     string
	mpaths []string
	disks  []string
	out    bool // not in the cluster map
	lives  []*life
	said   []record // whenever: what falls into no life is dropped at the end
	flows  []flow
	bumps  []bump
	raised []raised
	runs   []running
	loads  []diskLoad
	frozen []span // times in which it stands still
	waits  []bump // latencies of the first line of counters after a moment
}

func (c *Cluster) newNode(target bool, i int) *Node {
	n := &Node{c: c, target: target, index: i}
	role := "proxy"
	if target {
		role = "target"
	}
	switch {
	case c.spec.Containers && c.rel.index%2 == 0:
		n.ID = c.id(8)
		n.host = fmt.Sprintf("ais-%s-%d", role, i)
	case c.spec.Containers:
		n.ID = c.id(8)
		n.host = fmt.Sprintf("prod-ais-%s-%02d.ais.svc.cluster.local", role, i)
	default:
		n.ID = fmt.Sprintf("ais-%s-%d", role, i)
		n.host = fmt.Sprintf("stor%02d.hpc.example.org", 10+i)
	}
	n.ip = fmt.Sprintf("10.16.%d.%d", 4+c.rel.index, 20+i)
	if !target {
		n.ip = fmt.Sprintf("10.16.%d.%d", 4+c.rel.index, 10+i)
	}
	if target {
		for k := range 2 + c.rng.IntN(3) {
			n.mpaths = append(n.mpaths, fmt.Sprintf("/ais/nvme%dn1", k))
			n.disks = append(n.disks, fmt.Sprintf("nvme%dn1", k))
		}
	}
	return n
}

// Name is t[ID] or p[ID].
func (n *Node) Name() string {
	if n.target {
		return "t[" + n.ID + "]"
	}
	return "p[" + n.ID + "]"
}

func (n *Node) port() int {
	if n.target {
		return 51081
	}
	return 51080
}

func (n *Node) public() string  { return fmt.Sprintf("%s:%d", n.ip, n.port()) }
func (n *Node) control() string { return fmt.Sprintf("%s:%d", n.ip, n.port()+1000) }
func (n *Node) data() string    { return fmt.Sprintf("%s:%d", n.ip, n.port()+2000) }

// mpath is a mountpath as lines name it.
func (n *Node) mpath(i int) string {
	return fmt.Sprintf("mp[%s, %s, %q, nvme]", n.mpaths[i], n.disks[i], fmt.Sprintf("l%d", n.index))
}

// life is one run of a daemon.
type life struct {
	from, to time.Time // to: zero while it runs
	killed   bool      // nothing was written out at the end
	aged     bool
	pid      int
	base     map[string]int64
}

// record is one line, or a few without a prefix of their own behind the first.
type record struct {
	at   time.Time
	seq  int
	sev  byte
	pos  string // "moss:678", "" for what has none
	text string
	// raw lines have no prefix at all.
	raw bool
}

// say writes a line; it stands if the daemon lives then.
func (n *Node) say(at time.Time, sev byte, key, text string) {
	pos := ""
	if key != "" {
		pos = n.c.rel.at(key)
	}
	n.write(at, record{sev: sev, pos: pos, text: text})
}

func (n *Node) write(at time.Time, r record) {
	n.c.seq++
	r.at, r.seq = at, n.c.seq
	n.said = append(n.said, r)
}

// holds says whether a moment falls into a life.
func (l *life) holds(at time.Time) bool {
	return !at.Before(l.from) && (l.to.IsZero() || !at.After(l.to))
}

// alive says whether the daemon runs at a moment.
func (n *Node) alive(at time.Time) bool {
	return slices.ContainsFunc(n.lives, func(l *life) bool { return l.holds(at) })
}

// end closes the current life.
func (n *Node) end(at time.Time, killed bool) {
	l := n.lives[len(n.lives)-1]
	l.to, l.killed = at, killed
}
