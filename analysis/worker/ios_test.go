package worker

import (
	"slices"
	"testing"
)

func TestIOsAreFoundByTheirPlaceAndFilteredFileByFile(t *testing.T) {
	one := func(file string, off int64) *Observations {
		return &Observations{IOs: IOs{{{Pos: Pos{File: file, Off: off}}}}}
	}
	obs := Merge(one("b", 7), one("a", 3), one("b", 2), one("c", 5), one("b", 7))
	var got []Pos
	for k := range obs.IOs.All() {
		got = append(got, k.Pos)
	}
	if want := []Pos{{File: "a", Off: 3}, {File: "b", Off: 2}, {File: "b", Off: 7}, {File: "c", Off: 5}}; !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for _, p := range got {
		if k := obs.IOs.Find(p.File, p.Off); k == nil || k.Pos != p {
			t.Errorf("%v: found %v", p, k)
		}
	}
	for _, p := range []Pos{{File: "b", Off: 3}, {File: "b", Off: 8}, {File: "aa", Off: 3}, {}} {
		if k := obs.IOs.Find(p.File, p.Off); k != nil {
			t.Errorf("%v: found %v", p, k)
		}
	}
	left := obs.Filter(func(at At) bool { return at.File == "b" && at.Off > 2 || at.File == "c" })
	if len(left.IOs) != 2 || left.IOs.Find("b", 7) == nil || left.IOs.Find("c", 5) == nil || len(obs.IOs) != 3 {
		t.Errorf("left: %v of %v", left.IOs, obs.IOs)
	}
}
