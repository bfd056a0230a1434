package numbers

import (
	"cmp"
	"slices"
)

// Point is a row with its file.
type Point struct {
	File string
	Row
}

// Origin is where numbers became none first.
type Origin struct {
	What  string
	First Point
	// Beside are rows of other ranks for the same step, which are still sound.
	Beside []Point
	// Later are the first rows without a number of the ranks that followed.
	Later []Point
	Ranks int // that were compared
}

// Split is where values that had been equal on all ranks of a group no longer are.
type Split struct {
	What, Name, Group string
	Equal             Point // a row of the last step in which they were
	Odd               []Point
	Rest              Point // of those who still agree; with as many others as odd ones there is none
	Ranks             int
	// Axis and Members are the group within which values differ, where that is known; Axis is Unplaced for all ranks together.
	Axis    int
	Members []int
}

type series struct{ what, name, group string }

// bySeries puts points of known ranks together by what they are, then by step; of two rows for one step and rank the last counts.
func bySeries(points []Point) map[series]map[int64]map[int]Point {
	out := map[series]map[int64]map[int]Point{}
	for _, p := range points {
		if p.Rank == None {
			continue
		}
		k := series{p.What, p.Name, p.Group}
		if out[k] == nil {
			out[k] = map[int64]map[int]Point{}
		}
		if out[k][p.Step] == nil {
			out[k][p.Step] = map[int]Point{}
		}
		out[k][p.Step][p.Rank] = p
	}
	return out
}

func sorted(m map[series]map[int64]map[int]Point) []series {
	var out []series
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b series) int {
		return cmp.Or(cmp.Compare(a.what, b.what), cmp.Compare(a.name, b.name), cmp.Compare(a.group, b.group))
	})
	return out
}

func keys[K cmp.Ordered, V any](m map[K]V) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// leastRanks is how many must be compared before one of them is the odd one.
const leastRanks = 3

// FirstNaN is the one rank whose own loss or gradient was no number in a step in which those of all others still were, at least two; false
// where it began on several at once, or the numbers of that step are not there.
func FirstNaN(points []Point) (Origin, bool) {
	all := bySeries(points)
	var best Origin
	found := false
	for _, k := range sorted(all) {
		if k.what == Checksum {
			continue
		}
		o, ok := firstNaN(all[k])
		if ok && (!found || o.First.Step < best.First.Step) {
			best, found = o, true
		}
	}
	if !found {
		return Origin{}, false
	}
	// If another series shows numbers that were none before, the origin is not known.
	for _, p := range points {
		sooner := p.Step < best.First.Step || p.Step == best.First.Step && p.Rank != best.First.Rank
		if p.NaN && sooner && !reduced(all[series{p.What, p.Name, p.Group}][p.Step]) {
			return Origin{}, false
		}
	}
	return best, true
}

// reduced says that a value is none on all ranks in one step: it is of all of them, as a global norm is, and follows whoever was first.
func reduced(at map[int]Point) bool {
	for _, p := range at {
		if !p.NaN {
			return false
		}
	}
	return len(at) > 1
}

func firstNaN(steps map[int64]map[int]Point) (o Origin, ok bool) {
	followed := map[int]bool{}
	for _, step := range keys(steps) {
		at := steps[step]
		for _, id := range keys(at) {
			p := at[id]
			switch {
			case !p.NaN || followed[id]:
			case ok && p.Step > o.First.Step:
				followed[id] = true
				o.Later = append(o.Later, p)
			case ok:
				return o, false // two in one step
			default:
				o.First, ok = p, true
				followed[id] = true
				o.What, o.Ranks = p.What, len(at)
				for _, other := range keys(at) {
					if q := at[other]; other != id && !q.NaN {
						o.Beside = append(o.Beside, q)
					}
				}
			}
		}
	}
	return o, ok && len(o.Beside)+1 >= leastRanks && len(o.Beside)+1 == o.Ranks && wasWith(steps, o)
}

// wasWith says that nobody who has numbers in the steps before is missing in this one.
func wasWith(steps map[int64]map[int]Point, o Origin) bool {
	for step, at := range steps {
		if step < o.First.Step && len(at) > o.Ranks {
			return false
		}
	}
	return true
}

