package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// breakdown is what went wrong in single processes, and how the run was ended.
type breakdown struct {
	Failures []*Failure // in order of time where proven, else of position
	Flaps    []*Failure // ports that went down and that training outlived, the first of each node; none of Failures
	Ends     []*End     // what the scheduler did, in file order
}

// without takes ports for outlived that a stage decided not to count.
func (b breakdown) without(back []amendment, warn *notes) breakdown {
	for _, a := range back {
		b.Flaps = withFlap(b.Flaps, a.fl)
	}
	enact(back, warn)
	return b
}

// settle takes back what the job is known to have survived, once all that failed is known.
func settle(f *Facts, warn *notes) {
	enact(f.parted(), warn)
	enact(f.adopted(warn), warn)
	enact(f.recovered(), warn)
	back, unsettled := f.survived()
	enact(back, warn)
	for _, fl := range unsettled {
		fl.Unsettled = true
	}
}

// print collects what processes print of failures.
func (p *printed) print(obs *worker.Observations, orphans orphans) {
	for i := range obs.Exceptions {
		p.exception(&obs.Exceptions[i])
	}
	answered, strangers := answeredAgain(obs), turnedAway(obs.NCCLWarns)
	for i := range obs.Signs {
		s := &obs.Signs[i]
		if strangers[s.Pos] {
			continue
		}
		if answered.after(p.f.Known, s) {
			continue // the server answered again
		}
		if p.f.triedAgain(&s.Pos) {
			continue // its client went on to try again: what became of that is told by the ladder
		}
		if orphans.crashed(s) {
			continue
		}
		p.sign(&s.At, s.ID, KindSign, cmp.Or(s.Text, string(s.ID)))
	}
	for i := range obs.NCCLWarns {
		w := &obs.NCCLWarns[i]
		if strangers[w.Pos] {
			continue
		}
		for _, id := range w.Signs {
			p.sign(&w.At, id, KindNCCL, w.Text)
		}
	}
}

// ends are the endings that lines of schedulers tell of, and the kills for memory among them, which are failures.
func (f *Facts) ends(obs *worker.Observations) (ends []*End, kills []*Failure) {
	for i := range obs.Ends {
		e := &obs.Ends[i]
		if e.System != "" && e.ID != "" && f.Job.ID != "" && e.ID != f.Job.ID {
			continue // a daemon's log tells of all the jobs of its node
		}
		switch e.Kind {
		case worker.EndOOM:
			fl := f.newFailure(&e.At, KindSign)
			fl.Rank, fl.Proc = NoRank, nil // slurmstepd speaks of the node, in whichever task's file it writes
			fl.is(Meaning{knowledge.HostOOM, knowledge.CauseRole, true, knowledge.IDSlurmOOM})
			fl.Count, fl.Text = max(1, e.N), "SLURM counted an out-of-memory kill in this step on this node"
			if e.System != "" { // which ended the whole job; LSF writes that above what the job printed
				fl.Kind, fl.Node, fl.Text = KindRecord, "", e.System+" killed the job because it used more memory than requested"
				if e.Host != "" {
					fl.Node, fl.Text = ShortHost(e.Host), e.System+" says that the kernel killed tasks of this job on this node because they exceeded their memory limit"
				}
			}
			kills = append(kills, &fl)
		default:
			ends = append(ends, &End{Line: *e, T: f.At(e.At)})
		}
	}
	return ends, kills
}

// wordsOf gives failures the words that are shown, of those that say more than what repeats.
func wordsOf(all []*Failure) {
	for _, fl := range all {
		if fl.Told != nil { // the first line says only which call failed, and is what repeats
			fl.Text = fl.Told.Text
		} else if fl.Kind == KindException && fl.Exc != nil {
			fl.Text += raisedFrom(fl.Exc)
		}
	}
}

// fileServer is a server of a file system, as a file names it.
type fileServer struct{ file, name string }

// serverOf is the server that a line names, whatever it says of it.
func serverOf(known *knowledge.Catalogue, e *knowledge.Signature, s *worker.Sign) fileServer {
	fields := known.Fields(s.ID, []byte(s.Text))
	return fileServer{s.File, cmp.Or(e.Named(fields, knowledge.Culprit, knowledge.AsServer), e.Named(fields, knowledge.Mentioned, knowledge.AsServer))}
}

// answers are the last places where servers of NFS answered again, and where in those files processes had failed.
type answers struct {
	last   map[fileServer]int64
	raised map[string][]int64 // exceptions, in order
	hung   map[string]int64   // the first report of a watchdog
}

