package knowledge

import (
	"strings"
	"testing"
)

// Advice for a signature is for one that exists, and says more than the advice for its mechanism.
func TestAdviceForSignatures(t *testing.T) {
	for id, a := range signatureAdvice {
		s, ok := Lookup(id)
		if !ok {
			t.Errorf("%s: no such signature", id)
			continue
		}
		if a.Text == "" || !strings.HasSuffix(a.Text, ".") || len(a.Text) > 160 {
			t.Errorf("%s: %q is no sentence", id, a.Text)
		}
		m, ok := MechanismBySlug(s.Mechanism)
		if !ok {
			t.Errorf("%s: speaks for no mechanism", id)
		}
		for _, o := range m.Now {
			if o.Text == a.Text {
				t.Errorf("%s: the same as for %s", id, s.Mechanism)
			}
		}
	}
	if _, ok := AdviceFor("storage-full"); ok {
		t.Error("advice for a signature that needs none of its own")
	}
}
