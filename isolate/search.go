package isolate

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// hypothesis is one thing that may be at fault.
type hypothesis struct {
	kind form
	a, b int16 // the node, the ends of the link, the branch
}

// form is what a hypothesis predicts with.
type form uint8

const (
	absent  form = iota // the fault does not come back
	whole               // it comes back with all nodes only
	ofNode              // in each test with the node
	ofLink              // in each test with both ends
	ofTrunk             // in each test whose traffic crosses the switch
)

// prior is how likely a kind is before any test, where all kinds are looked for.
var prior = map[form]float64{absent: 0.1, whole: 0.05, ofNode: 0.5, ofLink: 0.2, ofTrunk: 0.15}

// suspected is how much more likely a node is that something speaks against already.
const suspected = 8

// worthNaming is how likely a culprit must be to be named before it is found.
const worthNaming = 0.1

// search is the state of a search after the rounds that were run.
type search struct {
	nodes    []string
	index    map[string]int
	hyps     []hypothesis
	odds     []float64 // of each hypothesis; they sum to 1
	branches []branch
	groups   int
	flaky    float64
	round    int
	had      map[string]bool // sets that were tested
	dice     *rand.Rand
}

// replay weighs every outcome of the ledger.
func (l *Ledger) replay() (*search, error) {
	s := &search{nodes: l.Nodes, index: map[string]int{}, groups: max(2, l.Groups), flaky: l.flaky(), had: map[string]bool{}}
	for i, n := range l.Nodes {
		s.index[n] = i
	}
	var err error
	if s.branches, err = grow(l.Topology, s.index); err != nil {
		return nil, err
	}
	s.begin(l)
	rounds := map[int][]Test{}
	for _, t := range l.Tests {
		s.round = max(s.round, t.Round)
		rounds[t.Round] = append(rounds[t.Round], t)
	}
	for r := 1; r <= s.round; r++ {
		if err := s.weigh(rounds[r]); err != nil {
			return nil, err
		}
	}
	s.dice = rand.New(rand.NewPCG(uint64(len(l.Nodes)), uint64(s.round)))
	return s, nil
}

// begin gives every hypothesis its odds before any test.
func (s *search) begin(l *Ledger) {
	add := func(form form, list []hypothesis, weight func(hypothesis) float64) {
		sum := 0.0
		for _, h := range list {
			sum += weight(h)
		}
		for _, h := range list {
			s.hyps = append(s.hyps, h)
			s.odds = append(s.odds, prior[form]*weight(h)/sum)
		}
	}
	suspect := make([]float64, len(s.nodes))
	for i, n := range s.nodes {
		suspect[i] = 1
		if slices.Contains(l.Suspects, n) {
			suspect[i] = suspected
		}
	}
	one := func(hypothesis) float64 { return 1 }
	add(absent, []hypothesis{{kind: absent}}, one)
	add(whole, []hypothesis{{kind: whole}}, one)
	if l.Kind == Any || l.Kind == Node {
		var list []hypothesis
		for i := range s.nodes {
			list = append(list, hypothesis{kind: ofNode, a: int16(i)})
		}
		add(ofNode, list, func(h hypothesis) float64 { return suspect[h.a] })
	}
	if l.Kind == Any || l.Kind == Link {
		var list []hypothesis
		for i := range s.nodes {
			for j := i + 1; j < len(s.nodes); j++ {
				list = append(list, hypothesis{kind: ofLink, a: int16(i), b: int16(j)})
			}
		}
		add(ofLink, list, func(h hypothesis) float64 { return max(suspect[h.a], suspect[h.b]) })
	}
	if l.Kind == Any || l.Kind == Switch {
		var list []hypothesis
		for i := range s.branches {
			list = append(list, hypothesis{kind: ofTrunk, a: int16(i)})
		}
		add(ofTrunk, list, one)
	}
	s.scale()
}

// scale makes the odds sum to 1 again.
func (s *search) scale() {
	sum := 0.0
	for _, o := range s.odds {
		sum += o
	}
	for i := range s.odds {
		s.odds[i] /= sum
	}
}

// division is a set of disjoint groups of nodes: of each node the group, -1 where it rests.
type division struct {
	of     []int8
	groups int
	all    bool     // one group holds every node
	trunks []uint32 // of each branch, the groups whose traffic crosses it
}

