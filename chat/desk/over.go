package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"faultline/messages/blockkit"
	"faultline/workflow"
)

const (
	// undecidedWait is how long a job waits that shares a node with one that is not understood yet.
	undecidedWait = 30 * time.Second
	// selfWait is how long everything waits while Slack has not said yet who the bot is.
	selfWait = 10 * time.Second
)

// Keys of posts: what the owner is told first, and the list of what came again.
const (
	keyOwner   = "owner"
	keyRepeats = "repeats"
)

// over takes up a run that ended badly: it goes on with what waits for its end, and where a watch takes it, begins an
// investigation, or notes why not. Everything is one change together with the end of the job.
func (w *Watcher) over(ctx context.Context, l *workflow.Lease) error {
	var e workflow.Ended
	if err := json.Unmarshal(l.Payload, &e); err != nil {
		return fmt.Errorf("reading which job has ended: %w", err)
	}
	d := w.Desk
	if err := w.awaited(ctx, e); err != nil {
		return err
	}
	policy := d.Policy()
	watch, ok := policy.watch(e)
	paused, _, err := note[pauses](ctx, d.Store, notePaused)
	if err != nil {
		return err
	}
	if _, resting := paused.of(e.Cluster); !ok || resting || !policy.shows(watch, e) {
		return d.Store.Finish(ctx, l)
	}
	team, self := w.Self()
	if team == "" {
		return errLater{selfWait}
	}
	now := d.Now().UTC()
	if d.Flow.Quiet != nil { // its logs may still be written
		quiet := d.Flow.Quiet(e.Cluster)
		if left := min(e.End.Add(quiet).Sub(now), quiet); left > 0 {
			return errLater{left}
		}
	}
	st, n, err := note[channelState](ctx, d.Store, noteChannel(watch.Channel))
	if err != nil {
		return err
	}
	if _, muted := st.Muted[e.Name]; muted || st.known(e.Key()) {
		return d.Store.Finish(ctx, l)
	}
	st.tidy(now)
	if i := st.repeats(e, now); i >= 0 {
		if c := &st.Cases[i]; c.Fate != fateOpen || c.Raw == e.Raw || c.Of != "" && c.Of == e.Of {
			return w.repeated(ctx, l, &st, n, c, watch, e)
		}
		return errLater{undecidedWait} // a job on one of its nodes; whether that says anything is not known yet
	}
	if !st.room(watch.PerHour, now) {
		c := newCase("", e, now)
		c.Fate, c.Why, c.Nodes = fateDigest, whyLimit, nil
		st.Cases = append(st.Cases, c)
		return w.keep(ctx, workflow.Change{Done: l}, &st, n)
	}
	return w.begin(ctx, l, &st, n, watch, e, workflow.Home{Team: team, Channel: watch.Channel, Requester: self})
}

// shows says whether a run may be shown in the channel of a watch.
func (p *Policy) shows(w Watch, e workflow.Ended) bool {
	r, ok := p.of(w.Channel, false)
	return ok && slices.Contains(r.Clusters, e.Cluster) && p.owned(r, "", []string{e.User})
}

// keep saves a change with the state of a channel.
func (w *Watcher) keep(ctx context.Context, c workflow.Change, st *channelState, n workflow.Note) error {
	n, err := with(n, st)
	if err != nil {
		return err
	}
	c.Notes = append(c.Notes, n)
	return again(w.Desk.Store.Save(ctx, c))
}

// awaited goes on with investigations that people began while the job still ran.
func (w *Watcher) awaited(ctx context.Context, e workflow.Ended) error {
	d := w.Desk
	rows, err := d.Store.Find(ctx, workflow.Query{Cluster: e.Cluster, Job: e.Job, States: running})
	if err != nil {
		return err
	}
	for _, s := range rows {
		err := d.Flow.Handle(ctx, s.ID, workflow.Input{Event: workflow.JobEnded, Text: "SLURM's accounting shows that it ended: " + e.State})
		var not *workflow.NotAllowedError
		if err != nil && !errors.As(err, &not) && !errors.Is(err, workflow.ErrUnknown) {
			return again(err)
		}
	}
	return nil
}

