package diagnose

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// chain tells the story from the cause to the end: what broke, whom it held, who noticed, what ended the job.
func (b *builder) chain() {
	f, g := b.s.Facts, b.s.Graph
	b.r.Chain = []incident.Link{}
	add := func(role, text string, ev []incident.Evidence) {
		if ev == nil {
			ev = []incident.Evidence{}
		}
		b.r.Chain = append(b.r.Chain, incident.Link{Statement: text, Role: role, Evidence: ev})
	}
	var top *mechanism.Proposal
	for i, p := range b.d.winners {
		if i == 0 {
			top = p
		}
		for j, x := range p.For {
			role := incident.Cause
			if j > 0 && p.Class == mechanism.Local || p.Echo { // an echo is of a cause that nothing shows
				role = incident.Consequence
			}
			if p.Class == mechanism.Ending {
				role = incident.End
			}
			add(role, x.Statement, x.Evidence)
			if j > 0 {
				continue
			}
			for _, y := range p.Because {
				add(incident.Cause, y.Statement, y.Evidence)
			}
		}
		for _, x := range p.Led {
			add(incident.Consequence, x.Statement, x.Evidence)
		}
	}
	if top == nil {
		if o := mechanism.Odd(b.s); o != nil {
			for _, x := range o.Findings {
				add(incident.Consequence, x.Statement, x.Evidence)
			}
		}
		return
	}
	if top.Class != mechanism.Collective && len(top.Groups) == 0 && len(g.Waiters)+g.Anonymous > 0 {
		var ev []incident.Evidence
		for _, gr := range f.Groups {
			if len(gr.Pending) > 0 && len(ev) < 2 {
				ev = append(ev, mechanism.PendingEvidence(gr.Pending[0])...)
			}
		}
		add(incident.Consequence, fmt.Sprintf("%s in collectives until the watchdog gave up", plural(len(g.Waiters)+g.Anonymous, "rank waited", "ranks waited")), ev)
	}
	if n, ev := b.symptoms(top); n > 0 && top.Class != mechanism.Symptom {
		add(incident.Consequence, fmt.Sprintf("processes were torn down or lost their peers: %s", plural(n, "process says", "processes say")+" so"), ev)
	}
	if top.Class == mechanism.Collective {
		if fs := b.after(); len(fs) > 0 {
			var ev []incident.Evidence
			for i, fl := range fs {
				if i == 2 {
					break
				}
				ev = append(ev, mechanism.FailureEvidence(fl))
			}
			add(incident.Consequence, fmt.Sprintf("%s after the time-out %s its teardown", plural(len(fs), "failure printed", "failures printed"), map[bool]string{true: "is", false: "are"}[len(fs) == 1]), ev)
		}
	}
	if top.Class != mechanism.Ending {
		for _, e := range f.Ends {
			switch e.Slurm.Kind {
			case "cancelled", "node-failure", "terminating", "aborted", "failed":
			default:
				continue
			}
			if top.Class == mechanism.Environment && e.Slurm.Kind == "node-failure" {
				continue
			}
			text := e.Slurm.By() + " ended the step"
			if e.Slurm.System != "" {
				text = e.Slurm.By() + " ended the job"
			}
			if e.Says != "" {
				text = "SLURM's records: it ended the job"
			}
			if e.Slurm.Reason != "" {
				text += " (" + strings.ToLower(e.Slurm.Reason) + ")"
			}
			add(incident.End, text, []incident.Evidence{mechanism.QuoteAt(e.Slurm.At, nil)})
			break
		}
	}
	if n, first, ev := b.exits(); n > 0 {
		text := "the launcher reported " + plural(n, "failed process", "failed processes")
		if first {
			text = "torchrun reported " + plural(n, "failed process", "failed processes") + "; what it calls the root cause is only the first one its own agent saw"
		}
		add(incident.End, text, ev)
	}
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
		if mine[fl] || fl.Role == knowledge.CauseRole || fl.Kind == "task" || strings.HasPrefix(fl.Sign, "watchdog") {
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
	t resolve.Moment
	e incident.Event
}

// timeline puts what has a time in order. Order is shown by time; the uncertainty column says how far it is proven.
func (b *builder) timeline() {
	f, g := b.s.Facts, b.s.Graph
	var rows []row
	add := func(t resolve.Moment, node string, rank int, text string, ev ...incident.Evidence) {
		if !t.Valid {
			return
		}
		if ev == nil {
			ev = []incident.Evidence{}
		}
		e := incident.Event{Time: f.Format(t), Uncertainty: resolve.Uncertainty(t), Node: node, Event: text, Evidence: ev}
		if rank != resolve.NoRank {
			e.Rank = ptr(rank)
		}
		rows = append(rows, row{t, e})
	}
	if c := f.Job.ResumedFrom; c != nil {
		add(f.At(c.At), "", resolve.NoRank, fmt.Sprintf("resumed from the checkpoint of step %d", c.Step), mechanism.QuoteAt(c.At, nil))
	}
	if s, ok := b.lastSave(); ok {
		add(f.At(s.At), "", resolve.NoRank, fmt.Sprintf("checkpoint of step %d saved", s.Step), mechanism.QuoteAt(s.At, nil))
	}
	if p := b.lastProgress(); p != nil {
		text := "last progress line"
		if p.Step >= 0 {
			text = fmt.Sprintf("last progress: step %d", p.Step)
		}
		add(p.T, f.NodeOf(p.At), p.Rank, text, mechanism.QuoteAt(p.At, nil))
	}
	for i, gr := range g.Groups {
		if i == 6 {
			break
		}
		if len(gr.Pending) == 0 {
			continue
		}
		first, last := gr.Pending[0], gr.Pending[0]
		n := map[*resolve.Rank]bool{}
		for _, p := range gr.Pending {
			n[p.Rank] = true
			if p.Start.Valid && (!first.Start.Valid || p.Start.T < first.Start.T) {
				first = p
			}
			if p.Report.Valid && (!last.Report.Valid || p.Report.T < last.Report.T) {
				last = p
			}
		}
		add(first.Start, first.Rank.Node, first.Rank.ID, fmt.Sprintf("%s #%d: %s to wait (time of its time-out line less what it ran for)", first.Work.Op, first.Work.Seq, firstOf(len(n))),
			mechanism.PendingEvidence(first)...)
		add(last.Report, last.Rank.Node, last.Rank.ID, fmt.Sprintf("first watchdog time-out of %s #%d", last.Work.Op, last.Work.Seq), mechanism.PendingEvidence(last)...)
	}
	b.failureRows(add)
	for _, id := range b.r.Verdict.Root.Ranks {
		r := f.Rank(id)
		if r == nil || r.Notified == nil {
			continue
		}
		add(f.At(*r.Notified), r.Node, id, "is told of the time-out by another rank", mechanism.QuoteAt(*r.Notified, nil))
	}
	var firstExit *resolve.Rank
	for _, r := range f.Ranks {
		if r.Exit == nil || !r.Exit.T.Valid {
			continue
		}
		if isIn(b.r.Verdict.Root.Ranks, r.ID) {
			add(r.Exit.T, r.Node, r.ID, fmt.Sprintf("process ends with exit code %d", r.Exit.Code), mechanism.QuoteAt(r.Exit.At, nil))
		} else if firstExit == nil || r.Exit.T.T < firstExit.Exit.T.T {
			firstExit = r
		}
	}
	if r := firstExit; r != nil {
		add(r.Exit.T, r.Node, r.ID, fmt.Sprintf("first other process ends, with exit code %d", r.Exit.Code), mechanism.QuoteAt(r.Exit.At, nil))
	}
	said := map[string]bool{} // the job's and the step's line say the same
	for _, e := range f.Ends {
		text := e.Slurm.By() + ": " + strings.ReplaceAll(e.Slurm.Kind, "-", " ")
		if e.Slurm.Reason != "" {
			text += " due to " + strings.ToLower(e.Slurm.Reason)
		}
		if !said[text] && len(said) < 4 {
			said[text] = true
			add(e.T, "", resolve.NoRank, text, mechanism.QuoteAt(e.Slurm.At, nil))
		}
	}
	sort.SliceStable(rows, func(i, j int) bool {
		if rows[i].t.T != rows[j].t.T {
			return rows[i].t.T < rows[j].t.T
		}
		return rows[i].e.Event < rows[j].e.Event
	})
	b.r.Timeline = []incident.Event{}
	for i, x := range rows {
		if i == timelineLimit {
			b.r.Warnings = append(b.r.Warnings, fmt.Sprintf("the timeline leaves out %d later events", len(rows)-timelineLimit))
			break
		}
		b.r.Timeline = append(b.r.Timeline, x.e)
	}
}

// firstOf names the first of those who wait.
func firstOf(n int) string {
	if n == 1 {
		return "a rank begins"
	}
	return fmt.Sprintf("the first of %d ranks begins", n)
}

// rowsPerSign bounds how often the same kind of line has a row of its own.
const rowsPerSign = 3

// failureRows adds what went wrong in single processes: causes one by one, what is said by many as its first line.
func (b *builder) failureRows(add func(resolve.Moment, string, int, string, ...incident.Evidence)) {
	f := b.s.Facts
	type kind struct{ sign, mech, text string }
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
		if fl.Kind == "exit" || fl.Kind == "task" || strings.HasPrefix(fl.Sign, "watchdog") || strings.HasPrefix(fl.Sign, "slurm-") || rows == 40 || told[fl.At.Pos] {
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
		text := short(fl.Text)
		if more := count[k] - limit; more > 0 && shown[k] == limit {
			text += fmt.Sprintf(" (and %s like it)", plural(more, "line", "lines"))
		}
		when, note := untimed(fl)
		add(when, fl.Node, fl.Rank, text+note, mechanism.FailureEvidence(fl))
	}
}

// untimed says when a failure happened. A line without a time of its own stands between the last time above it and the
// end of its process: the row takes the end, or where that is not known the earliest possible time, and says so.
func untimed(fl *resolve.Failure) (when resolve.Moment, note string) {
	if fl.T.Valid || !fl.NotBefore.Valid {
		return fl.T, ""
	}
	if fl.Proc != nil && fl.Proc.Exit != nil && fl.Proc.Exit.T.Valid && fl.Proc.Exit.T.T >= fl.NotBefore.T {
		return fl.Proc.Exit.T, " (at the latest)"
	}
	return fl.NotBefore, " (at the earliest)"
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

// lastSave is the newest save whose completion was seen.
func (b *builder) lastSave() (s worker.Checkpoint, ok bool) {
	for _, c := range b.s.Facts.Saves {
		if c.Kind == "save-done" && c.Step >= 0 && (!ok || c.Step > s.Step) {
			s, ok = c, true
		}
	}
	return s, ok
}

func isIn(list []int, v int) bool {
	i := sort.SearchInts(list, v)
	return i < len(list) && list[i] == v
}

// action decides: resubmit or not, without which nodes, from which save, who acts, what was lost.
func (b *builder) action() {
	f := b.s.Facts
	a, v := &b.r.Action, &b.r.Verdict
	a.ExcludeNodes = []string{}
	a.Resubmit, a.Owner = unknown, unknown
	if m, ok := b.known(v.Mechanism); ok && len(v.Candidates) == 1 {
		a.Resubmit, a.Owner = m.Resubmit, m.Owner
	} else if len(v.Candidates) > 1 {
		a.Owner = b.shared(func(m knowledge.Mechanism) string { return m.Owner })
		// That each of them may be got over without a change does not say which nodes to leave out; that each needs one says enough.
		if b.shared(func(m knowledge.Mechanism) string { return m.Resubmit }) == "after-fix" {
			a.Resubmit = "after-fix"
		}
	}
	if v.Ending == incident.EndStalled {
		a.Resubmit, a.Owner = unknown, unknown
	}
	// A node is left out only for a sign from that very node.
	if len(v.Candidates) == 1 && hardware[v.Mechanism] {
		a.ExcludeNodes = append(a.ExcludeNodes, v.Root.Nodes...)
	}
	b.fromBefore(a)
	if s, ok := b.soundSave(); ok {
		a.ResumeFrom = &incident.Step{Step: s.Step, Path: s.Path, Evidence: []incident.Evidence{mechanism.QuoteAt(s.At, nil)}}
		if last, ok := b.lastStep(); ok && last >= s.Step && v.Status != incident.NoFailure {
			a.Lost.Steps = ptr(last - s.Step)
		}
		from := f.At(s.At)
		if from.Valid && f.Job.End.Valid && f.Job.WorldSize > 0 && f.Job.End.T >= from.T && v.Status != incident.NoFailure {
			h := math.Round((f.Job.End.T-from.T)/3600*float64(f.Job.WorldSize)*10) / 10
			a.Lost.GPUHours = &h
		}
	}
	a.Text = b.sentence(a)
	b.finished()
	for _, n := range v.Needs {
		switch {
		case n.Artefact != knowledge.Bundle || n.Obtainable == "next-time":
		case v.Ending == incident.EndStalled:
			a.Text = "do not cancel the job yet: first run bot collect; nothing in these files says who holds it"
		case v.Status == incident.NoFailure:
			a.Text = "nothing has failed so far; if it stands still, do not cancel the job yet: first collect what its processes show"
		default:
			a.Text = "do not cancel the job yet: first collect what its processes show; then " + a.Text
		}
	}
}

// hardware are mechanisms that are a sign from the node itself.
var hardware = map[string]bool{"gpu-ecc": true, "gpu-off-bus": true, "gpu-nvlink": true, "gpu-firmware": true, "gpu-hang": true,
	"node-failure": true, "thermal-power": true}

// known is what people should know of a mechanism, where the verdict's component is at fault.
func (b *builder) known(slug string) (knowledge.Mechanism, bool) {
	m, ok := knowledge.MechanismBySlug(slug)
	if c := b.r.Verdict.Root.Component; c != nil {
		m = m.For(*c)
	} else if w := b.d.winners; len(w) > 0 && len(w[0].Failures) > 0 && strings.HasSuffix(w[0].Failures[0].Sign, "-ais") {
		m = m.For("ais:") // a daemon that no line names
	}
	return m, ok
}

// shared is what all candidates have in common, unknown where they differ.
func (b *builder) shared(of func(knowledge.Mechanism) string) string {
	all := ""
	for _, c := range b.r.Verdict.Candidates {
		m, ok := b.known(c.Mechanism)
		if !ok || all != "" && of(m) != all {
			return unknown
		}
		all = of(m)
	}
	if all == "" {
		return unknown
	}
	return all
}

// untied is the one node of whose kernel the cause is known, where nothing ties that to the job.
func (b *builder) untied() string {
	if len(b.d.winners) == 0 {
		return ""
	}
	node := ""
	for _, fl := range b.d.winners[0].Failures {
		if fl.Kernel == nil || fl.Kernel.Node == "" || node != "" && fl.Kernel.Node != node {
			return ""
		}
		node = fl.Kernel.Node
	}
	return node
}

func (b *builder) sentence(a *incident.Action) string {
	v := &b.r.Verdict
	from := ""
	if a.ResumeFrom != nil {
		from = fmt.Sprintf(" from the checkpoint of step %d", a.ResumeFrom.Step)
	}
	without := ""
	if len(a.ExcludeNodes) > 0 {
		without = " without " + strings.Join(a.ExcludeNodes, ", ")
	}
	switch {
	case v.Ending == incident.EndStalled:
		return "if the job is still there, do not cancel it yet: first run bot collect; nothing in these files says who holds it"
	case v.Ending == incident.EndUnseen:
		return "nothing to do if it has ended well; if it stands still, run bot collect before it is cancelled"
	case v.Status == incident.NoFailure:
		return "nothing to do"
	case a.Resubmit == "yes" && a.Owner == "cluster" && len(v.Root.Nodes) == 0:
		if node := b.untied(); node != "" {
			return "find out whether " + node + " was a node of the job, then resubmit without it" + from
		}
		return "find out which node it was, then resubmit without it" + from
	case a.Resubmit == "yes":
		return "resubmit" + without + from
	case a.Resubmit == "after-fix" && len(v.Candidates) > 1:
		return "find out which of these it was and fix it first, then resubmit" + from
	case a.Resubmit == "after-fix":
		return "fix it first, then resubmit" + from
	case a.Resubmit == "no":
		return "do not resubmit yet"
	case v.Origin == "performance":
		return "nothing has failed: find out why before anything is resubmitted" + from
	case v.Mechanism == unknown:
		return "get the missing evidence before deciding"
	}
	return "a resubmission" + without + from + " may fail the same way"
}

func (b *builder) advice() {
	v := &b.r.Verdict
	b.r.Recommendations = []incident.Recommendation{}
	seen := map[string]bool{}
	add := func(when string, list []knowledge.Advice) {
		for _, a := range list {
			if len(v.Candidates) > 1 && len(v.Root.Ranks)+len(v.Root.Nodes) == 0 && strings.ContainsAny(a.Text, "{}") {
				continue // nobody is found yet: nobody is to be examined, left out or drained
			}
			if mechanism.AtHand(b.s, a.Prepares()) {
				continue
			}
			taken, but := b.taken(a)
			if taken {
				continue
			}
			text, command := b.fill(a.Text, a.Command, nil)
			text += but
			if seen[text] {
				continue
			}
			seen[text] = true
			b.r.Recommendations = append(b.r.Recommendations, incident.Recommendation{When: when, Text: text, Command: command})
		}
	}
	if b.r.Action.Finished != nil && b.r.Action.Resubmit == "no" {
		add("now", []knowledge.Advice{{Text: "Nothing has to run again: the training had finished and its last step is saved. See what kept its processes from ending."}})
		seen[knowledge.Resubmit().Text] = true
	}
	b.before(func(a knowledge.Advice) { add("now", []knowledge.Advice{a}) })
	if w := b.d.winners; len(w) > 0 {
		add("now", w[0].Now)
		if fls := w[0].Failures; len(w[0].Now) == 0 && len(fls) > 0 {
			if a, ok := knowledge.AdviceFor(fls[0].Sign); ok {
				add("now", []knowledge.Advice{a})
			}
		}
		for _, text := range w[0].Moot {
			seen[text] = true
		}
	}
	var ms []knowledge.Mechanism
	for i, c := range v.Candidates {
		if m, ok := b.known(c.Mechanism); ok && i < 3 {
			ms = append(ms, m)
		}
	}
	for _, m := range ms {
		if v.Ending != incident.EndStalled { // it is not as if nothing were to do
			add("now", m.Now)
		}
	}
	for _, m := range ms {
		add("structural", m.Structural)
	}
	for _, m := range ms {
		add("next-time", m.NextTime)
	}
	b.r.KeyFiles = []incident.KeyFile{}
	files := map[string]bool{}
	for _, l := range b.r.Chain {
		for _, e := range l.Evidence {
			if e.Kind == incident.KindQuote && !files[e.File] && len(b.r.KeyFiles) < 8 {
				files[e.File] = true
				b.r.KeyFiles = append(b.r.KeyFiles, incident.KeyFile{File: e.File, Line: e.Line, Why: l.Statement})
			}
		}
	}
}
