package mechanism

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/kernel"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/pattern"
)

// software: what the job's own code, libraries and limits do.
func software() []Mechanism {
	return []Mechanism{
		local(knowledge.ResourceLimit, knowledge.LinkError, knowledge.InitUnreachable, knowledge.Exception, knowledge.DataloaderWorkerKilled, knowledge.NativeCrash),
		{Slug: knowledge.NativeCrash, Class: Local, Propose: nativeCrash, Explains: []knowledge.Slug{knowledge.ExternalSignal}},
		{Slug: knowledge.Exception, Class: Local, Propose: exception},
	}
}

// mistakes are exceptions that the interpreter raises for what a program does with its own data: nobody raises them because a peer has
// gone. (AttributeError and TypeError also come of objects that are being torn down.)
var mistakes = map[string]bool{"KeyError": true, "IndexError": true, "ValueError": true, "NameError": true, "UnboundLocalError": true, "ZeroDivisionError": true}

func ownMistake(fl *resolve.Failure) bool {
	return fl.Exc != nil && len(fl.Exc.Frames) > 0 && fl.OwnMeaning() && mistakes[fl.Exc.Type]
}

// ownWords says that a program speaks for itself in an exception: its words are known to tell of the code, or it raised it in its own code, and
// in a class that neither PyTorch, other runtimes nor the operating system use for what they meet.
func ownWords(f *resolve.Facts, fl *resolve.Failure) bool {
	x := fl.Exc
	switch {
	case !fl.OwnMeaning():
		return true // what is told otherwise is judged elsewhere
	case x == nil:
		return fl.Kind != resolve.KindRecord || !strings.HasPrefix(fl.Text, "Traceback (") // of which nobody saw what was raised
	case slices.ContainsFunc(f.Known.Messages(), func(m knowledge.Message) bool { return m.Mechanism == knowledge.Exception && m.In(fl.Text) }):
		return true
	}
	if len(x.Cause) > 0 {
		x = &x.Cause[0] // what was raised first
	}
	class := x.Type[strings.LastIndexAny(x.Type, ".:")+1:]
	if class == "" || systems[class] || strings.Contains(x.Type, "::") || decoders.MatchString(class) {
		return false
	}
	if strings.HasPrefix(x.Type, "torch.") && !strings.HasPrefix(x.Type, "torch._") || importing(x) {
		return false
	}
	return len(x.Frames) == 0 || !OfLibrary(x.Frames[len(x.Frames)-1].File)
}

// wordless says that neither an entry nor the failure's own words tell whose fault it is.
func wordless(f *resolve.Facts, fl *resolve.Failure) bool { return fl.Sign == "" && !ownWords(f, fl) }

// asserted says that a program found an assumption of its own broken, in words that nobody knows.
func asserted(fl *resolve.Failure) bool {
	return fl.Sign == "" && fl.Exc != nil && fl.Exc.Type == "AssertionError"
}

// importing says that an exception was raised while a module was being imported: what is installed may not fit.
func importing(x *worker.Exception) bool {
	return len(x.Frames) > 1 && x.Frames[len(x.Frames)-1].Func == "<module>"
}

// systems are the classes in which what lies below the program reports what it met: the C++ of PyTorch and others, and the operating system.
var systems = map[string]bool{"RuntimeError": true, "OSError": true, "IOError": true, "MemoryError": true, "SystemError": true, "EnvironmentError": true,
	"BlockingIOError": true, "PermissionError": true, "FileExistsError": true, "BrokenPipeError": true, "ConnectionError": true, "InterruptedError": true,
	"OutOfMemoryError": true, "DistBackendError": true, "DistStoreError": true, "DistNetworkError": true, "AcceleratorError": true}

// decoders are the classes in which what reads files says that it cannot: that is about the file more often than about the code.
var decoders = pattern.New(`Decod|Unidentified|Corrupt|Truncat|Malformed`)

// OfLibrary tells whether a file of code belongs to Python or to an installed package.
func OfLibrary(file string) bool {
	return slices.ContainsFunc([]string{"site-packages/", "dist-packages/", "/lib/python", "<frozen"}, func(p string) bool { return strings.Contains(file, p) })
}

