package moved

import (
	"cmp"
	"math"
	"path"
	"slices"

	"faultline/analysis/robust"
	"faultline/analysis/slow"
)

// Limits of a count that outgrows the others.
const (
	outgrownTimes = 5.0  // as much as is usual among the counts of its node
	outgrownBy    = 20.0 // at least
	outgrownOf    = 3    // counts to compare
)

// Outgrown says which counts grew far more than the other counts of their node between two readings: the longer a job runs the more of anything there
// is, by about one factor. Of a count that nobody knows to be a reason, its growth tells nothing.
func Outgrown(all []*Track) (out []Quantity) {
	by := map[string][]*Track{}
	var nodes []string
	for _, t := range all {
		if len(t.Before) == 0 || len(t.After) == 0 {
			continue
		}
		t.was, t.is = t.Before[0].V, t.After[len(t.After)-1].V
		if counted(t.was) && counted(t.is) && t.is > t.was {
			if by[t.Node] == nil {
				nodes = append(nodes, t.Node)
			}
			by[t.Node] = append(by[t.Node], t)
		}
	}
	slices.Sort(nodes)
	for _, node := range nodes {
		list := by[node]
		x := make([]float64, len(list))
		for i, t := range list {
			x[i] = math.Log(t.is / max(t.was, 1))
		}
		usual := robust.Median(x)
		for i, t := range list {
			class, role := slow.Measure(t.name())
			known := class != "" && role == slow.Cause
			if len(list) < outgrownOf || !known || t.is-t.was < outgrownBy || x[i]-usual < math.Log(outgrownTimes) {
				continue
			}
			q := Quantity{What: t.name(), Class: class, Was: t.was, Is: t.is, Members: 1, Member: cmp.Or(words(t.Keys, t.Node), node, path.Base(t.File))}
			if t.Ours {
				q.Nodes = []string{node}
			}
			q.quote(t, nil)
			out = append(out, q)
		}
	}
	slices.SortStableFunc(out, func(a, b Quantity) int { return cmp.Compare(b.Is/max(b.Was, 1), a.Is/max(a.Was, 1)) })
	return out
}

// counted says that a value may be a count.
func counted(v float64) bool { return v >= 0 && v == math.Trunc(v) }
