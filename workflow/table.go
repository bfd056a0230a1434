// Package workflow is the investigation: what happens next, what is asked, what is remembered. One table of states and
// events (this file) is the law; the steps do the work of the states; the ports say what the package needs from
// outside; the ledger keeps what happened.
package workflow

import "time"

// State is where an investigation stands.
type State string

// Event is what moves an investigation.
type Event string

// The states.
const (
	Requested    State = "requested"
	LocatingJob  State = "locating_job"
	FetchingLogs State = "fetching_logs"
	AwaitingLogs State = "awaiting_logs"
	AwaitingEnd  State = "awaiting_end"
	Triaging     State = "triaging"
	AwaitingAIS  State = "awaiting_ais"
	FetchingAIS  State = "fetching_ais"
	Correlating  State = "correlating"
	Verifying    State = "verifying"
	Reported     State = "reported"
	Disputed     State = "disputed"
	Fixing       State = "fixing"
	VerifyingFix State = "verifying_fix"
	Isolating    State = "isolating"
	Resolved     State = "resolved"
	Closed       State = "closed"
	Cancelled    State = "cancelled"
	Expired      State = "expired"
	Failed       State = "failed"
)

// The events.
const (
	Start      Event = "start"
	Located    Event = "located"
	NotLocated Event = "not_located"
	StillRuns  Event = "still_runs" // the logs are still being written
	LookNow    Event = "look_now"   // a person wants to know it now all the same
	JobEnded   Event = "job_ended"
	// Turned: a job that is watched began to stand still, or steps again.
	Turned      Event = "turned"
	Fetched     Event = "fetched"
	NothingRead Event = "nothing_read" // no file could be read, or none of them is a log
	NothingNew  Event = "nothing_new"  // as NothingRead, while a report is already there
	LogsGiven   Event = "logs_given"   // a person named files
	Evidence    Event = "evidence"     // a person stated a fact
	Arrived     Event = "arrived"      // files came, or grew, by themselves
	Looked      Event = "looked"       // at the ends of large files; the whole reading follows
	Triaged     Event = "triaged"
	AskStorage  Event = "ask_storage"
	AISOwn      Event = "ais_own" // a configured access needs nobody
	AISGiven    Event = "ais_given"
	AISFetched  Event = "ais_fetched"
	AISFailed   Event = "ais_failed"
	SkipStorage Event = "skip_storage"
	Correlated  Event = "correlated"
	Verified    Event = "verified"
	Refuted     Event = "refuted" // the verdict did not survive the second reading
	Dispute     Event = "dispute"
	Uphold      Event = "uphold"      // the dispute is withdrawn or answered
	FixBegun    Event = "fix_begun"   // a person says what fixed it; the next run will show
	FixClaimed  Event = "fix_claimed" // it is known which run has the fix
	FixHolds    Event = "fix_holds"
	FixFails    Event = "fix_fails"
	FixOpen     Event = "fix_open"   // the run with the fix does not tell yet
	Isolate     Event = "isolate"    // a person wants to know which node it is, by tests
	TestEnded   Event = "test_ended" // a person says how a test ended
	SearchEnded Event = "search_ended"
	Close       Event = "close"
	Cancel      Event = "cancel"
	Expire      Event = "expire" // the timer of a state
	Fail        Event = "fail"
	Retry       Event = "retry"
	// Tick is no event of the table: a timer repeats or ends a question, and the state stays.
	Tick Event = "tick"
)

// Kind says who moves an investigation out of a state.
type Kind int

// The kinds of states.
const (
	Working Kind = iota // a step of ours moves it
	Waiting             // a person or its timer moves it
	Settled             // nobody needs to; new evidence re-opens it
)

// StateRow describes one state.
type StateRow struct {
	State State
	Phase string // as the design numbers them
	Kind  Kind
	// After: a state that lasts longer is left by OnTimeout. Zero only for settled states.
	After     time.Duration
	OnTimeout Event
	// Doing completes "I am …" in a status line; Why tells a beginner what the step is for.
	Doing, Why string
}

