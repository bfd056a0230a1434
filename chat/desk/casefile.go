package desk

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"faultline/incident"
	"faultline/knowledge"
	"faultline/messages"
	"faultline/messages/blockkit"
	"faultline/workflow"
)

// The action ids of our buttons. The value begins with the id of an investigation, except those of actCluster and actOpen.
const (
	actAccess   = "ais_access"
	actSkip     = "ais_skip"
	actAISLogs  = "ais_upload"
	actStorage  = "storage_logs"
	actUpload   = "upload"
	actLookNow  = "look_now"
	actWhenEnds = "when_ends"
	actJob      = "choose_job"
	actCluster  = "choose_cluster"
	actOpen     = "open_anyway"
	actGlossary = "glossary"
	actMute     = "mute" // under case files of earlier versions
	actOwn      = "own"
	actTested   = "tested"
	actSubmit   = "submit"
	actTick     = "tick"
	actRepro    = "repro"
	actCancel   = "cancel"
	actRerun    = "rerun"
	actRetry    = "retry"
	actShare    = "share"
	actDispute  = "dispute"
	actUphold   = "uphold"
	actClose    = "close"
	actStatus   = "status"
	actLeave    = "leave"
)

func button(action, value, text string) messages.Button {
	return messages.Button{Action: action, Value: value, Text: text}
}

// name is what buttons and windows call an investigation by: people read the id, the key tells it from one that got the same id later.
func name(inv *workflow.Investigation) string {
	if inv.Key == "" {
		return inv.ID
	}
	return inv.ID + "/" + inv.Key
}

// button is one in an answer.
func (a *act) button(action, value, text string) blockkit.Button {
	return blockkit.Button{ActionID: action, Value: value, Text: blockkit.Plain(text)}
}

// caseOf is what the case file shows.
func caseOf(inv *workflow.Investigation) messages.Case {
	row, _ := workflow.About(inv.State)
	c := messages.Case{
		ID: inv.ID, Job: inv.Job, Cluster: inv.Cluster, Requester: inv.Home.Requester, Owner: inv.Owner,
		Doing: row.Doing, Steps: steps(inv), Report: inv.Report, Superseded: inv.Superseded,
		Final: row.Kind == workflow.Settled, Buttons: caseButtons(inv),
	}
	c.Disputed = inv.State == workflow.Disputed
	if e := inv.Ended; e != nil {
		c.Notes = append(c.Notes, plain(say(noteWatched, e.State, e.End.UTC().Format(timeForm), ago(e.Took()))))
	}
	if inv.Watch.By != "" && inv.Watchable() {
		c.Notes = append(c.Notes, "Watched while it runs.")
	}
	if inv.Again != "" {
		c.Notes = append(c.Notes, "Runs "+inv.Again+" again.")
	}
	if inv.Storage != "" {
		c.Notes = append(c.Notes, storageNote(inv))
	}
	if inv.Muted && inv.Owner == "" {
		c.Notes = append(c.Notes, "Reminders are off.")
	}
	for _, n := range inv.Notes {
		c.Notes = append(c.Notes, plain(n))
	}
	if o := inv.Outcome; o != nil {
		c.Notes = append(c.Notes, strings.Join(append([]string{"User rating: the verdict is " + o.Verdict + "."}, plainAll(outcomeText(o))...), " "))
	}
	for _, q := range inv.Open {
		c.Open = append(c.Open, q.Text)
	}
	return c
}

// storageNote says who gave access to storage logs; the access itself is nowhere.
func storageNote(inv *workflow.Investigation) string {
	if inv.Storage == "lost" {
		return "I restarted and lost access to the storage."
	}
	if inv.Storage == "not provided" {
		return "Storage logs were not provided; storage was not examined."
	}
	what, _, _ := strings.Cut(inv.Storage, " by ") // people are named in the thread
	return "Storage logs: " + what + "."
}

// phase is one step of the case file, with the states in which it is under way.
type phase struct {
	title  string
	states []workflow.State
}

var phases = []phase{
	{"Find the logs", []workflow.State{workflow.Requested, workflow.LocatingJob, workflow.AwaitingLogs, workflow.AwaitingEnd}},
	{"Open the logs", []workflow.State{workflow.FetchingLogs}},
	{"Find what failed first", []workflow.State{workflow.Triaging}},
	{"Check the storage", []workflow.State{workflow.AwaitingAIS, workflow.FetchingAIS, workflow.Correlating}},
	{"Re-check every quoted line", []workflow.State{workflow.Verifying}},
}

