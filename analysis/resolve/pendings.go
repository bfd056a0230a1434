package resolve

import (
	"sort"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// joiner makes the works in flight: it joins timeouts with state lines. The watchdog line names no group that could be trusted; the
// state line of the same process with the same work does.
type joiner struct {
	*grouper
	states map[string][]*worker.State  // by process
	named  map[pendKey]worker.GroupRef // from lines that embed the watchdog text behind a true group prefix
	only   worker.GroupRef             // the default group where lines name no other
	made   map[madeKey]*Pending
	used   map[*worker.State]bool // states that a timeout was joined with
}

type pendKey struct {
	proc string
	seq  int64
	op   string
}

// madeKey is a work of a process in a group.
type madeKey struct {
	proc, group string
	seq         int64
}

// pendings finds which work each process had in flight.
func (g *grouper) pendings() {
	j := &joiner{grouper: g, states: map[string][]*worker.State{}, named: map[pendKey]worker.GroupRef{},
		made: map[madeKey]*Pending{}, used: map[*worker.State]bool{}}
	for i := range g.obs.States {
		s := &g.obs.States[i]
		_, proc := g.process(s.At, line.Unknown, s.Group)
		j.states[proc] = append(j.states[proc], s)
	}
	for i := range g.obs.Timeouts {
		if t := &g.obs.Timeouts[i]; t.Group.Known {
			_, proc := g.process(t.At, line.Unknown, t.Group)
			j.named[pendKey{proc, t.Work.Seq, t.Work.Op}] = t.Group
		}
	}
	j.only = g.onlyNamed()
	for _, i := range g.timeoutOrder() {
		if t := &g.obs.Timeouts[i]; !g.echoes(t) {
			j.timeout(t)
		}
	}
	// State lines whose watchdog line is lost still say that this work was in flight.
	erred := g.erred()
	for i := range g.obs.States {
		if s := &g.obs.States[i]; !j.used[s] {
			j.lone(s, erred)
		}
	}
	g.worldOfUnnamed()
	for _, r := range g.anon {
		if len(r.Pending) > 0 {
			g.Anonymous = append(g.Anonymous, r)
		}
	}
	for _, gr := range g.order {
		for _, p := range gr.Pending {
			gr.P2P = gr.P2P || p.Work.Pairwise()
		}
	}
}

// echoes reports whether a timeout repeats what a rank with a proven identity reports in the same file.
func (g *grouper) echoes(t *worker.Timeout) bool {
	if t.Group.Known || t.Form == "error" {
		return false
	}
	_, _, ok := g.ident.rankOf(t.At)
	return !ok && g.echo[echoKey{t.File, t.Sticky, t.Work.Seq, t.Work.Op}]
}

// timeout notes the work that a watchdog reports, or adds to what another line reported of it.
func (j *joiner) timeout(t *worker.Timeout) {
	r, proc := j.process(t.At, t.Sticky, t.Group)
	ref, st := j.groupOf(t, r, proc)
	gr := j.group(ref)
	key := madeKey{proc, gr.Key, t.Work.Seq}
	p := j.made[key]
	switch {
	case p == nil:
		p = &Pending{Rank: r, Group: gr, GroupRank: line.Unknown, Work: t.Work, At: t.At}
		if ref.Known {
			p.GroupRank = ref.Rank
		} else if t.Sticky >= 0 {
			p.GroupRank = t.Sticky
		}
		j.made[key] = p
		p.join()
		j.state(p, st)
	case t.Form == "error" && longAfter(t.At, p.At):
		// The same work again: an attempt that came as far as the one before.
		j.older = append(j.older, again{p.At, p})
		p.At, p.Work, p.State = t.At, t.Work, nil
		j.state(p, st)
	default:
		if p.Work.Op == "" || p.Work.NumelIn == line.Unknown && t.Work.NumelIn != line.Unknown {
			p.Work = t.Work
		}
		j.state(p, st)
	}
}

// state gives a work its state line where it has none.
func (j *joiner) state(p *Pending, s *worker.State) {
	if p.State == nil && s != nil {
		p.State, j.used[s] = s, true
	}
}

// groupOf is the group whose collective timed out, with the state line of the same work, nil where there is none.
func (j *joiner) groupOf(t *worker.Timeout, r *Rank, proc string) (worker.GroupRef, *worker.State) {
	ref := t.Group
	if !ref.Known {
		ref = j.named[pendKey{proc, t.Work.Seq, t.Work.Op}]
	}
	st := nearest(j.states[proc], t, ref)
	switch {
	case ref.Known:
	case st != nil && st.Group.Known:
		ref = st.Group
	case j.only.Known && r.ID != NoRank && t.Sticky == r.ID:
		ref = j.only
		ref.Rank = t.Sticky
	case st != nil:
		ref = st.Group
	}
	return ref, st
}

// lone notes the work of a state line that no timeout was joined with. A process whose communicator failed did not wait for it.
func (j *joiner) lone(s *worker.State, erred map[string]bool) {
	r, proc := j.process(s.At, line.Unknown, s.Group)
	if erred[proc] {
		return
	}
	gr := j.group(s.Group)
	key := madeKey{proc, gr.Key, s.Work}
	if p := j.made[key]; p != nil {
		if p.State == nil {
			p.State = s
		}
		return
	}
	p := &Pending{Rank: r, Group: gr, GroupRank: line.Unknown, State: s, At: s.At,
		Work: worker.Work{Seq: s.Work, NumelIn: line.Unknown, NumelOut: line.Unknown, TimeoutMS: line.Unknown, RanForMS: line.Unknown}}
	if s.Group.Known {
		p.GroupRank = s.Group.Rank
	}
	j.made[key] = p
	p.join()
}

// join enters a work where its rank and its group list theirs.
func (p *Pending) join() {
	p.Group.Pending = append(p.Group.Pending, p)
	p.Rank.Pending = append(p.Rank.Pending, p)
}

// timeoutOrder prefers the watchdog's own ERROR line over its echoes, then the file's order.
func (g *grouper) timeoutOrder() []int {
	form := map[string]int{"error": 0, "terminated": 1, "what": 2, "python": 3}
	idx := make([]int, len(g.obs.Timeouts))
	for i := range idx {
		idx[i] = i
	}
	sort.SliceStable(idx, func(a, b int) bool {
		x, y := &g.obs.Timeouts[idx[a]], &g.obs.Timeouts[idx[b]]
		fx, okx := form[x.Form]
		fy, oky := form[y.Form]
		if !okx {
			fx = 9
		}
		if !oky {
			fy = 9
		}
		if fx != fy {
			return fx < fy
		}
		return less(x.Pos, y.Pos)
	})
	return idx
}

// onlyNamed is the default group if it is the only group that any line names.
func (g *grouper) onlyNamed() worker.GroupRef {
	var out worker.GroupRef
	see := func(r worker.GroupRef) bool {
		if !r.Known {
			return true
		}
		if out.Known && out.GUID != r.GUID {
			return false
		}
		out = r
		return true
	}
	for i := range g.obs.States {
		if !see(g.obs.States[i].Group) {
			return worker.GroupRef{}
		}
	}
	for i := range g.obs.Timeouts {
		if !see(g.obs.Timeouts[i].Group) {
			return worker.GroupRef{}
		}
	}
	if out.GUID != "0" && out.Desc != "default_pg" {
		return worker.GroupRef{}
	}
	return out
}

// nearest is the state line of the same process that reports the same work, the closest one below the watchdog line in
// the same file; with a known group only of that group.
func nearest(states []*worker.State, t *worker.Timeout, ref worker.GroupRef) *worker.State {
	var best *worker.State
	var dist int64
	for _, s := range states {
		if s.Work != t.Work.Seq || (ref.Known && s.Group.Known && s.Group.GUID != ref.GUID) {
			continue
		}
		d := s.Off - t.Off
		if s.File != t.File {
			d = 1 << 50
		} else if d < 0 {
			d = (1 << 40) - d
		}
		if best == nil || d < dist || (d == dist && betterState(s, best)) {
			best, dist = s, d
		}
	}
	return best
}

// betterState prefers the form that both 2.4 and later print with all three numbers.
func betterState(a, b *worker.State) bool { return less(a.Pos, b.Pos) }
