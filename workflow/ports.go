package workflow

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"faultline/analysis"
	"faultline/incident"
	"faultline/isolate"
)

// Fetcher brings the logs of a job.
type Fetcher interface {
	// Locate names the places (directories, files, archives) where logs of the job are. No place is not an error.
	Locate(ctx context.Context, cluster, job string) (Found, error)
	// Collect opens the places. Files that cannot be read become warnings; an error means that there is nothing at all
	// to read, and its text tells the person what to do.
	Collect(ctx context.Context, places []string) (Collection, error)
}

// Found is what is known about a job before its logs are opened.
type Found struct {
	Places []string
	// Searched says where it looked and Took for how long, for the question that follows when nothing was found.
	Searched []string
	Took     time.Duration
	// Users own the logs (account names of the cluster); empty where that cannot be told.
	Users []string
	// Written is when somebody last wrote to the logs; zero where that cannot be told.
	Written time.Time
	// Base are places that hold what the cluster says of the job. They are kept also where no logs were found.
	Base []string
	// Nodes are those that logs should come from, and NodesFrom who says so ("sacct"); nil where nobody does.
	Nodes     []string
	NodesFrom string
	// State is the cluster's word for how the job ended, "" where it says nothing; Running says that it has not.
	State   string
	Running bool
	// Name is what its submitter called the job, "" where the cluster says nothing.
	Name string
	// Partition is where it ran, and Limit its time limit as the cluster writes it; "" where it says nothing.
	Partition, Limit string
	// Notes are sentences for people: what the cluster says, which files are missing, what could not be asked.
	Notes []string
}

// Collection is what a Fetcher brought.
type Collection struct {
	Sources  []incident.Source
	Warnings []string
	// Nodes are those that logs should come from, and NodesFrom who says so; nil where nobody does.
	Nodes     []string
	NodesFrom string
	// Gaps are what is missing, or may be, beside whole nodes: a few words each.
	Gaps []string
	// Covered are those of Nodes whose output is in the files, whether or not a line names them.
	Covered []string
	// Users own what was opened (account names of the cluster); what people handed in is nobody's.
	Users []string
	// Facts are the names of those sources that hold what the cluster says: it is asked anew each time.
	Facts []string
	// Fault is why something could not be kept on the bot's own disk; nil where all was.
	Fault error
}

// Brought is how far the bringing of logs has come. Bytes counts what need not be fetched too; Fetched does not.
type Brought struct {
	Files, OfFiles          int
	Bytes, OfBytes, Fetched int64
	Left                    time.Duration // about; 0 = nobody can tell
}

type bringing struct{}

// Bringing returns a context in which Tell reaches whoever called Collect.
func Bringing(ctx context.Context, tell func(Brought)) context.Context {
	return context.WithValue(ctx, bringing{}, tell)
}

// Tell is for Fetchers: how far they have come, as often as they like, from one goroutine at a time. Collect must not return
// before it has.
func Tell(ctx context.Context, b Brought) {
	if tell, ok := ctx.Value(bringing{}).(func(Brought)); ok {
		tell(b)
	}
}

// Prover tries names of logs on a job, before anybody relies on them.
type Prover interface {
	// Prove looks for the logs of a job by these names alone. An error says, for people, why that could not be tried.
	Prove(ctx context.Context, cluster, job string, templates []string) (Proof, error)
}

// Proof is what names of logs found of a job.
type Proof struct {
	Job   string   // the one that was looked at: an element, where an array was named
	Users []string // own the job
	Files int
	// Complete: every name found files, and none of a node or a task is missing.
	Complete bool
	// Says are sentences: of each name what it found, and what could not be looked at.
	Says []string
}

// Engine turns files into a verified report. It is a struct of functions because both halves are pure.
type Engine struct {
	Diagnose func(ctx context.Context, in analysis.Input) (*incident.Report, error)
	// Verify reads the raw files once more and returns what no longer holds, in words; nil when all of it holds.
	Verify func(ctx context.Context, sources []incident.Source, r *incident.Report) ([]string, error)
	// Look says for people what a file is, by its content; known is false where it is nothing that the engine reads. nil: nobody says.
	Look func(ctx context.Context, s incident.Source) (what string, known bool, err error)
	// Known are the kinds of evidence beside logs that it reads, for people.
	Known string
	// Open opens a file as it is stored, where the flow itself has to look; nil: it does not look.
	Open func(path string) (*os.File, error)
}

