package messages

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
)

// The first screen decides; it never grows beyond this, whatever the report holds.
const (
	firstScreenLines = 12
	firstScreenWidth = 100
	labelWidth       = 15
	calmLines        = 7 // of a job that did not fail
)

// The labels of the first screen: nouns that a reader expects. Clues are numbered.
const (
	labelWhat       = "What happened"
	labelCandidates = "Candidates"
	labelClue       = "Clue"
	labelWhere      = "Where"
	labelConfidence = "Confidence"
	labelSeverity   = "Severity"
	labelTraining   = "Training"
	labelEvidence   = "Evidence"
	labelStuck      = "Stuck in"
	labelBefore     = "Seen before"
	labelReason     = "Likely reason"
	labelStorage    = "Storage"
	labelNext       = "Next step"
	labelOwner      = "Owner"
	labelConfirm    = "To confirm"
	labelSave       = "Save now"
	labelMissing    = "Missing"
	labelCommand    = "Command"
)

// part is one answer of the first screen. Proof is the end of its text that says where to see it.
type part struct{ Label, Text, Proof string }

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
			ps = append(ps, part{Label: label, Text: text})
		}
	}
	if besideOnly(r) {
		add(labelWhat, "The job's own logs would show how it ended.")
	} else if !unforeseen(r) && saysMore(r.Verdict.Summary, v.Headline) {
		add(labelWhat, sentence(r.Verdict.Summary)+proofText(r))
		ps[len(ps)-1].Proof = proofText(r)
	}
	if r.Verdict.Status == incident.NoFailure {
		add(labelConfidence, sureText(r.Verdict))
		add(labelSeverity, severityText(r))
		do := "Nothing to do."
		if r.Action.Text != "" {
			do = sentence(r.Action.Text)
		}
		add(labelNext, do)
		add(labelMissing, gapsText(r))
		return ps
	}
	if text := candidatesText(r.Verdict); !saidIn(v.Headline, r.Verdict) {
		add(labelCandidates, text)
	}
	reasons := mostReasons
	if len(r.Verdict.Candidates) > 1 {
		reasons = 1
	}
	for i, s := range r.Standouts {
		add(fmt.Sprintf("%s %d", labelClue, i+1), clue(s, v.Headline, reasons))
	}
	add(labelWhere, unplaced(r.Verdict))
	add(labelConfidence, sureText(r.Verdict))
	add(labelSeverity, severityText(r))
	add(labelTraining, capital(finishedText(r)))
	add(labelEvidence, besideText(r))
	add(labelStuck, waitsIn(r))
	add(labelBefore, beforeText(r.History))
	add(labelReason, likelyReason(r.Verdict))
	add(labelStorage, storageRow(r))
	add(labelNext, nextStep(r))
	add(labelOwner, ownerRow(r))
	add(confirms(r))
	add(labelMissing, gapsText(r))
	return fitWords(ps, screenWords-len(strings.Fields(v.Headline)))
}

// screenWords is how much of the first screen is read in ten seconds.
const screenWords = 119

// shorter are the parts that end after their first sentence where the screen is too long, the readiest first.
var shorter = []string{labelClue + " 3", labelClue + " 2", labelReason, labelConfirm, labelStuck, labelEvidence, labelMissing, labelConfidence, labelStorage, labelBefore}

// fitWords takes parts from the screen until it has at most so many words: first the ends of parts, then whole ones.
func fitWords(ps []part, most int) []part {
	size := func() (n int) {
		for _, p := range ps {
			n += len(strings.Fields(p.Label)) + len(strings.Fields(p.Text))
		}
		return n
	}
	for _, label := range shorter {
		if i := slices.IndexFunc(ps, func(p part) bool { return p.Label == label }); i >= 0 && size() > most {
			if end := strings.Index(ps[i].Text, ". "); end > 0 {
				ps[i].Text = ps[i].Text[:end+1]
			}
		}
	}
	for _, label := range shorter[:5] {
		if size() > most {
			ps = slices.DeleteFunc(ps, func(p part) bool { return p.Label == label })
		}
	}
	return ps
}

