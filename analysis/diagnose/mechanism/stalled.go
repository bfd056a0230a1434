package mechanism

import (
	"cmp"
	"fmt"
	"slices"

	"faultline/analysis/artifact/kernel"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/incident"
	"faultline/knowledge"
)

func rankStalled(s *Scene) *Proposal {
	if p := namedByPyTorch(s); p != nil {
		return p
	}
	if ncclDiffer(s) != nil || analysedDiffer(s) != nil {
		return nil
	}
	if p := first(ncclBehind, rasBehind, rasGone, analysedMissing)(s); p != nil {
		return p
	}
	if stuckAlone(s) {
		return nil // what its watchdog stalled in
	}
	switch s.Graph.Shape {
	case waitfor.Straggle:
		return straggled(s)
	case waitfor.Unseen:
		return blockedUnseen(s)
	case waitfor.Told:
		return blockedUntold(s)
	case waitfor.NoHang:
		return first(unspoken, rasOnce, silentEnd)(s)
	case waitfor.Pair:
		return oneOfTwo(s)
	case waitfor.Split:
		return oneOfTwoSides(s)
	}
	return nil
}

// straggled says that those who hold the others are known.
func straggled(s *Scene) *Proposal {
	g, f := s.Graph, s.Facts
	if other, _ := otherBackend(s, g.Root); other || heldBy(s) != nil {
		return nil // its own lines say what held it
	}
	p := collective(s, knowledge.RankStalled)
	p.Ranks, p.Scope = g.Root, scopeOf(f, g.Root)
	p.Nodes = nodesOf(f, g.Root)
	p.Base = 0.9
	if g.Idle {
		p.Base = 0.95
	}
	if g.Late {
		held := plural(g.Waiting()-len(g.Root), "rank", "ranks")
		p.Summary = fmt.Sprintf("%s kept %s waiting", where(f, g.Root), held)
		p.Why = fmt.Sprintf("%s entered the collective after other ranks had already given up", rankWords(g.Root))
	} else {
		waited := plural(g.Waiting(), "rank waited", "ranks waited")
		if len(g.Groups) > 1 {
			waited += ", there or in other groups"
		}
		p.Summary = fmt.Sprintf("%s never joined %s; %s", where(f, g.Root), missed(s), waited)
		p.Why = stragglerFinding(s, g.Root[0]).Statement
	}
	for _, id := range head(g.Root, 4) {
		p.For = append(p.For, stragglerFinding(s, id))
	}
	p.Led = waited(s, head(g.Groups, 3), g.Root)
	if len(g.Intermediates) > 0 {
		p.Led = append(p.Led, finding(fmt.Sprintf("%s also kept ranks waiting, but only because they were waiting themselves", rankWords(g.Intermediates)), pendingOf(s, g.Intermediates[0])...))
	}
	if x := silentServer(f, p.Nodes); x != nil {
		p.Suspects = append(p.Suspects, *x)
	}
	p.Suspects = append(p.Suspects,
		incident.Suspect{Mechanism: string(knowledge.DataloaderStall), Why: "most ranks that stall outside NCCL are loading data"},
		incident.Suspect{Mechanism: string(knowledge.CheckpointIO), Why: "the next most common reason"})
	return p
}

// waited says of each group who waited in it, those left out that held it, and who timed out in Gloo.
func waited(s *Scene, groups []*resolve.Group, but []int) []incident.Finding {
	skip := map[int]bool{}
	for _, id := range but {
		skip[id] = true
	}
	var out []incident.Finding
	for _, gr := range groups {
		out = append(out, waitersFinding(s, gr, skip))
	}
	if s.Graph.Gloo {
		out = append(out, glooFinding(s))
	}
	return out
}

