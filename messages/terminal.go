package messages

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"faultline/incident"
)

// Style says how the terminal version looks.
type Style struct {
	Color   bool // SGR colours; only where the output is a terminal
	Width   int  // columns; 0 means 100. Below 60 it is laid out for 60
	Verbose bool // every quotation, event and group instead of the first few
	// FirstOnly ends the report after its first screen.
	FirstOnly bool
}

// How much the terminal shows unless Verbose; the JSON always has everything.
const (
	minWidth, defaultWidth, maxWidth = 60, 100, 140

	termQuotes     = 3
	termQuoteLines = 4
	termEvents     = 40
	termGroups     = 6
	termMapNodes   = 64
)

// Terminal writes the report for a terminal: the first screen, then everything else. No line is wider than Style.Width
// but commands, which stay in one piece so that they can be pasted.
func Terminal(w io.Writer, r *incident.Report, style Style) error {
	if style.Width == 0 {
		style.Width = defaultWidth
	}
	style.Width = min(max(style.Width, minWidth), maxWidth)
	t := &term{w: bufio.NewWriter(w), Style: style}
	t.report(newView(r))
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// term lays out; errors of the writer stay in w until Flush.
type term struct {
	w *bufio.Writer
	Style
}

// SGR parameters.
const (
	bold, dim        = "1", "2"
	red, green       = "1;31", "1;32"
	yellow, cyanText = "1;33", "36"
)

func (t *term) paint(sgr, s string) string {
	if !t.Color || s == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

func (t *term) line(s string) {
	fmt.Fprintln(t.w, strings.TrimRight(s, " "))
}

func (t *term) heading(s string) {
	t.line("")
	t.line(t.paint(bold, s) + " " + t.paint(dim, strings.Repeat("─", max(0, t.Width-textWidth(s)-1))))
}

// wrapped writes text with a first prefix and a hanging indent of the same width.
func (t *term) wrapped(first, sgr, text string) {
	indent := textWidth(first)
	for i, l := range wrap(text, t.Width-indent) {
		if i > 0 {
			first = strings.Repeat(" ", indent)
		}
		t.line(first + t.paint(sgr, l))
	}
}

func (t *term) pairs(ps []pair) {
	const column = 18
	for _, p := range ps {
		label := pad("  "+clip(p.Label, column-4), column)
		for i, l := range wrap(p.Text, t.Width-column) {
			if i > 0 {
				label = strings.Repeat(" ", column)
			}
			t.line(t.paint(dim, label) + l)
		}
	}
}

func (t *term) report(v *view) {
	tone := map[string]string{"bad": red, "good": green, "open": yellow}[v.Tone]
	for _, l := range layScreen(v, t.Width) {
		if l.label == "" {
			t.line(t.paint(tone, l.text))
			continue
		}
		t.line(t.paint(bold, pad(strings.TrimSpace(l.label), labelWidth)) + l.text)
	}
	if t.FirstOnly {
		return
	}
	t.heading("Decision")
	t.pairs(v.Decision)
	t.needs(v.Report.Verdict.Needs)
	if len(v.Report.Revisions) > 0 {
		t.heading("Corrected")
		for _, x := range v.Report.Revisions {
			t.wrapped("  was      ", dim, x.Was)
			t.wrapped("  now      ", bold, x.Now)
			t.wrapped("  because  ", "", x.Because)
			if t.Verbose { // the reason has quoted them
				t.proofs(proofs(x.Evidence))
			}
		}
	}
	t.heading("Job")
	t.pairs(v.Facts)
	if len(v.Chain) > 0 {
		t.heading("Sequence of events")
		for i, l := range v.Chain {
			t.wrapped(fmt.Sprintf("%3d  %s  ", i+1, pad(l.Role, 11)), "", l.Statement)
			t.proofs(l.Proofs)
		}
	}
	t.course(v.Course)
	t.earlier(v.Earlier)
	t.rankMap(v.Map)
	t.timeline(v.Timeline)
	for _, n := range v.Clocks {
		t.wrapped("  ", "", compared(n))
	}
	t.groups(v.Groups)
	t.heading("What was examined")
	t.pairs(v.Coverage)
	if v.Storage != "" {
		t.wrapped("  ", "", v.Storage)
	}
	t.unclassified(v.Report.Coverage)
	t.artifacts(v.Artifacts)
	t.storageLogs(v.Daemons)
	t.guesses(v)
	t.advice(v.Advice)
	if len(v.Report.KeyFiles) > 0 {
		t.heading("Open first")
		for _, k := range v.Report.KeyFiles {
			t.line("  " + t.paint(cyanText, clip(fileLine(k), t.Width-2)))
			t.wrapped("      ", "", sentence(k.Why))
		}
	}
	t.heading("Verified")
	t.wrapped("  ", "", v.Verified)
	for _, c := range v.Report.Verification.Withdrawn {
		t.wrapped("  withdrawn: ", "", c)
	}
	for _, m := range v.Report.Warnings {
		t.wrapped("  warning: ", "", m)
	}
	t.wrapped("  ", dim, engineText(v.Report))
}

func fileLine(k incident.KeyFile) string {
	if k.Line > 0 {
		return fmt.Sprintf("%s:%d", flat(k.File), k.Line)
	}
	return flat(k.File)
}

func engineText(r *incident.Report) string {
	return fmt.Sprintf("Faultline %s, rules %s. The same files give the same report.", flat(r.Engine.Version), flat(r.Engine.RulesVersion))
}

func (t *term) needs(needs []incident.Need) {
	if len(needs) == 0 {
		return
	}
	t.heading("What would settle it")
	for _, n := range needs {
		t.wrapped("  • ", "", sentence(n.What)+" "+sentence(n.Why)+" ("+obtainText(n.Obtainable)+")")
		t.command(n.Command)
	}
}

func (t *term) command(c string) {
	for l := range strings.Lines(c) {
		if l = strings.TrimRight(l, "\n"); l != "" {
			t.line("      " + t.paint(cyanText, l))
		}
	}
}

// proofs writes evidence: a quotation takes a few lines at most, because a log line can be as long as it likes.
func (t *term) proofs(ps []proof) {
	for i, p := range ps {
		if i == termQuotes && !t.Verbose {
			t.line(t.paint(dim, fmt.Sprintf("       … and %d more", len(ps)-i)))
			return
		}
		if !p.Quote {
			t.wrapped("       "+p.Where+": ", dim, p.Text)
			continue
		}
		t.line("       " + t.paint(cyanText, clip(p.Where, t.Width-7)))
		lines := wrap(p.Text, t.Width-9)
		for n, l := range lines {
			if n == termQuoteLines-1 && len(lines) > termQuoteLines && !t.Verbose {
				t.line(t.paint(dim, "       │ "+cut(l, t.Width-9)))
				break
			}
			t.line(t.paint(dim, "       │ "+l))
		}
	}
}

func (t *term) timeline(events []eventView) {
	if len(events) == 0 {
		return
	}
	t.heading("Timeline")
	timeW, whoW := 4, 3
	for _, e := range events {
		timeW = max(timeW, textWidth(e.Time+" "+e.Uncertain))
		whoW = max(whoW, textWidth(e.Who))
	}
	timeW, whoW = min(timeW, 28), min(whoW, 20)
	stacked := t.Width < timeW+whoW+40 // too narrow for columns
	skipFrom, skipTo := len(events), len(events)
	if len(events) > termEvents && !t.Verbose {
		skipFrom, skipTo = termEvents*3/4, len(events)-termEvents/4
	}
	for i, e := range events {
		if i >= skipFrom && i < skipTo {
			if i == skipFrom {
				t.line(t.paint(dim, fmt.Sprintf("  … %d events left out …", skipTo-skipFrom)))
			}
			continue
		}
		when := clip(strings.TrimSpace(e.Time+" "+e.Uncertain), timeW)
		text := e.Event + e.Own
		if src := firstQuote(e.Proofs); src != "" {
			text += "  [" + src + "]"
		}
		if stacked {
			t.line("  " + t.paint(dim, strings.TrimSpace(when+"  "+clip(e.Who, t.Width-timeW-4))))
			t.wrapped("      ", "", text)
			continue
		}
		t.wrapped("  "+pad(when, timeW)+"  "+pad(clip(e.Who, whoW), whoW)+"  ", "", text)
	}
}

func firstQuote(ps []proof) string {
	for _, p := range ps {
		if p.Quote {
			return p.Where
		}
	}
	return ""
}

func (t *term) groups(groups []groupView) {
	if len(groups) == 0 {
		return
	}
	t.heading("Process groups")
	for i, g := range groups {
		if i == termGroups && !t.Verbose {
			t.line(t.paint(dim, fmt.Sprintf("  … and %s; the JSON report has them all", count(len(groups)-i, "more group"))))
			break
		}
		if i > 0 {
			t.line("")
		}
		t.wrapped("  ", bold, g.Title)
		if g.Stuck != "" {
			t.wrapped("  ", "", capital(g.Stuck)+".")
		}
		table := [][]string{{"count", "state", "enqueued", "completed", "ranks"}}
		for _, r := range g.Rows {
			ranks := r.Ranks
			if r.Nodes != "" {
				ranks += " on " + r.Nodes
			}
			table = append(table, []string{grouped(int64(r.N)), r.Role, r.Enqueued, r.Completed, ranks})
		}
		t.table(table)
	}
}

// table aligns columns; the last one is wrapped into what is left.
func (t *term) table(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for c, s := range r {
			widths[c] = max(widths[c], textWidth(s))
		}
	}
	for i, r := range rows {
		first := "  "
		for c, s := range r[:len(r)-1] {
			if c == 0 {
				first += strings.Repeat(" ", widths[c]-textWidth(s)) + s + "  "
				continue
			}
			first += pad(s, widths[c]) + "  "
		}
		if i == 0 {
			t.line(t.paint(dim, first+r[len(r)-1]))
			continue
		}
		if t.Width-textWidth(first) < 16 { // the ranks go below
			t.line(first)
			first = "      "
		}
		t.wrapped(first, "", r[len(r)-1])
	}
}

// unclassifiedText introduces the lines whose wording nobody has taught us.
func unclassifiedText(n int) string {
	if n == 1 {
		return "1 line looks like an error but matches no known signature"
	}
	return count(n, "line") + " look like errors but match no known signature"
}

func (t *term) unclassified(c incident.Coverage) {
	if c.Unclassified == 0 {
		return
	}
	end := ":"
	if len(c.UnclassifiedTop) == 0 {
		end = "."
	}
	t.wrapped("  ", "", unclassifiedText(c.Unclassified)+end)
	for i, u := range c.UnclassifiedTop {
		if i == termQuotes*2 && !t.Verbose {
			break
		}
		where := ""
		if u.First != nil {
			where = "  [" + proofOf(*u.First).Where + "]"
		}
		t.line(fmt.Sprintf("  %6s × ", grouped(int64(u.Count))) + t.paint(dim, excerpt(flat(u.Text), max(20, t.Width-11-textWidth(where)))+clip(where, t.Width-31)))
	}
}

func (t *term) guesses(v *view) {
	if len(v.Guesses) == 0 && len(v.Report.Verdict.Suspects) == 0 {
		return
	}
	t.heading("Considered")
	for _, h := range v.Guesses {
		t.wrapped("  "+pad(h.Status, 8)+" ", bold, h.Title)
		for _, f := range h.For {
			t.wrapped("           + ", "", withSource(f))
		}
		for _, f := range h.Against {
			t.wrapped("           − ", "", withSource(f))
		}
		for _, d := range h.WouldDecide {
			t.wrapped("           ? ", "", "would settle it: "+d)
		}
	}
	for _, s := range v.Report.Verdict.Suspects {
		t.wrapped("  suspect  ", "", mechanismTitle(s.Mechanism)+" (unproven): "+s.Why)
	}
}

func withSource(f linkView) string {
	if src := firstQuote(f.Proofs); src != "" {
		return f.Statement + " [" + src + "]"
	}
	return f.Statement
}

func (t *term) advice(as []adviceView) {
	if len(as) == 0 {
		return
	}
	t.heading("What to do")
	when := ""
	for _, a := range as {
		if a.When != when {
			when = a.When
			t.line("  " + t.paint(bold, when))
		}
		t.wrapped("  • ", "", a.Text)
		t.command(a.Command)
	}
}

// rankMap draws one character a rank, or one a node beyond 64 nodes.
func (t *term) rankMap(m rankMap) {
	if m.Ranks == 0 {
		return
	}
	what := "Rank map, one character per rank"
	if len(m.Rows) > termMapNodes {
		perRow := 64
		if t.Width < 96 {
			perRow = 32
		}
		m = m.perNode(2048, perRow)
		what = "Rank map, one character per node"
		if m.Block > 1 {
			what = fmt.Sprintf("Rank map, one character per %d nodes", m.Block)
		}
		what += ", worst rank shown"
	}
	t.heading(what)
	label := 4
	for _, r := range m.Rows {
		label = max(label, textWidth(r.Node))
	}
	label = min(label, 20)
	tile := label + 2 + min(m.Wide, t.Width-label-6)
	columns := max(1, (t.Width-2+4)/(tile+4))
	rows := (len(m.Rows) + columns - 1) / columns
	for y := range rows {
		line := "  "
		for x := range columns {
			i := x*rows + y // down first: neighbours in number stand below one another
			if i >= len(m.Rows) {
				break
			}
			r := m.Rows[i]
			line += pad(clip(r.Node, label), label) + "  "
			for n, c := range r.Cells {
				if n == tile-label-2 && n < len(r.Cells) { // a node of more ranks than columns
					line += "…"
					break
				}
				line += t.paint(looks[c.Look].ANSI, looks[c.Look].Letter)
			}
			line += strings.Repeat(" ", max(0, m.Wide-len(r.Cells))) + "    "
		}
		t.line(line)
	}
	legend := ""
	for i, n := range m.Counts {
		if n == 0 {
			continue
		}
		item := looks[i].Letter + " " + looks[i].Words + " (" + grouped(int64(n)) + ")"
		if legend != "" && textWidth(legend)+textWidth(item)+5 > t.Width {
			t.line(t.paint(dim, "  "+legend))
			legend = ""
		}
		if legend != "" {
			legend += "   "
		}
		legend += item
	}
	t.line(t.paint(dim, "  "+legend))
}
