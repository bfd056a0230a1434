package resolve

import (
	"math"
	"slices"
)

// Slowdown is where the time of a step left its own baseline for good.
type Slowdown struct {
	Course        *Course
	Base, Now     float64 // medians of a step's time before and since, in seconds
	Before, After int     // lines on each side
	// BaseAt is a line that states the baseline, Onset the first slow line, NowAt one that states the new time.
	BaseAt, Onset, NowAt *Point
	// Prior is the line before the onset, where lines between the two were not looked at: it may have begun at any of them.
	Prior *Point
	// Weak is true where it is real by its own statistics, but small or seen in few lines.
	Weak bool
}

// Ratio is how many times longer a step takes.
func (s *Slowdown) Ratio() float64 { return s.Now / s.Base }

// Limits of a slowdown. The ratio of 1.1 is the method's; less than that counts only far outside the noise.
const (
	slowRatio   = 1.1  // with slowSigmas
	slightRatio = 1.04 // with slightSigmas
	slowSigmas  = 3.0
	sureSigmas  = 6.0
	fewPoints   = 20    // below: nothing but a clean separation of the two sides counts
	leastPoints = 5     // three before, two since
	noiseFloor  = 0.002 // what rounding of printed times looks like
	staysSo     = 0.85  // share of lines on either side of the middle
)

// Slowdown finds the one change of the step time that splits the course best. Slowdowns that are over by the end, and
// those of a few lines among many, are none: they are pauses. Only ratios count, so the unit of time does not matter.
func (c *Course) Slowdown() (s Slowdown, ok bool) {
	c.slowed.Do(func() { c.slowdown, c.slows = c.findSlowdown() })
	return c.slowdown, c.slows
}

func (c *Course) findSlowdown() (s Slowdown, ok bool) {
	ps := c.Timed()
	if len(ps) > 8 {
		ps = ps[1:] // the first step compiles, allocates and fills caches
	}
	n := len(ps)
	if n < leastPoints {
		return s, false
	}
	x := make([]float64, n)
	for i, p := range ps {
		x[i] = math.Log(p.Seconds)
	}
	least := [2]int{3, 2}
	y := x
	if n >= fewPoints {
		least = [2]int{5, max(5, n/50)}
		y = smooth(x)
	}
	k := split(y, least)
	if k == 0 {
		return s, false
	}
	if n >= fewPoints {
		k = edge(x, k)
	}
	before, after := x[:k], x[k:]
	if len(before) < least[0] || len(after) < least[1] {
		return s, false
	}
	base, now := median(before), median(after)
	mid := (base + now) / 2
	sigma := max(spread(before, base), spread(after, now), noiseFloor)
	rise := now - base
	s = Slowdown{Course: c, Base: math.Exp(base), Now: math.Exp(now), Before: len(before), After: len(after),
		BaseAt: closest(ps[:k], math.Exp(base)), Onset: ps[k], NowAt: closest(ps[k:], math.Exp(now))}
	if ps[k].Lines > 1 {
		s.Prior = ps[k-1]
	}
	if rise < math.Log(slightRatio) || share(before, func(v float64) bool { return v < mid }) < staysSo ||
		share(after, func(v float64) bool { return v > mid }) < staysSo || median(after[max(0, len(after)-5):]) < mid {
		return s, false
	}
	if n < fewPoints {
		lo, hi := slices.Min(before), slices.Max(before)
		gap := slices.Min(after) - hi
		s.Weak = true
		return s, gap > 0 && (gap >= 3*max(hi-lo, noiseFloor) || rise >= sureSigmas*sigma && rise >= math.Log(slowRatio))
	}
	s.Weak = rise < math.Log(slowRatio)
	if s.Weak {
		return s, rise >= sureSigmas*sigma
	}
	return s, rise >= slowSigmas*sigma
}

// split is the index that separates x best into a lower first and a higher second part (largest variance between the
// two), 0 if there is none. least bounds the lengths of the parts.
func split(x []float64, least [2]int) int {
	n := len(x)
	sum := make([]float64, n+1)
	for i, v := range x {
		sum[i+1] = sum[i] + v
	}
	best, most := 0, 0.0
	for k := least[0]; k <= n-least[1]; k++ {
		a, b := sum[k]/float64(k), (sum[n]-sum[k])/float64(n-k)
		if w := float64(k) * float64(n-k) * (b - a) * (b - a); b > a && w > most*(1+1e-12) {
			best, most = k, w
		}
	}
	return best
}

// smooth is the running median of five: single slow steps vanish, edges stay.
func smooth(x []float64) []float64 {
	out := make([]float64, len(x))
	var room [5]float64
	for i := range x {
		w := room[:copy(room[:], x[max(0, i-2):min(len(x), i+3)])]
		slices.Sort(w)
		out[i] = w[(len(w)-1)/2]
	}
	return out
}

// edge moves a split found in smoothed values to the first of the high values around it.
func edge(x []float64, k int) int {
	mid := (median(x[:k]) + median(x[k:])) / 2
	for k > 1 && x[k-1] > mid {
		k--
	}
	for k < len(x)-1 && x[k] <= mid {
		k++
	}
	return k
}

// spread is a robust standard deviation: 1.4826 times the median distance from the middle.
func spread(x []float64, middle float64) float64 {
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = math.Abs(v - middle)
	}
	return 1.4826 * median(d)
}

func share(x []float64, ok func(float64) bool) float64 {
	n := 0
	for _, v := range x {
		if ok(v) {
			n++
		}
	}
	return float64(n) / float64(len(x))
}

// closest is the point whose step time is nearest to a value, the latest of several.
func closest(ps []*Point, seconds float64) *Point {
	best := ps[0]
	for _, p := range ps {
		if math.Abs(p.Seconds-seconds) <= math.Abs(best.Seconds-seconds) {
			best = p
		}
	}
	return best
}
