package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// maxStack is how many modals may lie on top of each other.
const maxStack = 3

type trigger struct {
	user    string
	expires time.Time
	used    bool
}

// View is an open modal, or a user's home tab.
type View struct {
	ID       string `json:"id"`
	User     string `json:"user"` // who sees it
	Hash     string `json:"hash"`
	External string `json:"external_id"`
	// Blocks are checked and have ids.
	Blocks json.RawMessage `json:"blocks"`
	// Errors are what the bot said about fields after the last submission, by block_id.
	Errors map[string]string `json:"errors,omitempty"`
	// Trouble is what Slack shows when the app did not answer in time or answered nonsense.
	Trouble string `json:"trouble,omitempty"`

	body     node // everything that the bot sent but the blocks
	root     string
	previous string
	values   map[string]any // the last state, by block and action
}

// Title is the heading of a modal.
func (v *View) Title() string { return v.body.label("title") }

// CallbackID is what the bot calls this kind of view.
func (v *View) CallbackID() string { return v.body.str("callback_id") }

// PrivateMetadata is what the bot keeps in the view.
func (v *View) PrivateMetadata() string { return v.body.str("private_metadata") }

func (v *View) clone() View { return *v }

// payload is a view as the bot gets it.
func (s *Server) payload(v *View) reply {
	out := reply{}
	for k, val := range v.body {
		out[k] = val
	}
	out["id"], out["hash"], out["team_id"], out["app_id"], out["bot_id"] = v.ID, v.Hash, s.team.TeamID, s.team.AppID, s.team.BotID
	out["root_view_id"], out["app_installed_team_id"] = v.root, s.team.TeamID
	out["previous_view_id"] = nil
	if v.previous != "" {
		out["previous_view_id"] = v.previous
	}
	for _, key := range []string{"private_metadata", "callback_id", "external_id"} {
		if out[key] == nil {
			out[key] = ""
		}
	}
	for _, key := range []string{"submit", "close"} {
		if out[key] == nil {
			out[key] = nil
		}
	}
	out["clear_on_close"], out["notify_on_close"] = v.body.flag("clear_on_close"), v.body.flag("notify_on_close")
	out["blocks"] = v.Blocks
	out["state"] = reply{"values": v.stateOf(nil)}
	if v.values != nil {
		out["state"] = reply{"values": v.values}
	}
	return out
}

// readView checks a view and gives its blocks ids.
func (s *Server) readView(raw json.RawMessage) (node, json.RawMessage, *apiError) {
	if raw == nil {
		return nil, nil, missing("view")
	}
	list, err := parseBlocks(json.RawMessage("[" + string(raw) + "]"))
	if err != nil || len(list) != 1 {
		return nil, nil, fail("invalid_arguments")
	}
	body := list[0]
	if t := body.str("type"); t != "modal" && t != "home" {
		return nil, nil, &apiError{code: "invalid_arguments", messages: []string{"[ERROR] unsupported type: " + t + " [json-pointer:/view/type]"}}
	}
	problems := s.opts.ValidateView(asModal(body, raw))
	if len(problems) > 0 {
		e := fail("invalid_arguments")
		for _, p := range problems {
			e.messages = append(e.messages, fmt.Sprintf("[ERROR] %s [json-pointer:/view%s]", p.Text, p.Pointer))
		}
		return nil, nil, e
	}
	blocks, apiErr := s.checkBlocks(encode(body["blocks"]), nil)
	if apiErr != nil {
		return nil, nil, apiErr
	}
	delete(body, "blocks")
	return body, blocks, nil
}

// asModal dresses a home tab as a modal: it may hold the same blocks, and the validator knows modals.
func asModal(body node, raw json.RawMessage) json.RawMessage {
	if body.str("type") != "home" {
		return raw
	}
	dressed := node{}
	for k, v := range body {
		dressed[k] = v
	}
	dressed["type"], dressed["title"] = "modal", node{"type": "plain_text", "text": "Home"}
	return encode(dressed)
}

// newView makes a view for a user; the caller puts it where it belongs.
func (s *Server) newView(user string, body node, blocks json.RawMessage) *View {
	v := &View{ID: s.id("V"), User: user, External: body.str("external_id"), Blocks: blocks, body: body}
	v.root = v.ID
	v.Hash = s.ts() + "." + v.ID
	s.views[v.ID] = v
	return v
}

// trigger makes a trigger_id for something a user did.
func (s *Server) trigger(user string) string {
	id := s.id("1") + "." + s.id("2")
	s.triggers[id] = &trigger{user: user, expires: s.clock.Now().Add(s.opts.Patience)}
	return id
}

// useTrigger takes a trigger_id, which works once and for as long as Slack waits for an acknowledgement.
func (s *Server) useTrigger(id string) (*trigger, *apiError) {
	t := s.triggers[id]
	switch {
	case id == "":
		return nil, missing("trigger_id")
	case t == nil:
		return nil, fail("invalid_trigger_id")
	case t.used:
		return nil, fail("exchanged_trigger_id")
	case s.clock.Now().After(t.expires):
		return nil, fail("expired_trigger_id")
	}
	t.used = true
	return t, nil
}

func (s *Server) viewsOpen(c *call) (reply, *apiError) {
	body, blocks, err := s.readView(c.args.raw("view"))
	if err != nil {
		return nil, err
	}
	if body.str("type") != "modal" {
		return nil, fail("invalid_arguments")
	}
	t, err := s.useTrigger(c.args.str("trigger_id"))
	if err != nil {
		return nil, err
	}
	if ext := body.str("external_id"); ext != "" && s.byExternalID(ext) != nil {
		return nil, fail("duplicate_external_id")
	}
	s.closeAll(t.user)
	v := s.newView(t.user, body, blocks)
	s.stacks[t.user] = []*View{v}
	s.touch()
	return reply{"view": s.payload(v)}, nil
}

