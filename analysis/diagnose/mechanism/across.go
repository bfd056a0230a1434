package mechanism

import (
	"fmt"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/slow"
	"faultline/incident"
	"faultline/knowledge"
)

// Slower than an earlier run from the first step on: nothing in this run's own course shows it, the earlier one's logs do. What grew, and what
// was set otherwise, says why.

// fellOff begins a proposal that rests on an earlier run; nil where this one is not slower, or became so on its way.
func fellOff(f *resolve.Facts, slug knowledge.Slug, base float64) *Proposal {
	x, ok := f.Falloff()
	if _, within := worstSlowdown(f); !ok || within {
		return nil
	}
	p := &Proposal{Mechanism: slug, Class: Degraded, Scope: "all", Base: base, Explains: displacedBySlow, Waste: x.Waste(), Settled: true}
	p.Summary = fmt.Sprintf("slower than the earlier run from the first step: %s %s instead of %s (%.0f%% lost)", x.Name, pace(x.Is, x.Unit), pace(x.Was, x.Unit), 100*x.Waste())
	p.Summary = strings.Replace(p.Summary, incident.SignStepTime, "step time", 1)
	p.Why = "the two runs' step lines show it; within this run the pace is steady"
	p.For = []incident.Finding{finding(p.Summary, QuoteAt(x.IsAt, nil), QuoteAt(x.WasAt, nil))}
	return p
}

func pace(v float64, unit string) string { return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, unit)) }

// rankFellOff: one process takes longer than in the earlier run, and the rest wait for it.
func rankFellOff(sc *Scene) *Proposal {
	f := sc.Facts
	p := fellOff(f, knowledge.SlowRank, 0.9)
	l, ok := f.LateSince()
	if p == nil || !ok || slow.ClassOf(l.Phase) == slow.Data {
		return nil
	}
	p.lateSince(f, &l, false)
	return p
}

// loadFellOff: as rankFellOff, where the part that grew is loading data.
func loadFellOff(sc *Scene) *Proposal {
	f := sc.Facts
	p := fellOff(f, knowledge.DataloaderStall, 0.9)
	if p == nil {
		return nil
	}
	if l, ok := f.LateSince(); ok && slow.ClassOf(l.Phase) == slow.Data {
		p.lateSince(f, &l, true)
		return p
	}
	return p.grownSince(f, slow.Data)
}

func (p *Proposal) lateSince(f *resolve.Facts, l *resolve.Late, ofData bool) {
	who := lateAre(f, l, p)
	was, is := times(&l.Voices[0], l.Phase)
	p.Summary = fmt.Sprintf("%s takes %s on %s, and took %s in the earlier run: %s", l.Phase, Seconds(is), who, Seconds(was), p.Summary)
	p.Why += fmt.Sprintf("; on the other %s it does not take longer", plural(len(l.Waiters), "process", "processes"))
	for i := range l.Voices[:min(len(l.Voices), 3)] {
		p.For = append(p.For, voiceFinding(&l.Voices[i], l.Phase))
	}
	p.Now = append([]knowledge.Advice{lateAdvice(who, len(p.Nodes) > 0, ofData)}, p.Now...)
}

// grownSince adds the phase that grew; nil where it is of another class.
func (p *Proposal) grownSince(f *resolve.Facts, class slow.Class) *Proposal {
	if l, late := f.LateAlways(); late && slow.ClassOf(l.Phase) != class {
		return nil // it is known who holds up whom, and what grew on the rest is a wait
	}
	g, v := f.GrownSince()
	if v == nil || g.Class != class || len(g.Phases) == 0 {
		return nil
	}
	top := &g.Phases[0]
	p.Summary = fmt.Sprintf("%s takes %s, and took %s in the earlier run: %s", top.Name, Seconds(top.MaxIs), Seconds(top.MaxWas), p.Summary)
	p.For = append(p.For, voiceFinding(v, top.Name))
	return p
}

// transportFellOff: NCCL uses another network than in the earlier run, or collectives take longer.
func transportFellOff(sc *Scene) *Proposal {
	f := sc.Facts
	p := fellOff(f, knowledge.SlowCommunication, 0.92)
	if p == nil {
		return nil
	}
	is, was := network(f), network(f.Preceding.Facts)
	if is.name == "" || was.name == "" || is.name == was.name {
		return p.grownSince(f, slow.Communication)
	}
	p.Summary = fmt.Sprintf("NCCL uses %s, and used %s in the earlier run: %s", is.name, was.name, p.Summary)
	p.Why += "; NCCL names the network it uses at its start"
	p.For = append(p.For, finding(fmt.Sprintf("NCCL uses network %s; in the earlier run it used %s", is.name, was.name), is.at, was.at))
	p.Moot = append(p.Moot, allAdvice(knowledge.SlowCommunication)...)
	p.Now = append(p.Now, knowledge.Advice{Text: fmt.Sprintf("Find out why NCCL no longer finds %s: the image, its libraries (libibverbs), the plugin, or NCCL_* settings changed.", was.name), Command: "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET srun -N 2 … 2>&1 | grep -E 'NET/|Using network|libibverbs'"})
	return p
}

// allAdvice are the texts of what a mechanism advises first.
func allAdvice(slug knowledge.Slug) (out []string) {
	if m, ok := knowledge.MechanismBySlug(slug); ok {
		for _, a := range m.Now {
			out = append(out, a.Text)
		}
	}
	return out
}

// named is a name that a line states.
type named struct {
	name string
	at   incident.Evidence
}

