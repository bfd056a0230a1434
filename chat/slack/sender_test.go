package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"faultline/config"
	"faultline/messages/blockkit"
	sim "faultline/simulate/slack"
	"faultline/workflow"
)

// blobs are attachments in memory.
type blobs map[string]string

func (b blobs) Open(_ context.Context, key string) (io.ReadCloser, error) {
	s, ok := b[key]
	if !ok {
		return nil, errors.New("no such blob")
	}
	return io.NopCloser(strings.NewReader(s)), nil
}

// stage is a sender between a store in memory and a Slack look-alike, on one clock that only the test moves.
type stage struct {
	*Sender
	t       *testing.T
	clock   *sim.FakeClock
	store   *workflow.Memory
	slack   *sim.Server
	blobs   blobs
	mu      sync.Mutex
	refused []string
}

func newStage(t *testing.T, opts sim.Options, scopes ...string) *stage {
	t.Helper()
	g := &stage{t: t, clock: sim.NewFakeClock(noon), blobs: blobs{}}
	opts.Clock = g.clock
	g.slack = sim.New(opts)
	addr, err := g.slack.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.slack.Close() })
	if scopes != nil {
		g.slack.SetScopes(sim.BotToken, scopes...)
	}
	g.store = workflow.NewMemory()
	g.store.Now = g.clock.Now
	g.Sender = &Sender{
		Client: newClient(t, addr, g.clock.Now), Outbox: g.store, Blobs: g.blobs, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: NewMetrics(nil),
		Now: g.clock.Now, Sleep: func(ctx context.Context, d time.Duration) error { g.clock.Advance(d); return ctx.Err() },
		Refused: func(_ context.Context, p workflow.Post, reason string) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.refused = append(g.refused, string(p.Kind)+" "+p.Key+": "+reason)
		},
	}
	return g
}

