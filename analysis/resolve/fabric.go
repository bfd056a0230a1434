package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"faultline/analysis/artifact/bandwidth"
	"faultline/analysis/artifact/fabric"
	"faultline/analysis/artifact/nccltests"
	"faultline/analysis/artifact/packets"
)

// FabricFile is what tools say of the network, by file.
type FabricFile struct {
	File  string
	Facts *fabric.File
}

// TestFile are the runs of nccl-tests in one file.
type TestFile struct {
	File string
	Runs []nccltests.Run
}

// PathFile are the tests of paths (iperf3, perftest) in one file.
type PathFile struct {
	File  string
	Tests []bandwidth.Test
}

// CaptureFile are the packets in one file.
type CaptureFile struct {
	File    string
	Capture *packets.Capture
}

// Fabric is what is known of the network of the job's nodes from outside of its logs.
type Fabric struct {
	Ports   []FabricPort // by node, device, port; the last that each tool says of one
	Growth  []Growth     // counters of errors that grew, beyond what is normal first
	Still   []Growth     // those that did not, by the same pairs of snapshots
	Totals  []Total      // counters of errors above 0 of which there is one snapshot only
	Links   []FabricLink
	Pings   []FabricPing
	Faults  []Fault  // what is wrong with a port of a node of this job, by itself
	Reset   int      // counters that went back between two snapshots: they were cleared, or the order is another
	Loose   int      // ports and counters that nothing ties to a host
	Order   []string // files whose snapshots of one port cannot be put in order
	Strange []string // hosts that are no nodes of this job
}

// FabricPort is the state of one port.
type FabricPort struct {
	*fabric.Port
	Node string
	Ours bool
	File string
}

// Growth is one counter at two moments whose order is proven.
type Growth struct {
	Node        string
	Ours        bool
	First, Last *fabric.Reading
	FirstFile   string
	LastFile    string
	Meaning     fabric.Meaning
	Seconds     int64 // between the two; 0 unknown
}

// Delta is by how much it grew.
func (g *Growth) Delta() uint64 { return g.Last.Value - g.First.Value }

// Excess says that it grew by more than a healthy link's does.
func (g *Growth) Excess() bool {
	m, d := g.Meaning, g.Delta()
	switch {
	case d == 0 || m.PerHour < 0:
		return false
	case m.PerHour == 0:
		return true
	case g.Seconds > 0:
		return d > 10 && float64(d) > m.PerHour*float64(g.Seconds)/3600
	}
	return float64(d) > 24*m.PerHour
}

// Total is one counter at one moment.
type Total struct {
	Node    string
	File    string
	Reading *fabric.Reading
	Meaning fabric.Meaning
}

// FabricLink is one link with both ends.
type FabricLink struct {
	*fabric.Link
	File string
}

// FabricPing is one run of ping.
type FabricPing struct {
	*fabric.Ping
	Node string
	File string
}

// Fault is what is wrong with one port, by the port's own state or counters.
type Fault struct {
	Node   string
	Ours   bool
	Device string
	Port   int
	Link   string // the link's name: the same for its two ends
	Other  string // the other end, where the fabric names it
	Kind   string // down, flap, damage
	Port0  *FabricPort
	Peers  []FabricPort // the same port of other nodes, which is up
	Grown  []Growth
}

// Name is the port for people: "mlx5_3 port 1 of node07".
func (x *Fault) Name() string { return portName(x.Node, x.Device, x.Port, -1) }

func portName(node, device string, port, lid int) string {
	s := device
	switch {
	case s == "" && lid > 0:
		s = fmt.Sprintf("the port with LID %d", lid)
		if port > 0 {
			s = fmt.Sprintf("port %d of LID %d", port, lid)
		}
	case s == "":
		s = "a port"
		if port > 0 {
			s = fmt.Sprintf("port %d", port)
		}
	case port > 1:
		s = fmt.Sprintf("%s port %d", device, port)
	}
	if node != "" {
		s += " of " + node
	}
	return s
}

// PortName names where a reading or a port stands.
func PortName(node string, w *fabric.Where) string { return portName(node, w.Device, w.Port, w.LID) }

// fabricKey is a port as the tools name it.
type fabricKey struct {
	node, device string
	port, lid    int
	guid         string
}

// fabricOf joins what tools say of the network to the nodes of the job.
func fabricOf(f *Facts) *Fabric {
	if len(f.Handed.Fabric) == 0 {
		return nil
	}
	b := fabricBuilder{f: f, out: &Fabric{}, node: map[string]joined{}, strange: map[string]bool{}}
	for i := range f.Handed.Fabric {
		b.links(&f.Handed.Fabric[i])
	}
	for i := range f.Handed.Fabric {
		b.ports(&f.Handed.Fabric[i])
		b.pings(&f.Handed.Fabric[i])
	}
	b.counters()
	b.out.Strange = slices.Sorted(maps.Keys(b.strange))
	b.faults()
	return b.out
}

