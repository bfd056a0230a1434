package serve

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"faultline/simulate/slack"
	"faultline/store/storetest"
)

// storage kinds of the tests that kill.
const (
	inSQLite   = "sqlite"
	inPostgres = "postgres"
)

// moment is when, in the course of one call to Slack, the bot dies.
type moment int

const (
	never  moment = iota
	before        // Slack never sees the call
	after         // Slack does what was asked, and its answer is lost
)

func (m moment) String() string { return [...]string{"never", "before", "after"}[m] }

// lifetime is how long a test of this kind waits for what must come, with several bots on one small machine.
const lifetime = 4 * time.Minute

// mortal is a world whose bot can be killed in the middle of things. All of the bot's calls to Slack go through it.
type mortal struct {
	*world
	db    *sql.DB // the bot's store, as an operator would open it
	kind  string
	front *httptest.Server

	mu     sync.Mutex
	life   int
	deaths []string
	calls  []string                        // since fate was set
	fate   func(n int, call string) moment // asked for each call, n from 1; nil: nobody dies
	acks   int
	last   int // the bot dies after so many acknowledgements; 0 is never
}

// newMortal makes such a world and starts its bot. The server is needed for PostgreSQL only.
func newMortal(t *testing.T, kind string, server *storetest.Postgres, settings ...setting) *mortal {
	t.Helper()
	m := &mortal{kind: kind}
	driver, source := "pgx", ""
	m.world = newWorld(t, append(slices.Clone(settings), func(w *world, conf map[string]any, _ *slack.Options) {
		delete(conf, "ops") // while the bot is dead, somebody else may take its port
		if kind == inPostgres {
			source = server.DSN(t)
			conf["data"].(map[string]any)["postgres"] = source
			return
		}
		driver, source = "sqlite", "file:"+w.dir+"/data/faultline.db?_pragma=busy_timeout(20000)"
	})...)
	m.front = httptest.NewServer(m)
	m.slack.SetURL(m.front.URL)
	raw, err := os.ReadFile(m.conf)
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.ReplaceAll(string(raw), m.url, m.front.URL)
	if err := os.WriteFile(m.conf, []byte(moved), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.kill()
		m.front.Close()
		if t.Failed() {
			t.Logf("the bot died: %s", strings.Join(m.deaths, "; "))
		}
	})
	m.run() // makes the tables
	if m.db, err = sql.Open(driver, source); err != nil {
		t.Fatal(err)
	}
	m.db.SetMaxOpenConns(3)
	t.Cleanup(func() { _ = m.db.Close() })
	return m
}

// ServeHTTP passes the bot's calls on to Slack, or kills it.
func (m *mortal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/link/") {
		m.slack.ServeHTTP(w, r)
		return
	}
	call := path.Base(r.URL.Path)
	switch strings.Split(r.URL.Path, "/")[1] {
	case "upload":
		call = "upload"
	case "hooks":
		call = "response_url"
	}
	m.mu.Lock()
	when, life := never, m.life
	if m.fate != nil {
		m.calls = append(m.calls, call)
		when = m.fate(len(m.calls), call)
	}
	why := fmt.Sprintf("%s call %d, %s", when, len(m.calls), call)
	m.mu.Unlock()
	switch when {
	case before:
		m.die(life, why)
	case after:
		m.slack.ServeHTTP(httptest.NewRecorder(), r)
		m.die(life, why)
	default:
		m.slack.ServeHTTP(w, r)
	}
}

// doom sets when the bot dies, and returns the calls until now.
func (m *mortal) doom(fate func(n int, call string) moment) (calls []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls, m.fate, m.calls = m.calls, fate, nil
	return calls
}

// die kills the bot and starts the next one, unless the one that was meant is dead already.
func (m *mortal) die(life int, why string, inBetween ...func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if life != m.life {
		return
	}
	m.life++
	m.kill()
	m.deaths = append(m.deaths, why)
	for _, do := range inBetween {
		do()
	}
	if m.kind == inPostgres {
		// Half a minute passes: then the leases of the dead have run out, and others may take their jobs.
		m.exec("UPDATE job SET lease_until = 0 WHERE state = 'claimed'")
	}
	m.launch()
}

// now kills the bot that lives now.
func (m *mortal) now(why string, inBetween ...func()) {
	m.mu.Lock()
	life := m.life
	m.mu.Unlock()
	m.die(life, why, inBetween...)
}

func (m *mortal) died() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.deaths...)
}

func (m *mortal) exec(statement string) {
	if _, err := m.db.ExecContext(context.Background(), statement); err != nil {
		m.t.Errorf("%s: %v", statement, err)
	}
}

// ask reads one value from the store; it is empty when there is none.
func (m *mortal) ask(query string) string {
	var v sql.NullString
	if err := m.db.QueryRowContext(context.Background(), query).Scan(&v); err != nil && err != sql.ErrNoRows {
		m.t.Errorf("%s: %v", query, err)
	}
	return v.String
}

