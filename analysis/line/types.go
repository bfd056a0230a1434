// Package line reads what every log line has in front of its message: labels of launchers and log shippers, the
// rank prefix of PyTorch, stamps of many kinds. It says what the prefix states and nothing more: turning a stamp into
// a point in time, or a label into a rank, needs other files and is resolve's business.
package line

import "fmt"

// Unknown is the value of an integer that the prefix does not state. (−1 is a value elsewhere, never here.)
const Unknown = -1

// Who is what the prefixes of one line state about the process that wrote it. Integers are Unknown when not stated.
type Who struct {
	Global  int    // [rank99]: — global rank
	Local   int    // [default3]: — local rank of torchrun, never global
	Role    string // "default" in [default3]:
	Task    int    // srun --label "12: "; a global rank only where one task is one rank
	Host    string // pdsh "node1: ", NCCL "host:pid:tid", determined, shipper's host column
	Pid     int    // NCCL prefix, Ray "pid=", torchrun's agent stamp
	RayName string // "WorkerDict" in (WorkerDict pid=3490362)
	RayRank int    // (MegatronPolicyWorker[rank=9] pid=…): rank within that worker group
	RayIP   string
	CudaDev int // "[6]" in NCCL's prefix: CUDA ordinal, local
	MPIRank int // [1,3]<stderr>: → 3; also that of a launcher's section
}

// GoString prints what is said, where %#v meets a pointer: not the address.
func (w *Who) GoString() string {
	if w == nil {
		w = &NoOne
	}
	type plain Who
	return fmt.Sprintf("%#v", plain(*w))
}

// NoOne is the Who of a line that states nothing.
var NoOne = Who{Global: Unknown, Local: Unknown, Task: Unknown, Pid: Unknown, RayRank: Unknown, CudaDev: Unknown, MPIRank: Unknown}

// Emitter is the clock a stamp was read from. Within one file several emitters may live in different zones.
type Emitter uint8

const (
	NoEmitter  Emitter = iota
	Container          // the training process and everything else inside its container: c10, Python, NCCL, torchrun
	Slurm              // slurmstepd, srun: local time of the compute node
	Kernel             // dmesg, journal
	Collector          // a log shipper's or runtime's stamp in front of the line
	Accounting         // sacct, scontrol: seconds since 1970, or the local time of whoever asked
)

// StampKind says what the written form states.
type StampKind uint8

const (
	NoStamp  StampKind = iota
	MonthDay           // no year: c10 "E603 17:48:01.…", glog "E0603 …"
	DateTime           // year, no zone
	Zoned              // year and zone
	TimeOnly           // "17:48:01"
	Epoch              // Unix seconds
	Uptime             // seconds since boot
)

// Stamp is a time as written. Unstated fields are 0; Kind tells which are stated. Jobs of many ranks keep millions of
// them: the order of the fields is that of the least room.
type Stamp struct {
	Kind                             StampKind
	Emitter                          Emitter
	Month, Day, Hour, Minute, Second int8
	above                            uint8 // see Above
	Year                             int16
	// ZoneOffset is minutes east of UTC, for Zoned.
	ZoneOffset int16
	// Nanos are true sub-seconds. The fraction of PyTorch's c10 header is not (it is read from another clock) and is
	// never stored here.
	Nanos int32
	// Unix is for Epoch; Uptime seconds for Uptime (nanoseconds in Nanos).
	Unix int64
}

// Above makes of a line's stamp that of a line further down which states none: its Kind is NoStamp, and FromAbove gives
// the stamp back.
func (s Stamp) Above() Stamp {
	if s.Kind == NoStamp {
		return Stamp{}
	}
	s.above = uint8(s.Kind)<<4 | uint8(s.Emitter)
	s.Kind, s.Emitter = NoStamp, NoEmitter
	return s
}

// FromAbove is the stamp of the line above, if s was taken from one.
func (s Stamp) FromAbove() Stamp {
	if s.above == 0 {
		return Stamp{}
	}
	s.Kind, s.Emitter, s.above = StampKind(s.above>>4), Emitter(s.above&0xf), 0
	return s
}

// Prefix is all that stands in front of one message.
type Prefix struct {
	Who   Who
	Stamp Stamp // the innermost stamp: the one nearest to the message
	// Outer is a collector's stamp in front of it, if there are two.
	Outer    Stamp
	Severity byte   // I W E F V, or 0
	Source   string // "ProcessGroupNCCL.cpp" or "torch/distributed/elastic/multiprocessing/api.py"
	SourceLn int    // Unknown if not stated
	// Form is the kind of record header found, if any.
	Form Form
	// Len is how many bytes of the segment the prefix takes: seg[Len:] is the message.
	Len int
}

// Form is the kind of record header nearest to the message.
type Form uint8

const (
	NoForm   Form = iota
	C10           // [E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632], with or without stamp
	Glog          // E0603 17:48:01.005271 12345 file.cpp:632], torchrun ≥ 2.3, absl
	PyLog         // any of Python's logging layouts
	NCCLWarn      // host:pid:tid [dev] file.cc:line NCCL WARN
	NCCLInfo      // host:pid:tid [dev] NCCL INFO (also TRACE, CALL, VERSION)
	UCX           // [epoch] [host:pid:tid] file.c:line UCX LEVEL
	FileLine      // [path/pair.cc:598], nothing else
)
