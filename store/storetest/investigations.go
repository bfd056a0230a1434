package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"faultline/incident"
	"faultline/workflow"
)

// hostile is text that breaks what is careless: quotes, wildcards, placeholders, NUL, broken UTF-8, control characters.
const hostile = "50%_ of 'ranks' said \"no\"; -- $1 ? \\ \x00 \xff\xfe \u202e\u2028 🙂"

var investigationTests = []test{
	{"every id is given once, by any number at a time", func(b *bench) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		seen := map[string]bool{}
		for range 8 {
			wg.Go(func() {
				for range 10 {
					id, err := b.NewID(b.ctx)
					mu.Lock()
					if err != nil || seen[id] {
						b.Errorf("%s again, or %v", id, err)
					}
					seen[id] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for i := range 80 {
			if id := fmt.Sprintf("F-%d", i+1); !seen[id] {
				b.Errorf("%s was never given", id)
			}
		}
		b.reopen()
		id, err := b.NewID(b.ctx)
		b.check(err)
		same(b, "after a restart", id, "F-81")
	}},
	{"what was never saved is unknown", func(b *bench) {
		_, err := b.Load(b.ctx, "F-1")
		b.fails(workflow.ErrUnknown, err)
		list(b, "ledger", b.ledger("F-1"))
	}},
	{"a snapshot comes back whole, paths included", func(b *bench) {
		inv := opened("F-1")
		inv.Asked, inv.Since, inv.Key = b.time(), b.time(), "a key"
		inv.Sources = []incident.Source{{Name: "a.out", Path: "/spool/a.out", Bytes: 7}}
		inv.Open = []workflow.Question{{ID: 1, Kind: workflow.AskMissing, Items: []string{"n1", "n2"}, Asked: b.time()}}
		inv.Report = &incident.Report{Warnings: []string{"100% 'quoted'"}}
		inv.Outcome = &workflow.Outcome{Verdict: "wrong", Cause: "a cable"}
		b.save(inv)
		b.reopen()
		got := b.load()
		same(b, "version", got.Version, 1)
		same(b, "key", got.Key, "a key")
		same(b, "path", got.Sources[0].Path, "/spool/a.out")
		same(b, "question", got.Open[0].Items[1], "n2")
		same(b, "warning", got.Report.Warnings[0], "100% 'quoted'")
		same(b, "outcome", *got.Outcome, *inv.Outcome)
		same(b, "time", got.Since.Equal(inv.Since), true)
	}},
	{"what a caller changes later is not stored", func(b *bench) {
		inv := opened("F-1")
		inv.Places = []string{"a"}
		inv.Report = &incident.Report{Warnings: []string{"w"}}
		b.save(inv)
		inv.Places[0], inv.Report.Warnings[0] = "b", "x"
		got := b.load()
		same(b, "place", got.Places[0], "a")
		got.Report.Warnings[0] = "y"
		same(b, "warning", b.load().Report.Warnings[0], "w")
	}},
	{"of two who change one snapshot the second is refused", func(b *bench) {
		first := b.save(opened("F-1"))
		second := first
		b.save(first)
		b.fails(workflow.ErrConflict, b.Save(b.ctx, workflow.Change{Investigation: &second, Entries: []workflow.Entry{{Text: "no"}}}))
		begun := opened("F-1")
		b.fails(workflow.ErrConflict, b.Save(b.ctx, workflow.Change{Investigation: &begun}))
		later := opened("F-2")
		later.Version = 3
		b.fails(workflow.ErrConflict, b.Save(b.ctx, workflow.Change{Investigation: &later}))
		list(b, "ledger", b.ledger("F-1"))
		same(b, "version", b.load().Version, 2)
	}},
	{"of many who change one snapshot at once exactly one wins", func(b *bench) {
		inv := b.save(opened("F-1"))
		for round := range rounds {
			var won atomic.Int64
			atOnce(func(i int) {
				mine := inv
				switch err := b.Save(b.ctx, workflow.Change{Investigation: &mine, Entries: []workflow.Entry{{Text: fmt.Sprint(i)}}}); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, workflow.ErrConflict):
					b.Error(err)
				}
			})
			same(b, "winners", won.Load(), 1)
			same(b, "entries", len(b.ledger("F-1")), round+1)
			inv = b.load()
		}
	}},
	{"the same job is open once per team", func(b *bench) {
		first := opened("F-1")
		first.Job = "4242"
		first = b.save(first)
		second := opened("F-2")
		second.Job = "4242"
		b.fails(workflow.ErrOpen, b.Save(b.ctx, workflow.Change{Investigation: &second, Entries: []workflow.Entry{{Text: "no"}}}))
		list(b, "ledger", b.ledger("F-2"))
		for _, other := range []func(*workflow.Investigation){
			func(inv *workflow.Investigation) { inv.Home.Team = "T2" },
			func(inv *workflow.Investigation) { inv.Cluster = "east" },
			func(inv *workflow.Investigation) { inv.Job = "" },
			func(inv *workflow.Investigation) { inv.Job = "" },
		} {
			inv := opened(fmt.Sprint("X-", b.now.UnixMicro()))
			inv.Job = "4242"
			other(&inv)
			b.save(inv)
			b.pass(time.Second)
		}
		first.State = workflow.Closed
		first = b.save(first)
		second = b.save(second)
		first.State = workflow.Disputed // re-opened while the second one is open
		b.fails(workflow.ErrOpen, b.Save(b.ctx, workflow.Change{Investigation: &first}))
		second.State = workflow.Cancelled
		b.save(second)
		b.save(first)
	}},
	{"of many who open one job at once exactly one does", func(b *bench) {
		for round := range rounds {
			var won atomic.Int64
			atOnce(func(i int) {
				inv := opened(fmt.Sprintf("F-%d-%d", round, i))
				inv.Job = fmt.Sprint(round)
				switch err := b.Save(b.ctx, workflow.Change{Investigation: &inv}); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, workflow.ErrOpen):
					b.Error(err)
				}
			})
			same(b, "winners", won.Load(), 1)
		}
	}},
	{"of many who begin one investigation at once exactly one does", func(b *bench) {
		for round := range rounds {
			var won atomic.Int64
			atOnce(func(int) {
				inv := opened(fmt.Sprint("F-", round))
				switch err := b.Save(b.ctx, workflow.Change{Investigation: &inv}); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, workflow.ErrConflict):
					b.Error(err)
				}
			})
			same(b, "winners", won.Load(), 1)
		}
	}},
	{"lists select, newest first", func(b *bench) {
		for i, id := range []string{"F-1", "F-2", "F-3", "F-4"} {
			inv := opened(id)
			inv.Home.Channel = []string{"C1", "C2"}[i%2]
			inv.Home.Requester = []string{"U1", "U2"}[i/2]
			inv.State = []workflow.State{workflow.Requested, workflow.Reported, workflow.Closed, workflow.Failed}[i]
			inv.Told, inv.Asked = "headline of "+id, b.time()
			inv = b.save(inv)
			if id == "F-1" {
				b.save(inv) // a newer change makes it no newer investigation
			}
		}
		b.reopen()
		for _, tc := range []struct {
			q    workflow.Query
			want []string
		}{
			{workflow.Query{}, []string{"F-4", "F-3", "F-2", "F-1"}},
			{workflow.Query{Limit: 2}, []string{"F-4", "F-3"}},
			{workflow.Query{Open: true}, []string{"F-2", "F-1"}},
			{workflow.Query{ID: "F-3"}, []string{"F-3"}},
			{workflow.Query{ID: "F-3", Open: true}, nil},
			{workflow.Query{Team: "T1", Channel: "C2"}, []string{"F-4", "F-2"}},
			{workflow.Query{Team: "T2"}, nil},
			{workflow.Query{Requester: "U2"}, []string{"F-4", "F-3"}},
			{workflow.Query{Cluster: "west", Job: "job-F-2"}, []string{"F-2"}},
			{workflow.Query{Job: "job-F-_"}, nil},
			{workflow.Query{States: []workflow.State{workflow.Closed, workflow.Requested}}, []string{"F-3", "F-1"}},
			{workflow.Query{States: []workflow.State{workflow.Closed, workflow.Requested}, Open: true}, []string{"F-1"}},
		} {
			found, err := b.Find(b.ctx, tc.q)
			b.check(err)
			var ids []string
			for _, s := range found {
				ids = append(ids, s.ID)
			}
			list(b, fmt.Sprintf("%+v", tc.q), ids, tc.want...)
		}
		found, err := b.Find(b.ctx, workflow.Query{ID: "F-1"})
		b.check(err)
		want := b.load().Summary()
		same(b, "asked", found[0].Asked.Equal(want.Asked), true)
		found[0].Asked, found[0].Since, want.Asked, want.Since = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		same(b, "summary", found[0], want)
	}},
	{"a hostile job id is text like any other", func(b *bench) {
		inv := opened("F-1")
		inv.Job = "x' OR '1'='1 %_ \" -- \u202e"
		b.save(inv)
		b.save(opened("F-2"))
		found, err := b.Find(b.ctx, workflow.Query{Job: inv.Job})
		b.check(err)
		same(b, "found", len(found), 1)
		same(b, "job", found[0].Job, inv.Job)
	}},
	{"a ledger is numbered, keeps its times and takes any text", func(b *bench) {
		at := b.time().Add(-time.Hour).In(time.FixedZone("", 7200))
		inv := b.save(opened("F-1"), workflow.Change{Entries: []workflow.Entry{
			{At: at, Kind: "transition", From: workflow.Requested, Event: workflow.Start, To: workflow.LocatingJob, Actor: "U1", Text: hostile}, {Kind: "warning", Text: "2"}}})
		b.save(inv, workflow.Change{Entries: []workflow.Entry{{Text: "3"}}})
		b.check(b.Save(b.ctx, workflow.Change{About: "F-1", Entries: []workflow.Entry{{Text: "4"}}}))
		b.check(b.Save(b.ctx, workflow.Change{Entries: []workflow.Entry{{Kind: "refused", Actor: "U9", Text: "not permitted"}}}))
		b.reopen()
		list(b, "ledger", b.ledger("F-1"), "1 "+hostile, "2 2", "3 3", "4 4")
		list(b, "audit trail", b.ledger(""), "1 not permitted")
		entries, err := b.Ledger(b.ctx, "F-1")
		b.check(err)
		same(b, "first", entries[0], workflow.Entry{Seq: 1, At: at.UTC(), Kind: "transition", From: workflow.Requested,
			Event: workflow.Start, To: workflow.LocatingJob, Actor: "U1", Text: hostile})
		same(b, "the store's time", entries[1].At, b.time())
	}},
	{"an audit trail that many write at once has no holes", func(b *bench) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 5 {
					if err := b.Save(b.ctx, workflow.Change{Entries: []workflow.Entry{{Text: "x"}, {Text: "x"}}}); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		words := b.ledger("")
		same(b, "entries", len(words), 80)
		same(b, "last", slices.Contains(words, "80 x"), true)
	}},
}
