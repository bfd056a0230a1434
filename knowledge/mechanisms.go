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

// Mechanisms returns all mechanisms in table order.
func Mechanisms() []Mechanism { return slices.Concat(mechanismTables...) }
