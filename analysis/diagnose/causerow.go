package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/correlate"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// causeRow makes sure that the cause of a decided verdict has a row of its own in the timeline: it adds one where no row shows its lines. One
// without a time is returned: it stands first.
func (b *builder) causeRow(rows *[]row) []incident.Event {
	v := &b.r.Verdict
	i := slices.IndexFunc(b.r.Chain, func(l incident.Link) bool { return l.Role == incident.Cause || l.Role == incident.Trigger })
	if v.Status == incident.NoFailure || v.Status == incident.Inconclusive || i < 0 {
		return nil
	}
	link := b.r.Chain[i]
	shown := func(x row) bool { return b.isLastWords(x.e) || shareLine(x.e.Evidence, link.Evidence) }
	if len(link.Evidence) == 0 || slices.ContainsFunc(*rows, shown) {
		return nil
	}
	e := incident.Event{Kind: incident.EventError, Event: link.Statement, Evidence: link.Evidence[:1]}
	daemons := strings.HasPrefix(b.component(nil), knowledge.DaemonPrefix) // its own line, not that of the rank it failed
	if daemons && b.recordRows(rows) {
		return nil
	}
	if len(v.Root.Ranks) == 1 && !daemons {
		e.Rank = new(v.Root.Ranks[0])
	}
	if len(v.Root.Nodes) == 1 && !daemons {
		e.Node = v.Root.Nodes[0]
	}
	when := b.whenCaused()
	if !when.Valid {
		return []incident.Event{e}
	}
	e.Time, e.Uncertainty = b.s.Facts.Format(when), resolve.Uncertainty(when)
	*rows = append(*rows, row{when, turnCause, e})
	return nil
}

// recordRows tells what the daemon at fault wrote of itself, kind by kind: one row for all of it would date the last of it by the first.
func (b *builder) recordRows(rows *[]row) (told bool) {
	if b.s.Storage == nil {
		return false
	}
	causes := b.s.Storage.Causes()
	if len(causes) == 0 || slices.ContainsFunc(causes[0].Records, func(r correlate.Record) bool { return r.By != causes[0].ID || !r.T.Valid }) {
		return false // others tell of it: what happened to it says more
	}
	for _, r := range causes[0].Records {
		text := fmt.Sprintf("%s: %s", r.By, daemonWords[r.Kind].what)
		*rows = append(*rows, row{r.T, turnCause, incident.Event{Kind: incident.EventError, Time: b.s.Facts.Format(r.T), Uncertainty: resolve.Uncertainty(r.T), Event: text, Evidence: []incident.Evidence{r.Quote}}})
		told = true
	}
	return told
}

// whenCaused is when the verdict's cause happened: by its own line, by when the wait for a rank began, or by what proposed it.
func (b *builder) whenCaused() resolve.Moment {
	if fl := b.first(); fl != nil {
		when, _ := untimed(fl)
		return when
	}
	if len(b.d.winners) == 0 {
		return resolve.Moment{}
	}
	top := b.d.winners[0]
	if top.Class == mechanism.Collective {
		return b.s.Graph.Start
	}
	return top.At
}

// isLastWords tells whether a row shows what the blamed rank wrote last.
func (b *builder) isLastWords(e incident.Event) bool {
	return b.words != nil && b.words.ok && len(e.Evidence) == 1 && e.Evidence[0].File == b.words.at.File && e.Evidence[0].Line == b.words.at.Line
}

// shareLine tells whether two lists of evidence rest on one line.
func shareLine(some, others []incident.Evidence) bool {
	return slices.ContainsFunc(some, func(x incident.Evidence) bool {
		return x.File != "" && slices.ContainsFunc(others, func(y incident.Evidence) bool { return y.File == x.File && y.Line == x.Line }) || shareLine(x.Inputs, others)
	}) || slices.ContainsFunc(others, func(y incident.Evidence) bool { return len(y.Inputs) > 0 && shareLine(some, y.Inputs) })
}
