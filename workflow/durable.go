package workflow

import (
	"context"
	"errors"
	"time"
)

// Durable is a Store that a bot can be killed over: everything that happens is a row, and each row is written in the
// same transaction as what caused it. What comes in is a job with a unique key, what goes out is a post. The packages
// below store fill it; one conformance suite holds all of them to what is written here.
//
// Times: the store tells the time itself (the database's clock where several hosts share one).
type Durable interface {
	Store

	// NewID returns an id for an investigation that no other has: "F-1", "F-2", …
	NewID(ctx context.Context) (string, error)
	// Find lists investigations, the newest first.
	Find(ctx context.Context, q Query) ([]Summary, error)

	// Enqueue adds jobs, all or none, and returns how many of them were new: a job whose Key was ever seen (within
	// retention, at least KeepKeys after it was done) is not added again. When it returns, the jobs survive a crash.
	Enqueue(ctx context.Context, jobs ...Job) (added int, err error)
	// Claim hands the oldest due job of one of the kinds to the owner, for a time; nil when there is none. While an
	// investigation has a job that is claimed, its other jobs of the same kind wait. A lease that ran out is claimed by
	// the next who asks, with a higher Fence; until then its owner still has it. "Oldest" goes by ID: a job that failed
	// and is due again takes its old place.
	Claim(ctx context.Context, kinds []string, owner string, lease time.Duration) (*Lease, error)
	// Extend prolongs a lease. ErrLost when somebody else has the job.
	Extend(ctx context.Context, l *Lease, lease time.Duration) error
	// Finish marks the job done; Change.Done does the same together with what the job wrote. Of its payload nothing is kept.
	Finish(ctx context.Context, l *Lease) error
	// Release gives the job back, to be tried again after a while; failed counts an attempt and keeps the reason.
	Release(ctx context.Context, l *Lease, after time.Duration, failed error) error
	// Bury marks the job as one that is never tried again, with the reason.
	Bury(ctx context.Context, l *Lease, reason string) error
	// Waiting lists jobs of the kinds (of all, when none is given) that are neither done nor buried, claimed ones
	// included, in the order in which they are claimed.
	Waiting(ctx context.Context, kinds ...string) ([]Job, error)

	// Note returns what was kept under a key by Change.Notes; with Version 0 and no value where nothing ever was.
	Note(ctx context.Context, key string) (Note, error)

	Outbox

	// Forget removes everything about an investigation except the fact, with time and actor, that it was forgotten: its
	// ledger holds one entry of kind EntryForgotten from then on. Keys of jobs stay, emptied of all else, so that a
	// delivery that is repeated does not bring it back; a claimed job can still be finished. ErrUnknown when there is
	// nothing to forget; twice is once.
	Forget(ctx context.Context, id, actor string) error
	// Purge removes jobs (done or buried) and posts of settled investigations (sent, coalesced or undeliverable) that
	// were over before keep. It never removes a key that could still be repeated (KeepKeys), nor posts of an
	// investigation that has something to say yet.
	Purge(ctx context.Context, keep time.Duration) (removed int, err error)
	// Close releases the store.
	Close() error
}

// Outbox is what is still to be said. Nothing is posted except from here.
//
// It holds an investigation to UnaskedMost: once so many messages that are Unasked were sent within UnaskedPer, or are being sent,
// its others are held. What is held is not listed by Due, refused by Sending, no part of the Backlog, and no lane waits for it or
// for what waits for it. Until the message KeyCase was sent, one place is kept for it. A held message becomes "coalesced" when a
// newer one of the same Topic is queued, or an edit that Settles it.
type Outbox interface {
	// Due lists, for each lane, the posts that may be sent now: the head of the lane (its oldest unsent post that is no
	// edit and not ephemeral, if that is due), every ephemeral one, and the queued edits of messages that are already
	// sent, one at a time. Of several queued edits of one message only the newest is listed; the older ones become
	// "coalesced". A post waits while the message named by LinkTo or Thread is unsent, unless that one comes behind it in
	// its own lane; what waits for a message that was given up is listed. Edits and removals of a message that was
	// given up, or never was, become "undeliverable". Posts in state "sending" are listed again only by Unsettled.
	// Limit 0 is 100.
	Due(ctx context.Context, limit int) ([]Post, error)
	// Unsettled lists the posts in state "sending": a crash left open whether Slack has them. Called once at the start.
	Unsettled(ctx context.Context) ([]Post, error)
	// Sending notes that the post is about to be sent. ErrLost when it is not queued any more, or held.
	Sending(ctx context.Context, id int64) error
	// Sent notes the success: ts names the message from now on; link may be "". ErrLost when it is not being sent.
	Sent(ctx context.Context, id int64, ts, link string) error
	// Requeue puts a post back, to be tried not before a time from now, with the reason. Mark: the next try must say
	// that it may be a repetition. ErrLost when it is already sent or given up; so for Undeliverable.
	Requeue(ctx context.Context, id int64, after time.Duration, reason string, mark bool) error
	// Undeliverable gives a post up, with the reason; the lane goes on.
	Undeliverable(ctx context.Context, id int64, reason string) error
	// Posted returns the newest sent message (PostMessage, PostFiles) of an investigation with this key; ErrUnknown when
	// there is none.
	Posted(ctx context.Context, investigation, key string) (Post, error)
	// Posts lists all posts of an investigation, oldest first: for export, forget and tests.
	Posts(ctx context.Context, investigation string) ([]Post, error)
	// Backlog tells how many posts are queued and not held, and since when the oldest is.
	Backlog(ctx context.Context) (n int, oldest time.Time, err error)
}

