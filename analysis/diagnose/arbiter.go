// Package diagnose adds up the facts of a run: mechanisms propose themselves, the arbiter finds out which proposals the
// others explain, and what is left is the verdict, with its chain, timeline, states and advice.
package diagnose

import (
	"slices"
	"sort"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/knowledge"
)

// lateDetection is how long after a node's death its scheduler may report it: SLURM's SlurmdTimeout is 300 s by default,
// sites raise it; what failed before that is not the dead node's doing.
const lateDetection = 900.0

// teardown is how long after a scheduler's ending processes still print because of it, in seconds: SLURM's KillWait (30 s
// by default, sites raise it) and what handlers do meanwhile. What comes later belongs to another run.
const teardown = 120.0

// decision is what the arbiter leaves standing.
type decision struct {
	winners   []*mechanism.Proposal
	proposals []*mechanism.Proposal
	// by maps a dropped proposal to one that explains it.
	by map[*mechanism.Proposal]*mechanism.Proposal
}

// arbitrate asks every mechanism and drops what others explain. It knows classes, times and positions, no mechanism.
func arbitrate(s *mechanism.Scene, all []mechanism.Mechanism) decision {
	d := decision{by: map[*mechanism.Proposal]*mechanism.Proposal{}}
	for _, m := range all {
		p := m.Propose(s)
		if p == nil {
			continue
		}
		p.Reporter()
		p.Explains = append(p.Explains, m.Explains...)
		p.AtHome, p.ByEnd = m.AtHome, m.ByEnd
		if !p.Settled {
			p.Needs = append(p.Needs, m.Needs...)
		}
		d.proposals = append(d.proposals, p)
	}
	a := &arbiter{s, map[*mechanism.Proposal]bool{}}
	n := len(d.proposals)
	direct, leads := make([][]bool, n), make([][]bool, n)
	for i, q := range d.proposals {
		direct[i], leads[i] = make([]bool, n), make([]bool, n)
		for j, p := range d.proposals {
			direct[i][j] = i != j && a.explains(q, p) && !a.explains(p, q)
			leads[i][j] = direct[i][j]
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				leads[i][j] = leads[i][j] || leads[i][k] && leads[k][j]
			}
		}
	}
	// Proposals that explain each other in a circle stand or fall together: nothing says where the circle begins.
	for j, p := range d.proposals {
		for _, edges := range [][][]bool{direct, leads} { // who explains it outright, else who explains its circle
			for i, q := range d.proposals {
				if edges[i][j] && !leads[j][i] && (d.by[p] == nil || stronger(q, d.by[p])) {
					d.by[p] = q
				}
			}
			if d.by[p] != nil {
				break
			}
		}
	}
	for _, p := range d.proposals {
		if d.by[p] == nil {
			d.winners = append(d.winners, p)
		}
	}
	sort.SliceStable(d.winners, func(i, j int) bool { return stronger(d.winners[i], d.winners[j]) })
	return d
}

// stronger orders proposals for display and for ties: the earlier class of causality, then direct signs, then time.
func stronger(a, b *mechanism.Proposal) bool {
	if a.Class != b.Class {
		return a.Class < b.Class
	}
	if a.Direct != b.Direct {
		return a.Direct
	}
	if a.At.Valid && b.At.Valid && a.At.T != b.At.T {
		return a.At.T < b.At.T
	}
	return a.Base > b.Base
}

type arbiter struct {
	s *mechanism.Scene
	// late remembers which proposals rest on nothing but what was printed after the scheduler's ending.
	late map[*mechanism.Proposal]bool
}

// explains says that b is what one would see if a had happened.
func (x *arbiter) explains(a, b *mechanism.Proposal) bool {
	switch {
	case b.Class == mechanism.Nothing:
		return true // anything that failed explains why not nothing failed
	case a.Class == mechanism.Nothing, b.Class == mechanism.Environment:
		return a.Class == mechanism.Environment && b.Class == mechanism.Environment && stronger(a, b)
	case a.Class == mechanism.Degraded:
		return slices.Contains(a.Explains, b.Mechanism) && (b.Class == mechanism.Degraded || b.Class == mechanism.Ending)
	case b.Class == mechanism.Degraded:
		return a.Class != mechanism.Ending || !slices.Contains(b.Explains, a.Mechanism)
	case a.Class == mechanism.Symptom && b.Bare:
		return !x.afterEnd(a)
	case a.Bare && b.Class == mechanism.Symptom:
		return x.afterEnd(b)
	case a.Class == mechanism.Symptom:
		return b.Class == mechanism.Symptom && a.Base > b.Base
	case b.Class == mechanism.Symptom:
		return true
	case a.Class == mechanism.Environment:
		return !a.At.Valid || !b.At.Valid || b.At.T > a.At.T-lateDetection
	case a.Class == mechanism.Ending && b.Class == mechanism.Ending:
		return stronger(a, b)
	case a.Class == mechanism.Ending:
		return x.afterEnd(b)
	case b.Class == mechanism.Ending:
		return !x.afterEnd(a)
	case a.Class == mechanism.Local && b.Class == mechanism.Local:
		return x.localBeforeLocal(a, b)
	case a.Class == mechanism.Local && b.Class == mechanism.Collective:
		for _, fl := range a.Failures {
			if !mechanism.AfterHang(x.s, fl) {
				return true
			}
		}
		return len(a.Failures) == 0
	case a.Class == mechanism.Collective && b.Class == mechanism.Local:
		for _, fl := range b.Failures {
			if !mechanism.AfterHang(x.s, fl) {
				return false
			}
		}
		return true
	}
	return stronger(a, b)
}

