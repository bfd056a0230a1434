package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"faultline/incident"
	"faultline/messages/blockkit"
)

// storageRevised is a job that lost its storage; the first verdict, before the storage logs were there, was another.
func storageRevised() *incident.Report {
	r := stallOf(64, 8, 20)
	r.Verdict = incident.Verdict{Status: incident.Confirmed, Origin: "storage", Mechanism: "ais-disk-fault", Confidence: 0.94, Phase: "training", Scope: "all",
		Summary:    "Target t3 of the storage cluster stopped responding at 16:54:40; 41 ranks on 6 nodes waited for shards that lie on it",
		Why:        "The storage logs name the target, and every exhausted retry of the job names one of its objects",
		Candidates: []incident.Candidate{{Origin: "storage", Mechanism: "ais-disk-fault", Confidence: 0.94}},
		Root:       incident.Root{Component: ptr("ais:t3")}}
	r.Action = incident.Action{Resubmit: "after-fix", ResumeFrom: r.Action.ResumeFrom, Lost: r.Action.Lost, Owner: "storage", Text: "Resubmit once the target is back"}
	r.Storage = incident.Storage{Status: "examined", Judgement: "implicated", Side: ptr("target"), Targets: []string{"t3"}, Window: ptr("16:54:40 to 17:05:38")}
	r.Chain = append([]incident.Link{{Statement: "Target t3 lost its disk and left the cluster.", Role: incident.Trigger, Evidence: []incident.Evidence{
		quoteOf("ais/t3.log", 812, "E 16:54:40.120394 fshc.go:201 t[t3]: mountpath /ais/nvme2 is disabled: read error: input/output error")}}}, r.Chain...)
	r.Timeline = append([]incident.Event{{Time: ptr("2026-07-09T16:54:40"), Uncertainty: ptr(2.0), Node: "t3", Event: "mountpath disabled after a read error",
		Evidence: []incident.Evidence{quoteOf("ais/t3.log", 812, "mountpath /ais/nvme2 is disabled")}}}, r.Timeline...)
	r.Revisions = []incident.Revision{{Was: "One rank stalled: rank 20 on node2", Now: "A storage target is down: AIStore daemon t3",
		Because: "the storage logs show that what rank 20 waited for never came", Evidence: []incident.Evidence{quoteOf("ais/t3.log", 812, "mountpath /ais/nvme2 is disabled: read error: input/output error")}}}
	r.Recommendations = []incident.Recommendation{{When: "now", Text: "Ask the storage team to bring target t3 back", Command: "ais show cluster target t3"},
		{When: "structural", Text: "Give the reader of the data a read timeout of 60 s"}}
	return r
}

// missingNode is the stall as long as the log of the culprit's node is not there.
func missingNode() *incident.Report {
	r := stall()
	for i := 72; i < 80; i++ {
		r.Ranks[i].Role, r.Ranks[i].Note = incident.Missing, ""
		r.Coverage.RanksMissing = append(r.Coverage.RanksMissing, i)
	}
	r.Coverage.NodesMissing, r.Coverage.RanksSeen, r.Coverage.RanksStateKnown = []string{"node09"}, 120, 120
	r.Verdict = incident.Verdict{Status: incident.Inconclusive, Origin: "unknown", Mechanism: "collective-hang", Confidence: 0.6, Phase: "training", Scope: "group",
		Summary: "120 ranks wait in ALLREDUCE number 4711; no log from the 8 ranks on node09", Why: "The stalled rank must be one of the ranks not seen, or all ranks are waiting for each other",
		Candidates: []incident.Candidate{{Origin: "unknown", Mechanism: "rank-stalled", Confidence: 0.6}, {Origin: "unknown", Mechanism: "collective-hang", Confidence: 0.3}},
		Root:       incident.Root{Frontier: r.Coverage.RanksMissing},
		Needs:      []incident.Need{{What: "The log of node09", Why: "8 ranks are unseen", Command: "scp login:'/logs/*4242*node09*' more-logs-4242/", Obtainable: "now"}}}
	r.Action = incident.Action{Resubmit: "unknown", Owner: "unknown"}
	r.Chain, r.Timeline = r.Chain[1:], append(r.Timeline[:1], r.Timeline[2:]...) // what only that log told
	r.Chain[0].Statement = "120 ranks entered ALLREDUCE number 4711 at 16:55:38 and waited."
	r.Revisions = nil
	return r
}

