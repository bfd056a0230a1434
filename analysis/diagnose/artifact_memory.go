package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// memoryArtifact says how full GPUs are, how fragmented, and whether one of them holds more than the others.
func memoryArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "gpu-memory", Title: "GPU memory, from PyTorch's allocator",
		Limits: "Each shows the moment it was taken, and only what PyTorch's allocator holds: not NCCL's or the driver's buffers, nor other processes."}
	if len(f.Memories) == 0 {
		return a, false
	}
	list := slices.Clone(f.Memories)
	for _, m := range list {
		a.Files = append(a.Files, m.File)
	}
	slices.Sort(a.Files)
	slices.SortStableFunc(list, func(x, y resolve.MemoryFile) int { return -cmp.Compare(x.Memory.Free(), y.Memory.Free()) })
	worst := list[0]
	m := worst.Memory
	text := fmt.Sprintf("%s: %s reserved, %s of it in use, %s (%s) reserved but unused", mechanism.MemoryOf(worst), mechanism.Bytes(m.Reserved), mechanism.Bytes(m.Allocated), mechanism.Bytes(m.Free()), percent(float64(m.Free())/float64(max(m.Reserved, 1))))
	if m.Inactive > 0 {
		text += fmt.Sprintf("; %s of that is in fragments next to used blocks and can't be released", mechanism.Bytes(m.Inactive))
	}
	if float64(m.Inactive) >= much*float64(m.Reserved) {
		text += ": it is fragmented (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)"
	}
	if ev := mechanism.MemoryEvidence(worst); len(ev) > 0 {
		a.Findings = append(a.Findings, incident.Finding{Statement: text, Evidence: ev})
	}
	if m.LargestIn > 0 && m.Worst.Place != "" {
		a.Findings = append(a.Findings, incident.Finding{Statement: fmt.Sprintf("%s: the segment with the most unused memory holds %s, %s of it in use; the largest unused block anywhere is %s", mechanism.MemoryOf(worst), mechanism.Bytes(m.Worst.Total), mechanism.Bytes(m.Worst.Allocated), mechanism.Bytes(m.LargestIn)),
			Evidence: mechanism.MemoryEvidence(worst)})
	}
	if m.Block.Place != "" && m.Block.Size >= m.Allocated/4 && m.Block.Size >= 1<<30 {
		a.Findings = append(a.Findings, incident.Finding{Statement: fmt.Sprintf("%s: a single %s block is %s of all memory in use. If the job uses FSDP, check for a module that isn't wrapped on its own, so its parameters are gathered in one piece (only a hint)",
			mechanism.MemoryOf(worst), mechanism.Bytes(m.Block.Size), percent(float64(m.Block.Size)/float64(m.Allocated))),
			Evidence: []incident.Evidence{mechanism.MemberEvidence(worst.File, m.Block.Place, "size", strconv.FormatInt(m.Block.Size, 10))}})
	}
	if m.Retries > 0 {
		for _, l := range m.Lines {
			if l.What == "ooms" {
				e := incident.Quote(worst.File, l.N, l.At, "", nil)
				e.Span = l.Len
				a.Findings = append(a.Findings, incident.Finding{Statement: fmt.Sprintf("%s: the allocator released all cached memory and retried %d times: the GPU was full more than once before it failed", mechanism.MemoryOf(worst), m.Retries), Evidence: []incident.Evidence{e}})
			}
		}
	}
	for _, x := range f.Memories {
		if g, ok := mechanism.Grown(x); ok {
			a.Findings = append([]incident.Finding{g}, a.Findings...)
			break
		}
	}
	if x, ok := unlike(f.Memories); ok {
		a.Findings = append([]incident.Finding{x}, a.Findings...)
	}
	return a, true
}

// unlike finds the one rank that uses far more than the others, at least two, that are alike.
func unlike(all []resolve.MemoryFile) (incident.Finding, bool) {
	const far, near = 1.3, 1.1
	var list []resolve.MemoryFile
	for _, m := range all {
		if _, ok := m.Rank(); ok {
			list = append(list, m)
		}
	}
	if len(list) < 3 {
		return incident.Finding{}, false
	}
	slices.SortStableFunc(list, func(x, y resolve.MemoryFile) int { return cmp.Compare(x.Memory.Allocated, y.Memory.Allocated) })
	most, next, least := list[len(list)-1], list[len(list)-2], list[0]
	if float64(most.Memory.Allocated) < far*float64(next.Memory.Allocated) || float64(next.Memory.Allocated) > near*float64(least.Memory.Allocated) {
		return incident.Finding{}, false
	}
	ev := append(mechanism.MemoryEvidence(most), mechanism.MemoryEvidence(next)...)
	return incident.Finding{Statement: fmt.Sprintf("%s uses %s, the other %d at most %s: it holds something they don't, or something they shard (a module FSDP doesn't wrap, gathered tensors, other ranks' tensors loaded onto its GPU)",
		mechanism.MemoryOf(most), mechanism.Bytes(most.Memory.Allocated), len(list)-1, mechanism.Bytes(next.Memory.Allocated)), Evidence: ev}, len(ev) > 0
}
