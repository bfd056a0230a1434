package resolve

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"faultline/analysis/artifact/kernel"
	"faultline/analysis/line"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// KernelLog is one kernel log.
type KernelLog struct {
	File string
	Log  *kernel.Log
}

// Whether an event is of the time of the failure.
type When int

const (
	Undated  When = iota // nothing states its time, or in which zone its clock is
	Near                 // when it began, shortly before, or before anybody reported it
	Before               // long before
	After                // after it was reported
	Outlived             // the job continued after it
)

// KernelEvent is an event of a kernel log on the job's timeline.
type KernelEvent struct {
	*kernel.Event
	At   worker.At
	Node string // "" unknown
	T    Moment
	When When
	// Lead is how many seconds before the trouble it was; negative is after it began. It counts where T is valid.
	Lead float64
	// Rank is whose GPU or process it is, NoRank unknown, and RankBasis what proves it. Alien: it is another job's.
	Rank      int
	RankBasis string
	Alien     bool
	// Cause is the mechanism that it is taken as the cause of the failure for, "" none, with why not where it could be one.
	Cause  knowledge.Slug
	Unused string
	// Could is the mechanism that it would be the cause of, where nothing is known to have failed that it explains.
	Could knowledge.Slug
}

// Around the time of the failure, in seconds.
const (
	leadBefore = 300 // so long before a hang begins what caused it may be reported: a kernel may run for a while before anybody waits
	lagAfter   = 60
	wentOn     = 60 // steps so long after an event show that it was survived
)

// trouble is when the job got into trouble: from when it no longer went on until somebody reported it.
type trouble struct {
	known    bool
	from, to float64
	unc      float64
	hang     bool
	// any: something is known to have failed at all, timed or not.
	any bool
}

func (f *Facts) troubled() trouble {
	t := trouble{from: math.Inf(1), to: math.Inf(1)}
	reports, endings := math.Inf(-1), f.endings()
	t.hang = f.hung()
	t.any = t.hang
	for _, g := range f.Groups {
		for _, p := range g.Pending {
			t.since(p.Start)
			if p.Report.Valid {
				t.to = min(t.to, p.Report.T)
			}
		}
	}
	hung := t.from
	for _, fl := range f.Failures {
		if fl.Role != knowledge.CauseRole && fl.Role != knowledge.SymptomRole {
			continue
		}
		t.any = true
		if fl.Role == knowledge.CauseRole && !fl.T.Valid {
			reports = max(reports, byThen(fl, endings))
		}
		if m := fl.When(); m.Placed() && (!t.hang || m.T > hung-3*leadBefore) {
			t.since(m)
			reports = max(reports, m.T)
		}
	}
	failed := f.failedExits()
	t.any = t.any || failed.any || len(f.Ends) > 0 && !t.known
	if !t.known && t.any { // it was ended, and nothing else is timed
		for _, m := range f.endMoments(append(endings, failed.times...)) {
			t.since(m)
			reports = max(reports, m.T)
		}
	}
	if math.IsInf(t.to, 1) {
		t.to = max(reports, t.from)
	}
	return t
}

// since notes that the job was in trouble at a moment, where it is known.
func (t *trouble) since(m Moment) {
	if m.Valid {
		t.from, t.unc, t.known = min(t.from, m.T), max(t.unc, m.Unc), true
	}
}

// failedExits are the processes that ended with an error: whether there are any, and when those without a rank ended.
type failedExits struct {
	any   bool
	times []float64
}

func (f *Facts) failedExits() (x failedExits) {
	for _, r := range f.byRank {
		x.any = x.any || r.Exit.Failed()
	}
	for i := range f.Obs.ChildExits {
		if c := &f.Obs.ChildExits[i]; c.ExitCode != 0 {
			x.any = true
			if m := f.At(c.At); m.Valid {
				x.times = append(x.times, m.T)
			}
		}
	}
	return x
}

