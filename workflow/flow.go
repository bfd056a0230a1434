package workflow

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"faultline/incident"
	"faultline/isolate"
	"faultline/messages/redact"
)

// Flow drives investigations. It holds no state that matters: everything is in the store, and what a process keeps besides
// can be made anew from the files.
//
// It speaks in one of two ways. A Poster shows things at once, after they are stored: a terminal. A Composer turns them into
// posts that are stored in the same transaction: a chat, where the process may die between the two.
type Flow struct {
	Fetch Fetcher
	// Team is Fetch with what the people of an investigation's channel have said about where their logs are; nil: they cannot.
	Team    func(ctx context.Context, inv Investigation) (Fetcher, error)
	Engine  Engine
	Post    Poster
	Compose Composer
	Store   Store
	Now     Clock
	// Permit says whether an investigation may read what was located; nil permits everything. A refusal looks like a job
	// that is not known, and is in the ledger.
	Permit func(inv Investigation, found Found) bool
	// Storage brings storage logs; AskStorage asks for access to them when the report says that they are missing.
	Storage    Storage
	AskStorage bool
	// OwnStorage is the configured access that an investigation's storage logs are pulled with before anybody is asked; "" or nil: there
	// is none, or people are to be asked.
	OwnStorage func(inv Investigation) string
	// Daemons opens the StorageLogs of an investigation: archives are unpacked, and no name of a file is one of the job's. An
	// error means that there is nothing to read, and its text is for people. nil: storage logs are kept and not read.
	Daemons func(ctx context.Context, inv Investigation) (Collection, error)
	// FirstLook: of large logs the beginnings and ends are read first, and a first verdict is shown that says so.
	FirstLook bool
	// Deferred: steps are not run by Open and Handle but by whoever claims the JobRun that they leave, with Run.
	Deferred bool
	// RemindAfter and ExpireAfter are when an unanswered question is repeated and given up; 0 = never, and the timers of
	// the table.
	RemindAfter, ExpireAfter time.Duration
	// Quiet: logs written to more recently belong to a job that still runs; nil or 0 = never ask.
	Quiet func(cluster string) time.Duration
	// Late is how long after the first report files are looked for that come or grow; nil or 0 = nobody looks. It needs Deferred.
	Late func(cluster string) time.Duration
	// Facts asks a cluster what it knows of a job whose logs a person named: Found.Base are places of that alone, without logs.
	// nil: nobody can be asked.
	Facts func(ctx context.Context, cluster, job string) (Found, error)
	// Submitter runs tests of a search on a cluster, and Submitting says what a cluster allows; nil: people run them.
	Submitter  Submitter
	Submitting func(cluster string) Submitting
	// Lessons are what other cases that the people of an investigation may see say helped against its failure, in sentences; nil: nobody
	// remembers.
	Lessons func(ctx context.Context, inv Investigation) ([]string, error)
	// Trouble looks whether the disk and the store of the bot itself work at this moment, and returns a *Fault where they do not;
	// nil: nobody can tell.
	Trouble func(ctx context.Context) error
	// Hint fills the copy commands of questions about a cluster; may be nil.
	Hint func(cluster string) CopyHint
	// Zone is that of the clocks of a cluster's machines; nil, or a nil zone: nobody states it.
	Zone func(cluster string) *time.Location
	// Workers and Version are passed to the engine, Progress is told how far it has read.
	Workers  int
	Version  string
	Progress func(done, total int64)

	unmasked unmasked
}

