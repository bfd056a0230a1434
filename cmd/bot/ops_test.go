package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"faultline/workflow"
)

// asked is the answer to one request.
func asked(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body)
}

func TestReadinessNamesEachCheckWithItsSentence(t *testing.T) {
	var broken error
	h := opsHandler(prometheus.NewRegistry(), map[string]func(context.Context) error{
		"store": func(context.Context) error { return nil },
		"slack": func(context.Context) error { return broken },
	})
	if code, text := asked(t, h, "/readyz"); code != http.StatusOK || text != "slack: ok\nstore: ok\n" {
		t.Errorf("%d %q", code, text)
	}
	broken = errors.New("no connection is open")
	if code, text := asked(t, h, "/readyz"); code != http.StatusServiceUnavailable || text != "slack: no connection is open\nstore: ok\n" {
		t.Errorf("%d %q", code, text)
	}
	if code, text := asked(t, h, "/healthz"); code != http.StatusOK || text != "ok\n" {
		t.Errorf("a process that answers is alive, whatever it lacks: %d %q", code, text)
	}
	if code, _ := asked(t, h, "/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("memory can be looked into from outside: %d", code)
	}
}

// deaf is a store that does not answer.
type deaf struct{ workflow.Durable }

func (deaf) Find(context.Context, workflow.Query) ([]workflow.Summary, error) {
	return nil, errors.New("no answer")
}

func TestMetricsTellWhatWaitsInTheStore(t *testing.T) {
	store := workflow.NewMemory()
	inv := workflow.Investigation{ID: "F-1", State: workflow.Triaging}
	err := store.Save(t.Context(), workflow.Change{
		Investigation: &inv, Jobs: []workflow.Job{{Key: "run/1", Kind: workflow.JobRun}},
		Posts: []workflow.Post{{Investigation: "F-1", Kind: workflow.PostMessage, Key: "case", Channel: "C1", Payload: []byte("{}")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	scrape := func(store workflow.Durable) string {
		reg := prometheus.NewRegistry()
		reg.MustRegister(newCollector(store))
		_, text := asked(t, opsHandler(reg, nil), "/metrics")
		return text
	}
	text := scrape(store)
	for _, want := range []string{"faultline_store_up 1", "faultline_outbox_posts 1", `faultline_jobs_waiting{kind="run"} 1`, `faultline_investigations_open{state="triaging"} 1`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if text := scrape(deaf{store}); !strings.Contains(text, "faultline_store_up 0\n") {
		t.Errorf("a store that does not answer is up:\n%s", text)
	}
}
