package mechanism

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/cost"
	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/slow"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// What a job became slower by. Timers say which part of a step grew; tests, counters and the state of GPUs say where. Nothing is
// accused that only one of them might explain: a wait in a collective is of the rank that is late as well as of a slow link.

// slowing is everything known of one slowdown.
type slowing struct {
	resolve.Slowdown
	resolve.Phased
	phases bool
}

// slowed is the slowdown that the report speaks of, with its phases.
func slowed(f *resolve.Facts) (s slowing, ok bool) {
	if s.Slowdown, ok = worstSlowdown(f); !ok {
		return s, false
	}
	s.Phased, s.phases = f.Phased(&s.Slowdown)
	return s, true
}

// open says that the phases do not decide what grew: they are not printed, or are one rank's, which waits for a late rank as for a slow link.
func (s *slowing) open() bool { return s.Class == "" || s.Class == slow.Communication && !s.Across }

// SlowedAt is the slowdown that the report speaks of.
func SlowedAt(f *resolve.Facts) (resolve.Slowdown, bool) { return worstSlowdown(f) }

// Slow says that the steps of a job take longer than they did or could.
func Slow(f *resolve.Facts) bool {
	if _, slows := worstSlowdown(f); slows {
		return true
	}
	if _, slower := f.Falloff(); slower {
		return true
	}
	_, late := f.LateAlways()
	return late
}

// worstSlowdown is the one that most lines show. Of a whole log of a job that ended otherwise, a little slower is no verdict.
func worstSlowdown(f *resolve.Facts) (d resolve.Slowdown, found bool) {
	for _, c := range f.Courses {
		x, ok := c.Slowdown()
		if ok && x.Weak && (f.Job.ExitOK != nil || len(f.Ends) > 0) {
			continue
		}
		if ok && (!found || d.Weak && !x.Weak || d.Weak == x.Weak && x.Before+x.After > d.Before+d.After) {
			d, found = x, true
		}
	}
	return d, found
}

// displacedBySlow adds a loss that hardly moves: over the few steps around a slowdown that of any large run does not.
var displacedBySlow = append(slices.Clone(endedSlow), knowledge.LossPlateau)

// proposal begins a proposal that rests on the slowdown.
func (s *slowing) proposal(f *resolve.Facts, slug knowledge.Slug, base float64) *Proposal {
	p := &Proposal{Mechanism: slug, Class: Degraded, Scope: "all", At: s.Onset.T, Base: base, Explains: endedSlow}
	s.costs(f, p)
	p.Summary = slower(f, &s.Slowdown)
	p.For = append(p.For, s.grownFindings()...)
	p.Led = append(p.Led, onsetFinding(f, &s.Slowdown))
	if s.Gradual {
		p.Why = "step time rose steadily until the end of the log"
	} else {
		p.Why = "step time rose above its baseline and stayed there until the end of the log"
	}
	if t := s.stayed(); t != "" {
		p.Why += "; " + t
	}
	if !s.Weak {
		p.Explains = displacedBySlow
	}
	s.since(f, p)
	return p
}

// since says what happened when it began. That it came first makes it no cause: it is where to look.
func (s *slowing) since(f *resolve.Facts, p *Proposal) {
	met := func(text string, at worker.At) {
		p.Why += "; " + text
		p.Past = append(p.Past, finding(text, QuoteAt(at, nil)))
	}
	saves, evaluations := f.Between(&s.Slowdown)
	switch {
	case len(saves) > 0:
		met("a save happened between the last normal step and the first slow one", saves[0].At)
	case len(evaluations) > 0:
		met("an evaluation ran between the last normal step and the first slow one", evaluations[0].At)
	}
	s.told(f, p, met)
	onset := s.Began()
	list := f.Neighbours(onset)
	if len(list) == 0 || !onset.Valid && len(list) > 1 {
		return
	}
	n := &list[0]
	when := clockOf(f, n.Began) + ", when the steps slowed down"
	if !onset.Valid {
		when = clockOf(f, n.Began) + ", while this job ran"
	}
	met(fmt.Sprintf("job %s started on %s at %s", n.Job, few(n.Shared, 3), clockOf(f, n.Began)), n.At)
	if onset.Valid && len(list) == 1 {
		p.Summary += fmt.Sprintf("; job %s started on %s just then", n.Job, few(n.Shared, 3))
		p.Named = few(n.Shared, 3)
	}
	p.Now = append(p.Now, knowledge.Advice{Text: fmt.Sprintf("Check what job %s is doing on %s: it started there at %s.", n.Job, few(n.Shared, 3), when),
		Command: "scontrol show job " + n.Job})
}

