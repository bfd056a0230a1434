package resolve

import (
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/worker"
	"faultline/knowledge"
	"faultline/pattern"
)

// exceptionRoles are the classes of Python exceptions whose meaning does not depend on their text: wrappers and what
// processes raise because another one died. Source: PyTorch 2.6 (torch/distributed), torchrun, Lightning.
var exceptionRoles = map[string]knowledge.Role{
	"ChildFailedError":            knowledge.ConsequenceRole,
	"ProcessRaisedException":      knowledge.ConsequenceRole,
	"ProcessExitedException":      knowledge.ConsequenceRole,
	"SignalException":             knowledge.ConsequenceRole,
	"SIGTERMException":            knowledge.ConsequenceRole,
	"KeyboardInterrupt":           knowledge.ConsequenceRole,
	"SystemExit":                  knowledge.ConsequenceRole,
	"DistBackendError":            knowledge.SymptomRole,
	"DistNetworkError":            knowledge.SymptomRole,
	"DistStoreError":              knowledge.SymptomRole,
	"HorovodInternalError":        knowledge.SymptomRole,
	"RendezvousConnectionError":   knowledge.SymptomRole,
	"RendezvousClosedError":       knowledge.ConsequenceRole,
	"RendezvousGracefulExitError": knowledge.ConsequenceRole,
	"CalledProcessError":          knowledge.SymptomRole,
	"Py4JJavaError":               knowledge.SymptomRole, // PySpark's, of the driver: something failed under Java, mostly a task
	"CancelledError":              knowledge.ConsequenceRole,
	"DeadlockDetectedException":   knowledge.ConsequenceRole, // Lightning's, of a rank that had failed of what stands above it
	"_DeadlockDetectedException":  knowledge.ConsequenceRole,
	"ConnectionAbortedError":      knowledge.SymptomRole,
	"ActorError":                  knowledge.SymptomRole, // Monarch's, of who called the actor: what it raised stands below
	"EngineDeadError":             knowledge.SymptomRole, // vLLM's, of the process that asks the engine
	"GeneratorExit":               knowledge.ConsequenceRole,
	"BrokenPipeError":             knowledge.ConsequenceRole,
	"EOFError":                    knowledge.ConsequenceRole,
	// C++: what std::terminate prints after the watchdog or a destructor threw. Up to 2.0 the class was runtime_error.
	"terminate":          knowledge.ConsequenceRole,
	"runtime_error":      knowledge.ConsequenceRole,
	"Fatal Python error": knowledge.ConsequenceRole,
}

// exception takes an exception that a process prints.
func (p *printed) exception(x *worker.Exception) {
	if keptByTelemetry(x) {
		return
	}
	f := p.f
	x = f.unabridged(x)
	fl := f.newFailure(&x.At, KindException)
	fl.Exc, fl.Count = x, 1+x.More
	fl.Text = saying(x)
	r, ok := defaultGroupRank(x.Message)
	if !ok {
		r, ok = f.beginsWithRank(x.Message)
	}
	if ok && fl.Rank == NoRank {
		fl.Rank, fl.Proc = r, f.rank(r, "its own words")
		if fl.Node == "" {
			fl.Node = fl.Proc.Node
		}
	}
	s := settingOf(f.Known, x)
	s.heard = p.heard
	fl.is(s.Meaning)
	if fl.Sign == "" && fl.Role == knowledge.SymptomRole {
		fl.spoken = ofPeers(x)
	}
	if now, why := s.inContext(); why != "" && !f.signed(x, now) {
		fl.amend(now, why, x.Pos)
		fl.Code = s.said.Named()
	}
	if i := slices.IndexFunc(x.Told, func(t worker.Told) bool { return t.ID == fl.Sign }); i >= 0 && fl.Role != knowledge.ConsequenceRole {
		fl.Told = &x.Told[i]
	}
	if _, stated := fl.Stated(); x.Bare && (fl.Sign == "" || stated) {
		if fl.Mechanism != knowledge.Exception && !stated || !f.lastWords(x) {
			return
		}
		bare := fl.Meaning()
		bare.Direct = false
		fl.amend(bare, "it has no traceback", x.Pos)
	}
	if fl.Told == nil {
		fl.own(f, x.Message)
	}
	if o := toldBy(f.Known, x, fl.Sign); o != nil && fl.Told == nil && fl.Role != knowledge.ConsequenceRole {
		fl.Told = &worker.Told{At: o.At, ID: fl.Sign, Text: saying(o)}
	}
	if fl.Told != nil && fl.onNode(f, fl.Told.Text) {
		fl.Told = &worker.Told{At: fl.Told.At, ID: fl.Sign, Text: fl.Text}
	}
	if x.Type == "" && fl.Sign == "" {
		// The file ends, or another writer cuts in, before the line that says what was raised.
		fl.amend(fl.Meaning().of("").as(knowledge.ConsequenceRole), "its last line is missing", x.Pos)
		fl.Text = "a traceback without its last line"
	}
	if fl.Role == knowledge.NoiseRole || fl.Role == knowledge.InfoRole {
		return
	}
	if x.Warned && f.wentOnAfterWarning(&fl) {
		p.warn.add("%s:%d doesn't count as a failure: the program caught it and logged a warning", fl.At.File, fl.At.Line)
		return
	}
	p.reported(&fl)
}

