package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"faultline/chat"
	"faultline/messages"
	"faultline/messages/redact"
	"faultline/workflow"
)

// Workers claim jobs and do them. Set the members before Run.
type Workers struct {
	Desk   *Desk
	Timers *Timers
	// Watcher does what nobody asked for; nil: nothing is watched.
	Watcher *Watcher
	// Archive does JobArchive; nil: nothing is archived.
	Archive func(ctx context.Context) error
	// Owner names this process, uniquely among those that share the store.
	Owner string
	// Inbound is how many acts of people are handled at a time, Analyses how many investigations are worked on.
	Inbound, Analyses int
	// Lease is how long a job is claimed; it is extended every third of that.
	Lease time.Duration
	// Poll is how often an idle worker looks for work; Wake saves the wait.
	Poll time.Duration
	// Attempts is how often a job may fail.
	Attempts int
	// Backoff says how long a job waits after its n-th failure, n from 1.
	Backoff func(n int) time.Duration
	// Trouble looks whether the bot's own disk and store work now; its error is a *workflow.Fault. nil: nobody can tell.
	Trouble func(ctx context.Context) error
	// Say posts into the thread of an investigation without the store; nil: nobody can.
	Say func(ctx context.Context, investigation, text string) error
	Log *slog.Logger

	once sync.Once
	wake chan struct{}

	mu    sync.Mutex
	waits map[int64]int   // jobs that wait for the bot's own host
	said  map[string]bool // what people were told of that
}

// Defaults of Workers where a member is zero.
const (
	defaultInbound  = 8
	defaultAnalyses = 1
	defaultLease    = 30 * time.Second
	defaultPoll     = 200 * time.Millisecond
	defaultAttempts = 5
	stopWait        = 5 * time.Second // for giving leases back
)

func (w *Workers) init() {
	w.once.Do(func() {
		w.wake = make(chan struct{}, 64)
		w.waits, w.said = map[int64]int{}, map[string]bool{}
		w.Inbound = orElse(w.Inbound, defaultInbound)
		w.Analyses = orElse(w.Analyses, defaultAnalyses)
		w.Attempts = orElse(w.Attempts, defaultAttempts)
		w.Lease = orElse(w.Lease, defaultLease)
		w.Poll = orElse(w.Poll, defaultPoll)
		if w.Backoff == nil {
			w.Backoff = func(n int) time.Duration { return min(time.Second<<min(n, 10), 5*time.Minute) }
		}
	})
}

func orElse[T comparable](value, fallback T) T {
	var none T
	if value == none {
		return fallback
	}
	return value
}

// Wake says that there may be work. It never blocks.
func (w *Workers) Wake() {
	w.init()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run works until the context ends; then it gives back what it holds, so that the next process can begin at once. Nothing
// that a job does ends it.
func (w *Workers) Run(ctx context.Context) error {
	w.init()
	if err := w.resumed(ctx); err != nil {
		return err
	}
	var all sync.WaitGroup
	for i := range w.Inbound + w.Analyses + 4 {
		kinds := []string{workflow.JobInbound}
		switch {
		case i == w.Inbound+w.Analyses+3: // so may a file system
			kinds = []string{workflow.JobLate, workflow.JobLook}
		case i == w.Inbound+w.Analyses+2: // a cluster may take long to answer
			kinds = []string{workflow.JobPoll, workflow.JobSubmit}
		case i == w.Inbound+w.Analyses+1:
			kinds = []string{workflow.JobOver, workflow.JobTell, workflow.JobFix}
		case i == w.Inbound+w.Analyses:
			kinds = []string{workflow.JobTimers, workflow.JobWatch, workflow.JobNext, workflow.JobDue, workflow.JobMonth, workflow.JobArchive}
		case i >= w.Inbound:
			kinds = []string{workflow.JobRun}
		}
		all.Add(1)
		go func() {
			defer all.Done()
			w.loop(ctx, kinds, fmt.Sprintf("%s/%d", w.Owner, i))
		}()
	}
	all.Wait()
	return nil
}

func (w *Workers) loop(ctx context.Context, kinds []string, owner string) {
	failing := false
	for ctx.Err() == nil {
		did, err := w.one(ctx, kinds, owner)
		if err != nil && ctx.Err() == nil && !failing { // a store that is down is no news
			w.Log.Error("looking for work failed", "error", err)
		}
		if failing = err != nil; did && !failing {
			continue
		}
		pause := w.Poll
		if failing {
			pause = max(pause, ownFirst)
		}
		idle := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-idle.C:
		}
		idle.Stop()
	}
}