// told adds what the job's own log says of that moment: what it set otherwise, what it announced, what it writes more often since.
func (s *slowing) told(f *resolve.Facts, p *Proposal, met func(string, worker.At)) {
	for _, x := range f.Contrasts.Settings {
		text := fmt.Sprintf("the job's own %s went from %s to %s just then", x.What, x.Was.Text, x.Is.Text)
		p.Why += "; " + text
		p.Past = append(p.Past, finding(text, QuotePlace(x.Was.File, x.Was.Place, nil), QuotePlace(x.Is.File, x.Is.Place, nil)))
	}
	if f.Onset == nil {
		return
	}
	for i := range f.Onset.News {
		n := &f.Onset.News[i]
		met("just then the log says `"+inShort(n.Text)+"`", n.At)
	}
	if o := f.Onset.Oftener; o != nil {
		met(fmt.Sprintf("the log has %s like `%s` since then, and %d before", plural(o.Since, "line", "lines"), inShort(o.Text), o.Before), o.At)
	}
}

// announced is what the job's own log says just then, for a summary; "" where it says nothing new.
func (s *slowing) announced(f *resolve.Facts) (text string, at worker.At) {
	o := f.Onset
	switch list := f.Contrasts.Settings; {
	case o != nil && len(o.News) > 0:
		return "just then the log says `" + inShort(o.News[0].Text) + "`", o.News[0].At
	case len(list) > 0:
		x := &list[0]
		at.File, at.Line = x.Is.File, x.Is.Line
		return fmt.Sprintf("just then the job's own %s went from %s to %s", x.What, x.Was.Text, x.Is.Text), at
	case o != nil && o.Oftener != nil:
		return fmt.Sprintf("since then lines like `%s` come far more often (%d, before %d)", inShort(o.Oftener.Text), o.Oftener.Since, o.Oftener.Before), o.Oftener.At
	}
	return "", at
}

// costs says what the slowdown costs.
func (s *slowing) costs(f *resolve.Facts, p *Proposal) {
	p.Waste, p.Since = cost.Waste(s.Ratio()), clockOf(f, s.Began())
	p.Lost = cost.GPUHours(s.Extra(), f.Job.WorldSize)
}

// grownFindings quote the phases that grew, and the longest of those that did not.
func (s *slowing) grownFindings() []incident.Finding {
	var out []incident.Finding
	for i := range s.Phases[:min(len(s.Phases), 2)] {
		out = append(out, s.phaseFinding(&s.Phases[i], "grew"))
	}
	for i := range s.Flat[:min(len(s.Flat), 1)] {
		out = append(out, s.phaseFinding(&s.Flat[i], "stayed"))
	}
	return out
}

func (s *slowing) phaseFinding(p *slow.Phase, verb string) incident.Finding {
	was, is := s.Quotes(p.Name)
	return finding(fmt.Sprintf("%s %s: %s before, %s since", p.Name, verb, Seconds(p.MaxWas), Seconds(p.MaxIs)), QuoteAt(was, nil), QuoteAt(is, nil))
}

// grew says what part of a step grew, since when, and what that makes of the step.
func (s *slowing) grew(f *resolve.Facts) string {
	steps := fmt.Sprintf("steps take %s, up from %s (%.0f%% lost)", Seconds(s.Now), Seconds(s.Base), 100*cost.Waste(s.Ratio()))
	if s.Class == slow.Host {
		return fmt.Sprintf("%s grew %s: %s, and no timed phase takes longer", slow.Host, since(f, &s.Slowdown, ""), steps)
	}
	by := 0.0
	for i := range s.Phases {
		by += s.Phases[i].Grew()
	}
	p := &s.Phases[0]
	return fmt.Sprintf("%s grew by %s per step %s: %s", s.Class, Seconds(by), since(f, &s.Slowdown, fmt.Sprintf("%s %s → %s", p.Name, Seconds(p.MaxWas), Seconds(p.MaxIs))), steps)
}

// stayed says what did not grow, or that others wait for what did.
func (s *slowing) stayed() string {
	if s.Waits {
		return "other ranks wait for it in collectives"
	}
	if len(s.Flat) == 0 {
		return ""
	}
	return fmt.Sprintf("%s stayed at %s", s.Flat[0].Name, Seconds(s.Flat[0].MaxIs))
}

