package messages

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"faultline/incident"
	"faultline/messages/blockkit"
)

// rerunWords are the outcomes of a comparison of two runs as people read them.
var rerunWords = map[string]struct{ word, tone string }{
	incident.Fixed:      {"Fixed", "good"},
	incident.NotFixed:   {"Not fixed", "bad"},
	incident.Regression: {"Regression", "bad"},
	incident.Same:       {"No worse", "good"},
	incident.OpenFix:    {"Can't tell yet", "open"},
}

// checkLabels are the labels of what is compared.
var checkLabels = map[string]string{
	incident.CheckProblem: "Problem", incident.SignStepTime: "Step time", incident.SignThroughput: "Throughput", incident.SignMemory: "Memory", incident.SignLoss: "Loss",
}

// Labels of the comparison of two runs.
const (
	labelRunBefore = "Before"
	labelRunAfter  = "After"
	labelNeeded    = "Needed"
	labelChanged   = "Changed"
)

// rerunChanges bounds the differences in the set-up that a person reads; the JSON has them all.
const rerunChanges = 12

// Rerun writes what became of the trouble of one run in the next, with what was compared and what they were set up with.
func Rerun(w io.Writer, r *incident.Rerun, style Style) error {
	if style.Width == 0 {
		style.Width = defaultWidth
	}
	style.Width = min(max(style.Width, minWidth), defaultWidth)
	t := &term{w: bufio.NewWriter(w), Style: style}
	tone := map[string]string{"bad": red, "good": green, "open": yellow}[rerunWords[r.Outcome].tone]
	t.wrapped("", tone, rerunWords[r.Outcome].word+": "+sentence(flat(r.Summary)))
	for _, p := range rerunRows(r) {
		t.triageRow(p)
	}
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	return nil
}

func rerunRows(r *incident.Rerun) []part {
	ps := []part{{Label: labelRunBefore, Text: rerunOf(r.Before)}, {Label: labelRunAfter, Text: rerunOf(r.After)}}
	for _, c := range r.Checks {
		if c.Name == incident.CheckProblem {
			continue // it is the heading
		}
		text := flat(c.Text)
		if c.Level == incident.CheckWorse {
			text = "worse: " + text
		}
		ps = append(ps, part{Label: checkLabels[c.Name], Text: sentence(text)})
	}
	for _, n := range r.Needs {
		ps = append(ps, part{Label: labelNeeded, Text: sentence(flat(n))})
	}
	for i, d := range r.Differences {
		if i == rerunChanges {
			ps = append(ps, part{Label: labelChanged, Text: fmt.Sprintf("… and %s (--json lists them).", count(len(r.Differences)-i, "more difference"))})
			break
		}
		ps = append(ps, part{Label: labelChanged, Text: differenceText(d)})
	}
	if len(r.Differences) == 0 {
		ps = append(ps, part{Label: labelChanged, Text: "No recorded difference."})
	}
	return ps
}

// rerunOf is one of the two runs in a row.
func rerunOf(o incident.RerunOf) string {
	var parts []string
	if o.Job != "" {
		parts = append(parts, "job "+flat(o.Job))
	}
	if o.LastStep != nil {
		parts = append(parts, fmt.Sprintf("last step %s", grouped(*o.LastStep)))
	}
	head := strings.Join(parts, ", ")
	if head != "" {
		head += ": "
	}
	summary := o.Summary
	if summary == "" { // a history keeps no sentence
		summary = o.Mechanism
		if m, ok := mechanism(o.Mechanism); ok && m.Title != "" {
			summary = m.Title
		}
	}
	return head + sentence(flat(summary))
}

// RerunSchema names the version of the JSON form.
const RerunSchema = "faultline.rerun/v1"

// RerunJSON writes the comparison for programs.
func RerunJSON(w io.Writer, r *incident.Rerun) error {
	out := *r
	fillLists(reflect.ValueOf(&out).Elem())
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(struct {
		Schema string `json:"schema"`
		incident.Rerun
	}{RerunSchema, out}); err != nil {
		return fmt.Errorf("write the comparison as JSON: %w", err)
	}
	return nil
}

// RerunHeadline is the outcome in one sentence.
func RerunHeadline(r *incident.Rerun) string {
	return rerunWords[r.Outcome].word + ": " + sentence(flat(r.Summary))
}

// rerunLights are the outcomes as a thread shows them.
var rerunLights = map[string]string{"good": "🟢 ", "bad": "🔴 ", "open": "🟡 "}

// RerunPost says in the thread of an incident what became of it in the run with the fix.
func RerunPost(r *incident.Rerun, id string) blockkit.Message {
	head := rerunLights[rerunWords[r.Outcome].tone] + RerunHeadline(r)
	var known []blockkit.RichElement
	for _, p := range rerunRows(r) {
		known = append(known, labelled(p.Label, p.Text))
	}
	return post(id+": "+head, blockkit.Blocks{heading(head)}, rich(known...), small("The run with the fix, compared with the run that failed.", ""))
}