// signed says that a meaning is no more than what a message states, and that the line itself is known to say so or more: std::terminate's.
func (f *Facts) signed(x *worker.Exception, m Meaning) bool {
	if _, ok := knowledge.CauseStated(m.Sign); !ok {
		return false
	}
	return slices.ContainsFunc(f.Obs.Signs, func(s worker.Sign) bool {
		return s.File == x.File && s.Line == x.Line && f.Known.Entry(s.ID).Role == knowledge.CauseRole
	})
}

// unabridged is an exception in whose words its file ends, with those of one that others raised and that begins so; else itself.
func (f *Facts) unabridged(x *worker.Exception) *worker.Exception {
	const enough = 24 // bytes
	if len(x.Message) < enough || !f.lastIn(x, 0) {
		return x
	}
	for i := range f.Obs.Exceptions {
		if o := &f.Obs.Exceptions[i]; o.Type == x.Type && len(o.Message) > len(x.Message) && strings.HasPrefix(o.Message, x.Message) {
			whole := *x
			whole.Message, whole.Signs = o.Message, o.Signs
			return &whole
		}
	}
	return x
}

// closes says that an exception is the last that its file holds.
func (f *Facts) closes(x *worker.Exception) bool {
	const ended = 2 // bytes, of the end of its last line
	return f.lastIn(x, ended)
}

// lastIn says that a file ends in an exception, or so many bytes below it.
func (f *Facts) lastIn(x *worker.Exception, below int64) bool {
	return slices.ContainsFunc(worker.Within(f.Obs.Tails, x.File), func(t worker.Tail) bool { return t.Bytes <= x.Off+int64(x.Len)+below })
}

// wentOnAfterWarning says that a program went on after it had caught an exception and logged it as a warning: its process does not end with
// an error of which nothing else tells, and where ranks hung, whoever wrote it waited like others. A file that tells of steps tells of
// further ones, too: of a warning that has nothing to do with the traceback below it, it does not. Only of a file that tells of none while
// others do it is believed, where the exception is one that is passed over and nothing unexplained tells of an end; where its traceback is
// the last that its file holds and nothing else went wrong, it is left open.
func (f *Facts) wentOnAfterWarning(fl *Failure) bool {
	launcher := func(fr worker.Frame) bool { return strings.Contains(fr.File, "/ray/") } // it warns of trials that failed
	if uncaught(fl) || fl.Role != knowledge.CauseRole || slices.ContainsFunc(fl.Exc.Frames, launcher) {
		return false
	}
	file := fl.At.File
	ended := slices.ContainsFunc(worker.Within(f.Obs.TaskExits, file), func(e worker.TaskExit) bool { return failedItself(e.Code) }) ||
		slices.ContainsFunc(worker.Within(f.Obs.ChildFailed, file), func(c worker.ChildFailed) bool { return failedItself(c.ExitCode) }) ||
		slices.ContainsFunc(worker.Within(f.Obs.ChildExits, file), func(c worker.ChildExit) bool { return failedItself(c.ExitCode) })
	if ended && !slices.ContainsFunc(f.Obs.Exceptions, func(x worker.Exception) bool {
		return fl.At.Above(x.Pos) && raised(x)
	}) {
		return false
	}
	if !f.hung() {
		above, below := f.StepsAround(*fl.At)
		passable := fl.Mechanism == knowledge.Exception || fl.Mechanism.Is(knowledge.LeftOut|knowledge.ReadsOrWrites)
		believed := above+below == 0 && len(f.Progress) > 0 && passable && !f.endedOtherwise()
		fl.Unsettled = believed && f.closes(fl.Exc) && !slices.ContainsFunc(f.Obs.Exceptions, raised)
		return below >= goesOn || believed && !fl.Unsettled
	}
	if fl.Rank != NoRank {
		return slices.ContainsFunc(fl.Proc.Pending, (*Pending).shared)
	}
	there := false
	for _, r := range f.byRank {
		if r.First.File == fl.At.File {
			if there = len(r.Pending) > 0; !there {
				return false
			}
		}
	}
	return there
}

