package mechanism

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/pattern"
)

// endings: what the scheduler did. All but a node's failure end a job that something else may have broken before.
func endings() []Mechanism {
	return []Mechanism{
		{Slug: knowledge.NodeFailure, Class: Environment, Propose: nodeFailure, Explains: []knowledge.Slug{knowledge.CUDAError, knowledge.LinkError, knowledge.NativeCrash, knowledge.Exception,
			knowledge.RankStalled, knowledge.CollectiveHang, knowledge.GPUHang, knowledge.LoneWaiter, knowledge.Cancelled, knowledge.ExternalSignal, knowledge.InitUnreachable, knowledge.StorageUnresponsive},
			Needs: []incident.Need{{What: "the node's health record", Why: "shows whether it crashed, rebooted or lost its network connection",
				Command: "scontrol show node {node}; journalctl -k -b -1   # on {node}", Obtainable: "perishing"}}},
		{Slug: knowledge.Preempted, Class: Ending, Propose: reason(knowledge.Preempted, worker.ReasonPreemption, "the scheduler preempted the job", machineLost)},
		{Slug: knowledge.TimeLimit, Class: Ending, Propose: reason(knowledge.TimeLimit, worker.ReasonTimeLimit, "the job reached its time limit", hungUntilThen, unkillable)},
		{Slug: knowledge.Cancelled, Class: Ending, Propose: cancelled, Needs: []incident.Need{{What: "SLURM's record of who cancelled the job", Why: "the logs don't show who did",
			Command: "sacct -j {job} -o JobID,User,State%40,ExitCode", Obtainable: "now"}}},
	}
}

// endEvidence quotes what an ending was read from: a line with these words, or SLURM's record with its own.
func endEvidence(e *resolve.End, lits ...string) incident.Evidence {
	if e.Says != "" {
		lits = []string{e.Says}
	} else if e.Line.Says != "" {
		lits = []string{e.Line.Says}
	}
	return QuoteAt(e.Line.At, &incident.Predicate{Literals: lits})
}

func nodeFailure(s *Scene) *Proposal {
	var nodes []string
	var lost []incident.Finding
	names := "SLURM" // who names the node
	var p *Proposal
	for _, e := range s.Facts.Ends {
		named := e.Line.Kind == worker.EndNodeFailure
		if e.Line.System != "" && (s.Facts.Job.ExitOK != nil || goesOnAfter(s.Facts, e)) {
			continue // of another job, or another pod's: lists of events tell of all
		}
		memory := e.Line.Kind == worker.EndMemoryError && !goesOnAfter(s.Facts, e)
		if !named && !memory && !e.Line.Due(worker.ReasonNodeFailure) {
			continue
		}
		if p == nil {
			p = &Proposal{Mechanism: knowledge.NodeFailure, Class: Environment, Direct: true, Base: 0.96, Scope: "node", At: e.T}
		}
		if memory {
			if len(p.For) < 3 {
				p.For = append(p.For, finding("SLURM was notified of an uncorrectable memory error during the job; the host in this line only reports it", endEvidence(e, "UNCORRECTABLE MEMORY ERROR")))
			}
		} else if named {
			nodes, names = append(nodes, e.Line.Hosts...), e.Line.By()
			if len(lost) < 3 {
				text := e.Told
				if text == "" {
					text = e.Line.By() + " lost " + strings.Join(e.Line.Hosts, ", ")
				}
				lost = append(lost, finding(text, endEvidence(e, "Node failure on")))
			}
		} else if len(p.For) < 3 {
			p.For = append(p.For, finding(lostStep(e), endEvidence(e, "NODE FAILURE")))
		}
	}
	if p == nil {
		if p = lostByRay(s); p == nil {
			p = lostBySrun(s)
		}
		return p
	}
	if len(lost) > 0 { // what names the node is the cause; the others tell how the step ended
		p.For = lost
	}
	set := map[string]bool{}
	for _, n := range nodes {
		if n := resolve.ShortHost(n); n != "" {
			set[n] = true
		}
	}
	p.Nodes = keysOf(set)
	p.Summary = "a node failed during the job"
	p.Why = "SLURM reports a node failure but not which node"
	if len(p.Nodes) > 0 {
		p.Summary = "node " + strings.Join(p.Nodes, ", ") + " failed during the job"
		p.Why = names + " identifies the node that stopped responding"
		switch names {
		case "SLURM":
		case "Kubernetes":
			p.Now = []knowledge.Advice{{Text: "Check when Kubernetes lost contact with {node}, and resubmit without it.", Command: "kubectl describe node {node} | grep -A12 Conditions"}}
		default:
			p.Now = []knowledge.Advice{{Text: "Check the kernel log on {node} for what took it down, and resubmit without it.", Command: "ssh {node} 'uptime; dmesg -T | tail -50'"}}
		}
	} else {
		p.Base = 0.92
		p.Now = []knowledge.Advice{{Text: "Ask SLURM which node it lost and when, then resubmit without that node.", Command: "sacct -j {job} -P -o JobID,State,FailedNode,NodeList; sinfo -R"}}
	}
	return p
}

