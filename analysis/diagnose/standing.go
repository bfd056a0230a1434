package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/novel"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/knowledge/severity"
)

// mostStandouts is how many lines that stand out are reported where no known failure matches.
const mostStandouts = 3

// least is how many points a line needs to be worth a look.
const least = 10

// loud is how many points another line needs beside a verdict that may not be all.
const loud = 30

// mostBeside is how many are reported beside what ranks last printed that lack a line of all others.
const mostBeside = 2

// standouts reports the lines that stand out where the run, or a part of what may have ended it, is not explained.
func (b *builder) standouts() {
	v := &b.r.Verdict
	if v.Status == incident.NoFailure || !slices.Contains(mechanisms(v), unknown) && !b.rootless() {
		return
	}
	most := mostStandouts
	caused := b.caused()
	lines := slices.DeleteFunc(b.clues(), func(l *novel.Line) bool { return l.Score < least || caused && l.Sign.Ends })
	var silent []incident.Standout
	if len(lines) > 0 {
		if silent = b.ofSilent(lines[0]); len(silent) > 0 {
			most = mostBeside
		}
	}
	b.r.Standouts = append(b.r.Standouts, b.ofFrontier()...)
	if len(lines) > 0 && b.tells(lines[0]) {
		b.r.Standouts, silent = append(b.r.Standouts, silent...), nil
	}
	for i, l := range novel.Pick(lines, most) {
		if b.r.Standouts = append(b.r.Standouts, standout(l)); i == 0 {
			b.r.Standouts = append(b.r.Standouts, silent...)
		}
	}
	if s := b.s.Facts.Standing; len(b.r.Standouts) == 0 && len(s) > 0 && len(b.s.Facts.Tails) == 0 && v.Mechanism == unknown {
		b.r.Standouts = append(b.r.Standouts, standout(&s[0])) // of evidence alone one line is better than none
	}
	if v.Mechanism != unknown || v.Ending != "" {
		return
	}
	if len(b.r.Standouts) == 0 {
		if last := b.lastLine(); last != nil {
			b.r.Standouts = append(b.r.Standouts, *last)
		}
		return
	}
	v.Summary, v.Why = "no known failure matches; most suspicious: "+b.r.Standouts[0].Statement, "lines are ranked by how unusual they are, not by what they mean"
}

// alsoStated shows the first line above the root, in its file, that states the same cause as its message: it may name what that does not.
func (b *builder) alsoStated() {
	if len(b.d.winners) == 0 {
		return
	}
	for i := range b.s.Facts.Alike {
		l := &b.s.Facts.Alike[i]
		place := worker.Pos{File: l.File, Off: l.At.Off}
		above := slices.ContainsFunc(b.d.winners[0].First, func(fl *resolve.Failure) bool { return place.Above(fl.At.Pos) })
		switch {
		case !above, l.Background, b.cites(l):
			continue
		}
		b.r.Standouts = append(b.r.Standouts, standout(l))
		return
	}
}

// lastLine is the last that the logs tell, where nothing in them stands out: from there on a reader has to look for the rest.
func (b *builder) lastLine() *incident.Standout {
	f := b.s.Facts
	out := &incident.Standout{Severity: severity.Calm.String(), Score: 15, N: 1, Files: 1}
	why := "the last line; nothing in these logs stands out"
	if n := len(f.Progress); n > 0 {
		why = "the last progress line; nothing in these logs stands out"
		out.Evidence = []incident.Evidence{mechanism.QuoteAt(f.Progress[n-1].At, nil)}
	}
	for i := 0; i < len(f.Tails) && out.Evidence == nil; i++ {
		if last := f.Tails[i].Last; last.Len > 0 {
			out.Evidence = []incident.Evidence{mechanism.QuoteAt(last, nil)}
		}
	}
	if out.Evidence == nil {
		return nil
	}
	out.Reasons = []incident.Reason{{Part: "position", Points: out.Score, Text: why}}
	return out
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
		lines := slices.DeleteFunc(mechanism.Leads(f), unfit)
		if len(lines) == 0 {
			lines = slices.DeleteFunc(mechanism.Apart(f), unfit)
		}
		switch b.s.Graph.Shape {
		case waitfor.NoHang, waitfor.Told: // below other timeouts lines follow from the wait
			if slices.Contains(mechanisms(v), unknown) {
				lines = b.rest(b.nearest(b.unexplained(lines)))
			}
		}
		if l := mechanism.Unspoken(f); l != nil && slices.Contains(lines, l) { // the verdict speaks of those who do not print it
			lines = slices.Concat([]*novel.Line{l}, slices.DeleteFunc(lines, func(o *novel.Line) bool { return o == l }))
		}
		return lines
	}
	return b.rest(slices.DeleteFunc(mechanism.Leads(f), func(l *novel.Line) bool { return !l.Tells() }))
}

