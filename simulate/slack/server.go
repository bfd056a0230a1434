package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server is one look-alike. It is an http.Handler; all its methods may be called from several goroutines.
type Server struct {
	opts  Options
	clock Clock
	team  Workspace
	mux   *http.ServeMux
	tmpl  *template.Template

	// mu guards everything below. Nothing waits while holding it.
	mu       sync.Mutex
	base     string
	changed  chan struct{} // closed and replaced at every change, for those who wait
	seq      uint64        // for ids
	lastTS   int64         // microseconds; ts never repeats and never goes back
	users    map[string]*User
	channels map[string]*room
	files    map[string]*File
	uploads  map[string]*File // by the ticket in the upload URL
	views    map[string]*View
	stacks   map[string][]*View // open modals per user, root first
	homes    map[string]*View
	triggers map[string]*trigger
	hooks    map[string]*hook
	tickets  map[string]bool // for Socket Mode, single use
	conns    []*conn
	turn     int
	pending  map[string]*attempt // unanswered envelopes
	limits   map[string]*bucket
	faults   []*Fault
	calls    map[string]int // per Web API method
	closed   bool

	journal journal
	http    *http.Server
}

// room is a channel with what was said in it.
type room struct {
	Channel
	messages []*Message
}

// New makes a server. It serves nothing until it is used as a handler or started.
func New(opts Options) *Server {
	if opts.Workspace.TeamID == "" {
		opts.Workspace = DefaultWorkspace()
	}
	if opts.Clock == nil {
		opts.Clock = realClock{}
	}
	if opts.PingEvery == 0 {
		opts.PingEvery = 10 * time.Second
	}
	if opts.Patience == 0 {
		opts.Patience = ackTime
	}
	if opts.ValidateMessage == nil {
		opts.ValidateMessage = defaultMessageValidator
	}
	if opts.ValidateView == nil {
		opts.ValidateView = defaultViewValidator
	}
	s := &Server{
		opts: opts, clock: opts.Clock, team: opts.Workspace, base: strings.TrimSuffix(opts.BaseURL, "/"),
		changed: make(chan struct{}), users: map[string]*User{}, channels: map[string]*room{}, files: map[string]*File{},
		uploads: map[string]*File{}, views: map[string]*View{}, stacks: map[string][]*View{}, homes: map[string]*View{},
		triggers: map[string]*trigger{}, hooks: map[string]*hook{}, tickets: map[string]bool{}, pending: map[string]*attempt{},
		limits: map[string]*bucket{}, calls: map[string]int{}, journal: journal{out: opts.Journal},
	}
	for _, u := range opts.Workspace.Users {
		s.users[u.ID] = &u
	}
	for _, c := range opts.Workspace.Channels {
		s.channels[c.ID] = &room{Channel: c}
	}
	for _, f := range opts.Faults {
		s.faults = append(s.faults, &f)
	}
	s.routes()
	return s
}

func (s *Server) routes() {
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("/api/{method}", s.serveAPI)
	s.mux.HandleFunc("POST /upload/v1/{ticket}", s.serveUpload)
	s.mux.HandleFunc("GET /files-pri/{id}/{name...}", s.serveFile)
	s.mux.HandleFunc("POST /hooks/{hook}", s.serveHook)
	s.mux.HandleFunc("GET /link/", s.serveSocket)
	s.routeDriver()
	s.routePages()
}

// ServeHTTP answers as slack.com would, and as the driver and the pages do.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.base == "" {
		s.base = "http://" + r.Host
	}
	s.mu.Unlock()
	s.mux.ServeHTTP(w, r)
}

// Start listens on addr, which must be a loopback address such as 127.0.0.1:0, and returns the address to reach it.
func (s *Server) Start(addr string) (string, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("reading the address to listen on: %w", err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("the look-alike listens on loopback only, not on %s", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("listening for Slack clients: %w", err)
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.mu.Lock()
	s.base = "http://" + l.Addr().String()
	s.http = server
	base := s.base
	s.mu.Unlock()
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.record(Entry{Kind: "server", Dir: "in", Error: err.Error()})
		}
	}()
	return base, nil
}

// URL is how clients reach the server: the Web API is at URL() + "/api/". It is empty before the first request of a
// server that was not started by Start and has no BaseURL.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base
}

// SetURL says how clients reach a server that somebody else listens for.
func (s *Server) SetURL(base string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.base = strings.TrimSuffix(base, "/")
}

// Close cuts all sockets, stops listening and ends all waiting. Nothing is written to the journal's writer afterwards.
func (s *Server) Close() error {
	defer s.journal.detach()
	s.mu.Lock()
	s.closed = true
	conns, server := s.conns, s.http
	s.conns = nil
	for id, a := range s.pending {
		delete(s.pending, id)
		a.stop()
	}
	s.touch()
	s.mu.Unlock()
	for _, c := range conns {
		c.cut()
	}
	if server == nil {
		return nil
	}
	return server.Close()
}

// touch tells those who wait that something has changed. The caller holds mu.
func (s *Server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Until waits for the condition, which is asked again at every change; it may call any method of the server.
func (s *Server) Until(ctx context.Context, condition func() bool) error {
	for {
		s.mu.Lock()
		changed, closed := s.changed, s.closed
		s.mu.Unlock()
		if condition() {
			return nil
		}
		if closed {
			return errors.New("the Slack look-alike was closed while somebody waited for it")
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the Slack look-alike: %w", ctx.Err())
		}
	}
}

// id makes the next identifier with a prefix; ids are the same in every run with the same order of calls.
func (s *Server) id(prefix string) string {
	s.seq++
	n := strings.ToUpper(strconv.FormatUint(s.seq, 36))
	if pad := 11 - len(prefix) - len(n); pad > 0 {
		n = strings.Repeat("0", pad) + n
	}
	return prefix + n
}

// ts makes the next timestamp: strictly growing, with microseconds, never the same twice in the whole workspace.
func (s *Server) ts() string {
	now := s.clock.Now().UnixMicro()
	if now <= s.lastTS {
		now = s.lastTS + 1
	}
	s.lastTS = now
	return fmt.Sprintf("%d.%06d", now/1_000_000, now%1_000_000)
}

// insert keeps the messages of a channel in the order of their ts.
func (r *room) insert(m *Message) {
	i := sort.Search(len(r.messages), func(i int) bool { return r.messages[i].TS > m.TS })
	r.messages = append(r.messages, nil)
	copy(r.messages[i+1:], r.messages[i:])
	r.messages[i] = m
}

// find returns a message that everybody can see, or nil.
func (r *room) find(ts string) *Message {
	if m := r.visible(ts); m != nil && m.VisibleTo == "" {
		return m
	}
	return nil
}

func (r *room) has(user string) bool {
	if r.IM != "" {
		return r.IM == user || user == BotUser
	}
	for _, m := range r.Members {
		if m == user {
			return true
		}
	}
	return false
}

// writeJSON sends a body as JSON, the way Slack does.
func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	// Nothing can be done for a client that hung up.
	_ = json.NewEncoder(w).Encode(body)
}
