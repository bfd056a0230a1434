package diagnose

import (
	"fmt"
	"slices"

	"faultline/analysis/correlate"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/incident"
	"faultline/knowledge"
)

// narrowing says how far the lines answer the next why: what they rule out by setting what failed beside its like, why the job ran on
// after it, and the one question that is left.
func (b *builder) narrowing() {
	v := &b.r.Verdict
	decided := v.Status == incident.Confirmed || v.Status == incident.Probable
	if !decided || len(b.d.winners) == 0 {
		return
	}
	n := &incident.Narrowing{RulesOut: []incident.Finding{}, Lingered: []incident.Finding{}}
	top := b.d.winners[0]
	switch {
	case top.Class == mechanism.Collective && b.s.Graph.Shape == waitfor.Straggle && !b.s.Graph.Late:
		b.besideStragglers(n)
	case top.Mechanism.Is(knowledge.OneGPU):
		b.besideGPU(n, top)
	}
	b.besideDaemon(n)
	if f := b.lingered(); f != nil {
		n.Lingered = append(n.Lingered, *f)
	}
	if len(n.RulesOut)+len(n.Lingered) > 0 {
		b.r.Narrowing = n
	}
}

// besideStragglers compares the ranks that stayed away with those that came, on their own nodes first.
func (b *builder) besideStragglers(n *incident.Narrowing) {
	root := b.s.Graph.Root
	if len(root) != 1 {
		if node := b.wholeNode(root); node != "" {
			n.RulesOut = append(n.RulesOut, incident.Finding{Statement: fmt.Sprintf("the missing ranks are all %d of %s, and no others: look at that node before the program", len(root), node), Evidence: []incident.Evidence{}})
		}
		return
	}
	r := b.s.Facts.Rank(root[0])
	if r == nil {
		return
	}
	if c := r.Dump; c.Idle() {
		n.RulesOut = append(n.RulesOut, incident.Finding{
			Statement: fmt.Sprintf("the GPU of rank %d had finished all the collectives of this group that it had been given (%d of %d): no sign of a fault of NCCL or the network. Its process never made the next call", r.ID, c.Completed, c.Enqueued),
			Evidence:  []incident.Evidence{mechanism.DumpEvidence(c, r.ID)}})
	}
	if b.r.Verdict.Origin == "unknown" && len(n.RulesOut) > 0 {
		n.Open = fmt.Sprintf("What was rank %d's process doing instead: loading data, saving, other code, or a kernel of its own?", r.ID)
		if b.s.Facts.LastWords != nil && len(r.Files) > 0 && !b.lastWords(r).ok {
			n.Open += " Its log holds no line of its program between start-up and the timeout."
		}
	}
	if r.Notified != nil {
		n.RulesOut = append(n.RulesOut, incident.Finding{Statement: "its process had not crashed: it was still there to be notified of the timeout", Evidence: []incident.Evidence{mechanism.QuoteAt(*r.Notified, nil)}})
	}
	if came, of, ev := b.neighbours(r, func(o *resolve.Rank) bool { return len(o.Pending) > 0 }); came > 0 {
		n.RulesOut = append(n.RulesOut, incident.Finding{Statement: fmt.Sprintf("%s on %s joined: the node was up and connected", ofOthers(came, of), r.Node), Evidence: ev})
	}
}

// wholeNode is the node of which these ranks are all, "" where they are not or more than one lies on several.
func (b *builder) wholeNode(ranks []int) string {
	node, n := "", 0
	for _, id := range ranks {
		r := b.s.Facts.Rank(id)
		if r == nil || r.Node == "" || node != "" && r.Node != node {
			return ""
		}
		node = r.Node
	}
	for _, r := range b.s.Facts.Ranks {
		if r.Node == node {
			n++
		}
	}
	if n != len(ranks) {
		return ""
	}
	return node
}

// neighbours counts the other ranks on a rank's node, those of them that are so, and shows one of these waiting.
func (b *builder) neighbours(r *resolve.Rank, so func(*resolve.Rank) bool) (n, of int, ev []incident.Evidence) {
	ev = []incident.Evidence{}
	for _, o := range b.s.Facts.Ranks {
		if r.Node == "" || o.Node != r.Node || o == r || o.ID == resolve.NoRank {
			continue
		}
		of++
		if !so(o) {
			continue
		}
		n++
		if len(ev) == 0 && len(o.Pending) > 0 {
			ev = append(ev, mechanism.PendingEvidence(o.Pending[0])...)
		}
	}
	return n, of, ev
}

