package storetest

import (
	"strings"
	"time"

	"faultline/workflow"
)

func (b *bench) purge(keep time.Duration) int {
	b.Helper()
	n, err := b.Purge(b.ctx, keep)
	b.check(err)
	return n
}

var retentionTests = []test{
	{"a key is known for a day after its job is done", func(b *bench) {
		b.enqueue(run("a", ""), run("b", ""), run("c", ""))
		l := b.must("w", "a")
		b.pass(100 * hour)
		b.check(b.Finish(b.ctx, l))
		b.check(b.Bury(b.ctx, b.must("w", "b"), "x"))
		b.pass(workflow.KeepKeys - time.Microsecond)
		same(b, "removed early", b.purge(0), 0)
		same(b, "again", b.enqueue(run("a", ""), run("b", "")), 0)
		b.pass(time.Microsecond)
		same(b, "to be kept longer", b.purge(workflow.KeepKeys+1*hour), 0)
		same(b, "removed", b.purge(0), 2)
		same(b, "again", b.enqueue(run("a", "")), 1)
		list(b, "waiting", b.waiting(), "c", "a")
	}},
	{"posts go when their investigation is settled and they are old", func(b *bench) {
		inv := b.save(opened("F-1"))
		b.post(message("case"), edit("case", "e1"), edit("case", "e2"), message("lost"))
		b.send("case")
		b.due()
		b.send("e2")
		b.check(b.Undeliverable(b.ctx, b.find("lost").ID, "x"))
		b.pass(10 * hour)
		same(b, "while it is open", b.purge(hour), 0)
		inv.State = workflow.Closed
		b.save(inv)
		same(b, "while they are young", b.purge(11*hour), 0)
		b.post(message("bye"))
		same(b, "while something is to be said", b.purge(hour), 0)
		b.send("bye")
		same(b, "removed", b.purge(hour), 4)
		posts, err := b.Posts(b.ctx, "F-1")
		b.check(err)
		list(b, "left", payloads(posts), "bye")
		same(b, "investigation", b.load().State, workflow.Closed)
	}},
	{"answers that belong to no investigation go when they are old", func(b *bench) {
		b.post(workflow.Post{Kind: workflow.PostEphemeral, Payload: []byte("a")}, workflow.Post{Kind: workflow.PostEphemeral, Payload: []byte("b")})
		b.send("a")
		b.pass(2 * hour)
		same(b, "removed", b.purge(hour), 1)
		list(b, "due", b.due(), "b")
	}},
	{"of a forgotten investigation the fact is left", func(b *bench) {
		for _, id := range []string{"F-1", "F-2"} {
			b.check(b.Save(b.ctx, workflow.Change{Investigation: new(opened(id)), Entries: []workflow.Entry{{Kind: "error", Text: "private"}, {Text: "private"}},
				Jobs: []workflow.Job{{Key: "queued-" + id, Kind: workflow.JobRun, Investigation: id, Payload: []byte("private"), After: hour},
					{Key: "claimed-" + id, Kind: workflow.JobRun, Investigation: id, Payload: []byte("private")}},
				Posts: []workflow.Post{{Investigation: id, Kind: workflow.PostMessage, Key: "case", Channel: id, Payload: []byte("private " + id)}}}))
		}
		claimed := b.must("w", "claimed-F-1")
		b.pass(time.Minute / 2)
		b.check(b.Forget(b.ctx, "F-1", "U7"))
		b.reopen()
		_, err := b.Load(b.ctx, "F-1")
		b.fails(workflow.ErrUnknown, err)
		entries, err := b.Ledger(b.ctx, "F-1")
		b.check(err)
		same(b, "entries", len(entries), 1)
		same(b, "fact", entries[0], workflow.Entry{Seq: 1, At: b.time(), Kind: workflow.EntryForgotten, Actor: "U7"})
		posts, err := b.Posts(b.ctx, "F-1")
		b.check(err)
		same(b, "posts", len(posts), 0)
		found, err := b.Find(b.ctx, workflow.Query{})
		b.check(err)
		same(b, "found", len(found), 1)
		list(b, "due", b.due(), "private F-2")
		jobs, err := b.Waiting(b.ctx)
		b.check(err)
		for _, j := range jobs {
			if !strings.HasSuffix(j.Key, "F-2") && (j.Key != "claimed-F-1" || j.Investigation != "" || len(j.Payload) > 0) {
				b.Errorf("left: %+v", j)
			}
		}
		same(b, "a repeated delivery", b.enqueue(run("queued-F-1", "F-1")), 0)
		b.check(b.Finish(b.ctx, claimed)) // it may be the job that forgot
		b.pass(hour)
		b.check(b.Forget(b.ctx, "F-1", "U8"))
		entries, err = b.Ledger(b.ctx, "F-1")
		b.check(err)
		same(b, "twice is once", len(entries) == 1 && entries[0].Actor == "U7", true)
		same(b, "the other one", len(b.ledger("F-2")), 2)
	}},
	{"a job of what is forgotten can still not write", func(b *bench) {
		inv := b.save(opened("F-1"))
		b.check(b.Forget(b.ctx, "F-1", "U7"))
		b.fails(workflow.ErrConflict, b.Save(b.ctx, workflow.Change{Investigation: &inv}))
	}},
	{"only what was there can be forgotten", func(b *bench) {
		b.check(b.Save(b.ctx, workflow.Change{Entries: []workflow.Entry{{Text: "audit"}}}))
		b.fails(workflow.ErrUnknown, b.Forget(b.ctx, "F-9", "U1"))
		b.fails(workflow.ErrUnknown, b.Forget(b.ctx, "", "U1"))
		list(b, "audit trail", b.ledger(""), "1 audit")
		list(b, "ledger", b.ledger("F-9"))
	}},
	{"what was forgotten gives its job free", func(b *bench) {
		inv := opened("F-1")
		inv.Job = "4242"
		b.save(inv)
		b.check(b.Forget(b.ctx, "F-1", "U7"))
		inv.ID = "F-2"
		b.save(inv)
	}},
}
