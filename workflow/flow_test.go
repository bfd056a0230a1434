package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/incident"
)

// stage is everything around a flow, by hand.
type stage struct {
	*Flow
	store   *Memory
	located []string
	written time.Time
	owners  []string
	files   map[string][]incident.Source // by place
	verdict func(analysis.Input) (*incident.Report, error)
	opened  []string // who owns what Collect opens
	refute  int      // how often the second reading fails
	now     time.Time
	seen    []string // what people saw, in order
}

func (s *stage) Locate(context.Context, string, string) (Found, error) {
	return Found{Places: s.located, Searched: []string{"/logs"}, Written: s.written, Users: s.owners}, nil
}

func (s *stage) Collect(_ context.Context, places []string) (Collection, error) {
	c := Collection{Users: s.opened}
	for _, p := range places {
		if s.files[p] == nil {
			return c, fmt.Errorf("%s does not exist; give a directory that holds logs", p)
		}
		c.Sources = append(c.Sources, s.files[p]...)
	}
	return c, nil
}

func (s *stage) Say(_ context.Context, _, text string) error {
	s.seen = append(s.seen, "say: "+text)
	return nil
}

func (s *stage) Report(_ context.Context, _ string, r *incident.Report) error {
	s.seen = append(s.seen, "report: "+r.Verdict.Mechanism)
	return nil
}

func (s *stage) Ask(_ context.Context, _ string, q Question) error {
	s.seen = append(s.seen, "ask "+q.Kind+": "+q.Text)
	return nil
}

func newStage() *stage {
	s := &stage{
		store: NewMemory(),
		now:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		files: map[string][]incident.Source{"a": {{Name: "a.out", Path: "a"}}, "b": {{Name: "b.out", Path: "b"}}},
	}
	s.verdict = func(in analysis.Input) (*incident.Report, error) {
		if len(in.Sources) == 1 {
			r := report("unknown", incident.Inconclusive, nil, "unknown", "a.out")
			r.Coverage.NodesExpected, r.Coverage.NodesMissing = []string{"n0", "n1"}, []string{"n1"}
			return r, nil
		}
		return report("rank-stalled", incident.Probable, []int{1}, "yes", "a.out", "b.out"), nil
	}
	s.Flow = &Flow{
		Fetch: s, Post: s, Store: s.store, Now: func() time.Time { return s.now },
		Engine: Engine{
			Diagnose: func(_ context.Context, in analysis.Input) (*incident.Report, error) { return s.verdict(in) },
			Verify: func(context.Context, []incident.Source, *incident.Report) ([]string, error) {
				if s.refute--; s.refute >= 0 {
					return []string{"a.out:7 changed"}, nil
				}
				return nil, nil
			},
		},
	}
	return s
}

func (s *stage) at(t *testing.T, want State) Investigation {
	t.Helper()
	inv, err := s.store.Load(context.Background(), "1")
	if err != nil {
		t.Fatal(err)
	}
	if inv.State != want {
		t.Fatalf("state %s, want %s; seen:\n%s", inv.State, want, strings.Join(s.seen, "\n"))
	}
	return inv
}

func (s *stage) handle(t *testing.T, in Input) {
	t.Helper()
	if err := s.Handle(context.Background(), "1", in); err != nil {
		t.Fatal(err)
	}
}

func (s *stage) open(t *testing.T, places ...string) {
	t.Helper()
	if err := s.Open(context.Background(), Investigation{ID: "1", Job: "4242", Places: places}, Input{}); err != nil {
		t.Fatal(err)
	}
}

func TestLogsThatAreFoundLeadStraightToTheReport(t *testing.T) {
	s := newStage()
	s.located = []string{"a", "b"}
	s.open(t)
	s.at(t, Reported)
	if !slices.Contains(s.seen, "report: rank-stalled") {
		t.Errorf("seen %q", s.seen)
	}
}

func TestALateFileRevisesTheReport(t *testing.T) {
	s := newStage()
	s.open(t)
	if inv := s.at(t, AwaitingLogs); len(inv.Open) != 1 || inv.Open[0].Kind != AskLogs || !strings.Contains(inv.Open[0].Text, "/logs") {
		t.Fatalf("open questions %+v", inv.Open)
	}
	s.handle(t, Input{Event: LogsGiven, Places: []string{"a"}})
	inv := s.at(t, Reported)
	if len(inv.Open) != 1 || inv.Open[0].Kind != AskMissing || inv.Open[0].Items[0] != "n1" {
		t.Fatalf("open questions %+v", inv.Open)
	}
	s.handle(t, Input{Event: LogsGiven, Places: []string{"b"}})
	inv = s.at(t, Reported)
	if n := len(inv.Report.Revisions); n != 1 {
		t.Fatalf("%d revisions: %+v", n, inv.Report.Revisions)
	}
	if rev := inv.Report.Revisions[0]; !strings.Contains(rev.Because, "b.out:8") {
		t.Errorf("because %q", rev.Because)
	}
	entries, _ := s.store.Ledger(context.Background(), "1")
	kinds := map[string]int{}
	for i, e := range entries {
		kinds[e.Kind]++
		if e.Seq != i+1 {
			t.Errorf("entry %d has number %d", i, e.Seq)
		}
	}
	if kinds["verdict"] != 2 || kinds["revision"] != 1 {
		t.Errorf("ledger %v", kinds)
	}
}