// rest adds to lines all others that are out of the ordinary and that the verdict does not rest on, where something may remain unexplained: of
// what nobody understands the most suspicious is shown, wherever it stands. What tells only how something ended, and warnings, come last.
func (b *builder) rest(lines []*novel.Line) []*novel.Line {
	if v := &b.r.Verdict; v.Status != incident.Inconclusive || !slices.Contains(mechanisms(v), unknown) {
		return lines
	}
	var ends, warnings []*novel.Line
	for i := range b.s.Facts.Standing {
		switch l := &b.s.Facts.Standing[i]; {
		case !l.Uncommon(), l.Known.Echo, b.cites(l), slices.Contains(lines, l):
		case l.Level == severity.Warning:
			warnings = append(warnings, l)
		case l.Sign.Ends:
			ends = append(ends, l)
		default:
			lines = append(lines, l)
		}
	}
	return slices.Concat(lines, ends, warnings)
}

// unexplained adds to lines the others that sound bad and that nobody knows: where what is known may not be all, one of them may tell the rest,
// wherever it stands. Lines that were understood tell more, too, where all that is known is how processes ended, and where
// the exception that is known was raised in answer to another.
func (b *builder) unexplained(lines []*novel.Line) []*novel.Line {
	f, bare := b.s.Facts, b.bare()
	for i := range f.Standing {
		l := &f.Standing[i]
		shown := !l.Known.Read || bare && !b.cites(l) || b.answered(l)
		switch {
		case !shown, !l.Sounds(), l.Score < loud, slices.Contains(lines, l):
		case bare, l.Known.Meaning == "":
			lines = append(lines, l)
		}
	}
	return lines
}

// nearest puts the lines of the processes in front on which the verdict rests: they tell more of it than what others saw.
func (b *builder) nearest(lines []*novel.Line) []*novel.Line {
	near := func(l *novel.Line) bool {
		return slices.ContainsFunc(b.d.winners, func(p *mechanism.Proposal) bool { return restsOn(p, l) })
	}
	slices.SortStableFunc(lines, func(x, y *novel.Line) int {
		switch nx, ny := near(x), near(y); {
		case nx == ny:
			return 0
		case nx:
			return -1
		}
		return 1
	})
	return lines
}

// restsOn says that a line is of a process on which a proposal rests.
func restsOn(p *mechanism.Proposal, l *novel.Line) bool {
	if len(p.Ranks) > 0 {
		return slices.Contains(p.Ranks, l.Rank)
	}
	return slices.ContainsFunc(p.First, func(fl *resolve.Failure) bool { return fl.At.File == l.File && fl.Role == knowledge.CauseRole })
}

// answered says that a line is the last of an exception that the verdict's own was raised in answer to.
func (b *builder) answered(l *novel.Line) bool {
	return slices.ContainsFunc(b.d.winners, func(p *mechanism.Proposal) bool {
		return slices.ContainsFunc(p.Failures, func(fl *resolve.Failure) bool {
			switch x := fl.Exc; {
			case x == nil, x.File != l.File, l.At.Line <= x.Begin.Line, x.Line <= l.At.Line:
				return false
			default:
				return slices.ContainsFunc(x.Cause, func(c worker.Exception) bool { return strings.Contains(l.Text, c.Type) })
			}
		})
	})
}

// bare says that all that is known of a failure is how processes ended.
func (b *builder) bare() bool {
	for _, p := range b.d.winners {
		for _, fl := range p.Failures {
			switch fl.Kind {
			case resolve.KindExit, resolve.KindTask:
			default:
				return false
			}
		}
	}
	return true
}

// caused says that a failure is known that may be the cause: then how something ended is no news.
func (b *builder) caused() bool {
	return slices.ContainsFunc(b.d.winners, func(p *mechanism.Proposal) bool {
		return slices.ContainsFunc(p.Failures, func(fl *resolve.Failure) bool {
			return fl.Role == knowledge.CauseRole && fl.Kind != resolve.KindExit && fl.Kind != resolve.KindTask
		})
	})
}

// cites says that the verdict rests on a line: it stands on the first screen already.
func (b *builder) cites(l *novel.Line) bool {
	return slices.ContainsFunc(b.d.winners, func(p *mechanism.Proposal) bool {
		return slices.ContainsFunc(p.Failures, func(fl *resolve.Failure) bool { return l.Holds(fl.At.File, fl.At.Off) })
	})
}

