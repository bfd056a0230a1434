package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"faultline/chat"
	"faultline/messages/blockkit"
)

// How long answers about permissions are kept.
const (
	channelTTL = 5 * time.Minute
	groupTTL   = 10 * time.Minute
	maxCached  = 5000
)

var _ chat.Surface = (*Client)(nil)

// OpenView implements chat.Surface.
func (c *Client) OpenView(ctx context.Context, trigger string, v blockkit.View) (string, error) {
	raw, err := viewJSON(v)
	if err != nil {
		return "", err
	}
	var out struct {
		View struct {
			ID text `json:"id"`
		} `json:"view"`
	}
	err = c.call(ctx, "views.open", url.Values{"trigger_id": {trigger}, "view": {raw}}, &out)
	if expired(err) {
		return "", chat.ErrTriggerExpired
	}
	if err != nil {
		return "", fmt.Errorf("opening a window: %w", err)
	}
	return string(out.View.ID), nil
}

// expired knows all the ways in which Slack says that a trigger was used or is too old.
func expired(err error) bool {
	switch code(err) {
	case "expired_trigger_id", "exchanged_trigger_id", "trigger_expired", "trigger_exchanged":
		return true
	case "invalid_arguments":
		var e *APIError
		return errors.As(err, &e) && slices.ContainsFunc(e.Messages, func(m string) bool {
			return strings.Contains(m, "trigger_id") && strings.Contains(m, "expired")
		})
	}
	return false
}

// UpdateView implements chat.Surface.
func (c *Client) UpdateView(ctx context.Context, id string, v blockkit.View) error {
	raw, err := viewJSON(v)
	if err != nil {
		return err
	}
	if err := c.call(ctx, "views.update", url.Values{"view_id": {id}, "view": {raw}}, nil); err != nil {
		return fmt.Errorf("changing a window: %w", err)
	}
	return nil
}

// PublishHome implements chat.Surface. Of the view only what a home tab can have is used: title and buttons are not.
func (c *Client) PublishHome(ctx context.Context, user string, v blockkit.View) error {
	v.Submit, v.Close = nil, nil
	if v.Title == nil {
		v.Title = blockkit.Plain("Home") // the validator knows modals, and a modal has a title
	}
	raw, err := viewJSON(v)
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(raw), &fields); err != nil {
		return fmt.Errorf("writing the home tab: %w", err)
	}
	for _, modal := range []string{"title", "submit", "close", "notify_on_close", "clear_on_close"} {
		delete(fields, modal)
	}
	fields["type"] = json.RawMessage(`"home"`)
	tab, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("writing the home tab: %w", err)
	}
	if err := c.call(ctx, "views.publish", url.Values{"user_id": {user}, "view": {string(tab)}}, nil); err != nil {
		return fmt.Errorf("showing the home tab: %w", err)
	}
	return nil
}

// Replace implements chat.Surface.
func (c *Client) Replace(ctx context.Context, channel, ts string, m blockkit.Message) error {
	raw, err := json.Marshal(m.Blocks)
	if err != nil {
		return fmt.Errorf("writing a message: %w", err)
	}
	args := url.Values{"channel": {channel}, "ts": {ts}, "text": {m.Text}, "blocks": {string(raw)}}
	if err := c.call(ctx, "chat.update", args, nil); err != nil {
		return fmt.Errorf("replacing a message: %w", err)
	}
	return nil
}

func viewJSON(v blockkit.View) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("writing a window: %w", err)
	}
	if problems := blockkit.ValidateView(raw); len(problems) > 0 {
		return "", fmt.Errorf("window %q isn't valid for Slack: %v", v.CallbackID, problems)
	}
	return string(raw), nil
}

