package diagnose

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// What advice points to in the logs is shown: nobody has to look for what was read here.

// possible tells whether what an advice says is to be done and can be: on what is known, and, if at once, of a job that is there.
func (b *builder) possible(a knowledge.Advice, when string) bool {
	switch {
	case mechanism.AtHand(b.s, a.Prepares()):
		return false
	case strings.Contains(a.Command, "{root}") && len(b.ours(b.r.Verdict.Root.Nodes)) == 0:
		return false
	case when == "now" && a.NeedsJob() && !b.s.Facts.Alive():
		return false
	case a.Names(knowledge.Frame) && b.raised() == nil:
		return false
	case a.Names(knowledge.Last):
		return b.canStart()
	}
	return true
}

// inLogs adds to values what advice may point to in the logs.
func (b *builder) inLogs(values map[string]string) {
	values[knowledge.Save] = "the last completed checkpoint (these logs show none)"
	if from := b.r.Action.ResumeFrom; from != nil {
		values[knowledge.Save] = fmt.Sprintf("step %d", from.Step)
	}
	values[knowledge.Since] = b.since(values["node"])
	if fl := b.first(); fl != nil {
		values[knowledge.Line] = place(fl.At)
	}
	if x := b.raised(); x != nil {
		values[knowledge.Line] = place(&x.At)
		if fr := ownFrame(x); fr != nil {
			values[knowledge.Frame] = fmt.Sprintf("%s:%d in %s", path.Base(fr.File), fr.Line, fr.Func)
		}
	}
}

func place(at *worker.At) string { return fmt.Sprintf("%s:%d", at.File, at.Line) }

// first is the line that the verdict rests on; nil where it rests on counters or silence.
func (b *builder) first() *resolve.Failure {
	if len(b.d.winners) == 0 || len(b.d.winners[0].Failures) == 0 || b.d.winners[0].Failures[0].At == nil {
		return nil
	}
	return b.d.winners[0].Failures[0]
}

// raised is the exception that the verdict rests on.
func (b *builder) raised() *worker.Exception {
	if fl := b.first(); fl != nil {
		return fl.Exc
	}
	return nil
}

// ownFrame is the innermost call of the job's own code, nil where the stack shows none.
func ownFrame(x *worker.Exception) *worker.Frame {
	frames := x.Frames
	if len(frames) == 0 {
		frames = x.Main
	}
	for i := len(frames) - 1; i >= 0; i-- {
		if !mechanism.OfLibrary(frames[i].File) {
			return &frames[i]
		}
	}
	return nil
}

// blamed is the first rank at the root of a wait; nil where the files cannot be looked into again.
func (b *builder) blamed() *resolve.Rank {
	f := b.s.Facts
	if ranks := b.r.Verdict.Root.Ranks; len(ranks) > 0 && f.LastWords != nil {
		return f.Rank(ranks[0])
	}
	return nil
}

// lastWords is what a rank wrote last before the others began to wait.
type lastWords struct {
	at   worker.At
	text string
	ok   bool
}

func (b *builder) lastWords(r *resolve.Rank) lastWords {
	if b.words == nil {
		w := lastWords{}
		w.at, w.text, w.ok = b.s.Facts.LastWords(r, b.s.Graph.Start, b.reports(r))
		w.ok = w.ok && !b.ofStart(w.at)
		b.words = &w
	}
	return *b.words
}

// ofStart says that a line was printed before the first step of a job that went on to train: a rank that prints nothing in its steps was not
// stopped there.
func (b *builder) ofStart(at worker.At) bool {
	f := b.s.Facts
	if !f.Job.Training {
		return false
	}
	if slices.ContainsFunc(worker.Within(f.Obs.Identities, at.File), func(x worker.Identity) bool { return x.Off == at.Off }) {
		return true
	}
	first := resolve.Moment{}
	for _, p := range f.Progress {
		if p.Phase == worker.Training {
			first = first.Earliest(p.T)
		}
	}
	return f.At(at).Before(first)
}

// reports are where the files of a rank begin to tell of the time-out, where no time of the wait is known.
func (b *builder) reports(r *resolve.Rank) map[string]int64 {
	if b.s.Graph.Start.Valid {
		return nil
	}
	first := map[string]int64{}
	note := func(at worker.At) {
		if off, seen := first[at.File]; slices.Contains(r.Files, at.File) && (!seen || at.Off < off) {
			first[at.File] = at.Off
		}
	}
	for _, g := range b.s.Graph.Groups {
		for _, p := range g.Pending {
			note(p.At)
		}
	}
	for _, fl := range r.Failures {
		if fl.At != nil {
			note(*fl.At)
		}
	}
	return first
}

// mostLastWords is how many characters of a last line are shown.
const mostLastWords = 72

