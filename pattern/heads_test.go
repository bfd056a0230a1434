package pattern

import (
	"regexp"
	"slices"
	"testing"
)

func TestAMatchIsLookedForFromItsFirstWordOn(t *testing.T) {
	for _, c := range []struct {
		expr, text string
		from       int
	}{
		{`(?i)\b(?:fetching|reading) (?:the )?shards?\b`, "INFO app: Reading shard 7", 9},
		{`(?i)\b(?:fetching|reading) (?:the )?shards?\b`, "INFO app: spreading shard 7", -1},
		{`(?i)\b(?:fetching|reading) (?:the )?shards?\b`, "a reading shard", 1},
		{`(?i)\b(?:fetching|reading) (?:the )?shards?\b`, "reading shard", 0},
		{`(?i)\b(?:fetching|reading) shard`, "ééé reading shard", 0}, // not ASCII
		{`(?:data|tar).*?s3://`, "12 tar s3://", 2},
		{`(?:^|\s)WORLD_SIZE=\d+`, "x WORLD_SIZE=3", 0}, // a text that is cut begins elsewhere
		{`\d+ of \d+`, "step 3 of 4", 0},
		{`(?i)\baa`, "xaab aa", 4},
		{`x?y`, "12345y", 4},
	} {
		r := New(c.expr)
		r.compiled()
		if got := start(&r.heads, c.text); got != c.from {
			t.Errorf("%s in %q: from %d, not %d", c.expr, c.text, got, c.from)
		}
	}
}

// Where an expression is looked for changes nothing of what it finds.
func FuzzHeads(f *testing.F) {
	exprs := []string{`(?i)\b(?:fetching|reading|opening) (?:the )?(?:next )?(?:batch|shards?)\b`, `(?i)\baa(b|c)?`, `(?:data|shard|tar).*?(?:s3|gs)://(\w+)`, `\Baa`, `x?y(z*)`,
		`(?:ab)+c`, `(?i)k\b`, `(?:^|,)a`, `(?m)^a`, `a$`, `(a|b|)c`, `\b(?:_a|-a)`}
	for _, text := range []string{"INFO Reading the next batch", "aaab aab aa", "tar tar s3://b", "\u212ak s\u017f", "xyzz yz", "-a _a x-a", "ababc", "\n a,a", "c ac"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, expr := range exprs {
			own, plain := New(expr), regexp.MustCompile(expr)
			want := plain.FindStringSubmatch(text)
			if got := own.FindStringSubmatch(text); !slices.Equal(got, want) {
				t.Errorf("%s in %q: %q, not %q", expr, text, got, want)
			}
			if got := own.FindSubmatch([]byte(text)); len(got) != len(want) || len(got) > 0 && string(got[0]) != want[0] {
				t.Errorf("%s in bytes %q: %q, not %q", expr, text, got, want)
			}
			if own.Match([]byte(text)) != (want != nil) || own.MatchString(text) != (want != nil) {
				t.Errorf("%s in %q: whether it matches", expr, text)
			}
		}
	})
}
