package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"faultline/store"
	"faultline/store/storetest"
	"faultline/workflow"
)

// The databases do what the model does, whatever is asked of them in whatever order.
func TestSQLiteDoesWhatMemoryDoes(t *testing.T) {
	t.Parallel()
	seeds, steps := rounds(12), 300
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			agree(t, seed, steps, func(o store.Options) (*store.DB, error) {
				return store.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "bot.db"), o)
			})
		})
	}
}

func TestPostgresDoesWhatMemoryDoes(t *testing.T) {
	t.Parallel()
	server := storetest.SharedPostgres(t)
	seeds, steps := rounds(10), 300
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			agree(t, 100+seed, steps, func(o store.Options) (*store.DB, error) { return store.OpenPostgres(t.Context(), server.DSN(t), o) })
		})
	}
}

// rounds is n with FAULTLINE_FULL=1, else a third of it.
func rounds(n int) int {
	if os.Getenv("FAULTLINE_FULL") != "" {
		return n
	}
	return n / 3
}

func agree(t *testing.T, seed uint64, steps int, open func(store.Options) (*store.DB, error)) {
	t.Helper()
	var now atomic.Int64
	now.Store(time.Date(2026, 10, 25, 0, 59, 59, 0, time.UTC).UnixNano())
	clock := func() time.Time { return time.Unix(0, now.Load()) }
	db, err := open(store.Options{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	m := workflow.NewMemory()
	m.Now = clock
	storetest.Agree(t, seed, steps, m, db, func(d time.Duration) { now.Add(int64(d)) })
}
