package mechanism

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// local makes a mechanism that is proposed by any failure whose signature or class names it.
func local(slug knowledge.Slug, explains ...knowledge.Slug) Mechanism {
	return Mechanism{Slug: slug, Class: Local, Explains: explains,
		Propose: func(s *Scene) *Proposal { return fromFailures(s, slug) }}
}

// byEnd marks a mechanism of which others meet only the end of a process, see Mechanism.
func byEnd(m Mechanism) Mechanism {
	m.ByEnd = true
	return m
}

// tasks is how many tasks the launcher names at least, by the numbers that it gives them.
func tasks(f *resolve.Facts) int {
	n := 0
	for i := range f.Obs.TaskExits {
		for _, t := range f.Obs.TaskExits[i].Tasks {
			n = max(n, t+1)
		}
	}
	return n
}

// everyone is the share of the ranks from which on a failure counts as everybody's.
const everyone = 0.5

// fromFailures gathers the failures of one mechanism. Its roots are the first ones: those that no other is proven to
// precede.
func fromFailures(s *Scene, slug knowledge.Slug) *Proposal {
	var fls []*resolve.Failure
	for _, fl := range s.Facts.Failures {
		if fl.Mechanism == slug && fl.Role == knowledge.CauseRole && !cameAllTheSame(s, fl) {
			fls = append(fls, fl)
		}
	}
	if len(fls) == 0 {
		return nil
	}
	return propose(s, slug, Local, fls)
}

// cameAllTheSame says that a line tells of failing to read or write, and that whoever may have written it waited later for another rank that
// is proven not to have come: then it had gone on.
func cameAllTheSame(s *Scene, fl *resolve.Failure) bool {
	f, g := s.Facts, s.Graph
	if fl.Kind != resolve.KindSign || g.Shape != waitfor.Straggle || !fl.Mechanism.Is(knowledge.ReadsOrWrites) {
		return false
	}
	if fl.Rank != resolve.NoRank {
		return g.Waits(fl.Rank)
	}
	there := false
	for _, r := range f.Ranks {
		switch {
		case r.First.File == fl.At.File, fl.Node != "" && r.Node == fl.Node:
			if there = g.Waits(r.ID); !there {
				return false
			}
		case r.Lines == 0 || r.First.File == "":
			return false // it may be of this file
		}
	}
	return there
}

func propose(s *Scene, slug knowledge.Slug, class Class, fls []*resolve.Failure) *Proposal {
	f := s.Facts
	p := &Proposal{Mechanism: slug, Class: class, Failures: fls, Base: 0.95}
	fls = independent(s, fls)
	x := tellersOf(f, fls)
	p.First = x.first
	p.At = firstMoment(x.first)
	p.Direct = slices.ContainsFunc(x.first, func(fl *resolve.Failure) bool { return fl.Direct })
	text := short(x.first[0].Text)
	at := x.home(f, slug)
	p.Ranks, p.Nodes, p.Scope, p.Why = at.ranks, at.nodes, at.scope, at.why
	p.Summary = text
	if at.who != "" {
		p.Summary = at.who + ": " + text
	}
	if every(x.first, between) {
		if p.Ranks, p.Nodes, p.Summary = nil, nil, text; p.Scope != "all" {
			p.Scope = "unknown"
		}
		p.Why = "the line says that ranks don't match, but not which one is right"
	}
	blamed := p.blames(slug)
	if !blamed {
		p.Summary = p.on(slug) + text
	}
	if len(p.Ranks)+len(p.Nodes) > 0 {
		p.place = strings.TrimSuffix(p.Summary, text)
	}
	p.For = x.findings(blamed, len(p.Ranks) > 0)
	if every(fls, func(fl *resolve.Failure) bool { return fl.Unsettled }) {
		p.unsettled(f, fls[0])
	}
	for _, fl := range p.First {
		if l := unreadBy(f, fl); l != nil {
			p.besideIt(l, 0.9, "a line beside it matches no known failure, and may tell the cause")
			break
		}
	}
	p.openIfWordsAlone(f)
	return p
}

// openIfWordsAlone leaves it open whether a cause is one, where all that speaks for it are words of a message that no entry and no code of a public
// vocabulary knows: such words are often a guess of the program's, or name what followed.
func (p *Proposal) openIfWordsAlone(f *resolve.Facts) {
	if len(p.Rivals) > 0 || !every(p.First, func(fl *resolve.Failure) bool { return inWordsAlone(fl) && !ownWords(f, fl) }) {
		return
	}
	p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.Unknown}, false, 0.9
	p.Why = "its message says so, in words that no known failure has"
}

