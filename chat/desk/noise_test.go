package desk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/chat"
	"faultline/incident"
	"faultline/workflow"
)

// worlds are ways in which everything around an investigation changes all the time; n counts the looks.
var worlds = map[string]func(s *stage, n int){
	"a core dump that grows": func(s *stage, n int) {
		s.grows(n)
		s.engine.diagnose = func(analysis.Input) (*incident.Report, error) { return nil, analysis.ErrNothingToRead }
	},
	"every look overturns the verdict": func(s *stage, n int) {
		s.grows(n)
		s.engine.diagnose = func(analysis.Input) (*incident.Report, error) {
			r := report([]string{"gpu-ecc", "rank-stalled"}[n%2], incident.Probable)
			r.Verdict.Root.Nodes = []string{fmt.Sprint("node", n)}
			r.Coverage.NodesMissing = []string{fmt.Sprint("gone", n)}
			r.Storage.Signs = lateData
			return r, nil
		}
	},
	"every step fails": func(s *stage, n int) {
		s.grows(n)
		s.engine.diagnose = func(analysis.Input) (*incident.Report, error) { return nil, fmt.Errorf("failure %d", n) }
	},
	"nothing changes": func(*stage, int) {},
}

func init() {
	worlds["everything in turn"] = func(s *stage, n int) {
		names := []string{"a core dump that grows", "every look overturns the verdict", "every step fails"}
		worlds[names[n%len(names)]](s, n)
		if n%4 == 0 { // it runs again
			s.fetch.quiet["west/12345"] = s.now
		}
		if n%5 == 0 {
			delete(s.fetch.where, "west/12345")
		}
	}
}

// grows makes the only file a longer one.
func (s *stage) grows(n int) {
	place := "/logs/west/12345"
	s.fetch.where["west/12345"] = []string{place}
	s.fetch.files[place] = []incident.Source{{Name: "12345.out", Path: place + "/12345.out", Bytes: int64(100 + n)}}
}

// listener stands in for the chat: it takes what may be sent and notes when.
type listener struct {
	*stage
	heard []time.Time
	keys  []string
}

func (l *listener) listen() {
	l.t.Helper()
	ctx := context.Background()
	for {
		posts, err := l.store.Due(ctx, 0)
		if err != nil {
			l.t.Fatal(err)
		}
		if len(posts) == 0 {
			return
		}
		for _, p := range posts {
			if errors.Is(l.store.Sending(ctx, p.ID), workflow.ErrLost) {
				continue
			}
			if err := l.store.Sent(ctx, p.ID, fmt.Sprint(p.ID), ""); err != nil {
				l.t.Fatal(err)
			}
			switch {
			case p.Investigation != "F-1":
			case p.Kind == workflow.PostMessage, p.Kind == workflow.PostFiles:
				l.heard, l.keys = append(l.heard, l.now), append(l.keys, p.Key)
			}
		}
	}
}

// most is the largest number of messages that were heard within an hour.
func (l *listener) most() int {
	most := 0
	for i := range l.heard {
		n := 0
		for j := i; j < len(l.heard) && l.heard[j].Sub(l.heard[i]) < time.Hour; j++ {
			n++
		}
		most = max(most, n)
	}
	return most
}

// lives lets time pass, with news pushed at every look.
func (l *listener) lives(d, step time.Duration, world func(s *stage, n int)) {
	l.t.Helper()
	ctx := context.Background()
	n := 0
	for end := l.now.Add(d); l.now.Before(end); n++ {
		l.now = l.now.Add(step)
		if world != nil {
			world(l.stage, n)
			if err := l.desk.Arrived(ctx, "west", "12345"); err != nil {
				l.t.Fatal(err)
			}
		}
		if _, err := l.store.Enqueue(ctx, workflow.Job{Key: fmt.Sprint("timers", l.now), Kind: workflow.JobTimers}, workflow.Job{Key: fmt.Sprint("watch", l.now), Kind: workflow.JobWatch}); err != nil {
			l.t.Fatal(err)
		}
		l.settle()
		l.listen()
	}
}

// in puts F-1 into a state as if it had come there an hour ago.
func (l *listener) in(state workflow.State) {
	l.t.Helper()
	ctx := context.Background()
	l.does(chat.Inbound{Kind: chat.Command, Channel: "C1", Text: "12345"})
	inv := l.stage.at("F-1", workflow.Reported)
	inv.State, inv.Since = state, l.now.Add(-time.Hour)
	if row, _ := workflow.About(state); row.Phase == "0 obtain" { // nothing was found so far
		inv.Report, inv.Sources, inv.Places, inv.Told, inv.Verdicts, inv.Final, inv.Open = nil, nil, nil, "", 0, 0, nil
	}
	if err := l.store.Save(ctx, workflow.Change{Investigation: &inv}); err != nil {
		l.t.Fatal(err)
	}
	l.listen()
	if err := l.workers.Resume(ctx); err != nil {
		l.t.Fatal(err)
	}
}

