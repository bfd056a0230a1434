package messages

import (
	"strings"
	"testing"

	"faultline/incident"
)

func answer(r *incident.Report, columns int, label string) string {
	var b strings.Builder
	in := false
	for _, l := range FirstScreen(r, columns) {
		if !strings.HasPrefix(l, " ") {
			in = strings.HasPrefix(l, label+" ")
			l = strings.TrimPrefix(l, label)
		}
		if in {
			b.WriteString(strings.TrimSpace(l) + " ")
		}
	}
	return strings.TrimSpace(b.String())
}

func TestASetIsNeverCutShort(t *testing.T) {
	r := undecided()
	r.Verdict.Summary = strings.Repeat("a long sentence about what happened ", 20)
	r.Verdict.Why = r.Verdict.Summary
	for _, columns := range []int{80, 100, 120} {
		got := answer(r, columns, labelCandidates)
		for _, c := range r.Verdict.Candidates {
			if !strings.Contains(strings.ToLower(got), strings.ToLower(mechanismTitle(c.Mechanism))) {
				t.Errorf("at %d: no %q in %q", columns, mechanismTitle(c.Mechanism), got)
			}
		}
	}
}

// Where to see it is named whole or not at all, whatever has to be left out for it.
func TestWhereToSeeItIsNotCutInHalf(t *testing.T) {
	for _, c := range []struct {
		file, summary string
		columns       int
		named         bool
	}{
		{"node09.err", strings.Repeat("what happened is told at length ", 20), 100, true},
		{"node09.err", strings.Repeat("what happened is told at length ", 20), 80, true},
		{"node09.err", "short", 80, true},
		{strings.Repeat("a-folder/", 20) + "node09.err", strings.Repeat("what happened is told at length ", 20), 80, false},
	} {
		r := stall()
		r.Verdict.Summary, r.Verdict.Why = c.summary, strings.Repeat("a long sentence about why ", 20)
		r.KeyFiles = []incident.KeyFile{{File: c.file, Line: 20177}}
		got := answer(r, c.columns, labelWhat)
		if has := strings.HasSuffix(got, "20177."); has != c.named || !has && strings.Contains(got, "See") {
			t.Errorf("%.20s at %d: %q", c.file, c.columns, got)
		}
	}
}

// A log decides how long a text gets. Twice the text is twice the work, not four or eight times.
func TestALongTextIsCutInOnePass(t *testing.T) {
	work := func(words int) float64 {
		r := stall()
		r.Verdict.Summary = strings.Repeat("what happened is told at length ", words)
		r.Verdict.Why = r.Verdict.Summary
		r.KeyFiles = []incident.KeyFile{{File: "node09.err", Line: 20177}}
		v := newView(r)
		return testing.AllocsPerRun(1, func() { layScreen(v, 80) })
	}
	if once, twice := work(30), work(60); twice > 3*once {
		t.Errorf("%.0f allocations for a text, %.0f for twice the text", once, twice)
	}
}

func TestTheDecisionSaysTheFirstThingToDo(t *testing.T) {
	r := stall()
	r.Recommendations = []incident.Recommendation{{When: "next-time", Text: "collect more"}, {When: "now", Text: "look at its last line"}}
	if got := answer(r, 100, labelNext); !strings.HasPrefix(got, "Look at its last line. OK to resubmit without node09, from step 12,000") {
		t.Errorf("got %q", got)
	}
	r.Action.Owner, r.Action.Text, r.Action.ExcludeNodes = "cluster", "find out which node it was", nil
	r.Verdict.Root = incident.Root{}
	if got := answer(r, 100, labelNext); !strings.HasPrefix(got, "Find out which node it was.") {
		t.Errorf("a machine that no line names: %q", got)
	}
}

