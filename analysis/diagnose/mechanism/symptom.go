package mechanism

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/knowledge/severity"
)

// symptoms: lines that say somebody else failed first.
func symptoms() []Mechanism {
	return []Mechanism{{Slug: knowledge.PeerLost, Class: Symptom, Propose: peerLost}}
}

func peerLost(s *Scene) *Proposal {
	var fls []*resolve.Failure
	for _, fl := range s.Facts.Failures {
		if fl.Role != knowledge.SymptomRole {
			continue
		}
		// Once it trained, a rank or launcher that reaches nobody any more lost somebody.
		late := s.Facts.Job.Training && fl.Mechanism.Is(knowledge.BeforeSteps) || lostLater(s.Facts, fl)
		if fl.LostPeer() || fl.Kind == resolve.KindException && (fl.Mechanism == "" || late) {
			fls = append(fls, fl)
		}
	}
	if len(fls) == 0 {
		if p := storeLost(s); p != nil {
			return p
		}
		return rasLost(s)
	}
	p := propose(s, knowledge.PeerLost, Symptom, fls)
	p.Ranks, p.Nodes, p.Scope = nil, nil, "unknown"
	p.Rivals = []knowledge.Slug{knowledge.Unknown}
	p.Base = 0.88
	p.Direct = false
	p.Summary = "a peer disappeared; these logs don't show why"
	p.Why = fmt.Sprintf("%s of lost connections; none shows why", plural(len(fls), "report", "reports"))
	if waitedOnly(fls) {
		p.Rivals = []knowledge.Slug{knowledge.CollectiveHang, knowledge.Unknown}
		p.Summary = "waits for other ranks timed out; these logs don't show which rank blocked them"
		p.Why = fmt.Sprintf("%s of a wait that timed out; none shows for which rank", plural(len(fls), "report", "reports"))
	}
	if !slices.ContainsFunc(fls, func(fl *resolve.Failure) bool {
		return !fl.Says(knowledge.InsideNCCL) || strings.Contains(fl.Text, "remote process exited")
	}) {
		p.Summary = "an NCCL call failed, and its warning with the reason is not in these logs"
		p.Why = fmt.Sprintf("%s of a failed NCCL call; none shows whether a peer had died", plural(len(fls), "report", "reports"))
	}
	for _, fl := range fls {
		p.Rivals = slices.Concat(unnamed(p, fl.Entry().LooksLike), p.Rivals)
	}
	unknown := "these logs don't show why"
	c := Named(s, knowledge.Unheard, knowledge.Lost)
	if c == nil {
		c = Named(s, knowledge.Unreached, knowledge.Awaited)
	}
	if p.takes(c, unknown); c == nil {
		p.Needs = append(p.Needs, needPeer)
	}
	if len(p.Ranks)+len(p.Nodes) == 0 {
		p.leftAlone(s.Facts, fls)
	}
	return p
}

// leftAlone names the one rank of a job whose ranks are counted that does not report losing a peer, as all others do: it is whom they lost.
// One whose launcher says that it ended a process may have been ended before it could report.
func (p *Proposal) leftAlone(f *resolve.Facts, fls []*resolve.Failure) {
	const few = 2 // reports prove nothing of who is left
	reported := map[int]bool{}
	for _, fl := range fls {
		if fl.Rank == resolve.NoRank {
			return
		}
		reported[fl.Rank] = true
	}
	if len(reported) <= few || !f.Job.Counted() || len(reported) != f.Job.AtLeast()-1 {
		return
	}
	i := slices.IndexFunc(f.Ranks, func(r *resolve.Rank) bool { return !reported[r.ID] })
	if i < 0 || f.Ranks[i].Lines == 0 || f.Coverage.CutRanks[f.Ranks[i].ID] {
		return
	}
	r := f.Ranks[i]
	if slices.ContainsFunc(f.Failures, func(fl *resolve.Failure) bool { return endsProcess(fl) && slices.Contains(r.Files, fl.At.File) }) {
		return
	}
	p.Ranks, p.Nodes, p.Scope = []int{r.ID}, nodesOf(f, []int{r.ID}), "rank"
	p.Summary = fmt.Sprintf("%s left first: all %d other ranks lost their connection to a peer; these logs don't show why it left", where(f, p.Ranks), len(reported))
	if at, ok := LastLine(r); ok {
		p.For = append(p.For, finding(fmt.Sprintf("%s reports no lost connection; this is its last line", r.Describe()), at))
	}
}

