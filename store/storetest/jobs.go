package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"faultline/workflow"
)

const hour = time.Hour

var jobTests = []test{
	{"a job is added once, whoever repeats it and whenever", func(b *bench) {
		same(b, "first", b.enqueue(run("a", ""), run("b", ""), run("a", "")), 2)
		same(b, "again", b.enqueue(run("a", ""), run("c", "")), 1)
		b.check(b.Finish(b.ctx, b.must("w", "a")))
		same(b, "done", b.enqueue(run("a", "")), 0)
		b.check(b.Bury(b.ctx, b.must("w", "b"), "poison"))
		same(b, "buried", b.enqueue(run("b", "")), 0)
		b.reopen()
		same(b, "after a restart", b.enqueue(run("a", ""), run("b", ""), run("c", "")), 0)
		list(b, "waiting", b.waiting(), "c")
	}},
	{"of many who add one job at once one does", func(b *bench) {
		for round := range rounds {
			var total atomic.Int64
			atOnce(func(i int) {
				var jobs []workflow.Job
				for n := range 10 {
					jobs = append(jobs, run(fmt.Sprintf("%d-%d", round, n), ""))
				}
				if i%2 == 0 {
					slices.Reverse(jobs) // databases must not wait for each other
				}
				n, err := b.Enqueue(b.ctx, jobs...)
				total.Add(int64(n))
				if err != nil {
					b.Error(err)
				}
			})
			same(b, "added", total.Load(), 10)
		}
	}},
	{"of many who claim at once one gets a job of an investigation", func(b *bench) {
		for round := range rounds {
			for n := range 8 {
				b.enqueue(run(fmt.Sprintf("%d-%d", round, n), fmt.Sprint("F-", round)))
			}
			var got atomic.Int64
			atOnce(func(i int) {
				l, err := b.Claim(b.ctx, []string{workflow.JobRun}, fmt.Sprint("w", i), hour)
				if l != nil {
					got.Add(1)
				}
				if err != nil {
					b.Error(err)
				}
			})
			same(b, "claimed", got.Load(), 1)
		}
	}},
	{"a job without a key is refused", func(b *bench) {
		if _, err := b.Enqueue(b.ctx, run("a", ""), workflow.Job{Kind: workflow.JobRun}); err == nil {
			b.Fatal("no error")
		}
		list(b, "waiting", b.waiting())
	}},
	{"payloads and keys are bytes, not text", func(b *bench) {
		b.enqueue(workflow.Job{Key: hostile, Kind: workflow.JobRun, Payload: []byte(hostile)}, workflow.Job{Key: "\x01hex:00", Kind: workflow.JobRun})
		b.reopen()
		same(b, "again", b.enqueue(workflow.Job{Key: hostile, Kind: workflow.JobRun}), 0)
		l := b.must("w", hostile)
		same(b, "payload", string(l.Payload), hostile)
		b.check(b.Release(b.ctx, l, 0, errors.New(hostile)))
		l = b.must("w", hostile)
		same(b, "reason", l.LastError, hostile)
		same(b, "attempts", l.Attempts, 1)
		b.must("w", "\x01hex:00")
	}},
	{"the oldest due job of a wanted kind is handed out", func(b *bench) {
		b.enqueue(
			workflow.Job{Key: "late", Kind: workflow.JobRun, After: time.Minute},
			workflow.Job{Key: "sooner", Kind: workflow.JobWatch, After: time.Second},
			workflow.Job{Key: "in", Kind: workflow.JobInbound, Payload: []byte("x"), Investigation: "F-7"},
			run("a", ""), run("b", ""))
		list(b, "waiting", b.waiting(workflow.JobRun), "a", "b", "late")
		list(b, "all", b.waiting(), "in", "a", "b", "sooner", "late")
		a := b.must("w1", "a")
		want := workflow.Lease{Job: workflow.Job{ID: a.ID, Key: "a", Kind: workflow.JobRun, Added: b.time()}, Owner: "w1", Fence: 1, Until: b.time().Add(time.Minute)}
		if !reflect.DeepEqual(*a, want) {
			b.Fatalf("got %+v, want %+v", *a, want)
		}
		b.must("w2", "b")
		b.none("the third is not due")
		list(b, "waiting", b.waiting(workflow.JobRun), "a", "b", "late")
		b.pass(time.Minute - time.Microsecond)
		b.none("the third is not due")
		in := b.claim("w3", workflow.JobTimers, workflow.JobInbound)
		same(b, "kind", in.Kind+" "+in.Key+" "+in.Investigation+" "+string(in.Payload), "inbound in F-7 x")
		b.check(b.Finish(b.ctx, a))
		b.pass(time.Microsecond)
		list(b, "waiting", b.waiting(workflow.JobRun), "late", "b")
		b.must("w1", "late")
		if l := b.claim("w", "no such kind"); l != nil {
			b.Fatalf("claimed %+v", l)
		}
		l, err := b.Claim(b.ctx, nil, "w", time.Minute)
		if l != nil || err != nil {
			b.Fatalf("claimed %+v, %v", l, err)
		}
	}},
	{"many who claim at once get different jobs, and one per investigation", func(b *bench) {
		for i := range 40 {
			b.enqueue(run(fmt.Sprint("job", i), fmt.Sprint("F-", i%4)))
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		taken, busy := map[string]int{}, map[string]bool{}
		for w := range 8 {
			wg.Go(func() {
				for idle := 0; idle < 50; {
					l, err := b.Claim(b.ctx, []string{workflow.JobRun}, fmt.Sprint("w", w), hour)
					if err != nil {
						b.Error(err)
						return
					}
					mu.Lock()
					if len(taken) == 40 {
						idle = 50
					}
					if l == nil {
						mu.Unlock()
						idle++
						continue
					}
					idle = 0
					taken[l.Key]++
					if busy[l.Investigation] {
						b.Errorf("two jobs of %s at once", l.Investigation)
					}
					busy[l.Investigation] = true
					mu.Unlock()
					mu.Lock()
					delete(busy, l.Investigation)
					mu.Unlock()
					if err := b.Finish(b.ctx, l); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for key, n := range taken {
			if n != 1 {
				b.Errorf("%s was handed out %d times", key, n)
			}
		}
		for l := b.claim("last"); l != nil; l = b.claim("last") { // all workers may have looked while one was busy
			taken[l.Key]++
			b.check(b.Finish(b.ctx, l))
		}
		same(b, "jobs", len(taken), 40)
	}},
	{"jobs of one investigation and kind wait for each other", func(b *bench) {
		b.enqueue(run("a", "F-1"), run("b", "F-1"), run("c", "F-2"), workflow.Job{Key: "in", Kind: workflow.JobInbound, Investigation: "F-1"})
		a := b.must("w1", "a")
		b.must("w2", "c")
		b.none("b waits for a")
		if l := b.claim("w3", workflow.JobRun, workflow.JobInbound); l == nil || l.Key != "in" {
			b.Fatalf("another kind does not wait, got %+v", l)
		}
		b.check(b.Finish(b.ctx, a))
		b.must("w1", "b")
	}},
	{"a lease that ran out goes to the next, and the first is told", func(b *bench) {
		b.enqueue(run("a", "F-1"), run("b", "F-1"))
		first := b.must("w1", "a")
		b.pass(time.Minute - time.Microsecond)
		b.none("the lease still holds")
		b.pass(time.Microsecond)
		second := b.must("w2", "a")
		same(b, "fence", second.Fence, 2)
		same(b, "attempts", second.Attempts, 0)
		b.fails(workflow.ErrLost, b.Extend(b.ctx, first, hour))
		b.fails(workflow.ErrLost, b.Finish(b.ctx, first))
		b.fails(workflow.ErrLost, b.Release(b.ctx, first, 0, nil))
		b.fails(workflow.ErrLost, b.Bury(b.ctx, first, "x"))
		b.fails(workflow.ErrLost, b.Save(b.ctx, workflow.Change{Done: first}))
		forged := *second
		forged.Owner = "w1"
		b.fails(workflow.ErrLost, b.Finish(b.ctx, &forged))
		b.none("the second lease holds")
		b.check(b.Finish(b.ctx, second))
		b.fails(workflow.ErrLost, b.Finish(b.ctx, second))
		b.must("w1", "b")
	}},
	{"a lease that ran out is kept by its owner until somebody asks", func(b *bench) {
		b.enqueue(run("a", "F-1"), run("b", "F-1"))
		l := b.must("w1", "a")
		b.pass(hour)
		b.check(b.Extend(b.ctx, l, time.Minute))
		same(b, "until", l.Until, b.time().Add(time.Minute))
		b.none("it was prolonged in time")
		b.pass(hour)
		b.check(b.Save(b.ctx, workflow.Change{Done: l}))
		b.must("w1", "b")
	}},
	{"a job that failed is tried again after a while, in its old place", func(b *bench) {
		b.enqueue(run("a", ""), run("b", ""))
		b.check(b.Release(b.ctx, b.must("w", "a"), time.Minute, errors.New("disk is full")))
		list(b, "waiting", b.waiting(), "b", "a")
		b.pass(time.Minute)
		list(b, "waiting", b.waiting(), "a", "b")
		a := b.must("w", "a")
		same(b, "why", fmt.Sprint(a.Attempts, a.LastError, a.Fence), fmt.Sprint(1, "disk is full", 2))
		b.check(b.Release(b.ctx, a, 0, nil)) // a graceful stop is no failure
		a = b.must("w", "a")
		same(b, "why", fmt.Sprint(a.Attempts, a.LastError, a.Fence), fmt.Sprint(1, "disk is full", 3))
	}},
	{"a buried job never comes back and stops nobody", func(b *bench) {
		b.enqueue(run("a", "F-1"), run("b", "F-1"))
		b.check(b.Bury(b.ctx, b.must("w", "a"), "failed five times"))
		list(b, "waiting", b.waiting(), "b")
		b.must("w", "b")
		b.pass(1000 * hour)
		b.must("w", "b")
		b.none("a is buried")
	}},
	{"a restart goes on with what was claimed", func(b *bench) {
		b.enqueue(run("a", "F-1"))
		lost := b.must("w1", "a")
		b.reopen()
		b.pass(time.Minute)
		l := b.must("w1", "a") // the same name: the fence tells them apart
		same(b, "fence", l.Fence, 2)
		b.fails(workflow.ErrLost, b.Finish(b.ctx, lost))
		b.check(b.Finish(b.ctx, l))
	}},
	{"a clock that is set back delays nothing that is to be done at once", func(b *bench) {
		b.enqueue(run("a", "F-1"))
		b.post(message("case"))
		b.pass(-24 * hour)
		list(b, "due", b.due(), "case")
		a := b.must("w1", "a")
		b.check(b.Release(b.ctx, a, 0, nil))
		b.pass(-24 * hour)
		b.must("w1", "a")
		b.enqueue(run("b", "F-2"))
		b.must("w2", "b")
		list(b, "waiting", b.waiting(), "a", "b")
	}},
	{"a clock that jumps ahead hands a job on, never out twice", func(b *bench) {
		b.enqueue(run("a", "F-1"))
		slow := b.must("w1", "a")
		b.pass(24 * hour)
		fast := b.must("w2", "a")
		b.pass(-24 * hour)
		b.fails(workflow.ErrLost, b.Save(b.ctx, workflow.Change{Done: slow, Entries: []workflow.Entry{{Text: "late"}}}))
		b.check(b.Save(b.ctx, workflow.Change{Done: fast, Entries: []workflow.Entry{{Text: "once"}}}))
		list(b, "ledger", b.ledger(""), "1 once")
	}},
}
