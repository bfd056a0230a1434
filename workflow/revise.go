package workflow

import (
	"fmt"
	"slices"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
	"faultline/knowledge/severity"
)

// Revise compares two reports on one incident, older first, and announces what the newer one overturns: the verdict,
// who is held responsible, the decision. What changed together is one revision, because it has one reason. It announces
// nothing that is unchanged. A nil report has nothing to revise. News are the files that came or grew by themselves in between: the
// reason names them.
func Revise(old, now *incident.Report, news ...News) []incident.Revision {
	if old == nil || now == nil {
		return nil
	}
	var was, is []string
	for _, text := range []func(*incident.Report) string{
		func(r *incident.Report) string { return conclusion(r.Verdict) },
		func(r *incident.Report) string { return rootText(r.Verdict.Root) },
		func(r *incident.Report) string { return actionText(r.Action) },
		storageText,
	} {
		if a, b := text(old), text(now); a != b {
			was, is = append(was, a), append(is, b)
		}
	}
	if len(was) == 0 {
		return nil
	}
	because, evidence := reason(old, now, news)
	if len(news) > 0 {
		because = newsText(news) + " after the earlier verdict: " + because
	}
	return []incident.Revision{{Was: strings.Join(was, "; "), Now: strings.Join(is, "; "), Because: because, Evidence: evidence}}
}

// conclusion is the verdict in the words that people were shown.
func conclusion(v incident.Verdict) string {
	names := []string{title(v.Mechanism)}
	if v.Status == incident.Inconclusive && len(v.Candidates) > 1 {
		names = names[:0]
		for _, c := range v.Candidates {
			names = append(names, title(c.Mechanism))
		}
	}
	status := map[string]string{incident.Inconclusive: "can't tell", incident.Probable: "likely"}[v.Status]
	if status == "" {
		status = v.Status
	}
	return strings.Join(names, " or ") + " (" + status + ")"
}

func title(slug string) string {
	if m, ok := knowledge.MechanismBySlug(knowledge.Slug(slug)); ok {
		return "“" + m.Title + "”"
	}
	return slug
}

// verdictText is the verdict for the ledger.
func verdictText(v incident.Verdict) string {
	text := v.Mechanism
	if v.Status == incident.Inconclusive && len(v.Candidates) > 1 {
		names := make([]string, len(v.Candidates))
		for i, c := range v.Candidates {
			names[i] = c.Mechanism
		}
		text = "one of " + strings.Join(names, ", ")
	}
	return text + " (" + v.Status + ")"
}

func rootText(r incident.Root) string {
	var parts []string
	if len(r.Ranks) > 0 {
		parts = append(parts, plural(len(r.Ranks), "rank", "ranks")+" "+ranks(r.Ranks))
	}
	if len(r.Nodes) > 0 {
		parts = append(parts, plural(len(r.Nodes), "node", "nodes")+" "+strings.Join(r.Nodes, ", "))
	}
	text := strings.Join(parts, " on ")
	if r.Component != nil {
		daemon, stored := strings.CutPrefix(*r.Component, knowledge.DaemonPrefix)
		switch {
		case stored && text != "":
			text = "AIStore daemon " + daemon + ", met by " + text
		case stored:
			text = "AIStore daemon " + daemon
		case text != "":
			text += " (" + *r.Component + ")"
		default:
			text = *r.Component
		}
	}
	if text == "" {
		return "root rank and node unknown"
	}
	return "root: " + text
}

func actionText(a incident.Action) string {
	text := "resubmit: " + a.Resubmit
	if len(a.ExcludeNodes) > 0 {
		text += ", without " + strings.Join(a.ExcludeNodes, ", ")
	}
	if a.ResumeFrom != nil {
		text += fmt.Sprintf(", from step %d", a.ResumeFrom.Step)
	}
	return text
}

// quotesInReason bounds how many lines a revision cites.
const quotesInReason = 2

