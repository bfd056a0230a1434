// Package worker reads worker logs: what training processes, launchers, NCCL and SLURM print. Reading one file is a
// pure map to observations with positions: whatever needs a second file (which rank, which node, which instant, which
// run) is left to resolve. Observations of several files merge by set union.
package worker

import (
	"strings"
	"time"

	"faultline/analysis/line"
	"faultline/knowledge"
)

// Pos is where an observation stands. Off and Len are bytes of the (decompressed) content.
type Pos struct {
	File string // Source.Name
	Line int64  // 1-based, counting \n only
	Off  int64  // first byte of the segment that holds it
	Len  int    // bytes of the segment (bounded; the excerpt is re-read by offset)
}

// Above says that a place is further up in the same file than another.
func (p Pos) Above(o Pos) bool { return p.File == o.File && p.Off < o.Off }

// At is the header of every observation.
type At struct {
	Pos
	// By is what the line states of who wrote it; nil if nothing. A writer's lines share it, so it is never changed: a large job
	// has hundreds of thousands of observations, and few writers.
	By    *line.Who
	Stamp line.Stamp
	// Repeated is the N of Ray's "[repeated Nx across cluster]": N equal lines of other workers were not printed. 0 if
	// the line does not say so.
	Repeated int
}

// Who is what the line states of who wrote it; it is not to be changed.
func (at *At) Who() *line.Who {
	if at.By == nil {
		return &line.NoOne
	}
	return at.By
}

// equal says that both headers state the same.
func (at *At) equal(b *At) bool {
	return at.Pos == b.Pos && at.Stamp == b.Stamp && at.Repeated == b.Repeated && *at.Who() == *b.Who()
}

// Inherited is the nearest stamp above in the same file, of the same writer where the writer is known, when Stamp states
// none. It only says "not before" and only within that writer.
func (at *At) Inherited() line.Stamp { return at.Stamp.FromAbove() }

// GroupRef is a process group as a line names it. Known is false when the line names none (or only the sticky one).
type GroupRef struct {
	Known bool
	GUID  string // PG GUID or, up to 2.4, the group's name; what matches across ranks
	Desc  string
	Rank  int // rank inside the group
}

// IsDefault reports whether this is the group of all ranks, in which a rank has its global number.
func (g GroupRef) IsDefault() bool {
	return g.Known && (g.GUID == "0" || g.Desc == "default_pg")
}

// Work is one collective as the watchdog prints it. Unstated integers are line.Unknown.
type Work struct {
	Seq       int64
	Op        string
	NumelIn   int64
	NumelOut  int64
	TimeoutMS int64
	RanForMS  int64
}

// Timeout is "Watchdog caught collective operation timeout".
type Timeout struct {
	At
	Work Work
	// Sticky is the N of "[Rank N]": a rank inside *some* group, in newer versions that of the first work that ever
	// failed in the process. line.Unknown if absent. Up to PyTorch 2.2 it is the rank inside the line's own group.
	Sticky int
	// Group is known only for forms that carry the true group prefix (the terminated-watchdog line).
	Group GroupRef
	Form  string // error, terminated, what, python, blocking
}

// State is a watchdog's state line: "failure detected by watchdog at work …", "Timeout at NCCL work: …".
type State struct {
	At
	Group     GroupRef
	Work      int64
	Enqueued  int64 // −1 is a value: nothing yet
	Completed int64
	Form      string // failure-detected, exception-detected, timeout-at
}

// Dump is a "Received a dump signal …" line. Its counters are those of the group in the line's own prefix, which is
// the monitoring (default) group, not the failing one.
type Dump struct {
	At
	Group     GroupRef
	Local     bool // "from this local rank"
	From      int  // "from  rank R": the process that last wrote the store key
	Enqueued  int64
	Completed int64
}

// Sample is "NCCL Work update periodically: …": the counters of a group while it works.
type Sample struct {
	At
	Group    GroupRef
	Enqueued int64
}

// Signal is any other line of the dump and heartbeat machinery; see the Kind constants.
type Signal struct {
	At
	Group GroupRef
	Kind  string
	N     int64 // seconds for SignalStuck, rank for SignalRemote; else line.Unknown
}