func answeredAgain(obs *worker.Observations) *answers {
	a := &answers{last: map[fileServer]int64{}, raised: map[string][]int64{}, hung: map[string]int64{}}
	for i := range obs.Signs {
		s := &obs.Signs[i]
		if e := obs.Known.Entry(s.ID); e.Says&knowledge.Answers != 0 {
			k := serverOf(obs.Known, e, s)
			a.last[k] = max(a.last[k], s.Off)
			a.raised[s.File] = nil
		}
	}
	if len(a.last) == 0 {
		return a
	}
	for i := range obs.Exceptions {
		x := &obs.Exceptions[i]
		if offs, here := a.raised[x.File]; here {
			a.raised[x.File] = append(offs, x.Off)
		}
	}
	for _, offs := range a.raised {
		slices.Sort(offs)
	}
	for i := range obs.Timeouts {
		t := &obs.Timeouts[i]
		if off, seen := a.hung[t.File]; !seen || t.Off < off {
			a.hung[t.File] = t.Off
		}
	}
	return a
}

// after says that the server answered again before anything failed: behind the job's death it does so, too.
func (a *answers) after(known *knowledge.Catalogue, s *worker.Sign) bool {
	e := known.Entry(s.ID)
	if len(a.last) == 0 || e.Says&knowledge.NoAnswer == 0 {
		return false
	}
	last, ok := a.last[serverOf(known, e, s)]
	if !ok || s.Off > last {
		return false
	}
	if off, hung := a.hung[s.File]; hung && off < last {
		return false
	}
	offs := a.raised[s.File]
	i, _ := slices.BinarySearch(offs, s.Off)
	return i == len(offs) || offs[i] > last
}

// awaited takes waits in vain for a file that one process downloads for all of its node for consequences where anything else failed.
func (f *Facts) awaited() (all []amendment) {
	waits := func(fl *Failure) bool {
		return fl.Kind == KindException && fl.Sign == "" && strings.Contains(fl.Text, " took too long to download") // MosaicML Streaming
	}
	if !slices.ContainsFunc(f.Failures, func(fl *Failure) bool { return fl.Role == knowledge.CauseRole && !waits(fl) }) {
		return nil
	}
	for _, fl := range f.Failures {
		if waits(fl) {
			all = append(all, amendment{fl: fl, to: fl.Meaning().following(), why: "it was waiting for another process's download, and something else failed", at: fl.At.Pos})
		}
	}
	return all
}

// orphans are the processes of which Open MPI says that a peer left them and that they may crash of it, by number, and where it first
// says so; and where mpirun tells how they ended.
type orphans struct {
	known *knowledge.Catalogue
	from  map[string]worker.Pos
	ends  map[worker.Pos]bool
}

func orphansOf(obs *worker.Observations) orphans {
	out := orphans{obs.Known, map[string]worker.Pos{}, map[worker.Pos]bool{}}
	for i := range obs.Signs {
		s := &obs.Signs[i]
		e := obs.Known.Entry(s.ID)
		if e.Says&knowledge.Orphaned == 0 {
			continue
		}
		pid := e.Named(obs.Known.Fields(s.ID, []byte(s.Text)), knowledge.Writer, knowledge.AsPID)
		if p, ok := out.from[pid]; !ok || less(s.Pos, p) {
			out.from[pid] = s.Pos
		}
	}
	for i := range obs.ChildFailed {
		if c := &obs.ChildFailed[i]; out.left(strconv.Itoa(c.Pid), c.Pos) {
			out.ends[c.Pos] = true
		}
	}
	return out
}

// crashed says that a line reports the crash of such a process, below that.
func (o orphans) crashed(s *worker.Sign) bool {
	if len(o.from) == 0 {
		return false
	}
	if o.ends[s.Pos] {
		return true
	}
	e := o.known.Entry(s.ID)
	return e.Mechanism.Is(knowledge.BySignal) && o.left(e.Named(o.known.Fields(s.ID, []byte(s.Text)), knowledge.Writer, knowledge.AsPID), s.Pos)
}

func (o orphans) left(pid string, at worker.Pos) bool {
	p, ok := o.from[pid]
	return ok && p.File == at.File && less(p, at)
}

// triedAgain reports whether a client says in this line that it tries again.
func (f *Facts) triedAgain(at *worker.Pos) bool {
	v := f.Obs.IOs.Find(at.File, at.Off)
	return v != nil && v.Retry()
}

