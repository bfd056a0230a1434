package desk

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/chat"
	"faultline/messages"
	"faultline/messages/blockkit"
	"faultline/workflow"
)

// posted sends what is due, as a transport would; the case file of F-1 gets the ts 1.1.
func (s *stage) posted() {
	s.t.Helper()
	ctx := context.Background()
	for range 100 {
		due, err := s.store.Due(ctx, 100)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(due) == 0 {
			return
		}
		for _, p := range due {
			ts := "9." + p.Key
			if p.Key == workflow.KeyCase && p.Investigation == "F-1" {
				ts = "1.1"
			}
			if err := s.store.Sending(ctx, p.ID); err != nil {
				s.t.Fatal(err)
			}
			if err := s.store.Sent(ctx, p.ID, ts, "https://chat/"+ts); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	s.t.Fatal("there is always something to post")
}

// Where nobody could tell whether a case file had arrived it is posted again. A click on the first shows that both are there.
func TestAClickOnASecondCaseFileSaysWhereTheCaseGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		marked   bool
		in       chat.Inbound
		replaced int
	}{
		"the first of two":       {true, chat.Inbound{Channel: "C1", Message: "1.0"}, 1},
		"the second":             {true, chat.Inbound{Channel: "C1", Message: "1.1"}, 0},
		"sent once":              {false, chat.Inbound{Channel: "C1", Message: "1.0"}, 0},
		"in the thread":          {true, chat.Inbound{Channel: "C1", Message: "1.5", Thread: "1.1"}, 0},
		"in another channel":     {true, chat.Inbound{Channel: "C2", Message: "1.0"}, 0},
		"another post of its":    {true, chat.Inbound{Channel: "C1", Message: "9.verdict-1"}, 0},
		"head of its own thread": {true, chat.Inbound{Channel: "C1", Message: "1.0", Thread: "1.0"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.says("12345")
			for _, p := range s.all() {
				if c.marked && p.Key == workflow.KeyCase && p.Kind == workflow.PostMessage {
					if err := s.store.Requeue(t.Context(), p.ID, 0, "unknown whether it arrived", true); err != nil {
						t.Fatal(err)
					}
				}
			}
			s.posted()
			c.in.Kind, c.in.Action, c.in.Value = chat.Click, actStatus, "F-1"
			if said := s.does(c.in); said == "" {
				t.Error("the click is not answered")
			}
			if len(s.surface.replaced) != c.replaced {
				t.Errorf("replaced: %q", s.surface.replaced)
			}
			for _, r := range s.surface.replaced {
				if !strings.HasPrefix(r, "C1 1.0 This message was sent twice. Case F-1 continues") || !strings.Contains(r, "https://chat/1.1") {
					t.Errorf("it says %q", r)
				}
			}
		})
	}
}

func mention(user, text string) chat.Inbound {
	return chat.Inbound{Kind: chat.Mention, Channel: "C1", Thread: "1.1", User: user, Text: "<@UBOT> " + text}
}

func withFiles(in chat.Inbound, files ...chat.File) chat.Inbound {
	in.Files = files
	return in
}

