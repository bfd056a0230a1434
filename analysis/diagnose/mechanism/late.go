package mechanism

import (
	"cmp"
	"fmt"
	"slices"

	"faultline/analysis/cost"
	"faultline/analysis/resolve"
	"faultline/analysis/slow"
	"faultline/incident"
	"faultline/knowledge"
)

// lateRank: each process times the parts of its own steps. A part of some grew, and on all others the one in which they wait.
func lateRank(sc *Scene) *Proposal { return late(sc, knowledge.SlowRank, false) }

func late(sc *Scene, slug knowledge.Slug, ofData bool) *Proposal {
	f := sc.Facts
	s, ok := slowed(f)
	l, found := f.Late()
	class := slow.ClassOf(l.Phase)
	if !ok || !found || (class == slow.Data) != ofData {
		return nil
	}
	x := shifted(f)
	if x != nil && len(x.work) > 0 {
		return nil // it has more to do
	}
	p := s.proposal(f, slug, 0.9)
	if class == "" {
		p.Base = 0.85
	}
	who := lateAre(f, &l, p)
	p.Now = append([]knowledge.Advice{lateAdvice(who, len(p.Nodes) > 0, ofData)}, p.Now...)
	if m, ok := knowledge.MechanismBySlug(slug); ok && ofData { // of a load that never came back
		for _, a := range m.Now {
			p.Moot = append(p.Moot, a.Text)
		}
	}
	v := &l.Voices[0]
	was, is := times(v, l.Phase)
	p.Summary = fmt.Sprintf("%s grew on %s %s: steps take %s, up from %s (%.0f%% lost)", l.Phase, who,
		since(f, &s.Slowdown, Seconds(was)+" → "+Seconds(is)), Seconds(s.Now), Seconds(s.Base), 100*cost.Waste(s.Ratio()))
	others := plural(len(l.Waiters), "process", "processes")
	if l.Waited == "" {
		p.Why += fmt.Sprintf("; on the other %s it didn't, and no other phase that they print: they wait", others)
	} else {
		p.Why += fmt.Sprintf("; on the other %s it didn't, and %s grew there instead: they wait", others, l.Waited)
	}
	for i := range l.Voices[:min(len(l.Voices), 3)] {
		p.For = append(p.For, voiceFinding(&l.Voices[i], l.Phase))
	}
	p.Led = append(p.Led, voiceFinding(&l.Waiters[0], cmp.Or(l.Waited, l.Phase)))
	if x != nil && x.agrees(p, &l) {
		x.support(p)
		if len(p.Nodes) == 0 {
			p.Nodes, p.Scope = x.list[0].Nodes, "node"
		}
	} else if !ofData {
		p.oddNode(f)
	}
	return p
}

// lateAre names who is late: the ranks, or the nodes of their files, or the files.
func lateAre(f *resolve.Facts, l *resolve.Late, p *Proposal) string {
	var ranks []int
	var nodes, files []string
	for _, v := range l.Voices {
		if v.Rank != resolve.NoRank {
			ranks = append(ranks, v.Rank)
		}
		if v.Node != "" && !slices.Contains(nodes, v.Node) {
			nodes = append(nodes, v.Node)
		}
		files = append(files, v.File)
	}
	switch {
	case len(ranks) == len(l.Voices):
		slices.Sort(ranks)
		p.Ranks, p.Nodes, p.Scope = ranks, nodesOf(f, ranks), scopeOf(f, ranks)
		return where(f, ranks)
	case len(nodes) > 0:
		slices.Sort(nodes)
		p.Nodes, p.Scope = nodes, "node"
		return few(nodes, 3)
	}
	p.Scope = "unknown"
	return few(files, 3)
}

// lateAdvice is what to look at where it is known who is late.
func lateAdvice(who string, placed, ofData bool) knowledge.Advice {
	a := knowledge.Advice{Text: fmt.Sprintf("Check GPU clocks, temperature, memory and other processes on the machines of %s while it is slow.", who), Command: "ssh {root} 'nvidia-smi; free -g; top -b -n 1 | head -20'"}
	if ofData {
		a = knowledge.Advice{Text: fmt.Sprintf("Check disk, memory and other processes on the machines of %s while it is slow.", who), Command: "ssh {root} 'iostat -x 1 3; free -g; top -b -n 1 | head -20'"}
	}
	if !placed {
		a.Command = ""
	}
	return a
}

func times(v *resolve.Voice, phase string) (was, is float64) {
	i := slices.IndexFunc(v.Phases, func(p slow.Phase) bool { return p.Name == phase })
	return v.Phases[i].MaxWas, v.Phases[i].MaxIs
}

func voiceFinding(v *resolve.Voice, phase string) incident.Finding {
	was, is := times(v, phase)
	q := v.Quotes[phase]
	who := v.File
	if v.Rank != resolve.NoRank {
		who = fmt.Sprintf("rank %d", v.Rank)
	}
	return finding(fmt.Sprintf("%s: %s took %s before, %s since", who, phase, Seconds(was), Seconds(is)), QuoteAt(q[0], nil), QuoteAt(q[1], nil))
}