// steps are the phases as far as they are known.
func steps(inv *workflow.Investigation) []messages.Step {
	row, _ := workflow.About(inv.State)
	at := slices.IndexFunc(phases, func(s phase) bool { return slices.Contains(s.states, inv.State) })
	if at < 0 { // it rests: how far did it come?
		switch {
		case inv.Report != nil && (inv.Final > 0 || inv.Report.Triage != nil):
			at = len(phases)
		case inv.Report != nil:
			at = len(phases) - 1
		case len(inv.Sources) > 0:
			at = 2
		case len(inv.Places) > 0:
			at = 1
		default:
			at = 0
		}
	}
	var out []messages.Step
	for i, s := range phases {
		step := messages.Step{Title: s.title, State: messages.StepTodo}
		storage := i == 3
		switch {
		case storage && at != i && !storageAsked(inv):
			continue
		case i < at:
			step.State, step.Note = messages.StepDone, phaseNote(inv, i)
			if storage && len(inv.StorageLogs) == 0 {
				step.State = messages.StepSkipped
			}
		case i > at:
		case row.Kind == workflow.Working, inv.State == workflow.AwaitingEnd && len(inv.Open) == 0: // the job, not a person
			step.State = messages.StepDoing
			if i == 2 && inv.Looked {
				step.Note = "first look done; now reading every file in full"
			}
			if i == 1 {
				step.Note = broughtNote(inv.Brought)
			}
		case row.Kind == workflow.Waiting:
			step.State = messages.StepWaiting
		case inv.State == workflow.Failed:
			step.State = messages.StepFailed
		default:
			step.State = messages.StepSkipped
		}
		out = append(out, step)
	}
	return out
}

func storageAsked(inv *workflow.Investigation) bool {
	return inv.Storage != "" || len(inv.StorageLogs) > 0
}

// phaseNote says what a stage brought.
func phaseNote(inv *workflow.Investigation, i int) string {
	switch {
	case i == 0 && len(inv.Places) > 0:
		return count(len(inv.Places), "place")
	case i == 1 && len(inv.Sources) > 0:
		note := count(len(inv.Sources), "file")
		if n := len(inv.Warnings); n > 0 {
			note += ", " + count(n, "warning")
		}
		return note
	case i == 3 && len(inv.StorageLogs) > 0:
		return count(len(inv.StorageLogs), "file")
	case i == 4 && inv.Report != nil && inv.Final > 0:
		q := inv.Report.Verification.Quotes
		return fmt.Sprintf("%d of %d quotations confirmed", q.Held, q.Checked)
	}
	return ""
}

// broughtNote says how far the logs have come.
func broughtNote(b workflow.Brought) string {
	if b.OfFiles == 0 {
		return ""
	}
	note := fmt.Sprintf("%d of %s, %s of %s", b.Files, count(b.OfFiles, "file"), megabytes(b.Bytes), megabytes(b.OfBytes))
	switch {
	case b.Left >= 90*time.Second:
		note += fmt.Sprintf(", about %d min left", int(b.Left.Minutes()+0.5))
	case b.Left > 0:
		note += fmt.Sprintf(", about %d s left", max(10, int(b.Left.Seconds()/10+0.5)*10))
	}
	return note
}

func megabytes(n int64) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%d GB", n>>30)
	}
	return fmt.Sprintf("%d MB", (n+1<<20-1)>>20)
}

// caseButtons are what can be done with the whole case in its state.
func caseButtons(inv *workflow.Investigation) []messages.Button {
	cancel := button(actCancel, name(inv), "Cancel")
	cancel.Style = "danger"
	cancel.Confirm = &messages.Confirm{Title: "Stop this investigation?", Text: "Findings so far stay readable. Logs added later reopen it.", Yes: "Stop it", No: "Keep going"}
	again := button(actRerun, name(inv), "Run again")
	again.Confirm = &messages.Confirm{Title: "Run it again?", Text: "This case is closed and a new one starts. Both stay readable.", Yes: "Run again", No: "Cancel"}
	var out []messages.Button
	row, _ := workflow.About(inv.State)
	switch {
	case row.Kind == workflow.Working:
		out = append(out, cancel)
	case inv.State == workflow.AwaitingEnd:
		out = append(out, button(actLookNow, name(inv), "Look now"), cancel)
	case inv.State == workflow.AwaitingLogs, inv.State == workflow.AwaitingAIS:
		out = append(out, button(actUpload, name(inv), "Upload logs"), cancel)
	case inv.State == workflow.Reported, inv.State == workflow.Fixing, inv.State == workflow.VerifyingFix, inv.State == workflow.Isolating:
		out = append(append(out, button(actClose, name(inv), "Close"), button(actUpload, name(inv), "Add logs")), storageOffer(inv)...)
		out = append(out, again)
		if inv.Home.Private && inv.Home.AskedIn != "" && inv.Home.Shared == "" {
			out = append(out, button(actShare, name(inv), "Share with the channel"))
		}
	case inv.State == workflow.Disputed:
		out = append(append(out, button(actClose, name(inv), "Close"), button(actUpload, name(inv), "Add logs")), storageOffer(inv)...)
		out = append(out, button(actUphold, name(inv), "Withdraw the dispute"))
	case inv.State == workflow.Closed, inv.State == workflow.Resolved:
		out = append(out, button(actDispute, name(inv), "This was wrong"), again)
	default: // cancelled, expired, failed
		try := button(actRetry, name(inv), "Try again")
		try.Style = "primary"
		out = append(out, try, button(actUpload, name(inv), "Upload logs"))
	}
	if wantsOwner(inv) {
		out = append(out, button(actOwn, name(inv), "I've got it"))
	}
	return out
}