// Input is what a person (or a timer) brings. Event says what it is; the rest belongs to some events only.
type Input struct {
	Event     Event
	Actor     string
	Places    []string        // LogsGiven; AISGiven: storage logs that were uploaded
	Nodes     []string        // Evidence: the expected nodes
	WorldSize int             // Evidence
	JobID     string          // Evidence: which of several jobs
	Text      string          // Dispute, Cancel, Close: the reason; AISGiven, SkipStorage: Investigation.Storage
	Outcome   *Outcome        // Dispute, Close
	Fix       *Fix            // FixClaimed
	Search    *isolate.Ledger // Isolate: a new search; nil: the one there is goes on
	Tests     []isolate.Test  // TestEnded: by their ids, with outcomes
	Question  int             // the question that this answers; 0 = whichever it fits
	// Done is the job that brought the input; it is finished together with what the input changes.
	Done *Lease
	// Posts go out with what the input changes, and Notes are kept with it.
	Posts []Post
	Notes []Note

	running bool // comes from Run, which goes on by itself
	clicked bool // what it brings answers a person's click, however long ago that was
	rerun   *incident.Rerun
}

// Open starts an investigation and runs it until somebody else has to act. Places may name logs at once. With posts and
// done as in Input.
func (f *Flow) Open(ctx context.Context, inv Investigation, in Input) error {
	inv.State, inv.Since, inv.Asked, inv.Version = Requested, f.Now(), f.Now(), 0
	if inv.Key == "" {
		inv.Key = strings.ToLower(rand.Text()) // never seen before, nor after a restore
	}
	if inv.Ended == nil {
		inv.Noise.Answers = answersMost
	}
	e := f.entry("transition", "investigation of job "+orUnknown(inv.Job)+" requested")
	e.Actor, e.To = in.Actor, Requested
	if err := f.save(ctx, &inv, Notice{Event: Start, Actor: in.Actor}, in, e); err != nil {
		return fmt.Errorf("opening investigation %s: %w", inv.ID, err)
	}
	return f.goOn(ctx, inv.ID)
}

// Handle applies an input and runs on until somebody else has to act. A *NotAllowedError leaves everything as it was.
func (f *Flow) Handle(ctx context.Context, id string, in Input) error {
	inv, err := f.Store.Load(ctx, id)
	if err != nil {
		return fmt.Errorf("investigation %s: %w", id, err)
	}
	entries := []Entry{}
	answered := []string{}
	var about Notice
	ofRunning := slices.Contains([]Event{JobEnded, LookNow, Turned}, in.Event)
	if ofRunning && inv.State != AwaitingEnd && !inv.Running {
		return &NotAllowedError{State: inv.State, Event: in.Event}
	}
	if in.Actor != "" || in.clicked {
		inv.Noise.Answers = answersMost
	}
	switch in.Event {
	case LogsGiven:
		for _, p := range in.Places {
			if !slices.Contains(inv.Places, p) {
				inv.Places = append(inv.Places, p)
			}
		}
		entries = append(entries, f.entry("answer", fmt.Sprintf("logs given: %d %s", len(in.Places), plural(len(in.Places), "place", "places"))))
		answered = []string{AskLogs, AskMissing}
		inv.Late.Began = time.Time{}
		inv.given(in) // whether it answers what was asked, its reading tells
	case Arrived:
		entries = append(entries, f.arrived(&inv, in)) // where logs were asked for, their reading tells whether these are any
	case Evidence:
		if in.Nodes != nil {
			inv.Nodes = in.Nodes
		}
		if in.WorldSize > 0 {
			inv.WorldSize = in.WorldSize
		}
		if in.JobID != "" {
			inv.JobID = in.JobID
			answered = []string{AskJob}
		}
		entries = append(entries, f.entry("answer", "facts given"))
	case Dispute, Close:
		if in.Outcome != nil {
			inv.Outcome = in.Outcome
			entries = append(entries, f.entry("feedback", in.Outcome.text()))
		}
	case FixBegun, FixClaimed:
		inv.Fix = in.Fix
		entries = append(entries, f.entry("answer", in.Fix.text()))
	case FixOpen, FixHolds, FixFails:
		inv.Fix = in.Fix
	case Isolate, TestEnded:
		n, e, err := f.searched(&inv, &in)
		if err != nil {
			return err
		}
		about, entries = n, append(entries, e...)
	case SkipStorage, AISGiven:
		inv.Storage, inv.StoragePull = in.Text, in.Event == AISGiven && len(in.Places) == 0
		inv.StorageGiven = append(inv.StorageGiven, in.Places...)
		inv.StorageLogs = append(inv.StorageLogs, in.Places...)
		answered = []string{AskAccess}
	case Expire:
		if inv.State == AwaitingAIS {
			inv.Storage = "not given"
			answered = []string{AskAccess}
		}
		if inv.Fix.pending() {
			fix := *inv.Fix
			fix.Outcome = NotProven
			inv.Fix = &fix
		}
	case Turned:
		inv.Running = true
	case LookNow:
		inv.Running = true
		answered = []string{AskRunning}
	case JobEnded:
		inv.ended(in.Places)
		answered = []string{AskRunning}
	}
	if len(entries) > 0 {
		entries[len(entries)-1].Actor = in.Actor
	}
	about.Actor, about.Text, about.Answered, about.Rerun = in.Actor, in.Text, inv.take(in.Question, answered), in.rerun
	n := about
	if err := f.move(ctx, &inv, in.Event, n, in, entries...); err != nil {
		return err
	}
	return f.goOn(ctx, id)
}

