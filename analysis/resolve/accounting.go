package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/accounting"
	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// Accounting is what SLURM's own records say of this run: not of its processes, whose logs say what happened in them.
type Accounting struct {
	Jobs  []*accounting.Record // of the job itself: several where it was resized or has components
	Steps []*accounting.Record
	Nodes []string // where it ran, in the order in which SLURM counts them
	// Het: the job has components, each of which counts its own nodes and tasks from 0.
	Het bool
	// Completed: the job and all its steps ended with nothing but zeros. Failed: it ended badly by itself.
	Completed, Failed bool
}

// nodes are where the run ran; none without records.
func (a *Accounting) nodes() []string {
	if a == nil {
		return nil
	}
	return a.Nodes
}

// acctRun is one run of the job: a requeue starts another.
type acctRun struct {
	jobs, steps []*accounting.Record
}

// Ends of a job in the words of the lines that slurmstepd prints for them; Failed are states in which it ended badly by
// itself, which say nothing of the cause.
var acctEnds = map[string]struct {
	kind   worker.EndKind
	reason worker.EndReason
}{
	"TIMEOUT": {worker.EndCancelled, worker.ReasonTimeLimit}, "DEADLINE": {worker.EndCancelled, worker.ReasonTimeLimit}, "PREEMPTED": {worker.EndCancelled, worker.ReasonPreemption},
	"NODE_FAIL": {worker.EndCancelled, worker.ReasonNodeFailure}, "REQUEUED": {worker.EndCancelled, worker.ReasonRequeue}, "CANCELLED": {worker.EndCancelled, ""},
}

var acctFailed = map[string]bool{"FAILED": true, "OUT_OF_MEMORY": true, "BOOT_FAIL": true, "NODE_FAIL": true, "TIMEOUT": true, "DEADLINE": true}

// accounts finds the runs of this job in the accounting, oldest first, and which of them to look at: the newest that failed,
// else the newest. A run that was only taken back into the queue did not fail.
func accounts(book *accounting.Book, id string) (runs []acctRun, chosen int, warnings []string) {
	if book == nil || len(book.Records) == 0 {
		return nil, 0, nil
	}
	jobs := book.Jobs()
	if id == "" {
		if len(jobs) > 1 {
			return nil, 0, []string{fmt.Sprintf("the accounting lists %d jobs and it is unclear which one this is, so it was not used", len(jobs))}
		}
		id = jobs[0]
	}
	records := book.Of(id)
	if len(records) == 0 {
		return nil, 0, []string{"the accounting doesn't list job " + id + ": it was not used"}
	}
	runs = splitRuns(records)
	runs, warnings = sameJob(runs)
	chosen = len(runs) - 1
	for i, r := range runs {
		if r.failed() {
			chosen = i
		}
	}
	return runs, chosen, warnings
}

// part is one record of a job with its steps.
type part struct {
	job   *accounting.Record // nil where the table lacks it
	steps []*accounting.Record
}

// when orders the records of a job: by their start, else by their submission.
func (p *part) when() float64 {
	if p.job == nil {
		return 0
	}
	c := clock{}
	if t, ok := c.civil(p.job.Start); ok {
		return t
	}
	t, _ := c.civil(p.job.Submit)
	return t
}

// splitRuns sorts the records of one job into its runs. sacct lists the steps of a run below its own record; a record that
// was only resized goes on with the next, and components of a heterogeneous job run side by side.
func splitRuns(records []*accounting.Record) []acctRun {
	table := slices.ContainsFunc(records, func(r *accounting.Record) bool { return !r.OfController() })
	byJob := map[string][]*part{}
	var names []string
	seen := map[string]bool{}
	for _, r := range records {
		if table && r.OfController() || r.Step == "" && !started(r) {
			continue // the controller repeats the newest record; a run that waits has not been one
		}
		key := fmt.Sprint(r.Job, r.Step, r.State, r.Start, r.End, r.Exit, r.Nodes)
		if seen[key] {
			continue // the same record in another file
		}
		seen[key] = true
		if byJob[r.Job] == nil {
			names = append(names, r.Job)
		}
		if r.Step == "" {
			byJob[r.Job] = append(byJob[r.Job], &part{job: r})
			continue
		}
		if len(byJob[r.Job]) == 0 { // steps without their job: somebody cut the table
			byJob[r.Job] = append(byJob[r.Job], &part{})
		}
		last := byJob[r.Job][len(byJob[r.Job])-1]
		last.steps = append(last.steps, r)
	}
	slices.Sort(names)
	var runs []acctRun
	for _, name := range names {
		parts := byJob[name]
		slices.SortStableFunc(parts, func(a, b *part) int { return cmp.Compare(a.when(), b.when()) })
		n := 0
		for i, p := range parts {
			if n == len(runs) {
				runs = append(runs, acctRun{})
			}
			if p.job != nil {
				runs[n].jobs = append(runs[n].jobs, p.job)
			}
			runs[n].steps = append(runs[n].steps, p.steps...)
			if p.job == nil || p.job.State != "RESIZING" || i == len(parts)-1 {
				n++
			}
		}
	}
	return runs
}