// tells says that what speaks for the verdict quotes a line that stands out: the screen shows it already.
func (b *builder) tells(l *novel.Line) bool {
	return b.cites(l) || slices.ContainsFunc(b.d.winners, func(p *mechanism.Proposal) bool {
		return slices.ContainsFunc(p.For, func(f incident.Finding) bool {
			return slices.ContainsFunc(f.Evidence, func(e incident.Evidence) bool { return l.Holds(e.File, e.Offset) })
		})
	})
}

func mechanisms(v *incident.Verdict) []string {
	var out []string
	for _, c := range v.Candidates {
		out = append(out, c.Mechanism)
	}
	return out
}

// ofSilent is what is shown of the first of few ranks that do not print what all others do.
func (b *builder) ofSilent(l *novel.Line) (out []incident.Standout) {
	if last := b.parting(l); last != nil {
		out = append(out, *last)
	}
	if said := b.instead(l); said != nil {
		out = append(out, *said)
	}
	return out
}

// parting is the last line of the first of few ranks that do not print what all others do. It states what its quotation says.
func (b *builder) parting(l *novel.Line) *incident.Standout {
	if len(l.Silent) == 0 {
		return nil
	}
	return b.lastOf(b.s.Facts.Rank(l.Silent[0]), mechanism.StandingTime(b.s.Facts, l), "its last line; it lacks a line that all other ranks print")
}

// ofFrontier is the last line of the few of whom one may hold all who wait, and who were seen.
func (b *builder) ofFrontier() (out []incident.Standout) {
	g := b.s.Graph
	if !b.rootless() || len(g.Frontier) > mostBeside || len(g.Waiters) <= len(g.Frontier) {
		return nil
	}
	for _, id := range g.Frontier {
		r := b.s.Facts.Rank(id)
		switch {
		case r == nil, r.Lines == 0, g.Waits(id), b.s.Facts.Coverage.CutRanks[id]: // of a cut file nobody knows the last line
			continue
		}
		if last := b.lastOf(r, g.Report, "its last line; it does not report waiting"); last != nil {
			out = append(out, *last)
		}
	}
	return out
}

// lastOf is the last line of a rank, before a moment where one is known: what it says of its own end tells less.
func (b *builder) lastOf(r *resolve.Rank, before resolve.Moment, why string) *incident.Standout {
	last, ok := mechanism.LastLine(r)
	if f := b.s.Facts; r != nil && f.LastWords != nil && (before.Valid || !ok) {
		if at, _, said := f.LastWords(r, before, nil); said {
			last, ok = mechanism.QuoteAt(at, nil), true
		}
	}
	if !ok {
		return nil
	}
	return &incident.Standout{Severity: severity.Calm.String(), Score: 15, Rank: new(r.ID), Node: r.Node, N: 1, Files: 1, Evidence: []incident.Evidence{last},
		Reasons: []incident.Reason{{Part: "spatial", Points: 15, Text: why}}}
}

// instead is what such a rank printed in place of that line.
func (b *builder) instead(l *novel.Line) *incident.Standout {
	r := b.s.Facts.Rank(first(l.Silent))
	if r == nil || l.Instead == nil {
		return nil
	}
	return &incident.Standout{Severity: severity.Failed.String(), Score: 15, Rank: new(r.ID), Node: r.Node, N: 1, Files: 1,
		Evidence: []incident.Evidence{mechanism.QuoteAt(mechanism.PlaceAt(l.Instead.File, l.Instead.At), nil)},
		Reasons:  []incident.Reason{{Part: "spatial", Points: 15, Text: "this rank printed it instead of the line above"}}}
}

// first is the first of some ranks.
func first(ranks []int) int {
	if len(ranks) == 0 {
		return resolve.NoRank
	}
	return ranks[0]
}

// standout reports a line. What it states of the line stands in the quotation as a condition, so that the verifier refutes a text that is not
// that of the place.
func standout(l *novel.Line) incident.Standout {
	out := incident.Standout{Statement: Outstanding(l.Text), Severity: l.Level.String(), Node: l.Node, N: l.N, Files: l.Files, Score: l.Score, Reasons: []incident.Reason{}}
	if l.Rank != resolve.NoRank {
		out.Rank = new(l.Rank)
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

// Outstanding is the part of a line that makes it stand out: without what loggers and launchers print before it, where it is long.
func Outstanding(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > mostWhole {
		text = novel.Message(text)
	}
	return Excerpt(text)
}
