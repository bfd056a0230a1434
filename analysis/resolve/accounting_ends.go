package resolve

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/accounting"
	"faultline/analysis/line"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// CellAt is where a value of SLURM's records stands.
func CellAt(c accounting.Cell, s line.Stamp) worker.At {
	return worker.At{Pos: worker.Pos{File: c.File, Line: c.Line, Off: c.Off, Len: c.Len}, Stamp: s}
}

// ends are the endings of which the accounting tells, beside those of the logs.
func (a *Accounting) ends(c *clock, nodes []*accounting.Node) (all []*End) {
	if a == nil {
		return nil
	}
	for _, j := range slices.Concat(a.Jobs, a.Steps) {
		all = append(all, recordedEnds(j, c.accounted(j.End))...)
	}
	return append(all, a.rebooted(c, nodes)...)
}

// recordedEnds reads how the scheduler ended the job, or a user a step of it.
func recordedEnds(j *accounting.Record, end Moment) (all []*End) {
	c, ok := j.Cell("State")
	if !ok {
		return nil
	}
	if j.Step != "" {
		if j.By {
			e := worker.End{At: CellAt(c, j.End), Kind: worker.EndCancelled, Entity: "STEP", ID: j.Job + "." + j.Step}
			all = append(all, &End{Line: e, T: end, Says: c.Value})
		}
		return all
	}
	if x, known := acctEnds[j.State]; known {
		e := worker.End{At: CellAt(c, j.End), Kind: x.kind, Reason: x.reason, Entity: "JOB", ID: j.Job}
		all = append(all, &End{Line: e, T: end, Says: c.Value})
	}
	if c, ok := j.Cell("FailedNode"); ok && len(j.FailedNodes) > 0 {
		e := worker.End{At: CellAt(c, j.End), Kind: worker.EndNodeFailure, Entity: "JOB", ID: j.Job, Hosts: j.FailedNodes}
		all = append(all, &End{Line: e, T: end, Says: c.Value})
	}
	return all
}

// afterLoss is how long after the end of a run that lost a node the controller may say so of the node.
const afterLoss = 900.0

// rebooted reads the state of the run's own nodes: one that booted inside the run was gone; one that stopped responding
// counts where SLURM says that the run lost a node.
func (a *Accounting) rebooted(c *clock, nodes []*accounting.Node) (all []*End) {
	var start, end float64
	var kind line.StampKind
	lost := false
	for _, j := range a.Jobs {
		s, ok := c.civil(j.Start)
		e, ok2 := c.civil(j.End)
		if !ok || !ok2 || e <= s {
			continue
		}
		if start == 0 || s < start {
			start = s
		}
		end, kind = max(end, e), j.Start.Kind
		lost = lost || j.State == "NODE_FAIL"
	}
	if end == 0 {
		return nil
	}
	for _, n := range nodes {
		if !slices.ContainsFunc(a.Nodes, func(x string) bool { return ShortHost(x) == ShortHost(n.Name) }) {
			continue
		}
		until := end
		if lost {
			until += afterLoss
		}
		inside := func(s line.Stamp) bool {
			t, ok := c.civil(s)
			return ok && s.Kind == kind && t > start && t <= until
		}
		what := worker.End{Kind: worker.EndNodeFailure, Hosts: []string{n.Name}}
		switch boot, ok := n.Cell("BootTime"); {
		case ok && inside(n.Boot):
			what.At = CellAt(boot, n.Boot)
			all = append(all, &End{Line: what, T: c.accounted(n.Boot), Says: boot.Value, Told: fmt.Sprintf("%s was restarted while the job ran", n.Name)})
		case lost && n.Down() && inside(n.Since) && strings.HasPrefix(n.Reason, "Not responding"):
			reason, _ := n.Cell("Reason")
			what.At = CellAt(reason, n.Since)
			all = append(all, &End{Line: what, T: c.accounted(n.Since), Says: n.Reason, Told: fmt.Sprintf("SLURM has listed %s as not responding since then", n.Name)})
		}
	}
	return all
}

// withRecords adds what the accounting says to the failures of which the logs tell. The steps decide, not the job: an out-of-memory kill makes a job
// that failed, of which only the step knows why. What the job's own files say of the same says more.
func (f *Facts) withRecords(all []*Failure) []*Failure {
	if f.Accounting == nil {
		return all
	}
	for _, s := range slices.Concat(f.Accounting.Steps, f.Accounting.Jobs) {
		fl := f.recordFailure(s)
		if fl != nil && !slices.ContainsFunc(all, func(x *Failure) bool {
			return x.Mechanism != "" && x.Mechanism == fl.Mechanism && x.Role == knowledge.CauseRole
		}) {
			all = append(all, fl)
		}
	}
	return all
}