// States lists every state, in the order of an undisturbed investigation.
var States = []StateRow{
	{Requested, "0 obtain", Working, 10 * time.Minute, Fail, "about to start",
		"I save the request first so it isn't lost if I restart."},
	{LocatingJob, "0 obtain", Working, 10 * time.Minute, Fail, "looking for the job's logs",
		"Each node writes its own log. I look in the configured folders before I ask anyone."},
	{FetchingLogs, "0 obtain", Working, 2 * time.Hour, Fail, "opening the logs",
		"I open every file, including archives, and record where it came from. The report lists files I can't read; I analyze the rest."},
	{AwaitingLogs, "0 obtain", Waiting, 24 * time.Hour, Expire, "waiting for logs",
		"I need at least one log. Logs from some of the nodes are enough to start: I'll tell you what's missing and continue when more arrive. " +
			"The rank that broke the job is often the one that printed nothing, so logs from all nodes matter, not just the one with the loudest error."},
	{AwaitingEnd, "0 obtain", Waiting, 7 * 24 * time.Hour, Expire, "waiting for the job to end",
		"The logs are still being written, so it's too early to name a cause. I check every minute and continue when the logs go quiet. You can see how the job is doing now."},
	{Triaging, "1 triage", Working, 2 * time.Hour, Fail, "finding what failed first",
		"In a distributed job one rank fails and all the others complain. I compare, group by group, which collective each rank entered and completed. " +
			"The rank that reports a timeout is usually a waiter, not the culprit. I re-check every finding in the raw files before you see it."},
	{AwaitingAIS, "1.7 storage", Waiting, 24 * time.Hour, Expire, "waiting for the storage logs",
		"The ranks waited for data. The storage daemons' logs show whether storage was actually slow. You can skip this: the report will say that storage was not examined."},
	{FetchingAIS, "1.7 storage", Working, 2 * time.Hour, AISFailed, "fetching the storage logs",
		"I fetch the logs from every proxy and target, unpack uploads, and report any that didn't respond."},
	{Correlating, "2 storage logs", Working, 2 * time.Hour, Fail, "aligning storage and job on one timeline",
		"Daemons and workers have different clocks. I align them using events that both recorded, and only claim an order where it is proven."},
	{Verifying, "3 synthesize", Working, 2 * time.Hour, Fail, "re-reading every quoted line",
		"An independent check re-opens the raw files and verifies every quotation, count and absence in the report. Any claim that fails is withdrawn, with everything based on it."},
	{Reported, "3 synthesize", Waiting, 7 * 24 * time.Hour, Close, "done, report posted",
		"The report is final unless you add something. Questions under it are optional: if you answer or add logs, I look again and say what changed and why."},
	{Disputed, "after", Waiting, 7 * 24 * time.Hour, Close, "disputed",
		"Someone disputes the verdict. The report stays visible with that note until new evidence settles it."},
	{Fixing, "after", Waiting, 14 * 24 * time.Hour, Expire, "waiting for the next run of this job",
		"Someone says what fixed it. The next run of this job that ends shows whether it worked: I look for it every few minutes, and compare it with this one. Name a run to compare it sooner."},
	{VerifyingFix, "after", Waiting, 14 * 24 * time.Hour, Expire, "waiting for the run with the fix",
		"Someone named the run with the fix. I'll compare it with this one: does it get past the step where this one ended, and is it slower, larger, or learning worse?"},
	{Isolating, "after", Waiting, 14 * 24 * time.Hour, Expire, "narrowing it down with tests you run",
		"The logs don't name a culprit. Each round of tests halves the candidates: you run them and tell me the results, and I tell you what to run next."},
	{Resolved, "after", Settled, 0, "", "resolved, fix proven", "The next run got past the failure and nothing got worse. New evidence reopens the investigation."},
	{Closed, "after", Settled, 0, "", "closed", "Nothing is open. New evidence reopens the investigation."},
	{Cancelled, "after", Settled, 0, "", "cancelled", "Someone stopped the investigation. New evidence reopens it."},
	{Expired, "after", Settled, 0, "", "expired", "No log arrived in time. Logs that arrive later reopen the investigation."},
	{Failed, "after", Settled, 0, "", "failed", "I couldn't finish; the reason is in the ledger. Try again, or give me other logs."},
}

// Row is one row of the transition table.
type Row struct {
	Event Event
	From  []State
	To    State
}

