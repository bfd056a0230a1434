package correlate

import "faultline/analysis/aislog"

// Comparison sets what a daemon's counters grew by since the job's trouble began beside the half hour before.
type Comparison struct {
	Since, Before               map[string]int64
	SecondsSince, SecondsBefore int64 // how long each was counted
}

// compare reads the counters of each daemon around the stall. Nothing is compared where the clocks are not related.
func (x *inquiry) compare() map[*aislog.Daemon]*Comparison {
	out := map[*aislog.Daemon]*Comparison{}
	if !x.clock.Known() || !x.Stall.Valid {
		return out
	}
	for i, d := range x.daemons {
		if c := x.compared(i); c.SecondsSince > 0 {
			out[d] = c
		}
	}
	return out
}

func (x *inquiry) compared(d int) *Comparison {
	c := &Comparison{Since: map[string]int64{}, Before: map[string]int64{}}
	begun := x.Stall.T - x.clock.Shift
	for i := range x.daemons[d].Intervals {
		iv := &x.daemons[d].Intervals[i]
		from, ok := x.wall(d, iv.From)
		to, ok2 := x.wall(d, iv.To)
		if !ok || !ok2 || iv.Base.File == "" || to < begun-lookBack || from > begun+lookBack {
			continue
		}
		into, seconds := c.Before, &c.SecondsBefore
		if to > begun {
			into, seconds = c.Since, &c.SecondsSince
		}
		*seconds += int64(to - from)
		for _, g := range iv.By {
			into[g.Name] += g.N
		}
	}
	return c
}
