package mechanism

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// side is what one side of a mismatch called.
type side struct {
	op, tensor string
	seq        int64
}

func (x side) String() string {
	s := x.op
	if x.seq != line.Unknown {
		s += fmt.Sprintf(" #%d", x.seq)
	}
	if x.tensor != "" {
		s += " on " + x.tensor
	}
	return s
}

// sidesFindings say which ranks called what, and where in the program, as far as their own tracebacks show it. Ranks are those inside
// the group.
func sidesFindings(f *resolve.Facts) (out []incident.Finding) {
	const most, quotes = 3, 3
	type pair struct {
		a, b           side
		ranksA, ranksB []int
		at             []worker.At
	}
	var pairs, alone []*pair
	calls := map[int]call{}
	for _, m := range f.Mismatches {
		a, b := sidesOf(m)
		ra, rb := m.RankA, m.RankB
		// The writer is the one that the line names first.
		if c, ok := callAt(f, m.At); ok && calls[ra].what == "" {
			calls[ra] = c
		}
		if rb < 0 {
			i := slices.IndexFunc(alone, func(p *pair) bool { return p.a == a })
			if i < 0 {
				i = len(alone)
				alone = append(alone, &pair{a: a})
			}
			alone[i].ranksA, alone[i].at = appendNew(alone[i].ranksA, ra), append(alone[i].at, m.At)
			continue
		}
		if b.op < a.op || b.op == a.op && (b.seq < a.seq || b.seq == a.seq && b.tensor < a.tensor) {
			a, b, ra, rb = b, a, rb, ra
		}
		i := slices.IndexFunc(pairs, func(p *pair) bool { return p.a == a && p.b == b })
		if i < 0 {
			i = len(pairs)
			pairs = append(pairs, &pair{a: a, b: b})
		}
		p := pairs[i]
		p.ranksA, p.ranksB = appendNew(p.ranksA, ra), appendNew(p.ranksB, rb)
		p.at = append(p.at, m.At)
	}
	where := func(ranks []int) string {
		for _, r := range ranks {
			if c := calls[r]; c.what != "" {
				return ", called in " + c.what
			}
		}
		return ""
	}
	for i, p := range pairs {
		if i == most {
			break
		}
		slices.Sort(p.ranksA)
		slices.Sort(p.ranksB)
		lit := &incident.Predicate{Literals: []string{"Detected mismatch between collectives on ranks"}}
		var ev []incident.Evidence
		for _, at := range p.at[:min(len(p.at), quotes)] {
			ev = append(ev, QuoteAt(at, lit))
		}
		// Both sides' own words where they are there, though they be the fourth.
		for _, at := range p.at[min(len(p.at), quotes):] {
			if r, ok := f.RankOf(at); ok && len(p.ranksA) != len(p.ranksB) && (slices.Equal(p.ranksA, []int{r}) || slices.Equal(p.ranksB, []int{r})) {
				ev[len(ev)-1] = QuoteAt(at, lit)
			}
		}
		out = append(out, finding(fmt.Sprintf("%s ran %s%s, while %s ran %s%s (group ranks)", rankWords(p.ranksA), p.a, where(p.ranksA),
			rankWords(p.ranksB), p.b, where(p.ranksB)), ev...))
	}
	for i, p := range alone {
		if len(out) == most || i == most {
			break
		}
		slices.Sort(p.ranksA)
		var ev []incident.Evidence
		for _, at := range p.at[:min(len(p.at), quotes)] {
			ev = append(ev, QuoteAt(at, nil))
		}
		verb := "ran"
		if p.a.tensor == "" {
			verb = "found other ranks with different tensors, or in a different collective, when it ran"
			if len(p.ranksA) > 1 {
				verb = "found other ranks with different tensors, or in a different collective, when they ran"
			}
		}
		out = append(out, finding(fmt.Sprintf("%s %s %s%s (group ranks)", rankWords(p.ranksA), verb, p.a, where(p.ranksA)), ev...))
	}
	return out
}

// sidesOf are both sides of a mismatch, with what differs.
func sidesOf(m worker.Mismatch) (a, b side) {
	a, b = side{op: m.OpA, seq: line.Unknown}, side{op: m.OpB, seq: line.Unknown}
	if m.RankB < 0 {
		a.tensor = m.TensorA
	}
	if m.TensorA != "" && m.TensorB != "" && m.TensorA != m.TensorB {
		a.tensor, b.tensor = m.TensorA, m.TensorB
	}
	if m.SeqA != m.SeqB {
		a.seq, b.seq = m.SeqA, m.SeqB
	}
	return a, b
}

// call is where a program calls what failed.
type call struct{ what string }

// callAt finds the innermost frame of the program's own in the traceback whose message stands in a line.
func callAt(f *resolve.Facts, at worker.At) (call, bool) {
	for i := range f.Obs.Exceptions {
		x := &f.Obs.Exceptions[i]
		if x.Pos != at.Pos || x.Torn {
			continue
		}
		if fr, ok := ownFrame(x.Frames); ok {
			return call{fmt.Sprintf("%s (%s:%d)", fr.Func, path.Base(fr.File), fr.Line)}, true
		}
	}
	return call{}, false
}

// ownFrame is the innermost frame that is neither PyTorch's nor Python's own, the last of a traceback.
func ownFrame(frames []worker.Frame) (worker.Frame, bool) {
	for _, fr := range slices.Backward(frames) {
		if fr.Func != "" && !strings.Contains(fr.File, "/torch/") && !strings.HasPrefix(fr.File, "torch/") && !strings.HasPrefix(fr.File, "<") {
			return fr, true
		}
	}
	return worker.Frame{}, false
}

// stackCall is where a rank called the collective that its watchdog gave up on, as the stack under the watchdog's line shows it.
func stackCall(f *resolve.Facts, p *resolve.Pending) string {
	for i := range f.Obs.Stacks {
		st := &f.Obs.Stacks[i]
		if id, ok := f.RankOf(st.At); !ok || id != p.Rank.ID || st.File != p.At.File || st.Off < p.At.Off {
			continue
		}
		if slices.ContainsFunc(p.Rank.Pending, func(o *resolve.Pending) bool { return o.At.File == st.File && o.At.Off > p.At.Off && o.At.Off < st.Off }) {
			return "" // another collective's
		}
		inner := slices.Clone(st.Frames)
		slices.Reverse(inner) // the innermost stands first
		if fr, ok := ownFrame(inner); ok {
			return ", called in " + fr.Func + " (" + path.Base(fr.File) + ":" + strconv.Itoa(fr.Line) + ")"
		}
		return ""
	}
	return ""
}