// wantsOwner tells whether a case waits for somebody to look after it: something failed, or is asked.
func wantsOwner(inv *workflow.Investigation) bool {
	row, _ := workflow.About(inv.State)
	if inv.Owner != "" || row.Kind == workflow.Settled {
		return false
	}
	failed := inv.Report != nil && inv.Report.Verdict.Status != incident.NoFailure && row.Kind != workflow.Working
	return failed || len(inv.Open) > 0
}

// storageOffer is the button that offers to read storage logs, where something failed and they were not read. Who is asked for them
// has the buttons of the question.
func storageOffer(inv *workflow.Investigation) []messages.Button {
	if r := inv.Report; r == nil || r.Triage != nil || r.Verdict.Status == incident.NoFailure || len(inv.StorageSources) > 0 {
		return nil
	}
	return []messages.Button{button(actStorage, name(inv), "Storage logs")}
}

// verdictButtons stand under a verdict; the number in their value tells a click on an old one.
func verdictButtons(inv *workflow.Investigation) []messages.Button {
	value := fmt.Sprintf("%s %d", name(inv), inv.Verdicts)
	out := []messages.Button{button(actGlossary, value, "What does this mean?")}
	if inv.Report != nil && inv.Report.Verdict.Status == incident.NoFailure {
		return append(out, button(actRerun, value, "Run again"))
	}
	out = append(out, button(actDispute, value, "This is wrong"))
	if inv.Report != nil && inv.Report.Triage == nil && reproducible(inv.Report) {
		out = append(out, button(actRepro, value, "Test script"))
	}
	return out
}

// questionButtons are the answers that a question takes.
func questionButtons(inv *workflow.Investigation, q workflow.Question) []messages.Button {
	value := fmt.Sprintf("%s %d", name(inv), q.ID)
	primary := func(b messages.Button) messages.Button {
		b.Style = "primary"
		return b
	}
	switch q.Kind {
	case workflow.AskLogs:
		return []messages.Button{primary(button(actUpload, value, "Upload logs"))}
	case workflow.AskMissing, workflow.AskEvidence:
		return []messages.Button{primary(button(actUpload, value, "Upload files")), button(actLeave, value, "I don't have it")}
	case workflow.AskRunning:
		return []messages.Button{button(actLookNow, value, "Look now"), primary(button(actWhenEnds, value, "When it ends"))}
	case workflow.AskAccess:
		skip := button(actSkip, value, "Skip storage")
		skip.Confirm = &messages.Confirm{Title: "Continue without storage logs?", Text: "The report will say that storage wasn't examined, and be less certain about slow reads.", Yes: "Skip", No: "Cancel"}
		return []messages.Button{primary(button(actAccess, value, "Give access")), button(actAISLogs, value, "Upload storage logs"), skip}
	case workflow.AskJob:
		var out []messages.Button
		for i, item := range q.Items[:min(len(q.Items), 5)] {
			id, _, _ := strings.Cut(item, ",")
			b := button(actJob+"/"+fmt.Sprint(i), value+" "+id, "Job "+id)
			out = append(out, b)
		}
		return out
	}
	return nil
}

// whereToFind helps a person who never did this.
func whereToFind(q workflow.Question) string {
	switch q.Kind {
	case workflow.AskLogs:
		return "In your job script: #SBATCH --output and --error. The default is slurm-JOBID.out in the folder where you ran sbatch."
	case workflow.AskMissing:
		return "Next to the logs I already have."
	case workflow.AskAccess:
		return "Ask the storage team for a read-only token. A preconfigured cluster needs none."
	case workflow.AskJob:
		return "squeue, sacct or the log file's name shows the job ID."
	}
	return ""
}

func mechanismTitle(slug string) string {
	if m, ok := knowledge.MechanismBySlug(knowledge.Slug(slug)); ok {
		return m.Title
	}
	return slug
}

func plainAll(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, plain(t))
	}
	return out
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	s = knowledge.Capital(s)
	if strings.ContainsAny(s[len(s)-1:], ".!?:") {
		return s
	}
	return s + "."
}
