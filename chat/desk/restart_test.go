package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/chat"
	"faultline/config"
	"faultline/incident"
	"faultline/messages"
	"faultline/workflow"
)

// plays are conversations that must end alike however often the bot dies in them.
var plays = map[string]func(s *stage){
	"a case": func(s *stage) { s.says("12345") },
	"a revision": func(s *stage) {
		s.overturns()
		s.says("12345")
		s.does(upload("U3", "F-1 1 upload"))
		s.does(submission("U1", messages.ViewClose, "F-1 0 close", map[string]string{messages.FieldVerdict: "right"}))
	},
	"a rerun": func(s *stage) {
		s.says("12345")
		s.says("rerun F-1")
	},
	"a token": func(s *stage) {
		s.desk.Flow.AskStorage = true
		s.desk.Storage = &access{}
		s.engine.diagnose = func(analysis.Input) (*incident.Report, error) {
			r := report("dataloader-stall", incident.Probable)
			r.Storage.Signs = lateData
			return r, nil
		}
		s.says("12345")
		in := submission("U1", messages.ViewAIS, "F-1 1 "+actAccess, map[string]string{messages.FieldEndpoint: "https://ais"})
		in.View.Secrets = []string{messages.FieldToken}
		in.Key = "token"
		s.vault["token"] = map[string]config.Secret{messages.FieldToken: "hunter2hunter2"}
		s.does(in)
	},
	"a running job": runningJob,
	"a fix that holds": func(s *stage) {
		fixStage(s, ran(90))
		s.says("12345")
		s.says("fixed F-1 12399 halved the batch")
		s.says("postmortem F-1")
	},
	"a search for a culprit": func(s *stage) {
		isolating(s)
		for _, said := range []string{"1a=fail", "2a=pass", "2b=fail"} {
			s.does(press("U3", actTested+"/"+said, "F-1 0 "+said))
		}
	},
	"work and a reminder": func(s *stage) {
		s.says("12345")
		s.says("work F-1")
		s.says("work F-1 w1 nobody looked")
		s.says("work F-1 add alert on memory")
		s.says("work F-1 a1 me 2026-01-02")
		s.while(time.Minute, s.settle)
		if text := s.transcript(); strings.Count(text, "a1 was due on 2 January: ") != 1 {
			s.t.Errorf("not one reminder:\n%s", text)
		}
	},
	"a month": func(s *stage) {
		s.policy.Watches = []Watch{{Cluster: "west", Channel: "C1", Every: time.Minute}, {Cluster: "east", Channel: "C1", Every: time.Minute}}
		s.workers.Watcher = &Watcher{Desk: s.desk, Self: func() (string, string) { return "T1", "UBOT" }, Log: slog.New(slog.DiscardHandler)}
		s.says("12345")
		s.now = time.Date(s.now.Year(), s.now.Month()+1, 1, 8, 0, 0, 0, time.UTC)
		for _, r := range routines {
			if r.kind == workflow.JobMonth {
				if err := r.insert(context.Background(), s.store, s.now); err != nil {
					s.t.Fatal(err)
				}
			}
		}
		s.while(time.Minute, s.settle)
		if text := s.transcript(); strings.Count(text, "2026: 1 case") != 1 {
			s.t.Errorf("the month is not posted once:\n%s", text)
		}
	},
	"a fix that is none": func(s *stage) {
		fixStage(s, failedAgain)
		s.says("12345")
		s.says("12399")
		s.says("fixed F-1 12399")
	},
	"dispute and mute": func(s *stage) {
		s.overturns()
		s.says("12345")
		s.says("mute F-1")
		s.does(press("U1", actMute, "F-1"))
		s.says("dispute F-1 no")
		s.does(press("U1", actUphold, "F-1"))
	},
	"refusals": func(s *stage) {
		s.does(command("C7", "12345"))
		s.says("cancel")
		s.says("west:777")
		s.does(by("U3", command("C1", "cancel F-1")))
		s.says("cancel F-1")
	},
}

