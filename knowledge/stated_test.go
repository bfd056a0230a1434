package knowledge

import (
	"strings"
	"testing"
)

func TestStatedCausesAreComplete(t *testing.T) {
	seen := map[ID]bool{}
	for _, c := range StatedCauses() {
		switch _, ok := MechanismBySlug(c.Mechanism); {
		case !ok:
			t.Errorf("%s: unknown mechanism %q", c.ID, c.Mechanism)
		case seen[c.ID], !strings.HasPrefix(string(c.ID), StatesPrefix), c.Role != CauseRole:
			t.Errorf("%s stands twice, or is no cause that is stated", c.ID)
		case len(strings.Fields(c.Title)) > 6, sentences(c.Meaning) != 1:
			t.Errorf("%s: a title of at most six words, and one sentence: %q, %q", c.ID, c.Title, c.Meaning)
		}
		seen[c.ID] = true
		if _, known := Whole().Lookup(c.ID); !known {
			t.Errorf("%s is not found by its id", c.ID)
		}
		if c.Mechanism == Exception && len(c.Do) == 0 {
			t.Errorf("%s: nothing says what to do", c.ID)
		}
	}
}
