// Package resolve turns observations of many files into facts about one run of one job: which rank on which node wrote
// what, at which instant of one timeline, in which process group, and what was expected but not seen. Everything that
// needs more than one file happens here, once, after the merge.
package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"faultline/analysis/aislog"
	"faultline/analysis/artifact/accounting"
	"faultline/analysis/artifact/nccl"
	"faultline/analysis/novel"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// Input is what facts are resolved from.
type Input struct {
	Obs       *worker.Observations
	Sources   []incident.Source
	Nodes     []string       // expected, expanded; nil = not stated
	NodesFrom string         // who states them; "" = the person who asks
	Covered   []string       // nodes whose output is in the files, whether or not a line names them
	WorldSize int            // expected; 0 = not stated
	JobZone   *time.Location // of the job's clocks; nil = not stated
	JobID     string
	JobName   string // as the operator states it; "" = as the logs do
	// Accounting is what SLURM's own records say, of any number of jobs; nil = not at hand.
	Accounting *accounting.Book
	// Daemons are the storage daemons whose logs are at hand.
	Daemons []aislog.Daemon
	// Handed is the evidence beside the logs.
	Handed Handed
	// Spoken is what NCCL says in the job's own logs.
	Spoken []*nccl.Log
}

// which is the run of the job that is looked at, counted from 0, and of how many.
type which struct{ Run, Runs int }

// last says that no run is known that came after it: what each run writes over is of this one.
func (w which) last() bool { return w.Run >= w.Runs-1 }

// notes are what a reader should know about the input. A stage that has some to add is given them.
type notes []string

func (n *notes) add(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }

// NoRank is the rank of a process whose global rank nothing proves.
const NoRank = -1

// Facts is everything that is known about the run, as typed statements.
type Facts struct {
	sight
	groups
	breakdown
	reads
	Job        JobFacts
	JobZone    *time.Location  // of the job's clocks, as somebody states it; nil where nobody does
	Daemons    []aislog.Daemon // of the storage, by their own clocks
	Handed     Handed          // the evidence beside the logs
	Preceding  *Preceding      // an earlier run, where its logs were given
	Fabric     *Fabric         // of the network, from outside of the logs; nil where nothing is at hand
	Kernel     []*KernelEvent  // what kernel logs say, in the order of files and lines
	GPUStates  []*GPUState     // what tools say of GPUs, in the order of files
	Ranks      []*Rank         // by global rank, ascending
	Named      []*Naming       // whom lines name beside their writer, in the order of files and lines
	Signals    []Told          // dump and heartbeat machinery that no rank state holds
	Desyncs    []worker.Desync
	Analysed   []Analysed // what torchfrtrace says of flight recorders
	Mismatches []worker.Mismatch
	Barriers   []worker.Barrier
	Progress   []ProgressPoint
	Onset      *Onset // what the log says around a slowdown; nil where there is none
	Contrasts  Comparisons
	Snapshots  []SnapshotFile // what tools print of machines, where a job is slow
	Courses    []*Course      // the training steps, writer by writer
	Saves      []worker.Checkpoint
	Coverage   Coverage
	Tails      []worker.Tail
	which
	Accounting *Accounting // nil where none is at hand, or none of this run
	// Warnings are what a reader should know about the input: contradictions, and failures that were survived.
	Warnings   notes
	YearProven bool
	// Obs are the observations of this run alone.
	Obs *worker.Observations
	// Said is the text of lines about the store, where it is needed: to be compared with what the store's daemons say.
	Said map[worker.Pos]string
	// Restated is the text of lines that say little without their table's headings.
	Restated map[worker.Pos]string
	// Stood is where processes stood when somebody took their stacks, ranks first; Listed are lists of processes.
	Stood  []*Stood
	Listed []*ListedState
	// NCCL is what NCCL's own lines say; nil where there are none.
	NCCL *NCCL
	// Standing are the lines that stand out, whatever they say, the most suspicious first; nil where nobody looked for them.
	Standing []novel.Line
	// Unread are lines, in the files that a decided verdict cites, that sound bad and that nobody made anything of.
	Unread []novel.Line
	// Alike are lines in these files that state the same cause as the message at the verdict's root.
	Alike []novel.Line

	// Traced is what the profiler's traces say of ranks beside each other; nil where none is of this run.
	Traced *Traced
	// Tabled is what tables of losses, norms and checksums say; nil where there are none.
	Tabled *Tabled
	// Memories are what files say of GPUs' memory, by rank.
	Memories []MemoryFile

	// Known is what is known of the wordings of lines.
	Known *knowledge.Catalogue

	// LastWords looks into the files again for what a rank wrote last before a moment; nil where they are not at hand.
	LastWords LastWords

	// controllers is what the controller says of nodes.
	controllers []*accounting.Node
	book        *accounting.Book // of all jobs; nil = not at hand
	// nodes are those that are stated to be the job's, by short name; nodesTyped: by a person.
	nodes      map[string]bool
	nodesTyped bool

	pace pace
}