func (x *arbiter) localBeforeLocal(a, b *mechanism.Proposal) bool {
	named := slices.Contains(a.Explains, b.Mechanism) && !(b.AtHome && otherNodes(a, b)) && !(a.ByEnd && b.Own && (apart(b, a) || above(b, a))) && !(onlyTold(a) && died(b) && apart(a, b))
	if slices.Contains(b.Explains, a.Mechanism) && !named {
		return false
	}
	if named && !(b.At.Valid && a.At.Valid && b.At.Add(60).Before(a.At)) {
		return true
	}
	if a.At.Before(b.At) {
		return true
	}
	if b.At.Before(a.At) {
		return false
	}
	// Unordered by time: on one rank, in one file, the earlier line.
	type place struct {
		rank int
		file string
	}
	first := map[place]int64{}
	for _, fa := range a.Failures {
		k := place{fa.Rank, fa.At.File}
		if off, seen := first[k]; fa.Rank != resolve.NoRank && (!seen || fa.At.Off < off) {
			first[k] = fa.At.Off
		}
	}
	for _, fb := range b.Failures {
		if off, seen := first[place{fb.Rank, fb.At.File}]; seen && off < fb.At.Off {
			return true
		}
	}
	return (b.Echo && !a.Echo || slices.Contains(b.Remote, a.Mechanism)) && apart(a, b)
}

// onlyTold says that all that speaks for a proposal are tries of ranks that are known, and did not end there.
func onlyTold(a *mechanism.Proposal) bool {
	return len(a.Failures) > 0 && !slices.ContainsFunc(a.Failures, func(fl *resolve.Failure) bool { return fl.Kind != resolve.KindLadder || fl.Rank == resolve.NoRank })
}

// died says that an exception of a rank speaks for a proposal.
func died(a *mechanism.Proposal) bool {
	return slices.ContainsFunc(a.Failures, func(fl *resolve.Failure) bool { return fl.Kind == resolve.KindException && fl.Rank != resolve.NoRank })
}

// otherNodes says that both name nodes, and none in common.
func otherNodes(a, b *mechanism.Proposal) bool {
	for _, n := range a.Nodes {
		if slices.Contains(b.Nodes, n) {
			return false
		}
	}
	return len(a.Nodes) > 0 && len(b.Nodes) > 0
}

// above says that a stands above b wherever both are told in one file.
func above(a, b *mechanism.Proposal) bool {
	first, met := map[string]int64{}, false
	for _, fa := range a.Failures {
		if off, seen := first[fa.At.File]; !seen || fa.At.Off < off {
			first[fa.At.File] = fa.At.Off
		}
	}
	for _, fb := range b.Failures {
		off, seen := first[fb.At.File]
		if seen && fb.At.Off < off {
			return false
		}
		met = met || seen
	}
	return met
}

// apart says that a befell a process that b says nothing of.
func apart(a, b *mechanism.Proposal) bool {
	type process struct {
		rank int
		file string
	}
	of := func(fl *resolve.Failure) process {
		if fl.Rank != resolve.NoRank {
			return process{rank: fl.Rank}
		}
		return process{resolve.NoRank, fl.At.File}
	}
	touched, files := map[process]bool{}, map[string]bool{}
	for _, fb := range b.Failures {
		touched[of(fb)], files[fb.At.File] = true, files[fb.At.File] || fb.Rank == resolve.NoRank
	}
	for _, fa := range a.Failures {
		if touched[of(fa)] || files[fa.At.File] {
			return false // what it printed below may be its own answer to what b tells
		}
	}
	return len(a.Failures) > 0
}

// afterEnd says that everything a proposal rests on was printed after the scheduler had begun to end the job; of a wait, that it began
// right after that.
func (x *arbiter) afterEnd(p *mechanism.Proposal) bool {
	if p.Class == mechanism.Collective {
		return slices.ContainsFunc(x.s.Facts.Ends, func(e *resolve.End) bool { return e.T.Before(p.At) && p.At.T < e.T.T+teardown })
	}
	if len(x.s.Facts.Ends) == 0 || len(p.Failures) == 0 {
		return false
	}
	late, known := x.late[p]
	if !known {
		late = x.allAfterEnd(p.Failures)
		x.late[p] = late
	}
	return late
}

func (x *arbiter) allAfterEnd(fls []*resolve.Failure) bool {
	ends := endsOf(x.s.Facts.Ends)
	return !slices.ContainsFunc(fls, func(fl *resolve.Failure) bool { return fl.Role != knowledge.ConsequenceRole && !ends.before(fl) })
}

// endings are the scheduler's endings, ordered for looking up.
type endings struct {
	first map[string]int64 // file → the first of them
	timed []*resolve.End   // by time
}

func endsOf(ends []*resolve.End) endings {
	out := endings{first: map[string]int64{}}
	for _, e := range ends {
		if off, seen := out.first[e.Line.File]; !seen || e.Line.Off < off {
			out.first[e.Line.File] = e.Line.Off
		}
		if e.T.Valid {
			out.timed = append(out.timed, e)
		}
	}
	sort.SliceStable(out.timed, func(i, j int) bool { return out.timed[i].T.T < out.timed[j].T.T })
	return out
}

// before says that the scheduler had begun to end the job when this was printed: an ending stands above it in its file,
// or in another file shortly before. There only stamps can tell, and SLURM's clock may be in another zone than the
// container's.
func (e endings) before(fl *resolve.Failure) bool {
	if off, ok := e.first[fl.At.File]; ok && off < fl.At.Off {
		return true
	}
	w := fl.When()
	if !w.Valid {
		return false
	}
	from := sort.Search(len(e.timed), func(i int) bool { return w.T < e.timed[i].T.T+teardown })
	for _, end := range e.timed[from:] {
		if w.T < end.T.T-2 {
			break
		}
		if end.Line.File != fl.At.File {
			return true
		}
	}
	return false
}
