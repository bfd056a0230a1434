package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/history"
	"faultline/incident"
	"faultline/knowledge"
)

// recall compares this run with earlier ones. What recurs is evidence like any other, and never a cause of its own: it may
// speak for or against what this run's own lines propose, it proposes nothing.
func (b *builder) recall(e Earlier) {
	if e.Book == nil {
		return
	}
	f := b.s.Facts
	this := history.This{Who: e.Who, Job: f.Job.ID, Run: f.Run, Name: f.Job.Name, WorldSize: f.Job.WorldSize, Framework: f.Job.Framework, Nodes: b.nodes()}
	if this.Cluster == "" {
		this.Cluster = f.Job.Cluster
	}
	if at := f.Format(f.Job.Start); at != nil {
		this.Start = *at
	}
	past := e.Book.Past(this)
	h := past.Summary()
	b.again = map[string]*incident.Recurrence{}
	if len(b.d.winners) == 1 {
		b.recurrences(past, &h, b.d.winners[0])
	}
	h.LastGood = past.LastGood(b.now())
	b.r.History = &h
	b.r.Warnings = append(b.r.Warnings, e.Book.Warnings...)
	b.r.Warnings = append(b.r.Warnings, past.Warnings...)
}

// nodes are the nodes that this run is known to have used, sorted.
func (b *builder) nodes() []string {
	all := slices.Concat(b.s.Facts.Coverage.NodesExpected, b.s.Facts.Coverage.NodesSeen)
	for _, p := range b.d.winners {
		all = append(all, b.rootNodes(p)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// rootNodes are where the root of a proposal is: the nodes it names, else those of its ranks.
func (b *builder) rootNodes(p *mechanism.Proposal) []string {
	if len(p.Nodes) > 0 {
		return p.Nodes
	}
	var out []string
	for _, id := range p.Ranks {
		if r := b.s.Facts.Rank(id); r != nil && r.Node != "" {
			out = appendNew(out, r.Node)
		}
	}
	return out
}

// now is what this run states of how it was started.
func (b *builder) now() history.Now {
	f := b.s.Facts
	var out history.Now
	if at := f.Job.WorldEvidence; at != nil {
		out.World = []incident.Evidence{mechanism.QuoteAt(*at, nil)}
	}
	for _, v := range f.Job.Versions {
		x := history.Value{Name: v.Name, Value: v.Value}
		if at := f.Stated(v.Name+"_version", v.Value); at != nil {
			x.Evidence = []incident.Evidence{mechanism.QuoteAt(*at, nil)}
		}
		out.Versions = append(out.Versions, x)
	}
	for _, a := range f.Job.Arguments {
		out.Arguments = append(out.Arguments, history.Value{Name: a.Name, Value: a.Value, Evidence: []incident.Evidence{mechanism.QuoteAt(a.At, nil)}})
	}
	return out
}

// fewRoots bounds how many nodes a failure may have begun on for the history of each to be looked up.
const fewRoots = 4

// recurrences looks up what of this failure earlier runs met as well.
func (b *builder) recurrences(past *history.Past, h *incident.History, p *mechanism.Proposal) {
	rule := p.Mechanism.Again()
	nodes := b.rootNodes(p)
	add := func(rec *incident.Recurrence) {
		if rec == nil {
			return
		}
		h.Recurrences = append(h.Recurrences, *rec)
		if rec.Weighs && b.again[rec.Kind] == nil {
			b.again[rec.Kind] = rec
		}
	}
	if name := item(p); name != "" {
		add(past.Item(name, string(p.Mechanism)))
	}
	if rule.Machine && p.Scope != "all" && len(nodes) <= fewRoots {
		for _, n := range nodes {
			add(past.Host(n, p.Ranks, func(slug knowledge.Slug) bool { return slug.Again().Machine }))
		}
	}
	if step, ok := b.lastStep(); ok && rule.Step {
		add(past.Step(step, string(p.Mechanism)))
	}
	find := func(text string, rec *incident.Recurrence) incident.Finding {
		return incident.Finding{Statement: text + ": " + rec.Statement, Evidence: slices.Clone(rec.Evidence)}
	}
	if rec := b.again[incident.SameItem]; rec != nil && len(rule.Item) > 0 {
		p.Past = append(p.Past, find("the same item again", rec))
		b.itemAgain(p, rule)
	}
	if rec := b.again[incident.SameHost]; rec != nil {
		p.Past = append(p.Past, find("the same host again", rec))
	}
	if rec := b.again[incident.SameStep]; rec != nil {
		x := find("the same step again", rec)
		if rule.Machine && past.Elsewhere(rec, nodes) {
			x.Statement += ", each time on a different node, so it is unlikely to be the machine"
		}
		p.Past = append(p.Past, x)
	}
}

// itemAgain drops the rivals that would not have met the same item in another run; where none is left, that is the sign
// that was missing. A path that is wrong for all items is met again as well: whether that is so, recurrence does not tell.
func (b *builder) itemAgain(p *mechanism.Proposal, rule knowledge.Again) {
	var left []knowledge.Slug
	for _, rival := range p.Rivals {
		if !slices.Contains(rule.Item, origin(rival)) {
			left = append(left, rival)
		}
	}
	if p.Rivals = left; len(left) > 0 {
		return
	}
	if !p.Direct {
		p.Why = "a random read failure would not hit the same item in two runs"
	}
	p.Direct, p.Base = true, max(p.Base, 0.95)
}

// item is what the failures of a proposal name, the first of them; "" where they name none.
func item(p *mechanism.Proposal) string {
	for _, fl := range p.Failures {
		if fl.Item != "" {
			return fl.Item
		}
	}
	return ""
}

// bears says that a recurrence changes something: the host and the step speak for different causes, so that together they
// decide nothing.
func (b *builder) bears(kind string) bool {
	switch kind {
	case incident.SameHost:
		return b.again[incident.SameStep] == nil
	case incident.SameStep:
		return b.again[incident.SameHost] == nil
	}
	return len(b.d.winners) == 1 && len(b.d.winners[0].Mechanism.Again().Item) > 0
}

// fromBefore lets recurrence bear on the decision. A node is left out for a recurrence with its denominator, as it is for a
// hardware sign; a failure that comes back after the same step wants a fix, whatever the machine.
func (b *builder) fromBefore(a *incident.Action) {
	v := &b.r.Verdict
	if rec := b.again[incident.SameHost]; rec != nil && b.bears(rec.Kind) {
		a.ExcludeNodes = appendNew(a.ExcludeNodes, rec.What)
		a.Owner = "cluster"
		if a.Resubmit != "no" {
			a.Resubmit = "yes"
		}
		return
	}
	if rec := b.again[incident.SameStep]; rec != nil && b.bears(rec.Kind) && len(v.Candidates) == 1 && a.Resubmit != "no" {
		a.Resubmit = "after-fix"
	}
}

// before gives the advice that earlier runs lead to, ahead of what the mechanism alone would say.
func (b *builder) before(add func(knowledge.Advice)) {
	if rec := b.again[incident.SameHost]; rec != nil && b.bears(rec.Kind) {
		if rec.Times > 1 {
			add(knowledge.Advice{Text: fmt.Sprintf("Drain and test %s: it was the culprit in %d of %d earlier runs, and is again now.", rec.What, rec.Times, rec.Of),
				Command: fmt.Sprintf("scontrol update NodeName=%s State=DRAIN Reason=\"root in %d of %d runs, job {job}\"", quoteArg(rec.What), rec.Times, rec.Of)})
		} else {
			add(knowledge.Advice{Text: fmt.Sprintf("Exclude %s when you resubmit, and test it before reuse: it was the culprit once before.", rec.What)})
		}
	}
	if rec := b.again[incident.SameStep]; rec != nil && b.bears(rec.Kind) {
		add(knowledge.Advice{Text: fmt.Sprintf("Check what the program does after step %s: it has ended there %s before.", rec.What, times(rec.Times))})
	}
	if rec := b.again[incident.SameItem]; rec != nil && b.bears(rec.Kind) {
		add(knowledge.Advice{Text: fmt.Sprintf("Remove %s from the data: it has failed %s before.", rec.What, times(rec.Times))})
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// quoteArg keeps a node's name, which a log states, from being more than one word of a command.
func quoteArg(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == "" {
		return s
	}
	return "NODE"
}
