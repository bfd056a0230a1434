package mechanism

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"faultline/analysis/ascii"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// otherBackend says whether idle ranks are shown to be in a collective of another back end. One is enough: they are idle
// together, and a traceback may have lost its last line.
func otherBackend(s *Scene, ranks []int) (bool, []incident.Evidence) {
	var ev []incident.Evidence
	for _, id := range ranks {
		r := s.Facts.Rank(id)
		if r == nil {
			continue
		}
		for _, fl := range r.Failures {
			if fl.Exc != nil && (inGloo(fl.Exc) || r.Dump != nil && inCollective(fl.Exc)) {
				ev = append(ev, QuoteAt(*fl.At, nil))
				break
			}
		}
	}
	return len(ev) > 0, ev
}

func inGloo(x *worker.Exception) bool {
	return ascii.Has(x.Message, "gloo/transport", "[gloo") || strings.Contains(x.Type, "gloo")
}

// inCollective says that a traceback whose last line is lost ends inside a call of torch.distributed that waits for others. Of
// a rank that has nothing in flight in NCCL that is a collective of another back end.
func inCollective(x *worker.Exception) bool {
	if x.Type != "" || len(x.Frames) == 0 {
		return false
	}
	in := x.Frames[len(x.Frames)-1]
	return strings.HasSuffix(in.File, "torch/distributed/distributed_c10d.py") && collectives[in.Func]
}

// collectives are the functions of distributed_c10d.py that wait for other ranks.
var collectives = map[string]bool{
	"all_gather": true, "all_gather_into_tensor": true, "all_gather_object": true, "all_reduce": true, "all_to_all": true, "all_to_all_single": true,
	"barrier": true, "broadcast": true, "broadcast_object_list": true, "gather": true, "gather_object": true, "monitored_barrier": true, "reduce": true,
	"reduce_scatter": true, "reduce_scatter_tensor": true, "scatter": true, "scatter_object_list": true,
}

func collectiveMismatch(s *Scene) *Proposal {
	g, f := s.Graph, s.Facts
	if len(f.Mismatches) > 0 {
		return fingerprints(s)
	}
	if ncclVersions(s) != nil {
		return nil
	}
	if p := fromFailures(s, knowledge.CollectiveMismatch); p != nil {
		// The receiver that found the sizes to differ is not the one who sent the wrong ones.
		p.Ranks, p.Nodes, p.Scope = nil, nil, "group"
		return p
	}
	if p := ncclDiffer(s); p != nil {
		return p
	}
	if p := analysedDiffer(s); p != nil {
		return p
	}
	if heldByEvidence(s) {
		return nil
	}
	switch g.Shape {
	case waitfor.Diverged:
		p := collective(s, knowledge.CollectiveMismatch)
		p.Ranks, p.Nodes = g.Root, nodesOf(f, g.Root)
		p.Scope = scopeOf(f, g.Root)
		if len(g.Root) == 0 {
			p.Scope = "group"
		}
		p.Base = 0.93
		p.Summary = fmt.Sprintf("ranks in %s issued mismatched collectives", groupList(g.Groups))
		if sizes := unequal(g); sizes != "" {
			p.Summary = sizes
		} else if len(g.Root) > 0 {
			p.Summary = fmt.Sprintf("%s issued a collective that doesn't match the other ranks'", where(f, g.Root))
		}
		p.Why = "members of one group are stuck at different operations, sizes or sequence numbers"
		p.Settled = len(g.Root) > 0 && allPending(g.Groups)
		for _, gr := range g.Groups {
			p.For = append(p.For, mismatchFinding(f, gr))
		}
		return p
	case waitfor.AllWait:
		p := collective(s, knowledge.CollectiveMismatch)
		p.Rivals = append(entered(s.Graph.OnGPU), knowledge.UnevenData)
		p.Base = 0.85
		p.Scope = "all"
		p.Summary = "every rank timed out in a collective; can't tell whether in the same one"
		p.Why = "all ranks were waiting; these timeouts show neither operation nor number"
		p.For = append(p.For, glooFinding(s))
		return p
	case waitfor.Cycle:
		p := collective(s, knowledge.CollectiveMismatch)
		// That a member has not entered is read off its silence in that group: a lost line would look the same.
		p.Rivals = knowledge.HavingNature(knowledge.Entered)
		p.Base = 0.8
		p.Summary = "process groups are deadlocked: their collectives were issued in different orders"
		p.Why = "no rank is free: each group is blocked by members waiting in another"
		for i, gr := range g.Groups {
			if i == 4 {
				break
			}
			p.For = append(p.For, waitersFinding(s, gr, nil))
		}
		return p
	case waitfor.Straggle, waitfor.Pair, waitfor.Unseen:
		away := g.Root
		if g.Shape != waitfor.Straggle {
			away = g.Free
		}
		other, ev := otherBackend(s, away)
		if !other || g.Shape == waitfor.Unseen && !g.Outside {
			return nil
		}
		p := collective(s, knowledge.CollectiveMismatch)
		p.Scope = "group"
		if n := len(away) + len(g.Unseen); g.Shape == waitfor.Straggle && 2*n < n+g.Waiting() {
			// The smaller side, however the unseen stand.
			p.Ranks, p.Nodes, p.Scope = away, nodesOf(f, away), scopeOf(f, away)
		}
		p.Base = 0.93
		p.Summary = fmt.Sprintf("%s entered a Gloo collective while other ranks entered an NCCL one", where(f, away))
		p.Why = "one side has nothing in flight in NCCL and its traceback ends in Gloo"
		p.For = append(p.For, finding(fmt.Sprintf("%s failed inside Gloo", rankWords(away)), ev...))
		for _, gr := range g.Groups {
			p.Led = append(p.Led, waitersFinding(s, gr, nil))
		}
		return p
	}
	return nil
}

