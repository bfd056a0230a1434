package pattern

import (
	"regexp"
	"sync"
	"testing"
)

func TestPatternsCompileWhenNeeded(t *testing.T) {
	eager = false
	defer func() { eager = true }()
	r := New(`step (?P<n>\d+)`)
	if r.re != nil {
		t.Error("compiled before it is used")
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if m := r.FindSubmatch([]byte("at step 12")); len(m) != 2 || string(m[1]) != "12" || r.SubexpIndex("n") != 1 {
				t.Errorf("%q", m)
			}
		})
	}
	wg.Wait()
}

func TestInTestsAPatternThatDoesNotCompilePanicsAtOnce(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New("a(b")
}

// What an expression needs stands in every text that it matches.
func TestATextWithoutTheWordsDoesNotMatch(t *testing.T) {
	for _, c := range []struct {
		expr string
		text string
		sets int
		can  bool
	}{
		{`(?i)\bwaiting (?:for|on) (?:the )?(?:batch|data\b|samples?\b|prefetch)`, "Waiting for BATCH 3", 2, true},
		{`(?i)\bwaiting (?:for|on) (?:the )?(?:batch|data\b|samples?\b|prefetch)`, "waiting for the lock", 2, false},
		{`step (?P<n>\d+).*?loss=`, "step 3: loss=1", 2, true},
		{`step (?P<n>\d+).*?loss=`, "step 3: lost=1", 2, false},
		{`(?i)(?:data|shard|tar|train).*?(?:s3|gs)://`, "restart: s3://x", 2, true},
		{`(?i)(?:data|shard|tar|train).*?(?:s3|gs)://`, "part: s3://x", 2, false},
		{`(?:(?:finished|completed|end of|done with) (?:training )?epoch\b|epoch \d+ (?:is )?(?:finished|done|ended)\b)`, "batch 3 completed", 3, false},
		{`(?:abc)*|x`, "x", 0, true},
		{`(?:abc)?d`, "d", 0, true},
		{`(?i)mask`, "ma\u017f\u212a", 1, true},
	} {
		r := New(c.expr)
		r.compiled()
		if can := possible(r, c.text); len(r.needs) != c.sets || can != c.can {
			t.Errorf("%s: %d sets, %q possible: %v; not %d and %v", c.expr, len(r.needs), c.text, can, c.sets, c.can)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add(`(?i)\b(?:fetching|reading) (?:the )?(?:batch|shards?|tar)\b`, "reading shards")
	f.Add(`(?:a|bcd)+e{2}(?:fgh)?`, "bcdee")
	f.Fuzz(func(t *testing.T, expr, text string) {
		re, err := regexp.Compile(expr)
		if err != nil {
			t.Skip()
		}
		r := &Regexp{expr: expr}
		want := re.MatchString(text)
		if r.Match([]byte(text)) != want || r.MatchString(text) != want || (r.FindStringSubmatch(text) != nil) != want {
			t.Errorf("%q and %q", expr, text)
		}
	})
}

// Of a set those are left out only that do not match.
func FuzzSet(f *testing.F) {
	exprs := []string{`^panic: (.+)`, `(?i)(?:fatal|caught) signal`, `\d+`, `File "[^"]+", line \d+`, `\.go:\d+`, `(?:Error|Exception)$`, `what\(\):\s+.+`, `é`}
	var list []*Regexp
	for _, e := range exprs {
		list = append(list, New(e))
	}
	set := NewSet(list...)
	for _, text := range []string{"", "panic: x", "Caught Signal", "caught \u017fignal", "7", `File "a", line 3`, "a.go:7", "ValueError", "what():  é", "plain words", "PANIC FATAL FIL"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		may := set.May(text)
		for i, e := range exprs {
			if may>>i&1 == 0 && regexp.MustCompile(e).MatchString(text) {
				t.Errorf("%s matches %q", e, text)
			}
		}
	})
}

func TestASetLeavesOutWhatCannotMatch(t *testing.T) {
	set := NewSet(New(`^panic: (.+)`), New(`\d+`), New(`(?i)caught signal|fatal signal`))
	for text, want := range map[string]uint64{"nothing": 0b010, "panic: x": 0b011, "CAUGHT SIGNAL": 0b110, "no pan ic": 0b010, "é": 0b111} {
		if got := set.May(text); got != want {
			t.Errorf("%q: %03b, not %03b", text, got, want)
		}
	}
}
