package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/kernel"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// goesOn is how many further steps show that a failure was survived. Fewer may stand in a buffer when a process dies.
const goesOn = 3

// survived takes back failures that nothing else confirms and after which the job went on: a program may catch an
// exception, print its traceback and continue. It needs further steps below it in the same file, or the program's own
// statement that it finished, and nothing anywhere that tells of a death: no exit status, no hang, no lost peer. What stays open is unsettled.
func (f *Facts) survived() (back []amendment, unsettled []*Failure) {
	if f.deaths(true) {
		return nil, nil
	}
	progress := map[string][]*ProgressPoint{}
	for i := range f.Progress {
		p := &f.Progress[i]
		progress[p.File] = append(progress[p.File], p)
	}
	for _, fl := range f.Failures {
		if fl.Role != knowledge.CauseRole || fl.Kind == KindExit || fl.Kind == KindTask || fl.Kind == KindRecord {
			continue
		}
		steps, finished := f.after(fl, progress[fl.At.File])
		finished = finished || fl.Mechanism.Is(knowledge.ReadsOrWrites) && f.finishedAfter(fl)
		if steps < goesOn && !finished {
			continue
		}
		if uncaught(fl) && (!finished && !f.printedSince(fl, progress[fl.At.File]) || finished && steps == 0 && !skippable(fl)) {
			unsettled = append(unsettled, fl) // nobody caught it, and a script says that it finished whatever became of its program
			continue
		}
		what := fmt.Sprintf("training continued for %d logged steps", steps)
		if finished {
			what = "the program later says it finished"
		}
		back = append(back, fl.noFailure("the job continued after it, and no process is known to have died", what+", and no process is known to have died of it", fl.At.Pos))
	}
	return back, unsettled
}

// adopted takes back kills for memory that SLURM counted in a job's extern step where the program had said that it finished: that step holds
// who logged in on the node, and what a site's own scripts start there.
func (f *Facts) adopted(warn *notes) (back []amendment) {
	done := f.Finished()
	if done == nil {
		return nil
	}
	for i := range f.Obs.Ends {
		e := &f.Obs.Ends[i]
		if e.Kind != worker.EndOOM || !strings.HasSuffix(e.ID, ".extern") || !f.later(e.At, *done) {
			continue
		}
		for _, fl := range f.Failures {
			if fl.Mechanism.Is(knowledge.ByKernel) && fl.Role == knowledge.CauseRole && fl.At.Pos == e.Pos {
				back = append(back, fl.become(knowledge.InfoRole, "the killed process was in the extern step, and the program had finished", done.Pos))
			}
		}
		warn.add("%s:%d doesn't count as a failure: the killed process was in the extern step, and the program had said it finished", e.File, e.Line)
	}
	return back
}

// recovered takes back what lines tell of lost connections where training went on below them and the program says at last that it was
// finished: a launcher put another in the place of who was lost. A process that an exception ended, or of which a launcher or the
// scheduler says that it failed, did not come through; what a driver caught ended nobody. See parted for what is told behind the end.
func (f *Facts) recovered() (back []amendment) {
	if f.Finished() == nil || len(f.Ends) > 0 || f.deaths(false) || f.leftBehind() || f.wentWrong(*f.Finished()) {
		return nil
	}
	for _, fl := range f.Failures {
		if fl.Kind == KindException && (fl.Role == knowledge.CauseRole || fl.Role == knowledge.SymptomRole) && f.stepsAfter(*fl.At) < goesOn {
			return nil
		}
	}
	for _, fl := range f.Failures {
		if fl.Kind != KindSign && fl.Kind != KindNCCL && !caught(fl) || !fl.LostPeer() || f.stepsAfter(*fl.At) < goesOn {
			continue
		}
		const why = "training continued, and the program says it finished"
		back = append(back, fl.noFailure(why, why, fl.At.Pos))
	}
	return back
}

