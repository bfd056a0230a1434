package workflow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/incident"
)

// wanting is a stage whose verdict is a set with needs; how many the engine names, most only as long as nobody gave "dmesg".
func wanting(s *stage, needs ...incident.Need) *stage {
	s.verdict = func(in analysis.Input) (*incident.Report, error) {
		r := report("gpu-hang", incident.Inconclusive, nil, "unknown", "a.out")
		r.Verdict.Candidates = []incident.Candidate{{Mechanism: "gpu-hang"}, {Mechanism: "rank-stalled"}}
		given := slices.ContainsFunc(in.Sources, func(s incident.Source) bool { return s.Name == "dmesg.txt" })
		for _, n := range needs {
			if !given || n.Artefact != "kernel" {
				r.Verdict.Needs = append(r.Verdict.Needs, n)
			}
		}
		return r, nil
	}
	s.files["dmesg"], s.files["notes"] = []incident.Source{{Name: "dmesg.txt", Path: "dmesg"}}, []incident.Source{{Name: "notes.txt", Path: "notes"}}
	return s
}

func hangs() []incident.Need {
	return []incident.Need{
		{What: "the dumps", Artefact: "flight-recorder", Obtainable: "perishing"}, {What: "the kernel logs", Artefact: "kernel", Obtainable: "perishing"},
		{What: "the records", Obtainable: "now"}, {What: "stacks", Command: "py-spy dump --pid {pid}", Artefact: "stacks", Obtainable: "next-time"},
	}
}

// asked are the texts of the open questions.
func (s *stage) asked(t *testing.T) (texts []string) {
	t.Helper()
	for _, q := range s.at(t, Reported).Open {
		texts = append(texts, strings.TrimSuffix(strings.TrimPrefix(q.Text, "Can you upload "), "?"))
	}
	return texts
}

func (s *stage) decline(t *testing.T) {
	t.Helper()
	if err := s.Decline(context.Background(), "1", s.at(t, Reported).Open[0].ID, "ana"); err != nil {
		t.Fatal(err)
	}
}

func TestWhoDoesNotHaveOneArtefactIsAskedForTheNext(t *testing.T) {
	s := wanting(newStage(), hangs()...)
	s.open(t, "a")
	for _, want := range []string{"the dumps", "the kernel logs", "the records"} {
		if got := s.asked(t); !slices.Equal(got, []string{want}) {
			t.Fatalf("asked for %q, want %s", got, want)
		}
		s.decline(t)
	}
	if got := s.asked(t); len(got) != 0 {
		t.Errorf("still asked: %q", got)
	}
	want := "say: Nothing more needed. Can't tell: “a GPU stopped making progress” or “one rank stalled”. To confirm on the next run: " +
		"the dumps (export TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1); stacks (py-spy dump --pid PID)."
	if got := s.seen[len(s.seen)-1]; got != want {
		t.Errorf("said %s", got)
	}
	// What nobody has is not asked for again because something else came.
	s.handle(t, Input{Event: LogsGiven, Places: []string{"b"}})
	if got := s.asked(t); len(got) != 0 {
		t.Errorf("asked once more: %q", got)
	}
}

func TestOnlySoManyArtefactsAreAskedFor(t *testing.T) {
	var needs []incident.Need
	for i := range 6 {
		needs = append(needs, incident.Need{What: fmt.Sprintf("thing %d", i), Obtainable: "now"})
	}
	s := wanting(newStage(), needs...)
	s.open(t, "a")
	n := 0
	for ; len(s.asked(t)) > 0; n++ {
		s.decline(t)
	}
	if n != mostEvidence {
		t.Errorf("%d questions", n)
	}
}

func TestLogsThatNobodyHasLeadToTheEvidence(t *testing.T) {
	s := wanting(newStage(), hangs()...)
	verdict := s.verdict
	s.verdict = func(in analysis.Input) (*incident.Report, error) {
		r, err := verdict(in)
		r.Coverage.NodesExpected, r.Coverage.NodesMissing = []string{"n0", "n1"}, []string{"n1"}
		return r, err
	}
	s.open(t, "a")
	if got := s.asked(t); len(got) != 1 || !strings.HasPrefix(got[0], "I need the missing logs") {
		t.Fatalf("asked for %q", got)
	}
	s.decline(t)
	if got := s.asked(t); !slices.Equal(got, []string{"the dumps"}) {
		t.Errorf("asked for %q", got)
	}
}

func TestWhatIsDecidedLeavesNothingOpen(t *testing.T) {
	s := newStage()
	s.verdict = func(analysis.Input) (*incident.Report, error) {
		r := report("gpu-ecc", incident.Confirmed, []int{1}, "yes", "a.out")
		r.Verdict.Needs = hangs()[1:2]
		return r, nil
	}
	s.open(t, "a")
	s.decline(t)
	if slices.ContainsFunc(s.seen, func(l string) bool { return strings.Contains(l, "more needed") }) {
		t.Errorf("%q", s.seen)
	}
}

func TestAQuestionThatNobodyAnswersLeadsToTheNext(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		s := wanting(chatStage(), hangs()...)
		s.open(t, "a")
		s.work(t)
		inv := s.at(t, Reported)
		if inv.Muted = quiet; quiet {
			if err := s.store.Save(context.Background(), Change{Investigation: &inv}); err != nil {
				t.Fatal(err)
			}
		}
		s.now = s.now.Add(24*time.Hour + time.Minute)
		if due, err := s.Tick(context.Background(), "1"); !due || err != nil {
			t.Fatal(due, err)
		}
		want := []string{"the kernel logs"}
		if quiet { // who wants no reminders is left alone
			want = nil
		}
		if got := s.asked(t); !slices.Equal(got, want) {
			t.Errorf("muted %t: asked for %q", quiet, got)
		}
	}
}

func TestAFileThatIsNoAnswerLeavesTheQuestionOpen(t *testing.T) {
	for _, tt := range []struct {
		give  string
		asked []string
		by    string // whoever gave what settled it
	}{
		{"notes", []string{"the dumps"}, ""},
		{"dmesg", []string{"the dumps"}, ""}, // known, and not what was asked for
	} {
		s := wanting(newStage(), hangs()...)
		s.open(t, "a")
		id := s.at(t, Reported).Open[0].ID
		s.handle(t, Input{Event: LogsGiven, Places: []string{tt.give}, Actor: "ana", Question: id})
		if got := s.asked(t); !slices.Equal(got, tt.asked) {
			t.Errorf("%s: asked for %q", tt.give, got)
		}
		if q := s.at(t, Reported).Open[0]; q.ID != id || q.Given != "" {
			t.Errorf("%s: %+v", tt.give, q)
		}
	}
	s := wanting(newStage(), hangs()[1:]...)
	s.open(t, "a")
	s.handle(t, Input{Event: LogsGiven, Places: []string{"dmesg"}, Actor: "ana", Question: s.at(t, Reported).Open[0].ID})
	if got := s.asked(t); !slices.Equal(got, []string{"the records"}) {
		t.Errorf("the answer came, and asked is for %q", got)
	}
}
