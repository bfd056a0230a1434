package slack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// maxBody is more than Slack takes; nobody may fill the memory.
const maxBody = 64 << 20

// args are the arguments of a call, from a form or from a JSON body.
type args struct {
	form url.Values
	json map[string]json.RawMessage
}

// str returns a string argument; numbers and booleans of a JSON body come as they were written.
func (a args) str(name string) string {
	if a.json == nil {
		return a.form.Get(name)
	}
	raw := a.json[name]
	var v string
	if json.Unmarshal(raw, &v) == nil {
		return v
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// given says whether an argument was sent at all.
func (a args) given(name string) bool {
	if a.json == nil {
		return a.form.Has(name)
	}
	raw, ok := a.json[name]
	return ok && string(raw) != "null"
}

// raw returns an argument that is JSON: in a form always a string that holds it; in a JSON body either that or the value.
func (a args) raw(name string) json.RawMessage {
	if !a.given(name) {
		return nil
	}
	if a.json == nil || bytes.HasPrefix(a.json[name], []byte(`"`)) {
		if v := a.str(name); v != "" {
			return json.RawMessage(v)
		}
		return nil
	}
	return a.json[name]
}

func (a args) flag(name string) bool {
	v := a.str(name)
	return v == "true" || v == "1"
}

func (a args) number(name string, otherwise int) int {
	n, err := strconv.Atoi(a.str(name))
	if err != nil {
		return otherwise
	}
	return n
}

// apiError is an answer with "ok": false.
type apiError struct {
	code     string
	messages []string // response_metadata.messages
	needed   string
	provided string
}

func fail(code string) *apiError { return &apiError{code: code} }

func invalidBlocks(problems []Problem) *apiError {
	e := fail("invalid_blocks")
	for _, p := range problems {
		if p.Code != "" {
			return fail(p.Code)
		}
		e.messages = append(e.messages, fmt.Sprintf("[ERROR] %s [json-pointer:%s]", p.Text, p.Pointer))
	}
	return e
}

// missing names an argument that Slack calls required.
func missing(name string) *apiError {
	e := fail("invalid_arguments")
	e.messages = []string{fmt.Sprintf("[ERROR] missing required field: %s", name)}
	return e
}

// reply is the body of an answer.
type reply map[string]any

// call is one use of the Web API.
type call struct {
	method string
	args   args
	token  *Token

	hideShares bool // a fault
}

// has says whether the token of the call has one of the scopes, which are separated by "|".
func (c *call) has(scopes string) bool {
	for _, scope := range strings.Split(scopes, "|") {
		if slices.Contains(c.token.Scopes, scope) {
			return true
		}
	}
	return scopes == ""
}

func (c *call) lacks(scope string) *apiError {
	return &apiError{code: "missing_scope", needed: strings.ReplaceAll(scope, "|", ","), provided: strings.Join(c.token.Scopes, ",")}
}

// serveAPI answers /api/<method>. Whatever goes wrong, Slack answers 200 with "ok": false, except for rate limits.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("method")
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		writeJSON(w, http.StatusBadRequest, reply{"ok": false, "error": "request_timeout"})
		return
	}
	a, apiErr := readArgs(r, body)
	c := &call{method: name, args: a}
	value := bearer(r)
	if value == "" {
		value = a.str("token")
	}
	entry := Entry{Dir: "in", Kind: "api", Method: name, Channel: a.str("channel") + a.str("channel_id"),
		Token: tokenClass(value), Body: string(body), Query: r.URL.RawQuery, Auth: r.Header.Get("Authorization")}

	f := s.fault(name, entry.Channel)
	if f.before(w, r, s.clock) {
		entry.Status, entry.Error = f.Status, "fault: "+f.Do
		if f.Do == RateLimit {
			entry.Status = http.StatusTooManyRequests
		}
		s.record(entry)
		return
	}
	if wait := s.limited(name, entry.Channel); wait > 0 && apiErr == nil {
		entry.Status, entry.Error = http.StatusTooManyRequests, "ratelimited"
		s.record(entry)
		tooMany(w, wait)
		return
	}
	var answer reply
	if apiErr == nil && f != nil && f.Do == Refuse {
		apiErr = fail(f.Error)
	}
	if apiErr == nil {
		c.hideShares = f != nil && f.Do == HideShares
		answer, apiErr = s.serve(c, value)
	}
	answer = finish(answer, apiErr)
	entry.Status, entry.Response = http.StatusOK, string(encode(answer))
	if apiErr != nil {
		entry.Error = apiErr.code
	}
	if c.token != nil {
		w.Header().Set("X-OAuth-Scopes", strings.Join(c.token.Scopes, ","))
		if m := methods[name]; m.scope != "" {
			w.Header().Set("X-Accepted-OAuth-Scopes", strings.ReplaceAll(m.scope, "|", ","))
		}
	}
	if f != nil && f.Do == FailAfter {
		entry.Status = f.status()
		s.record(entry)
		http.Error(w, "the effect took place, the answer did not", f.status())
		return
	}
	s.record(entry)
	writeJSON(w, http.StatusOK, answer)
}

