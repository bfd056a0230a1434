package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/fabric"
)

// peersUp is how many other nodes must have the same port up before one that is not stands out: a second port that nobody cabled is
// down everywhere.
const peersUp = 2

// faults finds the ports that are at fault by what they say themselves: down where the same port of the others is up, or an adapter of
// InfiniBand whose link's errors grew between two snapshots. Interfaces of Ethernet have innocent reasons for both (a bond's
// standby, virtual ones), and are left to the findings.
func (b *fabricBuilder) faults() {
	byPort := map[string]*Fault{}
	at := func(node, device string, port int, ours bool, kind string) *Fault {
		key := fmt.Sprint(node, "\x00", device, "\x00", port)
		x := byPort[key]
		if x == nil {
			x = &Fault{Node: node, Ours: ours, Device: device, Port: port, Kind: kind}
			x.Link, x.Other = b.linkOf(node, device, port)
			byPort[key] = x
		}
		return x
	}
	for i := range b.out.Ports {
		p := &b.out.Ports[i]
		if p.Node == "" || !verbs(p.Port) || p.Up() || p.State.Word == "" && p.Phys.Word == "" {
			continue
		}
		var peers []FabricPort
		seen := map[string]bool{}
		contested := false
		for _, o := range b.out.Ports {
			switch {
			case o.Device != p.Device || o.Port.Port != p.Port.Port || !verbs(o.Port):
			case o.Node == p.Node && o.Up():
				contested = true // another tool or moment saw it up
			case o.Node != "" && o.Node != p.Node && o.Up() && !seen[o.Node]:
				seen[o.Node] = true
				peers = append(peers, o)
			}
		}
		if contested || len(peers) < peersUp || b.linkUp(p) {
			continue
		}
		x := at(p.Node, p.Device, p.Port.Port, p.Ours, "down")
		x.Port0, x.Peers, x.Kind = p, peers, "down"
	}
	for i := range b.out.Growth {
		g := b.out.Growth[i]
		if g.Node == "" || !g.Excess() || g.Meaning.Class != fabric.Damage && g.Meaning.Class != fabric.Flap || g.First.Port < 1 && g.First.LID < 1 {
			continue
		}
		if host, _, ok := adapter(g.First.Host); g.First.Tool == "ibqueryerrors" && (!ok || host == "") {
			continue // a port of a switch: its other end is in the links
		}
		device := g.First.Device
		if device == "" {
			device = b.deviceOf(g.Node, g.First.LID)
		}
		kind := "damage"
		if g.Meaning.Class == fabric.Flap {
			kind = "flap"
		}
		x := at(g.Node, device, g.First.Port, g.Ours, kind)
		if kind == "flap" && x.Kind == "damage" {
			x.Kind = kind
		}
		x.Grown = append(x.Grown, g)
	}
	for _, x := range byPort {
		b.out.Faults = append(b.out.Faults, *x)
	}
	slices.SortFunc(b.out.Faults, func(x, y Fault) int {
		return cmp.Or(cmp.Compare(x.Node, y.Node), cmp.Compare(x.Device, y.Device), cmp.Compare(x.Port, y.Port))
	})
}

// linkUp says that the fabric has the link of a port up, which then was down at another moment, or is another.
func (b *fabricBuilder) linkUp(p *FabricPort) bool {
	for i := range b.out.Links {
		l := &b.out.Links[i]
		for _, e := range []fabric.End{l.A, l.B} {
			if host, device, ok := adapter(e.Name); ok && ShortHost(host) == p.Node && device == p.Device && e.Port == p.Port.Port && l.Width > 0 {
				return true
			}
		}
	}
	return false
}

// verbs says that a port is an RDMA device's, by the tool that speaks of it.
func verbs(p *fabric.Port) bool {
	return p.Tool == "ibstat" || p.Tool == "ibstatus" || p.Tool == "ibv_devinfo" || p.Tool == "sysfs" && p.Port > 0
}

// deviceOf is the adapter of a host whose port has this LID, "" where nothing says so.
func (b *fabricBuilder) deviceOf(node string, lid int) string {
	for i := range b.out.Ports {
		if p := &b.out.Ports[i]; p.Node == node && lid > 0 && p.LID == lid {
			return p.Device
		}
	}
	return ""
}

// linkOf is the name of the link that a port is an end of, and its other end.
func (b *fabricBuilder) linkOf(node, device string, port int) (name, other string) {
	own := fmt.Sprint(node, " ", device, "/", port)
	for i := range b.out.Links {
		l := &b.out.Links[i]
		for _, e := range [][2]fabric.End{{l.A, l.B}, {l.B, l.A}} {
			host, dev, ok := adapter(e[0].Name)
			if !ok || e[0].Switch || ShortHost(host) != node || dev != "" && device != "" && dev != device || e[0].Port != port || e[1].Name == "" {
				continue
			}
			if dev == "" && device != "" {
				continue // HCA-1 names no device
			}
			ends := []string{endName(e[0]), endName(e[1])}
			other = ends[1]
			slices.Sort(ends)
			return strings.Join(ends, " – "), other
		}
	}
	return own, ""
}

func endName(e fabric.End) string {
	name := e.Name
	// "MF0;sw1:MQM8700/U1" is how switches of one vendor call themselves.
	if _, rest, ok := strings.Cut(name, ";"); ok {
		name, _, _ = strings.Cut(rest, ":")
	}
	if host, device, ok := adapter(e.Name); ok {
		name = strings.TrimSpace(device + " of " + ShortHost(host))
	}
	return fmt.Sprintf("port %d of %s", e.Port, name)
}

// FabricFaults are the ports of this job's nodes that are at fault by what they say, where they point at one culprit: one link, or ports
// of one host that are down; nil where there is none, or more than one.
func (f *Facts) FabricFaults() []*Fault {
	if f.Fabric == nil {
		return nil
	}
	var found []*Fault
	for i := range f.Fabric.Faults {
		if x := &f.Fabric.Faults[i]; x.Ours && !f.stale(x) {
			found = append(found, x)
		}
	}
	for _, x := range found {
		if x.Node != found[0].Node || x.Link != found[0].Link && (x.Kind != "down" || found[0].Kind != "down") {
			return nil
		}
	}
	return found
}

// stale says that what a fault rests on is known to be of another time than the job: the zones of neither are known.
func (f *Facts) stale(x *Fault) bool {
	const zones, later = 26 * 3600.0, 24 * 3600.0
	if !f.YearProven {
		return false
	}
	out := func(s fabric.Stamp) bool {
		return s.Known && (f.Job.Start.Valid && float64(s.Unix) < f.Job.Start.T-zones || f.Job.End.Valid && float64(s.Unix) > f.Job.End.T+zones+later)
	}
	for i := range x.Grown {
		if out(x.Grown[i].Last.At) {
			return true
		}
	}
	return x.Port0 != nil && out(x.Port0.At)
}