// Storage brings the logs of a storage cluster.
type Storage interface {
	// Fetch pulls them with the access that somebody gave for this investigation, and keeps them. The error's text is for
	// that person, who gets another chance; ErrAccessLost when the access is not in memory any more.
	Fetch(ctx context.Context, inv Investigation) (StorageLogs, error)
}

// StorageLogs is what a Storage brought.
type StorageLogs struct {
	Places   []string // files
	Nodes    int      // daemons whose logs are there
	Warnings []string // what is missing, in words
}

// Everything are all files that a report of the investigation may quote.
func (inv Investigation) Everything() []incident.Source {
	return slices.Concat(inv.Sources, inv.StorageSources)
}

// ErrAccessLost says that a token is gone: it is kept in memory only.
var ErrAccessLost = errors.New("access to the storage cluster is no longer in memory")

// Poster shows things to the people of one conversation.
type Poster interface {
	// Say tells one plain sentence: progress, a warning, what happened.
	Say(ctx context.Context, id, text string) error
	// Report shows a report (with its revisions); a later call for the same id replaces what it says.
	Report(ctx context.Context, id string, r *incident.Report) error
	// Ask shows a question. It never waits for the answer.
	Ask(ctx context.Context, id string, q Question) error
}

// Composer puts into posts what an investigation has to say. It may note in the investigation what it said; it must not
// change its state. The same investigation and notice give the same posts.
type Composer interface {
	Compose(ctx context.Context, inv *Investigation, n Notice) ([]Post, error)
	// Holding is the line that says that more is held; see UnaskedMost.
	Holding(inv *Investigation) (Post, error)
}

// Notice is what has just happened to an investigation, for people.
type Notice struct {
	Event     Event // Start: it was opened
	From      State // the state before; the investigation has the present one
	Actor     string
	Text      string // the reason, in words
	Says      []string
	Report    *incident.Report    // a new verdict
	Look      bool                // it is from a first look: the whole reading follows at once
	Revisions []incident.Revision // those that are new with it
	Asks      []Question          // questions that are new
	Answered  []Question          // questions that need no answer any more: their buttons go away
	Changed   []Question          // open questions whose words changed: nothing new is asked
	Reminders []Question          // questions that are repeated
	Expired   []Question          // questions that are given up
	Rest      *Rest               // nothing is left to ask for, and this stays open
	Unasked   bool                // no person waits for it: few messages say it
	Rerun     *incident.Rerun     // the run with the fix, compared with this one
	Tests     []isolate.Test      // that are new in the search for a culprit
	Submit    map[string]float64  // of those, by id, the most GPU hours of one that the bot may submit
	Found     *isolate.Finding    // how that search ended
	Due       int                 // the task that is due, from 1; 0 = none
	Stall     string              // the message that tells of a stall, which begins or is over
}

// Store keeps investigations: a snapshot of each and an append-only ledger.
type Store interface {
	// Load returns ErrUnknown for an id that was never saved.
	Load(ctx context.Context, id string) (Investigation, error)
	// Save writes a change, all of it or nothing.
	Save(ctx context.Context, c Change) error
	// Ledger returns all entries of an investigation, oldest first.
	Ledger(ctx context.Context, id string) ([]Entry, error)
}

// Clock tells the time, for the ledger and the timers only: no report depends on it.
type Clock func() time.Time

