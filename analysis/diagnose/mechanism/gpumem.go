package mechanism

import (
	"fmt"
	"strconv"

	"faultline/analysis/resolve"
	"faultline/incident"
)

// MemoryOf is whose memory a file speaks of.
func MemoryOf(m resolve.MemoryFile) string {
	if id, ok := m.Rank(); ok {
		return fmt.Sprintf("rank %d", id)
	}
	return m.File
}

// MemoryEvidence quotes the lines of a summary, or the telling segment of a snapshot.
func MemoryEvidence(m resolve.MemoryFile) (out []incident.Evidence) {
	for _, l := range m.Memory.Lines[:min(len(m.Memory.Lines), 4)] {
		e := incident.Quote(m.File, l.N, l.At, "", nil)
		e.Span = l.Len
		out = append(out, e)
	}
	if w := m.Memory.Worst; len(out) == 0 && w.Place != "" {
		out = append(out, incident.Evidence{Kind: incident.KindRecord, File: m.File, Place: w.Place, Predicate: &incident.Predicate{Members: []incident.Member{
			{Name: "total_size", Value: strconv.FormatInt(w.Total, 10)}, {Name: "allocated_size", Value: strconv.FormatInt(w.Allocated, 10)}}}})
	}
	return out
}

// Bytes is a number of bytes as PyTorch writes it.
func Bytes(n int64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
