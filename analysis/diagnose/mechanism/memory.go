package mechanism

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/pattern"
)

// memory: out of GPU memory, out of host memory, and processes killed without a reason on record.
func memory() []Mechanism {
	return []Mechanism{
		byEnd(onKernel(local(knowledge.HostOOM, knowledge.DataloaderWorkerKilled, knowledge.NativeCrash, knowledge.Exception, knowledge.ExternalSignal))),
		{Slug: knowledge.GPUOOM, Class: Local, ByEnd: true, Propose: gpuOOM, Explains: []knowledge.Slug{knowledge.Exception, knowledge.NativeCrash, knowledge.CUDAError}},
		{Slug: knowledge.ExternalSignal, Class: Local, Propose: killed},
	}
}

// whoKilled asks who sent a SIGKILL: the kernel does, too. No kernel sends SIGTERM.
func whoKilled() []incident.Need {
	return []incident.Need{
		{What: "the kernel log from {node}", Why: "an OOM kill leaves a line there", Command: kernelLogOf, Artefact: knowledge.KernelLog},
		{What: "a record of who sent the signal", Why: "a monitor, a launcher or a person may have sent it", Artefact: knowledge.SlurmRecords}}
}

// killed: a process ended by SIGKILL, or asked to end by SIGTERM from outside, with no reason on record. SIGKILL alone
// cannot tell the kernel's out-of-memory killer from anybody else.
func killed(s *Scene) *Proposal {
	f := s.Facts
	explained, bare := stepEnd(f)
	if explained {
		return nil
	}
	kill := sigkills(s, bare)
	var term []*resolve.Failure
	for _, fl := range f.Failures {
		switch {
		case bare, !fl.Mechanism.Is(knowledge.BySomebody):
		case fl.Kind == resolve.KindRecord:
			return signalledBatch(s, fl)
		case !helpers(f, fl) && !f.LetPass(fl):
			term = append(term, fl)
		}
	}
	own := monitors(term)
	byMonitor := len(own) > 0 && !brokeBefore(f, own) && tookAll(f, own, kill)
	switch {
	case len(kill) > 0 && byMonitor:
		return monitored(s, own)
	case len(kill) > 0:
		return killedBySomebody(s, kill)
	case len(term) == 0 || brokeBefore(f, term):
		return interrupted(s)
	case allMonitored(term):
		return monitored(s, term)
	}
	return askedToStop(s, term)
}

// stepEnd says how the end of the step bears on signals: the scheduler's reason explains each of them; bare is an end for no stated reason, whose
// signals are its own.
func stepEnd(f *resolve.Facts) (explained, bare bool) {
	for _, e := range f.Ends {
		switch e.Line.Kind {
		case worker.EndNodeFailure:
			return true, false
		case worker.EndCancelled:
			if e.Line.Reason != "" {
				return true, false
			}
			bare = true
		case worker.EndTerminating:
			bare = true // srun ends a step after one of its tasks failed
		}
	}
	return false, bare
}

// sigkills are the processes that ended by SIGKILL: by their exits, by a launcher that says only which of its own processes was killed, or by tasks.
func sigkills(s *Scene, bare bool) []*resolve.Failure {
	f := s.Facts
	launchers := reapersOf(f)
	var kill []*resolve.Failure
	for _, r := range f.Ranks {
		if r.Exit != nil && bySIGKILL(r.Exit.Code) && !launchers.took(r) {
			kill = append(kill, &resolve.Failure{Rank: r.ID, Proc: r, Node: r.Node, Kind: resolve.KindExit, At: &r.Exit.At, T: r.Exit.T, Role: knowledge.CauseRole,
				Count: 1, Text: "the process was killed by SIGKILL"})
		}
	}
	if bare && len(kill) > 1 {
		kill = nil // SLURM sends SIGKILL to all that outlive its SIGTERM
	}
	if len(kill) == 0 && !bare && !caused(f) {
		if i := slices.IndexFunc(f.Obs.ChildExits, func(c worker.ChildExit) bool { return bySIGKILL(c.ExitCode) }); i >= 0 {
			c := &f.Obs.ChildExits[i]
			kill = append(kill, &resolve.Failure{Rank: resolve.NoRank, Kind: resolve.KindExit, At: &c.At, T: f.At(c.At), Role: knowledge.CauseRole,
				Count: 1, Text: "a process was killed by SIGKILL"})
		}
	}
	if len(kill) == 0 {
		return bareTasks(s, signal("Killed"))
	}
	return kill
}