func (s *Server) viewsPush(c *call) (reply, *apiError) {
	body, blocks, err := s.readView(c.args.raw("view"))
	if err != nil {
		return nil, err
	}
	t, err := s.useTrigger(c.args.str("trigger_id"))
	if err != nil {
		return nil, err
	}
	v, err := s.push(t.user, body, blocks)
	if err != nil {
		return nil, err
	}
	return reply{"view": s.payload(v)}, nil
}

func (s *Server) push(user string, body node, blocks json.RawMessage) (*View, *apiError) {
	stack := s.stacks[user]
	switch {
	case len(stack) == 0:
		return nil, fail("no_active_view") // not documented; Slack cannot get here
	case len(stack) >= maxStack:
		return nil, fail("push_limit_reached")
	}
	v := s.newView(user, body, blocks)
	v.root, v.previous = stack[0].ID, stack[len(stack)-1].ID
	s.stacks[user] = append(stack, v)
	s.touch()
	return v, nil
}

func (s *Server) byExternalID(id string) *View {
	for _, v := range s.views {
		if id != "" && v.External == id {
			return v
		}
	}
	return nil
}

func (s *Server) viewsUpdate(c *call) (reply, *apiError) {
	v := s.views[c.args.str("view_id")]
	if v == nil {
		v = s.byExternalID(c.args.str("external_id"))
	}
	if v == nil {
		return nil, fail("not_found")
	}
	if h := c.args.str("hash"); h != "" && h != v.Hash {
		return nil, fail("hash_conflict")
	}
	body, blocks, err := s.readView(c.args.raw("view"))
	if err != nil {
		return nil, err
	}
	s.replace(v, body, blocks)
	return reply{"view": s.payload(v)}, nil
}

// replace puts new content into an open view. What people have typed into blocks that stay is kept.
func (s *Server) replace(v *View, body node, blocks json.RawMessage) {
	v.body, v.Blocks, v.External = body, blocks, body.str("external_id")
	v.Hash = s.ts() + "." + v.ID
	v.Errors, v.Trouble, v.values = nil, "", nil
	s.touch()
}

func (s *Server) viewsPublish(c *call) (reply, *apiError) {
	user := c.args.str("user_id")
	if s.users[user] == nil {
		return nil, fail("invalid_arguments")
	}
	body, blocks, err := s.readView(c.args.raw("view"))
	if err != nil {
		return nil, err
	}
	if body.str("type") != "home" {
		return nil, fail("invalid_arguments")
	}
	v := s.homes[user]
	switch {
	case v == nil:
		v = s.newView(user, body, blocks)
		s.homes[user] = v
	case c.args.str("hash") != "" && c.args.str("hash") != v.Hash:
		return nil, fail("hash_conflict")
	default:
		s.replace(v, body, blocks)
	}
	s.touch()
	return reply{"view": s.payload(v)}, nil
}

// closeTop takes the topmost modal away; closeAll takes all.
func (s *Server) closeTop(user string) {
	if stack := s.stacks[user]; len(stack) > 0 {
		delete(s.views, stack[len(stack)-1].ID)
		s.stacks[user] = stack[:len(stack)-1]
	}
	s.touch()
}

func (s *Server) closeAll(user string) {
	for _, v := range s.stacks[user] {
		delete(s.views, v.ID)
	}
	delete(s.stacks, user)
	s.touch()
}

// answerSubmission does what the bot's acknowledgement of a submission says.
func (s *Server) answerSubmission(v *View, raw json.RawMessage) error {
	if s.views[v.ID] != v {
		return nil // closed in the meantime
	}
	var ack struct {
		Action string            `json:"response_action"`
		Errors map[string]string `json:"errors"`
		View   json.RawMessage   `json:"view"`
	}
	if len(raw) > 0 && json.Unmarshal(raw, &ack) != nil {
		v.Trouble = trouble
		s.touch()
		return errors.New("the acknowledgement of a submission is no JSON object")
	}
	switch ack.Action {
	case "":
		s.closeTop(v.User)
		return nil
	case "clear":
		s.closeAll(v.User)
		return nil
	case "errors":
		return s.showErrors(v, ack.Errors)
	case "update", "push":
		body, blocks, err := s.readView(ack.View)
		if err == nil && ack.Action == "push" {
			_, err = s.push(v.User, body, blocks)
		} else if err == nil {
			s.replace(v, body, blocks)
		}
		if err != nil {
			v.Trouble = trouble
			s.touch()
			return fmt.Errorf("the view in the acknowledgement was refused: %s %v", err.code, err.messages)
		}
		return nil
	}
	v.Trouble = trouble
	s.touch()
	return fmt.Errorf("response_action %q is none", ack.Action)
}

// trouble is what Slack shows when an app does not do its part.
const trouble = "We had some trouble connecting. Try again?"

func (s *Server) showErrors(v *View, list map[string]string) error {
	inputs := map[string]bool{}
	for _, b := range mustBlocks(v.Blocks) {
		if b.str("type") == "input" {
			inputs[b.str("block_id")] = true
		}
	}
	defer s.touch()
	for id, text := range list {
		if !inputs[id] || text == "" {
			v.Trouble = trouble
			return fmt.Errorf("the acknowledgement has an error for block %q, which is no input block of the view", id)
		}
	}
	if len(list) == 0 {
		v.Trouble = trouble
		return errors.New("response_action errors came without errors")
	}
	v.Errors = list
	return nil
}
