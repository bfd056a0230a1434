package mechanism

import (
	"fmt"
	"slices"

	"faultline/analysis/artifact/kernel"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
)

// onKernel makes a mechanism say which part of which node it is where a kernel or a GPU tool tells of it.
func onKernel(m Mechanism) Mechanism {
	propose := m.Propose
	m.Propose = func(s *Scene) *Proposal {
		p := propose(s)
		if p == nil {
			return nil
		}
		p.held(s)
		return p.told(p.kernel(), alone(s))
	}
	return m
}

// held names the rank that held the others, where it is on the one node whose GPU failed.
func (p *Proposal) held(s *Scene) {
	if g := s.Graph; p.kernel() != nil && len(p.Ranks) == 0 && len(p.Nodes) == 1 && g.Shape == waitfor.Straggle && g.Idle && len(g.Root) == 1 {
		if r := s.Facts.Rank(g.Root[0]); r != nil && r.Node == p.Nodes[0] {
			p.Ranks = g.Root
		}
	}
}

// alone says that evidence is all there is: no log of the job was read.
func alone(s *Scene) bool { return len(s.Facts.Obs.Tails) == 0 }

// kernel is the first event of a kernel log among what the proposal rests on; nil if there is none.
func (p *Proposal) kernel() *resolve.KernelEvent {
	if len(p.Failures) == 0 {
		return nil
	}
	for _, fl := range earliest(p.Failures) {
		if fl.Kernel != nil {
			return fl.Kernel
		}
	}
	return nil
}

// told says which component it was, and how the time of the event fits. Without says that no log of the job is there.
func (p *Proposal) told(e *resolve.KernelEvent, without bool) *Proposal {
	if e == nil || p.Scope == "all" || len(p.Ranks)+len(p.Nodes) == 0 || len(p.Nodes) > 0 && !slices.Contains(p.Nodes, e.Node) {
		return p
	}
	if len(p.Nodes) == 0 && e.When == resolve.Near && e.Node != "" && !slices.ContainsFunc(p.Failures, func(fl *resolve.Failure) bool { return fl.Node != "" && fl.Node != e.Node }) {
		p.Nodes = []string{e.Node} // where the rank is no line says: it failed of the same at the same time
	}
	switch {
	case e.Kind == kernel.Link:
		p.Component = "nic:" + e.Name
	case e.PCI != "" && e.Kind != kernel.SXid:
		p.Component = "gpu:" + e.PCI
	}
	switch {
	case e.When != resolve.Near && without:
		p.Base = min(p.Base, 0.7)
		p.Why = "the driver reports it; no file shows how or when the job ended, and nothing else here could be the cause"
	case e.When != resolve.Near:
		p.Base = min(p.Base, 0.8)
		p.Why = "the driver reports it; its time can't be matched to the failure, but nothing else there could be the cause"
	case e.Lead >= 2:
		p.Why = fmt.Sprintf("that node's kernel log reports it, %s before the job got stuck or failed", duration(e.Lead))
	case e.Lead <= -2:
		p.Why = fmt.Sprintf("that node's kernel log reports it, %s after the job got stuck and before any rank gave up", duration(-e.Lead))
	default:
		p.Why = "that node's kernel log reports it, just when the job got stuck or failed"
	}
	return p
}
