package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"faultline/workflow"
)

const (
	// batch is how many posts are looked at in one round, over all channels.
	batch = 200
	// lanesAtOnce bounds how many channels are written to at the same time.
	lanesAtOnce = 16
	// pollEvery finds posts whose time has come and posts of which nobody told.
	pollEvery = 5 * time.Second
	// stopTimeout is how long a stop waits for calls under way. What is cut off is settled at the next start.
	stopTimeout = 8 * time.Second
)

// Blobs gives the bytes of attachments.
type Blobs interface {
	Open(ctx context.Context, key string) (io.ReadCloser, error)
}

// Sender empties the outbox into Slack: in order within a channel, no faster than Slack allows, and never the same message twice
// without saying so. Only one process may send at a time.
type Sender struct {
	Client *Client
	Outbox workflow.Outbox
	Blobs  Blobs
	// Refused is told of a post that was given up, with the reason in words; it may be nil.
	Refused func(ctx context.Context, p workflow.Post, reason string)
	// Trouble looks whether the bot's own disk and store work now; nil: nobody can tell.
	Trouble func(ctx context.Context) error
	Log     *slog.Logger
	Metrics *Metrics
	// Now and Sleep are the clock; nil is the real one.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error

	once sync.Once
	wake chan struct{}
	busy sync.WaitGroup

	mu       sync.Mutex
	lanes    map[string]bool // channels that are written to now
	soon     time.Time       // when something that was put back can be tried again
	uses     map[string]int  // of response_urls
	uploaded map[int64]upload
	heads    heads
}

func (s *Sender) init() {
	s.once.Do(func() {
		s.wake = make(chan struct{}, 1)
		s.lanes, s.uses, s.uploaded = map[string]bool{}, map[string]int{}, map[int64]upload{}
		if s.Now == nil {
			s.Now = time.Now
		}
		if s.Sleep == nil {
			s.Sleep = sleep
		}
	})
}

// Wake says that something new is in the outbox. It never blocks.
func (s *Sender) Wake() {
	s.init()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Delays lists what Slack asked to wait with.
func (s *Sender) Delays() []Delay { s.init(); return s.Client.limits.delays(s.Now()) }

// Run sends until the context ends, then lets the calls under way finish. First it settles what an earlier process left open.
func (s *Sender) Run(ctx context.Context) error {
	s.init()
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	s.settle(ctx, hard)
	for ctx.Err() == nil {
		next := s.round(ctx, hard)
		timer := time.NewTimer(max(0, min(next.Sub(s.Now()), pollEvery)))
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	done := make(chan struct{})
	go func() { s.busy.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(stopTimeout):
		cut()
		<-done
	}
	return nil
}

// settle decides about the posts that were under way when an earlier process ended. Their channels wait for that, others do not.
func (s *Sender) settle(ctx, hard context.Context) {
	posts, err := s.Outbox.Unsettled(ctx)
	for ; err != nil; posts, err = s.Outbox.Unsettled(ctx) {
		s.Log.Error("finding the posts a crash left open", "err", err)
		if s.Sleep(ctx, pollEvery) != nil {
			return // stopped; nothing was done
		}
	}
	lanes := map[string][]workflow.Post{}
	for _, p := range posts {
		lanes[p.Channel] = append(lanes[p.Channel], p)
	}
	for lane, posts := range lanes {
		s.occupy(lane, func() {
			for _, p := range posts {
				s.guarded(hard, p, func() { s.resolve(hard, p, nil, errors.New("the bot stopped in the middle of sending it")) })
			}
		})
	}
}

// round starts what may be sent now and returns when something else may be.
func (s *Sender) round(ctx, hard context.Context) time.Time {
	now := s.Now()
	next := now.Add(pollEvery)
	s.mu.Lock()
	if !s.soon.IsZero() {
		if s.soon.After(now) {
			next = earlier(next, s.soon)
		} else {
			s.soon = time.Time{}
		}
	}
	s.mu.Unlock()
	due, err := s.Outbox.Due(ctx, batch)
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Error("reading the outbox", "err", err)
		}
		return next
	}
	var order []string
	ready := map[string][]workflow.Post{}
	for _, p := range due {
		if at := s.readyAt(p, now); at.After(now) {
			next = earlier(next, at)
			continue
		}
		if ready[p.Channel] == nil {
			order = append(order, p.Channel)
		}
		ready[p.Channel] = append(ready[p.Channel], p)
	}
	for _, lane := range order {
		s.start(hard, lane, ready[lane])
	}
	return next
}

// start sends the posts of a lane, one after the other, unless somebody is at it.
func (s *Sender) start(ctx context.Context, lane string, posts []workflow.Post) {
	s.mu.Lock()
	taken := s.lanes[lane] || len(s.lanes) >= lanesAtOnce
	s.mu.Unlock()
	if taken {
		return // the one who is at it wakes us at the end
	}
	s.occupy(lane, func() {
		for _, p := range posts {
			if ctx.Err() != nil {
				return
			}
			// What was sent just now may be the reason why the next has to wait.
			if !s.readyAt(p, s.Now()).After(s.Now()) {
				s.guarded(ctx, p, func() { s.deliver(ctx, p) })
			}
		}
	})
}

// occupy works on a lane that nobody works on. Only the goroutine of Run calls it.
func (s *Sender) occupy(lane string, work func()) {
	s.mu.Lock()
	s.lanes[lane] = true
	s.mu.Unlock()
	s.busy.Go(func() {
		defer s.Wake()
		defer func() {
			s.mu.Lock()
			delete(s.lanes, lane)
			s.mu.Unlock()
		}()
		work()
	})
}

// guarded keeps one post that makes the code panic from stopping the others.
func (s *Sender) guarded(ctx context.Context, p workflow.Post, do func()) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		s.Metrics.Panics.Inc()
		s.Log.Error("sending a post panicked", "post", p.ID, "kind", p.Kind, "type", fmt.Sprintf("%T", r), "stack", string(debug.Stack()))
		const reason = "an error in the bot itself"
		if p.Attempts >= 3 {
			s.giveUp(ctx, p, reason)
			return
		}
		s.putBack(ctx, p, backoff(p.Attempts), reason, true)
	}()
	do()
}

// readyAt is when a post may be sent.
func (s *Sender) readyAt(p workflow.Post, now time.Time) time.Time {
	switch p.Kind {
	case workflow.PostEdit:
		return s.Client.limits.ready(now, "chat.update", p.Channel, editKey(p))
	case workflow.PostRemove:
		return s.Client.limits.ready(now, "chat.delete", p.Channel)
	case workflow.PostEphemeral:
		if s.usable(p) {
			return now
		}
		return s.Client.limits.ready(now, "chat.postEphemeral", p.Channel)
	case workflow.PostFiles:
		at := s.Client.limits.ready(now, "files.getUploadURLExternal", "")
		return later(at, s.Client.limits.ready(now, "files.completeUploadExternal", p.Channel, postKey(p)))
	}
	return s.Client.limits.ready(now, "chat.postMessage", p.Channel, postKey(p))
}

func postKey(p workflow.Post) string { return "post " + p.Channel }
func editKey(p workflow.Post) string { return "edit " + p.Investigation + "/" + p.Key }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// backoff is the wait before the next try: 2 s, 4 s, … 5 minutes.
func backoff(attempts int) time.Duration {
	return min(2*time.Second<<min(max(attempts, 0), 10), 5*time.Minute)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
