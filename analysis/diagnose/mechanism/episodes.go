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

// episodic: steps were slow several times, and recovered. What comes and goes is rarely a part of the job.
func episodic(slug knowledge.Slug, ofData bool) func(*Scene) *Proposal {
	return func(sc *Scene) *Proposal {
		f := sc.Facts
		if f.Job.ExitOK != nil || Slow(f) {
			return nil
		}
		c := f.Longest(func(p *resolve.Point) bool { return p.Seconds > 0 })
		if c == nil {
			return nil
		}
		e, ok := c.Episodes()
		if !ok || len(e.List) == 1 && len(f.Meanwhile(&e)) == 0 { // once, it is a pause unless something else ran just then
			return nil
		}
		g := f.GrownIn(&e)
		if (g.Class == slow.Data) != ofData {
			return nil
		}
		return episodesOf(f, &e, g, slug)
	}
}

func episodesOf(f *resolve.Facts, e *resolve.Episodes, g slow.Growth, slug knowledge.Slug) *Proposal {
	var when []string
	for _, x := range e.List {
		when = append(when, hourOf(f, x.From)+" to "+hourOf(f, x.To))
	}
	p := &Proposal{Mechanism: slug, Class: Degraded, Scope: "all", Base: 0.8, Explains: endedSlow, Waste: e.Share}
	often, then := fmt.Sprintf("%d times", len(e.List)), "in each of these times"
	if len(e.List) == 1 {
		often, then = "once", "just then"
	}
	p.Summary = fmt.Sprintf("steps slowed down %s and recovered (%s): %s per step, up from %s; %.0f%% of the time in this log is lost",
		often, few(when, 4), Seconds(e.Now), Seconds(e.Base), 100*e.Share)
	if len(g.Phases) > 0 {
		top := &g.Phases[0]
		p.Summary += fmt.Sprintf("; %s %s → %s", top.Name, Seconds(top.MaxWas), Seconds(top.MaxIs))
	}
	p.Why = "between these times steps are as fast as before: something that comes and goes slows them"
	for _, x := range e.List[:min(len(e.List), 3)] {
		p.For = append(p.For, finding("the first and the last slow line of one of these times", QuoteAt(*x.From.At, nil), QuoteAt(*x.To.At, nil)))
	}
	p.Led = []incident.Finding{finding("a normal step line", QuoteAt(*e.Normal.At, nil))}
	p.Moot = allAdvice(slug)
	p.Now = []knowledge.Advice{{Text: "List what else ran in these times on the nodes, the network and the storage: what began and ended with them is the first suspect.", Command: needNeighbours.Command}}
	if ran := f.Meanwhile(e); len(ran) > 0 {
		job, _, _ := strings.Cut(ran[0].Job, "_")
		p.Summary += fmt.Sprintf("; job %s ran %s", job, then)
		p.Why += "; that it ran then is a coincidence until its reads and writes are compared"
		p.Now = append([]knowledge.Advice{{Text: fmt.Sprintf("Compare what job %s reads and writes with what this job waits for, or run this job without it once.", job), Command: "scontrol show job " + job}}, p.Now...)
		for _, r := range ran[:min(len(ran), 3)] {
			if c, ok := r.Cell("Start"); ok {
				p.Past = append(p.Past, finding(fmt.Sprintf("job %s began", r.Job), QuoteAt(resolve.CellAt(c, r.Start), nil)))
			}
		}
	}
	return p
}

// hourOf is when a line was written, else where it stands.
func hourOf(f *resolve.Facts, p *resolve.Point) string {
	if clock := clockOf(f, p.T); clock != "" {
		return clock
	}
	if st := p.At.Stamp; st.Kind == line.TimeOnly {
		return fmt.Sprintf("%02d:%02d:%02d", st.Hour, st.Minute, st.Second)
	}
	return strings.TrimSpace(orHere(p))
}
