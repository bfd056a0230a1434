package resolve

import (
	"fmt"
	"slices"
	"sort"
	"strconv"

	"faultline/analysis/worker"
)

// groups are the process groups of the run, with the collectives that did not complete in them.
type groups struct {
	Groups    []*Group
	Anonymous []*Rank // processes that wait and whose global rank nothing proves; ID is NoRank
	// RecorderOff are ranks whose dump holds nothing because their recorder was off.
	RecorderOff []int
	bygone      Moment // when the last attempt began to wait: what watchdogs report before is of earlier ones
}

// hung says that somebody waits in a group.
func (g *groups) hung() bool {
	return slices.ContainsFunc(g.Groups, func(g *Group) bool { return len(g.Pending) > 0 })
}

// grouper gives every collective that timed out its process group, and every group its members.
type grouper struct {
	*sight
	groups
	job   JobFacts // whose size groups may prove
	warn  *notes
	obs   *worker.Observations
	byKey map[string]*Group
	order []*Group
	anon  map[string]*Rank
	// of maps (group, rank inside it) to the global rank, learned from lines that state both.
	of map[groupRank]int
	// echo holds the works that ranks with a proven identity report, by file: the same text without a prefix, as
	// std::terminate and Python print it, is an echo of one of them.
	echo map[echoKey]bool
	// byLine and bySizes are the groups of each kind, as lines list them and as the parallel sizes give them.
	byLine  map[string][]*listing
	bySizes map[string]*listing
	// older are reports of works that were reported again by the same rank, long after.
	older []again
}

type groupRank struct {
	guid string
	rank int
}

type echoKey struct {
	file   string
	sticky int
	seq    int64
	op     string
}

const unnamedKey = "unnamed"

func newGrouper(s *sight, job JobFacts, obs *worker.Observations, warn *notes) *grouper {
	g := &grouper{sight: s, job: job, warn: warn, obs: obs, byKey: map[string]*Group{}, anon: map[string]*Rank{}, of: map[groupRank]int{}, echo: map[echoKey]bool{}, bySizes: map[string]*listing{}}
	learn := func(at worker.At, ref worker.GroupRef) {
		if !ref.Known || ref.Rank < 0 {
			return
		}
		if id, _, ok := s.ident.rankOf(at); ok {
			k := groupRank{ref.GUID, ref.Rank}
			if old, seen := g.of[k]; seen && old != id {
				id = ambiguous
			}
			g.of[k] = id
		}
	}
	for i := range obs.States {
		learn(obs.States[i].At, obs.States[i].Group)
	}
	for i := range obs.Timeouts {
		t := &obs.Timeouts[i]
		learn(t.At, t.Group)
		if _, _, ok := s.ident.rankOf(t.At); ok {
			g.echo[echoKey{t.File, t.Sticky, t.Work.Seq, t.Work.Op}] = true
		}
	}
	for i := range obs.Signals {
		learn(obs.Signals[i].At, obs.Signals[i].Group)
	}
	return g
}

// rankIn is the global rank of a process that a line names only by its place in a group: in the default group that is
// the global rank itself.
func (g *grouper) rankIn(ref worker.GroupRef) (int, bool) {
	if !ref.Known || ref.Rank < 0 {
		return NoRank, false
	}
	if ref.GUID == "0" || ref.Desc == "default_pg" {
		return ref.Rank, true
	}
	id, ok := g.of[groupRank{ref.GUID, ref.Rank}]
	return id, ok && id >= 0
}

// GroupKey is the key of the group that a line names: its GUID or name is what matches across ranks; "PG ID" is a counter of one process and is not used.
func GroupKey(ref worker.GroupRef) string {
	switch {
	case !ref.Known:
		return unnamedKey
	case ref.Desc == "default_pg":
		return "0"
	case ref.GUID == "":
		return ref.Desc
	}
	return ref.GUID
}

func (g *grouper) group(ref worker.GroupRef) *Group {
	key := GroupKey(ref)
	gr := g.byKey[key]
	if gr == nil {
		gr = &Group{Key: key, GUID: ref.GUID, Desc: ref.Desc, Unnamed: key == unnamedKey, Basis: "unknown", seen: map[int]int{}}
		gr.Default = ref.IsDefault()
		g.byKey[key] = gr
		g.order = append(g.order, gr)
	}
	if gr.Desc == "" {
		gr.Desc = ref.Desc
	}
	if ref.Desc == "default_pg" {
		gr.Default = true
	}
	return gr
}

