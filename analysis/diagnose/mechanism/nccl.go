package mechanism

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/nccl"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/incident"
	"faultline/knowledge"
)

// openHang says that the job's logs show a hang and leave open who held it. Only then are NCCL's logs and its RAS asked: that ranks stand
// at different calls at one moment is so in every job that works.
func openHang(s *Scene) bool {
	g := s.Graph
	switch g.Shape {
	case waitfor.Unseen, waitfor.Told, waitfor.Pair, waitfor.Split:
		return !g.Gloo
	case waitfor.NoHang:
		if s.Facts.Job.ExitOK != nil {
			return false
		}
		_, silent := s.Facts.Silence()
		return silent
	}
	return false
}

// openedBy is a proposal for such a hang, with what the job's logs tell of it.
func openedBy(s *Scene, slug knowledge.Slug) *Proposal {
	p := collective(s, slug)
	p.Frontier = nil
	for i, gr := range s.Graph.Groups {
		if i == 2 {
			break
		}
		p.Led = append(p.Led, waitersFinding(s, gr, nil))
	}
	if x, ok := s.Facts.Silence(); ok && len(p.Led) == 0 {
		p.At = x.Last.T
		p.Led = append(p.Led, finding(fmt.Sprintf("no step was logged for %s before SLURM ended the job", duration(x.For)), QuoteAt(*x.Last.At, nil), QuoteAt(x.End.Line.At, nil)))
	}
	return p
}

// ncclBehind names the processes that called fewer collectives than all others of a communicator, by NCCL's own logs, where their logs
// go on after that: then it is not the log that ends early.
func ncclBehind(s *Scene) *Proposal {
	f, g := s.Facts, s.Graph
	if f.NCCL == nil || !openHang(s) {
		return nil
	}
	standings := f.NCCL.Standings
	for i := range standings {
		st := &standings[i]
		if len(st.Open) > 0 || !st.Comm.All() {
			return nil
		}
	}
	holders, ok := nccl.Holders(standings)
	if !ok || 2*len(holders) >= len(f.NCCL.World.Procs) {
		return nil
	}
	p := openedBy(s, knowledge.RankStalled)
	nodes := map[string]bool{}
	named := true
	for _, m := range holders {
		id, ok := f.NCCL.Rank(m.Proc)
		if !ncclCovers(f.NCCL, m.Proc) {
			return nil // it may wait for somebody itself
		}
		if ok && g.Waits(id) {
			return nil // its own watchdog says that it waited itself
		}
		named = named && ok
		p.Ranks = appendNew(p.Ranks, id)
		nodes[f.NCCL.Host(m.Proc.Host)] = true
	}
	if !named {
		p.Ranks = nil
	}
	p.Nodes, p.Base, p.Scope = keysOf(nodes), 0.9, scopeOf(f, p.Ranks)
	if !named && len(p.Nodes) == 1 {
		p.Scope = "node"
	}
	who := memberWords(f, holders)
	p.Summary = who + " did not make a call that all other ranks in a communicator had made"
	p.Why = "according to NCCL's own logs, the other ranks made at least one more call, and the rank behind kept logging without making it"
	for i := range standings {
		if st := &standings[i]; len(st.Behind) > 0 && len(p.For) < 3 {
			p.For = append(p.For, BehindFinding(f, st))
		}
	}
	p.Suspects = []incident.Suspect{{Mechanism: string(knowledge.DataloaderStall), Why: "most ranks that stall outside NCCL are loading data"}}
	return p
}

// ncclCovers says that all that a process called is compared with what others did: no communicator of it is unknown to them, and it sent
// and received nothing one to one.
func ncclCovers(n *resolve.NCCL, p *nccl.Proc) bool {
	compared := map[*nccl.Comm]bool{}
	for i := range n.Standings {
		for _, m := range n.Standings[i].Comm.Members {
			compared[m.Comm] = true
		}
	}
	for _, c := range p.Comms {
		if c.P2P > 0 || c.Calls > 0 && !compared[c] {
			return false
		}
	}
	return true
}

