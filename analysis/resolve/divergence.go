package resolve

import (
	"math"
	"slices"

	"faultline/analysis/line"
	"faultline/analysis/robust"
)

// Divergence is a loss that fell, and rises since.
type Divergence struct {
	Start, Low, Is float64 // medians at the start and at the end, and the lowest between
	LowAt, Last    *Point
	// Onset is the first line since which the loss stays above its lowest.
	Onset *Point
	N     int // lines since
	// Resumed: the earlier run's losses are counted in.
	Resumed bool
}

// Limits of a divergence. What fell little, or rises within its noise, is a plateau; what comes back is a spike.
const (
	divergeLeast  = 60   // losses
	divergeSigmas = 8.0  // beyond the noise between one line and the next
	divergeRise   = 0.10 // of the lowest, and of what it had fallen by
	divergeFell   = 0.05 // of the start
	divergeStays  = 0.85 // of the rise to the highest is left at the end
	divergeSince  = 10   // one of so many losses, at least, is since the lowest
	divergeEnds   = 20   // one of so many losses is the start, and the end
)

// Divergence finds it in the last stretch of like steps. A loss that jumped and falls again is none: new data do that.
func (c *Course) Divergence() (d Divergence, ok bool) {
	return divergence(c.lastLosses(), false)
}

// DivergenceSince is Divergence of a run that goes on where the earlier one was: its loss is measured by what that one had reached.
func (f *Facts) DivergenceSince(c *Course) (d Divergence, ok bool) {
	ps := c.lastLosses()
	if f.Preceding == nil || len(ps) < fewPoints || ps[0].Step == line.Unknown {
		return d, false
	}
	was := f.Preceding.Longest(func(p *Point) bool { return p.Loss.Known })
	if was == nil {
		return d, false
	}
	before := slices.DeleteFunc(was.lastLosses(), func(p *Point) bool { return p.Step == line.Unknown || p.Step >= ps[0].Step })
	if len(before) < fewPoints || float64(ps[0].Step-before[len(before)-1].Step) > float64(ps[0].Step)/divergeSince {
		return d, false
	}
	d, ok = divergence(append(before, ps...), true)
	return d, ok && d.Onset.Step >= ps[0].Step
}

// lastLosses are the losses of the last stretch of like steps.
func (c *Course) lastLosses() (ps []*Point) {
	for _, p := range c.Losses() {
		if len(ps) > 0 && p.Stretch != ps[len(ps)-1].Stretch {
			ps = nil
		}
		ps = append(ps, p)
	}
	return ps
}

func divergence(ps []*Point, resumed bool) (d Divergence, ok bool) {
	n := len(ps)
	if n < divergeLeast {
		return d, false
	}
	x := make([]float64, n)
	for i, p := range ps {
		if x[i] = p.Loss.Value; !p.Loss.Finite || x[i] <= 0 {
			return d, false
		}
	}
	y := smooth(x)
	low := 0
	for i := range y {
		if y[i] < y[low] {
			low = i
		}
	}
	end := max(5, n/divergeEnds)
	if low < end || n-low < max(fewPoints, n/divergeSince) {
		return d, false
	}
	d = Divergence{Start: robust.Median(y[:end]), Low: y[low], Is: robust.Median(y[n-end:]), LowAt: ps[low], Last: ps[n-1], Resumed: resumed}
	noise := jitter(x)
	rise, fell := d.Is-d.Low, d.Start-d.Low
	top := d.Low
	for _, v := range y[low:] {
		top = max(top, v)
	}
	switch {
	case !resumed && fell < max(divergeSigmas*noise, divergeFell*d.Start), resumed && d.Is < d.Start, rise < max(divergeSigmas*noise, divergeRise*d.Low, divergeRise*fell):
		return d, false
	case rise < divergeStays*(top-d.Low), d.Is < d.Start && !rises(y[low:], noise):
		return d, false
	}
	at := low
	for i := low; i < n; i++ {
		if y[i] <= d.Low+slowSigmas*noise {
			at = i
		}
	}
	d.Onset, d.N = ps[min(at+1, n-1)], n-1-at
	return d, true
}

// rises says that a loss goes up from one quarter to the next.
func rises(y []float64, noise float64) bool {
	w := len(y) / 4
	a, b, c, d := robust.Median(y[:w]), robust.Median(y[w:2*w]), robust.Median(y[2*w:3*w]), robust.Median(y[3*w:])
	return b > a+noise && c > b+noise/2 && d > c-noise
}

// jitter is how much one loss differs from the one before, as a standard deviation of one.
func jitter(x []float64) float64 {
	d := make([]float64, len(x)-1)
	for i := range d {
		d[i] = x[i+1] - x[i]
	}
	return robust.Spread(d, robust.Median(d)) / math.Sqrt2
}

// LossAt is the loss that a run printed at a step, or at the last one before that it has; nil where it has none near.
func (f *Facts) LossAt(step int64) *Point {
	c := f.Longest(func(p *Point) bool { return p.Loss.Known })
	if c == nil {
		return nil
	}
	var best *Point
	for _, p := range c.Losses() {
		if p.Step <= step && p.Loss.Finite && (best == nil || p.Step > best.Step) {
			best = p
		}
	}
	if best == nil || float64(step-best.Step) > float64(step)/divergeSince {
		return nil
	}
	return best
}
