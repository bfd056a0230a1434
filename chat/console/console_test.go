package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/incident"
	"faultline/workflow"
)

// folder is a Fetcher over one directory per job, with an engine that counts files.
type folder struct{ root string }

func (f folder) Locate(_ context.Context, _, job string) (workflow.Found, error) {
	if dir := filepath.Join(f.root, job); job != "" {
		if _, err := os.Stat(dir); err == nil {
			return workflow.Found{Places: []string{dir}, Searched: []string{f.root}}, nil
		}
	}
	return workflow.Found{Searched: []string{f.root}}, nil
}

func (f folder) Collect(_ context.Context, places []string) (workflow.Collection, error) {
	var got workflow.Collection
	for _, p := range places {
		names, err := filepath.Glob(filepath.Join(p, "*"))
		if err != nil {
			return got, err
		}
		for _, n := range names {
			got.Sources = append(got.Sources, incident.Source{Name: filepath.Base(n), Path: n})
		}
	}
	if len(got.Sources) == 0 {
		return got, errors.New("there is no file in " + strings.Join(places, ", "))
	}
	return got, nil
}

func verdict(_ context.Context, in analysis.Input) (*incident.Report, error) {
	r := &incident.Report{Verdict: incident.Verdict{Mechanism: "unknown", Status: incident.Inconclusive}}
	if len(in.Sources) < 2 {
		r.Coverage.NodesExpected, r.Coverage.NodesMissing = []string{"n0", "n1"}, []string{"n1"}
		return r, nil
	}
	r.Verdict.Mechanism, r.Verdict.Status, r.Verdict.Root.Ranks = "rank-stalled", incident.Probable, []int{1}
	return r, nil
}

// talk types lines and returns everything that was shown.
func talk(t *testing.T, root string, lines ...string) string {
	t.Helper()
	return talkTo(t, root, func(*Console) {}, lines...)
}

