package slack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Slash runs a slash command as a user, such as Slash(Alice, Training, "/diagnose", "12345"). Slack's own /invite works
// too; it is delivered to nobody, and so the delivery is nil.
func (s *Server) Slash(user, channel, command, text string) (*Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.place(user, channel)
	if err != nil {
		return nil, err
	}
	if command == "/invite" {
		return nil, s.inviteBy(user, r, text)
	}
	if !slices.Contains(s.team.Commands, command) {
		s.fromSlack(r, user, "", fmt.Sprintf("`%s` is not a valid command.", command))
		return nil, fmt.Errorf("no app has the command %s", command)
	}
	s.record(Entry{Dir: "user", Kind: "user", Method: "slash", Channel: channel, Body: user + " " + command + " " + text})
	name := r.Name
	switch {
	case r.IM != "":
		name = "directmessage"
	case r.Private:
		name = "privategroup"
	}
	payload := map[string]string{
		"token": "sim", "team_id": s.team.TeamID, "team_domain": s.team.Domain, "channel_id": r.ID, "channel_name": name,
		"user_id": user, "user_name": s.users[user].Name, "command": command, "text": text, "api_app_id": s.team.AppID,
		"is_enterprise_install": "false", "response_url": s.hookFor(user, r.ID, ""), "trigger_id": s.trigger(user),
	}
	return s.deliver(&Delivery{
		kind: slashCommands, payload: encode(payload), accepts: true,
		answer: func(ack json.RawMessage) error { return s.answerSlash(r, user, ack) },
		failed: func(reason string) {
			s.fromSlack(r, user, "", fmt.Sprintf("%s failed with the error %q", command, reason))
		},
	}), nil
}

// answerSlash posts what the acknowledgement of a command says.
func (s *Server) answerSlash(r *room, user string, ack []byte) error {
	if len(ack) == 0 || string(ack) == "{}" {
		return nil
	}
	a, err := argsOf(ack)
	if err != nil {
		return err
	}
	c, apiErr := s.readContent(a, maxText)
	if apiErr != nil {
		return fmt.Errorf("the answer in the acknowledgement was refused: %s %v", apiErr.code, apiErr.messages)
	}
	if c.text == "" && c.blocks == nil {
		return nil
	}
	s.answerIn(r, user, c, a)
	return nil
}

// inviteBy takes the users named in the text, such as "@faultline", into a channel.
func (s *Server) inviteBy(user string, r *room, text string) error {
	for _, word := range strings.Fields(text) {
		name := strings.Trim(word, "<@>")
		for _, u := range s.users {
			if u.ID != name && !strings.EqualFold(u.Name, name) && !strings.EqualFold(u.RealName, name) {
				continue
			}
			if !r.has(u.ID) {
				r.Members = append(slices.Clone(r.Members), u.ID)
				s.post(r, &Message{Subtype: "channel_join", User: u.ID, Text: fmt.Sprintf("<@%s> was added to the channel by <@%s>.", u.ID, user)})
			}
			return nil
		}
	}
	s.fromSlack(r, user, "", "Nobody of that name is here. Write for example `/invite @"+s.users[s.team.BotUser].Name+"`.")
	return fmt.Errorf("nobody is named by %q", text)
}

// place finds a channel in which a user can do something.
func (s *Server) place(user, channel string) (*room, error) {
	if s.users[user] == nil {
		return nil, fmt.Errorf("there is no user %s", user)
	}
	if channel == s.team.BotUser {
		return s.direct(user), nil
	}
	r := s.channels[channel]
	switch {
	case r == nil:
		return nil, fmt.Errorf("there is no channel %s", channel)
	case !r.has(user):
		return nil, fmt.Errorf("%s is not in #%s", s.users[user].Name, r.Name)
	case r.Archived:
		return nil, fmt.Errorf("#%s is archived", r.Name)
	}
	return r, nil
}

// Direct returns the id of the direct messages between a user and the bot.
func (s *Server) Direct(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.direct(user).ID
}

