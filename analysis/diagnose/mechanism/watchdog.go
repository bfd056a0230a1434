package mechanism

import (
	"fmt"

	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// wentOn is how many steps younger than a monitor's word show that it ended nothing.
const wentOn = 3

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
		if f.StepsSince(t.T) >= wentOn {
			continue // a monitor that is switched off only says so
		}
		if t.Sig.N > secs {
			secs = t.Sig.N
		}
		if len(ev) < 3 {
			ev = append(ev, QuoteAt(t.Sig.At, nil))
		}
		at = at.Earliest(t.T)
		if t.Rank != resolve.NoRank {
			stuck = appendNew(stuck, t.Rank)
		}
	}
	if len(ev) == 0 || stood(s) != nil {
		return nil
	}
	// Timeouts that began before the watchdog stopped are what it got stuck in, not the other way round.
	hung := g.Shape != waitfor.NoHang && len(g.Groups) > 0
	if hung && !stuckAlone(s) {
		return nil
	}
	p := &Proposal{Mechanism: knowledge.WatchdogStuck, Class: Collective, At: at.Add(-float64(secs)), Scope: "unknown", Direct: true, Base: 0.94,
		Summary: "PyTorch's watchdog thread got stuck and the heartbeat monitor ended the process",
		Why:     "the heartbeat monitor reports it; no collective had timed out before"}
	ranksSeen := len(f.Ranks)
	if w := f.Job.WorldSize; w > ranksSeen {
		ranksSeen = w
	}
	unseen := len(f.Coverage.RanksMissing) + len(f.Coverage.CutRanks) // they may be stuck as well
	if len(stuck) > 0 && 2*(len(stuck)+unseen) < ranksSeen {
		p.Ranks, p.Nodes, p.Scope = stuck, nodesOf(f, stuck), scopeOf(f, stuck)
		p.Summary = fmt.Sprintf("the watchdog thread of %s got stuck and the heartbeat monitor ended the process", where(f, stuck))
	}
	if hung {
		held := plural(g.Waiting(), "rank", "ranks")
		p.Groups, p.Direct, p.Base = g.Groups, false, 0.9
		p.Summary = fmt.Sprintf("the watchdog thread of %s got stuck, and %s waited for it", where(f, stuck), held)
		p.Why = fmt.Sprintf("the heartbeat monitor reports it, and %s started waiting after that thread had stalled", held)
		for i, gr := range g.Groups {
			if i < 3 {
				p.Led = append(p.Led, waitersFinding(s, gr, nil))
			}
		}
	}
	p.For = append(p.For, finding(fmt.Sprintf("the watchdog made no progress for %d s on %s", secs, plural(max(1, len(stuck)), "rank", "ranks")), ev...))
	return p
}

// stuckAlone says that it is few ranks whose watchdogs stood still, that none of them reported a time-out, and that they did so when the others
// began to wait: what held that thread, a call into CUDA or Python's lock, held the rank.
func stuckAlone(s *Scene) bool {
	g, f := s.Graph, s.Facts
	if g.Shape != waitfor.Unseen && g.Shape != waitfor.Straggle || !g.Start.Valid {
		return false
	}
	stuck := map[int]bool{}
	for _, t := range f.Signals {
		if t.Sig.Kind != worker.SignalStuck {
			continue
		}
		if t.Rank == resolve.NoRank || g.Waits(t.Rank) || t.Sig.N <= 0 || !t.T.Valid || t.T.T-float64(t.Sig.N) > g.Start.T+t.T.Unc+g.Start.Unc {
			return false
		}
		stuck[t.Rank] = true
	}
	for _, id := range g.Root {
		if !stuck[id] {
			return false
		}
	}
	return len(stuck) > 0 && 2*len(stuck) < len(g.Waiters)
}