func (f *Flow) goOn(ctx context.Context, id string) error {
	if f.Deferred {
		return nil
	}
	return f.Run(ctx, id)
}

// take removes the open questions that an answer settles, and returns them.
func (inv *Investigation) take(id int, kinds []string) []Question {
	var taken, left []Question
	for _, q := range inv.Open {
		if q.Given == "" && (id != 0 && q.ID == id || id == 0 && slices.Contains(kinds, q.Kind)) {
			taken = append(taken, q)
		} else {
			left = append(left, q)
		}
	}
	inv.Open = left
	return taken
}

// given notes on questions that somebody gave something which may answer them.
func (inv *Investigation) given(in Input) {
	if inv.Report == nil {
		return
	}
	for i, q := range inv.Open {
		if q.optional() && (in.Question == 0 || in.Question == q.ID) {
			inv.Open[i].Given = cmp.Or(in.Actor, "somebody")
		}
	}
}

// Run executes steps until the investigation waits for somebody or rests. A process that was stopped calls it again
// for each unfinished investigation: every step begins with the snapshot and may be repeated.
func (f *Flow) Run(ctx context.Context, id string) error {
	for {
		inv, err := f.Store.Load(ctx, id)
		if err != nil {
			return fmt.Errorf("investigation %s: %w", id, err)
		}
		row, ok := About(inv.State)
		if !ok {
			return fmt.Errorf("investigation %s is in the unknown state %q", id, inv.State)
		}
		if row.Kind != Working {
			return nil
		}
		before := inv.clone()
		out, err := f.step(ctx, &inv)
		if ctx.Err() != nil {
			return ctx.Err() // stays where it is; Run resumes it
		}
		if own := f.ownFault(ctx, out, err); own != nil {
			return fmt.Errorf("investigation %s while %s: %w", id, before.State, own) // likewise
		}
		if err != nil {
			before.Version = inv.Version // how far it came may have been saved
			inv = before
			out = outcome{event: Fail, note: err.Error()}
		}
		n := Notice{Text: out.note, Says: out.says, Report: out.report, Look: out.look, Revisions: out.revisions, Asks: out.asks, Changed: out.changed, Stall: out.stall, Answered: inv.settled(before.Open)}
		err = f.move(ctx, &inv, out.event, n, Input{running: true}, out.entries...)
		if errors.Is(err, ErrConflict) {
			continue // somebody cancelled, or answered, in the meantime: look again
		}
		if err != nil {
			return err
		}
		if f.Post == nil {
			continue
		}
		// What people see comes after what is stored: a post may be repeated after a crash, never be ahead of the truth.
		if err := f.show(ctx, inv, out); err != nil {
			return fmt.Errorf("investigation %s: showing the result of %s: %w", id, out.event, err)
		}
	}
}

