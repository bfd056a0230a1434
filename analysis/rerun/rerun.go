// Package rerun compares the next run of a job with the run before it: is the trouble gone, and at what price? It decides by both reports:
// their verdicts, the step that the first one did not pass, and the figures of their step lines.
package rerun

import (
	"fmt"
	"slices"

	"faultline/analysis/history"
	"faultline/incident"
	"faultline/knowledge"
)

// pair are two runs that are compared.
type pair struct {
	before, after *incident.Report
	was, is       history.Record
	changed       []incident.Difference
	out           *incident.Rerun
}

// Compare says what became of the trouble of one run in the next.
func Compare(before, after *incident.Report) *incident.Rerun {
	p := &pair{before: before, after: after, out: &incident.Rerun{Before: named(before), After: named(after), Checks: []incident.Check{}}}
	p.was, p.is = record(before), record(after)
	p.changed = history.Differences(p.was, p.is)
	p.out.Differences = p.changed
	problem := p.problem()
	p.figures()
	p.conclude(problem)
	return p.out
}

func named(r *incident.Report) incident.RerunOf {
	out := incident.RerunOf{Status: r.Verdict.Status, Mechanism: r.Verdict.Mechanism, Summary: r.Verdict.Summary, LastStep: r.Job.LastStep}
	if r.Job.ID != nil {
		out.Job = *r.Job.ID
	}
	return out
}

// record is what a run was set up with; of a run without a job's id, too.
func record(r *incident.Report) history.Record {
	with := *r
	if with.Job.ID == nil {
		none := "0"
		with.Job.ID = &none
	}
	rec, err := history.Of(&with, history.Who{})
	if err != nil { // an id that no history would take
		return history.Record{}
	}
	if r.Job.ID == nil {
		rec.Job = ""
	}
	return rec
}

// fate is what became of the trouble.
type fate int

const (
	unknown fate = iota
	none         // the run before had none
	gone
	again
)

// conclude makes one outcome of the trouble's fate and of what became worse.
func (p *pair) conclude(f fate) {
	var worse []string
	for _, c := range p.out.Checks {
		if c.Name != incident.CheckProblem && c.Level == incident.CheckWorse {
			worse = append(worse, c.Text)
		}
	}
	problem := p.out.Checks[0].Text
	switch {
	case f == again:
		p.out.Outcome, p.out.Summary = incident.NotFixed, problem
	case f == unknown:
		p.out.Outcome, p.out.Summary = incident.OpenFix, problem
	case len(worse) > 0:
		p.out.Outcome, p.out.Summary = incident.Regression, problem+"; "+worse[0]
	case becameSlow(p.after) && !becameSlow(p.before):
		p.out.Outcome, p.out.Summary = incident.Regression, problem+"; the new run slowed down over time"
	case f == none:
		p.out.Outcome, p.out.Summary = incident.Same, problem+"; "+p.unharmed()
	default:
		p.out.Outcome, p.out.Summary = incident.Fixed, problem+"; "+p.unharmed()
	}
}

// unharmed says what was compared and is as it was.
func (p *pair) unharmed() string {
	var good []string
	for _, c := range p.out.Checks {
		if c.Name != incident.CheckProblem && c.Level == incident.CheckGood {
			good = append(good, figureWords[c.Name])
		}
	}
	switch len(good) {
	case 0:
		return "no figures to compare"
	case 1:
		return good[0] + " is no worse"
	}
	return fmt.Sprintf("%s and %s are no worse", joined(good[:len(good)-1]), good[len(good)-1])
}

// past is how many steps beyond the failing one a run must come before the failing step counts as passed.
const past = 10

// problem says what became of the trouble of the run before.
func (p *pair) problem() fate {
	f, text := p.fateOf()
	level := map[fate]string{none: incident.CheckGood, gone: incident.CheckGood, again: incident.CheckWorse, unknown: incident.CheckOpen}[f]
	p.out.Checks = append(p.out.Checks, incident.Check{Name: incident.CheckProblem, Level: level, Text: text})
	return f
}

