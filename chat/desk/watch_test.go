package desk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/chat"
	"faultline/incident"
	"faultline/workflow"
)

// accounting is an Endings by hand: whatever ended, told from the moment when it is written.
type accounting struct {
	rows    []accountingRow
	queries []string
	err     error
	now     func() time.Time
}

type accountingRow struct {
	workflow.Ended
	written time.Time
}

func (a *accounting) Ended(_ context.Context, cluster string, from, to time.Time) ([]workflow.Ended, error) {
	a.queries = append(a.queries, cluster+" "+a.now().Format("15:04"))
	if a.err != nil {
		return nil, a.err
	}
	var out []workflow.Ended
	for _, r := range a.rows {
		if r.State != "COMPLETED" && r.in(cluster, a.now(), from, to) {
			out = append(out, r.Ended)
		}
	}
	return out, nil
}

func (r accountingRow) in(cluster string, now, from, to time.Time) bool {
	return r.Cluster == cluster && !r.written.After(now) && !r.End.Before(from) && r.End.Before(to)
}

func (a *accounting) Runs(_ context.Context, cluster, user, name string, from, to time.Time) ([]workflow.Ended, error) {
	var out []workflow.Ended
	for _, r := range a.rows {
		if r.User == user && r.Name == name && r.in(cluster, a.now(), from, to) {
			out = append(out, r.Ended)
		}
	}
	return out, a.err
}

// watchStage is a stage whose channel C1 watches the cluster west.
type watchStage struct {
	*stage
	accounting *accounting
}

func newWatchStage(t *testing.T) *watchStage {
	s := &watchStage{stage: newStage(t)}
	s.accounting = &accounting{now: func() time.Time { return s.now }}
	s.policy.Watches = []Watch{{Cluster: "west", Channel: "C1", Every: 2 * time.Minute, OwnerFirst: true, PerHour: 3, Digest: 8 * time.Hour}}
	s.policy.Admins = Who{Users: []string{"U2"}}
	s.desk.Flow.Quiet = nil
	s.workers.Watcher = &Watcher{Desk: s.desk, Endings: s.accounting, Self: func() (string, string) { return "T1", "UBOT" }, Log: slog.New(slog.DiscardHandler)}
	s.minute() // watching begins
	return s
}

// minute lets the clock of cron come round once, and everything that is due be done.
func (s *watchStage) minute() {
	s.t.Helper()
	ctx := context.Background()
	if _, err := s.store.Enqueue(ctx, s.workers.Watcher.Polls(s.now)...); err != nil {
		s.t.Fatal(err)
	}
	for _, r := range routines {
		if r.kind != workflow.JobTimers && r.kind != workflow.JobNext {
			continue
		}
		if err := r.insert(ctx, s.store, s.now); err != nil {
			s.t.Fatal(err)
		}
	}
	s.settle()
}

func (s *watchStage) settle() {
	s.t.Helper()
	for range 10_000 {
		did, err := s.workers.Do(context.Background(), workflow.JobInbound, workflow.JobRun, workflow.JobLate, workflow.JobLook, workflow.JobTimers, workflow.JobWatch, workflow.JobPoll, workflow.JobOver, workflow.JobTell, workflow.JobFix, workflow.JobNext, workflow.JobDue, workflow.JobMonth)
		if err != nil {
			s.t.Fatal(err)
		}
		if !did {
			return
		}
	}
	s.t.Fatal("the work never ends")
}

func (s *watchStage) does(in chat.Inbound) string {
	s.t.Helper()
	in = s.put(in)
	s.settle()
	return s.answerTo(in)
}

// passes lets minutes pass.
func (s *watchStage) passes(minutes int) {
	s.t.Helper()
	for range minutes {
		s.now = s.now.Add(time.Minute)
		s.minute()
	}
}

// ended is a job of ana that ended just now on 4 nodes after an hour.
func (s *watchStage) ended(job string, change ...func(*workflow.Ended)) {
	e := workflow.Ended{Cluster: "west", Job: job, Raw: strings.NewReplacer("_", "0", "+", "0").Replace(job), Name: "train", User: "ana", Account: "lab", Partition: "gpu", State: "NODE_FAIL",
		Nodes: []string{"n" + job + "a", "n" + job + "b"}, Submit: s.now.Add(-2 * time.Hour), Start: s.now.Add(-time.Hour), End: s.now}
	if base, _, ok := strings.Cut(job, "_"); ok {
		e.Of = base
	}
	for _, f := range change {
		f(&e)
	}
	s.accounting.rows = append(s.accounting.rows, accountingRow{e, s.now})
	key := "west/" + e.Job
	s.fetch.where[key], s.fetch.users[key] = []string{"/logs/" + key}, []string{e.User}
	s.fetch.files["/logs/"+key] = []incident.Source{{Name: e.Job + ".out", Path: "/logs/" + key + "/out"}}
}