// exception: the first Python traceback that is no consequence; else an exit status of 1 that nothing explains.
func exception(s *Scene) *Proposal {
	if p := raisedFirst(s); p != nil {
		if configured(s, p) {
			return nil
		}
		reducerNames(s, p)
		p.statedElse(s.Facts)
		if p.Own = slices.ContainsFunc(p.Failures, ownMistake); !p.Own && len(p.Rivals) == 0 && every(p.First, func(fl *resolve.Failure) bool { return wordless(s.Facts, fl) }) {
			p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.Unknown}, false, 0.9
			p.Why = "no known failure matches its message; a library raised it or the system refused something, so the code may not be at fault"
		}
		if !p.Own && len(p.Rivals) == 0 && p.Scope == "all" && !s.Facts.Job.Training && every(p.First, asserted) {
			p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.ConfigError}, false, 0.9
			p.Why = "no known failure matches its message; all ranks assert it before the first step: the settings may be wrong, or the code"
		}
		return p
	}
	f := s.Facts
	for _, fl := range f.Failures {
		if fl.Role == knowledge.CauseRole && fl.Mechanism != "" {
			return nil // something that says more
		}
	}
	launchers := reapersOf(f)
	for _, r := range f.Ranks {
		if r.Exit != nil && bySIGKILL(r.Exit.Code) && !launchers.took(r) {
			return nil
		}
	}
	victims := victimFiles(f)
	var exits []*resolve.Failure
	for _, r := range f.Ranks {
		if r.Exit == nil || !knowledge.EndedItself(r.Exit.Code) || s.Graph.Waits(r.ID) || symptomatic(r) || victims[r.Exit.At.File] {
			continue
		}
		fl := &resolve.Failure{Rank: r.ID, Proc: r, Node: r.Node, Kind: resolve.KindExit, At: &r.Exit.At, T: r.Exit.T,
			Role: knowledge.CauseRole, Count: 1, Text: fmt.Sprintf("the process exited with code %d", r.Exit.Code)}
		// Where collectives timed out, a bare exit code is the aftermath unless it is proven to come first.
		if s.Graph.Shape == waitfor.NoHang || moment(fl).Before(s.Graph.Report) {
			exits = append(exits, fl)
		}
	}
	if len(exits) == 0 {
		for _, fl := range f.Failures {
			// A task that is a launcher exits with 1 whatever ended its workers.
			if fl.Kind == resolve.KindTask && fl.Rank != resolve.NoRank && fl.Role == knowledge.SymptomRole && fl.Mechanism == "" && fl.Proc.Exit != nil &&
				knowledge.EndedItself(fl.Proc.Exit.Code) && s.Graph.Shape == waitfor.NoHang && !signalled(f) && !symptomatic(fl.Proc) {
				exits = append(exits, fl)
			}
		}
	}
	if len(exits) == 0 && s.Graph.Shape == waitfor.NoHang && !signalled(f) {
		exits = launched(f, knowledge.EndedItself) // which looks for victims, too
	}
	if len(exits) == 0 {
		exits = bareTasks(s, func(who, how string) bool {
			code := exitCode(how)
			if code == 1 {
				return !f.TaskLaunches()
			}
			return knowledge.EndedItself(code) && who == "srun" // sacct prints small numbers also for signals
		})
	}
	if len(exits) == 0 {
		return nil
	}
	p := propose(s, knowledge.Exception, Local, exits)
	p.Rivals = []knowledge.Slug{knowledge.Unknown}
	p.Needs = []incident.Need{{What: "the process's traceback", Why: "the exit status alone doesn't show what was raised",
		Command: "torchrun --log-dir logs --redirects 3 …", Obtainable: "next-time"}}
	if len(p.Ranks) > 1 {
		p.Frontier, p.Ranks, p.Nodes = p.Ranks, nil, nil // exit codes alone do not choose among several
	}
	p.Direct = false
	p.Base = 0.9
	p.Why = "the exit status shows that the program exited with an error; no traceback shows which one"
	besideExit(f, p)
	return p
}

// besideExit puts beside an exit status of a process that nothing tells apart what error lines of such processes say: they may be its own.
func besideExit(f *resolve.Facts, p *Proposal) {
	if len(p.Ranks)+len(p.Frontier) > 0 {
		return
	}
	for _, fl := range f.Failures {
		if fl.Role != knowledge.SymptomRole || fl.Rank != resolve.NoRank || fl.Kind != resolve.KindException && fl.Kind != resolve.KindSign {
			continue
		}
		p.Rivals = slices.Concat(unnamed(p, []knowledge.Slug{cmp.Or(fl.Mechanism, knowledge.PeerLost)}), p.Rivals)
		p.Why = "the exit status shows that the program exited with an error; an error line precedes it, but doesn't show whether another process had already died"
		if len(p.Because) == 0 {
			p.Because = append(p.Because, finding(fl.Text, QuoteAt(*fl.At, nil)))
		}
	}
}