type joined struct {
	node string
	ours bool
}

type fabricBuilder struct {
	f       *Facts
	out     *Fabric
	node    map[string]joined
	strange map[string]bool
}

// of ties a place to a node. A name of the fabric ("node03 mlx5_0") is a host and its adapter.
func (b *fabricBuilder) of(file, host string) (string, bool) {
	key := file + "\x00" + host
	j, ok := b.node[key]
	if !ok {
		j.node, j.ours = b.f.besideNode(file, host)
		b.node[key] = j
		if j.node != "" && !j.ours {
			b.strange[j.node] = true
		}
	}
	return j.node, j.ours
}

// adapter splits the name of a fabric's node into host and device; ok is false for a switch.
func adapter(name string) (host, device string, ok bool) {
	words := strings.Fields(name)
	if len(words) < 1 || len(words) > 2 || strings.ContainsAny(name, ";:/") {
		return "", "", false
	}
	if len(words) == 2 && !strings.HasPrefix(words[1], "HCA-") {
		device = words[1]
	}
	return words[0], device, len(words) == 2
}

func (b *fabricBuilder) links(file *FabricFile) {
	for i := range file.Facts.Links {
		b.out.Links = append(b.out.Links, FabricLink{&file.Facts.Links[i], file.File})
	}
}

// holder is whose port a LID is.
type holder struct {
	joined
	device string
}

// lids are the ports behind LIDs, as the files themselves say it: hosts of their own ports, and iblinkinfo of all. A LID that two
// have, as in two fabrics, is nobody's.
func (b *fabricBuilder) lids() map[int]holder {
	out, twice := map[int]holder{}, map[int]bool{}
	add := func(lid int, h holder) {
		const last = 0xbfff // beyond it are groups
		if lid < 1 || lid > last || h.node == "" {
			return
		}
		old, seen := out[lid]
		if seen && (old.node != h.node || old.device != "" && h.device != "" && old.device != h.device) {
			twice[lid] = true
		}
		if !seen || old.device == "" {
			out[lid] = h
		}
	}
	for i := range b.out.Ports {
		p := &b.out.Ports[i]
		add(p.LID, holder{joined{p.Node, p.Ours}, p.Device})
	}
	for i := range b.out.Links {
		l := &b.out.Links[i]
		for _, e := range []*fabric.End{&l.A, &l.B} {
			if host, device, ok := adapter(e.Name); ok && !e.Switch {
				node, ours := b.of(l.File, host)
				add(e.LID, holder{joined{node, ours}, device})
			}
		}
	}
	maps.DeleteFunc(out, func(lid int, _ holder) bool { return twice[lid] })
	return out
}

func (b *fabricBuilder) ports(file *FabricFile) {
	last := map[string]int{}
	for i := range file.Facts.Ports {
		p := &file.Facts.Ports[i]
		if p.Loopback {
			continue
		}
		node, ours := b.of(file.File, p.Host)
		if node == "" {
			b.out.Loose++
		}
		key := fmt.Sprint(node, "\x00", p.Device, "\x00", p.Port, "\x00", p.Tool)
		if at, seen := last[key]; seen {
			b.out.Ports[at] = FabricPort{p, node, ours, file.File}
			continue
		}
		last[key] = len(b.out.Ports)
		b.out.Ports = append(b.out.Ports, FabricPort{p, node, ours, file.File})
	}
}

func (b *fabricBuilder) pings(file *FabricFile) {
	for i := range file.Facts.Pings {
		p := &file.Facts.Pings[i]
		node, _ := b.of(file.File, p.Host)
		b.out.Pings = append(b.out.Pings, FabricPing{p, node, file.File})
	}
}

// sample is one reading with what it is tied to.
type sample struct {
	r    *fabric.Reading
	file string
	seq  int // in its file
}