// Direct implements chat.Surface.
func (c *Client) Direct(ctx context.Context, user string) (string, error) {
	var out struct {
		Channel struct {
			ID text `json:"id"`
		} `json:"channel"`
	}
	if err := c.call(ctx, "conversations.open", url.Values{"users": {user}}, &out); err != nil {
		return "", fmt.Errorf("opening direct messages with %s: %w", user, err)
	}
	if out.Channel.ID == "" {
		return "", fmt.Errorf("opening direct messages with %s: Slack returned no channel", user)
	}
	return string(out.Channel.ID), nil
}

type channelAnswer struct {
	Channel struct {
		Name       text     `json:"name"`
		IM         bool     `json:"is_im"`
		MPIM       bool     `json:"is_mpim"`
		Private    bool     `json:"is_private"`
		Group      bool     `json:"is_group"`
		Archived   bool     `json:"is_archived"`
		Member     bool     `json:"is_member"`
		ExtShared  bool     `json:"is_ext_shared"`
		PendingExt bool     `json:"is_pending_ext_shared"`
		Shared     bool     `json:"is_shared"`
		OrgShared  bool     `json:"is_org_shared"`
		Connected  []string `json:"connected_team_ids"`
	} `json:"channel"`
}

// ChannelInfo implements chat.Surface. Answers are kept for 5 minutes.
func (c *Client) ChannelInfo(ctx context.Context, channel string) (chat.ChannelInfo, error) {
	a, ok := lookup(&c.cache, c.cache.channels, channel, c.now())
	if !ok {
		err := c.call(ctx, "conversations.info", url.Values{"channel": {channel}}, &a)
		var refused *APIError
		if errors.As(err, &refused) && refused.Code == "channel_not_found" {
			return chat.ChannelInfo{Private: true}, nil // a private channel that the bot was not invited to
		}
		if err != nil {
			return chat.ChannelInfo{}, fmt.Errorf("asking about channel %s: %w", channel, err)
		}
		// Who was told to invite the bot does so and asks again: that it is missing is never remembered.
		if a.Channel.Member || a.Channel.IM || a.Channel.MPIM {
			keep(&c.cache, c.cache.channels, channel, a, c.now(), channelTTL)
		}
	}
	ch := a.Channel
	return chat.ChannelInfo{
		Name: clean(ch.Name.id()), Direct: ch.IM || ch.MPIM, Private: ch.Private || ch.Group, Archived: ch.Archived,
		Shared: ch.ExtShared || ch.PendingExt || len(ch.Connected) > 0 || (ch.Shared && !ch.OrgShared),
		Member: ch.Member || ch.IM || ch.MPIM,
	}, nil
}

// InGroup implements chat.Surface. Answers are kept for 10 minutes.
func (c *Client) InGroup(ctx context.Context, group, user string) (bool, error) {
	users, ok := lookup(&c.cache, c.cache.groups, group, c.now())
	if !ok {
		var out struct {
			Users []string `json:"users"`
		}
		if err := c.call(ctx, "usergroups.users.list", url.Values{"usergroup": {group}}, &out); err != nil {
			return false, fmt.Errorf("asking who is in the user group %s: %w", group, err)
		}
		users = out.Users
		keep(&c.cache, c.cache.groups, group, users, c.now(), groupTTL)
	}
	return slices.Contains(users, user), nil
}

// Forget drops the cached answers about a channel: Slack just said that they are wrong.
func (c *Client) forget(channel string) {
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	delete(c.cache.channels, channel)
}

// cache keeps answers for a while.
type cache struct {
	mu       sync.Mutex
	channels map[string]cached[channelAnswer]
	groups   map[string]cached[[]string]
}

type cached[V any] struct {
	value V
	until time.Time
}

func lookup[V any](c *cache, m map[string]cached[V], key string, now time.Time) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := m[key]
	return v.value, ok && now.Before(v.until)
}

func keep[V any](c *cache, m map[string]cached[V], key string, value V, now time.Time, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(m) >= maxCached {
		clear(m)
	}
	m[key] = cached[V]{value, now.Add(ttl)}
}
