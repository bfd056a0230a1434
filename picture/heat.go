package picture

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"faultline/incident"
)

// Bounds of a heat map: what a screen shows, and a report should hold.
const (
	mostRows    = 48
	mostColumns = 60
	mostApart   = 12 // rows of ranks that stand out, where the rest is folded
)

// What a heat map needs, and from when on a row stands out.
const (
	leastRows    = 2
	leastMoments = 4
	standsOut    = 0.15 // above the middle of all
	sparse       = 3    // of so many columns a row has at least one: else it is of single events
)

// row is one process, or several, with a number for each column.
type row struct {
	Who
	name  string
	ranks int
	root  bool
	cells []float64 // no number where nothing was printed
	level float64   // the median since the onset, or of the second half
}

// seconds is the unit of which more is slower; of all others less is.
const seconds = "s"

// grid is a quantity by process and column.
type grid struct {
	*quantity
	axis
	rows   []row
	waits  bool
	middle float64 // of the rows' levels
}

// Heat draws the quantity that tells most: the one by which those whom the verdict names take longest beside the rest or, where it names nobody,
// anyone. Nil where no quantity is known of two ranks at four moments.
func Heat(all Set, s *Scene) *incident.Heat {
	var best *grid
	most := math.Inf(-1)
	for _, q := range all.sorted() {
		if g, ok := gridOf(q, s); ok {
			if t := g.tells(); t > most {
				best, most = g, t
			}
		}
	}
	if best == nil {
		return nil
	}
	return best.draw(s)
}

func gridOf(q *quantity, s *Scene) (*grid, bool) {
	list := q.processes()
	if slices.ContainsFunc(list, func(x *series) bool { return x.Rank != Unknown }) { // what no rank is known of may repeat what another file has of one
		list = slices.DeleteFunc(list, func(x *series) bool { return x.Rank == Unknown })
	}
	slices.SortFunc(list, func(a, b *series) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.File, b.File)) })
	axis, ok := s.axisOf(mostColumns, func(yield func(Moment)) {
		for i := range list {
			for k := range list[i].points {
				yield(list[i].points[k].Moment)
			}
		}
	})
	if !ok {
		return nil, false
	}
	g := &grid{quantity: q, axis: axis, waits: s.Waiting(q.name)}
	for _, x := range list {
		r := row{Who: x.Who, name: x.name(), ranks: 1, root: s.root(x.Who), cells: g.cellsOf(x.points)}
		if filled(r.cells) >= max(leastMoments, g.columns/sparse) {
			r.level = g.now(r.cells)
			g.rows = append(g.rows, r)
		}
	}
	levels := make([]float64, len(g.rows))
	for i := range g.rows {
		levels[i] = g.rows[i].level
	}
	g.middle = median(levels)
	return g, len(g.rows) >= leastRows
}

func (g *grid) cellsOf(points []point) []float64 {
	by := make([][]float64, g.columns)
	for _, p := range points {
		c := g.column(g.at(p.Moment))
		by[c] = append(by[c], p.v)
	}
	out := make([]float64, g.columns)
	for i := range by {
		out[i] = median(by[i])
	}
	return out
}

func filled(cells []float64) (n int) {
	for _, v := range cells {
		if !math.IsNaN(v) {
			n++
		}
	}
	return n
}

// now is the middle of a row since the onset or, where there is none, of its later half.
func (g *grid) now(cells []float64) float64 {
	from := len(cells) / 2
	if g.Onset != nil {
		from = *g.Onset
	}
	known := func(v []float64) []float64 {
		return slices.DeleteFunc(slices.Clone(v), math.IsNaN)
	}
	if later := known(cells[from:]); len(later) > 0 {
		return median(later)
	}
	return median(known(cells))
}

// excess is how much slower a row is than the middle of all, as a share of that; 0 where it does not stand out.
func (g *grid) excess(r *row) float64 {
	by := (r.level - g.middle) / g.middle
	if g.unit != seconds {
		by = (g.middle - r.level) / r.level
	}
	if g.middle <= 0 || by < standsOut {
		return 0
	}
	return by
}

// tells is by how much those stand out of whom the report speaks. Rates and scores count less than any time.
func (g *grid) tells() float64 {
	most, named := 0.0, slices.ContainsFunc(g.rows, func(r row) bool { return r.root })
	for i := range g.rows {
		if r := &g.rows[i]; r.root || !named && !g.waits {
			most = max(most, g.excess(r))
		}
	}
	if g.unit != seconds {
		return min(most, 1) * 1e-9
	}
	return most * g.middle
}

func (g *grid) draw(s *Scene) *incident.Heat {
	files := map[string]bool{}
	for i := range g.rows {
		files[g.rows[i].File] = true
	}
	g.relative(s)
	h := &incident.Heat{Span: g.Span, Quantity: g.name, Unit: g.unit, Less: g.unit != seconds}
	h.Span.Files, h.Span.File = sources(files)
	for _, r := range g.folded() {
		h.Rows = append(h.Rows, incident.HeatRow{Name: r.name, Node: r.Node, Ranks: r.ranks, Root: r.root, Cells: stated(r.cells)})
	}
	return h
}

// folded are no more rows than a picture has. Where there are too many, those stand first that the verdict names or that stand out, and the
// rest is put together by node or, of too many nodes, by neighbouring ranks.
func (g *grid) folded() []row {
	if len(g.rows) <= mostRows {
		return g.rows
	}
	order := slices.Clone(g.rows)
	slices.SortStableFunc(order, func(a, b row) int {
		if a.root != b.root {
			return map[bool]int{true: -1, false: 1}[a.root]
		}
		return cmp.Compare(g.excess(&b), g.excess(&a))
	})
	n := 0
	for n < mostApart && (order[n].root || g.excess(&order[n]) > 0) {
		n++
	}
	apart, rest := order[:n], order[n:]
	byRank := func(a, b row) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.File, b.File)) }
	slices.SortFunc(apart, byRank)
	slices.SortFunc(rest, byRank)
	return append(apart, g.grouped(rest, mostRows-n)...)
}

// grouped puts rows together into no more than so many.
func (g *grid) grouped(rest []row, most int) (out []row) {
	nodes := map[string][]row{}
	var names []string
	for _, r := range rest {
		if nodes[r.Node] == nil {
			names = append(names, r.Node)
		}
		nodes[r.Node] = append(nodes[r.Node], r)
	}
	if len(names) <= most && nodes[""] == nil {
		for _, n := range names {
			out = append(out, g.together(nodes[n], n))
		}
		return out
	}
	size := (len(rest) + most - 1) / most
	for part := range slices.Chunk(rest, size) {
		name := fmt.Sprintf("ranks %d–%d", part[0].Rank, part[len(part)-1].Rank)
		if part[0].Rank == Unknown {
			name = fmt.Sprintf("%s and %d more", part[0].name, len(part)-1)
		}
		out = append(out, g.together(part, name))
	}
	return out
}

// together is the middle of several rows.
func (g *grid) together(rows []row, name string) row {
	if len(rows) == 1 {
		return rows[0]
	}
	out := row{name: name, cells: make([]float64, g.columns)}
	out.Node = rows[0].Node
	for c := range out.cells {
		var v []float64
		for i := range rows {
			if x := rows[i].cells[c]; !math.IsNaN(x) {
				v = append(v, x)
			}
		}
		out.cells[c] = median(v)
	}
	for i := range rows {
		out.ranks += rows[i].ranks
		out.root = out.root || rows[i].root
		if rows[i].Node != out.Node {
			out.Node = ""
		}
	}
	return out
}
