package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/slack-go/slack/socketmode"

	"faultline/chat"
	"faultline/messages/blockkit"
	sim "faultline/simulate/slack"
	"faultline/workflow"
)

// line is a bot that listens to a Slack look-alike over sockets.
type line struct {
	*fixture
	t     *testing.T
	slack *sim.Server
	socks *Sockets
	stop  func() // and wait
	ctx   context.Context
}

func connect(t *testing.T, opts sim.Options, opt SocketOptions, change ...func(*line)) *line {
	t.Helper()
	opts.Patience = 20 * time.Second // what is tested is not how busy the machine is
	l := &line{fixture: newFixture(t), t: t, slack: sim.New(opts)}
	l.Now = time.Now
	base, err := l.slack.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, base, nil)
	l.Tell = c.Tell
	l.home.Store(nil) // learnt over the line
	l.socks = NewSockets(c, l.Inbox, opt)
	l.socks.short = 0 // tests refresh connections faster than Slack does
	for _, f := range change {
		f(l)
	}
	var done func()
	l.ctx, done = context.WithTimeout(context.Background(), 5*time.Minute)
	run, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { l.socks.Run(run); close(ended) }()
	l.stop = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(func() { l.stop(); l.slack.Close(); done() })
	l.until("the sockets are open", func() bool { return l.socks.Health().Open == min(len(l.socks.list), 10) })
	return l
}

