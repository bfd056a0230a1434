package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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
	Least float64       // bytes a second that each node must send, 0 = not stated
	Tools Tools
}

// The messages of the one connection between a node and the lead, in this order, each a JSON value.
type (
	hello struct {
		Time int64 `json:"time"` // of the lead, nanoseconds since 1970
	}
	// join is short, so that it arrives where long messages are lost; the facts follow.
	join struct {
		Token string `json:"token"`
		Node  string `json:"node"`
	}
	// order is what the lead wants of a node, until it tells the end.
	order struct {
		To    string `json:"to,omitempty"` // "" = send nothing
		Addr  string `json:"addr,omitempty"`
		Reach bool   `json:"reach,omitempty"` // the rendezvous port is open: try it
		RDMA  string `json:"rdma,omitempty"`  // measure RDMA to there, and nothing else
		End   *End   `json:"end,omitempty"`
	}
	done struct {
		Rate      float64 `json:"rate,omitempty"`
		Best      float64 `json:"best,omitempty"`
		Broken    string  `json:"broken,omitempty"`
		Over      string  `json:"over,omitempty"`
		MTU       int     `json:"mtu,omitempty"`
		Unreached string  `json:"unreached,omitempty"`

		RDMA        float64 `json:"rdma,omitempty"`
		RDMATrouble string  `json:"rdma_trouble,omitempty"`
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

// patience bounds one message of a node that came; arriving is for its facts, which go out as soon as it has connected.
const (
	patience = 30 * time.Second
	arriving = 10 * time.Second
)

// remeasures is how often a node that looks slow is measured again.
const remeasures = 3

// Lead holds the meeting on l and returns the facts of all who came, its own first, and what judge says of them; the guests are told.
func (m *Meeting) Lead(ctx context.Context, l net.Listener, self Facts, judge func([]Facts) []Finding) ([]Facts, []Finding, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	data, err := m.listen(ctx, &self)
	if err != nil {
		return nil, nil, err
	}
	defer data.Close()
	port := hold(ctx, &self)
	defer port.Close()
	came := m.gather(ctx, l)
	defer func() {
		for _, g := range came {
			_ = g.conn.Close()
		}
	}()
	slices.SortFunc(came, func(a, b *guest) int { return strings.Compare(a.facts.Node, b.facts.Node) })
	out := []Facts{self}
	var guests []*guest // all whose facts arrived
	for _, g := range came {
		if !g.facts.Lost {
			guests, out = append(guests, g), append(out, g.facts)
		}
	}
	round := m.orders(out, port.open)
	m.carry(ctx, guests, out, round)
	// A node that looks slow while all send at once is measured again beside the other slow ones only: whatever else a node does for a moment
	// is no slow link.
	for range remeasures {
		slow, _ := slowest(out, m.Least)
		if len(slow) == 0 {
			break
		}
		again := map[int]order{}
		for _, i := range slow {
			again[i] = order{To: round[i].To, Addr: round[i].Addr}
		}
		m.carry(ctx, guests, out, again)
	}
	m.carry(ctx, guests, out, m.rdmaOrders(out, round))
	for _, g := range came {
		if g.facts.Lost {
			out = append(out, g.facts)
		}
	}
	findings := judge(out)
	m.tell(came, findings)
	return out, findings, nil
}

// orders lets each node send to the next, and try the rendezvous port where it is open.
func (m *Meeting) orders(all []Facts, reach bool) map[int]order {
	host, _, _ := net.SplitHostPort(m.Addr)
	list := map[int]order{}
	for i := range all {
		next := &all[(i+1)%len(all)]
		o := order{Reach: reach && i > 0}
		if m.Send > 0 && len(all) > 1 && next.Listen != "" {
			o.To, o.Addr = next.Node, next.Listen
			if i+1 == len(all) {
				o.Addr = net.JoinHostPort(host, portOf(next.Listen))
			}
		}
		list[i] = o
	}
	return list
}

// rdmaOrders let each node write to the next over RDMA, where both can.
func (m *Meeting) rdmaOrders(all []Facts, round map[int]order) map[int]order {
	list := map[int]order{}
	for i := range all {
		next := &all[(i+1)%len(all)]
		host, _, err := net.SplitHostPort(round[i].Addr)
		if err == nil && all[i].RDMAPort != "" && next.RDMAPort != "" {
			list[i] = order{To: next.Node, RDMA: net.JoinHostPort(host, next.RDMAPort)}
		}
	}
	return list
}

// carry has orders done side by side, and notes what came of them. The first of all is the lead itself, the others are the guests.
func (m *Meeting) carry(ctx context.Context, guests []*guest, all []Facts, orders map[int]order) {
	var working sync.WaitGroup
	for i, o := range orders {
		working.Go(func() {
			var d done
			if i == 0 {
				d = m.send(ctx, o)
			} else if err := guests[i-1].do(o, m.Send, &d); err != nil {
				d = done{Broken: "it stopped responding"}
			}
			all[i].note(o, d)
		})
	}
	working.Wait()
}

// note keeps the better of two measurements.
func (f *Facts) note(o order, d done) {
	if o.Reach {
		f.Unreached = clip(d.Unreached)
	}
	if o.RDMA != "" {
		f.RDMA, f.RDMATrouble = d.RDMA, clip(d.RDMATrouble)
		return
	}
	if f.To = o.To; d.Broken != "" {
		f.Rate, f.Broken = 0, clip(d.Broken)
		return
	}
	f.Rate, f.Best, f.Over, f.MTU = max(f.Rate, d.Rate), max(f.Best, d.Best), clip(d.Over), d.MTU
}

// held is the rendezvous port, open so that the others can try it.
type held struct {
	net.Listener
	open bool
}

func (h held) Close() {
	if h.open {
		_ = h.Listener.Close()
	}
}

// hold opens the rendezvous port where it is this node's and free.
func hold(ctx context.Context, self *Facts) held {
	if self.rendezvous() == "" || self.Taken != "" || !mine(ctx, self.Env["MASTER_ADDR"]) {
		return held{}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("", self.Env["MASTER_PORT"]))
	if err != nil {
		return held{}
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	return held{l, true}
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
	if j.Token != m.Token || j.Node == "" {
		return nil, errors.New("a node of another job")
	}
	_ = conn.SetDeadline(time.Now().Add(arriving))
	lost := g.in.Decode(&g.facts) != nil
	if lost {
		g.facts = Facts{}
	}
	g.facts.Node, g.facts.Lost = clip(j.Node), lost
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	if port := portOf(g.facts.Listen); port != "" {
		g.facts.Listen = net.JoinHostPort(host, port)
	}
	return g, nil
}

func (g *guest) do(o order, send time.Duration, d *done) error {
	_ = g.conn.SetDeadline(time.Now().Add(patience + send))
	if err := json.NewEncoder(g.conn).Encode(o); err != nil {
		return err
	}
	return g.in.Decode(d)
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
			_ = json.NewEncoder(g.conn).Encode(order{End: &e})
		})
	}
	telling.Wait()
}

