package slack

import (
	"slices"
	"sync"
	"time"
)

// limiter knows when a method may be called next. Slack's tiers allow bursts, so each method has a bucket of half a
// minute's calls; what Slack itself answers counts more than any table.
type limiter struct {
	mu      sync.Mutex
	buckets map[string]bucket
	next    map[string]time.Time // spacing, by what is spaced
	blocked map[Delay]time.Time  // by Slack's 429; Until is not part of the key
}

type bucket struct {
	calls float64
	at    time.Time
}

// Delay says that Slack asked to wait with a method, in a channel or ("") everywhere.
type Delay struct {
	Method, Channel string
	Until           time.Time
}

func newLimiter() *limiter {
	return &limiter{buckets: map[string]bucket{}, next: map[string]time.Time{}, blocked: map[Delay]time.Time{}}
}

// ready returns when the method may be called in the channel; a time that is not after now means at once. spaced are
// names of what must keep a distance.
func (l *limiter) ready(now time.Time, method, channel string, spaced ...string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	var at time.Time
	later := func(t time.Time) {
		if t.After(at) {
			at = t
		}
	}
	later(l.blocked[Delay{Method: method}])
	later(l.blocked[Delay{Method: method, Channel: channel}])
	for _, s := range spaced {
		later(l.next[s])
	}
	if b := l.level(method, now); b.calls < 1 {
		rate := float64(perMinute(method)) / 60
		later(now.Add(time.Duration((1 - b.calls) / rate * float64(time.Second))))
	}
	return at
}

// level is the bucket of a method as it stands now.
func (l *limiter) level(method string, now time.Time) bucket {
	full := float64(perMinute(method)) / 2
	b, ok := l.buckets[method]
	if !ok {
		return bucket{full, now}
	}
	if passed := now.Sub(b.at).Seconds(); passed > 0 {
		b.calls, b.at = min(full, b.calls+passed*2*full/60), now
	}
	return b
}

// used notes a call.
func (l *limiter) used(now time.Time, method string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.level(method, now)
	b.calls--
	l.buckets[method] = b
}

// space notes that the next of what is called so has to wait until a time.
func (l *limiter) space(what string, until, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.next) > 1000 {
		for k, t := range l.next {
			if !t.After(now) {
				delete(l.next, k)
			}
		}
	}
	l.next[what] = until
}

// block notes a 429.
func (l *limiter) block(method, channel string, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blocked[Delay{Method: method, Channel: channel}] = until
}

// delays lists what Slack asked to wait with, as far as it is not over.
func (l *limiter) delays(now time.Time) []Delay {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []Delay
	for d, until := range l.blocked {
		if !until.After(now) {
			delete(l.blocked, d)
			continue
		}
		d.Until = until
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b Delay) int { return a.Until.Compare(b.Until) })
	return list
}