// rest leaves out failures to read or write after which training went on, whatever ended the job later: loaders skip
// items, and programs catch what a store raises. A rank that had died of it would have held the next step. Of other
// exceptions more has to follow: see outlived.
func (t *tolerance) rest(all []*Failure, warn *notes) []*Failure {
	kept := slices.DeleteFunc(all, t.tolerates)
	for _, m := range t.order {
		g := t.left[m]
		what := cmp.Or(m.Survived(), "an exception")
		warn.add("not counted as failures: %s of %s (%s; first at %s:%d); at least %d more steps were logged after each",
			reports(g.n), what, m, g.first.File, g.first.Line, g.steps)
	}
	return kept
}

// buffered is more than a process holds back of what it prints, in bytes, and leastBuffer the least of which it does: Python 8 KiB,
// C 4 KiB.
const buffered, leastBuffer = 16 << 10, 4 << 10

// outlived says that training went on after an exception, and that the lines that say so were not standing in a buffer while
// the process died: one writer reports more steps below, none of them an old one, in more text than any buffer holds.
func (t *tolerance) outlived(fl *Failure) bool {
	if fl.Rank == NoRank && fl.Exc != nil && fl.Exc.Torn {
		return false
	}
	reached := int64(-1)
	t.course(fl.At.File)
	below := t.below
	clear(below)
	for i := range t.points {
		p := &t.points[i]
		if p.off < fl.At.Off {
			reached = max(reached, p.step)
			continue
		}
		b := &below[p.loop]
		if b.first == nil {
			b.first, b.last = p, p
		}
		if p.step < b.last.step {
			return false // another run, or another count: what it says of this one is not known
		}
		if p.step > b.last.step {
			b.steps++
		}
		b.last = p
	}
	for i := range below {
		b := &below[i]
		if b.first != nil && b.first.step >= reached && b.steps >= goesOn && (b.last.no-b.first.no)*int64(min(b.first.len, b.last.len)) > buffered {
			return true
		}
	}
	return false
}

// point is a step of training that a file reports, of the loop of that number.
type point struct {
	off, step, no int64
	len, loop     int
}

// stretch is what one loop reports below a failure.
type stretch struct {
	first, last *point
	steps       int
}

// course reads what a file reports of training. Failures come file by file, and many ask for the same one.
func (t *tolerance) course(file string) {
	if t.asked && t.file == file {
		return
	}
	type loop struct {
		who  int
		form string
	}
	loops := map[loop]int{}
	var who whos
	t.asked, t.file, t.points = true, file, t.points[:0]
	progress := t.f.Progress
	from, _ := slices.BinarySearchFunc(progress, file, func(p ProgressPoint, file string) int { return cmp.Compare(p.File, file) })
	for i := from; i < len(progress) && progress[i].File == file; i++ { // they stand in the order of files
		p := &progress[i]
		if p.Phase != worker.Training || p.Step < 0 {
			continue
		}
		k := loop{who.number(p.Who()), p.Form}
		n, seen := loops[k]
		if !seen {
			n = len(loops)
			loops[k] = n
		}
		t.points = append(t.points, point{p.Off, p.Step, p.N, p.Len, n})
	}
	t.below = slices.Grow(t.below[:0], len(loops))[:len(loops)]
}

// tolerance is what was reported and survived, by mechanism.
type tolerance struct {
	f     *Facts
	flaps []*Failure // see flap
	left  map[knowledge.Slug]*survived
	order []knowledge.Slug
	// The file that was asked for last, and room for its loops: see outlived.
	asked  bool
	file   string
	points []point
	below  []stretch
}

type survived struct {
	n, steps int
	first    worker.Pos
}

