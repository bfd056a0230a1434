package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Refusal is what Slack's client says about fields before anything is sent, by block_id.
type Refusal map[string]string

func (r Refusal) Error() string {
	text := "the form is not complete:"
	for _, id := range sortedKeys(r) {
		text += fmt.Sprintf(" %s: %s", id, r[id])
	}
	return text
}

// Views returns the open modals of a user, the topmost last.
func (s *Server) Views(user string) []View {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []View
	for _, v := range s.stacks[user] {
		out = append(out, v.clone())
	}
	return out
}

// Home returns what the bot published as a user's home tab.
func (s *Server) Home(user string) (View, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.homes[user]
	if v == nil {
		return View{}, false
	}
	return v.clone(), true
}

// WaitView waits until a user's topmost modal fits the condition (any modal for nil), and returns it.
func (s *Server) WaitView(ctx context.Context, user string, fits func(View) bool) (View, error) {
	var found View
	err := s.Until(ctx, func() bool {
		list := s.Views(user)
		if len(list) == 0 {
			return false
		}
		found = list[len(list)-1]
		return fits == nil || fits(found)
	})
	if err != nil {
		return View{}, fmt.Errorf("a modal for %s: %w", user, err)
	}
	return found, nil
}

// open finds an open modal of a user; no id means the topmost.
func (s *Server) open(user, id string) (*View, error) {
	stack := s.stacks[user]
	if len(stack) == 0 {
		return nil, fmt.Errorf("%s has no open modal", user)
	}
	top := stack[len(stack)-1]
	if id != "" && top.ID != id {
		return nil, fmt.Errorf("the modal %s is not the topmost of %s", id, user)
	}
	return top, nil
}

// Submit fills and submits the topmost modal of a user. Values are by action_id or block_id: text, the value of an
// option, a list of those for checkboxes, a list of file ids for a file input. What Slack's client would not let pass
// comes back as a Refusal and is not sent.
func (s *Server) Submit(user, viewID string, values map[string]any) (*Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.open(user, viewID)
	if err != nil {
		return nil, err
	}
	if v.body.label("submit") == "" && slices.ContainsFunc(mustBlocks(v.Blocks), func(b node) bool { return b.str("type") == "input" }) {
		return nil, fmt.Errorf("the modal %q has input fields but nothing to submit them with", v.Title())
	}
	given, err := s.fileValues(v, values)
	if err != nil {
		return nil, err
	}
	state := v.stateOf(given)
	if r := v.refusals(state); len(r) > 0 {
		return nil, Refusal(r)
	}
	v.values, v.Errors, v.Trouble = state, nil, ""
	s.record(Entry{Dir: "user", Kind: "user", Method: "submit", Body: user + " " + v.ID})
	payload := s.interaction(user, "view_submission", reply{"view": s.payload(v), "response_urls": []string{}})
	return s.deliver(&Delivery{
		kind: interactivity, payload: payload, accepts: true,
		answer: func(ack json.RawMessage) error { return s.answerSubmission(v, ack) },
		failed: func(string) { v.Trouble = trouble; s.touch() },
	}), nil
}

// CloseView closes the topmost modal of a user, or all of them as the small cross does. The delivery is nil when the bot
// does not want to know.
func (s *Server) CloseView(user, viewID string, all bool) (*Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.open(user, viewID)
	if err != nil {
		return nil, err
	}
	s.record(Entry{Dir: "user", Kind: "user", Method: "close", Body: user + " " + v.ID})
	all = all || v.body.flag("clear_on_close")
	if all {
		s.closeAll(user)
	} else {
		s.closeTop(user)
	}
	if !v.body.flag("notify_on_close") {
		return nil, nil
	}
	payload := s.interaction(user, "view_closed", reply{"view": s.payload(v), "is_cleared": all})
	return s.deliver(&Delivery{kind: interactivity, payload: payload}), nil
}

// ClickInView uses an element of the topmost modal, or of the home tab if no modal is open.
func (s *Server) ClickInView(user, viewID string, use Action, values map[string]any) (*Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.open(user, viewID)
	if h := s.homes[user]; h != nil && (err != nil || h.ID == viewID) {
		v, err = h, nil
	}
	if err != nil {
		return nil, err
	}
	list := elements(mustBlocks(v.Blocks))
	for i := range list { // elements of input blocks may tell the bot of changes too
		if list[i].block.flag("dispatch_action") {
			list[i].input = false
		}
	}
	e, err := find(list, use)
	if err != nil {
		return nil, err
	}
	given, err := s.fileValues(v, values)
	if err != nil {
		return nil, err
	}
	if e.str("type") != "button" {
		for k, val := range use.given(e) {
			given[k] = val
		}
	}
	v.values = v.stateOf(given)
	s.record(Entry{Dir: "user", Kind: "user", Method: "click in view", Body: user + " " + string(encode(use))})
	payload := s.interaction(user, "block_actions", reply{
		"container": reply{"type": "view", "view_id": v.ID}, "view": s.payload(v), "actions": []any{e.action(use, s.ts())},
	})
	return s.deliver(&Delivery{kind: interactivity, payload: payload, failed: func(string) { v.Trouble = trouble; s.touch() }}), nil
}

// Upload gives a user's file to Slack, as choosing it in a file input does, and returns the file's id.
func (s *Server) Upload(user, name string, content []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.users[user] == nil:
		return "", fmt.Errorf("there is no user %s", user)
	case name == "":
		return "", errors.New("a file has a name")
	}
	f := s.newFile(name, user)
	f.fill(content)
	f.complete = true
	s.record(Entry{Dir: "user", Kind: "user", Method: "upload", Body: user + " " + name})
	s.touch()
	return f.ID, nil
}
