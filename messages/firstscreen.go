package messages

import (
	"fmt"
	"strings"

	"faultline/incident"
)

// The first screen decides; it never grows beyond this, whatever the report holds.
const (
	firstScreenLines = 12
	firstScreenWidth = 100
	labelWidth       = 10
	calmLines        = 7 // of a job that did not fail
)

const couldBe = "Could be"

// part is one answer of the first screen.
type part struct{ Label, Text string }

// FirstScreen returns at most 12 lines of plain text, none wider than columns (0 means 100, below 60 it is laid out for
// 60): what broke, where, how sure and why, what to do now, and what is missing.
func FirstScreen(r *incident.Report, columns int) []string {
	if columns == 0 {
		columns = firstScreenWidth
	}
	v := newView(r)
	lines := []string{}
	for _, l := range layScreen(v, min(max(columns, minWidth), maxWidth)) {
		if l.label == "" {
			lines = append(lines, l.text)
			continue
		}
		lines = append(lines, strings.TrimRight(pad(strings.TrimSpace(l.label), labelWidth)+l.text, " "))
	}
	return lines
}

func screen(v *view) []part {
	r := v.Report
	var ps []part
	add := func(label, text string) {
		if text != "" {
			ps = append(ps, part{label, text})
		}
	}
	if saysMore(r.Verdict.Summary, v.Headline) {
		add("What", sentence(r.Verdict.Summary))
	}
	if r.Verdict.Status == incident.NoFailure {
		add("How sure", sureText(r.Verdict))
		do := "Nothing to do."
		if r.Action.Text != "" {
			do = sentence(r.Action.Text)
		}
		add("Do now", do)
		add("Missing", gapsText(r))
		return ps
	}
	if len(r.Verdict.Candidates) > 1 {
		var names []string
		for _, c := range r.Verdict.Candidates {
			names = append(names, fmt.Sprintf("%s (%.2f)", mechanismTitle(c.Mechanism), float64(c.Confidence)))
		}
		add(couldBe, strings.Join(names, " · "))
	}
	add("Where", unplaced(r.Verdict))
	add("How sure", sureText(r.Verdict))
	add("Before", beforeText(r.History))
	if len(r.Verdict.Candidates) < 2 && len(r.Verdict.Suspects) > 0 {
		s := r.Verdict.Suspects[0]
		t := "Perhaps " + mechanismTitle(s.Mechanism)
		if s.Why != "" {
			t += ": " + flat(s.Why)
		}
		add("Reason", sentence(t))
	}
	add("Do now", doNow(r))
	add(needsPart(r.Verdict))
	add("Missing", gapsText(r))
	return ps
}

// sureText says how sure the verdict is, of what, and why.
func sureText(v incident.Verdict) string {
	conf := fmt.Sprintf("confidence %.2f", float64(v.Confidence))
	t := statusWord(v.Status) + ", " + conf + "."
	switch {
	case v.Status == incident.NoFailure:
		t = capital(conf) + "."
	case v.Status == incident.Inconclusive && len(v.Candidates) > 1:
		t = fmt.Sprintf("Not decided; confidence %.2f in this set.", float64(v.Confidence))
	case v.Status == incident.Inconclusive && v.Confidence == 0:
		t = "Not decided."
	}
	if v.Why != "" {
		t += " " + sentence(v.Why)
	}
	return t
}

// unplaced says why the headline names no rank and no node.
func unplaced(v incident.Verdict) string {
	switch {
	case where(v.Root) != "":
		return ""
	case len(v.Root.Frontier) == 1:
		return capital(rankText(v.Root.Frontier)) + " comes into question; nothing proves that it is to blame."
	case len(v.Root.Frontier) > 0:
		return "Among " + rankText(v.Root.Frontier) + "; which of them, nothing proves."
	case v.Scope == "all" && v.Status != incident.Inconclusive:
		return "The whole job: no single rank or node broke it."
	}
	return "No rank or node is proven."
}

// saysMore tells whether a summary holds anything that the headline does not.
func saysMore(summary, headline string) bool {
	s := strings.ToLower(strings.Trim(flat(summary), "."))
	return s != "" && !strings.Contains(strings.ToLower(headline), s)
}

// doNow is the decision in one breath: resubmit or not, who acts, and the first thing to do.
func doNow(r *incident.Report) string {
	a := r.Action
	t := "Resubmit: " + resubmitText(a.Resubmit)
	if len(a.ExcludeNodes) > 0 {
		t += ", without " + nodeList(a.ExcludeNodes)
	}
	if a.ResumeFrom != nil && a.Resubmit != "no" {
		if a.Resubmit == "unknown" {
			t += "; if you do,"
		} else {
			t += ","
		}
		t += " from " + stepText(a.ResumeFrom)
	}
	t += ". Who acts: " + ownerText(a.Owner) + "."
	switch first := firstAdvice(r); {
	case first != "":
		t += " " + first
	case a.Text != "" && len(r.Verdict.Candidates) < 2: // of a set, the decision has said as much
		t += " " + sentence(a.Text)
	}
	return t
}

// firstAdvice is the first thing to do where the cause is decided. Where it is not, the next step is what would decide;
// where a machine is at fault and no line says which, it has to be found first.
func firstAdvice(r *incident.Report) string {
	v := r.Verdict
	if v.Status == incident.Inconclusive || r.Action.Owner == "cluster" && len(v.Root.Nodes) == 0 {
		return ""
	}
	for _, a := range r.Recommendations {
		if a.When == "now" {
			return sentence(a.Text)
		}
	}
	return ""
}

