package worker

// EndKind is how a batch system ended a step or a job.
type EndKind string

// How a step or a job ended.
const (
	EndCancelled   EndKind = "cancelled"
	EndFailed      EndKind = "failed"
	EndNodeFailure EndKind = "node-failure"
	EndAborted     EndKind = "aborted"
	EndTerminating EndKind = "terminating"
	EndOOM         EndKind = "oom"
	EndMemoryError EndKind = "uncorrectable-memory"
	EndUndead      EndKind = "stepd-terminated" // SLURM could not end every process of the step
	EndLaunch      EndKind = "launch-failed"
	EndRevoked     EndKind = "revoked"
)

// EndReason is why: the words of SLURM, which writes others than these as well ("SIGNAL Terminated"); "" where none is stated.
type EndReason string

// Reasons in SLURM's words, into which those of other batch systems are translated.
const (
	ReasonTimeLimit   EndReason = "TIME LIMIT"
	ReasonPreemption  EndReason = "PREEMPTION"
	ReasonRequeue     EndReason = "JOB REQUEUE"
	ReasonMemoryLimit EndReason = "MEMORY LIMIT" // where another batch system states it, the end is EndOOM, of the node that it names
	ReasonNodeFailure EndReason = "NODE FAILURE" // where another batch system names the node, the end is EndNodeFailure
	ReasonNotEnding   EndReason = "JOB NOT ENDING"
)

// MarkKind is what a RunMark begins, or by which line.
type MarkKind string

// What begins a run or an attempt.
const (
	MarkRequeue MarkKind = "requeue"
	MarkRestart MarkKind = "restart"
	MarkBanner  MarkKind = "banner"
	MarkLaunch  MarkKind = "launch"
)

// CheckpointKind is what a line says of a checkpoint.
type CheckpointKind string

// What becomes of checkpoints.
const (
	SaveStart CheckpointKind = "save-start"
	SaveDone  CheckpointKind = "save-done"
	SaveOver  CheckpointKind = "save-over" // over, which is no word on what of it can be resumed from
	LoadStart CheckpointKind = "load-start"
	LoadDone  CheckpointKind = "load-done"
	Scheduled CheckpointKind = "scheduled"
)

// BarrierKind is whose report of a barrier it is.
type BarrierKind string

// Reports of barriers.
const (
	BarrierMonitored BarrierKind = "monitored"
	BarrierVictim    BarrierKind = "monitored-victim"
	BarrierStore     BarrierKind = "store"
	BarrierWaiting   BarrierKind = "store-waiting" // it has not given up yet
	BarrierHorovod   BarrierKind = "horovod"
	BarrierJAX       BarrierKind = "jax"
)

// Phase is what a line of progress counts.
type Phase string

// Phases of a training loop.
const (
	Training   Phase = "training"
	Evaluation Phase = "evaluation"
)