// bySIGKILL says that an exit code is that of a process ended by SIGKILL, as its parent or as a shell gives it.
func bySIGKILL(code int) bool { return code == -9 || code == 137 }

func killedBySomebody(s *Scene, kill []*resolve.Failure) *Proposal {
	p := propose(s, knowledge.ExternalSignal, Local, kill)
	p.Rivals, p.Needs = []knowledge.Slug{knowledge.HostOOM}, whoKilled()
	p.Base, p.Direct = 0.92, false
	p.Why = "the exit status shows SIGKILL; nothing in these logs shows who sent it"
	if c := Named(s, knowledge.FirstOut); c != nil && len(p.Ranks) == 0 && len(p.Nodes) == 0 {
		p.at(c)
		p.Summary = c.Summary + ", killed by SIGKILL"
	}
	return p
}

// askedToStop: signals from outside asked processes to end, before anything failed.
func askedToStop(s *Scene, term []*resolve.Failure) *Proposal {
	f := s.Facts
	left := leftOver(f, term)
	if left == "sure" {
		return nil
	}
	p := propose(s, knowledge.ExternalSignal, Symptom, term)
	p.Needs = []incident.Need{artefact(knowledge.SlurmRecords)}
	p.Ranks, p.Nodes, p.Scope = nil, nil, "all"
	if !inMostFiles(f, term) {
		p.Scope = "unknown" // of those who got none nobody knows that they were asked
	}
	p.Base, p.Direct = 0.9, false
	name, number := "SIGTERM", namedSignal(term)
	p.Summary = "the job was asked to stop by a signal from outside"
	switch number {
	case "1":
		name = "SIGHUP"
		p.Summary = "the job was told that its terminal or login session had ended (SIGHUP)"
		p.Now = []knowledge.Advice{{Text: "Start it so that it outlives your login session.", Command: "tmux new -s train   # or: setsid nohup torchrun … > train.log 2>&1 &"}}
	case "2":
		name = "SIGINT"
		p.Summary = "the job was interrupted (SIGINT): someone pressed Ctrl-C, or the script that started it was interrupted"
		p.Now = []knowledge.Advice{{Text: "If no one pressed Ctrl-C, check what interrupted the script that started it.", Command: ""}}
	}
	p.Why = fmt.Sprintf("%s %s, and nothing failed before that", plural(len(term), "line reports", "lines report"), name)
	if node := onlyOn(f, term); node != "" {
		p.Nodes, p.Scope = []string{node}, "node"
		p.Summary = fmt.Sprintf("%s: the processes on this node were stopped by signal %s from outside; other nodes only lost them", node, cmp.Or(number, "15"))
	}
	if f.Coverage.Partial || !f.Job.Training {
		// What failed before may be in what is not there.
		p.Rivals, p.Base = []knowledge.Slug{knowledge.Unknown}, 0.85
	}
	if l := sender(f); l != nil {
		p.besideIt(l, 0.88, p.Why+"; but an unrecognized line stands out, and it may show who sent it and why")
	}
	if left == "perhaps" {
		p.Rivals, p.Base = []knowledge.Slug{knowledge.Completed}, 0.8
		p.Why = "the program had reported that training finished: the signal only ended what was left of it, or cut its last work short"
	}
	return p
}

// helpers says that a signal went to a helper: a shell's child while steps follow, or a daemon beside the training that is stopped once that has
// said its end.
func helpers(f *resolve.Facts, fl *resolve.Failure) bool {
	if fl.Says(knowledge.OfAnyChild) {
		return f.GoesOn(*fl.At)
	}
	over := f.Finished()
	if over == nil || !fl.Says(knowledge.Shrugged) || fl.Rank != resolve.NoRank || fl.When().Before(f.At(*over)) {
		return false
	}
	return !slices.ContainsFunc(f.Progress, func(p resolve.ProgressPoint) bool { return p.File == fl.At.File })
}

