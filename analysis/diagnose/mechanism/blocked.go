package mechanism

import (
	"fmt"

	"faultline/analysis/cost"
	"faultline/analysis/line"
	"faultline/knowledge"
)

// slowCheckpoint: each save blocks the steps for longer than earlier ones did.
func slowCheckpoint(sc *Scene) *Proposal {
	f := sc.Facts
	b, ok := f.Blocked()
	if !ok {
		return nil
	}
	p := &Proposal{Mechanism: knowledge.SlowCheckpoint, Class: Degraded, Scope: "all", At: b.Began.T, Base: 0.88, Explains: endedSlow, Waste: min(b.Share, 1)}
	p.Lost, p.Since = cost.GPUHours(b.Extra, f.Job.WorldSize), clockOf(f, b.Began.T)
	from := ""
	if b.Began.Step != line.Unknown {
		from = fmt.Sprintf(" since step %d", b.Began.Step)
	}
	if p.Since != "" {
		from += fmt.Sprintf(" (%s)", p.Since)
	}
	was := Seconds(b.Was)
	if b.Was == 0 {
		was = "almost nothing"
	}
	p.Summary = fmt.Sprintf("each save blocks training for %s%s, up from %s: %.0f%% of the time", Seconds(b.Now), from, was, 100*b.Share)
	p.Why = fmt.Sprintf("all %s since then take much longer than the longest of the %d before; the steps between them don't", plural(b.After, "save", "saves"), b.Before)
	p.For = append(p.For, finding(fmt.Sprintf("a save used to take %s, and now takes %s", was, Seconds(b.Now)), QuoteAt(b.WasAt, nil), QuoteAt(b.Onset, nil), QuoteAt(b.NowAt, nil)))
	return p
}