// until waits for something that no channel tells; it gives up after some minutes.
func (l *line) until(what string, is func() bool) {
	l.t.Helper()
	for !is() {
		select {
		case <-l.ctx.Done():
			l.t.Fatalf("never: %s\n%+v\n%s", what, l.socks.Health(), l.logs)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (l *line) command(text string) *sim.Delivery {
	l.t.Helper()
	d, err := l.slack.Slash(sim.Alice, sim.Training, "/diagnose", text)
	if err != nil {
		l.t.Fatal(err)
	}
	return d
}

func (l *line) mention(text string) *sim.Delivery {
	l.t.Helper()
	_, d, err := l.slack.Say(sim.Alice, sim.Training, "", "<@"+sim.BotUser+"> "+text)
	if err != nil || d == nil {
		l.t.Fatalf("no delivery, %v", err)
	}
	return d
}

func (l *line) acked(d *sim.Delivery) sim.Ack {
	l.t.Helper()
	a, err := d.Wait(l.ctx)
	if err != nil {
		l.t.Fatalf("%v\n%s", err, l.logs)
	}
	return a
}

func (l *line) texts() map[string]int {
	n := map[string]int{}
	for _, in := range l.stored(l.t) {
		n[in.Text]++
	}
	return n
}

func TestACommandOverASocket(t *testing.T) {
	l := connect(t, sim.Options{}, SocketOptions{})
	a := l.acked(l.command("12345"))
	if !a.OK || !strings.Contains(string(a.Payload), "Looking at 12345") {
		t.Errorf("acknowledged %+v", a)
	}
	in := l.stored(t)
	if len(in) != 1 || in[0].User != sim.Alice || in[0].Channel != sim.Training || in[0].External || in[0].Trigger == "" || in[0].Respond == "" {
		t.Errorf("stored %+v", in)
	}
	l.until("it knows where it is", func() bool { return l.home.Load() != nil })
	if h := l.home.Load(); h.team != sim.TeamID {
		t.Errorf("the bot believes to be at home in %+v", h)
	}
	if h := l.socks.Health(); h.Connections != 2 || h.LastHello.IsZero() || h.LastInbound.IsZero() || len(h.Problems) != 0 {
		t.Errorf("health %+v", h)
	}
}

func TestAModalOverASocket(t *testing.T) {
	l := connect(t, sim.Options{}, SocketOptions{})
	var big blockkit.Blocks
	for range 8 {
		big = append(big, blockkit.Section{Text: blockkit.Plain(strings.Repeat("x", 2900))})
	}
	// Slack drops answers of 20 KB and more without a word: the modal is closed rather than left hanging.
	l.Next = func(chat.Inbound) *blockkit.View { return &blockkit.View{Title: blockkit.Plain("Big"), Blocks: big} }
	l.acked(l.command("open"))
	ask := modal("Why?")
	ask.Submit = blockkit.Plain("Send")
	ask.Blocks = append(ask.Blocks, blockkit.Input{BlockID: chat.SecretFields[0], Label: blockkit.Plain("Token"), Element: blockkit.PlainTextInput{ActionID: "v"}})
	id, err := l.socks.client.OpenView(l.ctx, l.stored(t)[0].Trigger, ask)
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.slack.Submit(sim.Alice, id, map[string]any{chat.SecretFields[0]: "hunter2-canary"})
	if err != nil {
		t.Fatal(err)
	}
	if a := l.acked(d); !a.OK || a.Error != "" {
		t.Errorf("acknowledged %+v", a)
	}
	in := l.stored(t)
	if len(in) != 2 || in[1].Kind != chat.Submit || l.vault.Take(in[1].Key)[chat.SecretFields[0]].Reveal() != "hunter2-canary" {
		t.Errorf("stored %+v", in)
	}
	jobs, _ := l.store.Waiting(l.ctx)
	for _, j := range jobs {
		if strings.Contains(string(j.Payload), "canary") {
			t.Error("the secret is in the store")
		}
	}
	if strings.Contains(l.logs.String(), "canary") {
		t.Error("the secret is in the log")
	}
}

// Slack asks for a new connection again and again while 200 commands come in: each is acknowledged and stored once.
func TestRefreshedConnectionsLoseNothing(t *testing.T) {
	l := connect(t, sim.Options{}, SocketOptions{})
	var between sync.RWMutex // a connection is told to go when nothing is on its way over it, as Slack does
	var all sync.WaitGroup
	next := make(chan int)
	var told time.Time // when the last connection was told to go
	for range 8 {
		all.Go(func() {
			for i := range next {
				between.RLock()
				d, err := l.slack.Slash(sim.Alice, sim.Training, "/diagnose", fmt.Sprint(i))
				if err != nil {
					t.Error(err)
				} else if a, err := d.Wait(l.ctx); err != nil || !a.OK {
					t.Errorf("command %d: %+v %v", i, a, err)
				}
				between.RUnlock()
			}
		})
	}
	for i := range 200 {
		if i%10 == 9 {
			between.Lock()
			l.until("the last one is back", func() bool { return l.slack.Sockets() == 2 && l.reopened(told) })
			told = time.Now()
			l.slack.Disconnect(sim.Disconnect{Socket: 1 + i/10%2, Leave: i%20 == 9})
			between.Unlock()
		}
		next <- i
	}
	close(next)
	all.Wait()
	got := l.texts()
	for i := range 200 {
		if got[fmt.Sprint(i)] != 1 {
			t.Errorf("command %d is stored %d times", i, got[fmt.Sprint(i)])
		}
	}
}

// reopened says whether all connections are open, and one was opened since a time.
func (l *line) reopened(since time.Time) bool {
	h := l.socks.Health()
	for _, k := range h.Sockets {
		if h.Open == len(h.Sockets) && k.LastHello.After(since) {
			return true
		}
	}
	return false
}

// settled moves Slack's clock until a delivery has ended: it gives up on an attempt after its patience and repeats events at once,
// after a minute and after five.
func (l *line) settled(clock *sim.FakeClock, d *sim.Delivery) sim.Ack {
	l.t.Helper()
	ended := make(chan sim.Ack, 1)
	go func() {
		if a, err := d.Wait(l.ctx); err == nil {
			ended <- a
		}
	}()
	for range 400 {
		select {
		case a := <-ended:
			return a
		case <-l.ctx.Done():
			l.t.Fatal("the delivery never ended")
		case <-time.After(20 * time.Millisecond): // give the bot time to answer before Slack loses patience
			l.until("a socket is open", func() bool { return l.slack.Sockets() > 0 && l.socks.Health().Open > 0 })
			clock.Advance(time.Second)
		}
	}
	l.t.Fatal("the delivery never ended")
	return sim.Ack{}
}

func TestEventsThatAreDeliveredAgainAreHandledOnce(t *testing.T) {
	for name, fault := range map[string]sim.Fault{
		"the acknowledgement is lost":      {Method: "ack", Do: sim.DropAck, Times: 2},
		"the connection breaks":            {Method: "deliver", Do: sim.Cut},
		"the connection breaks in a frame": {Method: "deliver", Do: sim.CutMidFrame},
		"everything comes twice":           {Method: "deliver", Do: sim.Twice, Times: -1},
	} {
		t.Run(name, func(t *testing.T) {
			clock := sim.NewFakeClock(noon)
			l := connect(t, sim.Options{Clock: clock}, SocketOptions{})
			l.slack.AddFault(fault)
			for i := range 3 {
				if a := l.settled(clock, l.mention(fmt.Sprint(i))); !a.OK {
					t.Errorf("mention %d: %+v", i, a)
				}
			}
			l.until("duplicates are handled", func() bool { return len(l.socks.work) == 0 })
			l.stop()
			got := l.texts()
			for i := range 3 {
				if got[fmt.Sprint(i)] != 1 {
					t.Errorf("mention %d is stored %d times", i, got[fmt.Sprint(i)])
				}
			}
		})
	}
}

func TestAllSocketsCutAtOnceComeBack(t *testing.T) {
	l := connect(t, sim.Options{}, SocketOptions{})
	for i := range 5 {
		cut := time.Now()
		l.slack.CutSockets()
		l.until("both are open again", func() bool {
			h := l.socks.Health()
			return l.slack.Sockets() == 2 && h.Open == 2 && h.Sockets[0].LastHello.After(cut) && h.Sockets[1].LastHello.After(cut)
		})
		if a := l.acked(l.command(fmt.Sprint(i))); !a.OK {
			t.Errorf("after cut %d: %+v", i, a)
		}
	}
}

func TestAConnectionWithoutPingsIsReplaced(t *testing.T) {
	l := connect(t, sim.Options{PingEvery: 20 * time.Millisecond, Faults: []sim.Fault{{Method: "socket", Do: sim.NoPing}}}, SocketOptions{N: 1, PingInterval: 300 * time.Millisecond})
	l.until("there is another connection", func() bool { return l.slack.Calls()["apps.connections.open"] >= 2 && l.socks.Health().Open == 1 })
	if a := l.acked(l.command("1")); !a.OK {
		t.Errorf("%+v", a)
	}
}

func TestADeafConnectionIsReplacedOneAtATime(t *testing.T) {
	l := connect(t, sim.Options{}, SocketOptions{Idle: 10 * time.Minute})
	l.slack.SetDeaf(true)
	soon := time.Now().Add(9 * time.Minute)
	l.socks.watch(soon)
	if n := testutil.ToFloat64(l.Metrics.Recycled.WithLabelValues(idle)); n != 0 {
		t.Fatalf("%v were replaced before the time", n)
	}
	late := time.Now().Add(11 * time.Minute)
	for i := range 2 {
		l.socks.watch(late)
		l.socks.watch(late) // the first is still being replaced
		if n := testutil.ToFloat64(l.Metrics.Recycled.WithLabelValues(idle)); n != float64(i+1) {
			t.Fatalf("%v were replaced", n)
		}
		l.until("it is open again", func() bool { return l.socks.Health().Open == 2 && l.slack.Sockets() == 2 })
	}
	for i := range 4 {
		if a := l.acked(l.command(fmt.Sprint(i))); !a.OK {
			t.Errorf("still deaf: %+v", a)
		}
	}
}

func TestWhichConnectionIsSuspect(t *testing.T) {
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	open := func(opened, inbound int) *socket {
		k := &socket{open: true, opened: at(opened), hello: at(opened)}
		if inbound > 0 {
			k.inbound = at(inbound)
		}
		return k
	}
	deaf := open(0, 0)
	deaf.hello = time.Time{}
	closed := &socket{}
	for name, c := range map[string]struct {
		list   []*socket
		conns  int
		now    int
		want   int // index, -1 for none
		reason string
	}{
		"all is well":                 {[]*socket{open(0, 4), open(0, 5)}, 2, 6, -1, ""},
		"one is idle":                 {[]*socket{open(0, 15), open(0, 2)}, 2, 16, 1, idle},
		"both are, the older first":   {[]*socket{open(1, 0), open(0, 0)}, 2, 20, 1, idle},
		"the other is not open":       {[]*socket{open(0, 0), closed}, 1, 20, -1, ""},
		"no hello":                    {[]*socket{open(0, 0), deaf}, 1, 1, 1, noHello},
		"Slack counts fewer":          {[]*socket{open(0, 5), open(0, 4)}, 1, 6, 1, ghost},
		"Slack counts other replicas": {[]*socket{open(0, 5), open(0, 4)}, 4, 6, -1, ""},
	} {
		s := &Sockets{list: c.list, conns: c.conns, opt: SocketOptions{Idle: 10 * time.Minute}}
		k, reason := s.suspect(at(c.now))
		got := -1
		for i := range c.list {
			if c.list[i] == k {
				got = i
			}
		}
		if got != c.want || reason != c.reason {
			t.Errorf("%s: %d %q", name, got, reason)
		}
	}
	s := &Sockets{list: []*socket{open(0, 5), open(0, 4)}, conns: 1, ghosted: at(5), opt: SocketOptions{Idle: 10 * time.Minute}}
	if k, _ := s.suspect(at(6)); k != nil {
		t.Error("a count that stays too low replaces one connection after the other")
	}
}

func TestTheEleventhConnectionWaitsAndTheOthersWork(t *testing.T) {
	l := connect(t, sim.Options{}, SocketOptions{N: 11})
	var left SocketHealth
	l.until("the eleventh knows why", func() bool {
		for _, k := range l.socks.Health().Sockets {
			if !k.Open && strings.Contains(k.Error, "10 connections") {
				left = k
				return true
			}
		}
		return false
	})
	if a := l.acked(l.command("1")); !a.OK {
		t.Errorf("%+v", a)
	}
	// slack-go runs ahead of us by as many tries as fit into its buffer of 50 events, two or three for each.
	if n := l.slack.Calls()["apps.connections.open"]; n > 11+25 {
		t.Errorf("asked for %d connections", n)
	}
	if p := l.socks.Health().Problems; len(p) != 0 {
		t.Errorf("a problem at once: %q", p)
	}
	l.socks.mu.Lock()
	l.socks.list[left.N-1].closed = time.Now().Add(-2 * replaceTime)
	l.socks.mu.Unlock()
	if p := l.socks.Health().Problems; len(p) != 1 || !strings.Contains(p[0], "only 10 of 11") {
		t.Errorf("health says %q", p)
	}
}

func TestARevokedAppTokenIsSaidLoudly(t *testing.T) {
	l := connect(t, sim.Options{}, SocketOptions{N: 1})
	l.slack.AddFault(sim.Fault{Method: "apps.connections.open", Times: -1, Do: sim.Refuse, Error: "invalid_auth"})
	l.slack.CutSockets()
	l.until("the log names it", func() bool { return strings.Contains(l.logs.String(), "level=ERROR") })
	if h := l.socks.Health(); !strings.Contains(h.Auth, "invalid_auth") || len(h.Problems) < 2 {
		t.Errorf("health %+v\n%s", l.socks.Health(), l.logs)
	}
}

func TestAPanicWhileHandlingDoesNotStopTheOthers(t *testing.T) {
	l := connect(t, sim.Options{}, SocketOptions{}, func(l *line) {
		l.Hello = func(in chat.Inbound) string {
			if in.Text == "boom" {
				panic("boom")
			}
			return "hi"
		}
	})
	for _, text := range []string{"boom", "fine", "boom", "fine too"} {
		if a := l.acked(l.command(text)); !a.OK {
			t.Errorf("%s: %+v", text, a)
		}
	}
	if n := testutil.ToFloat64(l.Metrics.Panics); n != 2 {
		t.Errorf("%v panics were counted", n)
	}
}

// slowQueue lets nothing through until it is opened.
type slowQueue struct {
	Queue
	entered, open chan struct{}
}

func (q slowQueue) Enqueue(ctx context.Context, jobs ...workflow.Job) (int, error) {
	q.entered <- struct{}{}
	<-q.open
	return q.Queue.Enqueue(ctx, jobs...)
}

func TestStoppingAcknowledgesWhatWasTaken(t *testing.T) {
	q := slowQueue{entered: make(chan struct{}, 1), open: make(chan struct{})}
	l := connect(t, sim.Options{}, SocketOptions{}, func(l *line) { q.Queue = l.Queue; l.Queue = q })
	d := l.command("1")
	<-q.entered
	stopped := make(chan struct{})
	go func() { l.stop(); close(stopped) }()
	l.until("it is stopping", func() bool { l.socks.mu.Lock(); defer l.socks.mu.Unlock(); return l.socks.stop })
	close(q.open)
	if a := l.acked(d); !a.OK {
		t.Errorf("%+v", a)
	}
	<-stopped
	if n := l.texts()["1"]; n != 1 {
		t.Errorf("stored %d times", n)
	}
}

func TestAPayloadThatSlackGoRefusesIsHandledAllTheSame(t *testing.T) {
	f := newFixture(t)
	s := NewSockets(newClient(t, "http://127.0.0.1:1", nil), f.Inbox, SocketOptions{N: 1})
	message := func(kind, payload string) {
		raw, _ := json.Marshal(map[string]any{"type": kind, "envelope_id": "e1", "payload": json.RawMessage(payload)})
		s.event(s.list[0], socketmode.Event{Type: socketmode.EventTypeErrorBadMessage, Data: &socketmode.ErrorBadMessage{Message: raw}})
	}
	message(fromInteractive, oneClick)
	message(fromInteractive, `{"type":"block_actions"}`)
	message("a_new_kind", `{}`)
	s.event(s.list[0], socketmode.Event{Type: socketmode.EventTypeErrorBadMessage, Data: &socketmode.ErrorBadMessage{Message: []byte(`{"type":"events_api"}`)}})
	if len(s.work) != 3 {
		t.Fatalf("%d envelopes wait", len(s.work))
	}
	for range 3 {
		s.answer(context.Background(), <-s.work) // acknowledges into slack-go's buffer
	}
	if in := f.stored(t); len(in) != 1 || in[0].Action != "rerun" {
		t.Errorf("stored %+v", in)
	}
	if n := testutil.ToFloat64(f.Metrics.BadMessages); n != 3 {
		t.Errorf("%v bad messages", n)
	}
}

func TestTooMuchAtOnceNeverBlocksTheReader(t *testing.T) {
	f := newFixture(t)
	s := NewSockets(newClient(t, "http://127.0.0.1:1", nil), f.Inbox, SocketOptions{N: 1})
	for range queued + 5 { // nobody works on them
		s.dispatch(s.list[0], envelope{Type: fromCommand, ID: "e"}, noon)
	}
	if n := testutil.ToFloat64(f.Metrics.Overflow); n != 5 {
		t.Errorf("%v were left to Slack", n)
	}
}

func TestOverHTTPWithTheLookAlike(t *testing.T) {
	f := newFixture(t)
	f.Now = time.Now
	srv := httptest.NewServer(f.Handler(sim.SignSecret))
	defer srv.Close()
	slack := sim.New(sim.Options{Patience: 20 * time.Second, HTTP: sim.HTTPTargets{Commands: srv.URL + "/slack/commands", Interactivity: srv.URL + "/slack/interactive", Events: srv.URL + "/slack/events"}})
	if _, err := slack.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer slack.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	send := func(text string) sim.Ack {
		d, err := slack.Slash(sim.Alice, sim.Training, "/diagnose", text)
		if err != nil {
			t.Fatal(err)
		}
		a, err := d.Wait(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := send("1"); !a.OK || !strings.Contains(string(a.Payload), "Looking at 1") {
		t.Errorf("%+v", a)
	}
	for _, do := range []string{sim.BadSignature, sim.StaleSignature} {
		slack.AddFault(sim.Fault{Method: "deliver", Do: do})
		if a := send(do); a.OK {
			t.Errorf("%s was accepted", do)
		}
		slack.ClearFaults()
	}
	for _, do := range []string{sim.Replay, sim.Twice} {
		slack.AddFault(sim.Fault{Method: "deliver", Do: do})
		send(do)
		slack.ClearFaults()
	}
	n := map[string]int{}
	for _, in := range f.stored(t) {
		n[in.Text]++
	}
	if len(n) != 3 || n["1"] != 1 || n[sim.Replay] != 1 || n[sim.Twice] != 1 {
		t.Errorf("stored %v", n)
	}
}
