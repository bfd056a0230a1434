package knowledge

// Trait is a fact that a line states beside the mechanism that it speaks for. The engine asks for facts, never for the ids of lines.
type Trait uint64

const (
	// WaitedInVain: the writer gave up waiting, in a library that names neither the operation nor who is missing.
	WaitedInVain Trait = 1 << iota
	// OverGloo: the line is Gloo's, which works on the CPU. Where a peer of it timed out, a rank whose peers went away had waited as well.
	OverGloo
	// Unfinished: a collective did not end on this accelerator; a peer is gone, or late, or waits as well.
	Unfinished
	// InsideNCCL: a call into NCCL failed, and the line does not say why.
	InsideNCCL
	// LostStore: the job's store closed its connections.
	LostStore
	// AwaitsPeers: the writer reached the store and waited there for processes that never came.
	AwaitsPeers
	// AtRendezvous: it waited where all processes meet first. Implies AwaitsPeers.
	AtRendezvous
	// WithoutGPU: the process was given no GPU.
	WithoutGPU
	// PortDown: a port went down. It may come up again before a transfer over it is given up.
	PortDown
	// Aborts: a signal ended the process for whatever reason, the job was being ended, or the session broke off with what ran in it.
	Aborts
	// ByMonitor: the launcher's monitor takes processes for stuck and is about to end them.
	ByMonitor
	// AwaitsNode: Kubernetes goes on trying to start the pod.
	AwaitsNode
	// OverPipe: a broken pipe to another process of the machine has the same words.
	OverPipe
	// ByDaemon: a daemon or the kernel speaks, in whichever process's file the line stands.
	ByDaemon
	// Vague: the line says only that something failed, and others say what.
	Vague
	// TooFewGPUs: the node shows fewer GPUs than there are processes on it.
	TooFewGPUs
	// ReportsEnd: a launcher, a shell or a service reports that a program ended with an error.
	ReportsEnd
	// HungTask: the kernel reports a process that sleeps in one of its calls.
	HungTask
	// DeviceAssert: a check in a kernel of the program failed.
	DeviceAssert
	// Shrugged: the program got a signal, and may take no notice of it.
	Shrugged
	// Bypassed: the program took no notice of the signal.
	Bypassed
	// OfRuntime: the runtime of a container says why it did not start one.
	OfRuntime
	// OfAnyChild: a shell says it of whatever it started, a helper beside the training as well.
	OfAnyChild
	// FileMissing: a file is said not to exist.
	FileMissing
	// NoAnswer: a server does not answer, and will say so when it does again.
	NoAnswer
	// Answers: a server answers again.
	Answers
	// Orphaned: a peer left the writer, which may crash of it.
	Orphaned
	// OfChild: a program that the writer started ended with an error. Launchers start ranks, and ranks start helpers.
	OfChild
	// SharedMemory: a process met a bus error in memory that it shares with its rank.
	SharedMemory
	// AtStart: the writer met it as it began. One that trained got past it, or did without.
	AtStart
	// ByDriver: the driver refuses, and not who allocates for the program.
	ByDriver
	// NodeUnheard: a service of the job heard no more of a node, or of its own daemon there.
	NodeUnheard
	// EndsStep: the launcher is about to end the step on its own account; nobody asked it to.
	EndsStep
	// StatesVerbs: the captures status and status2 are states of a transfer, as the verbs of InfiniBand number them.
	StatesVerbs
	// Interrupted: who sits at the terminal, or a launcher, sent an interrupt.
	Interrupted
	// PassesOn: it was passed on to every process.
	PassesOn
	// WroteRecorder: the writer left the dump of its flight recorder at the path that the line names.
	WroteRecorder
	// JobOver: the writer came, or came back, after the job had ended elsewhere.
	JobOver
	// TurnedReadOnly: a path cannot be written, because it is mounted so or the kernel made it so since.
	TurnedReadOnly
	// LostRendezvous: a launcher lost the store of its rendezvous, or never had it.
	LostRendezvous
	// NoDirectory: the job's directory is not on the node, and the program is started in another.
	NoDirectory
	// NoProgram: the program is not on the node, or cannot be run there.
	NoProgram
	// UnlikeSizes: a process received another number of bytes than it had to, from a peer of the same library.
	UnlikeSizes
	// OfWatchdog: the writer's watchdog speaks of itself, or of what it watches.
	OfWatchdog
	// SlowsSteps: what it reports makes steps longer, and ends nothing.
	SlowsSteps
	// PeerLeft: the writer lost its connection to another process, by words that no entry knows; see OfPeers.
	PeerLeft
)

// Blame is whom a line accuses.
type Blame uint8

const (
	// Unstated: the entry does not say; the engine blames the writer of what is a cause.
	Unstated Blame = iota
	// WritersRank: the rank that writes the line, on its own account and not after the others.
	WritersRank
	// WritersNode: the node that writes the line; its hardware speaks of itself.
	WritersNode
	// EitherEnd: the writer or its peer; the line cannot tell which, and the peer may just be gone.
	EitherEnd
	// EarlierRun: who was in the writer's place before; the line does not say who that was.
	EarlierRun
)

