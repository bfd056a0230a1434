package messages

import (
	"bytes"
	"errors"
	"slices"
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
		for _, part := range []string{"# Post-mortem", "## Impact", "## Timeline", "## Time spent", "3 min", "## Five whys", "1. **", "3. **", toBeAnswered, "## Root cause", "A leaking cache. (U1)", "Smaller cache. (U1)", "## Action items", "- [ ] ", "F-12"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is not in the page:\n%s", name, part, text)
			}
		}
		for _, part := range []string{"<h2>Five whys</h2>", "<h2>Action items</h2>", "default-src 'none'"} {
			if !strings.Contains(html.String(), part) {
				t.Errorf("%s: %q is not in the HTML", name, part)
			}
		}
		if n := strings.Count(text, toBeAnswered); n != 1 {
			t.Errorf("%s: the page asks %d questions, not one", name, n)
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

// A stall whose rank is proven by its counters is sure of who, and not of why: the page says so, rules out what the report does, and proposes
// no cure of a cause that nothing shows.
func TestAPostmortemTellsWhoFromWhy(t *testing.T) {
	r := stall()
	r.Narrowing = &incident.Narrowing{
		RulesOut: []incident.Finding{{Statement: "all 7 other ranks on node09 joined", Evidence: []incident.Evidence{quoteOf("node09.err", 31, "a line")}}},
		Lingered: []incident.Finding{{Statement: "nothing ended the job before the watchdog gave up waiting, after 10 min"}},
		Open:     "What was rank 77's process doing?",
	}
	r.Recommendations = append(r.Recommendations, incident.Recommendation{When: "structural", Text: "Cure a cause nobody saw."},
		incident.Recommendation{When: "now", Text: "Read the kernel log.", Command: "ssh node09 'dmesg -T | tail'", Owner: "cluster"}, incident.Recommendation{When: "now", Text: "Resubmit it."})
	var md, html bytes.Buffer
	if err := errors.Join(Postmortem(&md, r, Story{Answers: map[string]Said{"An older question?": {"a leak", "U2"}}}), PostmortemHTML(&html, r, Story{})); err != nil {
		t.Fatal(err)
	}
	text := md.String()
	for _, part := range []string{"who: confirmed; why: can't tell", "## What the lines rule out", "- All 7 other ranks on node09 joined. (`node09.err:31`)", "Shorten waits", "First do the action items that are due before it.", "after 10 min.",
		"**What was rank 77's process doing?** " + toBeAnswered, "**An older question?** A leak. (said by U2)", "Read the kernel log. (Platform team, before node09 is used again)", "  ssh node09 'dmesg -T | tail'"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in the page:\n%s", part, text)
		}
	}
	for _, part := range []string{"Cure a cause", "Resubmit it"} {
		if strings.Contains(text, part) {
			t.Errorf("%q is in the page", part)
		}
	}
	if !strings.Contains(html.String(), "<code>ssh node09") {
		t.Error("the HTML has no command")
	}
	r.Groups[0].Ranks[77].Enqueued = nil // now nothing proves who
	if c := certaintyOf(r).String(); c != "who: likely; why: can't tell" {
		t.Errorf("%s, though no counter shows who", c)
	}
	r.Verdict.Root.Ranks = nil // nobody is named
	if c := certaintyOf(r).String(); c != "likely" {
		t.Errorf("%s, though nobody is named", c)
	}
}

// Of a storage daemon the page repeats its own error, in the title its innermost reason.
func TestAPostmortemQuotesTheDaemonsError(t *testing.T) {
	for line, want := range map[string]string{
		"E 11:49:28 t[x]: waking up FSHC, err: read /ais/nvme0n1/a.tar: input/output error": "input/output error",
		"W 11:49:43 fshc:216 proceeding to disable mp[/ais/nvme0n1]":                        "",
		"E 11:49:28 err: " + strings.Repeat("x", 80):                                        "",
	} {
		r := stall()
		component := "ais:x"
		r.Verdict.Root.Component = &component
		r.Chain = []incident.Link{{Statement: "a disk failed", Role: incident.Cause, Evidence: []incident.Evidence{quoteOf("x.INFO", 3, line)}}}
		var md bytes.Buffer
		if err := Postmortem(&md, r, Story{}); err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(md.String(), "\n")
		if got := reasonOf(line); got != want || strings.HasSuffix(title, "("+want+")") != (want != "") || !strings.Contains(md.String(), "storage daemon says: “") {
			t.Errorf("%s: %q, and the page begins %q", line, got, title)
		}
	}
}

// Where a price is configured, losses are in money too; an hour of a job that goes on as well.
func TestAPostmortemGivesLossesInMoney(t *testing.T) {
	hours, page := 42.66, func(r *incident.Report, price Price) string {
		var md bytes.Buffer
		if err := Postmortem(&md, r, Story{Price: price}); err != nil {
			t.Fatal(err)
		}
		return md.String()
	}
	usd := Price{100, "USD"}
	r := stall()
	if text := page(r, usd); !strings.Contains(text, "42.7 GPU hours, 4,266 USD |") || !strings.Contains(text, "22.2 GPU hours, 2,219 USD)") {
		t.Error(text)
	}
	if text := page(r, Price{}); strings.Contains(text, "USD") {
		t.Error(text)
	}
	r.Action.Lost = incident.Lost{}
	r.Severity = &incident.Severity{Level: incident.SeverityWarning, GPUHours: hours, Per: incident.PerHour, Why: "a slow link"}
	if text := page(r, usd); !strings.Contains(text, "42.7 GPU hours, 4,266 USD in each hour that it goes on") {
		t.Error(text)
	}
}