func TestTheSameFilesAgainChangeNothing(t *testing.T) {
	s := newStage()
	s.open(t, "a")
	s.handle(t, Input{Event: LogsGiven, Places: []string{"a"}})
	if inv := s.at(t, Reported); len(inv.Report.Revisions) != 0 {
		t.Errorf("revisions %+v", inv.Report.Revisions)
	}
}

func TestAWrongPathKeepsWhatIsThere(t *testing.T) {
	s := newStage()
	s.open(t, "nowhere")
	s.at(t, AwaitingLogs)
	if !strings.Contains(strings.Join(s.seen, "\n"), "nowhere does not exist; give a directory") {
		t.Errorf("seen %q", s.seen)
	}
	s.handle(t, Input{Event: LogsGiven, Places: []string{"a"}}) // not judged by the path that failed
	s.at(t, Reported)
	s.handle(t, Input{Event: LogsGiven, Places: []string{"nowhere"}})
	inv := s.at(t, Reported)
	if len(inv.Sources) != 1 || inv.Report == nil {
		t.Errorf("lost what was read: %+v", inv)
	}
}

func TestOfSeveralJobsTheLastIsReportedAndTheQuestionAsked(t *testing.T) {
	s := newStage()
	jobs := []analysis.JobSummary{{ID: "7", End: "2026-01-01T10:00:00", Nodes: []string{"n0"}}, {ID: "8", End: "2026-01-01T12:00:00"}}
	s.verdict = func(in analysis.Input) (*incident.Report, error) {
		if in.JobID == "" {
			return nil, fmt.Errorf("wrapped: %w", &analysis.MultipleJobsError{Jobs: jobs})
		}
		return report("of-job-"+in.JobID, incident.Probable, nil, "yes"), nil
	}
	s.open(t, "a")
	inv := s.at(t, Reported)
	if inv.Report.Verdict.Mechanism != "of-job-8" || inv.Open[0].Kind != AskJob || inv.Open[0].Items[0] != "7, ended 2026-01-01T10:00:00, 1 node: n0" {
		t.Fatalf("%s, %+v", inv.Report.Verdict.Mechanism, inv.Open)
	}
	s.handle(t, Input{Event: Evidence, JobID: "7"})
	if inv := s.at(t, Reported); inv.Report.Verdict.Mechanism != "of-job-7" || len(inv.Open) != 0 {
		t.Errorf("%s, %+v", inv.Report.Verdict.Mechanism, inv.Open)
	}
}

func TestAReportThatFilesRefuteIsMadeAnewButNotForEver(t *testing.T) {
	s := newStage()
	s.refute = 1
	s.open(t, "a")
	s.at(t, Reported)
	s = newStage()
	s.refute = 100
	s.open(t, "a")
	s.at(t, Failed)
}

func TestAPanicOrErrorOfTheEngineFailsTheInvestigationOnly(t *testing.T) {
	for _, verdict := range []func(analysis.Input) (*incident.Report, error){
		func(analysis.Input) (*incident.Report, error) { panic("index out of range") },
		func(analysis.Input) (*incident.Report, error) { return nil, errors.New("disk is gone") },
	} {
		s := newStage()
		good := s.verdict
		s.verdict = verdict
		s.open(t, "a")
		s.at(t, Failed)
		s.verdict = good
		s.handle(t, Input{Event: Retry})
		s.at(t, Reported)
	}
}

func TestAnEventThatDoesNotFitChangesNothing(t *testing.T) {
	s := newStage()
	s.open(t)
	before := s.at(t, AwaitingLogs)
	err := s.Handle(context.Background(), "1", Input{Event: SkipStorage})
	var refused *NotAllowedError
	if !errors.As(err, &refused) || !slices.Contains(refused.Allowed, LogsGiven) {
		t.Fatalf("got %v", err)
	}
	if after := s.at(t, AwaitingLogs); after.Version != before.Version {
		t.Error("something was stored")
	}
}

func TestSilenceEnds(t *testing.T) {
	s := newStage()
	s.open(t)
	if due, err := s.Tick(context.Background(), "1"); due || err != nil {
		t.Fatalf("due at once: %v %v", due, err)
	}
	s.now = s.now.Add(25 * time.Hour)
	if due, err := s.Tick(context.Background(), "1"); !due || err != nil {
		t.Fatalf("not due: %v %v", due, err)
	}
	s.at(t, Expired)
	s.handle(t, Input{Event: LogsGiven, Places: []string{"a", "b"}})
	s.at(t, Reported)
}

func TestAStoppedInvestigationResumesWhereItWas(t *testing.T) {
	s := newStage()
	ctx, stop := context.WithCancel(context.Background())
	good := s.verdict
	s.verdict = func(analysis.Input) (*incident.Report, error) { stop(); return nil, ctx.Err() }
	if err := s.Open(ctx, Investigation{ID: "1", Places: []string{"a"}}, Input{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	s.at(t, Triaging)
	s.verdict = good
	if err := s.Run(context.Background(), "1"); err != nil {
		t.Fatal(err)
	}
	s.at(t, Reported)
}

func TestAStoreRefusesAStaleSnapshot(t *testing.T) {
	m := NewMemory()
	if err := m.Save(context.Background(), Change{Investigation: &Investigation{ID: "1"}}); err != nil {
		t.Fatal(err)
	}
	if err := m.Save(context.Background(), Change{Investigation: &Investigation{ID: "1"}}); !errors.Is(err, ErrConflict) {
		t.Errorf("got %v", err)
	}
	if _, err := m.Load(context.Background(), "2"); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v", err)
	}
}