// endMoments are those that tell when a job ended of which nothing else is timed: the scheduler's acts, the last step, and the first of
// the exits after it.
func (f *Facts) endMoments(exits []float64) (ms []Moment) {
	for _, e := range f.Ends {
		if e.T.Valid {
			ms = append(ms, e.T)
		}
	}
	last := Moment{}
	for i := range f.Progress {
		if m := f.Progress[i].T; m.Valid && m.T > last.T {
			last = m
		}
	}
	if last.Valid {
		ms = append(ms, last)
	}
	slices.Sort(exits)
	if i, _ := slices.BinarySearch(exits, last.T); i < len(exits) { // a step may take longer than a launcher to see that a process has ended
		ms = append(ms, Moment{T: exits[i], Valid: true})
	}
	return ms
}

// endings are when processes and steps ended, ascending.
func (f *Facts) endings() (ts []float64) {
	for _, r := range f.byRank {
		if m := r.Ended(); m.Valid {
			ts = append(ts, m.T)
		}
	}
	for _, e := range f.Ends {
		if e.T.Valid {
			ts = append(ts, e.T.T)
		}
	}
	sort.Float64s(ts)
	return ts
}

// byThen is until when a failure had happened of which only is known what it cannot precede: its process had ended then, or the first that
// did, or the step.
func byThen(fl *Failure, endings []float64) float64 {
	if m := fl.Proc.Ended(); m.Valid {
		return m.T
	}
	first := 0
	if fl.NotBefore.Valid {
		first = sort.SearchFloat64s(endings, fl.NotBefore.T)
	}
	if first == len(endings) {
		return math.Inf(-1)
	}
	return endings[first]
}

// kernelLogs puts what kernels and GPU tools say on the timeline, ties it to nodes and ranks, and counts what caused the failure
// among the failures.
func (f *Facts) kernelLogs(in Input) *gpus {
	if len(f.Handed.Kernel) == 0 && len(f.Handed.GPUs) == 0 {
		return &gpus{failures: f.Failures}
	}
	g := &gpus{f: f, failures: f.Failures, nodes: f.knownNodes(in), whole: len(in.Nodes)+len(f.Accounting.nodes()) > 0}
	g.addresses()
	t := f.troubled()
	for i := range f.Handed.Kernel {
		k := &f.Handed.Kernel[i]
		node := g.nodeOf(k.File, in.Handed.Origins[k.File])
		for j := range k.Log.Events {
			e := g.event(k, &k.Log.Events[j], node)
			g.date(e, k, &t)
			g.events = append(g.events, e)
		}
	}
	g.readStates(in)
	g.causes(&t)
	return g
}

// gpus ties addresses of GPUs and processes to ranks.
type gpus struct {
	f *Facts // before it
	// events and states are what kernels and tools say; failures are those of the job, with what these caused.
	events   []*KernelEvent
	states   []*GPUState
	failures []*Failure

	nodes map[string]bool // of the job, as far as known
	whole bool            // those are all
	// ranks are those of GPUs by node and address; all says of a node that every rank there is known to have one.
	ranks map[string]map[string]int
	// apart are the answers of amongOthers by node.
	apart map[string]bool
}

// knownNodes are the nodes that some line, file name or record ties to the job.
func (f *Facts) knownNodes(in Input) map[string]bool {
	out := map[string]bool{}
	for _, n := range in.Nodes {
		out[ShortHost(n)] = true
	}
	for _, n := range f.Accounting.nodes() {
		out[ShortHost(n)] = true
	}
	for _, n := range f.ident.fileNode {
		out[n] = true
	}
	for _, r := range f.byRank {
		out[r.Node] = true
	}
	for h := range f.lostPeers() {
		out[h] = true
	}
	delete(out, "")
	return out
}

// lost is the host to which a line says that a connection broke; "" where it names none.
func (f *Facts) lost(id knowledge.ID, text string) string {
	e := f.Known.Entry(id)
	if !slices.ContainsFunc(e.Names, func(n knowledge.Name) bool { return n.Whose == knowledge.Lost && n.Kind == knowledge.AsAddress }) {
		return ""
	}
	return e.Named(f.Known.Fields(id, []byte(text)), knowledge.Lost, knowledge.AsAddress)
}