// LastWords is the last line of a rank, without what stands in front of it: before a moment and, in each file, before an offset if any is given.
type LastWords func(r *Rank, before Moment, offsets map[string]int64) (at worker.At, text string, ok bool)

// JobFacts are the job's own statements; empty or 0 is unknown.
type JobFacts struct {
	ID, Framework, Task, DataSource string // Framework: what knowledge.Frameworks makes of all that are seen
	WorldSize                       int
	WorldFrom                       string     // what states the world size
	WorldEvidence                   *worker.At // nil when the operator states it
	StepsToCome                     int64      // how many steps it is to take, where a line or an argument states it; 0 unknown
	Least                           int        // how many ranks there are at least, where WorldSize is not known; see least
	LeastFrom                       string     // what proves it
	Called                          int        // how many ranks call themselves by their number without a gap; 0 where none do
	PerNode                         int
	TP, CP, EP, DP, PP              int
	Versions                        []incident.NameOf
	ResumedFrom                     *worker.Checkpoint
	ExitOK                          *worker.At // the job's own statement that it ended by itself
	Start, End                      Moment
	Training                        bool // a training loop was seen running
	Talked                          bool // its processes have done enough collectives to have set up
	Name, Cluster                   string
	System                          string     // the batch system that started it where that is known not to be SLURM (package knowledge)
	Arguments                       []Argument // by name
	StepsLogged                     int
}

// Rank is one process of the job.
type Rank struct {
	ID        int    // global, or NoRank
	Label     string // how the logs call it where ID is NoRank: "local rank 3 in error-7-2.out"
	Node      string // "" unknown
	Local     int    // −1 unknown
	Basis     string // what proves the global rank
	Pids      map[int]bool
	Lines     int64
	Last      Moment
	LastAt    worker.At
	First     worker.At
	Files     []string // files that hold lines of it, sorted
	Pending   []*Pending
	Dump      *Counters  // counters of the default group from its dump line
	Notified  *worker.At // told by another rank ("Observed…", "from  rank R")
	Notifier  string     // who that was, as "rank 122"; "another rank" where the line does not say
	Erred     bool       // its communicator failed, and no watchdog of the job tells of a time-out
	FromLocal bool       // its dump line says "from this local rank": its own watchdog fired in some group
	Fired     bool       // a line of its own watchdog is here which does not say what that found
	Stuck     *worker.Signal
	GIL       *worker.Signal
	Failures  []*Failure
	Exit      *Exit
	// Recorded is what its flight recorder says of all its groups together; nil where its dump is not at hand.
	Recorded *Recorded
}

// Told is one line of the dump and heartbeat machinery.
type Told struct {
	Rank int
	Sig  *worker.Signal
	T    Moment
}

// Counters are last enqueued and last completed work of one group, with the line that states them.
type Counters struct {
	Enqueued, Completed int64
	At                  worker.At
	Group               worker.GroupRef
	Record              *Record // instead of At, where a dump states them
}

// Idle says that nothing was in flight.
func (c *Counters) Idle() bool { return c != nil && c.Enqueued == c.Completed }

// Pending is a collective that a rank had entered and that did not complete in time.
type Pending struct {
	Rank      *Rank
	Group     *Group
	GroupRank int // −1 unknown
	Work      worker.Work
	State     *worker.State // nil where no line states the counters
	At        worker.At     // the line that reports it
	Start     Moment        // line time − ran for
	Report    Moment
	// Record is where a flight recorder's dump says so; with it At may be nowhere. Counters are the rank's in this group, by
	// its dump.
	Record   *Record
	Counters *Counters
	// Phase is how far the work came by the dump: "scheduled", or "started" on the GPU, which is recorded only with
	// TORCH_NCCL_ENABLE_TIMING; "" unknown.
	Phase string
	// Order is the number of its record in the rank's dump: what was issued before has a smaller one. −1 unknown.
	Order int64
}

// Recorded says that only a dump tells of it, no line.
func (p *Pending) Recorded() bool { return p.Record != nil && p.At.File == "" }

