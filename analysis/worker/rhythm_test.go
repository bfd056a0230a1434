package worker

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestRhythmOfTheLastLines(t *testing.T) {
	stamped := func(seconds ...int) string {
		var b strings.Builder
		for _, s := range seconds {
			fmt.Fprintf(&b, "%s INFO trainer - one more batch is done\n", time.Unix(1741082400+int64(s), 0).UTC().Format(time.DateTime))
		}
		return b.String()
	}
	every := func(n, from, step int) (s []int) {
		for i := range n {
			s = append(s, from+i*step)
		}
		return s
	}
	for _, c := range []struct {
		name, text     string
		usual, longest float64
		span           float64
		last           int64 // line; 0: no rhythm
	}{
		{"none has a time", strings.Repeat("one more batch is done\n", 100), 0, 0, 0, 0},
		{"too few", stamped(every(39, 0, 2)...), 0, 0, 0, 0},
		{"enough", stamped(every(40, 0, 2)...), 2, 2, 78, 40},
		{"the last of many", stamped(every(5000, 0, 2)...), 2, 2, 126, 5000},
		{"a pause among them", stamped(append(every(30, 0, 2), every(30, 600, 2)...)...), 2, 542, 658, 60},
		{"a pause long before", stamped(append(every(300, 0, 2), every(300, 9000, 2)...)...), 2, 2, 126, 600},
		{"lines without a time behind them", stamped(every(50, 0, 2)...) + strings.Repeat("x\n", 30), 2, 2, 98, 50},
		{"far above the end", stamped(every(50, 0, 2)...) + strings.Repeat("x\n", 10_000), 0, 0, 0, 0},
		{"two clocks", stamped(append(every(50, 3600, 2), every(50, 0, 2)...)...), 0, 0, 0, 0},
		{"not quite in order", stamped(append(every(49, 0, 2), 95)...), 2, 2, 95, 50},
	} {
		obs := observe(t, c.text)
		r := obs.Tails[0].Rhythm
		switch {
		case (r == nil) != (c.last == 0):
			t.Errorf("%s: %+v", c.name, r)
		case r != nil && (r.Usual != c.usual || r.Longest != c.longest || r.Span != c.span || r.Line != c.last):
			t.Errorf("%s: usual %v, longest %v of %v, last in line %d", c.name, r.Usual, r.Longest, r.Span, r.Line)
		}
	}
}