// begin is the first words of a line, without the labels of a process group in front of it.
func begin(text string) string {
	for range 2 {
		if label, rest, ok := strings.Cut(text, "] "); ok && strings.HasPrefix(label, "[") && rest != "" {
			text = strings.TrimLeft(rest, " ")
		}
	}
	if len(text) <= mostLastWords {
		return text
	}
	text = strings.ToValidUTF8(text[:mostLastWords], "")
	if i := strings.LastIndexByte(text, ' '); i > mostLastWords/2 {
		text = text[:i]
	}
	return strings.TrimRight(text, " .,:;") + "…"
}

// canStart tells whether there is a last line to start from, or a log to get that may have one.
func (b *builder) canStart() bool {
	r := b.blamed()
	return r != nil && (len(r.Files) == 0 || b.lastWords(r).ok)
}

// fromLastWords is the advice to start from what the blamed rank wrote last: with that line, or to get its log.
func (b *builder) fromLastWords(a knowledge.Advice) knowledge.Advice {
	if !a.Names(knowledge.Last) {
		return a
	}
	w := b.lastWords(b.blamed())
	if !w.ok {
		return knowledge.Advice{Text: "Get rank {rank}'s log: none of its lines are here."}
	}
	quoted := func(at *worker.At, text string) string {
		return place(at) + ": “" + strings.NewReplacer("{", "(", "}", ")").Replace(begin(text)) + "”"
	}
	a.Text = strings.ReplaceAll(a.Text, "{"+knowledge.Last+"}", quoted(&w.at, w.text))
	if x := b.said; x != nil && x.during && x.at.Pos != w.at.Pos {
		a.Text += " While other ranks waited it printed " + quoted(&x.at, x.text) + "."
	}
	return knowledge.Advice{Text: a.Text}
}

// lastWordsRow puts the last line of the blamed rank into the timeline, where the advice rests on it.
func (b *builder) lastWordsRow(add addRow) {
	m, ok := b.known(knowledge.Slug(b.r.Verdict.Mechanism))
	r := b.blamed()
	if !ok || r == nil || len(m.Now) == 0 || !m.Now[0].Names(knowledge.Last) {
		return
	}
	if w := b.lastWords(r); w.ok {
		when := b.s.Facts.At(w.at)
		if !when.Valid {
			when = b.s.Facts.NotBefore(w.at)
		}
		add(incident.EventLast, when, r.Node, r.ID, fmt.Sprintf("rank %d's last line before the wait", r.ID), mechanism.QuoteAt(w.at, nil))
	}
}

// saidLast is the line that the one rank which held the others wrote last before it was told of the timeout, or before the first of them gave up.
// The others' wait does not end it: what holds a rank may go on to print.
type saidLast struct {
	rank   *resolve.Rank
	at     worker.At
	t      resolve.Moment
	text   string
	silent float64         // seconds from then until it was told
	during bool            // the others had begun to wait
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
	if r == nil {
		return nil
	}
	told := g.Report
	if r.Notified != nil {
		told = f.At(*r.Notified)
	}
	at, text, ok := f.LastWords(r, told.Add(told.Unc), b.toldIn(r))
	t := f.At(at)
	if !ok || !told.Valid || !t.Valid || t.T < g.Start.T-ofTheWait {
		return nil
	}
	x := &saidLast{rank: r, at: at, t: t, text: text, silent: told.T - t.T, during: g.Start.Before(t)}
	if r.Notified == nil && !x.during {
		return nil // nothing ties it to the wait but its place before it, and that its last words say already
	}
	for _, l := range f.Ladders {
		if l.Last.File == at.File && l.Last.Off == at.Off {
			x.ladder = l
		}
	}
	return x
}

// toldIn is where the files of a rank begin to tell of the timeout of others.
func (b *builder) toldIn(r *resolve.Rank) map[string]int64 {
	first := map[string]int64{}
	if r.Notified != nil {
		first[r.Notified.File] = r.Notified.Off
	}
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
	const justNow = 10 // seconds
	silent := fmt.Sprintf("its log holds nothing more for %s, until %s", mechanism.Duration(x.silent), x.until())
	if x.silent < justNow {
		silent = "it printed right until " + x.until()
	}
	if l := x.ladder; l != nil {
		return fmt.Sprintf("rank %d was retrying %s: the last of %s is from %s. No line shows how that try ended: %s", x.rank.ID, l.Request(), plural(int(l.Lines), "logged retry", "logged retries"), clock(x.t), silent)
	}
	return fmt.Sprintf("the last line from rank %d is “%s”, at %s. No line shows what it did then: %s", x.rank.ID, begin(x.text), clock(x.t), silent)
}

// until says what ended the wait of the others.
func (x *saidLast) until() string {
	if x.rank.Notified == nil {
		return "the waiting ranks gave up"
	}
	return "it was notified of the timeout"
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
		text := fmt.Sprintf("rank %d's last line before %s", x.rank.ID, x.until())
		if x.ladder != nil {
			text = fmt.Sprintf("rank %d's last logged retry of %s", x.rank.ID, x.ladder.Request())
		}
		add(incident.EventLast, x.t, x.rank.Node, x.rank.ID, text, mechanism.QuoteAt(x.at, nil))
	}
}
