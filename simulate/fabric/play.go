// Package fabric writes what tools say of the network beside a job that hangs: the state and the counters of ports, with one that is at
// fault, with none, or with something that only looks like a fault. The formats are those of infiniband-diags, rdma-core, Linux'
// sysfs and iproute2; the truth is what the bytes prove, whoever reads them.
package fabric

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"faultline/simulate"
)

// Scene is what is the matter.
type Scene string

// Scenes with a culprit.
const (
	Down     Scene = "down"      // a port of one host is down, those of the others are up
	Cabled   Scene = "cabled"    // as Down, and the fabric names the other end
	TwoPorts Scene = "two ports" // two ports of one host are down
	Flaps    Scene = "flaps"     // a link goes down again and again between two snapshots
	Damaged  Scene = "damaged"   // a link loses bits between two snapshots
)

// Scenes without one: accusing a host is wrong.
const (
	Healthy    Scene = "healthy"
	SecondPort Scene = "second port"  // nobody cabled port 2
	SinceBoot  Scene = "since boot"   // many errors, one snapshot
	Foreign    Scene = "foreign"      // a host of another job
	TwoLinks   Scene = "two links"    // the links of two hosts
	Unnamed    Scene = "unnamed"      // nothing says whose port it is
	FewPeers   Scene = "few peers"    // nobody to compare with
	Normal     Scene = "normal"       // what grows on every healthy link
	Cleared    Scene = "cleared"      // counters that went back
	NoOrder    Scene = "no order"     // two files without a time
	Narrow     Scene = "narrow"       // a slow link, which is no dead one
	Sizes      Scene = "sizes"        // another size of packets
	Switch     Scene = "switch"       // a port of a switch whose other end nobody names
	AllDown    Scene = "all down"     // all ports are
	Elsewhere  Scene = "elsewhere"    // errors of other links, passed on
	Stalled    Scene = "stalled"      // a rank held the others, and a port of another host is down
	BackUp     Scene = "back up"      // down in one output, up in another
	LongAgo    Scene = "long ago"     // the snapshots are of another year
	Saturated  Scene = "saturated"    // a counter at its largest value, which cannot grow
	Discards   Scene = "discards"     // congestion, wherever it comes from
	Ethernet   Scene = "ethernet"     // a standby interface without a carrier
	MixedPorts Scene = "other device" // only this host has such a device, and it is down
)

// Faults and Controls are all scenes.
func Faults() []Scene { return []Scene{Down, Cabled, TwoPorts, Flaps, Damaged} }

// Controls are those in which no host may be accused.
func Controls() []Scene {
	return []Scene{Healthy, SecondPort, SinceBoot, Foreign, TwoLinks, Unnamed, FewPeers, Normal, Cleared, NoOrder, Narrow, Sizes, Switch, AllDown, Elsewhere, Stalled, BackUp, LongAgo,
		Saturated, Discards, Ethernet, MixedPorts}
}

// Spec is one case. The same one always gives the same bytes.
type Spec struct {
	Seed  uint64
	Scene Scene
	Tool  string // ibstat, ibstatus, ibv_devinfo, sysfs for states; perfquery, sysfs for counters
	Hosts int
	// Layout says how hosts are told apart: label (clush), block (clush -b), prompt, file.
	Layout string
}

// Truth is what the bytes prove.
type Truth struct {
	Node, Device string // "" nobody
	Other        string // a word of the other end, where it is named
	Alone        string // the mechanism that the logs prove without the network; "" a set
}

// Case is a played case.
type Case struct {
	Job      *simulate.Incident
	Evidence []simulate.File
	Truth    Truth
}

// Play plays a case.
func Play(spec Spec) (*Case, error) {
	mechanism := "symmetric-hang"
	if spec.Scene == Stalled {
		mechanism = "rank-stalled"
	}
	job, err := simulate.Generate(simulate.Spec{Seed: spec.Seed, Mechanism: mechanism, Torch: "2.6", Layout: simulate.Layout{Kind: "ddp", DP: 4 * spec.Hosts}, NodeCount: spec.Hosts,
		PerNode: 4, FileMode: "node", Noise: 1})
	if err != nil {
		return nil, fmt.Errorf("simulate/fabric: %w", err)
	}
	p := &player{spec: spec, rng: rand.New(rand.NewPCG(spec.Seed, 0xfab)), nodes: job.Played.Nodes, job: job}
	p.bad = p.rng.IntN(len(p.nodes))
	for i := range p.nodes {
		p.hosts = append(p.hosts, newHost(p.nodes[i], 2+int(spec.Seed%3)))
	}
	c := &Case{Job: job}
	p.act(&c.Truth)
	c.Evidence = p.files
	return c, nil
}

