package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/eval"
	"faultline/simulate"
)

func (v *evaluation) freezeCases(ctx context.Context, e env, dirs []string) (int, error) {
	of := eval.Subjects{Dirs: dirs, Played: "simulated"}
	if v.line > 0 {
		of.Played += "-" + strconv.Itoa(v.line)
	}
	if v.simulated > 0 {
		of.Simulated = simulate.Grid(v.simulated, v.seed, v.line)
	}
	defer newThrift().watch()()
	progress := newCounter(e.err)
	n, err := eval.Freeze(ctx, v.freeze, of, eval.Options{Diagnose: diagnoseCase, Workers: v.workers, Progress: progress.update})
	progress.clear()
	if err != nil {
		return exitUnreadable, err
	}
	fmt.Fprintf(e.out, "%s frozen in %s\n", count(n.Cases, "case"), v.freeze)
	writeDenials(e.out, n)
	return exitOK, nil
}

// compare runs frozen cases and lists what changed.
func (v *evaluation) compare(ctx context.Context, e env) (int, error) {
	defer newThrift().watch()()
	progress := newCounter(e.err)
	seen := changes{cases: map[string]int{}}
	lines := json.NewEncoder(e.out)
	lines.SetEscapeHTML(false)
	c := eval.Comparison{
		Options: eval.Options{Diagnose: diagnoseCase, Workers: v.workers, Progress: progress.update},
		Sample:  v.sample,
		Ignore:  v.ignore,
	}
	n, err := eval.Against(ctx, v.against, c, func(ch eval.Change) error {
		seen.add(ch)
		progress.clear()
		if v.format == "json" {
			return lines.Encode(ch)
		}
		return writeChange(e.out, ch)
	})
	progress.clear()
	if err != nil {
		return exitUnreadable, err
	}
	if v.format != "json" {
		seen.summary(e.out, n.Cases)
		writeDenials(e.out, n)
	}
	if len(seen.cases)+len(n.Denials) > 0 {
		return exitUnreadable, nil
	}
	return exitOK, nil
}

// writeDenials lists the reports that deny themselves.
func writeDenials(w io.Writer, n eval.Count) {
	fmt.Fprintf(w, "%s inside one report\n", count(len(n.Denials), "contradiction"))
	for _, d := range n.Denials {
		fmt.Fprintf(w, "  %s\n", printable(d, maxValue))
	}
}

// maxValue bounds what is shown of a value; --format json shows all of it.
const maxValue = 160

// writeChange writes one line: the case, the field, what it was and is, and the rule that decided it where the report says so.
func writeChange(w io.Writer, ch eval.Change) error {
	rule := ""
	if ch.Rule != "" {
		rule = "  by " + printable(ch.Rule, maxValue)
	}
	_, err := fmt.Fprintf(w, "%s  %s  was %s  now %s%s\n", ch.Case, ch.Path, shownValue(ch.Was), shownValue(ch.Now), rule)
	return err
}

// shownValue is a value on one line.
func shownValue(v json.RawMessage) string {
	if v == nil {
		return "absent"
	}
	return printable(string(v), maxValue)
}

// printable is a text on one line, of so many characters at most. Logs are hostile: what a terminal might obey is escaped.
func printable(s string, most int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > most {
			return b.String() + "…"
		}
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// changes counts the cases in which a field changed.
type changes struct {
	last   string
	cases  map[string]int // by field, indices left out; "" counts cases
	inCase map[string]bool
}

var index = regexp.MustCompile(`\[\d+\]`)

func (c *changes) add(ch eval.Change) {
	if ch.Case != c.last || c.inCase == nil {
		c.last, c.inCase = ch.Case, map[string]bool{"": true}
		c.cases[""]++
	}
	if field := index.ReplaceAllString(ch.Path, "[]"); !c.inCase[field] {
		c.inCase[field] = true
		c.cases[field]++
	}
}

func (c *changes) summary(w io.Writer, n int) {
	changed := c.cases[""]
	fmt.Fprintf(w, "%d of %d cases changed\n", changed, n)
	fields := slices.SortedFunc(maps.Keys(c.cases), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.cases[b], c.cases[a]), strings.Compare(a, b))
	})
	for _, f := range fields {
		if f != "" {
			fmt.Fprintf(w, "%6d  %s\n", c.cases[f], f)
		}
	}
}

// counter says on stderr how many cases are done: in place on a terminal, else a line now and then.
type counter struct {
	out   io.Writer
	tty   bool
	every time.Duration
	said  time.Time
}

func newCounter(out io.Writer) *counter {
	c := &counter{out: out, every: 10 * time.Second, said: time.Now()}
	if c.tty, _ = terminal(out); c.tty {
		c.every = redraw
	}
	return c
}

func (c *counter) update(done, total int) {
	if time.Since(c.said) < c.every {
		return
	}
	c.said = time.Now()
	if c.tty {
		fmt.Fprintf(c.out, "\r\x1b[K%d of %d cases", done, total)
	} else {
		fmt.Fprintf(c.out, "%d of %d cases\n", done, total)
	}
}

func (c *counter) clear() {
	if c.tty {
		fmt.Fprint(c.out, "\r\x1b[K")
	}
}
