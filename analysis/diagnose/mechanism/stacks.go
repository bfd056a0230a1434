package mechanism

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/stacks"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/incident"
	"faultline/knowledge"
)

// Stacks of processes show where each stood when somebody looked. A rank that waits for its GPU may wait for any other; one that waits
// for its data loader waits for no rank: where all others wait, it is what they wait for.

// ofPlace is the mechanism that a place of the ranks that hold everyone stands for. All other places only name the frame.
var ofPlace = map[stacks.Place]knowledge.Slug{stacks.Loader: knowledge.DataloaderStall, stacks.Checkpoint: knowledge.CheckpointIO, stacks.Storage: knowledge.StorageUnresponsive, stacks.Compile: knowledge.RankBusy, stacks.Prepare: knowledge.RankBusy}

// stand is what the stacks of a run decide.
type stand struct {
	slug  knowledge.Slug
	place stacks.Place
	// culprits held the others, by their stacks; ranks are their ranks, empty where not all are known.
	culprits []*resolve.Stood
	ranks    []int
	nodes    []string
	waiting  []*resolve.Stood
	logs     bool // the counters in the logs prove the same ranks
	all      bool // everybody stood there
	running  bool // the job may not hang at all: it made steps to the end of its logs, and was looked at once
}

// Bounds of what stacks alone may decide.
const (
	leastWaiting = 3 // processes that must wait where no log says that anything hangs
	leastAgain   = 2 // dumps that must agree where what is seen is also seen in a healthy run
)

// trainers are the ranks' own processes whose stacks are of this time.
func trainers(f *resolve.Facts) []*resolve.Stood {
	var out []*resolve.Stood
	for _, s := range f.Stood {
		if s.Kind == stacks.Trainer && !s.Stale && !(s.Tool == stacks.Kernel && s.Place() == stacks.Nowhere) {
			out = append(out, s)
		}
	}
	return out
}

// sides sorts the trainers: who waits, who holds and who may do either.
func sides(s *Scene) (waits, holds, open []*resolve.Stood) {
	for _, t := range trainers(s.Facts) {
		inFlight := t.Rank != resolve.NoRank && s.Graph.Waits(t.Rank)
		switch p := t.Place(); {
		case p.Waits() || inFlight && !p.Holds():
			waits = append(waits, t)
		case p.Holds() && !inFlight:
			holds = append(holds, t)
		default:
			open = append(open, t)
		}
	}
	if len(open) > 0 && unchanged(open) && !slices.ContainsFunc(open, func(t *resolve.Stood) bool { return t.Moved || t.Same != open[0].Same || t.Place() == stacks.Nowhere }) {
		// Looked at again they all stand at the same call still: each waits in it for what Python's frames do not show.
		waits, open = append(waits, open...), nil
	}
	if len(waits) == 0 && len(open) >= leastWaiting && len(holds) == 1 && !slices.ContainsFunc(open, func(t *resolve.Stood) bool { return t.Place() != stacks.Compute }) {
		waits, open = open, nil // all in the computation, which waits for the GPU, and that for whoever is not there
	}
	return waits, holds, open
}