func TestWhatDecidesIsNamedByWhenItCanBeHad(t *testing.T) {
	needs := []incident.Need{{What: "stacks", Obtainable: "next-time"}, {What: "the kernel log", Obtainable: "perishing"}, {What: "the world size", Obtainable: "now"}}
	for _, c := range []struct{ status, label, text string }{
		{incident.Probable, labelConfirm, "The kernel log (get it soon), the world size."},
		{incident.Confirmed, labelSave, "The kernel log."},
	} {
		if label, text := needsPart(c.status, needs); label != c.label || text != c.text {
			t.Errorf("%s: %s %q", c.status, label, text)
		}
	}
	if _, text := needsPart("", needs[:1]); text != "Next run: stacks." {
		t.Errorf("got %q", text)
	}
}

func TestFilesThatEndAlikeShareALine(t *testing.T) {
	got := cutFiles([]incident.CutFile{{File: "a", How: "empty"}, {File: "b", How: "mid-line"}, {File: "c", How: "empty"}})
	if len(got) != 2 || got[0].Text != "a and 1 more: empty" || got[1].Text != "b: mid line" {
		t.Errorf("got %+v", got)
	}
}

// Fresh eyes asked of the first screen: where do I see it, do I leave a node out, and what do I get first?
func TestTheFirstScreenAnswersWhatPeopleAskedOfIt(t *testing.T) {
	r := stall()
	r.Action.ExcludeNodes = nil
	r.KeyFiles = []incident.KeyFile{{File: "node09.err", Line: 118, Why: "its last line"}}
	if got := answer(r, 100, labelWhat); !strings.HasSuffix(got, " See node09.err:118.") {
		t.Errorf("where to see it: %q", got)
	}
	if got := answer(r, 100, labelNext); !strings.Contains(got, "OK to resubmit from step 12,000 (/ckpt/step_12000); no compute node is proven bad. It may fail again.") {
		t.Errorf("whether a node is left out: %q", got)
	}
	r.Verdict.Root.Ranks = []int{77, 78}
	if got := FirstScreen(r, 100)[0]; got != "2 ranks stalled: ranks 77,78 on node09" {
		t.Errorf("several of them: %q", got)
	}
	r.Verdict.Root.Nodes = nil
	if got := answer(r, 100, labelNext); strings.Contains(got, "exclude") {
		t.Errorf("no node is named, and yet: %q", got)
	}

	r = undecided()
	r.Verdict.Needs = []incident.Need{{What: "py-spy stacks", Obtainable: "next-time"}, {What: "the world size", Command: "bot diagnose --world-size N …", Obtainable: "now"}, {What: "the kernel logs", Obtainable: "perishing"}}
	if got := answer(r, 100, labelNext); got != "Get the world size: bot diagnose --world-size N. Hold off on resubmitting: it may fail again." {
		t.Errorf("what to get first: %q", got)
	}
	if _, got := confirms(r); got != "The kernel logs (get it soon). Next run: py-spy stacks." {
		t.Errorf("the rest: %q", got)
	}
	r.Verdict.Needs = r.Verdict.Needs[2:]
	if got := answer(r, 100, labelNext); !strings.HasPrefix(got, "Save the kernel logs.") {
		t.Errorf("what disappears: %q", got)
	}
	r.Verdict.Needs = []incident.Need{{What: "NCCL's log", Obtainable: "now"}}
	if got := answer(r, 100, labelNext); !strings.HasPrefix(got, "Get NCCL's log.") {
		t.Errorf("a name: %q", got)
	}
}

func TestTheFirstScreenSaysWhatTheStoragesLogsComeTo(t *testing.T) {
	for _, c := range []struct{ judgement, status, why, want string }{
		{"cleared", "probable", "nothing happened to AIStore in the window: look elsewhere", "Storage        Ruled out. Nothing happened to AIStore in the window."},
		{"open", "probable", "the clocks are not related", "Storage        Can't tell. The clocks are not related."},
		{"open", "confirmed", "the clocks are not related", ""},
		{"implicated", "confirmed", "it came before", ""},
		{"open", "probable", "", ""},
	} {
		r := stall()
		r.Verdict.Status, r.Storage.Judgement, r.Storage.Why = c.status, c.judgement, c.why
		got := ""
		for _, l := range FirstScreen(r, 0) {
			if strings.HasPrefix(l, "Storage ") {
				got = l
			}
		}
		if got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.judgement, c.status, got, c.want)
		}
	}
}

