package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Meeting is where the nodes of a job come together before it starts. One of them leads: it takes the facts of the others, lets each
// send to the next, and tells all how it ended.
type Meeting struct {
	Addr  string        // the lead's, host:port
	Token string        // what all know, so that a node of another job is turned away
	Nodes int           // how many are expected, the lead included
	Wait  time.Duration // for those that do not come
	Send  time.Duration // how long each node sends to the next, 0 = not at all
}

// The messages of the one connection between a node and the lead, in this order, each a JSON value.
type (
	hello struct {
		Time int64 `json:"time"` // of the lead, nanoseconds since 1970
	}
	join struct {
		Token string `json:"token"`
		Facts Facts  `json:"facts"`
	}
	task struct {
		To   string `json:"to"` // "" = send nothing
		Addr string `json:"addr"`
	}
	done struct {
		Rate   float64 `json:"rate"`
		Broken string  `json:"broken"`
	}
	// End is what a node hears in the end.
	End struct {
		Fails    int       `json:"fails"` // of all nodes
		Findings []Finding `json:"findings,omitempty"`
	}
)

// guest is a node that came, as the lead sees it.
type guest struct {
	conn  net.Conn
	in    *json.Decoder
	facts Facts
}

// patience bounds one message of a node that came.
const patience = 30 * time.Second

