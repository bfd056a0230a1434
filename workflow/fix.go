package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"faultline/analysis/rerun"
	"faultline/incident"
	"faultline/messages/redact"
)

func (f *Fix) text() string {
	text := "fixed, and job " + f.Job + " should prove it"
	if f.Job == "" {
		text = "fixed, and the next run should prove it"
	}
	if f.Text != "" {
		text += ": " + f.Text
	}
	return text
}

// fixToJudge leaves the comparisons that a change makes due: the run with a fix has a verdict, or somebody says that a run that has one
// has the fix, or a case whose fix is not proven yet was looked at anew.
func (f *Flow) fixToJudge(inv *Investigation, n Notice) []Job {
	if !f.Deferred {
		return nil
	}
	var of []string
	looked := n.Event == Verified || n.Event == NothingNew
	if n.Event == FixClaimed || looked && inv.Fix.pending() {
		of = append(of, inv.ID)
	}
	if inv.FixOf != "" && judged(inv) {
		of = append(of, inv.FixOf)
	}
	var jobs []Job
	for _, id := range of {
		jobs = append(jobs, Job{Key: fmt.Sprintf("fix/%s/%s/%d", id, inv.ID, inv.Version+1), Kind: JobFix, Investigation: id})
	}
	return jobs
}

// judged says that an investigation has come to its verdict.
func judged(inv *Investigation) bool {
	return inv.Report != nil && slices.Contains([]State{Reported, Disputed, Fixing, VerifyingFix, Isolating, Resolved, Closed}, inv.State)
}

// reportOf is the report of an investigation as people may see it, with the job by which it was asked for where the logs name none.
func reportOf(inv *Investigation) *incident.Report {
	r := redact.Report(inv.Report)
	if r.Job.ID == nil && inv.Job != "" {
		job := inv.Job
		r.Job.ID = &job
	}
	return r
}

// fixEvents are what outcomes of a comparison mean for the investigation. A fix that costs more than it may is none.
var fixEvents = map[string]Event{
	incident.Fixed: FixHolds, incident.Same: FixHolds, incident.NotFixed: FixFails, incident.Regression: FixFails, incident.OpenFix: FixOpen,
}

// fixWait is how long a comparison waits for a step that is at work.
const fixWait = 10 * time.Second

// JudgeFix does a JobFix: it compares the run with the fix with the run that failed, and says what became of it in the old thread. With
// a wait nothing was done, and the job is to be tried again then.
func (f *Flow) JudgeFix(ctx context.Context, l *Lease) (wait time.Duration, err error) {
	done := func() error { return f.Store.Save(ctx, Change{Done: l}) }
	old, err := f.Store.Load(ctx, l.Investigation)
	if errors.Is(err, ErrUnknown) { // forgotten
		return 0, done()
	}
	if err != nil {
		return 0, fmt.Errorf("investigation %s: %w", l.Investigation, err)
	}
	row, _ := About(old.State)
	switch {
	case !old.Fix.pending():
		return 0, done()
	case row.Kind == Working:
		return fixWait, nil
	case old.Report == nil || old.State != VerifyingFix && old.State != Reported:
		return 0, done()
	case old.Fix.Case == "": // new evidence led away from the wait for the next run
		return f.moveFix(ctx, old.ID, Input{Event: FixBegun, Text: "the next run is still to show it", Fix: old.Fix, Done: l})
	}
	next, err := f.Store.Load(ctx, old.Fix.Case)
	if errors.Is(err, ErrUnknown) {
		return 0, done()
	}
	if err != nil {
		return 0, fmt.Errorf("investigation %s: %w", old.Fix.Case, err)
	}
	if !judged(&next) || next.Home.Channel != old.Home.Channel { // its verdict makes this due again; what another channel sees stays there
		return 0, done()
	}
	r := rerun.Compare(reportOf(&old), reportOf(&next))
	event := fixEvents[r.Outcome]
	if event == FixOpen && old.Fix.Open == r.Summary { // said before
		return 0, done()
	}
	fix := *old.Fix
	fix.Open = r.Summary
	if event != FixOpen {
		fix.Outcome = r.Outcome
	}
	return f.moveFix(ctx, old.ID, Input{Event: event, Text: r.Summary, Done: l, rerun: r, Fix: &fix})
}

// moveFix applies an event of a fix; with a wait the case moved on meanwhile, and is to be looked at as it is then.
func (f *Flow) moveFix(ctx context.Context, id string, in Input) (wait time.Duration, err error) {
	err = f.Handle(ctx, id, in)
	var not *NotAllowedError
	if errors.Is(err, ErrConflict) || errors.As(err, &not) {
		return time.Second, nil
	}
	return 0, err
}