// Tick applies the timers of an investigation that are due: it repeats questions, gives them up, and leaves a state that
// lasted too long. It says whether anything was due.
func (f *Flow) Tick(ctx context.Context, id string) (bool, error) {
	inv, err := f.Store.Load(ctx, id)
	if err != nil {
		return false, fmt.Errorf("investigation %s: %w", id, err)
	}
	now := f.Now()
	row, ok := About(inv.State)
	after := row.After
	if f.ExpireAfter > 0 && slices.Contains([]State{AwaitingLogs, AwaitingAIS}, inv.State) {
		after = f.ExpireAfter
	}
	if ok && after != 0 && now.Sub(inv.Since) >= after {
		return true, f.Handle(ctx, id, Input{Event: row.OnTimeout, Text: "no answer within " + plainDuration(after.Minutes())})
	}
	n := Notice{Event: Tick, From: inv.State}
	var open []Question
	for _, q := range inv.Open {
		switch {
		case !q.Due.IsZero() && !now.Before(q.Due):
			n.Expired = append(n.Expired, q)
			continue
		case f.RemindAfter > 0 && row.Kind != Working && !q.Reminded && !inv.Muted && inv.Ended == nil && !q.Asked.IsZero() && now.Sub(q.Asked) >= f.RemindAfter:
			q.Reminded = true
			n.Reminders = append(n.Reminders, q)
		}
		open = append(open, q)
	}
	if len(n.Expired)+len(n.Reminders) == 0 {
		return false, nil
	}
	inv.Open = open
	if !inv.Muted && inv.Ended == nil { // else nobody is to be disturbed
		f.goWithout(&inv, n.Expired, &n)
	}
	var entries []Entry
	for _, q := range n.Expired {
		entries = append(entries, f.entry("question", "nobody answered: "+q.Text))
	}
	for _, q := range n.Reminders {
		entries = append(entries, f.entry("question", "repeated: "+q.Text))
	}
	err = f.save(ctx, &inv, n, Input{running: true}, entries...) // the state stays: nothing is to be run
	if errors.Is(err, ErrConflict) {
		return false, nil // it moved on; the next tick sees
	}
	return err == nil, err
}

// move is the one place where a state changes.
func (f *Flow) move(ctx context.Context, inv *Investigation, event Event, n Notice, in Input, entries ...Entry) error {
	from := inv.State
	to, err := Next(ctx, from, event)
	if err != nil {
		return err
	}
	inv.State = to
	if to != from {
		inv.Since = f.Now()
	}
	row, _ := About(to)
	if row.Kind != Working {
		inv.Late.Quiet, inv.Late.News = false, nil
		for i := range inv.Open {
			inv.Open[i].Given = ""
		}
	}
	if row.Kind == Settled {
		n.Answered = append(n.Answered, inv.Open...)
		inv.Open = nil
	}
	e := f.entry("transition", n.Text)
	e.From, e.Event, e.To, e.Actor = from, event, to, n.Actor
	n.Event, n.From = event, from
	return f.save(ctx, inv, n, in, append(entries, e)...)
}

// save writes an investigation with everything that follows from the notice.
func (f *Flow) save(ctx context.Context, inv *Investigation, n Notice, in Input, entries ...Entry) error {
	c := Change{Entries: entries, Done: in.Done, Notes: in.Notes}
	posts, err := f.worded(ctx, inv, n)
	if err != nil {
		return fmt.Errorf("investigation %s: writing the text for %s: %w", inv.ID, n.Event, err)
	}
	c.Posts = slices.Concat(posts, in.Posts)
	row, _ := About(inv.State)
	if row.Kind != Working { // the last act of a person is answered
		inv.Noise.Answers = 0
	}
	switch {
	case !f.Deferred:
	case row.Kind == Working && !in.running:
		c.Jobs = []Job{{Key: fmt.Sprintf("run/%s/%d", inv.ID, inv.Version+1), Kind: JobRun, Investigation: inv.ID}}
	case row.Kind != Working && inv.Held && inv.State != AwaitingEnd:
		c.Jobs = []Job{{Key: fmt.Sprintf("tell/%s/%d", inv.ID, inv.Version+1), Kind: JobTell, Investigation: inv.ID}}
	}
	c.Jobs = append(c.Jobs, f.plan(inv)...)
	c.Jobs = append(c.Jobs, f.planLook(inv)...)
	c.Jobs = append(c.Jobs, f.fixToJudge(inv, n)...)
	c.Investigation = inv
	if err := f.Store.Save(ctx, c); err != nil {
		return fmt.Errorf("investigation %s: storing %s: %w", inv.ID, n.Event, err)
	}
	inv.Version++
	return nil
}