// leftOver says whether signals came when the program had said that its training was over: surely so where a while had passed and nothing
// else was printed behind it. "" where one came before, or nothing says that it was over.
func leftOver(f *resolve.Facts, term []*resolve.Failure) string {
	const (
		while = 60.0 // seconds
		few   = 1    // lines: the next one
	)
	at := f.Finished()
	if at == nil {
		return ""
	}
	said := f.At(*at)
	if !said.Valid {
		said = f.NotBefore(*at) // such a word mostly has no stamp, and stands right below one that has
	}
	sure := "sure"
	for _, fl := range term {
		if !f.Follows(fl, *at) {
			return ""
		}
		if w := fl.When(); !w.Valid || !said.Valid || w.T-said.T < while {
			sure = "perhaps"
		}
	}
	// An evaluation, an export or another stage may have begun behind it.
	next := slices.IndexFunc(term, func(fl *resolve.Failure) bool { return fl.At.File == at.File })
	if next >= 0 && term[next].At.Line-at.Line > few || next < 0 && slices.ContainsFunc(f.Tails, func(t worker.Tail) bool { return t.File == at.File && t.Lines-at.Line > few }) {
		sure = "perhaps"
	}
	for i := range f.Saves {
		if c := &f.Saves[i]; c.Kind != worker.SaveDone && (c.File != at.File || c.Off > at.Off) {
			sure = "perhaps"
		}
	}
	return sure
}

// namedSignal is the number of the signal wherever a launcher says which it was, "" where none does or they differ: 1 is what a process
// gets whose terminal is closed, 2 what Ctrl-C sends.
func namedSignal(term []*resolve.Failure) string {
	named := ""
	for _, fl := range term {
		if fl.Says(knowledge.PassesOn) {
			return "2"
		}
		if _, n, ok := strings.Cut(fl.Text, "got signal: "); ok && fl.Kind == resolve.KindException && fl.Exc != nil {
			if named != "" && n != named {
				return ""
			}
			named = n
		}
	}
	return named
}

// monitors are the lines of monitors that stand before every other one of a signal, as far as stamps tell.
func monitors(term []*resolve.Failure) []*resolve.Failure {
	var own []*resolve.Failure
	for _, fl := range term {
		if fl.Says(knowledge.ByMonitor) {
			own = append(own, fl)
		}
	}
	first := firstMoment(own)
	for _, fl := range term {
		if !fl.Says(knowledge.ByMonitor) && moment(fl).Before(first) {
			return nil // what was told to end is silent
		}
	}
	return own
}

// tookAll says that monitors sent every SIGKILL: each process that was killed is one they speak of, or one of a launcher in whose file their
// words stand above.
func tookAll(f *resolve.Facts, own, kill []*resolve.Failure) bool {
	for _, k := range kill {
		if !slices.ContainsFunc(own, func(m *resolve.Failure) bool {
			if m.Rank != resolve.NoRank && k.Rank != resolve.NoRank {
				return m.Rank == k.Rank && !moment(k).Before(moment(m))
			}
			return m.At.Above(k.At.Pos) && !f.GoesOn(*m.At)
		}) {
			return false
		}
	}
	return true
}

// onlyOn is the one node on which a signal is reported while processes of another lost theirs: the signal went to a node, not to the job.
func onlyOn(f *resolve.Facts, term []*resolve.Failure) string {
	node := term[0].Node
	if slices.ContainsFunc(term, func(fl *resolve.Failure) bool { return fl.Node != node }) {
		return ""
	}
	elsewhere := func(fl *resolve.Failure) bool { // a file that names no node is not that of this one
		return fl.Node != "" || !slices.ContainsFunc(term, func(t *resolve.Failure) bool { return t.At.File == fl.At.File })
	}
	if node != "" && slices.ContainsFunc(f.Failures, func(fl *resolve.Failure) bool { return fl.Node != node && fl.LostPeer() && elsewhere(fl) }) {
		return node
	}
	return ""
}

func allMonitored(term []*resolve.Failure) bool {
	return every(term, func(fl *resolve.Failure) bool { return fl.Says(knowledge.ByMonitor) })
}

