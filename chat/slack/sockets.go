package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	slackgo "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"faultline/messages/redact"
)

const (
	// queued is how many envelopes may wait for a worker. Beyond it they are left unacknowledged: Slack repeats events, and
	// a person whose click is lost is told so by Slack. Blocking instead would stop the reader, which then misses Slack's
	// pings and loses the connection after 30 seconds.
	queued  = 1000
	workers = 16
	// ackTimeout: a later acknowledgement is worth nothing.
	ackTimeout = 3 * time.Second
	// maxEnvelope bounds one message of Slack's.
	maxEnvelope = 4 << 20
	// drainTimeout and flushTime bound a graceful stop.
	drainTimeout = 3 * time.Second
	flushTime    = 200 * time.Millisecond
	// Pauses of a connection that cannot be opened.
	maxPause   = 30 * time.Second
	fatalPause = time.Minute
	// shortLife: a connection that ended sooner, or never heard hello, was refused. slack-go would try again at once, for ever.
	shortLife = time.Second
)

// SocketOptions say how Sockets work; zero values are the defaults.
type SocketOptions struct {
	N            int           // connections, 2; Slack allows 10 per app, of all replicas
	Idle         time.Duration // replace a connection on which nothing came for so long, 10 minutes
	PingInterval time.Duration // give a connection up without Slack's pings, 30 seconds
	Every        time.Duration // how often the watchdog looks, 15 seconds
}

// Sockets receive over Socket Mode. Several connections make up for the moments in which one of them is replaced: Slack
// delivers each payload over any one of them.
type Sockets struct {
	client   *Client
	short    time.Duration // shortLife, but in tests
	inbox    *Inbox
	log      *slog.Logger
	opt      SocketOptions
	work     chan envelope
	list     []*socket
	busy     sync.WaitGroup // envelopes that are taken and not answered yet
	learning atomic.Bool
	mu       sync.Mutex // guards what follows and the sockets' states
	stop     bool
	ghosted  time.Time
	conns    int       // of the whole app, at the newest hello
	counted  time.Time // when that was
}

type socket struct {
	n   int
	api *socketmode.Client

	// Guarded by Sockets.mu.
	cancel  context.CancelFunc
	open    bool
	opened  time.Time
	closed  time.Time // since when it is not open
	hello   time.Time
	inbound time.Time
	refused int           // connections in a row that ended at once
	pause   time.Duration // before the next try
	err     string        // why it is not open
	fatal   bool
}

// envelope is what Socket Mode wraps around a payload.
type envelope struct {
	Type    string          `json:"type"`
	ID      string          `json:"envelope_id"`
	Payload json.RawMessage `json:"payload"`

	from     *socket
	received time.Time
}

// NewSockets makes the connections; Run opens them.
func NewSockets(c *Client, inbox *Inbox, opt SocketOptions) *Sockets {
	def := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	if opt.N <= 0 {
		opt.N = 2
	}
	def(&opt.Idle, 10*time.Minute)
	def(&opt.PingInterval, 30*time.Second)
	def(&opt.Every, 15*time.Second)
	s := &Sockets{client: c, inbox: inbox, log: inbox.Log, opt: opt, short: shortLife, work: make(chan envelope, queued)}
	// No retries, no debug output: payloads hold what people typed.
	api := slackgo.New(c.cfg.BotToken.Reveal(), slackgo.OptionAppLevelToken(c.cfg.AppToken.Reveal()), slackgo.OptionAPIURL(c.cfg.APIURL),
		slackgo.OptionHTTPClient(&http.Client{Transport: c.http.Transport, CheckRedirect: c.http.CheckRedirect, Timeout: callTimeout}))
	for i := range opt.N {
		s.list = append(s.list, &socket{n: i + 1, closed: inbox.Now(), api: socketmode.New(api,
			socketmode.OptionPingInterval(opt.PingInterval), socketmode.OptionReadLimit(maxEnvelope))})
	}
	return s
}

