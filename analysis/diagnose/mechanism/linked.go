package mechanism

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// links is what tests and counters say of where communication is slow.
type links struct {
	benches []bench
	faults  []*resolve.Fault
}

// bench is a comparison of tests of one kind, some of them slow.
type bench struct {
	resolve.Culprit
	why     string
	finding incident.Finding
}

// clearlySlow is what share of the best of its kind every slow test must stay under before a node is named by it.
const clearlySlow = 0.75

func linkAt(f *resolve.Facts) links {
	var at links
	for _, x := range f.FabricFaults() {
		if len(x.Grown) > 0 {
			at.faults = append(at.faults, x)
		}
	}
	add := func(b bench, clear bool) {
		if clear && !slices.ContainsFunc(b.Hosts, func(host string) bool { return !resolve.Hostname(host) || f.Foreign(host) }) {
			at.benches = append(at.benches, b)
		}
	}
	for _, c := range f.CompareTests() {
		if len(c.Slow) > 0 {
			b, clear := comparedTests(&c)
			b.ceiling(f, &c)
			add(b, clear)
		}
	}
	if compared, _, who := f.AgainstBaseline(); len(compared) > 0 && compared[0].Slow && len(at.benches) == 0 {
		add(againstBaseline(&compared[0], who), true)
	}
	for _, c := range f.ComparePaths() {
		add(comparedPaths(&c))
	}
	return at
}

func comparedTests(c *resolve.Comparison) (bench, bool) {
	worst := c.Slow[len(c.Slow)-1]
	clear := !slices.ContainsFunc(c.Slow, func(m resolve.Measured) bool { return m.Bus >= clearlySlow*c.Best.Bus })
	return bench{c.Culprit, fmt.Sprintf("nccl-tests reach %.3g GB/s with %s; the best run reaches %.3g GB/s", worst.Bus, few(worst.Hosts, 3), c.Best.Bus),
		finding(fmt.Sprintf("%s at %d bytes: bus bandwidth %.4g GB/s with %s, %.4g GB/s with %s", c.Collective, c.Size, worst.Bus, few(worst.Hosts, 3), c.Best.Bus, few(c.Best.Hosts, 3)),
			MeasuredEvidence(&worst), MeasuredEvidence(&c.Best))}, clear
}

// ceiling adds what the ports of a tested node carry, as a tool states their rate: even the best run may be far below.
func (b *bench) ceiling(f *resolve.Facts, c *resolve.Comparison) {
	if c.Hosts < 2 { // within a node nothing goes through them
		return
	}
	for _, host := range slices.Concat(c.Slow[len(c.Slow)-1].Hosts, c.Best.Hosts) {
		ports, most := f.Carried(host)
		if len(ports) == 0 || most < c.Best.Bus {
			continue
		}
		rate := &ports[0].Rate
		kind := fmt.Sprintf("ports of %s Gb/s", rate.Literal)
		if l, ok := knowledge.LinkByRate(rate.Value); ok {
			kind = "× " + l.Name
		}
		b.why += fmt.Sprintf("; %d %s carry %.4g GB/s", len(ports), kind, most)
		b.finding.Evidence = append(b.finding.Evidence, QuotePlace(ports[0].File, rate.Place, &incident.Predicate{Literals: []string{rate.Literal}}))
		return
	}
}

func againstBaseline(a *resolve.Against, who resolve.Culprit) bench {
	x := &a.Sizes[len(a.Sizes)-1]
	return bench{who, fmt.Sprintf("nccl-tests reach %.3g GB/s with %s; the baseline is %.3g GB/s", x.Got.Bus, few(a.Hosts, 3), x.Want),
		finding(fmt.Sprintf("bus bandwidth %.4g GB/s with %s; expected %.4g GB/s", x.Got.Bus, few(a.Hosts, 3), x.Want), MeasuredEvidence(&x.Got))}
}

func comparedPaths(c *resolve.PathComparison) (bench, bool) {
	worst := &c.Slow[len(c.Slow)-1]
	clear := !slices.ContainsFunc(c.Slow, func(t resolve.PathTest) bool { return t.Gbits >= clearlySlow*c.Best.Gbits })
	text := fmt.Sprintf("%s from %s to %s reaches %.3g Gb/s; the best comparable test reaches %.3g Gb/s", worst.Tool, worst.From, worst.End, worst.Gbits, c.Best.Gbits)
	return bench{c.Culprit, text, finding(text, PathEvidence(worst), PathEvidence(&c.Best))}, clear
}

// tested says that tests name one node, and no test another.
func (l *links) tested() bool {
	named := ""
	for i := range l.benches {
		b := &l.benches[i]
		if b.Kind != "node" || len(b.Hosts) != 1 {
			continue
		}
		if named != "" && named != b.Hosts[0] {
			return false
		}
		named = b.Hosts[0]
	}
	return named != ""
}

// found says that something names one node, and nothing another.
func (l *links) found() bool { return l.node() != "" }

func (l *links) node() string {
	named := ""
	for i := range l.benches {
		if b := &l.benches[i]; b.Kind == "node" && l.tested() {
			named = b.Hosts[0]
		}
	}
	if len(l.faults) == 0 {
		return named
	}
	port := l.faults[0].Node
	for i := range l.benches {
		if len(l.benches[i].Hosts) > 0 && !slices.Contains(l.benches[i].Hosts, port) {
			return "" // they contradict each other
		}
	}
	return port
}

// place names the node, and says by what it is known.
func (l *links) place(p *Proposal) {
	var why []string
	if p.Why != "" {
		why = append(why, p.Why)
	}
	for i := range l.benches {
		why = append(why, l.benches[i].why)
		p.For = append(p.For, l.benches[i].finding)
	}
	for i, x := range l.faults {
		if i == 0 {
			why = append(why, "errors on "+x.Name()+" are rising")
		}
		p.For = append(p.For, FaultFinding(x))
	}
	p.Why = strings.Join(why, "; ")
	switch node := l.node(); {
	case node != "":
		p.Nodes, p.Scope, p.Machine = []string{node}, "node", true
		p.Now = append([]knowledge.Advice{{Text: "Exclude {root} at the next restart; then check with nccl-tests that the other nodes reach normal bandwidth.", Command: "sbatch --exclude={root} …"}}, p.Now...)
		if len(l.faults) > 0 {
			p.Component = component(l.faults[0])
		} else {
			p.Needs = append(p.Needs, needPorts)
		}
		return
	case len(l.benches) > 0 && l.benches[0].Kind == "set":
		p.Named = "one of " + few(l.benches[0].Hosts, 6)
	}
	p.Now = append(p.Now, advicePairs)
	p.Needs = append(p.Needs, needPairs, needPorts)
}

// advicePairs finds the node where nothing names one.
var advicePairs = knowledge.Advice{Text: "Test the nodes in pairs with nccl-tests: the node that is slow with every partner is the one to exclude.", Command: needPairs.Command}

func linkFound(f *resolve.Facts) bool {
	at := linkAt(f)
	return at.found()
}