func (p *pair) fateOf() (fate, string) {
	b, a := &p.before.Verdict, &p.after.Verdict
	after := job("the next run", p.out.After)
	switch {
	case b.Status == incident.NoFailure && failed(a):
		return again, fmt.Sprintf("%s failed (%s); the previous run did not", after, what(a))
	case becameSlow(p.before):
		return p.slowness(after)
	case b.Status == incident.NoFailure && a.Status == incident.Inconclusive:
		p.out.Needs = append(p.out.Needs, decides)
		return unknown, fmt.Sprintf("the previous run did not fail, but %s ended: %s", after, what(a))
	case b.Status == incident.NoFailure:
		return none, "neither run failed"
	}
	passed, text, further := p.passed(after)
	alike, decided := a.Status != incident.NoFailure && shares(b, a), b.Status != incident.Inconclusive && a.Status != incident.Inconclusive
	switch {
	case alike && passed && !decided: // two sets may meet in what neither run had
		p.out.Needs = append(p.out.Needs, decides)
		return unknown, fmt.Sprintf("%s, then failed; it may be the same failure: %s", text, what(a))
	case alike:
		return again, fmt.Sprintf("%s failed again: %s", after, what(a))
	case a.Ending == incident.EndStalled:
		p.out.Needs = append(p.out.Needs, "what the new run's ranks are waiting for: bot triage")
		return unknown, after + " has stopped making progress: " + text
	case passed && failed(a):
		return gone, fmt.Sprintf("%s, then failed for another reason (%s)", text, what(a))
	case passed && a.Status == incident.Inconclusive:
		return gone, fmt.Sprintf("%s, then ended: %s", text, what(a))
	case passed:
		return gone, text
	case failed(a) && p.before.Job.LastStep != nil:
		p.out.Needs = append(p.out.Needs, "the cause of the new failure, and a run that gets past the failing step")
		return unknown, fmt.Sprintf("%s failed for another reason (%s) before it reached the step where the previous run failed", after, what(a))
	case a.Status == incident.Inconclusive:
		p.out.Needs = append(p.out.Needs, decides)
		return unknown, fmt.Sprintf("%s also ended, cause unknown: %s", after, text)
	}
	p.out.Needs = append(p.out.Needs, further)
	return unknown, text
}

// decides is needed where the verdict of the new run is open.
const decides = "what would settle the new run's verdict"

// failed says that a run ended by a failure that is known.
func failed(v *incident.Verdict) bool {
	return (v.Status == incident.Confirmed || v.Status == incident.Probable) && !slow(v.Mechanism)
}

// slow says that a mechanism is one of runs that go on.
func slow(mechanism string) bool {
	return knowledge.GoesOn(knowledge.Slug(mechanism))
}

// shares says that both verdicts name, or leave standing, the same mechanism.
func shares(b, a *incident.Verdict) bool {
	left := mechanisms(a)
	return slices.ContainsFunc(mechanisms(b), func(m string) bool { return slices.Contains(left, m) })
}

func mechanisms(v *incident.Verdict) []string {
	if v.Status == incident.Confirmed || v.Status == incident.Probable {
		return []string{v.Mechanism}
	}
	var out []string
	for _, c := range v.Candidates {
		out = append(out, c.Mechanism)
	}
	return out
}

// what says in a few words what a run failed of.
func what(v *incident.Verdict) string {
	if v.Status == incident.Inconclusive {
		return "cause unknown"
	}
	if m, ok := knowledge.MechanismBySlug(knowledge.Slug(v.Mechanism)); ok && m.Title != "" {
		return m.Title
	}
	return v.Mechanism
}

func job(unnamed string, of incident.RerunOf) string {
	if of.Job == "" {
		return unnamed
	}
	return "job " + of.Job
}

