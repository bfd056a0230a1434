package main

import (
	"runtime/debug"
	"testing"
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
	m.raise(2 * memoryGoal)
	m.raise(memoryGoal) // never back
	if got := debug.SetMemoryLimit(-1); got != 2*memoryGoal {
		t.Errorf("%d, expected %d", got, 2*memoryGoal)
	}
}
