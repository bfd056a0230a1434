package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"faultline/workflow"
)

// Agree does the same random things to both stores and fails where somebody could see a difference. The first one is the
// model, which everybody can read: workflow.Memory. The clock is the one that both use; Agree moves it.
func Agree(t *testing.T, seed uint64, steps int, model, store workflow.Durable, move func(time.Duration)) {
	t.Helper()
	w := &walk{T: t, rnd: rand.New(rand.NewPCG(seed, 1)), move: move,
		sides: [2]*side{{Durable: model}, {Durable: store}}}
	for step := range steps {
		what := w.step()
		if a, b := w.sides[0].said, w.sides[1].said; a != b {
			w.differ(seed, step, what, a, b)
		}
		if step%10 == 0 || step == steps-1 {
			if a, b := w.sides[0].all(), w.sides[1].all(); a != b {
				w.differ(seed, step, what, a, b)
			}
		}
	}
	if w.sides[0].wrote < steps/10 {
		t.Errorf("seed %d: only %d of %d steps succeeded, which tests little", seed, w.sides[0].wrote, steps)
	}
}

// side is one of the two stores, and what is known of it.
type side struct {
	workflow.Durable
	leases []*workflow.Lease // ever claimed: stale ones are tried too
	said   string            // the result of the last step
	wrote  int               // steps without an error
}

type walk struct {
	*testing.T
	rnd   *rand.Rand
	sides [2]*side
	move  func(time.Duration)
	log   []string
}

func (w *walk) differ(seed uint64, step int, what, model, store string) {
	w.Helper()
	w.Fatalf("seed %d, step %d: %s\nthe model says\n%s\nthe store says\n%s\nafter\n%s", seed, step, what, model, store,
		strings.Join(w.log[max(0, len(w.log)-40):], "\n"))
}

var ids = []string{"F-1", "F-2", "F-3"}

func pick[T any](w *walk, from ...T) T { return from[w.rnd.IntN(len(from))] }

// both runs one thing on both sides and keeps what each says.
func (w *walk) both(what string, f func(s *side) (any, error)) string {
	w.log = append(w.log, what)
	for _, s := range w.sides {
		result, err := f(s)
		s.said = fmt.Sprintf("%+v, %s", result, class(err))
		if err == nil {
			s.wrote++
		}
	}
	w.log = append(w.log, "\t"+w.sides[0].said)
	return what
}

// class is what callers may tell of an error.
func class(err error) string {
	for _, known := range []error{workflow.ErrUnknown, workflow.ErrConflict, workflow.ErrLost, workflow.ErrOpen, workflow.ErrDoubled} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err != nil {
		return "error"
	}
	return "no error"
}

func (w *walk) step() string {
	ctx := context.Background()
	switch w.rnd.IntN(14) {
	case 0:
		d := pick(w, time.Second, time.Second, 40*time.Second, time.Hour, 25*time.Hour, -time.Minute)
		w.move(d)
		return w.both(fmt.Sprint("time passes: ", d), func(*side) (any, error) { return nil, nil })
	case 1, 2, 3:
		return w.change(ctx)
	case 4:
		jobs := []workflow.Job{w.job(), w.job()}
		return w.both(fmt.Sprintf("enqueue %+v", jobs), func(s *side) (any, error) { return s.Enqueue(ctx, jobs...) })
	case 5, 6:
		kinds, owner, lease := pick(w, []string{workflow.JobRun}, []string{workflow.JobRun, workflow.JobInbound}), pick(w, "w1", "w2"), pick(w, time.Second, time.Minute)
		return w.both(fmt.Sprint("claim ", kinds, owner, lease), func(s *side) (any, error) {
			l, err := s.Claim(ctx, kinds, owner, lease)
			if l == nil {
				return nil, err
			}
			s.leases = append(s.leases, l)
			shown := *l
			shown.ID = 0
			return shown, err
		})
	case 7, 8:
		return w.useLease(ctx)
	case 9, 10, 11, 12:
		return w.usePost(ctx)
	}
	switch w.rnd.IntN(8) {
	case 6, 7:
		return w.useNote(ctx)
	case 0:
		id := pick(w, ids...)
		return w.both("forget "+id, func(s *side) (any, error) { return nil, s.Forget(ctx, id, "U1") })
	case 1, 2:
		keep := pick(w, 0, time.Hour, 48*time.Hour)
		return w.both(fmt.Sprint("purge ", keep), func(s *side) (any, error) { return s.Purge(ctx, keep) })
	}
	q := workflow.Query{ID: pick(w, "", "", "F-1"), Job: pick(w, "", "4242"), Open: pick(w, true, false), Limit: w.rnd.IntN(3)}
	return w.both(fmt.Sprintf("find %+v", q), func(s *side) (any, error) { return s.Find(ctx, q) })
}