// Errors of a Durable.
var (
	// ErrLost says that a lease or a post belongs to somebody else by now: stop, write nothing.
	ErrLost = errors.New("someone else has taken over")
	// ErrOpen says that another investigation of the same job is open in the same team (see Investigation.OpenKey).
	ErrOpen = errors.New("an investigation of this job is already open")
	// ErrDoubled says that the investigation already has a message with this key; see Post.Key.
	ErrDoubled = errors.New("the investigation already has a message with this key")
)

// KeepKeys is how long the key of a job that is done stays known: Slack repeats a delivery within minutes, people
// click within a day.
const KeepKeys = 24 * time.Hour

// EntryForgotten is the kind of the one ledger entry that is left of a forgotten investigation.
const EntryForgotten = "forgotten"

// Change is what one step writes: all of it or nothing.
type Change struct {
	// Investigation is saved under optimistic locking: ErrConflict when the stored version is not its Version, and
	// ErrOpen when another unfinished one has the same OpenKey. Stored with Version+1. nil: none changes. Of several
	// errors the first of ErrLost, ErrConflict, ErrOpen, ErrDoubled is returned.
	Investigation *Investigation
	// Entries go to the ledger of the investigation, or of About when Investigation is nil; with both empty to the
	// bot's own audit trail, which is the ledger of "". An entry without a time gets the store's.
	Entries []Entry
	About   string
	// Posts are sent later, in this order; Jobs are done later.
	Posts []Post
	Jobs  []Job
	// Notes are kept under optimistic locking, as Investigation is: ErrConflict when the stored version is another.
	Notes []Note
	// Done is the job that this change finishes: ErrLost, and nothing is written, when the lease is gone.
	Done *Lease
}

// Note is a small thing that a routine remembers from one run to the next: how far it got, what somebody turned off. What
// belongs to one investigation does not belong here: Forget does not reach it; whoever writes it there has to (desk.Unwatch).
type Note struct {
	Key     string
	Value   []byte
	Version int // counts saves; 0 = never saved
}

// Job is work to be done later, exactly once as far as what it writes is concerned: it may run again after a crash.
type Job struct {
	ID            int64         // given by the store
	Key           string        // unique, never ""
	Kind          string        // JobInbound, JobRun, …
	Investigation string        // "" for none
	Payload       []byte        // redacted
	After         time.Duration // not before this long from now; for Enqueue only
	Attempts      int           // failed so far
	LastError     string
	Added         time.Time
}

// Kinds of jobs.
const (
	JobInbound = "inbound" // something a person did
	JobRun     = "run"     // run the steps of an investigation
	JobTimers  = "timers"  // look for questions to repeat and for states that expired; Key holds the slot
	JobArchive = "archive" // copy closed investigations to S3, apply retention; Key holds the slot
	JobWatch   = "watch"   // look whether jobs that still ran have ended; Key holds the slot
	JobPoll    = "poll"    // ask a cluster which jobs ended badly; Key holds cluster and slot
	JobOver    = "over"    // a job that ended badly: an investigation that nobody asked for; Key is Ended.Key
	JobLate    = "late"    // look whether files came or grew; Flow.LookAgain
	JobLook    = "look"    // look at a running job that is watched; Flow.LookAtRunning
	JobFix     = "fix"     // compare the run with the fix with the one that failed; Flow.JudgeFix
	JobNext    = "next"    // look for runs that show whether a fix holds; Key holds the slot
	JobMonth   = "month"   // post what a month came to; Key holds the slot
	JobSubmit  = "submit"  // run a test of a search on its cluster; Flow.RunTest
	JobDue     = "due"     // remind of a task; Flow.TaskDue
	JobTell    = "tell"    // decide who hears of an investigation that is Held
)