// Enqueued is the last work the CPU had issued, or −1 with ok false where no line states it.
func (p *Pending) Enqueued() (int64, bool) {
	switch {
	case p.State != nil:
		return p.State.Enqueued, true
	case p.Counters != nil:
		return p.Counters.Enqueued, true
	}
	return 0, false
}

// Completed is the last work that was seen completed, 0 where no line states it. In a group that also sends and
// receives it may be a count of those.
func (p *Pending) Completed() int64 {
	switch {
	case p.State != nil:
		return p.State.Completed
	case p.Counters != nil:
		return p.Counters.Completed
	}
	return 0
}

// FirstOpen is the sequence number of the group's first work that this rank has not completed: the one that its watchdog reports, for
// it looks at them in order, and by a dump the one behind the last completed.
func (p *Pending) FirstOpen() (int64, bool) {
	switch {
	case p.State != nil:
		return p.State.Work, true
	case p.Counters != nil:
		return p.Counters.Completed + 1, true
	}
	return 0, false
}

// Group is one process group of this run.
type Group struct {
	Key     string
	GUID    string
	Desc    string
	Default bool
	Unnamed bool   // lines of generations that name no group: all of them share this key
	Single  bool   // of Unnamed: they are lines of one group all the same, by the ranks in it
	Size    int    // 0 unknown
	Basis   string // recorder, config-line, topology, seen-only, unknown
	Members []int  // global ranks, ascending; complete only where Basis is not seen-only or unknown
	Pending []*Pending
	// P2P is true where send/receive work was seen: then its counters jump between two sequences and E/C prove nothing.
	P2P bool
	// Counters are those of its members by rank, as the dumps of their flight recorders have them.
	Counters map[int]*Counters
	// seen members: group rank → global rank
	seen map[int]int
	// listed are the members that the dumps list.
	listed []int
}

// Complete says that the members are known to be all.
func (g *Group) Complete() bool {
	return g.Size > 0 && len(g.Members) == g.Size
}

// Exit is how a process ended, from torchrun's blocks and lines.
type Exit struct {
	Code int
	At   worker.At
	T    Moment
	Root bool // under "first observed failure" of its agent
	Host string
}

// Failed says that a process is known to have ended with an error.
func (x *Exit) Failed() bool { return x != nil && x.Code != 0 }

// Ended is when the rank's process ended, as far as anything tells.
func (r *Rank) Ended() Moment {
	if r == nil || r.Exit == nil {
		return Moment{}
	}
	return r.Exit.T
}

// Failure is one process-level failure: an exception, a line with a signature, an exit.
type Failure struct {
	Rank      int // NoRank where not proven
	Proc      *Rank
	Node      string
	Mechanism knowledge.Slug
	Role      knowledge.Role
	Direct    bool
	Sign      knowledge.ID // signature id, or ""
	Text      string
	Kind      FailureKind
	At        *worker.At // of the observation
	T         Moment     // when the line was written, if stated
	NotBefore Moment     // the nearest stamp above, of the same writer or file
	Exc       *worker.Exception
	Told      *worker.Told // the line of an exception's message that says what failed, where that is not the first
	Tasks     []int
	Code      string          // the code that states its cause, with its vocabulary; "" where words do, or nothing does
	Item      string          // the file, shard, sample or object that it names
	Count     int             // how many alike observations it stands for
	Kernel    *KernelEvent    // where a kernel or a GPU tool tells of it
	Unsettled bool            // steps stand below it, which may have been printed before it: see survived
	Unplaced  string          // whom its words name, where that leads to no rank and no node: "process ID 4242"
	Trail     []Change        // how its meaning changed after it was read: see amend
	sameHash  *Failure        // see likes
	spoken    knowledge.Trait // what its words say where no entry knows its line
	known     *knowledge.Catalogue
}

// When is the failure's moment, or the lower bound that the stamps above it give.
func (fl *Failure) When() Moment {
	if fl.T.Valid {
		return fl.T
	}
	return fl.NotBefore
}

// Change is one change of a failure's meaning after its line was read.
type Change struct {
	Was, Now Meaning
	Why      string
	At       worker.Pos // what made the change: the line above, the record, or the failure's own
}

// Meaning returns what the failure is taken for now.
func (fl *Failure) Meaning() Meaning { return Meaning{fl.Mechanism, fl.Role, fl.Direct, fl.Sign} }

// Entry returns the entry of the failure's line; where it has none, one that states nothing. The caller must not change it.
func (fl *Failure) Entry() *knowledge.Signature { return fl.known.Entry(fl.Sign) }

// Says tells whether the failure's line states any of these facts.
func (fl *Failure) Says(t knowledge.Trait) bool { return (fl.Entry().Says|fl.spoken)&t != 0 }