// candidatesText names the causes that the evidence leaves standing, the likeliest first. Numbers stand beside them only where they differ:
// equal shares say nothing.
func candidatesText(v incident.Verdict) string {
	if len(v.Candidates) < 2 {
		return ""
	}
	level := true
	for _, c := range v.Candidates {
		level = level && c.Confidence == v.Candidates[0].Confidence
	}
	var names []string
	for _, c := range v.Candidates {
		name := mechanismTitle(c.Mechanism)
		if !level {
			name += fmt.Sprintf(" (%.2f)", float64(c.Confidence))
		}
		names = append(names, name)
	}
	return capital(strings.Join(names, " · ")) + "."
}

// saidIn tells whether the headline names the causes that are left.
func saidIn(headline string, v incident.Verdict) bool {
	for _, c := range v.Candidates {
		if !strings.Contains(headline, mechanismTitle(c.Mechanism)) {
			return false
		}
	}
	return true
}

// likelyReason is the first suspect of a decided verdict.
func likelyReason(v incident.Verdict) string {
	if len(v.Candidates) > 1 || len(v.Suspects) == 0 {
		return ""
	}
	t := "Unproven: " + mechanismTitle(v.Suspects[0].Mechanism)
	if why := v.Suspects[0].Why; why != "" {
		t += " (" + strings.TrimRight(flat(why), ".") + ")"
	}
	return sentence(t)
}

// besideText is the first thing that the evidence beside the logs says, where nothing at all is decided.
func besideText(r *incident.Report) string {
	if v := r.Verdict; v.Status != incident.Inconclusive || v.Mechanism != "" && v.Mechanism != "unknown" {
		return ""
	}
	text, more := "", 0
	for _, a := range r.Artifacts {
		if a.Inline {
			continue
		}
		for _, f := range a.Findings {
			switch {
			case len(f.Evidence) == 0:
			case text == "":
				text = capital(flat(a.Title)) + ": " + sentence(lowered(f.Statement))
				if p := proofOf(f.Evidence[0]); p.Quote {
					text += " See " + p.Where + "."
				}
			default:
				more++
			}
		}
	}
	if more > 0 {
		text += " And " + count(more, "more finding") + "."
	}
	return text
}

// storageRow says what the logs of the storage's daemons come to, where the verdict does not say it.
func storageRow(r *incident.Report) string {
	s := r.Storage
	switch {
	case s.Why == "":
		return ""
	case s.Judgement == "implicated":
		if s.Side == nil {
			return ""
		}
		t := capital(flat(*s.Side)) + " side"
		if len(s.Targets) > 0 {
			t += ": " + nodeList(s.Targets)
		}
		return sentence(t)
	case s.Judgement == "cleared":
		return "Cleared: look elsewhere. " + sentence(strings.TrimSuffix(s.Why, ": look elsewhere"))
	case r.Verdict.Status == incident.Confirmed:
		return "" // it would change nothing
	}
	return "Can't tell. " + sentence(s.Why)
}

// waitsIn names the synchronisation point at which the first stuck group waits, the likeliest only.
func waitsIn(r *incident.Report) string {
	for _, g := range r.Groups {
		if g.Stuck == nil || g.Stuck.Sync == nil || len(g.Stuck.Sync.Points) == 0 {
			continue
		}
		what := flat(g.Stuck.Op)
		if g.Stuck.Size != nil && *g.Stuck.Size == 1 {
			what = "one-element " + what
		}
		if other(r.Verdict.Summary, g.Stuck) {
			what += " as well" // one more group waits
		}
		t := what + ", consistent with " + flat(g.Stuck.Sync.Points[0])
		if g.Stuck.Sync.Basis == "stack" {
			t = what + " of " + flat(g.Stuck.Sync.Points[0]) + ", by its stack"
		} else if more := len(g.Stuck.Sync.Points) - 1; more > 0 {
			t += fmt.Sprintf(" (or %s)", count(more, "other point"))
		}
		return capital(t) + "."
	}
	return ""
}

var collective = regexp.MustCompile(`\S+ #\d+\b`)