// process is the writer of a line: a rank, or an anonymous process told apart by what the line states.
func (g *grouper) process(at worker.At, sticky int, ref worker.GroupRef) (*Rank, string) {
	if id, basis, ok := g.ident.rankOf(at); ok {
		return g.rank(id, basis), "r" + strconv.Itoa(id)
	}
	if id, ok := g.rankIn(ref); ok {
		r := g.rank(id, "rank inside a group whose members are known")
		if r.Node == "" {
			r.Node = g.ident.nodeOf(at)
		}
		r.addFile(at.File)
		return r, "r" + strconv.Itoa(id)
	}
	if ref.Known {
		sticky = ref.Rank
	}
	label := "a process in " + at.File
	if ref.Known && ref.Rank >= 0 {
		label = fmt.Sprintf("rank %d of group %s", ref.Rank, ref.GUID)
		r := g.anon[label]
		if r == nil {
			r = &Rank{ID: NoRank, Label: label, Local: at.Who().Local, Node: g.ident.nodeOf(at), Pids: map[int]bool{}}
			g.anon[label] = r
		}
		return r, "a" + label
	}
	switch {
	case at.Who().Local >= 0:
		label = fmt.Sprintf("local rank %d in %s", at.Who().Local, at.File)
	case at.Who().Task >= 0:
		label = fmt.Sprintf("task %d", at.Who().Task)
	case sticky >= 0:
		label = fmt.Sprintf("[Rank %d] in %s", sticky, at.File)
	case at.Who().Pid > 0:
		label = fmt.Sprintf("pid %d in %s", at.Who().Pid, at.File)
	}
	r := g.anon[label]
	if r == nil {
		r = &Rank{ID: NoRank, Label: label, Local: at.Who().Local, Node: g.ident.nodeOf(at), Pids: map[int]bool{}}
		g.anon[label] = r
	}
	return r, "a" + label
}

// worldOfUnnamed proves that lines which name no group speak of the default group: a rank inside a group that equals
// world size − 1 exists only in a group of the whole world, and no two processes may claim the same rank in it.
func (g *grouper) worldOfUnnamed() {
	gr := g.byKey[unnamedKey]
	world := g.job.WorldSize
	if gr == nil {
		return
	}
	if world == 0 {
		gr.Single = gr.single()
		return
	}
	claims := map[int]*Rank{}
	most := -1
	for _, p := range gr.Pending {
		if p.GroupRank < 0 {
			return
		}
		if o := claims[p.GroupRank]; o != nil && o != p.Rank {
			return
		}
		if p.Rank.ID != NoRank && p.Rank.ID != p.GroupRank {
			return
		}
		claims[p.GroupRank] = p.Rank
		most = max(most, p.GroupRank)
	}
	// A group that divides the world has at most half of it: a rank at or above world/2 is a rank of the whole world.
	if most >= world || most < world/2 {
		return
	}
	gr.Default = true
	for _, p := range gr.Pending {
		if p.Rank.ID == NoRank {
			r := g.rank(p.GroupRank, "rank in a group of all ranks")
			if r.Node == "" {
				r.Node = p.Rank.Node
			}
			delete(g.anon, p.Rank.Label)
			old := p.Rank
			for _, q := range old.Pending {
				q.Rank = r
			}
			r.Pending = append(r.Pending, old.Pending...)
			r.seen(p.At, p.At)
			r.addFile(p.At.File)
			old.Pending = nil
		}
	}
}

// leastClaims and seqSpread bound what lines of one group look like where none names its group: so many members at least, and works no
// further apart.
const (
	leastClaims = 4
	seqSpread   = 16
)

// single says that the lines which name no group are those of one: each process states a rank in its group, no two the same and none left
// out, and their works are close to each other. Lines of several groups repeat the low ranks.
func (gr *Group) single() bool {
	claims := map[int]*Rank{}
	var low, high int64 = -1, -1
	for _, p := range gr.Pending {
		if o := claims[p.GroupRank]; p.GroupRank < 0 || p.Work.Seq < 0 || o != nil && o != p.Rank {
			return false
		}
		claims[p.GroupRank] = p.Rank
		if low < 0 || p.Work.Seq < low {
			low = p.Work.Seq
		}
		high = max(high, p.Work.Seq)
	}
	for i := range claims {
		if i >= len(claims) {
			return false
		}
	}
	return len(claims) >= leastClaims && high-low <= seqSpread
}

// times dates every pending collective once the clocks are calibrated.
func (g *grouper) times() {
	for _, gr := range g.order {
		for _, p := range gr.Pending {
			p.Report = g.At(p.At)
			if p.Report.Valid && p.Work.RanForMS > 0 {
				p.Start = p.Report.Add(-float64(p.Work.RanForMS) / 1000)
			}
		}
		sort.SliceStable(gr.Pending, func(i, j int) bool {
			a, b := gr.Pending[i], gr.Pending[j]
			if a.Rank.ID != b.Rank.ID {
				return a.Rank.ID < b.Rank.ID
			}
			if a.Work.Seq != b.Work.Seq {
				return a.Work.Seq < b.Work.Seq
			}
			return less(a.At.Pos, b.At.Pos)
		})
	}
	sort.SliceStable(g.order, func(i, j int) bool { return groupLess(g.order[i], g.order[j]) })
	g.Groups = g.order
}

func groupLess(a, b *Group) bool {
	if a.Default != b.Default {
		return a.Default
	}
	x, e1 := strconv.Atoi(a.Key)
	y, e2 := strconv.Atoi(b.Key)
	if e1 == nil && e2 == nil && x != y {
		return x < y
	}
	return a.Key < b.Key
}

// again is a work that a rank reported again long after.
type again struct {
	at worker.At // the earlier report
	p  *Pending  // with the later one
}
