package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/hostlist"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// collectedArtifact says what a bundle of bot collect lacks: the same on all nodes is one sentence.
func collectedArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "collected", Title: "What could not be collected", Limits: "A tool or file missing on a node says nothing about the job."}
	type lack struct {
		text  string
		nodes []string
		ev    []incident.Evidence
	}
	var lacks []*lack
	by := map[string]*lack{}
	nodes := map[string]bool{}
	for _, c := range f.Handed.Collected {
		if c.List.Node != "" {
			nodes[c.List.Node] = true
		}
		a.Files = append(a.Files, c.Name)
		for i := range c.List.Missing {
			m := &c.List.Missing[i]
			text := m.What + ": " + m.Why
			l := by[text]
			if l == nil {
				l = &lack{text: text}
				by[text] = l
				lacks = append(lacks, l)
			}
			if !slices.Contains(l.nodes, c.List.Node) {
				l.nodes = append(l.nodes, c.List.Node)
			}
			if len(l.ev) < 3 {
				at := worker.At{Pos: worker.Pos{File: c.Name, Line: m.Line, Off: m.Offset, Len: m.Len}}
				l.ev = append(l.ev, mechanism.QuoteAt(at, &incident.Predicate{Literals: []string{"missing ", m.What}}))
			}
		}
	}
	slices.Sort(a.Files)
	slices.SortStableFunc(lacks, func(x, y *lack) int { return len(y.nodes) - len(x.nodes) })
	for _, l := range lacks {
		where := hostlist.Compress(l.nodes)
		if n := len(nodes); n > 1 && len(l.nodes) == n {
			where = fmt.Sprintf("all %d nodes", n)
		}
		a.Findings = append(a.Findings, incident.Finding{Statement: strings.TrimRight(l.text, ". ") + ", on " + where, Evidence: l.ev})
	}
	if s, ok := silent(f, nodes); ok {
		a.Findings = slices.Insert(a.Findings, 0, s)
	}
	return a, len(a.Files) > 0
}

// silent names the nodes that were asked and of which the bundle holds nothing.
func silent(f *resolve.Facts, gave map[string]bool) (incident.Finding, bool) {
	var names []string
	var ev []incident.Evidence
	for _, c := range f.Handed.Collected {
		for i := range c.List.Asked {
			n := &c.List.Asked[i]
			if gave[n.Node] || slices.Contains(names, n.Node) {
				continue
			}
			names = append(names, n.Node)
			if len(ev) < 3 {
				at := worker.At{Pos: worker.Pos{File: c.Name, Line: n.Line, Off: n.Offset, Len: n.Len}}
				ev = append(ev, mechanism.QuoteAt(at, &incident.Predicate{Literals: []string{n.Node}}))
			}
		}
	}
	if len(names) == 0 {
		return incident.Finding{}, false
	}
	return incident.Finding{Statement: fmt.Sprintf("%d of %d nodes returned nothing (%s): they did not respond, or could not write to the folder. The stalled rank may be on one of them",
		len(names), len(names)+len(gave), hostlist.Compress(names)), Evidence: ev}, true
}
