// Package isolate finds which node, link or switch makes a fault come back, or from which size on it comes, by tests that people
// run: it proposes a round of tests, takes their outcomes, and narrows until one culprit is left.
//
// Outcomes may be wrong (a flaky fault passes, a busy network fails), so nothing is ever ruled out by one test: every hypothesis
// keeps a probability, and each round is chosen to tell the most. The same ledger always gives the same next round.
package isolate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/hostlist"
)

// Kind is what a culprit may be.
type Kind string

// The kinds of culprits. Any looks for all of them at once.
const (
	Any    Kind = "any"
	Node   Kind = "node"
	Link   Kind = "link"   // the path between two nodes
	Switch Kind = "switch" // where the topology is known
)

// Outcome is how a test ended.
type Outcome string

// The outcomes of a test. A void test says nothing: it could not run.
const (
	Pending Outcome = ""
	Pass    Outcome = "pass"
	Fail    Outcome = "fail"
	Void    Outcome = "void"
)

// Test is one run of the test command.
type Test struct {
	ID      string   `json:"id"` // round and letter, "3b"
	Round   int      `json:"round"`
	Nodes   []string `json:"nodes,omitempty"` // of a search for a culprit, in the order of the ledger
	Size    int      `json:"size,omitempty"`  // of a search for a size
	Part    string   `json:"part,omitempty"`  // of a search for a component
	Outcome Outcome  `json:"outcome,omitempty"`
	// Name is that of the job that runs it where the bot submits it, By who clicked, and Job its id once it is known.
	Name string `json:"name,omitempty"`
	By   string `json:"by,omitempty"`
	Job  string `json:"job,omitempty"`
}

// Ledger is a whole search. It is what is kept between rounds.
type Ledger struct {
	Kind     Kind     `json:"kind,omitempty"`
	Nodes    []string `json:"nodes,omitempty"`
	Suspects []string `json:"suspects,omitempty"` // nodes that something speaks against already
	Topology []Branch `json:"topology,omitempty"`
	// Groups is how many tests may run side by side; 0 = 2.
	Groups int `json:"groups,omitempty"`
	// Sizes is set where a size is searched for and no culprit.
	Sizes *Sizes `json:"sizes,omitempty"`
	// Components are set where one of them is searched for: what the job does, each of which a test does alone.
	Components []string `json:"components,omitempty"`
	// Flaky is the share of outcomes that are wrong; 0 = 0.05.
	Flaky float64 `json:"flaky,omitempty"`
	Tests []Test  `json:"tests"`
	// Command, Partition, Limit and GPUs are what the lines to run need.
	Command   string `json:"command,omitempty"`
	Partition string `json:"partition,omitempty"`
	Limit     string `json:"limit,omitempty"`
	GPUs      int    `json:"gpus,omitempty"` // of a node
}

// Bounds of a search, and what decides it.
const (
	usuallyFlaky = 0.05
	mostGroups   = 8
	mostNodes    = 4096 // links among more are too many to weigh
	mostRounds   = 60
	sure         = 0.9999 // of a culprit: an innocent node must not be excluded
	sureNone     = 0.999  // that the fault does not come back, or needs the whole size
)

// Finding is how a search ended.
type Finding struct {
	Kind    Kind     // what was found; "" where nothing was
	Names   []string // the node, both ends of the link, the switch
	Odds    float64
	Absent  bool     // the fault did not come back in any test
	Whole   bool     // it comes back with all nodes and with no part of them
	Open    []string // where the search gave up: the most likely, best first
	Between [2]int   // of sizes: the largest that works and the smallest that fails
}

