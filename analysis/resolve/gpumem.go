package resolve

import (
	"cmp"
	"slices"

	"faultline/analysis/artifact/gpumem"
	"faultline/analysis/artifact/trace"
)

// MemoryFile is what one file says of a GPU's memory.
type MemoryFile struct {
	File   string
	Memory *gpumem.Memory
}

// MemoryPoint is what was in use in one of several summaries.
type MemoryPoint = gpumem.Point

// Rank is the rank in the file's name, which is all that tells it.
func (m MemoryFile) Rank() (int, bool) { return trace.RankOf(m.File) }

// byRank are the files in order of rank, those of unknown ranks last; of this run as far as anybody can tell.
func byRank(all []MemoryFile) []MemoryFile {
	return slices.SortedFunc(slices.Values(all), func(a, b MemoryFile) int {
		x, ok := a.Rank()
		y, ok2 := b.Rank()
		if ok != ok2 {
			return map[bool]int{true: -1, false: 1}[ok]
		}
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.File, b.File))
	})
}