// ncclLevel says that by NCCL's own logs every rank of every communicator called as many collectives, and that nothing was sent or
// received one to one, which would not be counted.
func ncclLevel(s *Scene) bool {
	n := s.Facts.NCCL
	if n == nil || len(n.Standings) == 0 || n.World.Apart > 0 {
		return false
	}
	widest := 0
	for i := range n.Standings {
		if !n.Standings[i].Level {
			return false
		}
		widest = max(widest, n.Standings[i].Comm.Size)
	}
	for _, m := range n.World.Procs {
		for _, c := range m.Proc.Comms {
			if c.P2P > 0 || c.Calls > 0 && !c.Whole() {
				return false
			}
		}
	}
	return widest == len(n.World.Procs) && (s.Facts.Job.WorldSize == 0 || widest == s.Facts.Job.WorldSize)
}

// levelFinding says so.
func levelFinding(s *Scene) incident.Finding {
	f := s.Facts
	for i := range f.NCCL.Standings {
		if st := &f.NCCL.Standings[i]; st.Comm.Size == len(f.NCCL.World.Procs) {
			return LevelFinding(f, st)
		}
	}
	return finding("every rank called the same operations")
}

// LevelFinding says that all ranks of a communicator called as many collectives.
func LevelFinding(f *resolve.Facts, st *nccl.Standing) incident.Finding {
	var ev []incident.Evidence
	for _, m := range st.Ahead[:min(2, len(st.Ahead))] {
		ev = append(ev, ncclCall(m, m.Comm.Last()), ncclCalls(m))
	}
	return finding(fmt.Sprintf("all %d ranks in a communicator called %s on it; the last is %s", st.Comm.Size, plural(int(st.Top), "collective", "collectives"), ncclCallWords(st.Ahead[0].Comm.Last())), someOf(ev)...)
}

// BehindFinding says who of a communicator is behind, and whether that is proven.
func BehindFinding(f *resolve.Facts, st *nccl.Standing) incident.Finding {
	var ev []incident.Evidence
	least := st.Top
	for i, m := range st.Behind {
		least = min(least, m.Comm.Calls)
		if i > 1 {
			continue
		}
		if c := m.Comm.Last(); c != nil {
			ev = append(ev, ncclCall(m, c), ncclCalls(m))
		}
		if at, ok := m.Comm.After(); ok {
			ev = append(ev, QuoteAt(resolve.NCCLAt(m, at), nil))
		}
	}
	ahead := st.Ahead[0]
	ev = append(ev, ncclCall(ahead, ahead.Comm.Last()), ncclCalls(ahead))
	text := fmt.Sprintf("%s called %d collectives on a communicator of %d ranks; %s called %d, the last one %s", memberWords(f, st.Behind), least, st.Comm.Size,
		plural(len(st.Ahead), "other", "others"), st.Top, ncclCallWords(ahead.Comm.Last()))
	switch {
	case len(st.Open) > 0:
		text += "; it is behind or its log ends early: nothing after its last call proves that the log is complete"
	default:
		text += "; its log continues after its last call"
	}
	return finding(text, someOf(ev)...)
}

// ncclDiffer is the mismatch that NCCL's own logs show: the same call of a communicator with another operation, size, type or root.
func ncclDiffer(s *Scene) *Proposal {
	f, g := s.Facts, s.Graph
	if f.NCCL == nil || len(f.NCCL.Divergences) == 0 || !openHang(s) && g.Shape != waitfor.Full {
		return nil
	}
	p := openedBy(s, knowledge.CollectiveMismatch)
	p.Base, p.Why = 0.93, "NCCL logged both calls; they have the same number on one communicator"
	var odd []nccl.Member
	for i := range f.NCCL.Divergences {
		d := &f.NCCL.Divergences[i]
		if i < 3 {
			p.For = append(p.For, DivergenceFinding(f, d))
		}
		if most := d.Sides[0]; d.Comm.All() && 2*len(most.Members) > d.Comm.Size {
			for _, side := range d.Sides[1:] {
				odd = append(odd, side.Members...)
			}
		}
	}
	p.Summary, p.Scope = "ranks in a communicator called mismatched collectives", "group"
	named := len(odd) > 0
	for _, m := range odd {
		id, ok := f.NCCL.Rank(m.Proc)
		named = named && ok
		p.Ranks = appendNew(p.Ranks, id)
	}
	if !named {
		p.Ranks = nil
		return p
	}
	p.Nodes, p.Scope, p.Settled = nodesOf(f, p.Ranks), scopeOf(f, p.Ranks), true
	p.Summary = fmt.Sprintf("%s called a collective that doesn't match the other ranks'", where(f, p.Ranks))
	return p
}