// lostPeers are the hosts to which processes of this job lost their connections, by name.
func (f *Facts) lostPeers() map[string]bool {
	out := map[string]bool{}
	see := func(peer string) {
		if h := ShortHost(peer); h != "" && strings.Trim(h, "0123456789.") != "" {
			out[h] = true
		}
	}
	for i := range f.Obs.NCCLWarns {
		see(f.Obs.NCCLWarns[i].Peer)
	}
	for i := range f.Obs.Signs {
		see(f.lost(f.Obs.Signs[i].ID, f.Obs.Signs[i].Text))
	}
	for i := range f.Obs.Exceptions {
		x := &f.Obs.Exceptions[i]
		for _, id := range x.Signs {
			see(f.lost(id, x.Message))
		}
	}
	return out
}

// addresses learns whose GPU has which address: from NCCL's lines, where they name a rank of the job.
func (g *gpus) addresses() {
	f := g.f
	g.ranks = map[string]map[string]int{}
	for i := range f.Obs.CommInits {
		c := &f.Obs.CommInits[i]
		node := ShortHost(c.Who().Host)
		if node == "" {
			node = f.NodeOf(c.At)
		}
		rank, ok := f.RankOf(c.At)
		if !ok && f.Job.WorldSize > 0 && c.NRanks == f.Job.WorldSize && c.Rank >= 0 {
			rank, ok = c.Rank, true
		}
		if pci := kernel.BusID(c.BusID); ok && node != "" && pci != "" {
			g.put(node, pci, rank)
		}
	}
}

func (g *gpus) put(node, pci string, rank int) {
	if g.ranks[node] == nil {
		g.ranks[node] = map[string]int{}
	}
	if old, seen := g.ranks[node][pci]; seen && old != rank {
		rank = ambiguous
	}
	g.ranks[node][pci] = rank
}

// of is the rank whose GPU this is. alien: it is none of this job's, as all of its ranks on that node are known to have others.
func (g *gpus) of(node, pci string) (rank int, alien bool) {
	if node == "" || pci == "" {
		return NoRank, false
	}
	known := g.ranks[node]
	if r, ok := known[pci]; ok && r >= 0 {
		return r, false
	}
	there, with := 0, map[int]bool{}
	for _, r := range g.f.byRank {
		if r.Node == node {
			there++
		}
	}
	for _, r := range known {
		with[r] = true
	}
	return NoRank, len(known) > 0 && !with[ambiguous] && len(with) >= max(there, g.f.Job.PerNode) && !has(known, pci)
}

func has(known map[string]int, pci string) bool { _, ok := known[pci]; return ok }

func (g *gpus) event(k *KernelLog, e *kernel.Event, node string) *KernelEvent {
	f := g.f
	out := &KernelEvent{Event: e, Node: node, Rank: NoRank,
		At: worker.At{Pos: worker.Pos{File: k.File, Line: e.Line, Off: e.Off, Len: e.Len}, Stamp: e.Stamp}}
	if h := ShortHost(e.Host); h != "" {
		out.Node = h
	}
	who := line.NoOne
	who.Host = out.Node
	out.At.By = &who
	if out.Node == "" && e.Task >= 0 && f.ident.taskNode[e.Task] != "" {
		out.Node = f.ident.taskNode[e.Task]
	}
	if e.Pid > 0 && out.Node != "" {
		if r, ok := f.ident.pid[fileInt{"host:" + out.Node, e.Pid}]; ok && r >= 0 {
			out.Rank, out.RankBasis = r, "its process"
		}
	}
	if e.Kind == kernel.OOM && out.Node == "" && e.Pid > 0 {
		if c := g.reaped(e.Pid); c != nil {
			out.Rank, out.RankBasis = c.Rank, "its process ID, which the launcher saw killed"
			out.Node = ShortHost(c.Host)
		}
	}
	if r, alien := g.of(out.Node, e.PCI); out.Rank == NoRank && (e.Kind == kernel.Xid || e.Kind == kernel.OffBus || e.Kind == kernel.AMDGPU || e.Kind == kernel.AER) {
		out.Alien = alien && e.Kind != kernel.AER
		if r != NoRank {
			out.Rank, out.RankBasis = r, "the address of its GPU"
		}
	}
	if e.Job != "" && f.Job.ID != "" && e.Job != f.Job.ID && !strings.HasPrefix(f.Job.ID, e.Job+"_") {
		out.Alien = out.Rank == NoRank
	}
	return out
}

