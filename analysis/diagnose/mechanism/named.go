package mechanism

import (
	"fmt"
	"slices"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// rollCall is who did not come, by the words of those who asked.
type rollCall struct {
	absent []int // by their ranks in the job
	// By their ranks in groups that are not proven to be the whole job: of desync reports, and of monitored barriers.
	members, placed []int
	counted         int   // of whom only the number is told
	firsts          []int // asked first, and nobody else was asked
	never           bool  // nothing tells that those who did not come were ever there
	rivals          []knowledge.Slug
	why             string
	at              resolve.Moment
	ev              []incident.Evidence
}

// namedByPyTorch uses what those say who know who did not come: PyTorch's desync report and monitored barriers, and their likes in JAX and Horovod.
// PyTorch's ranks are ranks inside the group; they are taken as global only in a group of the whole world.
func namedByPyTorch(s *Scene) *Proposal {
	f := s.Facts
	c := &rollCall{}
	c.desynced(f)
	for i := range f.Barriers {
		b := &f.Barriers[i]
		if len(b.Absent) == 0 {
			continue
		}
		switch b.Kind {
		case worker.BarrierMonitored:
			c.monitored(f, b)
		case worker.BarrierJAX:
			c.jax(f, b)
		case worker.BarrierHorovod:
			if !overtaken(f, i) {
				c.horovod(f, b)
			}
		}
	}
	if c.why == "" {
		return nil
	}
	return c.proposal(f)
}

// proposal names those who are known by their ranks in the job, else those asked first, else how many they are.
func (c *rollCall) proposal(f *resolve.Facts) *Proposal {
	p := &Proposal{Mechanism: knowledge.RankStalled, Class: Collective, Scope: "group", Rivals: c.rivals, At: c.at, Base: 0.85, Why: c.why}
	inside := len(c.members) + len(c.placed) + c.counted
	switch {
	case len(c.absent) > 0:
		p.Ranks, p.Nodes, p.Scope = c.absent, nodesOf(f, c.absent), scopeOf(f, c.absent)
		p.Rivals, p.Base = nil, 0.9
		p.Summary = fmt.Sprintf("%s never joined a collective that the other ranks waited in", where(f, c.absent))
		if c.never {
			p.Rivals, p.Base = []knowledge.Slug{knowledge.InitUnreachable}, 0.85
			p.Why += "; no line shows whether they ever started"
		}
	case len(c.firsts) > 0 && inside == 0:
		c.why = "rank 0's monitored barrier checks ranks one by one and reports the first that doesn't respond; no other rank says it arrived"
		p.Why = c.why
		p.Summary = fmt.Sprintf("%s, the first one checked, did not reach a monitored barrier; no line shows whether any other rank did", rankWords(c.firsts))
	case len(c.placed) == 1 && inside == 1:
		p.Named = rankWords(c.placed) + incident.OfItsGroup
		p.Summary = fmt.Sprintf("%s of a process group never joined a collective that others waited in", rankWords(c.placed))
	default:
		// A barrier whose every absentee says that it arrived lacked one all the same.
		p.Summary = fmt.Sprintf("%s never joined a collective that others waited in; their global ranks are unknown", plural(max(1, inside), "member of a group", "members of a group"))
	}
	p.For = []incident.Finding{finding(c.why, head(c.ev, 3)...)}
	return p
}

// quote takes a statement in, and what it is.
func (c *rollCall) quote(f *resolve.Facts, at worker.At, why string) {
	c.ev, c.at, c.why = append(c.ev, QuoteAt(at, nil)), f.At(at), why
}

// desynced takes the desync reports in. Each member that waited reports the same ranks.
func (c *rollCall) desynced(f *resolve.Facts) {
	larger := largerThanHalf(f)
	for _, d := range f.Desyncs {
		if len(d.Lagging) == 0 {
			continue
		}
		c.quote(f, d.At, "PyTorch's own desync report lists the ranks that never joined")
		ofAll := larger
		if d.Group.Known {
			ofAll = d.Group.GUID == "0" || d.Group.Desc == "default_pg"
		}
		if ofAll || byGlobalRank(f, d.Reporter, d.At) {
			c.absent = appendNew(c.absent, d.Lagging...)
		} else {
			c.members = appendNew(c.members, d.Lagging...)
		}
	}
}

// byGlobalRank says that the rank which a reporter has in its group is its rank in the job.
func byGlobalRank(f *resolve.Facts, reporter int, at worker.At) bool {
	r, ok := f.RankOf(at)
	return ok && r == reporter
}

// monitored takes a monitored barrier in: it tells of each rank as it gives it up, and then of all.
func (c *rollCall) monitored(f *resolve.Facts, b *worker.Barrier) {
	why := "rank 0's monitored barrier lists the ranks that did not pass"
	named, reached := notReached(f, b)
	if len(reached) > 0 {
		why += "; one of them itself reports arriving"
		c.ev = append(c.ev, reached[0])
	}
	c.quote(f, b.At, why)
	most := f.Job.WorldSize > 2 && 2*len(named) >= f.Job.WorldSize
	if most {
		c.rivals = []knowledge.Slug{knowledge.LoneWaiter} // the one that came may be the one that went astray
	}
	ofAll := f.Job.WorldSize > 0 || byGlobalRank(f, b.Rank, b.At)
	switch {
	case firstAsked(f, named):
		c.rivals, c.firsts = knowledge.HavingNature(knowledge.Astray), appendNew(c.firsts, named...)
	case most || !ofAll || within(f, b):
		c.placed = appendNew(c.placed, named...)
	default:
		c.absent = appendNew(c.absent, named...)
	}
}

// jax takes a barrier of JAX's coordination service in. It may name only some of those who did not come.
func (c *rollCall) jax(f *resolve.Facts, b *worker.Barrier) {
	if end := f.Job.ExitOK; end != nil && end.Above(b.Pos) {
		return // the program had ended, and this is the barrier of its shutdown
	}
	missing, most := 0, false
	if b.Joined >= 0 && b.World > 2 {
		missing = int(b.World - b.Joined)
		most = 2*missing >= int(b.World)
	}
	if most || missing > len(b.Absent) {
		c.quote(f, b.At, "JAX's coordination service counts the tasks that did not reach the barrier, and lists some")
		c.counted += missing
		if most {
			c.rivals = []knowledge.Slug{knowledge.LoneWaiter} // the few that came may be the ones that went astray
		}
		return
	}
	c.quote(f, b.At, "JAX's coordination service lists the tasks that did not reach the barrier")
	c.absent = appendNew(c.absent, b.Absent...)
	wrote := func(id int) bool { r := f.Rank(id); return r != nil && r.Lines > 0 }
	c.never = c.never || !f.Job.Training && !slices.ContainsFunc(b.Absent, wrote)
}

// horovod takes a report of Horovod's stall inspector in.
func (c *rollCall) horovod(f *resolve.Facts, b *worker.Barrier) {
	c.quote(f, b.At, "Horovod's stall inspector lists the ranks that others were waiting for")
	if n := len(b.Absent); n > 1 && int64(2*n) >= max(int64(f.Job.WorldSize), b.Joined+int64(n)) {
		c.counted += n
		c.rivals = []knowledge.Slug{knowledge.CollectiveMismatch} // each may wait for the other's tensors
		return
	}
	c.absent = appendNew(c.absent, b.Absent...)
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
		if o := &f.Barriers[j]; o.Kind == b.Kind && b.Above(o.Pos) {
			return true
		}
	}
	for j := range f.Obs.Progress {
		if p := &f.Obs.Progress[j]; b.Above(p.Pos) {
			return true
		}
	}
	return false
}
