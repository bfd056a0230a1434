package mechanism

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/novel"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// waits are words for a wait that was in vain, in lower case.
var waits = []string{"timeout", "time-out", "timed out", "time out", "out of time", "deadline", "no progress", "stuck", "hang", "hung", "waited", "waiting"}

// Unspoken is the heaviest line about a wait in vain that all ranks print but a few: whom the others waited for is mostly who is missing
// among them, whatever the words are. Nil where no line is like that.
func Unspoken(f *resolve.Facts) *novel.Line {
	if f.Job.ExitOK != nil {
		return nil
	}
	for i := range f.Standing {
		l := &f.Standing[i]
		text := strings.ToLower(l.Text)
		if len(l.Silent) > 0 && l.Suspect() && slices.ContainsFunc(waits, func(w string) bool { return strings.Contains(text, w) }) {
			return l
		}
	}
	return nil
}

// unspoken proposes that these ranks stalled, or that something unknown became of them: what they are missing for, no line says.
func unspoken(s *Scene) *Proposal {
	f := s.Facts
	l := Unspoken(f)
	if l == nil {
		return nil
	}
	p := &Proposal{Mechanism: knowledge.RankStalled, Class: Collective, Rivals: []knowledge.Slug{knowledge.Unknown}, Frontier: l.Silent, At: f.At(StandingAt(l)), Scope: "unknown", Base: 0.8,
		Needs:   []incident.Need{needPySpy},
		Summary: fmt.Sprintf("%s report waiting; %s does not", plural(l.Spoken, "rank", "ranks"), where(f, l.Silent)),
		Why:     "no known failure matches; the rank that did not report waiting is usually the one they were waiting for"}
	p.For = append(p.For, finding(fmt.Sprintf("%s print this line", plural(l.Spoken, "rank", "ranks")), QuoteAt(StandingAt(l), nil)))
	for _, id := range l.Silent {
		r := f.Rank(id)
		if last, ok := LastLine(r); ok {
			p.For = append(p.For, finding(fmt.Sprintf("%s does not; this is its last line", r.Describe()), last))
		}
	}
	return p
}
