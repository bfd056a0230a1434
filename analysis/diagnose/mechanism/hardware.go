package mechanism

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// hardware: what the GPU, its driver or the fabric reports itself.
func hardware() []Mechanism {
	with := func(m Mechanism, n ...incident.Need) Mechanism { m.Needs = n; return byEnd(m) }
	return []Mechanism{
		// A GPU that is gone takes its links along, and its own processor no longer answers.
		with(onKernel(local(knowledge.GPUOffBus, knowledge.CUDAError, knowledge.Exception, knowledge.GPUECC, knowledge.NativeCrash, knowledge.GPUNVLink, knowledge.GPUFirmware)), needDmesgNode),
		with(onKernel(local(knowledge.GPUECC, knowledge.CUDAError, knowledge.Exception, knowledge.NativeCrash)), needDmesgNode),
		with(onKernel(local(knowledge.GPUNVLink, knowledge.CUDAError, knowledge.Exception, knowledge.NativeCrash)), needDmesgNode),
		with(onKernel(local(knowledge.GPUFirmware, knowledge.CUDAError, knowledge.Exception, knowledge.NativeCrash)), needDmesgNode),
		{Slug: knowledge.LinkError, Class: Local, Propose: linkError, Needs: []incident.Need{needDmesgNode}},
		{Slug: knowledge.CUDAError, Class: Local, Propose: cudaError, AtHome: true, ByEnd: true, Explains: []knowledge.Slug{knowledge.Exception, knowledge.NativeCrash}, Needs: []incident.Need{needDmesgNode}},
	}
}

// ofDrivers is the proposal by what the drivers of the ports say alone: who reports a transfer that failed is the other end of that link,
// or a victim. Their reports stay beneath it.
func (p *Proposal) ofDrivers(s *Scene) *Proposal {
	var own, others []*resolve.Failure
	for _, fl := range p.Failures {
		if fl.Kernel != nil {
			own = append(own, fl)
		} else {
			others = append(others, fl)
		}
	}
	if len(others) == 0 {
		return p
	}
	q := propose(s, p.Mechanism, p.Class, own)
	q.Failures = slices.Concat(own, others)
	for _, x := range p.For {
		if !slices.ContainsFunc(q.For, func(y incident.Finding) bool { return y.Statement == x.Statement }) {
			q.For = append(q.For, x)
		}
	}
	return q
}

// touches says that a host is at one end of every pair.
func touches(pairs map[[2]string]bool, host string) bool {
	for p := range pairs {
		if p[0] != host && p[1] != host {
			return false
		}
	}
	return true
}

// flapsFor is for how many seconds a port that went down and up says something of transfers that fail.
const flapsFor = 3600

// flapped are the nodes of which a port had gone down not long before, without consequences, at one end of every transfer that failed.
func flapped(s *Scene, p *Proposal, ends map[[2]string]bool) []string {
	out := map[string]bool{}
	for _, fl := range s.Facts.Flaps {
		t := fl.When()
		recent := slices.ContainsFunc(p.Failures, func(o *resolve.Failure) bool { w := o.When(); return t.Valid && w.Valid && w.T-t.T <= flapsFor })
		if fl.Node != "" && recent && len(ends) > 0 && touches(ends, fl.Node) {
			out[fl.Node] = true
		}
	}
	return keysOf(out)
}

// transfers are what NCCL's warnings tell of transfers that failed.
type transfers struct {
	hosts  map[string]map[string]bool // peer → reporters
	ends   map[[2]string]bool         // both hosts known, in order
	others bool                       // an adapter of a further node reports an event, too: lines of several nodes in one file count as one failure
}

// transfersTold reads the warnings; own are the nodes whose adapters are known to have reported an event of their own.
func transfersTold(f *resolve.Facts, own map[string]bool) transfers {
	t := transfers{hosts: map[string]map[string]bool{}, ends: map[[2]string]bool{}}
	for i := range f.Obs.NCCLWarns {
		w := &f.Obs.NCCLWarns[i]
		reporter := f.NodeOf(w.At)
		if reporter == "" {
			continue
		}
		t.others = t.others || !own[reporter] && f.Known.Blames(w.Signs, knowledge.WritersNode)
		if w.Peer == "" {
			continue
		}
		peer := f.NCCL.Host(w.Peer)
		if t.hosts[peer] == nil {
			t.hosts[peer] = map[string]bool{}
		}
		t.hosts[peer][reporter] = true
		if f.Known.Blames(w.Signs, knowledge.EitherEnd) && f.NCCL.Known(w.Peer) && peer != reporter {
			t.ends[[2]string{min(peer, reporter), max(peer, reporter)}] = true
		}
	}
	return t
}

