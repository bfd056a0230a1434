package diagnose

import (
	"fmt"
	"slices"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
)

// saidLast is the line that the one rank which held the others wrote last before it was told of the timeout. The others' wait does not end it: what
// holds a rank may go on to print.
type saidLast struct {
	rank   *resolve.Rank
	at     worker.At
	t      resolve.Moment
	text   string
	silent float64         // seconds from then until it was told
	ladder *resolve.Ladder // whose last try it is; nil for another line
}

// ofTheWait is how long before the others began to wait a line may be, in seconds, to tell what held its rank.
const ofTheWait = 60

// saidLast finds that line, nil where no one rank held the others, or its log holds none from the time of the wait.
func (b *builder) saidLast() *saidLast {
	f, g := b.s.Facts, b.s.Graph
	if g.Shape != waitfor.Straggle || g.Late || len(g.Root) != 1 || !g.Start.Valid || f.LastWords == nil || !slices.Equal(b.r.Verdict.Root.Ranks, g.Root) {
		return nil
	}
	r := f.Rank(g.Root[0])
	if r == nil || r.Notified == nil {
		return nil
	}
	told := f.At(*r.Notified)
	at, text, ok := f.LastWords(r, told.Add(told.Unc), b.toldIn(r))
	t := f.At(at)
	if !ok || !told.Valid || !t.Valid || t.T < g.Start.T-ofTheWait {
		return nil
	}
	x := &saidLast{rank: r, at: at, t: t, text: text, silent: told.T - t.T}
	for _, l := range f.Ladders {
		if l.Last.File == at.File && l.Last.Off == at.Off {
			x.ladder = l
		}
	}
	return x
}

// toldIn is where the files of a rank begin to tell of the timeout of others.
func (b *builder) toldIn(r *resolve.Rank) map[string]int64 {
	first := map[string]int64{r.Notified.File: r.Notified.Off}
	for i := range b.s.Facts.Obs.Signals {
		s := &b.s.Facts.Obs.Signals[i]
		id, ok := b.s.Facts.RankOf(s.At)
		if off, seen := first[s.File]; ok && id == r.ID && (!seen || s.Off < off) {
			first[s.File] = s.Off
		}
	}
	return first
}

// words say what it was doing.
func (x *saidLast) words(clock func(resolve.Moment) string) string {
	silent := fmt.Sprintf("its log holds nothing more for %s, until it was notified of the timeout", mechanism.Duration(x.silent))
	if l := x.ladder; l != nil {
		return fmt.Sprintf("rank %d was retrying %s: the last of %s is from %s. No line shows how that try ended: %s", x.rank.ID, l.Request(), plural(int(l.Lines), "logged retry", "logged retries"), clock(x.t), silent)
	}
	return fmt.Sprintf("the last line from rank %d is “%s”, at %s. No line shows what it did then: %s", x.rank.ID, begin(x.text), clock(x.t), silent)
}

// held puts what the blamed rank was doing into the chain, in front of those who waited for it.
func (b *builder) held() {
	x := b.said
	if x == nil {
		return
	}
	l := incident.Link{Kind: incident.LinkHeld, Role: incident.Consequence, Evidence: []incident.Evidence{mechanism.QuoteAt(x.at, nil)},
		Statement: x.words(func(m resolve.Moment) string { return clockOf(b.s.Facts.Format(m)) })}
	i := slices.IndexFunc(b.r.Chain, func(o incident.Link) bool { return o.Kind == incident.LinkWait })
	if i < 0 {
		i = len(b.r.Chain)
	}
	b.r.Chain = slices.Insert(b.r.Chain, i, l)
}

// heldRow puts the same line into the timeline.
func (b *builder) heldRow(add addRow) {
	if x := b.said; x != nil && (b.words == nil || !b.words.ok || b.words.at.Pos != x.at.Pos) {
		text := fmt.Sprintf("rank %d's last line before it was notified of the timeout", x.rank.ID)
		if x.ladder != nil {
			text = fmt.Sprintf("rank %d's last logged retry of %s", x.rank.ID, x.ladder.Request())
		}
		add(incident.EventLast, x.t, x.rank.Node, x.rank.ID, text, mechanism.QuoteAt(x.at, nil))
	}
}
