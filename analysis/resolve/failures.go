package resolve

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// Mechanism slugs that this package has to name itself, because they follow from an exit status or an exception's
// class rather than from a signature's wording.
const (
	mechException   = "exception"
	mechNativeCrash = "native-crash"
	mechHostOOM     = "host-oom"
	mechSignal      = "external-signal"
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
	"CancelledError":              knowledge.ConsequenceRole,
	"DeadlockDetectedException":   knowledge.ConsequenceRole, // Lightning's, of a rank that had failed of what stands above it
	"_DeadlockDetectedException":  knowledge.ConsequenceRole,
	"ConnectionAbortedError":      knowledge.SymptomRole,
	"EngineDeadError":             knowledge.SymptomRole, // vLLM's, of the process that asks the engine
	"GeneratorExit":               knowledge.ConsequenceRole,
	"BrokenPipeError":             knowledge.ConsequenceRole,
	"EOFError":                    knowledge.ConsequenceRole,
	// C++: what std::terminate prints after the watchdog or a destructor threw. Up to 2.0 the class was runtime_error.
	"terminate":          knowledge.ConsequenceRole,
	"runtime_error":      knowledge.ConsequenceRole,
	"Fatal Python error": knowledge.ConsequenceRole,
}

// failures collects what went wrong in single processes, with its role, and attributes it.
func (f *Facts) failures(obs *worker.Observations) {
	seen := &printed{likes: newLikes(true)}
	for i := range obs.Exceptions {
		f.exception(seen, &obs.Exceptions[i])
	}
	tried := f.triedAgain()
	for i := range obs.Signs {
		s := &obs.Signs[i]
		if tried[s.Pos] {
			continue // its client went on to try again: what became of that is told by the ladder
		}
		f.sign(seen, &s.At, s.ID, "sign", cmp.Or(s.Text, s.ID))
	}
	for i := range obs.NCCLWarns {
		w := &obs.NCCLWarns[i]
		for _, id := range w.Signs {
			f.sign(seen, &w.At, id, "nccl", w.Text)
		}
	}
	f.exits(obs)
	f.tasks(obs)
	for i := range obs.SlurmEnds {
		e := &obs.SlurmEnds[i]
		switch e.Kind {
		case "oom":
			fl := f.newFailure(&e.At, "sign")
			fl.Rank, fl.Proc = NoRank, nil // slurmstepd speaks of the node, in whichever task's file it writes
			fl.Mechanism, fl.Role, fl.Direct, fl.Count = mechHostOOM, knowledge.CauseRole, true, max(1, e.N)
			fl.Sign, fl.Text = "slurm-oom", "SLURM counted an out-of-memory kill in this step on this node"
			if e.System != "" { // which ended the whole job; LSF writes that above what the job printed
				fl.Kind, fl.Node, fl.Text = "record", "", e.System+" ended the job because it used more memory than it had asked for"
			}
			f.Failures = append(f.Failures, &fl)
		default:
			f.Ends = append(f.Ends, &End{Slurm: *e, T: f.At(e.At)})
		}
	}
	f.records(f.controllers)
	f.ladderFailures()
	f.tolerated(&seen.tolerance)
	f.trapped()
	f.attribute()
	f.collapse()
	for _, fl := range f.Failures {
		if fl.Told != nil { // the first line says only which call failed, and is what repeats
			fl.Text = fl.Told.Text
		} else if fl.Kind == "exception" && fl.Exc != nil {
			fl.Text += raisedFrom(fl.Exc)
		}
	}
}

// trapped takes launch failures for what they are where kernels of DeepEP had waited in vain: such a kernel prints that and then stops
// its process with a trap, which CUDA reports as a launch failure.
func (f *Facts) trapped() {
	first := map[string]worker.Pos{}
	for _, fl := range f.Failures {
		if p, ok := first[fl.At.File]; fl.Sign == "peer-deepep-kernel" && (!ok || less(fl.At.Pos, p)) {
			first[fl.At.File] = fl.At.Pos
		}
	}
	if len(first) == 0 {
		return
	}
	for _, fl := range f.Failures {
		if p, ok := first[fl.At.File]; ok && fl.Sign == "cuda-launch-failure" && less(p, fl.At.Pos) {
			fl.Mechanism, fl.Role, fl.Direct = "", knowledge.ConsequenceRole, false
		}
	}
}

// triedAgain are where ladders begin and end that are not known to have been in vain.
func (f *Facts) triedAgain() map[worker.Pos]bool {
	out := map[worker.Pos]bool{}
	for i := range f.Obs.IOs {
		if v := &f.Obs.IOs[i]; v.Retry() {
			out[v.Pos] = true
		}
	}
	return out
}

