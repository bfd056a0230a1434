package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/novel"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/knowledge/severity"
)

// mostStandouts is how many lines that stand out are reported where no known failure matches.
const mostStandouts = 3

// least is how many points a line needs to be worth a look.
const least = 10

// mostBeside is how many are reported beside a set of causes.
const mostBeside = 2

// standouts reports the lines that stand out where the run, or a part of what may have ended it, is not explained.
func (b *builder) standouts() {
	v := &b.r.Verdict
	if v.Status == incident.NoFailure || !slices.Contains(mechanisms(v), unknown) && !b.rootless() {
		return
	}
	most := mostStandouts
	if len(v.Candidates) > 1 {
		most = mostBeside
	}
	var shown []*novel.Line
	for _, l := range b.clues() {
		if l.Score < least || len(shown) == most {
			break
		}
		if slices.ContainsFunc(shown, l.Within) {
			continue
		}
		b.r.Standouts, shown = append(b.r.Standouts, standout(l)), append(shown, l)
		if last := b.parting(l); last != nil && len(shown) == 1 {
			b.r.Standouts, most = append(b.r.Standouts, *last), most-1
		}
	}
	if s := b.s.Facts.Standing; len(b.r.Standouts) == 0 && len(s) > 0 && len(b.s.Facts.Tails) == 0 && v.Mechanism == unknown {
		b.r.Standouts = append(b.r.Standouts, standout(&s[0])) // of evidence alone one line is better than none
	}
	if len(b.r.Standouts) == 0 || v.Mechanism != unknown || v.Ending != "" {
		return
	}
	v.Summary, v.Why = "no known failure matches; most suspicious: "+b.r.Standouts[0].Statement, "lines are ranked by how unusual they are, not by what they mean"
}

// rootless says that a failure is proven, and that nobody is named who began it.
func (b *builder) rootless() bool {
	v := &b.r.Verdict
	return v.Status == incident.Inconclusive && len(v.Root.Ranks)+len(v.Root.Nodes) == 0 && b.failed()
}

// failed says that a failure is proven, whatever began it: the run is not well, and nobody ended it from outside.
func (b *builder) failed() bool {
	return len(b.d.winners) > 0 && b.r.Verdict.Ending == "" && !slices.ContainsFunc(b.d.winners, func(p *mechanism.Proposal) bool {
		return p.Class == mechanism.Nothing || p.Class == mechanism.Degraded || p.Mechanism.Is(knowledge.BySomebody)
	})
}

// clues are the lines that stand out and may be shown. Where a failure is proven, they are those that may have begun it, first those that
// were printed before all that is known of it. Where the run may be well, a line of a healthy job, or one that followed from what is known,
// is not to look like an accusation.
func (b *builder) clues() []*novel.Line {
	v, f := &b.r.Verdict, b.s.Facts
	switch {
	case v.Mechanism == unknown && v.Ending == "":
		var lines []*novel.Line
		for i := range f.Standing {
			lines = append(lines, &f.Standing[i])
		}
		return lines
	case b.failed():
		unfit := func(l *novel.Line) bool { return !l.Suspect() }
		if before := slices.DeleteFunc(mechanism.Leads(f), unfit); len(before) > 0 {
			return before
		}
		return slices.DeleteFunc(mechanism.Apart(f), unfit)
	}
	return slices.DeleteFunc(mechanism.Leads(f), func(l *novel.Line) bool { return !l.Tells() })
}

func mechanisms(v *incident.Verdict) []string {
	var out []string
	for _, c := range v.Candidates {
		out = append(out, c.Mechanism)
	}
	return out
}

// parting is the last line of the first of few ranks that do not print what all others do. It states what its quotation says.
func (b *builder) parting(l *novel.Line) *incident.Standout {
	if len(l.Silent) == 0 {
		return nil
	}
	r := b.s.Facts.Rank(l.Silent[0])
	last, ok := mechanism.LastLine(r)
	if !ok {
		return nil
	}
	out := incident.Standout{Severity: severity.Calm.String(), Score: 15, Rank: ptr(r.ID), Node: r.Node, N: 1, Files: 1, Evidence: []incident.Evidence{last},
		Reasons: []incident.Reason{{Part: "spatial", Points: 15, Text: "its last line; it lacks a line that all other ranks print"}}}
	return &out
}

// standout reports a line. What it states of the line stands in the quotation as a condition, so that the verifier refutes a text that is not
// that of the place.
func standout(l *novel.Line) incident.Standout {
	out := incident.Standout{Statement: outstanding(l), Severity: l.Level.String(), Node: l.Node, N: l.N, Files: l.Files, Score: l.Score, Reasons: []incident.Reason{}}
	if l.Rank != resolve.NoRank {
		out.Rank = ptr(l.Rank)
	}
	if out.Node == "" {
		out.Node = l.Named
	}
	quote := func(p novel.Place, says string) {
		if p.Line > 0 {
			out.Evidence = append(out.Evidence, mechanism.QuoteAt(mechanism.PlaceAt(l.File, p), holds(says, l.Boxed)))
		}
	}
	switch s := l.Stop; {
	case s == nil:
		quote(l.At, out.Statement)
	default:
		out.Statement = Excerpt(s.Says())
		if s.At.Off != l.At.Off {
			quote(l.At, "")
		}
		quote(s.At, cmp.Or(s.Message, s.Type))
		if s.Frame.At.Off != l.At.Off && s.Frame.At.Off != s.At.Off {
			quote(s.Frame.At, s.Frame.File)
		}
	}
	for _, p := range l.Parts {
		out.Reasons = append(out.Reasons, incident.Reason{Part: p.Name, Points: p.Points, Text: p.Why})
	}
	return out
}

// holds is the condition that a line holds a text: as much of it as is whole, for what is cut off or is no text is not written in the line as it
// is shown. nil where nothing is left.
// In a record quotation marks and white space are written otherwise, too.
func holds(text string, boxed bool) *incident.Predicate {
	apart := "…\uFFFD\r\x1b"
	if boxed {
		apart += "\"\\\t<>&"
	}
	most := ""
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(apart, r) }) {
		if part = strings.TrimSpace(part); len(part) > len(most) {
			most = part
		}
	}
	if most == "" {
		return nil
	}
	return &incident.Predicate{Literals: []string{most}}
}

// mostWhole is how many bytes a line may have that is shown with what loggers and launchers print before it.
const mostWhole = 100

// outstanding is the part of a line that makes it stand out.
func outstanding(l *novel.Line) string {
	text := strings.TrimSpace(l.Text)
	if len(text) > mostWhole {
		text = novel.Message(text)
	}
	return Excerpt(text)
}
