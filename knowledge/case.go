package knowledge

// Case is what a line means where something else holds as well. The cases of an entry are asked in order; the first that holds decides.
type Case struct {
	// All of these that are set have to hold.

	Below   ID        // this line stands above it in the same file
	Unless  ID        // this failure stands nowhere in the file
	OneNode bool      // one node alone writes the file
	In      Situation // it was raised in any of these situations
	Once    Given     // this is known of the file or the job

	// What it means then. Zero values keep what it meant.

	Is     Slug // Nothing: no mechanism
	As     Role
	Proves Proof
	By     ID // the entry that speaks in its place

	Why string // the reason, for the trail
}

// Nothing stands for no mechanism where "" keeps the one there is.
const Nothing Slug = "-"

// Proof is what a line proves by itself.
type Proof uint8

const (
	// AsBefore keeps what is stated elsewhere.
	AsBefore Proof = iota
	// Alone: the line confirms the mechanism, on the root's own rank or node.
	Alone
	// Never: it needs something else.
	Never
)

// Situation is what a process was about when it raised an exception.
type Situation uint16

const (
	// WithCheckpoint: it saved or loaded a checkpoint, and no data.
	WithCheckpoint Situation = 1 << iota
	// WithData: it loaded data.
	WithData
	// WithStore: it asked a store.
	WithStore
	// InTraceback: the frames are known.
	InTraceback
	// FromRank: what it read came from another rank.
	FromRank
	// OfShard: the file is a shard of a checkpoint of torch.distributed.checkpoint.
	OfShard
	// InSharedMemory: what it made lies in /dev/shm.
	InSharedMemory
	// OfAbsurdSize: it asked for more memory at once than any machine has.
	OfAbsurdSize
)

// Given is what is known beside the line.
type Given uint8

const (
	// TrainingFailed: training had begun and failed above in the same file. A script goes on to its next step, however the last one ended.
	TrainingFailed Given = 1 + iota
	// PeerGoneAbove: its writer, or one whom nothing tells apart from it, lost a peer above in the same file.
	PeerGoneAbove
	// EndIsTold: a launcher or the scheduler tells how the job ended.
	EndIsTold
)

// Cases that several entries share.
var (
	// What cannot be decoded is an item of the data or a checkpoint.
	damagedFile = []Case{
		{In: WithCheckpoint, Is: CheckpointIO, As: CauseRole, Why: "the damaged file belongs to a checkpoint"},
		{In: WithData, Is: BadSample, As: CauseRole, Why: "the damaged file is training data"},
	}
	// The words occur wherever text is parsed, and speak of the data only where data were loaded.
	damagedText = append(damagedFile[:2:2], Case{In: InTraceback, Is: Exception, As: CauseRole, Proves: Alone, Why: "the program was parsing something else"})
	// One operation on a file system failed: on a checkpoint it is the file or the mount.
	fileOperation = []Case{{In: WithCheckpoint, Is: CheckpointIO, As: CauseRole, Why: "the file belongs to a checkpoint"}}
	// Clients of stores try these again.
	retried = []Case{{In: WithStore | WithData, Is: StorageRetriesExhausted, As: CauseRole, Proves: Never, Why: "it was raised and not retried, so the read failed"}}
	// No machine has so much memory: the size is computed wrongly.
	absurdSize = []Case{{In: OfAbsurdSize, Is: Exception, As: CauseRole, Proves: Alone, Why: "it asked for more memory at once than any machine has: the size is wrong"}}
	// What fails before training, as a check of the nodes, may not be what ended the job.
	afterTraining = []Case{{Once: TrainingFailed, Is: Nothing, As: ConsequenceRole, Proves: Never, Why: "training had already failed above; the script went on to its next step"}}
)