// counters pairs the first and the last reading of each counter whose order is proven: by the times written above them, or by standing
// below each other in one file.
func (b *fabricBuilder) counters() {
	type key struct {
		fabricKey
		tool, name string
	}
	all := map[key][]sample{}
	ours := map[string]bool{}
	lids := b.lids()
	for i := range b.f.Handed.Fabric {
		file := &b.f.Handed.Fabric[i]
		for k := range file.Facts.Readings {
			r := &file.Facts.Readings[k]
			m, ok := fabric.MeaningOf(r.Name)
			if !ok || m.Class == fabric.Traffic || r.Device == "lo" {
				continue
			}
			host, device := r.Host, r.Device
			if r.Tool == "ibqueryerrors" {
				h, d, isHost := adapter(r.Host)
				if isHost {
					host, device = h, d
				}
			}
			node, mine := b.of(file.File, host)
			if o, known := lids[r.LID]; known && !mine { // asked from elsewhere
				node, mine, device = o.node, o.ours, cmp.Or(device, o.device)
			}
			if node == "" {
				b.out.Loose++
			}
			ours[node] = ours[node] || mine
			at := key{fabricKey{node, device, r.Port, r.LID, r.GUID}, r.Tool, r.Name}
			if node == "" { // two files of unknown hosts are not two moments of one port
				at.guid = cmp.Or(r.GUID, file.File)
			}
			all[at] = append(all[at], sample{r, file.File, k})
		}
	}
	keys := slices.SortedFunc(maps.Keys(all), func(x, y key) int {
		return cmp.Or(cmp.Compare(x.node, y.node), cmp.Compare(x.device, y.device), cmp.Compare(x.port, y.port), cmp.Compare(x.lid, y.lid), cmp.Compare(x.guid, y.guid),
			cmp.Compare(x.tool, y.tool), cmp.Compare(x.name, y.name))
	})
	unordered := map[string]bool{}
	for _, k := range keys {
		s := all[k]
		m, _ := fabric.MeaningOf(k.name)
		switch first, last, ok := ordered(s); {
		case len(s) == 1:
			b.total(k.node, s[0], m)
		case !ok:
			for _, x := range s {
				unordered[x.file] = true
			}
			b.total(k.node, s[len(s)-1], m)
		case last.r.Value < first.r.Value:
			b.out.Reset++
		default:
			g := Growth{Node: k.node, Ours: ours[k.node], First: first.r, Last: last.r, FirstFile: first.file, LastFile: last.file, Meaning: m}
			if first.r.At.Known && last.r.At.Known && first.r.At.Zone == last.r.At.Zone && last.r.At.Unix > first.r.At.Unix {
				g.Seconds = last.r.At.Unix - first.r.At.Unix
			}
			if g.Delta() == 0 {
				b.out.Still = append(b.out.Still, g)
			} else {
				b.out.Growth = append(b.out.Growth, g)
			}
		}
	}
	b.out.Order = slices.Sorted(maps.Keys(unordered))
	slices.SortStableFunc(b.out.Growth, func(x, y Growth) int { return -compareBool(x.Excess(), y.Excess()) })
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (b *fabricBuilder) total(node string, s sample, m fabric.Meaning) {
	if s.r.Value > 0 {
		b.out.Totals = append(b.out.Totals, Total{node, s.file, s.r, m})
	}
}

// ordered finds the first and the last of the readings of one counter.
func ordered(s []sample) (first, last sample, ok bool) {
	if len(s) < 2 {
		return first, last, false
	}
	timed := !slices.ContainsFunc(s, func(x sample) bool { return !x.r.At.Known || x.r.At.Zone != s[0].r.At.Zone })
	oneFile := !slices.ContainsFunc(s, func(x sample) bool { return x.file != s[0].file })
	switch {
	case timed && (oneFile || distinctTimes(s)):
		first, last = slices.MinFunc(s, byTime), slices.MaxFunc(s, byTime)
		return first, last, true
	case oneFile:
		return s[0], s[len(s)-1], true
	}
	return first, last, false
}

func distinctTimes(s []sample) bool {
	return slices.MinFunc(s, byTime).r.At.Unix < slices.MaxFunc(s, byTime).r.At.Unix
}

func byTime(x, y sample) int {
	return cmp.Or(cmp.Compare(x.r.At.Unix, y.r.At.Unix), cmp.Compare(x.file, y.file), cmp.Compare(x.seq, y.seq))
}

// Carried are the InfiniBand ports of one node that are up, all of one rate, and what they carry together in one direction, in GB/s. There are
// none where no tool states the rate.
func (f *Facts) Carried(node string) (ports []FabricPort, gbps float64) {
	if f.Fabric == nil {
		return nil, 0
	}
	const bits = 8
	seen := map[string]bool{}
	for _, p := range f.Fabric.Ports {
		name := fmt.Sprintf("%s/%d", p.Device, p.Where.Port)
		up := strings.EqualFold(p.State.Word, "active") && p.Layer != "Ethernet"
		if ShortHost(p.Node) != ShortHost(node) || !up || !p.Rate.Stated() || seen[name] {
			continue
		}
		if len(ports) > 0 && ports[0].Rate.Value != p.Rate.Value {
			return nil, 0 // of another network
		}
		seen[name] = true
		ports, gbps = append(ports, p), gbps+p.Rate.Value/bits
	}
	return ports, gbps
}