// Do claims one due job of the kinds and does it; did is false when there was none. Tests call it in place of Run.
func (w *Workers) Do(ctx context.Context, kinds ...string) (did bool, err error) {
	w.init()
	return w.one(ctx, kinds, w.Owner)
}

func (w *Workers) one(ctx context.Context, kinds []string, owner string) (bool, error) {
	bound, cancelled := context.WithTimeout(ctx, w.Lease) // a database that is gone may never answer
	l, err := w.Desk.Store.Claim(bound, kinds, owner, w.Lease)
	cancelled()
	if err != nil || l == nil {
		return false, err
	}
	err = w.hold(ctx, l)
	// What follows must be written even while the process stops.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	return true, w.settle(ctx, after, l, err)
}

// hold does a job while its lease is extended. Losing the lease ends the job.
func (w *Workers) hold(ctx context.Context, l *workflow.Lease) error {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	// Two goroutines must not use one lease: Extend moves its Until.
	mine := *l
	go func() {
		defer close(done)
		every := time.NewTicker(w.Lease / 3)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
			if err := w.Desk.Store.Extend(ctx, &mine, w.Lease); errors.Is(err, workflow.ErrLost) {
				cancel(workflow.ErrLost)
				return
			}
		}
	}()
	err := w.do(ctx, l)
	if errors.Is(context.Cause(ctx), workflow.ErrLost) && err != nil {
		err = workflow.ErrLost
	}
	cancel(nil)
	<-done
	return err
}

// do does a job, and keeps a panic to itself.
func (w *Workers) do(ctx context.Context, l *workflow.Lease) (err error) {
	defer func() {
		if p := recover(); p != nil {
			// What panicked may hold text of a log: only its type is told, and where.
			w.Log.Error("a job panicked", "kind", l.Kind, "investigation", l.Investigation, "stack", string(debug.Stack()))
			err = fmt.Errorf("internal error (%T)", p)
		}
	}()
	switch l.Kind {
	case workflow.JobInbound:
		var in chat.Inbound
		if err := json.Unmarshal(l.Payload, &in); err != nil {
			return fmt.Errorf("reading what a person did: %w", err)
		}
		if err := w.Desk.Handle(ctx, l, in); err != nil {
			return err
		}
		w.Wake() // it may have left a run
		return nil
	case workflow.JobRun:
		err = w.Desk.Flow.Run(ctx, l.Investigation)
		if errors.Is(err, workflow.ErrUnknown) { // forgotten in the meantime
			err = nil
		}
	case workflow.JobPoll, workflow.JobOver, workflow.JobTell, workflow.JobMonth:
		return w.watch(ctx, l)
	case workflow.JobLate, workflow.JobLook, workflow.JobFix, workflow.JobSubmit:
		look := w.Desk.Flow.LookAgain
		switch l.Kind {
		case workflow.JobLook:
			look = w.Desk.Flow.LookAtRunning
		case workflow.JobFix:
			look = w.Desk.Flow.JudgeFix
		case workflow.JobSubmit:
			look = w.Desk.Flow.RunTest
		}
		wait, err := look(ctx, l)
		if err == nil && wait > 0 {
			return errLater{wait}
		}
		if err == nil {
			w.Wake()
		}
		return err
	case workflow.JobDue:
		return again(w.Desk.Flow.TaskDue(ctx, l))
	case workflow.JobTimers:
		err = w.Timers.Tick(ctx)
		if w.Watcher != nil {
			err = errors.Join(err, w.Watcher.Digests(ctx))
		}
	case workflow.JobWatch:
		err = w.Timers.Watch(ctx)
	case workflow.JobNext:
		if w.Watcher != nil {
			err = w.Watcher.NextRuns(ctx)
		}
	case workflow.JobArchive:
		if w.Archive != nil {
			err = w.Archive(ctx)
		}
	default:
		err = fmt.Errorf("there is no job of kind %q", l.Kind)
	}
	if err != nil {
		return err
	}
	return w.Desk.Store.Finish(ctx, l)
}