// monitored: the job's own monitor ended it because processes were not heard of. Whether one of them stood still, all of
// them did, or the limit was too short, it cannot know.
func monitored(s *Scene, term []*resolve.Failure) *Proposal {
	p := propose(s, knowledge.ExternalSignal, Symptom, term)
	p.Ranks, p.Nodes, p.Scope = nil, nil, "all"
	p.Rivals, p.Base, p.Direct = []knowledge.Slug{knowledge.RankStalled, knowledge.Unknown}, 0.9, false
	p.Summary = "the launcher's monitor heard nothing from processes for too long and killed them"
	p.Why = fmt.Sprintf("%s so, and nothing failed before that; no line shows whether they were stuck or just slow", plural(len(term), "line says", "lines say"))
	p.Needs = []incident.Need{needPySpy, needFR}
	return p
}

// interrupted: Python was told to stop as a keyboard does it, and not one line tells of anything else that went wrong.
func interrupted(s *Scene) *Proposal {
	var fls []*resolve.Failure
	for _, fl := range s.Facts.Failures {
		switch {
		case fl.Role == knowledge.CauseRole || fl.Role == knowledge.SymptomRole:
			return nil
		case fl.Says(knowledge.Interrupted) && !s.Facts.GoesOn(*fl.At):
			fls = append(fls, fl)
		}
	}
	if len(fls) == 0 || s.Graph.Shape != waitfor.NoHang || len(s.Facts.Ends) > 0 || s.Facts.Job.ExitOK != nil {
		return nil
	}
	p := propose(s, knowledge.ExternalSignal, Symptom, fls)
	p.Ranks, p.Nodes, p.Scope = nil, nil, "all"
	p.Rivals, p.Base, p.Direct = []knowledge.Slug{knowledge.Unknown}, 0.88, false
	p.Summary = "the program was interrupted (SIGINT)"
	p.Why = "Python was interrupted as if by Ctrl-C, and nothing else is reported; a launcher cleaning up does the same"
	return p
}

// signalledBatch: SLURM's records have the batch script ended by a signal that it can be asked to send itself.
func signalledBatch(s *Scene, fl *resolve.Failure) *Proposal {
	p := propose(s, knowledge.ExternalSignal, Local, []*resolve.Failure{fl})
	p.Ranks, p.Nodes, p.Scope = nil, nil, "all"
	p.Rivals, p.Base, p.Direct = []knowledge.Slug{knowledge.TimeLimit}, 0.85, false
	p.Why = "SLURM sends this signal before the time limit if the job asks for it (sbatch --signal), but others can send it too; the script doesn't handle it"
	return p
}

// brokeBefore says that some process had lost its peers before the first SIGTERM: then the signal only ended what had
// failed, even where what failed first is not here.
func brokeBefore(f *resolve.Facts, term []*resolve.Failure) bool {
	first := firstMoment(term)
	return slices.ContainsFunc(f.Failures, func(fl *resolve.Failure) bool { return fl.LostPeer() && moment(fl).Before(first) })
}

// reapers are, for each launcher's file, when the first failure that it names as observed first had happened.
type reapers map[string]float64

func reapersOf(f *resolve.Facts) reapers {
	out := reapers{}
	for _, r := range f.Ranks {
		if r.Exit == nil || !r.Exit.Root || !r.Exit.T.Valid {
			continue
		}
		if t, seen := out[r.Exit.At.File]; !seen || r.Exit.T.T < t {
			out[r.Exit.At.File] = r.Exit.T.T
		}
	}
	return out
}

// took says that a launcher killed this process after another one had failed: torchrun sends SIGTERM to the others and,
// 30 s later, SIGKILL; its block names the first failure it observed.
func (x reapers) took(r *resolve.Rank) bool {
	if r.Exit == nil || r.Exit.Root || !r.Exit.T.Valid {
		return false
	}
	t, ok := x[r.Exit.At.File]
	return ok && t <= r.Exit.T.T
}

// caused says that some line names a cause.
func caused(f *resolve.Facts) bool {
	return slices.ContainsFunc(f.Failures, func(fl *resolve.Failure) bool { return fl.Role == knowledge.CauseRole && fl.Mechanism != "" })
}

