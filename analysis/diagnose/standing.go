package diagnose

import (
	"slices"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/novel"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// mostStandouts is how many lines that stand out are reported where no known failure matches.
const mostStandouts = 3

// least is how many points a line needs to be worth a look.
const least = 10

// standouts reports the lines that stand out where the run, or a part of what may have ended it, is not explained.
func (b *builder) standouts() {
	v := &b.r.Verdict
	if v.Status == incident.NoFailure || !slices.Contains(mechanisms(v), unknown) {
		return
	}
	var shown []*novel.Line
	for _, l := range b.clues() {
		if l.Score < least || len(shown) == mostStandouts {
			break
		}
		if !slices.ContainsFunc(shown, l.Within) {
			b.r.Standouts, shown = append(b.r.Standouts, standout(l)), append(shown, l)
		}
	}
	if s := b.s.Facts.Standing; len(b.r.Standouts) == 0 && len(s) > 0 && len(b.s.Facts.Tails) == 0 && v.Mechanism == unknown {
		b.r.Standouts = append(b.r.Standouts, standout(&s[0])) // of evidence alone one line is better than none
	}
	if len(b.r.Standouts) == 0 || v.Mechanism != unknown || v.Ending != "" {
		return
	}
	v.Summary, v.Why = "no known failure matches; most suspicious: "+b.r.Standouts[0].Statement, "the lines are ranked by how they stand out, not by what they mean"
}

// clues are the lines that stand out and may be shown. Where something is known of the run, or it may be well, a line of a healthy job, or one
// that followed from what is known, is not to look like an accusation.
func (b *builder) clues() []*novel.Line {
	v := &b.r.Verdict
	lines := mechanism.Leads(b.s.Facts)
	if v.Mechanism == unknown && v.Ending == "" {
		lines = nil
		for i := range b.s.Facts.Standing {
			lines = append(lines, &b.s.Facts.Standing[i])
		}
		return lines
	}
	return slices.DeleteFunc(lines, func(l *novel.Line) bool { return !l.Tells() })
}

func mechanisms(v *incident.Verdict) []string {
	var out []string
	for _, c := range v.Candidates {
		out = append(out, c.Mechanism)
	}
	return out
}

func standout(l *novel.Line) incident.Standout {
	out := incident.Standout{Statement: excerpt(l), Severity: l.Level.String(), Node: l.Node, N: l.N, Files: l.Files, Score: l.Score, Reasons: []incident.Reason{},
		Evidence: []incident.Evidence{mechanism.QuoteAt(mechanism.StandingAt(l), nil)}}
	if l.Rank != resolve.NoRank {
		out.Rank = ptr(l.Rank)
	}
	if s := l.Stop; s != nil {
		out.Statement = short(s.Says())
		for _, p := range []novel.Place{s.At, s.Frame.At} {
			if p.Line > 0 && (p.Off != l.At.Off || l.StopFile != l.File) {
				out.Evidence = append(out.Evidence, mechanism.QuoteAt(mechanism.PlaceAt(l.StopFile, p), nil))
			}
		}
	}
	for _, p := range l.Parts {
		out.Reasons = append(out.Reasons, incident.Reason{Part: p.Name, Points: p.Points, Text: p.Why})
	}
	return out
}

// around is how much of a long line is shown before what makes it stand out.
const around = 60

// excerpt is the part of a line that makes it stand out.
func excerpt(l *novel.Line) string {
	text := strings.TrimSpace(l.Text)
	if from := l.Sign.At - around; from > 0 && len(text) > 2*around && from < len(text) {
		text = "…" + strings.ToValidUTF8(text[from:], "")
	}
	return short(text)
}
