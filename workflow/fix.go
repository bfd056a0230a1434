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
	if f.Text != "" {
		text += ": " + f.Text
	}
	return text
}

// fixToJudge leaves the comparison that a change makes due: the run with a fix has a verdict, or somebody says that a run that has one
// has the fix.
func (f *Flow) fixToJudge(inv *Investigation, n Notice) []Job {
	key := func(id string) string { return fmt.Sprintf("fix/%s/%s/%d", id, inv.ID, inv.Version+1) }
	switch {
	case !f.Deferred:
	case n.Event == FixClaimed && inv.Fix != nil:
		return []Job{{Key: key(inv.ID), Kind: JobFix, Investigation: inv.ID}}
	case inv.FixOf != "" && judged(inv):
		return []Job{{Key: key(inv.FixOf), Kind: JobFix, Investigation: inv.FixOf}}
	}
	return nil
}

// judged says that an investigation has come to its verdict.
func judged(inv *Investigation) bool {
	return inv.Report != nil && slices.Contains([]State{Reported, Disputed, Isolating, Closed}, inv.State)
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
	if old.State != VerifyingFix || old.Fix == nil || old.Report == nil {
		if row, _ := About(old.State); row.Kind == Working && old.Fix != nil {
			return fixWait, nil
		}
		return 0, done()
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
	err = f.Handle(ctx, old.ID, Input{Event: event, Text: r.Summary, Done: l, rerun: r, Fix: &fix})
	var not *NotAllowedError
	if errors.Is(err, ErrConflict) || errors.As(err, &not) { // it moved on: look at what it is now
		return time.Second, nil
	}
	return 0, err
}