// Investigation is one pass over an incident: the snapshot.
type Investigation struct {
	ID      string // unique within the store
	Key     string // random: what a button carries, so that it can never act on another case that has come to the same ID
	Cluster string // "" while it is not known, or where there is but one
	Job     string // as the person typed it; "" when nobody knows
	State   State
	Since   time.Time // when it entered State
	Version int       // counts saves
	Asked   time.Time // when it was opened
	Home    Home
	// Again is the investigation that this one runs anew, "" for a first one.
	Again string
	// Places are what was located or given; Read are those that brought the present Sources and Warnings.
	// Located: nobody named them.
	Places   []string
	Located  bool
	Read     []string
	Sources  []incident.Source
	Warnings []string
	// Nodes and WorldSize are the expected ones, as far as a person stated them.
	Nodes     []string
	WorldSize int
	// Expected are the nodes that the cluster says logs should come from, and ExpectedFrom how it was asked.
	Expected     []string
	ExpectedFrom string
	// Gaps and Covered are those of the Collection.
	Gaps, Covered []string
	// JobID is the job inside the files that was chosen; "" when there is but one.
	JobID string
	// Report is the newest verdict. It is replaced, never changed.
	Report *incident.Report
	// Looked: Report is from a first look at large logs.
	Looked bool
	// Masked: the report is not word for word what the files say, because that held secrets or what is unfit for a screen.
	Masked bool
	// Refuted counts verdicts that did not survive the second reading, since the last new evidence.
	Refuted int
	// Open are the questions that nobody has answered.
	Open []Question
	// Without are the things that were asked for and nobody had.
	Without []string
	// Asks counts the questions that were asked; it numbers them.
	Asks int
	// Verdicts counts the verdicts that were posted; Told is the headline of the newest. Final is the newest of them that
	// was posted once more with its files, after the last reading; Refiled counts files that were posted anew for a verdict that
	// stood.
	Verdicts int
	Told     string
	Final    int
	Refiled  int
	// Superseded are headlines of earlier verdicts that no longer hold.
	Superseded []string
	// Notes are sentences that the case file shows: disputed by whom, closed how.
	Notes []string
	// Storage says who gave access to the storage logs, never the access itself: "", "provided by U1", "profile west",
	// "skipped by U1", "lost" (a restart took it from memory).
	Storage string
	// StorageLogs are the files that were pulled from the storage cluster, or uploaded; StorageSources the logs in them that the
	// engine reads beside those of the job; and StorageMissing what is not there of them, in words.
	StorageLogs    []string
	StorageSources []incident.Source
	StorageMissing []string
	// StorageGiven are those of StorageLogs that people uploaded. StoragePull: the next fetch asks the cluster.
	StorageGiven []string
	StoragePull  bool
	// Acting are the people who were given something to do, and hear of it when the verdict falls.
	Acting []string
	// Owner is the person who said that they look after it, "" while nobody did.
	Owner string
	// Muted stops reminders.
	Muted bool
	// Late is what is remembered of looking for files that come late.
	Late Late
	// Noise is how much it has said that nobody asked for.
	Noise Noise
	// Running: the report is a snapshot of a job that still ran. It is looked at again when the job has ended.
	Running bool
	// Moment is when the files of a running job were brought: what the report says of it is said of then.
	Moment time.Time
	// Watch is what is remembered of watching it while it runs.
	Watch Watching
	// Brought is how far the logs have come while they are being brought.
	Brought Brought
	// Ended is the run whose end started the investigation; nil where a person asked.
	Ended *Ended
	// Held: nothing of it is posted until it is known whether it concerns anybody but the job's owner. Whenever it rests, a
	// JobTell is left for whoever decides that.
	Held    bool
	Outcome *Outcome
	// Work is what people do beside: which causes they tested, what they answered, who does what.
	Work Work
	// Lessons are what earlier cases say helped, in sentences, as of the last report.
	Lessons []string
	// Fix is what people did about it, as far as they said; nil while nobody did.
	Fix *Fix
	// Search is the newest search for a culprit by tests that people run; nil while nobody began one. It is replaced, never changed.
	Search *isolate.Ledger
	// FixOf is the investigation whose fix this run is to prove, "" for any other.
	FixOf string
}

// Fix is what people say fixed it.
type Fix struct {
	Text string    // in their words; may be ""
	By   string    // who said so
	At   time.Time // when
	Job  string    // the run with the fix; "" while it is not known
	Case string    // the investigation of that run
	Open string    // why the run does not tell yet, as it was said; "" while nothing was compared
	// Name and User tell the next run of the job from others, as the cluster knows it; "" where nobody does.
	Name, User string
	// Outcome is that of the comparison (incident.Fixed, …) once it is decided, or NotProven; "" until then.
	Outcome string
	// Found: nobody named the run; it was the next one.
	Found bool
}

