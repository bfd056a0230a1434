package workflow

import (
	"context"
	"slices"
	"time"
)

type memoryPost struct {
	Post
	notBefore time.Time // zero: at once, whatever the clock does
	settled   time.Time // when it was sent, coalesced or given up
}

func (p *memoryPost) unsent() bool { return p.State == PostQueued || p.State == PostSending }

// names says whether the post is the message that has this key.
func (p *memoryPost) names(investigation, key string) bool {
	return p.Investigation == investigation && p.Key == key && (p.Kind == PostMessage || p.Kind == PostFiles)
}

// waitsInLane says whether the post keeps the order of its channel.
func (p *memoryPost) waitsInLane() bool { return p.Kind != PostEdit && p.Kind != PostEphemeral }

func (p *memoryPost) shown() Post {
	post := p.Post
	post.Payload, post.Files = copied(p.Payload), slices.Clone(p.Files)
	return post
}

// checkPosts refuses two messages of one kind with one key.
func (m *Memory) checkPosts(posts []Post) error {
	for i, p := range posts {
		if p.Key == "" || p.Investigation == "" || p.Kind != PostMessage && p.Kind != PostFiles {
			continue
		}
		same := func(o Post) bool {
			return o.Investigation == p.Investigation && o.Kind == p.Kind && o.Key == p.Key && o.State != PostUndeliverable
		}
		if slices.ContainsFunc(posts[:i], same) || slices.ContainsFunc(m.posts, func(o *memoryPost) bool { return same(o.Post) }) {
			return ErrDoubled
		}
	}
	return nil
}

func (m *Memory) addPosts(posts []Post) {
	for _, p := range posts {
		m.postIDs++
		p.ID, p.State, p.Added = m.postIDs, PostQueued, m.now()
		p.Marked, p.Attempts, p.LastError, p.TS, p.Link = false, 0, "", "", ""
		p.Payload, p.Files = copied(p.Payload), append([]Attachment(nil), p.Files...)
		m.posts = append(m.posts, &memoryPost{Post: p})
	}
}

// Due implements Outbox.
func (m *Memory) Due(_ context.Context, limit int) ([]Post, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	m.tidy(now)
	if limit <= 0 {
		limit = 100
	}
	lanes := map[string]bool{}
	var due []Post
	for _, p := range m.posts {
		if !p.unsent() || m.heldBack(p, now) || m.waitsForHeld(p, now) {
			continue
		}
		head := !p.waitsInLane() || !lanes[p.Channel]
		if p.waitsInLane() {
			lanes[p.Channel] = true
		}
		if p.State != PostQueued || p.notBefore.After(now) || !head || m.waits(p) {
			continue
		}
		if due = append(due, p.shown()); len(due) == limit {
			break
		}
	}
	return due, nil
}

// heldBack says that the investigation has said enough for now.
func (m *Memory) heldBack(p *memoryPost, now time.Time) bool {
	if p.State != PostQueued || !p.Unasked() {
		return false
	}
	said, open := 0, p.Key == KeyCase
	for _, o := range m.posts {
		if o.Investigation != p.Investigation {
			continue
		}
		if o.Unasked() && (o.State == PostSending || o.State == PostSent && o.settled.After(now.Add(-UnaskedPer))) {
			said++
		}
		open = open || o.State == PostSent && o.Kind == PostMessage && o.Key == KeyCase
	}
	if !open { // a place is kept for the case file
		said++
	}
	return said >= UnaskedMost
}

// waitsForHeld says that the post waits for a message that is held.
func (m *Memory) waitsForHeld(p *memoryPost, now time.Time) bool {
	return slices.ContainsFunc(m.posts, func(o *memoryPost) bool { return m.needs(p, o) && m.heldBack(o, now) })
}

// quieten settles held messages that need not be posted any more.
func (m *Memory) quieten(now time.Time) {
	for i, p := range m.posts {
		if m.heldBack(p, now) && slices.ContainsFunc(m.posts[i+1:], func(n *memoryPost) bool {
			said := p.Topic != "" && n.Topic == p.Topic && n.Unasked() || n.Kind == PostEdit && n.Settles && n.Key == p.Key
			return n.State == PostQueued && n.Investigation == p.Investigation && said
		}) {
			p.State, p.settled = PostCoalesced, now
		}
	}
}

// tidy settles edits that a newer one makes needless, and edits of what was never posted.
func (m *Memory) tidy(now time.Time) {
	m.quieten(now)
	for i, p := range m.posts {
		if p.State != PostQueued || p.Kind != PostEdit && p.Kind != PostRemove {
			continue
		}
		switch {
		case p.Kind == PostEdit && slices.ContainsFunc(m.posts[i+1:], func(o *memoryPost) bool {
			return (o.unsent() || o.State == PostSent) && o.Kind == PostEdit && o.Investigation == p.Investigation && o.Key == p.Key
		}):
			p.State, p.settled = PostCoalesced, now
		case !slices.ContainsFunc(m.posts, func(o *memoryPost) bool {
			return o.names(p.Investigation, p.Key) && (o.unsent() || o.State == PostSent)
		}):
			p.State, p.settled, p.LastError = PostUndeliverable, now, noMessage
		}
	}
}