// shape is everything that people see and that is kept, without numbers that the store gives.
func (s *stage) shape() string {
	var b strings.Builder
	b.WriteString(s.transcript())
	rows, _ := s.store.Find(context.Background(), workflow.Query{Limit: 1000})
	for _, r := range rows {
		fmt.Fprintf(&b, "%s %s %s %d\n", r.ID, r.State, r.Headline, r.Version)
		entries, _ := s.store.Ledger(context.Background(), r.ID)
		for _, e := range entries {
			fmt.Fprintf(&b, "  %s %s %s %s %s\n", e.Kind, e.Event, e.To, e.Actor, e.Text)
		}
	}
	return strings.NewReplacer(s.logs, "LOGS", s.desk.Spool, "SPOOL").Replace(b.String())
}

// A write that fails, and one that is done although its answer is lost, leave nothing twice and nothing out.
func TestAnyWriteMayFail(t *testing.T) {
	for name, play := range plays {
		t.Run(name, func(t *testing.T) {
			calm := newStage(t)
			play(calm)
			want, writes := calm.shape(), calm.store.writes
			if writes < 4 {
				t.Fatalf("only %d writes", writes)
			}
			step := 1
			if testing.Short() {
				step = 5
			}
			for _, after := range []bool{false, true} {
				for n := 1; n <= writes; n += step {
					s := newStage(t)
					s.store.failAt, s.store.after = n, after
					play(s)
					if got := s.shape(); got != want {
						t.Fatalf("write %d failed (after it was done: %v):\n%s", n, after, difference(want, got))
					}
					if d := doubled(s.all()); len(d) > 0 {
						t.Errorf("write %d: doubled: %q", n, d)
					}
				}
			}
		})
	}
}

func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i, strings.Join(a[max(0, i-2):min(i+4, len(a))], "\n     "), strings.Join(b[max(0, i-2):min(i+4, len(b))], "\n     "))
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(b), len(a))
}

func TestTheSameActTwiceIsDoneOnce(t *testing.T) {
	s := newStage(t)
	in := command("C1", "12345")
	in.Key = "twice"
	s.does(in)
	before := s.shape()
	s.does(in)
	if after := s.shape(); after != before {
		t.Error(difference(before, after))
	}
}

