package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"faultline/workflow"
)

// A response_url works five times within 30 minutes. We stop earlier: its age is counted from when the answer was written,
// which is after the click.
const (
	respondUses = 5
	respondAge  = 25 * time.Minute
	// maxRespond bounds how many response_urls are counted.
	maxRespond = 10000
)

// usable says whether a post can go to its response_url.
func (s *Sender) usable(p workflow.Post) bool {
	if p.Respond == "" || s.Now().Sub(p.Added) >= respondAge {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uses[p.Respond] < respondUses
}

// whisper shows a message to one person: through the response_url, which works in channels that the bot is not in; or as a member.
func (s *Sender) whisper(ctx context.Context, p workflow.Post, at place, c content) (result, error) {
	if s.usable(p) {
		s.mu.Lock()
		if len(s.uses) >= maxRespond {
			clear(s.uses) // Slack counts too
		}
		s.uses[p.Respond]++
		s.mu.Unlock()
		err := s.Client.respond(ctx, p.Respond, at.thread, c)
		if err == nil {
			return result{}, nil
		}
		var unclear *UnclearError
		var limited *LimitedError
		if errors.As(err, &unclear) || errors.As(err, &limited) {
			return result{}, err
		}
		s.Log.Debug("a response_url did not work; answering through the channel instead", "err", err)
	}
	if p.User == "" || at.channel == "" {
		return result{}, &APIError{Method: "response_url", Code: "user_not_found", Messages: []string{"the response_url is used up, and the post names no one else to tell"}}
	}
	args := c.args(at)
	args.Set("user", p.User)
	args.Del("metadata")
	var out struct {
		TS text `json:"message_ts"`
	}
	err := s.call(ctx, "chat.postEphemeral", at.channel, args, &out)
	return result{ts: string(out.TS)}, err
}

// Tell sends an ephemeral sentence to a response_url.
func (c *Client) Tell(ctx context.Context, responseURL, sentence string) error {
	return c.respond(ctx, responseURL, "", content{text: sentence})
}

// respond posts to a response_url. It is an address that came in with a payload, so it is called only if it is Slack's.
func (c *Client) respond(ctx context.Context, responseURL, thread string, msg content) error {
	const method = "response_url"
	u, err := url.Parse(responseURL)
	if err != nil || !c.trusted(u) {
		return &APIError{Method: method, Code: "foreign_response_url"}
	}
	body := map[string]any{"response_type": "ephemeral", "replace_original": false, "text": msg.text}
	if msg.blocks != nil {
		body["blocks"] = msg.blocks
	}
	if thread != "" {
		body["thread_ts"] = thread
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("writing an answer: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(raw))
	if err != nil {
		return &APIError{Method: method, Code: "foreign_response_url"}
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	err = c.doRespond(req, method)
	c.metrics.Calls.WithLabelValues(method, outcome(err)).Inc()
	return err
}

func (c *Client) doRespond(req *http.Request, method string) error {
	resp, err := c.http.Do(req)
	if err != nil {
		return unreached(method, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return &LimitedError{method, retryAfter(resp.Header)}
	case resp.StatusCode >= 500:
		return &UnclearError{method, fmt.Errorf("HTTP status %d", resp.StatusCode)}
	case resp.StatusCode != http.StatusOK:
		return &APIError{Method: method, Code: fmt.Sprintf("http_%d", resp.StatusCode)}
	case err != nil:
		return &UnclearError{method, fmt.Errorf("reading the answer: %w", err)}
	}
	// Slack answers "ok" in plain text, or JSON.
	var h head
	if json.Unmarshal(body, &h) == nil && !h.OK {
		return &APIError{Method: method, Code: first(h.Error, "refused"), Messages: h.Meta.Messages}
	}
	return nil
}