// worded puts a notice into posts that say whether anybody asked for them.
func (f *Flow) worded(ctx context.Context, inv *Investigation, n Notice) ([]Post, error) {
	if f.Compose == nil {
		return nil, nil
	}
	reporting := inv.reporting(n)
	n.Unasked = !reporting && inv.Noise.Answers == 0
	posts, err := f.Compose.Compose(ctx, inv, n)
	if err != nil {
		return nil, err
	}
	inv.answers(posts, reporting)
	return inv.Speak(f.Now(), posts, f.Compose.Holding)
}

// fetcher brings the logs of an investigation.
func (f *Flow) fetcher(ctx context.Context, inv Investigation) (Fetcher, error) {
	if f.Team == nil {
		return f.Fetch, nil
	}
	return f.Team(ctx, inv)
}

// located and collected are Locate and Collect for an investigation.
func (f *Flow) located(ctx context.Context, inv Investigation) (Found, error) {
	from, err := f.fetcher(ctx, inv)
	if err != nil {
		return Found{}, err
	}
	return from.Locate(ctx, inv.Cluster, inv.Job)
}

func (f *Flow) collected(ctx context.Context, inv Investigation, places []string) (Collection, error) {
	from, err := f.fetcher(ctx, inv)
	if err != nil {
		return Collection{}, err
	}
	return from.Collect(ctx, places)
}

func (f *Flow) quiet(inv *Investigation) time.Duration {
	if f.Quiet == nil {
		return 0
	}
	return f.Quiet(inv.Cluster)
}

func (f *Flow) hint(inv *Investigation) CopyHint {
	if f.Hint == nil {
		return CopyHint{}
	}
	return f.Hint(inv.Cluster)
}

func (f *Flow) entry(kind, text string) Entry {
	return Entry{At: f.Now(), Kind: kind, Text: redact.String(text)}
}

// outcome is what a step found: the event that follows from it, and what people should see afterwards.
type outcome struct {
	event     Event
	note      string // for the ledger and, for Fail and NothingNew, for people
	entries   []Entry
	says      []string
	report    *incident.Report
	look      bool // report is from a first look
	asks      []Question
	revisions []incident.Revision // those that are new in report
	changed   []Question
	stall     string // the message that tells of a stall
	fault     error  // of the bot's own, that left something out
}

func (f *Flow) show(ctx context.Context, inv Investigation, out outcome) error {
	var errs []error
	for _, text := range out.says {
		errs = append(errs, f.Post.Say(ctx, inv.ID, text))
	}
	if out.event == Fail {
		errs = append(errs, f.Post.Say(ctx, inv.ID, "I couldn't finish: "+out.note))
	}
	if out.report != nil {
		errs = append(errs, f.Post.Report(ctx, inv.ID, out.report))
	}
	for _, q := range out.asks {
		errs = append(errs, f.Post.Ask(ctx, inv.ID, q))
	}
	return errors.Join(errs...)
}

func (o Outcome) text() string {
	t := "the verdict is " + o.Verdict
	for _, part := range []struct{ name, text string }{{"actual cause", o.Mechanism}, {"cause", o.Cause}, {"fix", o.Fix}} {
		if part.text != "" {
			t += "; " + part.name + ": " + part.text
		}
	}
	return t
}

func orUnknown(job string) string {
	if job == "" {
		return "(unknown)"
	}
	return job
}
