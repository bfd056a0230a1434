package nccl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// World are the logs of a job together.
type World struct {
	Comms []*Joined // by size, descending, then by key
	// Apart is how many communicators could not be put together: no line says which ranks belong to one.
	Apart int
	Procs []Member // every process once
}

// Joined is a communicator as its members see it.
type Joined struct {
	Size    int
	Members []Member // by rank
	// Guessed: no line names the communicator on all ranks; its members are those whose ranks are each there once.
	Guessed bool
}

// Member is one rank of a communicator.
type Member struct {
	Log  *Log
	Proc *Proc
	Comm *Comm // nil in World.Procs
}

// All says that every rank of the communicator is there.
func (j *Joined) All() bool { return len(j.Members) == j.Size }

// Join puts logs together. The same process in two files is one: the file that has more of it counts.
func Join(logs []*Log) *World {
	w := &World{}
	byProc := map[string]Member{}
	for _, l := range slices.SortedFunc(slices.Values(logs), func(a, b *Log) int { return cmp.Compare(a.File, b.File) }) {
		for _, p := range l.Procs {
			k := fmt.Sprintf("%s:%d", p.Host, p.Pid)
			if old, seen := byProc[k]; !seen || p.Lines > old.Proc.Lines {
				byProc[k] = Member{Log: l, Proc: p}
			}
		}
	}
	groups := map[string]*Joined{}
	named := map[*Comm]string{} // the key of a communicator, for those that are split from it
	for _, k := range slices.Sorted(maps.Keys(byProc)) {
		m := byProc[k]
		w.Procs = append(w.Procs, m)
		nth := map[int]int{}
		byPtr := map[string]*Comm{}
		for _, c := range m.Proc.Comms {
			parent := byPtr[c.Parent]
			byPtr[c.Ptr] = c
			if c.Rank == Unknown || c.NRanks < 1 {
				continue
			}
			var key string
			guessed := false
			switch {
			case c.ID != "":
				key = fmt.Sprintf("%s of %d", c.ID, c.NRanks)
			case parent != nil && named[parent] != "" && c.Color != Unknown:
				key = fmt.Sprintf("%s, split %d, color %d", named[parent], c.Split, c.Color)
			default:
				nth[c.NRanks]++
				key, guessed = fmt.Sprintf("communicator %d of %d ranks", nth[c.NRanks], c.NRanks), true
			}
			named[c] = key
			g := groups[key]
			if g == nil {
				g = &Joined{Size: c.NRanks, Guessed: guessed}
				groups[key] = g
			}
			g.Members = append(g.Members, Member{m.Log, m.Proc, c})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g := groups[key]
		slices.SortStableFunc(g.Members, func(a, b Member) int { return cmp.Compare(a.Comm.Rank, b.Comm.Rank) })
		apart := false
		for i, m := range g.Members {
			apart = apart || m.Comm.NRanks != g.Size || m.Comm.Rank >= g.Size || i > 0 && m.Comm.Rank == g.Members[i-1].Comm.Rank
		}
		// Where no line names it, ranks of several communicators of one size cannot be told apart: only that of all processes is known.
		apart = apart || g.Guessed && (g.Size != len(w.Procs) || !g.All())
		if apart {
			w.Apart += len(g.Members) // two of the same rank: these are several communicators
			continue
		}
		w.Comms = append(w.Comms, g)
	}
	slices.SortStableFunc(w.Comms, func(a, b *Joined) int { return cmp.Compare(b.Size, a.Size) })
	return w
}

// Standing is how far the members of a communicator came.
type Standing struct {
	Comm *Joined
	// Level: all its ranks are there and have called as many collectives.
	Level bool
	// Ahead are those who have called Top collectives, which nobody has more; Behind all others that are there.
	Ahead, Behind []Member
	Top           int64
	// Open are those of Behind of whom it is not proven: nothing stands in their log after their last call, so that it may simply end
	// early, or their last call does not fit those of the others, so that lines may be missing before it.
	Open []Member
}

// Standings says of each communicator that was used how far its ranks came. Only calls that are counted from the beginning of a
// communicator are compared.
func (w *World) Standings() []Standing {
	var out []Standing
	for _, j := range w.Comms {
		if s, ok := j.standing(); ok {
			out = append(out, s)
		}
	}
	return out
}

func (j *Joined) standing() (Standing, bool) {
	s := Standing{Comm: j}
	if j.Size < 2 || len(j.Members) < 2 {
		return s, false
	}
	most, least := int64(0), int64(1)<<62
	for _, m := range j.Members {
		if !m.Comm.Whole() || m.Log.Torn > 0 {
			return s, false
		}
		most, least = max(most, m.Comm.Calls), min(least, m.Comm.Calls)
	}
	if most == 0 {
		return s, false
	}
	s.Top = most
	for _, m := range j.Members {
		if m.Comm.Calls == most {
			s.Ahead = append(s.Ahead, m)
		} else {
			s.Behind = append(s.Behind, m)
		}
	}
	if most == least {
		s.Level = j.All()
		return s, true
	}
	for _, m := range s.Behind {
		if _, after := m.Comm.After(); !after || !s.inStep(m) {
			s.Open = append(s.Open, m)
		}
	}
	return s, true
}

// inStep says that what a member called last is what another one called as the same number, by operation and by NCCL's own count: then
// no line of its log is missing before it.
func (s *Standing) inStep(m Member) bool {
	last := m.Comm.Last()
	if last == nil {
		return m.Comm.Calls == 0
	}
	if !m.Comm.varied() {
		return false // a line less would look the same
	}
	for _, o := range s.Ahead {
		if c := o.Comm.Call(last.N); c != nil && c.Same(last) && c.OpCount == last.OpCount {
			return true
		}
	}
	return false
}

// Divergence is a call in which members of a communicator differ: same number, other operation, size, type or root.
type Divergence struct {
	Comm  *Joined
	N     int64
	Sides []Side // the larger first
}

// Side are those who called the same.
type Side struct {
	Call    *Call // of the first member
	Members []Member
}

// Divergences finds for each communicator the first call, of those that are still known, in which its ranks differ. Where most of what
// they called afterwards is alike again, it held nobody and is not told.
func (w *World) Divergences() []Divergence {
	var out []Divergence
	for _, j := range w.Comms {
		if d, ok := j.divergence(); ok {
			out = append(out, d)
		}
	}
	return out
}

func (j *Joined) divergence() (Divergence, bool) {
	least, from := int64(1)<<62, int64(1)
	for _, m := range j.Members {
		if !m.Comm.Whole() || m.Log.Torn > 0 {
			return Divergence{}, false
		}
		if m.Comm.Calls > 0 {
			least = min(least, m.Comm.Calls)
		}
		from = max(from, m.Comm.Calls-kept+1)
	}
	if len(j.Members) < 2 || least == 1<<62 {
		return Divergence{}, false
	}
	for n := from; n <= least; n++ {
		d := Divergence{Comm: j, N: n}
		for _, m := range j.Members {
			c := m.Comm.Call(n)
			if c == nil {
				continue
			}
			i := slices.IndexFunc(d.Sides, func(s Side) bool { return s.Call.Same(c) })
			if i < 0 {
				d.Sides = append(d.Sides, Side{Call: c})
				i = len(d.Sides) - 1
			}
			d.Sides[i].Members = append(d.Sides[i].Members, m)
		}
		if len(d.Sides) < 2 {
			continue
		}
		if n == from && n > 1 || !d.inStep() {
			return Divergence{}, false // lines may be missing before it
		}
		slices.SortStableFunc(d.Sides, func(a, b Side) int { return cmp.Compare(len(b.Members), len(a.Members)) })
		if later := int(least - n); later > 3 && 2*j.alikeAfter(n, least) > later {
			return Divergence{}, false // they have passed it: then it held nobody
		}
		return d, true
	}
	return Divergence{}, false
}

// inStep says that NCCL counted on both of the largest sides alike, and counted on: then no line is missing on one of them.
func (d *Divergence) inStep() bool {
	a, b := d.Sides[0], d.Sides[1]
	for _, x := range a.Members {
		for _, y := range b.Members {
			cx, cy := x.Comm.Call(d.N), y.Comm.Call(d.N)
			if cx.OpCount != cy.OpCount {
				continue
			}
			px, py := x.Comm.Call(d.N-1), y.Comm.Call(d.N-1)
			if d.N == 1 {
				px, py = x.Comm.Call(2), y.Comm.Call(2)
			}
			if px != nil && py != nil && px.OpCount == py.OpCount && px.OpCount != cx.OpCount {
				return true
			}
		}
	}
	return false
}

// alikeAfter is how many calls after the n-th all members made alike, up to the last that all have.
func (j *Joined) alikeAfter(n, last int64) int {
	alike := 0
	for k := n + 1; k <= last; k++ {
		var first *Call
		same := true
		for _, m := range j.Members {
			switch c := m.Comm.Call(k); {
			case c == nil:
			case first == nil:
				first = c
			default:
				same = same && first.Same(c)
			}
		}
		if same {
			alike++
		}
	}
	return alike
}

// varied says that the calls that are kept are not all alike.
func (c *Comm) varied() bool {
	for i := range c.ring {
		if first := &c.ring[0]; !c.ring[i].Same(first) || c.ring[i].OpCount != first.OpCount {
			return true
		}
	}
	return c.Calls <= 1
}

// Holders are the processes that hold others: behind in some communicator, and in none of those at the front that others are behind
// in. ok is false where the picture does not name them: everybody who is behind waits himself, or as many hold as wait.
func Holders(standings []Standing) (holders []Member, ok bool) {
	waits, holds := map[*Proc]bool{}, map[*Proc]bool{}
	for i := range standings {
		if s := &standings[i]; len(s.Behind) > 0 {
			for _, m := range s.Ahead {
				waits[m.Proc] = true
			}
		}
	}
	for i := range standings {
		for _, m := range standings[i].Behind {
			if !waits[m.Proc] && !holds[m.Proc] {
				holds[m.Proc] = true
				holders = append(holders, m)
			}
		}
	}
	proven := map[*Proc]bool{} // behind most of some communicator: of two alone either may be wrong
	for i := range standings {
		n := 0
		for _, m := range standings[i].Behind {
			if holds[m.Proc] {
				n++
			}
		}
		for _, m := range standings[i].Behind {
			proven[m.Proc] = proven[m.Proc] || n < len(standings[i].Ahead)
		}
	}
	for _, m := range holders {
		if !proven[m.Proc] {
			return nil, false
		}
	}
	return holders, len(holders) > 0
}
