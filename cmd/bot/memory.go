package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
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

// lookEvery is how often the bound is compared with what is in use. Where it is too low for what is needed, one collection follows the
// other, which takes longer than all the rest.
const lookEvery = 50 * time.Millisecond

// watch looks again and again until it is told to stop.
func (t *thrift) watch() (stop func()) {
	done := make(chan struct{})
	if !t.off {
		go func() {
			tick := time.NewTicker(lookEvery)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					t.look()
				case <-done:
					return
				}
			}
		}()
	}
	return func() { close(done) }
}

// look raises the bound where what is in use comes near it.
func (t *thrift) look() {
	if t.off {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() == metrics.KindUint64 {
		t.suit(int64(live[0].Value.Uint64()))
	}
}

// suit raises the bound by a quarter of what is in use, if that leaves little below it.
func (t *thrift) suit(live int64) {
	if live > t.bound.Load()/8*7 {
		t.raise(live / 4 * 5)
	}
}

func (t *thrift) raise(to int64) {
	if old := t.bound.Load(); to > old && t.bound.CompareAndSwap(old, to) {
		debug.SetMemoryLimit(to)
	}
}