// Table is every transition there is.
var Table = []Row{
	{Start, []State{Requested}, LocatingJob},
	{Located, []State{LocatingJob}, FetchingLogs},
	{NotLocated, []State{LocatingJob}, AwaitingLogs},
	{StillRuns, []State{LocatingJob}, AwaitingEnd},
	{LookNow, []State{AwaitingEnd}, FetchingLogs},
	{LookNow, []State{Reported}, FetchingLogs}, // once more, while it runs
	{Turned, []State{AwaitingEnd, Reported}, FetchingLogs},
	{JobEnded, []State{AwaitingEnd}, FetchingLogs},
	// A snapshot was wanted while the job ran: it is looked at again when it has ended.
	{JobEnded, []State{AwaitingAIS, Reported, Disputed, Fixing, VerifyingFix, Isolating}, FetchingLogs},
	{Fetched, []State{FetchingLogs}, Triaging},
	{NothingRead, []State{FetchingLogs, Triaging}, AwaitingLogs},
	{NothingNew, []State{FetchingLogs, Triaging}, Reported},
	{Looked, []State{Triaging}, Triaging},
	{Triaged, []State{Triaging}, Verifying},
	{AskStorage, []State{Triaging}, AwaitingAIS},
	{AISOwn, []State{Triaging}, FetchingAIS},
	{AISGiven, []State{AwaitingAIS, Reported, Disputed, Fixing, VerifyingFix, Isolating, Resolved, Closed}, FetchingAIS},
	{AISFetched, []State{FetchingAIS}, Correlating},
	{AISFailed, []State{FetchingAIS, Correlating}, AwaitingAIS},
	{SkipStorage, []State{AwaitingAIS, FetchingAIS}, Verifying},
	{Correlated, []State{Correlating}, Verifying},
	{Verified, []State{Verifying}, Reported},
	{Refuted, []State{Verifying}, Triaging},
	{Dispute, []State{Reported, Fixing, VerifyingFix, Isolating, Resolved, Closed}, Disputed},
	{Uphold, []State{Disputed}, Reported},
	{FixClaimed, []State{Reported, Disputed, Fixing, VerifyingFix, Isolating, Closed, Resolved}, VerifyingFix},
	{FixBegun, []State{Reported, Disputed, Fixing, VerifyingFix, Isolating, Closed, Resolved}, Fixing},
	// New evidence leads back to a report, also while a fix is to be proven: the comparison goes on from there.
	{FixHolds, []State{Reported, VerifyingFix}, Resolved},
	{FixFails, []State{Reported, VerifyingFix}, Reported},
	{FixOpen, []State{Reported, VerifyingFix}, VerifyingFix},
	// A search survives whatever else happens to the case: its next outcome leads back.
	{Isolate, []State{Reported, Disputed, Fixing, VerifyingFix, Isolating, Closed, Resolved}, Isolating},
	{TestEnded, []State{Reported, Isolating}, Isolating},
	{SearchEnded, []State{Reported, Isolating}, Reported},
	{Close, []State{Reported, Disputed, Fixing, VerifyingFix, Isolating}, Closed},
	// New evidence leads back, from wherever the investigation rests. While the storage question is open it does not
	// have to wait for the answer.
	{LogsGiven, []State{AwaitingLogs, AwaitingEnd, AwaitingAIS, Reported, Disputed, Fixing, VerifyingFix, Isolating, Resolved, Closed, Cancelled, Expired, Failed}, FetchingLogs},
	{Arrived, []State{AwaitingAIS, Reported, Disputed, Isolating}, FetchingLogs},
	{Arrived, []State{AwaitingLogs, Expired, Failed}, LocatingJob},
	{Evidence, []State{AwaitingAIS, Reported, Disputed, Fixing, VerifyingFix, Isolating, Resolved, Closed}, Triaging},
	{Retry, []State{Failed, Expired, Cancelled}, LocatingJob},
	// Timers. An unanswered storage question does not hold the report back.
	{Expire, []State{AwaitingLogs, AwaitingEnd}, Expired},
	{Expire, []State{AwaitingAIS}, Verifying},
	{Expire, []State{Fixing, VerifyingFix, Isolating}, Reported},
	{Cancel, []State{Requested, LocatingJob, FetchingLogs, AwaitingLogs, AwaitingEnd, Triaging, AwaitingAIS, FetchingAIS, Correlating, Verifying}, Cancelled},
	{Fail, []State{Requested, LocatingJob, FetchingLogs, Triaging, FetchingAIS, Correlating, Verifying}, Failed},
}

// About returns the row of a state.
func About(s State) (StateRow, bool) {
	for _, row := range States {
		if row.State == s {
			return row, true
		}
	}
	return StateRow{}, false
}