// other tells whether a summary names a collective that is not this one.
func other(summary string, s *incident.Stuck) bool {
	named := collective.FindString(summary)
	return named != "" && named != fmt.Sprintf("%s #%d", s.Op, s.Seq)
}

// sureText is the confidence in one of three words, the number behind it, and why.
func sureText(v incident.Verdict) string {
	t := fmt.Sprintf("%s (%.2f).", capital(confidenceWord(v.Status)), float64(v.Confidence))
	switch named := len(v.Candidates) > 1; {
	case v.Status != incident.Inconclusive:
	case named && slices.ContainsFunc(v.Candidates, func(c incident.Candidate) bool { return c.Mechanism == "unknown" }):
		t = fmt.Sprintf("Can't tell (%.2f that it is one of those named).", float64(v.Confidence))
	case named:
		t = fmt.Sprintf("Can't tell (%.2f that it is one of these).", float64(v.Confidence))
	case v.Confidence == 0:
		t = "Can't tell."
	}
	if v.Why != "" {
		t += " " + sentence(v.Why)
	}
	return t
}

// unplaced says why the headline names no rank and no node.
func unplaced(v incident.Verdict) string {
	switch {
	case where(v.Root) != "" && len(v.Candidates) > 1:
		return sentence(where(v.Root))
	case where(v.Root) != "":
		return ""
	case len(v.Root.Frontier) == 1:
		return capital(rankText(v.Root.Frontier)) + " is possible, but not proven."
	case len(v.Root.Frontier) > 0:
		return "One of " + rankText(v.Root.Frontier) + "; can't tell which."
	case v.Root.Named != "":
		return capital(flat(v.Root.Named)) + ", as other processes report; not proven."
	case len(v.Candidates) > 1:
		return "" // the confidence says it
	case v.Scope == "all" && v.Status != incident.Inconclusive:
		return "The whole job, not one rank or node."
	}
	return "No rank or node is proven."
}

// saysMore tells whether a summary holds anything that the headline does not.
func saysMore(summary, headline string) bool {
	s := strings.ToLower(strings.Trim(flat(summary), "."))
	return s != "" && !strings.Contains(strings.ToLower(headline), s)
}

// nextStep is one thing that can be done now, and whether to resubmit.
func nextStep(r *incident.Report) string {
	step := firstStep(r)
	decision := resubmitStep(r)
	if r.Verdict.Status != incident.Inconclusive && strings.Contains(strings.ToLower(step), "resubmit") {
		exact := len(r.Action.ExcludeNodes) > 0 || r.Action.ResumeFrom != nil
		switch first, _, _ := strings.Cut(step, " "); {
		case !exact || r.Action.Resubmit == "no":
			return step // the step is the decision
		case first == "Resubmit":
			return decision // the decision is the step, with its names
		}
	}
	return strings.TrimSpace(step + " " + decision)
}

// firstStep is what to do first: what would decide, where the cause is open; the advice of the cause, where it is known.
func firstStep(r *incident.Report) string {
	need, open := nextNeed(r)
	switch first := firstAdvice(r); {
	case first != "":
		return first
	case open:
		return needText(r, need)
	case r.Verdict.Status == incident.Inconclusive:
		return nothingNow(r)
	case r.Action.Text != "":
		return sentence(r.Action.Text)
	}
	return ""
}

// nothingNow says that nothing can be had any more, and what the next run should leave.
func nothingNow(r *incident.Report) string {
	for _, n := range r.Verdict.Needs {
		if n.Obtainable == "next-time" {
			return "Nothing to do now. For the next run, keep " + lowered(strings.TrimRight(flat(n.What), ".")) + "."
		}
	}
	return "Nothing to do now."
}

// resubmitStep is the decision as a sentence: whether, without which nodes, from which step.
func resubmitStep(r *incident.Report) string {
	a := r.Action
	t := resubmitText(a.Resubmit)
	if len(a.ExcludeNodes) > 0 {
		t += " without " + nodeList(a.ExcludeNodes)
	}
	open := a.Resubmit == "unknown"
	if open && r.Verdict.Status == incident.Inconclusive && len(r.Verdict.Candidates) > 1 {
		t += ": it may fail again"
	}
	if a.ResumeFrom != nil && a.Resubmit != "no" {
		from := ", from "
		switch {
		case open:
			from = ". If you must, resume from "
		case a.Resubmit == "yes" && len(a.ExcludeNodes) == 0:
			from = " from "
		}
		t += from + stepText(a.ResumeFrom)
	}
	if len(a.ExcludeNodes) == 0 && excludes(r) {
		t += "; no node to exclude"
	}
	return t + "."
}

