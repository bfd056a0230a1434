package diagnose

import (
	"fmt"
	"sort"
	"strings"

	"faultline/analysis/ascii"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// chain tells the story from the cause to the end: what broke, whom it held, who noticed, what ended the job.
func (b *builder) chain() {
	b.r.Chain = []incident.Link{}
	for _, p := range b.d.winners {
		b.causeLinks(p)
	}
	if len(b.d.winners) > 0 {
		b.consequenceLinks(b.d.winners[0])
		b.endLinks(b.d.winners[0])
	} else if o := mechanism.Odd(b.s); o != nil {
		b.links(incident.Consequence, o.Findings)
	}
	b.held()
}

// link adds a link to the chain.
func (b *builder) link(role, text string, ev ...incident.Evidence) {
	b.links(role, []incident.Finding{{Statement: text, Evidence: ev}})
}

func (b *builder) links(role string, fs []incident.Finding) {
	for _, x := range fs {
		if x.Evidence == nil {
			x.Evidence = []incident.Evidence{}
		}
		b.r.Chain = append(b.r.Chain, incident.Link{Statement: x.Statement, Role: role, Kind: x.Kind, Evidence: x.Evidence})
	}
}

// causeLinks tell what speaks for a proposal: the cause, what it comes from, and what it led to.
func (b *builder) causeLinks(p *mechanism.Proposal) {
	for j, x := range p.For {
		role := incident.Cause
		switch {
		case p.Class == mechanism.Ending:
			role = incident.End
		case p.Echo, j > 0 && p.Class == mechanism.Local: // an echo is of a cause that nothing shows
			role = incident.Consequence
		}
		b.links(role, []incident.Finding{x})
		if j == 0 {
			b.links(incident.Cause, p.Because)
		}
	}
	b.links(incident.Consequence, p.Led)
}

// consequenceLinks tell who waited, who was torn down, and what was printed after it.
func (b *builder) consequenceLinks(top *mechanism.Proposal) {
	if n := b.s.Graph.Waiting(); n > 0 && top.Class != mechanism.Collective && len(top.Groups) == 0 {
		var ev []incident.Evidence
		for _, gr := range b.s.Facts.Groups {
			if len(gr.Pending) > 0 && len(ev) < 2 {
				ev = append(ev, mechanism.PendingEvidence(gr.Pending[0])...)
			}
		}
		b.links(incident.Consequence, []incident.Finding{{Statement: plural(n, "rank waited", "ranks waited") + " in collectives until the watchdog gave up", Kind: incident.LinkWait, Evidence: ev}})
	}
	if n, ev := b.symptoms(top); n > 0 && top.Class != mechanism.Symptom {
		b.link(incident.Consequence, fmt.Sprintf("processes were torn down or lost their peers (reported by %s)", plural(n, "process", "processes")), ev...)
	}
	if top.Class != mechanism.Collective {
		return
	}
	if fs := b.after(); len(fs) > 0 {
		var ev []incident.Evidence
		for _, fl := range fs[:min(len(fs), 2)] {
			ev = append(ev, mechanism.FailureEvidence(fl))
		}
		b.link(incident.Consequence, fmt.Sprintf("%s printed after the timeout, during teardown", plural(len(fs), "failure was", "failures were")), ev...)
	}
}

// endLinks tell who ended the job, and what its launcher said.
func (b *builder) endLinks(top *mechanism.Proposal) {
	if e := b.endedBy(top); e != nil {
		b.link(incident.End, endText(e), mechanism.QuoteAt(e.Line.At, nil))
	}
	if n, first, ev := b.exits(); n > 0 {
		text := "the launcher reported " + plural(n, "failed process", "failed processes")
		if first {
			text = "torchrun reported " + plural(n, "failed process", "failed processes") + "; what it calls the root cause is only the first failure its own agent saw"
		}
		b.link(incident.End, text, ev...)
	}
}

func endText(e *resolve.End) string {
	text := e.Line.By() + " ended the step"
	switch {
	case e.Says != "":
		text = "SLURM's records: it ended the job"
	case e.Line.System != "":
		text = e.Line.By() + " ended the job"
	}
	if e.Line.Reason != "" {
		text += " (" + strings.ToLower(string(e.Line.Reason)) + ")"
	}
	return text
}

// summary says how far a job came that was ended from outside, and who ended one whose trouble ends no job by itself.
func (b *builder) summary(top *mechanism.Proposal) string {
	e := b.endedBy(top)
	step, stepped := b.lastStep()
	switch {
	case top.Class == mechanism.Ending && stepped:
		return fmt.Sprintf("%s; the last step logged was %d", top.Summary, step)
	case top.Class == mechanism.Degraded && e != nil && e.Line.Reason != "":
		return top.Summary + "; " + endText(e)
	}
	return top.Summary
}

// endedBy is the first word of whoever ended the job, where that is not the cause itself.
func (b *builder) endedBy(top *mechanism.Proposal) *resolve.End {
	if top.Class == mechanism.Ending {
		return nil
	}
	for _, e := range b.s.Facts.Ends {
		switch e.Line.Kind {
		case worker.EndCancelled, worker.EndTerminating, worker.EndAborted, worker.EndFailed:
			return e
		case worker.EndNodeFailure:
			if top.Class != mechanism.Environment {
				return e
			}
		}
	}
	return nil
}

// symptoms counts the processes that printed something because of the cause.
func (b *builder) symptoms(top *mechanism.Proposal) (int, []incident.Evidence) {
	mine := map[*resolve.Failure]bool{}
	for _, fl := range top.Failures {
		mine[fl] = true
	}
	ranks, files := map[int]bool{}, map[string]bool{}
	var ev []incident.Evidence
	for _, fl := range b.s.Facts.Failures {
		if mine[fl] || fl.Role == knowledge.CauseRole || fl.Kind == resolve.KindTask || strings.HasPrefix(string(fl.Sign), "watchdog") {
			continue
		}
		if fl.Rank != resolve.NoRank {
			ranks[fl.Rank] = true
		}
		files[fl.At.File] = true
		// One line may say it in two ways.
		if e := mechanism.FailureEvidence(fl); len(ev) == 0 || len(ev) == 1 && (e.File != ev[0].File || e.Offset != ev[0].Offset) {
			ev = append(ev, e)
		}
	}
	if len(ranks) > 0 {
		return len(ranks), ev
	}
	return len(files), ev // lines that name no rank: at least one process a file
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// after are failures with a cause's wording that came after the hang.
func (b *builder) after() []*resolve.Failure {
	var out []*resolve.Failure
	for _, fl := range b.s.Facts.Failures {
		if fl.Role == knowledge.CauseRole && mechanism.AfterHang(b.s, fl) {
			out = append(out, fl)
		}
	}
	return out
}

// exits counts the processes of which a launcher says that they failed; first says that it calls one of them the root cause.
func (b *builder) exits() (n int, first bool, ev []incident.Evidence) {
	for _, c := range b.s.Facts.Obs.ChildFailed {
		n++
		first = first || c.Root
	}
	for _, c := range b.s.Facts.Obs.ChildFailed {
		if c.Root == first && len(ev) < 2 {
			ev = append(ev, mechanism.QuoteAt(c.At, nil))
		}
	}
	return n, first, ev
}

// timelineLimit bounds the rows of the timeline; what is left out is counted in a warning.
const timelineLimit = 120

type row struct {
	t    resolve.Moment
	turn turn
	e    incident.Event
}

// addRow adds a row to the timeline, if its time is known.
type addRow func(kind string, t resolve.Moment, node string, rank int, text string, ev ...incident.Evidence)

// timeline puts what has a time in order. Order is shown by time; the uncertainty column says how far it is proven.
func (b *builder) timeline() {
	var rows []row
	add := func(kind string, t resolve.Moment, node string, rank int, text string, ev ...incident.Evidence) {
		if !t.Valid {
			return
		}
		if ev == nil {
			ev = []incident.Evidence{}
		}
		e := incident.Event{Kind: kind, Time: b.s.Facts.Format(t), Uncertainty: resolve.Uncertainty(t), Clock: b.ownTime(t, node), Node: node, Event: text, Evidence: ev}
		if rank != resolve.NoRank {
			e.Rank = new(rank)
		}
		rows = append(rows, row{t, turns[kind], e})
	}
	b.progressRows(add)
	b.waitRows(add)
	b.failureRows(func(of turn, t resolve.Moment, node string, rank int, text string, ev ...incident.Evidence) {
		n := len(rows)
		add(incident.EventError, t, node, rank, text, ev...)
		for i := range rows[n:] {
			rows[n+i].turn = of
		}
	})
	b.lastWordsRow(add)
	b.heldRow(add)
	b.exitRows(add)
	b.endRows(add)
	causes := b.causeRow(&rows)
	inOrder(rows)
	if more := len(rows) - timelineLimit; more > 0 {
		b.r.Warnings = append(b.r.Warnings, fmt.Sprintf("the timeline omits %d later events", more))
		rows = rows[:timelineLimit]
	}
	b.r.Timeline = append([]incident.Event{}, causes...)
	b.when = make([]resolve.Moment, len(causes))
	for _, x := range rows {
		b.r.Timeline, b.when = append(b.r.Timeline, x.e), append(b.when, x.t)
	}
}

// progressRows tell how far the job came.
func (b *builder) progressRows(add addRow) {
	f := b.s.Facts
	if c := f.Job.ResumedFrom; c != nil {
		add(incident.EventSave, f.At(c.At), "", resolve.NoRank, fmt.Sprintf("resumed from the step %d checkpoint", c.Step), mechanism.QuoteAt(c.At, nil))
	}
	if s, ok := b.lastSave(); ok {
		add(incident.EventSave, f.At(s.At), "", resolve.NoRank, fmt.Sprintf("step %d checkpoint saved", s.Step), mechanism.QuoteAt(s.At, nil))
	}
	if p := b.lastProgress(); p != nil {
		text := "last progress line"
		if p.Step >= 0 {
			text = fmt.Sprintf("last progress: step %d", p.Step)
		}
		add(incident.EventStep, p.T, f.NodeOf(p.At), p.Rank, text, mechanism.QuoteAt(p.At, nil))
	}
}

// waitRows tell of each group that is stuck when the first rank began to wait, and when the first gave up.
func (b *builder) waitRows(add addRow) {
	groups := b.s.Graph.Groups
	for _, gr := range groups[:min(len(groups), 6)] {
		if len(gr.Pending) == 0 {
			continue
		}
		first, last := gr.Pending[0], gr.Pending[0]
		n := map[*resolve.Rank]bool{}
		for _, p := range gr.Pending {
			n[p.Rank] = true
			if first.Start.Earliest(p.Start) != first.Start {
				first = p
			}
			if last.Report.Earliest(p.Report) != last.Report {
				last = p
			}
		}
		add(incident.EventWait, first.Start, first.Rank.Node, first.Rank.ID, fmt.Sprintf("%s #%d: %s waiting (time of the timeout line minus elapsed time)", first.Work.Op, first.Work.Seq, firstOf(len(n))),
			mechanism.PendingEvidence(first)...)
		add(incident.EventTimeout, last.Report, last.Rank.Node, last.Rank.ID, fmt.Sprintf("first watchdog timeout on %s #%d", last.Work.Op, last.Work.Seq), mechanism.PendingEvidence(last)...)
	}
}

// exitRows tell what was told to the ranks that are blamed, when they ended, and who else ended first.
func (b *builder) exitRows(add addRow) {
	f, blamed := b.s.Facts, b.r.Verdict.Root.Ranks
	for _, id := range blamed {
		if r := f.Rank(id); r != nil && r.Notified != nil {
			add(incident.EventTold, f.At(*r.Notified), r.Node, id, "notified of the timeout by "+r.Notifier, mechanism.QuoteAt(*r.Notified, nil))
		}
	}
	var other *resolve.Rank
	for _, r := range f.Ranks {
		switch {
		case r.Exit == nil || !r.Exit.T.Valid:
		case isIn(blamed, r.ID):
			add(incident.EventExit, r.Exit.T, r.Node, r.ID, fmt.Sprintf("process exits with code %d", r.Exit.Code), mechanism.QuoteAt(r.Exit.At, nil))
		case other == nil || r.Exit.T.T < other.Exit.T.T:
			other = r
		}
	}
	if r := other; r != nil {
		add(incident.EventExit, r.Exit.T, r.Node, r.ID, fmt.Sprintf("the first other process exits, with code %d", r.Exit.Code), mechanism.QuoteAt(r.Exit.At, nil))
	}
}

// endRows tell what the scheduler said. The job's and the step's line say the same.
func (b *builder) endRows(add addRow) {
	said := map[string]bool{}
	for _, e := range b.s.Facts.Ends {
		text := e.Line.By() + ": " + strings.ReplaceAll(string(e.Line.Kind), "-", " ")
		if e.Line.Kind == worker.EndCancelled && b.cleanedUp() {
			text = e.Line.By() + " ends the step after its processes have failed (marked “cancelled”)"
		}
		if e.Line.Reason != "" {
			text += " due to " + strings.ToLower(string(e.Line.Reason))
		}
		if !said[text] && len(said) < 4 {
			said[text] = true
			add(incident.EventEnd, e.T, "", resolve.NoRank, text, mechanism.QuoteAt(e.Line.At, nil))
		}
	}
}

// cleanedUp says that what the scheduler calls a cancellation is how it ended a step that had failed: the cause is another, processes failed,
// and its records know of nobody who cancelled it.
func (b *builder) cleanedUp() bool {
	if by, _ := b.s.Facts.Accounting.Cancelled(); by || len(b.d.winners) == 0 || b.d.winners[0].Class == mechanism.Ending {
		return false
	}
	n, _, _ := b.exits()
	return n > 0
}

// firstOf names the first of those who wait.
func firstOf(n int) string {
	if n == 1 {
		return "a rank starts"
	}
	return fmt.Sprintf("the first of %d ranks starts", n)
}

// rowsPerSign bounds how often the same kind of line has a row of its own.
const rowsPerSign = 3

// failureRows adds what went wrong in single processes: causes one by one, what is said by many as its first line.
func (b *builder) failureRows(add func(of turn, t resolve.Moment, node string, rank int, text string, ev ...incident.Evidence)) {
	f := b.s.Facts
	type kind struct {
		sign knowledge.ID
		mech knowledge.Slug
		text string
	}
	of := func(fl *resolve.Failure) kind {
		if fl.Sign == "" || fl.Role == knowledge.ConsequenceRole {
			return kind{"", fl.Mechanism, withoutNumbers(fl.Text)} // different wordings that mean the same are one row
		}
		return kind{fl.Sign, fl.Mechanism, ""}
	}
	count, shown := map[kind]int{}, map[kind]int{}
	for _, fl := range f.Failures {
		count[of(fl)]++
	}
	rows := 0
	told := map[worker.Pos]bool{} // one line may carry two signs; the first tells it
	for _, fl := range f.Failures {
		if fl.Kind == resolve.KindExit || fl.Kind == resolve.KindTask || fl.Says(knowledge.OfWatchdog) || fl.Entry().System == "SLURM" || rows == 40 || told[fl.At.Pos] {
			continue
		}
		k := of(fl)
		limit := 1
		if fl.Role == knowledge.CauseRole {
			limit = rowsPerSign
		}
		if shown[k] >= limit {
			continue
		}
		shown[k]++
		rows++
		told[fl.At.Pos] = true
		text, notes := Excerpt(fl.Text), []string(nil)
		if more := count[k] - limit; more > 0 && shown[k] == limit {
			notes = append(notes, "+"+plural(more, "similar line", "similar lines"))
		}
		when, bound := untimed(fl)
		if bound != "" {
			notes = append(notes, bound)
		}
		if len(notes) > 0 {
			text += " (" + strings.Join(notes, "; ") + ")"
		}
		add(turnOf(fl), when, fl.Node, fl.Rank, text, mechanism.FailureEvidence(fl))
	}
}

// untimed says when a failure happened. A line without a time of its own stands between the last time above it and the
// end of its process: the row takes the end, or where that is not known the earliest possible time, and says which.
func untimed(fl *resolve.Failure) (when resolve.Moment, bound string) {
	if fl.T.Valid || !fl.NotBefore.Valid {
		return fl.T, ""
	}
	if ended := fl.Proc.Ended(); ended.Valid && ended.T >= fl.NotBefore.T {
		return ended, "at or before this time"
	}
	return fl.NotBefore, "at or after this time"
}

func (b *builder) lastProgress() *resolve.ProgressPoint {
	var best *resolve.ProgressPoint
	for i := range b.s.Facts.Progress {
		p := &b.s.Facts.Progress[i]
		if p.T.Valid && (best == nil || p.T.T > best.T.T || p.T.T == best.T.T && p.Step > best.Step) {
			best = p
		}
	}
	return best
}

func isIn(list []int, v int) bool {
	i := sort.SearchInts(list, v)
	return i < len(list) && list[i] == v
}

func withoutNumbers(s string) string {
	var out strings.Builder
	last := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if ascii.Digit(c) {
			c = '#'
		}
		if c == '#' && last == '#' {
			continue
		}
		out.WriteByte(c)
		last = c
	}
	return out.String()
}