// endsProcess says that a launcher tells of a process that it ends because of another's failure.
func endsProcess(fl *resolve.Failure) bool {
	return fl.Role == knowledge.ConsequenceRole && slices.ContainsFunc(fl.Entry().Names, func(n knowledge.Name) bool { return n.Kind == knowledge.AsPID && n.Whose == knowledge.Mentioned })
}

func waitedOnly(fls []*resolve.Failure) bool {
	return !slices.ContainsFunc(fls, func(fl *resolve.Failure) bool { return !fl.Says(knowledge.Unfinished) })
}

// storeLost: nothing but that the job's store, which rank 0 keeps, went away under ranks that were training, and rank 0 has no
// line here. At the end of a good run it goes away too; but then the program, or rank 0, says so.
func storeLost(s *Scene) *Proposal {
	fls := widowed(s.Facts)
	if len(fls) == 0 {
		return nil
	}
	p := propose(s, knowledge.PeerLost, Symptom, fls)
	p.Ranks, p.Nodes, p.Scope = nil, nil, "unknown"
	p.Rivals, p.Base, p.Direct = []knowledge.Slug{knowledge.Unknown}, 0.88, false
	p.Summary = "rank 0, which hosts the job's store, or its node disappeared; these logs don't show why"
	p.Why = "no rank here reports finishing, the store closed its connections, and there are no lines from rank 0"
	p.Needs = append(p.Needs, incident.Need{What: "the logs from rank 0 and its node", Why: "it ended first", Command: logsOfJob, Obtainable: "now"}, needPeer)
	return p
}

// widowed are the reports of a store that went away, where every line of progress is by a rank that is known and none is by
// rank 0, and no line says that the program finished.
func widowed(f *resolve.Facts) []*resolve.Failure {
	if f.Job.ExitOK != nil || f.Rank(0) != nil && f.Rank(0).Lines > 0 {
		return nil
	}
	if _, ok := f.Accounting.Ended(); ok {
		return nil
	}
	for _, p := range f.Progress {
		if p.Rank <= 0 {
			return nil
		}
	}
	var out []*resolve.Failure
	for _, fl := range f.Failures {
		if fl.Says(knowledge.LostStore) && fl.Rank > 0 {
			out = append(out, fl)
		}
	}
	return out
}

// nothing: the job ended well, or is well as far as the logs go.
func nothing() []Mechanism {
	return []Mechanism{{Slug: knowledge.Completed, Class: Nothing, Propose: completed}, {Slug: faultAtEnd, Class: Symptom, Propose: stoppedAtFault}}
}

// completed: nothing failed, unless a kernel tells of what may have ended the job unseen.
func completed(s *Scene) *Proposal {
	p := wellSoFar(s)
	if p != nil && (spokeLast(s.Facts, p) != nil || stoppedWithMachine(s.Facts, p) != nil) {
		return nil
	}
	return p
}

