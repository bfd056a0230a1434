package simulate

import (
	"fmt"
	"slices"
)

// mechanism is one way to fail, as the simulator plays it.
type mechanism struct {
	name      string
	line      int // index in lines, from 1
	ablations []string
	// fit adapts a grid spec to what the mechanism needs (layout, release); nil: any.
	fit func(*Spec, *picker)
	// run writes the scene's lines, and sets judge and title.
	run func(*scene) error
}

func registry() []mechanism {
	return slices.Concat(hangs(), killers(), stores(), signs(), syncs(), storages())
}

func findMechanism(name string) (mechanism, error) {
	for _, m := range registry() {
		if m.name == name {
			return m, nil
		}
	}
	return mechanism{}, fmt.Errorf("simulate: unknown mechanism %q", name)
}

// lines are the kinds of trouble, in the order in which the engine learned them.
var lines = []string{
	"Hangs",
	"Process killers, endings, start-up failures and healthy jobs",
	"Data and storage, as workers see them",
	"Numerics and performance",
	"Synchronisation points",
	"Storage, with the logs of its daemons",
}

// storageLine is the line whose incidents come with daemons' logs. They have a board of their own: a grid of all lines is of the
// logs of jobs.
const storageLine = 6

// Lines names the kinds of trouble: the argument of Mechanisms is an index in it, from 1.
func Lines() []string { return slices.Clone(lines) }

// Mechanisms lists the mechanisms of one of Lines, counted from 1; 0 means all.
func Mechanisms(line int) []string {
	var out []string
	for _, m := range registry() {
		if line == 0 || m.line == line {
			out = append(out, m.name)
		}
	}
	return out
}

// Generate plays one spec. The same spec always gives the same bytes.
func Generate(spec Spec) (*Incident, error) {
	m, err := findMechanism(spec.Mechanism)
	if err != nil {
		return nil, err
	}
	if spec.Ablate != "" && !slices.Contains(m.ablations, spec.Ablate) {
		return nil, fmt.Errorf("simulate: %s has no ablation %q", spec.Mechanism, spec.Ablate)
	}
	s, err := newScene(spec)
	if err != nil {
		return nil, err
	}
	if err := m.run(s); err != nil {
		return nil, fmt.Errorf("simulate: playing %s: %w", spec.Mechanism, err)
	}
	if s.judge == nil {
		return nil, fmt.Errorf("simulate: %s states no truth", spec.Mechanism)
	}
	return s.finish()
}