// slackFixtures are the reports whose posts have golden files.
var slackFixtures = map[string]func() *incident.Report{
	"stall": stall, "oom": gpuOOM, "storage": storageRevised, "undecided": undecided, "healthy": healthy, "missing": missingNode, "big": big,
}

var someButtons = []Button{
	{Action: "explain", Value: "7", Text: "What does this mean?"},
	{Action: "rerun", Value: "7", Text: "Examine again"},
	{Action: "dispute", Value: "7", Text: "Wrong diagnosis", Style: "danger"},
	{Action: "close", Value: "7", Text: "Close", Confirm: &Confirm{"Close this case?", "Its buttons go away.", "Close", "Keep open"}},
}

func someCase(r *incident.Report) Case {
	c := Case{ID: "c7", Job: "4242", Cluster: "west", Requester: "U024ADA", Report: r, Doing: "comparing the ranks", Buttons: someButtons[:3],
		Steps: []Step{{"Find the job", StepDone, "16 nodes, 128 ranks"}, {"Fetch the logs", StepDone, "412 MB"}, {"First verdict", StepDone, ""},
			{"Storage logs", StepWaiting, "asked 16:20"}, {"Verify and finish", StepTodo, ""}},
		Open: []string{"May I read the storage logs?"}}
	if r != nil && len(r.Revisions) > 0 {
		c.Superseded = []string{r.Revisions[0].Was}
		c.Notes = []string{"Corrected after the storage logs arrived."}
	}
	return c
}

func someAsk() Ask {
	return Ask{Kind: "missing", Text: "I need one more log: node09. Can you upload it?", Why: "It may pin down the rank; I'll post what changes",
		WhereToFind: "Beside the logs I have", Items: []string{"node09"},
		Commands: []string{"scp login:'/logs/*4242*node09*' more-logs-4242/"}, Buttons: []Button{{Action: "upload", Text: "Upload it", Style: "primary"}, {Action: "skip", Text: "Go on without it"}},
		Deadline: "tomorrow, 16:20 UTC"}
}

// payloads are all posts and modals with the names of their golden files.
func payloads() map[string]any {
	out := map[string]any{}
	for name, fixture := range slackFixtures {
		r := fixture()
		for k, v := range thread(r) {
			out[name+"."+k] = v
		}
	}
	answered := someAsk()
	answered.Answered = "<@U1> uploaded node09.err (2 MB)"
	perishing := Ask{Text: "dmesg of node6", Why: "its log stops early", Perishing: true, Commands: []string{"ssh node6 dmesg -T"}}
	begin := someCase(nil)
	begin.Steps, begin.Open = []Step{{"Find the job", StepDoing, ""}, {"Fetch the logs", StepTodo, ""}}, nil
	final := someCase(stall())
	final.Final, final.Open, final.Buttons = true, nil, nil
	final.Notes = []string{"Closed as right by @ada.", "Archived."}
	jobs := []RecentJob{{"west", "4242", "llama-7b", "FAILED", "2 hours ago"}, {"", "4300", "", "TIMEOUT", "14:05"}}
	for k, v := range map[string]any{
		"case.begin": CaseFile(begin), "case.final": CaseFile(final), "question": QuestionPost(someAsk()), "question.answered": QuestionPost(answered),
		"question.perishing": QuestionPost(perishing), "note": Note("The job is still running: I look again when it ends.", someButtons[:1]),
		"revision":         RevisionPost(storageRevised().Revisions, []string{"U024ADA", "U1", "U1"}),
		"view.start":       StartView("p", []string{"west", "east"}, jobs, "I do not know the job 42x"),
		"view.first":       StartView("p", nil, nil, ""),
		"view.setup":       SetupView("C1", []string{"west", "east"}, []string{"{user}/logs/error-%j-%n.err"}, "12345"),
		"view.ais":         AISView("p", []string{"west-ais"}, true, []string{"3 reads were retried until they gave up"}, map[string]string{FieldToken: "the token was refused", "x": "try again"}),
		"view.ais.untyped": AISView("p", nil, false, []string{"3 reads were retried until they gave up"}, nil),
		"view.upload":      UploadView("p", "The log of node09"), "view.dispute": DisputeView("p", nil), "view.close": CloseView("p", "One rank stalled", []string{"rank-stalled", "gpu-oom"}),
		"view.glossary": GlossaryView(stall()), "view.loading": LoadingView("Diagnose a job"),
	} {
		out[k] = v
	}
	return out
}

