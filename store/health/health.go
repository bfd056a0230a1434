// Package health looks, all the time, whether what the bot needs of its own host works: that it can write, and has room. A
// look may hang, as a file system may; whoever asks never does.
package health

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"faultline/workflow"
)

const (
	// every is the pause between two looks, and patience how long one may take: together less than 10 s, the time in which
	// readiness has to notice.
	every    = 2 * time.Second
	patience = 5 * time.Second
	// mendAfter is how long something may be gone before it is made anew: an operator who puts it back comes first.
	mendAfter = 12 * time.Second
)

// Check is one thing that the bot needs.
type Check struct {
	Name string
	// Cannot is what does not work without it: "store files".
	Cannot string
	// Aside: investigations go on without it.
	Aside bool
	// Probe tries it.
	Probe func(ctx context.Context) error
	// Reason is the error of Probe in a few words without paths; nil = DiskReason.
	Reason func(error) string
	// Mend makes anew what is gone for long; nil: nothing can be done.
	Mend func(ctx context.Context) error
	// Room is how much is left; nil: not known.
	Room func() (Room, error)
}

// Room is what is left in a file system.
type Room struct {
	Bytes, Files uint64
	Counted      bool // files are: some file systems have no table of them
}

// Status is how one check stands.
type Status struct {
	Name string
	Err  error // nil: it works
	Room *Room // nil: not known
}

// Monitor holds checks. Run looks.
type Monitor struct {
	log     *slog.Logger
	well    func()
	watched []*watched
}

// New makes a monitor; well is called whenever something works again.
func New(log *slog.Logger, well func(), checks ...Check) *Monitor {
	m := &Monitor{log: log, well: well}
	for _, c := range checks {
		if c.Reason == nil {
			c.Reason = workflow.DiskReason
		}
		m.watched = append(m.watched, &watched{Check: c, kick: make(chan struct{}, 1), ended: make(chan struct{})})
	}
	return m
}

// Run looks until the context ends. It does not wait for a look that hangs.
func (m *Monitor) Run(ctx context.Context) {
	for _, w := range m.watched {
		go w.loop(ctx, m)
	}
	<-ctx.Done()
}

// Status is what is known at this moment, in the order of the checks. It never waits.
func (m *Monitor) Status() []Status {
	var list []Status
	for _, w := range m.watched {
		list = append(list, w.status())
	}
	return list
}

// Known is a *workflow.Fault for the first thing that is known not to work and that investigations need; nil where there is
// none. It never waits.
func (m *Monitor) Known() error {
	for _, w := range m.watched {
		if s := w.status(); s.Err != nil && !w.Aside {
			return w.fault(s.Err)
		}
	}
	return nil
}

// Checks are the checks by name, as /readyz asks them. None waits.
func (m *Monitor) Checks() map[string]func(context.Context) error {
	checks := map[string]func(context.Context) error{}
	for _, w := range m.watched {
		checks[w.Name] = func(context.Context) error { return w.status().Err }
	}
	return checks
}

// Look is Known after a look that begins now, and lasts no longer than a look may.
func (m *Monitor) Look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var all sync.WaitGroup
	for _, w := range m.watched {
		if !w.Aside {
			all.Go(func() { w.fresh(ctx) })
		}
	}
	all.Wait()
	return m.Known()
}

// watched is a check and what the looks at it found.
type watched struct {
	Check
	kick chan struct{} // look now

	mu    sync.Mutex
	begun time.Time     // of the look that is under way; zero between looks
	looks int           // that began
	ended chan struct{} // closed at the end of each look, and made anew
	err   error
	room  *Room
	since time.Time // when it stopped working
}

func (w *watched) fault(err error) error {
	return &workflow.Fault{Cannot: w.Cannot, Why: w.Reason(err), Err: fmt.Errorf("%s: %w", w.Name, err)}
}

func (w *watched) status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Status{w.Name, w.err, w.room}
	if took := time.Since(w.begun); !w.begun.IsZero() && took > patience && s.Err == nil {
		s.Err = fmt.Errorf("no answer for %s: %w", took.Truncate(time.Second), context.DeadlineExceeded)
	}
	return s
}

// fresh waits for the end of a look that begins after the call.
func (w *watched) fresh(ctx context.Context) {
	w.mu.Lock()
	want, ended := w.looks+1, w.ended
	w.mu.Unlock()
	for {
		select {
		case w.kick <- struct{}{}:
		default:
		}
		select {
		case <-ctx.Done():
			return
		case <-ended:
		}
		w.mu.Lock()
		done := w.looks >= want
		ended = w.ended
		w.mu.Unlock()
		if done {
			return
		}
	}
}

func (w *watched) loop(ctx context.Context, m *Monitor) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		case <-w.kick:
		}
		w.look(ctx, m)
		pause.Reset(every)
	}
}

// look is one look.
func (w *watched) look(ctx context.Context, m *Monitor) {
	w.mu.Lock()
	w.begun = time.Now()
	w.looks++
	w.mu.Unlock()
	bound, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := w.Probe(bound)
	var room *Room
	if w.Room != nil {
		if r, rerr := w.Room(); rerr == nil {
			room = &r
		}
	}
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	was, took := w.err, time.Since(w.begun)
	hung := took > patience
	if err != nil && was == nil {
		w.since = time.Now()
	}
	w.err, w.room, w.begun = err, room, time.Time{}
	gone := err != nil && time.Since(w.since) >= mendAfter
	close(w.ended)
	w.ended = make(chan struct{})
	w.mu.Unlock()
	switch {
	case err != nil && was == nil:
		m.log.Error("something the bot needs does not work", "what", w.Name, "error", err)
	case err == nil && (was != nil || hung):
		m.log.Warn("it works again", "what", w.Name)
		m.well()
	}
	if gone && w.Mend != nil {
		if err := w.Mend(bound); err != nil && !errors.Is(err, ErrLeft) {
			m.log.Error("what was lost could not be recreated", "what", w.Name, "error", err)
		}
	}
}

// ErrLeft is what Mend returns where there is nothing that it may mend.
var ErrLeft = errors.New("there is nothing to mend")