func inWordsAlone(fl *resolve.Failure) bool {
	_, ok := fl.Stated()
	return ok && fl.Code == ""
}

// tellers is who tells of failures of one kind.
type tellers struct {
	fls, first []*resolve.Failure
	ranks      map[int]bool    // that sign the first ones
	nodes      map[string]bool // on which those are
	all        map[int]bool    // that sign any
	unsigned   bool            // no rank signs some of the first
	unnamed    int             // exceptions that no rank signs: one a process
	world      int
}

func tellersOf(f *resolve.Facts, fls []*resolve.Failure) *tellers {
	x := &tellers{fls: fls, first: earliest(fls), ranks: map[int]bool{}, nodes: map[string]bool{}, all: map[int]bool{}}
	for _, fl := range x.first {
		if fl.Rank == resolve.NoRank {
			x.unsigned = true
		} else {
			x.ranks[fl.Rank] = true
		}
		if fl.Node != "" {
			x.nodes[fl.Node] = true
		}
	}
	for _, fl := range fls {
		if fl.Rank != resolve.NoRank {
			x.all[fl.Rank] = true
		} else if fl.Kind == resolve.KindException {
			x.unnamed += fl.Count
		}
	}
	if x.world = f.Job.WorldSize; x.world == 0 {
		x.world = max(len(f.Ranks), tasks(f))
		if slices.ContainsFunc(f.Ranks, func(r *resolve.Rank) bool { return r.Lines > 0 && !x.all[r.ID] }) {
			x.world = max(x.world, f.Ranks[len(f.Ranks)-1].ID+1) // who failed otherwise is seen, and ranks are numbered from 0
		}
	}
	return x
}

// home is where a failure belongs.
type home struct {
	ranks           []int
	nodes           []string
	scope, who, why string // who begins a summary
}

// home says to whom the failures belong: to a node whose processes all have them, to the whole job, or to those who had them first.
func (x *tellers) home(f *resolve.Facts, slug knowledge.Slug) home {
	all, node := keysOf(x.all), ""
	if len(x.nodes) == 1 {
		node = keysOf(x.nodes)[0]
	}
	processes := len(x.ranks) == 0 && x.unnamed > 2
	onNode := processes && node != "" && allOf(x.fls, node)
	everybody := len(x.ranks) > 1 && x.most(len(x.ranks)) || len(all) > 2 && x.most(len(all))
	switch {
	case onNode && ofHardware(slug):
		return home{nodes: []string{node}, scope: "node", who: node,
			why: x.why(fmt.Sprintf("%s on this node report the same, and none on any other node", plural(x.unnamed, "process", "processes")))}
	case onNode && slug.Is(knowledge.Installed) && metNobody(f, x.all, node):
		return home{nodes: []string{node}, scope: "node", who: node,
			why: fmt.Sprintf("%s on this node report the same; a rank on another node had got further and was waiting for them", plural(x.unnamed, "process", "processes"))}
	case processes && x.most(x.unnamed) && (f.Job.WorldSize > 0 || inMostFiles(f, x.fls)):
		h := home{scope: "all", who: plural(x.unnamed, "process", "processes"), why: "as many processes as there are ranks report the same: no single rank caused it"}
		if f.Job.WorldSize == 0 {
			h.why = "most logs report the same: no single rank caused it"
		}
		return h
	case len(all) > 1 && ofHardware(slug) && x.machine(f) != "":
		h := home{nodes: []string{x.machine(f)}, scope: "node", who: where(f, all),
			why: x.why(fmt.Sprintf("%s on this node report the same, and none on any other node", plural(len(all), "rank", "ranks")))}
		if len(x.ranks) <= 2 {
			h.ranks = keysOf(x.ranks)
		}
		return h
	case ofOneNode(f, slug, x.all):
		return home{ranks: all, nodes: nodesOf(f, all), scope: "node", who: where(f, all),
			why: x.why("all lines from one node report the same, and none from any other")}
	case everybody:
		h := home{scope: "all", who: plural(len(all), "rank", "ranks"), why: "the same failure on most ranks: no single rank caused it"}
		if n := f.Ranks[len(f.Ranks)-1].ID + 1; f.Job.WorldSize == 0 && float64(len(all)) < everyone*float64(n) {
			h.scope, h.why = "unknown", x.why("all ranks seen here fail the same way; there are no lines from the other ranks")
		}
		return h
	case node != "" && len(x.ranks) == 0:
		return home{nodes: []string{node}, scope: "node", who: node, why: x.why("one line reports it, without showing which rank wrote it")}
	case len(x.ranks) == 0:
		return home{scope: "unknown", why: x.why("one line reports it, without showing which rank wrote it")}
	}
	h := home{why: "a line reports it directly, and no earlier failure explains it"}
	if !x.unsigned || len(x.ranks) <= 2 {
		h.ranks = keysOf(x.ranks)
		h.who = where(f, h.ranks)
	}
	h.nodes, h.scope = nodesOf(f, h.ranks), scopeOf(f, h.ranks)
	return h
}