// Signal kinds.
const (
	SignalObserved   = "observed"     // Observed flight recorder dump signal from another rank via TCPStore.
	SignalFirst      = "first"        // First PG on this rank …, First watchdog to set the dump signal.
	SignalStuck      = "stuck"        // ProcessGroupNCCL's watchdog got stuck for N seconds …
	SignalHeartbeat  = "heartbeat"    // Heartbeat monitor timed out!
	SignalGIL        = "gil"          // Could not acquire GIL within 300 ms on exit
	SignalRemote     = "remote-error" // remote error detected from rank: R (group rank)
	SignalStoreGone  = "store-gone"   // Failed to check the "should dump" flag on TCPStore
	SignalTerminate  = "terminate"    // Terminating the process after attempting to dump debug info
	SignalTakingDown = "taking-down"  // To avoid data inconsistency, we are taking the entire process down.
	SignalAsync      = "async-error"  // Collective WorkNCCL(SeqNum=N, …) raised the following async exception
	// The last two stand for lines that are cut before their counters: the event is there, the state is not.
	SignalFired = "fired" // a watchdog's line; N is the work, if it is known
	SignalDump  = "dump"  // "Received a dump signal …"; N is the rank it names
)

// CollectiveStack is "Stack trace of the failed collective: " with the frames under it, innermost first.
type CollectiveStack struct {
	At
	Frames []Frame
}

// Desync is PyTorch's own desync report. All numbers are ranks inside the group; collectives count from 1.
type Desync struct {
	At
	Group    GroupRef
	Seq      int64
	Reporter int
	Lagging  []int // "ranks [5, 7] are the lagging ranks", or finished an earlier one and never joined
}

// Mismatch is a fingerprint mismatch of TORCH_DISTRIBUTED_DEBUG=DETAIL. Ranks are ranks inside the group; up to 1.11 a line has its
// writer's side only, and RankB is line.Unknown.
type Mismatch struct {
	At
	RankA, RankB int
	OpA, OpB     string
	SeqA, SeqB   int64
	// TensorA and TensorB are what each side's tensors are, as printed: "[10] Float cpu"; "" for operations without any.
	TensorA, TensorB string
}

// What DDP's reducer says of parameters.
const (
	NoGrad      = "no-grad"      // they got no gradient in the step before
	ReadyTwice  = "ready-twice"  // one got a second gradient in one step
	UnusedFirst = "unused-first" // unused in the first step, which static_graph takes for every step
)

// Reduction is a line in which DDP's reducer names parameters.
type Reduction struct {
	At
	Kind    string
	Rank    int      // inside the module's group
	Names   []string // as the module names them; nil where the line has only their numbers
	Indices []int    // in the order of the module's parameters
	More    bool     // the line holds more than is kept, or is cut
}

// DDPSetup is what DDP logs when it wraps a module. Rank is that inside its group.
type DDPSetup struct {
	At
	Rank     int
	Settings []Setting
}

// Setting is a line "name: value".
type Setting struct {
	At
	Name, Value string
}

// DDPPace are averages over the steps up to Iteration, as DDP logs them on each rank of the group.
type DDPPace struct {
	At
	Rank, World int
	Iteration   int64 // line.Unknown where the version prints none
	Module      string
	Times       [4]Setting // forward, backward, communication, its overlap with backward: nanoseconds
}

// Barrier is a monitored barrier or store-based barrier that gave up.
type Barrier struct {
	At
	Kind   BarrierKind
	Rank   int   // the reporter, rank inside the group
	Absent []int // ranks inside the group that did not come, where the line names them; of the whole job for horovod, jax
	Joined int64 // store: num_workers_joined, or clients joined; line.Unknown
	World  int64 // store: world_size
}

// Frame is one line of a traceback.
type Frame struct {
	File string
	Line int
	Func string
}

