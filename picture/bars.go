package picture

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"faultline/incident"
)

// Part is what a phase spends its time on.
type Part int

// Parts of a step, as they lie upon each other.
const (
	Compute Part = iota
	Communication
	Data
	Save
	Optimizer
	Other
)

var partNames = [...]string{"compute", "exposed communication", "data", "checkpoint", "optimizer", "other"}

// passes are what compute is called where communication is not timed apart.
const passes = "forward and backward"

// Phase is how long one phase took.
type Phase struct {
	Name    string
	Part    Part
	Seconds float64
	// Holds is true where the phase may hold others that are printed as well.
	Holds bool
}

// Report is what one process says of one step.
type Report struct {
	Who
	Moment
	All    bool    // it is of all ranks
	Step   float64 // what the whole step took; 0: not stated
	Phases []Phase
}

// Bounds of bars.
const (
	mostBars  = 24
	leastBars = 2
	overfull  = 1.02 // of a step: what adds up to more holds something twice
	worthIt   = 0.01 // of a step, to be drawn as the rest of it
)

// Bars draws what steps are made of: of all ranks where reports tell that, else of the first rank that the verdict names and of the middle of
// the rest. Nothing is drawn where not two parts are known at two moments.
func Bars(reports []Report, s *Scene) (out []incident.Bars) {
	of := func(want func(*Report) bool) []Report {
		return slices.DeleteFunc(slices.Clone(reports), func(r Report) bool { return !want(&r) })
	}
	if all := of(func(r *Report) bool { return r.All }); len(all) > 0 {
		return s.bars(nil, all, "all ranks")
	}
	ranked := slices.ContainsFunc(reports, func(r Report) bool { return r.Rank != Unknown })
	root := Unknown
	for i := range reports {
		if r := &reports[i]; r.Rank != Unknown && s.root(r.Who) && (root == Unknown || r.Rank < root) {
			root = r.Rank
		}
	}
	if root != Unknown {
		own := of(func(r *Report) bool { return r.Rank == root })
		out = s.bars(out, own, own[0].name())
	}
	rest := of(func(r *Report) bool { return (r.Rank != Unknown) == ranked && !s.root(r.Who) })
	names := map[string]bool{}
	for i := range rest {
		names[rest[i].name()] = true
	}
	switch what := map[bool]string{true: "ranks", false: "files"}[ranked]; {
	case len(names) == 1:
		out = s.bars(out, rest, rest[0].name())
	case len(out) > 0 && len(names) > 1:
		out = s.bars(out, rest, fmt.Sprintf("the median of the %d other ranks", len(names)))
	case len(names) > 1:
		out = s.bars(out, rest, fmt.Sprintf("the median of %d %s", len(names), what))
	}
	return out
}

// bar is one column.
type bar struct {
	phases map[Phase][]float64 // by the phase without its time
	steps  []float64
}

func (s *Scene) bars(out []incident.Bars, reports []Report, who string) []incident.Bars {
	axis, ok := s.axisOf(mostBars, func(yield func(Moment)) {
		for i := range reports {
			yield(reports[i].Moment)
		}
	})
	if !ok {
		return out
	}
	list := make([]bar, axis.columns)
	files, writers := map[string]bool{}, map[string]bool{}
	for i := range reports {
		r := &reports[i]
		files[r.File], writers[r.name()] = true, true
		list[axis.column(axis.at(r.Moment))].add(r)
	}
	parts := make([][]float64, len(partNames))
	for p := range parts {
		parts[p] = slices.Repeat([]float64{math.NaN()}, axis.columns)
	}
	steps := 0.0 // in a column
	if axis.steps {
		steps = (axis.To - axis.From) / float64(axis.columns)
	}
	for c := range list {
		for p, v := range list[c].parts(steps * float64(len(writers))) {
			parts[p][c] = v
		}
	}
	axis.relative(s)
	b := incident.Bars{Span: axis.Span, Who: who}
	b.Span.Files, b.Span.File = sources(files)
	known := 0
	for p, v := range parts {
		n := filled(v)
		if n == 0 {
			continue
		}
		if Part(p) != Other && n >= leastBars {
			known++
		}
		name := partNames[p]
		if Part(p) == Compute && filled(parts[Communication]) == 0 { // what is not timed apart may be in it
			name = passes
		}
		b.Parts = append(b.Parts, incident.BarsPart{Name: name, Seconds: stated(v)})
	}
	if known < 2 {
		return out
	}
	return append(out, b)
}

func (b *bar) add(r *Report) {
	if b.phases == nil {
		b.phases = map[Phase][]float64{}
	}
	for _, p := range r.Phases {
		v := p.Seconds
		p.Seconds = 0
		b.phases[p] = append(b.phases[p], v)
	}
	if r.Step > 0 {
		b.steps = append(b.steps, r.Step)
	}
}

// parts are what the steps of a column are made of: the middle of each phase, summed up. A save is of many steps: its time is divided among
// them, where their number is known.
func (b *bar) parts(steps float64) map[Part]float64 {
	out := map[Part]float64{}
	sum, holds := 0.0, false
	for _, p := range slices.SortedFunc(maps.Keys(b.phases), func(a, b Phase) int {
		return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Name, b.Name))
	}) {
		v := median(b.phases[p])
		if p.Part == Save {
			if steps < 1 {
				continue
			}
			v = 0
			for _, x := range slices.Sorted(slices.Values(b.phases[p])) {
				v += x
			}
			v /= steps
		}
		out[p.Part] += v
		sum += v
		holds = holds || p.Holds
	}
	step := median(b.steps)
	if math.IsNaN(step) {
		return out
	}
	if held := out[Communication]; holds && sum > overfull*step && out[Compute] >= held {
		out[Compute] -= held
		sum -= held
	}
	if rest := step - sum; rest >= worthIt*step {
		out[Other] = rest
	}
	return out
}