// started says that a record is of a run: a job that waited in the queue has neither nodes nor a start, and says so.
func started(r *accounting.Record) bool {
	_, start := r.Cell("Start")
	_, nodes := r.Cell("NodeList")
	return r.Start.Kind != line.NoStamp || len(r.Nodes) > 0 || !start && !nodes
}

// sameJob leaves out runs of an older job that had the same id: ids are used again. A requeue keeps the job's name and user.
func sameJob(runs []acctRun) ([]acctRun, []string) {
	if len(runs) == 0 {
		return nil, nil
	}
	newest := runs[len(runs)-1]
	for i := len(runs) - 2; i >= 0; i-- {
		for _, a := range runs[i].jobs {
			for _, b := range newest.jobs {
				if a.Job == b.Job && (a.Name != b.Name || a.User != b.User) {
					return runs[i+1:], []string{"the accounting lists an older job with the same ID, which was left out"}
				}
			}
		}
	}
	return runs, nil
}

func (r acctRun) failed() bool {
	return slices.ContainsFunc(r.jobs, func(j *accounting.Record) bool { return acctFailed[j.State] }) ||
		slices.ContainsFunc(r.steps, func(s *accounting.Record) bool { return s.State == "OUT_OF_MEMORY" })
}

// account chooses the records of the run that was chosen in the logs, as far as both can be told apart: the newest run of
// the one is the newest of the other. Where SLURM lists more runs than the logs hold, it says which of them this is.
func (w which) account(runs []acctRun, chosen int, warn *notes) (*Accounting, which) {
	if len(runs) == 0 {
		return nil, w
	}
	i := w.Run + len(runs) - w.Runs
	switch {
	case len(runs) > w.Runs && chosen < len(runs)-w.Runs:
		// The run that failed has no lines of its own here.
		warn.add("SLURM lists %d runs, and run %d (counting from 0) is the newest that failed; the logs contain %s, the newest, so that run's output is missing and a requeue may have overwritten it",
			len(runs), chosen, words(w.Runs))
		i = chosen
	case i < 0:
		warn.add("SLURM's records list %s but the logs contain %d, so nothing is known about the run examined", words(len(runs)), w.Runs)
		return nil, w
	}
	if len(runs) > w.Runs {
		w = which{i, len(runs)}
	}
	return accountOf(runs[i]), w
}

func words(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}

// accountOf makes facts of one run's records.
func accountOf(r acctRun) *Accounting {
	a := &Accounting{Jobs: r.jobs, Steps: r.steps, Completed: len(r.jobs) > 0, Failed: r.failed()}
	for _, j := range r.jobs {
		a.Het = a.Het || j.Job != r.jobs[0].Job
	}
	for _, x := range slices.Concat(r.jobs, r.steps) {
		a.Completed = a.Completed && x.State == "COMPLETED" && (!x.Exit.Known || x.Exit.Zero())
	}
	// A step may have fewer nodes than its job; the batch script's runs on the first alone. What no step ran on has no logs.
	worked := map[string]bool{}
	tasks := false
	for _, s := range r.steps {
		if s.Step == "batch" || s.Step == "extern" || s.Step == "interactive" {
			continue
		}
		tasks = tasks || len(s.Nodes) > 0
		for _, n := range s.Nodes {
			worked[n] = true
		}
	}
	seen := map[string]bool{}
	for _, x := range slices.Concat(r.jobs, r.steps) {
		for _, n := range x.Nodes {
			if !seen[n] && (!tasks || worked[n]) {
				seen[n] = true
				a.Nodes = append(a.Nodes, n)
			}
		}
	}
	return a
}

// Held are the nodes that SLURM's controller holds back for a reason that it states: of this job's, where these are known.
func (f *Facts) Held() []*accounting.Node {
	var out []*accounting.Node
	for _, n := range f.controllers {
		low := strings.ToLower(n.State)
		if n.Reason == "" || !strings.Contains(low, "drain") && !strings.Contains(low, "down") && !strings.Contains(low, "fail") && !strings.Contains(low, "maint") {
			continue
		}
		if known := f.hosts(); len(known) > 0 && !slices.Contains(known, ShortHost(n.Name)) {
			continue
		}
		out = append(out, n)
	}
	return out
}
