package messages

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"faultline/knowledge"
	"faultline/knowledge/explain"
)

const pastedText = `[rank3]: Traceback (most recent call last):
password=hunter2hunter2
OSError: [Errno 28] No space left on device: '/scratch/| **x** <!channel> ` + "```" + ` \x1b[31mred'
srun: error: node03: task 5: Exited with exit code 1
`

func explainAll(t *testing.T, a explain.Answer) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, write := range map[string]func(io.Writer) error{
		"terminal": func(w io.Writer) error { return ExplainTerminal(w, a, Style{}) },
		"verbose":  func(w io.Writer) error { return ExplainTerminal(w, a, Style{Verbose: true, Width: 60}) },
		"markdown": func(w io.Writer) error { return ExplainMarkdown(w, a) },
		"json":     func(w io.Writer) error { return ExplainJSON(w, a) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		out[name] = b.String()
	}
	return out
}

func TestAnExplanationAnswersWhatPeopleAsk(t *testing.T) {
	a := explain.Text(pastedText)
	for name, text := range explainAll(t, a) {
		for _, want := range []string{"The file system is full", "this line alone is proof", "storage-full", "(job configuration)", "df -h", "resource-limit", "errno ENOSPC"} {
			if !strings.Contains(text, want) && !strings.Contains(flat(text), want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
		// The redactor's work is done again here, so that no caller can forget it for what is repeated.
		if strings.Contains(text, "\x1b") {
			t.Errorf("%s: a control sequence got through", name)
		}
	}
}

func TestAnExplanationRepeatsNoSecret(t *testing.T) {
	a := explain.Text("a\nOSError: [Errno 28] No space left on device: '/x/api_key=abcdef123456' password=hunter2hunter2\n")
	for name, text := range explainAll(t, a) {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "abcdef123456") {
			t.Errorf("%s shows a secret:\n%s", name, text)
		}
	}
}

func TestHostileTextStaysTextInMarkdown(t *testing.T) {
	text := explainAll(t, explain.Text(pastedText))["markdown"]
	if strings.Contains(text, "\n<!channel>") || !strings.Contains(text, "````") {
		t.Errorf("the pasted line can leave its fence:\n%s", text)
	}
}

func TestNothingKnownIsSaidInEveryFormat(t *testing.T) {
	for name, text := range explainAll(t, explain.Text("stragler")) {
		if name != "json" && !strings.Contains(text, unknownText) || !strings.Contains(text, "straggler") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	var doc struct {
		Schema           string
		Known            bool
		Entries, Nearest []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(explainAll(t, explain.Text("stragler"))["json"]), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != "faultline.explain/v1" || doc.Known || doc.Entries == nil || len(doc.Nearest) == 0 {
		t.Errorf("%+v", doc)
	}
}

func TestNoLineOfAnExplanationIsTooWide(t *testing.T) {
	for _, e := range explain.List() {
		if e.Kind == explain.Line {
			continue
		}
		var b bytes.Buffer
		if err := ExplainTerminal(&b, explain.Answer{Lines: 1, Entries: []explain.Entry{e}}, Style{Width: 80}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if command := strings.HasPrefix(line, strings.Repeat(" ", labelWidth+2)); !command && textWidth(strings.TrimRight(line, "\n")) > 80 && !strings.HasSuffix(line, "]\n") {
				t.Errorf("%s: %q", e.ID, line)
			}
		}
	}
}

func TestTheListShowsEveryKind(t *testing.T) {
	var terminal, markdown, js bytes.Buffer
	for _, err := range []error{ExplainListTerminal(&terminal, explain.List(), Style{}), ExplainListMarkdown(&markdown, explain.List()), ExplainListJSON(&js, explain.List())} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for kind, title := range listTitles {
		if !strings.Contains(terminal.String(), title) || !strings.Contains(markdown.String(), title) || !strings.Contains(js.String(), `"kind": "`+string(kind)+`"`) {
			t.Errorf("%s is missing", kind)
		}
	}
	if len(listTitles) != 9 {
		t.Errorf("%d kinds", len(listTitles))
	}
}

func TestEveryRoleSaysWhatItIs(t *testing.T) {
	for _, s := range knowledge.Whole().Signatures() {
		if roleTexts[s.Role] == "" {
			t.Errorf("%s: nothing to say about role %q", s.ID, s.Role)
		}
	}
}

// An entry's line is not all that its mechanism may be: its title is what the line says, and is not said twice.
func TestAnExplanationIsTitledByItsLine(t *testing.T) {
	for line, want := range map[string][2]string{
		"OSError: [Errno 116] Stale file handle":                              {"An open file's handle is no longer valid on the network file system", ""},
		"RuntimeError: NCCL error in: x.cpp:1, unhandled cuda error":          {"A CUDA call inside NCCL failed", "The GPU may be out of memory or lost"},
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB": {"PyTorch's allocator could not get the GPU memory it requested", "The line shows how much"},
	} {
		found := explain.Text(line)
		if len(found.Entries) == 0 {
			t.Fatalf("%s: nothing is known", line)
		}
		got := Explain(found.Entries[0])
		if got.Title != want[0] || !strings.HasPrefix(got.Meaning, want[1]) || strings.Contains(got.Meaning, got.Title) {
			t.Errorf("%s: %q: %q", line, got.Title, got.Meaning)
		}
	}
}