// network is the one that all processes use which say so.
func network(f *resolve.Facts) (out named) {
	if f.NCCL == nil {
		return out
	}
	for _, m := range f.NCCL.World.Procs {
		for _, s := range m.Proc.Networks {
			if out.name != "" && out.name != s.Text {
				return named{}
			}
			out = named{s.Text, QuoteAt(resolve.NCCLAt(m, s.At), &incident.Predicate{Literals: []string{"Using network " + s.Text}})}
		}
	}
	return out
}

// computeFellOff and regressionFellOff: the rest, with what was set otherwise.
func computeFellOff(sc *Scene) *Proposal {
	p := fellOff(sc.Facts, knowledge.SlowCompute, 0.85)
	if p == nil {
		return nil
	}
	return p.grownSince(sc.Facts, slow.Compute)
}

func regressionFellOff(sc *Scene) *Proposal {
	f := sc.Facts
	p := fellOff(f, knowledge.ThroughputRegression, 0.85)
	if at := linkAt(f); p == nil || at.tested() {
		return nil // tests say where
	}
	p.Explains = nil
	is, was := f.Bubbles()
	if is.Share > 0 && was.Share > 0 && is.Share > was.Share {
		p.Summary = fmt.Sprintf("the pipeline idles for %.0f%% of a step instead of %.0f%% (%d micro-batches on %d stages, before %d on %d): %s",
			100*is.Share, 100*was.Share, is.Micro, is.Stages, was.Micro, was.Stages, p.Summary)
		p.Why += "; with p stages and m micro-batches (p−1)/(m+p−1) of a step is the bubble"
		p.For = append(p.For, finding("batch sizes of this run and of the earlier one", QuoteAt(is.At, nil), QuoteAt(was.At, nil)))
		p.Now = append(p.Now, knowledge.Advice{Text: "Raise the global batch size, or use fewer or interleaved pipeline stages: at least four micro-batches per stage keep the bubble small."})
		p.Moot = append(p.Moot, allAdvice(knowledge.ThroughputRegression)...)
	}
	if list := f.Changed(); len(list) > 0 {
		p.Why += "; set otherwise: " + few(list, 4)
	}
	p.otherwise(f)
	if o := f.Preceding.Oftener; o != nil {
		text := fmt.Sprintf("this run's log has %d lines like `%s`, and the earlier run's has none", o.Since, inShort(o.Text))
		p.Summary += "; " + text
		p.For = append(p.For, finding(text, QuoteAt(o.At, nil)))
	}
	return p
}

// otherwise tells what this run printed before its first step where the earlier one printed something else. That is where to look, and no proof.
func (p *Proposal) otherwise(f *resolve.Facts) {
	list := f.Preceding.Otherwise
	for i := range list {
		o := &list[i]
		p.For = append(p.For, otherwiseFinding(o))
		if i == 0 {
			p.Summary += "; " + printed(o)
			p.Moot = append(p.Moot, allAdvice(knowledge.ThroughputRegression)...)
			p.Now = append(p.Now, knowledge.Advice{Text: "Undo what was set otherwise, or rule it out: the lines that differ are quoted in the report."})
		}
	}
}

// printed says what a run printed at its start, and the earlier one did not.
func printed(o *resolve.Otherwise) string {
	is, was := unlike(o)
	if was == "" {
		return fmt.Sprintf("at its start it printed `%s`, and the earlier run did not", is)
	}
	return fmt.Sprintf("at its start it printed `%s` where the earlier run printed `%s`", is, was)
}

func otherwiseFinding(o *resolve.Otherwise) incident.Finding {
	if o.Was == "" {
		return finding("before its first step this run warned of something, and the earlier one did not", QuoteAt(o.IsAt, nil))
	}
	return finding("before its first step this run printed something else than the earlier one", QuoteAt(o.IsAt, nil), QuoteAt(o.WasAt, nil))
}

// unlike cuts from two lines what they have in common in front, numbers apart unless they differ in nothing else; one word of it stays.
func unlike(o *resolve.Otherwise) (is, was string) {
	if o.Was == "" {
		return inShort(o.Is[line.Parse([]byte(o.Is)).Len:]), ""
	}
	x, y := strings.Fields(o.Is), strings.Fields(o.Was)
	same := func(a, b string) bool { return masked(a) == masked(b) }
	if o.Numbers {
		same = func(a, b string) bool { return a == b || strings.Count(a, ":") > 1 || strings.Count(a, "-") > 1 } // and clocks
	}
	n := 0
	for n < min(len(x), len(y)) && same(x[n], y[n]) {
		n++
	}
	from := func(words []string) string {
		return inShort(strings.Join(words[max(0, min(n, len(words))-1):], " "))
	}
	return from(x), from(y)
}

// masked is a word without its numbers.
func masked(word string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, word)
}

// nodeFellOff: what one node alone printed at its start is other than in the earlier run.
func nodeFellOff(sc *Scene) *Proposal {
	f := sc.Facts
	p := fellOff(f, knowledge.SlowRank, 0.85)
	if p == nil || len(f.Preceding.Otherwise) == 0 {
		return nil
	}
	o := &f.Preceding.Otherwise[0]
	node := f.OnlyNode(o)
	if node == "" || o.Was == "" {
		return nil
	}
	is, was := unlike(o)
	p.Nodes, p.Scope, p.Machine = []string{node}, "node", true
	p.Summary = fmt.Sprintf("%s alone printed `%s` at its start, and `%s` in the earlier run: %s", node, is, was, p.Summary)
	p.For = append(p.For, finding("what it printed in both runs", QuoteAt(o.IsAt, nil), QuoteAt(o.WasAt, nil)))
	p.Now = []knowledge.Advice{{Text: "Find out what changed on {root} since the earlier run (a reboot, a driver, a kernel module), or exclude it.", Command: "ssh {root} 'uptime; lsmod | head -40; dmesg -T | tail -40'"}}
	return p
}