// Say posts a message as a user, into a thread unless thread is empty. A mention of the bot, written <@BotUser>, is
// delivered to it as app_mention; the delivery is nil when there was none. files are ids that Upload gave.
func (s *Server) Say(user, channel, thread, text string, files ...string) (Message, *Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.place(user, channel)
	if err != nil {
		return Message{}, nil, err
	}
	if e := r.thread(thread); e != nil {
		return Message{}, nil, fmt.Errorf("there is no thread %s in #%s: %s", thread, r.Name, e.code)
	}
	m := &Message{User: user, Text: text, ThreadTS: thread, Upload: len(files) > 0}
	for _, id := range files {
		f := s.files[id]
		if f == nil || f.deleted || f.User != user {
			return Message{}, nil, fmt.Errorf("%s has no file %s", s.users[user].Name, id)
		}
		m.Files = append(m.Files, f)
	}
	s.record(Entry{Dir: "user", Kind: "user", Method: "say", Channel: channel, Body: user + " " + text})
	m = s.post(r, m)
	s.share(r, m)
	mention := "<@" + s.team.BotUser + ">"
	if !strings.Contains(text, mention) || !r.has(s.team.BotUser) || !slices.Contains(s.team.BotEvents, "app_mention") {
		return m.clone(), nil, nil
	}
	event := reply{"type": "app_mention", "user": user, "text": text, "ts": m.TS, "channel": r.ID, "event_ts": m.TS,
		"team": s.team.TeamID}
	if thread != "" {
		event["thread_ts"] = thread
	}
	if len(m.Files) > 0 {
		event["files"], event["upload"] = m.Files, true
	}
	if s.users[user].External {
		event["user_team"], event["source_team"] = externalTeam, externalTeam
	}
	return m.clone(), s.event(event, r.ExtShared), nil
}

// event delivers an event of the Events API.
func (s *Server) event(event reply, shared bool) *Delivery {
	return s.deliver(&Delivery{kind: eventsAPI, payload: encode(reply{
		"token": "sim", "team_id": s.team.TeamID, "context_team_id": s.team.TeamID, "context_enterprise_id": nil,
		"api_app_id": s.team.AppID, "event": event, "type": "event_callback", "event_id": s.id("Ev"),
		"event_time": s.clock.Now().Unix(), "is_ext_shared_channel": shared, "event_context": "4-" + s.id("E"),
		"authorizations": []reply{{"enterprise_id": nil, "team_id": s.team.TeamID, "user_id": s.team.BotUser, "is_bot": true,
			"is_enterprise_install": false}},
	})})
}

// OpenHome opens the app's home tab as a user.
func (s *Server) OpenHome(user string) (*Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users[user] == nil {
		return nil, fmt.Errorf("there is no user %s", user)
	}
	if !slices.Contains(s.team.BotEvents, "app_home_opened") {
		return nil, fmt.Errorf("the app does not ask for app_home_opened")
	}
	event := reply{"type": "app_home_opened", "user": user, "channel": s.direct(user).ID, "tab": "home", "event_ts": s.ts()}
	if v := s.homes[user]; v != nil {
		event["view"] = s.payload(v)
	}
	return s.event(event, false), nil
}

// Action says what to use in a message or a view.
type Action struct {
	ActionID string `json:"action_id"`
	BlockID  string `json:"block_id,omitempty"` // when several blocks have the same action_id
	// Value picks one of several buttons with the same action_id, or is what to choose in a select.
	Value string `json:"value,omitempty"`
	// Values are what to tick in checkboxes.
	Values []string `json:"values,omitempty"`
	// Text picks a button by its label when ActionID is empty.
	Text string `json:"text,omitempty"`
}

