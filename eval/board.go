package eval

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Tally is how often a metric was met, of the cases it applies to.
type Tally struct {
	Met int `json:"met"`
	Of  int `json:"of"`
}

// Line is one metric over all cases.
type Line struct {
	Metric    Metric `json:"metric"`
	Title     string `json:"title"`
	Fault     bool   `json:"fault"` // count offences: Of − Met
	Simulated Tally  `json:"simulated"`
	Real      Tally  `json:"real"`
}

// Row is one mechanism: how many of its cases were right, and how many had any score that failed.
type Row struct {
	Label     string `json:"label"`
	Simulated Tally  `json:"simulated"`
	Real      Tally  `json:"real"`
	Failing   int    `json:"failing"`
}

// Lines adds up the metrics.
func (b *Scoreboard) Lines() []Line {
	out := make([]Line, len(metrics))
	index := map[Metric]*Line{}
	for i, m := range metrics {
		out[i] = Line{Metric: m.metric, Title: m.title, Fault: m.fault}
		index[m.metric] = &out[i]
	}
	for i := range b.Cases {
		for _, s := range b.Cases[i].Scores {
			pick(b.Cases[i].Simulated, &index[s.Metric].Simulated, &index[s.Metric].Real).count(s.OK)
		}
	}
	return out
}

func pick(simulated bool, sim, corpus *Tally) *Tally {
	if simulated {
		return sim
	}
	return corpus
}

func (t *Tally) count(ok bool) {
	t.Of++
	if ok {
		t.Met++
	}
}

// Rows adds up by mechanism. Real cases without an established answer count only under Failing.
func (b *Scoreboard) Rows() []Row {
	index := map[string]*Row{}
	var labels []string
	for i := range b.Cases {
		c := &b.Cases[i]
		r := index[c.Label]
		if r == nil {
			r = &Row{Label: c.Label}
			index[c.Label] = r
			labels = append(labels, c.Label)
		}
		if c.Right != nil {
			pick(c.Simulated, &r.Simulated, &r.Real).count(*c.Right)
		}
		if len(c.Failed()) > 0 {
			r.Failing++
		}
	}
	slices.Sort(labels)
	out := make([]Row, 0, len(labels))
	for _, l := range labels {
		out = append(out, *index[l])
	}
	return out
}

// Failing lists the cases with a failed score.
func (b *Scoreboard) Failing() []*Case {
	var out []*Case
	for i := range b.Cases {
		if len(b.Cases[i].Failed()) > 0 {
			out = append(out, &b.Cases[i])
		}
	}
	return out
}

// Reason puts what failed into one line.
func (c *Case) Reason() string {
	var parts []string
	for _, s := range c.Failed() {
		parts = append(parts, s.Why)
	}
	return strings.Join(strings.Fields(strings.Join(parts, "; ")), " ")
}

// JSON writes everything but times.
func (b *Scoreboard) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Lines     []Line `json:"lines"`
		Rows      []Row  `json:"mechanisms"`
		Simulated []Bin  `json:"calibration_simulated"`
		Members   []Bin  `json:"calibration_members"`
		Real      []Bin  `json:"calibration_real"`
		Cases     []Case `json:"cases"`
	}{b.Lines(), b.Rows(), b.Calibration(true), b.MemberCalibration(), b.Calibration(false), b.Cases})
}

// show writes a tally as people read it: a share for what should be met, a number of offences for faults.
func (l *Line) show(t Tally) string {
	switch {
	case t.Of == 0:
		return "–"
	case l.Fault:
		return fmt.Sprintf("%d in %d", t.Of-t.Met, t.Of)
	}
	return t.String()
}

func (t Tally) String() string {
	if t.Of == 0 {
		return "–"
	}
	return fmt.Sprintf("%d/%d %s", t.Met, t.Of, percent(t.Met, t.Of))
}

// percent rounds down: 999 of 1,000 must not look like all.
func percent(n, of int) string {
	tenths := n * 1000 / of
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}

// shownFailing is how many failing simulated cases are listed where not all are asked for.
const shownFailing = 20

// listedFailing is how many of them the Markdown lists: a test looks there for each that fails in a sample.
const listedFailing = 200

