// Package nccl reads what NCCL itself prints with NCCL_DEBUG=INFO or WARN: into files of its own (NCCL_DEBUG_FILE), or into the log
// of the process. It says which communicators there are, who is which rank of them on which GPU, what each process called on them
// last, which network they use, and what failed. It says what one log holds; Join puts the logs of a job together.
//
// Formats: NCCL 2.10 to 2.30 (src/debug.cc, init.cc, enqueue.cc, bootstrap.cc, transport/net_ib.cc, misc/socket.cc), and RCCL, which
// prints the same with a few fields more.
//
// What a line "AllReduce: opCount 1f sendbuff … count N … comm 0x… [nranks=16]" tells, and what not:
//   - It is printed by the caller's thread when the operation is enqueued. That it began or ended on a GPU no line says.
//   - opCount is hexadecimal and counts the launches of the communicator whose proxies had work, not calls: the calls of one ncclGroup
//     have the same one. From about 2.20 on (enqueue.cc, hostStreamPlanTask: ncclProxyStart only where the plan has proxy operations)
//     it stands still where all neighbours are reached over NVLink, and so may differ between ranks of one communicator that have
//     called the same. It is shown, and it never judges: this package counts the calls.
//   - Collectives are called by every rank of a communicator in the same order, so their number is comparable. Sends and receives are
//     not; they are counted apart.
//   - NCCL_DEBUG_FILE is line-buffered; stdout into a file or pipe is not, and loses up to a block of lines when the process is killed.
//     A log that ends early is therefore no rank that is behind, unless something later stands in it.
package nccl

// HeadLen is how much of a file Recognise wants to see.
const HeadLen = 4096

// At is where something stands in its file.
type At struct {
	Line, Off int64
	Len       int
}

// Known says that it stands somewhere.
func (a At) Known() bool { return a.Line > 0 }

// Log is one file.
type Log struct {
	File  string
	Bytes int64
	Lines int64 // that NCCL wrote
	// Clean: the file ends with a line's end. A stream that lost its last block ends in the middle of a line, nearly always.
	Clean     bool
	Version   string // "2.21.5+cuda12.4", as the banner states it
	VersionAt At
	Procs     []*Proc // in order of appearance
	// Torn is how many lines are in pieces: several processes wrote into one file by blocks. What they called cannot be counted.
	Torn   int
	TornAt At
}

// Proc is a process that writes into a log.
type Proc struct {
	Host     string
	Pid      int
	Lines    int64
	Comms    []*Comm
	Networks []Said    // "IB", "Socket", "AWS Libfabric"
	Addrs    []Address // of its host
	Plugins  []Said
	Faults   []Fault // the first ones
}

// Said is a word with its place.
type Said struct {
	Text string
	At   At
}

// Address is an interface's address, as NCCL lists it.
type Address struct {
	Dev, IP string
	At      At
}

// Comm is a communicator as one process sees it.
type Comm struct {
	Ptr    string // 0x55aa…: means nothing in other processes
	ID     string // commId, the same on all ranks; "" where the version does not print it
	Rank   int    // inside the communicator; Unknown where no line states it
	NRanks int
	Dev    int    // CUDA ordinal in this process
	Bus    string // "5d000"
	Parent string // pointer of the communicator it was split from
	Split  int    // which of the parent's splits, Unknown
	Color  int
	// Began and Ready are its "Init START" and "Init COMPLETE". Calls are counted from the beginning where one of them is there.
	Began, Ready At
	Calls        int64 // collectives called
	P2P          int64 // sends and receives called
	ring         []Call
	Global       int // RCCL states the global rank; Unknown
	after        At
}

// Unknown stands for a number that no line states.
const Unknown = -1

// Call is one collective call.
type Call struct {
	N        int64  // from 1
	OpCount  uint64 // as printed
	Count    uint64 // elements
	Datatype int32
	Root     int32
	Op       string
	At       At
}

// Same says whether ranks may issue these two together. The reduction and the buffers are not compared.
func (c *Call) Same(o *Call) bool {
	return c.Op == o.Op && c.Count == o.Count && c.Datatype == o.Datatype && (c.Root == o.Root || !rooted[c.Op])
}

// rooted are the operations whose root must agree.
var rooted = map[string]bool{"Broadcast": true, "Bcast": true, "Reduce": true, "Gather": true, "Scatter": true}

// Whole says that the calls are counted from the communicator's beginning.
func (c *Comm) Whole() bool { return c.Began.Known() || c.Ready.Known() }

// Last is the last collective that was called; nil if none.
func (c *Comm) Last() *Call { return c.Call(c.Calls) }

// Call is the n-th one, from 1, where it is still known; else nil.
func (c *Comm) Call(n int64) *Call {
	if n < 1 || n > c.Calls || len(c.ring) == 0 {
		return nil
	}
	if x := &c.ring[(n-1)%kept]; x.N == n {
		return x
	}
	return nil
}

// After is a later line of the process than its last call on any communicator, which is no call either: an error, an abort, the end
// of a communicator. It proves that the log goes on after the last call.
func (c *Comm) After() (At, bool) { return c.after, c.after.Known() }

// kept is how many of the last calls of a communicator are kept: processes run ahead of each other by what they enqueue between two
// points at which they wait for their GPU.
const kept = 64

// Bounds of one log.
const (
	maxProcs  = 1 << 15
	maxComms  = 1 << 16
	maxFaults = 64
	maxSaid   = 16
	maxWord   = 128
	maxText   = 512
)

// FaultKind is what a warning of NCCL tells of.
type FaultKind string

const (
	IBCompletion FaultKind = "ib-completion" // a transfer over InfiniBand or RoCE failed
	IBAsync      FaultKind = "ib-async"      // an event of a port or a queue of the local adapter
	IBSetup      FaultKind = "ib-setup"      // a queue pair could not be set up
	PeerClosed   FaultKind = "peer-closed"   // a connection was closed by the other end
	Refused      FaultKind = "refused"       // a connection was not accepted
	Unreachable  FaultKind = "unreachable"   // no way to the other end, or it did not answer
	Bootstrap    FaultKind = "bootstrap"     // ranks that do not fit together
	Truncated    FaultKind = "truncated"     // two ranks disagree on the size of a transfer
	CUDAFailure  FaultKind = "cuda"          // a call of CUDA failed
	SharedMemory FaultKind = "shm"           // /dev/shm
	OtherWarning FaultKind = "warning"
)

const flushedStatus = 5 // the queue pair was in error before: an echo

// Fault is a warning of NCCL.
type Fault struct {
	At     At
	Kind   FaultKind
	Source string // transport/net_ib.cc
	Dev    int    // CUDA ordinal
	Peer   string // the address or host that it names as the other end, without port
	// Of IBCompletion: Status 12 is "the other side did not answer", 5 an echo.
	Status                int
	HCA                   string
	LocalGID, RemoteGID   string
	Text                  string // the beginning
	InvolvesOnlyLocalSide bool   // what it says, the reporter's own side did
}

// Echo says that it only follows from an earlier fault.
func (f *Fault) Echo() bool { return f.Kind == IBCompletion && f.Status == flushedStatus }
