package messages

import (
	"bufio"
	_ "embed" // the template of the page
	"fmt"
	"html/template"
	"io"
	"sync"

	"faultline/incident"
)

// Postmortem writes the page as Markdown.
func Postmortem(w io.Writer, r *incident.Report, s Story) error {
	m := &md{w: bufio.NewWriter(w)}
	p := postmortemOf(r, s)
	m.f("# %s\n\n%s\n", esc(p.Title), esc(p.Summary))
	m.heading("Impact")
	m.pairs(p.Impact)
	m.heading("Timeline")
	m.f("| time | | who | event | source |\n|---|---|---|---|---|\n")
	for _, e := range p.Timeline {
		m.f("| %s | %s | %s | %s | %s |\n", esc(e.Time), esc(e.Uncertain), esc(e.Who), esc(e.Event+e.Own), code(e.Source()))
	}
	if p.More > 0 {
		m.f("\n%s in the report.\n", count(p.More, "more event"))
	}
	for _, n := range p.Clocks {
		m.f("\n%s\n", esc(n))
	}
	if len(p.Phases) > 0 {
		m.heading("Time spent")
		m.pairs(p.Phases)
	}
	if len(p.Whys) > 0 {
		m.heading("Five whys")
	}
	for _, x := range p.Whys {
		m.f("%d. **%s** %s", x.N, esc(x.Question), esc(x.Answer))
		if x.Proof != "" {
			m.f(" (%s)", code(x.Proof))
		}
		m.f("\n")
	}
	if len(p.Ruled) > 0 {
		m.heading(ruledTitle)
	}
	for _, x := range p.Ruled {
		m.f("- %s", esc(x.Text))
		if x.Proof != "" {
			m.f(" (%s)", code(x.Proof))
		}
		m.f("\n")
	}
	m.heading(p.RootTitle)
	m.pairs(p.Roots)
	for _, part := range []struct {
		name string
		list []string
	}{{"What went well", p.Well}, {"What went wrong", p.Badly}} {
		if len(part.list) == 0 {
			continue
		}
		m.heading(part.name)
		for _, l := range part.list {
			m.f("- %s\n", esc(l))
		}
	}
	if len(p.Actions) > 0 {
		m.heading("Action items")
	}
	for _, a := range p.Actions {
		m.f("- %s %s (%s, %s)\n", a.Box(), esc(a.Text), esc(a.Owner), esc(a.Due))
		if a.Command != "" {
			m.fence("  ", a.Command)
		}
	}
	if len(p.Evidence) > 0 {
		m.heading("Evidence")
		for i := range p.Evidence {
			m.proofs("", p.Evidence[i:i+1])
		}
	}
	if err := m.w.Flush(); err != nil {
		return fmt.Errorf("write the post-mortem as Markdown: %w", err)
	}
	return nil
}

// Source is the first line that an event rests on.
func (e eventView) Source() string { return firstQuote(e.Proofs) }

//go:embed postmortem.html.tmpl
var postmortemTemplate string

var postmortemPage = sync.OnceValue(func() *template.Template { return template.Must(template.New("postmortem").Parse(postmortemTemplate)) })

// PostmortemHTML writes the page as one self-contained file without a script.
func PostmortemHTML(w io.Writer, r *incident.Report, s Story) error {
	p := postmortemOf(r, s)
	p.CSS = template.CSS(style()) //nolint:gosec // the style is a constant of the program
	if err := postmortemPage().Execute(w, p); err != nil {
		return fmt.Errorf("write the post-mortem as HTML: %w", err)
	}
	return nil
}
