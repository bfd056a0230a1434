package messages

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"faultline/incident"
	"faultline/messages/blockkit"
)

// Room of the two halves of the evidence, in characters, so that both stay in one message. A chain is seldom longer
// than half of its room.
const (
	chainRoom    = 5500
	timelineRoom = 5000
	timelineHead = 8 // the first events are shown, then the last ones that fit
	timelineRows = 60
)

// Evidence shows how it came about: the cause chain with the exact lines, and the timeline as a table that can be sorted.
// It is one message unless the chain is very long.
func Evidence(r *incident.Report) []blockkit.Message {
	v := newView(r)
	m := blockkit.Message{Text: blockkit.Escape("How we know: " + v.Headline), Blocks: blockkit.Blocks{heading("How we know")}}
	if len(v.Chain) == 0 && v.Report.Verdict.Status != incident.NoFailure {
		m.Blocks = append(m.Blocks, rich(para(run("No chain of events is proven by these files.")))...)
	}
	m.Blocks = append(m.Blocks, chainBlocks(v.Chain)...)
	if table, ok := timelineTable(v); ok {
		m.Blocks = append(m.Blocks, table)
	} else {
		m.Blocks = append(m.Blocks, rich(para(run("Nothing is known about when it happened.")))...)
	}
	m.Blocks = append(m.Blocks, artifactBlocks(v.Artifacts)...)
	m.Blocks = append(m.Blocks, small(v.Verified, v.Storage)...)
	out, _ := blockkit.Fit(m)
	return out
}

// chainBlocks is a numbered list with the proofs under each link. Each link is a block: there is air between blocks.
func chainBlocks(chain []linkView) blockkit.Blocks {
	var out blockkit.Blocks
	room := chainRoom
	for i, l := range chain {
		// Numbers as text: a list that goes on after a box needs an offset, which not every client knows.
		part := []blockkit.RichElement{labelled(fmt.Sprintf("%d. %s", i+1, capital(l.Role)), blockkit.Clip(l.Statement, slackSentence))}
		part = append(part, evidenceParts(l.Proofs)...)
		size := partsSize(part)
		if i == slackLinks || room < size {
			return append(out, rich(para(run(fmt.Sprintf("… and %s in the report file.", count(len(chain)-i, "more step")))))...)
		}
		room -= size
		out = append(out, rich(part...)...)
	}
	return out
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

// partsSize is how many characters a reader sees.
func partsSize(es []blockkit.RichElement) int {
	n := 0
	add := func(is blockkit.Inlines) {
		for _, i := range is {
			if r, ok := i.(blockkit.Run); ok {
				n += utf8.RuneCountInString(r.Text)
			}
		}
	}
	for _, e := range es {
		switch e := e.(type) {
		case blockkit.RichSection:
			add(e.Elements)
		case blockkit.Preformatted:
			add(e.Elements)
		case blockkit.RichList:
			for _, s := range e.Elements {
				add(s.Elements)
			}
		}
	}
	return n
}

// timelineTable is the timeline with the date in the caption where all events share it. Of a long one the first and the
// last events are shown; a row between them and the caption say how many are not.
func timelineTable(v *view) (blockkit.DataTable, bool) {
	if len(v.Timeline) == 0 {
		return blockkit.DataTable{}, false
	}
	date := commonDate(v.Report.Timeline)
	events := make([]blockkit.Row, len(v.Timeline))
	sizes := make([]int, len(v.Timeline))
	for i, e := range v.Timeline {
		at := strings.TrimSpace(strings.TrimPrefix(e.Time, date+"T") + " " + e.Uncertain)
		cells := []string{at, clip(e.Who, 60), blockkit.Clip(e.Event, 300), clip(firstQuote(e.Proofs), 120)}
		events[i], sizes[i] = row(cells...), len([]rune(strings.Join(cells, "")))+4
	}
	shown, hidden := pickRows(events, sizes)
	caption := "Timeline"
	if id := v.Report.Job.ID; id != nil {
		caption += " of job " + clip(flat(*id), 60)
	}
	if date != "" {
		caption += ", " + date
	}
	if hidden > 0 {
		caption += fmt.Sprintf(": %s of %s events", grouped(int64(len(events)-hidden)), grouped(int64(len(events))))
	}
	return blockkit.DataTable{Caption: caption, PageSize: 15, Rows: append([]blockkit.Row{row("Time", "Who", "What happened", "Where it says so")}, shown...)}, true
}

// pickRows keeps the first events and as many of the last ones as there is room for.
func pickRows(events []blockkit.Row, sizes []int) (shown []blockkit.Row, hidden int) {
	total := 0
	for _, n := range sizes {
		total += n
	}
	if total <= timelineRoom && len(events) <= timelineRows {
		return events, 0
	}
	room, from := timelineRoom, 0
	for from < min(timelineHead, len(events)) && room-sizes[from] > timelineRoom/2 {
		room -= sizes[from]
		from++
	}
	to := len(events)
	for to > from && len(events)-to+from < timelineRows && room-sizes[to-1] >= 0 {
		room -= sizes[to-1]
		to--
	}
	hidden = to - from
	shown = append(shown, events[:from]...)
	if hidden > 0 {
		shown = append(shown, row("…", "", fmt.Sprintf("%s: see the report file", count(hidden, "more event")), ""))
	}
	return append(shown, events[to:]...), hidden
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
