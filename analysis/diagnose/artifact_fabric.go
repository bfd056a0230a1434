package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"faultline/analysis/artifact/fabric"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

const fabricLimits = "A link has two ends: errors are counted where they arrive, but the sender, the cable or the port itself may cause them. " +
	"Counters run since boot or since they were last cleared: a single snapshot doesn't show what happened during this job. ip, ping and tcpdump don't see RDMA traffic."

// fabricArtifact says what ports, links and counters show.
func fabricArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "fabric", Title: "Network state and counters", Limits: fabricLimits}
	if f.Fabric == nil {
		return a, false
	}
	for _, x := range f.Handed.Fabric {
		a.Files = append(a.Files, x.File)
	}
	slices.Sort(a.Files)
	w := fabricWords{x: f.Fabric, said: map[string]bool{}}
	w.faults()
	w.growth()
	w.downs()
	w.narrow()
	w.packets()
	w.sizes()
	w.totals()
	w.stuck()
	w.clean()
	w.up()
	a.Findings = w.out
	var also []string
	if n := f.Fabric.Loose; n > 0 {
		also = append(also, "part of it shows no host name, in the output or in the file name, so it can't be matched to a node")
	}
	if s := f.Fabric.Strange; len(s) > 0 && len(s) <= 64 {
		also = append(also, fmt.Sprintf("hosts that are not nodes of this job, according to its logs: %s", several(s, "host")))
	}
	if len(f.Fabric.Order) > 0 {
		also = append(also, fmt.Sprintf("can't tell which snapshot came first in %s: put the output of date above each", several(f.Fabric.Order, "file")))
	}
	if f.Fabric.Reset > 0 {
		also = append(also, fmt.Sprintf("%d counters went down between two snapshots: they were cleared in between, or the snapshots are in a different order", f.Fabric.Reset))
	}
	for i := range also {
		a.Limits += " " + strings.ToUpper(also[i][:1]) + also[i][1:] + "."
	}
	return a, true
}

type fabricWords struct {
	x    *resolve.Fabric
	out  []incident.Finding
	said map[string]bool
}

func (w *fabricWords) say(text string, ev ...incident.Evidence) {
	if len(ev) > 0 {
		w.out = append(w.out, incident.Finding{Statement: text, Evidence: ev})
	}
}

func (w *fabricWords) faults() {
	for i := range w.x.Faults {
		if i == 3 {
			break
		}
		x := &w.x.Faults[i]
		w.out = append(w.out, mechanism.FaultFinding(x))
		for k := range x.Grown {
			w.said[growthKey(&x.Grown[k])] = true
		}
	}
}

func growthKey(g *resolve.Growth) string {
	return fmt.Sprint(g.Node, g.Last.Device, g.Last.Port, g.Last.LID, g.Last.GUID, g.Last.Name, g.LastFile)
}

// growth says what else grew: damage first, then what points elsewhere.
func (w *fabricWords) growth() {
	type about struct {
		title string
		list  []*resolve.Growth
	}
	var all []*about
	by := map[string]*about{}
	for i := range w.x.Growth {
		g := &w.x.Growth[i]
		if w.said[growthKey(g)] || !g.Excess() {
			continue
		}
		t := by[g.Meaning.Title]
		if t == nil {
			t = &about{title: g.Meaning.Title}
			by[t.title] = t
			all = append(all, t)
		}
		t.list = append(t.list, g)
	}
	slices.SortStableFunc(all, func(a, b *about) int {
		return cmp.Compare(order(a.list[0].Meaning.Class), order(b.list[0].Meaning.Class))
	})
	for i, t := range all {
		if i == 3 {
			break
		}
		g := t.list[0]
		var names []string
		for _, o := range t.list {
			names = appendNew(names, resolve.PortName(o.Node, &o.Last.Where))
		}
		text := fmt.Sprintf("%s: %s; %s. Check %s", several(names, "port"), mechanism.GrowthWords(g), g.Meaning.Means, g.Meaning.Look)
		w.say(text, mechanism.GrowthEvidence(g)...)
	}
}

