package messages

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"faultline/incident"
)

// How much the Markdown version shows; the JSON has everything.
const (
	mdQuotes = 5
	mdEvents = 100
	mdGroups = 20
)

// Markdown writes the report as GitHub-flavoured Markdown. Every text is escaped; log lines and commands stand in code
// fences that are longer than any run of backticks inside.
func Markdown(w io.Writer, r *incident.Report) error {
	m := &md{w: bufio.NewWriter(w)}
	m.report(newView(r))
	if err := m.w.Flush(); err != nil {
		return fmt.Errorf("write the report as Markdown: %w", err)
	}
	return nil
}

// md writes; errors of the writer stay in w until Flush.
type md struct{ w *bufio.Writer }

func (m *md) f(format string, args ...any) { fmt.Fprintf(m.w, format, args...) }

func (m *md) heading(s string) { m.f("\n## %s\n\n", s) }

// mdEscaper makes a text inert: no emphasis, link, table cell, HTML, heading, list, mention or bare URL.
var mdEscaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "#", `\#`,
	"|", `\|`, "~", `\~`, "!", `\!`, "$", `\$`, "@", "&#64;", "://", "&#58;//", "www.", "www&#46;")

func esc(s string) string {
	s = mdEscaper.Replace(flat(s))
	if s != "" && strings.ContainsRune("-+=", rune(s[0])) { // a list or a rule, at the start of a line
		s = `\` + s
	}
	return s
}

// code puts a text into a code span that it cannot leave.
func code(s string) string {
	s = flat(s)
	if s == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + strings.ReplaceAll(s, "|", "¦") + ticks // a pipe would end a table's cell even in code
}

// fence puts text into a fenced block, indented so that it may stand in a list.
func (m *md) fence(indent, text string) {
	ticks := strings.Repeat("`", max(3, longestRun(text)+1))
	m.f("\n%s%s\n", indent, ticks)
	for l := range strings.Lines(text) {
		m.f("%s%s\n", indent, strings.TrimRight(l, "\n"))
	}
	m.f("%s%s\n", indent, ticks)
}

func longestRun(s string) int {
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

func (m *md) pairs(ps []pair) {
	m.f("| | |\n|---|---|\n")
	for _, p := range ps {
		m.f("| %s | %s |\n", esc(p.Label), esc(p.Text))
	}
}

func (m *md) proofs(indent string, ps []proof) {
	for i, p := range ps {
		if i == mdQuotes {
			m.f("%s- and %d more\n", indent, len(ps)-i)
			return
		}
		if !p.Quote {
			m.f("%s- %s: %s\n", indent, esc(p.Where), esc(p.Text))
			continue
		}
		m.f("%s- %s\n", indent, code(p.Where))
		m.fence(indent+"  ", clip(p.Text, htmlQuote))
	}
}

func (m *md) report(v *view) {
	r := v.Report
	m.f("# %s\n\n", esc(v.Headline))
	m.f("> %s\n\n", esc(brief(v, "")))
	for _, p := range v.Screen {
		m.f("- **%s:** %s\n", esc(p.Label), esc(p.Text))
	}
	m.heading("Decision")
	m.pairs(v.Decision)
	if len(v.Advice) > 0 {
		when := ""
		for _, a := range v.Advice {
			if a.When != when {
				when = a.When
				m.f("\n**%s**\n\n", esc(when))
			}
			m.f("- %s\n", esc(a.Text))
			if a.Command != "" {
				m.fence("  ", a.Command)
			}
		}
	}
	if len(r.Verdict.Needs) > 0 {
		m.heading("What would settle it")
		for _, n := range r.Verdict.Needs {
			m.f("- **%s** %s (%s)\n", esc(sentence(n.What)), esc(sentence(n.Why)), esc(obtainText(n.Obtainable)))
			if n.Command != "" {
				m.fence("  ", strings.TrimSpace(n.Command))
			}
		}
	}
	if len(r.Revisions) > 0 {
		m.heading("Corrected")
		for _, x := range r.Revisions {
			m.f("- **was** %s\n- **now** %s\n- **because** %s\n", esc(x.Was), esc(x.Now), esc(x.Because))
			m.proofs("  ", proofs(x.Evidence))
		}
	}
	if len(v.Chain) > 0 {
		m.heading("Sequence of events")
		for i, l := range v.Chain {
			m.f("%d. *%s*: %s\n", i+1, esc(l.Role), esc(l.Statement))
			m.proofs("   ", l.Proofs)
		}
	}
	m.course(v.Course)
	m.earlier(v.Earlier)
	m.timeline(v.Timeline)
	m.clocks(v.Clocks)
	m.groups(v)
	m.heading("Job")
	m.pairs(v.Facts)
	m.heading("What was examined")
	m.pairs(v.Coverage)
	if v.Storage != "" {
		m.f("\n%s\n", esc(v.Storage))
	}
	if r.Coverage.Unclassified > 0 {
		m.f("\n%s.\n\n", unclassifiedText(r.Coverage.Unclassified))
		for _, u := range r.Coverage.UnclassifiedTop {
			m.f("- %s ×\n", grouped(int64(u.Count)))
			m.fence("  ", excerpt(u.Text, htmlQuote))
		}
	}
	m.artifacts(v.Artifacts)
	m.storageLogs(v.Daemons)
	m.guesses(v)
	if len(r.KeyFiles) > 0 {
		m.heading("Open first")
		for _, k := range r.KeyFiles {
			m.f("- %s: %s\n", code(fileLine(k)), esc(sentence(k.Why)))
		}
	}
	m.heading("Verified")
	m.f("%s\n", esc(v.Verified))
	for _, c := range r.Verification.Withdrawn {
		m.f("- withdrawn: %s\n", esc(c))
	}
	for _, c := range r.Warnings {
		m.f("- warning: %s\n", esc(c))
	}
	m.f("\n%s\n", esc(engineText(r)))
}

func (m *md) timeline(events []eventView) {
	if len(events) == 0 {
		return
	}
	m.heading("Timeline")
	m.f("| time | | who | event | source |\n|---|---|---|---|---|\n")
	for i, e := range events {
		if i == mdEvents {
			m.f("\n%s in the JSON report.\n", count(len(events)-i, "more event"))
			return
		}
		m.f("| %s | %s | %s | %s | %s |\n", esc(e.Time), esc(e.Uncertain), esc(e.Who), esc(e.Event+e.Own), code(firstQuote(e.Proofs)))
	}
}

// clocks are the notes below a timeline.
func (m *md) clocks(notes []linkView) {
	if len(notes) > 0 {
		m.f("\n")
	}
	for _, n := range notes {
		m.f("- %s\n", esc(compared(n)))
	}
}

func (m *md) groups(v *view) {
	if v.Map.Ranks > 0 {
		m.heading("Ranks")
		m.f("%s\n", esc(mapAlt(v)))
	}
	if len(v.Groups) == 0 {
		return
	}
	m.heading("Process groups")
	for i, g := range v.Groups {
		if i == mdGroups {
			m.f("\n%s in the JSON report.\n", count(len(v.Groups)-i, "more group"))
			return
		}
		m.f("\n**%s**\n", esc(g.Title))
		if g.Stuck != "" {
			m.f("%s.\n", esc(capital(g.Stuck)))
		}
		m.f("\n| count | state | enqueued | completed | ranks | on |\n|---:|---|---:|---:|---|---|\n")
		for _, r := range g.Rows {
			m.f("| %s | %s | %s | %s | %s | %s |\n", grouped(int64(r.N)), esc(r.Role), esc(r.Enqueued), esc(r.Completed), esc(r.Ranks), esc(r.Nodes))
		}
	}
}

func (m *md) guesses(v *view) {
	if len(v.Guesses) == 0 && len(v.Report.Verdict.Suspects) == 0 {
		return
	}
	m.heading("Considered")
	for _, h := range v.Guesses {
		m.f("- **%s** (%s)\n", esc(h.Title), esc(h.Status))
		for _, f := range h.For {
			m.f("  - for: %s\n", esc(withSource(f)))
		}
		for _, f := range h.Against {
			m.f("  - against: %s\n", esc(withSource(f)))
		}
		for _, d := range h.WouldDecide {
			m.f("  - would settle it: %s\n", esc(d))
		}
	}
	for _, s := range v.Report.Verdict.Suspects {
		m.f("- suspected (unproven): **%s**: %s\n", esc(mechanismTitle(s.Mechanism)), esc(s.Why))
	}
}