func (w *walk) job() workflow.Job {
	return workflow.Job{Key: fmt.Sprint("job", w.rnd.IntN(200)), Kind: pick(w, workflow.JobRun, workflow.JobRun, workflow.JobInbound),
		Investigation: pick(w, "", "F-1", "F-2"), Payload: []byte(pick(w, "", hostile)), After: pick(w, 0, 0, 30*time.Second)}
}

// change saves something, often with a part that must stop all others.
func (w *walk) change(ctx context.Context) string {
	id := pick(w, ids...)
	state := pick(w, workflow.Requested, workflow.Reported, workflow.Closed, workflow.Failed)
	job, stale, with := pick(w, "4242", "4242", "", "7"), pick(w, 0, 0, 0, 0, 0, 0, -1, 1), w.rnd.IntN(5) > 0
	c := workflow.Change{About: pick(w, "", id)}
	for range w.rnd.IntN(3) {
		c.Entries = append(c.Entries, workflow.Entry{Kind: "warning", Text: pick(w, "x", hostile)})
	}
	for range w.rnd.IntN(4) {
		c.Posts = append(c.Posts, w.post())
	}
	for range w.rnd.IntN(2) {
		c.Jobs = append(c.Jobs, w.job())
	}
	lease := -1
	if w.rnd.IntN(4) == 0 {
		lease = w.lease()
	}
	return w.both(fmt.Sprintf("save %v %s %s job %q stale by %d with lease %d: %+v", with, id, state, job, stale, lease, c), func(s *side) (any, error) {
		c := c
		if with {
			inv, err := s.Load(ctx, id)
			if err != nil {
				inv = workflow.Investigation{ID: id, Home: workflow.Home{Team: "T1"}}
			}
			inv.State, inv.Job = state, job
			inv.Version += stale
			c.Investigation = &inv
		}
		if lease >= 0 {
			c.Done = s.leases[lease]
		}
		return nil, s.Save(ctx, c)
	})
}

func (w *walk) post() workflow.Post {
	return workflow.Post{Investigation: pick(w, "", "F-1", "F-2", "F-2"), Channel: pick(w, "C1", "C1", "C2"),
		Kind:    pick(w, workflow.PostMessage, workflow.PostMessage, workflow.PostEdit, workflow.PostEdit, workflow.PostFiles, workflow.PostEphemeral, workflow.PostRemove),
		Key:     pick(w, "case", "case", "a", "b", "c", ""),
		Thread:  pick(w, "", "", "case"),
		LinkTo:  pick(w, "", "", "", "a"),
		Answer:  w.rnd.IntN(6) == 0,
		Topic:   pick(w, "", "", "t", "u"),
		Settles: w.rnd.IntN(4) == 0,
		Payload: fmt.Append(nil, "p", w.rnd.IntN(1000))}
}

// useNote writes a note, sometimes one that somebody has changed, or together with something that must stop it.
func (w *walk) useNote(ctx context.Context) string {
	key, value, stale, lost := pick(w, "a", "b"), pick(w, "", "x", hostile), pick(w, 0, 0, 0, -1, 1), pick(w, false, false, true)
	return w.both(fmt.Sprintf("note %s %q stale by %d, lost %v", key, value, stale, lost), func(s *side) (any, error) {
		n, err := s.Note(ctx, key)
		if err != nil {
			return nil, err
		}
		n.Value, n.Version = []byte(value), n.Version+stale
		c := workflow.Change{Notes: []workflow.Note{n}}
		if lost {
			c.Done = &workflow.Lease{Job: workflow.Job{ID: -1}}
		}
		return n.Version, s.Save(ctx, c)
	})
}

