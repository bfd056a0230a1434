package slack

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"faultline/chat"
	"faultline/config"
	"faultline/messages/blockkit"
	"faultline/workflow"
)

// vault is a chat.Vault without a clock.
type vault struct {
	mu   sync.Mutex
	held map[string]map[string]config.Secret
}

func (v *vault) Put(key string, secrets map[string]config.Secret) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.held == nil {
		v.held = map[string]map[string]config.Secret{}
	}
	v.held[key] = secrets
}

func (v *vault) Take(key string) map[string]config.Secret {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.held[key]
	delete(v.held, key)
	return s
}

// brokenQueue fails, or panics, or hangs.
type brokenQueue struct{ how string }

func (q brokenQueue) Enqueue(_ context.Context, _ ...workflow.Job) (int, error) {
	switch q.how {
	case "panic":
		panic("hunter2-canary")
	case "hang":
		select {} // as a write to a file system that is gone: no context ends it
	}
	return 0, errors.New("the disk is full")
}

// fixture is an inbox with everything around it.
type fixture struct {
	*Inbox
	store *workflow.Memory
	vault *vault
	logs  *lockedBuffer
	woken atomic.Int64
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{store: workflow.NewMemory(), vault: &vault{}, logs: &lockedBuffer{}}
	f.Inbox = &Inbox{
		Queue: f.store, Vault: f.vault, Wake: func() { f.woken.Add(1) }, Now: func() time.Time { return noon },
		Hello: func(in chat.Inbound) string { return "Looking at " + in.Text },
		Log:   slog.New(slog.NewTextHandler(f.logs, &slog.HandlerOptions{Level: slog.LevelDebug})), Metrics: NewMetrics(prometheus.NewRegistry()),
	}
	f.SetHome("T1", "")
	return f
}

func (f *fixture) give(kind, raw string) verdict {
	return f.take(context.Background(), kind, []byte(raw), noon)
}

func (f *fixture) stored(t *testing.T) []chat.Inbound {
	t.Helper()
	jobs, err := f.store.Waiting(context.Background(), workflow.JobInbound)
	if err != nil {
		t.Fatal(err)
	}
	var all []chat.Inbound
	for _, j := range jobs {
		var in chat.Inbound
		if err := json.Unmarshal(j.Payload, &in); err != nil {
			t.Fatal(err)
		}
		if in.Key != j.Key {
			t.Errorf("job %q holds %q", j.Key, in.Key)
		}
		all = append(all, in)
	}
	return all
}

const (
	oneCommand = `{"team_id":"T1","user_id":"U1","channel_id":"C1","text":"12345","trigger_id":"1.1"}`
	oneClick   = `{"type":"block_actions","user":{"id":"U1"},"response_url":"https://hooks.slack.com/actions/1","container":{"message_ts":"5.5"},"actions":[{"action_id":"rerun","action_ts":"6.6"}]}`
	oneEvent   = `{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention","user":"U1","channel":"C1","ts":"1.1","text":"hi"}}`
)

func body(v verdict) string {
	raw, _ := json.Marshal(v.body)
	return string(raw)
}

func TestWhatComesInIsStoredOnceHoweverOftenItIsDelivered(t *testing.T) {
	f := newFixture(t)
	for _, in := range [][2]string{{fromCommand, oneCommand}, {fromInteractive, oneClick}, {fromEvents, oneEvent}, {fromInteractive, submission}} {
		for range 3 {
			if v := f.give(in[0], in[1]); !v.ack {
				t.Errorf("%s was not acknowledged", in[0])
			}
		}
	}
	if got := f.stored(t); len(got) != 4 {
		t.Errorf("%d acts are stored: %+v", len(got), got)
	}
	if n := f.woken.Load(); n < 4 {
		t.Errorf("woken %d times", n)
	}
	if n := testutil.ToFloat64(f.Metrics.Duplicates); n != 8 {
		t.Errorf("%v duplicates were counted", n)
	}
	if got := f.vault.Take("submit:V1/1.abc")[chat.SecretFields[0]].Reveal(); got != "hunter2-canary" {
		t.Errorf("the vault holds %q", got)
	}
	if strings.Contains(f.logs.String(), "canary") {
		t.Error("the secret is in the log")
	}
}

func TestACommandIsAnsweredAtOnce(t *testing.T) {
	f := newFixture(t)
	if got := body(f.give(fromCommand, oneCommand)); got != `{"response_type":"ephemeral","text":"Looking at 12345"}` {
		t.Errorf("answered %s", got)
	}
}

func TestTheSecretIsInTheVaultBeforeTheWorkersKnow(t *testing.T) {
	f := newFixture(t)
	f.Wake = func() {
		if f.vault.Take("submit:V1/1.abc") == nil {
			t.Error("woken before the vault had it")
		}
	}
	f.give(fromInteractive, submission)
}