// wellSoFar: nothing failed as far as the job's own logs go.
func wellSoFar(s *Scene) *Proposal {
	f := s.Facts
	p := &Proposal{Mechanism: knowledge.Completed, Class: Nothing, Scope: "all"}
	if lossLeft(f) || ended(f) || raised(f) || len(widowed(f)) > 0 || failedAfter(f) {
		return nil
	}
	switch at, ok := f.Accounting.Ended(); {
	case ok:
		p.Direct, p.Base, p.Ending = true, 0.97, incident.EndSeen
		p.Summary, p.Why = "the job finished on its own; nothing failed", "SLURM's records show the job and all its steps completed"
		p.For = append(p.For, finding("SLURM's records: COMPLETED", QuoteAt(at, &incident.Predicate{Literals: []string{"COMPLETED"}})))
	case f.Job.ExitOK != nil:
		p.Direct, p.Base, p.Ending = true, 0.95, incident.EndSeen
		p.Summary, p.Why = "the job finished on its own; nothing failed", "the program says it finished"
		p.For = append(p.For, finding("the program printed this as its final message", QuoteAt(*f.Job.ExitOK, nil)))
		if nodes, first := undead(f); first != nil {
			p.outlived(nodes, first)
		}
		if l := unsound(f, severity.Crash); l != nil {
			p.besideIt(l, 0.7, "the program says it finished, but one of its processes seems to have crashed")
		}
	case unsound(f, severity.Warning) != nil:
		return nil // what it means nobody knows
	case f.Coverage.Partial || torn(f) || lastWords(f) || leftMidway(f) || lookedAt(f):
		return nil // the end of what is here is not the end of the job, or not a good one
	case len(f.Progress) > 2:
		last := f.Progress[len(f.Progress)-1]
		p.Base = 0.85
		p.Summary, p.Why = "nothing failed as far as these logs go", "training made progress to the end of the logs and no line reports a failure"
		p.For = append(p.For, finding("the last progress line", QuoteAt(last.At, nil)))
		open(f, p)
		stopsMidway(f, p)
	case hasSave(f):
		p.Base = 0.7
		p.Summary, p.Why = "nothing failed as far as these logs go", "a checkpoint was saved and no line reports a failure"
		open(f, p)
	default:
		return nil
	}
	return p
}

// lookedAt says that stacks of the job's processes are here, and no step below them: they are taken, or a process prints them itself, where it
// stands still for too long.
func lookedAt(f *resolve.Facts) bool {
	return slices.ContainsFunc(f.Stood, func(x *resolve.Stood) bool { return !x.Stale })
}

// stopsMidway leaves open how a job ended whose lines stop before its last step, and of which nobody says that it still runs: a process that
// is killed, or hangs, prints nothing.
func stopsMidway(f *resolve.Facts, p *Proposal) {
	if p.Ending != incident.EndUnseen || f.Standing == nil || excerpt(f) {
		return // it still runs, or its lines were not looked at for what nobody foresaw
	}
	step, total := int64(-1), int64(0)
	for _, x := range f.Progress {
		if x.Phase == worker.Training && x.Total > 0 && x.Step > step {
			step, total = x.Step, x.Total
		}
	}
	if step < 0 || total-step <= total/10 {
		return
	}
	p.Rivals = append(p.Rivals, knowledge.Unknown)
	p.Summary = fmt.Sprintf("the logs stop at step %d of %d; nothing in them failed until then", step, total)
	p.Why = "no normal end is logged: the job may still be running, be hung or have been killed"
}

// faultAtEnd stands for the mechanisms of faults that a kernel reports: each proposal names its own.
const faultAtEnd knowledge.Slug = "fault-at-end"

// stoppedAtFault: the logs of a job that was well stop, and a kernel reports what would have ended it. A process that is stuck in the driver
// prints nothing.
func stoppedAtFault(s *Scene) *Proposal {
	well := wellSoFar(s)
	if well == nil {
		return nil
	}
	e := spokeLast(s.Facts, well)
	if e == nil {
		return stoppedWithMachine(s.Facts, well)
	}
	p := stoppedBy(s.Facts, well, e.Could, e.Node, "a kernel log reports a fault that ends jobs", finding("a kernel log reports it", QuoteAt(e.At, nil)))
	p.Why = "no normal end is logged, and no step was logged after it; clocks and nodes are not compared"
	return p
}

// stoppedBy: the logs end after a step, and something else tells of a fault.
func stoppedBy(f *resolve.Facts, well *Proposal, slug knowledge.Slug, node, fault string, found incident.Finding) *Proposal {
	p := &Proposal{Mechanism: slug, Class: Symptom, Rivals: []knowledge.Slug{knowledge.Unknown}, Base: 0.8, Scope: "unknown", Nodes: nodeOrNone(node)}
	if len(p.Nodes) > 0 {
		p.Scope = "node"
	}
	p.Summary = fmt.Sprintf("the logs stop after step %d, and %s", f.Progress[len(f.Progress)-1].Step, fault)
	p.Why = "no normal end is logged; clocks and nodes are not compared"
	p.For = append([]incident.Finding{found}, well.For...)
	return p
}

