package recorder

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// World is what the dumps of several ranks say together.
type World struct {
	Ranks  []int    // whose dump is there, ascending
	Size   int      // of the default group; 0 where no dump says so
	Off    []int    // ranks whose recorder was off
	Groups []Joined // by name, numbers as numbers
	// Warnings are dumps that were left out, and contradictions.
	Warnings []string
}

// Joined is one process group as its members see it.
type Joined struct {
	Name, Desc string
	Members    []int // global ranks, ascending; nil where no dump says
	States     []State
	// P2P says that some work of it is a send or a receive: counters go up with what a rank itself sends and receives, too.
	P2P bool
}

// State is what one rank's dump says of one group.
type State struct {
	Rank int
	// Enqueued and Completed are the last ones by the dump's counters, None where the dump cannot be asked: it names groups by a
	// number of its own, and nothing ties that to the group.
	Enqueued, Completed int64
	// Tie says how the counters are known to be this group's: "entry" (an entry has both numbers), "order" (the rank made its
	// groups in the order of both), "".
	Tie string
	// Local is the number under which the dump keeps the counters; "" where nothing ties them to the group.
	Local string
	Open  []Work // by sequence
	Done  *Work  // the last completed collective that the dump holds
}

// First is the first work that the rank has not completed; nil if none is open.
func (s *State) First() *Work {
	if len(s.Open) == 0 {
		return nil
	}
	return &s.Open[0]
}

// Of is a rank's state; nil if its dump is missing or does not know the group.
func (j *Joined) Of(rank int) *State {
	i, ok := slices.BinarySearchFunc(j.States, rank, func(s State, r int) int { return cmp.Compare(s.Rank, r) })
	if !ok {
		return nil
	}
	return &j.States[i]
}

// Join puts the dumps of ranks together.
func Join(dumps map[int]*Dump) *World {
	w := &World{}
	groups := map[string]*Joined{}
	group := func(name string) *Joined {
		g := groups[name]
		if g == nil {
			g = &Joined{Name: name}
			groups[name] = g
		}
		return g
	}
	for _, rank := range slices.Sorted(maps.Keys(dumps)) {
		d := dumps[rank]
		w.Ranks = append(w.Ranks, rank)
		if d.Disabled {
			w.Off = append(w.Off, rank)
			continue
		}
		states := map[string]*State{}
		state := func(name string) *State {
			s := states[name]
			if s == nil {
				s = &State{Rank: rank, Enqueued: None, Completed: None}
				states[name] = s
			}
			return s
		}
		for _, g := range d.Groups {
			j := group(g.Name)
			j.Desc = cmp.Or(j.Desc, g.Desc)
			switch {
			case len(g.Ranks) == 0:
			case j.Members == nil:
				j.Members = g.Ranks
			case !slices.Equal(j.Members, g.Ranks):
				w.Warnings = append(w.Warnings, fmt.Sprintf("rank %d lists other members of group %s than ranks before it", rank, g.Name))
			}
			if _, in := slices.BinarySearch(g.Ranks, rank); in {
				state(g.Name)
			}
		}
		for _, works := range [][]Work{d.Open, d.Done} {
			for i := range works {
				x := &works[i]
				if x.Group == "" {
					continue
				}
				j := group(x.Group)
				j.Desc, j.P2P = cmp.Or(j.Desc, x.Desc), j.P2P || x.P2P
				s := state(x.Group)
				switch {
				case x.State != "completed":
					s.Open = append(s.Open, *x)
				case !x.P2P:
					s.Done = x
				}
			}
		}
		d.ties(states)
		for name, s := range states {
			slices.SortStableFunc(s.Open, func(a, b Work) int { return cmp.Compare(a.Seq, b.Seq) })
			j := group(name)
			j.States = append(j.States, *s)
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(groups), byNumber) {
		g := groups[name]
		if name == "0" || g.Desc == "default_pg" {
			w.Size = max(w.Size, len(g.Members))
		}
		w.Groups = append(w.Groups, *g)
	}
	return w
}

func byNumber(a, b string) int {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	if errX == nil && errY == nil {
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	}
	return cmp.Or(cmp.Compare(btoi(errX != nil), btoi(errY != nil)), cmp.Compare(a, b))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ties gives the counters, which stand under numbers of the rank's own, to the groups. Entries hold both. Beyond them, a rank
// numbers its groups in the order in which it makes them, and so do their names where these are numbers; that counts only if
// there are as many of the one as of the other and no entry contradicts.
func (d *Dump) ties(states map[string]*State) {
	counters := map[int64]*Status{}
	for i := range d.Status {
		if n, err := strconv.ParseInt(d.Status[i].Local, 10, 64); err == nil {
			counters[n] = &d.Status[i]
		}
	}
	local := map[string]int64{}
	for _, works := range [][]Work{d.Open, d.Done} {
		for i := range works {
			if works[i].Group != "" && works[i].Local != None {
				local[works[i].Group] = works[i].Local
			}
		}
	}
	tie := func(name string, n int64, how string) {
		if s, c := states[name], counters[n]; s != nil && c != nil {
			s.Enqueued, s.Completed, s.Tie, s.Local = c.Enqueued, c.Completed, how, c.Local
		}
	}
	var names []string
	for _, g := range d.Groups {
		if _, err := strconv.ParseInt(g.Name, 10, 64); err != nil {
			names = nil
			break
		}
		names = append(names, g.Name)
	}
	slices.SortFunc(names, byNumber)
	numbers := slices.Sorted(maps.Keys(counters))
	ordered := len(names) == len(numbers) && len(names) > 0
	for i := range names {
		if n, known := local[names[i]]; ordered && known && n != numbers[i] {
			ordered = false
		}
	}
	if ordered {
		for i := range names {
			tie(names[i], numbers[i], "order")
		}
	}
	for name, n := range local {
		tie(name, n, "entry")
	}
}
