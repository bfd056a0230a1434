package resolve

import (
	"cmp"
	"maps"
	"slices"

	"faultline/analysis/artifact/trace"
)

// FileTrace is one file of PyTorch's profiler.
type FileTrace struct {
	File  string
	Trace *trace.Trace
}

// Rank is the global rank that the trace, or else its name, states.
func (t FileTrace) Rank() (int, bool) {
	if t.Trace.Rank != trace.None {
		return t.Trace.Rank, true
	}
	return trace.RankOf(t.File)
}

// Traced is what the traces of the run say.
type Traced struct {
	Ranks    map[int]*trace.Trace // all files of a rank together; each step knows its file
	Files    map[int][]string
	Unjoined []string // files whose rank nothing proves
	Compared *trace.Comparison
}

// tracedOf puts the traces of each rank together and sets the ranks side by side, where they are of this job. Where nothing states the number
// of ranks, the first that states it counts.
func tracedOf(all []FileTrace, w world, run which, warn *notes) (*Traced, world) {
	if len(all) == 0 {
		return nil, w
	}
	if !run.last() {
		warn.add("the profiler traces are not used: they may be from a later run")
		return nil, w
	}
	t := &Traced{Ranks: map[int]*trace.Trace{}, Files: map[int][]string{}}
	all = slices.SortedFunc(slices.Values(all), func(a, b FileTrace) int { return cmp.Compare(a.File, b.File) })
	other := 0
	for _, x := range all {
		id, ok := x.Rank()
		size := x.Trace.World
		if size != trace.None && w.size == 0 {
			w.size, w.from = size, "distributedInfo in the profiler's traces"
		}
		switch {
		case !ok:
			t.Unjoined = append(t.Unjoined, x.File)
		case size != trace.None && size != w.size || w.size > 0 && id >= w.size:
			other++
		default:
			t.add(id, x)
		}
	}
	if other > 0 {
		warn.add("%s of the profiler left out: they are from a job of a different size than this one's %d ranks (%s)", countOf(other, "trace"), w.size, w.from)
	}
	if len(t.Ranks)+len(t.Unjoined) == 0 {
		return nil, w
	}
	t.Compared = trace.Compare(t.Ranks, w.size)
	return t, w
}

// add joins one file to those of its rank. The profiler counts steps on from recording to recording; of two files with the same
// step the first by name counts.
func (t *Traced) add(id int, x FileTrace) {
	t.Files[id] = append(t.Files[id], x.File)
	old := t.Ranks[id]
	if old == nil {
		old = &trace.Trace{}
		*old = *x.Trace
		old.Steps = nil
		t.Ranks[id] = old
	}
	old.GPU, old.Pairs, old.Exchange, old.Sharded = old.GPU || x.Trace.GPU, old.Pairs || x.Trace.Pairs, old.Exchange || x.Trace.Exchange, old.Sharded || x.Trace.Sharded
	old.Grouped = old.Grouped || x.Trace.Grouped
	for _, s := range x.Trace.Steps {
		if slices.ContainsFunc(old.Steps, func(o trace.Step) bool { return o.Number == s.Number }) {
			continue
		}
		s.File = x.File
		old.Steps = append(old.Steps, s)
	}
	slices.SortFunc(old.Steps, func(a, b trace.Step) int { return cmp.Compare(a.Number, b.Number) })
}

// IDs are the ranks, ascending.
func (t *Traced) IDs() []int {
	return slices.Sorted(maps.Keys(t.Ranks))
}