// slowCommunication: collectives take longer and work does not, or tests and counters show a link of this job that is slow.
func slowCommunication(sc *Scene) *Proposal {
	f := sc.Facts
	s, ok := slowed(f)
	at := linkAt(f)
	switch {
	case ok && s.open() && !at.found() && oneSlowed(f) != nil:
		return nil
	case ok && s.Class == slow.Communication:
		return s.timedCommunication(f, &at)
	case ok && s.Class == "" && at.found():
		p := s.proposal(f, knowledge.SlowCommunication, 0.85)
		at.place(p)
		p.contested(oneSlowed(f))
		return p
	case f.Job.ExitOK != nil:
		return nil // it completed, whatever a test of its nodes shows
	case !ok && at.tested():
		p := &Proposal{Mechanism: knowledge.SlowCommunication, Class: Degraded, Base: 0.85}
		slower := "the link of " + at.node() + " is slower than those of other nodes"
		if since := fellOff(f, knowledge.SlowCommunication, 0.9); since != nil {
			p, slower = since, slower+": "+since.Summary
		}
		p.Summary = slower
		at.place(p)
		return p.agreed(f)
	case s.Class == "":
		return exposedInTrace(f, ok)
	}
	return nil
}

// timedCommunication: the timers say that communication grew, and tests and counters perhaps where.
func (s *slowing) timedCommunication(f *resolve.Facts, at *links) *Proposal {
	p := s.proposal(f, knowledge.SlowCommunication, 0.93)
	p.Summary = s.grew(f)
	if s.Spread != slow.Everywhere {
		p.Base = 0.85
	}
	if !s.Across && !at.found() {
		p.Rivals = []knowledge.Slug{knowledge.SlowRank} // one rank's own wait: the others may be late
		p.Why += "; the timers are from one rank, which may be waiting for a late rank or a slow link"
	}
	at.place(p)
	p.Direct = len(p.Nodes) > 0 && !slices.ContainsFunc(p.Nodes, func(n string) bool { return !f.OfJob(n) })
	if s.open() {
		p.contested(oneSlowed(f))
	}
	return p
}

// contested takes back what a slow link alone would prove, where a slow GPU would explain as much. A node that has both stays named.
func (p *Proposal) contested(hot *slowedGPU) {
	if hot == nil {
		return
	}
	p.Rivals, p.Direct = []knowledge.Slug{knowledge.SlowRank}, false
	p.Why += "; " + hot.name + " is also slowed down (" + hot.why + ")"
	p.For = append(p.For, finding(hot.name+": "+hot.why, hot.evidence))
	if !slices.Contains(p.Nodes, hot.node) {
		p.Nodes, p.Scope, p.Component, p.Machine, p.Now = nil, "all", "", false, nil
	}
}

// slowCompute: forward and backward take longer on all ranks alike.
func slowCompute(sc *Scene) *Proposal {
	s, ok := slowed(sc.Facts)
	if !ok || s.Class != slow.Compute || s.Spread == slow.Somewhere || oneSlowed(sc.Facts) != nil {
		return nil
	}
	p := s.proposal(sc.Facts, knowledge.SlowCompute, 0.9)
	p.Summary = s.grew(sc.Facts)
	if s.Spread != slow.Everywhere {
		p.Rivals = []knowledge.Slug{knowledge.SlowRank} // of other ranks, these timers say nothing
		p.Why += "; these timers don't show whether other ranks also compute longer"
	}
	return p
}

// slowHost: the optimizer grew, or nothing that is timed.
func slowHost(sc *Scene) *Proposal {
	s, ok := slowed(sc.Facts)
	if !ok || s.Class != slow.Host && s.Class != slow.Optimizer {
		return nil
	}
	p := s.proposal(sc.Facts, knowledge.SlowHost, 0.85)
	p.Summary = s.grew(sc.Facts)
	return p
}

// slowData: waiting for data grew.
func slowData(sc *Scene) *Proposal {
	s, ok := slowed(sc.Facts)
	if !ok || s.Class != slow.Data {
		return nil
	}
	p := s.proposal(sc.Facts, knowledge.DataloaderStall, 0.9)
	p.Summary = s.grew(sc.Facts)
	p.Needs = []incident.Need{needStore}
	if s.Spread == slow.Somewhere {
		s.placeRanks(sc.Facts, p)
	}
	return p
}