// thread is what one case posts.
func thread(r *incident.Report) map[string]any {
	out := map[string]any{"case": CaseFile(someCase(r)), "first": FirstVerdict(r, someButtons), "timeline": Timeline(r),
		"final": FinalVerdict(r, "U024ADA", len(r.Revisions) > 0, false, someButtons), "unasked": FinalVerdict(r, "", false, true, someButtons)}
	return out
}

func checkPayload(t *testing.T, name string, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	var problems []blockkit.Problem
	if _, is := v.(blockkit.View); is {
		problems = blockkit.ValidateView(b.Bytes())
	} else {
		problems = append(blockkit.ValidateMessage(b.Bytes()), blockkit.OverBudget(b.Bytes())...)
	}
	for _, p := range problems {
		t.Errorf("%s: %v", name, p)
	}
	return b.Bytes()
}

func TestPostsMatchTheirGoldenFiles(t *testing.T) {
	for name, v := range payloads() {
		got := checkPayload(t, name, v)
		path := filepath.Join("testdata", "slack", name+".json")
		if name == "view.glossary" {
			continue // its wording is knowledge's and changes with it
		}
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs; look at the change, then run with -update", path)
		}
	}
}

// The notification is the report in one line, and the first line of the Markdown.
func TestTheNotificationIsTheReportInOneLine(t *testing.T) {
	for name, fixture := range slackFixtures {
		r := fixture()
		one := Brief(r)
		if strings.Contains(one, "\n") || len(one) > 700 || !strings.Contains(strings.ToLower(one), certaintyOf(r).String()) {
			t.Errorf("%s: %q", name, one)
		}
		if r.Verdict.Status != incident.NoFailure && !strings.Contains(one, "Next: ") {
			t.Errorf("%s says no next step: %q", name, one)
		}
		if m := FirstVerdict(r, nil); !strings.HasSuffix(m.Text, blockkit.Escape(one)) {
			t.Errorf("%s: the notification says %q", name, m.Text)
		}
	}
}

func TestPostsDoNotTouchTheReport(t *testing.T) {
	for name, fixture := range slackFixtures {
		r := fixture()
		before, _ := json.Marshal(r)
		thread(r)
		GlossaryView(r)
		RevisionPost(r.Revisions, nil)
		if after, _ := json.Marshal(r); !bytes.Equal(before, after) {
			t.Errorf("%s was changed", name)
		}
	}
}

var mention = regexp.MustCompile(`"type": ?"user"`)

func TestTheRequesterIsMentionedOnce(t *testing.T) {
	for _, changed := range []bool{true, false} {
		raw := checkPayload(t, "final", FinalVerdict(stall(), "U024ADA", changed, false, nil))
		if n := len(mention.FindAll(raw, -1)); n != 1 || strings.Count(string(raw), "U024ADA") != 1 {
			t.Errorf("mentioned %d times:\n%s", n, raw)
		}
	}
	raw := checkPayload(t, "revision", RevisionPost(stall().Revisions, []string{"U1", "U2", "U1", ""}))
	if n := len(mention.FindAll(raw, -1)); n != 2 {
		t.Errorf("mentioned %d times:\n%s", n, raw)
	}
	if raw := checkPayload(t, "final", FinalVerdict(stall(), "<!channel>", false, false, nil)); mention.Match(raw) || strings.Contains(string(raw), `"<!channel>"`) == false {
		t.Errorf("somebody who is no user:\n%s", raw)
	}
}