// passed says whether the run came past the step at which the one before failed; further is what would show it.
func (p *pair) passed(after string) (ok bool, text, further string) {
	b, a := p.before.Job, p.after.Job
	ended := p.after.Verdict.Status == incident.NoFailure && p.after.Verdict.Mechanism == "completed"
	switch {
	case b.LastStep == nil && a.StepsLogged > 0 && starting(&p.before.Verdict):
		return true, fmt.Sprintf("%s is training; the previous run failed before its first step", after), ""
	case ended && (a.LastStep == nil || b.LastStep == nil || *a.LastStep >= *b.LastStep):
		return true, after + " completed", ""
	case b.LastStep == nil:
		return false, "the previous run's logs show no steps, so where it failed is unknown", "previous run's logs with step lines"
	case a.LastStep == nil:
		return false, after + " has not logged a step yet", "new run's logs with step lines"
	case *a.LastStep >= *b.LastStep+past:
		return true, fmt.Sprintf("%s got %[3]d steps past step %[2]d, the previous run's last", after, *b.LastStep, *a.LastStep-*b.LastStep), ""
	}
	return false, fmt.Sprintf("%s reached step %d; the previous run failed after step %d", after, *a.LastStep, *b.LastStep),
		fmt.Sprintf("new run's logs beyond step %d", *b.LastStep+past)
}

// becameSlow says that a run went on and became slower: its verdict says so, or the throughput that it prints fell.
func becameSlow(r *incident.Report) bool {
	if slow(r.Verdict.Mechanism) {
		return true
	}
	t, ok := figure(r, incident.SignThroughput)
	return ok && r.Verdict.Status == incident.NoFailure && t.N >= 2*enough && t.Last < t.First/clearly && t.First-t.Last > 3*t.Spread
}

// clearly is the ratio from which on a run has become slower. The method's limit is the same.
const clearly = 1.1

// pace is what a step costs: its time, or else what a unit of the work takes by the throughput.
func pace(r *incident.Report) (f incident.Figure, ok bool) {
	steps, okSteps := figure(r, incident.SignStepTime)
	work, okWork := figure(r, incident.SignThroughput)
	if okSteps && (slow(r.Verdict.Mechanism) || !okWork) {
		return steps, true
	}
	return work, okWork
}

// starting says that a failure is known to lie before the first step.
func starting(v *incident.Verdict) bool { return v.Phase == "init" || v.Phase == "first-step" }

// slowness says whether a job that had become slow is as fast as it was.
func (p *pair) slowness(after string) (fate, string) {
	if failed(&p.after.Verdict) {
		p.out.Needs = append(p.out.Needs, "a run that keeps going: the new one failed")
		return unknown, fmt.Sprintf("%s failed (%s), so its speed was not compared", after, what(&p.after.Verdict))
	}
	was, okWas := pace(p.before)
	is, okIs := figure(p.after, was.Name)
	if !okWas || !okIs || is.N < enough || was.Unit != is.Unit {
		p.out.Needs = append(p.out.Needs, fmt.Sprintf("at least %d steps of the new run with the figures the previous run logged", enough))
		return unknown, after + " has too few steps to compare"
	}
	if why := p.incomparable(); why != "" {
		p.out.Needs = append(p.out.Needs, "a run with the same layout and batch size")
		return unknown, "speeds not comparable: " + why
	}
	cost := func(v float64) float64 { // so that less is better
		if was.Name == incident.SignThroughput {
			return 1 / max(v, 1e-9)
		}
		return v
	}
	said := func(v float64) string { return short(v) + unit(was.Unit) }
	first, last, now := cost(was.First), cost(was.Last), cost(is.Last)
	word := figureWords[was.Name]
	if first < last/(1+tolerance) { // there was a time before it became slow
		text := fmt.Sprintf("%s of %s is %s; it was %s after the slowdown and %s before it", word, after, said(is.Last), said(was.Last), said(was.First))
		if now <= first*(1+tolerance) {
			return gone, text
		}
		return again, text
	}
	text := fmt.Sprintf("%s of %s is %s; it was %s", word, after, said(is.Last), said(was.Median))
	if now < cost(was.Median)*(1-tolerance) && !becameSlow(p.after) {
		return gone, text
	}
	return again, text
}