func newClient(t *testing.T, base string, now func() time.Time) *Client {
	t.Helper()
	c, err := NewClient(Config{BotToken: config.Secret(sim.BotToken), AppToken: config.Secret(sim.AppToken), APIURL: base + "/api/"},
		NewMetrics(prometheus.NewRegistry()), slog.New(slog.NewTextHandler(io.Discard, nil)), now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (g *stage) add(posts ...workflow.Post) {
	g.t.Helper()
	for i := range posts {
		p := &posts[i]
		if p.Channel == "" {
			p.Channel = sim.Training
		}
		if p.Kind == "" {
			p.Kind = workflow.PostMessage
		}
		if p.Investigation == "" {
			p.Investigation = "F-1"
		}
		if p.Payload == nil {
			p.Payload = says("text of " + p.Key)
		}
		p.Answer = true // how much is said unasked is the outbox's business
	}
	if err := g.store.Save(context.Background(), workflow.Change{Posts: posts}); err != nil {
		g.t.Fatal(err)
	}
}

// says is a message with a text and a block of the same text.
func says(text string) []byte {
	raw, _ := json.Marshal(blockkit.Message{Text: text, Blocks: blockkit.Blocks{blockkit.Section{Text: blockkit.Plain(text)}}})
	return raw
}

// drain sends until nothing is left, moving the clock whenever nothing can be done.
func (g *stage) drain() {
	g.t.Helper()
	g.init()
	ctx := context.Background()
	for range 2000 {
		next := g.round(ctx, ctx)
		g.busy.Wait()
		n, _, err := g.store.Backlog(ctx)
		if err != nil {
			g.t.Fatal(err)
		}
		if n == 0 {
			return
		}
		if wait := next.Sub(g.clock.Now()); wait > 0 && len(g.wake) == 0 {
			g.clock.Advance(wait)
		}
		select {
		case <-g.wake:
		default:
		}
	}
	g.t.Fatal("the outbox is not empty after 2000 rounds")
}

// texts are the bot's messages in a channel that everybody sees, threads included, in their order.
func (g *stage) texts(channel string) []string {
	var out []string
	for _, m := range g.slack.All(channel) {
		if m.User == sim.BotUser && m.VisibleTo == "" && !m.Deleted {
			out = append(out, m.Text)
		}
	}
	return out
}

func (g *stage) state(key string, kind workflow.PostKind) workflow.Post {
	g.t.Helper()
	posts, err := g.store.Posts(context.Background(), "F-1")
	if err != nil {
		g.t.Fatal(err)
	}
	for _, p := range posts {
		if p.Key == key && p.Kind == kind {
			return p
		}
	}
	g.t.Fatalf("there is no %s %q", kind, key)
	return workflow.Post{}
}

func (g *stage) want(channel string, texts ...string) {
	g.t.Helper()
	if got := g.texts(channel); strings.Join(got, "\n") != strings.Join(texts, "\n") {
		g.t.Errorf("in the channel:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(texts, "\n"))
	}
}

func TestACaseFileItsThreadAndItsEdits(t *testing.T) {
	g := newStage(t, sim.Options{RateLimits: true})
	g.add(
		workflow.Post{Key: workflow.KeyCase},
		workflow.Post{Key: "verdict-1", Thread: workflow.KeyCase},
		workflow.Post{Key: workflow.KeyCase, Kind: workflow.PostEdit, Payload: says("old edit")},
		workflow.Post{Key: workflow.KeyCase, Kind: workflow.PostEdit, Payload: says("new edit")},
		workflow.Post{Key: "link", Kind: workflow.PostEphemeral, User: sim.Alice, LinkTo: workflow.KeyCase, Payload: says("It is here: " + workflow.LinkPlaceholder)},
	)
	g.drain()
	g.want(sim.Training, "new edit", "text of verdict-1")
	head := g.state(workflow.KeyCase, workflow.PostMessage)
	reply := g.state("verdict-1", workflow.PostMessage)
	if head.State != workflow.PostSent || head.TS == "" || !strings.HasPrefix(head.Link, "https://") {
		t.Errorf("the case file: %+v", head)
	}
	if m, ok := g.slack.Find(sim.Training, func(m sim.Message) bool { return m.TS == reply.TS }); !ok || m.ThreadTS != head.TS {
		t.Errorf("the verdict is not in the thread: %+v", m)
	}
	if text := g.text(sim.Alice, "It is here"); !strings.Contains(text, head.Link) {
		t.Errorf("the link is missing: %q", text)
	}
	if n := g.slack.Calls()["chat.update"]; n != 1 {
		t.Errorf("chat.update was called %d times; the older edit is needless", n)
	}
	for _, e := range g.slack.Journal() {
		if e.Dir == "in" && e.Method == "chat.postMessage" && (!strings.Contains(e.Body, "unfurl_links=false") || !strings.Contains(e.Body, "unfurl_media=false")) {
			t.Errorf("links would be shown with previews: %s", e.Body)
		}
	}
}

// text is the text of the first message that begins so.
func (g *stage) text(user, prefix string) string {
	for _, m := range g.slack.All(sim.Training) {
		if strings.HasPrefix(m.Text, prefix) && (m.VisibleTo == "" || m.VisibleTo == user) {
			return m.Text
		}
	}
	return ""
}

func TestManyPostsKeepTheirOrderAndThePace(t *testing.T) {
	g := newStage(t, sim.Options{RateLimits: true})
	var want []string
	for i := range 40 {
		g.add(workflow.Post{Key: fmt.Sprint("m", i)}, workflow.Post{Key: fmt.Sprint("p", i), Channel: sim.Private})
		want = append(want, fmt.Sprint("text of m", i))
	}
	began := g.clock.Now()
	g.drain()
	g.want(sim.Training, want...)
	if n := len(g.texts(sim.Private)); n != 40 {
		t.Errorf("%d posts in the other channel", n)
	}
	for _, e := range g.slack.Journal() {
		if e.Status == 429 {
			t.Fatal("Slack had to ask for patience")
		}
	}
	// Two channels at once: not much longer than one takes.
	if took := g.clock.Now().Sub(began); took < 39*postSpacing || took > 50*postSpacing {
		t.Errorf("it took %s", took)
	}
}

func TestAStormOf429LosesNothingAndKeepsTheOrder(t *testing.T) {
	g := newStage(t, sim.Options{})
	g.slack.AddFault(sim.Fault{Method: "chat.postMessage", Channel: sim.Training, Times: 7, Do: sim.RateLimit, RetryAfter: 20})
	g.slack.AddFault(sim.Fault{Method: "chat.getPermalink", Times: -1, Do: sim.RateLimit, RetryAfter: 5})
	var want []string
	for i := range 10 {
		g.add(workflow.Post{Key: fmt.Sprint("m", i)})
		want = append(want, fmt.Sprint("text of m", i))
	}
	g.add(workflow.Post{Key: "elsewhere", Channel: sim.Private})
	began := g.clock.Now()
	ctx := context.Background()
	g.init()
	g.round(ctx, ctx)
	g.busy.Wait()
	delays := g.Delays()
	if len(delays) != 1 || delays[0].Method != "chat.postMessage" || delays[0].Channel != sim.Training || delays[0].Until.Sub(began) < 20*time.Second {
		t.Errorf("what Slack asked for is not visible: %+v", delays)
	}
	if got := g.state("m0", workflow.PostMessage).LastError; !strings.Contains(got, "20s") {
		t.Errorf("the reason in the outbox is %q", got)
	}
	if n := len(g.texts(sim.Private)); n != 1 {
		t.Error("the other channel had to wait too")
	}
	g.drain()
	g.want(sim.Training, want...)
	// 7 × 20 s, then the pace of the channel; nothing is waited for twice.
	if took := g.clock.Now().Sub(began); took < 140*time.Second || took > 140*time.Second*105/100+12*postSpacing {
		t.Errorf("it took %s", took)
	}
}

func TestAnAcceptedPostWhoseAnswerIsLostIsFoundWhereTheBotMayLook(t *testing.T) {
	g := newStage(t, sim.Options{})
	if _, err := g.Client.Probe(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	g.slack.AddFault(sim.Fault{Method: "chat.postMessage", Times: 2, Do: sim.FailAfter})
	g.add(workflow.Post{Key: workflow.KeyCase}, workflow.Post{Key: "verdict-1", Thread: workflow.KeyCase})
	g.drain()
	g.want(sim.Training, "text of case", "text of verdict-1")
	if p := g.state(workflow.KeyCase, workflow.PostMessage); p.TS == "" || p.Link == "" || p.Marked {
		t.Errorf("the case file: %+v", p)
	}
}

func TestAPostThatCertainlyDidNotArriveIsSentAgainWithoutARemark(t *testing.T) {
	g := newStage(t, sim.Options{})
	if _, err := g.Client.Probe(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	g.slack.AddFault(sim.Fault{Method: "chat.postMessage", Times: 3, Do: sim.FailBefore})
	g.slack.AddFault(sim.Fault{Method: "chat.postMessage", Skip: 3, Do: sim.Hang})
	g.add(workflow.Post{Key: workflow.KeyCase}, workflow.Post{Key: "b"})
	g.drain()
	g.want(sim.Training, "text of case", "text of b")
}

// little is what a bot without the right to read has.
var little = []string{"chat:write", "files:write", "commands"}

func TestWhereTheBotMayNotLookARepetitionSaysThatItIsOne(t *testing.T) {
	g := newStage(t, sim.Options{}, little...)
	g.slack.AddFault(sim.Fault{Method: "chat.postMessage", Do: sim.FailAfter})
	g.add(workflow.Post{Key: workflow.KeyCase})
	g.drain()
	g.want(sim.Training, "text of case", repeated+"\ntext of case")
	m := g.slack.All(sim.Training)
	if !strings.Contains(string(m[len(m)-1].Blocks), "Sent again") {
		t.Errorf("the blocks do not say so: %s", m[len(m)-1].Blocks)
	}
}

func TestAnEditKeepsTheRemarkOfARepetitionAndDropsOldBlocks(t *testing.T) {
	g := newStage(t, sim.Options{}, little...)
	g.slack.AddFault(sim.Fault{Method: "chat.postMessage", Do: sim.FailAfter})
	g.add(workflow.Post{Key: workflow.KeyCase})
	g.drain()
	g.add(workflow.Post{Key: workflow.KeyCase, Kind: workflow.PostEdit, Payload: []byte(`{"text":"changed"}`)})
	g.drain()
	g.want(sim.Training, "text of case", repeated+"\nchanged")
	m := g.slack.All(sim.Training)
	if blocks := string(m[len(m)-1].Blocks); strings.Contains(blocks, "text of case") {
		t.Errorf("the old blocks are still there: %s", blocks)
	}
}

func TestEditsAndRemovalsAreRepeatedWithoutARemark(t *testing.T) {
	g := newStage(t, sim.Options{}, little...)
	g.add(workflow.Post{Key: "a"}, workflow.Post{Key: "b"})
	g.drain()
	g.slack.AddFault(sim.Fault{Method: "chat.update", Do: sim.FailAfter})
	g.slack.AddFault(sim.Fault{Method: "chat.delete", Do: sim.FailAfter})
	g.add(workflow.Post{Key: "a", Kind: workflow.PostEdit, Payload: says("changed")}, workflow.Post{Key: "b", Kind: workflow.PostRemove})
	g.drain()
	g.want(sim.Training, "changed")
	if len(g.refused) != 0 {
		t.Errorf("given up: %v", g.refused)
	}
}

func TestACrashInTheMiddleOfSendingIsSettledAtTheNextStart(t *testing.T) {
	for _, may := range []bool{true, false} {
		g := newStage(t, sim.Options{})
		if !may {
			g.slack.SetScopes(sim.BotToken, little...)
		}
		g.slack.AddFault(sim.Fault{Method: "conversations.history", Do: sim.FailBefore}) // looked again
		g.add(workflow.Post{Key: "arrived"}, workflow.Post{Key: "not", Channel: sim.Private})
		ctx := context.Background()
		g.init()
		due, err := g.store.Due(ctx, 10)
		if err != nil || len(due) != 2 {
			t.Fatalf("%d due, %v", len(due), err)
		}
		for _, p := range due { // what an earlier process did before it was killed
			if err := g.store.Sending(ctx, p.ID); err != nil {
				t.Fatal(err)
			}
			if p.Key == "arrived" {
				at, f, _, _ := g.prepare(ctx, p)
				c, _ := f.next(g.Metrics)
				if _, err := g.post(ctx, p, at, c); err != nil {
					t.Fatal(err)
				}
			}
		}
		g.settle(ctx, ctx)
		g.busy.Wait()
		g.drain()
		if may {
			g.want(sim.Training, "text of arrived")
			g.want(sim.Private, "text of not")
		} else {
			g.want(sim.Training, "text of arrived", repeated+"\ntext of arrived")
			g.want(sim.Private, repeated+"\ntext of not")
		}
	}
}

func TestAReportThatACrashKeptBackIsNotTakenForAnEarlierOne(t *testing.T) {
	g := newStage(t, sim.Options{})
	g.blobs["x"] = "{}"
	g.add(workflow.Post{Key: workflow.KeyCase})
	for _, key := range []string{"final-1", "final-2"} {
		g.add(workflow.Post{Key: key, Kind: workflow.PostFiles, Thread: workflow.KeyCase, Payload: says(key), Files: []workflow.Attachment{{Name: "report.json", Blob: "x", Bytes: 2}}})
		if key == "final-1" {
			g.drain()
		}
	}
	ctx := context.Background()
	if err := g.store.Sending(ctx, g.state("final-2", workflow.PostFiles).ID); err != nil { // killed before Slack had it
		t.Fatal(err)
	}
	g.settle(ctx, ctx)
	g.busy.Wait()
	g.drain()
	first, second := g.state("final-1", workflow.PostFiles), g.state("final-2", workflow.PostFiles)
	m, ok := g.slack.Find(sim.Training, func(m sim.Message) bool { return m.TS == second.TS })
	if !ok || first.TS == second.TS || !strings.Contains(string(m.Blocks)+m.Text, "final-2") {
		t.Errorf("the second report is %+v, the first %s", m, first.TS)
	}
}

func TestFilesAreSharedTogetherInOneMessage(t *testing.T) {
	g := newStage(t, sim.Options{RateLimits: true})
	g.blobs["html"], g.blobs["json"] = "<html>", `{"a":1}`
	g.add(workflow.Post{Key: workflow.KeyCase}, workflow.Post{Key: "final", Kind: workflow.PostFiles, Thread: workflow.KeyCase, Payload: says("The report"), Files: []workflow.Attachment{
		{Name: "report.html", Title: "Report", Blob: "html", Bytes: 6}, {Name: "report.json", Blob: "json"}, // the second without a noted size
	}}, workflow.Post{Key: "later", Thread: workflow.KeyCase})
	g.drain()
	p, head := g.state("final", workflow.PostFiles), g.state(workflow.KeyCase, workflow.PostMessage)
	m, ok := g.slack.Find(sim.Training, func(m sim.Message) bool { return m.TS == p.TS })
	if !ok || len(m.Files) != 2 || m.ThreadTS != head.TS || !strings.Contains(string(m.Blocks), "The report") {
		t.Fatalf("shared as %+v", m)
	}
	if got := string(m.Files[0].Content()) + string(m.Files[1].Content()); got != `<html>{"a":1}` {
		t.Errorf("uploaded %q", got)
	}
	if later := g.state("later", workflow.PostMessage); later.TS < m.TS {
		t.Error("what comes after the files was posted before them")
	}
	for _, e := range g.slack.Journal() {
		if e.Kind == "upload" && e.Auth != "" {
			t.Error("the token was sent with the bytes")
		}
	}
}

func TestFilesThatFailOnTheWayAreSharedOnce(t *testing.T) {
	for _, c := range []struct {
		fault  sim.Fault
		scopes []string
		want   int // messages with files
	}{
		{sim.Fault{Method: "upload", Do: sim.FailBefore}, nil, 1},
		{sim.Fault{Method: "upload", Do: sim.Hang}, nil, 1},
		{sim.Fault{Method: "files.getUploadURLExternal", Do: sim.FailAfter}, nil, 1},
		{sim.Fault{Method: "files.completeUploadExternal", Do: sim.RateLimit, RetryAfter: 9}, nil, 1},
		{sim.Fault{Method: "files.completeUploadExternal", Do: sim.FailBefore}, nil, 1},
		{sim.Fault{Method: "files.completeUploadExternal", Do: sim.FailAfter}, nil, 1},
		{sim.Fault{Method: "files.completeUploadExternal", Do: sim.FailAfter}, []string{"chat:write", "files:write", "files:read"}, 1},
		{sim.Fault{Method: "files.completeUploadExternal", Do: sim.FailAfter}, little, 2}, // the second says that it is one
	} {
		g := newStage(t, sim.Options{}, c.scopes...)
		if _, err := g.Client.Probe(context.Background(), false); err != nil {
			t.Fatal(err)
		}
		g.slack.AddFault(c.fault)
		g.blobs["x"] = "content"
		g.add(workflow.Post{Key: "map", Kind: workflow.PostFiles, Payload: says("The map"), Files: []workflow.Attachment{{Name: "map.png", Alt: "rank 3 waits", Blob: "x", Bytes: 7}}})
		g.drain()
		var shared []sim.Message
		for _, m := range g.slack.All(sim.Training) {
			if len(m.Files) > 0 {
				shared = append(shared, m)
			}
		}
		if len(shared) != c.want {
			t.Errorf("%+v: shared %d times", c.fault, len(shared))
		}
		if c.want == 2 && !strings.Contains(string(shared[1].Blocks), "Sent again") {
			t.Errorf("the repetition does not say so: %s", shared[1].Blocks)
		}
		if len(g.refused) > 0 {
			t.Errorf("%+v: given up %v", c.fault, g.refused)
		}
	}
}

func TestRemovingAMessageRemovesItsFiles(t *testing.T) {
	for _, may := range []bool{true, false} {
		g := newStage(t, sim.Options{})
		g.blobs["x"] = "content"
		g.add(workflow.Post{Key: workflow.KeyCase}, workflow.Post{Key: "map", Kind: workflow.PostFiles, Thread: workflow.KeyCase, Files: []workflow.Attachment{{Name: "a.png", Blob: "x", Bytes: 7}, {Name: "b.png", Blob: "x", Bytes: 7}}},
			workflow.Post{Key: "after", Thread: workflow.KeyCase})
		g.drain()
		if !may {
			g.slack.SetScopes(sim.BotToken, little...)
		}
		g.add(workflow.Post{Key: "map", Kind: workflow.PostRemove}, workflow.Post{Key: "after", Kind: workflow.PostRemove})
		g.drain()
		g.want(sim.Training, "text of case")
		left := 0
		for _, f := range g.slack.Files() {
			if _, there := g.slack.File(f.ID); there {
				left++
			}
		}
		if may && (left != 0 || len(g.refused) != 0) {
			t.Errorf("%d files are left, refused %v", left, g.refused)
		}
		if !may && (left != 2 || len(g.refused) != 1 || !strings.Contains(g.refused[0], "not its files")) {
			t.Errorf("%d files are left, and told %v", left, g.refused)
		}
	}
}

func TestAMessageWhoseFilesCannotBeAttachedComesWithoutThemAndSaysSo(t *testing.T) {
	g := newStage(t, sim.Options{}, "chat:write")
	g.blobs["x"] = "content"
	g.add(workflow.Post{Key: "map", Kind: workflow.PostFiles, Payload: says("The map"), Files: []workflow.Attachment{{Name: "map.png", Blob: "x", Bytes: 7}}})
	g.drain()
	if got := g.texts(sim.Training); len(got) != 1 || !strings.Contains(got[0], "map.png could not be attached: the app lacks the scope files:write") || !strings.Contains(got[0], "The map") {
		t.Errorf("posted %q", got)
	}

	g = newStage(t, sim.Options{})
	g.blobs["x"] = "content"
	g.add(workflow.Post{Key: "map", Kind: workflow.PostFiles, Payload: says("The map"), Files: []workflow.Attachment{
		{Name: "gone.png", Blob: "y", Bytes: 7}, {Name: "map.png", Blob: "x", Bytes: 7}, {Name: "short.png", Blob: "x", Bytes: 70}}})
	g.drain()
	all := g.slack.All(sim.Training)
	if len(all) != 1 || len(all[0].Files) != 1 || !strings.Contains(string(all[0].Blocks), "gone.png could not be attached") ||
		!strings.Contains(string(all[0].Blocks), "short.png could not be attached") {
		t.Errorf("posted %+v", all)
	}
}

func TestAMessageThatSlackWouldRefuseIsMadeSimplerRatherThanDropped(t *testing.T) {
	g := newStage(t, sim.Options{})
	long, _ := json.Marshal(blockkit.Message{Text: "The verdict", Blocks: blockkit.Blocks{blockkit.Section{Text: blockkit.Plain(strings.Repeat("x", 5000))}}})
	g.add(workflow.Post{Key: "long", Payload: long},
		workflow.Post{Key: "strange", Payload: []byte(`{"text":"Strange blocks","blocks":[{"type":"no_such_block"}]}`)},
		workflow.Post{Key: "broken", Payload: []byte(`{"text":`)},
		workflow.Post{Key: "last"})
	g.drain()
	got := g.texts(sim.Training)
	if len(got) != 4 || got[0] != "The verdict" || !strings.Contains(got[1], "Strange blocks") || !strings.Contains(got[1], "The full report is attached") ||
		!strings.Contains(got[2], "no text") || got[3] != "text of last" {
		t.Errorf("posted %q", got)
	}
	for _, e := range g.slack.Journal() {
		if strings.Contains(e.Response, `"error"`) {
			t.Errorf("Slack was asked and refused: %s", e.Response)
		}
	}
}

func TestAMessageThatSlackRefusesAllTheSameIsMadeSimpler(t *testing.T) {
	for _, answer := range []string{"invalid_blocks", "msg_blocks_too_long", "msg_too_long", "something_nobody_has_seen"} {
		g := newStage(t, sim.Options{ValidateMessage: func(raw json.RawMessage) []sim.Problem {
			if bytes.Contains(raw, []byte(`"blocks":[{`)) {
				return []sim.Problem{{Pointer: "/blocks/0", Text: "refused", Code: answer}}
			}
			return nil
		}})
		g.add(workflow.Post{Key: "a"})
		g.drain()
		if got := g.texts(sim.Training); len(got) != 1 || !strings.Contains(got[0], "text of a") || !strings.Contains(got[0], "refused the layout") {
			t.Errorf("%s: posted %q", answer, got)
		}
	}
}

func TestABlockThatSlackRefusesBecomesLinesAndTheOthersStay(t *testing.T) {
	g := newStage(t, sim.Options{ValidateMessage: func(raw json.RawMessage) []sim.Problem {
		if bytes.Contains(raw, []byte(`"data_table"`)) {
			return []sim.Problem{{Pointer: "/blocks/1/rows", Text: "refused"}}
		}
		return nil
	}})
	raw, err := json.Marshal(blockkit.Message{Text: "text", Blocks: blockkit.Blocks{
		blockkit.Section{Text: blockkit.Plain("first")},
		blockkit.DataTable{Caption: "Evidence", Rows: []blockkit.Row{{blockkit.RawText{Text: "file"}, blockkit.RawText{Text: "line"}}, {blockkit.RawText{Text: "rank-3.log"}, blockkit.RawText{Text: "4711"}}}},
		blockkit.Section{Text: blockkit.Plain("last")}}})
	if err != nil {
		t.Fatal(err)
	}
	g.add(workflow.Post{Key: "a", Payload: raw})
	g.drain()
	posted := g.slack.All(sim.Training)
	if len(posted) != 1 {
		t.Fatalf("%d messages", len(posted))
	}
	got := string(posted[0].Blocks)
	for _, want := range []string{`"section"`, "first", "last", "rich_text_preformatted", "rank-3.log", "4711", "Evidence"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

func TestAChannelThatIsMissingForAWhileKeepsItsCase(t *testing.T) {
	g := newStage(t, sim.Options{})
	g.slack.AddFault(sim.Fault{Method: "chat.postMessage", Times: 2, Do: sim.Refuse, Error: "not_in_channel"})
	g.add(workflow.Post{Key: workflow.KeyCase}, workflow.Post{Key: "verdict-1", Thread: workflow.KeyCase})
	g.drain()
	g.want(sim.Training, "text of "+workflow.KeyCase, "text of verdict-1")
	if len(g.refused) != 0 {
		t.Errorf("given up: %q", g.refused)
	}
}

func TestAPostThatNoPlaceTakesIsGivenUpAndTheOthersGoOn(t *testing.T) {
	g := newStage(t, sim.Options{})
	for _, channel := range []string{sim.Outside, sim.Archive, "C0NOWHERE1"} {
		g.add(workflow.Post{Key: "to " + channel, Channel: channel}, workflow.Post{Key: "under " + channel, Channel: channel, Thread: "to " + channel})
	}
	g.add(workflow.Post{Key: "fine"})
	g.drain()
	g.want(sim.Training, "text of fine")
	if len(g.refused) != 6 {
		t.Fatalf("told of %q", g.refused)
	}
	all := strings.Join(g.refused, "\n")
	for _, want := range []string{"not_in_channel", "is_archived", "channel_not_found", "under which it belongs was never posted"} {
		if !strings.Contains(all, want) {
			t.Errorf("no word of %s in\n%s", want, all)
		}
	}
	if p := g.state("to "+sim.Outside, workflow.PostMessage); p.State != workflow.PostUndeliverable || p.LastError == "" {
		t.Errorf("the post is %+v", p)
	}
}

func TestWithoutAValidTokenPostsWait(t *testing.T) {
	g := newStage(t, sim.Options{})
	g.slack.AddFault(sim.Fault{Method: "chat.postMessage", Times: 3, Do: sim.Refuse, Error: "token_revoked"})
	g.slack.SetScopes(sim.BotToken, "commands") // no chat:write: nothing takes effect
	g.add(workflow.Post{Key: "a"})
	ctx := context.Background()
	g.init()
	g.round(ctx, ctx)
	g.busy.Wait()
	if p := g.state("a", workflow.PostMessage); p.State != workflow.PostQueued || p.LastError == "" {
		t.Fatalf("the post is %+v", p)
	}
	g.slack.ClearFaults()
	g.slack.SetScopes(sim.BotToken, "chat:write")
	g.drain()
	g.want(sim.Training, "text of a")
}

func TestEphemeralAnswersUseTheResponseURLWhileItIsGood(t *testing.T) {
	g := newStage(t, sim.Options{})
	url := g.hook(sim.Training)
	for i := range 7 {
		g.add(workflow.Post{Key: fmt.Sprint("e", i), Kind: workflow.PostEphemeral, User: sim.Alice, Respond: url})
	}
	g.drain()
	if n := g.slack.Calls()["chat.postEphemeral"]; n != 2 {
		t.Errorf("chat.postEphemeral was called %d times for seven answers", n)
	}
	for _, m := range g.slack.All(sim.Training) {
		if m.VisibleTo != sim.Alice {
			t.Errorf("everybody sees %q", m.Text)
		}
	}
	old := g.hook(sim.Outside) // the bot is not there: only the response_url could reach her
	g.add(workflow.Post{Key: "in time", Kind: workflow.PostEphemeral, User: sim.Alice, Respond: old, Channel: sim.Outside})
	g.drain()
	if p := g.state("in time", workflow.PostEphemeral); p.State != workflow.PostSent {
		t.Errorf("it is %+v", p)
	}
	late := g.hook(sim.Outside)
	g.add(workflow.Post{Key: "late", Kind: workflow.PostEphemeral, User: sim.Alice, Respond: late, Channel: sim.Outside})
	g.clock.Advance(respondAge)
	g.drain()
	if p := g.state("late", workflow.PostEphemeral); p.State != workflow.PostUndeliverable {
		t.Errorf("it is %+v", p)
	}
	for i := range 2 { // a foreign address is never called
		g.add(workflow.Post{Key: fmt.Sprint("foreign", i), Kind: workflow.PostEphemeral, User: sim.Alice, Respond: "http://169.254.169.254/x"})
	}
	g.drain()
	if p := g.state("foreign1", workflow.PostEphemeral); p.State != workflow.PostSent {
		t.Errorf("it is %+v", p)
	}
}

// hook is a response_url that a command brought.
func (g *stage) hook(channel string) string {
	g.t.Helper()
	d, err := g.slack.Slash(sim.Alice, channel, "/diagnose", "1")
	if err != nil {
		g.t.Fatal(err)
	}
	var c struct {
		URL string `json:"response_url"`
	}
	if err := json.Unmarshal(d.Payload(), &c); err != nil {
		g.t.Fatal(err)
	}
	return c.URL
}

func TestEditsOfOneMessageKeepTheirDistance(t *testing.T) {
	g := newStage(t, sim.Options{})
	g.add(workflow.Post{Key: workflow.KeyCase})
	g.drain()
	began := g.clock.Now()
	for i := range 5 {
		g.add(workflow.Post{Key: workflow.KeyCase, Kind: workflow.PostEdit, Payload: says(fmt.Sprint("edit ", i))})
		g.drain()
	}
	g.want(sim.Training, "edit 4")
	if took := g.clock.Now().Sub(began); took < 4*editSpacing {
		t.Errorf("five edits within %s", took)
	}
}

// flaky is an outbox that fails to note what became of a post.
type flaky struct {
	workflow.Outbox
	fail int
}

func (f *flaky) Sent(ctx context.Context, id int64, ts, link string) error {
	if f.fail--; f.fail >= 0 {
		return errors.New("the database is locked")
	}
	return f.Outbox.Sent(ctx, id, ts, link)
}

func TestWhatSlackTookIsNotForgottenWhenTheStoreFails(t *testing.T) {
	g := newStage(t, sim.Options{})
	g.Outbox = &flaky{g.store, 5}
	g.add(workflow.Post{Key: "a"}, workflow.Post{Key: "b"})
	g.drain()
	g.want(sim.Training, "text of a", "text of b")
}

func TestAPostThatMakesTheCodePanicIsGivenUpInTheEnd(t *testing.T) {
	g := newStage(t, sim.Options{})
	g.Blobs = nil // opening an attachment panics
	g.add(workflow.Post{Key: "bad", Kind: workflow.PostFiles, Files: []workflow.Attachment{{Name: "x", Blob: "x"}}}, workflow.Post{Key: "good"})
	g.drain()
	g.want(sim.Training, "text of good")
	if p := g.state("bad", workflow.PostFiles); p.State != workflow.PostUndeliverable {
		t.Errorf("it is %+v", p)
	}
}

func TestRunSendsWhatIsWokenAndStops(t *testing.T) {
	g := newStage(t, sim.Options{})
	g.Now, g.Sleep = nil, nil // the real clock
	g.store.Now = nil
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	g.add(workflow.Post{Key: "a"})
	g.Wake()
	wait, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	if _, err := g.slack.WaitMessage(wait, sim.Training, func(m sim.Message) bool { return m.Text == "text of a" }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if p := g.state("a", workflow.PostMessage); p.State != workflow.PostSent {
		t.Errorf("stopped before it was noted: %+v", p)
	}
}

// What the disk does not give now is no reason to send a report without its files.
func TestAReportWaitsForFilesThatCannotBeReadNow(t *testing.T) {
	g := newStage(t, sim.Options{})
	g.add(workflow.Post{Key: workflow.KeyCase}, workflow.Post{Key: "final", Kind: workflow.PostFiles, Thread: workflow.KeyCase, Payload: says("The report"),
		Files: []workflow.Attachment{{Name: "report.json", Blob: "x", Bytes: 2}}})
	begun, tries := g.clock.Now(), 0
	g.Trouble = func(context.Context) error {
		if tries++; tries == 8 {
			g.blobs["x"] = "{}" // for the next try
		}
		return &workflow.Fault{Cannot: "store files", Why: "no permission to write"}
	}
	g.drain()
	if p := g.state("final", workflow.PostFiles); p.State != workflow.PostSent || len(g.refused) > 0 {
		t.Errorf("%s %q", p.State, g.refused)
	}
	files := 0
	for _, m := range g.slack.All(sim.Training) {
		files += len(m.Files)
	}
	if files != 1 {
		t.Errorf("it came with %d files", files)
	}
	if took := g.clock.Now().Sub(begun); took > 8*ownPause+20*time.Second {
		t.Errorf("sent after %s", took)
	}
}

func TestSayingPastTheOutboxFindsTheThread(t *testing.T) {
	g := newStage(t, sim.Options{})
	g.add(workflow.Post{Key: workflow.KeyCase})
	g.drain()
	head := g.state(workflow.KeyCase, workflow.PostMessage)
	for _, memory := range []bool{true, false} {
		if !memory {
			g.heads = heads{}
		}
		if err := g.Say(t.Context(), "F-1", "the disk is full"); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, m := range g.slack.All(sim.Training) {
		if m.Text == "the disk is full" && m.ThreadTS == head.TS {
			n++
		}
	}
	if n != 2 {
		t.Errorf("said %d times in the thread", n)
	}
}
