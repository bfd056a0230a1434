package messages

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/messages/blockkit"
)

// TestThreadsReadWell keeps each thread as a person reads it, so that a change of words is seen as words.
func TestThreadsReadWell(t *testing.T) {
	for name, fixture := range slackFixtures {
		r := fixture()
		title, alt := RankMapCaption(r)
		var b strings.Builder
		show := func(what string, m blockkit.Message) {
			fmt.Fprintf(&b, "──── %s\n%s\n", what, asText(m.Blocks))
		}
		show("case file", CaseFile(someCase(r)))
		show("first verdict", FirstVerdict(r, someButtons))
		show("timeline", Timeline(r))
		fmt.Fprintf(&b, "──── picture\n%s\n(%s)\n\n", title, alt)
		if len(r.Revisions) > 0 {
			show("correction", RevisionPost(r.Revisions, []string{"U024ADA"}))
		}
		show("final verdict", FinalVerdict(r, "U024ADA", len(r.Revisions) > 0, false, someButtons))
		path := filepath.Join("testdata", "slack", name+".thread.txt")
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s differs; look at the change, then run with -update", path)
		}
	}
}

// asText writes blocks as they are read.
func asText(blocks blockkit.Blocks) string {
	var b strings.Builder
	for _, x := range blocks {
		switch x := x.(type) {
		case blockkit.Header:
			fmt.Fprintf(&b, "# %s\n", x.Text.Text)
		case blockkit.Divider:
			b.WriteString("---\n")
		case blockkit.Context:
			for _, e := range x.Elements {
				fmt.Fprintf(&b, "  %s\n", e.Text)
			}
		case blockkit.Actions:
			for _, e := range x.Elements {
				fmt.Fprintf(&b, "[%s] ", e.(blockkit.Button).Text.Text)
			}
			b.WriteByte('\n')
		case blockkit.RichText:
			for _, e := range x.Elements {
				switch e := e.(type) {
				case blockkit.RichSection:
					b.WriteString(inlineText(e.Elements) + "\n")
				case blockkit.RichList:
					for i, s := range e.Elements {
						mark := "•"
						if e.Style == blockkit.Ordered {
							mark = fmt.Sprintf("%d.", e.Offset+i+1)
						}
						fmt.Fprintf(&b, "%s %s\n", mark, inlineText(s.Elements))
					}
				case blockkit.Preformatted:
					fmt.Fprintf(&b, "    | %s\n", strings.ReplaceAll(inlineText(e.Elements), "\n", "\n    | "))
				}
			}
		case blockkit.DataTable:
			fmt.Fprintf(&b, "%s (pages of %d)\n", x.Caption, x.PageSize)
			for _, r := range x.Rows {
				var cells []string
				for _, c := range r {
					cells = append(cells, c.(blockkit.RawText).Text)
				}
				b.WriteString("  " + strings.Join(cells, " | ") + "\n")
			}
		default:
			fmt.Fprintf(&b, "%T\n", x)
		}
	}
	return b.String()
}

func inlineText(is blockkit.Inlines) string {
	var b strings.Builder
	for _, i := range is {
		switch i := i.(type) {
		case blockkit.Run:
			s := i.Text
			if i.Style != nil && i.Style.Strike {
				s = "~" + s + "~"
			}
			if i.Style != nil && i.Style.Bold {
				s = "*" + s + "*"
			}
			b.WriteString(s)
		case blockkit.User:
			b.WriteString("@" + i.UserID)
		}
	}
	return b.String()
}