// excludes tells whether somebody would expect a node to be left out: one is at the root, and the job is to be submitted again.
func excludes(r *incident.Report) bool {
	again := r.Action.Resubmit == "yes" || r.Action.Resubmit == "after-fix"
	return again && r.Action.Owner != "cluster" && len(r.Verdict.Root.Nodes) > 0
}

// ownerRow says who acts.
func ownerRow(r *incident.Report) string {
	if _, known := owners[r.Action.Owner]; !known && r.Verdict.Status == incident.Inconclusive {
		return "" // nobody else than who asks
	}
	return capital(ownerText(r.Action.Owner)) + "."
}

// proofText is where to see what broke with one's own eyes.
func proofText(r *incident.Report) string {
	if r.Verdict.Status == incident.NoFailure || len(r.Standouts) > 0 || len(r.KeyFiles) == 0 || r.KeyFiles[0].Line == 0 {
		return ""
	}
	return " See " + fileLine(r.KeyFiles[0]) + "."
}

// nextNeed is the first thing to get where nothing is decided, unless it can only be had next time.
func nextNeed(r *incident.Report) (incident.Need, bool) {
	if r.Verdict.Status == incident.Inconclusive {
		for _, n := range r.Verdict.Needs {
			if n.Obtainable != "next-time" {
				return n, true
			}
		}
	}
	return incident.Need{}, false
}

// needText asks for what would decide, by name where the report knows it.
func needText(r *incident.Report, n incident.Need) string {
	if n.Artefact == knowledge.Bundle {
		return "Do not cancel the job yet: first get " + lowered(flat(n.What)) + "."
	}
	t := "Get " + needName(r, n)
	if c := flat(n.Command); strings.HasPrefix(c, "bot ") {
		t += ": " + strings.TrimRight(c, " …")
	}
	if n.Obtainable == "perishing" {
		t += " soon"
	}
	return t + "."
}

// needName is what a need asks for: of logs that lack, the files or the ranks.
func needName(r *incident.Report, n incident.Need) string {
	c := r.Coverage
	what := lowered(strings.TrimRight(flat(n.What), "."))
	if what != knowledge.UnseenRanks {
		return what
	}
	switch files := c.FilesMissing; {
	case len(files) > 0 && len(c.RanksMissing) > 0:
		return nodeList(baseNames(files)) + " (" + rankText(c.RanksMissing) + ")"
	case len(files) > 0:
		return nodeList(baseNames(files))
	case len(c.RanksMissing) > 0:
		return "the log of " + rankText(c.RanksMissing)
	case len(c.NodesMissing) > 0:
		return "the log of " + nodeList(c.NodesMissing)
	}
	return what
}

func baseNames(files []string) []string {
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = path.Base(flat(f))
	}
	return out
}

// firstAdvice is the first thing to do where the cause is decided. Where it is not, the next step is what would decide;
// where a machine is at fault and no line says which, it has to be found first, unless the decision itself is that first thing.
func firstAdvice(r *incident.Report) string {
	v := r.Verdict
	if v.Status == incident.Inconclusive {
		return ""
	}
	i := slices.IndexFunc(r.Recommendations, func(a incident.Recommendation) bool { return a.When == "now" })
	if i < 0 {
		return ""
	}
	first := sentence(r.Recommendations[i].Text)
	if r.Action.Owner == "cluster" && len(v.Root.Nodes) == 0 && first != sentence(r.Action.Text) {
		return ""
	}
	return first
}

// confirms is what would settle what is open, beside what the next step tells to get.
func confirms(r *incident.Report) (label, text string) {
	next, open := nextNeed(r)
	var left []incident.Need
	for _, n := range r.Verdict.Needs {
		if !open || n != next {
			left = append(left, n)
		}
	}
	if !open && r.Verdict.Status == incident.Inconclusive && len(left) > 0 {
		left = left[1:] // the next step names it
	}
	return needsPart(r.Verdict.Status, left)
}