// begin opens an investigation that nobody asked for. Nothing of it is posted in the channel before it is known whether it
// concerns anybody there.
func (w *Watcher) begin(ctx context.Context, l *workflow.Lease, st *channelState, n workflow.Note, watch Watch, e workflow.Ended, home workflow.Home) error {
	d := w.Desk
	id, err := d.Store.NewID(ctx)
	if err != nil {
		return err
	}
	inv := workflow.Investigation{ID: id, Cluster: e.Cluster, Job: e.Job, Home: home, Ended: &e, Held: true}
	c := newCase(id, e, d.Now().UTC())
	in := workflow.Input{Actor: home.Requester, Done: l}
	if to := w.owner(ctx, watch, e.User); to != "" {
		p, err := direct(id, keyOwner, to, message([]string{say(ownerFirst, e.Job, e.Name, e.Cluster, e.State, id)}))
		if err != nil {
			return err
		}
		in.Posts, c.Owners = append(in.Posts, p), append(c.Owners, e.User)
	}
	st.Cases = append(st.Cases, c)
	if n, err = with(n, st); err != nil {
		return err
	}
	in.Notes = []workflow.Note{n}
	err = d.Flow.Open(ctx, inv, in)
	if errors.Is(err, workflow.ErrOpen) { // somebody looks at this run already
		return d.Store.Finish(ctx, l)
	}
	return again(err)
}

// owner is the channel of the direct messages with a job's owner; "" where they are not to be told, or nobody knows who it is.
func (w *Watcher) owner(ctx context.Context, watch Watch, account string) string {
	if !watch.OwnerFirst || account == "" {
		return ""
	}
	var people []string
	for person, name := range w.Desk.Policy().Identity {
		if name == account {
			people = append(people, person)
		}
	}
	slices.Sort(people)
	for _, person := range people {
		channel, err := w.Desk.Surface.Direct(ctx, person)
		if err == nil {
			return channel
		}
		w.Log.Warn("can't message a job's owner directly", "user", person, "error", told(err))
	}
	return ""
}

func direct(id, key, channel string, m blockkit.Message) (workflow.Post, error) {
	b, err := payload(m)
	return workflow.Post{Investigation: id, Kind: workflow.PostMessage, Key: key, Channel: channel, Payload: b}, err
}

// repeated adds a run to the case that it is a repeat of. It is not looked at by itself.
func (w *Watcher) repeated(ctx context.Context, l *workflow.Lease, st *channelState, n workflow.Note, c *caseState, watch Watch, e workflow.Ended) error {
	c.again(e, w.Desk.Now().UTC())
	change := workflow.Change{Done: l}
	if c.ID != "" {
		change.About = c.ID
		change.Entries = []workflow.Entry{{Kind: "repeat", Text: plain(c.Recent[len(c.Recent)-1])}}
	}
	if c.Fate == fateTold {
		p, err := repeatsPost(c, watch.Channel)
		if err != nil {
			return err
		}
		change.Posts = append(change.Posts, p)
	}
	if !slices.Contains(c.Owners, e.User) && c.ID != "" {
		if to := w.owner(ctx, watch, e.User); to != "" {
			p, err := direct(c.ID, "owner/"+short(e.Key()), to, message([]string{say(ownerRepeat, e.Job, e.Name, e.Cluster, e.State, c.Job, c.ID)}))
			if err != nil {
				return err
			}
			change.Posts, c.Owners = append(change.Posts, p), append(c.Owners, e.User)
		}
	}
	return w.keep(ctx, change, st, n)
}

// repeatsPost is one message under the case that is edited as repeats come: a thousand elements of an array are one line.
func repeatsPost(c *caseState, channel string) (workflow.Post, error) {
	lines := []string{say(threadRepeats, count(c.Repeats, "job"), c.Cluster+":"+c.Job)}
	for _, r := range c.Recent {
		lines = append(lines, fill("%s", marks(r)))
	}
	b, err := payload(message(lines))
	p := workflow.Post{Investigation: c.ID, Kind: workflow.PostMessage, Key: keyRepeats, Channel: channel, Thread: workflow.KeyCase, Payload: b}
	if c.Posted {
		p.Kind, p.Thread = workflow.PostEdit, ""
	}
	c.Posted = true
	return p, err
}

