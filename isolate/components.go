package isolate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/hostlist"
)

// Component is what a command has where the component's name goes.
const Component = "{component}"

// JobComponents are what a training job does, in the order in which one rests on the other.
var JobComponents = []string{"compute", "memory", "data", "communication"}

// ComponentTest is what is run where nobody says what tests one component ("bot probe" writes it).
const ComponentTest = "python3 probe.py " + Component

// componentRuns bounds how often one component is tested: one that fails is run again, for a test fails by chance, too.
const componentRuns = 7

// How many more tests of a component have to pass than fail, or fail than pass, to settle it. One outcome in twenty may be by chance, and an
// accusation needs more than an acquittal: several components are tested.
const (
	clearPasses = 2
	clearFails  = 3
)

func (l *Ledger) checkComponents() error {
	switch {
	case len(l.Components) > mostGroups:
		return fmt.Errorf("%d components: at most %d", len(l.Components), mostGroups)
	case !strings.Contains(l.Command, Component):
		return fmt.Errorf("the test has no %s, so every component would run the same", Component)
	case len(l.Nodes) == 0:
		return errors.New("name the nodes that run the tests")
	case slices.ContainsFunc(l.Components, func(c string) bool { return c == "" || strings.Trim(c, "abcdefghijklmnopqrstuvwxyz-") != "" }):
		return errors.New("components are named in lower-case letters")
	}
	return l.checkNames()
}

// tally counts how tests of a component ended.
func (l *Ledger) tally(component string) (passed, failed, runs int) {
	for _, t := range l.Tests {
		if t.Part != component {
			continue
		}
		runs++
		switch t.Outcome {
		case Pass:
			passed++
		case Fail:
			failed++
		}
	}
	return passed, failed, runs
}

// nextComponents tests each component, and again those that failed or could not run. A component that has failed is settled before the others
// are tested once more: where it is the culprit, one pass clears them.
func (l *Ledger) nextComponents() ([]Test, *Finding) {
	var suspects, others []string // whose tests do not settle them yet
	f := &Finding{Kind: "component"}
	enough := clearPasses
	for _, c := range l.Components {
		if passed, failed, _ := l.tally(c); failed-passed >= clearFails {
			enough = 1
		}
	}
	for _, c := range l.Components {
		passed, failed, runs := l.tally(c)
		settled := passed-failed >= clearPasses || failed-passed >= clearFails || failed == 0 && passed >= enough
		switch {
		case !settled && runs < componentRuns && failed > 0:
			suspects = append(suspects, c)
		case !settled && runs < componentRuns:
			others = append(others, c)
		case !settled && passed == failed:
			f.Open = append(f.Open, c)
		case failed > passed:
			f.Names = append(f.Names, c)
		}
	}
	if len(suspects) == 0 {
		suspects = others
	}
	if len(suspects) == 0 {
		f.Absent = len(f.Names)+len(f.Open) == 0
		return nil, f
	}
	round := 1
	for _, t := range l.Tests {
		round = max(round, t.Round+1)
	}
	var out []Test
	for _, c := range suspects {
		out = append(out, Test{ID: fmt.Sprintf("%d%c", round, 'a'+len(out)), Round: round, Nodes: l.Nodes, Part: c})
	}
	l.Tests = append(l.Tests, out...)
	return out, nil
}

// concludeComponents says which component fails alone, and what to do with it.
func (l *Ledger) concludeComponents(f *Finding) []Part {
	ran := rounds(l.Tests)
	switch {
	case f.Absent:
		return []Part{{Text: fmt.Sprintf("Each component works alone (%s): %s.", ran, strings.Join(l.Components, ", "))},
			{Text: "The fault needs them together, or comes with size: search by size next, or for a node with the job itself as the test."}}
	case len(f.Names) == 0:
		return []Part{{Text: fmt.Sprintf("Can't tell after %s: %s could not run, or changed its outcome.", ran, strings.Join(f.Open, ", "))}}
	}
	parts := []Part{{Text: fmt.Sprintf("Fails alone: %s (%s).", strings.Join(f.Names, ", "), ran)}}
	if len(f.Names) > 1 {
		parts = append(parts, Part{Text: fmt.Sprintf("Fix %s first: what comes after may fail because of it.", f.Names[0])})
	}
	test := strings.ReplaceAll(l.Command, Component, f.Names[0])
	if len(l.Nodes) < 2 {
		return parts
	}
	return append(parts, Part{"To find the node, search with that test:", fmt.Sprintf("bot isolate --ledger %s.json --nodes '%s' --gpus %d --test '%s'",
		f.Names[0], hostlist.Compress(l.Nodes), l.GPUs, strings.ReplaceAll(test, "'", `'\''`))})
}
