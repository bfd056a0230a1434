package mechanism

import (
	"fmt"

	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
)

func watchdogStuck(s *Scene) *Proposal {
	g, f := s.Graph, s.Facts
	var stuck []int
	var ev []incident.Evidence
	var at resolve.Moment
	secs := int64(0)
	for _, t := range f.Signals {
		if t.Sig.Kind != worker.SignalStuck && t.Sig.Kind != worker.SignalHeartbeat {
			continue
		}
		if t.Sig.N > secs {
			secs = t.Sig.N
		}
		if len(ev) < 3 {
			ev = append(ev, QuoteAt(t.Sig.At, nil))
		}
		if t.T.Valid && (!at.Valid || t.T.T < at.T) {
			at = t.T
		}
		if t.Rank != resolve.NoRank {
			stuck = appendNew(stuck, t.Rank)
		}
	}
	if len(ev) == 0 {
		return nil
	}
	// Timeouts that began before the watchdog stopped are what it got stuck in, not the other way round.
	if g.Shape != waitfor.NoHang && len(g.Groups) > 0 {
		return nil
	}
	p := &Proposal{Mechanism: "watchdog-stuck", Class: Collective, At: at.Add(-float64(secs)), Scope: "unknown", Direct: true, Base: 0.94,
		Summary: "PyTorch's watchdog thread got stuck and the heartbeat monitor ended the process",
		Why:     "the heartbeat monitor says so; no collective had timed out before"}
	ranksSeen := len(f.Ranks)
	if w := f.Job.WorldSize; w > ranksSeen {
		ranksSeen = w
	}
	unseen := len(f.Coverage.RanksMissing) + len(f.Coverage.CutRanks) // they may be stuck as well
	if len(stuck) > 0 && 2*(len(stuck)+unseen) < ranksSeen {
		p.Ranks, p.Nodes, p.Scope = stuck, nodesOf(f, stuck), scopeOf(f, stuck)
		p.Summary = fmt.Sprintf("the watchdog thread of %s got stuck and the heartbeat monitor ended the process", where(f, stuck))
	}
	p.For = append(p.For, finding(fmt.Sprintf("the watchdog made no progress for %d s on %s", secs, plural(max(1, len(stuck)), "rank", "ranks")), ev...))
	return p
}
