package slack

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Sign is Slack's signature of a request body: "v0=" and the HMAC-SHA256 of "v0:timestamp:body".
func Sign(secret string, at time.Time, body []byte) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "v0:%s:%s", timestamp, body)
	return timestamp, "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// deliveryClient follows no redirects: Slack does not either.
var deliveryClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// sendHTTP sends an attempt as a signed request. The caller holds mu.
func (s *Server) sendHTTP(a *attempt, reason string) {
	d := a.d
	target, kind, body := s.opts.HTTP.Events, "application/json", []byte(d.payload)
	switch d.kind {
	case slashCommands:
		target, kind, body = s.opts.HTTP.Commands, "application/x-www-form-urlencoded", []byte(query(d.payload))
	case interactivity:
		target, kind = s.opts.HTTP.Interactivity, "application/x-www-form-urlencoded"
		body = []byte(url.Values{"payload": {string(d.payload)}}.Encode())
	}
	if target == "" {
		s.lost(a, "dispatch_failed", "connection_failed")
		return
	}
	f := s.faultLocked("deliver", "")
	at, secret := s.clock.Now(), s.team.SigningSecret
	if f != nil && f.Do == BadSignature {
		secret += "-wrong"
	}
	if f != nil && f.Do == StaleSignature {
		at = at.Add(-f.delay(6 * time.Minute))
	}
	timestamp, signature := Sign(secret, at, body)
	header := http.Header{"Content-Type": {kind}, "X-Slack-Request-Timestamp": {timestamp}, "X-Slack-Signature": {signature},
		"User-Agent": {"Slackbot 1.0 (+https://api.slack.com/robots)"}}
	if d.tries > 1 {
		header.Set("X-Slack-Retry-Num", strconv.Itoa(d.tries-1))
		header.Set("X-Slack-Retry-Reason", httpReason(reason))
	}
	repeat := f != nil && (f.Do == Replay || f.Do == Twice)
	drop := s.faultLocked("ack", "")
	go func() {
		s.exchange(a, target, header, body, drop != nil && drop.Do == DropAck)
		if repeat {
			// The same bytes once more; what comes back counts for nothing.
			again := &attempt{d: &Delivery{s: s, done: make(chan struct{})}, ended: true}
			s.exchange(again, target, header, body, false)
		}
	}()
}

// httpReason is what X-Slack-Retry-Reason calls a failure.
func httpReason(reason string) string {
	if reason == "timeout" {
		return "http_timeout"
	}
	return reason
}

// exchange makes one HTTP request and ends the attempt with what came of it.
func (s *Server) exchange(a *attempt, target string, header http.Header, body []byte, drop bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := s.clock.AfterFunc(s.opts.Patience, cancel)
	defer stop()
	e := Entry{Dir: "out", Kind: "http", Method: a.d.kind, Query: target, Body: string(body),
		Auth: header.Get("X-Slack-Signature")}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(string(body)))
	if err != nil {
		e.Error = err.Error()
		s.record(e)
		s.lose(a, "connection_failed")
		return
	}
	req.Header = header
	resp, err := deliveryClient.Do(req)
	if err != nil {
		e.Error = err.Error()
		s.record(e)
		if !errors.Is(err, context.Canceled) { // the watch for the acknowledgement has its own say
			s.lose(a, "connection_failed")
		}
		return
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	e.Status, e.Response = resp.StatusCode, string(answer)
	if err != nil {
		e.Error = err.Error()
	}
	if drop {
		e.Error = "fault: " + DropAck
	}
	s.record(e)
	switch {
	case drop:
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		reason := "http_error"
		if resp.Header.Get("X-Slack-No-Retry") == "1" {
			reason = "no_retry"
		}
		s.lose(a, reason)
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.acknowledged(a, asPayload(answer, resp.Header.Get("Content-Type")))
	}
}

func (s *Server) lose(a *attempt, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost(a, "dispatch_failed", reason)
}

// asPayload turns the body of an acknowledgement into what a socket would have carried: JSON as it is, text as a message.
func asPayload(body []byte, contentType string) json.RawMessage {
	trimmed := strings.TrimSpace(string(body))
	switch {
	case trimmed == "":
		return nil
	case json.Valid([]byte(trimmed)) && (strings.Contains(contentType, "json") || strings.HasPrefix(trimmed, "{")):
		return json.RawMessage(trimmed)
	}
	return encode(reply{"text": trimmed})
}

// VerifyURL does what Slack does when a request URL for events is entered: it sends a challenge, which must come back.
func (s *Server) VerifyURL(ctx context.Context) error {
	challenge := "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"
	body := encode(reply{"token": "sim", "challenge": challenge, "type": "url_verification"})
	timestamp, signature := Sign(s.team.SigningSecret, s.clock.Now(), body)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.opts.HTTP.Events, strings.NewReader(string(body)))
	if err != nil {
		return fmt.Errorf("asking the app for the challenge: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Slack-Request-Timestamp", timestamp)
	req.Header.Set("X-Slack-Signature", signature)
	resp, err := deliveryClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking the app for the challenge: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return fmt.Errorf("reading the app's answer to the challenge: %w", err)
	}
	s.record(Entry{Dir: "out", Kind: "http", Method: "url_verification", Body: string(body), Status: resp.StatusCode, Response: string(answer)})
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(answer), challenge) {
		return fmt.Errorf("the app answered the challenge with status %d and %q", resp.StatusCode, answer)
	}
	return nil
}
