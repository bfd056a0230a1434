package resolve

import "testing"

func TestEarliest(t *testing.T) {
	none, one, two := Moment{}, Moment{T: 1, Valid: true}, Moment{T: 2, Valid: true}
	wide := Moment{T: 1, Unc: 5, Valid: true}
	for _, c := range []struct{ m, o, want Moment }{
		{none, none, none}, {none, two, two}, {two, none, two}, {one, two, one}, {two, one, one}, {one, wide, one}, {wide, one, wide},
	} {
		if got := c.m.Earliest(c.o); got != c.want {
			t.Errorf("%v and %v: %v, want %v", c.m, c.o, got, c.want)
		}
	}
}
