package resolve

import (
	"maps"
	"math"
	"slices"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// sight says of a line whose it is, and when it was written. It is what the stages after these two are given of them.
type sight struct {
	ident  *identity
	clock  *clock
	byRank map[int]*Rank
}

// newSight knows the ranks that print anything, or of which NCCL's lines tell.
func newSight(ident *identity, clock *clock, obs *worker.Observations, n *NCCL) sight {
	s := sight{ident, clock, map[int]*Rank{}}
	s.writers(obs)
	s.introduced(obs)
	if n != nil {
		s.spoken(n)
	}
	return s
}

// rank gives the rank's record, making it.
func (s *sight) rank(id int, basis string) *Rank {
	r := s.byRank[id]
	if r == nil {
		r = &Rank{ID: id, Local: line.Unknown, Basis: basis, Pids: map[int]bool{}}
		if l, ok := s.ident.rankLocal[id]; ok {
			r.Local = l
		}
		r.Node = s.ident.rankNode[id]
		s.byRank[id] = r
	}
	return r
}

// Rank looks a global rank up.
func (s *sight) Rank(id int) *Rank { return s.byRank[id] }

// At gives the moment of a line.
func (s *sight) At(at worker.At) Moment {
	return s.clock.at(s.ident.nodeOf(at), stampOf(at))
}

// NotBefore is the latest moment that a line without a stamp is known not to precede.
func (s *sight) NotBefore(at worker.At) Moment {
	above := at.Inherited()
	if above.Kind == line.NoStamp {
		return Moment{}
	}
	return s.clock.at(s.ident.nodeOf(at), above)
}

// when is a line's moment, or the nearest one above it that it cannot precede.
func (s *sight) when(at worker.At) Moment {
	if m := s.At(at); m.Valid {
		return m
	}
	return s.NotBefore(at)
}

// later says that a line was written after another one: below it in the same file, or by the clock.
func (s *sight) later(a, b worker.At) bool {
	if a.File == b.File {
		return a.Off > b.Off
	}
	return s.At(b).Before(s.At(a))
}

// Compared says that the clocks of two lines are one, or were compared by what befell both nodes.
func (s *sight) Compared(a, b worker.At) bool {
	if a.File == b.File {
		return true
	}
	x, y := s.ident.nodeOf(a), s.ident.nodeOf(b)
	return x != "" && y != "" && (x == y || s.Tied(x) && s.Tied(y))
}

// Tied says that the container clock of a node was compared with those of others.
func (s *sight) Tied(node string) bool {
	_, ok := s.clock.offsets[clockKey{node, line.Container}]
	return ok
}

// clockNode names the clock of a line: its node, or its file where the node is not known.
func (s *sight) clockNode(at worker.At) string {
	if n := s.ident.nodeOf(at); n != "" {
		return n
	}
	return "file " + at.File
}

// Owner is the rank whose lines a file holds, and no other's.
func (s *sight) Owner(file string) (int, bool) {
	id, ok := s.ident.fileRank[file]
	return id, ok
}

// NodeOf is the node that a line is tied to, or "".
func (s *sight) NodeOf(at worker.At) string { return s.ident.nodeOf(at) }

// RankOf is the global rank that a line is tied to, with ok false where nothing proves it.
func (s *sight) RankOf(at worker.At) (int, bool) {
	r, _, ok := s.ident.rankOf(at)
	return r, ok
}

func (s *sight) rankOr(at worker.At) int {
	if id, ok := s.RankOf(at); ok {
		return id
	}
	return NoRank
}

// writers makes the ranks that print anything.
func (s *sight) writers(obs *worker.Observations) {
	for _, t := range obs.Tails {
		if id, ok := s.ident.fileRank[t.File]; ok && t.Lines > 0 {
			r := s.rank(id, "file name")
			r.Lines += t.Lines
			r.seen(t.First, t.Last)
			r.addFile(t.File)
			continue
		}
		for i := range t.Writers {
			w := &t.Writers[i]
			first := w.At(t.File, w.First)
			id, basis, ok := s.ident.rankOf(first)
			if !ok {
				continue
			}
			r := s.rank(id, basis)
			r.Lines += w.Lines
			r.seen(first, w.At(t.File, w.Last))
			r.addFile(t.File)
			if w.Who.Pid > 0 {
				r.Pids[w.Who.Pid] = true
			}
		}
	}
}

// introduced counts the line by which a process names its own rank, where nothing else it prints does.
func (s *sight) introduced(obs *worker.Observations) {
	for i := range obs.Identities {
		x := &obs.Identities[i]
		if x.Global < 0 {
			continue
		}
		r := s.rank(x.Global, "identity line")
		r.Lines++
		r.seen(x.At, x.At)
		r.addFile(x.File)
		if r.Node == "" {
			r.Node = s.ident.nodeOf(x.At)
		}
	}
}

// spoken makes the ranks of processes of which NCCL's lines tell.
func (s *sight) spoken(n *NCCL) {
	for _, m := range n.World.Procs {
		if id, ok := n.ranks[m.Proc]; ok {
			r := s.rank(id, ncclBasis)
			r.Pids[m.Proc.Pid] = true
			if r.Node == "" {
				r.Node = ShortHost(m.Proc.Host)
			}
		}
	}
}

// ranked are the ranks by their number, with the moments of their last lines.
func (s *sight) ranked() []*Rank {
	ranks := slices.SortedFunc(maps.Values(s.byRank), func(a, b *Rank) int { return a.ID - b.ID })
	for _, r := range ranks {
		r.Last = s.when(r.LastAt)
	}
	return ranks
}

// span is when the job's own lines begin and end; where none is stamped, the scheduler's end is the only clock there may be.
func (s *sight) span(tails []worker.Tail, ends []*End) (start, end Moment) {
	for _, inAnyZone := range []bool{false, true} { // such clocks count where there are no others
		for i := range tails {
			for _, at := range []worker.At{tails[i].First, tails[i].Last} {
				if m := s.At(at); inAnyZone || m.Placed() {
					start, end = start.Earliest(m), end.Latest(m)
				}
			}
		}
		if end.Valid {
			break
		}
	}
	if i := slices.IndexFunc(ends, func(e *End) bool { return e.T.Valid }); i >= 0 && !end.Valid {
		end = ends[i].T
	}
	return start, end
}

const (
	halfHour = 1800 // zones differ by multiples of it, in seconds
	// sameZone is how far from such a multiple stamps of one moment are at most.
	sameZone = 180
)

// endByScheduler is when the job ended: by the scheduler's word where lines are stamped later by the difference of two zones, and no step
// was made in between: their clock is of a zone that nothing relates to the others'.
func endByScheduler(end Moment, ends []*End, steps []ProgressPoint) Moment {
	var last *End
	for _, e := range ends {
		if e.T.Valid && (last == nil || e.T.T > last.T.T) {
			last = e
		}
	}
	if last == nil || !end.Valid {
		return end
	}
	said := last.T
	for _, e := range ends { // two logs may stamp one end by two clocks
		if e.Line.Kind == last.Line.Kind && e.Line.Reason == last.Line.Reason {
			said = said.Earliest(e.T)
		}
	}
	later := end.T - said.T
	if later < halfHour-sameZone || math.Abs(math.Remainder(later, halfHour)) > sameZone {
		return end
	}
	if slices.ContainsFunc(steps, func(p ProgressPoint) bool { return p.T.Valid && p.T.T > said.T+said.Unc }) {
		return end
	}
	return said
}