// tolerates notes a report that training went on after, and says so.
func (t *tolerance) tolerates(fl *Failure) bool {
	io := fl.Mechanism.Is(knowledge.ReadsOrWrites) && (fl.Kind == KindSign || fl.Kind == KindException || fl.Kind == KindLadder)
	flap := fl.Says(knowledge.PortDown)
	if fl.Role != knowledge.CauseRole || !io && !flap && fl.Kind != KindException && !atStart(fl) {
		return false
	}
	n := t.f.stepsAfter(*fl.At)
	if flap {
		if n < goesOn || !t.passed(fl) {
			return false
		}
		t.flaps = withFlap(t.flaps, fl)
	}
	if n < goesOn || !io && !flap && !t.outlived(fl) {
		return false
	}
	g := t.left[fl.Mechanism]
	if g == nil {
		g = &survived{first: fl.At.Pos, steps: n}
		if t.left == nil {
			t.left = map[knowledge.Slug]*survived{}
		}
		t.left[fl.Mechanism] = g
		t.order = append(t.order, fl.Mechanism)
	}
	g.n++
	g.steps = min(g.steps, n)
	return true
}

// atStart says that a failure is one of those that a process begins with and does not get past: above the steps of one that trained it
// is another's, or was done without.
func atStart(fl *Failure) bool {
	return fl.Exc == nil && (fl.Mechanism.Is(knowledge.AsItBegins) || fl.Says(knowledge.AtStart))
}

// pastStart leaves out lines, without a traceback, about versions that do not fit, which a process meets when it begins, where they stand
// above steps of training, or below them and something else tells how the job ended: they are a helper's words, or those of a tool that a
// script calls when all is over. That srun tells of a task that ended with an error, and then ends the step, tells nothing else.
func (f *Facts) pastStart() (back []amendment) {
	line := func(fl *Failure) bool {
		return fl.Role == knowledge.CauseRole && fl.Mechanism.Is(knowledge.Installed) && (fl.Kind == KindSign || fl.Kind == KindException && fl.Exc.Bare)
	}
	erred := slices.ContainsFunc(f.Obs.TaskExits, func(e worker.TaskExit) bool { return failedItself(e.Code) })
	told := f.Job.ExitOK != nil || len(f.Ends) > 0 && !erred || f.hung() ||
		slices.ContainsFunc(f.Failures, func(fl *Failure) bool { return fl.Role == knowledge.CauseRole && !line(fl) })
	for _, fl := range f.Failures {
		if line(fl) && (f.stepsAfter(*fl.At) >= goesOn || told && slices.ContainsFunc(f.Progress, func(p ProgressPoint) bool {
			return p.Above(fl.At.Pos) && p.Phase == worker.Training
		})) {
			const why = "the job trained and didn't end because of this"
			back = append(back, fl.noFailure(why, why, fl.At.Pos))
		}
	}
	return back
}

// PortDown says that a failure tells of a port that went down, and of no transfer over it.
func PortDown(fl *Failure) bool { return fl.Says(knowledge.PortDown) && fl.Kernel == nil }

// flapOver is for how many seconds training goes on after a port had gone down that came up again: cards give a transfer up sooner.
const flapOver = 300

// upAgain takes ports of which a process tells without a time for those that the node's kernel tells of, where training went on after them.
func (f *Facts) upAgain() []amendment {
	over := map[string]bool{}
	for _, e := range f.Kernel {
		if e.Kind == kernel.Link {
			past, seen := over[e.Node]
			over[e.Node] = (past || !seen) && (e.When == Outlived || e.When == Before)
		}
	}
	return f.passing(func(fl *Failure) string {
		if fl.T.Valid || !over[fl.Node] {
			return ""
		}
		return fmt.Sprintf("the kernel log of %s shows when its link went down, and training continued after it", fl.Node)
	})
}

// backAgain takes ports that NCCL itself says came up again for what held nobody: transfers that fail of it say so themselves.
func (f *Facts) backAgain() []amendment {
	return f.passing(func(fl *Failure) string {
		if down := f.portBack(fl); down == nil || f.stoppedAt(*down) {
			return ""
		}
		return "the same port came up again"
	})
}