// Click uses an element of a message: it presses a button or chooses in a select. A confirmation dialog is confirmed.
func (s *Server) Click(user, channel, ts string, use Action) (*Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.place(user, channel)
	if err != nil {
		return nil, err
	}
	m := r.visible(ts)
	if m == nil || (m.VisibleTo != "" && m.VisibleTo != user) {
		return nil, fmt.Errorf("%s sees no message %s in #%s", s.users[user].Name, ts, r.Name)
	}
	e, err := find(elements(mustBlocks(m.Blocks)), use)
	if err != nil {
		return nil, err
	}
	s.record(Entry{Dir: "user", Kind: "user", Method: "click", Channel: channel, Body: user + " " + string(encode(use))})
	container := reply{"type": "message", "message_ts": m.TS, "channel_id": r.ID, "is_ephemeral": m.VisibleTo != ""}
	if m.ThreadTS != "" {
		container["thread_ts"] = m.ThreadTS
	}
	v := &View{Blocks: m.Blocks}
	more := reply{
		"container": container, "channel": reply{"id": r.ID, "name": r.hookName()},
		"state": reply{"values": v.stateOf(use.given(e))}, "response_url": s.hookFor(user, r.ID, m.TS),
		"actions": []any{e.action(use, s.ts())},
	}
	if m.VisibleTo == "" { // Slack keeps no ephemeral messages and so cannot send them along
		more["message"] = m.clone()
	}
	payload := s.interaction(user, "block_actions", more)
	return s.deliver(&Delivery{kind: interactivity, payload: payload, failed: func(reason string) {
		s.fromSlack(r, user, m.ThreadTS, fmt.Sprintf("The app did not respond to %q (%s).", e.caption(), reason))
	}}), nil
}

func (r *room) hookName() string {
	if r.IM != "" {
		return "directmessage"
	}
	return r.Name
}

// interaction is what all interactive payloads have in common.
func (s *Server) interaction(user, kind string, more reply) []byte {
	u := s.users[user]
	team := s.team.TeamID
	if u.External {
		team = externalTeam
	}
	out := reply{"type": kind, "token": "sim", "api_app_id": s.team.AppID, "team": reply{"id": s.team.TeamID, "domain": s.team.Domain},
		"user": reply{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": team}, "enterprise": nil,
		"is_enterprise_install": false, "trigger_id": s.trigger(user)}
	for k, v := range more {
		out[k] = v
	}
	return encode(out)
}

// find picks the one element that is meant.
func find(list []element, use Action) (element, error) {
	var hits []element
	for _, e := range list {
		if e.input || (use.ActionID != "" && e.str("action_id") != use.ActionID) ||
			(use.BlockID != "" && e.block.str("block_id") != use.BlockID) || (use.Text != "" && e.label("text") != use.Text) {
			continue
		}
		if use.Value != "" && e.str("type") == "button" && e.str("value") != use.Value {
			continue
		}
		hits = append(hits, e)
	}
	switch {
	case len(hits) == 1:
	case len(hits) == 0:
		return element{}, fmt.Errorf("there is no element %s here; there are: %s", encode(use), captions(list))
	default:
		return element{}, fmt.Errorf("%s fits %d elements", encode(use), len(hits))
	}
	if e := hits[0]; (e.str("type") == "static_select" || e.str("type") == "radio_buttons") && e.option(use.Value) == nil {
		return element{}, fmt.Errorf("%q cannot be chosen in %s", use.Value, e.str("action_id"))
	}
	return hits[0], nil
}

func captions(list []element) string {
	var out []string
	for _, e := range list {
		out = append(out, fmt.Sprintf("%s %q", e.str("action_id"), e.caption()))
	}
	return strings.Join(out, ", ")
}

// caption is what a person reads on an element.
func (e element) caption() string {
	if t := e.label("text"); t != "" {
		return t
	}
	return e.label("placeholder")
}

func (use Action) given(e element) map[string]any {
	if use.Values != nil {
		return map[string]any{e.str("action_id"): use.Values}
	}
	return map[string]any{e.str("action_id"): use.Value}
}

// action is the entry for a used element in a block_actions payload.
func (e element) action(use Action, ts string) reply {
	out := reply{"action_id": e.str("action_id"), "block_id": e.block.str("block_id"), "type": e.str("type"), "action_ts": ts}
	switch e.str("type") {
	case "button", "icon_button":
		out["text"] = e.node["text"]
		for _, key := range []string{"value", "style", "url"} {
			if v := e.str(key); v != "" {
				out[key] = v
			}
		}
	case "feedback_buttons":
		out["value"] = use.Value
	case "overflow":
		out["selected_option"] = e.option(use.Value)
	default:
		for k, v := range e.state(use.given(e)[e.str("action_id")]) {
			out[k] = v
		}
	}
	return out
}

// argsOf reads a JSON object as arguments.
func argsOf(raw []byte) (args, error) {
	a, err := readArgsJSON(raw)
	if err != nil {
		return a, fmt.Errorf("reading the acknowledgement: %w", err)
	}
	return a, nil
}