// blockedUnseen says that ranks waited for one that was not seen, or not proven to be the one.
func blockedUnseen(s *Scene) *Proposal {
	g, f := s.Graph, s.Facts
	if rasAgrees(f) || ncclLevel(s) {
		return nil // everybody launched the same operations: nobody stayed away
	}
	if other, _ := otherBackend(s, g.Free); other && g.Outside {
		return nil // who stayed away is in another back end
	}
	if stillWorking(s) != nil {
		return nil // work that one process does for all was under way
	}
	p := collective(s, knowledge.RankStalled)
	p.Rivals = unseenRivals(s)
	p.Base = 0.9
	p.Summary = fmt.Sprintf("a collective hung in %s; can't tell which rank blocked it", groupList(g.Groups))
	if text := wentAhead(s); text != "" {
		p.Summary = text + "; can't tell which rank blocked them"
	}
	p.Why = unseenWhy(s)
	p.For = waited(s, head(g.Groups, 3), nil)
	if f.Job.WorldSize == 0 {
		p.Needs = append(p.Needs, needWorld)
	}
	wordless := func(id int) bool { r := f.Rank(id); return r == nil || r.Lines == 0 }
	if g.Lost || slices.ContainsFunc(g.Frontier, wordless) {
		p.Needs = append(p.Needs, needFiles)
	}
	if x := neverWorked(g.Groups); x != nil {
		p.Suspects = append(p.Suspects, *x)
	}
	hang := slices.Index(p.Rivals, knowledge.CollectiveHang)
	if hang < 0 {
		return p
	}
	if c := openSave(s, resolve.NoRank); c != nil {
		// A stall that begins with a save is mostly the save's.
		p.Mechanism, p.Rivals = knowledge.CheckpointIO, append([]knowledge.Slug{knowledge.RankStalled}, p.Rivals...)
		p.Why = fmt.Sprintf("a %s had started right before and was not reported as finished; %s", saveWord(c), p.Why)
		p.For = append([]incident.Finding{finding(fmt.Sprintf("a %s started right before and was not reported as finished", saveWord(c)), QuoteAt(c.At, nil))}, p.For...)
		p.Needs = append(p.Needs, needPySpy)
	} else if gapless(s) {
		// The same set; what there is no sign of does not come first.
		p.Mechanism, p.Rivals = knowledge.CollectiveHang, append(slices.Delete(p.Rivals, hang, hang+1), knowledge.RankStalled)
		p.Why = fmt.Sprintf("all of ranks 0-%d waited; there may be more", len(f.Ranks)-1)
	}
	return p
}

// unseenRivals is what else it may be where those who could hold the others were not seen.
func unseenRivals(s *Scene) []knowledge.Slug {
	g := s.Graph
	rivals, astray := entered(g.OnGPU || !g.Gloo), knowledge.HavingNature(knowledge.Astray)
	// Gloo's lines, and what kernels print, name nobody, so that many look like one.
	if one := g.Waiting() == 1 && !g.Gloo && !g.OnGPU; one && g.Outside {
		rivals = astray
	} else if one {
		rivals = append(rivals, astray...)
	}
	scattered := g.IsAhead || g.Left || slices.ContainsFunc(g.Groups, g.Scattered) || slices.ContainsFunc(g.Groups, atOdds)
	if scattered && g.Waiting() > 1 {
		rivals = append(rivals, knowledge.CollectiveMismatch)
	}
	recorded := func(r *resolve.Rank) bool { return r.Recorded != nil }
	if !g.IsAhead && len(g.Waiters) > 1 && slices.ContainsFunc(s.Facts.Ranks, recorded) {
		rivals = append(rivals, knowledge.CollectiveMismatch) // the rank whose dump is missing may call something else
	}
	if g.Lost {
		rivals = append(rivals, knowledge.Unknown) // the lost rank may have failed in any way
	}
	return rivals
}

