package resolve

import (
	"fmt"
	"strconv"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// exits notes how processes ended. A signal that only a crash sends is a failure of its own; 6, 9 and 15 are what
// monitors and launchers send and prove nothing alone.
func (f *Facts) exits(obs *worker.Observations, orphans orphans) (all []*Failure) {
	for i := range obs.ChildFailed {
		c := &obs.ChildFailed[i]
		if c.Rank < 0 {
			continue
		}
		r := f.rank(c.Rank, "torchrun failure block")
		node := ShortHost(c.Host)
		if node == "" {
			node = f.ident.nodeOf(c.At)
		}
		if r.Node == "" {
			r.Node = node
		}
		if r.Local < 0 {
			r.Local = c.Local
		}
		t := f.clock.at(node, c.Time)
		if r.Exit == nil || !r.Exit.Root && c.Root {
			r.Exit = &Exit{Code: c.ExitCode, At: c.At, T: t, Root: c.Root, Host: node}
		}
		if recorded(c.Traceback) {
			fl := &Failure{known: f.Known, Rank: c.Rank, Proc: r, Node: node,
				Kind: KindRecord, At: &c.At, T: t, Count: 1, Text: recordedText(c.Traceback)}
			fl.is(classify(f.Known, &worker.Exception{Signs: f.Known.Match(nil, []byte(c.Traceback))}))
			all = append(all, fl)
		}
		if crashSignal(c.ExitCode) && !orphans.ends[c.Pos] {
			fl := &Failure{known: f.Known, Rank: c.Rank, Proc: r, Node: node, Kind: KindExit, At: &c.At, T: t, Count: 1, Text: diedOf + strconv.Itoa(-c.ExitCode)}
			fl.is(crashed)
			all = append(all, fl)
		}
	}
	for i := range obs.ChildExits {
		c := &obs.ChildExits[i]
		who := *c.Who()
		who.Local, who.Pid = c.Local, c.Pid
		id, basis, ok := f.ident.rankOf(worker.At{Pos: c.Pos, By: &who})
		fl := f.newFailure(&c.At, KindExit)
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
			fl.is(crashed)
			fl.Text = diedOf + strconv.Itoa(-c.ExitCode)
			if !ok && c.Local >= 0 {
				fl.Text += fmt.Sprintf(" (local rank %d of its launcher)", c.Local)
			}
			all = append(all, &fl)
		}
	}
	return all
}

const (
	diedOf    = "the process was killed by signal "
	bySignal7 = diedOf + "7"
)

// sharedMemory takes the death of a rank by a bus error for what follows from the same error in a process that loads its data: both read and
// write one shared memory, and that it is used up ends whoever touches it next. Where one rank alone died so, that process was its own.
func sharedMemory(all []*Failure) {
	var loader []*Failure
	for _, fl := range all {
		if fl.Says(knowledge.SharedMemory) {
			loader = append(loader, fl)
		}
	}
	if len(loader) == 0 {
		return
	}
	var died *Failure // who died so, if it was one rank: its launcher may tell it twice
	several := false
	for _, fl := range all {
		if fl.Kind == KindExit && fl.Mechanism.Is(knowledge.BySignal) && strings.HasPrefix(fl.Text, bySignal7) {
			fl.amend(fl.Meaning().as(knowledge.ConsequenceRole), "a data-loading process hit the same bus error in shared memory", loader[0].At.Pos)
			several = several || died != nil && died.Rank != fl.Rank
			if fl.Rank != NoRank {
				died = fl
			}
		}
	}
	if died != nil && !several && len(loader) == 1 && loader[0].Rank == NoRank {
		loader[0].Rank, loader[0].Proc, loader[0].Node = died.Rank, died.Proc, died.Node
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

// failedItself says that a process ended with an error of its own: no signal ended it.
func failedItself(code int) bool { return code > 0 && code < 128 }

// tasks reads srun's exit lines. After the step is being terminated they are consequences (SLURM 22.05 and 24.11,
// measured: the same wording follows any cancellation).
func (f *Facts) tasks(obs *worker.Observations) (all []*Failure) {
	ending := map[string]worker.Pos{}
	for i := range obs.Ends {
		e := &obs.Ends[i]
		switch e.Kind {
		case worker.EndOOM, worker.EndLaunch:
			continue
		}
		if o, ok := ending[e.File]; !ok || e.Off < o.Off {
			ending[e.File] = e.Pos
		}
	}
	for i := range obs.TaskExits {
		e := &obs.TaskExits[i]
		fl := &Failure{known: f.Known, Rank: NoRank, At: &e.At, Kind: KindTask, T: f.At(e.At), NotBefore: f.NotBefore(e.At), Tasks: e.Tasks, Count: max(1, len(e.Tasks))}
		if len(e.Hosts) == 1 {
			fl.Node = ShortHost(e.Hosts[0])
		}
		if len(e.Tasks) == 1 && f.taskIsRank() {
			fl.Rank = e.Tasks[0]
			fl.Proc = f.rank(fl.Rank, "SLURM task, one task is one rank")
			if fl.Proc.Node == "" {
				fl.Proc.Node = fl.Node
			}
		}
		o, ends := ending[e.File]
		before := !ends || e.Off < o.Off
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
		fl.is(taskMeaning(what, e.Code, before))
		if ends && e.Off > o.Off && !fl.Mechanism.Is(knowledge.ByKernel) {
			fl.amend(fl.Meaning().following(), "the step was already being killed", o)
		}
		all = append(all, fl)
	}
	return all
}

// TaskText is what srun says of a task's end, with the task and its node: "srun: task 5 on node03: Aborted".
func (fl *Failure) TaskText() string {
	who, how, ok := strings.Cut(fl.Text, ": ")
	if !ok || len(fl.Tasks) == 0 {
		return fl.Text
	}
	where := taskWords(fl.Tasks)
	if fl.Node != "" {
		where += " on " + fl.Node
	}
	return who + ": " + where + ": " + how
}

// crashed is a process that died of its own native code.
var crashed = Meaning{Mechanism: knowledge.NativeCrash, Role: knowledge.CauseRole, Direct: true}

// taskMeaning is what srun's word for the end of a task means, before the step is being ended or after.
func taskMeaning(what string, code int, before bool) Meaning {
	switch what {
	case "Segmentation fault", "Bus error", "Illegal instruction", "Floating point exception":
		return crashed
	case "Out Of Memory":
		return Meaning{Mechanism: knowledge.HostOOM, Role: knowledge.CauseRole, Direct: true}
	case "Terminated":
		return Meaning{Role: knowledge.ConsequenceRole}
	case "Killed", "Aborted":
		if before {
			return Meaning{Role: knowledge.SymptomRole}
		}
		return Meaning{Role: knowledge.ConsequenceRole}
	}
	switch {
	case crashSignal(code):
		return crashed
	case code == 143, !before && (code == 137 || code == 134):
		return Meaning{Role: knowledge.ConsequenceRole}
	}
	return Meaning{Role: knowledge.SymptomRole}
}

// taskSignals are the words that srun prints for signals a task died of (strsignal).
var taskSignals = map[string]int{"Killed": 9, "Aborted": 6, "Terminated": 15, "Segmentation fault": 11, "Bus error": 7, "Illegal instruction": 4, "Floating point exception": 8}

// TaskLaunches says that a SLURM task is the launcher of several ranks: it exits with 1 whatever ended them.
func (f *Facts) TaskLaunches() bool { return f.ident.taskIsNode }

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

// What stands in front of how a task ended, as srun or the accounting says it.
const (
	srunSays    = "srun: "
	recordsSays = "SLURM's records: "
)
