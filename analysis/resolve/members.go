package resolve

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"faultline/analysis/worker"
)

// members finds out who belongs to each group, and how that is known.
func (g *grouper) members() {
	g.worldFromNumel()
	for _, gr := range g.order {
		for _, p := range gr.Pending {
			if p.Rank.ID != NoRank {
				if p.GroupRank >= 0 {
					gr.seen[p.GroupRank] = p.Rank.ID
				}
				gr.Members = insert(gr.Members, p.Rank.ID)
			}
		}
		if len(gr.Members) > 0 {
			gr.Basis = "seen-only"
		}
		switch {
		case len(gr.listed) > 0:
			gr.Members, gr.Size, gr.Basis = gr.listed, len(gr.listed), "recorder"
		case gr.Default && g.job.WorldSize > 0:
			gr.Size = g.job.WorldSize
			gr.Members = gr.Members[:0]
			for i := 0; i < g.job.WorldSize; i++ {
				gr.Members = append(gr.Members, i)
			}
			gr.Basis = "config-line"
		case !gr.Unnamed && !gr.Default && g.fromTopology(gr):
		case gr.Default:
			// Nobody states how many ranks there are.
		default:
			g.sizeFromNumel(gr)
			if !gr.Unnamed && !gr.P2P {
				g.inOrder(gr)
			}
		}
	}
}

// inOrder adds the members that the ranks inside a group prove. PyTorch numbers a group's members by their global ranks in ascending order: so
// whoever is third of a group and has global rank 2 has ranks 0 and 1 in front of it, and between neighbours whose numbers
// are as far apart as their ranks nobody else fits. A rank inside the group that no half of the world has is one of a group of the whole world.
func (g *grouper) inOrder(gr *Group) {
	at := slices.Sorted(maps.Keys(gr.seen))
	last, before := -1, -1 // the place and the rank of the one in front
	var between []int
	whole := true
	for _, i := range at {
		id := gr.seen[i]
		if id-before < i-last {
			return // not in order
		}
		if id-before == i-last {
			for r := before + 1; r < id; r++ {
				between = append(between, r)
			}
		}
		whole = whole && id == i
		last, before = i, id
	}
	whole = whole && len(at) == len(gr.Members) // the place of each is stated
	for _, id := range between {
		gr.Members = insert(gr.Members, id)
	}
	world := g.job.WorldSize
	if whole && gr.Size == 0 && world > 0 && last >= (world+1)/2 && last < world {
		for id := range world {
			gr.Members = insert(gr.Members, id)
		}
		gr.Size, gr.Basis = world, "topology"
	}
}

// insert adds a value to a sorted list that may hold it.
func insert[T cmp.Ordered](s []T, v T) []T {
	i, found := slices.BinarySearch(s, v)
	if found {
		return s
	}
	return slices.Insert(s, i, v)
}

// fromTopology takes the members from lines that list them, or from the parallel sizes in Megatron-Core's order
// (tp-cp-ep-dp-pp, tensor fastest), if they agree with every member that was seen with its rank in the group.
func (g *grouper) fromTopology(gr *Group) bool {
	want := normal(gr.Desc)
	if want == "" {
		return false
	}
	for _, t := range g.topologies(want) {
		if ranks := g.fitting(gr, t); ranks != nil {
			gr.Members, gr.Size, gr.Basis = sorted(ranks), len(ranks), "config-line"
			return true
		}
	}
	if g.bySizes[want] == nil {
		g.bySizes[want] = listed(megatronGroups(want, g.job))
	}
	if ranks := g.fitting(gr, g.bySizes[want]); ranks != nil {
		gr.Members, gr.Size, gr.Basis = sorted(ranks), len(ranks), "topology"
		return true
	}
	return false
}

// listing are the groups of one kind, in the order in which they are listed, by who is in them.
type listing struct {
	groups [][]int
	of     map[int][]int // rank → indices of its groups
}

func listed(groups [][]int) *listing {
	l := &listing{groups: groups, of: map[int][]int{}}
	for i, ranks := range groups {
		for _, r := range ranks {
			if in := l.of[r]; len(in) == 0 || in[len(in)-1] != i {
				l.of[r] = append(l.of[r], i)
			}
		}
	}
	return l
}

// topologies are the lines that list groups of this kind, in their order.
func (g *grouper) topologies(kind string) []*listing {
	if g.byLine == nil {
		g.byLine = map[string][]*listing{}
		for i := range g.obs.Topologies {
			t := &g.obs.Topologies[i]
			k := normal(t.Name)
			g.byLine[k] = append(g.byLine[k], listed(t.Groups))
		}
	}
	return g.byLine[kind]
}

// fitting is the first listed group that agrees with what was seen of a group, or nil.
func (g *grouper) fitting(gr *Group, l *listing) []int {
	for _, id := range gr.seen { // any of them: a group without it does not fit
		for _, i := range l.of[id] {
			if fits(gr, l.groups[i]) {
				return l.groups[i]
			}
		}
		break
	}
	return nil
}

func sorted(v []int) []int {
	return slices.Sorted(slices.Values(v))
}

// fits holds a listed group against what was seen of it: the same rank at the same place.
func fits(gr *Group, ranks []int) bool {
	if len(gr.seen) == 0 {
		return false
	}
	for at, id := range gr.seen {
		if at >= len(ranks) || ranks[at] != id {
			return false
		}
	}
	in := make(map[int]bool, len(ranks))
	for _, r := range ranks {
		in[r] = true
	}
	for _, id := range gr.Members {
		if !in[id] {
			return false
		}
	}
	return true
}

