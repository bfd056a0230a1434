package resolve

// FailureKind is what tells of a failure.
type FailureKind string

// What tells of failures.
const (
	KindException FailureKind = "exception"
	KindSign      FailureKind = "sign"
	KindExit      FailureKind = "exit"
	KindTask      FailureKind = "task"
	KindNCCL      FailureKind = "nccl"
	KindLadder    FailureKind = "ladder"
	KindRecord    FailureKind = "record" // of a launcher or of SLURM
	KindKernel    FailureKind = "kernel" // a kernel's log, or a tool that looks at GPUs
	KindCourse    FailureKind = "course" // the numbers of the training steps
)
