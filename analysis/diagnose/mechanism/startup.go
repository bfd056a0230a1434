package mechanism

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// startup: what keeps a job from ever taking a step.
func startup() []Mechanism {
	return []Mechanism{
		{Slug: knowledge.VersionMismatch, Class: Local, Explains: []knowledge.Slug{knowledge.Exception, knowledge.InitUnreachable, knowledge.NativeCrash, knowledge.ConfigError},
			Propose: versionMismatch},
		{Slug: knowledge.ConfigError, Class: Local, Propose: configError, Explains: []knowledge.Slug{knowledge.InitUnreachable}},
		{Slug: knowledge.InitUnreachable, Class: Local, Propose: initUnreachable, Needs: []incident.Need{
			{What: "a connection test from {nodes} to the master's host and port", Why: "it distinguishes a wrong name or firewall from a process that was not there", Command: "nc -vz $MASTER_ADDR $MASTER_PORT   # on {nodes}", Obtainable: "now"}}},
		{Slug: knowledge.SchedulerError, Class: Local, Propose: schedulerError, Explains: []knowledge.Slug{knowledge.InitUnreachable, knowledge.Exception, knowledge.ConfigError, knowledge.Cancelled}},
	}
}

// jobWide takes back the node of a failure that no rank is known to have had: what the job was started with is no node's
// own fault, though only one node's file may show it: unless a rank of another waited for those of this one.
func jobWide(s *Scene, p *Proposal) *Proposal {
	if p != nil && len(p.Ranks) == 0 && !hereOnly(s.Facts, p) && !(len(p.Nodes) == 1 && allOf(p.Failures, p.Nodes[0]) && metNobody(s.Facts, nil, p.Nodes[0])) {
		p.Nodes = nil
		if p.Scope == "node" {
			p.Scope = "all"
		}
	}
	return p
}

// hereOnly says that several processes of one node failed so, and that those of another, of whom none did, only noticed: then what they were
// started with differs.
func hereOnly(f *resolve.Facts, p *Proposal) bool {
	if len(p.Nodes) != 1 {
		return false
	}
	failed, files := 0, map[string]bool{}
	for _, fl := range p.Failures {
		files[fl.At.File] = true
		switch {
		case fl.Node != p.Nodes[0]:
			return false
		case fl.Kind == resolve.KindException:
			failed += fl.Count
		}
	}
	return failed > 2 && slices.ContainsFunc(f.Failures, func(fl *resolve.Failure) bool {
		other := fl.Node != "" && fl.Node != p.Nodes[0] || fl.Node == "" && fl.Rank != resolve.NoRank && !files[fl.At.File]
		return other && fl.Kind != resolve.KindTask && fl.Role != knowledge.CauseRole && (fl.Mechanism.Is(knowledge.OfOthers) || fl.Says(knowledge.LostStore))
	})
}

// initUnreachable: connection failures before the first step. Later the same wording only says that a peer is gone.
func initUnreachable(s *Scene) *Proposal {
	f := s.Facts
	if f.Job.Training {
		return nil
	}
	var fls []*resolve.Failure
	for _, fl := range f.Failures {
		if fl.Mechanism.Is(knowledge.OutOfReach) && fl.Role != knowledge.ConsequenceRole && !lostLater(f, fl) {
			fls = append(fls, fl)
		}
	}
	if len(fls) > 0 {
		p := propose(s, knowledge.InitUnreachable, Local, telling(fls))
		// Who could not reach is not who could not be reached.
		ofOne := p.Scope == "node" && len(p.Ranks) > 1
		p.Ranks, p.Nodes = nil, nil
		p.Scope, p.Failures = "all", fls
		if ofOne { // and that nobody of another node says so is no word for the whole job
			p.Scope = "unknown"
			p.Why += "; they don't show whether this node or the other end is at fault"
		}
		p.diedFirst(s, fls)
		p.neverCame(s, fls)
		p.shared(s)
		p.nameAbsent(f)
		p.nameSilent(f)
		p.unreached(s)
		if failedElsewhere(f, telling(fls)) {
			p.Class = Symptom
		}
		return p
	}
	for i := range f.Barriers {
		b := &f.Barriers[i]
		if b.Kind == worker.BarrierStore {
			p := barrierShort(s, b, "the store-based barrier gave up")
			p.nameAbsent(f)
			return p
		}
	}
	if b := stillWaiting(f); b != nil {
		p := barrierShort(s, b, "the store-based barrier is waiting")
		p.Summary = fmt.Sprintf("%d of %d processes had joined the group when the log ends; the barrier waited for the rest", b.Joined, b.World)
		p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.Unknown}, false, 0.8
		p.Why = "the store counts the ranks that joined; these files don't show whether the rest joined later, or what stopped them"
		p.Needs = append(p.Needs, incident.Need{What: "logs from the processes that never joined", Why: "they show whether a process died earlier or never started", Command: logsOfJob, Obtainable: "now"})
		return p
	}
	return nil
}

