// Package incident holds the words a report is made of. It imports nothing of ours: every other package may speak
// these words, none of them may change what they mean. The JSON form is the contract "faultline.report/v1".
package incident

// Schema names the version of the JSON report.
const Schema = "faultline.report/v1"

// GlobalRank is a rank in the whole job. GroupRank is a rank inside one process group. LocalRank counts the processes
// of one node. Task is a SLURM task (SLURM_PROCID). They are four types because confusing them blames the wrong machine.
type (
	GlobalRank int
	GroupRank  int
	LocalRank  int
	Task       int
)

// Source is one file as fetched.
type Source struct {
	// Name is how the report calls the file: relative to what the user named, with forward slashes.
	Name string `json:"name"`
	// Path is where the bytes are, and Written when they were last written where they came from, in nanoseconds since 1970; 0 where nobody
	// can tell. Neither reaches a report.
	Path    string `json:"-"`
	Written int64  `json:"-"`
	// Node is the node that the origin (not the content) proves, or "".
	Node string `json:"node,omitempty"`
	// SHA256 of the stored bytes, computed at fetch; for a bare directory only of cited files.
	SHA256 string `json:"sha256,omitempty"`
	// Bytes is the size of the stored file.
	Bytes int64 `json:"bytes"`
	// Origin says where it came from: "path", "archive:<name>", later "sftp", "s3", "upload".
	Origin string `json:"origin,omitempty"`
}

// Content is the source without where it lies and when it was written: sources of one content are equal.
func (s Source) Content() Source {
	s.Path, s.Written = "", 0
	return s
}

// Verdict statuses.
const (
	Confirmed    = "confirmed"    // one mechanism, a direct sign on the root's own rank, node or daemon, no rival left
	Probable     = "probable"     // one mechanism, from counters, silence or an incomplete chain
	Inconclusive = "inconclusive" // a set of two or more, or unknown
	NoFailure    = "no-failure"   // completed or cancelled
)

// Roles of a rank in a group.
const (
	Straggler    = "straggler"     // held the others: had not entered the collective they wait in
	Waiter       = "waiter"        // entered, waits for somebody
	Lagging      = "lagging"       // its first uncompleted work is well behind its group's while it keeps enqueuing
	LoneWaiter   = "lone-waiter"   // the only one waiting; all others have nothing in flight
	FirstFailure = "first-failure" // failed on its own before the others noticed
	Victim       = "victim"        // failed as a consequence
	Notified     = "notified"      // was told by another rank, reported nothing pending of its own
	Unobserved   = "unobserved"    // a member whose state in this group no line gives
	Missing      = "missing"       // a member of which there is no line at all
)

// Chain roles.
const (
	Trigger     = "trigger"
	Cause       = "cause"
	Consequence = "consequence"
	End         = "end"
)

// Report is what the engine says about one incident.
type Report struct {
	Schema          string           `json:"schema"`
	Engine          Engine           `json:"engine"`
	Job             Job              `json:"job"`
	Coverage        Coverage         `json:"coverage"`
	Verdict         Verdict          `json:"verdict"`
	Action          Action           `json:"action"`
	Severity        *Severity        `json:"severity"` // null where what is lost is not known
	Groups          []Group          `json:"groups"`
	Chain           []Link           `json:"chain"`
	Course          *Course          `json:"course,omitempty"`    // absent where no course can be drawn
	Heat            *Heat            `json:"heat,omitempty"`      // absent where no times of two ranks are known
	Bars            []Bars           `json:"bars,omitempty"`      // absent where the parts of steps are not known
	Figures         []Figure         `json:"figures,omitempty"`   // what the next run is compared by; absent where step lines tell nothing
	Narrowing       *Narrowing       `json:"narrowing,omitempty"` // absent where the lines answer nothing beyond the verdict
	Timeline        []Event          `json:"timeline"`
	Clocks          []ClockShift     `json:"clocks,omitempty"`    // clocks that show another time than this report; absent where there are none
	Before          []Precursor      `json:"before,omitempty"`    // what the run did again and again before its failure began
	Lanes           *Lanes           `json:"lanes,omitempty"`     // absent where no event has a time
	Standouts       []Standout       `json:"standouts,omitempty"` // lines that stand out, where no known failure matches
	Shapes          []string         `json:"shapes,omitempty"`    // of lines that sound bad in a run that came to a good end: what such runs print, too
	Counts          Counts           `json:"counts"`
	Storage         Storage          `json:"storage"`
	Artifacts       []Artifact       `json:"artifacts,omitempty"`
	History         *History         `json:"history"` // null where no earlier runs were given
	Hypotheses      []Hypothesis     `json:"hypotheses"`
	Revisions       []Revision       `json:"revisions"`
	Recommendations []Recommendation `json:"recommendations"`
	KeyFiles        []KeyFile        `json:"key_files"`
	Ranks           []RankState      `json:"ranks"`
	Verification    Verification     `json:"verification"`
	Sources         []Source         `json:"sources"` // the files that the report cites
	Warnings        []string         `json:"warnings"`
	Site            []SiteNote       `json:"site,omitempty"`   // what the site's own knowledge had to do with it; absent where that was nothing
	Triage          *Triage          `json:"triage,omitempty"` // of a job that still runs, at the moment that was asked about
	// Trail tells how the engine changed its mind about single lines, for those who develop it. It is no part of the contract.
	Trail []string `json:"-"`
}

