package isolate

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Sizes is a search for the size from which on the fault comes: GPUs, samples of a batch, layers.
type Sizes struct {
	Of   string `json:"of"`   // gpus, batch, layers
	Good int    `json:"good"` // known to work
	Bad  int    `json:"bad"`  // known to fail
	Step int    `json:"step"` // sizes are multiples of it, 0 = 1
}

// The sizes that can be searched for.
const (
	GPUs   = "gpus"
	Batch  = "batch"
	Layers = "layers"
)

const mostSizes = 1 << 16

func (z *Sizes) check() error {
	switch {
	case !slices.Contains([]string{GPUs, Batch, Layers}, z.Of):
		return fmt.Errorf("unknown size %q: use gpus, batch or layers", z.Of)
	case z.Good < 0 || z.Bad <= z.Good:
		return fmt.Errorf("%d works and %d fails: the failing size must be larger", z.Good, z.Bad)
	case z.Step < 0:
		return errors.New("a step below 1")
	case (z.Bad-z.Good)/max(1, z.Step) > mostSizes:
		return fmt.Errorf("more than %d sizes between %d and %d: set a step", mostSizes, z.Good, z.Bad)
	}
	return nil
}

// between are the sizes that can be tested, ascending.
func (z *Sizes) between() (list []int) {
	step := max(1, z.Step)
	for n := (z.Good/step + 1) * step; n < z.Bad; n += step {
		list = append(list, n)
	}
	return list
}

// sureSize is when a size counts as found: a wrong one costs a rerun, not a node.
const sureSize = 0.99

// nextSize is Next for a search for a size. Both bounds are tested first: a search between bounds that are wrong ends anywhere.
func (l *Ledger) nextSize() ([]Test, *Finding, error) {
	z := l.Sizes
	fails := append(z.between(), z.Bad) // the fault comes from fails[i] on
	odds := make([]float64, len(fails)+2)
	for i := range odds {
		odds[i] = 1 / float64(len(odds))
	}
	// The two more: it fails with the size that is said to work, and it does not come back at all.
	from := func(i int) int {
		switch {
		case i < len(fails):
			return fails[i]
		case i == len(fails):
			return z.Good
		}
		return z.Bad + 1
	}
	round := 0
	tested := map[int]bool{}
	for _, t := range l.Tests {
		round = max(round, t.Round)
		if t.Outcome == Void {
			continue
		}
		tested[t.Size] = true
		sum := 0.0
		for i := range odds {
			if (t.Size >= from(i)) == (t.Outcome == Fail) {
				odds[i] *= 1 - l.flaky()
			} else {
				odds[i] *= l.flaky()
			}
			sum += odds[i]
		}
		for i := range odds {
			odds[i] /= sum
		}
	}
	best := 0
	for i := range odds {
		if odds[i] > odds[best] {
			best = i
		}
	}
	if odds[best] >= sureSize && tested[z.Good] && tested[z.Bad] {
		return nil, z.finding(fails, best, odds[best]), nil
	}
	if round >= mostRounds {
		return nil, &Finding{Open: []string{fmt.Sprintf("%d %s", from(best), z.Of)}}, nil
	}
	size := z.Bad
	switch {
	case !tested[z.Bad]:
	case !tested[z.Good]:
		size = z.Good
	default:
		size = l.median(fails, odds)
	}
	t := Test{ID: fmt.Sprintf("%da", round+1), Round: round + 1, Size: size}
	l.Tests = append(l.Tests, t)
	return []Test{t}, nil, nil
}

// median is the size whose test splits the odds best.
func (l *Ledger) median(fails []int, odds []float64) int {
	below := odds[len(fails)] // it fails with the good size already
	best, nearest := l.Sizes.Good, math.Abs(below-0.5)
	for i, size := range fails {
		below += odds[i]
		if off := math.Abs(below - 0.5); off < nearest {
			best, nearest = size, off
		}
	}
	return best
}

func (z *Sizes) finding(fails []int, best int, odds float64) *Finding {
	switch {
	case best == len(fails):
		return &Finding{Odds: odds, Between: [2]int{0, z.Good}}
	case best > len(fails):
		return &Finding{Odds: odds, Absent: true}
	}
	works := z.Good
	if best > 0 {
		works = fails[best-1]
	}
	return &Finding{Odds: odds, Between: [2]int{works, fails[best]}}
}