func TestTheFinalPostSaysWhatStands(t *testing.T) {
	for want, r := range map[string]*incident.Report{"done. The verdict stands.": stall(), "done. Still can't tell.": undecided()} {
		if raw := checkPayload(t, "final", FinalVerdict(r, "U024ADA", false, false, nil)); !strings.Contains(string(raw), want) {
			t.Errorf("%q is not in\n%s", want, raw)
		}
	}
}

// evilEverywhere puts the hostile text into everything that people and logs can put text into.
func evilEverywhere() map[string]any {
	e := evilText + " <!channel> <@U1> *_~` 100% 1+1"
	b := []Button{{Action: "a", Value: "v", Text: e, Confirm: &Confirm{e, e, e, e}}, {Action: "a", Text: "again"}}
	c := Case{ID: e, Job: e, Cluster: e, Requester: e, Doing: e, Steps: []Step{{e, e, e}, {e, StepFailed, e}}, Report: hostile(), Superseded: []string{e}, Notes: []string{e}, Open: []string{e}, Buttons: b}
	q := Ask{Kind: e, Text: e, Why: e, WhereToFind: e, Commands: []string{e}, Items: []string{e}, Buttons: b, Deadline: e}
	a := q
	a.Answered = e
	title, alt := RankMapCaption(hostile())
	out := thread(hostile())
	for k, v := range map[string]any{
		"case": CaseFile(c), "question": QuestionPost(q), "answered": QuestionPost(a), "note": Note(e, b), "first": FirstVerdict(hostile(), b),
		"final": FinalVerdict(hostile(), e, true, true, b), "revision": RevisionPost([]incident.Revision{{Was: e, Now: e, Because: e, Evidence: []incident.Evidence{quoteOf(e, 3, e)}}}, []string{e}),
		"map":   blockkit.Message{Text: blockkit.Escape(title), Blocks: blockkit.Blocks{blockkit.Image{Title: blockkit.Plain(title), AltText: alt, SlackFile: &blockkit.SlackFile{ID: "F1"}}}},
		"start": StartView("p", []string{e, "x"}, []RecentJob{{e, e, e, e, e}}, e), "setup": SetupView("p", []string{e, "x"}, []string{e, e}, e), "ais": AISView("p", []string{e}, true, []string{e}, map[string]string{FieldToken: e, e: e}),
		"upload": UploadView("p", e), "dispute": DisputeView("p", []string{e}), "close": CloseView("p", e, []string{e}), "loading": LoadingView(e), "glossary": GlossaryView(hostile()),
	} {
		out[k] = v
	}
	return out
}

func TestHostileTextIsInertInPosts(t *testing.T) {
	for name, v := range evilEverywhere() {
		raw := checkPayload(t, name, v)
		for _, bad := range []string{`\u0000`, `\u001b`, "\u202e", `\u202e`, "hunter2secret", `"mrkdwn"`, `"type": "user"`, `"type": "link"`, `"broadcast"`} {
			if strings.Contains(string(raw), bad) {
				t.Errorf("%s contains %s:\n%s", name, bad, raw)
			}
		}
		if !utf8.Valid(raw) {
			t.Errorf("%s: invalid UTF-8", name)
		}
		if m, is := v.(blockkit.Message); is && strings.ContainsAny(m.Text, "<>") {
			t.Errorf("%s: the notification is not inert: %s", name, m.Text)
		}
	}
}

