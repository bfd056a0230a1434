package mechanism

import (
	"fmt"

	"faultline/incident"
)

// hardware: what the GPU, its driver or the fabric reports itself.
func hardware() []Mechanism {
	with := func(m Mechanism, n ...incident.Need) Mechanism { m.Needs = n; return m }
	return []Mechanism{
		with(local("gpu-off-bus", "cuda-error", "exception", "gpu-ecc", "native-crash"), needDmesgNode),
		with(local("gpu-ecc", "cuda-error", "exception", "native-crash"), needDmesgNode),
		with(local("gpu-nvlink", "cuda-error", "exception", "native-crash"), needDmesgNode),
		with(local("gpu-firmware", "cuda-error", "exception"), needDmesgNode),
		{Slug: "link-error", Class: Local, Propose: linkError, Needs: []incident.Need{needDmesgNode}},
		{Slug: "cuda-error", Class: Local, Propose: cudaError, Explains: []string{"exception", "native-crash"}, Needs: []incident.Need{needDmesgNode}},
	}
}

// linkError: transfers over InfiniBand or RoCE that failed. Who reports one is the other end of the link or a victim: the
// end is named only where several hosts name the same peer.
func linkError(s *Scene) *Proposal {
	p := fromFailures(s, "link-error")
	if p == nil {
		return nil
	}
	f := s.Facts
	p.Ranks, p.Nodes, p.Scope, p.Direct = nil, nil, "unknown", false
	p.Why = "the reports name a transfer that failed, not which end of it is at fault"
	hosts := map[string]map[string]bool{} // peer → reporters
	for i := range f.Obs.NCCLWarns {
		w := &f.Obs.NCCLWarns[i]
		reporter := f.NodeOf(w.At)
		if w.Peer == "" || reporter == "" {
			continue
		}
		if hosts[w.Peer] == nil {
			hosts[w.Peer] = map[string]bool{}
		}
		hosts[w.Peer][reporter] = true
	}
	best, most := "", 1
	for peer, by := range hosts {
		if len(by) > most || len(by) == most && most > 1 && peer < best {
			best, most = peer, len(by)
		}
	}
	if best != "" {
		p.Nodes, p.Scope = []string{best}, "node"
		p.Why = fmt.Sprintf("%d hosts report failed transfers with the same peer", most)
	}
	if !f.Job.Training {
		// Before the first step the same words mean that the network was never there.
		p.Rivals, p.Base = []string{"init-unreachable"}, 0.9
	}
	return p
}
