package resolve

import (
	"cmp"
	"slices"
	"strconv"

	"faultline/analysis/worker"
)

// Ungraded are the parameters that one rank's DDP names in one way.
type Ungraded struct {
	// Rank is global, or NoRank where nothing proves it; Inside is the rank inside the module's group, −1 where the line has none.
	Rank, Inside int
	Kind         string
	Names        []string // sorted; their numbers where no line names them
	Named        bool
	More         bool
	At           worker.At
}

// Reduced is what DDP's reducers say of parameters, one entry for each rank and kind: by name where a line names them, else by number.
// Of several lines of a rank the last counts, as it tells of the step at which it ended.
func (f *Facts) Reduced() []Ungraded {
	type key struct {
		rank, inside int
		kind         string
	}
	last := map[key]Ungraded{}
	for i := range f.Obs.Reductions {
		x := &f.Obs.Reductions[i]
		u := Ungraded{Rank: NoRank, Inside: x.Rank, Kind: x.Kind, Names: slices.Clone(x.Names), Named: len(x.Names) > 0, More: x.More, At: x.At}
		if id, ok := f.RankOf(x.At); ok {
			u.Rank = id
		}
		if !u.Named {
			for _, n := range x.Indices {
				u.Names = append(u.Names, strconv.Itoa(n))
			}
		} else {
			slices.Sort(u.Names)
			u.Names = slices.Compact(u.Names)
		}
		k := key{u.Rank, u.Inside, u.Kind}
		if was, ok := last[k]; ok && was.Named && !u.Named {
			continue // the numbers stand below the names
		}
		last[k] = u
	}
	out := make([]Ungraded, 0, len(last))
	for _, u := range last {
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b Ungraded) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Inside, b.Inside))
	})
	return out
}
