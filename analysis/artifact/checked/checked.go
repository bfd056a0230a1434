// Package checked reads what "bot check" said of a job's nodes before the job began: it stands in the job's own log.
package checked

import (
	"bytes"
	"strings"

	"faultline/analysis/artifact/lines"
	"faultline/analysis/artifact/rows"
	"faultline/pattern"
)

// Kind is what the engine knows of it.
var Kind = rows.Kind{
	Name:      "results of bot check",
	Slug:      "preflight",
	Title:     "Check before the job",
	Limits:    "It shows the nodes as they were before the job began: they may have changed since.",
	Recognise: found,
	Pasted:    found,
	Row:       row,
}

// prefix is what each line of a result begins with (preflight.Prefix, and a test of cmd/bot holds both together).
const prefix = "bot check: "

var (
	finding = pattern.New(`^bot check: (FAIL|WARN) (all nodes|[A-Za-z0-9][\w.-]{0,252}): ([^:]{1,80}): (.{1,400}?)(?:  \[.{1,300}\])?$`)
	verdict = pattern.New(`^bot check: ((?:not )?ready): (\d+ nodes?, \d+ GPUs?); (\d+ failures?, \d+ warnings?)$`)
)

func row(text string) (rows.Row, bool) {
	if !strings.HasPrefix(text, prefix) {
		return rows.Row{}, false
	}
	if m := verdict.FindStringSubmatch(text); m != nil {
		return rows.Row{Says: m[1] + ": " + m[2] + "; " + m[3], Of: "all nodes", Literals: []string{m[1] + ": ", m[2]}}, true
	}
	m := finding.FindStringSubmatch(text)
	if m == nil {
		return rows.Row{}, false
	}
	says := m[3] + ": " + m[4]
	if m[1] == "WARN" {
		says = "warning: " + says
	}
	return rows.Row{Says: says, Of: m[2], Literals: []string{m[2] + ": ", m[3] + ": "}}, true
}

// found says that a text holds a result: its lines are like nothing else in a log.
func found(text []byte) bool {
	if !bytes.Contains(text, []byte(prefix)) {
		return false
	}
	for l := range bytes.Lines(text) {
		s, _, _ := lines.Peel(string(bytes.TrimRight(l[:min(len(l), lines.Max)], "\r\n")))
		if _, ok := row(s); ok {
			return true
		}
	}
	return false
}