func on(nodes ...string) func(*workflow.Ended) { return func(e *workflow.Ended) { e.Nodes = nodes } }
func of(user string) func(*workflow.Ended)     { return func(e *workflow.Ended) { e.User = user } }
func named(name string) func(*workflow.Ended)  { return func(e *workflow.Ended) { e.Name = name } }

// finds makes the engine say the same of everything.
func (s *watchStage) finds(mechanism, status string) {
	s.engine.diagnose = func(analysis.Input) (*incident.Report, error) { return report(mechanism, status), nil }
}

// cases are the jobs that investigations were begun of.
func (s *watchStage) cases() []string {
	rows, err := s.store.Find(context.Background(), workflow.Query{Limit: 10_000})
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, r.Job)
	}
	slices.Reverse(out)
	return out
}

// inChannel are the keys of messages in a channel, besides answers.
func (s *watchStage) in(channel string) []string {
	var out []string
	for _, p := range s.all() {
		if p.Channel == channel && p.Kind == workflow.PostMessage {
			out = append(out, p.Investigation+" "+p.Key)
		}
	}
	return out
}

func want[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestAWatchTakesWhatFits(t *testing.T) {
	whole := workflow.Ended{Cluster: "west", Name: "train", User: "ana", Account: "lab", Partition: "gpu", Nodes: []string{"a", "b"},
		Start: time.Unix(1000, 0), End: time.Unix(1600, 0)}
	for name, c := range map[string]struct {
		watch Watch
		want  bool
	}{
		"everything":         {Watch{}, true},
		"all of it":          {Watch{Partitions: []string{"cpu", "gpu"}, Accounts: []string{"lab"}, Users: []string{"ana"}, MinNodes: 2, MinDuration: 10 * time.Minute, Exclude: []string{"test*"}}, true},
		"another cluster":    {Watch{Cluster: "east"}, false},
		"another partition":  {Watch{Partitions: []string{"cpu"}}, false},
		"another account":    {Watch{Accounts: []string{"other"}}, false},
		"another user":       {Watch{Users: []string{"berta"}}, false},
		"too few nodes":      {Watch{MinNodes: 3}, false},
		"too short":          {Watch{MinDuration: 601 * time.Second}, false},
		"excluded":           {Watch{Exclude: []string{"x", "tr*"}}, false},
		"excluded by a part": {Watch{Exclude: []string{"rain"}}, true},
	} {
		if c.watch.Cluster == "" {
			c.watch.Cluster = "west"
		}
		if got := c.watch.takes(whole); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	never := whole
	never.Start = time.Time{}
	if (Watch{Cluster: "west", MinDuration: time.Second}).takes(never) {
		t.Error("what never began ran long enough")
	}
}

func TestWhatEndedBadlyIsLookedAtWithoutAnybodyAsking(t *testing.T) {
	s := newWatchStage(t)
	s.ended("7")
	s.passes(4)
	inv := s.at("F-1", workflow.Reported)
	if inv.Job != "7" || inv.Cluster != "west" || inv.Held || inv.Home.Requester != "UBOT" || inv.Home.Channel != "C1" || inv.Ended.State != "NODE_FAIL" {
		t.Errorf("%+v", inv)
	}
	want(t, "in the channel", s.in("C1"), "F-1 case")
	want(t, "posts", s.keys("F-1"), "message owner", "message owner-"+strconv.Itoa(inv.Version-1), "message case", "files final-1")
	direct := s.in("DU1")
	if len(direct) != 2 || direct[0] != "F-1 owner" || !strings.HasPrefix(direct[1], "F-1 owner-") {
		t.Errorf("the owner hears %q", direct)
	}
	for _, p := range s.all() { // the channel waits until the owner was told
		if p.Key == workflow.KeyCase && p.Kind == workflow.PostMessage && p.LinkTo != strings.TrimPrefix(direct[1], "F-1 ") {
			t.Errorf("the case waits for %q", p.LinkTo)
		}
	}
	if d := doubled(s.all()); len(d) > 0 {
		t.Errorf("doubled: %q", d)
	}
	s.posted()
}

func TestCausesOfTheOwnerAloneAreNotPosted(t *testing.T) {
	for _, mechanism := range ownersOnly {
		s := newWatchStage(t)
		s.finds(mechanism, incident.Probable)
		s.ended("7")
		s.ended("8", of("berta"), named("other")) // nobody knows who that is
		s.passes(4)
		want(t, "cases", s.cases(), "7", "8")
		want(t, "in the channel", s.in("C1"))
		if n := len(s.in("DU1")); n != 2 {
			t.Errorf("%s: %d direct messages", mechanism, n)
		}
		got := s.does(command("C1", "digest"))
		if !strings.Contains(got, "in the channel") {
			t.Errorf("%q", got)
		}
		posts := s.in("C1")
		want(t, "digest", posts, " ")
		text := s.digests()[0]
		for _, w := range []string{"2 jobs failed", "west:7 (F-1)", "west:8 (F-2)", "`train`", "`other`"} {
			if !strings.Contains(text, w) {
				t.Errorf("%q does not hold %q", text, w)
			}
		}
		if got := s.does(command("C1", "digest")); !strings.Contains(got, "Nothing for this channel") {
			t.Errorf("the second time: %q", got)
		}
	}
	s := newWatchStage(t)
	s.engine.diagnose = func(analysis.Input) (*incident.Report, error) {
		r := report("exception", incident.Inconclusive)
		r.Verdict.Candidates = append(r.Verdict.Candidates, incident.Candidate{Mechanism: "gpu-ecc"})
		return r, nil
	}
	s.ended("7")
	s.passes(4)
	if n := len(s.in("C1")); n == 0 {
		t.Error("it may be the GPU, and nobody hears of it")
	}
}

// digests are the texts of the digests in C1.
func (s *watchStage) digests() []string {
	var out []string
	for _, p := range s.all() {
		if p.Channel == "C1" && p.Kind == workflow.PostMessage && p.Investigation == "" {
			out = append(out, textOf(s.t, p))
		}
	}
	return out
}

func TestTheDigestComesOnceADayAndALostDayIsMadeUpFor(t *testing.T) {
	s := newWatchStage(t) // 05:06
	s.finds("exception", incident.Probable)
	s.ended("7")
	s.passes(4)
	s.now = time.Date(2026, 3, 4, 7, 59, 30, 0, time.UTC)
	s.minute()
	if n := len(s.digests()); n != 0 {
		t.Fatalf("%d digests before its time", n)
	}
	s.passes(3)
	if n := len(s.digests()); n != 1 {
		t.Fatalf("%d digests", n)
	}
	s.ended("8")
	s.passes(10)
	s.now = s.now.Add(30 * time.Hour) // over the next 08:00
	s.passes(3)
	if n := len(s.digests()); n != 2 {
		t.Errorf("%d digests after two days", n)
	}
	s.now = s.now.Add(24 * time.Hour)
	s.passes(3)
	if n := len(s.digests()); n != 2 {
		t.Errorf("a digest of nothing")
	}
}

func TestRepeatsAreGroupedUnderTheFirst(t *testing.T) {
	requeued := func(e *workflow.Ended) { e.Start = e.Start.Add(30 * time.Minute) }
	for name, c := range map[string]struct {
		first  string
		again  func(s *watchStage)
		repeat int
		cases  int
	}{
		"the same job again":               {"7", func(s *watchStage) { s.ended("7", requeued) }, 1, 1},
		"elements of an array":             {"7_1", func(s *watchStage) { s.ended("7_2"); s.ended("7_3") }, 2, 1},
		"another array":                    {"7_1", func(s *watchStage) { s.ended("8_2") }, 0, 2},
		"the node that failed":             {"7", func(s *watchStage) { s.ended("8", on("node02", "x")) }, 1, 1},
		"a node that was only there":       {"7", func(s *watchStage) { s.ended("8", on("n7a", "x")) }, 0, 2},
		"another job":                      {"7", func(s *watchStage) { s.ended("8") }, 0, 2},
		"the node that failed, much later": {"7", func(s *watchStage) { s.now = s.now.Add(2 * time.Hour); s.ended("8", on("node02")) }, 0, 2},
		"the same job, days later":         {"7", func(s *watchStage) { s.now = s.now.Add(50 * time.Hour); s.ended("7", requeued) }, 0, 1}, // still open: a person may run it again
	} {
		t.Run(name, func(t *testing.T) {
			s := newWatchStage(t)
			s.ended(c.first)
			s.passes(4)
			c.again(s)
			s.passes(6)
			if n := len(s.cases()); n != c.cases {
				t.Errorf("%d cases: %v", n, s.cases())
			}
			st, _, err := note[channelState](context.Background(), s.store, noteChannel("C1"))
			if err != nil || st.Cases[0].Repeats != c.repeat {
				t.Errorf("%+v, %v", st, err)
			}
			said := 0
			for _, k := range s.in("C1") {
				if strings.HasSuffix(k, keyRepeats) {
					said++
				}
			}
			if said != min(c.repeat, 1) {
				t.Errorf("%d lists of repeats", said)
			}
			if d := doubled(s.all()); len(d) > 0 {
				t.Errorf("doubled: %q", d)
			}
		})
	}
}

func TestAJobOnTheNodeOfOneThatIsNotUnderstoodWaits(t *testing.T) {
	s := newWatchStage(t)
	s.finds("exception", incident.Probable)
	s.ended("7", on("shared"))
	s.ended("8", on("shared"))
	s.passes(6)
	want(t, "cases", s.cases(), "7", "8") // the first says nothing about the node: the second is looked at by itself
}

func TestALimitAnHourAndTheRestInTheDigest(t *testing.T) {
	s := newWatchStage(t)
	for i := range 8 {
		s.ended(fmt.Sprint(100 + i))
	}
	s.passes(5)
	if n := len(s.cases()); n != 3 {
		t.Errorf("%d cases, and 3 are allowed in an hour", n)
	}
	s.does(command("C1", "digest"))
	if text := s.digests()[0]; !strings.Contains(text, "5 jobs failed") || !strings.Contains(text, "too many posts in that hour") {
		t.Errorf("%q", text)
	}
	s.now = s.now.Add(time.Hour)
	s.ended("200")
	s.passes(5)
	if n := len(s.cases()); n != 4 {
		t.Errorf("%d cases after an hour", n)
	}
	// What concerns its owner only takes no room.
	s = newWatchStage(t)
	s.finds("config-error", incident.Probable)
	for i := range 8 {
		s.ended(fmt.Sprint(100 + i))
		s.passes(4)
	}
	if n := len(s.cases()); n != 8 {
		t.Errorf("%d cases", n)
	}
}

func TestAnArrayOfAThousandIsTwoMessages(t *testing.T) {
	s := newWatchStage(t)
	for i := range 1000 {
		s.ended(fmt.Sprintf("7_%d", i))
	}
	s.passes(5)
	want(t, "cases", s.cases(), "7_0")
	want(t, "in the channel", s.in("C1"), "F-1 case", "F-1 repeats")
	s.posted()
}

func TestNamesCanBeMutedAndTheClusterPaused(t *testing.T) {
	s := newWatchStage(t)
	for _, c := range []struct{ user, text, want string }{
		{"U3", "mute job-name train", "You can't"},
		{"U2", "mute job-name", "Which name?"},
		{"U2", "mute job-name train", "be reported here any more"},
		{"U3", "watch", "Muted: jobs named `train`"},
		{"U3", "watch pause west", "You can't"},
		{"U2", "watch pause north", "not being watched"},
		{"U2", "watch frobnicate", "Use `status`"},
	} {
		if got := s.does(by(c.user, command("C1", c.text))); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.text, got)
		}
	}
	s.ended("7")
	s.passes(4)
	want(t, "muted", s.cases())
	s.does(by("U2", command("C1", "unmute train")))
	s.ended("8")
	s.passes(4)
	want(t, "not muted any more", s.cases(), "8")

	if got := s.does(by("U2", command("C1", "watch pause west"))); !strings.Contains(got, "paused") {
		t.Errorf("%q", got)
	}
	queries := len(s.accounting.queries)
	s.ended("9")
	s.passes(6)
	if got := s.does(command("C1", "watch status")); !strings.Contains(got, "west: paused by <@U2> 6 minutes ago") {
		t.Errorf("%q", got)
	}
	if len(s.accounting.queries) != queries {
		t.Error("the cluster was asked while it was paused")
	}
	s.does(by("U2", command("C1", "watch resume west")))
	s.passes(2)
	s.ended("10")
	s.passes(4)
	want(t, "after the pause", s.cases(), "8", "10")
	s.does(by("U2", command("C1", "watch pause")))
	s.ended("11")
	s.passes(4)
	want(t, "all paused", s.cases(), "8", "10")
}

