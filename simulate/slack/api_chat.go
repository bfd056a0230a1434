package slack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// channelFor finds a channel as the bot sees it: private channels without the bot do not exist for it, and a user's id
// stands for the direct messages with that user.
func (s *Server) channelFor(id string) (*room, *apiError) {
	if u := s.users[id]; u != nil && !u.IsBot {
		return s.direct(u.ID), nil
	}
	r := s.channels[id]
	if r == nil || (r.Private && !r.has(s.team.BotUser)) {
		return nil, fail("channel_not_found")
	}
	return r, nil
}

// direct returns the direct messages between a user and the bot, opening them if need be.
func (s *Server) direct(user string) *room {
	id := "D" + user[1:]
	if s.channels[id] == nil {
		s.channels[id] = &room{Channel: Channel{ID: id, Name: "dm-" + s.users[user].Name, IM: user, Members: []string{user, s.team.BotUser}}}
	}
	return s.channels[id]
}

// writable finds a channel and says whether the bot may write there.
func (s *Server) writable(c *call) (*room, *apiError) {
	if c.args.str("channel") == "" {
		return nil, fail("channel_not_found")
	}
	r, err := s.channelFor(c.args.str("channel"))
	switch {
	case err != nil:
		return nil, err
	case r.Archived:
		return nil, fail("is_archived")
	case !r.has(s.team.BotUser) && !c.has("chat:write.public"):
		return nil, fail("not_in_channel")
	}
	return r, nil
}

// thread checks a thread_ts: it must be a message of the channel that can have replies.
func (r *room) thread(ts string) *apiError {
	if ts == "" {
		return nil
	}
	switch parent := r.find(ts); {
	case parent == nil:
		return fail("thread_not_found")
	case parent.InThread():
		return fail("cannot_reply_to_message")
	}
	return nil
}

func (s *Server) authTest(c *call) (reply, *apiError) {
	out := reply{"url": "https://" + s.team.Domain + ".slack.com/", "team": s.team.TeamName, "team_id": s.team.TeamID,
		"is_enterprise_install": false}
	if c.token.appLevel() {
		out["app_id"], out["app_name"] = s.team.AppID, "Faultline"
		return out, nil
	}
	out["user"], out["user_id"], out["bot_id"] = s.users[s.team.BotUser].Name, s.team.BotUser, s.team.BotID
	return out, nil
}

func (s *Server) chatPost(c *call) (reply, *apiError) {
	r, err := s.writable(c)
	if err != nil {
		return nil, err
	}
	body, err := s.readContent(c.args, maxText)
	if err != nil {
		return nil, err
	}
	if body.text == "" && (body.blocks == nil || isEmptyList(body.blocks)) && body.attachments == nil {
		return nil, fail("no_text")
	}
	if err := r.thread(c.args.str("thread_ts")); err != nil {
		return nil, err
	}
	m := s.byBot(body)
	m.ThreadTS = c.args.str("thread_ts")
	if m.Broadcast = m.ThreadTS != "" && c.args.flag("reply_broadcast"); m.Broadcast {
		m.Subtype = "thread_broadcast"
	}
	s.post(r, m)
	return warn(reply{"channel": r.ID, "ts": m.TS, "message": m.clone()}, body), nil
}

// warn adds the warnings to an answer the way Slack words them.
func warn(out reply, c content) reply {
	warning := c.warning
	if warning == "" && c.text == "" && c.blocks != nil {
		warning = "missing_text_in_message"
	}
	if warning == "" {
		return out
	}
	out["warning"] = warning
	meta := reply{"warnings": []string{warning}}
	if warning == "message_truncated" {
		meta["messages"] = []string{"[WARN] Your message was truncated but still posted."}
	}
	out["response_metadata"] = meta
	return out
}