// Nature is a fact about a mechanism.
type Nature uint64

const (
	// ReadsOrWrites: a failure to read or write. Programs catch such failures and go on.
	ReadsOrWrites Nature = 1 << iota
	// OfItem: it is about one file, shard, sample or object.
	OfItem
	// Endurable: a program that catches it can go on: it leaves an item out, asks again later, or does without.
	Endurable
	// Stands: its processes may still be where they stopped.
	Stands
	// EndsProcess: it ends a process for reasons of its own.
	EndsProcess
	// Hardware: it is a sign from the node's own hardware.
	Hardware
	// MayBeStore: a store at fault may show as this.
	MayBeStore
	// Strain: it may go on for hours and harm nobody.
	Strain
	// BySomebody: something outside of the job ended it, and the lines that say so do not say what.
	BySomebody
	// Wide: every daemon of a store may show its consequences.
	Wide
	// PeerGone: its lines tell that another process is gone.
	PeerGone
	// OfOthers: its lines tell of other processes that are gone or out of reach, and not of a fault of the writer's.
	OfOthers
	// RaisesCUDA: calls of CUDA fail of it in the processes that use the GPU.
	RaisesCUDA
	// OneGPU: it is about one GPU, and about whoever uses that. Implies RaisesCUDA.
	OneGPU
	// Killed: who is ended by it is killed.
	Killed
	// KilledChild: a process that another needs is killed.
	KilledChild
	// BySignal: a signal ends the process.
	BySignal
	// BeforeSteps: a process meets it before it takes a step.
	BeforeSteps
	// TriedAgain: clients of stores try again, and tell of each try.
	TriedAgain
	// LeftOut: loaders log such an item with its traceback, and take the next.
	LeftOut
	// ByKernel: the kernel ends a process for it, and launchers see how that ended.
	ByKernel
	// FromCUDA: calls of CUDA report it, whatever it came of.
	FromCUDA
	// RefusedMemory: a GPU had no more memory to give.
	RefusedMemory
	// AsItBegins: a process refuses it as it begins, and goes no further.
	AsItBegins
	// Installed: it is about what is installed on a node, which is alike on all nodes or should be.
	Installed
	// DeviceGone: a device is no longer there.
	DeviceGone
	// Checked: an assertion of the program may be how it shows.
	Checked
	// Entered: every rank may have entered the operation, which does not end.
	Entered
	// Astray: a rank makes another call than its group.
	Astray
	// AwaitsData: most ranks that it befalls were loading data.
	AwaitsData
	// OfPace: the run was slower than it had been.
	OfPace
	// OutOfReach: the processes of a job did not find each other.
	OutOfReach
	// NotLaunched: the job, its container or its directory could not be set up.
	NotLaunched
	// AIStoreOnly: only a cluster of AIStore can have it.
	AIStoreOnly
	// LoadAlone: its records may be of load alone, which delays and rejects nothing.
	LoadAlone
	// Outage: a daemon of a store is not there for a time.
	Outage
	// OwnDoing: why a daemon of a store has it lies with that daemon, or reached every daemon.
	OwnDoing
	// ToldByPeers: daemons of a store say it of another one that does not answer; who is cut off says it of everybody.
	ToldByPeers
	// TwoEnds: two daemons of a store tell of it, who sends and who receives.
	TwoEnds
	// OnRequest: what an administrator asks of a store may start it, and is then its first record.
	OnRequest
)

// Is tells whether a mechanism is of any of these natures.
func (s Slug) Is(n Nature) bool {
	m := mechanismIndex()[s]
	return m != nil && m.Nature&n != 0
}

// Survived is what a mechanism is called where training went on after it; "" is no more than an exception.
func (s Slug) Survived() string {
	m := mechanismIndex()[s]
	switch {
	case m == nil:
		return ""
	case m.Survived == "" && m.Nature&ReadsOrWrites != 0:
		return "read or write errors"
	}
	return m.Survived
}

// HavingNature lists the mechanisms of a nature, in the order of the taxonomy.
func HavingNature(n Nature) []Slug {
	var out []Slug
	for _, m := range Mechanisms() {
		if m.Nature&n != 0 {
			out = append(out, m.Slug)
		}
	}
	return out
}

// Again says what it means when earlier runs met the same: the same host speaks for the machine where a machine can cause such a failure,
// the same step for code or data, the same item twice for the item.
type Again struct {
	// Machine: the hardware or the state of a node can cause it.
	Machine bool
	// Step: a program that does the same fails so after the same step.
	Step bool
	// Item holds the origins of those rivals that the same item in another run speaks against.
	Item []string
}

// passing are origins whose faults come and go: they do not pick the same item in two runs.
var passing = []string{"storage", "network", "data-loading-stall", "unknown"}

// Again returns what recurrence means for a mechanism.
func (s Slug) Again() Again {
	if m := mechanismIndex()[s]; m != nil {
		return m.Again
	}
	return Again{}
}