// passing takes back ports that went down, as far as there is a reason.
func (f *Facts) passing(why func(*Failure) string) (back []amendment) {
	said := map[string]bool{}
	for _, fl := range f.Failures {
		if fl.Role != knowledge.CauseRole || !PortDown(fl) {
			continue
		}
		if reason := why(fl); reason != "" {
			a := fl.noFailure(reason, reason, fl.At.Pos)
			if said[a.warn] {
				a.warn = "" // one line may carry two signs of the same
			}
			said[a.warn] = true
			back = append(back, a)
		}
	}
	return back
}

// stoppedAt says that the file that tells of a port tells of steps, of none after it, and that the job hung or failed: it may have been that.
func (f *Facts) stoppedAt(down worker.At) bool {
	above, below := f.StepsAround(down)
	return above > 0 && below == 0 && f.deaths(true)
}

// portBack is where NCCL last tells that a port went down which, as it tells further down, is active again; nil where the port is not.
func (f *Facts) portBack(fl *Failure) *worker.At {
	port, active := "", false
	var down *worker.At
	for i := range f.Obs.NCCLWarns { // in the order of their places
		w := &f.Obs.NCCLWarns[i]
		switch {
		case w.Pos == fl.At.Pos:
			if v := f.Known.Fields(fl.Sign, []byte(w.Text)); v["hca"] != "" {
				port, down = v["hca"]+":"+v["port"]+" Got ", &w.At
			}
		case port == "" || w.File != fl.At.File || !strings.Contains(w.Text, port) || !strings.Contains(w.Text, "async event"):
		case strings.Contains(w.Text, "port active"):
			active = true
		case strings.Contains(w.Text, "port error"):
			active, down = false, &w.At // again
		}
	}
	if !active {
		return nil
	}
	return down
}

// passed says that training went on for so long after a port had gone down.
func (t *tolerance) passed(fl *Failure) bool {
	m := fl.When()
	if !m.Valid {
		return t.outlived(fl)
	}
	return t.f.StepsSince(m.Add(flapOver)) >= goesOn
}

// withFlap adds a port that went down and that training outlived: should transfers over it fail later, it says at which end. A process
// hears of each, and says so each time: one for each node will do.
func withFlap(flaps []*Failure, fl *Failure) []*Failure {
	if slices.ContainsFunc(flaps, func(o *Failure) bool { return o.Node == fl.Node }) {
		return flaps
	}
	kept := *fl
	return append(flaps, &kept)
}

func reports(n int) string {
	if n == 1 {
		return "1 report"
	}
	return fmt.Sprintf("%d reports", n)
}

// deaths says that something tells of a process that died or, if they count, of others that noticed, before the scheduler's ending.
func (f *Facts) deaths(noticed bool) bool {
	if f.hung() || len(f.Obs.ChildFailed) > 0 || len(f.Obs.ChildExits) > 0 || len(f.Obs.Dumps) > 0 {
		return true
	}
	for _, fl := range f.Failures {
		if fl.Kind == KindTask && fl.Role != knowledge.ConsequenceRole || noticed && fl.LostPeer() {
			return true
		}
	}
	for _, e := range f.Ends {
		if e.Line.Kind == worker.EndNodeFailure || e.Line.Kind == worker.EndTerminating || e.Line.Kind == worker.EndCancelled && e.Line.Reason == "" {
			return true // a bare ending follows failed tasks, too
		}
	}
	return false
}

// after counts the steps that the file of a failure reports below it, and says whether the program reports its end there.
func (f *Facts) after(fl *Failure, progress []*ProgressPoint) (steps int, finished bool) {
	best := int64(-1)
	var lead *ProgressPoint // of lines that number no step, one writer's count: see newPace
	for _, p := range progress {
		if p.Off <= fl.At.Off {
			continue
		}
		if p.Step < 0 {
			if lead == nil {
				lead = p
			}
			// Without a number they may be of long before, out of a buffer that the process emptied when it died.
			if *p.Who() != *lead.Who() || p.Form != lead.Form || p.Phase == worker.Evaluation || p.Off < fl.At.Off+buffered {
				continue
			}
		}
		if p.Step < 0 || p.Step > best {
			best = max(best, p.Step)
			steps++
		}
	}
	at := f.Job.ExitOK
	return steps, at != nil && fl.At.Above(at.Pos)
}