// Engine names the program and the rules that made the report.
type Engine struct {
	Version      string `json:"version"`
	RulesVersion string `json:"rules_version"`
	Site         string `json:"site,omitempty"` // the files of the site's own knowledge, with a hash
}

// SiteNote is an entry of the site's own knowledge that lines of these files match.
type SiteNote struct {
	ID        string     `json:"id"`
	At        string     `json:"at"`   // file:line that states it
	Part      string     `json:"part"` // decides, outranked, noted, suppressed
	N         int        `json:"n"`    // lines seen; of a storm that is a sample
	Statement string     `json:"statement"`
	Evidence  []Evidence `json:"evidence"`
}

// The part that an entry of a site takes in a report.
const (
	SiteDecides    = "decides"    // the verdict rests on it
	SiteOutranked  = "outranked"  // it would decide, and what Faultline proves stands
	SiteNoted      = "noted"      // its lines are there, and something else decides
	SiteSuppressed = "suppressed" // its lines count as noise
)

// Job holds the facts of the job; null is unknown.
type Job struct {
	ID           *string  `json:"id"`
	Run          *int     `json:"run"`  // 0-based index of the diagnosed run among those found in the files
	Runs         int      `json:"runs"` // runs found
	Framework    *string  `json:"framework"`
	Task         *string  `json:"task"` // training, fine-tuning, inference
	DataSource   *string  `json:"data_source"`
	StartTime    *string  `json:"start_time"`
	EndTime      *string  `json:"end_time"` // last stamped line
	WorldSize    *int     `json:"world_size"`
	NodesCount   *int     `json:"nodes_count"`
	RanksPerNode *int     `json:"ranks_per_node"`
	ResumedFrom  *Step    `json:"resumed_from"`
	LastStep     *int64   `json:"last_step"`
	StepsLogged  int      `json:"steps_logged"` // different steps of which a progress line was seen
	Versions     []NameOf `json:"versions"`     // pytorch, nccl, cuda, …; with the basis in Note
	Name         *string  `json:"name"`         // the job's name, as its own lines state it
	Arguments    []NameOf `json:"arguments"`    // what the program was started with, as far as it prints that
}

// NameOf is a name with its value and how it is known.
type NameOf struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Note  string `json:"note,omitempty"`
}

