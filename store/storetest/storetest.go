// Package storetest is the conformance suite of workflow.Durable: what is promised there holds for whatever passes here.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"faultline/workflow"
)

// Open opens a store at one place. Opened again there, after a Close or a crash, it holds what was written; a store that
// does not outlive its process returns itself. Now is the clock that the store must use.
type Open func(t *testing.T, now func() time.Time) workflow.Durable

// Run holds a store to the contract. Fresh makes an empty place.
func Run(t *testing.T, fresh func(t *testing.T) Open) {
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"investigations", investigationTests}, {"changes", changeTests}, {"jobs", jobTests}, {"outbox", outboxTests}, {"retention", retentionTests}, {"notes", noteTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) { test.run(newBench(t, fresh(t))) })
			}
		})
	}
}

type test struct {
	name string
	run  func(b *bench)
}

// bench is a store with a clock that only moves when it is told to.
type bench struct {
	*testing.T
	workflow.Durable
	ctx  context.Context
	open Open

	mu  sync.Mutex
	now time.Time
}

func newBench(t *testing.T, open Open) *bench {
	b := &bench{T: t, ctx: context.Background(), open: open, now: time.Date(2026, 3, 29, 0, 59, 0, 123456000, time.UTC)}
	b.Durable = open(t, b.time)
	t.Cleanup(func() { b.check(b.Close()) })
	return b
}

// reopen is what a restart does.
func (b *bench) reopen() {
	b.Helper()
	b.check(b.Close())
	b.Durable = b.open(b.T, b.time)
}

func (b *bench) time() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *bench) check(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) fails(want, got error) {
	b.Helper()
	if !errors.Is(got, want) {
		b.Fatalf("got the error %v, want %v", got, want)
	}
}

func same[T comparable](b *bench, what string, got, want T) {
	b.Helper()
	if got != want {
		b.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func list[T comparable](b *bench, what string, got []T, want ...T) {
	b.Helper()
	if !slices.Equal(got, want) {
		b.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// save stores the investigation as it is and returns it with its new version.
func (b *bench) save(inv workflow.Investigation, more ...workflow.Change) workflow.Investigation {
	b.Helper()
	c := workflow.Change{}
	if len(more) > 0 {
		c = more[0]
	}
	c.Investigation = &inv
	b.check(b.Save(b.ctx, c))
	inv.Version++
	return inv
}

// opened is an investigation at its beginning.
func opened(id string) workflow.Investigation {
	return workflow.Investigation{ID: id, Job: "job-" + id, Cluster: "west", State: workflow.Requested,
		Home: workflow.Home{Team: "T1", Channel: "C1", Requester: "U1"}}
}

// load is the investigation F-1.
func (b *bench) load() workflow.Investigation {
	b.Helper()
	inv, err := b.Load(b.ctx, "F-1")
	b.check(err)
	return inv
}

func (b *bench) ledger(id string) []string {
	b.Helper()
	entries, err := b.Ledger(b.ctx, id)
	b.check(err)
	var words []string
	for _, e := range entries {
		words = append(words, fmt.Sprintf("%d %s", e.Seq, e.Text))
	}
	return words
}

func (b *bench) enqueue(jobs ...workflow.Job) int {
	b.Helper()
	n, err := b.Enqueue(b.ctx, jobs...)
	b.check(err)
	return n
}

// run is a job of the kind JobRun.
func run(key, investigation string) workflow.Job {
	return workflow.Job{Key: key, Kind: workflow.JobRun, Investigation: investigation}
}

// claim returns a lease, nil when there is nothing to claim.
func (b *bench) claim(owner string, kinds ...string) *workflow.Lease {
	b.Helper()
	if len(kinds) == 0 {
		kinds = []string{workflow.JobRun}
	}
	l, err := b.Claim(b.ctx, kinds, owner, time.Minute)
	b.check(err)
	return l
}

// must claims a job of which it is known that it can be claimed.
func (b *bench) must(owner, key string) *workflow.Lease {
	b.Helper()
	l := b.claim(owner)
	if l == nil || l.Key != key {
		b.Fatalf("%s claims %+v, want %s", owner, l, key)
	}
	return l
}

func (b *bench) none(why string) {
	b.Helper()
	if l := b.claim("nobody"); l != nil {
		b.Fatalf("%s, and %s was handed out", why, l.Key)
	}
}

func (b *bench) waiting(kinds ...string) []string {
	b.Helper()
	jobs, err := b.Waiting(b.ctx, kinds...)
	b.check(err)
	var keys []string
	for _, j := range jobs {
		keys = append(keys, j.Key)
	}
	return keys
}

// post saves posts of no investigation's making.
func (b *bench) post(posts ...workflow.Post) {
	b.Helper()
	b.check(b.Save(b.ctx, workflow.Change{Posts: posts}))
}

func message(key string) workflow.Post {
	return workflow.Post{Investigation: "F-1", Kind: workflow.PostMessage, Key: key, Channel: "C1", Payload: []byte(key)}
}

func edit(key, payload string) workflow.Post {
	return workflow.Post{Investigation: "F-1", Kind: workflow.PostEdit, Key: key, Channel: "C1", Payload: []byte(payload)}
}

// due lists the payloads of what may be sent.
func (b *bench) due() []string {
	b.Helper()
	posts, err := b.Due(b.ctx, 0)
	b.check(err)
	return payloads(posts)
}

func payloads(posts []workflow.Post) []string {
	var list []string
	for _, p := range posts {
		list = append(list, string(p.Payload))
	}
	return list
}

// find is the only post with this payload.
func (b *bench) find(payload string) workflow.Post {
	b.Helper()
	for _, investigation := range []string{"F-1", "F-2", ""} {
		posts, err := b.Posts(b.ctx, investigation)
		b.check(err)
		for _, p := range posts {
			if string(p.Payload) == payload {
				return p
			}
		}
	}
	b.Fatalf("there is no post %q", payload)
	return workflow.Post{}
}

func (b *bench) sending(payload string) {
	b.Helper()
	b.check(b.Sending(b.ctx, b.find(payload).ID))
}

func (b *bench) send(payload string) {
	b.Helper()
	b.sending(payload)
	b.check(b.Sent(b.ctx, b.find(payload).ID, "ts-"+payload, "https://chat.example/"+payload))
}

// rounds is how often things are tried that go wrong by chance only.
const rounds = 15

// atOnce runs f eight times at the same moment.
func atOnce(f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range 8 {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}
