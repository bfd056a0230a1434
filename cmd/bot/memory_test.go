package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestTheBoundOfMemoryIsTheEnvironmentsWhereItStatesOne(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for _, key := range []string{"GOMEMLIMIT", "GOGC"} {
		t.Run(key, func(t *testing.T) {
			t.Setenv("GOMEMLIMIT", "")
			t.Setenv("GOGC", "")
			t.Setenv(key, "200")
			newThrift().look()
			if got := debug.SetMemoryLimit(-1); got != before {
				t.Errorf("%d, expected %d as before", got, before)
			}
		})
	}
}

func TestTheBoundOfMemoryRisesWithWhatIsInUse(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "")
	m := newThrift()
	m.look()
	if got := debug.SetMemoryLimit(-1); got != memoryGoal {
		t.Errorf("%d, expected %d", got, memoryGoal)
	}
	for _, c := range []struct{ live, want int64 }{
		{memoryGoal / 10 * 8, memoryGoal}, // room enough
		{2 * memoryGoal, memoryGoal * 5 / 2},
		{memoryGoal, memoryGoal * 5 / 2}, // never back
	} {
		if m.suit(c.live); debug.SetMemoryLimit(-1) != c.want {
			t.Errorf("%d in use: %d, expected %d", c.live, debug.SetMemoryLimit(-1), c.want)
		}
	}
}

func TestGarbageIsBoundedByWhatIsInUse(t *testing.T) {
	limit, share := debug.SetMemoryLimit(-1), debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetMemoryLimit(limit); debug.SetGCPercent(share) })
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "")
	m := newThrift()
	for _, c := range []struct {
		live int64
		want int
	}{{0, 200}, {40 << 20, 60}, {300 << 20, 100}, {1 << 20, 200}} {
		m.suit(c.live)
		got := debug.SetGCPercent(100)
		if debug.SetGCPercent(got); got != c.want {
			t.Errorf("%d in use: %d %%, expected %d", c.live, got, c.want)
		}
	}
}

func TestTheBoundOfMemoryIsWatched(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "")
	m := newThrift()
	m.bound.Store(1)
	stop := m.watch()
	defer stop()
	runtime.GC() // from now on it is known what is in use
	for until := time.Now().Add(10 * time.Second); m.bound.Load() == 1; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("nobody looked")
		}
	}
}
