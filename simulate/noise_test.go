package simulate

import (
	"slices"
	"strings"
	"testing"
)

func TestNoiseIsTheSameForTheSameSeedAndOfAllForms(t *testing.T) {
	lines := Noise(5000, 7)
	if !slices.Equal(lines, Noise(5000, 7)) || slices.Equal(lines, Noise(5000, 8)) {
		t.Error("noise does not follow its seed")
	}
	for _, form := range noiseForms {
		head, _, _ := strings.Cut(form, "%")
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, head) }) {
			t.Errorf("no line begins with %q", head)
		}
	}
	if slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "%!") || strings.Contains(l, "\n") }) {
		t.Error("a form does not take one number")
	}
}