// normal reduces a group's name to what tells it from others: "TENSOR_MODEL_PARALLEL_GROUP", "All tensor model parallel
// group ranks" and "tensor model parallel" are the same.
func normal(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' })
	var keep []string
	for _, w := range words {
		switch w {
		case "all", "parallel", "group", "groups", "rank", "ranks", "has", "mesh", "and":
		case "dp":
			keep = append(keep, "data")
		case "tp":
			keep = append(keep, "tensor")
		case "pp":
			keep = append(keep, "pipeline")
		case "cp":
			keep = append(keep, "context")
		case "ep":
			keep = append(keep, "expert")
		default:
			keep = append(keep, w)
		}
	}
	s := strings.Join(keep, " ")
	switch s {
	case "tensor model":
		return "tensor"
	case "pipeline model":
		return "pipeline"
	case "expert model":
		return "expert"
	}
	return s
}

// GroupWords are the words that tell a group's kind: "tensor"; "data", "with", "context"; "default" for the default group.
// None are known of a group without a description.
func GroupWords(g *Group) []string {
	words := strings.Fields(normal(g.Desc))
	if g.Default {
		words = append(words, "default")
	}
	return words
}

// SplitsTensors tells whether a group is of tensor parallelism alone: Megatron's TENSOR_MODEL_PARALLEL_GROUP, "mesh_tp" of a device mesh.
func SplitsTensors(g *Group) bool {
	words := GroupWords(g)
	other := func(w string) bool {
		return slices.Contains([]string{"data", "context", "pipeline", "expert", "default"}, w)
	}
	return slices.Contains(words, "tensor") && !slices.ContainsFunc(words, other)
}

// megatronGroups lists the groups of one kind from the parallel sizes. Source: Megatron-Core parallel_state.py,
// RankGenerator, default order "tp-cp-ep-dp-pp"; dense groups ignore ep, expert groups split dp·cp by ep.
func megatronGroups(kind string, j JobFacts) [][]int {
	w, tp, cp, pp, ep := j.WorldSize, max(j.TP, 1), max(j.CP, 1), max(j.PP, 1), max(j.EP, 1)
	if w == 0 || (j.TP == 0 && j.PP == 0 && j.CP == 0 && j.EP == 0) || w%(tp*cp*pp) != 0 {
		return nil
	}
	dp := w / (tp * cp * pp)
	dims := map[string][4]bool{ // varies over tp, cp, dp, pp
		"tensor": {true, false, false, false}, "context": {false, true, false, false},
		"data": {false, false, true, false}, "pipeline": {false, false, false, true},
		"model": {true, false, false, true}, "data with context": {false, true, true, false},
		"tensor context": {true, true, false, false}, "tensor data": {true, false, true, false},
	}
	size := [4]int{tp, cp, dp, pp}
	vary, ok := dims[kind]
	if kind == "expert" {
		// Expert layout: tensor, expert, expert-data, pipeline.
		if w%(tp*ep*pp) != 0 {
			return nil
		}
		size, vary, ok = [4]int{tp, ep, w / (tp * ep * pp), pp}, [4]bool{false, true, false, false}, true
	}
	if !ok {
		return nil
	}
	byRest := map[[4]int][]int{}
	var order [][4]int
	for r := range w {
		x := [4]int{r % size[0], r / size[0] % size[1], r / (size[0] * size[1]) % size[2], r / (size[0] * size[1] * size[2])}
		for d := range x {
			if vary[d] {
				x[d] = -1
			}
		}
		if byRest[x] == nil {
			order = append(order, x)
		}
		byRest[x] = append(byRest[x], r)
	}
	var out [][]int
	for _, k := range order {
		out = append(out, byRest[k])
	}
	return out
}

// sizeFromNumel reads a group's size off an all-gather's or reduce-scatter's input and output.
func (g *grouper) sizeFromNumel(gr *Group) {
	for _, p := range gr.Pending {
		n := p.Work.Shares()
		if n >= len(gr.Members) && n > 1 && (g.job.WorldSize == 0 || n <= g.job.WorldSize) {
			gr.Size = n
			return
		}
	}
}

// worldFromNumel takes the world size from what the default group was gathering, where nothing states it: PyTorch refuses an all-gather
// into one tensor, and a reduce-scatter out of one, unless the large one is the small one times the number of ranks. It must be the same for
// all that wait, and leave room for every rank that was seen.
func (g *grouper) worldFromNumel() {
	if g.job.WorldSize > 0 {
		return
	}
	world := 0
	var at *worker.At
	for _, gr := range g.order {
		if !gr.Default || gr.Unnamed {
			continue
		}
		for _, p := range gr.Pending {
			n := p.Work.Shares()
			switch {
			case n < 2 || p.Work.Op == "ALLGATHER": // whose list may hold tensors of different sizes
			case world == 0:
				world, at = n, &p.At
			case n != world:
				return
			}
		}
	}
	for id := range g.byRank {
		if id >= world {
			return
		}
	}
	if world > 0 && world <= MaxWorld {
		g.job.WorldSize, g.job.WorldFrom, g.job.WorldEvidence = world, "input and output sizes of a collective of the default group", at
	}
}