// Text writes the scoreboard for a terminal; verbose lists all failing cases instead of the first.
func (b *Scoreboard) Text(w io.Writer, verbose bool) error {
	var s strings.Builder
	sim, corpus := b.sizes()
	fmt.Fprintf(&s, "%d simulated cases, %d real ones\n\n%-52s %20s %18s\n", sim, corpus, "", "simulated", "real")
	for _, l := range b.Lines() {
		if l.Simulated.Of+l.Real.Of > 0 {
			fmt.Fprintf(&s, "%-52s %20s %18s\n", l.Title, l.show(l.Simulated), l.show(l.Real))
		}
	}
	fmt.Fprintf(&s, "\n%-52s %20s %18s %8s\n", "right, by mechanism", "simulated", "real", "failing")
	for _, r := range b.Rows() {
		fmt.Fprintf(&s, "%-52s %20s %18s %8d\n", clip(r.Label, 52), r.Simulated, r.Real, r.Failing)
	}
	b.calibrationText(&s)
	failing := b.Failing()
	fmt.Fprintf(&s, "\n%d failing\n", len(failing))
	for i, c := range failing {
		if i == shownFailing && !verbose {
			fmt.Fprintf(&s, "… and %d more\n", len(failing)-i)
			break
		}
		fmt.Fprintf(&s, "%s: %s\n", c.ID, c.Reason())
	}
	s.WriteString(b.times())
	_, err := io.WriteString(w, s.String())
	return err
}

func (b *Scoreboard) times() string {
	var total time.Duration
	var slow *Case
	for i := range b.Cases {
		c := &b.Cases[i]
		if total += c.Wall; slow == nil || c.Wall > slow.Wall {
			slow = c
		}
	}
	if slow == nil {
		return ""
	}
	return fmt.Sprintf("\n%s in the engine over all cases, longest %s (%s)\n", total.Round(time.Millisecond), slow.Wall.Round(time.Millisecond), slow.ID)
}

func (b *Scoreboard) sizes() (sim, corpus int) {
	for i := range b.Cases {
		if b.Cases[i].Simulated {
			sim++
		} else {
			corpus++
		}
	}
	return sim, corpus
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// Markdown writes the scoreboard for the documentation: no times, the same bytes at each run.
func (b *Scoreboard) Markdown(w io.Writer) error {
	var s strings.Builder
	sim, corpus := b.sizes()
	fmt.Fprintf(&s, "# Scoreboard\n\nGenerated by `bot eval`; do not edit. %d simulated cases, %d real ones.\n", sim, corpus)
	s.WriteString("The truth of a simulated case is what its bytes determine; of a real one what its source established.\n" +
		"Shares are rounded down; of faults the table counts offences.\n\n")
	b.tablesMarkdown(&s, "##")
	b.calibrationMarkdown(&s)
	s.WriteString("\n## Cases with a failed score\n")
	for _, simulated := range []bool{false, true} {
		b.markdownFailing(&s, simulated)
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// StorageMarkdown writes a board of cases with the logs of storage daemons as a section behind Markdown's.
func (b *Scoreboard) StorageMarkdown(w io.Writer) error {
	var s strings.Builder
	sim, _ := b.sizes()
	fmt.Fprintf(&s, "\n## With the logs of the storage's daemons\n\n%d simulated cases: faults of an AIStore cluster of four releases that reach a job, and jobs that fail for\n"+
		"reasons of their own beside a storage that is well, or ill and not to blame.\n\n", sim)
	b.tablesMarkdown(&s, "###")
	b.markdownFailing(&s, true)
	_, err := io.WriteString(w, s.String())
	return err
}

// tablesMarkdown writes the metrics, and the mechanisms below a heading.
func (b *Scoreboard) tablesMarkdown(s *strings.Builder, heading string) {
	s.WriteString("| | simulated | real |\n|---|---:|---:|\n")
	for _, l := range b.Lines() {
		if l.Simulated.Of+l.Real.Of > 0 {
			fmt.Fprintf(s, "| %s | %s | %s |\n", l.Title, l.show(l.Simulated), l.show(l.Real))
		}
	}
	s.WriteString("\n" + heading + " By mechanism\n\n| filed under | right, simulated | right, real | cases with any failed score |\n|---|---:|---:|---:|\n")
	for _, r := range b.Rows() {
		fmt.Fprintf(s, "| %s | %s | %s | %d |\n", cell(r.Label), r.Simulated, r.Real, r.Failing)
	}
}

func (b *Scoreboard) markdownFailing(s *strings.Builder, simulated bool) {
	title, limit := "Real", len(b.Cases)
	if simulated {
		title, limit = "Simulated", listedFailing
	}
	fmt.Fprintf(s, "\n### %s\n\n", title)
	n := 0
	for _, c := range b.Failing() {
		if c.Simulated != simulated {
			continue
		}
		if n++; n <= limit {
			fmt.Fprintf(s, "* `%s`: %s\n", c.ID, cell(c.Reason()))
		}
	}
	switch {
	case n == 0:
		s.WriteString("None.\n")
	case n > limit:
		fmt.Fprintf(s, "* … and %d more\n", n-limit)
	}
}

// cell keeps text that may come from a log from breaking the table or becoming markup.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "'", "\n", " ").Replace(clip(s, 400))
}