// skippable says that a program may have gone on without what it could not read: loaders log an item with its traceback, and take the next.
func skippable(fl *Failure) bool {
	return fl.Mechanism.Is(knowledge.LeftOut) || fl.Mechanism.Is(knowledge.ReadsOrWrites) && fl.At.Who().Global < 0
}

// uncaught says that nobody caught an exception: its frames go down to the module that was run.
func uncaught(fl *Failure) bool {
	return fl.Exc != nil && len(fl.Exc.Frames) > 0 && fl.Exc.Frames[0].Func == "<module>"
}

// caught says that whoever printed an exception had caught it: its frames begin in the function that did.
func caught(fl *Failure) bool {
	return fl.Exc != nil && !fl.Exc.Torn && len(fl.Exc.Frames) > 0 && !uncaught(fl)
}

// printedSince says that the steps below a failure were printed when it had been told: a process that dies writes its traceback at
// once, and what it still held back of its ordinary output behind that. Of lines so near to each other only a bar, which is not held
// back, a time, or steps that fall back and so are another run's say which came first.
func (f *Facts) printedSince(fl *Failure, progress []*ProgressPoint) bool {
	if f.StepsSince(f.At(*fl.At)) >= goesOn {
		return true
	}
	reached, since := int64(-1), 0
	for _, p := range progress {
		switch {
		case p.Off <= fl.At.Off:
			if fl.At.Off < leastBuffer {
				return true // what stands above it would still be in the buffer, too
			}
			reached = max(reached, p.Step)
		case p.Step >= 0 && p.Step < reached:
			return true
		case p.Bar, p.Off > fl.At.Off+buffered:
			since++
		}
	}
	return since >= goesOn
}

// finishedAfter says that the program reports its end after a failure to read or write, in whichever file: a rank that had
// died of it would have kept the others from finishing.
func (f *Facts) finishedAfter(fl *Failure) bool {
	at := f.Job.ExitOK
	if at == nil {
		return false
	}
	if at.File == fl.At.File {
		return at.Off > fl.At.Off
	}
	end, when := f.At(*at), fl.When()
	if !end.Valid || !when.Valid {
		return !uncaught(fl) || !f.endsIn(fl) // whoever raised that did not get to the end
	}
	return !end.Before(when)
}

// endsIn says that the file of one process ends in an exception, but for what a process prints while it is torn down.
func (f *Facts) endsIn(fl *Failure) bool {
	const few = 6 // lines
	for i := range f.Tails {
		if t := &f.Tails[i]; t.File == fl.At.File {
			return len(t.Writers) <= 1 && t.Lines-fl.At.Line <= few
		}
	}
	return false
}

// handshake is within how many lines of a lost connection NCCL tells that it had not accepted it.
const handshake = 10

// turnedAway are the connections that were never one of the job: NCCL lost them while it accepted them, in the thread that listens. Port scans
// and health checks come and go so, and training goes on.
func turnedAway(warns []worker.NCCLWarn) map[worker.Pos]bool {
	away := map[worker.Pos]bool{}
	for i := range warns {
		for j := i + 1; warns[i].Peer != "" && j < len(warns); j++ {
			w, o := &warns[i], &warns[j]
			if o.File != w.File || o.Line > w.Line+handshake {
				break
			}
			if o.Who().Host == w.Who().Host && o.Who().Pid == w.Who().Pid && strings.Contains(o.Text, "[Service thread] Accept failed") {
				away[w.Pos] = true
			}
		}
	}
	return away
}
