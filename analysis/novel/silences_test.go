package novel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"faultline/knowledge/severity"
)

// lineup are candidates of a job of so many ranks: lines that almost all print, and lines of few. Only some have a time.
func lineup(rng *rand.Rand, n, ranks int) []*candidate {
	w := &World{}
	for r := range ranks {
		w.Ranks = append(w.Ranks, r)
	}
	var all []*candidate
	for i := range n {
		c := &candidate{world: w, rank: map[int]bool{}, side: behind, time: moment{float64(rng.IntN(50)), rng.IntN(8) > 0}}
		c.Text, c.Level = fmt.Sprint("line ", i), severity.Failed
		few := 1 + rng.IntN(w.fewRanks()+1)
		if rng.IntN(2) == 0 {
			for len(c.rank) < few {
				c.rank[rng.IntN(ranks)] = true
			}
		} else {
			for r := range ranks {
				c.rank[r] = true
			}
			for range few {
				delete(c.rank, rng.IntN(ranks))
			}
		}
		all = append(all, c)
	}
	return all
}

// pairwise is silences as it is meant: each line beside each other one.
func pairwise(all []*candidate) {
	for _, c := range all {
		if c.Silent = c.silent(); len(c.Silent) == 0 {
			continue
		}
		for _, o := range all {
			if o == c || !o.trouble() || len(o.rank) > len(c.Silent) || !slices.ContainsFunc(c.Silent, func(r int) bool { return o.rank[r] }) {
				continue
			}
			if !o.time.known || !c.time.known || o.time.seconds < c.time.seconds {
				c.Silent = nil
				break
			}
		}
	}
}

func TestSilencesAreThoseOfEachPairOfLines(t *testing.T) {
	silent, heard := 0, 0
	for seed := range uint64(300) {
		got := lineup(rand.New(rand.NewPCG(seed, 1)), 12, 8+int(seed%40))
		want := lineup(rand.New(rand.NewPCG(seed, 1)), 12, 8+int(seed%40))
		silences(got)
		pairwise(want)
		for i, c := range got {
			if !slices.Equal(c.Silent, want[i].Silent) {
				t.Fatalf("seed %d, %s: silent %v, want %v", seed, c.Text, c.Silent, want[i].Silent)
			}
			if len(c.Silent) > 0 {
				silent++
			}
			if len(c.Silent) < len(c.silent()) {
				heard++
			}
		}
	}
	if silent < 100 || heard < 100 {
		t.Errorf("of %d lines ranks are silent, of %d they only seem so: the test shows little", silent, heard)
	}
}

// BenchmarkSilences shows that twice as many lines take twice as long, where no line settles the matter early.
func BenchmarkSilences(b *testing.B) {
	for _, n := range []int{1000, 2000, 4000} {
		all := lineup(rand.New(rand.NewPCG(1, 2)), n, 64)
		for _, c := range all {
			c.time = moment{1, true}
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				silences(all)
			}
		})
	}
}