// lostByRay proposes that a node failed, where Ray stopped hearing of it and nothing else failed: Ray's daemon on it died, or the node.
func lostByRay(s *Scene) *Proposal {
	f := s.Facts
	var dead []*resolve.Failure
	for _, fl := range f.Failures {
		switch {
		case fl.Says(knowledge.NodeUnheard) && fl.Entry().System == "":
			if f.GoesOn(*fl.At) {
				return nil
			}
			dead = append(dead, fl)
		case fl.Role == knowledge.CauseRole:
			return nil
		}
	}
	if len(dead) == 0 {
		return nil
	}
	p := &Proposal{Mechanism: knowledge.NodeFailure, Class: Environment, Base: 0.85, Scope: "node", At: moment(dead[0]), Failures: dead}
	set := map[string]bool{}
	for i := range f.Obs.Signs {
		if v := &f.Obs.Signs[i]; v.ID == dead[0].Sign {
			if n := f.Known.Fields(v.ID, []byte(v.Text))["lost"]; n != "" {
				set[strings.ToLower(n)] = true
			}
		}
	}
	for _, fl := range dead {
		if len(p.For) < 3 {
			p.For = append(p.For, finding("Ray lost contact with a node", FailureEvidence(fl)))
		}
	}
	p.Nodes = keysOf(set)
	p.Summary = strings.TrimSpace("node "+strings.Join(p.Nodes, ", ")) + " stopped responding to Ray during the job"
	p.Now = []knowledge.Advice{{Text: "Read the kernel and raylet logs on {node} for that time.", Command: "ssh {node} 'dmesg -T | tail -50; tail -50 /tmp/ray/session_latest/logs/raylet.err'"}}
	p.Why = "Ray reports the node it lost contact with; the node's own logs show whether it failed or only its raylet did"
	return p
}

// lostBySrun proposes that a node failed, where srun lost its daemon there before anything ended the step, and nothing else failed.
func lostBySrun(s *Scene) *Proposal {
	f := s.Facts
	ended := map[string]int64{} // file → the first line by which the step ended
	for _, e := range f.Ends {
		if off, seen := ended[e.Line.File]; e.Line.Kind == worker.EndCancelled && (!seen || e.Line.Off < off) {
			ended[e.Line.File] = e.Line.Off
		}
	}
	var lost []*resolve.Failure
	for _, fl := range f.Failures {
		off, seen := ended[fl.At.File]
		switch {
		case fl.Says(knowledge.NodeUnheard) && fl.Entry().System != "" && (!seen || fl.At.Off < off) && !f.GoesOn(*fl.At):
			lost = append(lost, fl)
		case fl.Role == knowledge.CauseRole:
			return nil
		}
	}
	if len(lost) == 0 {
		return nil
	}
	p := &Proposal{Mechanism: knowledge.NodeFailure, Class: Environment, Rivals: []knowledge.Slug{knowledge.Unknown}, Base: 0.8, Scope: "node", At: moment(lost[0]), Failures: lost,
		Summary: "srun lost its daemon on one of the step's nodes: the node, its network, or the daemon failed",
		Why:     "srun gives the node's index in the step (from 0) but no name; nothing failed before that"}
	p.For = append(p.For, finding("srun lost contact with a node", FailureEvidence(lost[0])))
	return p
}

func lostStep(e *resolve.End) string {
	if e.Says != "" {
		return "SLURM's records show that the job ended because of a node failure"
	}
	return "SLURM ended the step because a node failed; the host in this line only reports it"
}

