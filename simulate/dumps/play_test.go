package dumps

import (
	"bytes"
	"testing"
)

func TestTheSameSpecGivesTheSameDumps(t *testing.T) {
	for _, f := range Faults() {
		spec := Spec{Seed: 3, Fault: f, TP: 2, PP: 2, DP: 2, Version: "2.9", Ring: 64, Faulty: 1}
		a, err := Play(spec)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Play(spec)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Files) != 8 {
			t.Fatalf("%s: %d dumps", f, len(a.Files))
		}
		for name := range a.Files {
			if !bytes.Equal(a.Files[name], b.Files[name]) {
				t.Errorf("%s: %s differs from run to run", f, name)
			}
		}
	}
}

func TestAWorldThatIsNone(t *testing.T) {
	if _, err := Play(Spec{TP: 1, PP: 1, DP: 2}); err == nil {
		t.Error("a world of two ranks is played")
	}
}
