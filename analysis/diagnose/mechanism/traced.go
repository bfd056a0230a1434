package mechanism

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/trace"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// endedSlow is what a run that is slow may end by.
var endedSlow = []knowledge.Slug{knowledge.ThroughputRegression, knowledge.TimeLimit, knowledge.Cancelled}

// tracedSlow: by the profiler's traces one rank works longer than those that do the same work, and they wait for it.
func tracedSlow(s *Scene) *Proposal {
	list := holders(s.Facts, func(cause string) bool { return cause != trace.Loading })
	if len(list) == 0 {
		return nil
	}
	p := heldInTrace(s.Facts, knowledge.SlowRank, list)
	switch list[0].Cause {
	case trace.Slower:
		p.Why += "; its GPU ran as many kernels as theirs, but for longer"
	case trace.Host:
		p.Why += "; meanwhile its GPU was idle: its process launched too little work"
	}
	return p
}

// tracedLoading: by the traces it is its data that such a rank waits for; or all ranks do, and that is what steps became slower by.
func tracedLoading(s *Scene) *Proposal {
	f := s.Facts
	if list := holders(f, func(cause string) bool { return cause == trace.Loading }); len(list) > 0 {
		p := heldInTrace(f, knowledge.DataloaderStall, list)
		p.Why += "; it is waiting for data"
		p.Explains, p.Needs = endedSlow, []incident.Need{needStore}
		for _, h := range list[:min(len(list), 2)] {
			p.For = append(p.For, loadFinding(f, &h))
		}
		return p
	}
	return allLoading(f)
}

// holders are the ranks that hold others and have no innocent reading, where they are few.
func holders(f *resolve.Facts, of func(cause string) bool) []trace.Held {
	if f.Traced == nil {
		return nil
	}
	c := f.Traced.Compared
	var out []trace.Held
	var nodes []*compared
	for _, h := range c.Held {
		if h.Uneven || h.Partial || h.Cause == trace.More || !of(h.Cause) {
			continue
		}
		out = append(out, h)
		x := &compared{rank: h.Rank}
		if r := f.Rank(h.Rank); r != nil {
			x.node = r.Node
		}
		nodes = append(nodes, x)
	}
	if len(out) == 0 || len(out) > max(1, max(f.Job.WorldSize, len(c.Ranks))/slowShare) && !oneNode(nodes) {
		return nil
	}
	slices.SortStableFunc(out, func(a, b trace.Held) int {
		switch {
		case a.Ratio > b.Ratio:
			return -1
		case a.Ratio < b.Ratio:
			return 1
		}
		return a.Rank - b.Rank
	})
	return out
}

func heldInTrace(f *resolve.Facts, slug knowledge.Slug, list []trace.Held) *Proposal {
	c := f.Traced.Compared
	var ranks []int
	for _, h := range list {
		ranks = append(ranks, h.Rank)
	}
	slices.Sort(ranks)
	h := &list[0]
	p := &Proposal{Mechanism: slug, Class: Degraded, Ranks: ranks, Nodes: nodesOf(f, ranks), Scope: scopeOf(f, ranks), Base: 0.9}
	verb := map[bool]string{true: "works longer than its peers, and they wait", false: "work longer than their peers, which wait"}[len(ranks) == 1]
	p.Summary = fmt.Sprintf("%s %s for it in every step", where(f, ranks), verb)
	if len(ranks) > 1 {
		p.Summary = fmt.Sprintf("%s %s for them in every step", where(f, ranks), verb)
	}
	if h.N < len(c.Steps) {
		p.Summary = strings.Replace(p.Summary, "in every step", "in most steps", 1)
	}
	p.Why = fmt.Sprintf("profiler traces from %d ranks: in %d of %d steps its own work takes %.2f× as long as its peers' (median), and the collectives they wait in are short on it", len(c.Ranks), h.N, len(c.Steps), h.Ratio)
	for i := range list[:min(len(list), 3)] {
		p.For = append(p.For, HeldFindings(f, &list[i])...)
	}
	return p
}

// HeldFindings say by what it is seen that a rank holds others.
func HeldFindings(f *resolve.Facts, h *trace.Held) []incident.Finding {
	w := &h.Witness
	my, their := callEvidence(w.Mine.File, w.MyCall.At), callEvidence(w.Theirs.File, w.TheirCall.At)
	out := []incident.Finding{finding(fmt.Sprintf("%s (number %d of ProfilerStep#%d) took %s on rank %d and %s on rank %d: rank %d waited in it for rank %d", w.Op, w.Nth, w.Step, nanos(w.MyCall.Dur), h.Rank,
		nanos(w.TheirCall.Dur), w.Peer, w.Peer, h.Rank), append(append(my, their...), ratio(my, their)...)...)}
	if w.Mine.At.Known() && w.Theirs.At.Known() {
		out = append(out, finding(fmt.Sprintf("in ProfilerStep#%d, rank %d waited in collectives for %s of %s, and rank %d for %s of %s", w.Step, h.Rank, nanos(w.Mine.Exposed), nanos(w.Mine.Dur),
			w.Peer, nanos(w.Theirs.Exposed), nanos(w.Theirs.Dur)), append(callEvidence(w.Mine.File, w.Mine.At), callEvidence(w.Theirs.File, w.Theirs.At)...)...))
	}
	return out
}

