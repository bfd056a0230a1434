package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"faultline/workflow"
)

const (
	// settleTime is given to Slack to finish what it may have begun. A call that arrives even later cannot be told from a
	// message of somebody else: it would be there twice, with the same msg_key.
	settleTime = 3 * time.Second
	// lookBack is how far before the post was written its message is looked for: the clocks of the store and of Slack differ.
	lookBack = 5 * time.Minute
	maxPages = 10
	maxLooks = 8 // some nine minutes, by backoff
)

// resolve decides about a post of which nobody knows whether Slack has it. ids are its uploaded files, where they are known.
func (s *Sender) resolve(ctx context.Context, p workflow.Post, ids []uploaded, cause error) {
	if ctx.Err() != nil {
		return // it stays "sending": the next start settles it
	}
	wait := backoff(p.Attempts)
	switch p.Kind {
	case workflow.PostEdit, workflow.PostRemove: // repeating them changes nothing
		s.count(p, "retried")
		s.putBack(ctx, p, wait, cause.Error(), false)
		return
	case workflow.PostEphemeral: // nobody can read those back
		s.count(p, "unclear")
		s.putBack(ctx, p, wait, cause.Error(), true)
		return
	}
	if s.Sleep(ctx, settleTime) != nil {
		return
	}
	ts, known := s.find(ctx, p, ids)
	switch {
	case ts != "":
		r := result{ts: ts}
		if p.Thread == "" && p.ThreadTS == "" {
			r.link, _ = s.permalink(ctx, p.Channel, ts)
		}
		s.count(p, "found")
		s.done(ctx, p, r)
	case ctx.Err() != nil:
	case known:
		s.count(p, "retried")
		s.putBack(ctx, p, wait, cause.Error()+"; it did not arrive", false)
	default:
		s.count(p, "unclear")
		s.dropFiles(p.ID)
		s.putBack(ctx, p, wait, cause.Error()+"; whether it arrived cannot be looked up", true)
	}
}

// find looks for the message of a post. known says that the answer "" is certain.
func (s *Sender) find(ctx context.Context, p workflow.Post, ids []uploaded) (ts string, known bool) {
	if len(ids) > 0 {
		if ts := s.shareOf(ctx, p, ids); ts != "" {
			return ts, true
		}
	}
	for n := 0; ; n++ {
		ts, known, err := s.look(ctx, p, ids)
		if err == nil {
			return ts, known
		}
		s.Log.Warn("checking whether a message arrived", "post", p.ID, "err", err)
		// While Slack cannot be reached, nothing could be sent either.
		if code(err) != "" || n >= maxLooks || s.Sleep(ctx, backoff(n)) != nil {
			return "", false
		}
	}
}

// look looks once.
func (s *Sender) look(ctx context.Context, p workflow.Post, ids []uploaded) (ts string, known bool, err error) {
	if err := s.Client.learnScopes(ctx); err != nil {
		return "", false, err
	}
	if !s.mayRead() {
		return "", false, nil
	}
	at, _, reason, err := s.prepare(ctx, p)
	if err != nil || reason != "" {
		return "", false, err
	}
	return s.search(ctx, p, at, ids)
}

// mayRead says whether the bot may read some kind of channel; for the one at hand, only Slack knows.
func (s *Sender) mayRead() bool {
	can, _ := s.Client.granted("channels:history", "groups:history", "im:history")
	return can
}

// remote is a message as Slack gives it back. Its blocks are not read.
type remote struct {
	TS       text `json:"ts"`
	User     text `json:"user"`
	Metadata struct {
		Payload struct {
			Key text `json:"msg_key"`
		} `json:"event_payload"`
	} `json:"metadata"`
	Files []struct {
		ID   text `json:"id"`
		Name text `json:"name"`
	} `json:"files"`
}

func (s *Sender) search(ctx context.Context, p workflow.Post, at place, ids []uploaded) (string, bool, error) {
	method := "conversations.history"
	args := url.Values{"channel": {at.channel}, "limit": {"100"}, "include_all_metadata": {"true"},
		"oldest": {strconv.FormatInt(p.Added.Add(-lookBack).Unix(), 10) + ".000000"}}
	if at.thread != "" {
		method = "conversations.replies"
		args.Set("ts", at.thread)
	}
	// Files carry no metadata: without their ids they are known by name, which says enough within a thread only.
	byName := p.Kind == workflow.PostFiles && len(ids) == 0
	taken := map[string]bool{}
	if byName && p.Investigation != "" {
		// Every report has files of the same names: a message that is known to be another post's is not this one's.
		posts, err := s.Outbox.Posts(ctx, p.Investigation)
		if err != nil {
			return "", false, fmt.Errorf("looking which messages belong to other posts: %w", err)
		}
		for _, other := range posts {
			taken[other.TS] = other.ID != p.ID
		}
	}
	for page := 0; page < maxPages; page++ {
		var out struct {
			Messages []remote `json:"messages"`
			More     bool     `json:"has_more"`
			Meta     struct {
				Cursor string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		err := s.call(ctx, method, at.channel, args, &out)
		var limited *LimitedError
		if errors.As(err, &limited) && limited.After <= time.Minute {
			if err := s.Sleep(ctx, limited.After); err != nil {
				return "", false, fmt.Errorf("waiting to look again: %w", err)
			}
			continue
		}
		if err != nil {
			return "", false, err
		}
		for _, m := range out.Messages {
			if !taken[string(m.TS)] && s.same(m, p, ids, byName) {
				return string(m.TS), true, nil
			}
		}
		if out.Meta.Cursor == "" {
			return "", !out.More && !(byName && at.thread == ""), nil
		}
		args.Set("cursor", out.Meta.Cursor)
	}
	return "", false, nil
}

// same says whether a message is that of the post.
func (s *Sender) same(m remote, p workflow.Post, ids []uploaded, byName bool) bool {
	switch {
	case string(m.Metadata.Payload.Key) == msgKey(p): // files too, when they were posted as a message without files
		return true
	case p.Kind != workflow.PostFiles:
		return false
	case !byName:
		return slices.ContainsFunc(m.Files, func(f struct {
			ID   text `json:"id"`
			Name text `json:"name"`
		}) bool {
			return string(f.ID) == ids[0].ID
		})
	}
	if p.Thread == "" && p.ThreadTS == "" || len(p.Files) == 0 || len(m.Files) != len(p.Files) {
		return false
	}
	s.Client.mu.Lock()
	self := s.Client.self.User
	s.Client.mu.Unlock()
	if self != "" && string(m.User) != self {
		return false
	}
	for i, f := range p.Files {
		if string(m.Files[i].Name) != f.Name {
			return false
		}
	}
	return true
}