// reason says why the newer report differs: by evidence from files that the older one did not rest on, else by claims
// that were withdrawn, else by other rules, else by the wider or narrower reading.
func reason(old, now *incident.Report, news []News) (string, []incident.Evidence) {
	known := map[string]bool{}
	walk(old, func(e incident.Evidence) {
		known[e.File] = true
		for _, f := range e.Files {
			known[f] = true
		}
	})
	read := func(e incident.Evidence) bool { // where the older one has looked
		i := slices.IndexFunc(news, func(n News) bool { return n.Name == e.File })
		return known[e.File] && (i < 0 || e.Offset < news[i].Was)
	}
	var fresh []incident.Evidence
	seen := map[string]bool{}
	walk(now, func(e incident.Evidence) {
		place := fmt.Sprintf("%s:%d", e.File, e.Line)
		if e.Kind == incident.KindQuote && !read(e) && !seen[place] && len(fresh) < quotesInReason {
			seen[place] = true
			fresh = append(fresh, e)
		}
	})
	if len(fresh) > 0 {
		lines := make([]string, len(fresh))
		for i, e := range fresh {
			lines[i] = fmt.Sprintf("%s:%d says %q", e.File, e.Line, clip(e.Text))
		}
		if says := statement(now, fresh[0]); says != "" { // in words; one line proves it
			return says + ": " + lines[0], fresh[:1]
		}
		return strings.Join(lines, "; "), fresh
	}
	if n := len(now.Storage.Daemons); n > len(old.Storage.Daemons) {
		because := fmt.Sprintf("read the logs from %d storage %s", n, plural(n, "daemon", "daemons"))
		if now.Storage.Why != "" {
			because += ", and " + now.Storage.Why
		}
		return because, nil
	}
	for _, w := range now.Verification.Withdrawn {
		if !slices.Contains(old.Verification.Withdrawn, w) {
			return "withdrawn because it failed the re-check: " + w, nil
		}
	}
	if old.Engine != now.Engine {
		return fmt.Sprintf("different rules: %s instead of %s", version(now.Engine), version(old.Engine)), nil
	}
	if came := without(old.Coverage.NodesMissing, now.Coverage.NodesMissing); len(came) > 0 {
		return "the logs of " + strings.Join(came, ", ") + " are no longer missing", nil
	}
	if gone := without(now.Coverage.NodesMissing, old.Coverage.NodesMissing); len(gone) > 0 {
		return "now known to be missing: the logs of " + strings.Join(gone, ", ") + " ", nil
	}
	return fmt.Sprintf("read %d files and %d ranks (previously %d files and %d ranks)",
		now.Coverage.Files, now.Coverage.RanksSeen, old.Coverage.Files, old.Coverage.RanksSeen), nil
}

// statement is what the chain of a report says of a quotation; "" where no link rests on it.
func statement(r *incident.Report, quote incident.Evidence) string {
	for _, link := range r.Chain {
		holds := func(e incident.Evidence) bool {
			return e.Kind == incident.KindQuote && e.File == quote.File && e.Line == quote.Line
		}
		if slices.ContainsFunc(link.Evidence, func(e incident.Evidence) bool { return holds(e) || slices.ContainsFunc(e.Inputs, holds) }) {
			return strings.TrimRight(link.Statement, ".")
		}
	}
	return ""
}

// walk visits all evidence of a report, what carries the verdict first.
func walk(r *incident.Report, visit func(incident.Evidence)) {
	var each func([]incident.Evidence)
	each = func(list []incident.Evidence) {
		for _, e := range list {
			visit(e)
			each(e.Inputs)
		}
	}
	for _, role := range []string{incident.Trigger, incident.Cause, incident.Consequence, incident.End} {
		for _, link := range r.Chain {
			if link.Role == role {
				each(link.Evidence)
			}
		}
	}
	for _, h := range r.Hypotheses {
		for _, finding := range slices.Concat(h.For, h.Against) {
			each(finding.Evidence)
		}
	}
	for _, g := range r.Groups {
		for _, member := range g.Ranks {
			each(member.Evidence)
		}
	}
	for _, ev := range r.Timeline {
		each(ev.Evidence)
	}
}

// headline is a report in one line, for the ledger.
func headline(r *incident.Report) string {
	return fmt.Sprintf("%s, confidence %.2f; %s; %s",
		verdictText(r.Verdict), float64(r.Verdict.Confidence), rootText(r.Verdict.Root), actionText(r.Action))
}

func version(e incident.Engine) string { return "engine " + e.Version + ", rules " + e.RulesVersion }

// without returns the elements of a that b lacks.
func without(a, b []string) []string {
	var rest []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			rest = append(rest, s)
		}
	}
	return rest
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// ranks writes a sorted list of ranks with its runs folded: "0-3, 7".
func ranks(list []int) string {
	sorted := slices.Sorted(slices.Values(list))
	var parts []string
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] <= sorted[j]+1 {
			j++
		}
		if sorted[j] > sorted[i] {
			parts = append(parts, fmt.Sprintf("%d-%d", sorted[i], sorted[j]))
		} else {
			parts = append(parts, fmt.Sprint(sorted[i]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// clip bounds a quotation to what fits into a sentence.
func clip(text string) string {
	const limit = 200
	return severity.Excerpt(strings.ToValidUTF8(text, "\uFFFD"), limit)
}
