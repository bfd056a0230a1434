package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/trace"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// traceArtifact says what the profiler's traces show of ranks and steps.
func traceArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "profiler-trace", Title: "PyTorch profiler traces"}
	t := f.Traced
	if t == nil {
		return a, false
	}
	for _, files := range t.Files {
		a.Files = append(a.Files, files...)
	}
	a.Files = append(a.Files, t.Unjoined...)
	slices.Sort(a.Files)
	limits := []string{"Only durations are compared, because ranks' clocks may differ. A trace shows the recorded steps, not the end of the job."}
	c := t.Compared
	for i := range c.Held {
		h := &c.Held[i]
		list := mechanism.HeldFindings(f, h)
		if i == 0 {
			list[0].Statement += fmt.Sprintf("; in %d of %d steps, rank %d takes %.2f× as long as its peers%s", h.N, len(c.Steps), h.Rank, h.Ratio, causeWords[h.Cause])
		}
		a.Findings = append(a.Findings, list[:min(len(list), 2-min(i, 1))]...)
		switch {
		case h.Uneven:
			limits = append(limits, fmt.Sprintf("The ranks exchange work (all-to-all): rank %d may be as fast as its peers but have been given more, for example by a popular expert.", h.Rank))
		case h.Partial:
			limits = append(limits, fmt.Sprintf("Not all ranks were traced, and rank %d waits too: an untraced rank may be even slower.", h.Rank))
		case h.Cause == trace.More:
			limits = append(limits, fmt.Sprintf("Rank %d runs different kernels or operations from its peers: it has more work, which says nothing about its speed.", h.Rank))
		}
	}
	a.Findings = append(a.Findings, shareFindings(t)...)
	if x, ok := loaderFinding(t); ok {
		a.Findings = append(a.Findings, x)
	}
	if x, ok := longestKind(t); ok {
		a.Findings = append(a.Findings, x)
	}
	if c.Turns {
		limits = append(limits, "In most steps the ranks wait for one rank, but not always the same one: no single rank is slow.")
	}
	if c.Not != "" {
		limits = append(limits, "Ranks were not compared: "+c.Not+".")
	}
	if n := f.Job.WorldSize; n > len(c.Ranks) && len(c.Ranks) > 0 {
		limits = append(limits, fmt.Sprintf("Traces cover %d of %d ranks.", len(c.Ranks), n))
	}
	if len(t.Unjoined) > 0 {
		limits = append(limits, fmt.Sprintf("Can't tell which rank wrote %s (no distributedInfo, no rank in the name).", strings.Join(t.Unjoined[:min(len(t.Unjoined), 3)], ", ")))
	}
	for _, id := range t.IDs() {
		if x := t.Ranks[id]; x.Cut != "" || x.More > 0 {
			limits = append(limits, fmt.Sprintf("Rank %d's trace is incomplete: %s.", id, cmp.Or(x.Cut, fmt.Sprintf("%d events exceeded the limit", x.More))))
			break
		}
	}
	a.Limits = strings.Join(limits, " ")
	return a, true
}

// causeWords say what a rank is slower by.
var causeWords = map[string]string{trace.Loading: ": it is waiting for data", trace.Slower: ": its GPU runs as many kernels as theirs, but for longer", trace.More: ": it runs different kernels or operations",
	trace.Host: ": its GPU is idle with nothing launched"}

// share is what part of its steps a rank spent on something.
type share struct {
	rank                                   int
	compute, exposed, overlap, idle, waits float64
	step                                   *trace.Step // the one in the middle by length
	gpu                                    bool
}

func shares(t *resolve.Traced) []share {
	var out []share
	for _, id := range t.IDs() {
		x := t.Ranks[id]
		s := share{rank: id, gpu: x.GPU}
		var all, comm float64
		var known []*trace.Step
		for i := range x.Steps {
			st := &x.Steps[i]
			all += float64(st.Dur)
			comm += float64(st.Comm)
			s.compute += float64(st.Compute)
			s.exposed += float64(st.Exposed)
			s.idle += float64(st.Idle)
			s.waits += float64(st.Loader)
			if st.At.Known() {
				known = append(known, st)
			}
		}
		if all <= 0 || len(known) == 0 {
			continue
		}
		slices.SortStableFunc(known, func(a, b *trace.Step) int { return cmp.Compare(a.Dur, b.Dur) })
		s.step = known[(len(known)-1)/2]
		if comm > 0 {
			s.overlap = 1 - s.exposed/comm
		}
		s.compute, s.exposed, s.idle, s.waits = s.compute/all, s.exposed/all, s.idle/all, s.waits/all
		out = append(out, s)
	}
	return out
}