// aborted says that an exit status is that of SIGABRT.
func aborted(code int) bool { return slices.Contains([]int{-6, 134}, code) }

// launched is the first of the processes whose end only launchers tell, which do not say what rank they were, where all ended in this way: one
// that another signal ended may have taken the others along.
func launched(f *resolve.Facts, is func(code int) bool) []*resolve.Failure {
	for _, fl := range f.Failures {
		if fl.Role == knowledge.SymptomRole {
			return nil
		}
	}
	var first *resolve.Failure
	for i := range f.Obs.ChildExits {
		c := &f.Obs.ChildExits[i]
		if !is(c.ExitCode) {
			return nil
		}
		fl := &resolve.Failure{Rank: resolve.NoRank, Node: f.NodeOf(c.At), Kind: resolve.KindExit, At: &c.At, T: f.At(c.At), Role: knowledge.CauseRole, Count: 1,
			Text: fmt.Sprintf("a process exited with code %d", c.ExitCode)}
		if aborted(c.ExitCode) {
			fl.Text = "a process aborted (SIGABRT)"
		}
		switch {
		case first == nil || fl.T.Before(first.T):
			first = fl
		case fl.Node != first.Node && !first.T.Before(fl.T):
			first.Node = "" // whose process was first is not known
		}
	}
	if first == nil {
		return nil
	}
	return []*resolve.Failure{first}
}

// bareTasks are tasks that srun saw end in this way before it ended the step, where nothing says more: not even whether the task is a rank or
// a launcher, though the number of ranks may be known. They say how a process ended, and on which node, not why.
func bareTasks(s *Scene, is func(who, how string) bool) []*resolve.Failure {
	f := s.Facts
	if s.Graph.Shape != waitfor.NoHang || signalled(f) || victims(f) {
		return nil
	}
	var out []*resolve.Failure
	for _, fl := range f.Failures {
		if fl.Role == knowledge.CauseRole && fl.Mechanism != "" {
			return nil
		}
		if fl.Says(knowledge.JobOver) {
			return nil // a launcher that came, or came back, after the job had ended elsewhere
		}
		who, how, _ := strings.Cut(fl.Text, ": ") // srun, or SLURM's records where its own lines are not at hand
		if fl.Kind == resolve.KindTask && fl.Role == knowledge.SymptomRole && is(who, strings.TrimSuffix(how, " (core dumped)")) {
			bare := *fl
			bare.Text = fl.TaskText()
			bare.Node = "" // the first task to end need not be the first that failed
			out = append(out, &bare)
		}
	}
	return out
}

// exitCode is the number in "Exited with exit code 7", or −1.
func exitCode(how string) int {
	n, ok := strings.CutPrefix(how, "Exited with exit code ")
	code, err := strconv.Atoi(n)
	if !ok || err != nil {
		return -1
	}
	return code
}

// signal says that a task ended by a signal, as srun or as a shell around the program tells it.
func signal(name string) func(who, how string) bool {
	return func(_, how string) bool {
		if code := exitCode(how); code > 128 && code != 255 {
			how = knowledge.ExitCode(code).Text
		}
		return how == name
	}
}

// signalled says that launchers report a signal from outside.
func signalled(f *resolve.Facts) bool {
	return slices.ContainsFunc(f.Failures, func(fl *resolve.Failure) bool { return fl.Mechanism.Is(knowledge.BySomebody) })
}

// victimFiles are files in which as many processes report a lost peer, without saying which they are, as ended with an
// error: there is no error left that could be somebody's own.
func victimFiles(f *resolve.Facts) map[string]bool {
	lost, ended := map[string]int{}, map[string]int{}
	for _, x := range f.Failures {
		if x.Kind == resolve.KindException && x.Rank == resolve.NoRank && x.Role == knowledge.SymptomRole {
			lost[x.At.File] += x.Count
		}
	}
	for _, r := range f.Ranks {
		if r.Exit != nil && r.Exit.Code == 1 {
			ended[r.Exit.At.File]++
		}
	}
	out := map[string]bool{}
	for file, n := range lost {
		out[file] = n >= ended[file]
	}
	return out
}