// sharedPeer is the peer that most hosts, and more than one, report failed transfers with; "" where there is none.
func (t transfers) sharedPeer() (best string, most int) {
	most = 1
	for peer, by := range t.hosts {
		if len(by) > most || len(by) == most && most > 1 && peer < best {
			best, most = peer, len(by)
		}
	}
	return best, most
}

// linkError: transfers over InfiniBand or RoCE that failed. Who reports one is the other end of the link or a victim: the
// end is named only where several hosts name the same peer.
func linkError(s *Scene) *Proposal {
	p := fromFailures(s, knowledge.LinkError)
	if p == nil {
		return deadLink(s)
	}
	f := s.Facts
	if s.Graph.Shape == waitfor.Straggle && s.Graph.Idle && !slices.ContainsFunc(p.Failures, func(fl *resolve.Failure) bool { return !resolve.PortDown(fl) }) {
		return nil // a port that was down keeps nobody from entering, and no transfer is told to have failed
	}
	if k := p.kernel(); k != nil {
		return p.ofDrivers(s).told(k, alone(s)) // the driver of the port says that it was its own link
	}
	p.Ranks, p.Nodes, p.Scope, p.Direct = nil, nil, "unknown", false
	p.Why = "the reports show that a transfer failed, but not which end is at fault"
	own := map[string]bool{} // nodes whose adapter reported an event of its own
	for _, fl := range p.Failures {
		if fl.Entry().Blames == knowledge.WritersNode && fl.Node != "" {
			own[fl.Node] = true
		}
	}
	told := transfersTold(f, own)
	ends := told.ends
	best, most := told.sharedPeer()
	switch {
	case len(own) == 1 && !told.others && touches(ends, keysOf(own)[0]):
		p.Nodes, p.Scope = keysOf(own), "node"
		p.Why = "its network adapter reported an event of its own, and every failed transfer had it at one end"
		if len(ends) == 0 {
			p.Why = "its network adapter reported an event of its own, and no other node's did"
		}
		for _, fl := range p.Failures {
			if fl.Entry().Blames == knowledge.WritersNode && fl.Node == p.Nodes[0] { // what it says of itself comes before what others say of transfers
				p.Summary = fmt.Sprintf("%s: %s", fl.Node, short(fl.Text))
				own := finding(p.Summary, FailureEvidence(fl))
				p.For = append([]incident.Finding{own}, slices.DeleteFunc(p.For, func(o incident.Finding) bool { return o.Statement == own.Statement })...)
				p.For = p.For[:min(len(p.For), 3)]
				break
			}
		}
	case best != "":
		p.Nodes, p.Scope = []string{best}, "node"
		p.Why = fmt.Sprintf("%d hosts report failed transfers with the same peer", most)
	case len(flapped(s, p, ends)) == 1:
		p.Nodes, p.Scope, p.Base = flapped(s, p, ends), "node", 0.8
		p.Why = "one of its network ports had gone down earlier in this job, and every failed transfer had it at one end"
	case len(ends) == 1:
		for pair := range ends {
			p.Summary = fmt.Sprintf("transfers between %s and %s failed", pair[0], pair[1])
			p.Why = fmt.Sprintf("the reports point to the pair %s and %s, but don't show whether one of them or something between them is at fault", pair[0], pair[1])
		}
	}
	if !f.Job.Training && !f.Job.Talked {
		// Before the first step the same words mean that the network was never there.
		p.Rivals, p.Base = []knowledge.Slug{knowledge.InitUnreachable}, 0.9
	} else if n := fellSilent(s, p); n != "" && (len(p.Nodes) == 0 || p.Nodes[0] == n) {
		p.Rivals, p.Base = []knowledge.Slug{knowledge.NodeFailure}, 0.9
		p.Why = fmt.Sprintf("the reports show a failed transfer, but %s had already gone silent, as a dead node would: then no link failed", n)
	}
	if n := localError(f, p); n != "" {
		p.Rivals, p.Base = appendOnce(p.Rivals, knowledge.ConfigError), 0.85
		p.Summary = fmt.Sprintf("the network card could not access the memory for a transfer (status %s)", n)
		p.Why = "this error occurs before anything is sent: for example when the driver, container or PCIe settings don't allow GPUDirect RDMA; otherwise the card is at fault"
	}
	p.Remote = diedThere(s, p, ends)
	decidedByPorts(s, p, told.hosts[best])
	return p
}