// A cause that is itself the wait, or what ended the job, is why the job ended: no consequence stands in front of it.
func TestTheWhysBeginWithWhatEndedTheJob(t *testing.T) {
	ev := []incident.Evidence{quoteOf("a.err", 9, "torn down")}
	link := func(role, kind, text string) incident.Link {
		return incident.Link{Statement: text, Role: role, Kind: kind, Evidence: ev}
	}
	cause, met := link(incident.Cause, "", "cause"), link(incident.Consequence, "", "met")
	waited, held, torn := link(incident.Consequence, incident.LinkWait, "waited"), link(incident.Consequence, incident.LinkHeld, "held"), link(incident.Consequence, "", "torn")
	for name, c := range map[string]struct {
		chain []incident.Link
		want  []string
	}{
		"a rank stayed away":      {[]incident.Link{cause, met, waited}, []string{"waited", "met", "cause"}},
		"and what it was doing":   {[]incident.Link{cause, met, held, waited}, []string{"waited", "held", "met", "cause"}},
		"and that it stayed away": {[]incident.Link{cause, met, link(incident.Consequence, incident.LinkAway, "away"), held, waited}, []string{"waited", "away", "held", "met", "cause"}},
		"what it did comes once":  {[]incident.Link{cause, held, waited}, []string{"waited", "held", "cause"}},
		"all waited":              {[]incident.Link{link(incident.Cause, incident.LinkWait, "cause"), link(incident.Consequence, incident.LinkPurpose, "sync")}, []string{"cause"}},
		"what a wait is for":      {[]incident.Link{cause, link(incident.Consequence, incident.LinkPurpose, "sync"), waited}, []string{"waited", "cause"}},
		"ended from outside":      {[]incident.Link{link(incident.End, "", "time limit"), torn}, []string{"time limit"}},
		"a crash":                 {[]incident.Link{cause, torn}, []string{"torn", "cause"}},
	} {
		var got []string
		for _, l := range backwards(&incident.Report{Chain: c.chain}) {
			got = append(got, l.Statement)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// What is lost is said, or why it is not known.
func TestAPostmortemSaysWhyALossIsNotKnown(t *testing.T) {
	page := func(change func(*incident.Report)) string {
		r := stall()
		r.Action.Lost = incident.Lost{}
		change(r)
		var md bytes.Buffer
		if err := Postmortem(&md, r, Story{}); err != nil {
			t.Fatal(err)
		}
		return md.String()
	}
	const row = "| Lost | steps unknown: these logs show no completed checkpoint |"
	if text := page(func(r *incident.Report) { r.Action.ResumeFrom = nil }); !strings.Contains(text, row) {
		t.Error(text)
	}
	if text := page(func(r *incident.Report) { r.Action.ResumeFrom = &incident.Step{Step: 5} }); strings.Contains(text, "| Lost |") {
		t.Error(text)
	}
	if text := page(func(r *incident.Report) {
		r.Action.ResumeFrom, r.Verdict.Status = nil, incident.NoFailure
	}); strings.Contains(text, "| Lost |") {
		t.Error(text)
	}
}

func TestAnItemAsksTheQuestionAlone(t *testing.T) {
	for question, want := range map[string]string{"What was it doing? Its log is silent.": "What was it doing?", "Why now?": "Why now?"} {
		if got := asked(question); got != want {
			t.Errorf("%q of %q", got, question)
		}
	}
}

func TestAnUncertaintyOfAZoneIsInHours(t *testing.T) {
	for seconds, want := range map[float64]string{1.5: "±1.5 s", 31: "±31 s", 93600.5: "time zone not proven"} {
		if got := plusMinus(seconds); got != want {
			t.Errorf("%v: %s, not %s", seconds, got, want)
		}
	}
}

// What another team has to see to holds the next run up, unless it is of a node that is left out; what shows an unknown cause has to be there in it.
func TestWhatTheNextRunWaitsFor(t *testing.T) {
	look := incident.Recommendation{When: "now", Text: "Read the kernel log.", Owner: "cluster"}
	submit := incident.Recommendation{When: "now", Text: "Exclude it.", Command: "sbatch --exclude=node09 …"}
	record := incident.Recommendation{When: "next-time", Text: "Record it."}
	const after, first = "Resubmit after the items that are due before the next run", "First do the action items"
	for name, c := range map[string]struct {
		exclude     []string
		origin      string
		items       []incident.Recommendation
		after, then bool
		due         string // of the last item
	}{
		"another team's check":            {nil, "gpu", []incident.Recommendation{look}, true, false, beforeNext},
		"of a node that is left out":      {[]string{"node09"}, "gpu", []incident.Recommendation{submit, look}, false, false, "before node09 is used again"},
		"evidence of a known cause":       {nil, "gpu", []incident.Recommendation{record}, false, false, "before the next long run"},
		"evidence of a cause not found":   {nil, originUnknown, []incident.Recommendation{record}, false, true, beforeNext},
		"nothing but to submit it anew":   {[]string{"node09"}, "gpu", []incident.Recommendation{submit}, false, false, beforeNext},
		"the check of a cause not found ": {nil, originUnknown, []incident.Recommendation{look}, true, false, beforeNext},
	} {
		r := stall()
		r.Action.Resubmit, r.Action.ExcludeNodes, r.Verdict.Origin, r.Recommendations = "yes", c.exclude, c.origin, c.items
		next, due := nextRun(r), dueOf(c.items[len(c.items)-1], r)
		if strings.Contains(next, after) != c.after || strings.Contains(next, first) != c.then || due != c.due {
			t.Errorf("%s: %q, due %q", name, next, due)
		}
	}
}