// unequal says what the ranks of one group did where they called the same and only the sizes differ; "" where more differs.
func unequal(g *waitfor.Graph) string {
	if len(g.Groups) != 1 || len(g.Root) > 0 {
		return ""
	}
	var call *resolve.Pending
	var sizes []int64
	for _, p := range g.First(g.Groups[0]) {
		if call != nil && (p.Work.Op != call.Work.Op || p.Work.Seq != call.Work.Seq) {
			return ""
		}
		call, sizes = p, append(sizes, p.Work.NumelIn)
	}
	slices.Sort(sizes)
	if sizes = slices.Compact(sizes); len(sizes) < 2 {
		return ""
	}
	const most = 4
	words := make([]string, 0, most)
	for _, n := range sizes[:min(len(sizes), most)] {
		words = append(words, strconv.FormatInt(n, 10))
	}
	if len(sizes) > most {
		words = append(words, "more")
	}
	return fmt.Sprintf("ranks in %s called %s #%d with different sizes: %s elements", groupList(g.Groups), call.Work.Op, call.Work.Seq, strings.Join(words, ", "))
}

// allPending says that it is known of each member of the groups in which call it waits.
func allPending(groups []*resolve.Group) bool {
	for _, g := range groups {
		in := map[int]bool{}
		for _, p := range g.Pending {
			in[p.Rank.ID] = true
		}
		if g.Size == 0 || len(in) < g.Size {
			return false
		}
	}
	return true
}

// mismatchFinding quotes one rank of each side.
func mismatchFinding(f *resolve.Facts, g *resolve.Group) incident.Finding {
	type side struct {
		seq int64
		op  string
		in  int64
	}
	seen := map[side]bool{}
	var words []string
	var ev []incident.Evidence
	for _, p := range g.Pending {
		k := side{p.Work.Seq, p.Work.Op, p.Work.NumelIn}
		if seen[k] || len(seen) == 4 {
			continue
		}
		seen[k] = true
		name := p.Rank.Describe()
		size := ""
		if p.Work.NumelIn >= 0 { // −1 is a line without a size
			size = " (" + plural(int(p.Work.NumelIn), "element", "elements") + ")"
		}
		words = append(words, fmt.Sprintf("%s was in %s #%d%s%s", name, p.Work.Op, p.Work.Seq, size, stackCall(f, p)))
		ev = append(ev, PendingEvidence(p)...)
	}
	return finding(strings.Join(words, "; "), ev...)
}

