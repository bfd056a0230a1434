package mechanism

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/frtrace"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/incident"
	"faultline/knowledge"
)

// torchfrtrace compares what all ranks recorded, and prints the first collective of each group that does not match. It is used where the
// dumps themselves are not here, and where the lines of the watchdogs leave open who held the others.

// analysedHere says that such reports may decide: the logs neither tell the whole story nor another one.
func analysedHere(s *Scene) bool {
	f := s.Facts
	if len(f.Analysed) == 0 || len(f.Handed.Dumps) > 0 || len(f.Mismatches)+len(f.Desyncs) > 0 {
		return false
	}
	switch s.Graph.Shape {
	case waitfor.NoHang:
		return !explained(f, false)
	case waitfor.Unseen, waitfor.Split, waitfor.Pair, waitfor.Lone, waitfor.Told, waitfor.AllWait:
		return true
	}
	return false
}

// analysedMissing proposes those who did not join what others had joined, and wait nowhere themselves.
func analysedMissing(s *Scene) *Proposal {
	if !analysedHere(s) || analysedDiffer(s) != nil {
		return nil
	}
	f := s.Facts
	joined := map[int]bool{}
	for i := range f.Analysed {
		if r := &f.Analysed[i]; r.Kind == frtrace.Missing {
			for _, id := range r.Joined() {
				joined[id] = true
			}
		}
	}
	p := openedBy(s, knowledge.RankStalled)
	p.Base = 0.9
	decided := true
	var led, others []int
	for i := range f.Analysed {
		r := &f.Analysed[i]
		if r.Kind != frtrace.Missing || len(r.Missing) == 0 {
			continue
		}
		var free []int
		for _, id := range r.Missing {
			if !joined[id] && !s.Graph.Waits(id) {
				free = append(free, id)
			}
		}
		if len(free) == 0 {
			continue // they wait in another group for others
		}
		for _, id := range free {
			led = appendNew(led, id)
		}
		size := max(r.World, len(r.Expected))
		for _, id := range r.Joined() {
			others = appendNew(others, id)
		}
		decided = decided && size > 2 && 2*len(r.Missing) < size
		if len(p.For) < 3 {
			p.For = append(p.For, AnalysedFinding(r))
		}
	}
	if len(led) == 0 {
		return nil
	}
	p.Why = "PyTorch's own flight-recorder analysis lists the ranks that had not joined"
	if !decided {
		p.Rivals, p.Frontier, p.Base = []knowledge.Slug{knowledge.CollectiveMismatch}, led, 0.85
		if len(others) <= 1 {
			p.Rivals = append(p.Rivals, knowledge.LoneWaiter)
		}
		p.Summary = fmt.Sprintf("%s had not joined a collective that %s had joined", rankWords(led), plural(len(others), "rank", "ranks"))
		if len(others) == 0 {
			p.Summary = fmt.Sprintf("%s had not joined a collective that another had joined", rankWords(led))
		}
		p.Why += "; they are not a minority, so either side may be wrong"
		return p
	}
	p.Ranks, p.Nodes, p.Scope = led, nodesOf(f, led), scopeOf(f, led)
	p.Summary = fmt.Sprintf("%s did not join a collective that the other ranks had joined", where(f, led))
	p.Suspects = []incident.Suspect{{Mechanism: string(knowledge.DataloaderStall), Why: "most ranks that stall outside NCCL are loading data"}}
	if x := silentServer(f, p.Nodes); x != nil {
		p.Suspects = append([]incident.Suspect{*x}, p.Suspects...)
	}
	return p
}

// analysedDiffer proposes that ranks joined with different calls, where torchfrtrace found it.
func analysedDiffer(s *Scene) *Proposal {
	if !analysedHere(s) {
		return nil
	}
	f := s.Facts
	p := openedBy(s, knowledge.CollectiveMismatch)
	p.Base, p.Scope = 0.93, "group"
	for i := range f.Analysed {
		if r := &f.Analysed[i]; r.Kind == frtrace.Mismatch && len(p.For) < 3 {
			p.For = append(p.For, AnalysedFinding(r))
		}
	}
	if len(p.For) == 0 {
		return nil
	}
	p.Summary = "ranks joined a collective with mismatched calls"
	p.Why = "PyTorch's own flight-recorder analysis compared their calls. It lists the ranks that differ from the first one it checked, which may itself be wrong"
	return p
}

// AnalysedFinding says what one report of torchfrtrace tells.
func AnalysedFinding(r *resolve.Analysed) incident.Finding {
	what := r.Op
	if what == "" {
		what = "a collective"
	}
	if r.Seq >= 0 {
		what += fmt.Sprintf(" #%d", r.Seq)
	}
	if r.Group != "" {
		what += " of group " + r.Group
	}
	ev := []incident.Evidence{QuoteAt(resolve.PlaceIn(r.File, r.Place), nil)}
	text := ""
	switch r.Kind {
	case frtrace.Missing:
		text = fmt.Sprintf("%s had not joined %s", rankWords(r.Missing), what)
		if n := len(r.Joined()); n > 0 {
			text += fmt.Sprintf(", which %s had", plural(n, "rank", "ranks"))
		}
	case frtrace.Mismatch:
		text = "mismatched calls in " + what
		if len(r.Culprits) > 0 {
			text = fmt.Sprintf("%s called something else as %s", rankWords(r.Culprits), what)
		}
	case frtrace.State:
		text = fmt.Sprintf("%s was ahead of or behind the first rank checked in %s", rankWords(r.Culprits), what)
	case frtrace.Open:
		text = fmt.Sprintf("dumps from %s were missing, so the analysis was inconclusive", rankWords(r.Missing))
	}
	if r.Frame != "" && !strings.ContainsAny(r.Frame, "\"`") {
		text += "; called from " + r.Frame
	}
	if r.MissedAt.Line > r.Line {
		ev = append(ev, QuoteAt(resolve.PlaceIn(r.File, r.MissedAt), &incident.Predicate{Literals: []string{"missing ranks: "}}))
	}
	if r.ErrorAt.Line > r.Line {
		ev = append(ev, QuoteAt(resolve.PlaceIn(r.File, r.ErrorAt), &incident.Predicate{Literals: []string{"Culprit rank "}}))
	}
	return finding(text, slices.Clip(ev)...)
}