type player struct {
	spec  Spec
	rng   *rand.Rand
	nodes []string
	hosts []*host
	bad   int
	job   *simulate.Incident
	files []simulate.File
}

// host is a machine with its adapters.
type host struct {
	name  string
	ports []*port
	mtu   int
	// extra are further interfaces of Ethernet.
	standby bool
}

type port struct {
	device   string
	number   int
	lid      int
	state    string // ACTIVE, DOWN
	phys     string // LinkUp, Polling, Disabled
	rate     int
	width    int
	mtu      int
	counters map[string]uint64
}

func newHost(name string, devices int) *host {
	h := &host{name: name, mtu: 4092}
	for i := range devices {
		h.ports = append(h.ports, newPort(fmt.Sprintf("mlx5_%d", i), 1, 10+i))
	}
	return h
}

func newPort(device string, number, lid int) *port {
	return &port{device: device, number: number, lid: lid, state: "ACTIVE", phys: "LinkUp", rate: 400, width: 4, mtu: 4096, counters: map[string]uint64{"PortXmitData": 16480432, "PortRcvData": 10932441}}
}

func (p *port) down(phys string) { p.state, p.phys, p.rate, p.width, p.lid = "DOWN", phys, 10, 4, 0 }

// act plays the scene.
func (p *player) act(t *Truth) {
	h := p.hosts[p.bad]
	x := h.ports[p.rng.IntN(len(h.ports))]
	phys := []string{"Polling", "Disabled"}[p.rng.IntN(2)]
	other := p.hosts[(p.bad+1)%len(p.hosts)]
	switch p.spec.Scene {
	case Down:
		x.down(phys)
		t.Node, t.Device = h.name, x.device
		p.states(p.hosts)
	case Cabled:
		x.down("Polling")
		t.Node, t.Device, t.Other = h.name, x.device, "leaf7"
		p.states(p.hosts)
		p.file("iblinkinfo.txt", fmt.Sprintf("Switch: 0x0002c9020046c588 MF0;leaf7:MQM9700/U1:\n           2   17[  ] ==( 4X         106.25 Gbps Active/  LinkUp)==>       5    1[  ] \"%s mlx5_9\" ( )\n"+
			"           2   18[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n", other.name))
		t.Other = "" // a link that is down names no other end
	case TwoPorts:
		h.ports[0].down(phys)
		h.ports[1].down(phys)
		t.Node, t.Device = h.name, "mlx5_0"
		p.states(p.hosts)
	case Flaps, Damaged, TwoLinks, Foreign, Normal, Cleared, NoOrder, Elsewhere, LongAgo, Saturated, Discards:
		p.grow(t, h, x, other)
	case SinceBoot:
		x.counters["SymbolErrorCounter"], x.counters["LinkDownedCounter"], x.counters["PortRcvErrors"] = 41234, 17, 512
		p.snapshot(p.hosts, "counters", "Sun Jun  1 10:00:00 UTC 2025")
	default:
		p.quiet(h, x, other, phys)
	}
}

// quiet plays the scenes about states that accuse nobody.
func (p *player) quiet(h *host, x *port, other *host, phys string) {
	switch p.spec.Scene {
	case SecondPort:
		for _, o := range p.hosts {
			second := newPort("mlx5_0", 2, 0)
			second.down("Disabled")
			o.ports = append(o.ports, second)
		}
	case Unnamed:
		x.down(phys)
		p.spec.Layout = "bare"
		for i, o := range p.hosts {
			p.file(fmt.Sprintf("out%d.txt", i), o.text(p.spec.Tool))
		}
		return
	case FewPeers:
		x.down(phys)
		p.states([]*host{h, other})
		return
	case Narrow:
		x.rate, x.width = 100, 1
	case Sizes:
		x.mtu, h.mtu = 1024, 1500
	case Switch:
		p.file("ibqueryerrors.txt", "Errors for 0x0002c9020046c588 \"MF0;leaf7:MQM9700/U1\"\n   GUID 0x0002c9020046c588 port 11: [SymbolErrorCounter == 4000] [LinkDownedCounter == 9]\n"+
			"Errors for 0x0002c9020046c588 \"MF0;leaf7:MQM9700/U1\"\n   GUID 0x0002c9020046c588 port 11: [SymbolErrorCounter == 9000] [LinkDownedCounter == 19]\n")
		return
	case AllDown:
		for _, o := range p.hosts {
			for _, q := range o.ports {
				q.down("Polling")
			}
		}
	case Stalled:
		// Some host that the stalled rank is not on.
		root := p.job.Truth.RootNodes
		for _, o := range p.hosts {
			if !slices.Contains(root, o.name) {
				o.ports[0].down(phys)
				break
			}
		}
	case BackUp:
		x.down(phys)
		p.states(p.hosts)
		up := newHost(h.name, len(h.ports))
		p.spec.Tool = map[string]string{"ibstat": "ibstatus", "ibstatus": "ibv_devinfo", "ibv_devinfo": "ibstat", "sysfs": "ibstat"}[p.spec.Tool]
		p.states([]*host{up})
		return
	case Ethernet:
		h.standby = true
		for _, o := range p.hosts {
			p.file("ip-"+o.name+".txt", o.interfaces())
		}
		return
	case MixedPorts:
		extra := newPort("mlx5_bond_0", 1, 0)
		extra.down("Disabled")
		h.ports = append(h.ports, extra)
	}
	p.states(p.hosts)
}

