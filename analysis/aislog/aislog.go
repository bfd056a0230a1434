// Package aislog reads the logs that the daemons of AIStore (AIS) write: what stands in them, where, when by the daemon's own
// clock, and what they do not cover. Read is a map of one file, Merge makes daemons of any number of files, in any order.
// What it means for a job is decided elsewhere. A file is told by its content; its name is only a hint at whose it is.
package aislog

import "time"

// At is a place in a file.
type At struct {
	File string
	Line int64
	Off  int64
	Len  int
}

// Proof says how the day of a time is known. The clock is the daemon's; its zone and its offset from others are not.
type Proof uint8

const (
	NoDay     Proof = iota // only the time of day is known; the year is 1
	FirstLine              // the file's first line states the date, and no midnight lies between
	Midnight               // the same, and midnights were counted since
	Marker                 // the daemon's hourly marker states the date
)

// String is for reports.
func (p Proof) String() string {
	return [...]string{"time-of-day", "first-line", "midnight", "marker"}[min(p, Marker)]
}

// Time is what a daemon's clock showed, written as if it were UTC.
type Time struct {
	Wall  time.Time
	Proof Proof
}

// IsZero says that there is no time.
func (t Time) IsZero() bool { return t.Wall.IsZero() }

// Event is one record that says something.
type Event struct {
	At
	Time     Time
	Kind     Kind
	Severity byte // I, W, E; 0: a line without a prefix
	Text     string
	// Cut is true where the daemon's line buffer was full: the end is missing and the next record is glued to it.
	Cut bool
	// Action is what somebody asked of the cluster, as its requests are called: "start-maintenance".
	Action string
	// What can be matched with a client's lines; "" where the record does not say.
	Peer    string // another daemon
	Object  string // ais://bucket/name
	Job     string // id of a batch job or another long-running job
	Work    string // work item of a batch
	Address string // host:port
	Request string // "GET /v1/objects/bucket/name"
	Note    string // what the record means where its text does not say it: the names of states

	literals, not []string // what selects the text
}

// Admin says that the request looks at the cluster, as a person, a bot or a command does, and not at the data of a job.
func (e *Event) Admin() bool { return adminRequest(e.Request) }

// Select is what a line must hold, in this order, and must not, to be counted with this event; nil where it is known by
// more than its text.
func (e *Event) Select() (literals, not []string) { return e.literals, e.not }

// Group are all records of one text about one peer.
type Group struct {
	Kind  Kind
	Peer  string
	Count int // records
	// Events are the first and the last ones, all where there are few.
	Events []Event
	// Minutes count the records by minute of the daemon's clock, ascending.
	Minutes []Minute
	// Lines count, by file, the lines that hold the text, whatever the peer.
	Lines map[string]int64

	text  int // its place in the table; −1: a text that the table does not know
	shape string
	late  []late // the last records while a file is read, a ring that goes on at next
	next  int
}

// First and Last are the earliest and the latest record.
func (g *Group) First() *Event { return &g.Events[0] }
func (g *Group) Last() *Event  { return &g.Events[len(g.Events)-1] }

// Minute is one minute with its records.
type Minute struct {
	Unix  int64 // of its start, as if the clock were UTC
	Count int
}

// Interval is what counters grew by between two lines of counters. It is never negative.
type Interval struct {
	From, To Time
	At, Base At // the line at its end, and the one at its start; Base.File is "" where that is the start of the daemon
	By       []Growth
	// Reset is true where a counter fell or vanished: since then it counts anew, and By says what it counted since.
	Reset bool
	// Hole is true where what lies between is not covered by the files.
	Hole bool
	// Batches is how many batch jobs ran at its end.
	Batches int
	// Slow are the latencies at its end, in ns, that were a second or more on average: "get.redir.ns".
	Slow []Growth
	// Begun are the kinds of requests of which some came within it, and none ended: "put".
	Begun []string
}

// Pause is a stretch in which a daemon wrote no counters and nothing else of interest, between two lines of one file. It is no outage
// by itself: a daemon without work has little to say.
type Pause struct {
	Span
	Before, After At
	Lines         int64 // other lines between them
}

// Growth is one counter's.
type Growth struct {
	Name string
	N    int64
}

