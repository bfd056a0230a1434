// Package slurm asks a cluster what it knows of a job: its runs, steps, nodes, exit codes, and where it wrote its logs. It
// only reads, and builds no command of anything that was not checked first.
package slurm

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/analysis/hostlist"
)

// Job is one job: not an array, but one of its elements; not a heterogeneous job, but one of its components.
type Job struct {
	ID        string // as SLURM prints it: 123, 123_4, 123+1
	Raw       int    // the number that %j stands for
	Array     int    // the array's own id, or None
	Task      int    // the index in it, or None
	Het       int    // the heterogeneous job's own id, or None
	Component int    // the offset in it, or None
	User      string
	UID       string // the number of the user, "" where it is not told
	Account   string
	Partition string
	Name      string
	WorkDir   string
	// StdOut and StdErr are of the batch script, patterns or expanded; StdErr is "" where it is StdOut.
	StdOut, StdErr string
	SubmitLine     string
	// Command is the file that was submitted, as the controller remembers it; "" = not told.
	Command string
	// Runs are oldest first; requeues make several. A job that never started has one without a start.
	Runs []Run
	// Source says who told: sacct, slurmrestd, scontrol.
	Source string
	// Notes are sentences about what was left out or is not certain.
	Notes []string
	// Release is the SLURM release that answered, 2205 for 22.05; 0 = not stated.
	Release int
}

// Run is one execution of a job, of one or (after it lost a node and went on) several accounting records.
type Run struct {
	Records []Record
	Restart int // how often the job had been started before
	Steps   []Step
}

// Record is one row of the accounting, as it was told. Times are zero where there are none.
type Record struct {
	JobID, Raw                               string
	User, UID, Account, Partition            string
	State                                    string // with what SLURM puts behind it: "CANCELLED by 1001"
	ExitCode, Derived                        string // "code:signal", or "" where it is not told or cannot be believed
	NNodes, NTasks                           int
	NodeList                                 string
	Submit, Start, End                       time.Time
	Limit                                    string
	Restarts                                 int // None = not told
	FailedNode, Reason                       string
	WorkDir, StdOut, StdErr, SubmitLine, Job string // Job is the name
	Command                                  string
	Steps                                    []Step
}

// Step is one step of a run: batch, extern, interactive, or a number.
type Step struct {
	ID             string // "123.0", "123_4.batch"
	Raw            string
	Name           string // its number or word
	Job            string // JobName of its row: the program
	State          string
	ExitCode       string
	NNodes, NTasks int
	NodeList       string
	Start, End     time.Time
	StdOut, StdErr string // expanded patterns of srun, told since 25.05
}

// ErrUnknown says that the cluster knows no such job, or shows it to nobody who asks as we do.
var ErrUnknown = errors.New("the cluster doesn't know that job")

// State is the word of a state without what stands behind it.
func State(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return strings.TrimSuffix(word, "+")
}

// CancelledBy is the user id, or name, in "CANCELLED by 1001"; "" where it is not told.
func CancelledBy(s string) string {
	_, by, _ := strings.Cut(s, " by ")
	return by
}

// The states that matter here.
const (
	pending, running, suspended, completing, resizing, requeued = "PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "RESIZING", "REQUEUED"
	completed, cancelled, preempted                             = "COMPLETED", "CANCELLED", "PREEMPTED"
	nodeFail, outOfMemory                                       = "NODE_FAIL", "OUT_OF_MEMORY"
)

// going are states of what has not ended.
var going = map[string]bool{
	pending: true, running: true, suspended: true, completing: true, resizing: true,
	"CONFIGURING": true, "STAGE_OUT": true, "SIGNALING": true, "STOPPED": true, "REQUEUE_HOLD": true, "REQUEUE_FED": true, "RESV_DEL_HOLD": true, "EXPEDITING": true,
}

// badly are states of what ended as nobody wanted.
var badly = map[string]bool{
	"FAILED": true, nodeFail: true, "TIMEOUT": true, outOfMemory: true, "BOOT_FAIL": true, "DEADLINE": true, "SPECIAL_EXIT": true,
	preempted: true, requeued: true, cancelled: true, "REVOKED": true,
}

// last is the record that says how the run ended.
func (r *Run) last() Record {
	if len(r.Records) == 0 {
		return Record{}
	}
	return r.Records[len(r.Records)-1]
}

// State is that of the newest record. It says how the job ended, not why: Fate does.
func (r *Run) State() string { return State(r.last().State) }

// By is who cancelled the run, as SLURM says it; "" where it was nobody or is not told.
func (r *Run) By() string { return CancelledBy(r.last().State) }

// Start, End and Submit of the run; zero where unknown.
func (r *Run) Start() time.Time {
	for _, rec := range r.Records {
		if !rec.Start.IsZero() {
			return rec.Start
		}
	}
	return time.Time{}
}

// End is when the last of its records ended.
func (r *Run) End() time.Time { return r.last().End }

// Submit is when it was submitted, or requeued.
func (r *Run) Submit() time.Time {
	if len(r.Records) == 0 {
		return time.Time{}
	}
	return r.Records[0].Submit
}

// Ended says that nothing of the run is still going on, by its records.
func (r *Run) Ended() bool { return !going[r.State()] && !r.last().End.IsZero() }

// Started says that the run had nodes.
func (r *Run) Started() bool {
	return !r.Start().IsZero() && slices.ContainsFunc(r.Records, func(rec Record) bool { return none(rec.NodeList) != "" })
}