// shareFindings say how much ranks computed, communicated and lay idle: all together, and the one that is furthest from the middle.
func shareFindings(t *resolve.Traced) []incident.Finding {
	list := shares(t)
	if len(list) == 0 {
		return nil
	}
	mid := func(of func(share) float64) float64 {
		v := make([]float64, len(list))
		for i := range list {
			v[i] = of(list[i])
		}
		slices.Sort(v)
		return v[(len(v)-1)/2]
	}
	exposed := mid(func(s share) float64 { return s.exposed })
	odd := slices.MinFunc(list, func(a, b share) int {
		return cmp.Or(-cmp.Compare(abs(a.exposed-exposed), abs(b.exposed-exposed)), cmp.Compare(a.rank, b.rank))
	})
	typical := slices.MinFunc(list, func(a, b share) int {
		return cmp.Or(cmp.Compare(abs(a.exposed-exposed), abs(b.exposed-exposed)), cmp.Compare(a.rank, b.rank))
	})
	out := []incident.Finding{shareFinding(&typical, len(list))}
	if abs(odd.exposed-exposed) >= 0.1 {
		out = append(out, shareFinding(&odd, 1))
	}
	return out
}

func shareFinding(s *share, of int) incident.Finding {
	text := fmt.Sprintf("rank %d: collectives in flight for %s of its steps", s.rank, percent(s.exposed))
	if s.gpu {
		text = fmt.Sprintf("rank %d: its GPU computed for %s of its step time, did nothing but wait in collectives for %s (%s of them overlapped) and was idle for %s", s.rank,
			percent(s.compute), percent(s.exposed), percent(s.overlap), percent(s.idle))
	}
	if of > 1 {
		text += fmt.Sprintf(" (the median of %d ranks by wait time)", of)
	}
	return incident.Finding{Statement: text, Evidence: mechanism.TraceQuotes(s.step.File, s.step.At.Name, s.step.At.Dur)}
}

// much is what part of a step is worth a word.
const much = 0.1

func loaderFinding(t *resolve.Traced) (incident.Finding, bool) {
	list := shares(t)
	if len(list) == 0 {
		return incident.Finding{}, false
	}
	slices.SortStableFunc(list, func(a, b share) int { return -cmp.Compare(a.waits, b.waits) })
	most, least := list[0], list[len(list)-1]
	if most.waits < much || !most.step.LoaderAt.Known() {
		return incident.Finding{}, false
	}
	text := fmt.Sprintf("rank %d waits for data (enumerate(DataLoader)) for %s of its step time", most.rank, percent(most.waits))
	if len(list) > 1 {
		text += fmt.Sprintf("; the most of %d ranks (the least: rank %d, %s)", len(list), least.rank, percent(least.waits))
	}
	return incident.Finding{Statement: text, Evidence: mechanism.TraceQuotes(most.step.File, most.step.LoaderAt.Name, most.step.LoaderAt.Dur)}, true
}

// longestKind is the kind of collective that took longest over all ranks.
func longestKind(t *resolve.Traced) (incident.Finding, bool) {
	type sum struct {
		n     int
		total int64
		call  trace.Call
		file  string
		rank  int
	}
	sums := map[string]*sum{}
	whole := int64(0)
	sharded := false
	for _, id := range t.IDs() {
		x := t.Ranks[id]
		sharded = sharded || x.Sharded
		for i := range x.Steps {
			for k := range x.Steps[i].Ops {
				o := &x.Steps[i].Ops[k]
				s := sums[o.Name]
				if s == nil {
					s = &sum{}
					sums[o.Name] = s
				}
				s.n += o.N
				s.total += o.Total
				whole += o.Total
				for _, c := range slices.Concat(o.First, o.Last) {
					if c.At.Known() && c.Dur > s.call.Dur {
						s.call, s.file, s.rank = c, x.Steps[i].File, id
					}
				}
			}
		}
	}
	best := ""
	for name, s := range sums {
		if best == "" || s.total > sums[best].total || s.total == sums[best].total && name < best {
			best = name
		}
	}
	if best == "" || !sums[best].call.At.Known() {
		return incident.Finding{}, false
	}
	s := sums[best]
	text := fmt.Sprintf("of the time in collectives, %s is %s (%d of them); the longest recorded one, on rank %d, took %.1f ms", percent(float64(s.total)/float64(whole)), best, s.n, s.rank, float64(s.call.Dur)/1e6)
	if sharded {
		text += "; the model is sharded (FSDP): all-gathers bring its parameters, reduce-scatters its gradients"
	}
	return incident.Finding{Statement: text, Evidence: mechanism.TraceQuotes(s.file, s.call.At.Name, s.call.At.Dur)}, true
}

func percent(x float64) string { return fmt.Sprintf("%.0f%%", 100*x) }

func abs(x float64) float64 { return max(x, -x) }