// unreached names the one node that several others did not reach, where nothing else is named.
func (p *Proposal) unreached(s *Scene) {
	c := Named(s, knowledge.Unreached)
	if c == nil || p.Named != "" || len(p.Frontier)+len(p.Ranks)+len(p.Nodes) > 0 {
		return
	}
	p.Named, p.Scope, p.Summary = c.Named, "unknown", c.Summary
	p.For = append(p.For, c.For)
}

// lostLater says that a launcher lost its rendezvous when its processes had long talked to each other: they had met there. A group of their
// own may still be set up so late.
func lostLater(f *resolve.Facts, fl *resolve.Failure) bool {
	return f.Job.Talked && fl.Says(knowledge.LostRendezvous)
}

// failedElsewhere says that all that these failures tell is that some process never came, and that another one failed: it is
// why, whatever it failed of, and nothing was out of reach.
func failedElsewhere(f *resolve.Facts, fls []*resolve.Failure) bool {
	var last resolve.Moment
	for _, fl := range fls {
		if !fl.Says(knowledge.AwaitsPeers) {
			return false
		}
		if fl.T.Valid && (!last.Valid || last.Before(fl.T)) {
			last = fl.T
		}
	}
	same := func(a, b *resolve.Failure) bool {
		return a.Rank != resolve.NoRank && a.Rank == b.Rank || a.Rank == b.Rank && a.At.File == b.At.File
	}
	return slices.ContainsFunc(f.Failures, func(o *resolve.Failure) bool {
		if o.Mechanism == "" || o.Mechanism.Is(knowledge.OfOthers) || o.Role == knowledge.ConsequenceRole ||
			o.Role != knowledge.CauseRole && o.Kind != resolve.KindException || last.Valid && last.Before(o.T) {
			return false
		}
		return !slices.ContainsFunc(fls, func(fl *resolve.Failure) bool { return same(fl, o) })
	})
}

// telling leaves out what says only that something failed, where other lines say what.
func telling(fls []*resolve.Failure) []*resolve.Failure {
	out := slices.DeleteFunc(slices.Clone(fls), func(fl *resolve.Failure) bool {
		return fl.Says(knowledge.Vague)
	})
	if len(out) == 0 {
		return fls
	}
	return out
}

// diedFirst keeps open that the peer was there and died. A process that did not accept a connection looks the same whether
// the way to it is closed or it ended a moment before: only its own log tells.
func (p *Proposal) diedFirst(s *Scene, fls []*resolve.Failure) {
	p.Echo = !slices.ContainsFunc(fls, func(fl *resolve.Failure) bool { return fl.Role == knowledge.CauseRole })
	if !p.Echo || s.Facts.Coverage.Whole() {
		return
	}
	peers := map[string]bool{}
	for _, fl := range p.Failures {
		if at := peerOf(s, fl); at != "" {
			peers[at] = true
		}
	}
	what, why := "logs from the peers that did not respond", "they show whether a process died earlier"
	if names := keysOf(peers); len(names) > 0 && len(names) <= 3 {
		what = "the log from the process at " + strings.Join(names, ", ")
		why = "shows whether it died earlier; if not, the path to it is blocked"
	}
	p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.PeerLost}, false, 0.8
	p.Why = "the peer did not accept a connection; only its own log, which seems to be missing, shows whether it had already died"
	if !slices.ContainsFunc(fls, func(fl *resolve.Failure) bool { return !fl.Says(knowledge.Vague) }) {
		p.Rivals = append(p.Rivals, knowledge.Unknown)
		p.Why = "a system call failed inside NCCL; no line shows which one, or whether a peer was gone"
	}
	p.Needs = append(p.Needs, incident.Need{What: what, Why: why, Command: logsOfJob, Obtainable: "now"})
}