// reaped is the only process of this number that a launcher saw end by SIGKILL; nil if there is none, or several.
func (g *gpus) reaped(pid int) *worker.ChildFailed {
	var only *worker.ChildFailed
	for i := range g.f.Obs.ChildFailed {
		c := &g.f.Obs.ChildFailed[i]
		if c.Pid != pid || c.Rank < 0 || c.ExitCode != -9 && c.ExitCode != 137 || only != nil && only.Rank == c.Rank {
			continue
		}
		if only != nil {
			return nil
		}
		only = c
	}
	return only
}

// date puts an event on the timeline and compares it with the trouble.
func (g *gpus) date(e *KernelEvent, k *KernelLog, t *trouble) {
	f := g.f
	stamp, shift := e.Stamp, 0.0
	if stamp.Kind == line.Uptime {
		up := float64(stamp.Unix) + float64(stamp.Nanos)/1e9
		stamp = line.Stamp{}
		for _, c := range k.Log.Clocks {
			if c.Boot == e.Boot && (c.Host == e.Host || c.Host == "" || e.Host == "") {
				stamp, shift = c.Wall, up-c.Uptime
			}
		}
	}
	e.T = f.clock.at(e.Node, stamp)
	if !e.T.Valid || !t.known {
		return
	}
	e.T.T += shift
	if shift != 0 {
		e.T.Unc += 2
	}
	zone, tied := f.clock.offsets[clockKey{e.Node, line.Slurm}] // SLURM's daemon writes the node's local time, as the kernel's tools do
	e.T.T += zone.shift
	e.T.Unc += zone.unc
	e.Lead = t.from - e.T.T
	slack := e.T.Unc + t.unc
	switch {
	case e.T.T < t.from-leadBefore-slack:
		e.When = Before
	case e.T.T > t.to+lagAfter+slack, t.hang && e.T.T > t.to+slack:
		e.When = After
	default:
		e.When = Near
	}
	if e.When != Near && !tied && otherZone(e.T.T, t) {
		e.When = Undated
	}
	if e.When == Near || e.When == Before {
		for i := range f.Progress {
			if p := &f.Progress[i]; p.T.Valid && p.T.T-p.T.Unc > e.T.T+e.T.Unc+wentOn && p.T.T < t.from+slack+wentOn {
				if e.When == Near {
					e.When = Outlived
				}
				break
			}
		}
	}
}

// otherZone says that an event would be of the time of the trouble if its clock were in another zone than the logs': a kernel's
// clock shows the node's local time, and containers often write UTC.
func otherZone(at float64, t *trouble) bool {
	const half, far, near = 1800.0, 14 * hour, 90.0
	for shift := -far; shift <= far; shift += half {
		if shift != 0 && (math.Abs(at+shift-t.from) <= near || math.Abs(at+shift-t.to) <= near) {
			return true
		}
	}
	return false
}

// kernels adds the days of kernel logs, which help to tell the year.
func (d dates) kernels(logs []KernelLog) {
	for i := range logs {
		d.add(logs[i].Log.First.Stamp, logs[i].Log.Last.Stamp)
		for j := range logs[i].Log.Events {
			d.add(logs[i].Log.Events[j].Stamp)
		}
	}
}

// Describe names what an event is about: "rank 5 on node3", "node3", "".
func (e *KernelEvent) Describe(f *Facts) string {
	if e.Rank != NoRank {
		if r := f.Rank(e.Rank); r != nil {
			return r.Describe()
		}
		return fmt.Sprintf("rank %d", e.Rank)
	}
	return e.Node
}

// sortedKernel orders events as a report shows them: those that were taken for the cause, then by file and line.
func sortedKernel(all []*KernelEvent) {
	slices.SortStableFunc(all, func(a, b *KernelEvent) int { return comparePos(&a.At.Pos, &b.At.Pos) })
}