// attribute ties a failure that names no rank to one where the file leaves no choice: of the processes that this file's
// launcher saw end, exactly one ended in the way that such a failure ends a process.
func (f *Facts) attribute() {
	exits := map[string]map[int]int{} // file → rank → code
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
	for _, c := range f.Obs.ChildFailed {
		if c.Rank >= 0 {
			note(exits, c.File, c.Rank, c.ExitCode)
			note(hosts, shortHost(c.Host), c.Rank, c.ExitCode)
		}
	}
	for _, r := range f.byRank {
		if r.Exit != nil {
			note(hosts, r.Exit.Host, r.ID, r.Exit.Code)
		}
	}
	byFile, byHost := byCode(exits), byCode(hosts)
	for _, fl := range f.Failures {
		if fl.Rank != NoRank || fl.Role != knowledge.CauseRole || fl.Kind == "task" && fl.Mechanism != mechHostOOM || f.ident.multiHost[fl.At.File] {
			continue
		}
		set := byFile[fl.At.File]
		if (len(set) == 0 || fl.Mechanism == mechHostOOM) && fl.Node != "" {
			set = byHost[fl.Node]
		}
		only, n := NoRank, 0
		for code, ranks := range set {
			if endsSo(fl, code) {
				only, n = ranks.one, n+ranks.n
			}
		}
		if ranks := set[1]; n == 0 && fl.Mechanism == mechHostOOM {
			// The kernel may have taken a loader's process: then its rank ends with an exception.
			only, n = ranks.one, ranks.n
		}
		if n == 1 {
			fl.Rank, fl.Proc = only, f.rank(only, "the only process there that ended so")
			if fl.Node == "" {
				fl.Node = fl.Proc.Node
			}
		}
	}
}

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
	case fl.Mechanism == mechHostOOM || fl.Mechanism == "external-signal":
		return code == -9 || code == 137
	case fl.Mechanism == mechNativeCrash:
		return crashSignal(code) || code == -6 || code == 134
	case fl.Kind == "exception" && fl.Exc != nil && strings.Contains(fl.Exc.Type, "::"):
		return code == -6 || code == 134
	case fl.Kind == "exception":
		return code == 1
	}
	return code == 1 || code == -6 || code == 134
}

func (f *Facts) newFailure(at *worker.At, kind string) Failure {
	fl := Failure{Rank: NoRank, At: at, Kind: kind, Node: f.ident.nodeOf(*at), T: f.At(*at), NotBefore: f.NotBefore(*at), Count: 1}
	if id, basis, ok := f.ident.rankOf(*at); ok {
		r := f.rank(id, basis)
		fl.Rank, fl.Proc = id, r
		if fl.Node == "" {
			fl.Node = r.Node
		}
	}
	return fl
}