// fingerprints reads TORCH_DISTRIBUTED_DEBUG=DETAIL's comparison. Its ranks are ranks inside the group: the smaller side
// is named only in a group of the whole world.
func fingerprints(s *Scene) *Proposal {
	f := s.Facts
	ranks := map[int]side{}
	most := 0
	for _, m := range f.Mismatches {
		ranks[m.RankA] = side{op: m.OpA, seq: m.SeqA}
		if m.RankB < 0 { // it does not say what the others ran
			ranks[m.RankA] = side{op: m.OpA, seq: m.SeqA, tensor: m.TensorA}
		}
		if m.RankB >= 0 {
			ranks[m.RankB] = side{op: m.OpB, seq: m.SeqB}
		}
		most = max(most, m.RankA, m.RankB)
	}
	bySide := map[side][]int{}
	for r, x := range ranks {
		bySide[x] = append(bySide[x], r)
	}
	var odd []int
	// Ranks inside a group are global ranks where they reach beyond any group that divides the world.
	if w := f.Job.WorldSize; w > 2 && most < w && most >= w/2 && len(bySide) == 2 {
		unseen := w - len(ranks)
		for _, rs := range bySide {
			if 2*(len(rs)+unseen) < w {
				odd = rs
				sort.Ints(odd)
			}
		}
	}
	p := &Proposal{Mechanism: knowledge.CollectiveMismatch, Class: Collective, Ranks: odd, Nodes: nodesOf(f, odd), Scope: "group", Direct: true, Base: 0.95,
		At: f.At(f.Mismatches[0].At), Summary: "ranks called different collectives", Why: "PyTorch compared the calls and printed both"}
	if op, ok := sameOp(f.Mismatches); ok {
		p.Summary = "ranks called " + op + " with tensors that do not match"
	}
	first := &f.Mismatches[0]
	ranksA, ranksB := bySide[side{op: first.OpA, seq: first.SeqA}], bySide[side{op: first.OpB, seq: first.SeqB}]
	if what := apart(first, ranksA, ranksB); what != "" {
		p.Summary = "ranks in one group called " + what
	}
	sides := slices.SortedFunc(maps.Values(bySide), func(x, y []int) int { return len(x) - len(y) })
	if len(odd) == 0 && len(sides) == 2 && len(sides[0]) == 1 && len(sides[1]) > 1 {
		p.Named = lone(f, sides[0][0])
	}
	if len(odd) > 0 {
		p.Summary = fmt.Sprintf("%s called a different collective from the other ranks", where(f, odd))
		p.Scope = "rank"
	}
	p.Settled = len(odd) > 0 || len(ranks) == f.Job.WorldSize
	p.For = sidesFindings(f)
	return p
}

// apart says how the calls that PyTorch compared differ, and on how many ranks of the group; "" where they differ in their tensors.
func apart(m *worker.Mismatch, ranksA, ranksB []int) string {
	switch a, b := groupRanks(ranksA), groupRanks(ranksB); {
	case m.RankB < 0 || m.OpA == "" || m.OpB == "":
		return ""
	case m.OpA != m.OpB:
		return fmt.Sprintf("different collectives: %s on %s, %s on %s", m.OpA, a, m.OpB, b)
	case m.SeqA != m.SeqB:
		return fmt.Sprintf("%s under different sequence numbers: %d on %s, %d on %s", m.OpA, m.SeqA, a, m.SeqB, b)
	}
	return ""
}

// lone names the only rank on its side: by its rank in the job where its own line shows that.
func lone(f *resolve.Facts, inGroup int) string {
	for _, m := range f.Mismatches {
		if id, ok := f.RankOf(m.At); ok && m.RankA == inGroup {
			return where(f, []int{id})
		}
	}
	return rankWords([]int{inGroup}) + incident.OfItsGroup
}

// groupRanks names one rank inside a group, or counts several.
func groupRanks(ids []int) string {
	if len(ids) == 1 {
		return "group " + rankWords(ids)
	}
	return plural(len(ids), "group rank", "group ranks")
}

// sameOp is the operation that both sides of all mismatches ran, where only their tensors differ.
func sameOp(all []worker.Mismatch) (string, bool) {
	for _, m := range all {
		if m.OpA != all[0].OpA || m.RankB >= 0 && m.OpB != m.OpA || m.SeqA != m.SeqB {
			return "", false
		}
	}
	return all[0].OpA, all[0].OpA != ""
}

// heldByEvidence says that what was handed in beside the logs names who held the others.
func heldByEvidence(s *Scene) bool {
	return ncclBehind(s) != nil || rasBehind(s) != nil || rasGone(s) != nil || analysedMissing(s) != nil
}