// Lead holds the meeting on l and returns the facts of all who came, its own first. end is then called for each guest.
func (m *Meeting) Lead(ctx context.Context, l net.Listener, self Facts, judge func([]Facts) []Finding) ([]Facts, []Finding, error) {
	data, err := m.listen(&self)
	if err != nil {
		return nil, nil, err
	}
	defer data.Close()
	guests := m.gather(ctx, l)
	defer func() {
		for _, g := range guests {
			_ = g.conn.Close()
		}
	}()
	all := make([]*Facts, 0, len(guests)+1)
	all = append(all, &self)
	for _, g := range guests {
		all = append(all, &g.facts)
	}
	host, _, _ := net.SplitHostPort(m.Addr)
	var sending sync.WaitGroup
	for i, f := range all {
		next := all[(i+1)%len(all)]
		t := task{}
		if m.Send > 0 && len(all) > 1 && next.Listen != "" {
			t.To, t.Addr = next.Node, next.Listen
			if i+1 == len(all) {
				t.Addr = net.JoinHostPort(host, portOf(next.Listen))
			}
		}
		f.To = t.To
		sending.Go(func() {
			if i == 0 {
				f.Rate, f.Broken = m.send(ctx, t)
				return
			}
			d, err := guests[i-1].assign(t, m.Send)
			if f.Rate, f.Broken = d.Rate, clip(d.Broken); err != nil {
				f.Broken = "it no longer responds"
			}
		})
	}
	sending.Wait()
	out := make([]Facts, len(all))
	for i, f := range all {
		out[i] = *f
	}
	findings := judge(out)
	m.tell(guests, findings)
	return out, findings, nil
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// gather takes guests until all came or nobody is waited for any longer.
func (m *Meeting) gather(ctx context.Context, l net.Listener) []*guest {
	ctx, stop := context.WithTimeout(ctx, m.Wait)
	defer stop()
	context.AfterFunc(ctx, func() { _ = l.Close() })
	came := make(chan *guest)
	go func() {
		var greeting sync.WaitGroup
		for {
			conn, err := l.Accept()
			if err != nil {
				break
			}
			greeting.Go(func() {
				if g, err := m.greet(conn); err == nil {
					select {
					case came <- g:
						return
					case <-ctx.Done():
					}
				}
				_ = conn.Close()
			})
		}
		greeting.Wait()
		close(came)
	}()
	var guests []*guest
	seen := map[string]bool{}
	for len(guests) < min(m.Nodes, mostNodes)-1 {
		g, more := <-came
		if !more {
			break
		}
		if seen[g.facts.Node] { // it came again: the first connection broke
			_ = g.conn.Close()
			continue
		}
		seen[g.facts.Node] = true
		guests = append(guests, g)
	}
	stop()
	go func() {
		for g := range came {
			_ = g.conn.Close()
		}
	}()
	return guests
}

func (m *Meeting) greet(conn net.Conn) (*guest, error) {
	_ = conn.SetDeadline(time.Now().Add(patience))
	if err := json.NewEncoder(conn).Encode(hello{time.Now().UnixNano()}); err != nil {
		return nil, err
	}
	g := &guest{conn: conn, in: json.NewDecoder(io.LimitReader(conn, mostFacts))}
	var j join
	if err := g.in.Decode(&j); err != nil {
		return nil, err
	}
	if j.Token != m.Token || j.Facts.Node == "" {
		return nil, errors.New("a node of another job")
	}
	g.facts = j.Facts
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	if port := portOf(g.facts.Listen); port != "" {
		g.facts.Listen = net.JoinHostPort(host, port)
	}
	return g, nil
}

func (g *guest) assign(t task, send time.Duration) (d done, err error) {
	_ = g.conn.SetDeadline(time.Now().Add(patience + send))
	if err := json.NewEncoder(g.conn).Encode(t); err != nil {
		return d, err
	}
	err = g.in.Decode(&d)
	return d, err
}

// tell lets every guest know how it ended.
func (m *Meeting) tell(guests []*guest, findings []Finding) {
	fails := 0
	for _, f := range findings {
		if f.Level == Fail {
			fails++
		}
	}
	var telling sync.WaitGroup
	for _, g := range guests {
		e := End{Fails: fails}
		for _, f := range findings {
			if f.Node == g.facts.Node {
				e.Findings = append(e.Findings, f)
			}
		}
		telling.Go(func() {
			_ = g.conn.SetDeadline(time.Now().Add(patience))
			_ = json.NewEncoder(g.conn).Encode(e)
		})
	}
	telling.Wait()
}

// Join takes part in a meeting that another node leads.
func (m *Meeting) Join(ctx context.Context, self Facts) (*End, error) {
	data, err := m.listen(&self)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	conn, err := m.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("the lead at %s: %w", m.Addr, err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(m.Wait + m.Send + 2*patience))
	in := json.NewDecoder(io.LimitReader(conn, 64<<20))
	before := time.Now()
	var h hello
	if err := in.Decode(&h); err != nil {
		return nil, fmt.Errorf("the lead at %s: %w", m.Addr, err)
	}
	after := time.Now()
	self.Offset = time.Unix(0, h.Time).Sub(before.Add(after.Sub(before) / 2)).Seconds()
	self.Unsure = after.Sub(before).Seconds() / 2
	out := json.NewEncoder(conn)
	if err := out.Encode(join{m.Token, self}); err != nil {
		return nil, fmt.Errorf("telling the lead: %w", err)
	}
	var t task
	if err := in.Decode(&t); err != nil {
		return nil, fmt.Errorf("the lead at %s let go: %w", m.Addr, err)
	}
	var d done
	d.Rate, d.Broken = m.send(ctx, t)
	if err := out.Encode(d); err != nil {
		return nil, fmt.Errorf("telling the lead: %w", err)
	}
	var e End
	if err := in.Decode(&e); err != nil {
		return nil, fmt.Errorf("the lead at %s let go: %w", m.Addr, err)
	}
	return &e, nil
}

// dial tries until the lead is there: nodes start at different times.
func (m *Meeting) dial(ctx context.Context) (net.Conn, error) {
	ctx, stop := context.WithTimeout(ctx, m.Wait)
	defer stop()
	for {
		d := net.Dialer{Timeout: 5 * time.Second}
		conn, err := d.DialContext(ctx, "tcp", m.Addr)
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// listen opens where another node sends to, and counts what comes.
func (m *Meeting) listen(self *Facts) (net.Listener, error) {
	host := ""
	if h, _, _ := net.SplitHostPort(m.Addr); h == "127.0.0.1" || h == "::1" {
		host = h // a rehearsal on one machine
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("opening a port: %w", err)
	}
	self.Listen = l.Addr().String()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go m.receive(conn)
		}
	}()
	return l, nil
}

// receive counts bytes after the token, and answers with their number.
func (m *Meeting) receive(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(m.Send + patience))
	word := make([]byte, len(m.Token))
	if _, err := io.ReadFull(conn, word); err != nil || string(word) != m.Token {
		return
	}
	n, _ := io.CopyBuffer(io.Discard, struct{ io.Reader }{conn}, make([]byte, 1<<20))
	fmt.Fprintf(conn, "%d\n", n)
}

// send gives bytes a second to the node of the task, or why it could not.
func (m *Meeting) send(ctx context.Context, t task) (rate float64, broken string) {
	if t.To == "" {
		return 0, ""
	}
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", t.Addr)
	if err != nil {
		return 0, network(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(m.Send + patience/2))
	began := time.Now()
	if _, err := io.WriteString(conn, m.Token); err != nil {
		return 0, network(err)
	}
	block := make([]byte, 1<<20)
	for time.Since(began) < m.Send {
		if _, err := conn.Write(block); err != nil {
			return 0, network(err)
		}
	}
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.CloseWrite()
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 32))
	took := time.Since(began).Seconds()
	n, wrong := strconv.ParseInt(strings.TrimSpace(string(answer)), 10, 64)
	if err != nil || wrong != nil {
		return 0, "it accepted the connection but does not respond"
	}
	return float64(n) / took, ""
}

// network is an error without addresses.
func network(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	return clip(err.Error())
}