// recordFailure reads how a step ended; of the job's own record only what no step can say. It is nil where that is no failure.
func (f *Facts) recordFailure(s *accounting.Record) *Failure {
	column := "ExitCode"
	code := s.Exit
	if s.Step == "" && len(f.Accounting.Steps) == 0 && s.Derived.Known && !s.Derived.Zero() {
		code, column = s.Derived, "DerivedExitCode"
	}
	sig, sure := code.DiedOf()
	name, crash := accounting.Crash(sig)
	what := "step " + s.Job + "." + s.Step
	if s.Step == "" {
		what = "job " + s.Job
	}
	fl := &Failure{known: f.Known, Rank: NoRank, Kind: KindRecord, Count: 1}
	m := Meaning{Role: knowledge.CauseRole, Direct: true}
	switch {
	case s.State == "OUT_OF_MEMORY" || sig == accounting.OutOfMemory && sure:
		m.Mechanism, m.Sign = knowledge.HostOOM, knowledge.IDSlurmOOM
		fl.Text = "SLURM counted an out-of-memory kill in " + what
		if s.State == "OUT_OF_MEMORY" {
			column = "State"
		}
	case sig == accounting.NoOutput && sure:
		m.Mechanism, m.Sign = knowledge.SchedulerError, knowledge.IDSlurmOutput
		fl.Text = "SLURM couldn't open an output file of " + what
	case s.Step == "batch" && s.Exit.Signal == sig && asked[sig]:
		m.Mechanism, m.Direct = knowledge.ExternalSignal, false
		fl.Text = fmt.Sprintf("the batch script of job %s was killed by %s", s.Job, name)
	case s.State == "BOOT_FAIL":
		m.Mechanism, column = knowledge.SchedulerError, "State"
		fl.Text = "SLURM couldn't boot the nodes of " + what
	case s.Step == "" && len(f.Accounting.Steps) > 0 || len(f.Obs.TaskExits) > 0 || f.endedFromOutside() || code.Zero() || !code.Known:
		return nil // srun names the task itself; and what the scheduler ended says nothing by its codes
	case crash && sure:
		m.Mechanism = knowledge.NativeCrash
		fl.Text = fmt.Sprintf("a process of %s was killed by %s", what, name)
	case s.Step == "batch":
		return nil // the script ends as what it started did
	default:
		fl.Kind, m.Role, m.Direct = KindTask, knowledge.SymptomRole, false
		fl.Text = recordsSays + endWords(code)
		if sig == signalTerm || f.batchSignalled() {
			m.Role = knowledge.ConsequenceRole
		}
	}
	fl.is(m)
	c, ok := s.Cell(column)
	if !ok {
		return nil
	}
	at := CellAt(c, line.Stamp{})
	fl.At = &at
	fl.T = f.clock.accounted(s.End)
	if len(s.Nodes) == 1 && s.Step != "batch" {
		fl.Node = ShortHost(s.Nodes[0])
	}
	return fl
}

const signalTerm = 15

// asked are signals that SLURM sends on a job's own demand, ahead of its time limit (sbatch --signal), and that end whoever
// does not expect them. Anybody else may send them, too.
var asked = map[int]bool{10: true, 12: true}

// batchSignalled says that the batch script itself was ended by a signal: what SLURM then does to its steps follows from it.
func (f *Facts) batchSignalled() bool {
	return slices.ContainsFunc(f.Accounting.Steps, func(s *accounting.Record) bool { return s.Step == "batch" && s.Exit.Signal != 0 })
}

// endWords are srun's words for how a task ended.
func endWords(c accounting.Code) string {
	if c.Signal != 0 {
		for words, n := range taskSignals {
			if n == c.Signal {
				return words
			}
		}
		return fmt.Sprintf("killed by signal %d", c.Signal)
	}
	return fmt.Sprintf("Exited with exit code %d", c.Status)
}

// endedFromOutside says that the accounting has the job ended by somebody: then its codes are of that.
func (f *Facts) endedFromOutside() bool {
	return slices.ContainsFunc(f.Accounting.Jobs, func(j *accounting.Record) bool { _, ok := acctEnds[j.State]; return ok }) ||
		slices.ContainsFunc(f.Accounting.Steps, func(s *accounting.Record) bool { return s.By })
}

// Ended is where SLURM says that the job and all its steps completed.
func (a *Accounting) Ended() (at worker.At, ok bool) {
	if a == nil || !a.Completed {
		return worker.At{}, false
	}
	c, ok := a.Jobs[0].Cell("State")
	return CellAt(c, a.Jobs[0].End), ok
}

// State is the job's state as SLURM's records have it.
func (a *Accounting) State() (state string, ok bool) {
	if a == nil || len(a.Jobs) == 0 {
		return "", false
	}
	j := a.Jobs[len(a.Jobs)-1]
	_, ok = j.Cell("State")
	return j.State, ok
}

// Alive says that SLURM's records have the job still running. The record of the job itself may lag behind those of its steps.
func (f *Facts) Alive() bool {
	a := f.Accounting
	if a == nil || len(a.Jobs) == 0 {
		return false
	}
	running := func(r *accounting.Record) bool { return r.State == "RUNNING" }
	last := a.Jobs[len(a.Jobs)-1]
	return running(last) || last.State == "PENDING" && slices.ContainsFunc(a.Steps, running)
}

// Cancelled says whether a user ended the job or one of its steps; known is false without accounting.
func (a *Accounting) Cancelled() (by, known bool) {
	if a == nil || len(a.Jobs) == 0 {
		return false, false
	}
	by = slices.ContainsFunc(a.Jobs, func(j *accounting.Record) bool { return j.State == "CANCELLED" || j.State == "REQUEUED" }) ||
		slices.ContainsFunc(a.Steps, func(s *accounting.Record) bool { return s.By })
	return by, true
}

// strangers warns of nodes that are seen in the logs and that the accounting does not know.
func (a *Accounting) strangers(seen []string, warn *notes) {
	if len(a.nodes()) == 0 {
		return
	}
	ours := map[string]bool{}
	for _, n := range a.Nodes {
		ours[ShortHost(n)] = true
	}
	var others []string
	for _, n := range seen {
		if !ours[n] {
			others = append(others, n)
		}
	}
	if len(others) > 0 {
		warn.add("the logs contain lines from %s, which the accounting doesn't list among the job's nodes", strings.Join(others, ", "))
	}
}
