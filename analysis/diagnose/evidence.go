package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/incident"
	"faultline/knowledge"
)

// Revise adds to a report what it corrects of one that was made without what people handed in beside the logs, which stands in the files
// named beside. Without a line or a record of them that the verdict rests on it corrects nothing.
func Revise(r, without *incident.Report, beside map[string]bool) {
	was, now := verdictWords(&without.Verdict), verdictWords(&r.Verdict)
	if was == now {
		return
	}
	handed := func(e incident.Evidence) bool { return beside[e.File] }
	say := func(because string, evidence []incident.Evidence) {
		r.Revisions = append(r.Revisions, incident.Revision{Was: was + ", from the logs alone", Now: now, Because: strings.TrimRight(because, "."), Evidence: evidence})
	}
	for _, c := range r.Chain {
		if slices.ContainsFunc(c.Evidence, handed) {
			say(c.Statement, c.Evidence)
			return
		}
	}
	for _, h := range r.Hypotheses {
		for _, f := range h.For {
			if h.Status == "accepted" && slices.ContainsFunc(f.Evidence, handed) {
				say(f.Statement, f.Evidence)
				return
			}
		}
		for _, f := range h.Against {
			if h.Status == "rejected" && slices.ContainsFunc(f.Evidence, handed) {
				say(f.Statement, f.Evidence)
				return
			}
		}
	}
}

// verdictWords is a verdict in the words of people.
func verdictWords(v *incident.Verdict) string {
	var names []string
	for _, c := range v.Candidates {
		name := c.Mechanism
		if m, ok := knowledge.MechanismBySlug(knowledge.Slug(c.Mechanism)); ok {
			name = "“" + m.Title + "”"
		}
		names = appendNew(names, name)
	}
	s := strings.Join(names, " or ")
	switch n := len(v.Root.Ranks); {
	case n == 1:
		s += fmt.Sprintf(" (rank %d)", v.Root.Ranks[0])
	case n > 1:
		s += fmt.Sprintf(" (ranks %s)", mechanism.Ranges(v.Root.Ranks))
	}
	return s
}