// goesOnAfter says that the file of an ending reports steps below it: SLURM's notice of a memory error kills nothing.
func goesOnAfter(f *resolve.Facts, e *resolve.End) bool {
	return slices.ContainsFunc(f.Progress, func(p resolve.ProgressPoint) bool { return e.Line.Pos.Above(p.Pos) })
}

// lookalike is what a batch system calls a preemption, too.
var lookalike = map[string]knowledge.Slug{"dstack": knowledge.NodeFailure, "AWS Batch": knowledge.NodeFailure, "the kubelet": knowledge.NodeFailure, "the taint manager": knowledge.NodeFailure}

// reason makes the proposer of an ending whose reason SLURM prints, and of which there may be doubts.
func reason(slug knowledge.Slug, want worker.EndReason, summary string, doubts ...func(*Scene, *Proposal)) func(*Scene) *Proposal {
	return func(s *Scene) *Proposal {
		var p *Proposal
		for _, e := range s.Facts.Ends {
			if !e.Line.Due(want) || p != nil && e.Says == "" {
				continue
			}
			if p == nil {
				p = &Proposal{Mechanism: slug, Class: Ending, Direct: true, Base: 0.96, Scope: "all", At: e.T, Summary: summary,
					Why: e.Line.By() + " gives the reason, and nothing failed before that"}
			}
			text := e.Line.By() + " gives the reason: " + strings.ToLower(string(want))
			if e.Says != "" {
				text = "SLURM's records: " + e.Says
			}
			if p.For = append(p.For, finding(text, endEvidence(e, string(want)))); len(p.For) == 2 {
				break
			}
		}
		for _, doubt := range doubts {
			if p != nil {
				doubt(s, p)
			}
		}
		return p
	}
}

// endedBy is the first ending with a reason: who gives it is in doubt.
func endedBy(f *resolve.Facts, want worker.EndReason) *resolve.End {
	for _, e := range f.Ends {
		if e.Line.Due(want) {
			return e
		}
	}
	return nil
}

// machineLost: some systems call it a preemption, too, when they lose a machine.
func machineLost(s *Scene, p *Proposal) {
	system := endedBy(s.Facts, worker.ReasonPreemption).Line.System
	if lookalike[system] == "" {
		return
	}
	p.Rivals, p.Direct, p.Base = []knowledge.Slug{lookalike[system]}, false, 0.88
	p.Why = system + " gives the reason, but it gives the same one when it loses a machine for other reasons"
}

// hungUntilThen: a job that hung runs into its time limit as well.
func hungUntilThen(s *Scene, p *Proposal) {
	f := s.Facts
	said := endedBy(f, worker.ReasonTimeLimit).Line.By() + " gives the reason"
	if len(f.Tails) == 0 {
		p.Rivals, p.Direct, p.Base, p.Why = []knowledge.Slug{knowledge.Unknown}, false, 0.88, "SLURM's records show it; no log here shows what the job was doing"
	}
	if !saving(s, p, said) {
		stoodStillPerhaps(s, p, said)
	}
	if p.Direct && f.Unheard() {
		p.Direct, p.Base = false, 0.8
		p.Rivals = append(p.Rivals, stalledOrHung()...)
		p.Why = said + "; can't tell how long the job was working: no timestamp from shortly before shows it"
	}
	if !f.Job.Training && f.Job.ExitOK == nil && metNCCL(f) {
		p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.Unknown}, false, 0.88
		p.Why = "the reason is given, but no step was logged: the job may have trained silently, or hung from the start"
	}
}

// saving says of an ending that a save was under way, which may never have come to its end.
func saving(s *Scene, p *Proposal, said string) bool {
	x, counts := s.Facts.Silence()
	if counts || !x.InSave() {
		return false
	}
	p.Direct, p.Base = false, 0.8
	p.Rivals = append(p.Rivals, knowledge.CheckpointIO)
	p.Why = fmt.Sprintf("%s; a save that started after the last step, %s earlier, did not finish in these logs", said, duration(x.For))
	p.For = append(p.For, finding("a save started after the last step and did not finish in these logs", QuoteAt(x.Saving.At, nil)))
	return true
}