func TestAnAnsweredQuestionHasNoButtons(t *testing.T) {
	q := someAsk()
	if raw := checkPayload(t, "open", QuestionPost(q)); !strings.Contains(string(raw), `"button"`) || !strings.Contains(string(raw), "tomorrow, 16:20 UTC") {
		t.Errorf("%s", raw)
	}
	q.Answered = "skipped by Ada"
	if raw := checkPayload(t, "answered", QuestionPost(q)); strings.Contains(string(raw), `"button"`) || !strings.Contains(string(raw), "Skipped by Ada.") {
		t.Errorf("%s", raw)
	}
}

func TestSupersededVerdictsAreStruckThrough(t *testing.T) {
	c := someCase(storageRevised())
	raw := checkPayload(t, "case", CaseFile(c))
	if !regexp.MustCompile(`(?s)One rank stalled: rank 20 on node2",\s*"style": \{\s*"strike": true`).Match(raw) {
		t.Errorf("%s", raw)
	}
}

// A settled case waits for nobody.
func TestASettledCaseWaitsForNobody(t *testing.T) {
	c := Case{Job: "1", Final: true, Steps: []Step{{"a", StepDone, ""}, {"b", StepWaiting, ""}, {"c", StepDoing, ""}, {"d", StepTodo, ""}, {"e", StepFailed, "why"}}}
	m := CaseFile(c)
	checkPayload(t, "case", m)
	got := asText(m.Blocks)
	want := "# ⏳ Job 1\nClosed.\n➖ b (no answer)\n➖ c (not finished)\n❌ e (failed): why\n"
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestAltTextStatesTheFinding(t *testing.T) {
	for name, fixture := range fixtures {
		title, alt := RankMapCaption(fixture())
		if n := utf8.RuneCountInString(alt); n > 2000 || n == 0 {
			t.Errorf("%s: %d characters", name, n)
		}
		if !strings.Contains(alt, newView(fixture()).Headline) || title == "" {
			t.Errorf("%s: %s", name, alt)
		}
	}
}

func TestTimelineShowsBothEndsAndCountsTheRest(t *testing.T) {
	r := stall()
	r.Timeline = nil
	for i := range 10000 {
		r.Timeline = append(r.Timeline, incident.Event{Time: ptr(fmt.Sprintf("2026-07-09T%02d:%02d:00", i/600, i/10%60)), Event: fmt.Sprintf("event number %d", i)})
	}
	table, ok := timelineTable(newView(r))
	if !ok {
		t.Fatal("no table")
	}
	raw, _ := json.Marshal(table)
	rows := len(table.Rows) - 2 // header, and the row that counts
	for _, want := range []string{"Event number 0\"", "Event number 9999\"", fmt.Sprintf("%s more events", grouped(int64(10000-rows))), fmt.Sprintf(", 2026-07-09 (%d of 10,000 events)", rows)} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %q in\n%s", want, raw)
		}
	}
}

// Half a command does something else than the whole.
func TestACommandIsShownWholeOrNotAtAll(t *testing.T) {
	q := Ask{Text: "x", Commands: []string{"rm -rf /scratch/" + strings.Repeat("a", 2000), "ls"}}
	raw := string(checkPayload(t, "question", QuestionPost(q)))
	if strings.Contains(raw, "rm -rf") || !strings.Contains(raw, "see the report file") || !strings.Contains(raw, `"ls"`) {
		t.Errorf("%s", raw)
	}
}

