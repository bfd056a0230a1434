//go:build slackclients

package slack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"faultline/simulate/slack"
)

// launcher starts look-alikes for tests that are not written in Go: a fresh one for each test, on loopback, with a clock
// that the test moves where waiting would take minutes.
type launcher struct {
	t  *testing.T
	mu sync.Mutex
	// clocks are by the URL of their look-alike.
	clocks  map[string]*slack.FakeClock
	servers map[string]*slack.Server
}

// order is what a test asks for.
type order struct {
	URL       string        `json:"url"`        // of an existing look-alike
	Options   slack.Options `json:"options"`    // of a new one
	Slowly    bool          `json:"slowly"`     // its clock stands still until it is moved
	Seconds   int           `json:"seconds"`    // how far to move it
	Token     string        `json:"token"`      // whose scopes to change
	Scopes    []string      `json:"scopes"`     // to what
	VerifyURL bool          `json:"verify_url"` // whether to enter the request URL, as an administrator would
}

// newLauncher returns the address at which the orders are taken.
func newLauncher(t *testing.T) string {
	l := &launcher{t: t, clocks: map[string]*slack.FakeClock{}, servers: map[string]*slack.Server{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /start", l.take(l.start))
	mux.HandleFunc("POST /advance", l.take(l.advance))
	mux.HandleFunc("POST /scopes", l.take(l.scopes))
	mux.HandleFunc("POST /verify", l.take(l.verify))
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.Close()
		for _, s := range l.servers {
			if err := s.Close(); err != nil {
				t.Errorf("closing a look-alike: %v", err)
			}
		}
	})
	return server.URL
}

func (l *launcher) take(do func(order) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var o order
		dec := json.NewDecoder(r.Body)
		dec.DisallowUnknownFields()
		err := dec.Decode(&o)
		var result string
		if err == nil {
			result, err = do(o)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, result)
	}
}

func (l *launcher) start(o order) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var clock *slack.FakeClock
	if o.Slowly {
		clock = slack.NewFakeClock(time.Now())
		o.Options.Clock = clock
	}
	s := slack.New(o.Options)
	url, err := s.Start("127.0.0.1:0")
	if err != nil {
		return "", err
	}
	l.servers[url], l.clocks[url] = s, clock
	return url, nil
}

func (l *launcher) server(url string) (*slack.Server, *slack.FakeClock, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.servers[url]
	if s == nil {
		return nil, nil, fmt.Errorf("no look-alike was started at %q", url)
	}
	return s, l.clocks[url], nil
}

func (l *launcher) advance(o order) (string, error) {
	_, clock, err := l.server(o.URL)
	if err != nil {
		return "", err
	}
	if clock == nil {
		return "", fmt.Errorf("the look-alike at %s runs on the real clock", o.URL)
	}
	clock.Advance(time.Duration(o.Seconds) * time.Second)
	return "", nil
}

func (l *launcher) scopes(o order) (string, error) {
	s, _, err := l.server(o.URL)
	if err == nil {
		s.SetScopes(o.Token, o.Scopes...)
	}
	return "", err
}

func (l *launcher) verify(o order) (string, error) {
	s, _, err := l.server(o.URL)
	if err != nil {
		return "", err
	}
	return "", s.VerifyURL(l.t.Context())
}

// installed fails where prepare.sh was not run: a skip would hide it in CI.
func installed(t *testing.T) {
	t.Helper()
	want, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(filepath.Join("node_modules", ".prepared"))
	if err != nil || string(have) != string(want) {
		t.Fatal("Slack's clients are not installed as package-lock.json says; run integration/slack/prepare.sh first")
	}
}