// stoppedWithMachine: the logs of a job that was well stop, and evidence tells on the day of their last step that something was wrong with a node.
func stoppedWithMachine(f *resolve.Facts, well *Proposal) *Proposal {
	if well.Ending != incident.EndUnseen || len(f.Progress) < 3 {
		return nil
	}
	last := &f.Progress[len(f.Progress)-1].At.Stamp
	for _, told := range f.Handed.Rows {
		for _, row := range told.Rows {
			if told.Kind.Machine && sameDay(&row.Time, last) {
				return stoppedBy(f, well, knowledge.NodeFailure, cmp.Or(row.Of, resolve.ShortHost(row.Host), f.NodeOfFile(told.File)), "a node's own event log reports a fault on that day",
					finding(row.Says, QuotePlace(told.File, row.Place, &incident.Predicate{Literals: row.Literals})))
			}
		}
	}
	return nil
}

// sameDay compares dates as written. One without a year is of any.
func sameDay(a, b *line.Stamp) bool {
	year := a.Year == b.Year || a.Year == 0 || b.Year == 0
	return a.Month > 0 && a.Month == b.Month && a.Day == b.Day && year
}

// spokeLast is a kernel's event that would end a job whose end nobody tells, where no step shows that it went on; nil where there is none.
func spokeLast(f *resolve.Facts, well *Proposal) *resolve.KernelEvent {
	if well.Ending != incident.EndUnseen || len(f.Progress) < 3 {
		return nil
	}
	last := f.Progress[len(f.Progress)-1]
	for _, e := range f.Kernel {
		if outlived := e.T.Valid && last.T.Valid && e.T.T < last.T.T; e.Could != "" && !outlived {
			return e
		}
	}
	return nil
}

func nodeOrNone(node string) []string {
	if node == "" {
		return nil
	}
	return []string{node}
}

// excerpt says that all logs with steps begin with one: somebody copied a stretch of them, and their end is not where the job's output ended.
func excerpt(f *resolve.Facts) bool {
	const few = 3 // lines, a heading perhaps
	first := map[string]int64{}
	for _, p := range f.Progress {
		if line, ok := first[p.File]; !ok || p.Line < line {
			first[p.File] = p.Line
		}
	}
	for _, line := range first {
		if line > few {
			return false
		}
	}
	return true
}

// leftMidway says that the store on rank 0's node went away while training was far from the end that it states, and that it took no step
// since: rank 0 ended, and whether well nobody says.
func leftMidway(f *resolve.Facts) bool {
	if !slices.ContainsFunc(f.Failures, func(fl *resolve.Failure) bool { return fl.Says(knowledge.LostStore) && !f.GoesOn(*fl.At) }) {
		return false
	}
	last := f.Progress[max(0, len(f.Progress)-1):]
	for _, p := range last {
		return p.Total > 0 && p.Step >= 0 && p.Total-p.Step > p.Total/10
	}
	return false
}

// failedAfter says that whoever ran the program says, behind the program's own end, that it ended with an error.
func failedAfter(f *resolve.Facts) bool {
	if f.Job.ExitOK == nil {
		return false
	}
	return slices.ContainsFunc(f.Failures, func(fl *resolve.Failure) bool {
		return fl.Says(knowledge.ReportsEnd) && fl.Role != knowledge.InfoRole && fl.Role != knowledge.NoiseRole && f.Follows(fl, *f.Job.ExitOK)
	})
}

// open says what is known of a job whose end these files do not hold: a job that hangs prints no line that says so, and looks the same
// as one that goes on.
func open(f *resolve.Facts, p *Proposal) {
	p.Ending = incident.EndUnseen
	if f.Alive() {
		p.Ending = incident.EndRunning
	}
	x, ok := f.Standstill()
	if !ok {
		return
	}
	p.Ending = incident.EndStalled
	p.Base = min(p.Base, 0.7)
	p.Summary = fmt.Sprintf("nothing failed as far as these logs go, but steps have stopped%s: it looks stalled", afterStep(x.Last))
	p.Why = fmt.Sprintf("there was a step line every %s, at most %s apart; then none for %s, while processes kept logging", Seconds(x.Usual), Seconds(x.Longest), duration(x.For))
	p.For = []incident.Finding{finding(fmt.Sprintf("no step was logged after this line%s; the next was due %s later", ofStep(x.Last), Seconds(x.Usual)), QuoteAt(*x.Last.At, nil)),
		finding(fmt.Sprintf("a process still logged %s later", duration(x.For)), QuoteAt(*x.Alive, nil))}
	if x.Saving != nil {
		p.For = append(p.For, finding("a save started after the last step and did not finish in these logs", QuoteAt(x.Saving.At, nil)))
	}
	p.Now = []knowledge.Advice{{Text: "Check whether the job is still running and making steps again. If it hangs, collect before you cancel it: you can only see which rank is blocking it while it hangs.", Command: "bot collect {job}"}}
	if !f.Alive() {
		p.Needs = append(p.Needs, needCollect)
	}
}

