package repro

import (
	"fmt"
	"slices"

	"faultline/incident"
	"faultline/knowledge"
)

// Sizes of what is left of the job.
const (
	fewRanks  = 4       // of a program that goes wrong
	tiny      = 1 << 10 // elements, of the same
	loopTiny  = 1 << 22 // elements of a loop: the links shall have work
	loopRanks = 8       // on one node, unless the report says otherwise
)

// call is one operation as the script makes it.
type call struct {
	operation
	N     int64
	DType string
}

// drawn is what the template draws: numbers, and names from the tables.
type drawn struct {
	Mechanism, Does string
	Backend         string
	Fault           knowledge.Slip
	World           int
	Groups          [][]int // of the small job; none = all ranks
	GroupSize       int     // of a loop; 0 = all ranks
	Strided         bool
	Culprit         int
	Main, Odd       call
	Notes           []string
}

func (d drawn) Is(f knowledge.Slip) bool { return d.Fault == f }

// Calls are the operations of which the script needs the functions.
func (d drawn) Calls() []call {
	if (d.Is(knowledge.UnlikeCall) || d.Is(order)) && d.Odd.Func != d.Main.Func {
		return []call{d.Main, d.Odd}
	}
	return []call{d.Main}
}

func (d *drawn) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(d.Notes, n) {
		d.Notes = append(d.Notes, n)
	}
}

// plan makes the small job of the report.
func plan(r *incident.Report, slug string, cpu bool) drawn {
	play, _ := playOf(slug)
	d := drawn{Mechanism: slug, Does: play.Does, Fault: play.Slip, Backend: NCCL}
	if cpu {
		d.Backend = Gloo
	}
	g := stuck(r)
	main, odd := d.calls(r, g)
	d.layout(r, g)
	d.end(main.op)
	d.scale(&main, &odd)
	if cpu {
		d.plainer(&main, &odd)
	}
	d.Main, d.Odd = d.made(main, cpu), d.made(odd, cpu)
	if d.Is(knowledge.UnlikeCall) && d.Main == d.Odd {
		d.Odd = d.made(side{op: other(main.op), numel: main.numel, dtype: main.dtype}, cpu)
		d.note("Gloo lacks one of the two calls, so the script calls %s instead.", d.Odd.Func)
	}
	return d
}

// calls finds what the group called, and what the odd rank.
func (d *drawn) calls(r *incident.Report, g *incident.Group) (main, odd side) {
	seen := sides(r, d.Mechanism)
	main = side{op: "ALLREDUCE", numel: 1}
	switch {
	case g != nil && operations[g.Stuck.Op].Func != "":
		main.op = g.Stuck.Op
		if g.Stuck.Size != nil {
			main.numel = *g.Stuck.Size
		}
	case len(seen) == 0 || !d.Is(knowledge.UnlikeCall):
		d.note("The collective is unknown or has no PyTorch call of its own, so the script calls all_reduce.")
	}
	if !d.Is(knowledge.UnlikeCall) {
		for _, s := range seen {
			if s.op == main.op && s.dtype != "" {
				main.dtype = s.dtype
			}
		}
		return main, main
	}
	if a, b, ok := apart(seen, r.Verdict.Root.Ranks); ok {
		if len(r.Verdict.Root.Ranks) == 0 {
			d.note("Both calls are from the report; it doesn't prove which one is wrong.")
		}
		return a, b
	}
	if second := crossed(r, g); second != nil {
		d.Fault, d.Does = order, orderDoes
		odd = side{op: second.Stuck.Op, numel: 1}
		if second.Stuck.Size != nil {
			odd.numel = *second.Stuck.Size
		}
		return main, odd
	}
	odd = side{op: other(main.op), numel: main.numel, dtype: main.dtype}
	d.note("The other side's call is unknown, so the script calls %s instead.", operations[odd.op].Func)
	return main, odd
}

// other is a call that does not fit to a given one.
func other(op string) string {
	if op == "ALLREDUCE" {
		return "BROADCAST"
	}
	return "ALLREDUCE"
}

// stuck is the group that the verdict is about: one whose place in the program was looked for, with the root in it.
func stuck(r *incident.Report) *incident.Group {
	var best *incident.Group
	most := -1
	for i := range r.Groups {
		g := &r.Groups[i]
		if g.Stuck == nil {
			continue
		}
		score := 0
		if g.Stuck.Sync != nil {
			score += 2
		}
		if slices.ContainsFunc(g.Ranks, func(m incident.GroupMember) bool {
			return m.Rank != nil && slices.Contains(r.Verdict.Root.Ranks, *m.Rank)
		}) {
			score++
		}
		if score > most {
			best, most = g, score
		}
	}
	return best
}

