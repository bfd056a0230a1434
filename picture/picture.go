// Package picture makes of the numbers of many ranks at many moments the bounded pictures that a report holds: ranks are folded into groups,
// moments into columns. Who stands out stays a row of its own. It knows nothing of logs, and its pictures do not depend on the order in which
// numbers come.
package picture

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"faultline/incident"
)

// Unknown is a rank or a step that nothing states.
const Unknown = -1

// Who is a process whose numbers are drawn.
type Who struct {
	Rank int    // Unknown where nothing proves it
	Node string // "" where nothing proves it
	File string
}

func (w Who) name() string {
	if w.Rank == Unknown {
		return w.File
	}
	return "rank " + strconv.Itoa(w.Rank)
}

// Moment is when a number is of: a step, or a time in seconds.
type Moment struct {
	Step int64   // Unknown
	T    float64 // no number: unknown
}

// At is a moment of which the step is known, the time, both or neither.
func At(step int64, t float64, timed bool) Moment {
	if !timed {
		t = math.NaN()
	}
	return Moment{max(step, Unknown), t}
}

// quantity is what several processes print of themselves.
type quantity struct {
	name, unit string
	order      int
	series     map[Who]*series
}

// series is what one file says of one process. Of many points one in stride is kept.
type series struct {
	Who
	points    []point
	n, stride int
}

type point struct {
	Moment
	v float64
}

// mostPoints of one series are kept: more than it has columns.
const mostPoints = 4 * mostColumns

func (s *series) add(p point) {
	if s.n%s.stride == 0 {
		s.points = append(s.points, p)
	}
	s.n++
	if len(s.points) < mostPoints {
		return
	}
	for i := range mostPoints / 2 {
		s.points[i] = s.points[2*i]
	}
	s.points = s.points[:mostPoints/2]
	s.stride *= 2
}

// Set are quantities by their names.
type Set map[string]*quantity

// Add adds a number that one process prints of a quantity, in the order of its file. Of quantities that tell as much, that of the lowest order is
// drawn; a unit other than "s" is of a rate or a score.
func (s Set) Add(name, unit string, order int, w Who, m Moment, v float64) {
	if w.Rank == Unknown && w.Node == "" {
		return
	}
	key := name + "\x00" + unit
	q := s[key]
	if q == nil {
		q = &quantity{name, unit, order, map[Who]*series{}}
		s[key] = q
	}
	if q.series[w] == nil {
		q.series[w] = &series{Who: w, stride: 1}
	}
	q.order = min(q.order, order)
	q.series[w].add(point{m, v})
}

// processes are the longest series of each.
func (q *quantity) processes() []*series {
	by := map[string]*series{}
	for _, x := range q.series {
		old := by[x.name()]
		if old == nil || cmp.Or(-cmp.Compare(x.n, old.n), cmp.Compare(x.File, old.File), cmp.Compare(x.Node, old.Node)) < 0 {
			by[x.name()] = x
		}
	}
	return slices.Collect(maps.Values(by))
}

// sorted are the quantities in an order of their own.
func (s Set) sorted() []*quantity {
	return slices.SortedFunc(maps.Values(s), func(a, b *quantity) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name), cmp.Compare(a.unit, b.unit))
	})
}

// Scene is what is known beside the numbers.
type Scene struct {
	Root  incident.Root
	Onset *Moment                       // since when the steps take longer; nil where they do not
	Time  func(seconds float64) *string // a moment as the report writes it
	// Waiting says of a quantity by its name that its time may be spent on others: who has most of it is not slow.
	Waiting func(name string) bool
}

// root says that the verdict names a process, or its node where it names no rank.
func (s *Scene) root(w Who) bool {
	if len(s.Root.Ranks) > 0 {
		return slices.Contains(s.Root.Ranks, w.Rank)
	}
	return w.Node != "" && slices.Contains(s.Root.Nodes, w.Node)
}

// axis is what lies from left to right, in columns.
type axis struct {
	incident.Span
	columns int
	steps   bool
}

func (a *axis) at(m Moment) float64 {
	if a.steps {
		return float64(m.Step)
	}
	return m.T
}

// axisOf divides what all moments span into columns, no more than there are different moments; ok is false where they have no scale in common.
func (s *Scene) axisOf(most int, each func(yield func(Moment))) (a axis, ok bool) {
	a.steps = true
	timed := true
	each(func(m Moment) { a.steps, timed = a.steps && m.Step >= 0, timed && !math.IsNaN(m.T) })
	if !a.steps && !timed {
		return a, false
	}
	a.From, a.To = math.Inf(1), math.Inf(-1)
	seen := map[float64]bool{}
	each(func(m Moment) {
		x := a.at(m)
		a.From, a.To = min(a.From, x), max(a.To, x)
		if len(seen) < most {
			seen[x] = true
		}
	})
	a.columns = len(seen)
	if a.columns < 2 {
		return a, false
	}
	if s.Onset != nil {
		if x := a.at(*s.Onset); x > a.From && x <= a.To && (!a.steps || s.Onset.Step >= 0) {
			a.Onset, a.Since = new(a.column(x)), &x
		}
	}
	a.Axis = incident.AxisStep
	return a, true
}

func (a *axis) column(x float64) int {
	return min(int((x-a.From)/(a.To-a.From)*float64(a.columns)), a.columns-1)
}

// relative makes seconds count from the left end.
func (a *axis) relative(s *Scene) {
	if a.steps {
		return
	}
	a.Axis, a.Start = incident.AxisSeconds, s.Time(a.From)
	if a.Since != nil {
		*a.Since = math.Round(*a.Since - a.From)
	}
	a.From, a.To = 0, math.Round(a.To-a.From)
}

// median is the middle value, the lower of two; no number of none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	return s[(len(s)-1)/2]
}

// stated leaves out what is no number, and rounds to the digits that a picture can show.
func stated(v []float64) []*float64 {
	out := make([]*float64, len(v))
	for i, x := range v {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
			if err == nil {
				out[i] = &r
			}
		}
	}
	return out
}

// sources are how many files numbers are from, and the first by name.
func sources(files map[string]bool) (n int, first string) {
	for f := range files {
		if first == "" || f < first {
			first = f
		}
	}
	return len(files), first
}