// ofOthers says how many of the others on a node.
func ofOthers(n, of int) string {
	switch {
	case of == 1:
		return "the other rank"
	case n == of:
		return fmt.Sprintf("all %d other ranks", of)
	}
	return fmt.Sprintf("%d of the %d other ranks", n, of)
}

// besideGPU compares a GPU that failed with those beside it.
func (b *builder) besideGPU(n *incident.Narrowing, top *mechanism.Proposal) {
	if len(top.Ranks) != 1 || len(top.Failures) == 0 {
		return
	}
	r := b.s.Facts.Rank(top.Ranks[0])
	if r == nil {
		return
	}
	well := func(o *resolve.Rank) bool {
		return o.Lines > 0 && !slices.ContainsFunc(o.Failures, func(fl *resolve.Failure) bool { return fl.Mechanism == top.Mechanism && fl.Role == knowledge.CauseRole })
	}
	if fine, of, _ := b.neighbours(r, well); of > 0 && fine == of {
		text := "the other rank on " + r.Node + " doesn't report it"
		if of > 1 {
			text = fmt.Sprintf("none of the %d other ranks on %s reports it", of, r.Node)
		}
		n.RulesOut = append(n.RulesOut, incident.Finding{Statement: text + "; no sign that other GPUs are affected" + gpuOf(r), Evidence: []incident.Evidence{mechanism.FailureEvidence(top.Failures[0])}})
	}
	if p := b.lastProgress(); p != nil && p.Step > 0 {
		n.RulesOut = append(n.RulesOut, incident.Finding{Statement: fmt.Sprintf("the job had trained up to step %d: so its setup is not to blame", p.Step), Evidence: []incident.Evidence{mechanism.QuoteAt(p.At, nil)}})
	}
}

// gpuOf is the number of a rank's GPU, as far as its local rank tells.
func gpuOf(r *resolve.Rank) string {
	if r.Local < 0 {
		return ""
	}
	return fmt.Sprintf(". By its local rank it is GPU %d, unless CUDA_VISIBLE_DEVICES reorders them", r.Local)
}

// besideDaemon compares the daemon at fault with its like.
func (b *builder) besideDaemon(n *incident.Narrowing) {
	var at *incident.StorageEpisode
	for i := range b.r.Storage.Episodes {
		e := &b.r.Storage.Episodes[i]
		switch {
		case e.Mechanism != b.r.Verdict.Mechanism:
		case e.Daemon == nil || e.Role == nil || at != nil && *e.Daemon != *at.Daemon:
			return // the cluster, or more than one
		case at == nil || e.Standing == correlate.Cause:
			at = e
		}
	}
	if at == nil || at.Standing != correlate.Cause {
		return
	}
	others := 0
	for _, d := range b.s.Facts.Daemons {
		if string(d.Role) == *at.Role && d.ID != *at.Daemon {
			others++
		}
	}
	if others > 0 {
		n.RulesOut = append(n.RulesOut, incident.Finding{
			Statement: fmt.Sprintf("of the %d %ss with logs here, only %s has these errors", others+1, *at.Role, *at.Daemon), Evidence: at.Evidence})
	}
}

// lingering is how long a job has to run on after its failure for that to be worth a word, in seconds.
const lingering = 60

// lingered says why the job ran on after its failure, and for how long.
func (b *builder) lingered() *incident.Finding {
	g := b.s.Graph
	took := g.Report.T - g.Start.T
	if !g.Start.Valid || !g.Report.Valid || took < lingering || len(g.Groups) == 0 || len(g.Groups[0].Pending) == 0 {
		return nil
	}
	ev := mechanism.PendingEvidence(g.Groups[0].Pending[0])
	if ranks := b.r.Verdict.Root.Ranks; len(ranks) == 1 && !b.collective() {
		r := b.s.Facts.Rank(ranks[0])
		if r != nil && r.Exit != nil && r.Exit.T.Valid && g.Report.T-r.Exit.T.T >= lingering {
			return &incident.Finding{
				Statement: fmt.Sprintf("rank %d%s exited at once, but the job ran on: %s elsewhere waited %s until the watchdog gave up", r.ID, onNode(r), plural(g.Waiting(), "rank", "ranks"), mechanism.Duration(took)),
				Evidence:  append([]incident.Evidence{mechanism.QuoteAt(r.Exit.At, nil)}, ev...)}
		}
	}
	return &incident.Finding{Statement: fmt.Sprintf("nothing ended the job before the watchdog gave up waiting, after %s", mechanism.Duration(took)), Evidence: ev}
}

func onNode(r *resolve.Rank) string {
	if r.Node == "" {
		return ""
	}
	return " on " + r.Node
}