// most says that so many are most of the job.
func (x *tellers) most(n int) bool { return float64(n) >= everyone*float64(x.world) }

// why is what is said, or that nobody knows whose lines they are where no rank signs the first of several.
func (x *tellers) why(signed string) string {
	if len(x.ranks) == 0 && len(x.fls) > 1 {
		return fmt.Sprintf("%s report it, but don't show which ranks wrote them", plural(len(x.fls), "line", "lines"))
	}
	return signed
}

// machine is the node of all failures, where each rank's node is known: which of the GPUs of a node is at fault its processes need not know; that it
// is this node's they do.
func (x *tellers) machine(f *resolve.Facts) string {
	if slices.ContainsFunc(f.Ranks, func(r *resolve.Rank) bool { return r.Lines > 0 && r.Node == "" }) {
		return ""
	}
	return sameNode(f, x.fls)
}

// findings quote who had it first, each line once, and one of those who had it later where somebody is named.
func (x *tellers) findings(blamed, named bool) []incident.Finding {
	var out []incident.Finding
	quoted := map[worker.Pos]bool{} // one line may carry two signs of the same
	for _, fl := range x.first {
		if len(out) < 3 && !quoted[fl.At.Pos] {
			quoted[fl.At.Pos] = true
			out = append(out, finding(writer(fl, blamed)+short(fl.Text), FailureEvidence(fl)))
		}
	}
	later := slices.IndexFunc(x.fls, func(fl *resolve.Failure) bool { return fl.Rank != resolve.NoRank && !x.ranks[fl.Rank] })
	if named && later >= 0 {
		out = append(out, finding(plural(len(x.all)-len(x.ranks), "rank", "ranks")+" failed the same way later", FailureEvidence(x.fls[later])))
	}
	return out
}

// unsettled takes back a proposal whose failures may all have been caught.
func (p *Proposal) unsettled(f *resolve.Facts, fl *resolve.Failure) {
	p.Rivals, p.Direct, p.Base = []knowledge.Slug{endedElse(f)}, false, 0.88
	switch {
	case fl.Exc != nil && fl.Exc.Warned:
		p.Why = "the program logged it as a warning, and nothing after it shows whether it continued"
	case f.Job.ExitOK != nil:
		p.Why = "a later line says that training finished, but a script may print that even if its program failed"
	default:
		p.Why = "step lines follow it, and may have been printed after it or flushed from a buffer: the error may have been caught"
	}
}

// between says that a failure is told of its writer and another, of whom either may be at fault.
func between(fl *resolve.Failure) bool {
	return fl.Entry().Between
}

// endedElse is how the job ended if nothing of it failed.
func endedElse(f *resolve.Facts) knowledge.Slug {
	for _, e := range f.Ends {
		switch {
		case e.Line.Due(worker.ReasonTimeLimit):
			return knowledge.TimeLimit
		case e.Line.Due(worker.ReasonPreemption):
			return knowledge.Preempted
		}
	}
	return knowledge.Completed
}

// ofHardware says that a mechanism is a fault of a node's GPUs and what connects them, which all its processes may meet alike.
func ofHardware(slug knowledge.Slug) bool {
	m, known := knowledge.MechanismBySlug(slug)
	return known && m.Origin == "gpu" && m.Owner == "cluster"
}

// inMostFiles says that at least half of the files in which processes of the job write hold one of these failures.
func inMostFiles(f *resolve.Facts, fls []*resolve.Failure) bool {
	hold, all := map[string]bool{}, 0
	for _, fl := range fls {
		hold[fl.At.File] = true
	}
	for i := range f.Tails {
		if t := &f.Tails[i]; hold[t.File] || t.Lines > 0 && len(worker.Within(f.Obs.TaskExits, t.File)) == 0 {
			all++
		}
	}
	return 2*len(hold) >= all
}

