package desk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"faultline/messages"
	"faultline/messages/redact"
	"faultline/workflow"
)

// fixed notes what a person says fixed an incident, and which run is to prove it.
func (a *act) fixed(ctx context.Context, old workflow.Investigation, o order) error {
	switch {
	case old.Report == nil:
		return a.say(ctx, postmortemNone, old.ID)
	case o.run == "":
		return a.fixing(ctx, old, o)
	case o.run == old.Job:
		return a.say(ctx, fixItself, o.run)
	}
	if ok, err := a.knows(ctx, &o.runCluster); !ok {
		return err
	}
	if o.runCluster == "" {
		o.runCluster = old.Cluster
	}
	next, err := a.runWithFix(ctx, old, o.runCluster, o.run, a.in.User)
	switch {
	case errors.Is(err, errElsewhere):
		return a.say(ctx, fixElsewhere, o.run)
	case err != nil:
		return again(err)
	}
	fix := &workflow.Fix{Text: redact.String(o.rest), By: a.in.User, At: a.Now(), Job: o.run, Case: next}
	return a.apply(ctx, old, workflow.Input{Event: workflow.FixClaimed, Text: fix.Text, Fix: fix}, fixNoted, o.run, next, old.ID)
}

// errElsewhere says that a job is investigated where the people of this case cannot see it.
var errElsewhere = errors.New("it is being investigated elsewhere")

// runWithFix is the investigation of the run that is to prove a fix: the one that there is in this channel, or a new one. It is its own change,
// before the fix is noted: were the bot to die between the two, handling this again would find it.
func (d *Desk) runWithFix(ctx context.Context, old workflow.Investigation, cluster, job, by string) (id string, err error) {
	rows, err := d.Store.Find(ctx, workflow.Query{Team: old.Home.Team, Cluster: cluster, Job: job})
	if err != nil {
		return "", err
	}
	for _, s := range rows {
		inv, err := d.Store.Load(ctx, s.ID)
		if errors.Is(err, workflow.ErrUnknown) {
			continue
		}
		if err != nil {
			return "", err
		}
		if inv.Home.Channel != old.Home.Channel {
			continue
		}
		if inv.FixOf == old.ID {
			return inv.ID, nil
		}
		inv.FixOf = old.ID
		return inv.ID, d.Store.Save(ctx, workflow.Change{Investigation: &inv})
	}
	inv := workflow.Investigation{Cluster: cluster, Job: job, FixOf: old.ID, Home: old.Home}
	inv.Home.Requester, inv.Home.Shared = by, ""
	if inv.ID, err = d.Store.NewID(ctx); err != nil {
		return "", err
	}
	err = d.Flow.Open(ctx, inv, workflow.Input{Actor: by})
	if errors.Is(err, workflow.ErrOpen) {
		return "", errElsewhere
	}
	return inv.ID, err
}

// fixing notes what a person says fixed an incident whose next run nobody knows yet: it is looked for.
func (a *act) fixing(ctx context.Context, old workflow.Investigation, o order) error {
	fix := &workflow.Fix{Text: redact.String(o.rest), By: a.in.User, At: a.Now()}
	fix.Name, fix.User = a.called(ctx, old)
	if fix.Name == "" || fix.User == "" || a.Flow.Facts == nil {
		return a.say(ctx, fixWhich, a.Command, old.ID)
	}
	return a.apply(ctx, old, workflow.Input{Event: workflow.FixBegun, Text: fix.Text, Fix: fix}, fixAwaited, fix.Name, a.Command, old.ID)
}

// called is what the cluster calls a job, and whose it is; "" where it does not tell.
func (d *Desk) called(ctx context.Context, inv workflow.Investigation) (name, user string) {
	if e := inv.Ended; e != nil {
		return e.Name, e.User
	}
	if d.Flow.Facts == nil || inv.Job == "" {
		return "", ""
	}
	found, err := d.Flow.Facts(ctx, inv.Cluster, inv.Job)
	if err != nil || len(found.Users) != 1 || d.Flow.Permit != nil && !d.Flow.Permit(inv, found) {
		return "", ""
	}
	return found.Name, found.Users[0]
}