// attributed ties a failure that names no rank to one where the file leaves no choice: of the processes that this file's
// launcher saw end, exactly one ended in the way that such a failure ends a process.
func (f *Facts) attributed() (all []charge) {
	exits := f.exitsSeen()
	type raised struct{ file, text string }
	times := map[raised]int{} // of what no rank signs: as many processes raised it, but for one that tells it twice
	for _, fl := range f.Failures {
		if fl.Kind == KindException && fl.Rank == NoRank {
			times[raised{fl.At.File, fl.Text}] += max(1, fl.Count)
		}
	}
	for _, fl := range f.Failures {
		byMany := fl.Kind == KindException && times[raised{fl.At.File, fl.Text}] > 2
		if byMany || !f.attributable(fl) || exits.beside(fl.At) {
			continue
		}
		rank, ok := exits.only(fl)
		if r := f.byRank[rank]; !ok || r != nil && f.waitedInVain(r, fl) {
			continue
		}
		all = append(all, charge{fl, rank})
	}
	return all
}

// onlyTask is what srun says of the one task that ended with an error of its own, before the step was ended; nil where it is several, or none.
func (f *Facts) onlyTask() (only *Failure) {
	for _, fl := range f.Failures {
		switch {
		case fl.Kind != KindTask || fl.Role == knowledge.ConsequenceRole:
		case only != nil || len(fl.Tasks) != 1 || fl.Node == "":
			return nil
		default:
			only = fl
		}
	}
	return only
}

// placedBy gives failures that nothing places the node of that task.
func placedBy(task *Failure, all []*Failure) {
	if task == nil {
		return
	}
	for _, fl := range all {
		unplaced := fl.Rank == NoRank && fl.Node == "" && fl.Role == knowledge.CauseRole
		if raised := fl.Kind == KindException || fl.Kind == KindSign; unplaced && raised && fl.At.File == task.At.File && fl.Count < 2 {
			fl.Node = task.Node
		}
	}
}

// charge is a failure, and the rank that it is attributed to.
type charge struct {
	fl   *Failure
	rank int
}

// charged gives the failures their ranks.
func charged(all []charge, s *sight) {
	for _, c := range all {
		r := s.rank(c.rank, "the only process there that ended this way")
		c.fl.Rank, c.fl.Proc, c.fl.Node = r.ID, r, cmp.Or(c.fl.Node, r.Node)
	}
}

// attributable reports whether a failure is of a process that nothing names yet, in a file of one host.
func (f *Facts) attributable(fl *Failure) bool {
	if fl.Rank != NoRank || fl.Role != knowledge.CauseRole || f.ident.multiHost[fl.At.File] {
		return false
	}
	return fl.Kind != KindTask || fl.Mechanism.Is(knowledge.ByKernel)
}

// waitedInVain reports whether a rank waited for others until its watchdog ended it, with what such an end looks like.
func (f *Facts) waitedInVain(r *Rank, fl *Failure) bool {
	return len(r.Pending) > 0 && len(f.byRank) > 1 && (fl.Kind == KindLadder || fl.Kind == KindSign)
}

// exitsSeen are the ends of processes that launchers tell of.
type exitsSeen struct {
	byFile, byHost map[string]map[int]ended // → exit code → ranks
	// by are those whose lines of a file tell of them, where Ray or vLLM says whose line it is.
	by map[fileName]bool
}

func (f *Facts) exitsSeen() exitsSeen {
	files := map[string]map[int]int{} // file → rank → code
	hosts := map[string]map[int]int{} // node → rank → code
	note := func(m map[string]map[int]int, key string, rank, code int) {
		if key == "" {
			return
		}
		if m[key] == nil {
			m[key] = map[int]int{}
		}
		m[key][rank] = code
	}
	by := map[fileName]bool{}
	for _, c := range f.Obs.ChildFailed {
		by[fileName{c.File, c.Who().RayName}] = true
		if c.Rank >= 0 {
			note(files, c.File, c.Rank, c.ExitCode)
			note(hosts, ShortHost(c.Host), c.Rank, c.ExitCode)
		}
	}
	for _, r := range f.byRank {
		if r.Exit != nil {
			note(hosts, r.Exit.Host, r.ID, r.Exit.Code)
		}
	}
	return exitsSeen{byCode(files), byCode(hosts), by}
}

