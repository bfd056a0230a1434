package page

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"faultline/incident"
	"faultline/workflow"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func reported() *workflow.Investigation {
	return &workflow.Investigation{ID: "F-12", Key: "QWERTY", Job: "4242", Since: now.Add(-time.Hour), State: workflow.Reported,
		Home: workflow.Home{Team: "T1", Channel: "C1", Requester: "U1"},
		Report: &incident.Report{Schema: incident.Schema, Verdict: incident.Verdict{Status: incident.Confirmed, Mechanism: "gpu-oom",
			Summary: "Rank 3 ran out of memory; password=hunter2hunter2 <script>alert(1)</script>"}}}
}

func get(t *testing.T, h *Handler, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	return w
}

// A page is shown to who has the link of a case in a channel, and to nobody else; what is refused does not tell why.
func TestOnlyTheLinkOfAPublicCaseOpensAPage(t *testing.T) {
	path := strings.TrimPrefix(Link("https://faultline.example.org/", reported()), "https://faultline.example.org")
	if !strings.HasPrefix(path, "/case/F-12/") || len(path) < len("/case/F-12/")+32 || strings.Contains(path, "QWERTY") {
		t.Fatalf("the link is %q", path)
	}
	for _, c := range []struct {
		name, method, path string
		change             func(inv *workflow.Investigation)
		err                error
		bound              bool
		want               int
	}{
		{"the link", "GET", path, nil, nil, true, 200},
		{"its head", "HEAD", path, nil, nil, true, 200},
		{"something is sent", "POST", path, nil, nil, true, 405},
		{"no key", "GET", "/case/F-12/", nil, nil, true, 404},
		{"no key and no slash", "GET", "/case/F-12", nil, nil, true, 404},
		{"a wrong key", "GET", path[:len(path)-1] + "g", nil, nil, true, 404},
		{"more than the key", "GET", path + "/", nil, nil, true, 404},
		{"another case has come to the id", "GET", path, func(inv *workflow.Investigation) { inv.Key = "OTHER" }, nil, true, 404},
		{"a case of before there were keys", "GET", "/case/F-12/" + key(&workflow.Investigation{}), func(inv *workflow.Investigation) { inv.Key = "" }, nil, true, 404},
		{"a private case", "GET", path, func(inv *workflow.Investigation) { inv.Home.Private = true }, nil, true, 404},
		{"a case that is held", "GET", path, func(inv *workflow.Investigation) { inv.Held = true }, nil, true, 404},
		{"no report yet", "GET", path, func(inv *workflow.Investigation) { inv.Report = nil }, nil, true, 404},
		{"the channel is connected to nothing any more", "GET", path, nil, nil, false, 404},
		{"forgotten", "GET", path, nil, workflow.ErrUnknown, true, 404},
		{"expired", "GET", path, func(inv *workflow.Investigation) { inv.Since = now.Add(-31 * 24 * time.Hour) }, nil, true, 410},
		{"the store does not answer", "GET", path, nil, errors.New("the disk is gone"), true, 503},
	} {
		t.Run(c.name, func(t *testing.T) {
			inv := reported()
			if c.change != nil {
				c.change(inv)
			}
			w := get(t, &Handler{
				Load:    func(context.Context, string) (workflow.Investigation, error) { return *inv, c.err },
				Bound:   func(workflow.Investigation) bool { return c.bound },
				Expires: 30 * 24 * time.Hour, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
			}, c.method, c.path)
			if w.Code != c.want {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if shown := strings.Contains(w.Body.String(), "<!doctype html>") || strings.Contains(w.Body.String(), "Rank 3"); shown != (c.want == http.StatusOK) {
				t.Errorf("shown: %v\n%.200s", shown, w.Body)
			}
			if c.want != http.StatusOK && strings.Contains(w.Body.String(), "disk") {
				t.Errorf("it tells of the inside: %s", w.Body)
			}
			for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Robots-Tag": "noindex"} {
				if !strings.Contains(w.Header().Get(name), want) {
					t.Errorf("%s: %q", name, w.Header().Get(name))
				}
			}
		})
	}
}

func TestThePageMayDoNothing(t *testing.T) {
	inv := reported()
	w := get(t, &Handler{
		Load:  func(context.Context, string) (workflow.Investigation, error) { return *inv, nil },
		Bound: func(workflow.Investigation) bool { return true }, Expires: time.Hour * 24, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
	}, "GET", "/case/F-12/"+key(inv))
	csp := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "style-src 'sha256-", "script-src 'sha256-", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "sandbox allow-scripts"} {
		if !strings.Contains(csp, want) {
			t.Errorf("the policy %q does not say %s", csp, want)
		}
	}
	if strings.Contains(csp, "unsafe") || strings.Contains(csp, "allow-same-origin") {
		t.Errorf("the policy is %q", csp)
	}
	if text := w.Body.String(); strings.Contains(text, "hunter2") || strings.Contains(text, "<script>alert") {
		t.Error("the page shows a secret, or runs what a log says")
	}
}

func TestACaseThatIsNotPublicHasNoLink(t *testing.T) {
	for name, change := range map[string]func(inv *workflow.Investigation){
		"private": func(inv *workflow.Investigation) { inv.Home.Private = true }, "held": func(inv *workflow.Investigation) { inv.Held = true },
		"no report": func(inv *workflow.Investigation) { inv.Report = nil }, "no key": func(inv *workflow.Investigation) { inv.Key = "" },
	} {
		inv := reported()
		change(inv)
		if got := Link("https://faultline.example.org", inv); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