// waits says whether the post needs one that is still to be sent.
func (m *Memory) waits(p *memoryPost) bool {
	if p.Kind == PostEdit {
		sent := slices.ContainsFunc(m.posts, func(o *memoryPost) bool { return o.names(p.Investigation, p.Key) && o.State == PostSent })
		other := slices.ContainsFunc(m.posts, func(o *memoryPost) bool {
			return o.Kind == PostEdit && o.State == PostSending && o.Investigation == p.Investigation && o.Key == p.Key
		})
		if !sent || other {
			return true
		}
	}
	return slices.ContainsFunc(m.posts, func(o *memoryPost) bool { return m.needs(p, o) })
}

// needs says whether p cannot be sent before o.
func (m *Memory) needs(p, o *memoryPost) bool {
	// A post that waited for one behind it in its own lane would stop the lane for ever.
	behind := p.waitsInLane() && o.Channel == p.Channel && o.ID >= p.ID
	return o.unsent() && !behind && (p.LinkTo != "" && o.names(p.Investigation, p.LinkTo) || p.Thread != "" && o.names(p.Investigation, p.Thread))
}

// Unsettled implements Outbox.
func (m *Memory) Unsettled(context.Context) ([]Post, error) {
	return m.list(func(p *memoryPost) bool { return p.State == PostSending }), nil
}

// Posts implements Outbox.
func (m *Memory) Posts(_ context.Context, investigation string) ([]Post, error) {
	return m.list(func(p *memoryPost) bool { return p.Investigation == investigation }), nil
}

func (m *Memory) list(fits func(*memoryPost) bool) []Post {
	m.mu.Lock()
	defer m.mu.Unlock()
	var posts []Post
	for _, p := range m.posts {
		if fits(p) {
			posts = append(posts, p.shown())
		}
	}
	return posts
}

// change alters the post if it is in one of the states.
func (m *Memory) change(id int64, states []string, change func(p *memoryPost, now time.Time)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.posts {
		if p.ID == id && slices.Contains(states, p.State) {
			change(p, m.now())
			return nil
		}
	}
	return ErrLost
}

// Sending implements Outbox.
func (m *Memory) Sending(_ context.Context, id int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.posts {
		if p.ID == id && p.State == PostQueued && !m.heldBack(p, m.now()) {
			p.State = PostSending
			return nil
		}
	}
	return ErrLost
}

// Sent implements Outbox.
func (m *Memory) Sent(_ context.Context, id int64, ts, link string) error {
	return m.change(id, []string{PostSending}, func(p *memoryPost, now time.Time) {
		p.State, p.settled, p.TS, p.Link = PostSent, now, ts, link
	})
}

// Requeue implements Outbox.
func (m *Memory) Requeue(_ context.Context, id int64, after time.Duration, reason string, mark bool) error {
	return m.change(id, []string{PostQueued, PostSending}, func(p *memoryPost, now time.Time) {
		p.State, p.LastError, p.Marked, p.notBefore = PostQueued, reason, p.Marked || mark, time.Time{}
		p.Attempts++
		if after > 0 {
			p.notBefore = now.Add(after)
		}
	})
}

// Undeliverable implements Outbox.
func (m *Memory) Undeliverable(_ context.Context, id int64, reason string) error {
	return m.change(id, []string{PostQueued, PostSending}, func(p *memoryPost, now time.Time) {
		p.State, p.settled, p.LastError = PostUndeliverable, now, reason
	})
}

// Posted implements Outbox.
func (m *Memory) Posted(_ context.Context, investigation, key string) (Post, error) {
	posts := m.list(func(p *memoryPost) bool { return p.names(investigation, key) && p.State == PostSent })
	if len(posts) == 0 {
		return Post{}, ErrUnknown
	}
	return posts[len(posts)-1], nil
}

// Backlog implements Outbox.
func (m *Memory) Backlog(context.Context) (int, time.Time, error) {
	posts := m.list(func(p *memoryPost) bool { return p.State == PostQueued && !m.heldBack(p, m.now()) })
	var oldest time.Time
	for _, p := range posts {
		if oldest.IsZero() || p.Added.Before(oldest) {
			oldest = p.Added
		}
	}
	return len(posts), oldest, nil
}

// noMessage is why an edit or a removal is given up.
const noMessage = "there is no message to change"

var _ Durable = (*Memory)(nil)
