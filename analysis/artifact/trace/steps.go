package trace

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

const (
	maxSteps = 4096
	maxOps   = 64 // kinds of collectives in one step
	maxCalls = 16 // of one kind at either end of a step
)

// finish makes steps of what was collected.
func (c *collector) finish() {
	t := &c.t
	computed, kernels := c.compute.joined()
	if t.GPU {
		c.ops = spans{}
	} else {
		_, kernels = c.ops.joined()
	}
	copied, _ := c.copies.joined()
	comm, _ := c.comm.joined()
	calls := c.calls
	if !t.GPU {
		calls = c.works
		for _, n := range c.works {
			c.comm.add(n.ts, n.dur)
		}
		comm, _ = c.comm.joined()
	}
	slices.SortFunc(calls, byTime)
	slices.SortFunc(c.loads, byTime)
	for i := range calls {
		t.Pairs = t.Pairs || calls[i].pair
		t.Exchange = t.Exchange || calls[i].swap
		t.Grouped = t.Grouped || calls[i].group != ""
	}
	work := both(computed, copied)
	busy := both(work, comm)
	frames := c.frames(busy)
	gpuFrames := len(c.gpuSteps) > 0
	for i, f := range frames {
		w := f.w
		s := Step{Number: f.number, Dur: w.to - w.from, Comm: within(comm, w)}
		if f.cpu >= 0 {
			s.At = c.steps[f.cpu].at.known()
		}
		s.Exposed = s.Comm
		if t.GPU {
			all := within(busy, w)
			s.Compute = within(computed, w)
			s.Exposed, s.Idle = all-within(work, w), s.Dur-all
		}
		s.Kernels = between(kernels, w)
		s.Ops = ops(calls[sort.Search(len(calls), func(i int) bool { return calls[i].ts >= w.from }):], w.to)
		loads := w
		if gpuFrames && f.cpu >= 0 { // the process is ahead of its GPU
			loads = span{c.steps[f.cpu].ts, c.steps[f.cpu].ts + c.steps[f.cpu].dur}
		}
		if i == 0 && f.number != None { // the first batch of a recording is often waited for before its first step
			loads.from = min(loads.from, w.from)
		}
		s.wait(c.loads, loads)
		t.Steps = append(t.Steps, s)
	}
}

func byTime(a, b note) int {
	return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.at.nameOff, b.at.nameOff))
}

// wait adds up the waits for data that begin in a time.
func (s *Step) wait(loads []note, w span) {
	longest := int64(-1)
	for i := sort.Search(len(loads), func(i int) bool { return loads[i].ts >= w.from }); i < len(loads) && loads[i].ts < w.to; i++ {
		n := &loads[i]
		s.Loader += n.dur
		if n.dur > longest {
			longest, s.LoaderAt = n.dur, n.at.known()
		}
	}
}

// frame is the time of one step.
type frame struct {
	number int64
	w      span
	cpu    int // its event among the steps of the process, −1 none
}

// frames are the times of the steps: of the GPU, where the profiler marked them there, from the begin of one to the begin of the next;
// else of the process.
func (c *collector) frames(busy []span) []frame {
	slices.SortFunc(c.steps, byTime)
	cpu := map[int64]int{}
	var out []frame
	for i := range c.steps {
		n := &c.steps[i]
		if id, ok := stepNumber(n.name); ok {
			if _, seen := cpu[id]; !seen {
				cpu[id] = i
				out = append(out, frame{id, span{n.ts, n.ts + n.dur}, i})
			}
		}
	}
	gpu := map[int64]span{}
	for i := range c.gpuSteps {
		n := &c.gpuSteps[i]
		if id, ok := stepNumber(n.name); ok {
			w, seen := gpu[id]
			if !seen {
				w = span{n.ts, n.ts + n.dur}
			}
			gpu[id] = span{min(w.from, n.ts), max(w.to, n.ts+n.dur)}
		}
	}
	if len(gpu) > 0 {
		out = out[:0]
		for id, w := range gpu {
			f := frame{id, w, -1}
			if i, ok := cpu[id]; ok {
				f.cpu = i
			}
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b frame) int { return cmp.Compare(a.number, b.number) })
	if len(gpu) > 0 {
		for i := range out {
			if i+1 < len(out) && out[i+1].number == out[i].number+1 && out[i+1].w.from > out[i].w.from {
				out[i].w.to = out[i+1].w.from
			}
		}
	}
	if len(out) == 0 && len(busy) > 0 {
		out = []frame{{None, span{busy[0].from, busy[len(busy)-1].to}, -1}}
	}
	return out[:min(len(out), maxSteps)]
}

func stepNumber(name string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimPrefix(name, "ProfilerStep#"), 10, 64)
	return n, err == nil && n >= 0
}

// ops adds up the collectives that begin before a time.
func ops(calls []note, to int64) []Op {
	type key struct{ name, group string }
	index := map[key]int{}
	var out []Op
	for i := range calls {
		n := &calls[i]
		if n.ts >= to {
			break
		}
		k := key{n.name, n.group}
		j, ok := index[k]
		if !ok {
			if len(out) >= maxOps {
				continue
			}
			j = len(out)
			index[k] = j
			out = append(out, Op{Name: n.name, Group: n.group, Desc: n.desc, Size: n.size})
		}
		o := &out[j]
		o.N++
		o.Total += n.dur
		call := Call{n.dur, n.at.known()}
		switch {
		case len(o.First) < maxCalls:
			o.First = append(o.First, call)
		case len(o.Last) < maxCalls:
			o.Last = append(o.Last, call)
		default:
			copy(o.Last, o.Last[1:])
			o.Last[maxCalls-1] = call
		}
	}
	slices.SortFunc(out, func(a, b Op) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group, b.Group)) })
	return out
}

// At is the i-th of the collectives, from 0; false where it was not kept.
func (o *Op) At(i int) (Call, bool) {
	switch {
	case i < 0 || i >= o.N:
		return Call{}, false
	case i < len(o.First):
		return o.First[i], true
	case i >= o.N-len(o.Last):
		return o.Last[i-(o.N-len(o.Last))], true
	}
	return Call{}, false
}

func (p place) known() Place {
	if p.nameText == "" {
		return Place{}
	}
	return Place{Text{p.nameLine, p.nameOff, p.nameKey, p.nameText}, Text{p.durLine, p.durOff, p.durKey, p.durText}}
}
