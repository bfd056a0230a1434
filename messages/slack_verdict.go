package messages

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
	"faultline/messages/blockkit"
)

// FirstVerdict is the first answer in the thread: the first screen, under the decision the command that carries it out, and the lines
// that prove it. The notification is the report in one line.
func FirstVerdict(r *incident.Report, buttons []Button) blockkit.Message {
	v := newView(r)
	head, parts := screenOf(v)
	return post(lightOf(v)+brief(v, ""), blockkit.Blocks{heading(lightOf(v) + head)}, decided(v, parts), proofBlocks(v, screenText(head, parts)), pressable(buttons), small(v.Reread))
}

// decided lays the first screen out in two halves: what is known, and what to do.
func decided(v *view, parts []part) blockkit.Blocks {
	var known, do []blockkit.RichElement
	for _, p := range parts {
		switch {
		case p.Label == labelNext:
			do = append(do, labelled(p.Label, p.Text))
			if c, ok := firstCommand(v); ok {
				do = append(do, commandBox(c))
			}
			if lost := lostText(v.Report.Action.Lost); lost != "" && v.Report.Severity == nil && v.Report.Verdict.Status != incident.NoFailure {
				do = append(do, labelled("Lost", lost+"."))
			}
		case len(do) > 0:
			do = append(do, labelled(p.Label, p.Text))
			if slices.Contains([]string{labelConfirm, labelAlso, labelSave}, p.Label) {
				if c, ok := needCommand(v); ok {
					do = append(do, commandBox(c))
				}
			}
		default:
			known = append(known, labelled(p.Label, p.Text))
		}
	}
	out := rich(known...)
	if len(do) > 0 {
		out = append(append(out, blockkit.Divider{}), rich(do...)...)
	}
	return out
}

// firstCommand can be pasted to do what the decision says. Where the decision says nothing, there is none.
func firstCommand(v *view) (string, bool) {
	if n, ok := nextNeed(v.Report); ok {
		if n.Artefact == knowledge.Bundle {
			return "", false // the question below has it: who reads this may not have the bot
		}
		c := strings.TrimSpace(n.Command)
		return c, pastable(c)
	}
	first := firstAdvice(v.Report)
	for _, a := range v.Advice {
		if first != "" && a.Text == first && pastable(a.Command) {
			return a.Command, true
		}
	}
	return "", false
}

// blank is a placeholder that the reader would have to fill in: its name in capitals, or in angle brackets, or an ellipsis.
var blank = regexp.MustCompile(`<[a-z ]+>|…|\b(JOB|JOBID|NODE|NODES|PID|RANK|HOST|PORT|USER|REPO|IF|GPU|N|[A-Z]+_URL)\b`)

// pastable tells whether a command can be run as it is.
func pastable(command string) bool { return command != "" && !blank.MatchString(command) }

// needCommand fetches the first of what would decide, or will soon be gone, where the decision's command does not bring it too.
func needCommand(v *view) (string, bool) {
	next, open := nextNeed(v.Report)
	above, _ := firstCommand(v)
	for _, n := range v.Report.Verdict.Needs {
		if open && n == next || n.Artefact == knowledge.Bundle {
			continue // the decision has its command, or the question below
		}
		if n.Obtainable == "next-time" || v.Report.Verdict.Status == incident.Confirmed && n.Obtainable != "perishing" {
			continue
		}
		if c := strings.TrimSpace(n.Command); pastable(c) && c != above {
			return c, true
		}
	}
	return "", false
}

// FinalVerdict is the last answer, with the report files: it mentions the requester once and says whether the verdict changed. The verdict
// itself is above, unless whole is set: where nobody was told before.
func FinalVerdict(r *incident.Report, requester string, changed, whole bool, buttons []Button) blockkit.Message {
	v := newView(r)
	head, parts := screenOf(v)
	news := "done. " + capital(Unchanged(r)) + "."
	switch {
	case whole:
		news = "done."
	case changed:
		news = "done. The verdict changed: see the correction above."
	}
	opening := blockkit.Inlines{run(capital(news))}
	if requester != "" {
		opening = blockkit.Inlines{person(requester), run(": " + news)}
	}
	es := []blockkit.RichElement{blockkit.RichSection{Elements: opening}}
	if !whole {
		es = append(es, partsOf(parts, labelStorage)...)
		return post(lightOf(v)+"Final: "+brief(v, ""), rich(es...), small("Report attached."))
	}
	return post(lightOf(v)+"Final: "+brief(v, ""), blockkit.Blocks{heading(lightOf(v) + head)}, rich(es...), decided(v, parts),
		pressable(buttons), small("Report attached.", v.Reread))
}

// Unchanged says of a report that another reading left it as it was: only what is decided stands.
func Unchanged(r *incident.Report) string {
	if r.Verdict.Status == incident.Inconclusive {
		return "still can't tell"
	}
	return "the verdict stands"
}

// RankMapCaption names the picture of the rank map. alt states the finding, for those who cannot see it; it is at most
// 2,000 characters long.
func RankMapCaption(r *incident.Report) (title, alt string) {
	v := newView(r)
	title = "Rank map"
	if id := v.Report.Job.ID; id != nil {
		title += " of job " + flat(*id)
	}
	return blockkit.Clip(title+": "+v.Headline, 200), blockkit.Clip(mapAlt(v), 2000)
}

// RevisionPost corrects an earlier statement in the open: was, now, because. mention are the people who were told the
// earlier one; each is mentioned once.
func RevisionPost(revs []incident.Revision, mention []string) blockkit.Message {
	revs = newView(&incident.Report{Revisions: revs}).Report.Revisions // redacted
	var es []blockkit.RichElement
	if len(mention) > 0 {
		var who blockkit.Inlines
		seen := map[string]bool{}
		for _, id := range mention {
			if !seen[id] && id != "" {
				who = append(who, person(id), run(" "))
			}
			seen[id] = true
		}
		es = append(es, blockkit.RichSection{Elements: append(who, run("the verdict changed."))})
	}
	head, text := "Corrected", "Corrected: the earlier verdict was wrong."
	more := len(revs) - slackLinks
	for i, c := range revs[:min(len(revs), slackLinks)] {
		if i == 0 && c.Now != "" {
			head = "Corrected: " + blockkit.Clip(line(c.Now), 120)
			text = "Corrected: " + line(c.Now) + "\nIt was: " + line(c.Was) + "\nBecause: " + line(c.Because)
		}
		es = append(es, para(strong("Was:"), run(" "), struck(line(c.Was))))
		if i > 0 {
			es = append(es, labelled("Now", line(c.Now))) // of the first, the heading says it
		}
		es = append(es, labelled("Because", line(becauseOf(c))))
		es = append(es, evidenceParts(proofs(c.Evidence[:min(len(c.Evidence), 1)]))...)
	}
	if more > 0 {
		es = append(es, para(run("… and "+count(more, "more correction")+" in the report file.")))
	}
	return post(strings.TrimSpace(text), blockkit.Blocks{heading(head)}, rich(es...))
}

// becauseOf is the reason of a revision. What repeats the quotations is left to them: they stand right below it.
func becauseOf(c incident.Revision) string {
	for _, e := range c.Evidence {
		before, _, ok := strings.Cut(c.Because, fmt.Sprintf("%s:%d says", e.File, e.Line))
		switch before = strings.TrimRight(before, ": "); {
		case e.Kind != incident.KindQuote || !ok:
		case before == "":
			return "from these lines"
		default:
			return before
		}
	}
	return c.Because
}