// stalledOrHung are the mechanisms of a job that stands still until it is ended.
func stalledOrHung() []knowledge.Slug {
	return slices.Concat([]knowledge.Slug{knowledge.RankStalled}, knowledge.HavingNature(knowledge.Entered))
}

// metNCCL says that the job came so far as to set up NCCL.
func metNCCL(f *resolve.Facts) bool {
	return len(f.Obs.CommInits) > 0 || slices.ContainsFunc(f.Obs.Facts, func(x worker.Fact) bool { return x.Key == "nccl_version" })
}

// stoodStillPerhaps says of an ending that the job may have stood still before it: where SLURM's clock and the job's may be in different
// zones, or of the job's lines nobody knows which are steps. said is what is known of the ending itself.
func stoodStillPerhaps(s *Scene, p *Proposal, said string) {
	x, counts := s.Facts.Silence()
	what := "step"
	stalled := stalledOrHung()
	if !counts && x.Brief() {
		p.Direct, p.Base = false, 0.8
		p.Why = fmt.Sprintf("%s; but the last step was %s earlier, and until then there was one every %s", said, duration(x.For), Seconds(x.Usual))
		p.Against = append(p.Against, finding(fmt.Sprintf("the last step%s; the next was due %s later", atStep(x.Last), Seconds(x.Usual)), QuoteAt(*x.Last.At, nil)))
		p.Rivals = append(p.Rivals, stalled...)
		return
	}
	if !counts && x.Usual == 0 {
		x, counts = s.Facts.Hush()
		what = "line of any kind"
	} else if counts {
		return // that is a finding of its own
	}
	if !counts && !x.Doubtful() {
		return
	}
	p.Direct, p.Base = false, 0.8
	p.Against = append(p.Against, finding(fmt.Sprintf("the last %s%s; the next was due %s later", what, atStep(x.Last), Seconds(x.Usual)), QuoteAt(*x.Last.At, nil)))
	if counts {
		p.Why = fmt.Sprintf("%s; but the last %s was at least %s earlier, and until then there was one every %s, never more than %s apart near the end of the file", said, what, duration(x.For), Seconds(x.Usual), Seconds(x.Longest))
		p.Rivals = append(p.Rivals, stalled...)
		return
	}
	p.Why = fmt.Sprintf("%s; can't tell whether the job had already stalled: the last %s is %s earlier, but the clocks may be in different time zones", said, what, duration(x.Printed))
	// In whatever zones they are, lines are missing; and a job that says nothing any more is what people cancel.
	if short, sure := x.Short(); sure || short && p.Mechanism == knowledge.Cancelled {
		p.Rivals = append(p.Rivals, stalled...)
		return
	}
	p.Suspects = append(p.Suspects, incident.Suspect{Mechanism: string(knowledge.RankStalled), Why: fmt.Sprintf("if both clocks are in the same time zone, the job was silent for %s before the end", duration(x.Printed))})
}

// undead are the nodes on which SLURM could not end processes even by SIGKILL, and where it first says so. Such a process sleeps in
// the kernel, in a file system or a driver.
func undead(f *resolve.Facts) (nodes []string, first *resolve.End) {
	jobs := map[string]bool{}
	for _, e := range f.Ends {
		if id, _, _ := strings.Cut(e.Line.ID, "."); id != "" && e.Line.Says == "" {
			jobs[id] = true
		}
	}
	if len(jobs) == 0 && f.Job.ID != "" {
		jobs[f.Job.ID] = true
	}
	set := map[string]bool{}
	for _, e := range f.Ends {
		if e.Line.Kind != worker.EndUndead || !strings.Contains(string(e.Line.Reason), string(worker.ReasonNotEnding)) {
			continue
		}
		if e.Line.Says != "" && len(jobs) > 0 && !jobs[e.Line.ID] {
			continue // of another job, in the controller's log
		}
		if first == nil {
			first = e
		}
		if n := resolve.ShortHost(e.Line.Host); n != "" {
			set[n] = true
		}
	}
	return keysOf(set), first
}