// talkTo is talk with a console that is set up further.
func talkTo(t *testing.T, root string, set func(c *Console), lines ...string) string {
	t.Helper()
	var out strings.Builder
	c := &Console{
		Out: &out,
		Flow: &workflow.Flow{
			Fetch:  folder{root},
			Engine: workflow.Engine{Diagnose: verdict, Verify: func(context.Context, []incident.Source, *incident.Report) ([]string, error) { return nil, nil }},
			Store:  workflow.NewMemory(),
			Now:    func() time.Time { return time.Unix(0, 0).UTC() },
		},
		Brief: func(w io.Writer, r *incident.Report) error {
			_, err := fmt.Fprintf(w, "VERDICT %s, %d revisions\n", r.Verdict.Mechanism, len(r.Revisions))
			return err
		},
		Render: func(w io.Writer, r *incident.Report) error {
			_, err := fmt.Fprintf(w, "WHOLE %s\n", r.Verdict.Mechanism)
			return err
		},
		Lookup: func(term string) (string, []string) {
			if term == "straggler" {
				return "the rank the others wait for", nil
			}
			return "", []string{"straggler"}
		},
		Hosts:  func(list string) ([]string, error) { return strings.Split(list, ","), nil },
		Prompt: "> ",
		Echo:   true,
	}
	c.Flow.Post = c
	set(c)
	if err := c.Run(context.Background(), strings.NewReader(strings.Join(append(lines, ""), "\n"))); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// logs makes root/name/file for each "name/file".
func logs(t *testing.T, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range files {
		p := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// inOrder fails unless the texts occur in that order.
func inOrder(t *testing.T, shown string, texts ...string) {
	t.Helper()
	rest := shown
	for _, text := range texts {
		i := strings.Index(rest, text)
		if i < 0 {
			t.Fatalf("no %q (in that place) in:\n%s", text, shown)
		}
		rest = rest[i+len(text):]
	}
}

func TestAJobWhoseLogsAreKnownIsDiagnosedAtOnce(t *testing.T) {
	root := logs(t, "4242/a.out", "4242/b.out")
	inOrder(t, talk(t, root, "/diagnose 4242", "quit"), "Investigating job 4242", "found logs: ", "VERDICT rank-stalled")
}

func TestTheGuidedWayFromNoLogsToARevisedReport(t *testing.T) {
	root := logs(t, "here/a.out", "late dir/b.out")
	shown := talk(t, root,
		"/diagnose 4242",
		"why?",
		filepath.Join(root, "nowhere"),
		filepath.Join(root, "here"),
		"why?",
		"'"+filepath.Join(root, "late dir")+"'",
		"report", "status", "history", "quit", "never reached")
	inOrder(t, shown,
		"I looked for logs of job 4242 in "+root, "$ scp -r", "4242",
		"I'm waiting for logs", "Because: Each node writes its own log",
		"nowhere: no such file or directory",
		"VERDICT unknown", "I need the missing logs: 1 of 2 nodes", "- n1",
		"Because: It may pin down the rank",
		"VERDICT rank-stalled, 1 revisions",
		"Was:     “not explained by these logs” (can't tell)", "Now:     “one rank stalled” (likely)", "Because: ",
		"WHOLE rank-stalled",
		"Verdict: rank-stalled (probable)",
		"triaging -> verifying (triaged)", "revision",
	)
	if strings.Contains(shown, "never reached") {
		t.Error("went on after quit")
	}
}

func TestHelpListsEveryCommandAndEachIsFoundWithAndWithoutSlash(t *testing.T) {
	shown := talk(t, t.TempDir(), "help")
	for _, cmd := range commands() {
		if !strings.Contains(shown, cmd.names[0]) {
			t.Errorf("%s is not in the help", cmd.names[0])
		}
		for _, name := range cmd.names {
			for _, word := range []string{name, "/" + name, strings.ToUpper(name)} {
				if got, ok := find(word); !ok || !slices.Equal(got.names, cmd.names) {
					t.Errorf("%q is not found", word)
				}
			}
		}
	}
}

func TestMistakesAreAnsweredAndChangeNothing(t *testing.T) {
	root := logs(t, "1/a.out")
	cases := []struct {
		name, want string
		lines      []string
	}{
		{"nothing begun", "Type /diagnose JOBID", []string{"status"}},
		{"no report", "No report yet", []string{"/diagnose 9", "report"}},
		{"unknown word", `Unknown command "hello"`, []string{"hello"}},
		{"no id", "Which job?", []string{"/diagnose"}},
		{"path for an id", "isn't a job ID", []string{"/diagnose /tmp/x"}},
		{"glob for an id", "isn't a job ID", []string{"/diagnose *"}},
		{"does not fit", "That isn't possible right now", []string{"/diagnose 1", "retry"}},
		{"open quotation", "not closed", []string{"logs 'a"}},
		{"control characters", "·[31mred", []string{"\x1b[31mred"}},
		{"no number", "Type the number of ranks", []string{"world-size many"}},
		{"unknown term", "Terms: straggler", []string{"glossary xyz"}},
		{"known term", "straggler: the rank the others wait for", []string{"glossary straggler"}},
		{"empty folder", "there is no file in", []string{"/diagnose - " + t.TempDir()}},
		{"cancelled twice", "That isn't possible right now: I'm cancelled", []string{"/diagnose 9", "cancel", "cancel"}},
		{"disputed", "disputed", []string{"/diagnose 1", "dispute it was the switch"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { inOrder(t, talk(t, root, c.lines...), c.want) })
	}
}

func TestTheEndOfTheInputEndsTheConversation(t *testing.T) {
	if shown := talk(t, t.TempDir()); shown != "> \n" {
		t.Errorf("shown %q", shown)
	}
}

func TestAnEndedContextEndsTheConversation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, w := io.Pipe()
	defer w.Close()
	c := &Console{Out: io.Discard}
	if err := c.Run(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWordsAreCutAsAShellCutsThem(t *testing.T) {
	for in, want := range map[string][]string{
		"":                      nil,
		"  a  b ":               {"a", "b"},
		`'a b' "c'd" e\ f`:      {"a b", "c'd", "e f"},
		`'' x`:                  {"", "x"},
		"logs $(rm -rf x) `ls`": {"logs", "$(rm", "-rf", "x)", "`ls`"},
	} {
		got, err := split(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("split(%q) = %q, %v", in, got, err)
		}
	}
}

func TestLongLinesAreWrappedAndWordsStayWhole(t *testing.T) {
	long := "a path /" + strings.Repeat("x", 50) + " stays whole and the rest of the words is wrapped"
	got := wrap(long, 30)
	if strings.ReplaceAll(got, "\n  ", " ") != long {
		t.Errorf("words changed: %q", got)
	}
	for _, line := range strings.Split(got, "\n") {
		if len(line) > 30 && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("too long: %q", line)
		}
	}
	if wrap(long, 0) != long {
		t.Error("wrapped without a width")
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(`logs '/a b' "c" \d`)
	f.Fuzz(func(t *testing.T, text string) {
		words, err := split(text)
		total := 0
		for _, w := range words {
			total += len(w)
		}
		if err == nil && strings.ToValidUTF8(text, "") == text && total > len(text) {
			t.Errorf("split(%q) made more than there was: %q", text, words)
		}
	})
}
