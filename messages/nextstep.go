package messages

import (
	"path"
	"slices"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
)

// nextStep is one thing that can be done now, and whether to resubmit.
func nextStep(r *incident.Report) string {
	step := firstStep(r)
	decision := resubmitStep(r)
	if r.Verdict.Origin == knowledge.Performance && r.Action.Resubmit == "unknown" && r.Action.ResumeFrom == nil && step != "" {
		return step // it did not fail: that nothing is known to resume from is no news
	}
	if r.Verdict.Status != incident.Inconclusive && strings.Contains(strings.ToLower(step), "resubmit") {
		exact := len(r.Action.ExcludeNodes) > 0 || r.Action.ResumeFrom != nil
		switch first, _, _ := strings.Cut(step, " "); {
		case !exact || r.Action.Resubmit == "no":
			return step // the step is the decision
		case first == "Resubmit":
			return decision // the decision is the step, with its names
		}
	}
	if need, open := nextNeed(r); open && need.Artefact == knowledge.Bundle {
		return step // the job is still there: nobody asks whether to run it again
	}
	return strings.TrimSpace(step + " " + decision)
}

// firstStep is what to do first: what would decide, where the cause is open; the advice of the cause, where it is known.
func firstStep(r *incident.Report) string {
	need, open := nextNeed(r)
	switch first := firstAdvice(r); {
	case allEmpty(r):
		return "Find where the job wrote its output."
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
	unsure := a.Resubmit == "yes" && r.Verdict.Origin == "unknown" // nothing was fixed, and what to fix is not known
	if unsure {
		t = "OK to resubmit"
	}
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
		t += "; no compute node is proven bad"
	}
	if unsure {
		t += ". It may fail again"
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
		return "Don't cancel the job yet: first collect " + lowered(flat(n.What)) + "."
	}
	verb := "Get "
	if n.Obtainable == "perishing" {
		verb = "Save "
	}
	t := verb + needName(r, n)
	if c := flat(n.Command); strings.HasPrefix(c, "bot ") {
		t += ": " + strings.TrimRight(c, " …")
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
	case len(files) > 0 && strings.HasPrefix(files[0], "the log for ") && len(c.RanksMissing) > 0: // no name is known
		return "the log for " + rankText(c.RanksMissing)
	case len(files) > 0 && len(c.RanksMissing) > 0:
		return nodeList(baseNames(files)) + " (" + rankText(c.RanksMissing) + ")"
	case len(files) > 0:
		return nodeList(baseNames(files))
	case len(c.RanksMissing) > 0:
		return "the log for " + rankText(c.RanksMissing)
	case len(c.NodesMissing) > 0:
		return "the log for " + nodeList(c.NodesMissing)
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
	switch label = labelConfirm; status {
	case incident.Confirmed:
		label = labelSave
	case incident.Inconclusive: // the next step names what comes first
		label = labelAlso
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
			now = append(now, what+" (get it soon)")
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