// settings are exceptions that say a key or a path is not there.
var settings = map[string]bool{"KeyError": true, "FileNotFoundError": true, "NotADirectoryError": true, "ConfigKeyError": true,
	"ConfigAttributeError": true, "MissingMandatoryValue": true, "ScannerError": true}

// configured says that exceptions before the first step, on all ranks alike, tell of a key or path that is missing: the
// configuration's fault, not the code's.
func configured(s *Scene, p *Proposal) bool {
	if s.Facts.Job.Training || p.Scope != "all" && len(p.Ranks) > 0 {
		return false
	}
	for _, fl := range p.Failures {
		if fl.Exc == nil {
			return false
		}
		class := fl.Exc.Type
		if i := strings.LastIndexByte(class, '.'); i >= 0 {
			class = class[i+1:]
		}
		if !settings[class] {
			return false
		}
	}
	return len(p.Failures) > 0
}

// configError: what the signatures say, and missing keys or paths on all ranks before the first step.
func configError(s *Scene) *Proposal {
	if p := fromFailures(s, knowledge.ConfigError); p != nil {
		if lacksGPU(s.Facts, p) {
			return nil
		}
		turned := every(p.Failures, func(fl *resolve.Failure) bool { return fl.Says(knowledge.TurnedReadOnly) })
		switch {
		case turned && slices.ContainsFunc(s.Facts.Kernel, func(e *resolve.KernelEvent) bool { return e.Kind == kernel.Disk && e.Cause != "" }):
			return nil // the kernel made it so
		case turned && s.Facts.Job.Training:
			p.Rivals, p.Base, p.Direct = []knowledge.Slug{knowledge.StorageUnresponsive}, 0.88, false
			p.Why = "a path became unwritable after training had started: it is mounted read-only, or the kernel remounted it after a disk failure"
			p.Needs = append(p.Needs, needDmesg)
		}
		return jobWide(s, p)
	}
	p := fromFailures(s, knowledge.Exception)
	if p == nil || !configured(s, p) {
		return joinedTwice(s)
	}
	p.Mechanism, p.Base = knowledge.ConfigError, 0.93
	p.Why = "a key or path in the configuration is missing, on all ranks, before the first step"
	if p.Scope != "all" {
		// Whether the others met it as well is not stated.
		p.Rivals, p.Base, p.Direct = []knowledge.Slug{knowledge.Exception}, 0.88, false
		p.Why = "a key or path is missing before the first step: the configuration is wrong, or the code looks in the wrong place"
	}
	p.Ranks, p.Nodes = nil, nil
	return p
}

// lacksGPU says that all that was wrong is that a node showed too few GPUs, of which one is known to be gone.
func lacksGPU(f *resolve.Facts, p *Proposal) bool {
	return !slices.ContainsFunc(p.Failures, func(fl *resolve.Failure) bool {
		return !fl.Says(knowledge.TooFewGPUs) || fl.Node == "" || !slices.ContainsFunc(f.Failures, func(o *resolve.Failure) bool {
			return o.Mechanism.Is(knowledge.DeviceGone) && o.Role == knowledge.CauseRole && o.Node == fl.Node
		})
	})
}

// symptomatic says that a rank's own lines show it failing because of others.
func symptomatic(r *resolve.Rank) bool {
	return slices.ContainsFunc(r.Failures, func(fl *resolve.Failure) bool {
		return fl.Kind != resolve.KindExit && fl.Kind != resolve.KindTask && fl.Role == knowledge.SymptomRole
	})
}

// onDamaged leaves it open what crashed a process where the kernel reports an uncorrected hardware error of the machine: memory that is damaged
// crashes programs that are not at fault.
func (p *Proposal) onDamaged(f *resolve.Facts) {
	for _, e := range f.Kernel {
		here := e.Node == "" || len(p.Nodes) == 0 || slices.Contains(p.Nodes, e.Node)
		if e.Kind != kernel.Machine || !e.Fatal || !here || e.When == resolve.Before || e.When == resolve.After {
			continue
		}
		p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.ThermalPower}, false, 0.88
		p.Why = "the kernel reports an uncorrected hardware error of the machine: the process crashed of that, or of a fault of its own"
		p.Against = append(p.Against, finding("the kernel reports an uncorrected hardware error", QuoteAt(e.At, nil)))
		return
	}
}

