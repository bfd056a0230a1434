package mechanism

import (
	"fmt"
	"slices"

	"faultline/analysis/artifact/trace"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// Limits of what a profiler's traces conclude of communication.
const (
	muchExposed = 0.4 // of a step in collectives, with nothing else to do
	overlapping = 0.5 // of the time in collectives: above it, overlap is not what lacks
)

// exposedInTrace: ranks wait in collectives for much of each step while they compute nothing, and no traced rank makes the others wait.
func exposedInTrace(f *resolve.Facts, slower bool) *Proposal {
	t := f.Traced
	if t == nil || len(t.Compared.Held) > 0 || t.Compared.Turns {
		return nil
	}
	var least, overlap float64
	var shown *trace.Step
	ids := t.IDs()
	for _, id := range ids {
		x := t.Ranks[id]
		if x.Pairs || x.Exchange { // bubbles of a pipeline and uneven experts wait as well, by design
			return nil
		}
		steps := x.Steps
		var all, comm, exposed float64
		for i := range steps {
			all, comm, exposed = all+float64(steps[i].Dur), comm+float64(steps[i].Comm), exposed+float64(steps[i].Exposed)
		}
		if len(steps) < 2 || comm == 0 || !x.GPU {
			return nil
		}
		if share := exposed / all; shown == nil || share < least {
			least, overlap, shown = share, 1-exposed/comm, middleStep(steps)
		}
	}
	if shown == nil || !shown.At.Known() || least < muchExposed {
		return nil
	}
	p := &Proposal{Mechanism: knowledge.SlowCommunication, Class: Degraded, Scope: "all", Base: 0.8}
	if slower { // else that its time was up has other reasons
		p.Explains = endedSlow
	}
	p.Summary = fmt.Sprintf("every traced rank waits in collectives for at least %.0f%% of its step time; %.0f%% of communication overlaps with compute", 100*least, 100*overlap)
	p.Why = fmt.Sprintf("profiler traces from %s; no traced rank makes the other ranks wait", plural(len(ids), "rank", "ranks"))
	p.For = []incident.Finding{finding(fmt.Sprintf("ProfilerStep#%d took %s, with %s in collectives and nothing overlapping them", shown.Number, nanos(shown.Dur), nanos(shown.Exposed)), callEvidence(shown.File, shown.At)...)}
	if len(ids) < f.Job.WorldSize {
		p.Rivals = []knowledge.Slug{knowledge.SlowRank}
		p.Why += fmt.Sprintf(", and %d were not traced", f.Job.WorldSize-len(ids))
	}
	if overlap < overlapping {
		p.Now = append(p.Now, knowledge.Advice{Text: "Overlap the gradients' all-reduce with the backward pass: use gradient buckets of 25 to 100 MB, and don't wait between backward and optimizer.",
			Command: "DistributedDataParallel(..., bucket_cap_mb=50)   # Megatron: --overlap-grad-reduce --overlap-param-gather"})
		return p
	}
	p.Now = append(p.Now, advicePairs)
	return p
}

// middleStep is the step in the middle by length.
func middleStep(steps []trace.Step) *trace.Step {
	order := make([]*trace.Step, len(steps))
	for i := range steps {
		order[i] = &steps[i]
	}
	slices.SortStableFunc(order, func(a, b *trace.Step) int { return int(a.Dur - b.Dur) })
	return order[(len(order)-1)/2]
}
