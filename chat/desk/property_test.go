package desk

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/chat"
	"faultline/config"
	"faultline/incident"
	"faultline/messages"
	"faultline/workflow"
)

// any is something that a person could do, sensible or not.
func (s *stage) any(r *rand.Rand) chat.Inbound {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	id := pick("F-1", "F-2", "F-3", "F-9", "")
	user := pick("U1", "U1", "U2", "U3")
	value := fmt.Sprintf("%s %d", id, r.IntN(4))
	switch r.IntN(4) {
	case 0:
		in := command(pick("C1", "C1", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "DU1"), pick("12345", "west:777", "12345 private", "east:5", "x", "",
			"help", "status", "list", "ping", "status "+id, "cancel "+id, "rerun "+id, "mute "+id, "dispute "+id+" no", "close "+id, "why "+id, "12345 logs:/etc", "rerun 12345"))
		in.User, in.External, in.Warned = user, r.IntN(15) == 0, r.IntN(20) == 0
		return in
	case 1:
		return mention(user, pick("status", "why", "cancel", "logs:"+s.logs, "logs:/etc", "", "rerun", "wrong no", "12345"))
	case 2:
		actions := []string{"nonsense", actCluster}
		for a := range deeds() {
			actions = append(actions, a)
		}
		// Maps have no order; a sequence must be the same each time.
		actions = sorted(actions)
		in := press(user, pick(actions...), value)
		in.Channel = pick("C1", "C1", "C2", "DU1")
		return in
	}
	in := submission(user, pick(messages.ViewStart, messages.ViewAIS, messages.ViewUpload, messages.ViewDispute, messages.ViewClose), value+" "+pick(actAISLogs, actUpload),
		map[string]string{messages.FieldJob: pick("12345", "x"), messages.FieldProfile: pick("", "west-ais", "z"), messages.FieldEndpoint: pick("", "https://a"),
			messages.FieldVerdict: pick("right", "wrong", "?"), messages.FieldCause: pick("gpu-ecc", messages.OtherCause)})
	if in.View.Callback == messages.ViewStart {
		in.View.Private = pick("C1", "C2")
	}
	if r.IntN(2) == 0 {
		in.View.Files = []chat.File{{ID: "A", Name: pick("a.out", "b.out"), Bytes: 3}}
	}
	return in
}

func TestWhateverPeopleDoIsAnsweredOnceAndLeadsNowhereUndeclared(t *testing.T) {
	sequences := 60
	if testing.Short() {
		sequences = 10
	}
	for seed := range sequences {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		s := newStage(t)
		s.surface.files["A"] = "log"
		s.desk.Flow.AskStorage = seed%2 == 0
		if seed%3 == 0 {
			s.desk.Storage = &access{}
		}
		s.engine.diagnose = func(analysis.Input) (*incident.Report, error) {
			rep := report([]string{"rank-stalled", "gpu-ecc", "dataloader-stall"}[r.IntN(3)], []string{incident.Probable, incident.Confirmed, incident.NoFailure}[r.IntN(3)])
			if r.IntN(2) == 0 {
				rep.Storage.Signs = lateData
				rep.Coverage.NodesExpected, rep.Coverage.NodesMissing = []string{"a", "b"}, []string{"b"}
			}
			if r.IntN(6) == 0 {
				return nil, errDisk
			}
			return rep, nil
		}
		for range 20 {
			in := s.any(r)
			if in.View != nil && in.View.Callback == messages.ViewAIS && r.IntN(2) == 0 {
				in.Key = fmt.Sprintf("secret-%d", s.acts)
				s.vault[in.Key] = map[string]config.Secret{messages.FieldToken: "hunter2hunter2"}
			}
			if r.IntN(5) == 0 {
				s.fetch.quiet["west/12345"] = s.now
			}
			views := len(s.surface.views)
			in = s.put(in)
			s.settle()
			s.now = s.now.Add(busyWait)
			s.settle()
			given := len(s.answers(in)) + (len(s.surface.views)-views)/2
			if given != 1 {
				t.Fatalf("seed %d: %d answers to %+v %+v", seed, given, in, in.View)
			}
			s.posted()
			if r.IntN(4) == 0 {
				s.now = s.now.Add([]time.Duration{time.Minute, time.Hour, 25 * time.Hour}[r.IntN(3)])
				s.tick()
			}
		}
		rows, _ := s.store.Find(context.Background(), workflow.Query{Limit: 1000})
		for _, row := range rows {
			if _, ok := workflow.About(row.State); !ok {
				t.Errorf("seed %d: %s is in the undeclared state %q", seed, row.ID, row.State)
			}
			entries, _ := s.store.Ledger(context.Background(), row.ID)
			for _, e := range entries {
				if e.Event == "" || e.From == "" {
					continue
				}
				if to, err := workflow.Next(context.Background(), e.From, e.Event); err != nil || to != e.To {
					t.Errorf("seed %d: %s went from %s by %s to %s", seed, row.ID, e.From, e.Event, e.To)
				}
			}
		}
		if d := doubled(s.all()); len(d) > 0 {
			t.Errorf("seed %d: doubled: %q", seed, d)
		}
		for _, p := range s.all() {
			textOf(t, p)
			if p.Channel == "" || p.Kind == workflow.PostEphemeral && p.User == "" {
				t.Errorf("seed %d: a post to nowhere: %s %s", seed, p.Kind, p.Key)
			}
		}
		if jobs, _ := s.store.Waiting(context.Background()); len(jobs) != 0 {
			t.Errorf("seed %d: left undone: %+v", seed, jobs)
		}
	}
}

// Many people at once, with the real pool: nothing is lost and nothing doubled.
func TestManyPeopleAtOnce(t *testing.T) {
	s := newStage(t)
	s.store.crowd = true
	for n := range 40 {
		s.fetch.where[fmt.Sprintf("west/%d", n+1)] = []string{"/logs/west/12345"}
	}
	var acts []chat.Inbound
	for n := range 40 {
		acts = append(acts, s.put(by([]string{"U1", "U2", "U3"}[n%3], command("C1", fmt.Sprintf("west:%d", n%30+1)))))
	}
	for n := range 20 {
		acts = append(acts, s.put(command("C1", fmt.Sprintf("status F-%d", n+1))), s.put(command("C1", fmt.Sprintf("mute F-%d", n+1))))
	}
	s.workers.Poll, s.workers.Inbound, s.workers.Analyses = time.Millisecond, 4, 2
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error)
	go func() { ended <- s.workers.Run(ctx) }()
	for left := 1; left > 0; {
		jobs, err := s.store.Waiting(ctx)
		if err != nil {
			t.Fatal(err)
		}
		left = len(jobs)
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for _, in := range acts {
		if n := len(s.answers(in)); n != 1 {
			t.Errorf("%d answers to %q", n, in.Text)
		}
	}
	rows, _ := s.store.Find(context.Background(), workflow.Query{Limit: 1000})
	if len(rows) != 30 {
		t.Errorf("%d investigations of 30 jobs", len(rows))
		for _, in := range acts {
			for _, p := range s.answers(in) {
				t.Logf("%q: %s", in.Text, textOf(t, p))
			}
		}
	}
	for _, row := range rows {
		if row.State != workflow.Reported {
			t.Errorf("%s is %s", row.ID, row.State)
		}
	}
	if d := doubled(s.all()); len(d) > 0 {
		t.Errorf("doubled: %q", d)
	}
}