// crossed is another group that is stuck as well, of a mismatch in which no two calls of one group differ.
func crossed(r *incident.Report, g *incident.Group) *incident.Group {
	for i := range r.Groups {
		if o := &r.Groups[i]; g != nil && o.Key != g.Key && o.Stuck != nil && operations[o.Stuck.Op].Func != "" {
			return o
		}
	}
	return nil
}

// layout shrinks the world and its groups, and finds the place of the culprit.
func (d *drawn) layout(r *incident.Report, g *incident.Group) {
	world := worldOf(r)
	size, strided := groupOf(g, world)
	d.Strided = strided
	if d.Is(knowledge.NoSlip) {
		d.World, d.GroupSize = loopRanks, size
		if p := r.Job.RanksPerNode; p != nil && *p > 0 && *p <= 64 {
			d.World = *p
		}
		return
	}
	d.World = min(world, fewRanks)
	if world == 0 {
		d.World = fewRanks
	}
	if size > 0 && d.World == fewRanks && !d.Is(order) {
		d.Groups = [][]int{{0, 1}, {2, 3}}
		if strided {
			d.Groups = [][]int{{0, 2}, {1, 3}}
		}
	}
	d.Culprit = d.World - 1
	switch root := r.Verdict.Root.Ranks; {
	case len(root) == 0:
		d.note("No rank is proven, so rank %d of the script stands in for it.", d.Culprit)
	case root[0] < d.World && root[0] >= 0 && world <= fewRanks || root[0] == 0:
		d.Culprit = root[0]
	default:
		d.note("Rank %d of the script plays rank %d of the job.", d.Culprit, root[0])
	}
	if len(r.Verdict.Root.Ranks) > 1 {
		d.note("The script runs %d ranks.", len(r.Verdict.Root.Ranks))
	}
}

// end puts the culprit at the end of a pair at which it shows: who sends little does not wait for whom it sends to.
func (d *drawn) end(op string) {
	if operations[op].Body != exchange || d.Is(knowledge.NoSlip) {
		return
	}
	ranks := []int{0, 1, 2, 3}[:d.World]
	for _, g := range d.Groups {
		if slices.Contains(g, d.Culprit) {
			ranks = g
		}
	}
	at, waits := slices.Index(ranks, d.Culprit), 0
	if d.Is(knowledge.ExtraCall) {
		waits = 1
	}
	if at%2 == waits && (at^1) < len(ranks) {
		return
	}
	if at^1 < len(ranks) {
		d.Culprit = ranks[at^1]
	} else {
		d.Culprit = ranks[waits]
	}
	d.note("Rank %d plays the end of the send/receive pair where the fault showed up.", d.Culprit)
}

// worldOf is how many ranks the job had, as far as that can be told; 0 = unknown.
func worldOf(r *incident.Report) int {
	for _, n := range []*int{r.Job.WorldSize, r.Coverage.RanksExpected} {
		if n != nil && *n >= 2 {
			return *n
		}
	}
	return 0
}

// groupOf is the size of a group smaller than the world, and whether its ranks stand apart evenly; 0 = all ranks.
func groupOf(g *incident.Group, world int) (size int, strided bool) {
	if g == nil || g.Size == nil || *g.Size < 2 || *g.Size >= world {
		return 0, false
	}
	var ranks []int
	for _, m := range g.Ranks {
		if m.Rank != nil {
			ranks = append(ranks, *m.Rank)
		}
	}
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	// A rank between two members that is none tells that they stand apart; a member not seen only where all are here.
	strided = len(ranks) == *g.Size && ranks[len(ranks)-1]-ranks[0] >= *g.Size
	return *g.Size, strided
}

// scale makes tensors small, and keeps them different where they differed.
func (d *drawn) scale(a, b *side) {
	most := int64(tiny)
	if d.Is(knowledge.NoSlip) {
		most = loopTiny
	}
	x, y := a.numel, b.numel
	a.numel, b.numel = max(1, min(x, most)), max(1, min(y, most))
	if x != y && a.numel == b.numel {
		if x > y {
			a.numel *= 2
		} else {
			b.numel *= 2
		}
	}
}

// plainer takes a type that every version of Gloo has, for the calls that shall go well.
func (d *drawn) plainer(main, odd *side) {
	if main.dtype != "BFloat16" {
		return
	}
	stands := "Half"
	if odd.dtype == stands {
		stands = "Float"
	}
	if odd.dtype == main.dtype {
		odd.dtype = stands
	}
	main.dtype = stands
	d.note("Older versions of Gloo don't support bfloat16, so the script uses %s instead.", dtypes[stands])
}

// made is a call as the script makes it with its back end.
func (d *drawn) made(s side, cpu bool) call {
	o := operations[s.op]
	if cpu && o.gloo != "" {
		d.note("Not every version of Gloo has %s, so the script calls %s instead.", o.Func, operations[o.gloo].Func)
		o = operations[o.gloo]
	}
	t := dtypes[s.dtype]
	if t == "" {
		t = "float32"
	}
	return call{operation: o, N: s.numel, DType: t}
}