// shared says that another rank waited in the same work of the same group.
func (p *Pending) shared() bool {
	return slices.ContainsFunc(p.Group.Pending, func(o *Pending) bool {
		return o.Rank != p.Rank && o.Work.Seq == p.Work.Seq && o.Work.Op == p.Work.Op
	})
}

// endedOtherwise says that something tells of processes that ended or were missed, and no exception but those that were warned of says why.
func (f *Facts) endedOtherwise() bool {
	o := f.Obs
	cancelled := func(e worker.End) bool { return e.Kind != worker.EndCancelled || e.Reason == "" }
	lost := func(s worker.Sign) bool {
		return f.Known.Entry(s.ID).Mechanism.Is(knowledge.PeerGone)
	}
	if len(o.ChildFailed)+len(o.ChildExits)+len(o.TaskExits) == 0 && !slices.ContainsFunc(o.Ends, cancelled) && !slices.ContainsFunc(o.Signs, lost) {
		return false
	}
	return !slices.ContainsFunc(o.Exceptions, raised)
}

// raised says that an exception is none that a program was only warned of, or that follows from others.
func raised(x worker.Exception) bool { return !x.Warned && exceptionRoles[className(x.Type)] == "" }

// keptByTelemetry says that the client of an experiment tracker caught an exception and only told it: the traceback begins in its own code,
// or in a thread of it. One that reached the program would begin there.
func keptByTelemetry(x *worker.Exception) bool {
	for _, fr := range x.Frames {
		if !strings.HasSuffix(fr.File, "/threading.py") {
			return knowledge.Telemetry(fr.File)
		}
	}
	return false
}

// wordless are the exceptions that say only that another one was met: their class, and how their message begins. Sources:
// datasets/builder.py, ray/train/base_trainer.py, tenacity, concurrent/futures/process.py.
var wordless = map[string]string{
	"DatasetGenerationError": "An error occurred while generating the dataset",
	"TrainingFailedError":    "The Ray Train run failed",
	"RetryError":             "RetryError[<Future at ",
	"BrokenProcessPool":      "A ",
}

// toldBy is the block of a chain that says what its last one does not: what another process raised, which is printed inside the
// message of the one that caught it; what an exception without words of its own was raised from; what holds the sign. nil where
// the last one speaks for itself.
func toldBy(known *knowledge.Catalogue, x *worker.Exception, sign knowledge.ID) *worker.Exception {
	var below *worker.Exception
	for i := range x.Cause {
		if c := &x.Cause[i]; c.Type != "" && x.Above(c.Pos) && (below == nil || c.Off > below.Off) {
			below = c
		}
	}
	if below != nil {
		return below
	}
	e, i := x, len(x.Cause)
	for ; i > 0 && e.From && saysNothing(e); i-- {
		e = &x.Cause[i-1]
	}
	if e != x && e.Type != "" && e.Message != "" {
		return e
	}
	if i := slices.IndexFunc(x.Cause, func(c worker.Exception) bool { return holds(known, &c, sign) }); i >= 0 && !holds(known, x, sign) {
		return &x.Cause[i]
	}
	return nil
}

func saysNothing(x *worker.Exception) bool {
	begin, ok := wordless[x.Type[strings.LastIndexAny(x.Type, ".:")+1:]]
	return ok && strings.HasPrefix(x.Message, begin)
}

