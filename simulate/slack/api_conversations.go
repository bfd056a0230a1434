package slack

import (
	"slices"
	"strings"
)

// ofKind picks, from scopes for public channels, private ones and direct messages, the one that fits the channel.
func (r *room) ofKind(scopes string) string {
	list := strings.Split(scopes, "|")
	switch {
	case r.IM != "":
		return list[2]
	case r.Private:
		return list[1]
	}
	return list[0]
}

// readable finds a channel that the token may read.
func (s *Server) readable(c *call, scopes string) (*room, *apiError) {
	r, err := s.channelFor(c.args.str("channel"))
	if err != nil {
		return nil, err
	}
	if scope := r.ofKind(scopes); !c.has(scope) {
		return nil, c.lacks(scope)
	}
	return r, nil
}

func (s *Server) conversationInfo(c *call) (reply, *apiError) {
	r, err := s.readable(c, readScopes)
	if err != nil {
		return nil, err
	}
	return reply{"channel": s.channelJSON(r)}, nil
}

// channelJSON is a channel as conversations.info shows it to the bot.
func (s *Server) channelJSON(r *room) reply {
	out := reply{
		"id": r.ID, "created": 1_700_000_000, "is_archived": r.Archived, "is_im": r.IM != "", "is_mpim": false,
		"is_channel": r.IM == "" && !r.Private, "is_group": r.Private, "is_private": r.Private || r.IM != "",
		"is_shared": r.ExtShared, "is_ext_shared": r.ExtShared, "is_org_shared": false, "is_pending_ext_shared": false,
		"context_team_id": s.team.TeamID,
	}
	if r.IM != "" {
		out["user"], out["is_open"] = r.IM, true
		return out
	}
	out["name"], out["name_normalized"] = r.Name, r.Name
	out["is_member"] = r.has(s.team.BotUser)
	out["creator"], out["is_general"], out["unlinked"] = Alice, false, 0
	out["topic"], out["purpose"] = reply{"value": "", "creator": "", "last_set": 0}, reply{"value": "", "creator": "", "last_set": 0}
	out["num_members"] = len(r.Members)
	teams := []string{s.team.TeamID}
	if r.ExtShared {
		teams = append(teams, externalTeam)
	}
	out["shared_team_ids"] = teams
	return out
}

func (s *Server) conversationOpen(c *call) (reply, *apiError) {
	users := strings.FieldsFunc(c.args.str("users"), func(r rune) bool { return r == ',' })
	switch {
	case len(users) == 0:
		return nil, fail("users_list_not_supplied")
	case len(users) > 1:
		return nil, fail("method_not_supported_for_channel_type") // group conversations are not simulated
	}
	u := s.users[users[0]]
	switch {
	case u == nil:
		return nil, fail("user_not_found")
	case u.Deleted:
		return nil, fail("user_disabled")
	case u.IsBot:
		return nil, fail("cannot_dm_bot")
	}
	_, there := s.channels["D"+u.ID[1:]]
	r := s.direct(u.ID)
	channel := reply{"id": r.ID}
	if c.args.flag("return_im") {
		channel = reply{"id": r.ID, "created": 1_700_000_000, "is_archived": false, "is_im": true, "is_org_shared": false, "is_open": true,
			"context_team_id": s.team.TeamID, "user": u.ID}
	}
	return reply{"channel": channel, "no_op": there, "already_open": there}, nil
}

// page is what conversations.history and conversations.replies have in common: oldest and latest (exclusive unless
// "inclusive"), limit, cursor, and metadata only on request.
func (c *call) page(list []*Message) (out []Message, next string) {
	limit := c.args.number("limit", 100)
	if limit <= 0 || limit > 1000 {
		limit = 100
	}
	oldest, latest, inclusive := c.args.str("oldest"), c.args.str("latest"), c.args.flag("inclusive")
	for _, m := range list {
		inside := (oldest == "" || m.TS > oldest || (inclusive && m.TS == oldest)) &&
			(latest == "" || m.TS < latest || (inclusive && m.TS == latest))
		if inside {
			copied := m.clone()
			if !c.args.flag("include_all_metadata") {
				copied.Metadata = nil
			}
			out = append(out, copied)
		}
	}
	start := 0
	if cursor := c.args.str("cursor"); cursor != "" {
		start = slices.IndexFunc(out, func(m Message) bool { return "after:"+m.TS == cursor }) + 1
	}
	out = out[start:]
	if len(out) > limit {
		out = out[:limit]
		next = "after:" + out[limit-1].TS
	}
	return out, next
}

func pageReply(list []Message, next string) reply {
	if list == nil {
		list = []Message{}
	}
	return reply{"messages": list, "has_more": next != "", "response_metadata": reply{"next_cursor": next}}
}

// conversationHistory returns the channel's own messages, newest first.
func (s *Server) conversationHistory(c *call) (reply, *apiError) {
	r, err := s.readable(c, historyScopes)
	if err != nil {
		return nil, err
	}
	if !r.has(s.team.BotUser) {
		return nil, fail("not_in_channel")
	}
	var list []*Message
	for _, m := range slices.Backward(r.messages) {
		if !m.Deleted && m.VisibleTo == "" && (!m.InThread() || m.Broadcast) {
			list = append(list, m)
		}
	}
	return pageReply(c.page(list)), nil
}

// conversationReplies returns a thread, oldest first, beginning with its head.
func (s *Server) conversationReplies(c *call) (reply, *apiError) {
	r, err := s.readable(c, historyScopes)
	if err != nil {
		return nil, err
	}
	if !r.has(s.team.BotUser) {
		return nil, fail("not_in_channel")
	}
	head := r.find(c.args.str("ts"))
	if head == nil {
		return nil, fail("thread_not_found")
	}
	if head.InThread() {
		head = r.find(head.ThreadTS)
	}
	var list []*Message
	for _, m := range r.messages {
		if !m.Deleted && m.VisibleTo == "" && (m == head || (head != nil && m.ThreadTS == head.TS)) {
			list = append(list, m)
		}
	}
	return pageReply(c.page(list)), nil
}

// externalTeam is where external users come from.
const externalTeam = "T0EXTERNAL"

func (s *Server) userInfo(c *call) (reply, *apiError) {
	u := s.users[c.args.str("user")]
	if u == nil {
		return nil, fail("user_not_found")
	}
	team := s.team.TeamID
	if u.External {
		team = externalTeam
	}
	return reply{"user": reply{
		"id": u.ID, "team_id": team, "name": u.Name, "real_name": u.RealName, "deleted": u.Deleted, "tz": u.TZ,
		"is_bot": u.IsBot, "is_app_user": false, "is_stranger": u.External, "is_restricted": false,
		"is_ultra_restricted": false, "is_admin": false, "is_owner": false,
		"profile": reply{"real_name": u.RealName, "display_name": u.Name, "real_name_normalized": u.RealName,
			"display_name_normalized": u.Name, "team": team},
	}}, nil
}

func (s *Server) groupUsers(c *call) (reply, *apiError) {
	i := slices.IndexFunc(s.team.Groups, func(g UserGroup) bool { return g.ID == c.args.str("usergroup") })
	if i < 0 {
		return nil, fail("no_such_subteam")
	}
	return reply{"users": s.team.Groups[i].Users}, nil
}
