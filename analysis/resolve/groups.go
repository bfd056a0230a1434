package resolve

import (
	"fmt"
	"sort"
	"strconv"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// grouper gives every collective that timed out its process group, and every group its members.
type grouper struct {
	f     *Facts
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

func newGrouper(f *Facts, obs *worker.Observations) *grouper {
	g := &grouper{f: f, obs: obs, byKey: map[string]*Group{}, anon: map[string]*Rank{}, of: map[groupRank]int{}, echo: map[echoKey]bool{}, bySizes: map[string]*listing{}}
	learn := func(at worker.At, ref worker.GroupRef) {
		if !ref.Known || ref.Rank < 0 {
			return
		}
		if id, _, ok := f.ident.rankOf(at); ok {
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
		if _, _, ok := f.ident.rankOf(t.At); ok {
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
		gr.Default = ref.Known && (ref.GUID == "0" || ref.Desc == "default_pg")
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
	if id, basis, ok := g.f.ident.rankOf(at); ok {
		return g.f.rank(id, basis), "r" + strconv.Itoa(id)
	}
	if id, ok := g.rankIn(ref); ok {
		r := g.f.rank(id, "rank inside a group whose members are known")
		if r.Node == "" {
			r.Node, r.NodeBasis = g.f.ident.nodeOf(at), g.f.ident.nodeBasis[at.File]
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
			r = &Rank{ID: NoRank, Label: label, Local: at.Who().Local, Node: g.f.ident.nodeOf(at), Pids: map[int]bool{}}
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
		r = &Rank{ID: NoRank, Label: label, Local: at.Who().Local, Node: g.f.ident.nodeOf(at), Pids: map[int]bool{}}
		g.anon[label] = r
	}
	return r, "a" + label
}

type pendKey struct {
	proc string
	seq  int64
	op   string
}

// pendings joins timeouts with state lines. The watchdog line names no group that could be trusted; the state line of
// the same process with the same work does.
func (g *grouper) pendings() {
	states := map[string][]*worker.State{} // proc → states
	for i := range g.obs.States {
		s := &g.obs.States[i]
		_, key := g.process(s.At, line.Unknown, s.Group)
		states[key] = append(states[key], s)
	}
	named := map[pendKey]worker.GroupRef{} // from lines that embed the watchdog text behind a true group prefix
	for i := range g.obs.Timeouts {
		t := &g.obs.Timeouts[i]
		if t.Group.Known {
			_, key := g.process(t.At, line.Unknown, t.Group)
			named[pendKey{key, t.Work.Seq, t.Work.Op}] = t.Group
		}
	}
	only := g.onlyNamed()
	done := map[string]*Pending{}
	used := map[*worker.State]bool{}
	for _, i := range g.timeoutOrder() {
		t := &g.obs.Timeouts[i]
		if _, _, ok := g.f.ident.rankOf(t.At); !ok && !t.Group.Known && t.Form != "error" && g.echo[echoKey{t.File, t.Sticky, t.Work.Seq, t.Work.Op}] {
			continue
		}
		r, proc := g.process(t.At, t.Sticky, t.Group)
		ref := t.Group
		var st *worker.State
		if !ref.Known {
			ref = named[pendKey{proc, t.Work.Seq, t.Work.Op}]
		}
		st = nearest(states[proc], t, ref)
		if st != nil && !ref.Known {
			ref = st.Group
		}
		if !ref.Known && only.Known && r.ID != NoRank && t.Sticky == r.ID {
			ref = only
			ref.Rank = t.Sticky
		}
		gr := g.group(ref)
		id := fmt.Sprintf("%s|%s|%d", proc, gr.Key, t.Work.Seq)
		if p := done[id]; p != nil {
			if t.Form == "error" && longAfter(t.At, p.At) {
				// The same work again: an attempt that came as far as the one before.
				g.older = append(g.older, again{p.At, p})
				p.At, p.Work, p.State = t.At, t.Work, st
				if st != nil {
					used[st] = true
				}
				continue
			}
			if p.Work.Op == "" || p.Work.NumelIn == line.Unknown && t.Work.NumelIn != line.Unknown {
				p.Work = t.Work
			}
			if p.State == nil && st != nil {
				p.State = st
				used[st] = true
			}
			continue
		}
		gRank := line.Unknown
		if ref.Known {
			gRank = ref.Rank
		} else if t.Sticky >= 0 {
			gRank = t.Sticky
		}
		p := &Pending{Rank: r, Group: gr, GroupRank: gRank, Work: t.Work, State: st, At: t.At}
		if st != nil {
			used[st] = true
		}
		done[id] = p
		gr.Pending = append(gr.Pending, p)
		r.Pending = append(r.Pending, p)
	}
	// State lines whose watchdog line is lost still say that this work was in flight.
	erred := g.erred()
	for i := range g.obs.States {
		s := &g.obs.States[i]
		if used[s] {
			continue
		}
		r, proc := g.process(s.At, line.Unknown, s.Group)
		if erred[proc] {
			continue
		}
		gr := g.group(s.Group)
		id := fmt.Sprintf("%s|%s|%d", proc, gr.Key, s.Work)
		if p := done[id]; p != nil {
			if p.State == nil {
				p.State = s
			}
			continue
		}
		gRank := line.Unknown
		if s.Group.Known {
			gRank = s.Group.Rank
		}
		p := &Pending{Rank: r, Group: gr, GroupRank: gRank, State: s, At: s.At,
			Work: worker.Work{Seq: s.Work, NumelIn: line.Unknown, NumelOut: line.Unknown, TimeoutMS: line.Unknown, RanForMS: line.Unknown}}
		done[id] = p
		gr.Pending = append(gr.Pending, p)
		r.Pending = append(r.Pending, p)
	}
	g.worldOfUnnamed()
	for _, r := range g.anon {
		if len(r.Pending) > 0 {
			g.f.Anonymous = append(g.f.Anonymous, r)
		}
	}
	for _, gr := range g.order {
		for _, p := range gr.Pending {
			gr.P2P = gr.P2P || p.Work.Pairwise()
		}
	}
}

// timeoutOrder prefers the watchdog's own ERROR line over its echoes, then the file's order.
func (g *grouper) timeoutOrder() []int {
	form := map[string]int{"error": 0, "terminated": 1, "what": 2, "python": 3}
	idx := make([]int, len(g.obs.Timeouts))
	for i := range idx {
		idx[i] = i
	}
	sort.SliceStable(idx, func(a, b int) bool {
		x, y := &g.obs.Timeouts[idx[a]], &g.obs.Timeouts[idx[b]]
		fx, okx := form[x.Form]
		fy, oky := form[y.Form]
		if !okx {
			fx = 9
		}
		if !oky {
			fy = 9
		}
		if fx != fy {
			return fx < fy
		}
		return less(x.Pos, y.Pos)
	})
	return idx
}

// onlyNamed is the default group if it is the only group that any line names.
func (g *grouper) onlyNamed() worker.GroupRef {
	var out worker.GroupRef
	see := func(r worker.GroupRef) bool {
		if !r.Known {
			return true
		}
		if out.Known && out.GUID != r.GUID {
			return false
		}
		out = r
		return true
	}
	for i := range g.obs.States {
		if !see(g.obs.States[i].Group) {
			return worker.GroupRef{}
		}
	}
	for i := range g.obs.Timeouts {
		if !see(g.obs.Timeouts[i].Group) {
			return worker.GroupRef{}
		}
	}
	if out.GUID != "0" && out.Desc != "default_pg" {
		return worker.GroupRef{}
	}
	return out
}

// nearest is the state line of the same process that reports the same work, the closest one below the watchdog line in
// the same file; with a known group only of that group.
func nearest(states []*worker.State, t *worker.Timeout, ref worker.GroupRef) *worker.State {
	var best *worker.State
	var dist int64
	for _, s := range states {
		if s.Work != t.Work.Seq || (ref.Known && s.Group.Known && s.Group.GUID != ref.GUID) {
			continue
		}
		d := s.Off - t.Off
		if s.File != t.File {
			d = 1 << 50
		} else if d < 0 {
			d = (1 << 40) - d
		}
		if best == nil || d < dist || (d == dist && betterState(s, best)) {
			best, dist = s, d
		}
	}
	return best
}

// betterState prefers the form that both 2.4 and later print with all three numbers.
func betterState(a, b *worker.State) bool { return less(a.Pos, b.Pos) }

// worldOfUnnamed proves that lines which name no group speak of the default group: a rank inside a group that equals
// world size − 1 exists only in a group of the whole world, and no two processes may claim the same rank in it.
func (g *grouper) worldOfUnnamed() {
	gr := g.byKey[unnamedKey]
	world := g.f.Job.WorldSize
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
			r := g.f.rank(p.GroupRank, "rank in a group of all ranks")
			if r.Node == "" {
				r.Node = p.Rank.Node
				r.NodeBasis = g.f.ident.nodeBasis[p.At.File]
			}
			delete(g.anon, p.Rank.Label)
			old := p.Rank
			for _, q := range old.Pending {
				q.Rank = r
			}
			r.Pending = append(r.Pending, old.Pending...)
			r.seen(p.At, p.At, "")
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
			p.Report = g.f.At(p.At)
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
	g.f.Groups = g.order
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
