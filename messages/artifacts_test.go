package messages

import (
	"bytes"
	"strings"
	"testing"

	"faultline/incident"
)

// What is handed in beside the logs is shown wherever the report is, with its line, and without interpreting it.
func TestEvidenceBesideTheLogsIsShownEverywhere(t *testing.T) {
	r := healthy()
	r.Artifacts = []incident.Artifact{{Kind: "stacks", Title: "stacks of <b>processes</b>", Files: []string{"a.txt", "b.txt", "c.txt", "d.txt", "e.txt"},
		Limits:   "they are of one moment",
		Findings: []incident.Finding{{Statement: "rank 3 alone reads its data", Evidence: []incident.Evidence{quoteOf("a.txt", 7, "    read_data (<loader>:91)")}}}}}
	var term, md, html bytes.Buffer
	for _, err := range []error{Terminal(&term, r, Style{Width: 100}), Markdown(&md, r), HTML(&html, r, Extras{})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := validate(compileSchema(t), r); err != nil {
		t.Error(err)
	}
	for where, got := range map[string]string{"terminal": term.String(), "Markdown": md.String(), "HTML": html.String()} {
		got = strings.ReplaceAll(got, `\_`, "_")
		for _, want := range []string{"ank 3 alone reads its data", "a.txt:7", "read_data", "hey are of one moment"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q", where, want)
			}
		}
	}
	if strings.Contains(html.String(), "<b>proc") || strings.Contains(html.String(), "(<loader>") {
		t.Error("the page interprets what it shows")
	}
}
