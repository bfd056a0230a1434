package messages

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"faultline/incident"
)

func TestAPostmortemFillsInWhatTheLogsTellAndAsksTheRest(t *testing.T) {
	story := Story{ID: "F-12", Phases: []Phase{{"Analysis", 3 * time.Minute}}, Cause: "a leaking cache", Fix: "smaller cache", By: "U1"}
	for name, r := range map[string]*incident.Report{"stall": stall(), "undecided": undecided()} {
		var md, html bytes.Buffer
		if err := Postmortem(&md, r, story); err != nil {
			t.Fatal(err)
		}
		if err := PostmortemHTML(&html, r, story); err != nil {
			t.Fatal(err)
		}
		text := md.String()
		for _, part := range []string{"# Post-mortem", "## Impact", "## Timeline", "## Time spent", "3 min", "## Five whys", "1. **", "5. **", toBeAnswered, "## Root cause", "A leaking cache. (U1)", "Smaller cache. (U1)", "## Action items", "| owner |", "F-12"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is not in the page:\n%s", name, part, text)
			}
		}
		for _, part := range []string{"<h2>Five whys</h2>", "<h2>Action items</h2>", "default-src 'none'"} {
			if !strings.Contains(html.String(), part) {
				t.Errorf("%s: %q is not in the HTML", name, part)
			}
		}
		if n := strings.Count(text, "\n"); n > 120 {
			t.Errorf("%s: %d lines are no page", name, n)
		}
	}
}

// Text of a log is inert in both forms, and what people wrote too.
func TestAPostmortemQuotesHostileTextInert(t *testing.T) {
	r := stall()
	for i := range r.Chain {
		r.Chain[i].Statement = "<script>alert(1)</script> | ![x](http://evil.example)"
	}
	var md, html bytes.Buffer
	if err := Postmortem(&md, r, Story{Cause: "<img src=x> @channel"}); err != nil {
		t.Fatal(err)
	}
	if err := PostmortemHTML(&html, r, Story{Cause: "<img src=x>"}); err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{"Markdown": md.String(), "HTML": html.String()} {
		for _, bad := range []string{"<script>alert", "<img", "![x](http"} {
			if form == "HTML" && strings.HasPrefix(bad, "!") { // no mark-up there
				continue
			}
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %q", form, bad)
			}
		}
	}
}
