package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"faultline/workflow"
)

// whyText is why something was not posted by itself, for a list.
func whyText(why string) string {
	switch why {
	case whyLimit:
		return "skipped: too many posts in that hour"
	case whyNoLogs:
		return "no logs found"
	case whyFailed:
		return "could not be fully examined"
	case whyNoFailure:
		return "no failure in its logs"
	}
	return mechanismTitle(why)
}

// unwatchTries is how often notes are written while somebody else writes them.
const unwatchTries = 10

// Unwatch removes what watching noted of an investigation: the name of its job, its nodes and its owner. It says whether there was
// anything. The run is not begun again: the key of its job stays.
func Unwatch(ctx context.Context, store workflow.Durable, inv workflow.Investigation) (bool, error) {
	for range unwatchTries {
		st, n, err := note[channelState](ctx, store, noteChannel(inv.Home.Channel))
		if err != nil {
			return false, err
		}
		before := len(st.Cases)
		st.Cases = slices.DeleteFunc(st.Cases, func(c caseState) bool { return c.ID == inv.ID })
		if len(st.Cases) == before {
			return false, nil
		}
		if n, err = with(n, st); err != nil {
			return false, err
		}
		err = store.Save(ctx, workflow.Change{Notes: []workflow.Note{n}})
		if !errors.Is(err, workflow.ErrConflict) {
			return err == nil, err
		}
	}
	return false, fmt.Errorf("the watch notes for %s: %w", inv.ID, workflow.ErrConflict)
}

// Digests posts, once a day in each channel, what was not posted one by one. A day on which the bot did not run is made up for.
func (w *Watcher) Digests(ctx context.Context) error {
	var errs []error
	now := w.Desk.Now().UTC()
	done := map[string]bool{}
	for _, watch := range w.Desk.Policy().Watches {
		if done[watch.Channel] {
			continue
		}
		done[watch.Channel] = true
		_, err := w.Desk.digest(ctx, watch.Channel, dueDigest(watch.Digest, now), workflow.Change{})
		if err != nil && !errors.Is(err, workflow.ErrConflict) { // else the next minute sees
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

const maxLines = 20

// digest posts what waits for the digest of a channel, of before a time, together with a change; it says how many jobs
// that were. With none the change alone is saved, where it holds anything.
func (d *Desk) digest(ctx context.Context, channel string, before time.Time, c workflow.Change) (jobs int, err error) {
	st, n, err := note[channelState](ctx, d.Store, noteChannel(channel))
	if err != nil {
		return 0, err
	}
	pending := st.pending(before)
	if len(pending) == 0 {
		return 0, nil
	}
	lines, jobs, err := d.digestLines(ctx, pending)
	if err != nil {
		return 0, err
	}
	for _, p := range pending {
		p.Listed = true
	}
	lost := st.Lost
	st.Lost = 0
	if len(lines) > 0 {
		paragraphs := []string{say(digestHead, count(jobs, "job"))}
		paragraphs = append(paragraphs, lines[:min(len(lines), maxLines)]...)
		if more := len(lines) - maxLines + lost; more > 0 {
			paragraphs = append(paragraphs, say(digestMore, count(more, "line")))
		}
		b, err := payload(message(append(paragraphs, say(digestFoot, d.Command))))
		if err != nil {
			return 0, err
		}
		c.Posts = append(c.Posts, workflow.Post{Kind: workflow.PostMessage, Channel: channel, Payload: b})
	}
	if n, err = with(n, st); err != nil {
		return 0, err
	}
	c.Notes = append(c.Notes, n)
	if err := d.Store.Save(ctx, c); err != nil {
		return 0, fmt.Errorf("the digest of %s: %w", channel, err)
	}
	return jobs, nil
}

// digestLines are the jobs by reason and name. What was forgotten in the meantime is left out.
func (d *Desk) digestLines(ctx context.Context, pending []*caseState) (lines []string, jobs int, err error) {
	type group struct {
		why, name, cluster string
		jobs               int
		ids                []string
	}
	var groups []*group
	for _, c := range pending {
		if c.ID != "" {
			found, err := d.Store.Find(ctx, workflow.Query{ID: c.ID})
			if err != nil {
				return nil, 0, err
			}
			if len(found) == 0 {
				continue
			}
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return g.why == c.Why && g.name == c.Name && g.cluster == c.Cluster })
		if i < 0 {
			groups = append(groups, &group{why: c.Why, name: c.Name, cluster: c.Cluster})
			i = len(groups) - 1
		}
		g := groups[i]
		g.jobs += 1 + c.Repeats
		jobs += 1 + c.Repeats
		id := c.Cluster + ":" + c.Job
		if c.ID != "" {
			id += " (" + c.ID + ")"
		}
		g.ids = append(g.ids, id)
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return b.jobs - a.jobs })
	const shown = 5
	for _, g := range groups {
		ids := g.ids
		more := ""
		if n := g.jobs - min(len(ids), shown); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		lines = append(lines, fill("• %s: %s — %s%s", code(orElse(g.name, "(no name)")), sentence(whyText(g.why)), strings.Join(ids[:min(len(ids), shown)], ", "), more))
	}
	return lines, jobs, nil
}