// needsPart names what would settle what is open, the obtainable first. Once the cause is confirmed nothing is open: then
// only what will soon be gone is named.
func needsPart(status string, needs []incident.Need) (label, text string) {
	label = labelConfirm
	if status == incident.Confirmed {
		label = labelSave
	}
	var now, later []string
	for _, n := range needs {
		what := strings.TrimRight(flat(n.What), ".")
		switch {
		case status == incident.Confirmed:
			if n.Obtainable == "perishing" {
				now = append(now, what)
			}
		case n.Obtainable == "perishing":
			now = append(now, what+" (soon gone)")
		case n.Obtainable == "next-time":
			later = append(later, what)
		default:
			now = append(now, what)
		}
	}
	const most = 2
	if over := len(now) + len(later) - most; over > 0 {
		later = later[:max(0, len(later)-over)]
		now = now[:min(len(now), most)]
	}
	if len(now) > 0 {
		text = sentence(strings.Join(now, ", "))
	}
	if len(later) > 0 {
		text = strings.TrimSpace(text + " Next run: " + strings.Join(later, ", ") + ".")
	}
	return label, text
}

// gapsText says what was not seen; where nothing is missing it says from what that is known.
// gapsSaid bounds what the row says of what was not found or looked at; the warnings say all.
const gapsSaid = 2

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
		gaps = append(gaps, fmt.Sprintf("rank numbers: lines do not show them (%s expected)", count(*c.RanksExpected, "rank")))
	case c.RanksExpected != nil && c.RanksSeen < *c.RanksExpected:
		gaps = append(gaps, fmt.Sprintf("no line of %s of %s", grouped(int64(*c.RanksExpected-c.RanksSeen)), count(*c.RanksExpected, "rank")))
	}
	if len(c.FilesMissing) > 0 {
		gaps = append(gaps, count(len(c.FilesMissing), "file")+" of a series")
	}
	empty, unread := 0, 0
	for _, f := range c.Truncated {
		switch f.How {
		case "empty":
			empty++
		case "unreadable":
			unread++
		}
	}
	if unread > 0 {
		gaps = append(gaps, count(unread, "unreadable file"))
	}
	if empty > 0 {
		gaps = append(gaps, count(empty, "empty file"))
	}
	if n := len(c.Truncated) - empty - unread; n > 0 {
		gaps = append(gaps, count(n, "file")+" cut short")
	}
	if r.Storage.Status == "not-provided" {
		gaps = append(gaps, storageGap(r))
	}
	if c.NodesExpected == nil && c.RanksExpected == nil {
		gaps = append(gaps, "the world size (--world-size N)")
	}
	for _, g := range c.Gaps[:min(len(c.Gaps), gapsSaid)] {
		gaps = append(gaps, flat(g))
	}
	t := capital(strings.Join(gaps, "; "))
	switch {
	case len(gaps) == 0 && whole:
		t = "Nothing: " + seenText(c)
	case len(gaps) == 0:
		t = "Nothing"
	}
	return t + "."
}

// storageGap: where nothing but the frame of a data loader hints at a store, there may be none.
func storageGap(r *incident.Report) string {
	if r.Verdict.Origin == "storage" || r.Job.DataSource != nil {
		return "storage logs"
	}
	return "storage logs (if data come from a store)"
}