// holds says that the line of an exception has this sign.
func holds(known *knowledge.Catalogue, x *worker.Exception, sign knowledge.ID) bool {
	return sign != "" && slices.Contains(known.Match(nil, []byte(saying(x))), sign)
}

// saying is an exception as its last line tells it.
func saying(x *worker.Exception) string { return strings.TrimSuffix(x.Type+": "+x.Message, ": ") }

// raisedFrom is what the direct cause of an exception adds to its words, or "".
func raisedFrom(x *worker.Exception) string {
	if !x.From || len(x.Cause) == 0 {
		return ""
	}
	c := &x.Cause[len(x.Cause)-1]
	if c.Type == "" || c.Message == "" || x.Above(c.Pos) || strings.Contains(x.Message, c.Message) {
		return ""
	}
	return "; raised from " + saying(c)
}

// lastWords says that a file ends soon after an exception, and no step of the training comes in between.
func (f *Facts) lastWords(x *worker.Exception) bool {
	const soon = 40 // lines: what launchers and libraries print at the end
	for _, t := range f.Tails {
		if t.File == x.File {
			return t.Lines-x.Line <= soon && f.stepsAfter(x.At) == 0
		}
	}
	return false
}

// defaultGroupRank is the rank that a process group's own prefix states in a message, where that group is the default
// one: "[PG 0 (default_pg) Rank 12]" (PyTorch 2.4), "[PG ID 0 PG GUID 0(default_pg) Rank 12]" (2.5 on). Its ranks are
// the global ones.
func defaultGroupRank(msg string) (int, bool) {
	const key = "(default_pg) Rank "
	if !strings.HasPrefix(msg, "[PG ") {
		return 0, false
	}
	i := strings.Index(msg, key)
	end := strings.IndexByte(msg, ']')
	if i < 0 || end < i {
		return 0, false
	}
	r, err := strconv.Atoi(msg[i+len(key) : end])
	return r, err == nil && r >= 0 && r < 1<<24
}

// ownRank finds the rank with which a message begins; within a process group such a number counts its members.
var (
	ownRank  = pattern.New(`^\[(?i:global[ _])?(?i:rank)[ :=]{0,2}(\d{1,6})\]`)
	inAGroup = pattern.New(`(?i)process ?group|nccl|watchdog|collective operation|\bwork\b|\[P?G `)
)

// beginsWithRank is the rank that a message gives as its writer's before it says anything.
func (f *Facts) beginsWithRank(msg string) (int, bool) {
	m := ownRank.FindStringSubmatch(msg)
	if m == nil || inAGroup.MatchString(msg) {
		return 0, false
	}
	r, err := strconv.Atoi(m[1])
	return r, err == nil && (f.Job.WorldSize == 0 || r < f.Job.WorldSize)
}

// unexplained is an exception that says no more than that the program raised it.
var unexplained = Meaning{Mechanism: knowledge.Exception, Role: knowledge.CauseRole, Direct: true}

// classify gives an exception its mechanism. In a chain the first block is the root: it is asked first.
func classify(known *knowledge.Catalogue, x *worker.Exception) Meaning {
	class := className(x.Type)
	var first *knowledge.Signature
	for _, id := range x.Signs {
		s, ok := known.Lookup(id)
		if !ok {
			continue
		}
		if s.Role == knowledge.CauseRole && s.Mechanism != "" {
			if o, ok := earlier(known, x, s.ID); ok {
				s = o
			}
			return Meaning{s.Mechanism, s.Role, s.Direct, s.ID}
		}
		if s.Role == knowledge.InfoRole || s.Role == knowledge.NoiseRole && !toldOf(known, x, id) {
			continue // what stands below a message may be another's line
		}
		if first == nil || first.Role == knowledge.SymptomRole && first.Mechanism == "" && s.Role == knowledge.SymptomRole && s.Mechanism != "" {
			c := s
			first = &c
		}
	}
	if first != nil && first.Says&knowledge.OfChild != 0 && x.Who().Global >= 0 || notCompiled(rootOf(x)) { // a rank starts helpers, no launcher
		return unexplained
	}
	if first != nil {
		return Meaning{first.Mechanism, first.Role, first.Direct, first.ID}
	}
	if root := rootOf(x); x.Who().Global < 0 && another.MatchString(root.Message) {
		return Meaning{Role: knowledge.ConsequenceRole}
	}
	if r, ok := exceptionRoles[class]; ok {
		root := rootOf(x)
		if root != x {
			return classify(known, root)
		}
		return Meaning{Role: r}
	}
	if root := rootOf(x); root != x {
		if m := classify(known, root); m.Role != knowledge.NoiseRole {
			return m
		}
	}
	if ofPeers(x) != 0 {
		return Meaning{Role: knowledge.SymptomRole}
	}
	return unexplained
}