// sameNode is the node of all these failures; "" where they are of several, or one's is not known.
func sameNode(f *resolve.Facts, fls []*resolve.Failure) string {
	node := ""
	for _, fl := range fls {
		n := fl.Node
		if n == "" && fl.Rank != resolve.NoRank {
			if r := f.Rank(fl.Rank); r != nil {
				n = r.Node
			}
		}
		if n == "" || node != "" && n != node {
			return ""
		}
		node = n
	}
	return node
}

// allOf says that all these failures are of one node.
func allOf(fls []*resolve.Failure, node string) bool {
	return !slices.ContainsFunc(fls, func(fl *resolve.Failure) bool { return fl.Node != node })
}

// metNobody says that a rank of another node than that of all who failed gave up waiting at the meeting point for clients that did not come:
// the same program had brought it past what those failed of.
func metNobody(f *resolve.Facts, failed map[int]bool, node string) bool {
	return node != "" && slices.ContainsFunc(f.Failures, func(fl *resolve.Failure) bool {
		if fl.Rank == resolve.NoRank || failed[fl.Rank] || !fl.Says(knowledge.AtRendezvous) {
			return false
		}
		r := f.Rank(fl.Rank)
		return r != nil && r.Node != "" && r.Node != node
	})
}

// ofOneNode says that all who failed are of one node, where somebody of another is seen and it is not the program that failed: a
// program fails alike on any node, and who was ended before it did says nothing. What is installed on a node is another matter where who waited for
// them had it.
func ofOneNode(f *resolve.Facts, slug knowledge.Slug, failed map[int]bool) bool {
	m, known := knowledge.MechanismBySlug(slug)
	if !known || m.Origin == "unknown" || m.Origin == "none" || len(failed) < 2 {
		return false
	}
	node := ""
	for id := range failed {
		r := f.Rank(id)
		if r == nil || r.Node == "" || node != "" && node != r.Node {
			return false
		}
		node = r.Node
	}
	others := false
	for _, r := range f.Ranks {
		switch {
		case failed[r.ID], r.Lines == 0:
		case r.Node == "" || r.Node == node:
			return false // of this node, or perhaps
		default:
			others = true
		}
	}
	return others && (m.Origin != "software" || slug.Is(knowledge.Installed) && metNobody(f, failed, node))
}

// moment is when a failure happened as far as its own lines tell, else when its process ended.
func moment(fl *resolve.Failure) resolve.Moment {
	if fl.T.Valid {
		return fl.T
	}
	if m := fl.Proc.Ended(); m.Valid {
		m.T -= 2
		m.Unc += 5 // the agent notices a death within its polling interval, after the process's own teardown
		return m
	}
	return resolve.Moment{}
}

// firstMoment is when the first of these failures happened.
func firstMoment(fls []*resolve.Failure) resolve.Moment {
	var first resolve.Moment
	for _, fl := range fls {
		first = first.Earliest(moment(fl))
	}
	return first
}

// independent leaves out failures of ranks that were waiting in a collective before: those came back from the wait.
func independent(s *Scene, fls []*resolve.Failure) []*resolve.Failure {
	var out []*resolve.Failure
	for _, fl := range fls {
		if !AfterHang(s, fl) {
			out = append(out, fl)
		}
	}
	if len(out) == 0 {
		return fls
	}
	return out
}