// seenText says that every rank was seen.
func seenText(c incident.Coverage) string {
	t := fmt.Sprintf("%s of %s seen", grouped(int64(c.RanksSeen)), count(*c.RanksExpected, "rank"))
	if len(c.NodesExpected) > 0 {
		t += fmt.Sprintf(" on %s of %s", grouped(int64(len(c.NodesExpected)-len(c.NodesMissing))), count(len(c.NodesExpected), "node"))
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
	wrapped := laid(v.Screen, room, limit-len(head))
	total := len(head)
	for i, n := range linesKept(v.Screen, wrapped, limit-len(head)) {
		if n < len(wrapped[i]) {
			wrapped[i] = shortened(v.Screen[i], wrapped[i], n, room)
		}
		total += len(wrapped[i])
	}
	var screen []screenLine
	for _, h := range head {
		screen = append(screen, screenLine{"", h})
	}
	for i, p := range v.Screen {
		label := p.Label
		for _, t := range wrapped[i] {
			screen = append(screen, screenLine{label, t})
			label = " "
		}
		// A command is there whole or not at all: the report has it in any case.
		if c, ok := firstCommand(v); ok && p.Label == labelNext {
			if w := wrap(c, room); len(w) == 1 && total < limit {
				screen = append(screen, screenLine{labelCommand, w[0]})
			}
		}
	}
	return screen
}

// laid is each part in lines. Where that alone makes room for all that is said, the longest of them leave out where to see it.
func laid(parts []part, room, limit int) [][]string {
	whole, bare, lines := make([][]string, len(parts)), make([][]string, len(parts)), 0
	for i, p := range parts {
		whole[i] = wrap(p.Text, room)
		lines += len(whole[i])
	}
	for i, p := range parts {
		bare[i] = whole[i]
		if w := wrap(strings.TrimSuffix(p.Text, p.Proof), room); lines > limit && len(w) < len(whole[i]) {
			lines -= len(whole[i]) - len(w)
			bare[i] = w
		}
	}
	if lines > limit { // something is cut in any case
		return whole
	}
	return bare
}

// linesKept says how many lines each part keeps, so that all have room together: the readiest gives up line after line, and none its last.
func linesKept(parts []part, wrapped [][]string, room int) []int {
	kept, total := make([]int, len(parts)), 0
	for i := range parts {
		kept[i] = min(len(wrapped[i]), firstScreenLines+1) // no part keeps more, be it of 10,000 lines
		total += kept[i]
	}
	for ; total > room; total-- {
		readiest := 0
		for i, p := range parts {
			if spare(p, kept[i]) > spare(parts[readiest], kept[readiest]) {
				readiest = i
			}
		}
		if kept[readiest] < 2 {
			break
		}
		kept[readiest]--
	}
	return kept
}

// shortened is a part with n lines. Where to see it goes, whole, if what it is has room without it; else it stays, whole, if half a line is
// left for what it is: "See…" helps nobody.
func shortened(p part, lines []string, n, room int) []string {
	if p.Proof != "" && strings.Contains(strings.Join(lines, " "), strings.TrimSpace(p.Proof)) {
		text := strings.TrimSuffix(p.Text, p.Proof)
		if w := wrap(text, room); len(w) <= n {
			return w
		}
		for _, begin := range beginnings(strings.TrimRight(text, "."), room/2, n*(room+1)) {
			if w := wrap(strings.TrimRight(begin, " .,;:(…")+"…"+p.Proof, room); len(w) <= n {
				return w
			}
		}
	}
	return append(slices.Clone(lines[:n-1]), cut(lines[n-1], room))
}

// beginnings are the first words of a text, of least to most columns, the longest first.
func beginnings(text string, least, most int) (out []string) {
	begin, used := "", 0
	for word := range strings.FieldsSeq(text) {
		if begin != "" {
			begin, used = begin+" ", used+1
		}
		begin, used = begin+word, used+textWidth(word)
		if used > most {
			break
		}
		if used >= least {
			out = append(out, begin)
		}
	}
	slices.Reverse(out)
	return out
}

// spare says how readily a part gives up a line: the one with the most is cut, 0 never. The set of what it could be is the
// verdict, what to do now is what the reader came for, and how sure it is comes next: they are the last, within reason.
func spare(p part, lines int) int {
	n := lines - 1
	switch {
	case n == 0:
		return 0
	case p.Label == labelCandidates:
		return 1
	case strings.HasPrefix(p.Label, labelClue):
		return n
	case p.Label == labelNext && n <= 2:
		return 2
	}
	first := map[string]int{labelMissing: 3, labelConfirm: 2, labelReason: 1, labelWhat: -1, labelBefore: -1, labelConfidence: -2}
	return 10*n + first[p.Label]
}
