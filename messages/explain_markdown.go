package messages

import (
	"bufio"
	"fmt"
	"io"

	"faultline/knowledge/explain"
	"faultline/messages/redact"
)

// ExplainMarkdown writes an answer as Markdown, every entry in full.
func ExplainMarkdown(w io.Writer, a explain.Answer) error {
	m := &md{w: bufio.NewWriter(w)}
	told := map[string]bool{}
	if a.Open {
		m.f("%s\n\n", esc(OpenText(a)))
	}
	for _, e := range a.Entries {
		m.entry(explainedOf(e).once(told))
	}
	if a.More > 0 {
		m.f("… and %s.\n\n", esc(count(a.More, "more entry")))
	}
	if len(a.Entries) == 0 {
		m.f("%s\n", esc(unknownText))
		if s := Sounds(a); s != "" {
			m.f("\n%s\n", esc(s))
		}
		if len(a.Nearest) > 0 {
			m.f("\n%s\n\n", esc(nearText))
			for _, e := range a.Nearest {
				m.f("- %s: %s\n", code(redact.String(e.ID)), esc(e.Meaning))
			}
		}
		m.f("\n")
	}
	if a.Cut {
		m.f("Only the first %s of the text were read.\n\n", esc(bytesText(explain.MaxText)))
	}
	m.f("%s\n", esc(limitText))
	if err := m.w.Flush(); err != nil {
		return fmt.Errorf("write the explanation as Markdown: %w", err)
	}
	return nil
}

func (m *md) entry(x explained) {
	m.f("## %s\n\n", esc(capital(x.Title)))
	row := func(label, text string) {
		if text != "" {
			m.f("- **%s:** %s\n", esc(label), esc(text))
		}
	}
	m.f("- **Ask for:** %s\n", code(x.ID))
	row("Means", x.more())
	row("Role", x.RoleText)
	if at := x.where(); at != "" {
		m.f("- **Found in:** %s\n", esc(at))
		m.fence("  ", x.Where.Text)
	}
	row("Details", x.says())
	row("Default", x.Default)
	row("Caution", x.Trap)
	row("Cost", x.Cost)
	row("Mostly", x.Cause)
	row("NVIDIA's advice", x.Action)
	if x.Mechanism != nil {
		if x.Kind != string(explain.Mechanism) {
			row("Mechanism", x.Mechanism.Slug+": "+x.Mechanism.Meaning)
		}
		row("Owner", capital(x.Mechanism.whose()))
		for _, l := range x.Mechanism.LookAlikes {
			row("Not to be confused with "+l.Mechanism, l.Tell)
		}
	}
	m.todos("Check", x.checks())
	if x.Mechanism != nil {
		m.todos("Now", x.Mechanism.Now)
		m.todos("Later", x.Mechanism.Structural)
		m.todos("Next time", x.Mechanism.NextTime)
		if x.Kind == string(explain.Mechanism) {
			for _, f := range x.Mechanism.Fixes {
				row("Fix", f.weighed())
			}
		}
	}
	for _, s := range x.Collect {
		row("To capture more", s.priced())
	}
	row("Source", x.Source)
	m.f("\n")
}

func (m *md) todos(label string, list []todo) {
	for _, a := range list {
		m.f("- **%s:** %s\n", esc(label), esc(a.Text))
		if a.Command != "" {
			m.fence("  ", a.Command)
		}
	}
}

// ExplainListMarkdown writes all that is known as tables.
func ExplainListMarkdown(w io.Writer, es []explain.Entry) error {
	m := &md{w: bufio.NewWriter(w)}
	kind := explain.Kind("")
	for _, e := range es {
		if e.Kind != kind {
			kind = e.Kind
			m.f("\n## %s\n\n| ask for | what it is | meaning | mechanism | source |\n|---|---|---|---|---|\n", esc(listTitles[kind]))
		}
		m.f("| %s | %s | %s | %s | %s |\n", code(e.ID), esc(string(e.Role)), esc(e.Meaning), esc(string(e.Mechanism)), esc(e.Source))
	}
	if err := m.w.Flush(); err != nil {
		return fmt.Errorf("write the list as Markdown: %w", err)
	}
	return nil
}