// blockedUntold says that ranks were told of a timeout by one whose own lines are missing.
func blockedUntold(s *Scene) *Proposal {
	g, f := s.Graph, s.Facts
	if g.AllIdle() {
		return nil // everybody else is seen, and idle
	}
	p := collective(s, knowledge.RankStalled)
	p.Rivals = knowledge.HavingNature(knowledge.Entered)
	if l := Unspoken(f); l != nil && len(p.Frontier) == 0 {
		p.Frontier = l.Silent
	}
	if !g.Busy {
		p.Rivals = append(p.Rivals, knowledge.HavingNature(knowledge.Astray)...)
	}
	p.Base = 0.8
	p.Summary = "some rank timed out in a collective and notified the others; its own lines are missing"
	if g.Partial {
		p.Summary += ", and so are some ranks"
	}
	p.Why = fmt.Sprintf("the ranks seen were notified by %s, which was waiting itself; no line shows which rank blocked it", rankWords(g.Waiters))
	for _, r := range f.Ranks {
		if r.Dump != nil && !r.FromLocal && len(p.For) < 3 {
			p.For = append(p.For, finding(fmt.Sprintf("%s was notified of the timeout: last enqueued %d, last completed %d", r.Describe(), r.Dump.Enqueued, r.Dump.Completed), DumpEvidence(r.Dump, r.ID)))
		}
	}
	if f.Job.WorldSize == 0 {
		p.Needs = append(p.Needs, needWorld)
	}
	p.Needs = append(p.Needs, needFiles)
	p.misheard(s)
	return p
}

func oneOfTwo(s *Scene) *Proposal {
	g := s.Graph
	if other, _ := otherBackend(s, g.Free); other {
		return nil
	}
	p := collective(s, knowledge.RankStalled)
	p.Rivals = []knowledge.Slug{knowledge.LoneWaiter}
	p.Base = 0.85
	p.Summary = "one rank waited for another; the counters can't tell which of the two is wrong"
	p.Why = "one rank had entered a collective, one had not"
	p.For = waited(s, g.Groups, nil)
	return p
}

func oneOfTwoSides(s *Scene) *Proposal {
	g := s.Graph
	p := collective(s, knowledge.RankStalled)
	p.Rivals = []knowledge.Slug{knowledge.CollectiveMismatch}
	p.Base = 0.85
	p.Summary = fmt.Sprintf("%s waited while %s had nothing in flight", plural(g.Waiting(), "rank", "ranks"), rankWords(g.Frontier))
	p.Why = "at least as many ranks were outside the collective as inside: the counters can't tell which side is wrong"
	p.For = waited(s, g.Groups, nil)
	return p
}

// missed is the collective that the root did not enter. Of several groups that wait, most may have waited for ranks that the root held in another:
// then it is named only where the root is known to be in the group.
func missed(s *Scene) string {
	g := s.Graph
	if len(g.Groups) == 1 {
		return stuckIn(s, g.Groups[0])
	}
	for _, gr := range g.Groups {
		if gr.Complete() && !slices.ContainsFunc(g.Root, func(id int) bool { return !slices.Contains(gr.Members, id) }) {
			return stuckIn(s, gr)
		}
	}
	return "its group's collective"
}

// stragglerFinding says how a rank is known not to have come.
func stragglerFinding(s *Scene, id int) incident.Finding {
	f := stayedAway(s, id)
	f.Kind = incident.LinkAway
	return f
}

func stayedAway(s *Scene, id int) incident.Finding {
	f := s.Facts
	r := f.Rank(id)
	if r == nil {
		return finding(fmt.Sprintf("rank %d did not report", id))
	}
	var ev []incident.Evidence
	if s.Graph.Late {
		return finding(fmt.Sprintf("%s started waiting in it after other ranks had already given up", r.Describe()), pendingOf(s, id)...)
	}
	if r.Recorded.Nothing() {
		return recordedIdle(s, r)
	}
	if r.Dump != nil {
		ev = append(ev, DumpEvidence(r.Dump, id))
		text := r.Describe() + " reported no timeout of its own"
		if IdleAlone(s, r) {
			text = fmt.Sprintf("%s had nothing in flight (last enqueued %d, last completed %d)", r.Describe(), r.Dump.Enqueued, r.Dump.Completed)
		}
		text += " and was notified of the timeout by " + cmp.Or(r.Notifier, "another rank")
		if a, ok := AbsenceEvidence(f, r); ok {
			ev = append(ev, a)
		}
		return finding(text, ev...)
	}
	if r.Notified != nil {
		ev = append(ev, QuoteAt(*r.Notified, nil))
	}
	if a, ok := AbsenceEvidence(f, r); ok {
		ev = append(ev, a)
	}
	if l, ok := LastLine(r); ok {
		ev = append(ev, l)
	}
	if len(ev) == 0 && r.First.File != "" && r.First.Len > 0 {
		ev = append(ev, QuoteAt(r.First, nil)) // that it was there at all
	}
	if len(ev) == 0 && r.Exit != nil {
		ev = append(ev, QuoteAt(r.Exit.At, nil))
	}
	return finding(fmt.Sprintf("%s never reported a timeout, although every other rank in its groups did", r.Describe()), ev...)
}