// Lease is a claimed job.
type Lease struct {
	Job
	Owner string
	Fence int64 // counts the claims of this job, those that a crash ended included
	Until time.Time
}

// PostKind says what is done in Slack.
type PostKind string

// The kinds of posts.
const (
	PostMessage   PostKind = "message"   // chat.postMessage
	PostEdit      PostKind = "edit"      // chat.update of the message with the same Key
	PostFiles     PostKind = "files"     // upload Files and share them with Payload as the message
	PostEphemeral PostKind = "ephemeral" // visible to User only
	PostRemove    PostKind = "remove"    // chat.delete of the message with the same Key
)

// Post is one row of the outbox. It names other messages by key, never by ts: when it is written, they may not be sent yet.
type Post struct {
	ID            int64  // given by the store; grows
	Investigation string // "" for an answer that belongs to none
	Kind          PostKind
	// Key names the message within the investigation: KeyCase, "verdict-2". Within an investigation it is unique per kind
	// "message" and "files" (ErrDoubled), among those that were not given up; "" names nothing.
	Key      string
	Channel  string // the lane too: posts of one channel are sent in order. PostEphemeral does not wait for the others.
	Thread   string // key of the message under which it goes; "" for the channel itself
	ThreadTS string // the same as a ts, for threads that are not ours
	User     string // PostEphemeral: who sees it
	// Respond is the response_url that a command or a click brought: used for ephemeral answers while it is valid.
	Respond string
	// LinkTo is the key of a message of the same investigation: the post waits until that one is sent, and its permalink
	// replaces LinkPlaceholder in the payload.
	LinkTo string
	// Payload is the message as JSON: text, blocks. Already redacted.
	Payload []byte
	Files   []Attachment
	// Answer: a person's act brought it. What is none is held to UnaskedMost.
	Answer bool
	// Topic: of held messages of one topic the newest says all, and is the only one that is posted. "" is a topic of its own.
	Topic string
	// Settles: the edit says that nobody needs its message any more. A message that is held is then not posted at all.
	Settles bool

	State     string // PostQueued, …
	Marked    bool   // must say that it may be a repetition
	Attempts  int
	LastError string
	TS, Link  string // once sent
	Added     time.Time
}

// UnaskedMost is how many messages of one investigation leave the outbox in any hour without a person's act. Edits change what is
// there, call nobody, and are not counted.
const (
	UnaskedMost = 6
	UnaskedPer  = time.Hour
)

// Unasked says whether the post counts towards UnaskedMost.
func (p Post) Unasked() bool {
	return p.Investigation != "" && !p.Answer && (p.Kind == PostMessage || p.Kind == PostFiles)
}

// Post.State.
const (
	PostQueued        = "queued"
	PostSending       = "sending"
	PostSent          = "sent"
	PostCoalesced     = "coalesced"     // a newer edit of the same message, or message of the same topic, says it all
	PostUndeliverable = "undeliverable" // given up
)

// KeyCase is the key of the case file: the one message that is edited in place, and the head of the thread.
const KeyCase = "case"

// LinkPlaceholder stands for a permalink in a payload; see Post.LinkTo.
const LinkPlaceholder = "https://link.invalid/case"

// Attachment is a file of a post; its bytes are in the blob store.
type Attachment struct {
	Name, Title, Alt string
	Blob             string
	Bytes            int64
}

// Query selects investigations; empty members select all.
type Query struct {
	ID, Team, Channel, Cluster, Job, Requester string
	States                                     []State
	Open                                       bool // only those that are neither closed, cancelled, expired nor failed
	Limit                                      int  // 0 = 100
}

// Summary is what lists show of an investigation, and what stores index. Investigation.Summary makes it.
type Summary struct {
	ID, Team, Channel, Cluster, Job, Requester string
	State                                      State
	Since, Asked                               time.Time
	Status, Mechanism, Headline                string // of the newest report
	Outcome                                    string // right, wrong, unknown; "" while nobody said
	TrueMechanism                              string
	Version                                    int
}
