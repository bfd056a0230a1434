package moved

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"faultline/analysis/robust"
)

// Limits of what sets a member apart.
const (
	apartLeast  = 3    // members to compare
	apartSigmas = 6.0  // of the others' spread
	apartShare  = 0.15 // of what is usual
	apartMost   = 0.75 // share of the members that agree
	apartDated  = 0.8  // share of them that were read twice
	// apartUnknown: of a quantity of unknown meaning, one in so many may differ. What differs by nothing but noise is none here.
	apartUnknown = 3
)

// Apart says which members differ from all others of their kind: in how a value changed between two readings (Before and After hold one each),
// or, where most were read once (After alone), in the value.
func Apart(all []*Track) (out []Quantity) {
	groups := map[string][]*Track{}
	for _, t := range all {
		key := t.name() + "\x00" + keyNames(t.Series)
		groups[key] = append(groups[key], t)
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		list := groups[key]
		twice := slices.DeleteFunc(slices.Clone(list), func(t *Track) bool { return len(t.Before) == 0 })
		dated := float64(len(twice)) >= apartDated*float64(len(list))
		if dated {
			list = twice
		}
		if len(list) < apartLeast || !setApart(list, dated) {
			continue
		}
		if q, ok := place(list, dated || len(list) > apartLeast); ok && !q.All {
			q.Apart = !dated
			out = append(out, q)
		}
	}
	slices.SortStableFunc(out, func(a, b Quantity) int { return cmp.Compare(math.Round(10*b.weight()), math.Round(10*a.weight())) })
	return out
}

// setApart judges each member by its peers.
func setApart(list []*Track, dated bool) bool {
	for _, t := range list {
		t.is = t.After[len(t.After)-1].V
		if math.IsNaN(t.is) || dated && math.IsNaN(t.Before[0].V) {
			return spelledApart(list, dated)
		}
	}
	x := make([]float64, len(list))
	counts := true
	for i, t := range list {
		if x[i] = t.is; dated {
			t.was = t.Before[0].V
			x[i] -= t.was
		}
		counts = counts && t.is == math.Trunc(t.is) && t.is >= 0
	}
	middle := robust.Median(x)
	if middle == 0 && counts && !dated {
		return false // how old a count of errors is, one reading does not tell
	}
	least := apartSigmas * robust.Spread(x, middle)
	low, high := math.Inf(1), math.Inf(-1)
	for i, t := range list {
		usual := math.Abs(middle)
		if dated {
			usual = max(math.Abs(t.is), math.Abs(t.was))
		}
		t.moved = math.Abs(x[i]-middle) > max(least, apartShare*usual)
		if t.even = !t.moved; t.even {
			low, high = min(low, x[i]), max(high, x[i])
		}
	}
	for i, t := range list {
		if gap := max(low-x[i], x[i]-high); t.moved && gap <= high-low {
			return false // they shade into one another
		}
		if !dated {
			t.was = middle
		}
	}
	return true
}

// spelledApart is setApart of values that are no numbers: the members that do not say what most say, or whose values changed where most did not.
func spelledApart(list []*Track, dated bool) bool {
	of := func(t *Track) string { return t.After[len(t.After)-1].At.Text }
	if dated {
		of = func(t *Track) string {
			if t.Before[0].At.Text == t.After[len(t.After)-1].At.Text {
				return ""
			}
			return "changed"
		}
	}
	n := map[string]int{}
	for _, t := range list {
		n[of(t)]++
	}
	usual := slices.MaxFunc(slices.Sorted(maps.Keys(n)), func(a, b string) int { return n[a] - n[b] })
	if float64(n[usual]) < apartMost*float64(len(list)) || dated && usual != "" {
		return false
	}
	for _, t := range list {
		t.even, t.was, t.is = of(t) == usual, 0, 1
		if t.moved = !t.even; t.even {
			t.is = 0
		}
	}
	return true
}
