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

// garbage is how much may lie about before it is collected, in percent of what is in use. Where little is in use there is room; what the
// largest files need is still gone through quickly, and hardly anything is thrown away; beyond, each collection takes long.
func garbage(live int64) int {
	switch {
	case live < 32<<20:
		return 200
	case live < 128<<20:
		return 60
	}
	return 100
}

// thrift bounds the garbage that is held at a time, not what is needed: where more than the goal is in use, the bound
// rises with it.
type thrift struct {
	off   bool
	bound atomic.Int64
	share atomic.Int64 // of garbage
}

// newThrift sets the bound, unless the environment says how the collector is to work.
func newThrift() *thrift {
	t := &thrift{off: os.Getenv("GOMEMLIMIT") != "" || os.Getenv("GOGC") != ""}
	if !t.off {
		t.allow(garbage(0))
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

// suit raises the bound by a quarter of what is in use, if that leaves little below it, and says how much garbage there may be.
func (t *thrift) suit(live int64) {
	t.allow(garbage(live))
	if live > t.bound.Load()/8*7 {
		t.raise(live / 4 * 5)
	}
}

func (t *thrift) raise(to int64) {
	if old := t.bound.Load(); to > old && t.bound.CompareAndSwap(old, to) {
		debug.SetMemoryLimit(to)
	}
}

func (t *thrift) allow(share int) {
	if t.share.Swap(int64(share)) != int64(share) {
		debug.SetGCPercent(share)
	}
}