// Splits are the series that were equal on all ranks and then were not. Losses and norms must have been equal for three steps: most are a
// rank's own.
func Splits(points []Point) []Split {
	all := bySeries(points)
	var out []Split
	for _, k := range sorted(all) {
		need := 3
		if k.what == Checksum {
			need = 1
		}
		if s, ok := split(all[k], need); ok {
			s.What, s.Name, s.Group, s.Axis = k.what, k.name, k.group, Unplaced
			out = append(out, s)
		}
	}
	return out
}

// Groups are the ranks that differ along one axis only, as the columns place them: of each axis those groups that have two ranks at least,
// and each place once.
func Groups(points []Point) (out [Axes][][]int) {
	at := map[int]Position{}
	for _, p := range points {
		if p.Rank == None || p.Pos == nowhere {
			continue
		}
		if old, ok := at[p.Rank]; ok && old != p.Pos {
			return [Axes][][]int{} // a rank in two places: the columns are of something else
		}
		at[p.Rank] = p.Pos
	}
	for axis := range Axes {
		groups, taken := map[Position][]int{}, map[Position]map[int32]bool{}
		for _, id := range keys(at) {
			rest := at[id]
			place := rest[axis]
			if place == Unplaced {
				continue
			}
			rest[axis] = Unplaced
			if taken[rest] == nil {
				taken[rest] = map[int32]bool{}
			}
			if taken[rest][place] {
				groups = nil // two ranks in one place: an axis is not stated
				break
			}
			taken[rest][place] = true
			groups[rest] = append(groups[rest], id)
		}
		for _, g := range groups {
			if len(g) > 1 {
				out[axis] = append(out[axis], g)
			}
		}
		slices.SortFunc(out[axis], slices.Compare)
	}
	return out
}

// Within are the splits inside groups of ranks, by axis, of series that were not equal on all ranks: those of the earliest step of each
// series and axis; what follows later in other groups is left out.
func Within(points []Point, groups [Axes][][]int) []Split {
	all := bySeries(points)
	whole := map[series]bool{}
	for _, s := range Splits(points) {
		whole[series{s.What, s.Name, s.Group}] = true
	}
	var out []Split
	for _, k := range sorted(all) {
		if whole[k] {
			continue
		}
		need := 3
		if k.what == Checksum {
			need = 1
		}
		for axis, list := range groups {
			var first []Split
			for _, members := range list {
				s, ok := split(among(all[k], members), need)
				if !ok || len(first) > 0 && s.Odd[0].Step > first[0].Odd[0].Step {
					continue
				}
				if len(first) > 0 && s.Odd[0].Step < first[0].Odd[0].Step {
					first = nil
				}
				s.What, s.Name, s.Group, s.Axis, s.Members = k.what, k.name, k.group, axis, members
				first = append(first, s)
			}
			out = append(out, first...)
		}
	}
	return out
}

func among(steps map[int64]map[int]Point, members []int) map[int64]map[int]Point {
	out := map[int64]map[int]Point{}
	for step, at := range steps {
		for _, id := range members {
			if p, ok := at[id]; ok {
				if out[step] == nil {
					out[step] = map[int]Point{}
				}
				out[step][id] = p
			}
		}
	}
	return out
}

func split(steps map[int64]map[int]Point, need int) (s Split, ok bool) {
	equal, ranks := 0, 0
	for _, step := range keys(steps) {
		at := steps[step]
		ranks = max(ranks, len(at))
		if len(at) < 2 || len(at) < ranks {
			continue
		}
		values := map[string][]Point{}
		for _, id := range keys(at) {
			values[at[id].Text] = append(values[at[id].Text], at[id])
		}
		switch {
		case len(values) == 1 && !ok:
			equal++
			s.Equal = at[keys(at)[0]]
		case len(values) == 1:
		case equal < need:
			return s, false // they were never equal
		default:
			if ok {
				continue
			}
			ok = true
			s.Ranks = len(at)
			most := ""
			for _, v := range keys(values) {
				if len(values[v]) > len(values[most]) {
					most = v
				}
			}
			if 2*len(values[most]) <= len(at) {
				for _, id := range keys(at) {
					s.Odd = append(s.Odd, at[id])
				}
				continue
			}
			s.Rest = values[most][0]
			for _, id := range keys(at) {
				if at[id].Text != most {
					s.Odd = append(s.Odd, at[id])
				}
			}
		}
	}
	return s, ok
}

// One says that exactly one rank differs from two others at least that still agree, and does so to the end.
func (s *Split) One() bool { return len(s.Odd) == 1 && s.Ranks >= leastRanks && s.Rest.File != "" }
