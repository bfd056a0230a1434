package resolve

import (
	"cmp"
	"maps"
	"slices"

	"faultline/analysis/robust"
	"faultline/analysis/slow"
	"faultline/analysis/worker"
)

// Phased is what the phases of a step took before a slowdown and since.
type Phased struct {
	slow.Growth
	Across bool // the values are of all ranks
	quotes map[string][2]worker.At
	ranks  map[int]map[string]float64 // by how much the phases of each rank grew that prints its own
}

// Quotes are lines that state the time of a phase before and since.
func (p *Phased) Quotes(phase string) (was, is worker.At) {
	q := p.quotes[phase]
	return q[0], q[1]
}

// leastReports are needed on either side; leastRanks that print their own are set side by side.
const (
	leastReports = 2
	leastRanks   = 3
)

// Phased compares the phases on both sides of a slowdown, as the file of its course prints them, or each rank of itself. ok is false where
// none are printed.
func (f *Facts) Phased(d *Slowdown) (out Phased, ok bool) {
	list, out := f.phasesIn(d)
	if !out.Across {
		if all, by := f.phasesOfRanks(); len(by.ranks) >= leastRanks {
			list, out = all, by
		}
	}
	if len(list) == 0 {
		return out, false
	}
	out.Growth = slow.Decide(list, d.Base, d.Now, out.Across)
	return out, true
}

// phasesOfRanks sets side by side what ranks print of themselves, each around the slowdown of its own course.
func (f *Facts) phasesOfRanks() (list []slow.Phase, out Phased) {
	out.quotes, out.ranks = map[string][2]worker.At{}, map[int]map[string]float64{}
	at := map[string]int{}
	for _, c := range f.Courses {
		d, ok := c.Slowdown()
		if !ok || c.Rank == NoRank || out.ranks[c.Rank] != nil {
			continue
		}
		own, x := f.phasesIn(&d)
		if len(own) == 0 {
			continue
		}
		grew := map[string]float64{}
		for _, p := range own {
			grew[p.Name] = p.Grew()
			i, seen := at[p.Name]
			if !seen {
				at[p.Name] = len(list)
				list = append(list, slow.Phase{Name: p.Name, MinWas: p.MaxWas, MinIs: p.MaxIs, MaxWas: p.MaxWas, MaxIs: p.MaxIs})
				out.quotes[p.Name] = x.quotes[p.Name]
				continue
			}
			q := &list[i]
			if p.MaxIs > q.MaxIs {
				out.quotes[p.Name] = x.quotes[p.Name]
			}
			q.MinWas, q.MinIs, q.MaxWas, q.MaxIs = min(q.MinWas, p.MaxWas), min(q.MinIs, p.MaxIs), max(q.MaxWas, p.MaxWas), max(q.MaxIs, p.MaxIs)
		}
		out.ranks[c.Rank] = grew
	}
	out.Across = f.Job.WorldSize > 0 && len(out.ranks) >= f.Job.WorldSize
	return list, out
}

// phasesIn are the phases that the file of a course prints on both sides of its slowdown.
func (f *Facts) phasesIn(d *Slowdown) (list []slow.Phase, out Phased) {
	first, own := d.Course.Timed()[0].At.Off, 0
	sides := f.sided(d.Course, func(r *worker.PhaseReport) int {
		before := r.Off < d.Last.At.Off // a report may stand above the step that it is of, or below
		if since := r.Off > d.Recent.At.Off && r.Off > d.Onset.At.Off; r.Off < first || !before && !since {
			return -1
		}
		if !r.Across {
			own++
		}
		return sideOf(!before)
	})
	list, out.quotes = comparedPhases(sides[0], sides[1])
	out.Across = len(list) > 0 && own == 0
	return list, out
}

// phasesOf are the phases that the file of a course prints after its first steps.
func (f *Facts) phasesOf(c *Course) map[string][]phaseAt {
	first := c.Timed()[0].At.Off
	return f.sided(c, func(r *worker.PhaseReport) int { return -sideOf(r.Off < first) })[0]
}