func TestFieldsOfModalsAreNamedAsPromised(t *testing.T) {
	f := func(v blockkit.View, callback string, names ...string) {
		t.Helper()
		if v.CallbackID != callback || v.PrivateMetadata != "p" {
			t.Errorf("%s: called %q with %q", callback, v.CallbackID, v.PrivateMetadata)
		}
		var got []string
		for _, b := range v.Blocks {
			if in, is := b.(blockkit.Input); is {
				got = append(got, in.BlockID)
				if raw, _ := json.Marshal(in.Element); !strings.Contains(string(raw), `"action_id":"value"`) {
					t.Errorf("%s: %s", callback, raw)
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(names) {
			t.Errorf("%s has the fields %v, want %v", callback, got, names)
		}
	}
	f(StartView("p", nil, nil, ""), ViewStart, FieldJob)
	f(SetupView("p", nil, nil, ""), ViewSetup, FieldTemplates, FieldJob)
	f(SetupView("p", []string{"a", "b"}, []string{"%j"}, "1"), ViewSetup, FieldTemplates, FieldJob, FieldCluster)
	f(StartView("p", []string{"a", "b"}, []RecentJob{{ID: "1"}}, ""), ViewStart, FieldRecent, FieldJob, FieldCluster)
	f(AISView("p", []string{"a"}, true, nil, nil), ViewAIS, FieldProfile, FieldEndpoint, FieldToken, FieldTLS, FieldCA)
	f(AISView("p", []string{"a"}, false, nil, nil), ViewAIS, FieldProfile)
	f(AISView("p", nil, false, nil, nil), ViewAIS)
	f(UploadView("p", ""), ViewUpload, FieldFiles)
	f(DisputeView("p", nil), ViewDispute, FieldCause, FieldText)
	f(CloseView("p", "x", nil), ViewClose, FieldVerdict, FieldCause, FieldText, FieldFix, FieldConsent)
}

func TestGlossaryExplainsThisCaseOnly(t *testing.T) {
	raw := string(checkPayload(t, "glossary", GlossaryView(stall())))
	for _, want := range []string{"checkpoint:", "One rank stalled"} {
		if !strings.Contains(raw, want) {
			t.Errorf("no %q in\n%s", want, raw)
		}
	}
	if strings.Contains(raw, "expert parallel") {
		t.Error("it explains what the case does not use")
	}
	checkPayload(t, "without report", GlossaryView(nil))
}

func TestTheReasonOfARevisionIsNotSaidTwice(t *testing.T) {
	quote := quoteOf("late.out", 8, "text of late.out")
	for because, want := range map[string]string{
		`rank 77 had nothing in flight: late.out:8 says "text of late.out"`: "rank 77 had nothing in flight",
		`late.out:8 says "text of late.out"`:                                "from these lines",
		"other rules":                                                       "other rules",
	} {
		if got := becauseOf(incident.Revision{Because: because, Evidence: []incident.Evidence{quote}}); got != want {
			t.Errorf("%q: %q, want %q", because, got, want)
		}
	}
}

func TestACommandStandsOnceInAVerdict(t *testing.T) {
	r := stall()
	r.Verdict.Status = incident.Inconclusive
	const fetch = "scp 'west:/logs/*7*' logs/"
	r.Verdict.Needs = []incident.Need{{What: "the logs of ranks 1-8", Command: fetch, Obtainable: "now"}, {What: "the log of node02", Command: fetch, Obtainable: "now"}}
	if raw := string(checkPayload(t, "verdict", FirstVerdict(r, nil))); strings.Count(raw, "/logs/*7*") != 1 {
		t.Errorf("%d times in\n%s", strings.Count(raw, "/logs/*7*"), raw)
	}
}

// TestTheTableBeginsWithTheRootsOwnRow: what ranks did before it, and what is not theirs, is left to the report.
func TestTheTableBeginsWithTheRootsOwnRow(t *testing.T) {
	r := stall()
	rank := r.Verdict.Root.Ranks[0]
	other, at := rank+1, func(s string) *string { return &s }
	r.Timeline = []incident.Event{{Time: at("2026-07-09T16:00:00"), Event: "checkpoint saved"}, {Time: at("2026-07-09T16:01:00"), Rank: &other, Event: "somebody else's row"},
		{Time: at("2026-07-09T16:02:00"), Rank: &rank, Event: "the root's own row"}, {Time: at("2026-07-09T16:30:00"), Event: "the end"}}
	text := asText(Timeline(r).Blocks)
	if strings.Contains(text, "omebody else") || !strings.Contains(text, "(2 of 4 events)") || !strings.Contains(text, "The root's own row") {
		t.Errorf("the table is\n%s", text)
	}
}