// stood decides by the stacks who held the others and why; nil where they do not.
func stood(s *Scene) *stand {
	f, g := s.Facts, s.Graph
	if len(f.Stood) == 0 {
		return nil
	}
	if g.Shape == waitfor.Straggle && len(g.Root) > 0 {
		return stoodAsProven(s)
	}
	waits, holds, open := sides(s)
	if len(holds) == 0 && len(open) == 1 && len(waits) >= leastWaiting && blocked(open[0]) {
		holds, open = open, nil
	}
	if len(holds) == 0 || len(f.Mismatches)+len(f.Desyncs) > 0 {
		return nil
	}
	d := &stand{place: holds[0].Place(), culprits: holds, waiting: waits}
	for _, h := range holds {
		if h.Place() != d.place || h.Moved {
			return nil
		}
	}
	again := unchanged(holds)
	if d.slug = ofPlace[d.place]; d.slug == "" {
		d.slug = knowledge.RankStalled
	}
	switch g.Shape {
	case waitfor.NoHang:
		waited := watchdogsWait(f, waits)
		if explained(f, waited) {
			return nil
		}
		_, silent := f.Silence()
		_, still := f.Standstill()
		hung := waited || silent || still
		switch {
		case len(open) > 0:
			return nil
		case len(waits) == 0: // everybody stands there
			if !again || len(holds) < leastAgain {
				return nil
			}
			d.all = true
		case len(waits) < leastWaiting || 2*len(holds) >= len(waits)+len(holds):
			return nil
		case (d.place == stacks.Checkpoint || d.place == stacks.Compile || d.place == stacks.Prepare) && !again:
			return nil // so it looks in every healthy run, too, while one rank writes and the others wait for it
		}
		if d.running = !again && !hung && len(f.Progress) > 2; d.running && len(f.Ends) > 0 {
			return nil
		}
	case waitfor.Unseen, waitfor.Split, waitfor.Pair, waitfor.Told, waitfor.AllWait:
		waiting := len(waits)
		if !slices.ContainsFunc(holds, func(h *resolve.Stood) bool { return h.Rank == resolve.NoRank }) {
			waiting = max(waiting, len(g.Waiters)) // the logs prove that these wait, and that the holders are none of them
		}
		if len(open) > 0 || waiting < 2 || 2*len(holds) >= waiting+len(holds) {
			return nil
		}
	default:
		return nil // the counters say who is wrong, or that nobody stayed away
	}
	d.who()
	return d
}

// blocked says that a rank stood in a call that waits for something outside the job's collectives: a lock, a program or the network. Several
// that do may wait for each other.
func blocked(t *resolve.Stood) bool {
	switch t.Place() {
	case stacks.Lock, stacks.Subprocess, stacks.Network, stacks.Files:
		return t.Rank != resolve.NoRank
	}
	return false
}

// stoodAsProven is the case in which the counters prove who held the others: their stacks tell why.
func stoodAsProven(s *Scene) *stand {
	d := &stand{logs: true}
	for _, t := range trainers(s.Facts) {
		switch {
		case t.Rank == resolve.NoRank || !slices.Contains(s.Graph.Root, t.Rank):
			if t.Place().Waits() {
				d.waiting = append(d.waiting, t)
			}
		case t.Place().Waits() || t.Moved:
			return nil // taken at another time, or the counters are of another group
		default:
			d.culprits = append(d.culprits, t)
		}
	}
	if len(d.culprits) == 0 {
		return nil
	}
	d.place = d.culprits[0].Place()
	for _, c := range d.culprits {
		if c.Place() != d.place {
			return nil
		}
	}
	if d.slug = ofPlace[d.place]; d.slug == "" {
		d.slug = knowledge.RankStalled
	}
	d.who()
	d.ranks = s.Graph.Root
	return d
}

// watchdogsWait says that heartbeat monitors of most ranks reported watchdogs that were stuck, and that each of these ranks stood in a
// collective or waited for its GPU: what it waited for kept its watchdog as well, and the job did hang.
func watchdogsWait(f *resolve.Facts, waits []*resolve.Stood) bool {
	stuck := 0
	for _, r := range f.Ranks {
		if r.Stuck == nil {
			continue
		}
		if stuck++; !slices.ContainsFunc(waits, func(w *resolve.Stood) bool { return w.Rank == r.ID && w.Place().Waits() }) {
			return false
		}
	}
	return 2*stuck > max(len(f.Ranks), f.Job.WorldSize)
}

// explained says that something else in the logs tells how the run ended: a snapshot of it proves nothing then. A watchdog that was
// stuck tells nothing where the ranks of all such waited.
func explained(f *resolve.Facts, waited bool) bool {
	if f.Job.ExitOK != nil || len(f.Barriers) > 0 {
		return true
	}
	if _, ok := f.Accounting.Ended(); ok {
		return true
	}
	for _, r := range f.Ranks {
		if r.Stuck != nil && !waited || r.GIL != nil {
			return true
		}
	}
	return slices.ContainsFunc(f.Failures, func(fl *resolve.Failure) bool {
		return fl.Role == knowledge.CauseRole && !(waited && fl.Says(knowledge.OfWatchdog))
	})
}

