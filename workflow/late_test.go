package workflow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/incident"
)

// shelf is a Fetcher of files by hand.
type shelf struct {
	places  []string // what Locate finds
	files   map[string]string
	dir     string
	still   bool // it is no other each time
	facts   int  // how often the cluster was asked; it says something else each time
	located int
	taken   int
}

func (s *shelf) Locate(context.Context, string, string) (Found, error) {
	s.located++
	return Found{Places: s.places, Base: nil}, nil
}

func (s *shelf) Collect(_ context.Context, places []string) (Collection, error) {
	s.taken++
	var c Collection
	for _, name := range sortedKeys(s.files) {
		if !slices.ContainsFunc(places, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		path := filepath.Join(s.dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(path, []byte(s.files[name]), 0o600); err != nil {
			return c, err
		}
		c.Sources = append(c.Sources, incident.Source{Name: name, Path: path, Bytes: int64(len(s.files[name])), Origin: "path"})
	}
	if len(c.Sources) == 0 {
		return c, errors.New("nothing there")
	}
	if !s.still {
		s.facts++
	}
	c.Sources = append(c.Sources, incident.Source{Name: "facts", Path: "/facts", Bytes: int64(s.facts)})
	c.Facts = []string{"facts"}
	return c, nil
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// lateStage is a flow whose clock is moved by hand, with what it says.
type lateStage struct {
	t     *testing.T
	now   time.Time
	store *Memory
	flow  *Flow
	shelf *shelf
	read  []string // what each diagnosis read
	said  []Notice
	root  func(in analysis.Input) int // the rank that is blamed
}

// Compose implements Composer.
func (s *lateStage) Compose(_ context.Context, _ *Investigation, n Notice) ([]Post, error) {
	s.said = append(s.said, n)
	return nil, nil
}

func newLateStage(t *testing.T) *lateStage {
	s := &lateStage{t: t, now: time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC), store: NewMemory(), shelf: &shelf{places: []string{"a"}, files: map[string]string{"a/0": "rank 0 waits\n"}, dir: t.TempDir()}}
	clock := func() time.Time { return s.now }
	s.store.Now = clock
	s.root = func(analysis.Input) int { return 0 }
	s.flow = &Flow{
		Fetch: s.shelf, Compose: s, Store: s.store, Now: clock, Deferred: true, ExpireAfter: 24 * time.Hour,
		Late: func(string) time.Duration { return 15 * time.Minute },
		Engine: Engine{Open: os.Open,
			Diagnose: func(_ context.Context, in analysis.Input) (*incident.Report, error) {
				var names []string
				for _, src := range in.Sources {
					names = append(names, fmt.Sprintf("%s:%d", src.Name, src.Bytes))
				}
				s.read = append(s.read, strings.Join(names[:len(names)-1], " "))
				root := s.root(in)
				file := fmt.Sprintf("a/%d", root)
				at := int64(strings.Index(s.shelf.files[file], "rank"))
				quote := incident.Evidence{Kind: incident.KindQuote, File: file, Line: 1, Offset: at, Text: "rank"}
				return &incident.Report{
					Verdict: incident.Verdict{Status: incident.Probable, Mechanism: "rank-stalled", Root: incident.Root{Ranks: []int{root}}},
					Chain:   []incident.Link{{Role: incident.Cause, Statement: "It stopped.", Evidence: []incident.Evidence{quote}}},
				}, nil
			},
			Verify: func(context.Context, []incident.Source, *incident.Report) ([]string, error) { return nil, nil },
		},
	}
	return s
}

func (s *lateStage) open() {
	s.t.Helper()
	if err := s.flow.Open(context.Background(), Investigation{ID: "F-1", Job: "7"}, Input{}); err != nil {
		s.t.Fatal(err)
	}
	s.settle()
}

// settle does what is due.
func (s *lateStage) settle() {
	s.t.Helper()
	ctx := context.Background()
	for range 100 {
		l, err := s.store.Claim(ctx, []string{JobRun, JobLate}, "test", time.Hour)
		if err != nil {
			s.t.Fatal(err)
		}
		if l == nil {
			return
		}
		if l.Kind == JobLate {
			wait, err := s.flow.LookAgain(ctx, l)
			if err == nil && wait > 0 {
				err = s.store.Release(ctx, l, wait, nil)
			}
			if err != nil {
				s.t.Fatal(err)
			}
			continue
		}
		if err := s.flow.Run(ctx, l.Investigation); err != nil {
			s.t.Fatal(err)
		}
		if err := s.store.Finish(ctx, l); err != nil {
			s.t.Fatal(err)
		}
	}
	s.t.Fatal("the work never ends")
}

// passes lets time pass, a second at a time where work is due.
func (s *lateStage) passes(d time.Duration) {
	s.t.Helper()
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(5 * time.Second)
		s.settle()
	}
}

func (s *lateStage) at(want State) Investigation {
	s.t.Helper()
	inv, err := s.store.Load(context.Background(), "F-1")
	if err != nil || inv.State != want {
		entries, _ := s.store.Ledger(context.Background(), "F-1")
		s.t.Fatalf("%s, want %s (%v); ledger %+v", inv.State, want, err, entries)
	}
	return inv
}

// loud are notices that people would see as something new.
func (s *lateStage) loud(from int) (out []Notice) {
	for _, n := range s.said[from:] {
		if len(n.Says)+len(n.Asks)+len(n.Revisions)+len(n.Reminders) > 0 {
			out = append(out, n)
		}
	}
	return out
}

func TestLooksForLateFilesGrowApartAndEnd(t *testing.T) {
	s := newLateStage(t)
	s.open()
	began := s.now
	var looks []string
	last := s.shelf.taken
	for s.now.Sub(began) < time.Hour {
		s.passes(5 * time.Second)
		if s.shelf.taken > last {
			looks, last = append(looks, s.now.Sub(began).String()), s.shelf.taken
		}
	}
	if got := strings.Join(looks, " "); got != "30s 1m0s 2m0s 4m0s 8m0s 15m0s" {
		t.Error(got)
	}
	if len(s.read) != 1 || len(s.loud(0)) != 1 { // the logs that were found
		t.Errorf("%q %+v", s.read, s.loud(0))
	}
	if jobs, _ := s.store.Waiting(context.Background()); len(jobs) != 0 {
		t.Errorf("%+v", jobs)
	}
}

func TestALateFileThatChangesTheVerdictIsARevisionThatNamesIt(t *testing.T) {
	s := newLateStage(t)
	s.root = func(in analysis.Input) int { return len(in.Sources) - 2 }
	s.open()
	s.passes(40 * time.Second)
	s.shelf.files["a/1"] = "rank 1 has stopped\n"
	s.passes(5 * time.Minute)
	inv := s.at(Reported)
	if len(inv.Report.Revisions) != 1 {
		t.Fatalf("%+v", inv.Report.Revisions)
	}
	r := inv.Report.Revisions[0]
	if r.Was != "root: rank 0" || r.Now != "root: rank 1" || r.Because != `a/1 came after the earlier verdict: It stopped: a/1:1 says "rank"` {
		t.Errorf("%+v", r)
	}
	if got := strings.Join(s.read, " | "); got != "a/0:13 | a/0:13 a/1:19" {
		t.Error(got)
	}
	if inv.Late.Quiet || inv.Late.News != nil {
		t.Errorf("%+v", inv.Late)
	}
}

func TestALateFileThatChangesNothingIsReadWithoutAWord(t *testing.T) {
	s := newLateStage(t)
	s.open()
	before := len(s.said)
	s.shelf.files["a/0"] += "and more\n"
	s.shelf.files["a/1"] = "rank 1 waits\n"
	s.passes(5 * time.Minute)
	if got := strings.Join(s.read, " | "); got != "a/0:13 | a/0:22 a/1:13" {
		t.Error(got)
	}
	if loud := s.loud(before); len(loud) != 0 {
		t.Errorf("%+v", loud)
	}
	if inv := s.at(Reported); len(inv.Sources) != 3 || len(inv.Report.Revisions) != 0 {
		t.Errorf("%+v", inv.Sources)
	}
}

func TestAFileThatGrowsOnIsGivenTimeAndThenReadAllTheSame(t *testing.T) {
	s := newLateStage(t)
	s.open()
	began := s.now
	for s.now.Sub(began) < 50*time.Second {
		s.shelf.files["a/0"] += "more\n"
		s.passes(5 * time.Second)
		if len(s.read) == 2 && s.now.Sub(began) < 60*time.Second {
			t.Fatalf("read after %s", s.now.Sub(began))
		}
	}
	for s.now.Sub(began) < 2*time.Minute {
		s.shelf.files["a/0"] += "more\n"
		s.passes(5 * time.Second)
	}
	if len(s.read) < 2 {
		t.Errorf("%q", s.read)
	}
}

// A requeue empties the log and begins anew; its lines are no evidence about the run that was reported.
func TestALogThatWasWrittenAnewIsNotTakenForOneThatGrew(t *testing.T) {
	for name, now := range map[string]string{"longer": "[restart] all is well, rank by rank\n", "shorter": "[new]\n", "gone": ""} {
		s := newLateStage(t)
		s.open()
		if s.shelf.files["a/0"] = now; now == "" {
			delete(s.shelf.files, "a/0")
			s.shelf.files["a/1"] = "rank 1\n"
		}
		s.passes(20 * time.Minute)
		if len(s.read) != 1 {
			t.Errorf("%s: %q", name, s.read)
		}
	}
}

func TestACaseWithoutLogsGoesOnByItselfWhenTheyCome(t *testing.T) {
	s := newLateStage(t)
	places := s.shelf.places
	s.shelf.places = nil
	s.open()
	s.at(AwaitingLogs)
	s.passes(3 * time.Hour)
	inv := s.at(AwaitingLogs)
	if inv.Asks != 1 || s.shelf.located > 14 {
		t.Errorf("%d questions, looked %d times", inv.Asks, s.shelf.located)
	}
	s.shelf.places = places
	s.passes(time.Hour)
	inv = s.at(Reported)
	if !inv.Located || len(inv.Open) != 0 || inv.Late.From.IsZero() {
		t.Errorf("%+v", inv)
	}
}

func TestWhatAPersonNamedIsLookedAtAgainWhereItWasEmpty(t *testing.T) {
	s := newLateStage(t)
	s.shelf.places = nil
	delete(s.shelf.files, "a/0")
	if err := s.flow.Open(context.Background(), Investigation{ID: "F-1", Places: []string{"b"}}, Input{}); err != nil {
		t.Fatal(err)
	}
	s.settle()
	s.at(AwaitingLogs)
	s.shelf.files["b/0"] = "rank 0\n"
	s.passes(time.Minute)
	s.at(Reported)
}

func TestNewsOfFilesIsLookedAtAtOnce(t *testing.T) {
	s := newLateStage(t)
	s.root = func(in analysis.Input) int { return len(in.Sources) - 2 }
	s.open()
	s.passes(2 * time.Hour) // nobody looks any more
	s.shelf.files["pushed/1"] = "rank\n"
	s.shelf.places = append(s.shelf.places, "pushed")
	s.root = func(analysis.Input) int { return 1 }
	s.shelf.files["a/1"] = "rank"
	if _, err := s.store.Enqueue(context.Background(), Arrival("F-1", "x")); err != nil {
		t.Fatal(err)
	}
	s.settle()
	if inv := s.at(Reported); len(s.read) != 2 || len(inv.Report.Revisions) != 1 || !slices.Contains(inv.Places, "pushed") {
		t.Errorf("%q %+v", s.read, inv.Report.Revisions)
	}
}

func TestNobodyLooksAgainWhereItIsOver(t *testing.T) {
	s := newLateStage(t)
	s.open()
	if err := s.flow.Handle(context.Background(), "F-1", Input{Event: Close}); err != nil {
		t.Fatal(err)
	}
	taken := s.shelf.taken
	if _, err := s.store.Enqueue(context.Background(), Arrival("F-1", "x"), Arrival("F-9", "x")); err != nil {
		t.Fatal(err)
	}
	s.shelf.files["a/1"] = "rank 1\n"
	s.passes(time.Hour)
	if s.shelf.taken != taken || s.at(Closed).Late.Due != (time.Time{}) {
		t.Error("somebody looked")
	}
}

// Holding implements Composer.
func (*lateStage) Holding(inv *Investigation) (Post, error) {
	return Post{Investigation: inv.ID, Kind: PostMessage}, nil
}
