package styletest

import "testing"

// Constructions that no native speaker writes are found in a sentence, and what resembles them is left alone.
func TestBannedFindsConstructionsNotWords(t *testing.T) {
	for text, want := range map[string]int{
		"A rank waited in vain for another one.":            1,
		"Ray heard no more of a node.":                      1,
		"The rank vanished in vainglorious silence.":        0,
		"A rank timed out waiting for another one.":         0,
		"The log says “waited in vain”; that is somebody's": 1,
	} {
		if got := Banned(text); len(got) != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := Faults("The log says “waited in vain”."); len(got) != 0 {
		t.Errorf("somebody else's words: %q", got)
	}
}
