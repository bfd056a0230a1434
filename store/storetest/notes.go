package storetest

import (
	"sync/atomic"

	"faultline/workflow"
)

func (b *bench) note(key string) workflow.Note {
	b.Helper()
	n, err := b.Note(b.ctx, key)
	b.check(err)
	return n
}

func (b *bench) keep(notes ...workflow.Note) error {
	return b.Save(b.ctx, workflow.Change{Notes: notes})
}

var noteTests = []test{
	{"a note that was never written is empty", func(b *bench) {
		n := b.note("x")
		same(b, "key", n.Key, "x")
		same(b, "version", n.Version, 0)
		same(b, "value", len(n.Value), 0)
	}},
	{"a note is what was written last, also after a restart", func(b *bench) {
		for i, value := range []string{"one", "", "\x00\xff"} {
			n := b.note("x")
			same(b, "version", n.Version, i)
			n.Value = []byte(value)
			b.check(b.keep(n))
			b.reopen()
			same(b, "value", string(b.note("x").Value), value)
		}
		same(b, "another", b.note("X").Version, 0)
	}},
	{"a note that somebody else changed is not overwritten, and nothing else is written", func(b *bench) {
		stale := b.note("x")
		b.check(b.keep(workflow.Note{Key: "x", Value: []byte("theirs")}))
		b.fails(workflow.ErrConflict, b.keep(stale))
		stale.Version = 7
		b.fails(workflow.ErrConflict, b.keep(stale))
		b.fails(workflow.ErrConflict, b.keep(workflow.Note{Key: "never", Version: 1}))
		c := fullChange(opened("F-2"))
		c.Notes = []workflow.Note{{Key: "new", Value: []byte("mine")}, {Key: "x", Value: []byte("mine")}}
		b.fails(workflow.ErrConflict, b.Save(b.ctx, c))
		b.nothingOf("F-2")
		same(b, "the other note", b.note("new").Version, 0)
		same(b, "value", string(b.note("x").Value), "theirs")
		list(b, "jobs", b.waiting())
	}},
	{"a note is written together with the end of its job, or not at all", func(b *bench) {
		b.enqueue(run("a", ""))
		l := b.must("w1", "a")
		b.pass(hour)
		again := b.must("w2", "a")
		b.fails(workflow.ErrLost, b.Save(b.ctx, workflow.Change{Notes: []workflow.Note{{Key: "x"}}, Done: l}))
		same(b, "version", b.note("x").Version, 0)
		b.check(b.Save(b.ctx, workflow.Change{Notes: []workflow.Note{{Key: "x"}}, Done: again, Jobs: []workflow.Job{run("b", "")}}))
		same(b, "version", b.note("x").Version, 1)
		list(b, "jobs", b.waiting(), "b")
	}},
	{"of many who change a note at once, one does", func(b *bench) {
		for round := range rounds {
			n := b.note("x")
			same(b, "version", n.Version, round)
			var won, lost atomic.Int32
			atOnce(func(int) {
				switch err := b.keep(n); {
				case err == nil:
					won.Add(1)
				default:
					lost.Add(1)
				}
			})
			if won.Load() != 1 || lost.Load() != 7 {
				b.Fatalf("%d won, %d lost", won.Load(), lost.Load())
			}
		}
	}},
	{"two notes in either order do not stop each other", func(b *bench) {
		for range rounds {
			x, y := b.note("x"), b.note("y")
			atOnce(func(i int) {
				if i%2 == 0 {
					_ = b.keep(x, y)
				} else {
					_ = b.keep(y, x)
				}
			})
			same(b, "x and y", b.note("x").Version-x.Version+b.note("y").Version-y.Version, 2)
		}
	}},
	{"a note without a key is refused", func(b *bench) {
		if b.keep(workflow.Note{Value: []byte("x")}) == nil {
			b.Fatal("written")
		}
	}},
}