// AfterHang says that a failure is proven, or has to be read, as what followed a collective's timeout.
func AfterHang(s *Scene, fl *resolve.Failure) bool {
	g := s.Graph
	if g.Shape == waitfor.NoHang {
		return false
	}
	if fl.Kernel != nil && !fl.T.Valid {
		return false // a kernel log is in nobody's file: it counts as it was weighed
	}
	const zone = 2700.0 // seconds: nearer than this no zone is to the next, and longer no teardown lasts
	when := fl.T
	if !when.Valid {
		when = fl.NotBefore
	}
	elsewhere := when.Valid && g.Report.Valid && when.T-g.Report.T > zone && !s.Facts.Tied(fl.Node)
	if elsewhere && (!g.ReportedAbove(fl.At.Pos) || fl.At.Stamp.Emitter == line.Kernel) {
		return false // a clock that nothing compares with the reporters': in another zone, not an hour later. A script prints the kernel's lines last.
	}
	timed := fl.T.Valid && !elsewhere // who collected the lines may have stamped them: then where they stand tells their order
	if timed {
		if g.Report.Before(fl.T) {
			return true
		}
		if fl.T.Before(g.Report) {
			return false
		}
	}
	if fl.Proc.Ended().Before(g.Report) {
		return false // its process had ended by then, whatever other writers' stamps stand above its lines
	}
	if fl.NotBefore.Valid && !fl.T.Valid && !elsewhere && g.Report.Before(fl.NotBefore) {
		return true
	}
	if fl.Rank != resolve.NoRank {
		// The rank itself reported that it was waiting: whatever it printed below that is its teardown.
		for _, p := range fl.Proc.Pending {
			if p.At.Above(fl.At.Pos) {
				return true
			}
		}
		if g.Waits(fl.Rank) && !timed && !saidBefore(fl) {
			return true
		}
		// It was in a collective as well, and came back from it with what an aborted one leaves.
		return !timed && cameBack(fl) && g.ReportedAbove(fl.At.Pos)
	}
	return g.ReportedAbove(fl.At.Pos)
}

// saidBefore says that the rank tells of it, in the file in which it later reports that it waits, above all those reports: a
// process that failed may well wait afterwards, in a barrier on its way out, until its own watchdog ends it.
func saidBefore(fl *resolve.Failure) bool {
	if fl.Kind != resolve.KindNCCL && fl.Kind != resolve.KindException {
		return false
	}
	reported := false
	for _, p := range fl.Proc.Pending {
		if p.At.File != fl.At.File || p.At.Off < fl.At.Off {
			return false
		}
		reported = true
	}
	return reported
}

// cameBack says that an exception was raised inside one of PyTorch's own functions that wait for other ranks.
func cameBack(fl *resolve.Failure) bool {
	if fl.Exc == nil || len(fl.Exc.Frames) == 0 {
		return false
	}
	in := fl.Exc.Frames[len(fl.Exc.Frames)-1]
	return strings.HasSuffix(in.File, "torch/distributed/distributed_c10d.py") && collectives[in.Func]
}

// earliest are the failures that no other is proven to precede. Within one process the order of its lines is the order.
func earliest(fls []*resolve.Failure) []*resolve.Failure {
	ended := math.Inf(1) // by then one of them had happened for certain
	top := map[place]int64{}
	for _, fl := range fls {
		if m := moment(fl); m.Valid {
			ended = min(ended, m.T+m.Unc)
		}
		if fl.Rank == resolve.NoRank {
			continue
		}
		k := place{fl.Rank, fl.At.File}
		if off, seen := top[k]; !seen || fl.At.Off < off {
			top[k] = fl.At.Off
		}
	}
	var out []*resolve.Failure
	for _, fl := range fls {
		if m := moment(fl); m.Valid && ended < m.T-m.Unc {
			continue
		}
		if off, named := top[place{fl.Rank, fl.At.File}]; named && off < fl.At.Off {
			continue
		}
		out = append(out, fl)
	}
	if len(out) == 0 {
		return fls[:1]
	}
	return out
}

// short is the first line of a text. Where it is long its middle is left out, at spaces: a long message begins with its kind
// and ends with its reason ("… Max retries exceeded with url: … [Errno 111] Connection refused'))").
func short(s string) string {
	const limit, end = 200, 80
	// How PyTorch ends an OutOfMemoryError, the same in each: c10/cuda/CUDACachingAllocator.cpp, 1.10 to 2.9.
	manual := []string{"Of the allocated memory", "Including non-PyTorch memory", "If reserved memory is >> allocated memory try", "If reserved but unallocated memory is large try", "See documentation for Memory Management"}
	s, _, _ = strings.Cut(s, "\n")
	for _, m := range manual {
		s, _, _ = strings.Cut(s, m)
	}
	s = strings.TrimRight(s, " ")
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	head, tail := string(r[:limit-end]), string(r[len(r)-end:])
	if space := strings.LastIndexByte(head, ' '); space > len(head)/2 {
		head = head[:space]
	}
	if space := strings.IndexByte(tail, ' '); space >= 0 && space < len(tail)/2 {
		tail = tail[space+1:]
	}
	return strings.TrimRight(head, " .,;:") + " … " + tail
}

var needDmesgNode = incident.Need{What: "the kernel log from {node}", Why: "shows whether the hardware reported anything at that moment",
	Command: kernelLogOf, Artefact: knowledge.KernelLog}
