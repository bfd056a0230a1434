package worker

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"faultline/analysis/line"
	"faultline/knowledge"
)

func TestACollectionIsThinnedAlikeWhateverTheOrderOfItsFiles(t *testing.T) {
	file := func(i, n int) *Observations {
		o := &Observations{Tails: []Tail{{File: fmt.Sprint(i)}}}
		for k := range n {
			o.Progress = append(o.Progress, Progress{At: At{Pos: Pos{File: fmt.Sprint(i), Off: int64(k)}, By: &line.NoOne}, N: int64(k + 1), Loss: fmt.Sprint(k * 31 % 100)})
		}
		return o
	}
	sizes := []int{400, 3, 90, 1000, 50, 2, 70}
	for name, c := range map[string]struct{ limit, least int }{
		"room enough":                           {100, 20},
		"less room than first and last lines":   {4, 19}, // two at least and three at most of each
		"hardly more than first and last lines": {22, 19},
	} {
		var whole *Observations
		for _, order := range [][]int{{0, 1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1, 0}, {1, 6, 3, 0, 5, 2, 4}} {
			all := NewCollection(c.limit)
			for _, i := range order {
				all.Add(file(i, sizes[i]))
			}
			got := all.Observations()
			if whole == nil {
				whole = got
			}
			if !reflect.DeepEqual(got, whole) {
				t.Errorf("%s: order %v makes a difference", name, order)
			}
		}
		longest := int64(0)
		for i := range whole.Progress {
			longest = max(longest, whole.Progress[i].N)
		}
		if n := len(whole.Progress); n > max(c.limit, c.least) || n < c.least || longest != 1000 {
			t.Errorf("%s: %d kept, up to line %d", name, n, longest)
		}
	}
}

func TestACollectionLosesNothingThatMergeKeeps(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 40 {
		var parts []*Observations
		for range 1 + rnd.IntN(5) {
			parts = append(parts, someObservations(rnd))
		}
		want := Merge(parts...)
		c := NewCollection(1 << 16)
		for _, i := range rnd.Perm(len(parts)) {
			c.Add(parts[i])
		}
		if got := c.Observations(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, expected %+v", got, want)
		}
	}
}

func TestMergeSortsWhatAFileHoldsOutOfOrder(t *testing.T) {
	at := func(off int64) Sign {
		return Sign{At: At{Pos: Pos{File: "f", Off: off}}, ID: knowledge.ID(fmt.Sprint(off))}
	}
	o := &Observations{Signs: []Sign{at(5), at(2), at(9), at(2), at(3)}}
	var got []knowledge.ID
	for _, s := range Merge(o).Signs {
		got = append(got, s.ID)
	}
	if want := []knowledge.ID{"2", "3", "5", "9"}; !slices.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
	if o.Signs[0].Off != 5 {
		t.Error("the argument of Merge was changed")
	}
}