// who fills in ranks and nodes.
func (d *stand) who() {
	known := true
	for _, c := range d.culprits {
		known = known && c.Rank != resolve.NoRank
		if c.Node != "" && !slices.Contains(d.nodes, c.Node) {
			d.nodes = append(d.nodes, c.Node)
		}
	}
	slices.Sort(d.nodes)
	for _, c := range d.culprits {
		if known && !slices.Contains(d.ranks, c.Rank) {
			d.ranks = append(d.ranks, c.Rank)
		}
	}
	slices.Sort(d.ranks)
}

// stoodAt makes the proposal of a mechanism that the stacks decide.
func stoodAt(slug knowledge.Slug, needs ...incident.Need) func(*Scene) *Proposal {
	return func(s *Scene) *Proposal {
		d := stood(s)
		if d == nil || d.slug != slug {
			return nil
		}
		p := collective(s, slug)
		p.Frontier, p.Needs = nil, needs
		p.Ranks, p.Nodes, p.Scope = d.ranks, d.nodes, stoodScope(s.Facts, d)
		p.Base = 0.8
		switch {
		case d.running:
			p.Base, p.Rivals = 0.7, []knowledge.Slug{knowledge.Completed}
			p.Ranks, p.Nodes, p.Frontier = nil, nil, d.ranks
		case d.logs:
			p.Base = 0.96
		case s.Graph.Shape != waitfor.NoHang:
			p.Base = 0.92
		case unchanged(d.culprits) && !d.all:
			p.Base = 0.85
		}
		c := d.culprits[0]
		who := c.Describe()
		if n := len(d.culprits); n > 1 {
			who = fmt.Sprintf("%s and %s", who, plural(n-1, "other process", "other processes"))
		}
		at := frameWords(c)
		held := max(len(d.waiting), s.Graph.Waiting())
		switch {
		case d.all:
			p.Summary = fmt.Sprintf("every process examined stalled in the same place: %s was %s, at %s", who, d.place.Says(), at)
			p.Why = "their stacks were taken more than once and did not change; none was waiting for another rank"
		default:
			p.Summary = fmt.Sprintf("%s kept %s waiting: its stack shows it %s, at %s", who, plural(held, "rank", "ranks"), d.place.Says(), at)
			p.Why = "the other ranks' stacks show them waiting in collectives or for their GPUs; this rank was not waiting for another one"
		}
		if d.running {
			p.Why = "the other ranks are waiting for it; but the job made steps to the end of its logs, and one dump of a healthy run can look the same: take a second one a minute later"
		}
		if d.logs {
			p.Why = fmt.Sprintf("the counters prove that %s had not entered the collective the other ranks were in; its stack shows what it was doing", rankWords(d.ranks))
		}
		for i, c := range d.culprits {
			if i == 3 {
				break
			}
			p.For = append(p.For, StackFinding(c))
		}
		if d.logs {
			for i, id := range d.ranks {
				if i < 3 {
					p.For = append(p.For, stragglerFinding(s, id))
				}
			}
		}
		if len(d.waiting) > 0 {
			p.Led = append(p.Led, waitingFinding(d.waiting))
		}
		for i, gr := range s.Graph.Groups {
			if i == 2 {
				break
			}
			p.Led = append(p.Led, waitersFinding(s, gr, set(d.ranks)))
		}
		return p
	}
}

func unchanged(of []*resolve.Stood) bool {
	return !slices.ContainsFunc(of, func(s *resolve.Stood) bool { return s.Dumps < leastAgain })
}

func set(ids []int) map[int]bool {
	m := map[int]bool{}
	for _, id := range ids {
		m[id] = true
	}
	return m
}

func stoodScope(f *resolve.Facts, d *stand) string {
	switch {
	case d.all:
		return "all"
	case len(d.ranks) > 0:
		return scopeOf(f, d.ranks)
	case len(d.culprits) == 1:
		return "rank"
	case len(d.nodes) == 1:
		return "node"
	}
	return "group"
}

