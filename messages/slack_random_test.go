package messages

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/messages/blockkit"
)

// randomReport is a report of random size: mostly small, at times 16,384 ranks, 10,000 events or a line of a megabyte.
func randomReport(r *rand.Rand, big bool) *incident.Report {
	size := func(most int) int {
		if !big || r.IntN(3) > 0 {
			return r.IntN(min(5, most) + 1)
		}
		return r.IntN(most + 1)
	}
	huge := big
	text := func() string {
		n := r.IntN(200)
		if r.IntN(40) == 0 {
			n = r.IntN(5000)
		}
		if huge && r.IntN(40) == 0 {
			huge = false // one is enough: to redact it takes a while
			return strings.Repeat("a long line ", 1<<20/12)
		}
		if r.IntN(30) > 0 {
			return strings.Repeat("<!here> 語x *_~` ", 1+n/16)
		}
		return evilText[r.IntN(len(evilText)):]
	}
	evidence := func() []incident.Evidence {
		var out []incident.Evidence
		for range size(40) {
			switch r.IntN(4) {
			case 0:
				out = append(out, incident.Evidence{Kind: incident.KindCount, N: 7, Files: []string{text()}, Predicate: &incident.Predicate{Literals: []string{text()}}})
			case 1:
				out = append(out, incident.Evidence{Kind: incident.KindDerived, Formula: "sum", Result: text()})
			default:
				out = append(out, quoteOf(text(), r.Int64N(1e6), text()))
			}
		}
		return out
	}
	perNode := 1 + r.IntN(8)
	nodes := r.IntN(5)
	if big && r.IntN(4) == 0 {
		nodes = r.IntN(16384 / perNode)
	}
	out := minimal()
	if nodes > 0 {
		out = stallOf(nodes*perNode, perNode, r.IntN(nodes*perNode))
	}
	statuses := []string{incident.Confirmed, incident.Probable, incident.Inconclusive, incident.NoFailure}
	out.Verdict.Status, out.Verdict.Summary, out.Verdict.Why = statuses[r.IntN(4)], text(), text()
	for range size(60) {
		out.Verdict.Candidates = append(out.Verdict.Candidates, incident.Candidate{Mechanism: text()})
		out.Verdict.Needs = append(out.Verdict.Needs, incident.Need{What: text(), Why: text(), Command: text(), Obtainable: []string{"now", "perishing", "next-time"}[r.IntN(3)]})
		out.Recommendations = append(out.Recommendations, incident.Recommendation{When: "now", Text: text(), Command: text()})
		out.Revisions = append(out.Revisions, incident.Revision{Was: text(), Now: text(), Because: text(), Evidence: evidence()})
	}
	events := size(10000)
	out.Chain, out.Timeline = nil, nil
	for i := range events {
		e := incident.Event{Event: fmt.Sprintf("event %d", i), Time: ptr(fmt.Sprintf("2026-07-%02dT10:00:00", 1+r.IntN(2)))}
		if r.IntN(50) == 0 || !big {
			e.Event, e.Node, e.Evidence = text(), text(), evidence()
		}
		out.Timeline = append(out.Timeline, e)
		l := incident.Link{Role: incident.Consequence, Statement: fmt.Sprintf("link %d", i)}
		if r.IntN(50) == 0 || !big {
			l.Statement, l.Evidence = text(), evidence()
		}
		out.Chain = append(out.Chain, l)
	}
	return out
}

// Reports of any size become posts that Slack accepts, within the budget; what a post leaves out it counts.
func TestRandomReportsArePosted(t *testing.T) {
	reports := 1300 // every hundredth is big
	if sampled() {
		reports = 60
	}
	posts := 0
	for i := range reports {
		r := rand.New(rand.NewPCG(uint64(i), 11))
		rep := randomReport(r, i%100 == 7)
		out := thread(rep)
		out["revision"] = RevisionPost(rep.Revisions, []string{"U1"})
		out["glossary"] = GlossaryView(rep)
		title, alt := RankMapCaption(rep)
		out["map"] = blockkit.Message{Text: blockkit.Escape(title), Blocks: blockkit.Blocks{blockkit.Image{Title: blockkit.Plain(title), AltText: alt, SlackFile: &blockkit.SlackFile{ID: "F1"}}}}
		q := Ask{Text: rep.Verdict.Summary, Why: rep.Verdict.Why}
		for _, n := range rep.Verdict.Needs {
			q.Commands, q.Items = append(q.Commands, n.Command), append(q.Items, n.What)
		}
		out["question"] = QuestionPost(q)
		c := someCase(rep)
		for _, n := range rep.Revisions {
			c.Superseded, c.Notes, c.Open = append(c.Superseded, n.Was), append(c.Notes, n.Because), append(c.Open, n.Now)
		}
		out["case"] = CaseFile(c)
		for name, v := range out {
			raw := string(checkPayload(t, fmt.Sprintf("report %d, %s", i, name), v))
			posts++
			if strings.Contains(raw, "could not be shown in full") {
				t.Errorf("report %d, %s: the last resort was needed", i, name)
			}
		}
		shown := 0
		for _, b := range Timeline(rep).Blocks {
			if table, is := b.(blockkit.DataTable); is {
				shown = len(table.Rows) - 1
			}
		}
		if hidden := len(rep.Timeline) - shown; hidden > 0 && !strings.Contains(fmt.Sprint(out), count(hidden+1, "more event")) { // the row that says so is a row
			t.Errorf("report %d: %d events are not shown, and no post says so", i, hidden)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d posts", posts)
}