// Check says what is wrong with a ledger that a person wrote or began.
func (l *Ledger) Check() error {
	switch {
	case l.Flaky < 0 || l.Flaky >= 0.4:
		return fmt.Errorf("the fraction of wrong outcomes, %g, must be below 0.4", l.Flaky)
	case l.Groups < 0 || l.Groups > mostGroups || l.Groups == 1:
		return fmt.Errorf("%d tests at once: must be 2 to %d", l.Groups, mostGroups)
	case len(l.Tests) > mostRounds*mostGroups:
		return fmt.Errorf("the ledger has %d tests: the limit is %d", len(l.Tests), mostRounds*mostGroups)
	case slices.ContainsFunc(l.Tests, func(t Test) bool { return t.Round < 1 || t.Round > mostRounds }):
		return fmt.Errorf("the ledger has a round that is not between 1 and %d", mostRounds)
	case l.Sizes != nil:
		return l.Sizes.check()
	case len(l.Components) > 0:
		return l.checkComponents()
	case len(l.Topology) > mostNodes:
		return fmt.Errorf("%d switches are too many: the limit is %d", len(l.Topology), mostNodes)
	case len(l.Nodes) < 2:
		return errors.New("a search needs at least two nodes")
	case len(l.Nodes) > mostNodes:
		return fmt.Errorf("%d nodes are too many: the limit is %d", len(l.Nodes), mostNodes)
	case !slices.Contains([]Kind{Any, Node, Link, Switch}, l.Kind):
		return fmt.Errorf("unknown kind of culprit %q: use any, node, link or switch", l.Kind)
	case l.Kind == Switch && len(l.Topology) == 0:
		return errors.New("to look for a switch the topology must be known")
	}
	return l.checkNames()
}

// checkNames refuses what could not be pasted into a shell: the nodes may come from a log, by way of a report.
func (l *Ledger) checkNames() error {
	seen := map[string]bool{}
	for _, n := range l.Nodes {
		if one, err := hostlist.Expand(n); err != nil || len(one) != 1 || one[0] != n {
			return fmt.Errorf("%q is not a node name", n)
		}
		if seen[n] {
			return fmt.Errorf("node %s is listed twice", n)
		}
		seen[n] = true
	}
	return nil
}

// Clone is a ledger that can be added to while the other stays as it is.
func (l *Ledger) Clone() *Ledger {
	c := *l
	c.Tests = slices.Clone(l.Tests)
	return &c
}

// Record writes an outcome down. What was recorded may be corrected.
func (l *Ledger) Record(id string, o Outcome) error {
	if !slices.Contains([]Outcome{Pass, Fail, Void}, o) {
		return fmt.Errorf("unknown outcome %q for test %s: use pass, fail or void", o, id)
	}
	for i := range l.Tests {
		if strings.EqualFold(l.Tests[i].ID, id) {
			l.Tests[i].Outcome = o
			return nil
		}
	}
	return fmt.Errorf("there is no test %q", id)
}

// Pending are the tests that were proposed and have no outcome.
func (l *Ledger) Pending() (list []Test) {
	for _, t := range l.Tests {
		if t.Outcome == Pending {
			list = append(list, t)
		}
	}
	return list
}

// Next gives the tests to run, of this round where outcomes are missing, else of a new one, which is added to the ledger; or
// what was found.
func (l *Ledger) Next() ([]Test, *Finding, error) {
	if err := l.Check(); err != nil {
		return nil, nil, err
	}
	if wait := l.Pending(); len(wait) > 0 {
		return wait, nil, nil
	}
	if l.Sizes != nil {
		return l.nextSize()
	}
	if len(l.Components) > 0 {
		tests, f := l.nextComponents()
		return tests, f, nil
	}
	s, err := l.replay()
	if err != nil {
		return nil, nil, err
	}
	if f := s.found(); f != nil {
		return nil, f, nil
	}
	if s.round >= mostRounds {
		return nil, &Finding{Open: s.likely(5)}, nil
	}
	round := s.round + 1
	var out []Test
	for i, nodes := range s.split() {
		out = append(out, Test{ID: fmt.Sprintf("%d%c", round, 'a'+i), Round: round, Nodes: nodes})
	}
	l.Tests = append(l.Tests, out...)
	return out, nil, nil
}

// Likely are the culprits that are most likely now, best first.
func (l *Ledger) Likely(n int) ([]string, error) {
	if l.Sizes != nil || len(l.Components) > 0 {
		return nil, nil
	}
	s, err := l.replay()
	if err != nil {
		return nil, err
	}
	return s.likely(n), nil
}

func (l *Ledger) flaky() float64 {
	if l.Flaky == 0 {
		return usuallyFlaky
	}
	return l.Flaky
}
