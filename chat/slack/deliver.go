package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"faultline/workflow"
)

const (
	// keepTrying is how long a post is tried. Slack's longest outages were shorter.
	keepTrying = 24 * time.Hour
	// suspect is the number of failed tries after which the message itself may be why Slack fails, and is made plain.
	suspect = 8
	// ownPause is how long a post waits for the bot's own disk: so much, and no more, after the disk's trouble it is sent.
	ownPause = 3 * time.Second
)

// place is where a post goes.
type place struct {
	channel string
	thread  string // ts of the head, "" for the channel itself
	ts      string // of the message that is changed
	files   bool   // the message that is removed has files
}

// result is what a successful post is known by.
type result struct {
	ts, link string
}

// deliver sends one post and notes what came of it.
func (s *Sender) deliver(ctx context.Context, p workflow.Post) {
	at, f, reason, err := s.prepare(ctx, p)
	switch {
	case err != nil:
		s.Log.Error("preparing a post", "post", p.ID, "err", err)
		_ = s.Sleep(ctx, time.Second) // whoever ends a lane is asked again at once
		return
	case reason != "":
		s.giveUp(ctx, p, reason)
		return
	}
	if err := s.Outbox.Sending(ctx, p.ID); err != nil {
		if !errors.Is(err, workflow.ErrLost) {
			s.Log.Error("noting that a post is about to be sent", "post", p.ID, "err", err)
			_ = s.Sleep(ctx, time.Second)
		}
		return
	}
	r, err := s.attempt(ctx, p, at, f)
	s.after(ctx, p, r, err)
}

// prepare resolves what a post names by key. reason says why it can never be sent.
func (s *Sender) prepare(ctx context.Context, p workflow.Post) (at place, f *forms, reason string, err error) {
	at = place{channel: p.Channel, thread: p.ThreadTS}
	if p.Thread != "" {
		head, err := s.Outbox.Posted(ctx, p.Investigation, p.Thread)
		switch {
		case errors.Is(err, workflow.ErrUnknown):
			return at, nil, "the message under which it belongs was never posted", nil
		case err != nil:
			return at, nil, "", fmt.Errorf("looking for the head of a thread: %w", err)
		case head.TS == "":
			return at, nil, "Slack did not say where the message under which it belongs is", nil
		}
		at.thread = head.TS
	}
	if p.Kind == workflow.PostEdit || p.Kind == workflow.PostRemove {
		message, err := s.Outbox.Posted(ctx, p.Investigation, p.Key)
		switch {
		case errors.Is(err, workflow.ErrUnknown), err == nil && message.TS == "":
			return at, nil, "there is no message to change", nil
		case err != nil:
			return at, nil, "", fmt.Errorf("looking for the message to change: %w", err)
		}
		p.Marked = message.Marked // an edit must not take away the remark that the message is a repetition
		at.ts, at.channel, at.files = message.TS, message.Channel, message.Kind == workflow.PostFiles
		if p.Kind == workflow.PostRemove && message.Thread != "" {
			if head, err := s.Outbox.Posted(ctx, p.Investigation, message.Thread); err == nil {
				at.thread = head.TS
			}
		}
	}
	raw := p.Payload
	if bytes.Contains(raw, []byte(workflow.LinkPlaceholder)) {
		link, err := s.link(ctx, p)
		if err != nil {
			return at, nil, "", err
		}
		quoted, err := json.Marshal(link)
		if err != nil {
			return at, nil, "", fmt.Errorf("writing a link: %w", err)
		}
		raw = bytes.ReplaceAll(raw, []byte(workflow.LinkPlaceholder), quoted[1:len(quoted)-1])
	}
	f = &forms{post: p, raw: raw}
	if p.Attempts >= suspect && strings.Contains(p.LastError, "unknown whether") {
		f.level = plainText
	}
	return at, f, "", nil
}

// link is the permalink that takes the place of LinkPlaceholder; where there is none, the channel.
func (s *Sender) link(ctx context.Context, p workflow.Post) (string, error) {
	fallback := "https://slack.com/app_redirect?channel=" + url.QueryEscape(p.Channel)
	if p.LinkTo == "" {
		return fallback, nil
	}
	to, err := s.Outbox.Posted(ctx, p.Investigation, p.LinkTo)
	switch {
	case errors.Is(err, workflow.ErrUnknown):
		return fallback, nil
	case err != nil:
		return "", fmt.Errorf("looking for a message to link to: %w", err)
	case to.Link != "":
		return to.Link, nil
	case to.TS == "":
		return fallback, nil
	}
	link, err := s.permalink(ctx, to.Channel, to.TS)
	var limited *LimitedError
	if errors.As(err, &limited) {
		return "", err
	}
	return first(link, fallback), nil
}