func order(c fabric.Class) int {
	return slices.Index([]fabric.Class{fabric.Flap, fabric.Damage, fabric.Lost, fabric.Congestion, fabric.Setup, fabric.Elsewhere, fabric.Unknown, fabric.Traffic}, c)
}

// downs says which ports are not up beside those at fault: whether the job needed them nothing says.
func (w *fabricWords) downs() {
	faulty := map[string]bool{}
	for i := range w.x.Faults {
		faulty[fmt.Sprint(w.x.Faults[i].Node, w.x.Faults[i].Device, w.x.Faults[i].Port)] = true
	}
	var names []string
	var ev []incident.Evidence
	for i := range w.x.Ports {
		p := &w.x.Ports[i]
		if p.Up() || p.State.Word == "" || faulty[fmt.Sprint(p.Node, p.Device, p.Port.Port)] {
			continue
		}
		what := p.State.Word
		if p.Phys.Word != "" {
			what += ", " + p.Phys.Word
		}
		if p.NoCarrier {
			what += ", no carrier"
		}
		names = appendNew(names, fmt.Sprintf("%s (%s)", resolve.PortName(p.Node, &p.Where), what))
		if len(ev) < 3 {
			ev = append(ev, mechanism.QuotePlace(p.File, p.State.Place, &incident.Predicate{Literals: []string{p.State.Word}}))
		}
	}
	if len(names) > 0 {
		w.say(fmt.Sprintf("not up: %s. That is normal for uncabled and standby ports; nothing here shows that the job needed them", several(names, "port")), ev...)
	}
}

// narrow says which ports and links are slower than their like.
func (w *fabricWords) narrow() {
	n := 0
	for _, l := range w.x.Links {
		if !strings.HasPrefix(l.Comment, "Could be") || n == 2 {
			continue
		}
		n++
		w.say(fmt.Sprintf("the link between port %d of %s and %s runs with %d lanes at %s Gb/s: the fabric itself says “%s”; a lane or cable is bad at one end", l.A.Port, nameOr(l.A.Name),
			nameOr(l.B.Name), l.Width, decimal(l.Lane), l.Comment), mechanism.QuotePlace(l.File, l.Place, &incident.Predicate{Literals: []string{l.Comment}}))
	}
	type like struct {
		device string
		port   int
		tool   string
	}
	group := map[like][]*resolve.FabricPort{}
	var order []like
	for i := range w.x.Ports {
		p := &w.x.Ports[i]
		if p.Node == "" || !p.Up() || !p.Rate.Stated() && !p.Width.Stated() {
			continue
		}
		k := like{p.Device, p.Port.Port, p.Tool}
		if group[k] == nil {
			order = append(order, k)
		}
		group[k] = append(group[k], p)
	}
	for _, k := range order {
		ports := group[k]
		most, count := common(ports, func(p *resolve.FabricPort) float64 { return p.Rate.Value })
		if count*2 <= len(ports) || count < 2 {
			continue
		}
		var like *resolve.FabricPort
		var slow []*resolve.FabricPort
		var names []string
		for _, p := range ports {
			switch {
			case p.Rate.Value == most:
				like = p
			case p.Rate.Stated() && p.Rate.Value < most:
				slow = append(slow, p)
				names = append(names, p.Node)
			}
		}
		if len(slow) == 0 || like == nil {
			continue
		}
		w.say(fmt.Sprintf("%s runs at %s Gb/s on %s and at %s Gb/s on %s: a cable, an optic or a setting at one end of that link is at fault", k.device, decimal(slow[0].Rate.Value), several(names, "host"), decimal(most),
			plural(count, "other host", "other hosts")), quoteNumber(slow[0].File, slow[0].Rate), quoteNumber(like.File, like.Rate))
	}
}

func quoteNumber(file string, n fabric.Number) incident.Evidence {
	return mechanism.QuotePlace(file, n.Place, &incident.Predicate{Literals: []string{n.Literal}})
}

func nameOr(s string) string {
	if s == "" {
		return "a node without a name"
	}
	return s
}