func TestWhatCannotBeStoredIsNotAcknowledgedAsDone(t *testing.T) {
	for _, how := range []string{"fail", "panic", "hang"} {
		t.Run(how, func(t *testing.T) {
			f := newFixture(t)
			f.Queue = brokenQueue{how}
			told := make(chan string, 1)
			f.Tell = func(_ context.Context, to, sentence string) error { told <- to + " " + sentence; return nil }
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if how == "hang" {
				cancel() // so that it ends at once
			}
			give := func(kind, raw string) verdict { return f.take(ctx, kind, []byte(raw), noon) }
			if v := give(fromEvents, oneEvent); v.ack {
				t.Error("an event was acknowledged; Slack would not deliver it again")
			}
			if v := give(fromCommand, oneCommand); !v.ack || !strings.Contains(body(v), "couldn't save this") {
				t.Errorf("a command was answered %v %s", v.ack, body(v))
			}
			if v := give(fromInteractive, submission); !v.ack || !strings.Contains(body(v), `"response_action":"errors"`) {
				t.Errorf("a modal was answered %v %s", v.ack, body(v))
			}
			if how == "fail" && f.vault.Take("submit:V1/1.abc") != nil {
				t.Error("the secret of a modal that was not stored is still held")
			}
			if v := give(fromInteractive, oneClick); !v.ack {
				t.Error("a click was not acknowledged")
			}
			if got := <-told; !strings.Contains(got, "https://hooks.slack.com/actions/1") || !strings.Contains(got, "couldn't save this") {
				t.Errorf("told %q", got)
			}
			if strings.Contains(f.logs.String(), "canary") {
				t.Error("the log quotes what panicked")
			}
			if n := testutil.ToFloat64(f.Metrics.Panics); (n > 0) != (how == "panic") {
				t.Errorf("%v panics", n)
			}
		})
	}
}

func TestAModalWithErrorsStaysOpenAndIsNotStored(t *testing.T) {
	f := newFixture(t)
	f.Check = func(in chat.Inbound, secrets map[string]config.Secret) map[string]string {
		if in.View.Callback == "storage" && secrets[chat.SecretFields[0]].Reveal() == "hunter2-canary" {
			return map[string]string{"endpoint": "is not on the list"}
		}
		return nil
	}
	v := f.give(fromInteractive, submission)
	if got := body(v); !v.ack || got != `{"errors":{"endpoint":"is not on the list"},"response_action":"errors"}` {
		t.Errorf("answered %v %s", v.ack, got)
	}
	if len(f.stored(t)) != 0 || len(f.vault.held) != 0 {
		t.Error("it was stored all the same")
	}
	f.Check = nil
	if v := f.give(fromInteractive, submission); !v.ack || v.body != nil || len(f.stored(t)) != 1 {
		t.Errorf("sent again: %v %v, %d stored", v.ack, v.body, len(f.stored(t)))
	}
}

func TestAModalMayBeFollowedByAnother(t *testing.T) {
	f := newFixture(t)
	f.Next = func(chat.Inbound) *blockkit.View {
		return &blockkit.View{Title: blockkit.Plain("Checking"), Blocks: blockkit.Blocks{blockkit.Section{Text: blockkit.Plain("A moment")}}}
	}
	if got := body(f.give(fromInteractive, submission)); !strings.Contains(got, `"response_action":"update"`) || !strings.Contains(got, `"A moment"`) {
		t.Errorf("answered %s", got)
	}
	f.Next = func(chat.Inbound) *blockkit.View {
		return &blockkit.View{Title: blockkit.Plain(strings.Repeat("x", 100))}
	}
	if v := f.give(fromInteractive, submission); !v.ack || v.body != nil {
		t.Errorf("an invalid modal was sent: %s", body(v))
	}
}

func TestAPanicInAnInjectedFunctionIsContained(t *testing.T) {
	f := newFixture(t)
	f.Hello = func(chat.Inbound) string { panic("oops") }
	if v := f.give(fromCommand, oneCommand); !v.ack || v.body != nil || len(f.stored(t)) != 1 {
		t.Errorf("answered %v %s: it is stored and must not be called lost", v.ack, body(v))
	}
	f.Check = func(chat.Inbound, map[string]config.Secret) map[string]string { panic("oops") }
	if v := f.give(fromInteractive, submission); !v.ack {
		t.Error("not acknowledged")
	}
	if n := testutil.ToFloat64(f.Metrics.Panics); n != 2 {
		t.Errorf("%v panics", n)
	}
}

func TestUnreadablePayloadsAreCountedAndNotRepeated(t *testing.T) {
	f := newFixture(t)
	if v := f.give(fromInteractive, `{"type":`); !v.ack || !v.bad {
		t.Errorf("got %+v", v)
	}
	if n := testutil.ToFloat64(f.Metrics.BadMessages); n != 1 {
		t.Errorf("%v bad messages", n)
	}
	if !f.LastInbound().Equal(noon) {
		t.Errorf("last inbound %v", f.LastInbound())
	}
}

