package slack

import (
	"fmt"
	"time"
)

// Nothing can be sent through Socket Mode that Slack would answer, so a connection that is open, gets Slack's pings and
// delivers nothing ("deaf") cannot be told from one in a quiet hour. The watchdog therefore does three things:
//
//   - it replaces a connection on which nothing came for a while, one at a time and only while the others are open, so that a
//     deaf one is deaf for that long at most;
//   - it compares the number of connections that Slack names in each hello with those that are open here: fewer mean that
//     Slack has lost one that looks alive from here, and the oldest are replaced at once;
//   - it replaces a connection that never heard hello.

// helloTimeout is how long after opening Slack's hello must have come.
const helloTimeout = 30 * time.Second

// helloSpread: the hellos of connections that open together are read in any order, and the larger count is the later one.
const helloSpread = 5 * time.Second

// replaceTime is how long replacing a connection may take before it is called a problem.
const replaceTime = time.Minute

// ghostPause keeps a count of Slack's that is always too low from causing one replacement after the other.
const ghostPause = 2 * time.Minute

// watch replaces at most one connection.
func (s *Sockets) watch(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, reason := s.suspect(now)
	if k == nil {
		return
	}
	s.inbox.Metrics.Recycled.WithLabelValues(reason).Inc()
	s.log.Info("replacing a connection to Slack", "socket", k.n, "reason", reason, "open_since", k.opened, "last_inbound", k.inbound)
	s.down(k)
	if reason == ghost {
		s.conns, s.ghosted = 0, now // until the next hello says more
	}
	k.cancel()
}

// Reasons to replace a connection.
const (
	noHello = "no hello"
	ghost   = "Slack counts fewer"
	idle    = "idle"
)

func (s *Sockets) suspect(now time.Time) (*socket, string) {
	var open []*socket
	for _, k := range s.list {
		if k.open {
			open = append(open, k)
		}
	}
	for _, k := range open {
		if k.hello.IsZero() && now.Sub(k.opened) >= helloTimeout {
			return k, noHello
		}
	}
	if len(open) < len(s.list) {
		return nil, "" // one at a time
	}
	if s.conns > 0 && s.conns < len(open) && now.Sub(s.ghosted) >= ghostPause {
		return quietest(open), ghost
	}
	if k := quietest(open); k != nil && now.Sub(k.heard()) >= s.opt.Idle {
		return k, idle
	}
	return nil, ""
}

// heard is when the connection last showed that Slack delivers over it: something came in, or it is new.
func (k *socket) heard() time.Time {
	if k.inbound.After(k.opened) {
		return k.inbound
	}
	return k.opened
}

func quietest(list []*socket) *socket {
	var q *socket
	for _, k := range list {
		if q == nil || k.heard().Before(q.heard()) {
			q = k
		}
	}
	return q
}

// down notes that a connection is not open any more. The caller holds mu.
func (s *Sockets) down(k *socket) {
	if k.open {
		k.open, k.closed = false, s.inbox.Now()
	}
	s.gauge()
}

// gauge counts the open connections. The caller holds mu.
func (s *Sockets) gauge() {
	n := 0
	for _, k := range s.list {
		if k.open {
			n++
		}
	}
	s.inbox.Metrics.Sockets.Set(float64(n))
}

// SocketHealth is one connection.
type SocketHealth struct {
	N                            int
	Open                         bool
	Opened, LastHello, LastInput time.Time
	Error                        string
}

// Health is the state of the connection to Slack.
type Health struct {
	Sockets     []SocketHealth
	Open        int
	Connections int // of the whole app, as Slack last said; more than all replicas hold are ghosts
	LastHello   time.Time
	LastInbound time.Time
	Auth        string // what is wrong with the tokens, "" = nothing
	// Problems are sentences; none means that people can reach the bot, as far as that can be known.
	Problems []string
}

// Health tells how the connections are.
func (s *Sockets) Health() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, long := s.inbox.Now(), 0
	h := Health{Connections: s.conns, LastInbound: s.inbox.LastInbound()}
	for _, k := range s.list {
		h.Sockets = append(h.Sockets, SocketHealth{N: k.n, Open: k.open, Opened: k.opened, LastHello: k.hello, LastInput: k.inbound, Error: k.err})
		if k.open && !k.hello.IsZero() {
			h.Open++
		}
		if !k.open && now.Sub(k.closed) > replaceTime {
			long++
		}
		if k.hello.After(h.LastHello) {
			h.LastHello = k.hello
		}
		if k.fatal {
			h.Auth = k.err
		}
	}
	if h.Auth != "" {
		h.Problems = append(h.Problems, "Slack refuses the app-level token: "+h.Auth)
	}
	switch {
	case h.Open == 0:
		h.Problems = append(h.Problems, "no connection to Slack is open, so nobody can reach the bot")
	case long > 0: // a moment without one of them is how Slack works
		h.Problems = append(h.Problems, fmt.Sprintf("only %d of %d connections to Slack are open", h.Open, len(s.list)))
	}
	if h.Connections > 0 && h.Connections < h.Open {
		h.Problems = append(h.Problems, fmt.Sprintf("Slack counts %d connections but %d look open from here: some are dead", h.Connections, h.Open))
	}
	return h
}