// grow plays the scenes with two snapshots of counters.
func (p *player) grow(t *Truth, h *host, x *port, other *host) {
	first, second := "Sun Jun  1 10:00:00 UTC 2025", "Sun Jun  1 10:30:00 UTC 2025"
	if y := p.job.Played.End; !y.IsZero() {
		first, second = y.Format("Mon Jan _2 15:04:05 UTC 2006"), y.Add(30*60*1e9).Format("Mon Jan _2 15:04:05 UTC 2006")
	}
	hosts := p.hosts
	switch p.spec.Scene {
	case Foreign:
		stranger := newHost("login99", len(h.ports))
		hosts = append(slices.Clone(hosts), stranger)
		x = stranger.ports[0]
	case LongAgo:
		first, second = "Mon Jan  3 10:00:00 UTC 2011", "Mon Jan  3 10:30:00 UTC 2011"
	case NoOrder:
		first, second = "", ""
	case Cleared:
		x.counters["SymbolErrorCounter"], x.counters["LinkDownedCounter"] = 9000, 44
	case Saturated:
		x.counters["SymbolErrorCounter"] = 0xffff
	}
	p.snapshot(hosts, "first", first)
	for _, o := range hosts {
		for _, q := range o.ports {
			q.counters["PortXmitData"] += 999_999
			q.counters["PortXmitWait"] += 12_345
		}
	}
	switch p.spec.Scene {
	case Flaps, LongAgo, NoOrder, Foreign:
		x.counters["LinkDownedCounter"] += 3
		x.counters["LinkErrorRecoveryCounter"] += 2
		if p.spec.Scene == Flaps {
			t.Node, t.Device = h.name, x.device
		}
	case Damaged:
		x.counters["SymbolErrorCounter"] += 7000
		x.counters["PortRcvErrors"] += 40
		t.Node, t.Device = h.name, x.device
	case TwoLinks:
		x.counters["SymbolErrorCounter"] += 7000
		other.ports[0].counters["SymbolErrorCounter"] += 6000
	case Normal:
		x.counters["SymbolErrorCounter"] += 3
		x.counters["VL15Dropped"] += 40
		x.counters["PortRcvSwitchRelayErrors"] += 12
	case Cleared:
		x.counters["SymbolErrorCounter"], x.counters["LinkDownedCounter"] = 3, 0
	case Elsewhere:
		x.counters["PortRcvRemotePhysicalErrors"] += 400
	case Discards:
		x.counters["PortXmitDiscards"] += 4000
	}
	p.snapshot(hosts, "second", second)
}

func (p *player) file(name, text string) {
	p.files = append(p.files, simulate.File{Name: name, Data: []byte(text)})
}

// states writes the state of the ports of some hosts.
func (p *player) states(hosts []*host) { p.lay(hosts, "state", "", (*host).text) }

// snapshot writes their counters.
func (p *player) snapshot(hosts []*host, name, date string) {
	p.lay(hosts, "counters-"+strings.ReplaceAll(name, " ", "-"), date, (*host).counters)
}

// lay writes the outputs of hosts in the way of the layout.
func (p *player) lay(hosts []*host, name, date string, text func(*host, string) string) {
	var all strings.Builder
	stamp := ""
	if date != "" {
		stamp = date + "\n"
	}
	n := len(p.files)
	for _, h := range hosts {
		out := text(h, p.spec.Tool)
		switch p.spec.Layout {
		case "label":
			for line := range strings.Lines(stamp + out) {
				all.WriteString(h.name + ": " + line)
			}
		case "block":
			all.WriteString("---------------\n" + h.name + "\n---------------\n" + stamp + out)
		case "prompt":
			if date != "" {
				all.WriteString("root@" + h.name + ":~# date\n" + stamp)
			}
			all.WriteString("root@" + h.name + ":~# " + p.spec.Tool + "\n" + out)
		default:
			p.file(fmt.Sprintf("%s-%d-%s.txt", name, n, h.name), stamp+out)
		}
	}
	if all.Len() > 0 {
		p.file(fmt.Sprintf("%s-%d.txt", name, n), all.String())
	}
}
