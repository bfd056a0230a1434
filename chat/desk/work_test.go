package desk

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/incident"
	"faultline/messages"
	"faultline/workflow"
)

// openStage is a case whose report leaves two causes.
func openStage(t *testing.T) *stage {
	s := newStage(t)
	s.engine.diagnose = func(analysis.Input) (*incident.Report, error) {
		r := report("unknown", incident.Inconclusive)
		r.Verdict.Candidates = []incident.Candidate{{Origin: "gpu", Mechanism: "gpu-oom", Confidence: 0.5}, {Origin: "software", Mechanism: "host-oom", Confidence: 0.4}}
		r.Verdict.Needs = []incident.Need{{What: "the kernel log of node02", Command: "ssh node02 dmesg -T", Obtainable: "now"}}
		r.Hypotheses = []incident.Hypothesis{{Mechanism: "host-oom", Status: "open", WouldDecide: []string{"the kernel log of node02"}}}
		r.Recommendations = []incident.Recommendation{{When: "now", Text: "Read the kernel log."}, {When: "structural", Text: "Alert on host memory."}}
		return r, nil
	}
	s.says("12345")
	return s
}

// shows is the newest post of an investigation whose key begins so.
func (s *stage) shows(id, key string) (text string) {
	s.t.Helper()
	for _, p := range s.all() {
		if p.Investigation == id && p.Kind == workflow.PostMessage && strings.HasPrefix(p.Key, key) {
			text = textOf(s.t, p)
		}
	}
	return text
}

func wants(t *testing.T, got string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(got, w) {
			t.Errorf("no %q in:\n%s", w, got)
		}
	}
}

func TestWhatPeopleFindNarrowsTheVerdict(t *testing.T) {
	s := openStage(t)
	s.says("work F-1")
	wants(t, s.shows("F-1", "work-"), "`h1` A GPU ran out of memory (open).", "`h2` ", "Test: The kernel log of node02.", "`ssh node02 dmesg -T`", "How to tell:",
		"`w1` ", "(open)", "☐ `a1` Read the kernel log", "add …")
	wants(t, s.says("work F-1 h2 contradicts no oom_kill in dmesg, password=hunter2hunter2"), "h2 is contradicted")
	got := s.shows("F-1", "narrowed-")
	wants(t, got, "Corrected: likely, by people's tests: a GPU ran out of memory", "can't tell between 2 causes", "contradicts this", "no oom_kill in dmesg")
	if strings.Contains(got, "hunter2") {
		t.Errorf("a secret is shown: %s", got)
	}
	if inv := s.at("F-1", workflow.Reported); inv.Work.Narrowed != "gpu-oom" || inv.Report.Verdict.Status != incident.Inconclusive {
		t.Errorf("%+v, %s", inv.Work, inv.Report.Verdict.Status)
	}
	s.says("work F-1 h2 inconclusive the log had rotated")
	wants(t, s.shows("F-1", "narrowed-"), "Corrected: can't tell between 2 causes", "likely, by people's tests")
	s.says("work F-1 h1 running")
	if n := strings.Count(strings.Join(s.keys("F-1"), " "), "narrowed-"); n != 2 {
		t.Errorf("%d revisions, want 2", n)
	}
	s.says("work F-1")
	wants(t, s.shows("F-1", "work-"), "(being tested). <@U1>", "(inconclusive). <@U1>: The log had rotated.")
	wants(t, s.says("work F-1 h1 perhaps"), "How did the test end?")
	wants(t, s.says("work F-1 h9 supports"), "There is no h9")
	wants(t, s.says("work F-1 x1"), "I can't read that")
}

func TestTheFiveWhysAreAnsweredInTheThread(t *testing.T) {
	s := openStage(t)
	inv := s.at("F-1", workflow.Reported)
	whys := inv.Working().Whys
	n := 0
	for i, y := range whys {
		if y.Answer != "" {
			wants(t, s.says("work F-1 w"+string(rune('1'+i))+" because I say so"), "The logs already answer")
			continue
		}
		if n != 0 {
			t.Errorf("people are asked more than one question: %+v", whys)
		}
		n = i + 1
	}
	if n == 0 {
		t.Fatalf("nothing is left to people: %+v", whys)
	}
	at := "work F-1 w" + string(rune('0'+n))
	wants(t, s.says(at), "Write the answer after the number")
	wants(t, s.says(at+" because nobody budgeted memory"), "w"+string(rune('0'+n)))
	inv = s.at("F-1", workflow.Reported)
	var page bytes.Buffer
	if err := messages.Postmortem(&page, inv.Report, workflow.StoryOf(inv, nil)); err != nil {
		t.Fatal(err)
	}
	wants(t, page.String(), "Because nobody budgeted memory. (said by U1)")
	if strings.Contains(page.String(), "To be answered by the team.") {
		t.Errorf("still open:\n%s", page.String())
	}
}

func TestTasksAreTakenAndRemindedOf(t *testing.T) {
	s := openStage(t)
	wants(t, s.says("work F-1 a1 me 2026-03-10"), "a1: Read the kernel log, <@U1>, due 10 March 2026")
	wants(t, s.says("work F-1 add Write an alert @berta 2026-03-05"), "Write an alert, @berta, due 5 March 2026")
	wants(t, s.says("work F-1 a1 2026-02-31"), "2026-02-31 isn't a day")
	s.says("close F-1")
	reminders := func() (n int) {
		for _, p := range s.all() {
			if p.Key != "" && strings.HasPrefix(p.Key, "due-") {
				n++
			}
		}
		return n
	}
	s.settle()
	if reminders() != 0 {
		t.Fatal("reminded before the day")
	}
	s.now = time.Date(2026, 3, 5, 9, 0, 1, 0, time.UTC)
	s.settle()
	wants(t, s.shows("F-1", "due-"), "@berta, a", "was due on 5 March: Write an alert.", "done`")
	s.says("work F-1 a1 2026-03-11") // later than it was
	s.now = time.Date(2026, 3, 10, 9, 0, 1, 0, time.UTC)
	s.settle()
	if reminders() != 1 {
		t.Errorf("%d reminders: the old date still counts", reminders())
	}
	s.now = time.Date(2026, 3, 11, 9, 0, 1, 0, time.UTC)
	s.settle()
	wants(t, s.shows("F-1", "due-"), "<@U1>, a1 was due on 11 March")
	s.says("work F-1 a1 done")
	tasks := s.at("F-1", workflow.Reported).Work.Tasks
	s.says("work F-1 a" + string(rune('0'+len(tasks))) + " done")
	s.now = s.now.Add(60 * 24 * time.Hour)
	s.settle()
	if reminders() != 2 {
		t.Errorf("%d reminders: what is done is still asked for", reminders())
	}
	inv, err := s.store.Load(context.Background(), "F-1")
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := messages.Postmortem(&page, inv.Report, workflow.StoryOf(inv, nil)); err != nil {
		t.Fatal(err)
	}
	wants(t, page.String(), "- [x] Read the kernel log. (U1, 2026-03-11)", "- [ ] Alert on host memory.")
}