// Of is the growth of one counter.
func (iv *Interval) Of(name string) int64 {
	for _, g := range iv.By {
		if g.Name == name {
			return g.N
		}
	}
	return 0
}

// Span is a stretch of a daemon's time.
type Span struct{ From, To Time }

// Hole is a stretch that no file covers, with the reason.
type Hole struct {
	Span
	Why Gap
}

// Gap is why something is not covered.
type Gap string

const (
	// BeforeFirst: the oldest file continues an older one, which is not here. From is zero.
	BeforeFirst Gap = "before-first-file"
	// BetweenFiles: a file goes on minutes after the file before it ends. One between them is missing, or the daemon had nothing
	// to say until somebody rotated its log.
	BetweenFiles Gap = "between-files"
	// LostTail: the daemon ended without writing out its last lines, which wait up to a minute in memory.
	LostTail Gap = "lost-tail"
	// NotFlushed: the last file goes on; up to a minute of lines may not have been written out when it was taken.
	NotFlushed Gap = "not-written-out"
	// WarningsOnly: there is no INFO file; information and counters are missing.
	WarningsOnly Gap = "warnings-only"
)

// Ending is how a run of a daemon ended.
type Ending string

const (
	Orderly Ending = "orderly" // it said that it stops
	Failed  Ending = "failed"  // it said that it stops because of an error
	Killed  Ending = "killed"  // it said nothing, and started anew later
	Unclear Ending = "unclear" // it started anew later, and the end of what it said before is missing
	Open    Ending = "open"    // the log just ends
)

// Run is one life of a daemon, from its start to its end.
type Run struct {
	Start Time
	// Started is true if the start was seen; else the run goes back to before the first file.
	Started bool
	StartAt At
	Version string
	Last    Time
	LastAt  At
	Ended   Ending
	EndAt   At // of the line that says so, if one does
	// Totals are what each cumulative counter grew by in what is covered of the run.
	Totals []Growth
	// Baseless is true where the counters of the first line may hold more than what is covered.
	Baseless bool
}

// Stall is a stretch in which batches ran, recoveries from other daemons went on or failed, and nothing was received.
type Stall struct {
	Span
	Begin, End At    // lines of counters
	Received   int64 // stream.in.n, the same at both
	Recovered  int64 // growth of getbatch.gfn.n
	// Waited is the growth of getbatch.rxwait.ns: how long batches waited for entries of others, all added up.
	Waited time.Duration
	Ticks  int
}

// FileInfo is one file of a daemon.
type FileInfo struct {
	Name        string
	First, Last Time
	Head        Head
	// WarningsOnly: an ERROR file, which repeats what the INFO file holds.
	WarningsOnly bool
	// CopyOf is the file that holds all of it and more.
	CopyOf    string
	ReadError string
	Glued     int // records that were glued to the one before
}

// Role of a daemon.
type Role string

const (
	Target Role = "target"
	Proxy  Role = "proxy"
)

// Daemon is what the files say of one daemon.
type Daemon struct {
	Role Role   // "" unknown
	ID   string // "" unknown
	// IDFrom is "title" (the daemon's own line), "archive" (the name that the cluster map gives it) or "".
	IDFrom  string
	Cluster string // id of its cluster map
	Zone    string // as its markers abbreviate it
	// Addresses are where it listens, as it says at its start: host:port, sorted.
	Addresses []string
	// Targets and Proxies are the most that a cluster map of its lines counts; 0 unknown.
	Targets, Proxies int
	// Covered is from the first to the last line of what was read; Holes are what is missing within and at its ends.
	Covered   Span
	Holes     []Hole
	Files     []FileInfo
	Runs      []Run
	Groups    []Group
	Intervals []Interval
	Stalls    []Stall
	// Pauses are the longest ones, by time.
	Pauses   []Pause
	Warnings []string
}

// Name is how reports call it.
func (d *Daemon) Name() string {
	switch {
	case d.ID != "" && d.Role != "":
		return string(d.Role) + " " + d.ID
	case d.ID != "":
		return d.ID
	case d.Role != "":
		return "an unnamed " + string(d.Role)
	}
	return "an unnamed daemon"
}
