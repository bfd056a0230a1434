package workflow

import (
	"context"
	"errors"
	"testing"
	"time"
)

// slow brings nothing, says how far it came, and breaks.
type slow struct {
	Fetcher
	now  *time.Time
	asks int
}

func (s *slow) Collect(ctx context.Context, _ []string) (Collection, error) {
	s.asks++
	*s.now = s.now.Add(time.Minute)
	Tell(ctx, Brought{Files: 1, OfFiles: 2, Bytes: 10, OfBytes: 20, Fetched: 10})
	panic(errors.New("broken"))
}

func TestAStepThatBreaksAfterItSaidHowFarItCameFailsOnce(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	store := NewMemory()
	store.Now = func() time.Time { return now }
	from := &slow{now: &now}
	f := &Flow{Store: store, Fetch: from, Now: store.Now, Deferred: true}
	ctx := context.Background()
	inv := Investigation{ID: "F-1", Job: "7", State: FetchingLogs, Places: []string{"/logs"}}
	if err := store.Save(ctx, Change{Investigation: &inv}); err != nil {
		t.Fatal(err)
	}
	if err := f.Run(ctx, "F-1"); err != nil {
		t.Fatal(err)
	}
	got, err := store.Load(ctx, "F-1")
	if err != nil || got.State != Failed || from.asks != 1 || got.Brought != (Brought{}) {
		t.Errorf("%s after %d, %+v, %v", got.State, from.asks, got.Brought, err)
	}
}
