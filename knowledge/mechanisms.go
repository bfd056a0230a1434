package knowledge

import (
	"slices"
	"sync"
)

// mechanismTables hold one entry for every slug of the taxonomy, a file for each family.
var mechanismTables = [][]Mechanism{
	hangMechanisms,
	softwareMechanisms,
	gpuMechanisms,
	networkMechanisms,
	dataMechanisms,
	storageMechanisms,
	infrastructureMechanisms,
	performanceMechanisms,
	slowMechanisms,
}

var mechanismIndex = sync.OnceValue(func() map[Slug]*Mechanism {
	out := map[Slug]*Mechanism{}
	for _, table := range mechanismTables {
		for i := range table {
			out[table[i].Slug] = &table[i]
		}
	}
	return out
})

// MechanismBySlug finds a mechanism by its slug. The caller must not change its advice.
func MechanismBySlug(slug Slug) (Mechanism, bool) {
	if m, ok := mechanismIndex()[slug]; ok {
		return *m, true
	}
	return Mechanism{}, false
}

// Performance is the origin of the mechanisms of jobs that go on: they are slow, or learn nothing.
const Performance = "performance"

// GoesOn says that a mechanism does not end a job.
func GoesOn(slug Slug) bool {
	m, ok := MechanismBySlug(slug)
	return ok && m.Origin == Performance
}

// Mechanisms returns all mechanisms in table order.
func Mechanisms() []Mechanism { return slices.Concat(mechanismTables...) }
