package ais

import (
	"context"
	"sync"
)

// turns lets one request at a time go to a daemon, across all investigations of this process: a daemon packs its logs in
// one directory, and the first of two requests that ends removes it from under the other.
type turns struct {
	mu    sync.Mutex
	lines map[string]*line
}

// line is who waits for one daemon.
type line struct {
	free chan struct{} // holds one item while nobody asks
	n    int           // who asks or waits
}

func newTurns() *turns { return &turns{lines: map[string]*line{}} }

// take waits for the turn; done ends it and must be called once.
func (t *turns) take(ctx context.Context, daemon string) (done func(), err error) {
	t.mu.Lock()
	l := t.lines[daemon]
	if l == nil {
		l = &line{free: make(chan struct{}, 1)}
		l.free <- struct{}{}
		t.lines[daemon] = l
	}
	l.n++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if l.n--; l.n == 0 {
			delete(t.lines, daemon)
		}
	}
	select {
	case <-l.free:
		return func() { l.free <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