func decimal(v float64) string {
	if v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// common is the value that most of the ports have.
func common(ports []*resolve.FabricPort, of func(*resolve.FabricPort) float64) (float64, int) {
	count := map[float64]int{}
	best, n := 0.0, 0
	for _, p := range ports {
		v := of(p)
		count[v]++
		if count[v] > n || count[v] == n && v > best {
			best, n = v, count[v]
		}
	}
	return best, n
}

// sizes says where hosts disagree on the size of packets.
func (w *fabricWords) sizes() {
	type like struct{ device, tool string }
	group := map[like][]*resolve.FabricPort{}
	var order []like
	for i := range w.x.Ports {
		p := &w.x.Ports[i]
		if p.Node == "" || !p.MTU.Stated() || p.Down() {
			continue
		}
		k := like{fmt.Sprint(p.Device, p.Port.Port), p.Tool}
		if group[k] == nil {
			order = append(order, k)
		}
		group[k] = append(group[k], p)
	}
	for _, k := range order {
		ports := group[k]
		most, count := common(ports, func(p *resolve.FabricPort) float64 { return p.MTU.Value })
		var names []string
		var other, like *resolve.FabricPort
		for _, p := range ports {
			if p.MTU.Value != most {
				names = appendNew(names, p.Node)
				if other == nil {
					other = p
				}
			} else if like == nil {
				like = p
			}
		}
		if other == nil {
			continue
		}
		w.say(fmt.Sprintf("the MTU on %s is %s bytes on %s and %s on %s: small messages pass between them, large ones may not", other.Device, decimal(other.MTU.Value), several(names, "host"),
			decimal(most), plural(count, "other host", "other hosts")), quoteNumber(other.File, other.MTU), quoteNumber(like.File, like.MTU))
	}
}

// packets says which sizes did not pass.
func (w *fabricWords) packets() {
	passes := map[string]resolve.FabricPing{}
	for _, p := range w.x.Pings {
		if p.Ended && p.Received > 0 {
			if old, ok := passes[p.Node+"\x00"+p.Address]; !ok || p.Whole > old.Whole {
				passes[p.Node+"\x00"+p.Address] = p
			}
		}
	}
	n := 0
	for _, p := range w.x.Pings {
		if n == 2 {
			return
		}
		from := ""
		if p.Node != "" {
			from = " from " + p.Node
		}
		ok, passed := passes[p.Node+"\x00"+p.Address]
		head := mechanism.QuotePlace(p.File, p.Place, &incident.Predicate{Literals: []string{"PING ", fmt.Sprint(p.Size)}})
		switch {
		case p.TooLong && p.MTU > 0:
			n++
			who := "something along the path accepts at most"
			if p.Local {
				who = "the sender's own interface accepts at most"
			}
			w.say(fmt.Sprintf("packets of %d bytes%s to %s are too big: %s %d", p.Whole, from, p.Target, who, p.MTU), head,
				mechanism.QuotePlace(p.File, p.Refusal, &incident.Predicate{Literals: []string{fmt.Sprint(p.MTU)}}))
		case p.Ended && p.Sent > 0 && p.Received == 0 && passed && ok.Whole < p.Whole:
			n++
			w.say(fmt.Sprintf("packets of %d bytes%s to %s are silently dropped, but packets of %d bytes get through: the MTU is smaller somewhere along the path", p.Whole, from, p.Target, ok.Whole), head,
				mechanism.QuotePlace(p.File, p.Result, nil), mechanism.QuotePlace(ok.File, ok.Result, nil))
		case p.Ended && p.Sent > 0 && p.Received == 0:
			n++
			w.say(fmt.Sprintf("%s does not respond to packets of %d bytes%s", p.Target, p.Whole, from), head, mechanism.QuotePlace(p.File, p.Result, nil))
		case p.Ended && p.Received < p.Sent:
			n++
			w.say(fmt.Sprintf("%d of %d packets%s to %s were lost", p.Sent-p.Received, p.Sent, from, p.Target), mechanism.QuotePlace(p.File, p.Result, nil))
		}
	}
}

// totals says what single snapshots hold, and that it proves nothing of this job.
func (w *fabricWords) totals() {
	var worst []*resolve.Total
	for i := range w.x.Totals {
		t := &w.x.Totals[i]
		if c := t.Meaning.Class; c == fabric.Damage || c == fabric.Flap || c == fabric.Lost {
			worst = append(worst, t)
		}
	}
	if len(worst) == 0 {
		return
	}
	slices.SortStableFunc(worst, func(a, b *resolve.Total) int {
		return cmp.Or(cmp.Compare(order(a.Meaning.Class), order(b.Meaning.Class)), cmp.Compare(b.Reading.Value, a.Reading.Value))
	})
	var names []string
	var ev []incident.Evidence
	for i, t := range worst {
		if i < 4 {
			names = append(names, fmt.Sprintf("%s %d on %s", t.Reading.Name, t.Reading.Value, resolve.PortName(t.Node, &t.Reading.Where)))
			ev = append(ev, mechanism.ReadingEvidence(t.File, t.Reading))
		}
	}
	text := strings.Join(names, ", ")
	if more := len(worst) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	w.say("errors counted since boot or since last cleared, with no second snapshot: "+text+". They may predate this job; take a second snapshot and compare", ev...)
}

// stuck says which counters stand at their largest value.
func (w *fabricWords) stuck() {
	var names []string
	var ev []incident.Evidence
	see := func(node, file string, r *fabric.Reading) {
		if !r.Stuck() || len(ev) == 3 {
			return
		}
		names = append(names, fmt.Sprintf("%s of %s", r.Name, resolve.PortName(node, &r.Where)))
		ev = append(ev, mechanism.ReadingEvidence(file, r))
	}
	for i := range w.x.Totals {
		see(w.x.Totals[i].Node, w.x.Totals[i].File, w.x.Totals[i].Reading)
	}
	for _, list := range [][]resolve.Growth{w.x.Growth, w.x.Still} {
		for i := range list {
			see(list[i].Node, list[i].LastFile, list[i].Last)
		}
	}
	if len(ev) > 0 {
		w.say(fmt.Sprintf("%s hit its maximum value and can't count any further (clear it with perfquery -R, or read perfquery -x)", strings.Join(names, ", ")), ev...)
	}
}

// clean says that two snapshots show no new errors, where they do.
func (w *fabricWords) clean() {
	if len(w.x.Growth) > 0 && slices.ContainsFunc(w.x.Growth, func(g resolve.Growth) bool { return g.Excess() }) || len(w.x.Still) == 0 {
		return
	}
	ports := map[string]bool{}
	best := -1
	for i := range w.x.Still {
		g := &w.x.Still[i]
		if g.Meaning.Class == fabric.Damage || g.Meaning.Class == fabric.Flap {
			if g.Last.Stuck() {
				continue // it cannot grow
			}
			ports[resolve.PortName(g.Node, &g.Last.Where)] = true
			if best < 0 {
				best = i
			}
		}
	}
	if best < 0 {
		return
	}
	g := &w.x.Still[best]
	w.say(fmt.Sprintf("no error counter on %s grew more than normal between the two snapshots", plural(len(ports), "port", "ports")), mechanism.GrowthEvidence(g)...)
}

// up says that all ports are, where nothing else is to be said.
func (w *fabricWords) up() {
	if len(w.out) > 0 || len(w.x.Ports) == 0 {
		return
	}
	var ev []incident.Evidence
	hosts, ports := map[string]bool{}, map[string]bool{}
	for i := range w.x.Ports {
		p := &w.x.Ports[i]
		hosts[p.Node] = true
		ports[resolve.PortName(p.Node, &p.Where)] = true
		if p.State.Word != "" && len(ev) < 2 {
			ev = append(ev, mechanism.QuotePlace(p.File, p.State.Place, &incident.Predicate{Literals: []string{p.State.Word}}))
		}
	}
	w.say(fmt.Sprintf("%s of %s are up, as far as shown here", plural(len(ports), "port", "ports"), plural(len(hosts), "host", "hosts")), ev...)
}
