package resolve

import (
	"cmp"
	"slices"

	"faultline/analysis/slow"
	"faultline/analysis/worker"
)

// Voice is one process that prints the phases of its own steps, around the slowdown of its course.
type Voice struct {
	Rank   int // NoRank where nothing says it
	File   string
	Node   string // "" where nothing says it
	Slowed Slowdown
	Phases []slow.Phase
	Quotes map[string][2]worker.At
}

// grew is by how much a phase grew, as a share of the step's growth.
func (v *Voice) grew(name string) float64 {
	i := slices.IndexFunc(v.Phases, func(p slow.Phase) bool { return p.Name == name })
	if i < 0 {
		return 0
	}
	return v.Phases[i].Grew() / (v.Slowed.Now - v.Slowed.Base)
}

// top is the phase that grew most.
func (v *Voice) top() (name string) {
	best := 0.0
	for _, p := range v.Phases {
		if g := v.grew(p.Name); g > best {
			name, best = p.Name, g
		}
	}
	return name
}

// Late are the processes that hold the others up: a phase of their own grew, and on all others grew another, in which they wait.
type Late struct {
	Phase, Waited   string
	Voices, Waiters []Voice
}

const (
	ownGrowth  = 0.5 // of the step's growth: the phase that grew,
	restGrowth = 0.2 // and the one in which the others wait
)

// Late tells them by shape: the two phases may be called anything. ok is false where all are alike, or where it stays open who waits for whom.
func (f *Facts) Late() (l Late, ok bool) {
	all := f.Voices()
	if len(all) < leastRanks {
		return l, false
	}
	return f.lateAmong(all)
}

func (f *Facts) lateAmong(all []Voice) (l Late, ok bool) {
	groups := map[string][]Voice{}
	for _, v := range all {
		groups[v.top()] = append(groups[v.top()], v)
	}
	if len(groups) != 2 {
		return l, false
	}
	var names []string
	for name := range groups {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(groups[a]), len(groups[b])), cmp.Compare(a, b))
	})
	if data := slices.IndexFunc(names, ofData); data == 1 && !ofData(names[0]) { // nobody waits for others there
		slices.Reverse(names)
	}
	if names[0] == "" {
		slices.Reverse(names)
	}
	l = Late{names[0], names[1], groups[names[0]], groups[names[1]]}
	// Where no word says which of the two is waiting, it is the later part of a step on most processes. The other way round both signs
	// would have to deceive.
	told := ofData(l.Phase) || l.Waited == "" || 2*len(l.Voices) < len(all) && f.precedes(l.Voices[0].File, l.Phase, l.Waited)
	if slow.ClassOf(l.Phase) == slow.Communication || !told {
		return l, false
	}
	if l.Waited == "" { // in no phase that is printed
		return l, !slices.ContainsFunc(l.Voices, func(v Voice) bool { return v.grew(l.Phase) < ownGrowth }) &&
			!slices.ContainsFunc(l.Waiters, func(v Voice) bool { return v.grew(l.Phase) > restGrowth })
	}
	apart := func(list []Voice, own, other string) bool {
		return !slices.ContainsFunc(list, func(v Voice) bool { return v.grew(own) < ownGrowth || v.grew(other) > restGrowth })
	}
	return l, apart(l.Voices, l.Phase, l.Waited) && apart(l.Waiters, l.Waited, l.Phase)
}

// precedes says that a file prints one phase of a step in front of another.
func (f *Facts) precedes(file, one, other string) bool {
	for i := range f.Obs.Phases {
		r := &f.Obs.Phases[i]
		if r.File != file {
			continue
		}
		at := func(name string) int {
			return slices.IndexFunc(r.Times, func(t worker.PhaseTime) bool { return t.Name == name })
		}
		if a, b := at(one), at(other); a >= 0 && b >= 0 {
			return a < b
		}
	}
	return false
}

func ofData(phase string) bool { return slow.ClassOf(phase) == slow.Data }

// voices are all of which a course slowed down, one of each rank or, where none is known, file.
func (f *Facts) Voices() (all []Voice) {
	for _, c := range f.Courses {
		d, ok := c.Slowdown()
		v, first := f.voice(c, all)
		if !ok || !first {
			continue
		}
		list, x := f.phasesIn(&d)
		if v.Slowed, v.Phases, v.Quotes = d, list, x.quotes; len(list) > 0 && !x.Across {
			all = append(all, v)
		}
	}
	return all
}

// voice is the writer of a course; first is false where it is among others already.
func (f *Facts) voice(c *Course, all []Voice) (v Voice, first bool) {
	same := func(v Voice) bool { return v.Rank == c.Rank && (c.Rank != NoRank || v.File == c.File) }
	return Voice{Rank: c.Rank, File: c.File, Node: f.ident.fileNode[c.File]}, !slices.ContainsFunc(all, same)
}

// lateAlways is how much longer than the quickest process one must take for a phase, as a share of the step, to be late all the time.
const lateAlways = 0.15

// LateAlways is Late of a job that never was faster: the processes are compared with the quickest of them, phase by phase.
func (f *Facts) LateAlways() (l Late, ok bool) {
	best := map[string]float64{}
	var all []Voice
	for _, c := range f.Courses {
		v, first := f.voice(c, all)
		if len(c.Timed()) < gradualPoints || !first {
			continue
		}
		v.Quotes = map[string][2]worker.At{}
		v.Slowed.Course, v.Slowed.Now = c, medianStep(c)
		for name, list := range f.phasesOf(c) {
			x := middleOf(list)
			v.Phases = append(v.Phases, slow.Phase{Name: name, MaxIs: x.t.Max})
			v.Quotes[name] = [2]worker.At{x.at, x.at}
			if was, seen := best[name]; !seen || x.t.Max < was {
				best[name] = x.t.Max
			}
		}
		if len(v.Phases) > 1 {
			slices.SortFunc(v.Phases, func(a, b slow.Phase) int { return cmp.Compare(a.Name, b.Name) })
			all = append(all, v)
		}
	}
	if len(all) < leastRanks {
		return l, false
	}
	base := 0.0
	for _, v := range best {
		base += v
	}
	for i := range all {
		v := &all[i]
		v.Slowed.Base = base
		for k := range v.Phases {
			v.Phases[k].MaxWas = best[v.Phases[k].Name]
		}
		if v.Slowed.Now-base < lateAlways*v.Slowed.Now {
			return l, false
		}
	}
	l, ok = f.lateAmong(all)
	return l, ok && l.Waited != ""
}