// gpuOOM: a GPU ran out of memory. Before the first step, the driver's bare refusal says as much of a GPU that is broken
// or still occupied by somebody else: then it is left to cuda-error, with this as its rival.
func gpuOOM(s *Scene) *Proposal {
	if refusedAtStart(s) {
		return nil
	}
	p := fromFailures(s, knowledge.GPUOOM)
	if p != nil {
		outOfMemory(s, p)
	}
	return p
}

func refusedAtStart(s *Scene) bool {
	if s.Facts.Job.Training {
		return false
	}
	found := false
	for _, fl := range s.Facts.Failures {
		if fl.Mechanism.Is(knowledge.RefusedMemory) && fl.Role == knowledge.CauseRole {
			if !fl.Says(knowledge.ByDriver) {
				return false
			}
			found = true
		}
	}
	return found
}

// cudaError: the CUDA runtime's errors, and the driver's refusal of memory before the first step.
func cudaError(s *Scene) *Proposal {
	if p := fromFailures(s, knowledge.CUDAError); p != nil {
		if at := failedTest(s.Facts, p); at != nil {
			p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.GPUECC}, false, 0.85
			p.Why = "a kernel failed on the GPU; a DCGM test also failed on that node, so its hardware may be the reason"
			p.For = append(p.For, finding("a DCGM test failed there", QuoteAt(*at, nil)))
		}
		return p
	}
	if !refusedAtStart(s) {
		return cudaSymptom(s)
	}
	p := fromFailures(s, knowledge.GPUOOM)
	p.Mechanism, p.Rivals = knowledge.CUDAError, []knowledge.Slug{knowledge.GPUOOM}
	p.Direct, p.Base = false, 0.85
	p.Why = "the driver refused memory before the job had allocated its model: the GPU is in use, or unhealthy"
	return p
}

// failedTest is where DCGM says that a test failed on the one node of these failures; nil where none did, and where a program's own check
// tells why.
func failedTest(f *resolve.Facts, p *Proposal) *worker.At {
	if len(p.Nodes) != 1 || slices.ContainsFunc(p.Failures, func(fl *resolve.Failure) bool {
		return fl.Says(knowledge.DeviceAssert)
	}) {
		return nil
	}
	for _, s := range f.GPUStates {
		for i := range s.State.Troubles {
			if t := &s.State.Troubles[i]; s.Node == p.Nodes[0] && t.Kind == "test" && !t.Warning {
				at := s.At(t.Place)
				return &at
			}
		}
	}
	return nil
}

// cudaSymptom: NCCL or another library reports that a CUDA call of this process failed, and nothing says which error.
func cudaSymptom(s *Scene) *Proposal {
	if caused(s.Facts) || s.Graph.Shape != waitfor.NoHang {
		return nil
	}
	var fls []*resolve.Failure
	for _, fl := range s.Facts.Failures {
		if fl.Mechanism.Is(knowledge.FromCUDA) && fl.Role == knowledge.SymptomRole {
			fls = append(fls, fl)
		}
	}
	if len(fls) == 0 {
		return nil
	}
	p := propose(s, knowledge.CUDAError, Local, fls)
	p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.Unknown}, false, 0.85
	p.Why = "a library reports a failed CUDA call; these logs don't show which error it was"
	if text := cudaText(fls); text != "" {
		p.Why = fmt.Sprintf("a library reports a failed CUDA call (“%s”); these logs don't show what led to it", text)
	}
	return p
}

var cudaTexts = pattern.New(`(?:Cuda|HIP|CUDA) failure:? (?:\d+ )?'([^']{1,80})'`)

// cudaText is the error that NCCL or RCCL names for such calls, where it is one and the same.
func cudaText(fls []*resolve.Failure) string {
	text := ""
	for _, fl := range fls {
		said := []string{fl.Text}
		if fl.Exc != nil {
			for _, t := range fl.Exc.Told {
				said = append(said, t.Text)
			}
		}
		for _, s := range said {
			if m := cudaTexts.FindStringSubmatch(s); m != nil {
				if text != "" && text != m[1] {
					return ""
				}
				text = m[1]
			}
		}
	}
	return text
}
