package messages

import (
	"strings"
	"testing"
)

func TestQuestionsAreAnsweredFromTheReport(t *testing.T) {
	r := stall()
	for _, c := range []struct{ question, want string }{
		{"why not rank 3?", "Rank 3 is not blamed"},
		{"what did rank 77 print last?", "node09.err:20170"},
		{"and Rank #77?", "Rank 77 is where it failed first"},
		{"rank 4000?", "can't tell"},
		{"is node09 broken?", "node09 should be excluded"},
		{"is node03 ok?", "No evidence in these logs that node03 is broken."},
		{"who else waited?", "127 ranks waited: ranks 0-76,78-127."},
		{"thanks!", "You're welcome."},
		{"what next?", "OK to resubmit without node09"},
		{"when did it start?", "First: 2026-07-09T16:40:02"},
		{"how sure are you", "Who: confirmed; why: can't tell."},
		{"why?", "One rank stalled: rank 77 on node09 (who: confirmed; why: can't tell)."},
		{"who has to fix it?", "Owner: data owner."},
		{"how much did we lose", "Lost: 311 steps"},
		{"what does all-reduce mean?", "all-reduce: "},
		{"show the lines around node09.err:20170", "node09.err:20170: "},
		{"what about gpu-404?", "Can't tell: this report has nothing about gpu-404."},
		{"why did it fail at 12:30?", "One rank stalled: rank 77"},
		{"look at line 103", ""},
		{"rank 3 line 40?", "Rank 3 is not blamed"},
		{"should I resubmit with fp16?", "OK to resubmit without node09"},
		{"tell me a joke", ""},
		{"rank 99999999999999999999", ""},
	} {
		got := Reply(r, c.question)
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q: %q, want %q", c.question, got, c.want)
		}
	}
}

// A question and the report's own texts are hostile.
func TestAnAnswerRepeatsNoSecretAndIsBounded(t *testing.T) {
	for _, q := range []string{"is node09 <!channel> broken?", strings.Repeat("rank 77 ", 1000), "why\x00not"} {
		if got := Reply(hostile(), q); strings.Contains(got, "hunter2") || strings.Contains(got, "\x00") || len(got) > 2000 {
			t.Errorf("%.20q: %d bytes: %.300q", q, len(got), got)
		}
	}
}