// StackFinding says where a process stood, and quotes the frame that tells.
func StackFinding(c *resolve.Stood) incident.Finding {
	text := fmt.Sprintf("%s was %s, at %s", c.Describe(), c.Place().Says(), frameWords(c))
	if c.Dumps > 1 && !c.Moved {
		text += fmt.Sprintf("; %d dumps of it are the same", c.Dumps)
	}
	return finding(text, StackEvidence(c)...)
}

// StackEvidence quotes the frame that tells where a process stood, the innermost of the job's own code, and the head of its thread.
func StackEvidence(c *resolve.Stood) []incident.Evidence {
	var out []incident.Evidence
	st, file := c.Stack, c.File
	if c.Kernel != nil && c.Kernel.Place == stacks.Storage {
		st, file = c.Kernel.Stack, c.Kernel.File
	}
	out = append(out, QuoteAt(resolve.Spot(c.File, c.Thread.At), nil))
	if i := max(st.Named, 0); i < len(st.Thread.Frames) {
		f := &st.Thread.Frames[i]
		out = append(out, QuoteAt(resolve.Spot(file, f.At), naming(f)))
	}
	if u := c.User; u >= 0 && u != c.Named && u < len(c.Thread.Frames) {
		f := &c.Thread.Frames[u]
		out = append(out, QuoteAt(resolve.Spot(c.File, f.At), naming(f)))
	}
	return out
}

