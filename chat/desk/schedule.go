package desk

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/robfig/cron/v3"

	"faultline/workflow"
)

// routine is work that comes back.
type routine struct {
	name string // in the key of its jobs
	kind string // of job
	spec string // cron's five fields, in UTC
}

// routines are all that come back. A schedule does nothing itself: it leaves a job whose key is the same for everybody
// who is due in the same minute, so that however many processes there are, it is done once.
var routines = []routine{
	{"timers", workflow.JobTimers, "* * * * *"},
	{"watch", workflow.JobWatch, "* * * * *"},
	{"next", workflow.JobNext, "*/5 * * * *"},
	{"month", workflow.JobMonth, "0 8 1 * *"},
	{"archive", workflow.JobArchive, "17 3 * * *"},
}

// slot names the minute in which something is due: in UTC, so that no clock that is put back repeats one.
func slot(now time.Time) string { return now.UTC().Truncate(time.Minute).Format("2006-01-02T15:04Z") }

// insert leaves the job of a routine for the present minute.
func (r routine) insert(ctx context.Context, store workflow.Durable, now time.Time) error {
	_, err := store.Enqueue(ctx, workflow.Job{Key: "cron:" + r.name + ":" + slot(now), Kind: r.kind})
	if err != nil {
		return fmt.Errorf("leaving job %s: %w", r.name, err)
	}
	return nil
}

// insertWait bounds one try to leave a job; the next minute tries again.
const insertWait = 30 * time.Second

// Schedule returns the clockwork of all routines, to be started and stopped by the caller. The zone of the machine does
// not matter.
//
// Polls are asked every minute for more jobs that are due, with keys of their own; nil: none.
func Schedule(store workflow.Durable, now workflow.Clock, log *slog.Logger, polls func(now time.Time) []workflow.Job) (*cron.Cron, error) {
	c := clockwork(cronLog{log})
	if polls != nil {
		_, err := c.AddFunc("* * * * *", func() {
			ctx, cancel := context.WithTimeout(context.Background(), insertWait)
			defer cancel()
			jobs := polls(now())
			if len(jobs) == 0 {
				return
			}
			if _, err := store.Enqueue(ctx, jobs...); err != nil {
				log.Error("no cluster is being polled", "error", err)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("the schedule for polling clusters: %w", err)
		}
	}
	for _, r := range routines {
		_, err := c.AddFunc(r.spec, func() {
			ctx, cancel := context.WithTimeout(context.Background(), insertWait)
			defer cancel()
			if err := r.insert(ctx, store, now()); err != nil {
				log.Error("a routine was not started", "routine", r.name, "error", err)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("the schedule %q of %s: %w", r.spec, r.name, err)
		}
	}
	return c, nil
}

// clockwork: cron recovers no panic by itself, and the order of the two wrappers matters: with Recover outside, a routine
// that panics once is taken for one that is still running, for ever.
func clockwork(log cron.Logger) *cron.Cron {
	return cron.New(cron.WithLocation(time.UTC), cron.WithLogger(log), cron.WithChain(cron.SkipIfStillRunning(log), cron.Recover(log)))
}

// cronLog passes on what goes wrong, and not that minutes pass.
type cronLog struct{ *slog.Logger }

func (cronLog) Info(string, ...any) {}

func (l cronLog) Error(err error, msg string, _ ...any) {
	l.Logger.Error("schedule: "+msg, "error", firstLine(err.Error()))
}
