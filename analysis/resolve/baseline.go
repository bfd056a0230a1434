package resolve

import (
	"cmp"
	"slices"
)

// Against is one run of nccl-tests beside what it is expected to reach.
type Against struct {
	TestRun
	// Base is the run of the baseline; its Run is nil where a number was stated.
	Base TestRun
	// Sizes are those that both measured, and in which the baseline fills the bus at least by half: below, a test measures latency.
	Sizes []Expected
	// Slow: the largest size, or most of them, do not reach the share of the expected bandwidth.
	Slow bool
}

// Expected is what was measured for one size, and what was expected.
type Expected struct {
	Got  Measured
	Want float64
	Base Measured // of a number that was stated: none
}

// Share is the measured part of the expected bandwidth at the largest size.
func (a *Against) Share() float64 {
	last := &a.Sizes[len(a.Sizes)-1]
	return last.Got.Bus / last.Want
}

// AgainstBaseline compares every run with the stated baseline, the worst first; without are those that it has nothing for. Culprit is
// what the slow runs and the others prove together.
func (f *Facts) AgainstBaseline() (compared []Against, without []TestRun, who Culprit) {
	base := testRuns(f.Handed.Baseline)
	if len(base) == 0 && f.Handed.Bandwidth <= 0 {
		return nil, nil, Culprit{}
	}
	for _, r := range f.TestRuns() {
		a, ok := Against{}, false
		if len(base) > 0 {
			a, ok = againstRuns(&r, base)
		}
		if !ok && f.Handed.Bandwidth > 0 {
			a, ok = againstNumber(&r, f.Handed.Bandwidth)
		}
		if !ok {
			without = append(without, r)
			continue
		}
		compared = append(compared, a)
	}
	slices.SortStableFunc(compared, func(a, b Against) int {
		return cmp.Or(cmp.Compare(a.Share(), b.Share()), cmp.Compare(a.File, b.File), cmp.Compare(a.Start.Offset, b.Start.Offset))
	})
	var bad, good [][]string
	for i := range compared {
		if compared[i].Slow {
			bad = append(bad, compared[i].Hosts)
		} else {
			good = append(good, compared[i].Hosts)
		}
	}
	return compared, without, Accuse(bad, good)
}

// againstRuns takes of the runs that are of the same kind one over the same hosts, else the best.
func againstRuns(r *TestRun, base []TestRun) (Against, bool) {
	kind, ok := kindOf(r)
	if !ok {
		return Against{}, false
	}
	best, same := Against{}, false
	for i := range base {
		if k, ok := kindOf(&base[i]); !ok || k != kind {
			continue
		}
		a := Against{TestRun: *r, Base: base[i]}
		if a.sizes(); len(a.Sizes) == 0 {
			continue
		}
		mine := slices.Equal(base[i].Hosts, r.Hosts)
		if best.Run == nil || mine && !same || mine == same && a.Sizes[len(a.Sizes)-1].Want > best.Sizes[len(best.Sizes)-1].Want {
			best, same = a, mine
		}
	}
	return best, best.Run != nil
}

func (a *Against) sizes() {
	_, peak, ok := a.Base.Peak()
	if !ok {
		return
	}
	seen := map[int64]bool{}
	low := 0
	for i := range a.Rows {
		size := a.Rows[i].Size
		if seen[size] {
			continue
		}
		seen[size] = true
		row, _ := a.At(size)
		got, measured := row.Best()
		of, there := a.Base.At(size)
		want, ok := of.Best()
		if !measured || !there || !ok || want <= 0 || want < peak/2 {
			continue
		}
		a.Sizes = append(a.Sizes, Expected{Got: Measured{a.TestRun, row, got}, Want: want, Base: Measured{a.Base, of, want}})
		if got < slowShare*want {
			low++
		}
	}
	slices.SortStableFunc(a.Sizes, func(x, y Expected) int { return cmp.Compare(x.Got.Row.Size, y.Got.Row.Size) })
	a.Slow = len(a.Sizes) > 0 && (a.Share() < slowShare || 2*low > len(a.Sizes))
}

func againstNumber(r *TestRun, want float64) (Against, bool) {
	row, bus, ok := r.Peak()
	if odd, _ := r.Odd(); !ok || len(odd) > 0 {
		return Against{}, false
	}
	return Against{TestRun: *r, Sizes: []Expected{{Got: Measured{*r, row, bus}, Want: want}}, Slow: bus < slowShare*want}, true
}
