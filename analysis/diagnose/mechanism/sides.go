package mechanism

import (
	"cmp"
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

func (x side) compare(y side) int {
	return cmp.Or(strings.Compare(x.op, y.op), cmp.Compare(x.seq, y.seq), strings.Compare(x.tensor, y.tensor))
}

// pair is two sides, the ranks that are on them, and the lines that say so. Of a line that has its writer's side only, b is empty.
type pair struct {
	a, b           side
	ranksA, ranksB []int
	at             []worker.At
}

// pairOf finds the pair of two sides in a list, or adds it.
func pairOf(list *[]*pair, a, b side) *pair {
	i := slices.IndexFunc(*list, func(p *pair) bool { return p.a == a && p.b == b })
	if i < 0 {
		i = len(*list)
		*list = append(*list, &pair{a: a, b: b})
	}
	return (*list)[i]
}

// sidesFindings say which ranks called what, and where in the program, as far as their own tracebacks show it. Ranks are those inside
// the group.
func sidesFindings(f *resolve.Facts) (out []incident.Finding) {
	const most = 3
	var pairs, alone []*pair
	calls := callers{}
	for _, m := range f.Mismatches {
		a, b := sidesOf(m)
		ra, rb := m.RankA, m.RankB
		// The writer is the one that the line names first.
		if c, ok := callAt(f, m.At); ok && calls[ra].what == "" {
			calls[ra] = c
		}
		var p *pair
		if rb < 0 {
			p = pairOf(&alone, a, side{})
		} else {
			if b.compare(a) < 0 {
				a, b, ra, rb = b, a, rb, ra
			}
			p = pairOf(&pairs, a, b)
			p.ranksB = appendNew(p.ranksB, rb)
		}
		p.ranksA, p.at = appendNew(p.ranksA, ra), append(p.at, m.At)
	}
	for _, p := range head(pairs, most) {
		out = append(out, finding(fmt.Sprintf("%s ran %s%s, while %s ran %s%s (group ranks)", rankWords(p.ranksA), p.a, calls.where(p.ranksA),
			rankWords(p.ranksB), p.b, calls.where(p.ranksB)), p.quotes(f)...))
	}
	for _, p := range head(alone, most-len(out)) {
		verb := "ran"
		switch {
		case p.a.tensor != "":
		case len(p.ranksA) > 1:
			verb = "found other ranks with different tensors, or in a different collective, when they ran"
		default:
			verb = "found other ranks with different tensors, or in a different collective, when it ran"
		}
		out = append(out, finding(fmt.Sprintf("%s %s %s%s (group ranks)", rankWords(p.ranksA), verb, p.a, calls.where(p.ranksA)), p.quotes(f)...))
	}
	return out
}

// quotes are the first lines that tell of a pair, and with them both sides' own words where they are there, though they be the fourth.
func (p *pair) quotes(f *resolve.Facts) []incident.Evidence {
	const most = 3
	var lit *incident.Predicate
	if len(p.ranksB) > 0 {
		lit = &incident.Predicate{Literals: []string{"Detected mismatch between collectives on ranks"}}
	}
	var ev []incident.Evidence
	for i, at := range p.at {
		if i < most {
			ev = append(ev, QuoteAt(at, lit))
		} else if p.byLoneRank(f, at) {
			ev[most-1] = QuoteAt(at, lit)
		}
	}
	return ev
}

// byLoneRank says that the only rank on its side wrote a line, where the other side has more.
func (p *pair) byLoneRank(f *resolve.Facts, at worker.At) bool {
	r, ok := f.RankOf(at)
	if !ok || len(p.ranksB) == 0 || len(p.ranksA) == len(p.ranksB) {
		return false
	}
	return slices.Equal(p.ranksA, []int{r}) || slices.Equal(p.ranksB, []int{r})
}

// callers is where each rank's program called what failed.
type callers map[int]call

// where names the first call that is known of some ranks.
func (c callers) where(ranks []int) string {
	for _, r := range ranks {
		if c[r].what != "" {
			return ", called in " + c[r].what
		}
	}
	return ""
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
