package serve

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// entry is one message of a transcript with the replies below it.
type entry struct {
	id      string
	head    string // what follows the number
	body    []string
	replies []*entry
}

var (
	entryHead   = regexp.MustCompile(`^( {0,4})\[(\d+(?:\.\d+)?)\] (.*)$`)
	messageLink = regexp.MustCompile(`message \[(\d+(?:\.\d+)?)\]`)
)

// ordered puts what only one person sees behind what everybody sees, sorted, and counts anew: such answers do not wait for
// the other posts of a channel, so that their place among them is chance.
func ordered(transcript string) string {
	var title []string
	var top []*entry
	var at *entry
	for _, line := range strings.Split(strings.TrimRight(transcript, "\n"), "\n") {
		m := entryHead.FindStringSubmatch(line)
		switch {
		case m == nil && at == nil:
			title = append(title, line)
		case m == nil:
			at.body = append(at.body, line)
		case strings.Contains(m[2], ".") && len(top) > 0:
			at = &entry{id: m[2], head: m[3]}
			last := top[len(top)-1]
			last.replies = append(last.replies, at)
		default:
			at = &entry{id: m[2], head: m[3]}
			top = append(top, at)
		}
	}
	sortAnswers(top)
	names := map[string]string{}
	for i, e := range top {
		names[e.id] = fmt.Sprint(i + 1)
		sortAnswers(e.replies)
		for j, r := range e.replies {
			names[r.id] = fmt.Sprintf("%d.%d", i+1, j+1)
		}
	}
	var b strings.Builder
	write := func(indent string, e *entry) {
		text := strings.TrimRight(strings.Join(e.body, "\n"), "\n ")
		text = messageLink.ReplaceAllStringFunc(text, func(s string) string {
			return "message [" + names[messageLink.FindStringSubmatch(s)[1]] + "]"
		})
		fmt.Fprintf(&b, "%s[%s] %s\n%s\n\n", indent, names[e.id], e.head, text)
	}
	fmt.Fprintf(&b, "%s\n\n", strings.TrimRight(strings.Join(title, "\n"), "\n"))
	for _, e := range top {
		write("", e)
		for _, r := range e.replies {
			write("    ", r)
		}
	}
	return b.String()
}

func sortAnswers(list []*entry) {
	slices.SortStableFunc(list, func(a, b *entry) int {
		alone := func(e *entry) int {
			if strings.Contains(e.head, "only ") {
				return 1
			}
			return 0
		}
		if c := cmp.Compare(alone(a), alone(b)); c != 0 || alone(a) == 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.head, b.head), slices.Compare(a.body, b.body))
	})
}

func TestAnswersToOneMayComeInAnyOrder(t *testing.T) {
	a := "#x\n\n[1] Bot (only A sees this)\n  hello\n\n[2] Bot\n  case\n\n    [2.1] Bot (only A sees this)\n      thanks\n\n    [2.2] Bot\n      verdict\n\n[3] Bot (only A sees this)\n  see <message [2]>\n"
	b := "#x\n\n[1] Bot\n  case\n\n    [1.1] Bot\n      verdict\n\n    [1.2] Bot (only A sees this)\n      thanks\n\n[2] Bot (only A sees this)\n  see <message [1]>\n\n[3] Bot (only A sees this)\n  hello\n"
	if ordered(a) != ordered(b) {
		t.Errorf("they differ:\n%s\n%s", ordered(a), ordered(b))
	}
	if !strings.Contains(ordered(a), "see <message [1]>") || strings.Index(ordered(a), "verdict") > strings.Index(ordered(a), "thanks") {
		t.Errorf("got\n%s", ordered(a))
	}
	if c := strings.Replace(b, "verdict", "other", 1); ordered(a) == ordered(c) {
		t.Error("a difference is lost")
	}
}
