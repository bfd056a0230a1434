package mechanism

import (
	"fmt"
	"slices"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// namedByPyTorch uses PyTorch's own statements of who did not come: the desync report and monitored barriers. Their ranks
// are ranks inside the group; they are taken as global only in a group of the whole world.
func namedByPyTorch(s *Scene) *Proposal {
	f := s.Facts
	var absent []int
	var ev []incident.Evidence
	var at resolve.Moment
	why := ""
	var rivals []knowledge.Slug
	unplaced := 0    // ranks that are named inside a group which is not proven to be the whole job
	never := false   // nothing tells that those who did not come were ever there
	var firsts []int // ranks of which rank 0 was the only one to say that they did not come, and asked nobody else
	var placed []int // of a monitored barrier, which tells of each rank as it gives it up and then of all
	whole := func(reporter int, who worker.At) bool {
		r, ok := f.RankOf(who)
		return ok && r == reporter
	}
	var members []int // that desync reports name in groups of which nothing says who is in them
	larger := largerThanHalf(f)
	for _, d := range f.Desyncs {
		if len(d.Lagging) == 0 {
			continue
		}
		ev = append(ev, QuoteAt(d.At, nil))
		at, why = f.At(d.At), "PyTorch's own desync report lists the ranks that never joined"
		if !(d.Group.Known && (d.Group.GUID == "0" || d.Group.Desc == "default_pg") || !d.Group.Known && larger || whole(d.Reporter, d.At)) {
			for _, r := range d.Lagging { // each member that waited reports the same ones
				if !slices.Contains(members, r) {
					members, unplaced = append(members, r), unplaced+1
				}
			}
			continue
		}
		for _, r := range d.Lagging {
			absent = appendNew(absent, r)
		}
	}
	for i := range f.Barriers {
		b := &f.Barriers[i]
		named := b.Absent
		if len(named) == 0 {
			continue
		}
		switch b.Kind {
		case worker.BarrierMonitored:
			why = "rank 0's monitored barrier lists the ranks that did not pass"
			var reached []incident.Evidence
			if named, reached = notReached(f, b); len(reached) > 0 {
				why += "; one of them itself reports arriving"
				ev = append(ev, reached[0])
			}
			most := f.Job.WorldSize > 2 && 2*len(named) >= f.Job.WorldSize
			if most {
				rivals = []knowledge.Slug{knowledge.LoneWaiter} // the one that came may be the one that went astray
			}
			if firstAsked(f, named) {
				rivals, firsts = knowledge.HavingNature(knowledge.Astray), appendNew(firsts, named[0])
				ev, at = append(ev, QuoteAt(b.At, nil)), f.At(b.At)
				continue
			}
			if most || len(named) == 0 || within(f, b) || !whole(b.Rank, b.At) && f.Job.WorldSize == 0 {
				was := len(placed)
				for _, r := range named {
					placed = appendNew(placed, r)
				}
				unplaced = max(1, unplaced+len(placed)-was)
				ev, at = append(ev, QuoteAt(b.At, nil)), f.At(b.At)
				continue
			}
		case worker.BarrierJAX:
			if end := f.Job.ExitOK; end != nil && end.File == b.File && end.Off < b.Off {
				continue // the program had ended, and this is the barrier of its shutdown
			}
			why = "JAX's coordination service lists the tasks that did not reach the barrier"
			if missing := int(b.World - b.Joined); b.Joined >= 0 && b.World > 2 && (missing > len(named) || 2*missing >= int(b.World)) {
				// It names only some of them, or all but a few: then those few may be the ones that went astray.
				why = "JAX's coordination service counts the tasks that did not reach the barrier, and lists some"
				unplaced += missing
				if 2*missing >= int(b.World) {
					rivals = []knowledge.Slug{knowledge.LoneWaiter}
				}
				ev, at = append(ev, QuoteAt(b.At, nil)), f.At(b.At)
				continue
			}
			if !f.Job.Training && !slices.ContainsFunc(named, func(r int) bool { return f.Rank(r) != nil && f.Rank(r).Lines > 0 }) {
				never = true
			}
		case worker.BarrierHorovod:
			if overtaken(f, i) {
				continue
			}
			why = "Horovod's stall inspector lists the ranks that others were waiting for"
			if n := len(b.Absent); n > 1 && 2*n >= f.Job.WorldSize {
				unplaced += n
				rivals = []knowledge.Slug{knowledge.CollectiveMismatch} // each may wait for the other's tensors
				ev, at = append(ev, QuoteAt(b.At, nil)), f.At(b.At)
				continue
			}
		default:
			continue
		}
		for _, r := range named {
			absent = appendNew(absent, r)
		}
		ev, at = append(ev, QuoteAt(b.At, nil)), f.At(b.At)
	}
	if len(absent) == 0 && unplaced == 0 && len(firsts) > 0 {
		why = "rank 0's monitored barrier checks ranks one by one and reports the first that doesn't respond; no other rank says it arrived"
		return &Proposal{Mechanism: knowledge.RankStalled, Class: Collective, Scope: "group", Rivals: rivals, At: at, Base: 0.85, Why: why, For: []incident.Finding{finding(why, ev...)},
			Summary: fmt.Sprintf("%s, the first one checked, did not reach a monitored barrier; no line shows whether any other rank did", rankWords(firsts))}
	}
	if len(absent) == 0 && unplaced > 0 {
		if len(ev) > 3 {
			ev = ev[:3]
		}
		return &Proposal{Mechanism: knowledge.RankStalled, Class: Collective, Scope: "group", Rivals: rivals, At: at, Base: 0.85, Why: why, For: []incident.Finding{finding(why, ev...)},
			Summary: fmt.Sprintf("%s never joined a collective that others waited in; their global ranks are unknown", plural(unplaced, "member of a group", "members of a group"))}
	}
	if len(absent) == 0 {
		return nil
	}
	p := &Proposal{Mechanism: knowledge.RankStalled, Class: Collective, Ranks: absent, Nodes: nodesOf(f, absent), Scope: scopeOf(f, absent), At: at,
		Base: 0.9, Summary: fmt.Sprintf("%s never joined a collective that the other ranks waited in", where(f, absent)), Why: why}
	if never {
		p.Rivals, p.Base = []knowledge.Slug{knowledge.InitUnreachable}, 0.85
		p.Why += "; no line shows whether they ever started"
	}
	if len(ev) > 3 {
		ev = ev[:3]
	}
	p.For = append(p.For, finding(why, ev...))
	return p
}

// largerThanHalf says that desync reports without a group's name number members beyond half of the job's ranks: no group is so large but
// that of all.
func largerThanHalf(f *resolve.Facts) bool {
	for _, d := range f.Desyncs {
		if f.Job.WorldSize > 1 && !d.Group.Known && d.Reporter < f.Job.WorldSize && 2*d.Reporter >= f.Job.WorldSize {
			return true
		}
	}
	return false
}

// notReached are the ranks that a monitored barrier names without those that say themselves that they came to it: rank 0 names
// whoever it cannot hear, and one that gave up before and closed its connections is among them.
func notReached(f *resolve.Facts, b *worker.Barrier) (named []int, reached []incident.Evidence) {
	for _, r := range b.Absent {
		i := slices.IndexFunc(f.Barriers, func(o worker.Barrier) bool { return o.Kind == worker.BarrierVictim && o.Rank == r })
		if i < 0 {
			named = append(named, r)
			continue
		}
		reached = append(reached, QuoteAt(f.Barriers[i].At, nil))
	}
	return named, reached
}

// firstAsked says that a monitored barrier names the first rank that it asks, and nobody else says that he came: then rank 0 may have been
// the only one there.
func firstAsked(f *resolve.Facts, named []int) bool {
	return len(named) == 1 && named[0] == 1 && !slices.ContainsFunc(f.Barriers, func(o worker.Barrier) bool { return o.Kind == worker.BarrierVictim })
}

// within says that a monitored barrier is one of a group smaller than the job: a member's rank there is not its own.
func within(f *resolve.Facts, b *worker.Barrier) bool {
	other := func(o *worker.Barrier) bool {
		r, ok := f.RankOf(o.At)
		return ok && o.Rank >= 0 && r != o.Rank
	}
	if other(b) {
		return true
	}
	for i := range f.Barriers {
		if o := &f.Barriers[i]; o.Kind == worker.BarrierVictim && other(o) {
			return true
		}
	}
	return false
}

// overtaken says that a report of a stall was followed by another one or by progress in the same file: then it tells of an
// earlier moment, which may have passed.
func overtaken(f *resolve.Facts, i int) bool {
	b := &f.Barriers[i]
	for j := range f.Barriers {
		if o := &f.Barriers[j]; o.Kind == b.Kind && o.File == b.File && o.Off > b.Off {
			return true
		}
	}
	for j := range f.Obs.Progress {
		if p := &f.Obs.Progress[j]; p.File == b.File && p.Off > b.Off {
			return true
		}
	}
	return false
}