func TestOneQueryForEachIntervalHoweverManyProcessesAndRowsThereAre(t *testing.T) {
	s := newWatchStage(t)
	s.accounting.queries = nil
	ctx := context.Background()
	for range 60 {
		s.now = s.now.Add(time.Minute)
		for range 3 { // processes
			if _, err := s.store.Enqueue(ctx, s.workers.Watcher.Polls(s.now)...); err != nil {
				t.Fatal(err)
			}
		}
		s.settle()
	}
	if n := len(s.accounting.queries); n != 30 {
		t.Errorf("%d queries in an hour, every two minutes", n)
	}
	// Rows that waited while nobody worked are one query, not one each.
	s.accounting.queries = nil
	for range 60 {
		s.now = s.now.Add(time.Minute)
		if _, err := s.store.Enqueue(ctx, s.workers.Watcher.Polls(s.now)...); err != nil {
			t.Fatal(err)
		}
	}
	s.settle()
	if n := len(s.accounting.queries); n != 1 {
		t.Errorf("%d queries of 30 rows that waited", n)
	}
	// So are a hundred calls of the cluster.
	s.accounting.queries = nil
	for i := range 100 {
		if _, err := s.store.Enqueue(ctx, Nudge("west", fmt.Sprint("run ", i), s.now)); err != nil {
			t.Fatal(err)
		}
	}
	s.now = s.now.Add(2 * hookLag)
	s.settle()
	if n := len(s.accounting.queries); n != 1 {
		t.Errorf("%d queries of 100 calls", n)
	}
}