func naming(f *stacks.Frame) *incident.Predicate {
	if f.Func == "" || strings.ContainsAny(f.Func, `?"\`) {
		return nil
	}
	return &incident.Predicate{Literals: []string{f.Func}}
}

// frameWords names the frame that tells where a process stood, with the job's own code that called it.
func frameWords(c *resolve.Stood) string {
	if c.Kernel != nil && c.Kernel.Place == stacks.Storage {
		return frameName(&c.Kernel.Thread.Frames[c.Kernel.Named])
	}
	i := max(c.Named, 0)
	if i >= len(c.Thread.Frames) {
		return "no frame"
	}
	s := frameName(&c.Thread.Frames[i])
	if u := c.User; u >= 0 && u != i && u < len(c.Thread.Frames) {
		s += ", called from " + frameName(&c.Thread.Frames[u])
	}
	return s
}

// StoodWords says where a process stood: "in all_reduce, at …".
func StoodWords(c *resolve.Stood) string {
	where := c.Place().Says()
	if c.Place().Waits() {
		where = WaitsIn(c)
	}
	at := frameWords(c)
	if strings.HasPrefix(at, strings.TrimPrefix(where, "in ")+" (") { // the operation is the frame
		return "in " + at
	}
	return where + ", in " + at
}

func frameName(f *stacks.Frame) string {
	switch {
	case f.File != "" && f.Line > 0:
		return fmt.Sprintf("%s (%s:%d)", f.Func, f.File, f.Line)
	case f.File != "":
		return fmt.Sprintf("%s (%s)", f.Func, f.File)
	}
	return f.Func
}

// waitingFinding says where the others stood, by operation, and quotes one of each.
func waitingFinding(waits []*resolve.Stood) incident.Finding {
	count := map[string]int{}
	first := map[string]*resolve.Stood{}
	for _, w := range waits {
		k := WaitsIn(w)
		if count[k]++; first[k] == nil {
			first[k] = w
		}
	}
	keys := make([]string, 0, len(count))
	for k := range count {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	var ev []incident.Evidence
	for i, k := range keys {
		if i == 4 {
			parts = append(parts, "others elsewhere")
			break
		}
		parts = append(parts, fmt.Sprintf("%d %s", count[k], k))
		if w := first[k]; w.Named >= 0 {
			f := &w.Thread.Frames[w.Named]
			ev = append(ev, QuoteAt(resolve.Spot(w.File, f.At), naming(f)))
		}
	}
	return ofWait(finding(fmt.Sprintf("%s waited: %s", plural(len(waits), "other process", "other processes"), strings.Join(parts, ", ")), ev...))
}

// WaitsIn says in what a process waited: "in broadcast".
func WaitsIn(w *resolve.Stood) string {
	if w.Place() == stacks.Collective && w.Op != "" {
		return "in " + w.Op
	}
	return w.Place().Says()
}

// inside says that a hang is proven, that the stacks of all ranks are here and that every one of them waits: nobody stayed away on
// the CPU. alike is true where all wait in one operation.
func inside(s *Scene) (waits []*resolve.Stood, alike, ok bool) {
	world := s.Facts.Job.WorldSize
	switch s.Graph.Shape {
	case waitfor.Unseen, waitfor.Told, waitfor.AllWait:
	default:
		return nil, false, false
	}
	waits, holds, open := sides(s)
	if world < 2 || len(holds)+len(open) > 0 || s.Graph.Gloo {
		return nil, false, false
	}
	ranks, ops := map[int]bool{}, map[string]bool{}
	for _, w := range waits {
		if w.Moved {
			return nil, false, false
		}
		ranks[w.Rank] = w.Rank != resolve.NoRank
		ops[WaitsIn(w)] = true
	}
	delete(ranks, resolve.NoRank)
	return waits, len(ops) == 1, len(ranks) == world
}

// allInside proposes what is left where nobody stayed away: counters and stacks cannot tell the network from a GPU.
func allInside(s *Scene) *Proposal {
	waits, alike, ok := inside(s)
	if !ok {
		return nil
	}
	p := collective(s, knowledge.CollectiveHang)
	p.Frontier, p.Rivals, p.Base = nil, []knowledge.Slug{knowledge.GPUHang}, 0.92
	p.Scope = "all"
	p.Summary = fmt.Sprintf("the stacks of all %d ranks show them waiting in collectives or for their GPUs: no rank is missing", len(waits))
	p.Why = "no rank was doing anything else; the network, NCCL or one GPU is hung, and stacks can't tell which"
	if !alike {
		p.Rivals = append(p.Rivals, knowledge.CollectiveMismatch)
		p.Why = "no rank was doing anything else; they are waiting in different operations, which is normal for separate groups but also happens with mismatched calls"
	}
	p.For = append(p.For, waitingFinding(waits))
	for i, gr := range s.Graph.Groups {
		if i == 2 {
			break
		}
		p.Led = append(p.Led, waitersFinding(s, gr, nil))
	}
	return p
}

// stoodStill proposes what is left where the logs report nothing, and all processes stood at the same calls in every dump: something
// hangs, and neither side of it can be told.
func stoodStill(s *Scene) *Proposal {
	f := s.Facts
	all := trainers(f)
	if s.Graph.Shape != waitfor.NoHang || len(all) < leastAgain || !unchanged(all) || explained(f, false) || stood(s) != nil || len(f.Mismatches)+len(f.Desyncs) > 0 ||
		slices.ContainsFunc(all, func(t *resolve.Stood) bool { return t.Moved }) {
		return nil
	}
	p := collective(s, knowledge.RankStalled)
	p.Rivals, p.Base, p.Scope = append(knowledge.HavingNature(knowledge.Entered), knowledge.CollectiveMismatch), 0.6, "all"
	p.Summary = fmt.Sprintf("%s made no progress between stack dumps; they don't show which one is blocking the rest", plural(len(all), "process", "processes"))
	p.Why = "every dump of a process shows the same call; Python frames don't show which ones are waiting for a GPU and which are working"
	p.For = append(p.For, StackFinding(all[0]))
	seen := map[uint64]bool{all[0].Same: true}
	for _, t := range all {
		if !seen[t.Same] && len(p.For) < 4 {
			seen[t.Same] = true
			p.For = append(p.For, StackFinding(t))
		}
	}
	return p
}

// unlessStood lets a reading of the counters stand back where the stacks say more.
func unlessStood(propose func(*Scene) *Proposal) func(*Scene) *Proposal {
	return func(s *Scene) *Proposal {
		if stood(s) != nil {
			return nil
		}
		if _, _, all := inside(s); all {
			return nil
		}
		return propose(s)
	}
}
