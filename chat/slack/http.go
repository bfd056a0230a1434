package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"

	"faultline/config"
)

const (
	// maxBody bounds a request; Slack's largest payloads, clicks on messages full of blocks, are some 100 KB.
	maxBody = 1 << 20
	// skew is how far the clock of a request may be off. The same value is in slack-go.
	skew = 5 * time.Minute
	// maxSeen bounds the memory of signatures: more requests than Slack sends a workspace in two skews.
	maxSeen = 20000
)

// Handler serves /slack/commands, /slack/interactive and /slack/events for the HTTP transport. Requests that are not
// signed with the secret, whose time is off by more than 5 minutes, or that were seen before are refused.
//
// Slack repeats an event that was not acknowledged with a new time and signature: that is no replay, and the key of the event
// makes it harmless.
func (b *Inbox) Handler(signing config.Secret) http.Handler {
	s := &signed{inbox: b, secret: signing, seen: map[string]time.Time{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /slack/commands", s.serve(fromCommand))
	mux.HandleFunc("POST /slack/interactive", s.serve(fromInteractive))
	mux.HandleFunc("POST /slack/events", s.serve(fromEvents))
	return mux
}

type signed struct {
	inbox  *Inbox
	secret config.Secret

	mu   sync.Mutex
	seen map[string]time.Time // signature → when it may be forgotten
}

func (s *signed) serve(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		received := s.inbox.Now()
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			var large *http.MaxBytesError
			if errors.As(err, &large) {
				s.refuse(w, "too large", http.StatusRequestEntityTooLarge)
				return
			}
			s.refuse(w, "cut short", http.StatusBadRequest)
			return
		}
		if reason := s.verify(r.Header, body, received); reason != "" {
			s.refuse(w, reason, http.StatusUnauthorized)
			return
		}
		raw, err := jsonOf(kind, body)
		if err != nil {
			s.inbox.Metrics.BadMessages.Inc()
			s.refuse(w, "no payload", http.StatusBadRequest)
			return
		}
		v := s.inbox.take(r.Context(), kind, raw, received)
		switch {
		case v.bad:
			// Repeating would not make it readable.
			w.Header().Set("X-Slack-No-Retry", "1")
			http.Error(w, "unreadable payload", http.StatusBadRequest)
		case !v.ack:
			s.forget(r.Header)
			http.Error(w, "not stored, please repeat", http.StatusServiceUnavailable)
		case v.body == nil:
			w.WriteHeader(http.StatusOK)
		default:
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_ = json.NewEncoder(w).Encode(v.body) // the connection is gone; Slack will say so to the person
		}
	}
}

func (s *signed) refuse(w http.ResponseWriter, reason string, code int) {
	s.inbox.Metrics.Refused.WithLabelValues(reason).Inc()
	s.inbox.Log.Warn("a request to the Slack endpoints was refused", "reason", reason)
	http.Error(w, http.StatusText(code), code)
}

// verify returns why a request is refused, or "".
func (s *signed) verify(h http.Header, body []byte, now time.Time) string {
	// slack-go measures the skew against the computer's clock; this one is the injected clock.
	stamp, err := strconv.ParseInt(h.Get("X-Slack-Request-Timestamp"), 10, 64)
	if err != nil {
		return "unsigned"
	}
	if now.Sub(time.Unix(stamp, 0)).Abs() > skew {
		return "clock skew"
	}
	v, err := slackgo.NewSecretsVerifier(h, s.secret.Reveal())
	switch {
	case errors.Is(err, slackgo.ErrExpiredTimestamp):
		return "clock skew"
	case err != nil:
		return "unsigned"
	}
	if _, err := v.Write(body); err != nil {
		return "unsigned"
	}
	if err := v.Ensure(); err != nil {
		return "wrong signature"
	}
	if !s.fresh(h.Get("X-Slack-Signature"), now) {
		return "replay"
	}
	return ""
}

// fresh remembers a signature for as long as its time would be accepted.
func (s *signed) fresh(signature string, now time.Time) bool {
	signature = strings.ToLower(signature) // hex: another case would be the same signature
	s.mu.Lock()
	defer s.mu.Unlock()
	if until, ok := s.seen[signature]; ok && now.Before(until) {
		return false
	}
	if len(s.seen) >= maxSeen {
		for k, until := range s.seen {
			if !now.Before(until) {
				delete(s.seen, k)
			}
		}
		if len(s.seen) >= maxSeen {
			return false // refusing is safer than forgetting, and nobody but Slack can get here
		}
	}
	s.seen[signature] = now.Add(2 * skew)
	return true
}

func (s *signed) forget(h http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, strings.ToLower(h.Get("X-Slack-Signature")))
}

// jsonOf takes the JSON out of a request body: events are JSON, interactions a form with a payload, commands a form.
func jsonOf(kind string, body []byte) ([]byte, error) {
	if kind == fromEvents {
		return body, nil
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fmt.Errorf("reading the form of a request: %w", errPayload)
	}
	if kind == fromCommand {
		return commandJSON(form)
	}
	if p := form.Get("payload"); p != "" {
		return []byte(p), nil
	}
	return nil, fmt.Errorf("a form without a payload: %w", errPayload)
}
