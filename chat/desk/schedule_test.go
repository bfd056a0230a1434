package desk

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron/v3"

	"faultline/workflow"
)

func TestRemindersAndExpiryComeAtTheRightInstantWhateverTheClocksDo(t *testing.T) {
	for _, c := range []struct{ zone, asked string }{
		{"UTC", "2026-03-04T05:06:07Z"},
		{"Europe/Berlin", "2026-03-29T00:45:00Z"},    // 15 minutes before the clocks go forward
		{"Europe/Berlin", "2026-10-25T00:45:00Z"},    // and back
		{"America/New_York", "2026-03-08T06:45:00Z"}, // likewise
		{"America/New_York", "2026-11-01T05:45:00Z"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := time.Parse(time.RFC3339, c.asked)
		if err != nil {
			t.Fatal(err)
		}
		s := newStage(t)
		s.now = asked.In(zone)
		s.says("west:777")
		reminded, expired := time.Duration(-1), time.Duration(-1)
		for m := range 25 * 60 {
			s.now = asked.Add(time.Duration(m) * time.Minute).In(zone)
			s.tick()
			inv, _ := s.store.Load(context.Background(), "F-1")
			if reminded < 0 && len(inv.Open) > 0 && inv.Open[0].Reminded {
				reminded = s.now.Sub(asked)
			}
			if inv.State == workflow.Expired {
				expired = s.now.Sub(asked)
				break
			}
		}
		if reminded != 30*time.Minute || expired != 24*time.Hour {
			t.Errorf("%s %s: reminded after %s, expired after %s", c.zone, c.asked, reminded, expired)
		}
		n := 0
		for _, p := range s.all() {
			if strings.HasPrefix(p.Key, "reminder-") {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s: %d reminders", c.zone, n)
		}
	}
}

func TestTwoProcessesLeaveOneJobAMinute(t *testing.T) {
	store := workflow.NewMemory()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	// The hour in which the clocks go back: the wall shows 02:00 to 02:59 twice.
	from := time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC)
	for m := range 120 {
		now := from.Add(time.Duration(m) * time.Minute)
		for _, seen := range []time.Time{now.Add(2 * time.Second), now.In(berlin).Add(40 * time.Second)} {
			for _, r := range routines[:2] {
				if err := r.insert(context.Background(), store, seen); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	jobs, _ := store.Waiting(context.Background())
	if len(jobs) != 2*120 {
		t.Errorf("%d jobs in 120 minutes", len(jobs))
	}
}

func TestEveryRoutineHasASchedule(t *testing.T) {
	c, err := Schedule(workflow.NewMemory(), time.Now, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Entries()) != len(routines) || c.Location() != time.UTC {
		t.Errorf("%d entries, %s", len(c.Entries()), c.Location())
	}
	at := time.Date(2026, 3, 29, 0, 59, 30, 0, time.UTC)
	for _, r := range routines {
		s, err := cron.ParseStandard(r.spec)
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		next, apart := at, 24*time.Hour
		if r.kind == workflow.JobMonth {
			apart = 31 * 24 * time.Hour
		}
		for range 3 { // no day of the year, or month of it, is skipped, none comes twice
			after := s.Next(next)
			if !after.After(next) || after.Sub(next) > apart {
				t.Errorf("%s: %s follows %s", r.name, after, next)
			}
			next = after
		}
	}
}

func TestARoutineThatPanicsComesBack(t *testing.T) {
	c := clockwork(cronLog{slog.New(slog.DiscardHandler)})
	runs := 0
	id, err := c.AddFunc("* * * * *", func() { runs++; panic("x") })
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.Entry(id).WrappedJob.Run()
	}
	if runs != 3 {
		t.Errorf("%d runs of 3", runs)
	}
}