// NotProven is the outcome of a fix whose proof nobody brought in time.
const NotProven = "not-proven"

// pending says that a fix waits for its proof.
func (f *Fix) pending() bool { return f != nil && f.Outcome == "" }

// Untold says that a fix waits for a run that tells, and that people did not name one that may still do so.
func (f *Fix) Untold() bool { return f.pending() && (f.Job == "" || f.Found && f.Open != "") }

// Home is where an investigation is shown.
type Home struct {
	Team, Channel string
	Requester     string
	Private       bool // the channel is the requester's direct messages
	// AskedIn is the channel where a private one was asked for; its rules hold. "" = in the direct messages.
	AskedIn string
	// Shared is the channel where a private one was shared later.
	Shared string
}

// Outcome is what people say about a verdict when the incident is closed, or disputed.
type Outcome struct {
	Verdict   string // right, wrong, unknown
	Mechanism string // the true one, where the verdict was wrong
	Cause     string // in words
	Fix       string
	By        string
	Consent   bool // may become a test case, redacted
}

// OpenKey is what two open investigations cannot share: the same run of the same job asked for in the same team. A private
// one stands in nobody else's way.
// It is "" for one that is settled, and where the job is not known.
func (inv Investigation) OpenKey() string {
	row, ok := About(inv.State)
	if inv.Job == "" || !ok || row.Kind == Settled {
		return ""
	}
	if inv.Home.Private {
		return inv.Home.Team + "/" + inv.Cluster + "/" + inv.Job + "/" + inv.Home.Requester
	}
	return inv.Home.Team + "/" + inv.Cluster + "/" + inv.Job
}

// Summary is the row that lists show.
func (inv Investigation) Summary() Summary {
	s := Summary{ID: inv.ID, Team: inv.Home.Team, Channel: inv.Home.Channel, Cluster: inv.Cluster, Job: inv.Job, Requester: inv.Home.Requester,
		State: inv.State, Since: inv.Since, Asked: inv.Asked, Version: inv.Version, Headline: inv.Told}
	if inv.Report != nil {
		s.Status, s.Mechanism = inv.Report.Verdict.Status, inv.Report.Verdict.Mechanism
	}
	if inv.Outcome != nil {
		s.Outcome, s.TrueMechanism = inv.Outcome.Verdict, inv.Outcome.Mechanism
	}
	return s
}

// Entry is one line of the ledger.
type Entry struct {
	Seq   int // from 1
	At    time.Time
	Kind  string // transition, verdict, revision, question, answer, warning, error, refused, fetched, posted, feedback, forgotten
	From  State  // transitions only, as To and Event
	Event Event
	To    State
	Actor string // who caused it; "" = the machine
	Text  string
}

// Question kinds.
const (
	AskLogs     = "logs"     // where are the logs?
	AskMissing  = "missing"  // logs of these nodes, files or ranks are missing
	AskJob      = "job"      // the files hold several jobs
	AskEvidence = "evidence" // something that would decide an open question
	AskAccess   = "storage"  // access to the logs of the storage cluster
	AskRunning  = "running"  // the logs are still being written: look now, or when the job has ended?
	AskCluster  = "cluster"  // several clusters know the job
)

// Question is what a person is asked. A question is attached to a report that is already there, except AskLogs, AskRunning
// and AskCluster.
type Question struct {
	ID   int // within the investigation, from 1
	Kind string
	// Artefact is the slug of the evidence that is asked for (package knowledge), "" where it is none.
	Artefact string
	// Given is who gave something for it that is not read yet.
	Given string
	// Asked and Due: it is repeated once, half an hour later say, and given up at Due. Zero where there is no chat.
	Asked, Due time.Time
	Reminded   bool
	Text       string // what is asked, one sentence
	Why        string // why it is asked
	// Commands can be pasted.
	Commands []string
	// Items are the missing nodes, files or jobs.
	Items []string
	// Perishing: what is asked for disappears soon.
	Perishing bool
}