// Run receives until the context ends. Then it takes nothing new, finishes and acknowledges what it took, and closes.
// It never returns because of Slack: what is wrong is logged and in Health. Call Client.Probe before, to fail loudly.
func (s *Sockets) Run(ctx context.Context) {
	conn, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				select {
				case e := <-s.work:
					s.answer(conn, e)
				case <-conn.Done():
					return
				}
			}
		})
	}
	for _, k := range s.list {
		all.Go(func() { s.keepOpen(conn, k) })
	}
	tick := time.NewTicker(s.opt.Every)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			s.watch(s.inbox.Now())
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	s.stop = true
	s.mu.Unlock()
	drained := make(chan struct{})
	go func() { s.busy.Wait(); close(drained) }()
	select {
	case <-drained:
	case <-time.After(drainTimeout):
		s.log.Warn("stopping with some events unacknowledged; Slack will deliver them again")
	}
	time.Sleep(flushTime) // slack-go writes acknowledgements in the background and does not say when it has
	cut()
	all.Wait()
}

// keepOpen holds one connection open.
func (s *Sockets) keepOpen(ctx context.Context, k *socket) {
	for ctx.Err() == nil {
		run, cancel := context.WithCancel(ctx)
		s.mu.Lock()
		k.cancel, k.pause = cancel, 0
		s.mu.Unlock()
		ended := make(chan error, 1)
		go func() {
			defer func() {
				if r := recover(); r != nil {
					s.inbox.panicked("socket", r)
					ended <- errors.New("panic")
				}
			}()
			ended <- k.api.RunContext(run)
		}()
		err := s.pump(k, ended)
		cancel()
		if ctx.Err() != nil {
			break
		}
		s.wait(ctx, k, err)
	}
	s.mu.Lock()
	s.down(k)
	s.mu.Unlock()
}

// pump takes events from slack-go until the connection has ended for good. It never blocks on anything else.
func (s *Sockets) pump(k *socket, ended <-chan error) error {
	for {
		select {
		case ev := <-k.api.Events:
			s.event(k, ev)
		case err := <-ended:
			for {
				select {
				case ev := <-k.api.Events:
					s.event(k, ev)
				default:
					return err
				}
			}
		}
	}
}