// watch does a job of the watcher, which ends it itself.
func (w *Workers) watch(ctx context.Context, l *workflow.Lease) error {
	switch {
	case w.Watcher == nil:
		return w.Desk.Store.Finish(ctx, l)
	case l.Kind == workflow.JobPoll:
		return w.Watcher.poll(ctx, l)
	case l.Kind == workflow.JobOver:
		return w.Watcher.over(ctx, l)
	case l.Kind == workflow.JobMonth:
		return w.Watcher.Months(ctx, l)
	}
	return w.Watcher.tell(ctx, l)
}

// settle decides what becomes of a job after it was tried.
func (w *Workers) settle(ctx, after context.Context, l *workflow.Lease, err error) error {
	var later errLater
	store := w.Desk.Store
	switch {
	case err == nil, errors.Is(err, workflow.ErrLost):
		w.done(l)
		return nil
	case errors.As(err, &later):
		return w.note(ctx, func(after context.Context) error { return store.Release(after, l, later.after, nil) })
	case ctx.Err() != nil: // the process stops; it is nobody's failure
		return ignoreLost(store.Release(after, l, 0, nil))
	}
	if h := w.Desk.Hooks.Failed; h != nil {
		h(l.Kind)
	}
	if own := w.ownTrouble(ctx); own != nil {
		return w.wait(ctx, l, own)
	}
	w.Log.Error("a job failed", "kind", l.Kind, "investigation", l.Investigation, "attempt", l.Attempts+1, "error", told(err))
	if l.Attempts+1 < w.Attempts {
		return w.note(ctx, func(after context.Context) error {
			return store.Release(after, l, w.Backoff(l.Attempts+1), errors.New(told(err)))
		})
	}
	return w.bury(after, l, err)
}

func ignoreLost(err error) error {
	if errors.Is(err, workflow.ErrLost) {
		return nil
	}
	return err
}

// bury gives a job up and tells the people who wait for it.
func (w *Workers) bury(ctx context.Context, l *workflow.Lease, why error) error {
	if h := w.Desk.Hooks.Buried; h != nil {
		h(l.Kind)
	}
	store := w.Desk.Store
	switch l.Kind {
	case workflow.JobRun:
		// First the people, then the job: were the bot to die between the two, the job would find nothing left to do.
		err := w.Desk.Flow.Handle(ctx, l.Investigation, workflow.Input{Event: workflow.Fail, Text: plain(say(buriedRun, why))})
		var not *workflow.NotAllowedError
		if err != nil && !errors.As(err, &not) && !errors.Is(err, workflow.ErrUnknown) {
			w.Log.Error("nobody could be told that an investigation failed", "investigation", l.Investigation, "error", told(err))
		}
	case workflow.JobInbound:
		if p, ok := w.Desk.regret(ctx, l, why); ok {
			if err := store.Save(ctx, workflow.Change{Posts: []workflow.Post{p}, Entries: []workflow.Entry{{At: w.Desk.Now(), Kind: "error", Actor: p.User, Text: "given up: " + told(why)}}}); err != nil {
				w.Log.Error("nobody could be told that their command failed", "error", told(err))
			}
		}
	}
	return ignoreLost(store.Bury(ctx, l, told(why)))
}

// regret is the answer to an act that was given up; not ok where nobody would see it.
func (d *Desk) regret(ctx context.Context, l *workflow.Lease, why error) (workflow.Post, bool) {
	return d.reply(ctx, l, say(buried, why))
}

