package resolve

import (
	"slices"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// ShiftedClock is a clock that shows another time than the report gives, on one node or on several alike.
type ShiftedClock struct {
	By    line.Emitter
	Nodes []string // by name
	Files []string // of which the node is not known
	// Shift is what is added to its times, in seconds, and Unc its uncertainty.
	Shift, Unc float64
	// Own and Ref are two lines of one moment, by this clock and by the one that the report follows.
	Own, Ref *worker.At
}

// ShiftedClocks are the clocks whose lines the report moves, those of programs first.
func (f *Facts) ShiftedClocks() []ShiftedClock {
	type alike struct {
		by    line.Emitter
		shift float64
	}
	at := map[alike]int{}
	var out []ShiftedClock
	for _, k := range f.clock.known() {
		o := f.clock.offsets[k]
		if o.shift == 0 || o.own == nil {
			continue
		}
		i, seen := at[alike{k.emitter, o.shift}]
		if !seen {
			i = len(out)
			at[alike{k.emitter, o.shift}] = i
			out = append(out, ShiftedClock{By: k.emitter, Shift: o.shift, Own: o.own, Ref: o.ref})
		}
		c := &out[i]
		c.Unc = max(c.Unc, o.unc)
		if file, ok := strings.CutPrefix(k.node, "file "); ok {
			c.Files = append(c.Files, file)
		} else if k.node != "" {
			c.Nodes = append(c.Nodes, k.node)
		}
	}
	return out
}

// known are the clocks that were compared with others, in order.
func (c *clock) known() []clockKey {
	keys := make([]clockKey, 0, len(c.offsets))
	for k := range c.offsets {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b clockKey) int {
		if a.emitter != b.emitter {
			return int(a.emitter) - int(b.emitter)
		}
		return strings.Compare(a.node, b.node)
	})
	return keys
}

// OwnTime is what a program's clock on a node shows at a moment, or SLURM's where the moment is of its line; not valid where that is no other
// time than the report gives.
func (f *Facts) OwnTime(m Moment, node string, by line.Emitter) Moment {
	o := f.clock.offsets[clockKey{node, by}]
	if o.shift == 0 || !m.Valid {
		return Moment{}
	}
	return m.Add(-o.shift)
}

// SchedulersShift is by how much SLURM's clock, which is its nodes', is behind that of the report; one is false where it shows the same, is not
// compared, or nodes differ.
func (f *Facts) SchedulersShift() (shift float64, one bool) {
	for k, o := range f.clock.offsets {
		if k.emitter != line.Slurm {
			continue
		}
		if one && o.shift != shift {
			return 0, false
		}
		shift, one = o.shift, true
	}
	return shift, one && shift != 0
}