// loadFinding says how long a rank and its peer waited for data in a step.
func loadFinding(_ *resolve.Facts, h *trace.Held) incident.Finding {
	w := &h.Witness
	ev := callEvidence(w.Mine.File, w.Mine.LoaderAt)
	if w.Theirs.LoaderAt.Known() {
		ev = append(ev, callEvidence(w.Theirs.File, w.Theirs.LoaderAt)...)
	}
	return finding(fmt.Sprintf("in ProfilerStep#%d, rank %d waited %s for its data, and rank %d %s", w.Step, h.Rank, nanos(w.Mine.Loader), w.Peer, nanos(w.Theirs.Loader)), ev...)
}

// allLoading: the steps in the trace are as long as the slow ones in the log, and without what they wait for data they would be as
// they were before.
func allLoading(f *resolve.Facts) *Proposal {
	const near = 0.25
	d, ok := slowdown(f)
	if !ok || f.Traced == nil || len(f.Traced.Ranks) == 0 {
		return nil
	}
	ids := f.Traced.IDs()
	var last *trace.Step
	for _, id := range ids {
		steps := f.Traced.Ranks[id].Steps
		if len(steps) < 2 {
			return nil
		}
		for i := range steps {
			s := &steps[i]
			took, wait := float64(s.Dur)/1e9, float64(s.Loader)/1e9
			if s.Number == trace.None || took < d.Now*(1-near) || took > d.Now*(1+near) || took-wait > d.Base*(1+near) || wait < (d.Now-d.Base)*(1-near) {
				return nil
			}
			last = s
		}
	}
	if !last.At.Known() || !last.LoaderAt.Known() {
		return nil
	}
	p := &Proposal{Mechanism: knowledge.DataloaderStall, Class: Degraded, Scope: "all", Base: 0.85, At: d.Onset.T, Explains: endedSlow, Needs: []incident.Need{needStore}}
	p.Summary = "steps slowed down because every profiled rank waits for data"
	p.Why = fmt.Sprintf("the profiled steps take as long as the slow ones in the log, and the data wait accounts for the difference (traces from %s)", plural(len(ids), "rank", "ranks"))
	p.For = []incident.Finding{finding(fmt.Sprintf("ProfilerStep#%d took %s, with %s spent waiting for data", last.Number, nanos(last.Dur), nanos(last.Loader)),
		append(callEvidence(last.File, last.At), callEvidence(last.File, last.LoaderAt)...)...), finding(slower(f, &d), timeQuote(d.BaseAt), timeQuote(d.Onset))}
	return p
}

// callEvidence quotes an event: its name and how long it took, which may stand on one line or on two.
func callEvidence(file string, at trace.Place) []incident.Evidence {
	if !at.Known() {
		return nil
	}
	return TraceQuotes(file, at.Name, at.Dur)
}

// oneLine is how far apart two members may stand on a line to be quoted together.
const oneLine = 800

// TraceQuotes quotes members of an object as they are written, those of one line together.
func TraceQuotes(file string, list ...trace.Text) []incident.Evidence {
	slices.SortFunc(list, func(a, b trace.Text) int { return int(a.Off - b.Off) })
	var out []incident.Evidence
	for _, t := range list {
		n := len(t.Key) + len(t.Value)
		p := &incident.Predicate{}
		if strings.Trim(t.Value, "0123456789.") == "" {
			p.Fields = []incident.Field{{Key: t.Key, Value: t.Value}}
		} else {
			p.Literals = []string{t.Key + t.Value}
		}
		if k := len(out) - 1; k >= 0 && out[k].Line == t.Line && t.Off-out[k].Offset < oneLine {
			out[k].Span = int(t.Off-out[k].Offset) + n
			out[k].Predicate.Literals = append(out[k].Predicate.Literals, p.Literals...)
			out[k].Predicate.Fields = append(out[k].Predicate.Fields, p.Fields...)
			continue
		}
		e := incident.Quote(file, t.Line, t.Off, "", p)
		e.Span = n
		out = append(out, e)
	}
	return out
}

// ratio is how many times longer the one took, where both are quoted with how long.
func ratio(a, b []incident.Evidence) []incident.Evidence {
	x, y := timed(a), timed(b)
	if x == nil || y == nil {
		return nil
	}
	return []incident.Evidence{{Kind: incident.KindDerived, Formula: "ratio", Inputs: []incident.Evidence{*x, *y}}}
}

func timed(list []incident.Evidence) *incident.Evidence {
	for i := range list {
		if f := list[i].Predicate.Fields; len(f) == 1 && strings.Trim(f[0].Value, "0.") != "" {
			return &list[i]
		}
	}
	return nil
}

// nanos prints a time of a trace.
func nanos(n int64) string {
	switch ms := float64(n) / 1e6; {
	case ms >= 1000:
		return fmt.Sprintf("%.2f s", ms/1000)
	case ms >= 10:
		return fmt.Sprintf("%.0f ms", ms)
	case ms >= 0.1:
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f µs", float64(n)/1e3)
}