// reply is a sentence to the person whose act a job is; not ok where nobody would see it.
func (d *Desk) reply(ctx context.Context, l *workflow.Lease, sentence string) (workflow.Post, bool) {
	var in chat.Inbound
	if json.Unmarshal(l.Payload, &in) != nil || in.Kind == chat.Home || in.Kind == chat.Dismiss {
		return workflow.Post{}, false
	}
	a := &act{Desk: d, in: in}
	if in.View != nil && in.Channel == "" {
		id, t := readValue(in.View.Private)
		if inv, err := d.Store.Load(ctx, id); err == nil && t.key == inv.Key {
			a.place(inv)
		} else if in.View.Callback == messages.ViewStart || in.View.Callback == messages.ViewSetup {
			a.in.Channel = in.View.Private
		}
	}
	p, err := a.post("", "", []string{sentence})
	return p, err == nil && p.Channel != ""
}

// told is an error as it may be logged and stored: one line, and no secret.
func told(err error) string { return redact.String(firstLine(err.Error())) }

// resumed resumes, as soon as the store lets it.
func (w *Workers) resumed(ctx context.Context) error {
	for {
		err := w.Resume(ctx)
		if err == nil {
			return nil
		}
		w.Log.Error("going on with what was begun", "error", told(err))
		pause := time.NewTimer(ownMost)
		select {
		case <-ctx.Done():
			pause.Stop()
			return err
		case <-pause.C:
		}
	}
}

// Resume is called at the start, and when the store works again: every investigation that is at work has a job that goes on with it, and an access
// that was kept in memory only is asked for again.
func (w *Workers) Resume(ctx context.Context) error {
	store := w.Desk.Store
	jobs, err := store.Waiting(ctx, workflow.JobRun)
	if err != nil {
		return fmt.Errorf("listing jobs: %w", err)
	}
	has := map[string]bool{}
	for _, j := range jobs {
		has[j.Investigation] = true
	}
	var working []workflow.State
	for _, row := range workflow.States {
		if row.Kind == workflow.Working {
			working = append(working, row.State)
		}
	}
	rows, err := store.Find(ctx, workflow.Query{States: working, Limit: most})
	if err != nil {
		return fmt.Errorf("listing investigations: %w", err)
	}
	for _, s := range rows {
		if has[s.ID] {
			continue
		}
		key := fmt.Sprintf("resume/%s/%d/%d", s.ID, s.Version, w.Desk.Now().UnixNano())
		if _, err := store.Enqueue(ctx, workflow.Job{Key: key, Kind: workflow.JobRun, Investigation: s.ID}); err != nil {
			return fmt.Errorf("going on with %s: %w", s.ID, err)
		}
	}
	return w.accessLost(ctx)
}

// accessLost notes where an access that was typed is in memory no more. Where a fetch is under way, the step finds it out
// by itself and asks again.
func (w *Workers) accessLost(ctx context.Context) error {
	d := w.Desk
	rows, err := d.Store.Find(ctx, workflow.Query{States: []workflow.State{workflow.AwaitingAIS}, Limit: most})
	if err != nil {
		return fmt.Errorf("listing investigations: %w", err)
	}
	for _, s := range rows {
		inv, err := d.Store.Load(ctx, s.ID)
		if err != nil {
			return fmt.Errorf("investigation %s: %w", s.ID, err)
		}
		if !strings.HasPrefix(inv.Storage, "provided by ") || d.Storage != nil && d.Storage.Known(inv.ID) {
			continue
		}
		inv.Storage = "lost"
		posts, err := d.Composer.Compose(ctx, &inv, workflow.Notice{Event: workflow.Tick, From: inv.State})
		if err != nil {
			return err
		}
		p, err := (&act{Desk: d, in: chat.Inbound{Channel: inv.Home.Channel, User: inv.Home.Requester, Key: "lost/" + inv.ID}}).post(inv.ID, "", []string{say(accessLost)})
		if err != nil {
			return err
		}
		p.Kind, p.Key, p.Thread, p.Topic = workflow.PostMessage, fmt.Sprintf("lost-%d", inv.Version+1), workflow.KeyCase, "lost"
		err = d.Store.Save(ctx, workflow.Change{Investigation: &inv, Posts: append(posts, p),
			Entries: []workflow.Entry{{At: d.Now(), Kind: "question", Text: "the access to storage was lost in a restart; asked again"}}})
		if err != nil && !errors.Is(err, workflow.ErrConflict) {
			return fmt.Errorf("investigation %s: %w", s.ID, err)
		}
	}
	return nil
}
