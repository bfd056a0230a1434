package mechanism

import (
	"fmt"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// namedByPyTorch uses PyTorch's own statements of who did not come: the desync report and monitored barriers. Their ranks
// are ranks inside the group; they are taken as global only in a group of the whole world.
func namedByPyTorch(s *Scene) *Proposal {
	f := s.Facts
	var absent []int
	var ev []incident.Evidence
	var at resolve.Moment
	why := ""
	var rivals []string
	unplaced := 0 // ranks that are named inside a group which is not proven to be the whole job
	whole := func(reporter int, who worker.At) bool {
		r, ok := f.RankOf(who)
		return ok && r == reporter
	}
	for _, d := range f.Desyncs {
		if len(d.Lagging) == 0 {
			continue
		}
		ev = append(ev, QuoteAt(d.At, nil))
		at, why = f.At(d.At), "PyTorch's own desync report names the ranks that never joined"
		if !(d.Group.Known && (d.Group.GUID == "0" || d.Group.Desc == "default_pg") || whole(d.Reporter, d.At)) {
			unplaced += len(d.Lagging)
			continue
		}
		for _, r := range d.Lagging {
			absent = appendNew(absent, r)
		}
	}
	for i := range f.Barriers {
		b := &f.Barriers[i]
		if len(b.Absent) == 0 {
			continue
		}
		switch b.Kind {
		case "monitored":
			why = "rank 0 of the monitored barrier names the ranks that did not pass"
			if !whole(b.Rank, b.At) && f.Job.WorldSize == 0 {
				unplaced += len(b.Absent)
				ev, at = append(ev, QuoteAt(b.At, nil)), f.At(b.At)
				continue
			}
		case "jax":
			why = "JAX's coordination service names the tasks that did not come to the barrier"
		case "horovod":
			if overtaken(f, i) {
				continue
			}
			why = "Horovod's stall inspector names the ranks that others waited for"
			if n := len(b.Absent); n > 1 && 2*n >= f.Job.WorldSize {
				unplaced += n
				rivals = []string{"collective-mismatch"} // each may wait for the other's tensors
				ev, at = append(ev, QuoteAt(b.At, nil)), f.At(b.At)
				continue
			}
		default:
			continue
		}
		for _, r := range b.Absent {
			absent = appendNew(absent, r)
		}
		ev, at = append(ev, QuoteAt(b.At, nil)), f.At(b.At)
	}
	if len(absent) == 0 && unplaced > 0 {
		if len(ev) > 3 {
			ev = ev[:3]
		}
		return &Proposal{Mechanism: "rank-stalled", Class: Collective, Scope: "group", Rivals: rivals, At: at, Base: 0.85, Why: why, For: []incident.Finding{finding(why, ev...)},
			Summary: fmt.Sprintf("%s did not come to a collective that others waited in; which ranks of the job they are is not proven", plural(unplaced, "member of a group", "members of a group"))}
	}
	if len(absent) == 0 {
		return nil
	}
	p := &Proposal{Mechanism: "rank-stalled", Class: Collective, Ranks: absent, Nodes: nodesOf(f, absent), Scope: scopeOf(f, absent), At: at,
		Base: 0.9, Summary: fmt.Sprintf("%s did not come to a collective that the others waited in", where(f, absent)), Why: why}
	if len(ev) > 3 {
		ev = ev[:3]
	}
	p.For = append(p.For, finding(why, ev...))
	return p
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