// unkillable says of an ending that processes outlived it. As a rule such a process has slept since before the end: then why the
// job ended so is not all that there is to know.
func unkillable(s *Scene, p *Proposal) {
	if p == nil {
		return
	}
	nodes, first := undead(s.Facts)
	if first == nil {
		return
	}
	p.Nodes, p.Scope = nodes, "node"
	p.outlived(nodes, first)
	p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.Unknown}, false, 0.88
	p.Why = "the logs show how the job ended, but a process that can't be killed has usually hung earlier, and no line shows where"
	p.Suspects = append(p.Suspects, incident.Suspect{Mechanism: string(knowledge.StorageUnresponsive), Why: "a process that can't be killed is usually waiting for an unresponsive file system, or else for a driver"})
}

// outlived adds to a proposal that processes on these nodes could not be killed, and what to do about it.
func (p *Proposal) outlived(nodes []string, first *resolve.End) {
	names := strings.Join(nodes, ", ")
	if names == "" {
		names = "a node"
	}
	p.Summary += ", and processes on " + names + " could not be killed"
	p.For = append(p.For, finding("SLURM gave up on processes that survived SIGKILL: they are stuck in the kernel, in a file system or driver",
		endEvidence(first, "STEPD TERMINATED ON")))
	p.Needs = append(p.Needs, incident.Need{What: "the kernel log from " + names, Why: "hung tasks, a lost mount or an unresponsive GPU leave lines there", Command: kernelLogOf, Artefact: knowledge.KernelLog})
	advice := knowledge.Advice{Text: "Have " + names + " checked before the next job runs there: SLURM drains a node whose processes it can't kill.", Command: "sinfo -R"}
	if len(nodes) > 0 {
		advice.Command += " -n " + strings.Join(nodes, ",")
	}
	p.Now = append(p.Now, advice)
}

// requeued is the reason of a job that somebody, or a program of the site, sent back to the queue. It says no more about
// why than a bare ending does.
const requeued = string(worker.ReasonRequeue)

// cancelled: an ending without a reason and without a failed task before it. The same bare line also follows a failed
// task (kill-on-bad-exit), a lost launch and a failed step.
func cancelled(s *Scene) *Proposal {
	f := s.Facts
	if by, known := f.Accounting.Cancelled(); known && !by {
		return nil // SLURM's records know of nobody who did: the same line follows kill-on-bad-exit
	}
	for _, fl := range f.Failures {
		if fl.Kind == resolve.KindTask && fl.Role != "consequence" || fl.Says(knowledge.EndsStep) {
			return nil // srun ends a step by itself when a task has failed, or has left long before the others
		}
	}
	var hit *resolve.End
	for _, e := range f.Ends {
		switch {
		case e.Line.Kind == worker.EndTerminating || e.Line.Kind == worker.EndLaunch || e.Line.Kind == worker.EndFailed:
			if hit == nil && e.Line.Kind != worker.EndTerminating {
				return nil
			}
		case e.Line.Kind == worker.EndCancelled:
			r := strings.ToUpper(string(e.Line.Reason))
			if r != "" && !strings.HasPrefix(r, "SIGNAL") && r != requeued {
				return nil
			}
			if hit == nil {
				hit = e
			}
		}
	}
	if hit == nil {
		return nil
	}
	p := &Proposal{Mechanism: knowledge.Cancelled, Class: Ending, Bare: true, Direct: true, Base: 0.92, Scope: "all", At: hit.T,
		Summary: "the job was cancelled", Why: hit.Line.By() + " ended it without giving a reason, and nothing failed before that"}
	if strings.ToUpper(string(hit.Line.Reason)) == requeued {
		p.Summary, p.Why = "the job was requeued", hit.Line.By()+" ended it to requeue it, and nothing failed before that; it doesn't say who requested it"
		p.For = append(p.For, finding(hit.Line.By()+" gives the reason: job requeue", endEvidence(hit, requeued)))
		return p
	}
	what := strings.TrimSpace(strings.ToLower(hit.Line.Entity) + " " + hit.Line.ID)
	p.For = append(p.For, finding(fmt.Sprintf("%s: %s cancelled", hit.Line.By(), what), endEvidence(hit, "CANCELLED")))
	for _, e := range f.Ends {
		if e != hit && e.Says != "" && e.Line.Kind == worker.EndCancelled && e.Line.Reason == "" {
			p.For = append(p.For, finding("SLURM's records show that a user cancelled it", endEvidence(e)))
			break
		}
	}
	if at := strange(f, hit); at != nil {
		// SLURM's programs end a step by themselves after errors of their own.
		p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.Unknown}, false, 0.88
		p.Why = hit.Line.By() + " ended it without giving a reason, after an unrecognized error of its own"
		p.Against = append(p.Against, finding("SLURM logged an error of its own before ending it", QuoteAt(*at, nil)))
	}
	if at := ownEnd(f); at != nil {
		p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.Unknown}, false, 0.88
		p.Why = "srun ended the step by itself, as it does after a task has failed or left; no line shows what happened to that task"
		p.Against = append(p.Against, finding("srun terminated the step before anyone cancelled it", QuoteAt(*at, nil)))
	}
	if lost(f, hit.T) {
		// What failed, and why somebody cancelled, may stand in what is not here.
		p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.Unknown}, false, 0.88
		p.Why = hit.Line.By() + " ended it without giving a reason, and no failure is logged before that; files are missing"
	}
	if l := unsoundBefore(f, hit); l != nil {
		p.besideIt(l, 0.88, hit.Line.By()+" ended it without giving a reason; an unrecognized line stands out before that")
	}
	stoodStillPerhaps(s, p, hit.Line.By()+" ended it without giving a reason")
	if p.Direct && !f.Worked() {
		p.Rivals, p.Direct, p.Base = append(p.Rivals, knowledge.Unknown), false, 0.88
		p.Why = hit.Line.By() + " ended it without giving a reason, and no step is logged before that: nothing shows that it was working"
	}
	if p.Direct && f.Unheard() {
		p.Rivals, p.Direct, p.Base = append(p.Rivals, knowledge.Unknown), false, 0.88
		p.Why = hit.Line.By() + " ended it without giving a reason, and nothing failed before that; can't tell whether it was still working: no timestamp from shortly before shows it"
	}
	unkillable(s, p)
	return p
}

