package slack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"faultline/simulate/slack"
)

var start = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// serve starts a look-alike with a clock that stands still.
func serve(t *testing.T, change func(*slack.Options)) (*slack.Server, *slack.FakeClock) {
	t.Helper()
	clock := slack.NewFakeClock(start)
	opts := slack.Options{Clock: clock}
	if change != nil {
		change(&opts)
	}
	s := slack.New(opts)
	if _, err := s.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, clock
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

type answer map[string]any

func (a answer) at(path string) any {
	var v any = map[string]any(a)
	for _, key := range strings.Split(path, ".") {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func (a answer) str(path string) string {
	v, _ := a.at(path).(string)
	return v
}

// response is what came back besides the body.
type response struct {
	StatusCode int
	Header     http.Header
}

// post sends a body to the server and returns the response with its body read.
func post(t *testing.T, target, kind, token string, body []byte) (response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(soon(t), http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header}, out
}

func parse(t *testing.T, raw []byte) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("no JSON: %s", raw)
	}
	return a
}

// call uses the Web API with a JSON body and the bot's token.
func call(t *testing.T, s *slack.Server, method string, args map[string]any) answer {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	_, body := post(t, s.URL()+"/api/"+method, "application/json; charset=utf-8", slack.BotToken, raw)
	return parse(t, body)
}

// form uses the Web API with a form, token included.
func form(t *testing.T, s *slack.Server, method string, args url.Values) answer {
	t.Helper()
	_, body := post(t, s.URL()+"/api/"+method, "application/x-www-form-urlencoded", "", []byte(args.Encode()))
	return parse(t, body)
}

// must is call for calls that have to work.
func must(t *testing.T, s *slack.Server, method string, args map[string]any) answer {
	t.Helper()
	a := call(t, s, method, args)
	if a["ok"] != true {
		t.Fatalf("%s: %v", method, a)
	}
	return a
}

// app is a Socket Mode client as small as it can be.
type app struct {
	t  *testing.T
	ws *websocket.Conn
}

type envelope struct {
	Type           string
	Reason         string
	EnvelopeID     string         `json:"envelope_id"`
	RetryReason    string         `json:"retry_reason"`
	RetryAttempt   int            `json:"retry_attempt"`
	NumConnections int            `json:"num_connections"`
	Accepts        bool           `json:"accepts_response_payload"`
	DebugInfo      map[string]any `json:"debug_info"`
	Payload        json.RawMessage
}

func dial(t *testing.T, s *slack.Server) *app {
	t.Helper()
	_, body := post(t, s.URL()+"/api/apps.connections.open", "application/x-www-form-urlencoded", slack.AppToken, nil)
	link := parse(t, body).str("url")
	ws, resp, err := websocket.DefaultDialer.DialContext(soon(t), link, nil)
	if err != nil {
		t.Fatalf("dialling %q: %v", link, err)
	}
	resp.Body.Close()
	t.Cleanup(func() { ws.Close() })
	return &app{t, ws}
}

// connect is dial for sockets that are welcome.
func connect(t *testing.T, s *slack.Server) *app {
	t.Helper()
	a := dial(t, s)
	if e := a.next(); e.Type != "hello" {
		t.Fatalf("no hello but %+v", e)
	}
	return a
}

func (a *app) next() envelope {
	a.t.Helper()
	var e envelope
	_ = a.ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	if err := a.ws.ReadJSON(&e); err != nil {
		a.t.Fatalf("reading from the socket: %v", err)
	}
	return e
}

func (a *app) ack(e envelope, payload any) {
	a.t.Helper()
	frame := map[string]any{"envelope_id": e.EnvelopeID}
	if payload != nil {
		frame["payload"] = payload
	}
	if err := a.ws.WriteJSON(frame); err != nil {
		a.t.Fatalf("writing to the socket: %v", err)
	}
}

// closed reads until the socket ends and returns the close code, 1006 for a cut.
func (a *app) closed() int {
	_ = a.ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	for {
		_, _, err := a.ws.ReadMessage()
		var ce *websocket.CloseError
		switch {
		case errors.As(err, &ce):
			return ce.Code
		case err != nil:
			return websocket.CloseAbnormalClosure
		}
	}
}

func wait(t *testing.T, d *slack.Delivery) slack.Ack {
	t.Helper()
	ack, err := d.Wait(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	return ack
}

func section(text string) map[string]any {
	return map[string]any{"type": "section", "text": map[string]any{"type": "mrkdwn", "text": text}}
}

func button(label, action, value string) map[string]any {
	return map[string]any{"type": "button", "action_id": action, "value": value,
		"text": map[string]any{"type": "plain_text", "text": label}}
}

func actions(list ...any) map[string]any { return map[string]any{"type": "actions", "elements": list} }

func texts(list []slack.Message) []string {
	var out []string
	for _, m := range list {
		out = append(out, m.Text)
	}
	return out
}