// nativeCrash: signals that only a crash sends, and an abort that nothing before it explains.
func nativeCrash(s *Scene) *Proposal {
	if p := fromFailures(s, knowledge.NativeCrash); p != nil {
		p.onDamaged(s.Facts)
		return p
	}
	f := s.Facts
	if s.Graph.Shape != waitfor.NoHang || Unspoken(f) != nil {
		return nil // watchdogs end their processes so
	}
	for _, fl := range f.Failures {
		if fl.Role == knowledge.CauseRole && fl.Mechanism != "" {
			return nil
		}
	}
	var aborts []*resolve.Failure
	for _, r := range f.Ranks {
		if r.Exit != nil && bySIGKILL(r.Exit.Code) {
			return nil // somebody was killed: an abort elsewhere follows from that
		}
		if r.Exit == nil || !aborted(r.Exit.Code) || s.Graph.Waits(r.ID) || spoke(r) || takenDown(f, r) {
			continue
		}
		fl := &resolve.Failure{Rank: r.ID, Proc: r, Node: r.Node, Kind: resolve.KindExit, At: &r.Exit.At, T: r.Exit.T, Role: knowledge.CauseRole,
			Count: 1, Text: "the process aborted (SIGABRT)"}
		if !AfterHang(s, fl) {
			aborts = append(aborts, fl)
		}
	}
	if len(aborts) == 0 {
		if bare := bareTasks(s, signal("Aborted")); len(bare) > 0 {
			p := propose(s, knowledge.NativeCrash, Local, bare)
			p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.Unknown}, false, 0.85
			p.Why = "SLURM saw a task abort; no line from the task shows why"
			return p
		}
		if bare := launched(f, aborted); len(bare) > 0 && !signalled(f) {
			p := propose(s, knowledge.NativeCrash, Local, bare)
			p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.Unknown}, false, 0.88
			p.Why = "the exit status shows SIGABRT, and nothing before it shows why"
			return p
		}
	}
	if len(aborts) != 1 {
		return nil // PyTorch's own way to end many processes
	}
	if f.Coverage.Partial && victims(f) && !firstToEnd(f, aborts[0].Proc) {
		return nil // others lost a peer, which may be in what is not here, and this abort may be how one of them ended
	}
	if lostAbove(f, aborts[0]) {
		return nil // who loses a peer is often ended so
	}
	p := propose(s, knowledge.NativeCrash, Local, aborts)
	p.Direct, p.Base = false, 0.9
	p.Why = "the exit status shows SIGABRT, and nothing before it shows why"
	if r := aborts[0].Proc; r.Lines == 0 || f.Coverage.CutRanks[r.ID] || f.Coverage.Partial {
		p.Rivals, p.Base = []knowledge.Slug{knowledge.Unknown}, 0.88 // PyTorch may have ended it, in lines that are not here
	}
	return p
}

// lostAbove says that a line above a failure, in its file, tells of a peer that is gone.
func lostAbove(f *resolve.Facts, fl *resolve.Failure) bool {
	return slices.ContainsFunc(f.Failures, func(o *resolve.Failure) bool {
		return o.LostPeer() && o.At.File == fl.At.File && o.At.Off < fl.At.Off
	})
}

// firstToEnd says that srun names this rank's end before any other task's: in the step's file, in the order of events.
func firstToEnd(f *resolve.Facts, r *resolve.Rank) bool {
	found := false
	for _, t := range f.Obs.TaskExits {
		if t.File != r.Exit.At.File {
			continue
		}
		if t.Off < r.Exit.At.Off {
			return false
		}
		found = found || t.Off == r.Exit.At.Off
	}
	return found
}

// victims says that some process reports a lost peer.
func victims(f *resolve.Facts) bool {
	return slices.ContainsFunc(f.Failures, func(fl *resolve.Failure) bool { return fl.LostPeer() })
}

// takenDown says that PyTorch tells of an error in this rank's communication, upon which it aborts the process.
func takenDown(f *resolve.Facts, r *resolve.Rank) bool {
	return slices.ContainsFunc(f.Signals, func(t resolve.Told) bool {
		return t.Rank == r.ID && (t.Sig.Kind == worker.SignalAsync || t.Sig.Kind == worker.SignalTakingDown || t.Sig.Kind == worker.SignalTerminate)
	})
}

// spoke says that a rank's own lines tell of a failure, whatever its role.
func spoke(r *resolve.Rank) bool {
	if r.Stuck != nil {
		return true // its heartbeat monitor ended it
	}
	return slices.ContainsFunc(r.Failures, func(fl *resolve.Failure) bool { return fl.Kind != resolve.KindExit && fl.Kind != resolve.KindTask })
}