// ownEnd is where srun tells that it ends a step, and not below the word that it was told to: then a task has failed, or left long before the
// others. Nil where srun tells nothing like it. Source: SLURM 22.05 and 24.11, measured (--kill-on-bad-exit, --wait).
func ownEnd(f *resolve.Facts) *worker.At {
	told := toldToEnd(f)
	for _, e := range f.Ends {
		off, ok := told[e.Line.File]
		switch {
		case e.Line.Kind != worker.EndTerminating:
		case !ok, e.Line.Off < off:
			return &e.Line.At
		}
	}
	return nil
}

// toldToEnd is, by file, where a step is first said to be ended on somebody's word.
func toldToEnd(f *resolve.Facts) troubles {
	t := troubles{}
	for _, e := range f.Ends {
		if e.Line.Kind != worker.EndTerminating {
			t.note(e.Line.Pos)
		}
	}
	return t
}

// strange is an error of SLURM's own programs that nobody knows, above an end of the job in any of its files; nil where there is none.
func strange(f *resolve.Facts, end *resolve.End) *worker.At {
	if by, known := f.Accounting.Cancelled(); known && by {
		return nil // its records know who did
	}
	for i := range f.Obs.Unclassified {
		u := &f.Obs.Unclassified[i]
		above := func(e *resolve.End) bool { return e.Line.Kind == end.Line.Kind && u.Above(e.Line.Pos) }
		if slurmError.MatchString(u.Text) && slices.ContainsFunc(f.Ends, above) {
			return &u.At
		}
	}
	return nil
}

var slurmError = pattern.New(`(?i)(?:^|\s)(?:srun|slurmstepd[\w.-]*): error: `)

// lost says that files are missing, or end long before the job did: not one that was torn in its last line when everything
// was killed.
func lost(f *resolve.Facts, end resolve.Moment) bool {
	const torn = 120.0 // seconds
	c := &f.Coverage
	if len(c.NodesMissing)+len(c.FilesMissing)+len(c.RanksMissing) > 0 || len(f.Tails) == 0 {
		return true
	}
	cut := map[string]bool{}
	for _, x := range c.Cut {
		cut[x.File] = true
	}
	for _, t := range f.Tails {
		if t.Bytes == 0 && f.Paired(t.File) {
			continue // what a job prints goes to one of its two streams
		}
		if last := f.At(t.Last); cut[t.File] && (!last.Valid || !end.Valid || end.T-last.T > torn) {
			return true
		}
	}
	return false
}
