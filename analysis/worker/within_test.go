package worker

import "testing"

func TestWithinIsTheFilesOwnPart(t *testing.T) {
	at := func(file string, off int64) Numeric { return Numeric{At: At{Pos: Pos{File: file, Off: off}}} }
	list := Merge(&Observations{Numerics: []Numeric{at("b", 7), at("b", 3)}}, &Observations{Numerics: []Numeric{at("c", 1)}}, &Observations{Numerics: []Numeric{at("a", 9)}}).Numerics
	for file, want := range map[string][]int64{"": nil, "a": {9}, "b": {3, 7}, "bb": nil, "c": {1}, "d": nil} {
		got := Within(list, file)
		if len(got) != len(want) {
			t.Errorf("%q: %d, not %d", file, len(got), len(want))
			continue
		}
		for i := range got {
			if got[i].File != file || got[i].Off != want[i] {
				t.Errorf("%q: %s:%d, not :%d", file, got[i].File, got[i].Off, want[i])
			}
		}
	}
}
