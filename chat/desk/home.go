package desk

import (
	"context"
	"fmt"

	"faultline/messages"
	"faultline/messages/blockkit"
	"faultline/workflow"
)

// recent lists failed jobs of the person, where the configuration says who they are on the clusters.
func (a *act) recent(ctx context.Context) ([]messages.RecentJob, error) {
	name := a.policy.Identity[a.in.User]
	if name == "" || a.Recent == nil {
		return nil, nil
	}
	return a.Recent(ctx, name, a.rule.Clusters)
}

// bounds of the home tab.
const (
	homeLast = 20
	homeSeen = 200 // investigations that are looked through
)

// home fills the home tab: what is mine, what waits for me, the newest in public channels, how the bot is.
func (a *act) home(ctx context.Context) error {
	if a.in.External {
		return a.publish(ctx, []string{say(external)})
	}
	mine, err := a.Store.Find(ctx, workflow.Query{Team: a.in.Team, Requester: a.in.User, Limit: homeSeen})
	if err != nil {
		return err
	}
	var open, waiting []string
	for _, s := range mine {
		row, _ := workflow.About(s.State)
		if row.Kind == workflow.Settled {
			continue
		}
		open = append(open, a.line(s))
		inv, err := a.Store.Load(ctx, s.ID)
		if err != nil {
			return err
		}
		for _, q := range inv.Open {
			waiting = append(waiting, fill("%s  %s", code(s.ID), q.Text))
		}
	}
	all, err := a.Store.Find(ctx, workflow.Query{Team: a.in.Team, Limit: homeSeen})
	if err != nil {
		return err
	}
	var last []string
	for _, s := range all {
		if len(last) == homeLast {
			break
		}
		if s.Requester == a.in.User || a.public(ctx, s.Channel) {
			last = append(last, a.line(s))
		}
	}
	sections := []string{}
	for _, s := range []struct {
		title situation
		lines []string
		none  situation
	}{{homeMine, open, homeNoneOpen}, {homeWaiting, waiting, homeNoneWaiting}, {homeNewest, last, homeNoneNewest}} {
		sections = append(sections, say(s.title))
		if len(s.lines) == 0 {
			sections = append(sections, say(s.none))
		}
		sections = append(sections, s.lines...)
	}
	if a.Health != nil {
		sections = append(sections, fill("%s", a.Health(ctx)))
	}
	return a.publish(ctx, sections)
}

// public says whether everybody of the workspace may read a channel.
func (a *act) public(ctx context.Context, channel string) bool {
	info, err := a.Surface.ChannelInfo(ctx, channel)
	return err == nil && !info.Private && !info.Direct
}

func (a *act) publish(ctx context.Context, paragraphs []string) error {
	view := blockkit.View{Title: blockkit.Plain("Faultline")}
	for _, p := range paragraphs {
		inlines, _ := inline(p)
		view.Blocks = append(view.Blocks, blockkit.RichText{Elements: blockkit.RichElements{blockkit.RichSection{Elements: inlines}}})
	}
	view, _ = blockkit.FitView(view)
	if err := a.Surface.PublishHome(ctx, a.in.User, view); err != nil {
		return fmt.Errorf("showing the home tab: %w", err)
	}
	return a.finish(ctx)
}