// sideOf is the second of two sides where something holds.
func sideOf(second bool) int {
	if second {
		return 1
	}
	return 0
}

// sided are the phases that the file of a course prints, by the side that a report is of: 0 or 1, -1 for neither.
func (f *Facts) sided(c *Course, side func(*worker.PhaseReport) int) (sides [2]map[string][]phaseAt) {
	sides = [2]map[string][]phaseAt{{}, {}}
	reports := worker.Within(f.Obs.Phases, c.File)
	for i := range reports {
		r := &reports[i]
		if r.Loop != c.Loop && !r.Across {
			continue
		}
		at := side(r)
		for k := range r.Times {
			if t := (phaseAt{&r.Times[k], r.At}); at >= 0 {
				if t.t.Place.Len > 0 {
					t.at.Pos = t.t.Place
				}
				sides[at][t.t.Name] = append(sides[at][t.t.Name], t)
			}
		}
	}
	return sides
}

// comparedPhases are those of which enough is known on both sides, with lines that state their medians.
func comparedPhases(before, since map[string][]phaseAt) (list []slow.Phase, quotes map[string][2]worker.At) {
	quotes = map[string][2]worker.At{}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		was, is := before[name], since[name]
		if min(len(was), len(is)) >= leastReports {
			a, b := middleOf(was), middleOf(is)
			quotes[name] = [2]worker.At{a.at, b.at}
			list = append(list, slow.Phase{Name: name, MinWas: fastest(was), MinIs: fastest(is), MaxWas: a.t.Max, MaxIs: b.t.Max})
		}
	}
	return list, quotes
}

// phaseAt is one value with the line that states it.
type phaseAt struct {
	t  *worker.PhaseTime
	at worker.At
}

func middleOf(list []phaseAt) phaseAt {
	slices.SortStableFunc(list, func(a, b phaseAt) int { return cmp.Compare(a.t.Max, b.t.Max) })
	return list[(len(list)-1)/2]
}

func fastest(list []phaseAt) float64 {
	v := make([]float64, len(list))
	for i, x := range list {
		v[i] = x.t.Min
	}
	return robust.Median(v)
}

// GrownRanks are the ranks whose own time of a phase grew by most of what the slowest rank's did, where times by rank are printed; with a
// line of each that states it.
func (f *Facts) GrownRanks(d *Slowdown, x *Phased, p *slow.Phase) (ranks []int, at []worker.At) {
	for rank, grew := range x.ranks {
		if grew[p.Name] >= mostOfIt*p.Grew() {
			ranks = append(ranks, rank)
		}
	}
	if len(x.ranks) > 0 {
		slices.Sort(ranks)
		_, is := x.Quotes(p.Name)
		return ranks, []worker.At{is}
	}
	return f.tabledRanks(d, p)
}

// tabledRanks reads the same from tables with all ranks.
func (f *Facts) tabledRanks(d *Slowdown, p *slow.Phase) (ranks []int, at []worker.At) {
	type sides struct {
		was, is []float64
		last    worker.At
	}
	by := map[int]*sides{}
	for i := range f.Obs.RankTimes {
		x := &f.Obs.RankTimes[i]
		if x.File != d.Course.File || x.What != p.Name {
			continue
		}
		s := by[x.Rank]
		if s == nil {
			s = &sides{}
			by[x.Rank] = s
		}
		switch {
		case x.Off < d.Last.At.Off:
			s.was = append(s.was, x.Value)
		case x.Off > d.Recent.At.Off:
			s.is, s.last = append(s.is, x.Value), x.At
		}
	}
	for rank, s := range by {
		if len(s.was) >= leastReports && len(s.is) >= leastReports && robust.Median(s.is)-robust.Median(s.was) >= mostOfIt*p.Grew() {
			ranks = append(ranks, rank)
		}
	}
	slices.Sort(ranks)
	for _, r := range ranks {
		at = append(at, by[r].last)
	}
	return ranks, at
}

// mostOfIt is what share of the slowest rank's growth a rank must have to be as slow.
const mostOfIt = 0.5