// nextStates are those in which a fix may wait for the next run.
var nextStates = []workflow.State{workflow.Fixing, workflow.VerifyingFix}

// NextRuns looks for runs that show whether fixes hold whose run nobody named: the first of the job that ended since.
func (w *Watcher) NextRuns(ctx context.Context) error {
	rows, err := w.Desk.Store.Find(ctx, workflow.Query{States: nextStates, Limit: most})
	if err != nil {
		return fmt.Errorf("listing fixes that wait for a run: %w", err)
	}
	var errs []error
	for _, s := range rows {
		if err := w.nextRun(ctx, s.ID); err != nil && !errors.Is(err, workflow.ErrConflict) { // else the next look sees
			errs = append(errs, fmt.Errorf("the next run after %s: %w", s.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (w *Watcher) nextRun(ctx context.Context, id string) error {
	d := w.Desk
	old, err := d.Store.Load(ctx, id)
	if errors.Is(err, workflow.ErrUnknown) {
		return nil
	}
	if err != nil || !old.Fix.Untold() || old.Fix.Name == "" {
		return err
	}
	runs, err := w.Endings.Runs(ctx, old.Cluster, old.Fix.User, old.Fix.Name, old.Fix.At, d.Now())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(runs, func(e workflow.Ended) bool { return tells(&old, e) })
	if i < 0 {
		return nil
	}
	next, err := d.runWithFix(ctx, old, old.Cluster, runs[i].Job, old.Fix.By)
	if errors.Is(err, errElsewhere) {
		return nil
	}
	if err != nil {
		return err
	}
	fix := *old.Fix
	fix.Job, fix.Case, fix.Found, fix.Open, fix.At = runs[i].Job, next, true, "", runs[i].End
	err = d.Flow.Handle(ctx, id, workflow.Input{Event: workflow.FixClaimed, Text: "the next run of this job", Fix: &fix})
	var not *workflow.NotAllowedError
	if errors.As(err, &not) {
		return nil
	}
	return err
}

// tells says that a run may show whether a fix holds: it is none of those that were looked at, and began after the failure.
func tells(old *workflow.Investigation, e workflow.Ended) bool {
	if e.Job == old.Job || e.Job == old.Fix.Job || e.Start.IsZero() || e.State == "CANCELLED" && e.Took() < cancelledSoon {
		return false
	}
	failed := old.Asked
	if old.Ended != nil {
		failed = old.Ended.End
	}
	return !e.Start.Before(failed)
}

// cancelledSoon is how long a run must have lasted that a person ended, to be worth a look.
const cancelledSoon = 10 * time.Minute

// postmortem puts the page about an incident into its thread.
func (a *act) postmortem(ctx context.Context, inv workflow.Investigation) error {
	if inv.Report == nil {
		return a.say(ctx, postmortemNone, inv.ID)
	}
	ledger, err := a.Store.Ledger(ctx, inv.ID)
	if err != nil {
		return err
	}
	var md, html bytes.Buffer
	story := workflow.StoryOf(inv, ledger)
	story.Price = a.policy.Price
	if err := errors.Join(messages.Postmortem(&md, inv.Report, story), messages.PostmortemHTML(&html, inv.Report, story)); err != nil {
		return err
	}
	var files []workflow.Attachment
	for _, f := range []struct {
		name, title string
		content     []byte
	}{{"postmortem.md", "The post-mortem, to edit", md.Bytes()}, {"postmortem.html", "The post-mortem, for a browser", html.Bytes()}} {
		file, err := a.Composer.attach(ctx, f.name, f.title, "", f.content)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		d := &draft{inv: inv}
		d.send(workflow.PostFiles, fmt.Sprintf("postmortem-%d", inv.Version+1), workflow.KeyCase, messages.Note("Post-mortem of "+inv.ID, nil), files...)
		d.about("postmortem")
		return change{posts: d.posts, entry: "asked for the post-mortem", answer: say(postmortemMade, inv.ID)}
	})
}