// The bound holds in every state there is, whatever goes on around it, and what was held back is not lost.
func TestNoStateSaysMoreThanTheBound(t *testing.T) {
	look := 4 * time.Minute // fifteen looks in an hour, in which six messages are allowed
	if os.Getenv("FAULTLINE_FULL") != "" {
		look = 90 * time.Second
	}
	for _, row := range workflow.States {
		for name, world := range worlds {
			t.Run(string(row.State)+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				s.looksAgain()
				s.desk.Flow.AskStorage = true
				l := &listener{stage: s}
				l.in(row.State)
				// The first report is the answer to who asked.
				inv, _ := s.store.Load(context.Background(), "F-1")
				if inv.Report == nil {
					inv.Verdicts, inv.Final = 1, 1
					if err := s.store.Save(context.Background(), workflow.Change{Investigation: &inv}); err != nil {
						t.Fatal(err)
					}
				}
				l.heard, l.keys = nil, nil
				l.lives(75*time.Minute, look, world)
				if most := l.most(); most > workflow.UnaskedMost {
					t.Errorf("%d messages in an hour: %s", most, strings.Join(l.keys, " "))
				}
				l.lives(3*time.Hour, 2*look, nil)
				if most := l.most(); most > workflow.UnaskedMost {
					t.Errorf("%d messages in an hour, at last: %s", most, strings.Join(l.keys, " "))
				}
				l.nothingLost()
			})
		}
	}
}

// nothingLost fails where something is still held, or where people did not get the newest verdict or the reason for silence.
func (l *listener) nothingLost() {
	l.t.Helper()
	ctx := context.Background()
	posts, err := l.store.Posts(ctx, "F-1")
	if err != nil {
		l.t.Fatal(err)
	}
	inv, err := l.store.Load(ctx, "F-1")
	if err != nil {
		l.t.Fatal(err)
	}
	held, told := false, false
	for _, p := range posts {
		held = held || p.State == workflow.PostCoalesced && p.Unasked()
		told = told || p.State == workflow.PostSent && strings.HasPrefix(p.Key, "holding-")
		if p.State == workflow.PostQueued {
			l.t.Errorf("%s %s still waits", p.Kind, p.Key)
		}
	}
	if held && !told {
		l.t.Errorf("nobody was told that something was held back; heard %s", strings.Join(l.keys, " "))
	}
	if inv.Verdicts > 1 {
		arrived := false
		for _, key := range []string{"verdict-", "final-"} {
			_, err := l.store.Posted(ctx, "F-1", fmt.Sprint(key, inv.Verdicts))
			arrived = arrived || err == nil
		}
		if !arrived {
			l.t.Errorf("verdict %d, the newest, did not arrive; heard %s", inv.Verdicts, strings.Join(l.keys, " "))
		}
	}
}

// A watched job nobody asked for: its first report counts, and so do the messages to the owners of jobs that failed alike.
func TestAWatchedCaseSaysNoMoreThanTheBound(t *testing.T) {
	s := newWatchStage(t)
	s.looksAgain()
	l := &listener{stage: s.stage}
	n := 0
	s.engine.diagnose = func(in analysis.Input) (*incident.Report, error) {
		r := report([]string{"gpu-ecc", "node-lost"}[n%2], incident.Confirmed)
		r.Verdict.Root.Nodes = []string{"n7a"}
		r.Coverage.NodesMissing = []string{fmt.Sprint("gone", n)}
		return r, nil
	}
	s.ended("7")
	for ; n < 150; n++ {
		if n < 80 {
			s.fetch.files["/logs/west/7"] = []incident.Source{{Name: "7.out", Path: "/logs/west/7/out", Bytes: int64(100 + n)}}
			if err := s.desk.Arrived(context.Background(), "west", "7"); err != nil {
				t.Fatal(err)
			}
			if n%4 == 3 {
				user := fmt.Sprint("user", n)
				s.policy.Identity["U"+user] = user
				s.ended(fmt.Sprint(100+n), of(user), on("n7a"))
			}
		}
		s.passes(1)
		l.listen()
	}
	if most := l.most(); most > workflow.UnaskedMost {
		t.Errorf("%d messages in an hour: %s", most, strings.Join(l.keys, " "))
	}
	for range 300 {
		s.passes(1)
		l.listen()
	}
	if most := l.most(); most > workflow.UnaskedMost {
		t.Errorf("%d messages in an hour, at last: %s", most, strings.Join(l.keys, " "))
	}
	l.nothingLost()
	t.Log(strings.Join(l.keys, " "))
}