// ofPeers says what an exception that no entry knows tells of other processes, by the words of its class and its message.
func ofPeers(x *worker.Exception) knowledge.Trait {
	class := strings.TrimSuffix(strings.TrimSuffix(className(x.Type), "Error"), "Exception")
	if _, known := exceptionRoles[className(x.Type)]; known {
		return 0
	}
	return knowledge.OfPeers(camel.ReplaceAllString(class, "$1 $2") + ": " + x.Message)
}

// camel finds where a word begins within a name.
var camel = pattern.New(`([a-z])([A-Z])`)

// toldOf says that an exception's own line, or that of one it came from, holds a sign.
func toldOf(known *knowledge.Catalogue, x *worker.Exception, sign knowledge.ID) bool {
	return holds(known, x, sign) || slices.ContainsFunc(x.Cause, func(c worker.Exception) bool { return holds(known, &c, sign) })
}

// className is the class of an exception without its module.
func className(typ string) string { return typ[strings.LastIndexAny(typ, ".:")+1:] }

// another is what launchers raise in words of their own when a program that they had started ends badly: it has lines of its own.
var another = pattern.New(`(?i)^(?:\S{1,40} ){0,3}?(?:process|command|worker|job|script|training|task|rank \d+)\b.{0,80}\b(?:exitt?ed|failed|finished|terminated|died|ended|returned)(?: with)? (?:a )?(?:non-?zero )?(?:(?:exit|return|status) ?)?(?:code|status)[:=]? ?-?\d{1,3}[.!]?$|^process \d+ terminated with signal SIG\w+$|^Error (?:for T|t)raining (?:job )?\S+: Failed\b|^Horovod detected that one or more processes exited with non-zero status`)

// compiler is a command that compiles code while the program runs: PyTorch's extensions and inductor, Triton. It ended by itself.
var compiler = pattern.New(`^Command '(?:\[')?(?:[^' ]*/)?(?:[\w-]+-)?(?:ninja|gcc|g\+\+|cc|c\+\+|clang|clang\+\+|nvcc|hipcc|ptxas)(?:-[\d.]+)?[' ].*returned non-zero exit status`)

// notCompiled says that an exception tells of a compiler's error: where other commands fail, they are programs that a launcher
// started, and their own lines say why. PyTorch's compiler puts its own class in front, and keeps the other's in the message.
func notCompiled(x *worker.Exception) bool {
	const failed = "CalledProcessError"
	if strings.HasSuffix(x.Type, failed) {
		return compiler.MatchString(x.Message)
	}
	_, command, within := strings.Cut(x.Message, failed+": ")
	return within && compiler.MatchString(command)
}

// earlier is the cause that the direct cause of an exception names where the sign found first is the exception's own: a loader's
// worker "exited unexpectedly" where what it sent could not be opened.
func earlier(known *knowledge.Catalogue, x *worker.Exception, sign knowledge.ID) (knowledge.Signature, bool) {
	if !x.From || len(x.Cause) == 0 || len(x.Signs) < 2 || !holds(known, x, sign) {
		return knowledge.Signature{}, false
	}
	for _, id := range x.Signs {
		if s, ok := known.Lookup(id); ok && id != sign && s.Role == knowledge.CauseRole && s.Mechanism != "" && !holds(known, x, id) && holds(known, &x.Cause[len(x.Cause)-1], id) {
			return s, true
		}
	}
	return knowledge.Signature{}, false
}

// rootOf is the first block of a chain.
func rootOf(x *worker.Exception) *worker.Exception {
	if len(x.Cause) > 0 {
		return &x.Cause[0]
	}
	return x
}
