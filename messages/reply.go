package messages

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"faultline/incident"
	"faultline/knowledge"
)

// replyProofs is how many quoted lines an answer names.
const replyProofs = 2

var (
	askedRank  = regexp.MustCompile(`(?i)\branks?\s*#?(\d{1,9})\b`)
	askedLast  = regexp.MustCompile(`(?i)\b(last|print(s|ed)?|wrote|write|output|say|said|log(ged)?)\b`)
	askedPlace = regexp.MustCompile(`([A-Za-z0-9._/-]*[A-Za-z0-9_])(?::| line )(\d{1,9})\b`)
	askedTerm  = regexp.MustCompile(`(?i)\bwhat (?:does|do) (?:an? |the )?([\w .#-]{2,40}?) mean\b|\bwhat(?:'s| is| are) (?:an? |the )?([\w .#-]{2,40}?)\s*\??\s*$`)
	askedHost  = regexp.MustCompile(`\b[A-Za-z]+[A-Za-z0-9]*(?:-[A-Za-z0-9]+)*-?\d+\b|\bnode-[a-z0-9-]+`) // a name of the form of a node's
	askedWords = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9._-]*`)
)

// intents are the questions that are told by their words, in the order in which they are tried. Ranks and nodes go before them.
var intents = []struct {
	words  *regexp.Regexp
	answer func(*view) string
}{
	{regexp.MustCompile(`(?i)\b(thanks|thank you|thx|cheers|danke|merci)\b`), func(*view) string { return "You're welcome." }},
	{regexp.MustCompile(`(?i)\bwait(s|ed|ing)?\b`), waitedReply},
	{regexp.MustCompile(`(?i)\b(checkpoints?|resume|saved?)\b`), resumeReply},
	{regexp.MustCompile(`(?i)\b(owns?|owner|responsible)\b|\bwho (has|have|should|must|needs|can)\b`), ownerReply},
	{regexp.MustCompile(`(?i)\b(lost|lose|cost|wasted?|gpu.?hours)\b`), lostReply},
	{regexp.MustCompile(`(?i)\b(storage|ais|aistore|lustre|gpfs|nfs|s3|weka|file ?systems?)\b`), storageReply},
	{regexp.MustCompile(`(?i)\b(next|do now|fix|resubmit|restart|rerun)\b`), func(v *view) string { return nextStep(v.Report) }},
	{regexp.MustCompile(`(?i)\b(when|timeline)\b`), whenReply},
	{regexp.MustCompile(`(?i)\b(missing|complete)\b`), func(v *view) string { return "Missing: " + gapsText(v.Report) }},
	{regexp.MustCompile(`(?i)\b(sure|certain|confident|confidence)\b`), func(v *view) string { return sureText(v.Report) }},
	{regexp.MustCompile(`(?i)\b(why|cause|what happened|who)\b`), func(v *view) string { return brief(v, "") }},
}

// Reply answers a question about a report from the report alone. It is "" where the question is none that the report can answer.
func Reply(r *incident.Report, question string) string {
	v := newView(r)
	if m := askedPlace.FindStringSubmatch(question); m != nil && isFile(m[1]) {
		return placeReply(v, m[1], m[2])
	}
	if m := askedRank.FindStringSubmatch(question); m != nil {
		rank, err := strconv.Atoi(m[1])
		if err != nil {
			return ""
		}
		return rankReply(v, rank, askedLast.MatchString(question))
	}
	for _, word := range askedWords.FindAllString(question, 40) {
		if node := strings.Trim(word, ".-"); isNode(v.Report, node) {
			return nodeReply(v, node)
		}
	}
	if m := askedTerm.FindStringSubmatch(question); m != nil {
		if term, ok := knowledge.TermByName(m[1] + m[2]); ok {
			return term.Name + ": " + sentence(term.Text)
		}
	}
	host := askedHost.FindString(question)
	if host != "" && likeNode(v.Report, host) {
		return noLineOf(host)
	}
	for _, i := range intents {
		if i.words.MatchString(question) {
			return i.answer(v)
		}
	}
	if host != "" {
		return noLineOf(host)
	}
	return ""
}

func noLineOf(host string) string {
	return "Can't tell: this report has nothing about " + clip(flat(safe(host)), 60) + "."
}

func isNode(r *incident.Report, name string) bool {
	return slices.Contains(r.Coverage.NodesSeen, name) || slices.Contains(r.Coverage.NodesExpected, name) || slices.Contains(r.Verdict.Root.Nodes, name)
}

// isFile tells a file's name from a time, a port or a word before "line 40".
func isFile(name string) bool {
	return strings.ContainsAny(name, "./") && !strings.HasPrefix(name, "//")
}

// likeNode tells whether a word is a name of the form that the job's nodes have: cn-a99 beside cn-a45.
func likeNode(r *incident.Report, word string) bool {
	same := func(node string) bool { return nameForm(node) == nameForm(word) }
	return slices.ContainsFunc(slices.Concat(r.Coverage.NodesSeen, r.Coverage.NodesExpected, r.Verdict.Root.Nodes), same)
}

// nameForm is a name without its numbers.
func nameForm(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), unicode.IsDigit), "#")
}

// rankReply says what a rank did, as far as the report quotes it, and whether the verdict blames it.
func rankReply(v *view, rank int, last bool) string {
	r := v.Report
	i := slices.IndexFunc(r.Ranks, func(s incident.RankState) bool { return s.Rank == rank })
	t := fmt.Sprintf("Rank %d", rank)
	switch {
	case slices.Contains(r.Verdict.Root.Ranks, rank):
		t += " is where it failed first"
	case slices.Contains(r.Verdict.Root.Frontier, rank):
		t += " is one of the ranks that may have failed first"
	case i < 0:
		return t + ": can't tell, the report quotes no lines from it."
	default:
		t += " is not blamed"
	}
	if i >= 0 {
		t += ": " + looks[gravity(r.Ranks[i].Role)].Words
		if note := r.Ranks[i].Note; note != "" {
			t += ", " + lowered(flat(note))
		}
		if node := r.Ranks[i].Node; node != "" {
			t += " (" + flat(node) + ")"
		}
	}
	lines := linesOf(v, func(e incident.Event) bool { return e.Rank != nil && *e.Rank == rank })
	if lines == "" && last {
		lines = " Can't tell what it printed last: the report quotes no lines from it."
	}
	return t + "." + lines
}

// nodeReply says what the report has against a node.
func nodeReply(v *view, node string) string {
	r := v.Report
	t := fmt.Sprintf("No evidence in these logs that %s is broken.", node)
	switch {
	case slices.Contains(r.Action.ExcludeNodes, node):
		t = fmt.Sprintf("%s should be excluded: %s.", node, lowered(v.Headline))
	case slices.Contains(r.Coverage.NodesMissing, node):
		t = fmt.Sprintf("Can't tell: no log from %s was read.", node)
	case slices.Contains(r.Verdict.Root.Nodes, node):
		t = fmt.Sprintf("It failed on %s (%s), but nothing shows that the machine itself is broken.", node, lowered(v.Headline))
	}
	return t + linesOf(v, func(e incident.Event) bool { return e.Node == node })
}

// waitedReply names the ranks that waited.
func waitedReply(v *view) string {
	var ranks []int
	for _, s := range v.Report.Ranks {
		if s.Role == incident.Waiter || s.Role == incident.LoneWaiter {
			ranks = append(ranks, s.Rank)
		}
	}
	if len(ranks) == 0 {
		return "These logs show no rank waiting."
	}
	return count(len(ranks), "rank") + " waited: " + rankText(ranks) + "."
}

// resumeReply is the save to resume from.
func resumeReply(v *view) string {
	if from := v.Report.Action.ResumeFrom; from != nil {
		return "Resume from " + stepText(from) + ": that checkpoint was saved completely."
	}
	return "Can't tell: these files show no completed checkpoint."
}

// ownerReply says who acts, and what comes first.
func ownerReply(v *view) string {
	row := ownerRow(v.Report)
	if row == "" {
		return "Can't tell yet who should act: " + lowered(v.Headline) + "."
	}
	return "Owner: " + lowered(row) + " " + firstStep(v.Report)
}

// lostReply is what the failure cost.
func lostReply(v *view) string {
	if lost := lostText(v.Report.Action.Lost); lost != "" {
		return "Lost: " + lost + "."
	}
	return "Can't tell: these files show no completed checkpoint to count from."
}

// storageReply is what is known of the storage's part.
func storageReply(v *view) string {
	switch {
	case v.Report.Verdict.Origin == "storage":
		return "Yes, storage: " + lowered(v.Headline) + " (" + confidenceWord(v.Report.Verdict.Status) + ")."
	case v.Storage != "":
		return v.Storage
	}
	return "Nothing in these logs points to storage. The storage logs were not read."
}

// placeReply shows what the report quotes of a file near a line.
func placeReply(v *view, file, number string) string {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return ""
	}
	best, dist := incident.Evidence{}, int64(-1)
	quoted := func(e incident.Evidence) bool {
		return e.Kind == incident.KindQuote && e.Text != "" && strings.HasSuffix("/"+e.File, "/"+file)
	}
	var look func(evs []incident.Evidence)
	look = func(evs []incident.Evidence) {
		for _, e := range evs {
			d := max(e.Line-n, n-e.Line)
			if nearer := dist < 0 || d < dist; nearer && quoted(e) {
				best, dist = e, d
			}
			look(e.Inputs)
		}
	}
	for _, l := range v.Report.Chain {
		look(l.Evidence)
	}
	for _, e := range v.Report.Timeline {
		look(e.Evidence)
	}
	switch p := proofOf(best); {
	case dist < 0:
		return "Can't tell: the report quotes no lines from " + clip(flat(safe(file)), 80) + "."
	case dist == 0:
		return p.Where + ": " + clip(flat(p.Text), slackQuote)
	default:
		return "The report doesn't quote that line. The nearest one it quotes is " + p.Where + ": " + clip(flat(p.Text), slackQuote)
	}
}

// whenReply is the first event and the last.
func whenReply(v *view) string {
	if len(v.Timeline) == 0 {
		return "Can't tell: the logs have no timestamps."
	}
	first, last := v.Timeline[0], v.Timeline[len(v.Timeline)-1]
	return fmt.Sprintf("First: %s, %s Last: %s, %s", first.Time, sentence(first.Event), last.Time, sentence(last.Event))
}

// linesOf quotes the last lines that the timeline has of somebody, with their places.
func linesOf(v *view, of func(incident.Event) bool) string {
	var out []string
	for i, e := range slices.Backward(v.Report.Timeline) {
		if len(out) == replyProofs {
			break
		}
		if of(e) {
			t := v.Timeline[i].Time + ": " + clip(v.Timeline[i].Event, timelineEvent)
			if where := firstQuote(v.Timeline[i].Proofs); where != "" {
				t += " (" + where + ")"
			}
			out = append([]string{t}, out...)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " Last lines in the report: " + strings.Join(out, " · ") + "."
}
