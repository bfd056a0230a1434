package desk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"faultline/chat"
	"faultline/workflow"
)

const (
	// ownFirst and ownMost are the pauses between tries while the bot's own host is in trouble: the last is well below the time
	// in which work goes on after the trouble.
	ownFirst = time.Second
	ownMost  = 5 * time.Second
	// ownSaid is how often a case hears of the same kind of trouble.
	ownSaid = time.Hour
	// tellWait bounds telling people of it.
	tellWait = 10 * time.Second
)

// ownTrouble is why a job failed where that is the bot's own host; nil where it is not, or nobody can tell.
func (w *Workers) ownTrouble(ctx context.Context) *workflow.Fault {
	if w.Trouble == nil {
		return nil
	}
	var own *workflow.Fault
	if errors.As(w.Trouble(ctx), &own) {
		return own
	}
	return nil
}

// wait puts a job off because of the bot's own host, as often as it takes: that counts as no attempt. Who waits for it is told once.
func (w *Workers) wait(ctx context.Context, l *workflow.Lease, own *workflow.Fault) error {
	w.mu.Lock()
	n := w.waits[l.ID]
	w.waits[l.ID] = n + 1
	w.mu.Unlock()
	w.Log.Error("a job waits for the bot's own host", "kind", l.Kind, "investigation", l.Investigation, "error", told(own.Unwrap()))
	tell, cancel := context.WithTimeout(ctx, tellWait)
	w.tellOwn(tell, l, own)
	cancel()
	return w.note(ctx, func(ctx context.Context) error {
		return w.Desk.Store.Release(ctx, l, min(ownFirst<<min(n, 8), ownMost), nil)
	})
}

// done forgets how often a job was put off.
func (w *Workers) done(l *workflow.Lease) {
	w.mu.Lock()
	delete(w.waits, l.ID)
	w.mu.Unlock()
}

// note writes the fate of a job, and goes on trying until the store takes it or the process stops: a lease that runs out is
// noticed late.
func (w *Workers) note(ctx context.Context, write func(context.Context) error) error {
	for {
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
		err := write(bound)
		cancel()
		if err == nil || errors.Is(err, workflow.ErrLost) {
			return nil
		}
		w.Log.Error("noting what became of a job", "error", told(err))
		pause := time.NewTimer(ownFirst)
		select {
		case <-ctx.Done():
			pause.Stop()
			return err
		case <-pause.C:
		}
	}
}

// tellOwn tells who waits for a job that the bot's own host keeps it from being done. What cannot be stored is said directly.
func (w *Workers) tellOwn(ctx context.Context, l *workflow.Lease, own *workflow.Fault) {
	hour := w.Desk.Now().Truncate(ownSaid).Unix()
	key := fmt.Sprintf("own/%s/%d/%d", l.Kind, l.ID, hour)
	if l.Investigation != "" {
		key = fmt.Sprintf("own/%s/%d", l.Investigation, hour)
	}
	w.mu.Lock()
	said := w.said[key]
	if len(w.said) > maxSaid {
		clear(w.said)
	}
	w.said[key] = true
	w.mu.Unlock()
	if said {
		return
	}
	var err error
	switch l.Kind {
	case workflow.JobRun:
		err = w.tellCase(ctx, l.Investigation, hour, own)
	case workflow.JobInbound:
		err = w.tellActor(ctx, l, own)
	}
	if err != nil && !errors.Is(err, workflow.ErrDoubled) {
		w.Log.Error("couldn't tell anyone about the bot's own failure", "investigation", l.Investigation, "error", told(err))
	}
}

// maxSaid bounds what is remembered of that.
const maxSaid = 10_000

func (w *Workers) tellCase(ctx context.Context, id string, hour int64, own *workflow.Fault) error {
	text := say(ownFault, own.Error())
	inv, err := w.Desk.Store.Load(ctx, id)
	if err == nil && (inv.Held || inv.Late.Quiet || inv.Muted) {
		return nil // nobody waits for it
	}
	if err == nil {
		var p workflow.Post
		p, err = (&act{Desk: w.Desk, in: chat.Inbound{Channel: inv.Home.Channel, User: inv.Home.Requester, Key: "own/" + id}}).post(id, "", []string{text})
		if err != nil {
			return err
		}
		p.Kind, p.Key, p.Thread = workflow.PostMessage, fmt.Sprintf("own-%d", hour), workflow.KeyCase
		entry := workflow.Entry{At: w.Desk.Now(), Kind: "error", Text: own.Error()}
		if err = w.Desk.Store.Save(ctx, workflow.Change{About: id, Posts: []workflow.Post{p}, Entries: []workflow.Entry{entry}}); err == nil || errors.Is(err, workflow.ErrDoubled) {
			return err
		}
	}
	if w.Say == nil {
		return err
	}
	return w.Say(ctx, id, plain(text))
}

// tellActor tells a person that what they did is stored and waits.
func (w *Workers) tellActor(ctx context.Context, l *workflow.Lease, own *workflow.Fault) error {
	p, ok := w.Desk.reply(ctx, l, say(ownFault, own.Error()))
	if !ok {
		return nil
	}
	p.Key = "own-" + p.Key
	return w.Desk.Store.Save(ctx, workflow.Change{Posts: []workflow.Post{p}})
}
