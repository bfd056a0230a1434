package correlate

import "testing"

// That a request fails soon after something was taken away may be chance: two such acts make the relation of the clocks no more certain.
func TestActsMakeAClockOnlyLikely(t *testing.T) {
	x := examined(missed404("o/000258", 8), missed404("p/000003", 9))
	x.clock = Clock{rel: make([]relation, 3)}
	for _, d := range x.daemons {
		d.Zone = ""
	}
	x.all = []*trouble{x.deletion("list:[o/000258]", 3), x.deletion("list:[p/000003]", 3)}
	for _, c := range x.all {
		c.points = c.points[:1]
	}
	if x.tie(); x.clock.Proof != Likely {
		t.Errorf("%s: %+v", x.clock.Proof, x.clock.Basis)
	}
}
