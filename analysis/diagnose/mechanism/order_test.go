package mechanism

import (
	"math/rand/v2"
	"slices"
	"testing"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
)

// earliest is held to its definition, which compares all with all: too slow for the sixteen thousand victims of one fault.
func TestTheEarliestFailuresAreThoseThatNoOtherPrecedes(t *testing.T) {
	precedes := func(b, a *resolve.Failure) bool {
		return moment(b).Before(moment(a)) ||
			a.Rank == b.Rank && a.Rank != resolve.NoRank && a.At.File == b.At.File && b.At.Off < a.At.Off
	}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		fls := make([]*resolve.Failure, 1+r.IntN(12))
		for i := range fls {
			fls[i] = &resolve.Failure{Rank: r.IntN(4) - 1, At: &worker.At{Pos: worker.Pos{File: string(rune('a' + r.IntN(2))), Off: r.Int64N(6)}}}
			if m := (resolve.Moment{T: float64(r.IntN(9)), Unc: float64(r.IntN(3)), Valid: true}); r.IntN(3) > 0 {
				fls[i].T = m
			} else if r.IntN(2) > 0 {
				fls[i].Proc = &resolve.Rank{Exit: &resolve.Exit{T: m}}
			}
		}
		var want []*resolve.Failure
		for _, a := range fls {
			if !slices.ContainsFunc(fls, func(b *resolve.Failure) bool { return precedes(b, a) }) {
				want = append(want, a)
			}
		}
		if len(want) == 0 {
			want = fls[:1]
		}
		if got := earliest(fls); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %d of %d failures are earliest, want %d", seed, len(got), len(fls), len(want))
		}
	}
}