// wait pauses after a connection ended, and notes why.
func (s *Sockets) wait(ctx context.Context, k *socket, err error) {
	s.mu.Lock()
	s.down(k)
	pause := k.pause
	if err != nil && !errors.Is(err, context.Canceled) {
		k.err, k.fatal, pause = words(err), true, fatalPause
	}
	report, fatal := k.err, k.fatal
	s.mu.Unlock()
	if fatal {
		s.log.Error("Slack refuses the connection, and only a person can fix that: check the app-level token", "socket", k.n, "why", report)
	}
	if pause <= 0 {
		return
	}
	t := time.NewTimer(pause/2 + rand.N(pause/2+1))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// event handles one event of slack-go's client.
func (s *Sockets) event(k *socket, ev socketmode.Event) {
	now := s.inbox.Now()
	switch data := ev.Data.(type) {
	case *socketmode.ErrorBadMessage:
		// slack-go could not read the payload; perhaps we can.
		var e envelope
		if err := json.Unmarshal(data.Message, &e); err != nil || e.ID == "" {
			s.inbox.Metrics.BadMessages.Inc()
			s.log.Warn("a message from Slack could not be read", "socket", k.n, "bytes", len(data.Message))
			return
		}
		s.dispatch(k, e, now)
		return
	case *slackgo.ConnectionErrorEvent:
		s.connectionError(k, data)
		return
	case *slackgo.IncomingEventError:
		s.log.Debug("reading from Slack failed", "socket", k.n, "err", words(data.ErrorObj))
		return
	case *socketmode.ErrorWriteFailed:
		s.log.Warn("an acknowledgement was not sent; Slack may deliver again", "socket", k.n, "err", words(data.Cause))
		return
	}
	switch ev.Type {
	case socketmode.EventTypeConnecting:
		s.connecting(k, now)
	case socketmode.EventTypeConnected:
		s.mu.Lock()
		k.open, k.opened, k.hello, k.err, k.fatal = true, now, time.Time{}, "", false
		s.gauge()
		s.mu.Unlock()
	case socketmode.EventTypeHello:
		s.mu.Lock()
		k.hello = now
		if ev.Request != nil && ev.Request.NumConnections > 0 {
			n := ev.Request.NumConnections
			if now.Sub(s.counted) < helloSpread {
				n = max(n, s.conns)
			}
			s.conns, s.counted = n, now
			s.inbox.Metrics.Connections.Set(float64(s.conns))
		}
		s.mu.Unlock()
		s.learnHome()
	default:
		if ev.Request != nil && ev.Request.EnvelopeID != "" {
			s.dispatch(k, envelope{Type: ev.Request.Type, ID: ev.Request.EnvelopeID, Payload: ev.Request.Payload}, now)
		}
	}
}

// connecting notes that the connection before, if there was one, is gone. One that Slack closes at once is not opened again
// at once: that is how Slack treats the 11th.
func (s *Sockets) connecting(k *socket, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !k.open {
		return
	}
	s.down(k)
	if !k.hello.IsZero() && now.Sub(k.opened) >= s.short {
		k.refused = 0
		return
	}
	if k.refused++; k.refused < 3 {
		return
	}
	k.pause = min(maxPause, time.Second<<min(k.refused-3, 10))
	k.err = "Slack closes the connection immediately; the app may already have its 10 connections"
	s.log.Warn(k.err, "socket", k.n, "times", k.refused, "pause", k.pause)
	k.cancel()
}

// connectionError notes a failed try. slack-go waits longer and longer, up to 5 minutes; that is too long to be deaf.
func (s *Sockets) connectionError(k *socket, e *slackgo.ConnectionErrorEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.pause > 0 {
		return // the try that was called off
	}
	k.err = words(e.ErrorObj)
	s.log.Warn("connecting to Slack failed", "socket", k.n, "err", k.err, "again_in", e.Backoff)
	var limited *slackgo.RateLimitedError
	if e.Backoff > maxPause && !errors.As(e.ErrorObj, &limited) {
		k.pause = maxPause
		k.cancel()
	}
}

// learnHome asks who the bot is, once, if that could not be asked at the start: strangers are known by it.
func (s *Sockets) learnHome() {
	if s.inbox.home.Load() != nil || !s.learning.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.learning.Store(false)
		r, err := s.client.Probe(context.Background(), false)
		if err != nil {
			s.log.Warn("asking Slack who the bot is", "err", err)
			return
		}
		s.inbox.SetHome(r.Team, r.Enterprise)
	}()
}

// dispatch hands an envelope to the workers, without waiting.
func (s *Sockets) dispatch(k *socket, e envelope, now time.Time) {
	e.from, e.received = k, now
	s.mu.Lock()
	k.inbound = now
	if s.stop {
		s.mu.Unlock()
		return
	}
	s.busy.Add(1)
	s.mu.Unlock()
	select {
	case s.work <- e:
	default:
		s.busy.Done()
		s.inbox.Metrics.Overflow.Inc()
		s.log.Error("too many events are coming in: an envelope was left for Slack to redeliver", "type", cut(e.Type, 40))
	}
}

// answer handles an envelope and acknowledges it, over whatever connection is open by then.
func (s *Sockets) answer(ctx context.Context, e envelope) {
	defer s.busy.Done()
	v := s.inbox.take(ctx, e.Type, e.Payload, e.received)
	if !v.ack {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	err := e.from.api.AckCtx(ctx, e.ID, v.body)
	if err != nil && ctx.Err() == nil { // larger than Slack reads: it would be dropped silently
		s.log.Error("an acknowledgement was too large and was sent without its content", "err", err)
		err = e.from.api.AckCtx(ctx, e.ID, nil)
	}
	if err != nil {
		s.log.Warn("an acknowledgement could not be sent; Slack may deliver again", "err", err)
	}
}

// words is an error without the address it may quote, which holds the ticket of the connection.
func words(err error) string {
	var address *url.Error
	if errors.As(err, &address) {
		err = fmt.Errorf("%s: %w", address.Op, address.Err)
	}
	return cut(redact.String(err.Error()), 300)
}