// permalink asks for the address of a message.
func (s *Sender) permalink(ctx context.Context, channel, ts string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var out struct {
		Link text `json:"permalink"`
	}
	if err := s.Client.call(ctx, "chat.getPermalink", url.Values{"channel": {channel}, "message_ts": {ts}}, &out); err != nil {
		s.Log.Warn("asking for the link of a message", "err", err)
		return "", err
	}
	return string(out.Link), nil
}

// attempt tries the forms of a post until Slack takes one.
func (s *Sender) attempt(ctx context.Context, p workflow.Post, at place, f *forms) (result, error) {
	if p.Kind == workflow.PostRemove {
		return result{ts: at.ts}, s.remove(ctx, at)
	}
	var refused error
	for {
		c, ok := f.next(s.Metrics)
		if !ok {
			if refused == nil {
				refused = &APIError{Method: string(p.Kind), Code: "no_text", Messages: []string{"it has no content to post"}}
			}
			return result{}, refused
		}
		r, err := s.say(ctx, p, at, f, c)
		if err == nil || !badForm(err) {
			return r, err
		}
		s.Log.Warn("Slack refused a post's layout; trying a simpler one", "post", p.ID, "kind", p.Kind, "err", err)
		f.refused(err)
		refused = err
	}
}

func (s *Sender) say(ctx context.Context, p workflow.Post, at place, f *forms, c content) (result, error) {
	switch p.Kind {
	case workflow.PostEdit:
		return s.edit(ctx, p, at, c)
	case workflow.PostFiles:
		return s.files(ctx, p, at, f, c)
	case workflow.PostEphemeral:
		return s.whisper(ctx, p, at, c)
	}
	return s.post(ctx, p, at, c)
}

// args are the arguments that all messages have. Links are never shown with a preview: Slack would fetch addresses that stand in logs.
func (c content) args(at place) url.Values {
	v := url.Values{"channel": {at.channel}, "text": {c.text}, "unfurl_links": {"false"}, "unfurl_media": {"false"}}
	if c.blocks != nil {
		v.Set("blocks", string(c.blocks))
	}
	if c.metadata != nil {
		v.Set("metadata", string(c.metadata))
	}
	if at.thread != "" {
		v.Set("thread_ts", at.thread)
	}
	return v
}

type posted struct {
	TS text `json:"ts"`
}

func (s *Sender) post(ctx context.Context, p workflow.Post, at place, c content) (result, error) {
	var out posted
	err := s.call(ctx, "chat.postMessage", at.channel, c.args(at), &out)
	s.Client.limits.space(postKey(p), s.Now().Add(postSpacing), s.Now())
	if err != nil {
		return result{}, err
	}
	r := result{ts: string(out.TS)}
	if at.thread == "" {
		r.link, _ = s.permalink(ctx, at.channel, r.ts) // without it, it is asked for when somebody links there
	}
	return r, nil
}

func (s *Sender) edit(ctx context.Context, p workflow.Post, at place, c content) (result, error) {
	args := c.args(at)
	args.Set("ts", at.ts)
	args.Del("thread_ts")
	if c.blocks == nil {
		args.Set("blocks", "[]") // without it Slack keeps the old ones
	}
	err := s.call(ctx, "chat.update", at.channel, args, nil)
	s.Client.limits.space(editKey(p), s.Now().Add(editSpacing), s.Now())
	return result{ts: at.ts}, err
}

// remove deletes a message, and its files before: Slack keeps files whose message is gone.
func (s *Sender) remove(ctx context.Context, at place) error {
	var left error
	if at.files {
		left = s.removeFiles(ctx, at)
		if left != nil && code(left) == "" {
			return left
		}
	}
	err := s.call(ctx, "chat.delete", at.channel, url.Values{"channel": {at.channel}, "ts": {at.ts}}, nil)
	if err == nil || code(err) == "message_not_found" {
		return left
	}
	return err
}

// call is Client.call that notes the pace.
func (s *Sender) call(ctx context.Context, method, channel string, args url.Values, out any) error {
	s.Client.limits.used(s.Now(), method)
	err := s.Client.call(ctx, method, args, out)
	var limited *LimitedError
	if errors.As(err, &limited) {
		s.Client.limits.block(method, channel, s.Now().Add(limited.After))
		s.Metrics.RateLimited.WithLabelValues(method).Add(limited.After.Seconds())
	}
	return err
}

// Classes of Slack's errors. What stands in none is treated as a matter of form.
var (
	// nowhere: the place does not take the post, and repeating does not help.
	nowhere = set("not_in_channel channel_not_found is_archived user_not_in_channel user_not_found user_disabled is_inactive cannot_dm_bot " +
		"messages_tab_disabled thread_not_found cannot_reply_to_message message_not_found cant_update_message cant_delete_message edit_window_closed " +
		"restricted_action restricted_action_read_only_channel restricted_action_thread_only_channel restricted_action_non_threadable_channel " +
		"restricted_action_thread_locked as_user_not_supported team_not_found not_allowed no_permission file_sharing_blocked " +
		"slack_connect_file_upload_sharing_blocked slack_connect_canvas_sharing_blocked team_access_not_granted")
	// locked: a person has to fix something; the post waits.
	locked = set("invalid_auth not_authed account_inactive token_revoked token_expired missing_scope not_allowed_token_type ekm_access_denied " +
		"access_denied org_login_required accesslimited")
	// passing: Slack says no for now.
	passing = set("service_unavailable request_timeout team_added_to_org external_channel_migrating http_408 http_502 http_503 temporarily_unavailable")
)

