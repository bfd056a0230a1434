package ais

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"faultline/config"
	"faultline/workflow"
)

var _ workflow.Storage = (*Source)(nil)

func TestFetchPullsIntoTheSpoolOfItsInvestigation(t *testing.T) {
	spool := t.TempDir()
	old := filepath.Join(spool, "F-1", "storage", "old.tar.gz")
	if err := os.MkdirAll(filepath.Dir(old), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fake := &cluster{logs: map[string]func(http.ResponseWriter, *http.Request){"ais-target-1": fails(502, "", "")}}
	s := NewSource(nil, loopback, spool)
	s.Give("F-1", access(serve(t, fake).URL))
	if !s.Known("F-1") || s.Known("F-2") {
		t.Error("does not know what it holds")
	}
	got, err := s.Fetch(t.Context(), workflow.Investigation{ID: "F-1"})
	if err != nil || got.Nodes != 3 || len(got.Places) != 3 || len(got.Warnings) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if files := listing(t, filepath.Dir(old)); len(files) != 3 || filepath.Dir(got.Places[0]) != filepath.Dir(old) {
		t.Errorf("%v holds %v", got.Places, files)
	}
	if _, err := s.Fetch(t.Context(), workflow.Investigation{ID: "F-1"}); !errors.Is(err, workflow.ErrAccessLost) {
		t.Errorf("the access was used twice: %v", err)
	}
}

func TestAnAccessIsWipedWhenItFailedAndKeptWhenItWasInterrupted(t *testing.T) {
	s := NewSource(nil, loopback, t.TempDir())
	s.Give("F-1", access(serve(t, &cluster{smap: fails(401, "", saysExpired)}).URL))
	token := s.held["F-1"].token
	if _, err := s.Fetch(t.Context(), workflow.Investigation{ID: "F-1"}); kindOf(t, err) != ExpiredToken {
		t.Error(err)
	}
	if s.Known("F-1") || len(token) != len(canary) || strings.Trim(string(token), "\x00") != "" {
		t.Errorf("still there: %q", token)
	}

	ctx, cancel := context.WithCancel(t.Context())
	fake := &cluster{smap: func(w http.ResponseWriter, r *http.Request) { cancel(); fails(500, "", "")(w, r) }}
	s.Give("F-2", access(serve(t, fake).URL))
	if _, err := s.Fetch(ctx, workflow.Investigation{ID: "F-2"}); !errors.Is(err, context.Canceled) || !s.Known("F-2") {
		t.Errorf("%v; known: %v", err, s.Known("F-2"))
	}
}

func TestAnAccessIsWipedAfterHalfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSource(nil, loopback, "/nowhere")
		s.Give("F-1", access("http://127.0.0.1:1"))
		first := s.held["F-1"].token
		time.Sleep(Keep - time.Minute)
		s.Give("F-1", access("http://127.0.0.1:2")) // starts anew, and wipes the first at once
		second := s.held["F-1"].token
		if strings.Trim(string(first), "\x00") != "" || string(second) != canary {
			t.Errorf("%q, %q", first, second)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if !s.Known("F-1") {
			t.Error("the timer of the first wiped the second")
		}
		time.Sleep(Keep)
		synctest.Wait()
		if s.Known("F-1") || strings.Trim(string(second), "\x00") != "" {
			t.Errorf("still there: %q", second)
		}
		s.Give("F-2", access("http://127.0.0.1:1"))
		s.Give("F-3", access("http://127.0.0.1:1"))
		s.Forget("F-2")
		third := s.held["F-3"].token
		s.Close()
		if s.Known("F-2") || s.Known("F-3") || strings.Trim(string(third), "\x00") != "" {
			t.Error("something is left")
		}
	})
}

func TestAConfiguredAccessNeedsNoMemoryAndNoPermission(t *testing.T) {
	fake := &cluster{}
	url := serve(t, fake).URL
	ca := filepath.Join(t.TempDir(), "ca.pem")
	s := NewSource([]config.Storage{
		{Name: "west", Endpoint: url, Token: canary, SkipVerify: true},
		{Name: "east", Endpoint: url, CAFile: ca},
	}, config.StorageAccess{}, t.TempDir())
	got, err := s.Fetch(t.Context(), workflow.Investigation{ID: "F-1", Storage: "profile west"})
	if err != nil || got.Nodes != 4 || fake.tokens["/v1/daemon"] != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, storage := range []string{"profile north", "profile east"} {
		if _, err := s.Fetch(t.Context(), workflow.Investigation{ID: "F-1", Storage: storage}); err == nil || errors.Is(err, workflow.ErrAccessLost) {
			t.Errorf("%s: %v", storage, err)
		}
	}
	a, err := s.Named("west")
	if err != nil || a.Cluster != "west" || s.Check(t.Context(), a) != nil {
		t.Errorf("%v, %v", a, err)
	}
	// The same address typed by somebody is not allowed.
	if err := s.Check(t.Context(), Access{Cluster: "west", Endpoint: url}); kindOf(t, err) != NotAllowed {
		t.Errorf("typed: %v", err)
	}
	s.Configure(nil, loopback)
	if err := s.Check(t.Context(), access(url)); err != nil {
		t.Errorf("after a new configuration: %v", err)
	}
	if _, err := s.Named("west"); err == nil {
		t.Error("west is still there")
	}
}

func TestAnIDThatLeadsElsewhereRemovesNothing(t *testing.T) {
	dir := t.TempDir()
	keep := filepath.Join(dir, "storage")
	if err := os.Mkdir(keep, 0o700); err != nil {
		t.Fatal(err)
	}
	s := NewSource(nil, loopback, filepath.Join(dir, "spool"))
	for _, id := range []string{"..", ".", "", "../x", "a/b"} {
		s.Give(id, access("http://127.0.0.1:1"))
		if _, err := s.Fetch(t.Context(), workflow.Investigation{ID: id}); err == nil || kindOfAny(err) != "" {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
}

func kindOfAny(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func TestTheTokenIsNeverPrinted(t *testing.T) {
	a := access("http://u:" + canary + "@127.0.0.1:1")
	s := NewSource([]config.Storage{{Name: "west", Token: canary}}, loopback, t.TempDir())
	s.Give("F-1", a)
	c := NewClient(loopback)
	open, _ := c.open(access("http://127.0.0.1:1"))
	var buf bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&buf, nil))
	for _, v := range []any{a, &a, s, *s.now(), c, open.token, struct{ A Access }{a}} {
		fmt.Fprintf(&buf, "%v %+v %#v %s %q %x\n", v, v, v, v, v, v)
	}
	logger.Info("x", "source", s, "token", a.Token)
	plain := access("http://127.0.0.1:1")
	plain.Key = canary
	raw, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	noCanary(t, buf.String(), string(raw))
}

// People who cannot mend a configured access are not told how to make a token.
func TestAConfiguredTokenThatExpiredIsTheOperatorsBusiness(t *testing.T) {
	fake := serve(t, &cluster{smap: fails(401, "", saysExpired)})
	s := NewSource([]config.Storage{{Name: "west", Endpoint: fake.URL, Token: canary}}, config.StorageAccess{}, t.TempDir())
	_, err := s.Fetch(t.Context(), workflow.Investigation{ID: "F-1", Storage: workflow.ByProfile("west")})
	var e *Error
	if !errors.As(err, &e) || !e.Operator() || e.Kind != ExpiredToken || strings.Contains(e.Text, "ais auth login") || !strings.Contains(e.Text, "storage west has expired") {
		t.Errorf("%v", err)
	}
}
