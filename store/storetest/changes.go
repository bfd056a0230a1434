package storetest

import (
	"faultline/workflow"
)

// changeTests are about Change: every part or nothing.
var changeTests = []test{
	{"every part of a change is written", func(b *bench) {
		b.enqueue(run("a", "F-1"))
		l := b.must("w1", "a")
		c := fullChange(opened("F-1"))
		c.Done = l
		b.check(b.Save(b.ctx, c))
		b.reopen()
		same(b, "version", b.load().Version, 1)
		list(b, "ledger", b.ledger("F-1"), "1 entry")
		list(b, "jobs", b.waiting(), "next")
		list(b, "due", b.due(), "case")
		b.fails(workflow.ErrLost, b.Finish(b.ctx, l))
	}},
	{"a change without a job that is lost writes nothing", func(b *bench) {
		b.enqueue(run("a", "F-1"))
		l := b.must("w1", "a")
		b.pass(hour)
		b.must("w2", "a")
		c := fullChange(opened("F-1"))
		c.Done = l
		b.fails(workflow.ErrLost, b.Save(b.ctx, c))
		b.nothingOf("F-1")
		list(b, "jobs", b.waiting(), "a")
	}},
	{"a change of a stale snapshot writes nothing and keeps its job", func(b *bench) {
		b.save(opened("F-1"))
		b.enqueue(run("a", "F-1"))
		l := b.must("w1", "a")
		c := fullChange(opened("F-1"))
		c.Done = l
		b.fails(workflow.ErrConflict, b.Save(b.ctx, c))
		list(b, "ledger", b.ledger("F-1"))
		list(b, "due", b.due())
		list(b, "jobs", b.waiting(), "a")
		b.check(b.Finish(b.ctx, l))
	}},
	{"a change that says one thing twice writes nothing", func(b *bench) {
		c := fullChange(opened("F-1"))
		c.Posts = append(c.Posts, message("case"))
		b.fails(workflow.ErrDoubled, b.Save(b.ctx, c))
		b.nothingOf("F-1")
		b.post(message("case"))
		c = fullChange(opened("F-1"))
		b.fails(workflow.ErrDoubled, b.Save(b.ctx, c))
		_, err := b.Load(b.ctx, "F-1")
		b.fails(workflow.ErrUnknown, err)
		list(b, "jobs", b.waiting())
	}},
	{"a change with a job that has no key writes nothing", func(b *bench) {
		c := fullChange(opened("F-1"))
		c.Jobs = append(c.Jobs, workflow.Job{Kind: workflow.JobRun})
		if err := b.Save(b.ctx, c); err == nil {
			b.Fatal("no error")
		}
		b.nothingOf("F-1")
	}},
	{"a job that is already known does not stop a change", func(b *bench) {
		b.enqueue(run("next", "F-1"))
		b.check(b.Save(b.ctx, fullChange(opened("F-1"))))
		list(b, "jobs", b.waiting(), "next")
		same(b, "version", b.load().Version, 1)
	}},
	{"an empty change is none", func(b *bench) {
		b.check(b.Save(b.ctx, workflow.Change{}))
	}},
	{"keys are free again after a message was given up, and for others", func(b *bench) {
		b.post(message("case"))
		b.check(b.Undeliverable(b.ctx, b.find("case").ID, "not in the channel"))
		again := message("case")
		again.Payload = []byte("again")
		b.post(again)
		other := message("case")
		other.Investigation = "F-2"
		files := message("case")
		files.Kind = workflow.PostFiles
		b.post(other, files, edit("case", "edit"), edit("case", "edit"), message(""), message(""))
		b.post(workflow.Post{Kind: workflow.PostMessage, Key: "k"}, workflow.Post{Kind: workflow.PostMessage, Key: "k"})
	}},
}

func fullChange(inv workflow.Investigation) workflow.Change {
	return workflow.Change{
		Investigation: &inv,
		Entries:       []workflow.Entry{{Text: "entry"}},
		Posts:         []workflow.Post{message("case")},
		Jobs:          []workflow.Job{run("next", inv.ID)},
	}
}

// nothingOf fails when anything of fullChange is there.
func (b *bench) nothingOf(id string) {
	b.Helper()
	_, err := b.Load(b.ctx, id)
	b.fails(workflow.ErrUnknown, err)
	list(b, "ledger", b.ledger(id))
	list(b, "due", b.due())
	for _, key := range b.waiting() {
		if key == "next" {
			b.Fatal("the next job is there")
		}
	}
}