func (s *search) divide(of []int8, groups int) *division {
	d := &division{of: of, groups: groups, all: groups == 1 && !slices.Contains(of, -1), trunks: make([]uint32, len(s.branches))}
	for i := range s.branches {
		d.trunks[i] = s.branches[i].crossed(of)
	}
	return d
}

// fails are the groups that fail if the hypothesis is true, a bit for each.
func (d *division) fails(h hypothesis) uint32 {
	switch h.kind {
	case ofNode:
		if g := d.of[h.a]; g >= 0 {
			return 1 << g
		}
	case ofLink:
		if g := d.of[h.a]; g >= 0 && g == d.of[h.b] {
			return 1 << g
		}
	case ofTrunk:
		return d.trunks[h.a]
	case whole:
		if d.all {
			return 1
		}
	}
	return 0
}

// weigh changes the odds by the outcomes of one round.
func (s *search) weigh(tests []Test) error {
	of := make([]int8, len(s.nodes))
	for i := range of {
		of[i] = -1
	}
	if len(tests) > mostGroups {
		return fmt.Errorf("round %d has %d tests: at most %d run side by side", tests[0].Round, len(tests), mostGroups)
	}
	for g, t := range tests {
		for _, n := range t.Nodes {
			i, ok := s.index[n]
			if !ok {
				return fmt.Errorf("test %s: %s isn't one of the nodes", t.ID, n)
			}
			of[i] = int8(g)
		}
		s.had[key(t.Nodes)] = true
	}
	d := s.divide(of, len(tests))
	says := make([]float64, 1<<len(tests)) // how likely the outcomes are, by the groups that should fail
	for mask := range says {
		says[mask] = 1
		for g, t := range tests {
			switch {
			case t.Outcome == Void || t.Outcome == Pending:
			case (t.Outcome == Fail) == (mask>>g&1 == 1):
				says[mask] *= 1 - s.flaky
			default:
				says[mask] *= s.flaky
			}
		}
	}
	for i, h := range s.hyps {
		s.odds[i] *= says[d.fails(h)]
	}
	s.scale()
	return nil
}

// best is the most likely hypothesis.
func (s *search) best() int {
	at := 0
	for i, o := range s.odds {
		if o > s.odds[at] {
			at = i
		}
	}
	return at
}

// found is how the search ended, nil while it goes on.
func (s *search) found() *Finding {
	at := s.best()
	h, odds := s.hyps[at], s.odds[at]
	switch {
	case h.kind == absent && odds >= sureNone:
		return &Finding{Absent: true, Odds: odds}
	case h.kind == whole && odds >= sureNone:
		return &Finding{Whole: true, Odds: odds}
	case h.kind >= ofNode && odds >= sure:
		return &Finding{Kind: h.is(), Names: s.names(h), Odds: odds}
	}
	return nil
}

func (h hypothesis) is() Kind {
	return map[form]Kind{ofNode: Node, ofLink: Link, ofTrunk: Switch}[h.kind]
}

func (s *search) names(h hypothesis) []string {
	switch h.kind {
	case ofNode:
		return []string{s.nodes[h.a]}
	case ofLink:
		return []string{s.nodes[h.a], s.nodes[h.b]}
	case ofTrunk:
		return []string{s.branches[h.a].name}
	}
	return nil
}

// likely are the most likely culprits in words, best first.
func (s *search) likely(n int) []string {
	var order []int
	for i, h := range s.hyps {
		if s.odds[i] < worthNaming {
			continue
		}
		if h.kind >= ofNode {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.odds[b], s.odds[a]) })
	var out []string
	for _, i := range order[:min(n, len(order))] {
		out = append(out, fmt.Sprintf("%s (%.0f%%)", Culprit(s.hyps[i].is(), s.names(s.hyps[i])), 100*s.odds[i]))
	}
	return out
}

// tells is how much a division is expected to tell, in bits, if no outcome were wrong.
func (s *search) tells(d *division) float64 {
	share := make([]float64, 1<<d.groups)
	for i, h := range s.hyps {
		share[d.fails(h)] += s.odds[i]
	}
	bits := 0.0
	for _, p := range share {
		if p > 0 {
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// left is about how many rounds are still needed.
func (s *search) left() int {
	bits := 0.0
	for _, o := range s.odds {
		if o > 0 {
			bits -= o * math.Log2(o)
		}
	}
	return int(math.Ceil(bits/math.Log2(float64(s.groups)))) + 1
}
