package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"faultline/incident"
)

// Watching is what an investigation remembers of watching a job that still runs. Looks are silent; people hear once of each stall, and the
// watching ends with the job. Each look is a row, JobLook, that the one before has left: a restart loses none.
type Watching struct {
	By      string        // who wants it; "" = nobody
	Due     time.Time     // of the next look; zero = none is planned
	Looks   int           // counts the looks that were planned: which of them a job is
	Took    time.Duration // by the newest look
	Stalled bool          // the newest look found that the job stands still
	Stalls  int           // that people were told of
	Message string        // tells of the stall that lasts; "" where people saw it by themselves
}

const (
	// lookEvery is how far looks are apart at least. One may take a twentieth of the time.
	lookEvery = time.Minute
	lookShare = 20
)

// watched says that the job is to be looked at by itself.
func (inv *Investigation) watched() bool {
	return inv.Watch.By != "" && (inv.State == AwaitingEnd || inv.State == Reported && inv.Running)
}

// Watchable says that the job may still run, as far as is known.
func (inv *Investigation) Watchable() bool {
	row, _ := About(inv.State)
	return inv.State == AwaitingEnd || inv.Running || row.Kind == Working && inv.Report == nil
}

// WatchFor begins to watch for a person, or ends it for "". It returns the first look and the questions that need no answer any more.
func (f *Flow) WatchFor(inv *Investigation, by string) ([]Job, []Question) {
	inv.Watch = Watching{By: by, Looks: inv.Watch.Looks, Stalls: inv.Watch.Stalls}
	if by == "" {
		return nil, nil
	}
	return f.planLook(inv), inv.take(0, []string{AskRunning})
}

// planLook leaves the next look where one is due. What changes the state drops the plan.
func (f *Flow) planLook(inv *Investigation) []Job {
	w := &inv.Watch
	switch {
	case !f.Deferred || w.By == "":
		return nil
	case !inv.watched():
		w.Due = time.Time{}
		return nil
	case !w.Due.IsZero():
		return nil
	}
	after := max(lookEvery, lookShare*w.Took)
	if w.Looks == 0 { // it may stand still already
		after = 0
	}
	w.Due = f.Now().Add(after)
	w.Looks++
	return []Job{{Key: fmt.Sprintf("look/%s/%d", inv.ID, w.Looks), Kind: JobLook, Investigation: inv.ID, Payload: []byte(strconv.Itoa(w.Looks)), After: after}}
}

// LookAtRunning does a JobLook. Where the job began to stand still, or steps again, the investigation takes a look that is kept, verified and
// shown; else nothing is said. With a wait nothing was done, and the job is to be tried again then.
func (f *Flow) LookAtRunning(ctx context.Context, l *Lease) (wait time.Duration, err error) {
	inv, err := f.Store.Load(ctx, l.Investigation)
	if errors.Is(err, ErrUnknown) { // forgotten
		return 0, f.Store.Save(ctx, Change{Done: l})
	}
	if err != nil {
		return 0, fmt.Errorf("investigation %s: %w", l.Investigation, err)
	}
	planned := !inv.Watch.Due.IsZero() && string(l.Payload) == strconv.Itoa(inv.Watch.Looks)
	if !planned || !inv.watched() {
		return 0, f.Store.Save(ctx, Change{Done: l})
	}
	begun := f.Now()
	t := f.glance(ctx, inv)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if t != nil && standsStill(t) != inv.Watch.Stalled {
		err := f.Handle(ctx, inv.ID, Input{Event: Turned, Text: t.Summary, Done: l})
		var not *NotAllowedError
		if errors.Is(err, ErrConflict) || errors.As(err, &not) { // it moved on: look at what it is now
			return time.Second, nil
		}
		return 0, err
	}
	inv.Watch.Due, inv.Watch.Took = time.Time{}, f.Now().Sub(begun)
	if err := f.Store.Save(ctx, Change{Investigation: &inv, Jobs: f.planLook(&inv), Done: l}); errors.Is(err, ErrConflict) {
		return time.Second, nil
	} else if err != nil {
		return 0, err
	}
	return 0, nil
}

// glance is how the job does now; nil where that cannot be told. Nothing of it is kept.
func (f *Flow) glance(ctx context.Context, inv Investigation) *incident.Triage {
	if inv.Located && inv.Job != "" {
		found, err := f.located(ctx, inv)
		if err != nil || !f.permitted(inv, found) {
			return nil
		}
		inv.Places = slices.Clone(inv.Places)
		for _, p := range found.Places { // a node that writes its first line
			if !slices.Contains(inv.Places, p) {
				inv.Places = append(inv.Places, p)
			}
		}
	}
	inv.Running, inv.Moment = true, f.Now()
	got, err := f.collected(ctx, inv, inv.Places)
	if err != nil || len(got.Sources) == 0 || !f.shown(inv, got) {
		return nil
	}
	inv.Sources, inv.Gaps, inv.Covered = got.Sources, got.Gaps, got.Covered
	if inv.unpacked() { // it does not grow, and each look would unpack it anew
		return nil
	}
	report, _, err := f.diagnose(ctx, &inv, 0)
	if err != nil {
		return nil
	}
	return report.Triage
}

// standsStill says that people have to act before the evidence is gone.
func standsStill(t *incident.Triage) bool {
	return slices.Contains([]string{incident.StateLate, incident.StateStalled, incident.StateFailing}, t.State)
}

// judged notes what a look that is kept says of a stall: the message that tells of one that begins or is over, "" where there is none.
func (inv *Investigation) judged(t *incident.Triage) (message string) {
	w := &inv.Watch
	stalled := standsStill(t)
	if w.By == "" || stalled == w.Stalled {
		return ""
	}
	w.Stalled = stalled
	if !stalled {
		message, w.Message = w.Message, ""
		return message
	}
	if inv.Noise.Answers > 0 { // a person looks, and sees it there
		return ""
	}
	w.Stalls++
	w.Message = "stall-" + strconv.Itoa(w.Stalls)
	return w.Message
}