// shared decides where the address that was not reached is one that several nodes state as their own, as the bridge of a container has
// it: a connection to it never leaves the node, whether the peer lives or not.
func (p *Proposal) shared(s *Scene) {
	for _, fl := range p.Failures {
		addr := peerOf(s, fl)
		if fl.Told == nil && fl.Exc == nil && addr == "" {
			continue
		}
		at := s.Facts.NCCL.Shared(addr)
		if len(at) < 2 {
			continue
		}
		p.Rivals, p.Echo, p.Direct, p.Base, p.Needs = nil, false, true, 0.92, nil
		p.Summary = fmt.Sprintf("nodes try to reach each other at %s, an address several of them have: connections to it never leave the node", addr)
		p.Why = "NCCL logs the same address on different nodes, as a container bridge would have everywhere"
		p.For = append([]incident.Finding{finding("different nodes report "+addr+" as their own address", QuoteAt(at[0], nil), QuoteAt(at[1], nil))}, p.For...)
		p.Now = []knowledge.Advice{{Text: "Set NCCL's and Gloo's interface to one that connects the nodes, not the container bridge.", Command: "export NCCL_SOCKET_IFNAME=IF GLOO_SOCKET_IFNAME=IF"}}
		return
	}
}

// neverCame keeps open what kept away the processes for whom the others waited in vain at a store that was there: whether they died
// before, did not start or could not reach it, only their own logs tell. Where every file is of a node on which somebody waits, those
// are not here; what one file holds for the whole job, or another one beside them, may be theirs.
func (p *Proposal) neverCame(s *Scene, fls []*resolve.Failure) {
	files := map[string]bool{}
	for _, fl := range fls {
		if !fl.Says(knowledge.AwaitsPeers) || fl.Node == "" {
			return
		}
		files[fl.At.File] = true
	}
	if s.Facts.Coverage.Whole() || slices.ContainsFunc(s.Facts.Tails, func(t worker.Tail) bool { return t.Bytes > 0 && !files[t.File] }) {
		return
	}
	p.Rivals, p.Direct, p.Base = append(p.Rivals, knowledge.Unknown), false, 0.8
	p.Why = "these processes joined the store and waited for the rest, whose logs are missing"
	p.Needs = append(p.Needs, incident.Need{What: "logs from the processes that never joined", Why: "they show whether a process died earlier or never started",
		Command: logsOfJob, Obtainable: "now"})
}

// peerOf is the address that a refused connection led to, or "".
func peerOf(s *Scene, fl *resolve.Failure) string {
	for i := range s.Facts.Obs.NCCLWarns {
		if w := &s.Facts.Obs.NCCLWarns[i]; w.Pos == fl.At.Pos {
			return w.Peer
		}
	}
	switch {
	case fl.Told != nil:
		return s.Facts.Known.Fields(fl.Sign, []byte(fl.Told.Text))["peer"]
	case fl.Exc != nil:
		if at := s.Facts.Known.Fields(fl.Sign, []byte(fl.Exc.Message))["peer"]; at != "" {
			return at
		}
		return s.Facts.Known.Fields(knowledge.IDNCCLConnectLast, []byte(fl.Exc.Message))["peer"]
	}
	return ""
}

func barrierShort(s *Scene, b *worker.Barrier, what string) *Proposal {
	f := s.Facts
	p := &Proposal{Mechanism: knowledge.InitUnreachable, Class: Local, Scope: "all", Direct: true, Base: 0.92, At: f.At(b.At),
		Summary: "not all processes joined when the process group was set up", Why: "the store counted the processes that joined"}
	p.For = append(p.For, finding(what, QuoteAt(b.At, nil)))
	var missing []int
	for i := range f.Job.WorldSize {
		if r := f.Rank(i); (r == nil || r.Lines == 0) && !waitsAt(f, b, i) {
			missing = append(missing, i)
		}
	}
	switch n := len(missing); {
	case n > 0 && b.Joined >= 0 && int64(n) == b.World-b.Joined:
		p.Named = rankWords(missing)
	case n > 0 && n < f.Job.WorldSize:
		p.Frontier = missing
	}
	p.Failures = []*resolve.Failure{}
	return p
}

// waitsAt says that a rank reports such a barrier of the whole job itself: it came.
func waitsAt(f *resolve.Facts, b *worker.Barrier, rank int) bool {
	return int(b.World) == f.Job.WorldSize && slices.ContainsFunc(f.Barriers, func(o worker.Barrier) bool { return o.Rank == rank && o.World == b.World })
}

// schedulerError: the step, its container or its directory could not be set up. A node is named by what its own slurmstepd
// prints, or by srun where it could not be reached.
func schedulerError(s *Scene) *Proposal {
	fls := launchFailures(s.Facts)
	if len(fls) == 0 {
		return nil
	}
	p := propose(s, knowledge.SchedulerError, Local, fls)
	p.Ranks = nil
	p.Nodes, p.Scope = keysOf(endedAlike(s.Facts, launchNodes(s.Facts, fls, p.Nodes))), "node"
	if len(p.Nodes) != 1 {
		p.Scope = "all"
	}
	if reason := containerReason(s.Facts); reason != "" {
		p.Summary, p.Lasting = "the container did not start: "+short(reason), knowledge.StaysSo(reason)
		if n := len(p.Nodes); n > 0 && n <= 3 {
			p.Summary = strings.Join(p.Nodes, ", ") + ": " + p.Summary
		}
	}
	return p
}