// Exception is one Python exception with its traceback, re-assembled for one writer.
type Exception struct {
	At             // position of the final line "Type: message"
	Type    string // "torch.OutOfMemoryError", as printed; "" where the file ends before the final line (At is Begin then)
	Message string // first line of the message, bounded; with the next one where the first ends with a colon
	Frames  []Frame
	// Main are the main thread's frames where faulthandler printed a thread that runs no Python as the current one.
	Main []Frame
	// Begin is where "Traceback (most recent call last):" stands, if it was seen.
	Begin Pos
	// Cause holds the earlier blocks of the chain, first one first ("The above exception was the direct cause …",
	// "During handling …", DataLoader's "Original Traceback").
	Cause []Exception
	// From is true where the block before it in the chain is its direct cause ("raise … from …").
	From bool
	// LoaderWorker is the N of "in DataLoader worker process N" (not a rank); line.Unknown.
	LoaderWorker int
	// Signs are the ids of the knowledge signatures that the final line and the chain match, in order.
	Signs []knowledge.ID
	// Told are the lines of the message that hold signs which its first line does not, each sign once.
	Told []Told
	// Bare is true of a final line at the margin with nothing in front of it and no traceback above: programs print such
	// lines of errors that they handle, too.
	Bare bool
	// Warned is true where a logger printed it below a warning: whoever had caught it meant to go on.
	Warned bool
	// Torn is true where lines of several writers alternate without prefix, so that frames are not attributable.
	Torn bool
	// More is how many right before it, of the same writer and like it, this one stands for.
	More int
}

// Told is a line of an exception's message below its first one, and the signature that it matches.
type Told struct {
	At
	ID   knowledge.ID
	Text string
}

// Sign is a line that matches a signature of package knowledge outside a traceback's final line.
type Sign struct {
	At
	ID   knowledge.ID
	Text string // where the line names something (knowledge.Signature.Keeps)
}

// ChildFailed is one item of torchrun's failure block. Rank is global.
type ChildFailed struct {
	At
	Rank, Local, ExitCode, Pid int
	Host                       string
	Time                       line.Stamp
	Root                       bool   // under "Root Cause (first observed failure)"
	MPI                        bool   // mpirun says so, of a process it started: a rank, unless those are launchers themselves
	Traceback                  string // what follows "traceback :", first line
}

// ChildExit is torchrun's "failed (exitcode: -6) local_rank: 3 (pid: 4242) of binary: …".
type ChildExit struct {
	At
	ExitCode, Local, Pid int
}

// Rendezvous is "[default] Rendezvous complete for workers. Result:" — the best source for local → global.
type Rendezvous struct {
	At
	Restart                 int
	LocalRanks, GlobalRanks []int
	WorldSize               int
}

// TaskExit is srun's "error: node7: task 17: Aborted (core dumped)".
type TaskExit struct {
	At
	Hosts []string // expanded
	Tasks []int    // expanded
	What  string   // "Exited with exit code 1", "Segmentation fault", "Out Of Memory", …
	Code  int      // exit code, or line.Unknown
}

// End is a line by which a batch system, mostly SLURM, says that it ended a step or job.
type End struct {
	At
	Kind   EndKind
	Entity string // JOB or STEP
	ID     string // "123" or "123.0"
	Host   string // ON <host>: the reporter, never the culprit
	Reason EndReason
	Hosts  []string // node-failure: the nodes that failed; launch-failed: the node
	N      int      // oom: number of events
	Text   string   // launch-failed: the error
	// Above is the last line above it, of those that are looked at, with a time of the job's own clock; nil where there is none.
	Above  *At
	System string // another batch system than SLURM, "PBS"
	Says   string // and the words by which its line is known
}

// By is the batch system that ended it.
func (e *End) By() string {
	if e.System != "" {
		return e.System
	}
	return "SLURM"
}

// Due says that its reason is this one, whatever else it states.
func (e *End) Due(to EndReason) bool {
	return strings.Contains(strings.ToUpper(string(e.Reason)), string(to))
}

// NCCLWarn is an "NCCL WARN" line.
type NCCLWarn struct {
	At
	Text  string // bounded
	Peer  string // address or host the message names, without port
	Signs []knowledge.ID
}

// CommInit ties a communicator's rank to host, pid and GPU.
type CommInit struct {
	At
	BusID        string
	Rank, NRanks int
}

// Progress is one progress line. Of the many that a long job prints only some are kept, the first, the last and the
// worst among them; see course.go.
type Progress struct {
	At
	// N is the line's number, from 1 on, among those of its form and phase that this writer printed into this file: what
	// lies between two kept lines was counted.
	N           int64
	Form        string // megatron, lightning-bar, hf-dict, deepspeed, titan, verl, maxtext, nemo, generic
	Step, Total int64  // line.Unknown if not stated exactly
	Epoch       int64
	Loss        string // as printed: "2.15", "nan"
	StepSeconds float64
	Phase       Phase
	Bar         bool // of a bar, which is drawn at once and not held back in a buffer
	// Loop is one more than the rank by which a loop calls itself in its step lines, 0 where it does not. It tells loops in one file apart;
	// it may be the rank within a node.
	Loop int
}