// Join takes part in a meeting that another node leads.
func (m *Meeting) Join(ctx context.Context, self Facts) (*End, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	data, err := m.listen(ctx, &self)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	conn, err := m.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("the lead at %s: %w", m.Addr, err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(m.Wait + m.Send + ofProbe + patience))
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
	if err := errors.Join(out.Encode(join{m.Token, self.Node}), out.Encode(self)); err != nil {
		return nil, fmt.Errorf("telling the lead: %w", err)
	}
	for {
		var o order
		if err := in.Decode(&o); err != nil {
			return nil, fmt.Errorf("the lead at %s closed the connection: %w", m.Addr, err)
		}
		if o.End != nil {
			return o.End, nil
		}
		d := m.send(ctx, o)
		if o.Reach {
			d.Unreached = reach(ctx, self.rendezvous())
		}
		if err := out.Encode(d); err != nil {
			return nil, fmt.Errorf("telling the lead: %w", err)
		}
	}
}

// reach says why an address cannot be reached.
func reach(ctx context.Context, addr string) string {
	if addr == "" {
		return ""
	}
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return network(err)
	}
	_ = conn.Close()
	return ""
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
func (m *Meeting) listen(ctx context.Context, self *Facts) (net.Listener, error) {
	host := ""
	if h, _, _ := net.SplitHostPort(m.Addr); h == "127.0.0.1" || h == "::1" {
		host = h // a rehearsal on one machine
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("opening a port: %w", err)
	}
	self.Listen = l.Addr().String()
	if m.Send > 0 {
		serveRDMA(ctx, self, m.Tools)
	}
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

// Bounds of a stream of data.
const (
	block        = 64 << 10
	ahead        = 1 << 20 // bytes that may be under way when the sending ends
	stalled      = 5 * time.Second
	draining     = 10 * time.Second
	smallSegment = 500
)

// send streams to the node of the order. Where nothing comes through it tries small packets, to tell a path that loses large ones.
func (m *Meeting) send(ctx context.Context, o order) done {
	if o.RDMA != "" {
		return m.rdmaTo(ctx, o.RDMA)
	}
	if o.To == "" {
		return done{}
	}
	d, err := m.stream(ctx, o.Addr, m.Send, nil)
	if err == nil {
		return d
	}
	d.Broken = network(err)
	if d.Over == "" || !errors.Is(err, os.ErrDeadlineExceeded) {
		return d
	}
	d.Broken = "it accepted the connection, but then nothing came through"
	if _, err := m.stream(ctx, o.Addr, 0, segments(smallSegment)); err == nil {
		d.Broken = fmt.Sprintf("packets of %d bytes get through, but those of %s with an MTU of %d do not: the path has a smaller MTU", smallSegment, d.Over, d.MTU)
	}
	return d
}

// stream sends one block or more for a time, and waits until they have arrived.
func (m *Meeting) stream(ctx context.Context, addr string, during time.Duration, control func(network, address string, c syscall.RawConn) error) (d done, err error) {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second, Control: control}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return d, err
	}
	defer conn.Close()
	d.Over, d.MTU = over(conn.LocalAddr())
	tcp, _ := conn.(*net.TCPConn)
	_ = tcp.SetWriteBuffer(ahead)
	began := time.Now()
	if _, err := io.WriteString(conn, m.Token); err != nil {
		return d, err
	}
	data := make([]byte, block)
	for first := true; first || time.Since(began) < during; first = false {
		_ = conn.SetWriteDeadline(time.Now().Add(stalled))
		if _, err := conn.Write(data); err != nil {
			return d, err
		}
	}
	_ = tcp.CloseWrite()
	_ = conn.SetReadDeadline(time.Now().Add(draining))
	answer, err := io.ReadAll(io.LimitReader(conn, 32))
	if err != nil {
		return d, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(answer)), 10, 64)
	if err != nil {
		return d, errors.New("it accepted the connection but does not respond")
	}
	took := time.Since(began)
	d.Rate = float64(n) / took.Seconds()
	d.Best = d.Rate
	if held, ok := limited(tcp); ok {
		d.Best = float64(n) / min(took, max(held, time.Microsecond)).Seconds()
	}
	return d, nil
}

// over is the interface that has an address.
func over(local net.Addr) (name string, mtu int) {
	tcp, ok := local.(*net.TCPAddr)
	if !ok {
		return "", 0
	}
	list, _ := net.Interfaces()
	for _, i := range list {
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(tcp.IP) {
				return i.Name, i.MTU
			}
		}
	}
	return "", 0
}

// network is an error without addresses.
func network(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	return clip(err.Error())
}