func (s *Server) chatUpdate(c *call) (reply, *apiError) {
	r, err := s.writable(c)
	if err != nil {
		return nil, err
	}
	m := r.find(c.args.str("ts"))
	switch {
	case m == nil || m.Subtype == "tombstone":
		return nil, fail("message_not_found")
	case m.BotID != s.team.BotID:
		return nil, fail("cant_update_message")
	}
	body, err := s.readContent(c.args, maxUpdateText)
	if err != nil {
		return nil, err
	}
	if !c.args.given("text") && body.blocks == nil && body.attachments == nil {
		return nil, fail("no_text")
	}
	s.change(m, body, c.args.given("text"))
	return warn(reply{"channel": r.ID, "ts": m.TS, "text": m.Text, "message": m.withoutPlace()}, body), nil
}

// withoutPlace is a message as chat.update answers it. The response types of Slack's own client, which were made from
// recorded answers, have nothing in it that says where the message stands.
func (m *Message) withoutPlace() reply {
	out := reply{}
	if err := json.Unmarshal(encode(m), &out); err != nil {
		return nil // what was just encoded can be decoded
	}
	for _, key := range []string{"ts", "thread_ts", "subtype", "attachments", "reply_count", "latest_reply", "reactions"} {
		delete(out, key)
	}
	return out
}

func (s *Server) chatDelete(c *call) (reply, *apiError) {
	r, err := s.channelFor(c.args.str("channel"))
	if err != nil {
		return nil, err
	}
	m := r.find(c.args.str("ts"))
	switch {
	case m == nil || m.Subtype == "tombstone":
		return nil, fail("message_not_found")
	case m.BotID != s.team.BotID:
		return nil, fail("cant_delete_message")
	}
	s.remove(r, m)
	return reply{"channel": r.ID, "ts": m.TS}, nil
}

func (s *Server) chatEphemeral(c *call) (reply, *apiError) {
	r, err := s.writable(c)
	if err != nil {
		return nil, err
	}
	user := c.args.str("user")
	switch {
	case s.users[user] == nil:
		return nil, fail("user_not_found")
	case !r.has(user):
		return nil, fail("user_not_in_channel")
	}
	body, err := s.readContent(c.args, maxText)
	if err != nil {
		return nil, err
	}
	if body.text == "" && (body.blocks == nil || isEmptyList(body.blocks)) && body.attachments == nil {
		return nil, fail("no_text")
	}
	if err := r.thread(c.args.str("thread_ts")); err != nil {
		return nil, err
	}
	m := s.byBot(body)
	m.VisibleTo, m.ThreadTS = user, c.args.str("thread_ts")
	s.post(r, m)
	return warn(reply{"message_ts": m.TS}, body), nil
}

func (s *Server) permalink(r *room, m *Message) string {
	link := fmt.Sprintf("https://%s.slack.com/archives/%s/p%s", s.team.Domain, r.ID, strings.ReplaceAll(m.TS, ".", ""))
	if m.InThread() {
		link += "?thread_ts=" + m.ThreadTS + "&cid=" + r.ID
	}
	return link
}

func (s *Server) chatPermalink(c *call) (reply, *apiError) {
	r, err := s.channelFor(c.args.str("channel"))
	if err != nil {
		return nil, err
	}
	m := r.find(c.args.str("message_ts"))
	if m == nil {
		return nil, fail("message_not_found")
	}
	return reply{"channel": r.ID, "permalink": s.permalink(r, m)}, nil
}

func (s *Server) reactionsAdd(c *call) (reply, *apiError) {
	r, err := s.channelFor(c.args.str("channel"))
	if err != nil {
		return nil, err
	}
	m := r.find(c.args.str("timestamp"))
	switch {
	case c.args.str("name") == "":
		return nil, fail("invalid_name")
	case m == nil:
		return nil, fail("message_not_found")
	case r.Archived:
		return nil, fail("is_archived")
	}
	name := strings.Trim(c.args.str("name"), ":")
	i := slices.IndexFunc(m.Reactions, func(x Reaction) bool { return x.Name == name })
	if i < 0 {
		m.Reactions = append(m.Reactions, Reaction{Name: name})
		i = len(m.Reactions) - 1
	}
	if slices.Contains(m.Reactions[i].Users, s.team.BotUser) {
		return nil, fail("already_reacted")
	}
	m.Reactions[i].Users = append(slices.Clone(m.Reactions[i].Users), s.team.BotUser)
	m.Reactions[i].Count++
	s.touch()
	return reply{}, nil
}
