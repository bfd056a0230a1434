package correlate

import (
	"testing"
	"time"

	"faultline/analysis/aislog"
)

// The clock of a daemon that is an hour ahead of the others' is brought to theirs before its counters are compared.
func TestCountersAreComparedByTheCommonClock(t *testing.T) {
	for _, skew := range []float64{0, 3600} {
		x := examined()
		x.clock.rel[1].shift = -skew
		begun := at(stall).Add(time.Duration(skew) * time.Second)
		grew := func(from time.Time, n int64) {
			x.daemons[1].Intervals = append(x.daemons[1].Intervals, aislog.Interval{From: aislog.Time{Wall: from, Proof: aislog.Marker}, To: aislog.Time{Wall: from.Add(time.Minute), Proof: aislog.Marker},
				Base: aislog.At{File: "f"}, At: aislog.At{File: "f"}, By: []aislog.Growth{{Name: "err.get.n", N: n}}})
		}
		grew(begun.Add(-5*time.Minute), 2)
		grew(begun.Add(30*time.Second), 50)
		grew(begun.Add(2*time.Hour), 1000)
		c := x.compare()[x.daemons[1]]
		if c == nil || c.Since["err.get.n"] != 50 || c.Before["err.get.n"] != 2 || c.SecondsSince != 60 || c.SecondsBefore != 60 {
			t.Errorf("%.0f s ahead: %+v", skew, c)
		}
	}
}