// unplacedSlowRank: the slowest rank's compute grew and the fastest's did not; which rank that is, these timers do not say.
func unplacedSlowRank(sc *Scene) *Proposal {
	f := sc.Facts
	s, ok := slowed(f)
	hot := oneSlowed(f)
	switch {
	case ok && hot == nil && burdened(f):
		return nil
	case !ok || !s.open() && s.Class != slow.Compute:
		return nil
	case hot == nil && (s.Class != slow.Compute || s.Spread != slow.Somewhere):
		return nil
	case hot == nil:
		p := s.proposal(f, knowledge.SlowRank, 0.9)
		p.Summary = s.grew(f)
		p.Why += "; the fastest rank computes as fast as before, so only some ranks are slow"
		if !s.placeRanks(f, p) {
			p.Now = append(p.Now, knowledge.Advice{Text: "Compare the clocks, temperatures and slowdown reasons of all the job's GPUs: one of them is slow.", Command: needClocks.Command})
		}
		return p
	case s.Spread == slow.Everywhere || linkFound(f):
		return nil
	}
	p := s.proposal(f, knowledge.SlowRank, 0.85)
	p.Nodes, p.Scope, p.Component, p.Machine = []string{hot.node}, "node", hot.component, true
	if hot.rank != resolve.NoRank {
		p.Ranks = []int{hot.rank}
	}
	if s.Class == slow.Compute {
		p.Base, p.Direct = 0.93, true
		p.Summary = s.grew(f)
	}
	p.Summary = hot.is() + ", which slows the whole job: " + p.Summary
	p.Why += "; no other GPU among those examined is slowed down"
	p.For = append(p.For, finding(hot.name+": "+hot.why, hot.evidence))
	p.Now = append([]knowledge.Advice{{Text: "Exclude {root} at the next restart, then test its cooling and power.", Command: "sbatch --exclude={root} …"}}, p.Now...)
	return p
}

// placeRanks names the ranks whose own time grew, where they are few.
func (s *slowing) placeRanks(f *resolve.Facts, p *Proposal) bool {
	top := &s.Phases[0]
	ranks, at := f.GrownRanks(&s.Slowdown, &s.Phased, top)
	if len(ranks) == 0 || len(ranks) > max(1, f.Job.WorldSize/slowShare) {
		return false
	}
	p.Ranks, p.Nodes, p.Scope = ranks, nodesOf(f, ranks), scopeOf(f, ranks)
	for i := range at[:min(len(at), 3)] {
		p.For = append(p.For, finding(fmt.Sprintf("rank %d: its own %s grew", ranks[i], top.Name), QuoteAt(at[i], nil)))
	}
	return true
}

// onsetFinding quotes the baseline, the first slow line and one since.
func onsetFinding(f *resolve.Facts, d *resolve.Slowdown) incident.Finding {
	base, now := timeQuote(d.BaseAt), timeQuote(d.NowAt)
	out := finding(fmt.Sprintf("%s (a normal step line, the first slow one and a later one)", slower(f, d)), base, timeQuote(d.Onset), now)
	if d.BaseAt.Printed && now.Predicate != nil {
		out.Evidence = append(out.Evidence, incident.Evidence{Kind: incident.KindDerived, Formula: "ratio", Inputs: []incident.Evidence{base, now}})
	}
	return out
}

// slower says what became of the time of a step, and since when.
func slower(f *resolve.Facts, d *resolve.Slowdown) string {
	from := fmt.Sprintf("from%s on", orHere(d.Onset))
	if d.Prior != nil && d.Prior.Step != line.Unknown && d.Onset.Step != line.Unknown {
		from = fmt.Sprintf("between step %d and step %d", d.Prior.Step, d.Onset.Step)
	} else if at := onsetClock(f, d); at != "" {
		from += ", " + at
	}
	how := "steps slowed down "
	if d.Gradual {
		how = "steps kept slowing down "
	}
	return how + fmt.Sprintf("%s: %s per step, up from %s (×%.2f, %.0f%% lost)", from, Seconds(d.Now), Seconds(d.Base), d.Ratio(), 100*cost.Waste(d.Ratio()))
}

// since is "since 02:47:05 ± 11 s (step 48210; …)".
func since(f *resolve.Facts, d *resolve.Slowdown, more string) string {
	at, step := onsetClock(f, d), strings.TrimSpace(orHere(d.Onset))
	switch {
	case at == "":
		at, step = step, ""
	case more != "":
		step += "; "
	}
	if step += more; step != "" {
		step = " (" + step + ")"
	}
	if d.Gradual {
		return "more and more since " + at + step
	}
	return "since " + at + step
}

// onsetClock is when it began by the clock, with how far that may be off: "02:47:05 ± 11 s"; "" where lines have no times. A line that
// sums up several steps is the first slow one as soon as some of them are: how slow it is tells since when.
func onsetClock(f *resolve.Facts, d *resolve.Slowdown) string {
	at := d.Began()
	clock := clockOf(f, at)
	if clock == "" || at.Unc <= 0 {
		return clock
	}
	return clock + " ± " + duration(at.Unc)
}

// clockOf is the time of day of a moment, "" where it is not known.
func clockOf(f *resolve.Facts, m resolve.Moment) string {
	t := f.Format(m)
	if t == nil || len(*t) < len("15:04:05") {
		return ""
	}
	_, clock, ok := strings.Cut(*t, "T")
	if !ok {
		return ""
	}
	return clock[:min(len(clock), len("15:04:05"))]
}
