package isolate

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	// draws is how many divisions of a sort are compared for a round.
	draws = 12
	// plainer is how much more another division must tell than a plain list of nodes, cn[001-032], which is easier to run.
	plainer = 1.03
)

// split chooses the tests of the next round: all nodes at first, then the division that tells most.
func (s *search) split() [][]string {
	if s.round == 0 || s.unseen() {
		return [][]string{s.nodes}
	}
	mass, trunks := s.mass()
	likely := s.likelyLinks()
	var best *division
	most := -1.0
	for groups := 2; groups <= min(s.groups, len(s.nodes)); groups++ {
		for range draws {
			for _, of := range [][]int8{s.inOrder(mass, groups), s.even(mass, groups), s.together(likely, groups), s.branchwise(mass, trunks, groups)} {
				if of == nil {
					continue
				}
				d := s.divide(of, groups)
				bits := s.tells(d)
				if s.repeats(d) {
					bits /= 2 // another set of nodes tells more about nodes that were flaky
				}
				if best == nil || bits > most*plainer {
					best, most = d, bits
				}
			}
		}
	}
	var out [][]string
	for g := range best.groups {
		out = append(out, s.members(best.of, g))
	}
	return out
}

// unseen says that the fault may not have come back at all, for it came back in no part: all nodes are tried once more.
func (s *search) unseen() bool {
	absent, whole := s.odds[0], s.odds[1] // as begin has them
	noPart := absent+whole > 0.95
	return absent > 0.5 || noPart && absent > (1-sureNone)/2
}

// mass is how likely each node takes part in the fault, and each switch.
func (s *search) mass() (mass, trunks []float64) {
	mass, trunks = make([]float64, len(s.nodes)), make([]float64, len(s.branches))
	for i, h := range s.hyps {
		switch h.kind {
		case ofNode:
			mass[h.a] += s.odds[i]
		case ofLink:
			mass[h.a] += s.odds[i] / 2
			mass[h.b] += s.odds[i] / 2
		case ofTrunk:
			trunks[h.a] += s.odds[i]
		}
	}
	return mass, trunks
}

// inOrder cuts the list of nodes where all parts are about as likely to hold the culprit.
func (s *search) inOrder(mass []float64, groups int) []int8 {
	sum := 0.0
	for _, m := range mass {
		sum += m
	}
	of := make([]int8, len(s.nodes))
	g, so := 0, 0.0
	for i, m := range mass {
		left := len(s.nodes) - i // every group needs a node
		if i > 0 && g < groups-1 && (so+m/2 > sum*float64(g+1)/float64(groups) || left < groups-g) {
			g++
		}
		of[i] = int8(g)
		so += m
	}
	if g < groups-1 {
		return nil
	}
	return of
}

// even shares the nodes out so that all groups are about as likely to hold the culprit and about as large.
func (s *search) even(mass []float64, groups int) []int8 {
	order := s.dice.Perm(len(s.nodes))
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(float32(mass[b]), float32(mass[a])) // equal but for rounding: in any order
	})
	of := make([]int8, len(s.nodes))
	weight, size := make([]float64, groups), make([]int, groups)
	largest := (len(s.nodes) + groups - 1) / groups
	for _, i := range order {
		least := -1
		for g := range groups {
			if size[g] < largest && (least < 0 || weight[g] < weight[least]) {
				least = g
			}
		}
		of[i] = int8(least)
		weight[least] += mass[i]
		size[least]++
	}
	return of
}

// pair is a link that may be the culprit.
type pair struct {
	a, b int16
	odds float64
}

// mostPairs bounds how many links a division is made for. Where more are likely they are all about as likely.
const mostPairs = 4096

// likelyLinks are the links that may be the culprit.
func (s *search) likelyLinks() []pair {
	var likely []pair
	for i, h := range s.hyps {
		if h.kind == ofLink && s.odds[i] > 1e-4 {
			likely = append(likely, pair{h.a, h.b, s.odds[i]})
		}
	}
	slices.SortStableFunc(likely, func(a, b pair) int { return cmp.Compare(b.odds, a.odds) })
	return likely[:min(len(likely), mostPairs)]
}

// together puts both ends of about as many likely links into each group as it leaves between groups.
func (s *search) together(likely []pair, groups int) []int8 {
	if len(likely) == 0 {
		return nil
	}
	s.dice.Shuffle(len(likely), func(i, j int) { likely[i], likely[j] = likely[j], likely[i] })
	// Links that are about as likely stay in any order.
	slices.SortStableFunc(likely, func(a, b pair) int { return cmp.Compare(math.Ilogb(b.odds), math.Ilogb(a.odds)) })
	of := make([]int8, len(s.nodes))
	for i := range of {
		of[i] = -1
	}
	weight := make([]float64, groups+1) // the last is what lies between groups
	lightest := func(n int) int {
		at := 0
		for g := range n {
			if weight[g] < weight[at] {
				at = g
			}
		}
		return at
	}
	for _, p := range likely {
		a, b := of[p.a], of[p.b]
		switch {
		case a < 0 && b < 0:
			if g := lightest(groups + 1); g < groups {
				of[p.a], of[p.b] = int8(g), int8(g)
			} else {
				of[p.a] = int8(s.dice.IntN(groups))
				of[p.b] = int8((int(of[p.a]) + 1) % groups)
			}
		case a < 0:
			of[p.a] = joined(b, groups, weight)
		case b < 0:
			of[p.b] = joined(a, groups, weight)
		}
		if of[p.a] == of[p.b] {
			weight[of[p.a]] += p.odds
		} else {
			weight[groups] += p.odds
		}
	}
	for i := range of {
		if of[i] < 0 {
			of[i] = int8(s.dice.IntN(groups))
		}
	}
	return of
}

// joined is the group for a node whose likely partner is in a group already.
func joined(partner int8, groups int, weight []float64) int8 {
	if weight[partner] <= weight[groups] {
		return partner
	}
	return int8((int(partner) + 1) % groups)
}

// branchwise keeps the nodes below a switch together, so that a switch is in as few groups as possible.
func (s *search) branchwise(mass, trunks []float64, groups int) []int8 {
	level := s.leaves()
	if len(level) == 0 {
		return nil
	}
	of := s.even(mass, groups) // for nodes below no switch
	weight := make([]float64, groups)
	for _, i := range s.dice.Perm(len(level)) {
		b := &s.branches[level[i]]
		least := 0
		for g := range groups {
			if weight[g] < weight[least] {
				least = g
			}
		}
		for _, n := range b.below {
			of[n] = int8(least)
			weight[least] += mass[n]
		}
		weight[least] += trunks[level[i]]
	}
	for g := range groups {
		if !slices.Contains(of, int8(g)) {
			return nil
		}
	}
	return of
}

func (s *search) members(of []int8, group int) (names []string) {
	for i, g := range of {
		if int(g) == group {
			names = append(names, s.nodes[i])
		}
	}
	return names
}

// repeats says that one of the groups was tested before.
func (s *search) repeats(d *division) bool {
	for g := range d.groups {
		if s.had[key(s.members(d.of, g))] {
			return true
		}
	}
	return false
}

func key(nodes []string) string { return strings.Join(nodes, " ") }