// needCollect is asked for where nothing says that the job is gone.
var needCollect = incident.Need{What: "stacks, dumps and counters from all nodes, if the job is still there: don't cancel it before", Why: "they show which rank is blocking it, and most are lost once the job ends",
	Command: "bot collect {job}", Obtainable: perishing}

// ended says that something reports a process that ended with an error, or a job that was ended.
func ended(f *resolve.Facts) bool {
	if f.Accounting != nil && f.Accounting.Failed {
		return true
	}
	for _, e := range f.Ends {
		over := f.Job.ExitOK != nil && e.Line.Kind == worker.EndUndead // that befell what was left of a job that had finished
		if e.Line.Kind != worker.EndLaunch && !over {
			return true
		}
	}
	for _, r := range f.Ranks {
		if r.Exit.Failed() {
			return true
		}
	}
	for _, x := range f.Obs.TaskExits {
		if x.Code != 0 {
			return true
		}
	}
	return len(f.Obs.ChildFailed) > 0 || len(f.Obs.ChildExits) > 0
}

// raised says that an exception ended a process, whatever mechanism it speaks for: a run that nothing explains is not a
// run in which nothing failed.
func raised(f *resolve.Facts) bool {
	return slices.ContainsFunc(f.Failures, func(fl *resolve.Failure) bool {
		return fl.Kind == resolve.KindException && fl.Role == knowledge.CauseRole
	})
}

// torn says that a process ended with an exception, of whatever meaning, or told of a signal that ends it, or that a launcher says
// it ended with an error, and that it went on with no step: no line says that the program finished, and these say that it did not.
func torn(f *resolve.Facts) bool {
	for _, t := range f.Signals {
		if t.Sig.Kind == worker.SignalTerminate && !f.GoesOn(t.Sig.At) {
			return true // PyTorch's monitor ended the process
		}
	}
	for _, fl := range f.Failures {
		said := fl.Kind == resolve.KindException || fl.Says(knowledge.Aborts) || fl.Mechanism.Is(knowledge.BySomebody) || fl.Says(knowledge.ReportsEnd)
		if said && fl.Role != knowledge.NoiseRole && fl.Role != knowledge.InfoRole && !f.GoesOn(*fl.At) {
			return true
		}
	}
	return false
}

// lastWords says that a file ends, below its last step, in lines that look like errors and that nobody knows, or that no mechanism makes
// anything of: what they mean for the job, which made no step any more, nobody can say.
func lastWords(f *resolve.Facts) bool {
	for i := range f.Obs.Unclassified {
		at := f.Obs.Unclassified[i].At
		if above, _ := f.StepsAround(at); above > 0 && !f.GoesOn(at) {
			return true
		}
	}
	// What is known may mean little, or something else than before the first step; as the last words of a file it is no good end.
	const few = 3 // lines
	for _, fl := range f.Failures {
		if fl.Role != knowledge.CauseRole && fl.Role != knowledge.SymptomRole {
			continue
		}
		last := slices.ContainsFunc(f.Tails, func(t worker.Tail) bool { return t.File == fl.At.File && t.Lines-fl.At.Line < few })
		if above, _ := f.StepsAround(*fl.At); last && above > 0 && !f.GoesOn(*fl.At) {
			return true
		}
	}
	return false
}

func hasSave(f *resolve.Facts) bool {
	return slices.ContainsFunc(f.Saves, func(c worker.Checkpoint) bool { return c.Kind == worker.SaveDone })
}