// stub says that the accounting missed the job's start: slurmdbd then keeps the end alone, under the name "allocation" and as
// root's, with the batch script's node for all.
func (j *Job) stub() bool { return j.WorkDir == "" && j.Account == "" && j.Name == "allocation" }

// Nodes are the union over all records and steps, in the order of the first that names them: a record that is written after the
// run lost a node does not name that node any more. nil where no list can be read.
func (r *Run) Nodes() []string {
	var out []string
	seen := map[string]bool{}
	var lists []string
	for _, rec := range r.Records {
		lists = append(lists, rec.NodeList)
	}
	for _, s := range r.Steps {
		lists = append(lists, s.NodeList)
	}
	for _, list := range lists {
		names, err := hostlist.Expand(list)
		if err != nil {
			continue
		}
		for _, n := range names {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}

// FailedNodes are the nodes that SLURM itself blames (since 23.02).
func (r *Run) FailedNodes() []string {
	var out []string
	for _, rec := range r.Records {
		names, err := hostlist.Expand(rec.FailedNode)
		if err == nil {
			out = append(out, names...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Fate is how a run ended, from its steps first and its own state second: a rank that was killed for memory leaves a job
// that is merely FAILED, and a script that ignores srun's exit code one that is COMPLETED.
type Fate struct {
	State string // the state that tells most
	Exit  string // its exit code
	Step  string // the step that it is of, "" = the job
	Bad   bool
}

// Interrupted says that SLURM itself stopped the run to start it again.
func (f Fate) Interrupted() bool { return f.State == preempted || f.State == requeued }

// weight orders states by how much they tell of why a run ended.
var weight = map[string]int{
	outOfMemory: 9, nodeFail: 8, "BOOT_FAIL": 7, "TIMEOUT": 6, "DEADLINE": 6, preempted: 5, requeued: 4, cancelled: 3, "FAILED": 2, completed: 1,
}

// Fate looks at the job's state and at its numbered steps.
func (r *Run) Fate() Fate {
	own := r.last()
	best := Fate{State: State(own.State), Exit: own.ExitCode, Bad: badly[State(own.State)]}
	for _, s := range r.Steps {
		state := State(s.State)
		if state == cancelled && CancelledBy(s.State) == "" {
			state = "FAILED" // srun ended it after a task failed: nobody cancelled anything
		}
		// A failed step below a job that was cancelled, ran out of time or lost its node is what followed from it.
		if s.Name == "extern" || s.Name == "batch" && state != outOfMemory || !badly[state] {
			continue
		}
		better := weight[state] > weight[best.State]
		if !best.Bad || better || best.Step == "" && best.State == "FAILED" && state == "FAILED" {
			best = Fate{State: state, Exit: s.ExitCode, Step: s.Name, Bad: true}
		}
	}
	return best
}

func (f Fate) String() string {
	s := f.State
	if f.Exit != "" && f.Exit != "0:0" {
		s += " (" + f.Exit + ")"
	}
	if f.Step != "" {
		s += " in step " + f.Step
	}
	return s
}

// Newest is the run that was started last; nil where there is none.
func (j *Job) Newest() *Run {
	if len(j.Runs) == 0 {
		return nil
	}
	return &j.Runs[len(j.Runs)-1]
}

// Subject is the run to look at: the newest that failed, else the newest that had nodes, else the newest. A healthy run that
// came later says nothing for the one that failed. nil and -1 where there is no run.
func (j *Job) Subject() (*Run, int) {
	pick, failed := len(j.Runs)-1, false
	for i := range j.Runs {
		r := &j.Runs[i]
		if !r.Started() {
			continue
		}
		fate := r.Fate()
		bad := r.Ended() && fate.Bad && !fate.Interrupted()
		if bad || !failed {
			pick, failed = i, failed || bad
		}
	}
	if pick < 0 {
		return nil, pick
	}
	if !failed && !j.Runs[pick].Started() { // cancelled while it waited to run again
		for i := pick; i >= 0; i-- {
			if j.Runs[i].Started() {
				return &j.Runs[i], i
			}
		}
	}
	return &j.Runs[pick], pick
}

// Ended says that the job is over: no run goes on and none will begin.
func (j *Job) Ended() bool {
	r := j.Newest()
	return r != nil && r.Ended() && r.State() != requeued
}

// StillReporting says that a step has not told its end although its run is over: the accounting is not complete yet.
func (j *Job) StillReporting() bool {
	for i := range j.Runs {
		if !j.Runs[i].Ended() {
			continue
		}
		for _, s := range j.Runs[i].Steps {
			if going[State(s.State)] && State(s.State) != resizing {
				return true
			}
		}
	}
	return false
}

// numbered says that the step is one of srun's in the script.
func (s *Step) numbered() bool {
	_, err := strconv.Atoi(s.Name)
	return err == nil
}

// nodes are those of the step, in SLURM's order: the %n-th is the n-th. ok is false where they are not told.
func (s *Step) nodes() (names []string, ok bool) {
	names, err := hostlist.Expand(s.NodeList)
	return names, err == nil && len(names) > 0
}

// Stepped says that the nodes of a step are told.
func (r *Run) Stepped() bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool { _, ok := s.nodes(); return ok && s.numbered() })
}

// Expected are the nodes that a run's logs should come from: those of its largest step, for some use a part of what was
// allocated; else all that it had.
func (r *Run) Expected() []string {
	var best []string
	for i := range r.Steps {
		if names, ok := r.Steps[i].nodes(); ok && r.Steps[i].numbered() && len(names) > len(best) {
			best = names
		}
	}
	if best == nil {
		return r.Nodes()
	}
	return best
}
