package simulate

import (
	"slices"
	"strings"
)

// remains is what of the killers' evidence is left in the final files.
type remains struct {
	says    says
	entries []entry
}

// remains collects the lines that survive the spec's damage, as look does, with their marks.
func (s *scene) remains() *remains {
	sinks := s.sinks()
	if err := s.damage(sinks); err != nil {
		return &remains{} // finish has met the same error before it asked for the truth
	}
	m := &remains{}
	for _, k := range sinks {
		if k.missing {
			continue
		}
		entries := k.entries
		if k.cut && len(entries) > 0 {
			entries = entries[:len(entries)-1]
		}
		for _, e := range entries {
			m.says |= e.says
		}
		m.entries = append(m.entries, entries...)
	}
	return m
}

// survive tells whether a line with any of the marks is left.
func (m *remains) survive(f says) bool { return m.says&f != 0 }

// holds tells whether the text is left somewhere.
func (m *remains) holds(text string) bool {
	return slices.ContainsFunc(m.entries, func(e entry) bool { return strings.Contains(e.text, text) })
}

// rooted adds the proven root ranks and the nodes that the bytes tie them to.
func (v *view) rooted(t Truth, ranks []int) Truth {
	t.RootRanks = slices.Clone(ranks)
	t.RootNodes = v.rootNodes(ranks)
	return t
}

// fixed is a truth that no damage of this scene changes.
func (s *scene) fixed(t Truth) {
	s.title = t.World
	s.judge = func(*view) Truth { return t }
}
