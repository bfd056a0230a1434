// Package repro writes a script that shows the kind of fault a report suspects, small: the same collective in the same
// layout of groups, on few ranks with tiny tensors. Nothing of a log but numbers and names found in a table of ours
// reaches the script.
package repro

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"faultline/incident"
	"faultline/knowledge"
)

// Backends.
const (
	NCCL = "nccl"
	Gloo = "gloo"
)

// Options are what a person chooses.
type Options struct {
	// CPU writes for Gloo, which needs no GPU, instead of NCCL.
	CPU bool
	// Mechanism is one of the verdict's candidates; "" takes the first that can be shown by a script.
	Mechanism string
}

// Script is what was written.
type Script struct {
	Text      []byte
	Mechanism string
	// Processes is how many torchrun starts; for a loop how many on one node.
	Processes int
	Loop      bool
	// Nodes are the suspected ones, to run a loop on. They are not in the script.
	Nodes []string
	// Notes say what is assumed, one sentence each.
	Notes []string
}

// UnsuitableError says that no script shows what the report suspects, and what to do instead.
type UnsuitableError struct {
	Suspected, Instead string
	// Component is what can be tested alone to tell the machine from the program; "" where nothing can.
	Component string
}

func (e *UnsuitableError) Error() string { return e.Suspected + ". " + e.Instead }

// order is a variant of a mismatch that a report shows: one rank enters two groups in the other order.
const order knowledge.Slip = "order"

// playOf is what a script does to show a mechanism; false where none can.
func playOf(slug string) (knowledge.Play, bool) {
	m, ok := knowledge.MechanismBySlug(knowledge.Slug(slug))
	return m.Play, ok && m.Play.Slip != ""
}

// orderDoes is what a mismatch is where groups wait for each other.
const orderDoes = "One rank enters two groups in the opposite order, so each group waits for a rank stuck in the other."

//go:embed script.py.tmpl
var text string

var script = template.Must(template.New("script").Funcs(template.FuncMap{"list": list}).Parse(text))

// Make writes the script for a report.
func Make(r *incident.Report, o Options) (*Script, error) {
	slug, err := choose(r, o.Mechanism)
	if err != nil {
		return nil, err
	}
	p := plan(r, slug, o.CPU)
	var b bytes.Buffer
	if err := script.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("write the script: %w", err)
	}
	s := &Script{Text: b.Bytes(), Mechanism: slug, Processes: p.World, Loop: p.Is(knowledge.NoSlip), Notes: p.Notes}
	if s.Loop {
		s.Nodes = nodes(r)
	}
	return s, nil
}

// choose takes the mechanism that the script is for.
func choose(r *incident.Report, wanted string) (string, error) {
	v := r.Verdict
	suspected := []string{v.Mechanism}
	for _, c := range v.Candidates {
		suspected = append(suspected, c.Mechanism)
	}
	if wanted != "" {
		suspected = []string{wanted}
	}
	if v.Status != incident.NoFailure {
		for _, slug := range suspected {
			if _, ok := playOf(slug); ok {
				return slug, nil
			}
		}
	}
	e := &UnsuitableError{Suspected: fmt.Sprintf("A script of collectives can't reproduce this failure (%s)", plain(suspected[0]))}
	if v.Status == incident.NoFailure {
		e.Suspected = "Nothing failed here"
	}
	if v.Status != incident.NoFailure {
		e.Component = alone(suspected)
	}
	e.Instead = "Run bot diagnose for what to do next."
	for _, rec := range r.Recommendations {
		if rec.When == "now" && rec.Text != "" {
			e.Instead = "Instead: " + rec.Text
			break
		}
	}
	return "", e
}

// alone is the component of the first suspect that has one.
func alone(suspected []string) string {
	for _, slug := range suspected {
		if m, ok := knowledge.MechanismBySlug(knowledge.Slug(slug)); ok && m.Alone != "" {
			return m.Alone
		}
	}
	return ""
}

// nodes are the names of the suspected nodes, as far as they are names.
func nodes(r *incident.Report) (names []string) {
	for _, n := range r.Verdict.Root.Nodes {
		if name.MatchString(n) {
			names = append(names, n)
		}
	}
	return names
}

// plain keeps a slug that may have come from a file of somebody's own within bounds.
func plain(s string) string {
	if len(s) > 64 || strings.ContainsFunc(s, func(c rune) bool { return (c < 'a' || c > 'z') && c != '-' }) {
		return "unknown"
	}
	return s
}

// list writes ranks as Python does.
func list(ranks []int) string {
	return "[" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ranks)), ", "), "[]") + "]"
}
