package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// What the command may hold before the collector works harder than usual, in bytes: about what the logs of the largest
// jobs need.
const memoryGoal = 470 << 20

// garbage is how much may lie about before it is collected, in percent of what is in use. Far below the goal there is room.
const garbage = 200

// thrift bounds the garbage that is held at a time, not what is needed: where more than the goal is in use, the bound
// rises with it.
type thrift struct {
	off   bool
	bound atomic.Int64
}

// newThrift sets the bound, unless the environment says how the collector is to work.
func newThrift() *thrift {
	t := &thrift{off: os.Getenv("GOMEMLIMIT") != "" || os.Getenv("GOGC") != ""}
	if !t.off {
		debug.SetGCPercent(garbage)
		t.raise(memoryGoal)
	}
	return t
}

// look raises the bound where what is in use comes near it.
func (t *thrift) look() {
	if t.off {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() == metrics.KindUint64 {
		t.raise(int64(live[0].Value.Uint64() / 4 * 5))
	}
}

func (t *thrift) raise(to int64) {
	if old := t.bound.Load(); to > old && t.bound.CompareAndSwap(old, to) {
		debug.SetMemoryLimit(to)
	}
}
