package workflow

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/incident"
)

// voice writes one post for each thing there is to say.
type voice struct{ err error }

func (v voice) Compose(_ context.Context, inv *Investigation, n Notice) ([]Post, error) {
	var posts []Post
	add := func(format string, args ...any) {
		posts = append(posts, Post{Kind: PostEphemeral, Investigation: inv.ID, Channel: "C1", Payload: fmt.Appendf(nil, format, args...)})
	}
	for _, q := range n.Asks {
		add("ask %s", q.Kind)
	}
	for _, q := range n.Answered {
		add("answered %s", q.Kind)
	}
	for _, q := range n.Reminders {
		add("remind %s", q.Kind)
	}
	for _, q := range n.Expired {
		add("expired %s", q.Kind)
	}
	if n.Report != nil {
		add("report %s, %d revisions", n.Report.Verdict.Mechanism, len(n.Revisions))
	}
	for _, s := range n.Says {
		add("say %s", s)
	}
	if n.Event == Verified {
		add("final")
	}
	return posts, v.err
}

// chat is a stage whose steps run when they are asked to, as in a bot.
func chatStage() *stage {
	s := newStage()
	s.Post, s.Compose, s.Deferred = nil, voice{}, true
	s.RemindAfter, s.ExpireAfter = 30*time.Minute, 24*time.Hour
	return s
}

// work does what the jobs in the store ask for.
func (s *stage) work(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	for {
		l, err := s.store.Claim(ctx, []string{JobRun}, "test", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if l == nil {
			return
		}
		if err := s.Run(ctx, l.Investigation); err != nil {
			t.Fatal(err)
		}
		if err := s.store.Finish(ctx, l); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *stage) posts(t *testing.T) []string {
	t.Helper()
	posts, err := s.store.Posts(context.Background(), "1")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, p := range posts {
		texts = append(texts, string(p.Payload))
	}
	return texts
}

func (s *stage) want(t *testing.T, want ...string) {
	t.Helper()
	got := s.posts(t)
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.Contains(g, w) }) {
			t.Errorf("no post %q in\n%s", w, strings.Join(got, "\n"))
		}
	}
}

func TestInABotEachStepIsAJobAndWhatItSaysIsStoredWithIt(t *testing.T) {
	s := chatStage()
	s.located = []string{"a", "b"}
	s.open(t)
	s.at(t, Requested) // nothing runs before somebody claims the job
	s.work(t)
	s.at(t, Reported)
	s.want(t, "report rank-stalled, 0 revisions", "final")
}

func TestWhatCannotBeSaidIsNotDone(t *testing.T) {
	s := chatStage()
	s.Compose = voice{err: errors.New("no words")}
	if err := s.Open(context.Background(), Investigation{ID: "1", Job: "4242"}, Input{}); err == nil {
		t.Fatal("opened")
	}
	if _, err := s.store.Load(context.Background(), "1"); !errors.Is(err, ErrUnknown) {
		t.Errorf("stored: %v", err)
	}
}

func TestAnInputAndItsJobAreFinishedTogether(t *testing.T) {
	s := chatStage()
	ctx := context.Background()
	if _, err := s.store.Enqueue(ctx, Job{Key: "click", Kind: JobInbound}); err != nil {
		t.Fatal(err)
	}
	l, err := s.store.Claim(ctx, []string{JobInbound}, "test", time.Minute)
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	s.located = []string{"a"}
	in := Input{Done: l, Posts: []Post{{Kind: PostEphemeral, Investigation: "1", Channel: "C1", Payload: []byte("on it")}}}
	if err := s.Open(ctx, Investigation{ID: "1", Job: "4242"}, in); err != nil {
		t.Fatal(err)
	}
	s.want(t, "on it")
	if left, _ := s.store.Waiting(ctx, JobInbound); len(left) != 0 {
		t.Errorf("still waiting: %+v", left)
	}
	if err := s.Open(ctx, Investigation{ID: "2", Job: "4343"}, in); !errors.Is(err, ErrLost) {
		t.Errorf("a finished job wrote again: %v", err)
	}
}

func TestTheSameJobIsNotOpenedTwice(t *testing.T) {
	s := chatStage()
	s.open(t)
	err := s.Open(context.Background(), Investigation{ID: "2", Job: "4242"}, Input{})
	if !errors.Is(err, ErrOpen) {
		t.Fatalf("got %v", err)
	}
	s.handle(t, Input{Event: Cancel})
	if err := s.Open(context.Background(), Investigation{ID: "2", Job: "4242"}, Input{}); err != nil {
		t.Errorf("after the first was cancelled: %v", err)
	}
}

