package messages

import (
	"bytes"
	"strings"
	"testing"

	"faultline/incident"
)

// remembered is a stall on a node that earlier runs knew, after a change.
func remembered() *incident.Report {
	r := stall()
	count := incident.Evidence{Kind: incident.KindCount, Files: []string{"history.jsonl"}, N: 3, Predicate: &incident.Predicate{
		Members: []incident.Member{{Name: "schema", Value: "faultline.history/v1"}, {Name: "root_nodes", Value: "node09"}}, NotMembers: []incident.Member{{Name: "id", Value: "4242/0"}}}}
	r.History = &incident.History{Files: []string{"history.jsonl"}, Runs: 52, SameName: 9, SharedNodes: 41,
		Recurrences: []incident.Recurrence{
			{Kind: incident.SameHost, What: "node09", Times: 3, Of: 41, Weighs: true, Statement: "node09 was the root in 3 of the 41 earlier jobs that ran on it, more often than chance explains",
				Runs: []string{"4001/0"}, Evidence: []incident.Evidence{count, quoteOf("history.jsonl", 17, `"root_nodes":["node09"]`)}},
			{Kind: incident.SameStep, What: "12311", Times: 1, Of: 2, Statement: "step 12311 was the last one in 1 of the 2 earlier jobs; that may be chance"},
		},
		LastGood: &incident.LastGood{Run: "4100/0", End: "2026-07-01T10:00:00", More: 2, Differences: []incident.Difference{
			{What: "nodes-added", Now: "node09,node10,node11"}, {What: "world-size", Was: "64", Now: "128"},
			{What: "argument", Name: "lr", Was: "0.1", Now: "<!channel> `0.2`", Evidence: []incident.Evidence{quoteOf("history.jsonl", 18, `"lr":"0.1"`)}},
			{What: "version", Name: "torch", Was: "2.5", Now: ""}}}}
	return r
}

func TestEarlierRunsAreShownInEveryFormat(t *testing.T) {
	r := remembered()
	var term, md, html, js bytes.Buffer
	for _, err := range []error{Terminal(&term, r, Style{Width: 120}), Markdown(&md, r), HTML(&html, r, Extras{}), JSON(&js, r)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := validate(compileSchema(t), r); err != nil {
		t.Error(err)
	}
	slack := asText(FirstVerdict(r, nil).Blocks)
	for name, got := range map[string]string{"terminal": term.String(), "Markdown": md.String(), "HTML": html.String(), "Slack": slack} {
		flatGot := flat(strings.NewReplacer(`\_`, "_", `\[`, "[", `\]`, "]", "&#34;", `"`).Replace(got))
		want := []string{"3 of the 41 earlier jobs"}
		if name != "Slack" {
			want = append(want, "4100/0", "52 earlier runs", "that may be chance", "3 nodes: node[09-11]", "World size: 64, now 128", "2.5, now not given", "2 more differences", "root_nodes: node09")
		}
		for _, w := range want {
			if !strings.Contains(flatGot, w) {
				t.Errorf("%s: no %q", name, w)
			}
		}
		if strings.Contains(got, "<!channel>") && name != "terminal" {
			t.Errorf("%s lets a value through as it is", name)
		}
	}
	first := strings.Join(FirstScreen(r, 100), "\n")
	if !strings.Contains(first, labelBefore) || len(strings.Split(first, "\n")) > firstScreenLines {
		t.Errorf("the first screen:\n%s", first)
	}
	if strings.Contains(strings.Join(FirstScreen(stall(), 100), "\n"), labelBefore) {
		t.Error("a report without a history speaks of one")
	}
}