// launchFailures are the failures to set a step up; so are programs that were not found, in the file of one whose directory could not be entered.
func launchFailures(f *resolve.Facts) []*resolve.Failure {
	chdir := map[string]bool{} // files in which SLURM could not enter the job's directory
	for _, fl := range f.Failures {
		if fl.Says(knowledge.NoDirectory) {
			chdir[fl.At.File] = true
		}
	}
	began := f.Job.Training || len(f.Ranks) > 0
	var fls []*resolve.Failure
	for _, fl := range f.Failures {
		cause := fl.Role == knowledge.CauseRole || !began && fl.Says(knowledge.AwaitsNode)
		notFound := fl.Says(knowledge.NoProgram) && chdir[fl.At.File]
		if notFound || cause && fl.Mechanism.Is(knowledge.NotLaunched) {
			fls = append(fls, fl)
		}
	}
	return fls
}

// launchNodes are the nodes on which a step could not be set up: those named, and those that its failures and the launcher name. Where nobody names
// one, but srun tells of which node tasks ended, and it is only one, it is that.
func launchNodes(f *resolve.Facts, fls []*resolve.Failure, named []string) map[string]bool {
	nodes := map[string]bool{}
	for _, n := range named {
		nodes[n] = true
	}
	for _, fl := range fls {
		nodes[fl.Node] = true
		if fl.Node == "" && fl.Proc != nil {
			nodes[fl.Proc.Node] = true
		}
	}
	for _, e := range f.Ends {
		// A credential that expired is the controller's or a clock's doing, wherever it is noticed first.
		if e.Line.Kind == worker.EndLaunch && !strings.Contains(strings.ToLower(e.Line.Text), "credential") {
			for _, h := range e.Line.Hosts {
				nodes[resolve.ShortHost(h)] = true
			}
		}
	}
	delete(nodes, "")
	if len(nodes) > 0 {
		return nodes
	}
	for _, fl := range f.Failures {
		if fl.Kind == resolve.KindTask && fl.Node != "" && fl.Role != knowledge.ConsequenceRole {
			nodes[fl.Node] = true
		}
	}
	if len(nodes) > 1 {
		return nil
	}
	return nodes
}

// endedAlike adds to the nodes that are named those whose tasks ended with the same exit codes: of lines that name no rank only the
// first is kept. Where nobody else is seen, it befell the whole job, and no node is named.
func endedAlike(f *resolve.Facts, named map[string]bool) map[string]bool {
	codes := map[int]bool{}
	for i := range f.Obs.TaskExits {
		e := &f.Obs.TaskExits[i]
		codes[e.Code] = codes[e.Code] || e.Code > 0 && slices.ContainsFunc(e.Hosts, func(h string) bool { return named[resolve.ShortHost(h)] })
	}
	all, seen := maps.Clone(named), map[string]bool{}
	for _, n := range f.Coverage.NodesSeen {
		seen[n] = true
	}
	for i := range f.Obs.TaskExits {
		e := &f.Obs.TaskExits[i]
		for _, h := range e.Hosts {
			if h = resolve.ShortHost(h); h == "" {
				continue
			}
			seen[h] = true
			if codes[e.Code] {
				all[h] = true
			}
		}
	}
	if len(all) == len(named) {
		return named
	}
	for n := range seen {
		if !all[n] {
			return all
		}
	}
	return nil
}

// containerReason is what the runtime of a container gave as its reason, "" where no line tells: the first one of a file, and of
// several files the one that comes first by its words.
func containerReason(f *resolve.Facts) string {
	first := map[string]*worker.Sign{}
	for i := range f.Obs.Signs {
		v := &f.Obs.Signs[i]
		if old := first[v.File]; f.Known.Entry(v.ID).Says&knowledge.OfRuntime != 0 && (old == nil || v.Off < old.Off) {
			first[v.File] = v
		}
	}
	reason := ""
	for _, v := range first {
		fields := f.Known.Fields(v.ID, []byte(v.Text))
		said := fields["text"]
		if tool := fields["tool"]; tool != "" {
			said = tool + ": " + said
		}
		if reason == "" || said < reason {
			reason = said
		}
	}
	return reason
}
