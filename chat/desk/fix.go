package desk

import (
	"bytes"
	"context"
	"errors"
	"fmt"

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
		return a.say(ctx, fixWhich, a.Command, old.ID)
	case o.run == old.Job:
		return a.say(ctx, fixItself, o.run)
	}
	if ok, err := a.knows(ctx, &o.runCluster); !ok {
		return err
	}
	if o.runCluster == "" {
		o.runCluster = old.Cluster
	}
	next, err := a.runWithFix(ctx, old, o)
	switch {
	case errors.Is(err, errElsewhere):
		return a.say(ctx, fixElsewhere, o.run)
	case err != nil:
		return again(err)
	}
	fix := &workflow.Fix{Text: redact.String(o.rest), By: a.in.User, Job: o.run, Case: next}
	return a.apply(ctx, old, workflow.Input{Event: workflow.FixClaimed, Text: fix.Text, Fix: fix}, fixNoted, o.run, next, old.ID)
}

// errElsewhere says that a job is investigated where the people of this case cannot see it.
var errElsewhere = errors.New("it is being investigated elsewhere")

// runWithFix is the investigation of the run that is to prove a fix: the one that there is in this channel, or a new one. It is its own change,
// before the fix is noted: were the bot to die between the two, handling this again would find it.
func (a *act) runWithFix(ctx context.Context, old workflow.Investigation, o order) (id string, err error) {
	rows, err := a.Store.Find(ctx, workflow.Query{Team: old.Home.Team, Cluster: o.runCluster, Job: o.run})
	if err != nil {
		return "", err
	}
	for _, s := range rows {
		inv, err := a.Store.Load(ctx, s.ID)
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
		return inv.ID, a.Store.Save(ctx, workflow.Change{Investigation: &inv})
	}
	inv := workflow.Investigation{Cluster: o.runCluster, Job: o.run, FixOf: old.ID, Home: old.Home}
	inv.Home.Requester, inv.Home.Shared = a.in.User, ""
	if inv.ID, err = a.Store.NewID(ctx); err != nil {
		return "", err
	}
	err = a.Flow.Open(ctx, inv, workflow.Input{Actor: a.in.User})
	if errors.Is(err, workflow.ErrOpen) {
		return "", errElsewhere
	}
	return inv.ID, err
}

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
