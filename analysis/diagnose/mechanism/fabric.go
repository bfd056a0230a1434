package mechanism

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/fabric"
	"faultline/analysis/artifact/lines"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/incident"
	"faultline/knowledge"
)

// What tools say of ports decides that a link failed, and where: a port of the job that is down while the same port of the others is up,
// or a link whose errors grew between two snapshots. A link has two ends: the host is named whose port shows it, and the other
// end with it.

// QuotePlace quotes what a file of evidence says at a place.
func QuotePlace(file string, at lines.Place, p *incident.Predicate) incident.Evidence {
	e := incident.Quote(file, at.Line, at.Offset, "", p)
	e.Span = at.Len
	return e
}

// decidedByPorts settles which end of a link it was that transfers failed over, where the ports say so. named are the hosts that report
// the peer which the lines agree on; with one of them at fault the two contradict each other, and the lines stand.
func decidedByPorts(s *Scene, p *Proposal, named map[string]bool) {
	faults := s.Facts.FabricFaults()
	if len(faults) == 0 || len(p.Nodes) > 0 && named[faults[0].Node] {
		return
	}
	x := faults[0]
	p.Nodes, p.Scope, p.Component, p.Rivals = []string{x.Node}, "node", component(x), nil
	p.Base = 0.95
	for _, fl := range p.Failures {
		p.Direct = p.Direct || fl.Node == x.Node && x.Kind == "down"
	}
	p.Why = "transfers failed, and " + faultWords(x)
	p.Summary = faultSummary(x)
	for i := range faults {
		p.For = append([]incident.Finding{FaultFinding(faults[i])}, p.For...)
	}
}

// deadLink proposes a link for a hang that counters cannot explain: everybody entered the collective, and nobody came out.
func deadLink(s *Scene) *Proposal {
	g := s.Graph
	faults := s.Facts.FabricFaults()
	if len(faults) == 0 || g.Shape != waitfor.Full || g.IsAhead {
		return nil
	}
	for _, fl := range s.Facts.Failures {
		if fl.Role == knowledge.CauseRole && fl.Mechanism != "" && !AfterHang(s, fl) {
			return nil // something else broke, and says so
		}
	}
	x := faults[0]
	p := collective(s, knowledge.LinkError)
	p.Class = Environment // it befell the hosts from outside, and no line of a process tells of it
	p.Nodes, p.Frontier, p.Scope, p.Component = []string{x.Node}, nil, "node", component(x)
	p.Base = 0.88
	p.Summary = faultSummary(x)
	p.Why = "every rank was waiting in the same operation, which the network, NCCL or a GPU may be blocking; " + faultWords(x)
	for i := range faults {
		p.For = append(p.For, FaultFinding(faults[i]))
	}
	for i, gr := range g.Groups {
		if i == 3 {
			break
		}
		p.Led = append(p.Led, waitersFinding(s, gr, nil))
	}
	return p
}

func component(x *resolve.Fault) string {
	if x.Device == "" {
		return ""
	}
	return "nic:" + x.Device
}

func faultSummary(x *resolve.Fault) string {
	if x.Kind == "down" {
		return fmt.Sprintf("the link on %s is down", x.Name())
	}
	return fmt.Sprintf("the link on %s is losing data", x.Name())
}

func faultWords(x *resolve.Fault) string {
	if x.Kind == "down" {
		return fmt.Sprintf("one of the job's ports is down while all similar ones are up: %s", x.Name())
	}
	return fmt.Sprintf("errors are rising on one of the job's links: %s", x.Name())
}

// FaultFinding says what is wrong with a port, and of its other end what is known.
func FaultFinding(x *resolve.Fault) incident.Finding {
	var ev []incident.Evidence
	var parts []string
	if x.Port0 != nil {
		what := "is " + x.Port0.State.Word
		if x.Port0.State.Word == "" {
			what = "is not up"
		}
		if x.Port0.State.Word != "" {
			ev = append(ev, QuotePlace(x.Port0.File, x.Port0.State.Place, &incident.Predicate{Literals: []string{x.Port0.State.Word}}))
		}
		if x.Port0.Phys.Word != "" {
			what += fmt.Sprintf(" (%s)", x.Port0.Phys.Word)
			ev = append(ev, QuotePlace(x.Port0.File, x.Port0.Phys.Place, &incident.Predicate{Literals: []string{x.Port0.Phys.Word}}))
		}
		var peers []string
		for i, o := range x.Peers {
			peers = append(peers, o.Node)
			if i < 2 && o.State.Word != "" {
				ev = append(ev, QuotePlace(o.File, o.State.Place, &incident.Predicate{Literals: []string{o.State.Word}}))
			}
		}
		slices.Sort(peers)
		parts = append(parts, fmt.Sprintf("%s, while the same port is up on %s", what, few(peers, 4)))
	}
	for i := range x.Grown {
		if i == 3 {
			break
		}
		parts = append(parts, GrowthWords(&x.Grown[i]))
		ev = append(ev, GrowthEvidence(&x.Grown[i])...)
	}
	text := fmt.Sprintf("%s: %s", x.Name(), strings.Join(parts, "; "))
	if x.Other != "" {
		text += fmt.Sprintf("; the other end is %s, and the cable or that port may be at fault too", x.Other)
	} else {
		text += "; the cable or the port at the other end may be at fault too"
	}
	return finding(text, ev...)
}

// GrowthWords says by how much a counter grew.
func GrowthWords(g *resolve.Growth) string {
	s := fmt.Sprintf("%s grew from %d to %d", g.Last.Name, g.First.Value, g.Last.Value)
	switch {
	case g.Seconds > 0:
		s += fmt.Sprintf(" in %s", duration(float64(g.Seconds)))
	default:
		s += " between two snapshots"
	}
	return s + fmt.Sprintf(" (%s)", g.Meaning.Title)
}

// GrowthEvidence quotes a counter's two readings.
func GrowthEvidence(g *resolve.Growth) []incident.Evidence {
	return []incident.Evidence{ReadingEvidence(g.FirstFile, g.First), ReadingEvidence(g.LastFile, g.Last)}
}

// ReadingEvidence quotes one counter. ip prints names and values on lines of their own.
func ReadingEvidence(file string, r *fabric.Reading) incident.Evidence {
	p := &incident.Predicate{Literals: []string{strconv.FormatUint(r.Value, 10)}}
	if r.Tool != "ip" {
		p.Literals = append([]string{r.Name}, p.Literals...)
	}
	return QuotePlace(file, r.Place, p)
}

// few names some of many.
func few(names []string, most int) string {
	if len(names) > most+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
