package knowledge

import "testing"

func TestEveryMechanismHasQuestionsForAPostmortem(t *testing.T) {
	for _, m := range Mechanisms() {
		if m.Origin == "none" {
			continue
		}
		if _, ok := whysOfOrigin[m.Origin]; !ok {
			t.Errorf("%s: no questions for its origin %s", m.Slug, m.Origin)
		}
		for _, q := range Whys(m.Slug) {
			if q == "" || q[len(q)-1] != '?' {
				t.Errorf("%s: %q is no question", m.Slug, q)
			}
		}
	}
	for slug := range whysOf {
		if _, ok := MechanismBySlug(slug); !ok {
			t.Errorf("there is no mechanism %s", slug)
		}
	}
}