func TestLogsThatAreStillWrittenAreAskedAbout(t *testing.T) {
	s := chatStage()
	s.Quiet = func(string) time.Duration { return 2 * time.Minute }
	s.located, s.written = []string{"a", "b"}, s.now.Add(-time.Minute)
	s.open(t)
	s.work(t)
	s.at(t, AwaitingEnd)
	s.want(t, "ask running")
	if ended, err := s.HasEnded(context.Background(), "1"); ended || err != nil {
		t.Fatal(ended, err)
	}
	s.now = s.now.Add(3 * time.Minute)
	if ended, err := s.HasEnded(context.Background(), "1"); !ended || err != nil {
		t.Fatal(ended, err)
	}
	s.work(t)
	s.at(t, Reported)
	s.want(t, "answered running", "report rank-stalled")
}

func TestASnapshotOfARunningJobOnRequest(t *testing.T) {
	s := chatStage()
	s.Quiet = func(string) time.Duration { return 2 * time.Minute }
	s.located, s.written = []string{"a", "b"}, s.now
	s.open(t)
	s.work(t)
	s.handle(t, Input{Event: LookNow})
	s.work(t)
	s.at(t, Reported)

	// Hours later it ends: what was a snapshot is looked at again, once.
	ended := func(want bool) {
		t.Helper()
		if ended, err := s.HasEnded(context.Background(), "1"); ended != want || err != nil {
			t.Fatal(ended, err)
		}
	}
	s.now = s.now.Add(5 * time.Hour)
	s.written = s.now
	ended(false)
	s.verdict = func(analysis.Input) (*incident.Report, error) {
		return report("gpu-ecc", incident.Confirmed, []int{3}, "yes", "a.out", "b.out"), nil
	}
	s.files["a"][0].Bytes += 100
	s.now = s.now.Add(3 * time.Minute)
	ended(true)
	s.work(t)
	if inv := s.at(t, Reported); inv.Running || len(inv.Report.Revisions) != 1 {
		t.Errorf("running %v, revisions %+v", inv.Running, inv.Report.Revisions)
	}
	ended(false)
	if err := s.Handle(context.Background(), "1", Input{Event: JobEnded}); err == nil {
		t.Error("it ended twice")
	}
}

func TestAJobThatOneMayNotSeeLooksLikeOneThatDoesNotExist(t *testing.T) {
	unknown, refused := chatStage(), chatStage()
	refused.located, refused.owners = []string{"a", "b"}, []string{"mallory"}
	refused.Permit = func(_ Investigation, found Found) bool { return !slices.Contains(found.Users, "mallory") }
	var questions [2]Question
	for i, s := range []*stage{unknown, refused} {
		s.open(t)
		s.work(t)
		questions[i] = s.at(t, AwaitingLogs).Open[0]
	}
	questions[0].Asked, questions[1].Asked = time.Time{}, time.Time{}
	if !reflect.DeepEqual(questions[0], questions[1]) {
		t.Errorf("they differ:\n%+v\n%+v", questions[0], questions[1])
	}
	entries, _ := refused.store.Ledger(context.Background(), "1")
	if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Kind == "refused" && strings.Contains(e.Text, "mallory") }) {
		t.Errorf("the refusal is not in the ledger: %+v", entries)
	}
}

// brings pulls storage logs, or fails in turn with what it is told.
type brings struct{ errs []error }

func (b *brings) Fetch(context.Context, Investigation) (StorageLogs, error) {
	if len(b.errs) > 0 {
		err := b.errs[0]
		b.errs = b.errs[1:]
		return StorageLogs{}, err
	}
	return StorageLogs{Places: []string{"t1.tar.gz"}, Nodes: 3, Warnings: []string{"no logs of t4: it did not answer"}}, nil
}

func readsFrom(source string) incident.StorageSign {
	e := incident.Quote("a.out", 7, 100, "  tarred_audio_filepaths: "+source, nil)
	return incident.StorageSign{Kind: incident.SignUse, Statement: "the job reads its data from " + source, Evidence: []incident.Evidence{e}}
}

