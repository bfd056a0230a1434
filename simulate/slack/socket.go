package slack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// maxSockets is how many sockets an app may have open.
const maxSockets = 10

// maxSocketResponse: longer answers on a socket disappear without an error, as at Slack.
const maxSocketResponse = 20_480

// Reasons of a disconnect.
const (
	Warning           = "warning"
	RefreshRequested  = "refresh_requested"
	LinkDisabled      = "link_disabled"
	TooManyWebsockets = "too_many_websockets"
)

// conn is one open socket of the app.
type conn struct {
	s  *Server
	id string
	ws *websocket.Conn

	out  chan func() // what is to be written, in order
	done chan struct{}
	once sync.Once

	// Guarded by the server's mu.
	leaving bool // was told to disconnect: gets no more envelopes
	deaf    bool // gets PINGs only
	quiet   bool // gets no PINGs
}

func (s *Server) connectionsOpen(c *call) (reply, *apiError) {
	ticket := strings.ToLower(s.id("k"))
	s.tickets[ticket] = true
	base := "ws" + strings.TrimPrefix(s.base, "http")
	return reply{"url": fmt.Sprintf("%s/link/?ticket=%s&app_id=%s", base, ticket, s.team.AppID)}, nil
}

// serveSocket is the address from apps.connections.open.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	s.mu.Lock()
	known := s.tickets[ticket] && !s.closed
	delete(s.tickets, ticket)
	s.mu.Unlock()
	if !known {
		http.Error(w, "unknown or used ticket", http.StatusForbidden)
		return
	}
	// Clients are programs, whatever origin they claim.
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }, WriteBufferSize: 64 << 10}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		s.record(Entry{Dir: "in", Kind: "socket", Error: err.Error()})
		return
	}
	ws.SetReadLimit(1 << 20)
	c := &conn{s: s, ws: ws, out: make(chan func(), maxQueue), done: make(chan struct{})}
	go c.writer()
	s.admit(c)
	go c.ping(s.opts.PingEvery)
	c.read()
}

// admit says hello and puts the socket among those that get envelopes, unless there are too many.
func (s *Server) admit(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) >= maxSockets {
		c.write(reply{"type": "disconnect", "reason": TooManyWebsockets, "debug_info": reply{"host": "applink-sim"}})
		c.then(c.close)
		return
	}
	if f := s.faultLocked("socket", ""); f != nil {
		c.deaf, c.quiet = f.Do == Deaf, f.Do == NoPing
	}
	c.id = strings.ToLower(s.id("s"))
	s.conns = append(s.conns, c)
	c.write(reply{"type": "hello", "num_connections": len(s.conns), "connection_info": reply{"app_id": s.team.AppID},
		"debug_info": reply{"host": "applink-sim", "build_number": 1, "approximate_connection_time": 18060}})
	s.touch()
}

// maxQueue is how many frames wait for a client that does not read; a client further behind is cut off.
const maxQueue = 1000

// then does something once everything before it has been written. It does not wait.
func (c *conn) then(do func()) {
	select {
	case c.out <- do:
	default:
		go c.cut()
	}
}

// writer does what waits, in order, until the socket is closed.
func (c *conn) writer() {
	for {
		select {
		case do := <-c.out:
			do()
		case <-c.done:
			return
		}
	}
}

// ping sends WebSocket PINGs until the socket is closed: clients take a socket without them for dead.
func (c *conn) ping(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		c.s.mu.Lock()
		quiet := c.quiet
		c.s.mu.Unlock()
		if !quiet {
			// WriteControl may be used beside other writers. A socket that is gone ends the reader too.
			_ = c.ws.WriteControl(websocket.PingMessage, []byte("Ping from applink-sim"), time.Now().Add(5*time.Second))
		}
		select {
		case <-tick.C:
		case <-c.done:
			return
		}
	}
}

// write sends one frame in its turn; a broken socket shows in the reader.
func (c *conn) write(frame any) {
	raw := encode(frame)
	c.then(func() {
		c.s.record(Entry{Dir: "out", Kind: "frame", Method: c.id, Body: string(raw)})
		_ = c.ws.SetWriteDeadline(time.Now().Add(10 * time.Second))
		if err := c.ws.WriteMessage(websocket.TextMessage, raw); err != nil {
			c.s.record(Entry{Dir: "out", Kind: "frame", Method: c.id, Error: err.Error()})
		}
	})
}

// read takes acknowledgements until the socket ends.
func (c *conn) read() {
	defer c.s.forget(c)
	for {
		kind, raw, err := c.ws.ReadMessage()
		if err != nil {
			c.s.record(Entry{Dir: "in", Kind: "closed", Method: c.id, Error: err.Error()})
			return
		}
		if kind == websocket.TextMessage {
			c.s.response(c, raw)
		}
	}
}

