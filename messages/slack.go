package messages

import "faultline/incident"

// Callback ids of the modals.
const (
	ViewStart    = "start"
	ViewAIS      = "ais"
	ViewUpload   = "upload"
	ViewDispute  = "dispute"
	ViewClose    = "close"
	ViewSetup    = "setup"
	ViewGlossary = "glossary"
	ViewLoading  = "loading"
)

// FieldValue is the action_id of every field of a modal; the block_id is the field's name, one of these.
const (
	FieldValue = "value"

	FieldJob     = "job"     // start: typed job
	FieldRecent  = "recent"  // start: one of my failed jobs, as "cluster:job" or "job"
	FieldCluster = "cluster" // start: name of a cluster

	FieldTemplates = "templates" // setup: names of logs, one a line

	FieldProfile  = "profile"  // ais: name of a configured cluster
	FieldEndpoint = "endpoint" // ais: URL
	FieldToken    = "token"    // ais: secret
	FieldTLS      = "tls"      // ais: TLSVerify, TLSAuthority, TLSSkip
	FieldCA       = "ca"       // ais: PEM of the certificate authority

	FieldFiles = "files" // upload

	FieldCause   = "cause"   // dispute, close: slug of the true mechanism, or OtherCause
	FieldText    = "text"    // dispute, close: the cause in words
	FieldVerdict = "verdict" // close: VerdictRight, VerdictWrong, VerdictUnknown
	FieldFix     = "fix"     // close: what fixed it
	FieldConsent = "consent" // close: ConsentYes where ticked
)

// Values of the choices in the modals.
const (
	OtherCause = "other" // a cause that is not in the list, or not known

	TLSVerify    = "verify" // with the authorities of the bot's host
	TLSAuthority = "ca"     // with the authority in FieldCA
	TLSSkip      = "skip"

	VerdictRight   = "right"
	VerdictWrong   = "wrong"
	VerdictUnknown = "unknown"

	ConsentYes = "yes"
)

// Button is one thing that a person can press under a post.
type Button struct {
	Action string // action_id of the click
	Value  string // comes back with the click; at most 2,000 characters, never a secret
	Text   string // at most 75 characters, of which a phone shows 30
	Style  string // "", "primary", "danger"
	// Confirm, if set, asks once more before the click counts.
	Confirm *Confirm
}

// Confirm asks whether a click was meant.
type Confirm struct{ Title, Text, Yes, No string }

// States of a Step.
const (
	StepTodo    = "todo"
	StepDoing   = "doing"
	StepDone    = "done"
	StepFailed  = "failed"
	StepSkipped = "skipped"
	StepWaiting = "waiting" // for a person
)

// Step is one line of progress.
type Step struct{ Title, State, Note string }

// Case is what the case file shows besides the report. The case file is the one message that is edited in place.
type Case struct {
	ID, Job, Cluster string
	// Requester is a chat user id. It is shown as a person's name.
	Requester string
	// Owner is the user id of the person who looks after the case, "" while nobody does.
	Owner string
	// Doing says what goes on: "looking for the logs of the job".
	Doing string
	Steps []Step
	// Report is the newest, or nil.
	Report *incident.Report
	// Superseded are headlines of earlier verdicts, shown struck through.
	Superseded []string
	// Notes are plain sentences: disputed by whom, closed as right, opened before, archived where.
	Notes []string
	// Open are the questions that wait for somebody.
	Open []string
	// Page is the address of the report's web page, "" where there is none.
	Page string
	// Final says that nothing goes on any more.
	Final bool
	// Disputed says that a person calls the verdict wrong. It stays visible, marked: the advice may still be the best there is.
	Disputed bool
	Buttons  []Button
}

// Ask is a question to people, attached to a report that is already there.
type Ask struct {
	Kind string // the workflow's; decides nothing here
	Text string // what is asked
	Why  string
	// How says how it is got, where a command alone does not.
	How string
	// WhereToFind says where a person who never did this finds the answer.
	WhereToFind string
	// Commands can be pasted. Items are what is missing: nodes, files, jobs.
	Commands, Items []string
	// Perishing: what is asked for disappears soon.
	Perishing bool
	Buttons   []Button
	// Answered, where not empty, takes the place of the buttons: "provided by …".
	Answered string
	// Deadline says until when it is waited for, in words; "" where nobody waits.
	Deadline string
}

// RecentJob is one of the jobs that a person may want to ask about.
type RecentJob struct {
	Cluster string // "" where there is but one
	ID      string
	Name    string // as its owner called it
	State   string // FAILED, TIMEOUT, NODE_FAIL…
	Ended   string // in words: "2 hours ago", "14:05"
}