// Stated tells which of the closed list of causes a failure's message states, "" where its meaning rests on anything else.
func (fl *Failure) Stated() (*knowledge.StatedCause, bool) { return knowledge.CauseStated(fl.Sign) }

// OwnMeaning says that no entry knows the failure's line: all that its meaning rests on is what it states.
func (fl *Failure) OwnMeaning() bool {
	_, ok := fl.Stated()
	return ok || fl.Sign == ""
}

// StatesOpenly says that it states a cause which leaves open who has to act.
func (fl *Failure) StatesOpenly() bool {
	s, ok := fl.Stated()
	return ok && s.Open
}

// LostPeer tells whether the failure's line says that another process is gone, and of nothing that is wrong with its writer.
func (fl *Failure) LostPeer() bool {
	return fl.Role == knowledge.SymptomRole && fl.Mechanism.Is(knowledge.PeerGone)
}

// is gives a failure its meaning. Nothing else assigns these fields, and a failure that has a meaning already is amended.
func (fl *Failure) is(m Meaning) {
	fl.Mechanism, fl.Role, fl.Direct, fl.Sign = m.Mechanism, m.Role, m.Direct, m.Sign
}

// amend changes what a failure is taken for, and keeps why, and the place of what made the change.
func (fl *Failure) amend(m Meaning, why string, at worker.Pos) {
	was := fl.Meaning()
	if was == m {
		return
	}
	fl.Trail = append(slices.Clip(fl.Trail), Change{was, m, why, at}) // copies of a failure go their own ways
	fl.is(m)
}

// Trail tells every change of what the failures are taken for, in the order of the failures: "where: was -> now: why".
func (f *Facts) Trail() []string {
	var out []string
	for _, fl := range f.Failures {
		for _, c := range fl.Trail {
			line := fmt.Sprintf("%s:%d: %s -> %s: %s", fl.At.File, fl.At.Line, c.Was, c.Now, c.Why)
			if c.At != fl.At.Pos {
				line += fmt.Sprintf(" (%s:%d)", c.At.File, c.At.Line)
			}
			out = append(out, line)
		}
	}
	return out
}

// End is a scheduler's ending.
type End struct {
	Line worker.End // what tells of it: a line of a log, or a record of SLURM in the place of one
	T    Moment
	// Says is the word by which SLURM's records say it, "" for a line of a log; Told is the sentence it makes where the kind
	// alone does not say it.
	Says, Told string
}

// ProgressPoint is a progress line with its moment.
type ProgressPoint struct {
	*worker.Progress
	T    Moment
	Rank int
}

// Coverage is what was expected and what was seen.
type Coverage struct {
	NodesExpected []string // nil unknown
	NodesSeen     []string
	NodesMissing  []string
	RanksExpected int // 0 unknown
	RanksMissing  []int
	RanksUnseen   []int // those that must exist where no number is stated, and of which no line is known; see JobFacts.Least
	From          string
	FilesMissing  []string
	Cut           []incident.CutFile
	// Partial is true where something expected was not seen, or a file is cut: silence there proves nothing.
	Partial bool
	// CutRanks are ranks all of whose files are cut before the incident's end.
	CutRanks map[int]bool
	paired   map[string]bool
	// ranksNamed is true where some line or file name says whose it is.
	ranksNamed bool
}

// addFile notes a file that holds lines of the rank.
func (r *Rank) addFile(name string) {
	r.Files = insert(r.Files, name)
}

// seen notes where lines of the rank stand.
func (r *Rank) seen(first, last worker.At) {
	if r.First.File == "" || less(first.Pos, r.First.Pos) {
		r.First = first
	}
	if r.LastAt.File == "" || less(r.LastAt.Pos, last.Pos) {
		r.LastAt = last
	}
}

func less(a, b worker.Pos) bool { return comparePos(&a, &b) < 0 }

func comparePos(a, b *worker.Pos) int {
	if a.File != b.File {
		return cmp.Compare(a.File, b.File)
	}
	return cmp.Or(cmp.Compare(a.Off, b.Off), cmp.Compare(a.Len, b.Len))
}

// Describe names a process for people.
func (r *Rank) Describe() string {
	if r.ID == NoRank {
		return r.Label
	}
	if r.Node != "" {
		return fmt.Sprintf("rank %d on %s", r.ID, r.Node)
	}
	return fmt.Sprintf("rank %d", r.ID)
}

// MaxWorld is the largest number of ranks that is believed: several times the largest training jobs there are (2026).
// Everything that is listed per expected rank grows with it, and a log line may claim any number.
const MaxWorld = 1 << 17
