package slack

import (
	"encoding/json"
	"io"
	"net/http"
	"sort"
	"strings"
	"time"
)

// A response_url works so often and so long.
const (
	hookUses = 5
	hookLife = 30 * time.Minute
)

// hook is a response_url: where it answers to, and what it may replace.
type hook struct {
	user    string
	channel string
	origin  string // ts of the message that was clicked, or of what this hook posted
	expires time.Time
	uses    int
}

// hookFor makes a response_url for something that a user did in a channel.
func (s *Server) hookFor(user, channel, origin string) string {
	id := strings.ToLower(s.id("h"))
	s.hooks[id] = &hook{user: user, channel: channel, origin: origin, expires: s.clock.Now().Add(hookLife)}
	return s.base + "/hooks/" + id
}

// serveHook is a POST to a response_url; it needs no token.
func (s *Server) serveHook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		http.Error(w, "reading the request failed", http.StatusBadRequest)
		return
	}
	e := Entry{Dir: "in", Kind: "hook", Method: "response_url", Body: string(body), Query: r.URL.Path, Auth: r.Header.Get("Authorization")}
	f := s.fault("response_url", "")
	if f.before(w, r, s.clock) {
		e.Status, e.Error = f.status(), "fault: "+f.Do
		s.record(e)
		return
	}
	a, apiErr := readArgs(r, body)
	if a.json == nil && a.form.Has("payload") { // the old form: JSON in a form field
		a = args{json: map[string]json.RawMessage{}}
		if json.Unmarshal([]byte(r.FormValue("payload")), &a.json) != nil {
			apiErr = fail("invalid_payload")
		}
	}
	if apiErr == nil {
		apiErr = s.useHook(r.PathValue("hook"), a)
	}
	e.Status = http.StatusOK
	if apiErr != nil {
		e.Error, e.Status = apiErr.code, http.StatusNotFound
		if apiErr.messages != nil || strings.HasPrefix(apiErr.code, "invalid") || apiErr.code == "no_text" {
			e.Status = http.StatusBadRequest
		}
	}
	answer := finish(nil, apiErr)
	if f != nil && f.Do == FailAfter {
		e.Status, answer = f.status(), reply{"ok": false, "error": "injected fault"}
	}
	e.Response = string(encode(answer))
	s.record(e)
	writeJSON(w, e.Status, answer)
}

func (s *Server) useHook(id string, a args) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hooks[id]
	switch {
	case h == nil:
		return fail("no_such_url")
	case s.clock.Now().After(h.expires):
		return fail("expired_url")
	case h.uses >= hookUses:
		return fail("used_url")
	}
	r := s.channels[h.channel]
	c, err := s.readContent(a, maxText)
	if err != nil {
		return err
	}
	if a.flag("delete_original") {
		m := r.visible(h.origin)
		if m == nil {
			return fail("message_not_found")
		}
		h.uses++
		s.remove(r, m)
		return nil
	}
	if c.text == "" && (c.blocks == nil || isEmptyList(c.blocks)) && c.attachments == nil {
		return fail("no_text")
	}
	if err := r.thread(a.str("thread_ts")); err != nil {
		return err
	}
	h.uses++
	if m := r.visible(h.origin); a.flag("replace_original") && m != nil {
		s.change(m, c, a.given("text"))
		return nil
	}
	m := s.answerIn(r, h.user, c, a)
	if h.origin == "" {
		h.origin = m.TS // a slash command has no original: the first answer becomes it
	}
	return nil
}

// answerIn posts what a response_url or an acknowledgement says: to the user alone unless response_type is in_channel.
func (s *Server) answerIn(r *room, user string, c content, a args) *Message {
	m := s.byBot(c)
	m.ThreadTS = a.str("thread_ts")
	if a.str("response_type") != "in_channel" {
		m.VisibleTo = user
	}
	return s.post(r, m)
}

// visible finds a message also when it is ephemeral.
func (r *room) visible(ts string) *Message {
	i := sort.Search(len(r.messages), func(i int) bool { return r.messages[i].TS >= ts })
	if i == len(r.messages) || r.messages[i].TS != ts || r.messages[i].Deleted {
		return nil
	}
	return r.messages[i]
}

// fromSlack tells one user something that comes from Slack itself.
func (s *Server) fromSlack(r *room, user, thread, text string) {
	s.post(r, &Message{User: slackbot, Text: text, VisibleTo: user, ThreadTS: thread})
}

const slackbot = "USLACKBOT"