func TestAccountingThatIsLateOrDownMissesNothing(t *testing.T) {
	s := newWatchStage(t)
	s.ended("7")
	s.accounting.rows[0].written = s.now.Add(25 * time.Minute) // the database was down
	s.passes(10)
	want(t, "not written yet", s.cases())
	s.passes(30)
	want(t, "written late", s.cases(), "7")
	s.accounting.err = errors.New("slurmdbd does not answer")
	s.ended("8")
	s.passes(200)
	if got := s.does(command("C1", "watch")); !strings.Contains(got, "slurmdbd does not answer") {
		t.Errorf("%q", got)
	}
	s.accounting.err = nil
	s.passes(4)
	want(t, "after three hours", s.cases(), "7", "8")
	s.now = s.now.Add(30 * time.Hour) // the bot itself did not run; it begins with what it kept, and forgot its keys
	s.ended("9", func(e *workflow.Ended) { e.End = s.now.Add(-29 * time.Hour) })
	if _, err := s.store.Purge(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	s.passes(4)
	want(t, "after a day", s.cases(), "7", "8", "9")
}

func TestAPersonWhoAsksSeesWhatWasHeld(t *testing.T) {
	s := newWatchStage(t)
	s.finds("exception", incident.Probable)
	s.ended("7")
	s.passes(4)
	want(t, "before", s.in("C1"))
	got := s.does(command("C1", "west:7"))
	if !strings.Contains(got, "already being investigated as F-1") {
		t.Errorf("%q", got)
	}
	want(t, "after", s.in("C1"), "F-1 case", "F-1 verdict-1")
	s.posted()
	if n, _, _ := s.store.Backlog(context.Background()); n != 0 {
		t.Errorf("%d posts wait for ever", n)
	}
	if got := s.does(command("C1", "digest")); !strings.Contains(got, "Nothing") {
		t.Errorf("it is in the digest, too: %q", got)
	}
}

func TestWhatWaitsForTheEndOfAJobGoesOnWhenTheClusterSaysSo(t *testing.T) {
	s := newWatchStage(t)
	s.desk.Flow.Quiet = func(string) time.Duration { return 5 * time.Hour }
	s.fetch.quiet["west/12345"] = s.now
	s.does(command("C1", "west:12345"))
	s.at("F-1", workflow.AwaitingEnd)
	s.ended("12345")
	s.passes(4)
	s.at("F-1", workflow.Reported)
	want(t, "cases", s.cases(), "12345")
}

func TestNothingIsShownThatTheChannelMayNotSee(t *testing.T) {
	s := newWatchStage(t)
	rule := s.policy.Channels["C1"]
	rule.Users = []string{"ana"}
	s.policy.Channels["C1"] = rule
	s.ended("7", of("berta"))
	s.ended("8")
	s.passes(4)
	want(t, "cases", s.cases(), "8")
}

func TestAJobWithoutLogsAsksNobody(t *testing.T) {
	s := newWatchStage(t)
	s.ended("7")
	delete(s.fetch.where, "west/7")
	s.passes(4)
	s.at("F-1", workflow.AwaitingLogs)
	want(t, "in the channel", s.in("C1"))
	s.does(command("C1", "digest"))
	if text := s.digests()[0]; !strings.Contains(text, "No logs found") {
		t.Errorf("%q", text)
	}
}
