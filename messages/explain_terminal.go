package messages

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"faultline/knowledge/explain"
)

// ExplainTerminal writes an answer for a terminal: the best entry in full, the others in two lines each; all in full if
// style is verbose.
func ExplainTerminal(w io.Writer, a explain.Answer, style Style) error {
	t := newTerm(w, style)
	told := map[string]bool{}
	if a.Open {
		t.wrapped("", yellow, OpenText(a))
	}
	for i, e := range a.Entries {
		if (i > 0 || a.Open) && !t.Verbose {
			break
		}
		if i > 0 {
			t.line(t.paint(dim, strings.Repeat("─", t.Width)))
		}
		t.entry(explainedOf(e).once(told))
	}
	if a.Open && !t.Verbose {
		for _, e := range a.Entries {
			t.brief(explainedOf(e))
		}
	} else if rest := a.Entries; len(rest) > 1 && !t.Verbose {
		t.heading(fmt.Sprintf("Also in it (%d)", len(rest)-1))
		for _, e := range rest[1:] {
			t.brief(explainedOf(e))
		}
	}
	if a.More > 0 {
		t.line(t.paint(dim, fmt.Sprintf("  … and %s", count(a.More, "more entry"))))
	}
	if len(a.Entries) == 0 {
		t.line(t.paint(yellow, unknownText))
		if s := Sounds(a); s != "" {
			t.wrapped("", "", s)
		}
		if len(a.Nearest) > 0 {
			t.line(nearText)
			for _, e := range a.Nearest {
				t.brief(explainedOf(e))
			}
		}
	}
	if a.Cut {
		t.wrapped("", yellow, fmt.Sprintf("Only the first %s of the text were read.", bytesText(explain.MaxText)))
	}
	if len(a.Entries) == 0 || a.Entries[0].Role != "" {
		t.line("")
		t.wrapped("", dim, limitText)
	}
	return t.flush("the explanation")
}

func newTerm(w io.Writer, style Style) *term {
	style.Width = min(max(cmp.Or(style.Width, defaultWidth), minWidth), maxWidth)
	return &term{w: bufio.NewWriter(w), Style: style}
}

func (t *term) flush(what string) error {
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// entry writes one in full.
func (t *term) entry(x explained) {
	tone := map[string]string{"cause": red, "noise": green}[x.Role]
	t.line(t.paint(cmp.Or(tone, bold), capital(x.Title)) + t.paint(dim, "  ["+x.ID+"]"))
	row := func(label, text string) {
		if text != "" {
			t.labelled(label, text)
		}
	}
	row("Means", x.more())
	row("Role", x.RoleText)
	row("Found in", x.where())
	if at := x.where(); at != "" {
		t.wrapped("          │ ", dim, x.Where.Text)
	}
	row("Details", x.says())
	row("Default", x.Default)
	row("Caution", x.Trap)
	row("Cost", x.Cost)
	row("Mostly", x.Cause)
	row("NVIDIA", x.Action)
	m := x.Mechanism
	if m != nil {
		if x.Kind != string(explain.Mechanism) {
			row("Mechanism", m.Slug+": "+m.Meaning)
		}
		row("Owner", capital(m.whose()))
		for i, l := range m.LookAlikes {
			label := "Unlike"
			if i > 0 {
				label = ""
			}
			t.labelled(label, l.Mechanism+": "+l.Tell)
		}
	}
	t.todos("Check", x.checks())
	if m != nil {
		t.todos("Now", m.Now)
		t.todos("Later", m.Structural)
		t.todos("Next time", m.NextTime)
		if x.Kind == string(explain.Mechanism) {
			for i, f := range m.Fixes {
				label := "Fixes"
				if i > 0 {
					label = ""
				}
				t.labelled(label, f.weighed())
			}
		}
	}
	for i, s := range x.Collect {
		label := "See more"
		if i > 0 {
			label = ""
		}
		t.labelled(label, s.priced())
	}
	row("Source", x.Source)
}

// labelled writes a row of the first screen's form.
func (t *term) labelled(label, text string) {
	for i, l := range wrap(text, t.Width-labelWidth) {
		if i > 0 {
			label = ""
		}
		t.line(t.paint(bold, pad(label, labelWidth)) + l)
	}
}

func (t *term) todos(label string, list []todo) {
	for i, a := range list {
		if i > 0 {
			label = ""
		}
		t.labelled(label, a.Text)
		for l := range strings.Lines(a.Command) {
			t.line(strings.Repeat(" ", labelWidth+2) + t.paint(cyanText, strings.TrimRight(l, "\n")))
		}
	}
}

// brief writes one in a line or two.
func (t *term) brief(x explained) {
	kind := x.Role
	if kind == "" || x.Kind == string(explain.Mechanism) {
		kind = x.Kind
	}
	at := ""
	if x.Where != nil && x.Where.Line > 0 {
		at = fmt.Sprintf(" (line %d)", x.Where.Line)
	}
	t.line("  " + t.paint(bold, pad(clip(kind, 11), 12)) + t.paint(cyanText, clip(x.ID, t.Width-30)) + t.paint(dim, at))
	t.wrapped("              ", "", x.Meaning)
}

// listTitles head the tables of the list.
var listTitles = map[explain.Kind]string{
	explain.Mechanism: "Mechanisms: how jobs fail", explain.Line: "Lines", explain.Exception: "Python exceptions", explain.Exit: "Exit codes and signals",
	explain.Xid: "Xid: NVIDIA driver errors", explain.Errno: "Errno: operating system errors", explain.Scheduler: "SLURM: states and reasons",
	explain.Variable: "Environment variables", explain.Term: "Terms",
}

// ExplainListTerminal writes all that is known, a line or two for each entry.
func ExplainListTerminal(w io.Writer, es []explain.Entry, style Style) error {
	t := newTerm(w, style)
	kind := explain.Kind("")
	for _, e := range es {
		if e.Kind != kind {
			kind = e.Kind
			t.heading(listTitles[kind])
		}
		first := "  " + pad(e.ID, 34) + " "
		if textWidth(e.ID) > 34 {
			t.line("  " + e.ID)
			first = strings.Repeat(" ", 37)
		}
		t.wrapped(first, "", e.Meaning)
	}
	return t.flush("the list")
}
