package worker

import (
	"regexp"
	"testing"
)

// The seconds of a clock are those that these expressions find.
func FuzzElapsedIn(f *testing.F) {
	clock := regexp.MustCompile(`(?i)\b(?:taken|took|elapsed)\b\W{0,3}(\d{1,7}(?:\.\d+)?) ?(?:s|secs?|seconds)\b`)
	count := regexp.MustCompile(`\b(\d{1,12})\b`)
	for _, text := range []string{
		"finish 885000, taken 20619.9 seconds", "metrics flush took 4.5 s, 12 series", "Elapsed=12s", "step 3 took: 7 SECS", "mistook 3 s", "took 12345678 s",
		"took 3.s", "took 3 stars", "took 5", "took\u2026 5 s", "took - : 5 s", "took5 s", "it took 3 m, elapsed: 4 s", "x2 1234567890123 7_ 8 taken 9 s", "taken 1.25.5 s", "took 1.5s",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		before, seconds, ok := elapsedIn([]byte(text))
		want := clock.FindStringSubmatchIndex(text)
		if ok != (want != nil) || ok && (string(seconds) != text[want[2]:want[3]] || string(before) != text[:want[0]]) {
			t.Errorf("%q: %q %q %v, not %v", text, before, seconds, ok, want)
		}
		got := firstCount([]byte(text))
		if m := count.FindString(text); m != string(got) {
			t.Errorf("%q: the first count is %q, not %q", text, got, m)
		}
	})
}
