package novel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// Place, text, stamp and traceback of a line that is shown are of one and the same line, however many are like it.
func TestWhatIsShownIsOfOneLine(t *testing.T) {
	words := []string{"12:00:%02d waiting for lease %d\n", "12:00:%02d lane %d failed\n", "step %d loss %d\n", "12:00:%02d kept %d rows\n",
		"\x1b[31m12:00:%02d lane %d poisoned\x1b[0m\n", "Traceback (most recent call last):\n  File \"a.py\", line %d, in f\n    go(%d)\n", "KeyError: 'k%d of %d'\n",
		"n1:7:8 [0] mux.cc:%d NCCL WARN lane %d is torn\n", "n1:7:8 [%d] NCCL INFO mux.cc:%d -> 3\n"}
	random := rand.New(rand.NewPCG(7, 7))
	for range 400 {
		texts := map[string]string{}
		for f := range 1 + random.IntN(3) {
			var b strings.Builder
			for i := range random.IntN(40) {
				fmt.Fprintf(&b, words[random.IntN(len(words))], i, random.IntN(1000))
			}
			texts[fmt.Sprintf("%d.log", f)] = b.String()
		}
		for _, l := range Weigh(read(t, texts), World{Stepped: random.IntN(2) == 0}, math.MaxInt) {
			text := texts[l.File]
			if got := plainLine(text[l.At.Off:]); got != l.Text {
				t.Fatalf("%s:%d holds %q and is shown as %q, of\n%s", l.File, l.At.Line, got, l.Text, text)
			}
			if n := int64(strings.Count(text[:l.At.Off], "\n")) + 1; n != l.At.Line {
				t.Fatalf("line %d is shown as %d", n, l.At.Line)
			}
			if s := l.Stop; s != nil && (s.From != l.At || !strings.HasPrefix(text[s.At.Off:], s.Text)) {
				t.Fatalf("the traceback %q of line %d is shown at line %d, of\n%s", s.Says(), s.From.Line, l.At.Line, text)
			}
			for _, p := range l.Parts {
				if _, below, _ := strings.Cut(text[l.At.Off+1:], "n1:7:8"); p.Name == "outcome" && p.Points > 0 && !strings.Contains(plainLine(below), "->") {
					t.Fatalf("the call of line %d is said to have failed, of\n%s", l.At.Line, text)
				}
				if p.Why == "it is the last line of its file" && l.At.Line != int64(strings.Count(text, "\n")) {
					t.Fatalf("line %d is said to be the last of\n%s", l.At.Line, text)
				}
			}
		}
	}
}

func plainLine(text string) string {
	l, _, _ := strings.Cut(text, "\n")
	return strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(l)
}

// An exception without a message says what the table below it says of whom it is about.
func TestATableIsTheMessageOfAnExceptionWithoutOne(t *testing.T) {
	const raised = "Traceback (most recent call last):\n  File \"/a/launch.py\", line 3, in main\n    raise LaneError(\nmux.errors.LaneError: "
	for _, c := range []struct{ name, text, message string }{
		{"of a rank", raised + "\n=====\nRoot cause:\n[0]:\n  host      : gn7\n  rank      : 44 (local_rank: 4)\n  exitcode  : -9 (pid: 1)\n", "rank      : 44 (local_rank: 4)"},
		{"of a place", raised + "\n=====\n  time      : 10:12\n  host      : gn7\n  task      : 3\n", "host      : gn7"},
		{"of neither", raised + "\n=====\n  time      : 10:12\n", ""},
		{"it has one", raised + "lane 3 is gone\n=====\n  rank      : 44\n", "lane 3 is gone"},
	} {
		var stop *Stop
		for _, k := range read(t, map[string]string{"a.log": steps(3) + c.text})[0].Kinds {
			if k.Stop != nil {
				stop = k.Stop
				break
			}
		}
		if stop == nil || stop.Message != c.message {
			t.Errorf("%s: %+v", c.name, stop)
		}
	}
}