// beside reports whether an engine or an actor beside the launcher's processes writes this: which of those ended after it, ended of
// something else.
func (x exitsSeen) beside(at *worker.At) bool {
	name := at.Who().RayName
	return name != "" && !x.by[fileName{at.File, name}]
}

// only is the one rank of the failure's file or node that ended as such a failure ends a process.
func (x exitsSeen) only(fl *Failure) (rank int, ok bool) {
	byKernel := fl.Mechanism.Is(knowledge.ByKernel)
	codes := x.byFile[fl.At.File]
	if (len(codes) == 0 || byKernel) && fl.Node != "" {
		codes = x.byHost[fl.Node]
	}
	rank, n := NoRank, 0
	for code, ranks := range codes {
		if endsSo(fl, code) {
			rank, n = ranks.one, n+ranks.n
		}
	}
	if n == 0 && byKernel {
		// The kernel may have taken a loader's process: then its rank ends with an exception.
		rank, n = codes[1].one, codes[1].n
	}
	return rank, n == 1
}

// fileName is a file and the name of a writer in it.
type fileName struct{ file, name string }

// ended are the ranks that ended with one code: how many, and one of them.
type ended struct{ n, one int }

// byCode turns rank → code into code → ranks.
func byCode(codes map[string]map[int]int) map[string]map[int]ended {
	out := make(map[string]map[int]ended, len(codes))
	for key, ranks := range codes {
		m := map[int]ended{}
		for rank, code := range ranks {
			m[code] = ended{m[code].n + 1, rank}
		}
		out[key] = m
	}
	return out
}

// endsSo says whether a process that had this failure ends with this exit code. Negative codes are signals.
func endsSo(fl *Failure, code int) bool {
	switch {
	case fl.Mechanism.Is(knowledge.Killed):
		return code == -9 || code == 137
	case fl.Mechanism.Is(knowledge.BySignal):
		return crashSignal(code) || code == -6 || code == 134
	case fl.Kind == KindException && fl.Exc != nil && strings.Contains(fl.Exc.Type, "::"):
		return code == -6 || code == 134
	case fl.Kind == KindException:
		return code == 1
	}
	return code == 1 || code == -6 || code == 134
}

func (f *Facts) newFailure(at *worker.At, kind FailureKind) Failure {
	fl := Failure{known: f.Known, Rank: NoRank, At: at, Kind: kind, Node: f.ident.nodeOf(*at), T: f.At(*at), NotBefore: f.NotBefore(*at), Count: 1}
	if id, basis, ok := f.ident.rankOf(*at); ok {
		r := f.rank(id, basis)
		fl.Rank, fl.Proc = id, r
		if fl.Node == "" {
			fl.Node = r.Node
		}
	}
	return fl
}

// onNode gives a failure the node whose memory a line says ran out: Ray tells it of any node, wherever it prints it. The
// numbers of processes and tasks around the address are left out.
func (fl *Failure) onNode(f *Facts, text string) bool {
	s := fl.Entry()
	if !s.Keeps() {
		return false
	}
	addr := s.Named(f.Known.Fields(s.ID, []byte(text)), knowledge.Culprit, knowledge.AsAddress)
	if addr == "" {
		return false
	}
	fl.Rank, fl.Proc, fl.Node, fl.Text = NoRank, nil, addr, s.Meaning
	if f.NCCL != nil {
		fl.Node = cmp.Or(f.NCCL.hosts[addr], addr)
	}
	return true
}

// sign takes a line with a signature that a process prints.
func (p *printed) sign(at *worker.At, id knowledge.ID, kind FailureKind, text string) {
	f := p.f
	s, ok := f.Known.Lookup(id)
	if !ok || s.Role == knowledge.NoiseRole || s.Role == knowledge.InfoRole {
		return
	}
	fl := f.newFailure(at, kind)
	if s.Says&knowledge.ByDaemon != 0 {
		fl.Rank, fl.Proc = NoRank, nil
	}
	fl.is(Meaning{s.Mechanism, s.Role, s.Direct, s.ID})
	fl.Text = text
	if s.Keeps() {
		fl.own(f, text)
		fl.onNode(f, text)
	}
	if n := worker.MemberRank(text); n != line.Unknown && fl.Rank == NoRank && fl.Unplaced == "" {
		fl.Unplaced = fmt.Sprint("rank ", n, incident.OfItsGroup)
	}
	if s.Meaning != "" {
		fl.Text = s.Meaning
	}
	p.reported(&fl)
}
