package messages

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"faultline/incident"
	"faultline/messages/blockkit"
)

// How much of the proof and of the timeline a thread shows. The report file has all of it.
const (
	proofLinks        = 2
	proofLinksOpen    = 1   // of a verdict that is not decided
	proofSentence     = 140 // characters
	timelineRows      = 7
	timelineRowsOpen  = 3
	timelineHead      = 2 // the first events are shown, then the last ones that fit
	timelineEvent     = 70
	timelineQuoteCell = 60
)

// proofBlocks are the first links of the chain, each with the line that shows it.
func proofBlocks(v *view, said string) blockkit.Blocks {
	most := proofLinks
	if v.Tone == "open" {
		most = proofLinksOpen
	}
	var es []blockkit.RichElement
	shown := map[string]bool{}
	for _, l := range v.Chain {
		i := slices.IndexFunc(l.Proofs, func(p proof) bool { return p.Quote })
		if i < 0 || shown[l.Proofs[i].Where] {
			continue // its line is there already
		}
		if len(shown) == most {
			break
		}
		p := l.Proofs[i]
		shown[p.Where] = true
		if !strings.Contains(said, p.Where) {
			es = append(es, labelled(capital(l.Role), clip(l.Statement, proofSentence)), para(mono(clip(p.Where, 200))))
		}
		es = append(es, box(withoutHead(p.Text), slackQuote))
	}
	return rich(es...)
}

// withoutHead leaves out the prefixes of a line that is too long to be shown: "[rank0]:[E121 16:08:24 ProcessGroupNCCL.cpp:632]". What the
// line says comes after them, often at its end.
func withoutHead(text string) string {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) <= slackQuote || !strings.HasPrefix(text, "[") {
		return text
	}
	if i := strings.LastIndex(text[:min(len(text), slackQuote)], "] "); i > 0 {
		return "… " + strings.TrimSpace(text[i+2:])
	}
	return text
}

// evidenceParts shows proofs: the place in code, the exact line in a box.
func evidenceParts(ps []proof) []blockkit.RichElement {
	var es []blockkit.RichElement
	for i, p := range ps {
		if i == slackProofs {
			return append(es, para(run(fmt.Sprintf("… and %d more in the report file", len(ps)-i))))
		}
		where := blockkit.Clip(p.Where, 200)
		if p.Quote {
			es = append(es, para(mono(where)), box(p.Text, slackQuote))
			continue
		}
		es = append(es, para(run(capital(where)+": "+blockkit.Clip(p.Text, slackSentence))))
	}
	return es
}

// Timeline shows when it happened, as a table that goes with the picture of the ranks.
func Timeline(r *incident.Report) blockkit.Message {
	v := newView(r)
	title, _ := RankMapCaption(r)
	if table, ok := timelineTable(v); ok {
		blocks := blockkit.Blocks{table}
		if len(v.Clocks) > 0 { // one line: the first is of the programs, whose rows these are
			blocks = append(blocks, blockkit.Context{Elements: []blockkit.Text{*blockkit.Plain(clip(v.Clocks[0].Statement, slackSentence))}})
		}
		return post(title, blocks)
	}
	return post(title, rich(para(run(title))))
}

// timelineTable is the timeline with the date in the caption where all events share it. Of a long one the first and the
// last events are shown; a row between them and the caption say how many are not.
func timelineTable(v *view) (blockkit.DataTable, bool) {
	if len(v.Timeline) == 0 {
		return blockkit.DataTable{}, false
	}
	date := commonDate(v.Report.Timeline)
	events := make([]blockkit.Row, len(v.Timeline))
	for i, e := range v.Timeline {
		at := strings.TrimSpace(strings.TrimPrefix(e.Time, date+"T") + " " + e.Uncertain)
		events[i] = row(at, clip(e.Who, 60), clip(e.Event, timelineEvent), clip(firstQuote(e.Proofs), timelineQuoteCell))
	}
	most := timelineRows
	if v.Tone == "open" {
		most = timelineRowsOpen
	}
	earlier := causeRow(v.Report)
	shown, hidden := pickRows(events[earlier:], most)
	hidden += earlier
	caption := "Timeline"
	if id := v.Report.Job.ID; id != nil {
		caption += " of job " + clip(flat(*id), 60)
	}
	if date != "" {
		caption += ", " + date
	}
	if hidden > 0 {
		caption += fmt.Sprintf(" (%s of %s events)", grouped(int64(len(events)-hidden)), grouped(int64(len(events))))
	}
	return blockkit.DataTable{Caption: caption, PageSize: 10, Rows: append([]blockkit.Row{row("Time", "Where", "Event", "Line")}, shown...)}, true
}

// causeRow is the first row of the timeline that belongs to the root cause: of a rank that the verdict names, with a line that the cause rests
// on, or where the others began to wait for a rank that wrote nothing. What came before it is left out. 0 where there is none.
func causeRow(r *incident.Report) int {
	if r.Verdict.Status == incident.Inconclusive || r.Verdict.Status == incident.NoFailure {
		return 0
	}
	cause := slices.IndexFunc(r.Chain, func(l incident.Link) bool { return l.Role == incident.Cause || l.Role == incident.Trigger })
	if cause < 0 {
		return 0
	}
	quotes := map[string]bool{}
	for _, p := range proofs(r.Chain[cause].Evidence) {
		quotes[p.Where] = quotes[p.Where] || p.Quote
	}
	return max(0, slices.IndexFunc(r.Timeline, func(e incident.Event) bool {
		switch {
		case e.Rank != nil && slices.Contains(r.Verdict.Root.Ranks, *e.Rank):
			return true
		case e.Time != nil && slices.ContainsFunc(r.Groups, func(g incident.Group) bool { return waitsSince(g, *e.Time) }):
			return true
		}
		return slices.ContainsFunc(proofs(e.Evidence), func(p proof) bool { return quotes[p.Where] })
	}))
}

// waitsSince tells whether a group has been stuck since this time.
func waitsSince(g incident.Group, since string) bool {
	return g.Stuck != nil && g.Stuck.StartedAt != nil && *g.Stuck.StartedAt == since
}

// pickRows keeps the first events and the last ones, most together.
func pickRows(events []blockkit.Row, most int) (shown []blockkit.Row, hidden int) {
	if len(events) <= most {
		return events, 0
	}
	head := min(timelineHead, most-1)
	hidden = len(events) - most
	shown = append(shown, events[:head]...)
	shown = append(shown, row("…", "", count(hidden, "more event")+" in the report", ""))
	return append(shown, events[head+hidden:]...), hidden
}

// commonDate is the date that all stamped events share, else "".
func commonDate(events []incident.Event) string {
	date := ""
	for _, e := range events {
		if e.Time == nil {
			continue
		}
		d, _, ok := strings.Cut(flat(*e.Time), "T")
		if !ok || len(d) > len("2026-07-09") || date != "" && date != d {
			return ""
		}
		date = d
	}
	return date
}

func row(cells ...string) blockkit.Row {
	out := make(blockkit.Row, len(cells))
	for i, c := range cells {
		if c == "" {
			c = " "
		}
		out[i] = blockkit.RawText{Text: c}
	}
	return out
}
