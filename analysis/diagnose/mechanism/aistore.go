package mechanism

import (
	"fmt"
	"slices"

	"faultline/analysis/correlate"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// daemons stands for all mechanisms of AIStore's daemons: each of its proposals names its own.
const daemons knowledge.Slug = "ais-daemon"

// aistore: what the logs of AIStore's daemons show to be the cause. Which of what they tell is one, package correlate
// finds out; here it meets what the job's own logs led to.
func aistore() []Mechanism {
	return []Mechanism{{Slug: daemons, Class: Environment, Propose: daemonsCause}}
}

// Ask puts the question that the job's own logs raise to the daemons' logs. First are the proposals that these logs leave
// standing without them.
func (s *Scene) Ask(first []*Proposal) {
	s.First = first
	s.Storage = correlate.Inquire(question(s, first))
}

func question(s *Scene, first []*Proposal) correlate.Question {
	q := correlate.Question{Facts: s.Facts, Possible: len(first) == 0}
	for _, p := range first {
		q.Possible = q.Possible || p.Mechanism.Is(knowledge.MayBeStore) || isStorage(p.Mechanism)
	}
	if len(first) == 0 {
		q.Stall = s.Facts.Job.End
		return q
	}
	p := first[0]
	q.Ranks = p.Ranks
	q.Hang = p.Class == Collective
	q.Stall = p.At
	if s.Graph.Shape != waitfor.NoHang {
		for i := range s.Facts.Obs.Timeouts {
			q.GaveUp = q.GaveUp.Earliest(s.Facts.At(s.Facts.Obs.Timeouts[i].At))
		}
	}
	if !q.Stall.Valid && q.Hang {
		q.Stall = s.Graph.Start
	}
	for _, fl := range p.Failures {
		if fl.Role == knowledge.CauseRole {
			q.Stall = q.Stall.Earliest(fl.T)
		}
	}
	if !q.Stall.Valid { // no line of it has a time of its own: not before those above it
		for _, fl := range p.Failures {
			q.Stall = q.Stall.Latest(fl.NotBefore)
		}
		// It failed by the time that others noticed it: when they began to wait for it, or its process or the job ended.
		until := s.Facts.Job.End
		for _, fl := range p.Failures {
			if ended := fl.Proc.Ended(); ended.Valid {
				until = ended
				break
			}
		}
		if start := s.Graph.Start; start.Valid && q.Stall.Valid && start.T > q.Stall.T {
			until = start
		}
		if q.Stall.Valid && until.Valid && until.T > q.Stall.T {
			q.Stall = until
		}
	}
	if p.Class == Nothing || p.Class == Degraded {
		q.Possible = false
	}
	q.Done = p.Class == Nothing && len(p.Rivals) == 0 && (p.Ending == incident.EndSeen || lastStep(s.Facts))
	q.Unsure = p.Class == Nothing && !q.Done || p.Class == Degraded && len(p.Ranks) == 0
	if !q.Stall.Valid {
		q.Stall = s.Facts.Job.End
	}
	return q
}

// lastStep says that training came to the last of its steps.
func lastStep(f *resolve.Facts) bool {
	return slices.ContainsFunc(f.Progress, func(x resolve.ProgressPoint) bool {
		return x.Phase == worker.Training && x.Total > 0 && x.Step >= x.Total
	})
}

func isStorage(slug knowledge.Slug) bool {
	m, ok := knowledge.MechanismBySlug(slug)
	return ok && (m.Origin == "storage" || m.Origin == "data-loading-stall")
}

// daemonsCause proposes what passes every test of a cause: it came before, met the requests of the rank in question, and
// stood out.
func daemonsCause(s *Scene) *Proposal {
	if s.Storage == nil {
		return nil
	}
	causes := s.Storage.Causes()
	if len(causes) == 0 {
		return nil
	}
	e := causes[0]
	p := &Proposal{Mechanism: e.Mechanism, Class: Environment, At: e.From, Base: 0.93, Scope: "unknown"}
	if blamed := s.Storage.Blamed(); len(blamed) > 0 && blamed[0] == e.ID {
		p.Component, p.Disk = knowledge.DaemonPrefix+e.ID, e.Disk
	}
	var before *Proposal
	if len(s.First) > 0 {
		before = s.First[0]
		p.Ranks, p.Nodes, p.Scope, p.Frontier = before.Ranks, before.Nodes, before.Scope, before.Frontier
		p.Groups = before.Groups
		if e.Side == string(knowledge.ClientSide) && slices.ContainsFunc(e.Proof, func(x incident.Evidence) bool { return ofTheJob.MatchString(x.Text) }) {
			p.Ranks, p.Nodes, p.Scope = nil, nil, "all" // the token is the job's, whoever was refused first
		}
	}
	p.Direct = e.Direct && e.Strong && s.Storage.Clock.Proof == correlate.Proven && len(causes) == 1
	if !p.Direct {
		p.Base = 0.85
	}
	for _, o := range causes[1:] {
		if o.Mechanism != p.Mechanism && !slices.Contains(p.Rivals, o.Mechanism) {
			p.Rivals = append(p.Rivals, o.Mechanism)
		}
		if o.ID != e.ID {
			p.Component, p.Disk = "", correlate.Disk{}
		}
	}
	p.Summary = e.Statement
	if who := metBy(s.Facts, p); who != "" {
		p.Summary += "; " + who
	}
	p.Why = e.Why + "; " + s.Storage.Clock.Words()
	p.For = append(p.For, finding(e.Statement, e.Proof...))
	p.Led = append(p.Led, e.Led...)
	p.Led = append(p.Led, e.Touch...)
	if before != nil {
		p.Led = append(p.Led, before.For...)
		p.Led = append(p.Led, before.Led...)
	}
	for _, b := range s.Storage.Clock.Basis {
		p.Past = append(p.Past, finding(b.Statement, b.Evidence...))
	}
	for _, o := range causes[1:] {
		p.For = append(p.For, finding(o.Statement, o.Proof...))
	}
	return p
}

// metBy says whom it hit.
func metBy(f *resolve.Facts, p *Proposal) string {
	if len(p.Ranks) == 0 {
		return ""
	}
	return fmt.Sprintf("this affected requests from %s", where(f, p.Ranks))
}

// Relieved takes from a proposal what the daemons' logs rule out: they were healthy, so that what the workers saw has another
// reason.
func (s *Scene) Relieved(p *Proposal) {
	if s.Storage == nil || s.Storage.Judgement != correlate.Cleared {
		return
	}
	against := incident.Finding{Statement: s.Storage.Why, Evidence: []incident.Evidence{}}
	if p.Mechanism.Is(knowledge.AIStoreOnly) && p.Mechanism.Is(knowledge.OfItem) && slices.Contains(p.Rivals, knowledge.Exception) {
		p.Mechanism = knowledge.Exception
		p.Why = "the loader got fewer objects than it requested, but no daemon lost any: the client lost them or never requested them"
	}
	kept := p.Rivals[:0:0]
	for _, r := range p.Rivals {
		if r != p.Mechanism && !r.Is(knowledge.AIStoreOnly) {
			kept = append(kept, r)
		}
	}
	p.Rivals = kept
	suspects := p.Suspects[:0:0]
	for _, x := range p.Suspects {
		if !knowledge.Slug(x.Mechanism).Is(knowledge.AIStoreOnly) {
			suspects = append(suspects, x)
		}
	}
	p.Suspects = suspects
	if isStorage(p.Mechanism) || p.Mechanism == knowledge.Exception {
		p.Against = append(p.Against, against)
	}
}