// absent are the codes of nowhere that Slack also gives for a while: the bot was just invited, or a channel is just being moved. A post
// that opens a case would take the case with it, so it is tried again for some minutes.
var absent = set("not_in_channel channel_not_found")

// absentAttempts bounds that: with the pauses between attempts about two minutes.
const absentAttempts = 6

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// badForm says that the message itself is refused, so that another form may be taken.
func badForm(err error) bool {
	c := code(err)
	return c != "" && !nowhere[c] && !locked[c] && !passing[c]
}

// after notes what came of a post.
func (s *Sender) after(ctx context.Context, p workflow.Post, r result, err error) {
	var limited *LimitedError
	var unclear *UnclearError
	var unsent *NotSentError
	var own *workflow.Fault
	switch c := code(err); {
	case err == nil:
		s.done(ctx, p, r)
	case errors.As(err, &limited):
		s.count(p, "delayed")
		s.putBack(ctx, p, limited.After, limited.Error(), false)
	case errors.As(err, &own):
		s.count(p, "retried")
		s.putBack(ctx, p, ownPause, own.Error(), false)
	case errors.As(err, &unclear):
		ids, _ := s.sentFiles(p.ID)
		s.resolve(ctx, p, ids, err)
	case errors.As(err, &unsent), passing[c], absent[c] && p.Attempts < absentAttempts:
		s.count(p, "retried")
		s.putBack(ctx, p, backoff(p.Attempts), err.Error(), false)
	case locked[c]:
		s.Log.Error("Slack doesn't let the bot post, and only a person can fix that; the post waits", "post", p.ID, "err", err)
		s.count(p, "locked")
		s.putBack(ctx, p, max(time.Minute, backoff(p.Attempts)), err.Error(), false)
	default:
		if nowhere[c] {
			s.Client.forget(p.Channel)
		}
		s.giveUp(ctx, p, err.Error())
	}
}

func (s *Sender) count(p workflow.Post, what string) {
	s.Metrics.Posts.WithLabelValues(string(p.Kind), what).Inc()
}

func (s *Sender) done(ctx context.Context, p workflow.Post, r result) {
	s.count(p, "sent")
	s.dropFiles(p.ID)
	s.heads.keep(p, r.ts)
	s.record(ctx, p, "sent", func(ctx context.Context) error { return s.Outbox.Sent(ctx, p.ID, r.ts, r.link) })
}

func (s *Sender) putBack(ctx context.Context, p workflow.Post, after time.Duration, reason string, mark bool) {
	if !p.Added.IsZero() && s.Now().Sub(p.Added) > keepTrying {
		s.giveUp(ctx, p, "tried for a day: "+reason)
		return
	}
	s.again(after)
	s.record(ctx, p, "put back", func(ctx context.Context) error { return s.Outbox.Requeue(ctx, p.ID, after, cut(reason, 500), mark) })
}

func (s *Sender) giveUp(ctx context.Context, p workflow.Post, reason string) {
	s.count(p, "undeliverable")
	s.dropFiles(p.ID)
	s.Log.Error("a post cannot be delivered", "post", p.ID, "kind", p.Kind, "investigation", p.Investigation, "channel", p.Channel, "reason", reason)
	s.record(ctx, p, "undeliverable", func(ctx context.Context) error { return s.Outbox.Undeliverable(ctx, p.ID, cut(reason, 500)) })
	if s.Refused != nil {
		s.Refused(ctx, p, reason)
	}
}

// again makes the next round come in time.
func (s *Sender) again(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.Now().Add(after); s.soon.IsZero() || at.Before(s.soon) {
		s.soon = at
	}
}

// record writes the fate of a post into the store. Slack has spoken, so it is tried until the store takes it: a fate that is lost
// would be asked for again at the next start only, and the lane would wait until then.
func (s *Sender) record(ctx context.Context, p workflow.Post, fate string, write func(context.Context) error) {
	for n := 0; ; n++ {
		err := write(ctx)
		if err == nil {
			return
		}
		if errors.Is(err, workflow.ErrLost) {
			s.Log.Warn("another process took over a post", "post", p.ID, "fate", fate)
			return
		}
		s.Log.Error("recording what became of a post", "post", p.ID, "fate", fate, "err", err)
		if s.Sleep(ctx, min(time.Second<<min(n, 5), 5*time.Second)) != nil {
			return // stopped: the next start settles it
		}
	}
}