// response is a frame from the app: an acknowledgement.
func (s *Server) response(c *conn, raw []byte) {
	e := Entry{Dir: "in", Kind: "frame", Method: c.id, Body: readable(raw)}
	var ack struct {
		EnvelopeID string          `json:"envelope_id"`
		Payload    json.RawMessage `json:"payload"`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var a *attempt
	switch {
	case len(raw) >= maxSocketResponse:
		e.Error = "dropped: 20,480 bytes or more"
	case json.Unmarshal(raw, &ack) != nil:
		e.Error = "no JSON"
	default:
		if a = s.pending[ack.EnvelopeID]; a == nil {
			e.Error = "no such envelope, or too late"
		} else if f := s.faultLocked("ack", ""); f != nil && f.Do == DropAck {
			s.hopeless(a)
			a, e.Error = nil, "fault: "+f.Do
		}
	}
	s.record(e)
	s.touch()
	if a != nil {
		delete(s.pending, ack.EnvelopeID)
		s.acknowledged(a, ack.Payload)
	}
}

// sendSocket sends an attempt to one of the open sockets, in turn. The caller holds mu.
func (s *Server) sendSocket(a *attempt, reason string) {
	c := s.nextConn()
	if c == nil {
		s.lost(a, "dispatch_failed", "connection_failed")
		return
	}
	d := a.d
	id := strings.ToLower(s.id("e"))
	s.pending[id] = a
	a.conn = c
	envelope := reply{"envelope_id": id, "type": d.kind, "payload": d.payload, "accepts_response_payload": d.accepts}
	if d.kind == eventsAPI {
		envelope["retry_attempt"], envelope["retry_reason"] = d.tries-1, reason
	}
	f := s.faultLocked("deliver", "")
	switch {
	case c.deaf:
		s.hopeless(a)
		s.record(Entry{Dir: "out", Kind: "frame", Method: c.id, Body: string(encode(envelope)), Error: "fault: " + Deaf})
	case f != nil && f.Do == Cut:
		s.record(Entry{Dir: "out", Kind: "frame", Method: c.id, Error: "fault: " + f.Do})
		c.then(c.cut)
	case f != nil && f.Do == CutMidFrame:
		s.record(Entry{Dir: "out", Kind: "frame", Method: c.id, Error: "fault: " + f.Do})
		c.then(func() { c.cutInside(encode(envelope)) })
	case f != nil && f.Do == Twice:
		c.write(envelope)
		c.write(envelope)
	default:
		c.write(envelope)
	}
}

// nextConn takes the sockets in turn, leaving out those that were told to go.
func (s *Server) nextConn() *conn {
	for range s.conns {
		s.turn++
		if c := s.conns[s.turn%len(s.conns)]; !c.leaving {
			return c
		}
	}
	return nil
}

// forget takes a socket off the list.
func (s *Server) forget(c *conn) {
	c.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.conns, c); i >= 0 {
		s.conns = slices.Delete(slices.Clone(s.conns), i, i+1)
	}
	for _, a := range s.pending {
		if a.conn == c {
			s.hopeless(a)
		}
	}
	s.touch()
}

// close ends a socket politely; cut ends the TCP connection without a word.
func (c *conn) close() {
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
	c.cut()
}

func (c *conn) cut() {
	c.once.Do(func() { close(c.done) })
	_ = c.ws.Close() // it may be closed already
}

// cutInside sends the head of a frame and half of its content, then cuts the connection.
func (c *conn) cutInside(raw []byte) {
	n := len(raw)
	frame := append([]byte{0x81, 127, 0, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, raw[:n/2]...)
	_, _ = c.ws.NetConn().Write(frame) // whatever arrives of it will do
	c.cut()
}

// Disconnect tells sockets to go, as Slack does when it refreshes them.
type Disconnect struct {
	// Reason is one of the constants; refresh_requested unless set. A warning leaves the socket in use.
	Reason string `json:"reason"`
	// Leave keeps the TCP connection open after the message, which Slack was seen to do; the client must go by itself.
	Leave bool `json:"leave"`
	// Socket is the number of one socket, from 1 in the order of connecting; 0 is all of them.
	Socket int `json:"socket"`
}

// Disconnect sends disconnect messages and returns how many sockets were told.
func (s *Server) Disconnect(d Disconnect) int {
	if d.Reason == "" {
		d.Reason = RefreshRequested
	}
	s.mu.Lock()
	var told []*conn
	for i, c := range s.conns {
		if d.Socket == 0 || d.Socket == i+1 {
			c.leaving = c.leaving || d.Reason != Warning
			told = append(told, c)
		}
	}
	s.mu.Unlock()
	for _, c := range told {
		c.write(reply{"type": "disconnect", "reason": d.Reason, "debug_info": reply{"host": "applink-sim"}})
		if d.Reason != Warning && !d.Leave {
			c.then(c.close)
		}
	}
	return len(told)
}

// CutSockets ends the TCP connections of all sockets without a word.
func (s *Server) CutSockets() {
	s.mu.Lock()
	conns := slices.Clone(s.conns)
	s.mu.Unlock()
	for _, c := range conns {
		c.cut()
	}
}

// SetDeaf makes all open sockets deaf: they keep sending PINGs and deliver nothing; or it heals them.
func (s *Server) SetDeaf(deaf bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.deaf = deaf
	}
}

// Sockets is the number of open sockets, those that were told to go included.
func (s *Server) Sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// query makes a form from a flat payload, which is how HTTP sends slash commands.
func query(payload json.RawMessage) string {
	var fields map[string]string
	if json.Unmarshal(payload, &fields) != nil {
		return ""
	}
	form := url.Values{}
	for k, v := range fields {
		form.Set(k, v)
	}
	return form.Encode()
}