// request is a signed request as Slack sends it.
func request(at time.Time, secret, path, body string) *http.Request {
	stamp := fmt.Sprint(at.Unix())
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "v0:%s:%s", stamp, body)
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	return r
}

func TestHTTP(t *testing.T) {
	const secret = "signing-secret"
	f := newFixture(t)
	now := time.Now() // slack-go measures the skew against the computer's clock too
	f.Now = func() time.Time { return now }
	h := f.Handler(secret)
	do := func(r *http.Request) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	command := url.Values{"team_id": {"T1"}, "user_id": {"U1"}, "text": {"12345"}, "trigger_id": {"1.1"}}.Encode()
	click := url.Values{"payload": {oneClick}}.Encode()

	if code, got := do(request(now, secret, "/slack/commands", command)); code != 200 || !strings.Contains(got, "Looking at 12345") {
		t.Errorf("command: %d %s", code, got)
	}
	if code, got := do(request(now, secret, "/slack/interactive", click)); code != 200 || got != "" {
		t.Errorf("click: %d %q", code, got)
	}
	if code, got := do(request(now, secret, "/slack/events", oneEvent)); code != 200 || got != "" {
		t.Errorf("event: %d %q", code, got)
	}
	if code, got := do(request(now, secret, "/slack/events", `{"type":"url_verification","challenge":"abc"}`)); code != 200 || strings.TrimSpace(got) != `{"challenge":"abc"}` {
		t.Errorf("verification: %d %q", code, got)
	}
	if n := len(f.stored(t)); n != 3 {
		t.Errorf("%d acts are stored", n)
	}

	refused := map[string]*http.Request{
		"another secret": request(now, "other", "/slack/commands", command),
		"too old":        request(now.Add(-6*time.Minute), secret, "/slack/commands", command),
		"from later":     request(now.Add(6*time.Minute), secret, "/slack/commands", command),
		"seen before":    request(now, secret, "/slack/commands", command),
		"unsigned":       httptest.NewRequest(http.MethodPost, "/slack/commands", strings.NewReader(command)),
	}
	upper := request(now, secret, "/slack/commands", command)
	upper.Header.Set("X-Slack-Signature", "v0="+strings.ToUpper(strings.TrimPrefix(upper.Header.Get("X-Slack-Signature"), "v0=")))
	refused["seen before, in capitals"] = upper
	changed := request(now, secret, "/slack/commands", command)
	changed.Body = io.NopCloser(strings.NewReader(command + "&text=other"))
	refused["changed"] = changed
	for what, r := range refused {
		if code, _ := do(r); code != http.StatusUnauthorized {
			t.Errorf("%s: %d", what, code)
		}
	}
	if code, _ := do(request(now, secret, "/slack/events", strings.Repeat("x", maxBody+1))); code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of more than a megabyte: %d", code)
	}
	if code, _ := do(request(now, secret, "/slack/interactive", "nothing=here")); code != http.StatusBadRequest {
		t.Errorf("a form without a payload: %d", code)
	}
	if code, _ := do(request(now, secret, "/slack/events", `{"type":`)); code != http.StatusBadRequest {
		t.Errorf("half a payload: %d", code)
	}
	if r := httptest.NewRequest(http.MethodGet, "/slack/commands", nil); true {
		if code, _ := do(r); code != http.StatusMethodNotAllowed {
			t.Errorf("GET: %d", code)
		}
	}
	if n := len(f.stored(t)); n != 3 {
		t.Errorf("%d acts are stored after the refusals", n)
	}
}

func TestAnEventThatCouldNotBeStoredMayComeAgainOverHTTP(t *testing.T) {
	f := newFixture(t)
	now := time.Now()
	f.Now = func() time.Time { return now }
	h := f.Handler("s")
	send := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(now, "s", "/slack/events", oneEvent)) // within the same second: the same signature
		return w.Code
	}
	f.Queue = brokenQueue{}
	if code := send(); code != http.StatusServiceUnavailable {
		t.Errorf("answered %d", code)
	}
	f.Queue = f.store
	if code := send(); code != http.StatusOK || len(f.stored(t)) != 1 {
		t.Errorf("answered %d, %d stored", code, len(f.stored(t)))
	}
}

func TestWithoutASigningSecretNothingIsAccepted(t *testing.T) {
	f := newFixture(t)
	now := time.Now()
	f.Now = func() time.Time { return now }
	w := httptest.NewRecorder()
	f.Handler("").ServeHTTP(w, request(now, "", "/slack/events", oneEvent))
	if w.Code != http.StatusUnauthorized {
		t.Errorf("answered %d", w.Code)
	}
}
