package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/websocket"
)

// socket opens a Socket Mode connection, waits for Slack's hello and closes it. Slack gives a socket nothing before its hello is
// out, and this one is closed at once, so that it takes no delivery away from a running bot.
func (d *doctor) socket(ctx context.Context) {
	if d.cfg.Slack.Mode == "http" {
		return
	}
	token := d.cfg.Slack.AppToken.Reveal()
	if token == "" {
		return // told already
	}
	n, err := d.hello(ctx, token)
	switch {
	case err != nil:
		d.fail("socket", "%s. Is Socket Mode enabled in the app, and can this machine open WebSockets to *.slack.com (port 443)?", timedOut(err))
	case n > d.cfg.Slack.Sockets+1:
		d.warn("socket", "connected; Slack counts %d connections for this app, more than slack.sockets (%d) plus this one: is another bot using the same app?", n, d.cfg.Slack.Sockets)
	default:
		d.ok("socket", "connected; Slack counts %s for this app, including this one.", count(n, "connection"))
	}
}

// hello returns how many connections of the app Slack counts.
func (d *doctor) hello(ctx context.Context, token string) (int, error) {
	api := d.cfg.Slack.APIURL
	if api == "" {
		api = "https://slack.com/api/"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, api+"apps.connections.open", strings.NewReader(url.Values{}.Encode()))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var answer struct {
		OK         bool
		Error, URL string
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 64<<10)).Decode(&answer); err != nil {
		return 0, errors.New("the answer cannot be read")
	}
	if !answer.OK {
		return 0, errors.New("no connection is given: " + answer.Error)
	}
	// The address is a ticket: it stays out of errors.
	conn, handshake, err := websocket.DefaultDialer.DialContext(ctx, answer.URL, nil)
	if handshake != nil && handshake.Body != nil {
		defer handshake.Body.Close()
	}
	if err != nil {
		return 0, errors.New("the WebSocket cannot be opened")
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetReadDeadline(deadline)
	}
	var hello struct {
		Type        string `json:"type"`
		Connections int    `json:"num_connections"`
	}
	if err := conn.ReadJSON(&hello); err != nil || hello.Type != "hello" {
		return 0, errors.New("the WebSocket opens, but Slack does not say hello")
	}
	return hello.Connections, nil
}