// Checkpoint is one line of saving or loading.
type Checkpoint struct {
	At
	Kind CheckpointKind
	Step int64
	Path string
}

// Fact is a statement about the job: framework, task, data_source, world_size, nodes, ranks_per_node, tp, pp, dp, cp, ep,
// job_id, torch_version, nccl_version, cuda_version, restart_count, backend, python_start, exit_ok, master, node_name, job_name, cluster.
type Fact struct {
	At
	Key, Value string
}

// Argument is one name and value of what the program was started with: a dump of its parsed arguments, its configuration or
// its command line.
type Argument struct {
	At
	Name, Value string
}

// Topology is a line that lists the members of groups, as global ranks.
type Topology struct {
	At
	Name   string // as printed: "tensor model parallel", "TENSOR_MODEL_PARALLEL_GROUP"
	Groups [][]int
}

// Identity is a line that ties ranks to each other: "GLOBAL_RANK: 3, MEMBER: 4/16", a Python print of rank and host, ….
type Identity struct {
	At
	Global, Local, World int
	Host                 string
	Pid                  int // of the process, 0 where the line does not say it
	// Call is set where the line may also mean a local rank: the words in front of the number. Only beside the lines of the same words by
	// all processes can it be told (resolve.rollCall).
	Call string
}

// RunMark says that another run (requeue) or attempt (elastic restart) begins at this position of this file.
type RunMark struct {
	At
	Kind  MarkKind
	Count int // SLURM_RESTART_COUNT or restart_count; line.Unknown
}

// Unclassified is a line that looks like an error and matches nothing.
type Unclassified struct {
	At
	Text string // bounded, numbers left in
}

// Tail describes one file.
type Tail struct {
	File      string
	Bytes     int64 // content bytes, after decompression
	Lines     int64
	EndsClean bool // last byte is \n, no hole, decompression reached its end
	Drawn     bool // what stands behind the last \n is a whole picture of a progress bar, which ends in none
	Holed     bool // runs of NUL bytes stand in it
	ReadError string
	// First and Last are the first and last stamps in the file and, by writer, the last line of each writer that a
	// prefix names.
	First, Last At
	Writers     []WriterSpan
	// Rhythm is that of the last lines with a time; nil where too few are known.
	Rhythm *Rhythm
	// Hostless counts the lines looked at that name no host.
	Hostless int64
	// Unclassified counts this file's lines that look like errors and match nothing. Dropped counts observations beyond
	// the bound of their kind: then the file's observations are incomplete.
	Unclassified, Dropped int
	// Joined is true where lines were joined that a terminal had wrapped: such records cannot be counted line by line.
	Joined bool
	// Silent: nothing that the file says is a word of a job.
	Silent bool
	// Compared: its lines state a collector's clock beside the program's, and the collector's shows Ahead more: whole half hours.
	Compared bool
	Ahead    time.Duration
}

// Rhythm is how the last lines of a file followed one another that state a time of the job's own clock: what a job says while it works
// comes again and again, whatever it means. Lines without a literal are looked at in the end of a file only, so it is known of that.
type Rhythm struct {
	At                     // the last of them
	Usual, Longest float64 // seconds between two of them: the median, and the longest
	Span           float64 // seconds from the first to the last
	Bytes          int64   // of the file in that time
}

// WriterSpan is what one prefix-named writer wrote in one file, as far as lines were looked at: those that hold a
// literal, the head and the last 16 KiB of the file. First is the first line seen of it and Last the last.
type WriterSpan struct {
	Who         line.Who
	Lines       int64 // lines looked at
	First, Last Mark
}

// Mark is an At of which file and writer are known otherwise.
type Mark struct {
	Line, Off int64
	Len       int
	Stamp     line.Stamp
}

// Mark is what of an At a WriterSpan keeps.
func (at *At) Mark() Mark { return Mark{at.Line, at.Off, at.Len, at.Stamp} }

// At is a mark of the writer in a file.
func (w *WriterSpan) At(file string, m Mark) At {
	return At{Pos: Pos{File: file, Line: m.Line, Off: m.Off, Len: m.Len}, By: &w.Who, Stamp: m.Stamp}
}