// localErrors are states of a transfer that tell of the sender's own memory or requests: IBV_WC_LOC_LEN_ERR, LOC_QP_OP_ERR, LOC_PROT_ERR,
// MW_BIND_ERR and LOC_ACCESS_ERR.
var localErrors = map[string]bool{"1": true, "2": true, "4": true, "6": true, "8": true}

// localError is the state of the transfers that failed, where all failed so and that is one of them; "" otherwise.
func localError(f *resolve.Facts, p *Proposal) string {
	if slices.ContainsFunc(p.Failures, func(fl *resolve.Failure) bool { return !fl.Says(knowledge.StatesVerbs) }) {
		return ""
	}
	status := ""
	for i := range f.Obs.NCCLWarns {
		w := &f.Obs.NCCLWarns[i]
		n := slices.IndexFunc(w.Signs, func(id knowledge.ID) bool { return f.Known.Entry(id).Says&knowledge.StatesVerbs != 0 })
		if n < 0 {
			continue
		}
		x := f.Known.Fields(w.Signs[n], []byte(w.Text))
		if status = cmp.Or(x["status"], x["status2"]); !localErrors[status] {
			return ""
		}
	}
	return status
}

// silentFor is for how long nothing of a node may be printed before the others report a failure, in seconds, until it counts: ranks that
// wait for each other fail within one collective.
const silentFor = 30

// fellSilent is the one node whose processes wrote until shortly before transfers failed and of whose end no line tells, where all others
// report failures: had it lived, its own transfers had failed, too, and its launcher had ended its processes.
func fellSilent(s *Scene, p *Proposal) string {
	f := s.Facts
	told := map[string]bool{}
	for _, fl := range f.Failures {
		told[fl.Node] = true
	}
	for _, r := range f.Ranks {
		if r.Exit != nil {
			told[r.Node] = true
		}
	}
	at := p.At // the line of a transfer mostly has no stamp, and the one above it has
	for _, fl := range p.Failures {
		at = at.Earliest(fl.When())
	}
	silent, nodes := "", map[string]bool{}
	for i := range f.Obs.Tails {
		t := &f.Obs.Tails[i]
		n := f.NodeOf(worker.At{Pos: worker.Pos{File: t.File}})
		last := f.At(t.Last)
		switch {
		case n == "" || silent == n:
			return "" // which node's it is, or where that node's end would stand, is open
		case told[n]:
			nodes[n] = true
		case silent != "" || t.Lines == 0 || !last.Add(silentFor).Before(at):
			return ""
		default:
			silent = n
		}
	}
	if len(nodes) < 2 {
		return ""
	}
	return silent
}

// diedThere are the mechanisms by which a process died at the other end of the transfers that failed, where those are all that there is: to
// whoever sent to it a process that is gone looks like a link that is. Which process that is has to be known: one on a node that itself
// reports no such transfer. A process that itself had lost somebody before proves nothing, nor one that was aborted, for libraries do so
// where they gave up; and one that sleeps in the kernel is there: its card still answers, and a mount may be gone with the link.
func diedThere(s *Scene, p *Proposal, ends map[[2]string]bool) []knowledge.Slug {
	if len(ends) == 0 {
		return nil
	}
	reporters := map[string]bool{}
	var told resolve.Moment // when the first transfer is known to have failed
	for _, fl := range p.Failures {
		if fl.Entry().Blames != knowledge.EitherEnd {
			return nil
		}
		reporters[fl.Node] = true
		told = told.Earliest(fl.When())
	}
	lost := map[string]int64{} // by file, where somebody first says that another is gone
	for _, fl := range s.Facts.Failures {
		told := fl.LostPeer() || fl.Role == knowledge.SymptomRole && fl.Kind == resolve.KindException
		if off, seen := lost[fl.At.File]; told && (!seen || fl.At.Off < off) {
			lost[fl.At.File] = fl.At.Off
		}
	}
	died := map[knowledge.Slug]bool{}
	for _, fl := range s.Facts.Failures {
		if fl.Role != knowledge.CauseRole || !fl.Mechanism.Is(knowledge.EndsProcess) {
			continue
		}
		off, gone := lost[fl.At.File]
		there := fl.Node != "" && !reporters[fl.Node] && touches(ends, fl.Node) && !told.Before(fl.When())
		ok, seen := died[fl.Mechanism]
		died[fl.Mechanism] = (ok || !seen) && there && !fl.Says(knowledge.Aborts|knowledge.HungTask) && !(gone && off < fl.At.Off)
	}
	maps.DeleteFunc(died, func(_ knowledge.Slug, ok bool) bool { return !ok })
	return keysOf(died)
}
