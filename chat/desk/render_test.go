package desk

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"faultline/messages/blockkit"
	"faultline/workflow"
)

var update = flag.Bool("update", false, "write the golden files anew")

// designed are the posts whose looks are the business of package messages: of them only the headline, what can be pressed
// and what is struck out is shown.
var designed = regexp.MustCompile(`^(case|verdict-|evidence-|map-|final-|shared$|question-|revision-)`)

// transcript shows every post as people would read it, in the order in which they were written.
func (s *stage) transcript() string {
	s.t.Helper()
	var b strings.Builder
	for _, p := range s.all() {
		var m blockkit.Message
		if err := json.Unmarshal(p.Payload, &m); err != nil {
			s.t.Fatal(err)
		}
		where := p.Channel
		if p.Thread != "" {
			where += " under " + p.Thread
		}
		if p.User != "" {
			where += " to " + p.User + " alone"
		}
		key := p.Key
		if p.Kind == workflow.PostEphemeral {
			key = ""
		}
		fmt.Fprintf(&b, "=== %s %s (%s)\n", p.Kind, key, where)
		for _, block := range m.Blocks {
			text := blockText(block)
			switch block.(type) {
			case blockkit.Header, blockkit.Actions:
			default:
				if designed.MatchString(p.Key) {
					text = ours(text)
				}
			}
			b.WriteString(text)
		}
		for _, f := range p.Files {
			fmt.Fprintf(&b, "  [file %s: %s]\n", f.Name, f.Title)
		}
	}
	text := b.String()
	rows, err := s.store.Find(context.Background(), workflow.Query{Limit: 100_000})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range rows {
		if inv, err := s.store.Load(context.Background(), r.ID); err == nil && inv.Key != "" {
			text = strings.ReplaceAll(text, "/"+inv.Key, "") // another one each time
		}
	}
	return text
}

// ours keeps the lines that package desk decides: what is struck out, and its own sentences.
func ours(text string) string {
	var keep []string
	for _, line := range strings.SplitAfter(text, "\n") {
		if strings.HasPrefix(line, "~") || ownWords.MatchString(line) {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "")
}

var ownWords = regexp.MustCompile(`does not have it|^(Answered by|The job has ended|Logs have come|Nobody answered|It is no longer|I wait until|The files and|The job finished|  - People say|  - Runs|  - Storage logs|  - The access|  - Reminders)`)

func blockText(block blockkit.Block) string {
	switch v := block.(type) {
	case blockkit.Header:
		sign, words, _ := strings.Cut(v.Text.Text, " ")
		if sign != "" && sign[0] < 0x80 { // no sign: those are the business of package messages
			words = v.Text.Text
		}
		return "# " + words + "\n"
	case blockkit.Section:
		if v.Text != nil {
			return v.Text.Text + "\n"
		}
	case blockkit.Context:
		var texts []string
		for _, e := range v.Elements {
			texts = append(texts, e.Text)
		}
		return "  (" + strings.Join(texts, " | ") + ")\n"
	case blockkit.Divider:
		return "---\n"
	case blockkit.Actions:
		var texts []string
		for _, e := range v.Elements {
			if button, ok := e.(blockkit.Button); ok {
				texts = append(texts, fmt.Sprintf("[%s = %s %s]", button.Text.Text, button.ActionID, button.Value))
			}
		}
		return "  " + strings.Join(texts, " ") + "\n"
	case blockkit.DataTable:
		return fmt.Sprintf("  <table %s, %d rows>\n", v.Caption, len(v.Rows))
	case blockkit.RichText:
		var b strings.Builder
		for _, e := range v.Elements {
			switch e := e.(type) {
			case blockkit.RichSection:
				b.WriteString(inlineText(e.Elements) + "\n")
			case blockkit.Preformatted:
				b.WriteString("  | " + inlineText(e.Elements) + "\n")
			case blockkit.RichList:
				for _, item := range e.Elements {
					b.WriteString("  - " + inlineText(item.Elements) + "\n")
				}
			}
		}
		return b.String()
	}
	return fmt.Sprintf("<%T>\n", block)
}

func inlineText(inlines blockkit.Inlines) string {
	var b strings.Builder
	for _, i := range inlines {
		switch v := i.(type) {
		case blockkit.Run:
			text := v.Text
			if v.Style != nil && v.Style.Strike {
				text = "~" + text + "~"
			}
			b.WriteString(text)
		case blockkit.User:
			b.WriteString("@" + v.UserID)
		case blockkit.Link:
			b.WriteString("<" + v.Text + ">")
		}
	}
	return strings.TrimSpace(b.String())
}

// golden compares with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == got {
		return
	}
	a, b := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			t.Fatalf("%s differs in line %d (-update writes it anew):\nwant %q\ngot  %q", name, i+1, strings.Join(a[min(i, len(a)):min(i+3, len(a))], "\n"), strings.Join(b[min(i, len(b)):min(i+3, len(b))], "\n"))
		}
	}
}

// doubled names what is there twice and may be only once.
func doubled(posts []workflow.Post) []string {
	seen := map[string]int{}
	for _, p := range posts {
		if p.Kind == workflow.PostMessage || p.Kind == workflow.PostFiles || p.Kind == workflow.PostEphemeral {
			seen[p.Investigation+" "+string(p.Kind)+" "+p.Key]++
		}
	}
	var out []string
	for key, n := range seen {
		if n > 1 {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}
