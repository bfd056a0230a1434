package mechanism

import (
	"fmt"

	"faultline/analysis/cost"
	"faultline/knowledge"
)

// spentRate: the learning rate is 0, and the run has many steps to go.
func spentRate(sc *Scene) *Proposal {
	f := sc.Facts
	if f.Job.ExitOK != nil {
		return nil
	}
	for _, c := range f.Courses {
		s, ok := f.Spent(c)
		if !ok {
			continue
		}
		p := &Proposal{Mechanism: knowledge.LossPlateau, Class: Degraded, Scope: "all", At: s.From.T, Base: 0.9, Waste: 1, Since: clockOf(f, s.From.T)}
		if s.From.T.Valid && s.Last.T.Valid {
			p.Lost = cost.GPUHours(s.Last.T.T-s.From.T.T, f.Job.WorldSize)
		}
		from := orHere(s.From)
		if p.Since != "" {
			from += ", " + p.Since
		}
		p.Summary = fmt.Sprintf("the learning rate is 0 since%s: steps since then change nothing, and the loss stays at %s", from, s.Last.Loss.Printed)
		p.Why = fmt.Sprintf("%d lines since then print a loss, and none another learning rate", s.N)
		p.For = append(p.For, finding("the learning rate became 0 here", QuoteAt(s.At.At, nil)), finding("the loss has stayed where it was", QuoteAt(*s.From.At, nil), QuoteAt(*s.Last.At, nil)))
		p.Moot = allAdvice(knowledge.LossPlateau)
		p.Now = []knowledge.Advice{{Text: "Stop the job, lengthen the learning rate's schedule or give it a floor above 0, and resume from a save before that step."}}
		return p
	}
	return nil
}