// tell decides who hears of an investigation that rests: the channel, or its owner and the digest.
func (w *Watcher) tell(ctx context.Context, l *workflow.Lease) error {
	d := w.Desk
	inv, err := d.Store.Load(ctx, l.Investigation)
	if errors.Is(err, workflow.ErrUnknown) || err == nil && !inv.Held {
		return d.Store.Finish(ctx, l)
	}
	if err != nil {
		return fmt.Errorf("investigation %s: %w", l.Investigation, err)
	}
	channel := inv.Home.Channel
	st, n, err := note[channelState](ctx, d.Store, noteChannel(channel))
	if err != nil {
		return err
	}
	c := st.of(inv.ID)
	if c == nil {
		st.Cases = append(st.Cases, newCase(inv.ID, *inv.Ended, d.Now().UTC()))
		c = &st.Cases[len(st.Cases)-1]
	}
	why := privately(&inv)
	if c.Fate == fateDigest && c.Why == why {
		return d.Store.Finish(ctx, l)
	}
	if why == "" {
		return w.publish(ctx, inv, c, &st, n, l)
	}
	change := workflow.Change{Done: l, About: inv.ID, Entries: []workflow.Entry{{Kind: "posted", Text: "in the channel's digest instead of a post: " + why}}}
	if to := w.toldOwner(ctx, inv, c); to != "" {
		m := message([]string{say(ownerNothing, inv.Job, inv.ID, whyText(why))})
		if inv.Report != nil && why != whyFailed {
			m = withParagraph(verdictMessage(inv.Report, nil), say(ownerOnly, inv.ID))
		}
		p, err := direct(inv.ID, "owner-"+strconv.Itoa(inv.Version), to, m)
		if err != nil {
			return err
		}
		p.Topic = keyOwner
		change.Posts = append(change.Posts, p)
	}
	c.Fate, c.Why, c.Nodes, c.Listed = fateDigest, why, nil, false
	return w.keep(ctx, change, &st, n)
}

// toldOwner is where the owner heard of the beginning.
func (w *Watcher) toldOwner(ctx context.Context, inv workflow.Investigation, c *caseState) string {
	if !slices.Contains(c.Owners, inv.Ended.User) {
		return ""
	}
	return w.owner(ctx, Watch{OwnerFirst: true}, inv.Ended.User)
}

// publish shows an investigation in its channel, after its owner was told.
func (w *Watcher) publish(ctx context.Context, inv workflow.Investigation, c *caseState, st *channelState, n workflow.Note, l *workflow.Lease) error {
	d := w.Desk
	var posts []workflow.Post
	wait := ""
	if to := w.toldOwner(ctx, inv, c); to != "" {
		wait = "owner-" + strconv.Itoa(inv.Version)
		p, err := direct(inv.ID, wait, to, withParagraph(verdictMessage(inv.Report, nil), say(ownerToo, inv.ID)))
		if err != nil {
			return err
		}
		p.Topic = keyOwner
		posts = append(posts, p)
	}
	shown, err := d.unveil(ctx, &inv, c, wait, true)
	if err != nil {
		return err
	}
	change := workflow.Change{Investigation: &inv, Posts: append(posts, shown...), Done: l,
		Entries: []workflow.Entry{{Kind: "posted", Text: "shown in the channel"}}}
	return w.keep(ctx, change, st, n)
}

// unveil makes the posts of an investigation that was held so far, and notes in its case that it is told; the case may be nil.
// They wait for the message that wait names. unasked: no person waits for them.
func (d *Desk) unveil(ctx context.Context, inv *workflow.Investigation, c *caseState, wait string, unasked bool) ([]workflow.Post, error) {
	posts, err := d.Composer.Publish(ctx, inv, unasked)
	if err != nil {
		return nil, err
	}
	posts[0].LinkTo = wait
	if posts, err = inv.Speak(d.Now(), posts, d.Composer.Holding); err != nil || c == nil {
		return posts, err
	}
	c.Fate, c.Why, c.Told, c.Nodes = fateTold, "", d.Now().UTC(), nil
	if inv.Report != nil {
		c.Nodes = inv.Report.Verdict.Root.Nodes
	}
	if c.Repeats > 0 {
		p, err := repeatsPost(c, inv.Home.Channel)
		if err != nil {
			return nil, err
		}
		posts = append(posts, p)
	}
	return posts, nil
}