// DivergenceFinding quotes one rank of each side.
func DivergenceFinding(f *resolve.Facts, d *nccl.Divergence) incident.Finding {
	var ev []incident.Evidence
	var words []string
	for i, side := range d.Sides {
		if i == 3 {
			break
		}
		m := side.Members[0]
		ev = append(ev, ncclCall(m, m.Comm.Call(d.N)))
		words = append(words, fmt.Sprintf("%s called %s", memberWords(f, side.Members), ncclCallWords(m.Comm.Call(d.N))))
	}
	return finding(fmt.Sprintf("call %d on a communicator of %d ranks differs: %s", d.N, d.Comm.Size, strings.Join(words, "; ")), ev...)
}

// ncclCallWords says what was called: "AllReduce of 1048576 elements (opCount 1f)".
func ncclCallWords(c *nccl.Call) string {
	if c == nil {
		return "none"
	}
	s := fmt.Sprintf("%s of %d elements of type %d", c.Op, c.Count, c.Datatype)
	if c.Root > 0 {
		s += fmt.Sprintf(" with root %d", c.Root)
	}
	return fmt.Sprintf("%s (opCount %x)", s, c.OpCount)
}

// ncclCall quotes a call.
func ncclCall(m nccl.Member, c *nccl.Call) incident.Evidence {
	if c == nil {
		return incident.Evidence{}
	}
	return QuoteAt(resolve.NCCLAt(m, c.At), &incident.Predicate{Literals: []string{c.Op + ": opCount "},
		Fields: []incident.Field{{Key: " opCount ", Value: strconv.FormatUint(c.OpCount, 16)}, {Key: " comm ", Value: m.Comm.Ptr}, {Key: " count ", Value: strconv.FormatUint(c.Count, 10)}}})
}

// mostCounted is how large a log may be whose calls the verifier counts again.
const mostCounted = 256 << 20

// ncclCalls counts the calls of one process on a communicator, where the lines of a file tell them from others: one process writes
// there, and the communicator's pointer is used once.
func ncclCalls(m nccl.Member) incident.Evidence {
	same := 0
	for _, c := range m.Proc.Comms {
		if c.Ptr == m.Comm.Ptr {
			same++
		}
	}
	if same != 1 || len(m.Log.Procs) != 1 || m.Comm.Calls == 0 || m.Log.Bytes > mostCounted || !m.Log.Clean {
		return incident.Evidence{}
	}
	return incident.Evidence{Kind: incident.KindCount, Files: []string{m.Log.File}, N: m.Comm.Calls,
		Predicate: &incident.Predicate{Literals: []string{"NCCL INFO ", ": opCount ", " comm " + m.Comm.Ptr + " [nranks="}, Not: []string{"Send: opCount", "Recv: opCount", "Signal: opCount"}}}
}

// someOf are the pieces of evidence that there are.
func someOf(list []incident.Evidence) []incident.Evidence {
	return slices.DeleteFunc(list, func(e incident.Evidence) bool { return e.Kind == "" })
}

// memberWords names processes: by their ranks where all are known.
func memberWords(f *resolve.Facts, ms []nccl.Member) string {
	var ids []int
	for _, m := range ms {
		if id, ok := f.NCCL.Rank(m.Proc); ok {
			ids = appendNew(ids, id)
		}
	}
	if len(ids) == len(ms) {
		if len(ids) > 4 {
			return rankWords(ids)
		}
		return where(f, ids)
	}
	var names []string
	for i, m := range ms {
		if i == 3 {
			names = append(names, fmt.Sprintf("%d more", len(ms)-3))
			break
		}
		names = append(names, f.ProcName(m))
	}
	return strings.Join(names, ", ")
}
