package novel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/line"
	"faultline/knowledge/severity"
)

func failed(at int64, text string) *Line {
	return &Line{File: "a.log", At: Place{Line: at}, Text: text, Level: severity.Failed, N: 1, Files: 1, Rank: 3}
}

func TestThreeLinesAreOfDifferentEvents(t *testing.T) {
	first := failed(100, "lane 7 torn: mux failed while it wrote the ring")
	again := failed(900, "[E] lane 9 torn: mux failed while it wrote the ring (again)")
	beside := failed(104, "could not flush what was left")
	far := failed(400, "the ring manager refused a ticket")
	other := failed(101, "the broker denied a lease")
	other.Rank = 5
	calm := failed(300, "closing the ring for today")
	calm.Level = severity.Calm
	for _, c := range []struct {
		name       string
		from, want []*Line
		most       int
	}{
		{"one for an event, not the same twice, in the order given", []*Line{first, again, beside, far, other}, []*Line{first, far, other}, 3},
		{"what is left of an event where room is", []*Line{first, again, beside}, []*Line{first, beside}, 3},
		{"failures before what is calm", []*Line{first, calm, beside}, []*Line{first, beside}, 2},
		{"what is calm where room is", []*Line{first, calm}, []*Line{first, calm}, 3},
	} {
		if got := Pick(c.from, c.most); !slices.Equal(got, c.want) {
			var texts []string
			for _, l := range got {
				texts = append(texts, l.Text)
			}
			t.Errorf("%s: %q", c.name, texts)
		}
	}
}

// A program that states the rank in the text of its lines tells who printed them, where nothing else does, however many write one file.
func TestRanksStatedInTheTextTellWhoIsSilent(t *testing.T) {
	const ranks = 100
	say := func(form string) string {
		var b strings.Builder
		b.WriteString(steps(9))
		for r := range ranks {
			if r != 41 {
				fmt.Fprintf(&b, form+"\n", r)
			}
		}
		return b.String() + strings.Repeat("x y\nz w\n", 2000)
	}
	w := World{Stepped: true, Place: func(string, Place, *line.Who) (int, string) { return -1, "" }}
	for r := range ranks {
		w.Ranks = append(w.Ranks, r)
	}
	for form, want := range map[string][]int{
		"[E mux.cpp:821] [Rank %d] gave up waiting for lane 7": {41},
		"mux failed, local_rank: %d":                           nil,
		"mux of %d ranks failed":                               nil,
		"mux failed after a very long story that names whom it waited for in the end, rank %d": nil,
	} {
		top := Weigh(read(t, map[string]string{"job.log": say(form)}), w, 1)[0]
		if !slices.Equal(top.Silent, want) {
			t.Errorf("%s: silent %v, not %v", form, top.Silent, want)
		}
	}
}
