package severity

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestExcerptKeepsWhatSoundsBad(t *testing.T) {
	filler := strings.Repeat("lane seven and all its slots were handed on, ", 12)
	for _, c := range []struct {
		name, text string
		most       int
		holds      []string
	}{
		{"a short line", "mux failed", 40, []string{"mux failed"}},
		{"nothing bad", filler, 60, []string{"lane seven"}},
		{"at the end", "[feeder 3] " + filler + "then the mux failed", 80, []string{"[feeder 3]", "mux failed"}},
		{"in the middle", "[feeder 3] " + filler + "then the mux failed, " + filler, 80, []string{"[feeder 3]", "mux failed"}},
		{"at the beginning", "mux failed: " + filler, 80, []string{"mux failed"}},
		{"of letters of several bytes", "[зонд 3] " + strings.Repeat("всё в порядке, ", 20) + "Ошибка ввода/вывода", 60, []string{"[зонд 3]", "шибка ввода/вывода"}},
		{"far away", strings.Repeat(filler, 5) + "the mux failed", 60, []string{"mux failed"}},
	} {
		got := Excerpt(c.text, c.most)
		if n := utf8.RuneCountInString(got); n > c.most || !utf8.ValidString(got) {
			t.Errorf("%s: %d letters, at most %d: %q", c.name, n, c.most, got)
		}
		for most := 10; most < 200; most++ {
			if got := Excerpt(c.text, most); utf8.RuneCountInString(got) > most {
				t.Errorf("%s: more than %d letters: %q", c.name, most, got)
			}
		}
		for _, h := range c.holds {
			if !strings.Contains(got, h) {
				t.Errorf("%s: %q is not in %q", c.name, h, got)
			}
		}
		for _, part := range strings.Split(strings.TrimSuffix(got, "…"), elision) {
			if !strings.Contains(c.text, part) {
				t.Errorf("%s: %q is not a part of the line", c.name, part)
			}
		}
	}
}
