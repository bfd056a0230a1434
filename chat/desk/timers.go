package desk

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"faultline/workflow"
)

// Timers lets time pass for investigations.
type Timers struct {
	Store workflow.Durable
	Flow  *workflow.Flow
}

// most bounds how many investigations one pass looks at.
const most = 100_000

// Tick repeats questions, gives them up, and leaves states that lasted too long. One investigation that fails does not
// hold the others up; the errors are joined.
func (t *Timers) Tick(ctx context.Context) error {
	return t.each(ctx, workflow.Query{Open: true, Limit: most}, func(id string) error {
		_, err := t.Flow.Tick(ctx, id)
		return err
	})
}

// running are the states in which an investigation may wait for the end of its job: before the report, or after a snapshot.
var running = []workflow.State{workflow.AwaitingEnd, workflow.AwaitingAIS, workflow.Reported, workflow.Disputed, workflow.Fixing, workflow.VerifyingFix, workflow.Isolating}

// Watch looks whether jobs that still ran have ended.
func (t *Timers) Watch(ctx context.Context) error {
	return t.each(ctx, workflow.Query{States: running, Limit: most}, func(id string) error {
		_, err := t.Flow.HasEnded(ctx, id)
		return err
	})
}

// Arrived says that files of a job have come where its logs are looked for: investigations of it look at once, and one that found
// nothing, or gave up, goes on.
func (d *Desk) Arrived(ctx context.Context, cluster, job string) error {
	rows, err := d.Store.Find(ctx, workflow.Query{Cluster: cluster, Job: job})
	if err != nil {
		return fmt.Errorf("looking for investigations of job %s: %w", job, err)
	}
	var jobs []workflow.Job
	for _, s := range rows {
		jobs = append(jobs, workflow.Arrival(s.ID, strconv.FormatInt(d.Now().UnixNano(), 36)))
	}
	if len(jobs) == 0 {
		return nil
	}
	_, err = d.Store.Enqueue(ctx, jobs...)
	return err
}

func (t *Timers) each(ctx context.Context, q workflow.Query, do func(id string) error) error {
	rows, err := t.Store.Find(ctx, q)
	if err != nil {
		return fmt.Errorf("listing investigations: %w", err)
	}
	var errs []error
	for _, s := range rows {
		err := do(s.ID)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var not *workflow.NotAllowedError // it moved on in the meantime: the next pass sees
		if err != nil && !errors.Is(err, workflow.ErrConflict) && !errors.Is(err, workflow.ErrUnknown) && !errors.As(err, &not) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
