package slack

import (
	"encoding/json"
	"io"
	"time"
)

// Options says what the look-alike is at its start. The zero value is a default workspace on the real clock, strict about
// Block Kit and without rate limits. What has no JSON form (clock, journal, validators) is set in Go only.
type Options struct {
	Workspace Workspace `json:"workspace"`
	// RateLimits switches Slack's limits per method and channel on.
	RateLimits bool `json:"rate_limits"`
	// PingEvery is the time between two WebSocket PINGs, 10 s unless set. It runs on the real clock also when Clock is a
	// fake one: clients watch it with theirs.
	PingEvery time.Duration `json:"ping_every"`
	// Patience is how long an app may take to acknowledge and how long a trigger may be used: Slack's 3 s unless set. More
	// is for tests that must not depend on how busy their machine is. What can be acknowledged no more (the socket
	// ended, a fault) is given up after Slack's time all the same.
	Patience time.Duration `json:"patience"`
	// HTTP, when any of its addresses is set, makes the server deliver there instead of over sockets.
	HTTP HTTPTargets `json:"http"`
	// Faults are in force from the start.
	Faults []Fault `json:"faults"`
	// BaseURL is how clients reach the server, such as http://127.0.0.1:8080. Start sets it; otherwise it is taken from
	// the first request.
	BaseURL string `json:"base_url"`

	Clock   Clock     `json:"-"`
	Journal io.Writer `json:"-"`
	// ValidateMessage and ValidateView check what the bot sends; unset, they are the strict checks of Block Kit's limits.
	ValidateMessage Validator `json:"-"`
	ValidateView    Validator `json:"-"`
}

// HTTPTargets are the request URLs of an app that does not use Socket Mode.
type HTTPTargets struct {
	Commands      string `json:"commands"`
	Interactivity string `json:"interactivity"`
	Events        string `json:"events"`
}

func (h HTTPTargets) used() bool { return h.Commands != "" || h.Interactivity != "" || h.Events != "" }

// Validator returns one problem for everything that Slack would refuse in a message or a view.
type Validator func(json.RawMessage) []Problem

// Problem is one reason why Slack refuses blocks: where (a JSON pointer) and why. Code is Slack's error where it is not
// invalid_blocks.
type Problem struct{ Pointer, Text, Code string }

// Clock is what the server knows of time. NewFakeClock makes one that stands still.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once, in its own goroutine or in that of whoever moves the clock; stop prevents that and says
	// whether it came in time.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }
func (realClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}
