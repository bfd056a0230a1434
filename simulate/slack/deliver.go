package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// ackTime is how long Slack lets an app take to acknowledge anything.
const ackTime = 3 * time.Second

// retryAfter is how long Slack waits before it sends an event again after the first, second and third failure.
var retryAfter = []time.Duration{0, time.Minute, 5 * time.Minute}

// Kinds of what is delivered to the app, as the envelopes of Socket Mode call them.
const (
	slashCommands = "slash_commands"
	interactivity = "interactive"
	eventsAPI     = "events_api"
)

// Delivery is something that a user did and that the app has to acknowledge.
type Delivery struct {
	s       *Server
	kind    string
	payload json.RawMessage
	// accepts says whether the acknowledgement may carry an answer.
	accepts bool
	answer  func(json.RawMessage) error // called under the lock
	failed  func(reason string)         // called under the lock, after the last try

	started time.Time
	tries   int
	done    chan struct{}
	ack     Ack
}

// Ack is how a delivery ended.
type Ack struct {
	// OK says that the app acknowledged in time.
	OK bool `json:"ok"`
	// Error is operation_timeout (no acknowledgement in 3 s), dispatch_failed (nobody to send it to, or an HTTP error),
	// or what was wrong with the answer in the acknowledgement.
	Error string `json:"error,omitempty"`
	// After is the time from the user's action to the acknowledgement.
	After   time.Duration   `json:"after"`
	Tries   int             `json:"tries"`
	Payload json.RawMessage `json:"payload,omitempty"`
	// TriggerID and the like are in what was delivered.
	Delivered json.RawMessage `json:"delivered,omitempty"`
}

// Wait returns when the app has acknowledged, or when nothing more will be tried.
func (d *Delivery) Wait(ctx context.Context) (Ack, error) {
	select {
	case <-d.done:
		d.s.mu.Lock()
		defer d.s.mu.Unlock()
		return d.ack, nil
	case <-ctx.Done():
		return Ack{}, fmt.Errorf("waiting for the app to acknowledge: %w", ctx.Err())
	}
}

// Payload is what was or will be sent to the app.
func (d *Delivery) Payload() json.RawMessage { return d.payload }

// attempt is one try to deliver; it ends once.
type attempt struct {
	d         *Delivery
	conn      *conn // nil over HTTP
	stopTimer func() bool
	ended     bool
}

func (a *attempt) stop() {
	a.ended = true
	if a.stopTimer != nil {
		a.stopTimer()
	}
}

// deliver starts a delivery. The caller holds mu; sending happens outside of it.
func (s *Server) deliver(d *Delivery) *Delivery {
	d.s, d.done, d.started = s, make(chan struct{}), s.clock.Now()
	d.ack.Delivered = d.payload
	s.try(d, "")
	return d
}

// try sends a delivery once and watches for the acknowledgement. The caller holds mu.
func (s *Server) try(d *Delivery, reason string) {
	if s.closed {
		return
	}
	d.tries++
	a := &attempt{d: d}
	s.watch(a, s.opts.Patience)
	if s.opts.HTTP.used() {
		s.sendHTTP(a, reason)
		return
	}
	s.sendSocket(a, reason)
}

// watch gives an attempt up after a while. The caller holds mu.
func (s *Server) watch(a *attempt, patience time.Duration) {
	if a.stopTimer != nil {
		a.stopTimer()
	}
	a.stopTimer = s.clock.AfterFunc(patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lost(a, "operation_timeout", "timeout")
	})
}

// hopeless shortens the wait for an acknowledgement that cannot come. The caller holds mu.
func (s *Server) hopeless(a *attempt) {
	if !a.ended && s.opts.Patience > ackTime {
		s.watch(a, ackTime)
	}
}

// acknowledged ends an attempt well. The caller holds mu.
func (s *Server) acknowledged(a *attempt, payload json.RawMessage) {
	if a.ended {
		return
	}
	a.stop()
	d := a.d
	if string(payload) == "null" {
		payload = nil
	}
	d.ack = Ack{OK: true, After: s.clock.Now().Sub(d.started), Tries: d.tries, Payload: payload, Delivered: d.payload}
	if d.answer != nil {
		if err := d.answer(payload); err != nil {
			d.ack.Error = err.Error()
			s.record(Entry{Dir: "in", Kind: "ack", Method: d.kind, Body: string(payload), Error: err.Error()})
		}
	}
	s.end(d)
}

// lost ends an attempt badly: events are tried again, commands and clicks are not. The caller holds mu.
func (s *Server) lost(a *attempt, code, reason string) {
	if a.ended {
		return
	}
	a.stop()
	d := a.d
	for id, other := range s.pending {
		if other == a {
			delete(s.pending, id)
		}
	}
	s.record(Entry{Dir: "out", Kind: "lost", Method: d.kind, Error: code})
	s.touch()
	if d.kind == eventsAPI && d.tries <= len(retryAfter) && reason != "no_retry" {
		again := func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.try(d, reason)
		}
		if wait := retryAfter[d.tries-1]; wait > 0 {
			s.clock.AfterFunc(wait, again)
		} else {
			s.try(d, reason)
		}
		return
	}
	d.ack = Ack{Error: code, After: s.clock.Now().Sub(d.started), Tries: d.tries, Delivered: d.payload}
	if d.failed != nil {
		d.failed(code)
	}
	s.end(d)
}

func (s *Server) end(d *Delivery) {
	close(d.done)
	s.touch()
}
