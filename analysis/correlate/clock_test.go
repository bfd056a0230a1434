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

// One thing that a client told before the daemon is no skew: the daemon may have noticed late. Several that agree are.
func TestSkewTakesMoreThanOneWitness(t *testing.T) {
	for _, c := range []struct {
		rests      []float64
		shift, unc float64
	}{
		{rests: []float64{-10}, shift: 0, unc: 10.5},
		{rests: []float64{10}, shift: 0, unc: 10.5},
		{rests: []float64{-20, -18}, shift: -20, unc: 1},
		{rests: []float64{-20, -12, 0.5}, shift: -20, unc: 8.5},
		{rests: []float64{7, 7.5, 8}, shift: 7, unc: 1},
		{rests: []float64{0.1, 40}, shift: 0, unc: 1},
	} {
		var pairs []pair
		for _, r := range c.rests {
			pairs = append(pairs, pair{client: &Client{}, rest: r})
		}
		x := &inquiry{}
		x.settle(0, pairs)
		if k := x.clock; k.Shift != c.shift || k.Unc != c.unc {
			t.Errorf("%v: %v, within %v; want %v, within %v", c.rests, k.Shift, k.Unc, c.shift, c.unc)
		}
	}
}