// lease is one of the newest, −1 while there is none.
func (w *walk) lease() int {
	n := len(w.sides[0].leases)
	return max(n-1-w.rnd.IntN(3), -1)
}

func (w *walk) useLease(ctx context.Context) string {
	i := w.lease()
	if i < 0 {
		return w.both("no lease", func(*side) (any, error) { return nil, nil })
	}
	what, after := pick(w, "extend", "finish", "release", "fail", "bury"), pick(w, 0, time.Minute)
	return w.both(fmt.Sprint(what, i, after), func(s *side) (any, error) {
		l := s.leases[i]
		switch what {
		case "extend":
			err := s.Extend(ctx, l, after)
			return l.Until, err
		case "finish":
			return nil, s.Finish(ctx, l)
		case "release":
			return nil, s.Release(ctx, l, after, nil)
		case "fail":
			return nil, s.Release(ctx, l, after, errors.New(hostile))
		}
		return nil, s.Bury(ctx, l, "why")
	})
}

// usePost does something to a post that is due, or to any.
func (w *walk) usePost(ctx context.Context) string {
	what := pick(w, "sending", "deliver", "deliver", "deliver", "sent", "requeue", "mark", "undeliverable")
	id, n, after, listed := pick(w, "", "F-1", "F-2"), w.rnd.IntN(50), pick(w, 0, time.Minute), pick(w, true, true, false)
	return w.both(fmt.Sprint(what, " post ", n, " of ", id, ", due ", listed, ", after ", after), func(s *side) (any, error) {
		posts, err := s.Due(ctx, 0)
		if !listed && err == nil {
			posts, err = s.Posts(ctx, id)
		}
		if err != nil || len(posts) == 0 {
			return nil, err
		}
		p := posts[n%len(posts)]
		switch what {
		case "sending":
			err = s.Sending(ctx, p.ID)
		case "deliver":
			if err = s.Sending(ctx, p.ID); err == nil {
				err = s.Sent(ctx, p.ID, "ts-"+string(p.Payload), "link")
			}
		case "sent":
			err = s.Sent(ctx, p.ID, "ts", "")
		case "requeue", "mark":
			err = s.Requeue(ctx, p.ID, after, hostile, what == "mark")
		case "undeliverable":
			err = s.Undeliverable(ctx, p.ID, "why")
		}
		return fmt.Sprint(shown(posts...), " of which ", shown(p)), err
	})
}

// shown is everything about posts that is the same in all stores: numbers may have holes.
func shown(posts ...workflow.Post) string {
	var b strings.Builder
	for _, p := range posts {
		p.ID = 0
		fmt.Fprintf(&b, "%+v\n", p)
	}
	return b.String()
}

// all is everything that can be seen of a store.
func (s *side) all() string {
	ctx := context.Background()
	var b strings.Builder
	say := func(what string, result any, err error) { fmt.Fprintf(&b, "%s: %+v, %s\n", what, result, class(err)) }
	for _, id := range append(ids, "") {
		inv, err := s.Load(ctx, id)
		say(id, inv, err)
		entries, err := s.Ledger(ctx, id)
		say("ledger", entries, err)
		posts, err := s.Posts(ctx, id)
		say("posts", shown(posts...), err)
		for _, key := range []string{"case", "a", ""} {
			p, err := s.Posted(ctx, id, key)
			say("posted", shown(p), err)
		}
	}
	jobs, err := s.Waiting(ctx)
	for i := range jobs {
		jobs[i].ID = 0
	}
	say("waiting", jobs, err)
	found, err := s.Find(ctx, workflow.Query{})
	say("found", found, err)
	posts, err := s.Due(ctx, 0)
	say("due", shown(posts...), err)
	posts, err = s.Unsettled(ctx)
	say("unsettled", shown(posts...), err)
	for _, key := range []string{"a", "b"} {
		note, err := s.Note(ctx, key)
		say("note", note, err)
	}
	n, oldest, err := s.Backlog(ctx)
	say("backlog", fmt.Sprint(n, oldest), err)
	return b.String()
}