func (f *Facts) exception(seen *printed, x *worker.Exception) {
	fl := f.newFailure(&x.At, "exception")
	fl.Exc = x
	fl.Text = saying(x)
	if r, ok := defaultGroupRank(x.Message); ok && fl.Rank == NoRank {
		fl.Rank, fl.Proc = r, f.rank(r, "its rank in the default group")
		if fl.Node == "" {
			fl.Node = fl.Proc.Node
		}
	}
	fl.Mechanism, fl.Role, fl.Direct, fl.Sign = inContext(x)
	if i := slices.IndexFunc(x.Told, func(t worker.Told) bool { return t.ID == fl.Sign }); i >= 0 && fl.Role != knowledge.ConsequenceRole {
		fl.Told = &x.Told[i]
	}
	if x.Bare && fl.Sign == "" {
		if fl.Mechanism != mechException || !f.lastWords(x) {
			return
		}
		fl.Direct = false
	}
	f.signed(&fl, x.Message)
	if o := toldBy(x, fl.Sign); o != nil && fl.Told == nil && fl.Role != knowledge.ConsequenceRole {
		fl.Told = &worker.Told{At: o.At, ID: fl.Sign, Text: saying(o)}
	}
	if fl.Told != nil && f.onNode(&fl, fl.Told.Text) {
		fl.Told = &worker.Told{At: fl.Told.At, ID: fl.Sign, Text: fl.Text}
	}
	if x.Type == "" && fl.Sign == "" {
		// The file ends, or another writer cuts in, before the line that says what was raised.
		fl.Mechanism, fl.Role, fl.Text = "", knowledge.ConsequenceRole, "a traceback without its last line"
	}
	if fl.Role == knowledge.NoiseRole || fl.Role == knowledge.InfoRole {
		return
	}
	f.reported(seen, &fl)
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
func toldBy(x *worker.Exception, sign string) *worker.Exception {
	var below *worker.Exception
	for i := range x.Cause {
		if c := &x.Cause[i]; c.Type != "" && c.File == x.File && c.Off > x.Off && (below == nil || c.Off > below.Off) {
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
	if e != x && e.Type != "" {
		return e
	}
	if i := slices.IndexFunc(x.Cause, func(c worker.Exception) bool { return holds(&c, sign) }); i >= 0 && !holds(x, sign) {
		return &x.Cause[i]
	}
	return nil
}

func saysNothing(x *worker.Exception) bool {
	begin, ok := wordless[x.Type[strings.LastIndexAny(x.Type, ".:")+1:]]
	return ok && strings.HasPrefix(x.Message, begin)
}

// holds says that the line of an exception has this sign.
func holds(x *worker.Exception, sign string) bool {
	return sign != "" && slices.Contains(knowledge.Match(nil, []byte(saying(x))), sign)
}

// saying is an exception as its last line tells it.
func saying(x *worker.Exception) string { return strings.TrimSuffix(x.Type+": "+x.Message, ": ") }

// raisedFrom is what the direct cause of an exception adds to its words, or "".
func raisedFrom(x *worker.Exception) string {
	if !x.From || len(x.Cause) == 0 {
		return ""
	}
	c := &x.Cause[len(x.Cause)-1]
	if c.Type == "" || c.Message == "" || c.File == x.File && c.Off > x.Off || strings.Contains(x.Message, c.Message) {
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

// signed gives a failure the rank and the node that its own words state, where its writer speaks of itself.
func (f *Facts) signed(fl *Failure, text string) {
	s, ok := knowledge.Lookup(fl.Sign)
	if !ok || !s.Own || fl.Told != nil {
		return
	}
	fields := knowledge.Fields(s.ID, []byte(text))
	r, err := strconv.Atoi(cmp.Or(fields["rank"], fields["rank2"]))
	switch {
	case err != nil || f.Job.WorldSize > 0 && r >= f.Job.WorldSize || fl.Rank != NoRank && fl.Rank != r:
		return // it names none, or another than who wrote the line
	case fl.Rank == NoRank:
		fl.Rank, fl.Proc = r, f.rank(r, "its own error")
	}
	if host := shortHost(fields["node"]); host != "" && fl.Proc != nil && fl.Proc.Node == "" {
		fl.Proc.Node, fl.Proc.NodeBasis = host, "its own error"
	}
	if fl.Node == "" && fl.Proc != nil {
		fl.Node = fl.Proc.Node
	}
}

// onNode gives a failure the node whose memory a line says ran out: Ray tells it of any node, wherever it prints it. The
// numbers of processes and tasks around the address are left out.
func (f *Facts) onNode(fl *Failure, text string) bool {
	if !strings.HasPrefix(fl.Sign, "host-oom-") {
		return false
	}
	addr := knowledge.Fields(fl.Sign, []byte(text))["address"]
	if addr == "" {
		return false
	}
	s, _ := knowledge.Lookup(fl.Sign)
	fl.Rank, fl.Proc, fl.Node, fl.Text = NoRank, nil, addr, s.Meaning
	if f.NCCL != nil {
		fl.Node = cmp.Or(f.NCCL.hosts[addr], addr)
	}
	return true
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

// classify gives an exception its mechanism. In a chain the first block is the root: it is asked first.
func classify(x *worker.Exception) (mech string, role knowledge.Role, direct bool, sign string) {
	class := x.Type
	if i := strings.LastIndexAny(class, ".:"); i >= 0 {
		class = class[i+1:]
	}
	var first *knowledge.Signature
	for _, id := range x.Signs {
		s, ok := knowledge.Lookup(id)
		if !ok {
			continue
		}
		if s.Role == knowledge.CauseRole && s.Mechanism != "" {
			if o, ok := earlier(x, s.ID); ok {
				s = o
			}
			return s.Mechanism, s.Role, s.Direct, s.ID
		}
		if s.Role == knowledge.InfoRole {
			continue
		}
		if first == nil || first.Role == knowledge.SymptomRole && first.Mechanism == "" && s.Role == knowledge.SymptomRole && s.Mechanism != "" {
			c := s
			first = &c
		}
	}
	if first != nil {
		return first.Mechanism, first.Role, first.Direct, first.ID
	}
	if r, ok := exceptionRoles[class]; ok {
		root := rootOf(x)
		if root != x {
			return classify(root)
		}
		return "", r, false, ""
	}
	if root := rootOf(x); root != x {
		m, r, d, s := classify(root)
		if r != knowledge.NoiseRole {
			return m, r, d, s
		}
	}
	return mechException, knowledge.CauseRole, true, ""
}

// earlier is the cause that the direct cause of an exception names where the sign found first is the exception's own: a loader's
// worker "exited unexpectedly" where what it sent could not be opened.
func earlier(x *worker.Exception, sign string) (knowledge.Signature, bool) {
	if !x.From || len(x.Cause) == 0 || len(x.Signs) < 2 || !holds(x, sign) {
		return knowledge.Signature{}, false
	}
	for _, id := range x.Signs {
		if s, ok := knowledge.Lookup(id); ok && id != sign && s.Role == knowledge.CauseRole && s.Mechanism != "" && !holds(x, id) && holds(&x.Cause[len(x.Cause)-1], id) {
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

func (f *Facts) sign(seen *printed, at *worker.At, id, kind, text string) {
	s, ok := knowledge.Lookup(id)
	if !ok || s.Role == knowledge.NoiseRole || s.Role == knowledge.InfoRole {
		return
	}
	fl := f.newFailure(at, kind)
	if strings.HasPrefix(id, "slurm-") || strings.HasPrefix(id, "host-oom-") {
		fl.Rank, fl.Proc = NoRank, nil // they speak of the node, in whichever process's file they stand
	}
	fl.Mechanism, fl.Role, fl.Direct, fl.Sign = s.Mechanism, s.Role, s.Direct, s.ID
	fl.Text = text
	if s.Own {
		f.signed(&fl, text)
		f.onNode(&fl, text)
	}
	if s.Meaning != "" {
		fl.Text = s.Meaning
	}
	f.reported(seen, &fl)
}

// exits notes how processes ended. A signal that only a crash sends is a failure of its own; 6, 9 and 15 are what
// monitors and launchers send and prove nothing alone.
func (f *Facts) exits(obs *worker.Observations) {
	for i := range obs.ChildFailed {
		c := &obs.ChildFailed[i]
		if c.Rank < 0 {
			continue
		}
		r := f.rank(c.Rank, "torchrun failure block")
		node := shortHost(c.Host)
		if node == "" {
			node = f.ident.nodeOf(c.At)
		}
		if r.Node == "" {
			r.Node, r.NodeBasis = node, "torchrun failure block"
		}
		if r.Local < 0 {
			r.Local = c.Local
		}
		t := f.clock.at(node, c.Time)
		if r.Exit == nil || !r.Exit.Root && c.Root {
			r.Exit = &Exit{Code: c.ExitCode, At: c.At, T: t, Root: c.Root, Host: node}
		}
		if recorded(c.Traceback) {
			fl := &Failure{Rank: c.Rank, Proc: r, Node: node, Mechanism: mechException, Role: knowledge.CauseRole, Direct: true,
				Kind: "record", At: &c.At, T: t, Count: 1, Text: recordedText(c.Traceback)}
			fl.Mechanism, fl.Role, fl.Direct, fl.Sign = classify(&worker.Exception{Signs: knowledge.Match(nil, []byte(c.Traceback))})
			f.Failures = append(f.Failures, fl)
		}
		if crashSignal(c.ExitCode) {
			fl := &Failure{Rank: c.Rank, Proc: r, Node: node, Mechanism: mechNativeCrash, Role: knowledge.CauseRole, Direct: true,
				Kind: "exit", At: &c.At, T: t, Count: 1, Text: "the process died of signal " + strconv.Itoa(-c.ExitCode)}
			f.Failures = append(f.Failures, fl)
		}
	}
	for i := range obs.ChildExits {
		c := &obs.ChildExits[i]
		who := *c.Who()
		who.Local, who.Pid = c.Local, c.Pid
		id, basis, ok := f.ident.rankOf(worker.At{Pos: c.Pos, By: &who})
		fl := f.newFailure(&c.At, "exit")
		if ok {
			r := f.rank(id, basis)
			fl.Rank, fl.Proc = id, r
			if r.Exit == nil {
				r.Exit = &Exit{Code: c.ExitCode, At: c.At, T: f.At(c.At)}
			}
		} else {
			fl.Rank, fl.Proc = NoRank, nil
		}
		if crashSignal(c.ExitCode) {
			fl.Mechanism, fl.Role, fl.Direct = mechNativeCrash, knowledge.CauseRole, true
			fl.Text = "the process died of signal " + strconv.Itoa(-c.ExitCode)
			f.Failures = append(f.Failures, &fl)
		}
	}
}

// recorded says that a failure block holds the worker's own traceback (torch.distributed.elastic's @record), not just
// torchrun's sentence about a signal or the manual.
func recorded(s string) bool {
	return strings.HasPrefix(s, "Traceback (most recent call last)")
}

// recordedText is the final line of such a traceback where the block shows it.
func recordedText(s string) string {
	if _, final, ok := strings.Cut(s, "(most recent call last): "); ok {
		return final
	}
	return s
}

// crashSignal: SIGILL 4, SIGBUS 7, SIGFPE 8, SIGSEGV 11.
func crashSignal(code int) bool {
	switch code {
	case -4, -7, -8, -11, 132, 135, 136, 139:
		return true
	}
	return false
}

// tasks reads srun's exit lines. After the step is being terminated they are consequences (SLURM 22.05 and 24.11,
// measured: the same wording follows any cancellation).
func (f *Facts) tasks(obs *worker.Observations) {
	ending := map[string]int64{}
	for i := range obs.SlurmEnds {
		e := &obs.SlurmEnds[i]
		switch e.Kind {
		case "oom", "launch-failed":
			continue
		}
		if o, ok := ending[e.File]; !ok || e.Off < o {
			ending[e.File] = e.Off
		}
	}
	for i := range obs.TaskExits {
		e := &obs.TaskExits[i]
		fl := &Failure{Rank: NoRank, At: &e.At, Kind: "task", T: f.At(e.At), NotBefore: f.NotBefore(e.At), Tasks: e.Tasks, Count: max(1, len(e.Tasks))}
		if len(e.Hosts) == 1 {
			fl.Node = shortHost(e.Hosts[0])
		}
		if len(e.Tasks) == 1 && f.taskIsRank() {
			fl.Rank = e.Tasks[0]
			fl.Proc = f.rank(fl.Rank, "SLURM task, one task is one rank")
			if fl.Proc.Node == "" {
				fl.Proc.Node, fl.Proc.NodeBasis = fl.Node, "srun exit line"
			}
		}
		o, ends := ending[e.File]
		before := !ends || e.Off < o
		what := strings.TrimSuffix(e.What, " (core dumped)")
		if before && fl.Proc != nil && fl.Proc.Exit == nil {
			code := e.Code
			if n, ok := taskSignals[what]; ok {
				code = -n
			}
			if code != line.Unknown {
				fl.Proc.Exit = &Exit{Code: code, At: e.At, T: fl.T, Host: fl.Node, Root: true}
			}
		}
		fl.Text = srunSays + e.What
		switch what {
		case "Segmentation fault", "Bus error", "Illegal instruction", "Floating point exception":
			fl.Mechanism, fl.Role, fl.Direct = mechNativeCrash, knowledge.CauseRole, true
		case "Out Of Memory":
			fl.Mechanism, fl.Role, fl.Direct = mechHostOOM, knowledge.CauseRole, true
		case "Terminated":
			fl.Role = knowledge.ConsequenceRole
		case "Killed", "Aborted":
			fl.Role = knowledge.ConsequenceRole
			if before {
				fl.Role = knowledge.SymptomRole
			}
		default:
			fl.Role = knowledge.SymptomRole
			if e.Code == 143 || !before && (e.Code == 137 || e.Code == 134) {
				fl.Role = knowledge.ConsequenceRole
			}
			if crashSignal(e.Code) {
				fl.Mechanism, fl.Role, fl.Direct = mechNativeCrash, knowledge.CauseRole, true
			}
		}
		if ends && e.Off > o && fl.Mechanism != mechHostOOM {
			fl.Role, fl.Mechanism, fl.Direct = knowledge.ConsequenceRole, "", false
		}
		f.Failures = append(f.Failures, fl)
	}
}

// taskSignals are the words that srun prints for signals a task died of (strsignal).
var taskSignals = map[string]int{"Killed": 9, "Aborted": 6, "Terminated": 15, "Segmentation fault": 11, "Bus error": 7, "Illegal instruction": 4, "Floating point exception": 8}

// taskIsRank says that SLURM tasks are ranks: as many tasks as ranks, proven by labels or by the highest task.
func (f *Facts) taskIsRank() bool {
	if f.ident.taskIsOne {
		return true
	}
	if f.Job.WorldSize == 0 {
		return false
	}
	most := -1
	for _, e := range f.Obs.TaskExits {
		for _, t := range e.Tasks {
			most = max(most, t)
		}
	}
	return most == f.Job.WorldSize-1 && f.Job.WorldSize > 1
}

// When is the failure's moment, or the lower bound that the stamps above it give.
func (fl *Failure) When() Moment {
	if fl.T.Valid {
		return fl.T
	}
	return fl.NotBefore
}