// eventually waits for something that Slack does not tell.
func (m *mortal) eventually(what string, condition func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(lifetime); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.t.Fatalf("waiting for %s\n%s", what, m.slack.Transcript(slack.Training))
		}
	}
}

// sees waits for a message in public.
func (m *mortal) sees(channel string, words ...string) slack.Message {
	m.t.Helper()
	var got slack.Message
	m.eventually(fmt.Sprintf("a message with %q", words), func() bool {
		for _, msg := range m.slack.All(channel) {
			if !msg.Deleted && msg.VisibleTo == "" && holds(msg, words) {
				got = msg
				return true
			}
		}
		return false
	})
	return got
}

// rests waits until the bot lives and has nothing left to do or to say.
func (m *mortal) rests() {
	m.t.Helper()
	const busy = `SELECT (SELECT count(*) FROM post WHERE state IN ('queued', 'sending')) +
		(SELECT count(*) FROM job WHERE state IN ('queued', 'claimed') AND kind IN ('inbound', 'run', 'fix'))`
	still := 0
	m.eventually("the end of all work", func() bool {
		if still++; m.ask(busy) != "0" || m.slack.Sockets() == 0 {
			still = 0
		}
		return still > 5
	})
}

// unharmed checks that nothing was given up on the way.
func (m *mortal) unharmed() {
	m.t.Helper()
	for what, query := range map[string]string{
		"posts were given up":   "SELECT count(*) FROM post WHERE state = 'undeliverable'",
		"jobs were given up":    "SELECT count(*) FROM job WHERE state = 'buried'",
		"failures were counted": "SELECT coalesce(sum(attempts), 0) FROM job",
	} {
		if n := m.ask(query); n != "0" {
			m.t.Errorf("%s %s", n, what)
		}
	}
}

// people does something that the bot has to acknowledge. When Slack says that it did not work, people do it again.
func (m *mortal) people(what string, do func() (*slack.Delivery, error)) {
	m.t.Helper()
	for range 20 {
		m.eventually("the bot's sockets", func() bool { return m.slack.Sockets() > 0 })
		d, err := do()
		if err != nil {
			m.t.Fatalf("%s: %v\n%s", what, err, m.slack.Transcript(slack.Training))
		}
		if !m.acked(d).OK {
			continue
		}
		m.mu.Lock()
		m.acks++
		last, life, n := m.acks == m.last, m.life, m.acks
		m.mu.Unlock()
		if last {
			m.die(life, fmt.Sprintf("after acknowledgement %d, %s", n, what))
		}
		return
	}
	m.t.Fatalf("%s is never acknowledged", what)
}

func (m *mortal) diagnose(user, channel, text string) {
	m.t.Helper()
	m.people("/diagnose "+text, func() (*slack.Delivery, error) { return m.slack.Slash(user, channel, "/diagnose", text) })
}

// presses uses a button, named by its action: labels change.
func (m *mortal) presses(user string, msg slack.Message, action string) {
	m.t.Helper()
	m.people("pressing "+action, func() (*slack.Delivery, error) {
		return m.slack.Click(user, msg.Channel, msg.TS, slack.Action{ActionID: action})
	})
}

// fills presses a button until the window that belongs to it is open, and sends it.
func (m *mortal) fills(user string, msg slack.Message, action, window string, values map[string]any) {
	m.t.Helper()
	for range 10 {
		m.presses(user, msg, action)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		v, err := m.slack.WaitView(ctx, user, func(v slack.View) bool { return v.CallbackID() == window })
		cancel()
		if err != nil { // the bot died over it: the window is closed and asked for again
			_, _ = m.slack.CloseView(user, "", true)
			continue
		}
		m.people("sending "+window, func() (*slack.Delivery, error) { return m.slack.Submit(user, v.ID, values) })
		return
	}
	m.t.Fatalf("%q never opens the window %q", action, window)
}

// uploads gives files to Slack for the next window.
func (m *mortal) uploads(user string, files map[string][]byte) map[string]any {
	m.t.Helper()
	var ids []string
	for name, data := range files {
		id, err := m.slack.Upload(user, name, data)
		if err != nil {
			m.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return map[string]any{"files": ids}
}

// hasNowhere looks for a secret in everything that the bot wrote and said.
func (m *mortal) hasNowhere(secret string) {
	m.t.Helper()
	if strings.Contains(m.logText(), secret) {
		m.t.Error("the secret is in the log")
	}
	for _, e := range m.slack.Journal() {
		if e.Dir == "in" && strings.Contains(e.Body+e.Query+e.Response, secret) {
			m.t.Errorf("the secret is in call %d, %s", e.Seq, e.Method)
		}
	}
	err := eachFile(filepath.Join(m.dir, "data"), func(path string, raw []byte) {
		if strings.Contains(string(raw), secret) {
			m.t.Errorf("the secret is in %s", path)
		}
	})
	if err != nil {
		m.t.Error(err)
	}
}