// A clue does not say again what the headline says, nor reasons that weigh little.
func TestACluesRowSaysEachThingOnce(t *testing.T) {
	line := func(says string, n int64) incident.Standout {
		return incident.Standout{Statement: says, N: 1, Score: 60, Evidence: []incident.Evidence{incident.Quote("a.log", n, 0, says, nil)},
			Reasons: []incident.Reason{{Part: "severity", Points: 30, Text: "logged as E0312"}, {Part: "rarity", Points: 8, Text: "it is printed once"}}}
	}
	r := undecided()
	r.Verdict.Mechanism, r.Verdict.Candidates = "unknown", r.Verdict.Candidates[:1]
	r.Standouts = []incident.Standout{line("lane 3 is torn", 7), line("lane 4 is late", 9)}
	screen := strings.Join(FirstScreen(r, 100), "\n")
	if strings.Count(screen, "lane 3 is torn") != 1 || strings.Count(screen, "lane 4 is late") != 1 || strings.Contains(screen, "printed once") {
		t.Error(screen)
	}
	if got := FirstScreen(r, 100)[0]; !strings.Contains(got, "lane 3 is torn") {
		t.Errorf("the headline: %q", got)
	}
	r.Standouts[0].Severity = "calm"
	if got := FirstScreen(r, 100)[0]; got != "No known failure matches" {
		t.Errorf("a calm line is called suspicious: %q", got)
	}
	r.Standouts[0].Severity = ""
	if got := answer(r, 100, "Clue 1"); got != "a.log:7: logged as E0312" {
		t.Errorf("%q", got)
	}
}

// A warning about a node that the verdict names comes first; what the check only counts is no warning.
func TestTheFirstScreenSaysWhatTheCheckBeforeTheJobWarnedOf(t *testing.T) {
	told := func(text string, line int64) incident.Finding {
		return incident.Finding{Statement: text, Evidence: []incident.Evidence{incident.Quote("slurm-1.out", line, 0, text, nil)}}
	}
	r := stall()
	r.Verdict.Root.Nodes = []string{"cn02"}
	r.Artifacts = []incident.Artifact{{Kind: preflight, Inline: true, Findings: []incident.Finding{told("all nodes: ready: 4 nodes", 3)}}}
	if text := strings.Join(FirstScreen(r, 100), "\n"); strings.Contains(text, labelCheck) {
		t.Error(text)
	}
	r.Artifacts[0].Findings = append(r.Artifacts[0].Findings, told("cn01: warning: clock: 2.0 s off the first node's", 1), told("cn02: warning: port: mlx5_3 port 1 is DOWN", 2))
	if text := strings.Join(FirstScreen(r, 100), "\n"); !strings.Contains(text, "cn02: port: mlx5_3 port 1 is DOWN. See slurm-1.out:2. And 1 more warning.") {
		t.Error(text)
	}
}

func TestAnEmptyLogIsSaidToBeEmpty(t *testing.T) {
	r := minimal()
	r.Coverage.Files, r.Coverage.Truncated = 1, []incident.CutFile{{File: "a.log", How: "empty"}}
	screen := strings.Join(FirstScreen(r, 0), "\n")
	if !strings.HasPrefix(screen, "The log is empty\n") || !strings.Contains(screen, "Find where the job wrote its output.") {
		t.Error(screen)
	}
	r.Coverage.Files = 2 // the other one has lines
	if screen = strings.Join(FirstScreen(r, 0), "\n"); strings.Contains(screen, "is empty") {
		t.Error(screen)
	}
}