// What leads to a question for the logs of the storage, and what does not.
func TestWhatSmellsOfStorage(t *testing.T) {
	trouble := incident.StorageSign{Kind: incident.SignTrouble, Statement: "Lhotse says that a batch did not arrive"}
	use := readsFrom("ais://speech")
	for name, c := range map[string]struct {
		mechanism, origin, status string
		signs                     []incident.StorageSign
		candidates                []incident.Candidate
		daemons                   int
		want                      bool
	}{
		"trouble":                       {"gpu-oom", "gpu", incident.Confirmed, []incident.StorageSign{trouble}, nil, 0, true},
		"trouble, but nothing failed":   {"completed", "none", incident.NoFailure, []incident.StorageSign{trouble, use}, nil, 0, false},
		"trouble, and they are here":    {"rank-stalled", "unknown", incident.Probable, []incident.StorageSign{trouble, use}, nil, 1, false},
		"held, from AIStore":            {"rank-stalled", "unknown", incident.Probable, []incident.StorageSign{use}, nil, 0, true},
		"loading, from AIStore":         {"dataloader-stall", "data-loading-stall", incident.Probable, []incident.StorageSign{use}, nil, 0, true},
		"loading, from nobody knows":    {"dataloader-stall", "data-loading-stall", incident.Probable, nil, nil, 0, false},
		"held, from nobody knows":       {"rank-stalled", "unknown", incident.Probable, nil, nil, 0, false},
		"a disk of somebody's":          {"storage-full", "storage", incident.Confirmed, nil, nil, 0, false},
		"a disk, and AIStore":           {"storage-full", "storage", incident.Confirmed, []incident.StorageSign{use}, nil, 0, true},
		"something else, from AIStore":  {"gpu-ecc", "gpu", incident.Confirmed, []incident.StorageSign{use}, nil, 0, false},
		"perhaps held, from AIStore":    {"collective-hang", "unknown", incident.Inconclusive, []incident.StorageSign{use}, []incident.Candidate{{Mechanism: "collective-hang"}, {Mechanism: "rank-stalled"}}, 0, true},
		"perhaps something, from there": {"collective-hang", "unknown", incident.Inconclusive, []incident.StorageSign{use}, []incident.Candidate{{Mechanism: "collective-hang"}, {Mechanism: "gpu-hang"}}, 0, false},
	} {
		r := report(c.mechanism, c.status, []int{1}, "yes", "a.out")
		r.Verdict.Origin, r.Verdict.Candidates, r.Storage.Signs = c.origin, c.candidates, c.signs
		r.Storage.Daemons = make([]incident.StorageDaemon, c.daemons)
		if got := smellsOfStorage(r); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func storageStage(b *brings) *stage {
	s := chatStage()
	s.AskStorage, s.Storage = true, b
	s.located = []string{"a", "b"}
	s.verdict = func(analysis.Input) (*incident.Report, error) {
		r := report("rank-stalled", incident.Probable, []int{1}, "yes", "a.out", "b.out")
		r.Storage.Signs = []incident.StorageSign{readsFrom("ais://speech")}
		return r, nil
	}
	return s
}

func TestStorageIsAskedForAfterTheFirstReportAndEveryFailureGetsAnotherChance(t *testing.T) {
	b := &brings{errs: []error{errors.New("the token has expired"), fmt.Errorf("in Fetch: %w", ErrAccessLost)}}
	s := storageStage(b)
	s.open(t)
	s.work(t)
	s.at(t, AwaitingAIS)
	if got := s.posts(t); !slices.Contains(got, "report rank-stalled, 0 revisions") || !slices.Contains(got, "ask storage") {
		t.Fatalf("posts %q", got)
	}
	if items := s.at(t, AwaitingAIS).Open[0].Items; !slices.Equal(items, []string{"a.out:7: the job reads its data from ais://speech: tarred_audio_filepaths: ais://speech"}) {
		t.Errorf("the lines that led to it: %q", items)
	}
	for _, problem := range []string{"the token has expired", "I restarted"} {
		s.handle(t, Input{Event: AISGiven, Text: "provided by U1"})
		s.work(t)
		inv := s.at(t, AwaitingAIS)
		if len(inv.Open) != 1 || !strings.Contains(inv.Open[0].Text, problem) {
			t.Fatalf("open %+v", inv.Open)
		}
	}
	if inv := s.at(t, AwaitingAIS); inv.Storage != "lost" {
		t.Errorf("access %q", inv.Storage)
	}
	s.handle(t, Input{Event: AISGiven, Text: "provided by U1"})
	s.work(t)
	inv := s.at(t, Reported)
	if !slices.Equal(inv.StorageLogs, []string{"t1.tar.gz"}) || inv.Storage != "provided by U1" {
		t.Errorf("%q %q", inv.StorageLogs, inv.Storage)
	}
	s.want(t, "say no logs of t4", "kept with this incident but not read", "final")
}

// reads is a stage where storage logs are opened: what is called bad is none.
func readsStorage(b *brings) (s *stage, given *[][]incident.Source) {
	s = storageStage(b)
	s.Daemons = func(_ context.Context, inv Investigation) (Collection, error) {
		var c Collection
		for _, p := range inv.StorageLogs {
			if p == "bad" {
				return c, errors.New("bad is a picture: give logs")
			}
			c.Sources = append(c.Sources, incident.Source{Name: "ais-logs/" + p + "/x.INFO", Path: "/spool/" + p, Bytes: 1})
		}
		return c, nil
	}
	given = &[][]incident.Source{}
	plain := s.verdict
	s.verdict = func(in analysis.Input) (*incident.Report, error) {
		r, err := plain(in)
		*given = append(*given, in.Storage)
		for _, src := range in.Storage {
			if src.Path != "/spool/photo" {
				r.Storage.Daemons = append(r.Storage.Daemons, incident.StorageDaemon{Name: src.Name})
			}
		}
		return r, err
	}
	return s, given
}

func TestStorageLogsAreReadBesideTheJobs(t *testing.T) {
	s, given := readsStorage(&brings{})
	var verified [][]incident.Source
	s.Engine.Verify = func(_ context.Context, sources []incident.Source, _ *incident.Report) ([]string, error) {
		verified = append(verified, sources)
		return nil, nil
	}
	s.open(t)
	s.work(t)
	s.at(t, AwaitingAIS)
	s.handle(t, Input{Event: AISGiven, Text: "provided by U1"})
	s.work(t)
	inv := s.at(t, Reported)
	last := (*given)[len(*given)-1]
	if len(last) != 1 || last[0].Name != "ais-logs/t1.tar.gz/x.INFO" || len(inv.Report.Storage.Daemons) != 1 || len(verified) != 1 || len(verified[0]) != 3 {
		t.Errorf("given %+v, verified %+v, report %+v", last, verified, inv.Report.Storage)
	}
	if !slices.Contains(inv.Report.Warnings, "no logs of t4: it did not answer") {
		t.Errorf("what is missing is no warning of the report: %q", inv.Report.Warnings)
	}
	s.want(t, "say no logs of t4", "I read the logs from 1 storage daemon along with the job's: they neither implicate storage nor rule it out; the verdict stands", "final")
	raw, err := inv.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := DecodeInvestigation(raw); err != nil || back.StorageSources[0].Path != "/spool/t1.tar.gz" {
		t.Errorf("%+v, %v", back.StorageSources, err)
	}

	// Later logs of the job are judged together with what the storage said.
	s.files["c"] = []incident.Source{{Name: "c.out", Path: "c"}}
	s.handle(t, Input{Event: LogsGiven, Places: []string{"c"}})
	s.work(t)
	s.at(t, Reported)
	if last := (*given)[len(*given)-1]; len(last) != 1 {
		t.Errorf("the storage logs were forgotten: %+v", last)
	}
}

func TestStorageLogsThatChangeTheVerdictReviseItOnce(t *testing.T) {
	for _, engine := range []string{"", "t1 was healthy"} { // the engine may say itself what changed, in every pass
		s, _ := readsStorage(&brings{})
		plain := s.verdict
		s.verdict = func(in analysis.Input) (*incident.Report, error) {
			r, err := plain(in)
			if len(in.Storage) > 0 {
				r.Storage.Judgement, r.Storage.Status, r.Storage.Why = "cleared", "examined", "AIStore was healthy"
				if engine != "" {
					r.Revisions = []incident.Revision{{Was: "from the job's own logs", Now: "cleared", Because: engine}}
				}
			}
			return r, err
		}
		because := engine
		if because == "" {
			because = "read the logs from 1 storage daemon, and AIStore was healthy"
		}
		revisedOnce(t, s, because)
	}
}

func revisedOnce(t *testing.T, s *stage, because string) {
	t.Helper()
	s.open(t)
	s.work(t)
	s.handle(t, Input{Event: AISGiven, Text: "provided by U1"})
	s.work(t)
	inv := s.at(t, Reported)
	if len(inv.Report.Revisions) != 1 || !strings.Contains(inv.Report.Revisions[0].Now, "storage is ruled out") || inv.Report.Revisions[0].Because != because {
		t.Fatalf("%+v", inv.Report.Revisions)
	}
	s.want(t, "report rank-stalled, 1 revisions")
	s.handle(t, Input{Event: Evidence, WorldSize: 8}) // judged once more: nothing is new
	s.work(t)
	if inv := s.at(t, Reported); len(inv.Report.Revisions) != 1 {
		t.Errorf("%+v", inv.Report.Revisions)
	}
}

func TestUploadsThatAreNoLogsOfTheStorageAreAskedForAgain(t *testing.T) {
	s, _ := readsStorage(&brings{})
	s.open(t)
	s.work(t)
	for _, c := range [][2]string{{"photo", "none of the files is an AIStore daemon log"}, {"bad", "bad is a picture"}} {
		s.handle(t, Input{Event: AISGiven, Places: []string{c[0]}, Text: "uploaded by U1"})
		s.work(t)
		inv := s.at(t, AwaitingAIS)
		if len(inv.Open) != 1 || !strings.Contains(inv.Open[0].Text, c[1]) || len(inv.StorageSources) != 0 {
			t.Errorf("%+v; %+v", inv.Open, inv.StorageSources)
		}
	}
}

func TestARefusedAccessLeavesOtherQuestionsOpen(t *testing.T) {
	s, _ := readsStorage(&brings{errs: []error{errors.New("the token has expired")}})
	plain := s.verdict
	s.verdict = func(in analysis.Input) (*incident.Report, error) {
		r, err := plain(in)
		r.Coverage.NodesExpected, r.Coverage.NodesMissing = []string{"n0", "n1"}, []string{"n1"}
		return r, err
	}
	s.open(t)
	s.work(t)
	kinds := func() (kinds []string) {
		for _, q := range s.at(t, AwaitingAIS).Open {
			kinds = append(kinds, q.Kind)
		}
		return kinds
	}
	before := s.at(t, AwaitingAIS).Open
	s.handle(t, Input{Event: AISGiven, Text: "provided by U1"})
	s.work(t)
	if got := kinds(); !slices.Equal(got, []string{AskAccess, AskMissing}) || s.at(t, AwaitingAIS).Open[1].ID != before[1].ID {
		t.Errorf("open %q, before %+v", got, before)
	}
}

func TestAnUploadAndAPullAreReadTogether(t *testing.T) {
	s, given := readsStorage(&brings{})
	s.open(t)
	s.work(t)
	s.handle(t, Input{Event: AISGiven, Places: []string{"mine"}, Text: "uploaded by U1"})
	s.work(t)
	s.at(t, Reported)
	for range 2 { // the second pull takes the place of the first
		s.handle(t, Input{Event: AISGiven, Text: "provided by U1"})
		s.work(t)
		inv := s.at(t, Reported)
		if last := (*given)[len(*given)-1]; len(last) != 2 || !slices.Equal(inv.StorageLogs, []string{"t1.tar.gz", "mine"}) {
			t.Errorf("%+v %q", last, inv.StorageLogs)
		}
	}
}

func TestAnUnansweredStorageQuestionEndsInTheFinalReport(t *testing.T) {
	for _, end := range []func(t *testing.T, s *stage){
		func(t *testing.T, s *stage) { s.handle(t, Input{Event: SkipStorage, Text: "skipped by U1"}) },
		func(t *testing.T, s *stage) {
			s.now = s.now.Add(25 * time.Hour)
			if due, err := s.Tick(context.Background(), "1"); !due || err != nil {
				t.Fatal(due, err)
			}
		},
	} {
		s := storageStage(&brings{})
		s.open(t)
		s.work(t)
		s.at(t, AwaitingAIS)
		end(t, s)
		s.work(t)
		s.at(t, Reported)
		s.want(t, "final")
	}
}

func TestAQuestionIsRepeatedOnceAndThenGivenUp(t *testing.T) {
	s := chatStage()
	s.located = []string{"a"} // one node is missing: a question under a report
	s.open(t)
	s.work(t)
	s.at(t, Reported)
	count := func(text string) (n int) {
		for _, p := range s.posts(t) {
			if p == text {
				n++
			}
		}
		return n
	}
	tick := func(d time.Duration, want bool) {
		t.Helper()
		s.now = s.now.Add(d)
		if due, err := s.Tick(context.Background(), "1"); due != want || err != nil {
			t.Fatalf("due %v, want %v; %v", due, want, err)
		}
	}
	tick(29*time.Minute, false)
	tick(time.Minute, true)
	tick(time.Hour, false)
	if n := count("remind missing"); n != 1 {
		t.Errorf("%d reminders", n)
	}
	tick(23*time.Hour, true)
	if n := count("expired missing"); n != 1 {
		t.Errorf("%d expiries", n)
	}
	if inv := s.at(t, Reported); len(inv.Open) != 0 {
		t.Errorf("open %+v", inv.Open)
	}
}

func TestNobodyIsRemindedWhoAskedForQuiet(t *testing.T) {
	s := chatStage()
	s.located = []string{"a"}
	s.open(t)
	s.work(t)
	inv := s.at(t, Reported)
	inv.Muted = true
	if err := s.store.Save(context.Background(), Change{Investigation: &inv}); err != nil {
		t.Fatal(err)
	}
	s.now = s.now.Add(time.Hour)
	if due, err := s.Tick(context.Background(), "1"); due || err != nil {
		t.Errorf("due %v, %v", due, err)
	}
}

func TestACancelDuringAStepWins(t *testing.T) {
	s := chatStage()
	s.located = []string{"a"}
	s.open(t)
	good := s.verdict
	s.verdict = func(in analysis.Input) (*incident.Report, error) {
		s.handle(t, Input{Event: Cancel, Actor: "U1"})
		return good(in)
	}
	s.work(t)
	inv := s.at(t, Cancelled)
	if inv.Report != nil {
		t.Error("the step that was overtaken wrote its report")
	}
}

func TestASnapshotSurvivesTheStore(t *testing.T) {
	s := chatStage()
	s.located = []string{"a"}
	s.open(t)
	s.work(t)
	inv := s.at(t, Reported)
	inv.Outcome = &Outcome{Verdict: "wrong", Mechanism: "gpu-oom"}
	raw, err := inv.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeInvestigation(raw)
	if err != nil {
		t.Fatal(err)
	}
	again, err := back.Encode()
	if err != nil || string(again) != string(raw) {
		t.Errorf("%v\n%s\n%s", err, raw, again)
	}
	if back.Sources[0].Path != "a" {
		t.Errorf("the path of the source is lost: %+v", back.Sources)
	}
	for _, bad := range []string{"", "{}", `{"format":99,"investigation":{}}`, `{"format":1,"investigation":{"Sources":[{"name":"x"}]}}`} {
		if _, err := DecodeInvestigation([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzDecodeInvestigation(f *testing.F) {
	raw, err := Investigation{ID: "F-1", Job: "4242", Sources: []incident.Source{{Name: "a", Path: "/a"}}}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		inv, err := DecodeInvestigation(raw)
		if err != nil {
			return
		}
		if _, err := inv.Encode(); err != nil {
			t.Error(err)
		}
	})
}

func TestLargeLogsGetAFirstLookAndThenTheWholeReading(t *testing.T) {
	s := chatStage()
	s.FirstLook = true
	s.located = []string{"a", "b"}
	s.files["a"][0].Bytes, s.files["b"][0].Bytes = lookOver, lookOver
	var skims []int64
	s.verdict = func(in analysis.Input) (*incident.Report, error) {
		skims = append(skims, in.Skim)
		if in.Skim > 0 {
			return report("unknown", incident.Inconclusive, nil, "unknown", "a.out"), nil
		}
		return report("rank-stalled", incident.Probable, []int{1}, "yes", "a.out", "b.out"), nil
	}
	s.open(t)
	s.work(t)
	s.at(t, Reported)
	if !slices.Equal(skims, []int64{lookAt / 2, 0}) {
		t.Errorf("looks %v", skims)
	}
	s.want(t, "report unknown, 0 revisions", "report rank-stalled, 1 revisions", "final")
}

// Holding implements Composer.
func (voice) Holding(inv *Investigation) (Post, error) {
	return Post{Investigation: inv.ID, Kind: PostMessage}, nil
}