// serve does the work of a call under the lock.
func (s *Server) serve(c *call, token string) (reply, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[c.method]++
	m, known := methods[c.method]
	if !known {
		return nil, fail("unknown_method")
	}
	if token == "" {
		return nil, fail("not_authed")
	}
	i := slices.IndexFunc(s.team.Tokens, func(t Token) bool { return t.Value == token })
	if i < 0 {
		return nil, fail("invalid_auth")
	}
	t := s.team.Tokens[i]
	c.token = &t
	switch {
	case t.Revoked:
		return nil, fail("token_revoked")
	case m.app != t.appLevel() && m.scope != "":
		return nil, fail("not_allowed_token_type")
	case !c.has(m.scope):
		return nil, c.lacks(m.scope)
	}
	return m.do(s, c)
}

func finish(answer reply, err *apiError) reply {
	if err == nil {
		if answer == nil {
			answer = reply{}
		}
		answer["ok"] = true
		return answer
	}
	answer = reply{"ok": false, "error": err.code}
	if len(err.messages) > 0 {
		answer["response_metadata"] = reply{"messages": err.messages}
		if err.code == "invalid_blocks" || err.code == "invalid_arguments" {
			var plain []string
			for _, m := range err.messages {
				plain = append(plain, strings.TrimPrefix(m, "[ERROR] "))
			}
			answer["errors"] = plain
		}
	}
	if err.code == "missing_scope" {
		answer["needed"], answer["provided"] = err.needed, err.provided
	}
	return answer
}

// readArgs reads the arguments of a call once, whatever form they have.
func readArgs(r *http.Request, body []byte) (args, *apiError) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && len(bytes.TrimSpace(body)) > 0 {
		return args{form: r.URL.Query()}, fail("invalid_post_type")
	}
	switch kind {
	case "application/json":
		a := args{json: map[string]json.RawMessage{}}
		if len(bytes.TrimSpace(body)) > 0 && json.Unmarshal(body, &a.json) != nil {
			return args{form: url.Values{}}, fail("invalid_json")
		}
		return a, nil
	case "multipart/form-data":
		form, err := readMultipart(body, params["boundary"])
		if err != nil {
			return args{form: url.Values{}}, fail("invalid_form_data")
		}
		return args{form: form}, nil
	case "application/x-www-form-urlencoded", "":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return args{form: url.Values{}}, fail("invalid_form_data")
		}
		for k, v := range r.URL.Query() {
			if !form.Has(k) {
				form[k] = v
			}
		}
		return args{form: form}, nil
	}
	return args{form: url.Values{}}, fail("invalid_post_type")
}

func bearer(r *http.Request) string {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

func tokenClass(token string) string {
	switch {
	case token == "":
		return "none"
	case strings.HasPrefix(token, "xoxb-"):
		return "bot"
	case strings.HasPrefix(token, "xapp-"):
		return "app"
	}
	return "other"
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func readArgsJSON(raw []byte) (args, error) {
	a := args{json: map[string]json.RawMessage{}}
	return a, json.Unmarshal(raw, &a.json)
}