// IdleAlone says that a rank's dump signal, which counts the work of the default group, shows it idle where none shows a waiting rank so: those who
// wait in another group have nothing in flight in the default one, either.
func IdleAlone(s *Scene, r *resolve.Rank) bool {
	idle := func(o *resolve.Rank) bool { return o.Dump != nil && o.Dump.Enqueued == o.Dump.Completed }
	return idle(r) && !slices.ContainsFunc(s.Facts.Ranks, func(o *resolve.Rank) bool { return s.Graph.Waits(o.ID) && idle(o) })
}

// recordedIdle says by a rank's dump that it had nothing in flight where others waited for it.
func recordedIdle(s *Scene, r *resolve.Rank) incident.Finding {
	text := fmt.Sprintf("%s had nothing in flight in any group, according to its flight recorder", r.Describe())
	var ev []incident.Evidence
	for _, g := range s.Graph.Groups {
		c := g.Counters[r.ID]
		if stuck := s.Graph.Stuck(g); c == nil || len(ev) == 3 || stuck == nil || !g.P2P && c.Enqueued >= stuck.Work.Seq {
			continue
		}
		if len(ev) == 0 {
			text += fmt.Sprintf(": in %s it had issued %d", groupName(g), c.Enqueued)
			if !g.P2P {
				text += fmt.Sprintf(" while the other ranks waited in #%d", s.Graph.Stuck(g).Work.Seq)
			}
		}
		ev = append(ev, recordEvidence(c.Record))
	}
	return finding(text, ev...)
}

// gapless says that everyone seen waits, and that their numbers leave none out and are as many as jobs mostly have ranks: a power of two,
// or whole nodes of eight. It proves nothing: the ranks behind the last may be missing.
func gapless(s *Scene) bool {
	g, f := s.Graph, s.Facts
	n := len(f.Ranks)
	return f.Job.WorldSize == 0 && n > 1 && (n%8 == 0 || n&(n-1) == 0) && len(g.Waiters) == n && g.Anonymous == 0 &&
		!slices.ContainsFunc(f.Ranks, func(r *resolve.Rank) bool { return r.ID >= n || slices.ContainsFunc(r.Pending, repeated) })
}

// repeated says that Ray shows one line for those of several ranks.
func repeated(p *resolve.Pending) bool { return p.At.Repeated > 0 }

// neverWorked is the suspicion that lies near where none of the stuck groups has completed anything on anyone.
func neverWorked(gs []*resolve.Group) *incident.Suspect {
	for _, gr := range gs {
		for _, p := range gr.Pending {
			if (p.State == nil || p.State.Completed >= 0) && (p.Counters == nil || p.Counters.Completed >= 0) {
				return nil
			}
		}
	}
	return &incident.Suspect{Mechanism: string(knowledge.InitUnreachable), Why: "these ranks have never completed a collective: the network between them may not carry NCCL traffic (interface, firewall, MTU, GPU peer access)"}
}

func unseenWhy(s *Scene) string {
	g, f := s.Graph, s.Facts
	switch {
	case g.Late:
		return fmt.Sprintf("%s started waiting after the rest of their groups had already given up: one of them may have blocked the rest", rankWords(g.Frontier))
	case f.Job.WorldSize == 0 && len(f.Coverage.RanksUnseen) > 0 && len(g.Unseen)+len(g.Frontier) > 0:
		return fmt.Sprintf("every rank with known state was waiting; there are at least %s (%s), and no line is known to come from %s", plural(f.Job.Least, "rank", "ranks"), f.Job.LeastFrom, rankWords(f.Coverage.RanksUnseen))
	case f.Job.WorldSize == 0:
		return quietWhy(s) + "; the world size is unknown"
	case len(g.Frontier) > 0 && len(g.Groups) == 1 && g.Groups[0].P2P && g.Outside:
		return fmt.Sprintf("one end of a send or receive was waiting; the other is one of %s, and no counter shows which", rankWords(g.Frontier))
	case len(g.Frontier) > 0:
		return fmt.Sprintf("every rank with known state was waiting; the state of %s is unknown", rankWords(g.Frontier))
	}
	return "every rank seen was waiting; the members of the stuck groups are unknown"
}

