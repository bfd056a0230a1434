package resolve

import (
	"math"
	"slices"

	"faultline/analysis/line"
	"faultline/analysis/robust"
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
	// Last is the last line that was not slow, Recent the first of those that the new time is taken from.
	Last, Recent *Point
	// Gradual is true where a step took longer and longer from the onset on; Now is how it ended.
	Gradual bool
	// Weak is true where it is real by its own statistics, but small or seen in few lines.
	Weak bool
}

// Ratio is how many times longer a step takes.
func (s *Slowdown) Ratio() float64 { return s.Now / s.Base }

// Began is when the first slow step began, as far as lines have times. A line that sums up several steps is slow by the share of
// them that are.
func (s *Slowdown) Began() Moment {
	m, last := s.Onset.T, s.Last.T
	gap := m.T - last.T
	if !m.Valid || !last.Valid || gap <= 0 {
		return m
	}
	share := 1.0
	if rise := s.Now - s.Base; !s.Gradual && rise > 0 {
		share = min(max((s.Onset.Seconds-s.Base)/rise, 0), 1)
	}
	m.T -= share * gap
	m.Unc = max(m.Unc, min(s.Now, gap))
	if s.Onset.Lines > 1 || s.Gradual {
		m.Unc = max(m.Unc, gap)
	}
	return m
}

// Extra is how much longer than at the baseline the steps since the onset took, in seconds, as far as lines number their steps.
func (s *Slowdown) Extra() float64 {
	sum, before := 0.0, s.Last
	for _, p := range s.Course.Timed() {
		if p.At.Off < s.Onset.At.Off {
			continue
		}
		if p.Step > before.Step && before.Step != line.Unknown {
			sum += (p.Seconds - s.Base) * float64(p.Step-before.Step)
		}
		before = p
	}
	return max(sum, 0)
}

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
	c.slowed.Do(func() {
		if c.slowdown, c.slows = c.findGradual(); !c.slows {
			c.slowdown, c.slows = c.findSlowdown()
		}
	})
	return c.slowdown, c.slows
}

func (c *Course) findSlowdown() (s Slowdown, ok bool) {
	ps, x := c.paced()
	n := len(ps)
	if n < leastPoints {
		return s, false
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
	base, now := robust.Median(before), robust.Median(after)
	mid := (base + now) / 2
	sigma := max(robust.Spread(before, base), robust.Spread(after, now), noiseFloor)
	rise := now - base
	on := k
	if k > 1 && ps[k-1].Lines > 1 && x[k-1]-base > max(slowSigmas*sigma, math.Log(slightRatio)) {
		on-- // it sums up steps of both kinds
	}
	s = Slowdown{Course: c, Base: math.Exp(base), Now: math.Exp(now), Before: len(before), After: len(after),
		BaseAt: closest(ps[:k], math.Exp(base)), Onset: ps[on], NowAt: closest(ps[k:], math.Exp(now))}
	s.Last, s.Recent = ps[on-1], ps[k]
	if ps[on].Lines > 1 {
		s.Prior = ps[on-1]
	}
	if rise < math.Log(slightRatio) || robust.Share(before, func(v float64) bool { return v < mid }) < staysSo ||
		robust.Share(after, func(v float64) bool { return v > mid }) < staysSo || robust.Median(after[max(0, len(after)-5):]) < mid {
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

// paced are the timed points without the first, which compiles, allocates and fills caches, and the logarithms of their times.
func (c *Course) paced() ([]*Point, []float64) {
	ps := c.Timed()
	if len(ps) > 8 {
		ps = ps[1:]
	}
	x := make([]float64, len(ps))
	for i, p := range ps {
		x[i] = math.Log(p.Seconds)
	}
	return ps, x
}

// Limits of a slowdown that creeps.
const (
	gradualPoints = 2 * fewPoints
	gradualFit    = 0.6 // of what a sudden change leaves unexplained is left by a slope
	gradualSigmas = 8.0
	gradualShare  = 6 // one of so many points, at least, is on each side of the onset
)

// findGradual finds a step time that rises steadily from somewhere to the end. It must fit much better than any sudden change, and rise far
// beyond its own noise: averages that follow a pause rise for a while as well.
func (c *Course) findGradual() (s Slowdown, ok bool) {
	ps, x := c.paced()
	n := len(x)
	if n < gradualPoints {
		return s, false
	}
	y := smooth(x)
	k := split(y, [2]int{n / gradualShare, n / gradualShare})
	if k == 0 {
		return s, false
	}
	sudden := squares(y[:k]) + squares(y[k:])
	from, best := 0, math.Inf(1)
	for at := n / gradualShare; at <= n-2*(n/gradualShare); at++ {
		if v := hinge(y, at); v < best {
			from, best = at, v
		}
	}
	if from == 0 || best > gradualFit*sudden {
		return s, false
	}
	base, late := robust.Median(y[:from]), n-max(fewPoints/4, (n-from)/6)
	now := robust.Median(y[late:])
	middle, noise := robust.Median(y[from:late]), math.Sqrt(best/float64(n))
	if now-base < math.Log(slowRatio) || now-base < gradualSigmas*max(noise, noiseFloor) || now <= middle || middle <= base {
		return s, false
	}
	return Slowdown{Course: c, Base: math.Exp(base), Now: math.Exp(now), Before: from, After: n - from, BaseAt: closest(ps[:from], math.Exp(base)),
		Onset: ps[from], NowAt: closest(ps[late:], math.Exp(now)), Last: ps[from-1], Recent: ps[late], Gradual: true}, true
}

// hinge is what is left unexplained by a line that is level up to a point and rises from there to the end.
func hinge(y []float64, at int) float64 {
	level := robust.Median(y[:at])
	var over, square float64
	for i, v := range y[at:] {
		t := float64(i + 1)
		over, square = over+t*(v-level), square+t*t
	}
	slope := over / square
	if slope <= 0 {
		return math.Inf(1)
	}
	left := 0.0
	for _, v := range y[:at] {
		left += (v - level) * (v - level)
	}
	for i, v := range y[at:] {
		d := v - level - slope*float64(i+1)
		left += d * d
	}
	return left
}

// squares is the sum of the squared distances from the mean.
func squares(y []float64) float64 {
	sum := 0.0
	for _, v := range y {
		sum += v
	}
	mean, out := sum/float64(len(y)), 0.0
	for _, v := range y {
		out += (v - mean) * (v - mean)
	}
	return out
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
	return edgeAt(x, k, (robust.Median(x[:k])+robust.Median(x[k:]))/2)
}

func edgeAt(x []float64, k int, mid float64) int {
	for k > 1 && x[k-1] > mid {
		k--
	}
	for k < len(x)-1 && x[k] <= mid {
		k++
	}
	return k
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