// Step is a training step and, where known, its checkpoint's path.
type Step struct {
	Step     int64      `json:"step"`
	Path     string     `json:"path,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Coverage proves how complete the examination was.
type Coverage struct {
	Files           int       `json:"files"`
	Lines           int64     `json:"lines"`
	Bytes           int64     `json:"bytes"`
	NodesExpected   []string  `json:"nodes_expected"` // null when nobody states them
	NodesSeen       []string  `json:"nodes_seen"`
	NodesMissing    []string  `json:"nodes_missing"`
	RanksExpected   *int      `json:"ranks_expected"`
	RanksSeen       int       `json:"ranks_seen"`
	RanksStateKnown int       `json:"ranks_state_known"`
	RanksMissing    []int     `json:"ranks_missing"`
	ExpectedFrom    string    `json:"expected_from"`  // what states the expected numbers; "" = unknown
	FilesMissing    []string  `json:"files_missing"`  // holes in a file-name series
	Gaps            []string  `json:"gaps,omitempty"` // what else is missing, or may be, in a few words each
	Truncated       []CutFile `json:"truncated"`
	TimeFrom        *string   `json:"time_from"`
	TimeTo          *string   `json:"time_to"`
	Unclassified    int       `json:"unclassified"` // lines that look like errors and match nothing
	UnclassifiedTop []Tally   `json:"unclassified_top"`
}

// CutFile is a file that does not end as its peers do.
type CutFile struct {
	File string `json:"file"`
	How  string `json:"how"` // empty, header-only, truncated-early, no-final-newline, hole, unreadable
	Note string `json:"note,omitempty"`
}

// Tally counts one text.
type Tally struct {
	Text  string    `json:"text"`
	Count int       `json:"count"`
	First *Evidence `json:"first,omitempty"`
}

// Verdict is the answer.
type Verdict struct {
	Status    string `json:"status"`
	Origin    string `json:"origin"`
	Mechanism string `json:"mechanism"`
	// Confidence is that the verdict as stated is right: the mechanism, or for a set that the set holds the truth.
	Confidence Confidence  `json:"confidence"`
	Phase      string      `json:"phase"` // init, first-step, training, checkpoint, evaluation, shutdown, unknown
	Scope      string      `json:"scope"` // rank, node, group, all, unknown
	Summary    string      `json:"summary"`
	Why        string      `json:"why"`
	Candidates []Candidate `json:"candidates"`
	Suspects   []Suspect   `json:"suspects"`
	Root       Root        `json:"root"`
	Needs      []Need      `json:"needs"`
	// Stated is what the message of the error at the root, or of the most suspicious line, states about its cause; nil where it states none.
	Stated *Stated `json:"stated,omitempty"`
	// Ending says, where no failure was found, whether the job's end was seen.
	Ending string `json:"ending,omitempty"`
}

// Stated is a cause that a message states in words or in a code of a public vocabulary.
type Stated struct {
	Cause   string `json:"cause"`
	Title   string `json:"title,omitempty"` // where it says more than the mechanism's
	Meaning string `json:"meaning"`
	Code    string `json:"code,omitempty"` // "S3 RequestTimeTooSkewed"
}

// Endings of a job in which no failure was found; "" where it was ended from outside.
const (
	EndSeen    = "seen"    // it completed
	EndUnseen  = "unseen"  // these files do not hold its end: it may go on, or stand still
	EndRunning = "running" // the scheduler has it running
	EndStalled = "stalled" // no end, and no step long before the last lines
)

// Candidate is a mechanism the evidence leaves standing.
type Candidate struct {
	Origin     string     `json:"origin"`
	Mechanism  string     `json:"mechanism"`
	Confidence Confidence `json:"confidence"`
}

// Standout is a line that stands out among all others, whatever it says: what an expert would look at who has never seen its wording.
type Standout struct {
	Statement string     `json:"statement"` // the line, or the exception or panic that it is part of, in one sentence
	Severity  string     `json:"severity"`  // calm, warning, error, crash
	Rank      *int       `json:"rank"`      // global; null where not proven
	Node      string     `json:"node"`
	N         int64      `json:"n"`     // how many lines like it there are
	Files     int        `json:"files"` // in how many files
	Score     int        `json:"score"` // the sum of the points of its reasons
	Reasons   []Reason   `json:"reasons"`
	Evidence  []Evidence `json:"evidence"`
}

// Reason is one part of a standout's score.
type Reason struct {
	Part   string `json:"part"` // severity, stack, position, rarity, spatial, cross-job, temporal, background, known, words
	Points int    `json:"points"`
	Text   string `json:"text"`
}

// Suspect is plausible, without evidence; never scored.
type Suspect struct {
	Mechanism string `json:"mechanism"`
	Why       string `json:"why"`
}

// Root says who broke it. Ranks are global.
type Root struct {
	Ranks     []int    `json:"ranks"`
	Nodes     []string `json:"nodes"`
	Component *string  `json:"component"`
	Disk      string   `json:"disk,omitempty"` // mountpath of the component, where the daemon's log names one
	// Item is the file, shard, sample or object that the failure names.
	Item *string `json:"item"`
	// Frontier holds the ranks among which the root must be where no rank is proven; never an accusation.
	Frontier []int `json:"frontier"`
	// Named is whom lines of other processes name as gone or awaited, where that proves nobody's fault; never an accusation.
	// One that ends in OfItsGroup is numbered within that group.
	Named string `json:"named,omitempty"`
	// Only is the one node of several whose lines the verdict rests on, where they prove nobody's fault; never an accusation.
	Only string `json:"only,omitempty"`
	// File is the one file, of Of files, in which the verdict's lines stand, where they prove no rank and no node.
	File string `json:"file,omitempty"`
	Of   int    `json:"of,omitempty"`
}

// Need is what would decide an open question.
type Need struct {
	What       string `json:"what"`
	Why        string `json:"why"`
	Command    string `json:"command"`
	Obtainable string `json:"obtainable"` // now, perishing, next-time
	// Artefact is the slug of a known kind of evidence (package knowledge), "" where it is none.
	Artefact string `json:"artefact,omitempty"`
	// First is true where it is asked for before anything else: the log of a process that lines name as the first to fail.
	First bool `json:"-"`
}

// Action is the decision.
type Action struct {
	Resubmit     string   `json:"resubmit"` // yes, no, after-fix, unknown
	ExcludeNodes []string `json:"exclude_nodes"`
	ResumeFrom   *Step    `json:"resume_from"` // only a save whose completion was seen
	// Finished is the program's statement that its training was finished, where what failed came after it.
	Finished *Finding `json:"finished,omitempty"`
	Lost     Lost     `json:"lost"`
	Owner    string   `json:"owner"` // job-code, job-config, data, storage, cluster, scheduler, nobody, unknown
	Text     string   `json:"text"`  // the decision in one sentence
}

// Severity is how much an incident loses, on one scale for jobs that are over and for jobs that still run.
type Severity struct {
	Level    string  `json:"level"`     // critical, warning, note
	GPUHours float64 `json:"gpu_hours"` // what is lost
	Per      string  `json:"per"`       // hour: in each hour that it goes on; run: by this run, and by another that fails alike
	Why      string  `json:"why"`       // one sentence
}

// Levels of a severity.
const (
	SeverityCritical = "critical"
	SeverityWarning  = "warning"
	SeverityNote     = "note"
)

// What a severity counts by.
const (
	PerHour = "hour"
	PerRun  = "run"
)

// Lost is what the failure cost; null is unknown.
type Lost struct {
	Steps    *int64   `json:"steps"`
	GPUHours *float64 `json:"gpu_hours"`
}

// Group is one process group and the state of its ranks.
type Group struct {
	Key             string `json:"key"`
	GUID            string `json:"guid"`
	Desc            string `json:"desc"`
	Size            *int   `json:"size"`
	MembershipBasis string `json:"membership_basis"` // recorder, config-line, topology, seen-only, unknown
	// SplitsTensors: its members hold parts of the same layers (tensor parallelism alone), and exchange in each of them.
	SplitsTensors bool          `json:"splits_tensors,omitempty"`
	Stuck         *Stuck        `json:"stuck"`
	Gap           *SeqGap       `json:"gap"` // null where its members stand at the same number, or it is not known
	Ranks         []GroupMember `json:"ranks"`
}

// Stuck is the collective a group hangs in.
type Stuck struct {
	Seq       int64   `json:"seq"`
	Op        string  `json:"op"`
	Size      *int64  `json:"size"` // NumelIn
	StartedAt *string `json:"started_at"`
	// Sync is the synchronisation point of the program, for the groups that the verdict is about.
	Sync *SyncPoint `json:"sync"`
}

// SyncPoint says at which point of its program a group waits. It explains a hang to its reader; it blames nobody.
type SyncPoint struct {
	// Basis is "stack" where the stack of the call names it, "consistent" where operation, size and group fit.
	Basis string `json:"basis"`
	// Points are the names of all points that fit, the likelier first; empty where a stack leads to the user's own code.
	Points    []string   `json:"points"`
	Statement string     `json:"statement"`
	Waits     string     `json:"waits"` // who waits for whom at the first of them
	Check     string     `json:"check"` // what to check or change there
	Evidence  []Evidence `json:"evidence"`
}

// SeqGap compares how far the members of a group have come. Null is unknown.
type SeqGap struct {
	Collectives int64      `json:"collectives"` // between the furthest and the last
	Ahead       []int      `json:"ahead"`       // global ranks
	Behind      []int      `json:"behind"`
	PerStep     *int64     `json:"per_step"` // collectives of this group in one step, where samples prove it
	Steps       *int64     `json:"steps"`    // whole steps between them; null also where the gap is no whole number
	Statement   string     `json:"statement"`
	Evidence    []Evidence `json:"evidence"`
}

// GroupMember is the state of one rank in one group.
type GroupMember struct {
	Rank             *int       `json:"rank"` // global; null where not proven
	GroupRank        *int       `json:"group_rank"`
	Node             string     `json:"node"`
	Enqueued         *int64     `json:"enqueued"`
	Completed        *int64     `json:"completed"`
	Role             string     `json:"role"`
	IdentityEvidence string     `json:"identity_evidence"`
	Evidence         []Evidence `json:"evidence,omitempty"`
}

// RankState is one rank's part in the incident, over all its groups: what the rank map shows.
type RankState struct {
	Rank      int    `json:"rank"`
	Node      string `json:"node"`
	LocalRank *int   `json:"local_rank"`
	Role      string `json:"role"` // roles above; "ok" = nothing reported, nothing wrong seen
	Note      string `json:"note"` // one line for the hover
}

// Link is one step of the root-cause chain, from trigger to end.
type Link struct {
	Statement string     `json:"statement"`
	Role      string     `json:"role"`
	Kind      string     `json:"kind,omitempty"` // what it tells of, where that matters beside its role
	Evidence  []Evidence `json:"evidence"`
}

// What a link, or the finding that it is made of, tells of.
const (
	LinkWait    = "wait"    // ranks waited in a collective
	LinkAway    = "away"    // a rank was not among them
	LinkHeld    = "held"    // what the rank that held them was doing
	LinkPurpose = "purpose" // what a collective is for, or how far its members are apart: it explains a wait and answers no why
)

// Event is a fact with a time. Time is RFC 3339, without zone while the zone is unproven and without the year while
// the year is unproven ("07-09T17:05:38"); null where no line states one.
type Event struct {
	Kind        string     `json:"kind"` // see below
	Time        *string    `json:"time"`
	Uncertainty *float64   `json:"uncertainty_s"`
	Clock       *string    `json:"clock,omitempty"` // what the clock of its own line shows, where that is another time
	Node        string     `json:"node"`
	Rank        *int       `json:"rank"`
	Event       string     `json:"event"`
	Evidence    []Evidence `json:"evidence"`
}

// ClockShift is a clock that shows another time than the report gives: the report's time is the clock's and Shift.
type ClockShift struct {
	Of          string     `json:"of"` // programs, scheduler, storage
	On          []string   `json:"on"` // nodes, or files of which the node is not known
	Shift       float64    `json:"shift_s"`
	Uncertainty float64    `json:"uncertainty_s"`
	Statement   string     `json:"statement"`
	Evidence    []Evidence `json:"evidence"` // of both clocks, where lines of one moment are known
}

// Whose clocks are shifted.
const (
	ClockPrograms  = "programs"
	ClockScheduler = "scheduler"
	ClockStorage   = "storage"
)

// What an event is.
const (
	EventSave    = "save"    // a checkpoint was written, or resumed from
	EventStep    = "step"    // training went on
	EventLast    = "last"    // the last line before silence
	EventWait    = "wait"    // ranks begin to wait for each other
	EventTimeout = "timeout" // a wait was given up
	EventError   = "error"
	EventTold    = "told" // a rank was told of the timeout of another
	EventExit    = "exit" // a process ended
	EventEnd     = "end"  // the scheduler ended the job
)

// Counts are the tallies of noisy things.
type Counts struct {
	ConnectionResets Tallies      `json:"connection_resets"`
	Retries          RetryTallies `json:"retries"`
	LoaderErrors     Tallies      `json:"loader_errors"`
}

// Tallies counts in total, per file and per global rank.
type Tallies struct {
	Total   int            `json:"total"`
	PerFile map[string]int `json:"per_file"`
	PerRank map[string]int `json:"per_rank"`
}

// RetryTallies counts ladders of retries by how they ended, in total, per file and per global rank.
type RetryTallies struct {
	Recovered int `json:"recovered"`
	Exhausted int `json:"exhausted"`
	Open      int `json:"open"`
	// Idle counts those of the recovered that are resets of idle connections: noise.
	Idle    int                `json:"idle"`
	PerFile map[string]Ladders `json:"per_file"`
	PerRank map[string]Ladders `json:"per_rank"`
}

// Ladders counts ladders: recovered, exhausted (given up, or at the last try with nothing to show that the process went
// on), or open where neither is shown.
type Ladders struct {
	Recovered int `json:"recovered"`
	Exhausted int `json:"exhausted"`
	Open      int `json:"open"`
}

// Hypothesis is a mechanism proposed here.
type Hypothesis struct {
	Mechanism   string    `json:"mechanism"`
	Status      string    `json:"status"` // accepted, open, rejected
	For         []Finding `json:"for"`
	Against     []Finding `json:"against"`
	WouldDecide []string  `json:"would_decide"`
}

// Finding is one statement for or against a hypothesis.
type Finding struct {
	Statement string     `json:"statement"`
	Kind      string     `json:"kind,omitempty"` // as of a link
	Evidence  []Evidence `json:"evidence"`
}

// Narrowing is how far the lines answer the why that a decided verdict leaves.
type Narrowing struct {
	RulesOut []Finding `json:"rules_out"`      // by what failed beside its like
	Lingered []Finding `json:"lingered"`       // why the job ran on after it, and how long
	Open     string    `json:"open,omitempty"` // the question that is left, where it is narrower than its mechanism's
}

// Artifact is evidence beside the logs, of one kind: what its files say, verdict or not, and what they cannot say.
type Artifact struct {
	Kind     string    `json:"kind"` // flight-recorder, stacks, …
	Title    string    `json:"title"`
	Files    []string  `json:"files"`
	Inline   bool      `json:"inline"`   // it stands in the job's own logs; nobody handed it in
	Findings []Finding `json:"findings"` // the telling ones first
	Limits   string    `json:"limits"`
}

// Revision is was / now / because.
type Revision struct {
	Was      string     `json:"was"`
	Now      string     `json:"now"`
	Because  string     `json:"because"`
	Evidence []Evidence `json:"evidence"`
}

// Recommendation is one thing to do.
type Recommendation struct {
	When    string `json:"when"` // now, structural, next-time
	Text    string `json:"text"`
	Command string `json:"command"`
	Owner   string `json:"owner,omitempty"` // who does it, as in Action.Owner; "" in reports of earlier versions
}

// KeyFile is a file worth opening first.
type KeyFile struct {
	File string `json:"file"`
	Line int64  `json:"line"`
	Why  string `json:"why"`
}

// Verification says what re-reading the raw files proved.
type Verification struct {
	Quotes    Ratio    `json:"quotes"`
	Counts    Ratio    `json:"counts"`
	Absences  Ratio    `json:"absences"`
	Sets      Ratio    `json:"sets"`
	Derived   Ratio    `json:"derived"`
	Records   Ratio    `json:"records,omitzero"`
	Withdrawn []string `json:"withdrawn"`
}

// Ratio is "Held of Checked".
type Ratio struct {
	Held    int `json:"held"`
	Checked int `json:"checked"`
}

// Confidence is 0…1, written with two decimals.
type Confidence float64

// OfItsGroup follows a rank that its own line numbers within a process group: which rank of the job it is, nothing says.
const OfItsGroup = " of its process group"