// quietWhy says who of those seen did not report that they waited.
func quietWhy(s *Scene) string {
	g := s.Graph
	var quiet []int
	for _, r := range s.Facts.Ranks {
		if !g.Waits(r.ID) {
			quiet = append(quiet, r.ID)
		}
	}
	switch n := len(quiet); {
	case n == 0:
		return "every rank seen was waiting"
	case g.Anonymous == 1:
		return "a waiting process doesn't show its rank"
	case g.Anonymous > 1:
		return fmt.Sprintf("%d waiting processes don't show their ranks", g.Anonymous)
	case n == 1:
		return fmt.Sprintf("%s does not report waiting", rankWords(quiet))
	case n <= 8:
		return fmt.Sprintf("%s did not report waiting", rankWords(quiet))
	default:
		return fmt.Sprintf("%d of the ranks seen did not report waiting", n)
	}
}

// silentServer is the suspicion that a rank was held by a file server: the kernel of its node missed answers of one while the others
// waited. Of whose files, no line says.
func silentServer(f *resolve.Facts, nodes []string) *incident.Suspect {
	for _, e := range f.Kernel {
		if e.Kind == kernel.Storage && e.When == resolve.Near && slices.Contains(nodes, e.Node) {
			return &incident.Suspect{Mechanism: string(knowledge.StorageUnresponsive), Why: fmt.Sprintf("the kernel on %s got no response from %s at that time; no line shows whether this rank was waiting for it", e.Node, e.Name)}
		}
	}
	return nil
}

// atOdds says that works of one number wait in different operations. In a group without a name they may be of two groups. Where ranks
// send and receive, each counts for itself, and one's sending is the other's receiving.
func atOdds(gr *resolve.Group) bool {
	if gr.P2P {
		return false
	}
	op := map[int64]string{}
	for _, p := range gr.Pending {
		if p.Work.Seq < 0 || p.Work.Op == "" {
			continue
		}
		if o, seen := op[p.Work.Seq]; seen && o != p.Work.Op {
			return true
		}
		op[p.Work.Seq] = p.Work.Op
	}
	return false
}

// wentAhead says who waits further on than the rest of a group; "" where nobody does, or it is not known who. In a group without a name
// both may be of two groups.
func wentAhead(s *Scene) string {
	g := s.Graph
	if len(g.Groups) != 1 || g.Anonymous > 0 || g.Groups[0].P2P {
		return ""
	}
	var low, high *resolve.Pending
	var behind, ahead []int
	for _, p := range g.First(g.Groups[0]) {
		if p.Work.Seq < 0 {
			return ""
		}
		if low == nil || p.Work.Seq < low.Work.Seq {
			low = p
		}
	}
	at := func(p, q *resolve.Pending) bool { return p.Work.Seq == q.Work.Seq && p.Work.Op == q.Work.Op }
	for _, p := range g.First(g.Groups[0]) {
		switch {
		case at(p, low):
			behind = appendNew(behind, p.Rank.ID)
		case p.Work.Seq > low.Work.Seq && (high == nil || at(p, high)):
			high, ahead = p, appendNew(ahead, p.Rank.ID)
		default:
			return ""
		}
	}
	if high == nil || len(ahead) >= len(behind) {
		return ""
	}
	text := fmt.Sprintf("%s waited in %s #%d, %s in %s #%d, %d ahead", rankWords(behind), low.Work.Op, low.Work.Seq, rankWords(ahead), high.Work.Op, high.Work.Seq, high.Work.Seq-low.Work.Seq)
	if g.Groups[0].Unnamed {
		text += " if they are in one group"
	}
	return text
}