func TestMentionsInTheThreadOfACase(t *testing.T) {
	s := newStage(t)
	file := filepath.Join(s.logs, "node02.out")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.says("west:777")
	s.posted()
	for text, want := range map[string]string{
		"status":           "F-1, job 777: I'm waiting for logs",
		"":                 "F-1, job 777: I'm waiting for logs",
		"why":              "Where to find it:",
		"help":             "I find out why",
		"logs:/etc/passwd": "I can't read",
		"cancel":           "You can't cancel F-1",
		"close":            "Press *Close*",
	} {
		if got := s.does(mention("U3", text)); !strings.Contains(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
	for _, p := range s.all() {
		if p.Kind == workflow.PostEphemeral && p.User == "U3" && p.ThreadTS != "1.1" {
			t.Errorf("the answer is not in the thread: %+v", p)
		}
	}
	if got := s.does(mention("U3", "logs:"+file)); !strings.Contains(got, "1 more place") {
		t.Errorf("%q", got)
	}
	s.at("F-1", workflow.Reported)
	if got := s.does(mention("U3", "wrong it was the disk")); !strings.Contains(got, "Noted") {
		t.Errorf("%q", got)
	}
	if inv := s.at("F-1", workflow.Disputed); inv.Outcome.Cause != "it was the disk" || inv.Outcome.By != "U3" {
		t.Errorf("%+v", inv.Outcome)
	}
}

func TestWhatIsGivenWhileAStepIsAtWorkWaitsForItsEnd(t *testing.T) {
	s := newStage(t)
	s.surface.files["A"] = "log of node02"
	s.overturns()
	s.put(command("C1", "12345"))
	ctx := context.Background()
	if _, err := s.workers.Do(ctx, workflow.JobInbound); err != nil {
		t.Fatal(err)
	}
	in := s.put(upload("U3", "F-1 0 upload"))
	if _, err := s.workers.Do(ctx, workflow.JobInbound); err != nil {
		t.Fatal(err)
	}
	if got := s.answerTo(in); got != "" {
		t.Errorf("answered too early: %q", got)
	}
	s.settle()
	s.at("F-1", workflow.Reported)
	s.now = s.now.Add(busyWait)
	s.settle()
	if got := s.answerTo(in); !strings.Contains(got, "1 file") {
		t.Errorf("%q", got)
	}
	if inv := s.at("F-1", workflow.Reported); inv.Verdicts != 2 {
		t.Errorf("%d verdicts", inv.Verdicts)
	}
}

func TestTheQueueIsTold(t *testing.T) {
	s := newStage(t)
	s.put(command("C1", "west:1"))
	s.put(command("C1", "west:2"))
	in := s.put(command("C1", "west:3"))
	for range 3 {
		if _, err := s.workers.Do(context.Background(), workflow.JobInbound); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.answerTo(in); !strings.Contains(got, "Job 3 is queued as F-3: 2 others are first") {
		t.Errorf("%q", got)
	}
}

func TestWindowsOpenAtOnceAndAreFilledThen(t *testing.T) {
	s := newStage(t)
	s.desk.Recent = func(_ context.Context, user string, clusters []string) ([]messages.RecentJob, error) {
		if user != "ana" || !slices.Equal(clusters, []string{"west", "east"}) {
			t.Errorf("%q %q", user, clusters)
		}
		return []messages.RecentJob{{Cluster: "west", ID: "12345", State: "FAILED"}}, nil
	}
	s.desk.Flow.AskStorage = true
	s.says("12345")
	for _, c := range []struct {
		name     string
		in       chat.Inbound
		callback string
		holds    string
	}{
		{"bare command", command("C1", ""), messages.ViewStart, "west:12345"},
		{"private word alone", command("C1", "private"), messages.ViewStart, ""},
		{"glossary", press("U3", actGlossary, "F-1 1"), messages.ViewGlossary, ""},
		{"dispute", press("U3", actDispute, "F-1 1"), messages.ViewDispute, "F-1 1 dispute"},
		{"close", press("U1", actClose, "F-1"), messages.ViewClose, "One rank stalled"},
		{"upload", press("U3", actUpload, "F-1"), messages.ViewUpload, "F-1 0 upload"},
	} {
		before := len(s.surface.views)
		if got := s.does(c.in); got != "" {
			t.Errorf("%s: an answer besides the window: %q", c.name, got)
		}
		if len(s.surface.views) != before+2 {
			t.Fatalf("%s: %d views", c.name, len(s.surface.views)-before)
		}
		if v := s.surface.views[before]; v.CallbackID != messages.ViewLoading {
			t.Errorf("%s: first %s", c.name, v.CallbackID)
		}
		v := s.surface.views[before+1]
		b, _ := json.Marshal(v)
		if v.CallbackID != c.callback || !strings.Contains(string(b), s.keyed(c.holds)) {
			t.Errorf("%s: %s", c.name, b)
		}
		if problems := blockkit.ValidateView(b); len(problems) > 0 {
			t.Errorf("%s: %v", c.name, problems)
		}
	}
	if s.says("status") == "" {
		t.Error("a window is left")
	}
}

func TestTheHomeTab(t *testing.T) {
	s := newStage(t)
	s.surface.channels["C2"] = chat.ChannelInfo{Name: "secret", Private: true, Member: true}
	s.desk.Health = func(context.Context) string { return "All is well." }
	s.says("west:777")
	s.says("12345")
	s.does(by("U2", command("C2", "888")))
	s.does(by("U2", command("C1", "999 private")))
	s.does(chat.Inbound{Kind: chat.Home})
	b, _ := json.Marshal(s.surface.homes[0])
	for text, want := range map[string]bool{"F-1": true, "F-2": true, "job 888": false, "job 999": false, "All is well.": true, "Where are they?": true} {
		if strings.Contains(string(b), text) != want {
			t.Errorf("%q shown: %v\n%s", text, !want, b)
		}
	}
	if problems := blockkit.ValidateView(b); len(problems) > 0 {
		t.Error(problems)
	}
	s.does(chat.Inbound{Kind: chat.Home, User: "U9", External: true})
	if b, _ := json.Marshal(s.surface.homes[1]); strings.Contains(string(b), "F-1") || !strings.Contains(string(b), "only answer members of this workspace") {
		t.Errorf("%s", b)
	}
}

func TestStatusCountsWhatPeopleSaid(t *testing.T) {
	s := newStage(t)
	outcomes := map[string]int{}
	s.desk.Hooks.Outcome = func(mechanism, verdict string) { outcomes[mechanism+" "+verdict]++ }
	s.fetch.where["west/2"], s.fetch.where["west/3"] = []string{"/logs/west/12345"}, []string{"/logs/west/12345"}
	for i, job := range []string{"12345", "west:2", "west:3"} {
		s.says(job)
		id := []string{"F-1", "F-2", "F-3"}[i]
		verdict := []string{"right", "right", "wrong"}[i]
		s.does(submission("U1", messages.ViewClose, id+" 0 close", map[string]string{messages.FieldVerdict: verdict, messages.FieldCause: "gpu-ecc"}))
	}
	if got := s.says("status"); !strings.Contains(got, "2 right, 1 wrong") {
		t.Errorf("%q", got)
	}
	scores, err := Feedback(context.Background(), s.store, "")
	if err != nil || len(scores) != 1 || scores[0] != (Score{Mechanism: "rank-stalled", Right: 2, Wrong: 1}) {
		t.Errorf("%+v %v", scores, err)
	}
	if outcomes["rank-stalled right"] != 2 || outcomes["rank-stalled wrong"] != 1 {
		t.Errorf("%v", outcomes)
	}
	if got := s.says("list"); strings.Count(got, "rated: ") != 3 {
		t.Errorf("%q", got)
	}
}

func TestTrustedAreThePersonWhoAskedTheNamedAndTheirGroups(t *testing.T) {
	for _, c := range []struct {
		name   string
		user   string
		change func(p *Policy, s *surface)
		want   bool
	}{
		{"who asked", "U1", nil, true},
		{"named", "U2", nil, true},
		{"anybody", "U3", nil, false},
		{"in a group", "U3", func(p *Policy, s *surface) {
			p.Channels["C1"] = Rule{Clusters: []string{"west"}, Trusted: Who{Groups: []string{"S1"}}}
			s.groups["S1"] = []string{"U3"}
		}, true},
		{"an admin", "U3", func(p *Policy, _ *surface) { p.Admins = Who{Users: []string{"U3"}} }, true},
		{"everybody", "U3", func(p *Policy, _ *surface) {
			p.Channels["C1"] = Rule{Clusters: []string{"west"}, Trusted: Who{Anyone: true}}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.says("west:777")
			if c.change != nil {
				c.change(s.policy, s.surface)
			}
			s.does(by(c.user, command("C1", "cancel F-1")))
			inv, _ := s.store.Load(context.Background(), "F-1")
			if got := inv.State == workflow.Cancelled; got != c.want {
				t.Errorf("%s", inv.State)
			}
		})
	}
}

func TestAPolicyIsReplacedWhileItRuns(t *testing.T) {
	s := newStage(t)
	if got := s.does(command("C7", "12345")); !strings.Contains(got, "isn't connected") {
		t.Errorf("%q", got)
	}
	p := *s.policy
	p.Any = &Rule{Clusters: []string{"west"}}
	s.policy = &p
	if got := s.does(command("C7", "12345")); !strings.Contains(got, "Investigating") {
		t.Errorf("%q", got)
	}
}

func TestPermissionsFailClosed(t *testing.T) {
	p := &Policy{
		Channels: map[string]Rule{"C1": {Clusters: []string{"west"}, Users: []string{"ana"}}, "C2": {Clusters: []string{"west"}, Own: true}, "C3": {Clusters: []string{"west"}}},
		Identity: map[string]string{"U1": "ana"},
	}
	for _, c := range []struct {
		channel, cluster, user string
		owners                 []string
		want                   bool
	}{
		{"C1", "west", "U9", []string{"ana"}, true},
		{"C1", "west", "U9", []string{"ana", "berta"}, false},
		{"C1", "west", "U9", nil, false},
		{"C1", "east", "U9", []string{"ana"}, false},
		{"C1", "", "U9", []string{"ana"}, false},
		{"C2", "west", "U1", []string{"ana"}, true},
		{"C2", "west", "U2", []string{"ana"}, false},
		{"C2", "west", "U2", []string{""}, false},
		{"C3", "west", "U2", nil, true},
		{"C4", "west", "U2", nil, false},
	} {
		inv := workflow.Investigation{Cluster: c.cluster, Home: workflow.Home{Channel: c.channel, Requester: c.user}}
		if got := p.Permit(inv, workflow.Found{Users: c.owners}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
		inv.Home = workflow.Home{Channel: "D1", Private: true, AskedIn: c.channel, Requester: c.user}
		if got := p.Permit(inv, workflow.Found{Users: c.owners}); got != c.want {
			t.Errorf("privately %+v: %v", c, got)
		}
	}
}

func TestUploadsKeepHarmlessNames(t *testing.T) {
	for name, want := range map[string]string{
		"node02.out": "node02.out", "../../etc/passwd": "passwd", `C:\logs\a b.out`: "a_b.out", "": "file", "..": "file", "-rf": "rf",
		"слово.log": "_____.log", "a\x00b": "a_b", strings.Repeat("x", 500) + ".out": strings.Repeat("x", 116) + ".out",
	} {
		if got := fileName(name, 0, nil); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := fileName("a", 1, []string{"/x/a"}); got != "2-a" {
		t.Errorf("%q", got)
	}
}

func TestADirectMessageIsARuleOfItsOwn(t *testing.T) {
	s := newStage(t)
	s.policy.Direct = &Rule{Clusters: []string{"west"}, Own: true}
	if got := s.does(command("DU1", "12345")); !strings.Contains(got, "privately") {
		t.Errorf("%q", got)
	}
	inv := s.at("F-1", workflow.Reported)
	if !inv.Home.Private || inv.Home.Channel != "DU1" || inv.Home.AskedIn != "" {
		t.Errorf("%+v", inv.Home)
	}
	if got := s.does(by("U2", command("DU2", "12345"))); !strings.Contains(got, "F-2") { // not in the way of another's, and not theirs to see
		t.Errorf("%q", got)
	}
	s.at("F-2", workflow.AwaitingLogs)
}

func TestRemindersStopWhenMuted(t *testing.T) {
	s := newStage(t)
	s.says("west:777")
	s.says("mute F-1")
	s.now = s.now.Add(time.Hour)
	s.tick()
	for _, p := range s.all() {
		if strings.HasPrefix(p.Key, "reminder") {
			t.Error("reminded")
		}
	}
}

// Words in the thread of a case that are no command are a question about its report, and never read as a job.
func TestAQuestionInAThreadIsAnsweredFromTheReport(t *testing.T) {
	s := newStage(t)
	s.says("12345")
	s.at("F-1", workflow.Reported)
	s.posted()
	for text, want := range map[string]string{
		"why not rank 7?":  "Rank 7",
		"is node02 broken": "node02",
		"thanks":           "You're welcome.",
		"sing a song":      "I can't answer that from the report",
	} {
		got := s.does(mention("U3", text))
		if !strings.Contains(got, want) || strings.Contains(got, "job ID") {
			t.Errorf("%q: %q", text, got)
		}
	}
}
