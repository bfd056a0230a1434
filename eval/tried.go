package eval

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// Figure is one line of the outcome of a trial.
type Figure struct {
	Title string `json:"title"`
	Tally Tally  `json:"tally"`
	Fault bool   `json:"fault"`
	Goal  string `json:"goal"`
}

// Figures adds up the outcome of one trial. What is right today, and rests on lines that were changed, is what the shares are of.
func Figures(all []Tried) []Figure {
	out := []Figure{
		{Title: "a key line is quoted on the first screen", Goal: "95 %"},
		{Title: "its rank or node is named, where it is today", Goal: "97 %"},
		{Title: "right, or open and a key line quoted"},
		{Title: "right and confident today, and still", Goal: "95 %"},
		{Title: "confident and wrong", Fault: true, Goal: "2 in 2,000"},
		{Title: `"no failure" of a failed job`, Fault: true, Goal: "0"},
	}
	for i := range all {
		t := &all[i]
		if !t.Tried {
			continue
		}
		out[4].Tally.count(!t.Wrong)
		if t.Fails {
			out[5].Tally.count(!t.Unbroken)
		}
		if !t.Today || !t.Fails {
			continue
		}
		out[0].Tally.count(t.Quoted)
		out[2].Tally.count(t.Right())
		if t.Placed != nil {
			out[1].Tally.count(*t.Placed)
		}
		if t.Confident {
			out[3].Tally.count(t.Still)
		}
	}
	return out
}

func (f *Figure) show() string {
	switch {
	case f.Tally.Of == 0:
		return "–"
	case f.Fault:
		return fmt.Sprintf("%d in %d", f.Tally.Of-f.Tally.Met, f.Tally.Of)
	}
	return f.Tally.String()
}

// TriedText writes the outcome of a trial for a terminal; verbose lists the cases that are not right.
func TriedText(w io.Writer, trial Trial, all []Tried, verbose bool) error {
	var s strings.Builder
	fmt.Fprintf(&s, "%s: %d cases, %d tried\n\n", trial, len(all), count(all, func(t *Tried) bool { return t.Tried }))
	for _, f := range Figures(all) {
		fmt.Fprintf(&s, "%-52s %20s  goal %s\n", f.Title, f.show(), cmp.Or(f.Goal, "–"))
	}
	if verbose {
		for i := range all {
			all[i].write(&s)
		}
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// write lists what is wrong with a case.
func (t *Tried) write(s *strings.Builder) {
	var faults []string
	for _, f := range []struct {
		name string
		is   bool
	}{
		{"sure and wrong", t.Wrong}, {"no failure", t.Unbroken}, {"not quoted", t.Tried && t.Today && t.Fails && !t.Quoted},
		{"not placed", t.Placed != nil && !*t.Placed}, {"no longer sure", t.Tried && t.Confident && t.Fails && !t.Still}, {"error: " + t.Error, t.Error != ""},
	} {
		if f.is {
			faults = append(faults, f.name)
		}
	}
	if len(faults) == 0 {
		return
	}
	fmt.Fprintf(s, "\n%s (%s): %s\n  says %s %.2f; left out: %s\n", t.ID, t.Label, strings.Join(faults, ", "), orNothing(t.Mechanism), float64(t.Score), list(t.Out))
	for i, k := range t.Key {
		if i < 2 {
			fmt.Fprintf(s, "  key %q\n", clip(k, 240))
		}
	}
	for _, l := range t.Shown {
		fmt.Fprintf(s, "  | %s\n", l)
	}
}

func count(all []Tried, is func(*Tried) bool) int {
	n := 0
	for i := range all {
		if is(&all[i]) {
			n++
		}
	}
	return n
}

// TriedMarkdown writes trials beside each other as a section of the scoreboard.
func TriedMarkdown(w io.Writer, blind, drift []Tried) error {
	var s strings.Builder
	s.WriteString("\n## As if nobody had foreseen it\n\n" +
		"The same cases, buried in at least 5,000 lines of healthy noise. *Blind*: without every entry, and every reader with a wording of its own, that knows a line\n" +
		"which the verdict cites. *Drift*: with everything known, and the lines that the verdict rests on reworded.\n\n" +
		"| | blind | drift | goal |\n|---|---:|---:|---:|\n")
	a, b := Figures(blind), Figures(drift)
	for i := range a {
		fmt.Fprintf(&s, "| %s | %s | %s | %s |\n", a[i].Title, a[i].show(), b[i].show(), cmp.Or(a[i].Goal, "–"))
	}
	_, err := io.WriteString(w, s.String())
	return err
}