// needsPart names what would settle what is open, the obtainable first. Once the cause is confirmed nothing is open: then
// only what will soon be gone is named.
func needsPart(v incident.Verdict) (label, text string) {
	label = "Decides"
	if v.Status == incident.Confirmed {
		label = "Save now"
	}
	var now, later []string
	for _, n := range v.Needs {
		what := strings.TrimRight(flat(n.What), ".")
		switch {
		case v.Status == incident.Confirmed:
			if n.Obtainable == "perishing" {
				now = append(now, what)
			}
		case n.Obtainable == "perishing":
			now = append(now, what+" (fetch it soon)")
		case n.Obtainable == "next-time":
			later = append(later, what)
		default:
			now = append(now, what)
		}
	}
	const most = 3
	if more := len(now) + len(later) - most; more > 0 {
		later = later[:max(0, len(later)-more)]
		now = now[:min(len(now), most)]
		later = append(later, fmt.Sprintf("%d more", more))
	}
	if len(now) > 0 {
		text = sentence(strings.Join(now, "; "))
	}
	if len(later) > 0 {
		then := strings.Join(later, "; ")
		switch {
		case text == "":
			text = "Only next time: " + then + "."
		default:
			text += " Next time: " + then + "."
		}
	}
	return label, text
}

// gapsText says what was not seen; where nothing is missing it says from what that is known.
func gapsText(r *incident.Report) string {
	c := r.Coverage
	whole := len(c.NodesMissing) == 0 && len(c.RanksMissing) == 0 && c.RanksExpected != nil && c.RanksSeen >= *c.RanksExpected
	var gaps []string
	if len(c.NodesMissing) > 0 {
		gaps = append(gaps, fmt.Sprintf("no log of %s (%s)", nodeList(c.NodesMissing), count(len(c.NodesMissing), "node")))
	}
	switch {
	case len(c.RanksMissing) > 0:
		gaps = append(gaps, "no line of "+rankText(c.RanksMissing))
	case c.RanksExpected != nil && c.RanksSeen == 0:
		gaps = append(gaps, fmt.Sprintf("no line says which rank wrote it (%s expected)", count(*c.RanksExpected, "rank")))
	case c.RanksExpected != nil && c.RanksSeen < *c.RanksExpected:
		gaps = append(gaps, fmt.Sprintf("no line of %s of %s", grouped(int64(*c.RanksExpected-c.RanksSeen)), count(*c.RanksExpected, "rank")))
	}
	if len(c.FilesMissing) > 0 {
		gaps = append(gaps, count(len(c.FilesMissing), "file")+" of a series")
	}
	empty := 0
	for _, f := range c.Truncated {
		if f.How == "empty" {
			empty++
		}
	}
	if empty > 0 {
		gaps = append(gaps, count(empty, "empty file"))
	}
	if n := len(c.Truncated) - empty; n > 0 {
		gaps = append(gaps, count(n, "file")+" cut short")
	}
	if r.Storage.Status == "not-provided" {
		gaps = append(gaps, "storage logs (if data come from a store)")
	}
	if c.NodesExpected == nil && c.RanksExpected == nil {
		gaps = append(gaps, "the job's number of ranks, which no line states (give --world-size N)")
	}
	t := capital(strings.Join(gaps, "; "))
	switch {
	case len(gaps) == 0 && whole:
		t = "Nothing: " + seenText(c)
	case len(gaps) == 0:
		t = "Nothing"
	case whole:
		t += ". " + capital(seenText(c))
	}
	return t + "."
}

// seenText says that every rank was seen, and from what it is known how many there are.
func seenText(c incident.Coverage) string {
	t := fmt.Sprintf("%s of %s seen", grouped(int64(c.RanksSeen)), count(*c.RanksExpected, "rank"))
	if len(c.NodesExpected) > 0 {
		t += fmt.Sprintf(" on %s of %s", grouped(int64(len(c.NodesExpected)-len(c.NodesMissing))), count(len(c.NodesExpected), "node"))
	}
	if c.ExpectedFrom != "" {
		t += " (expected from " + flat(c.ExpectedFrom) + ")"
	}
	return t
}

// screenLine is one laid-out line: the headline has no label, the second and later lines of a part a blank one.
type screenLine struct{ label, text string }

// layScreen wraps the first screen to the width and takes lines from the longest parts until 12 are left.
func layScreen(v *view, columns int) []screenLine {
	room := columns - labelWidth
	head := wrap(v.Headline, columns)
	if len(head) > 2 {
		head = []string{head[0], clip(strings.Join(head[1:], " "), columns)}
	}
	limit := firstScreenLines
	if v.Report.Verdict.Status == incident.NoFailure {
		limit = calmLines
		head = []string{clip(v.Headline, columns)}
	}
	wrapped := make([][]string, len(v.Screen))
	total := len(head)
	for i, p := range v.Screen {
		wrapped[i] = wrap(p.Text, room)
		total += len(wrapped[i])
	}
	for ; total > limit; total-- {
		longest := 0
		for i := range wrapped {
			if spare(v.Screen[i], wrapped[i]) > spare(v.Screen[longest], wrapped[longest]) {
				longest = i
			}
		}
		w := wrapped[longest]
		if len(w) < 2 {
			break
		}
		w = w[:len(w)-1]
		w[len(w)-1] = cut(w[len(w)-1], room)
		wrapped[longest] = w
	}
	var lines []screenLine
	for _, h := range head {
		lines = append(lines, screenLine{"", h})
	}
	for i, p := range v.Screen {
		label := p.Label
		for _, t := range wrapped[i] {
			lines = append(lines, screenLine{label, t})
			label = " "
		}
	}
	return lines
}

// spare is how many lines a part can lose. The set of what it could be is the verdict: it is the last to be cut.
func spare(p part, lines []string) int {
	if p.Label == couldBe && len(lines) > 1 {
		return 1
	}
	return 2 * (len(lines) - 1)
}
