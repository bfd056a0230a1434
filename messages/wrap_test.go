package messages

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzWrapKeepsEveryWordAndTheWidth(f *testing.F) {
	f.Add("a quick brown fox", 10)
	f.Add("日本語 テキスト", 8)
	f.Add(strings.Repeat("x", 300)+" y", 60)
	f.Add("00000000000000 \u0602", 14) // a word that is no column wide
	f.Add("\u0602 "+strings.Repeat("x", 30), 14)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = 8 + (width&0x7fffffff)%200
		if !utf8.ValidString(s) { // only redacted text gets here
			return
		}
		lines := wrap(s, width)
		for _, l := range lines {
			if textWidth(l) > width {
				t.Fatalf("%d columns of %d: %q", textWidth(l), width, l)
			}
		}
		strip := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := strip(strings.Join(lines, "")); got != strip(s) {
			t.Fatalf("%q became %q", s, got)
		}
		if c := clip(s, width); textWidth(c) > width {
			t.Fatalf("clip: %d columns of %d", textWidth(c), width)
		}
	})
}