func TestAfterARestartUnfinishedInvestigationsGoOn(t *testing.T) {
	s := newStage(t)
	s.put(command("C1", "12345"))
	ctx := context.Background()
	if did, err := s.workers.Do(ctx, workflow.JobInbound); !did || err != nil {
		t.Fatal(did, err)
	}
	l, err := s.store.Claim(ctx, []string{workflow.JobRun}, "dead", time.Minute) // and its process dies
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	if err := s.store.Memory.Finish(ctx, l); err != nil { // the job is gone, the work is not done
		t.Fatal(err)
	}
	s.settle()
	s.at("F-1", workflow.Requested)
	for range 2 { // starting twice does no harm
		if err := s.workers.Resume(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if jobs, _ := s.store.Waiting(ctx, workflow.JobRun); len(jobs) != 1 {
		t.Errorf("%d jobs", len(jobs))
	}
	s.settle()
	s.at("F-1", workflow.Reported)
}

func TestAfterARestartATypedAccessIsAskedForAgain(t *testing.T) {
	s := newStage(t)
	plays["a token"](s)
	inv := s.at("F-1", workflow.Reported)
	inv.State, inv.Open = workflow.AwaitingAIS, []workflow.Question{{ID: 1, Kind: workflow.AskAccess, Text: "?"}}
	inv.Storage = "provided by U1"
	if err := s.store.Save(context.Background(), workflow.Change{Investigation: &inv}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.workers.Resume(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if inv = s.at("F-1", workflow.AwaitingAIS); inv.Storage != "lost" {
		t.Errorf("storage %q", inv.Storage)
	}
	n := 0
	for _, p := range s.all() {
		if strings.HasPrefix(p.Key, "lost-") {
			n++
			if text := textOf(t, p); !strings.Contains(text, "only in memory") {
				t.Errorf("%q", text)
			}
		}
	}
	if n != 1 {
		t.Errorf("asked again %d times", n)
	}
}

func TestATokenIsNowhereButInMemory(t *testing.T) {
	const token = "hunter2hunter2"
	s := newStage(t)
	plays["a token"](s)
	if got := s.desk.Storage.(*access).got; got.Token.Reveal() != token || got.Endpoint != "https://ais" {
		t.Errorf("%+v", got)
	}
	if len(s.vault) != 0 {
		t.Error("the vault keeps it")
	}
	if strings.Contains(s.shape(), token) {
		t.Error("it is shown")
	}
	inv := s.at("F-1", workflow.Reported)
	if b, err := inv.Encode(); err != nil || strings.Contains(string(b), token) {
		t.Errorf("it is stored: %v", err)
	}
}

func TestWhatKeepsFailingIsGivenUpAndSaid(t *testing.T) {
	t.Run("an act", func(t *testing.T) {
		s := newStage(t)
		s.desk.Policy = func() *Policy { panic("secret of a log") }
		in := s.put(command("C1", "12345"))
		s.settle()
		if got := s.answerTo(in); !strings.Contains(got, "That failed several times") || strings.Contains(got, "secret") {
			t.Errorf("%q", got)
		}
	})
	t.Run("an investigation", func(t *testing.T) {
		s := newStage(t)
		buried := ""
		s.desk.Hooks.Buried = func(kind string) { buried = kind }
		s.desk.Composer.Blobs = gone{}
		s.put(command("C1", "west:12345"))
		s.settle()
		s.at("F-1", workflow.Failed)
		if buried != workflow.JobRun {
			t.Errorf("buried %q", buried)
		}
		if !slices.ContainsFunc(s.keys("F-1"), func(k string) bool { return strings.HasPrefix(k, "message failed-") }) {
			t.Errorf("nobody was told: %q", s.keys("F-1"))
		}
	})
}

// gone is a blob store that is gone: what no step can turn into a state.
type gone struct{}

func (gone) Put(context.Context, []byte) (string, error) { return "", errDisk }

func TestUnreadableWorkIsGivenUp(t *testing.T) {
	s := newStage(t)
	if _, err := s.store.Enqueue(context.Background(), workflow.Job{Key: "x", Kind: workflow.JobInbound, Payload: []byte("{")},
		workflow.Job{Key: "y", Kind: "nonsense"}); err != nil {
		t.Fatal(err)
	}
	s.settle()
	for range 10 {
		if _, err := s.workers.Do(context.Background(), "nonsense"); err != nil {
			t.Fatal(err)
		}
	}
	if jobs, _ := s.store.Waiting(context.Background()); len(jobs) != 0 {
		t.Errorf("%+v", jobs)
	}
}

func TestStoppingGivesLeasesBack(t *testing.T) {
	s := newStage(t)
	ctx, stop := context.WithCancel(context.Background())
	begun := make(chan struct{})
	s.desk.Flow.Engine.Diagnose = func(ctx context.Context, _ analysis.Input) (*incident.Report, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.put(command("C1", "12345"))
	s.workers.Poll = time.Millisecond
	ended := make(chan error)
	go func() { ended <- s.workers.Run(ctx) }()
	<-begun
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	l, err := s.store.Claim(context.Background(), []string{workflow.JobRun}, "next", time.Minute)
	if err != nil || l == nil {
		t.Fatalf("the job is not free: %v %v", l, err)
	}
	if l.Attempts != 0 {
		t.Errorf("stopping counts as %d failures", l.Attempts)
	}
	s.at("F-1", workflow.Triaging)
}

func TestALostLeaseStopsTheWork(t *testing.T) {
	s := newStage(t)
	s.workers.Lease = 3 * time.Millisecond
	stopped := make(chan error, 1)
	s.desk.Flow.Engine.Diagnose = func(ctx context.Context, _ analysis.Input) (*incident.Report, error) {
		s.store.lost.Store(true)
		<-ctx.Done()
		stopped <- context.Cause(ctx)
		return nil, ctx.Err()
	}
	s.put(command("C1", "12345"))
	for range 3 {
		if _, err := s.workers.Do(context.Background(), workflow.JobInbound, workflow.JobRun); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-stopped:
			if !errors.Is(err, workflow.ErrLost) {
				t.Errorf("stopped by %v", err)
			}
			return
		default:
		}
	}
	t.Error("the work was not stopped")
}

func TestInboundsSurviveTheStore(t *testing.T) {
	in := submission("U1", messages.ViewUpload, "F-1 1 upload", map[string]string{"a": "b"}, chat.File{ID: "A", Name: "x", Bytes: 3})
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var back chat.Inbound
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(in, back) {
		t.Errorf("%+v, %v", back, err)
	}
}
