package worker

import "testing"

// What is kept as a whole is not copied, what is kept in part takes no more room than it needs, and what was filtered stays as it is.
func TestFilterCopiesNoMoreThanIsKept(t *testing.T) {
	sign := func(off int64) Sign { return Sign{At: At{Pos: Pos{File: "a", Off: off}}} }
	obs := &Observations{Signs: []Sign{sign(1), sign(2), sign(3)}, Doings: []Doing{{At: At{Pos: Pos{File: "a", Off: 2}}}}, IOs: IOs{{{Pos: Pos{File: "a", Off: 2}}, {Pos: Pos{File: "a", Off: 9}}}}}
	if all := obs.Filter(func(At) bool { return true }); &all.Signs[0] != &obs.Signs[0] || &all.IOs[0][0] != &obs.IOs[0][0] {
		t.Error("all was kept, and copied")
	}
	some := obs.Filter(func(at At) bool { return at.Off == 2 })
	if len(some.Signs) != 1 || some.Signs[0].Off != 2 || cap(some.Signs) != 1 {
		t.Errorf("kept %v, room for %d", some.Signs, cap(some.Signs))
	}
	if len(some.Doings) != 1 || len(some.IOs) != 1 || len(some.IOs[0]) != 1 || some.IOs[0][0].Off != 2 {
		t.Errorf("kept %v and %v", some.Doings, some.IOs)
	}
	if len(obs.Signs) != 3 || obs.Signs[2].Off != 3 || len(obs.IOs[0]) != 2 {
		t.Errorf("changed what was filtered: %v", obs)
	}
	if none := obs.Filter(func(At) bool { return false }); len(none.Signs)+len(none.Doings)+len(none.IOs) != 0 {
		t.Errorf("kept %v", none)
	}
}
