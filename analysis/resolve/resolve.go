package resolve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// Resolve makes facts of observations. It never fails: what cannot be resolved stays unknown.
func Resolve(ctx context.Context, in Input) (*Facts, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ledger, chosen, warn := accounts(in.Accounting, in.JobID)
	obs, run, runs, recovered := selectRun(in.Obs, chosen, len(ledger))
	if recovered != "" {
		warn = append(warn, recovered)
	}
	if runs == 1 && chosen < len(ledger)-1 && ofLaterRun(obs, ledger, chosen) {
		obs = filter(obs, func(string, int64) bool { return false })
		warn = append(warn, fmt.Sprintf("these logs were written by a run that started after run %d (counting from 0) failed, so they are not used for it", chosen))
	}
	f := &Facts{Known: in.Obs.Known, Obs: obs, JobZone: in.JobZone, Daemons: in.Daemons, Handed: in.Handed, which: which{run, runs}, Warnings: warn, byRank: map[int]*Rank{}, Tails: obs.Tails,
		Mismatches: obs.Mismatches, Desyncs: obs.Desyncs, Barriers: obs.Barriers, Saves: obs.Checkpoints}
	if in.Accounting != nil {
		f.controllers, f.book = in.Accounting.Nodes, in.Accounting
		f.Warnings = append(f.Warnings, in.Accounting.Warnings...)
	}
	f.NCCL, obs = ncclOf(in, obs, runs, &f.Warnings)
	obs, called := rollCall(mpiRanks(obs))
	f.Obs = obs
	f.Accounting, f.which = f.which.account(ledger, chosen, &f.Warnings)
	job, world := jobOf(in, obs, &f.Warnings)
	if world.size == 0 {
		world = f.NCCL.world(obs)
	}
	f.Handed.RAS = rasOf(in.Handed.RAS, world, &f.Warnings)
	world = world.or(rasWorld(f.Handed.RAS), obs, &f.Warnings)
	dumps, world := dumpsOf(in.Handed.Dumps, world, f.which, &f.Warnings)
	f.Analysed, world = analysedOf(in.Handed.Analyses, world, obs, &f.Warnings)
	f.Traced, world = tracedOf(in.Handed.Traces, world, f.which, &f.Warnings)
	f.Job, f.Job.WorldSize, f.Job.WorldFrom, f.Job.WorldEvidence = job, world.size, world.from, world.at
	f.Job.Called, f.Job.System = called, systemOf(f.Known, obs, f.Accounting)
	if f.Job.ID == "" && f.Accounting != nil && len(f.Accounting.Jobs) > 0 {
		f.Job.ID = f.Accounting.Jobs[0].Job
	}
	f.Tabled = tabledOf(in.Handed.Numbers, &f.Job, f.which, &f.Warnings)
	f.Memories = byRank(in.Handed.Memory)
	nodes := in.Nodes
	if (len(nodes) == 0 || in.NodesFrom != "") && f.Accounting != nil && !f.Accounting.Het && len(f.Accounting.Nodes) > 0 {
		nodes = f.Accounting.Nodes
	}
	f.nodes, f.nodesTyped = map[string]bool{}, len(in.Nodes) > 0 && in.NodesFrom == ""
	for _, n := range nodes {
		f.nodes[ShortHost(n)] = true
	}
	f.ident = newIdentity(obs, in.Sources, nodes, f.Job.WorldSize, f.Job.PerNode)
	f.clock = &clock{collector: collectorAhead(obs.Tails)}
	dates := datesOf(obs)
	dates.kernels(f.Handed.Kernel)
	f.clock.year, f.clock.newYear = inferYear(dates)
	f.YearProven = f.clock.year != 0 || !dates.have(line.MonthDay)
	f.writers(obs)
	f.introduced(obs)
	f.ncclRanks()
	g := newGrouper(f, obs)
	g.pendings()
	g.recorded(dumps)
	g.analysedThen()
	f.clock.offsets = calibrate(f.anchors(g, obs))
	f.clock.zones = mixed(f.clock.offsets)
	f.calibrateSlurm(obs)
	f.calibrateAccounting()
	g.times()
	g.bygone()
	g.members()
	f.told(obs)
	f.progress(obs)
	f.tabledSteps(in.Handed.Numbers)
	f.started(obs, in.JobName)
	f.io(obs)
	f.failures(obs)
	f.retold()
	f.backAgain()
	f.kernelLogs(in)
	f.upAgain()
	f.rasThen()
	f.items()
	f.courses()
	f.parted()
	f.adopted()
	f.recovered()
	f.survived()
	f.Job.Least, f.Job.LeastFrom = f.least()
	f.coverage(in)
	f.fabric()
	f.strangers()
	f.named()
	f.stood(in.Handed.Stacks)
	f.finish()
	return f, nil
}

// rank gives the rank's record, making it.
func (f *Facts) rank(id int, basis string) *Rank {
	r := f.byRank[id]
	if r == nil {
		r = &Rank{ID: id, Local: line.Unknown, Basis: basis, Pids: map[int]bool{}}
		if l, ok := f.ident.rankLocal[id]; ok {
			r.Local = l
		}
		r.Node = f.ident.rankNode[id]
		r.NodeBasis = f.ident.rankBasis[id]
		f.byRank[id] = r
	}
	return r
}

// writers makes the ranks that print anything.
func (f *Facts) writers(obs *worker.Observations) {
	for _, t := range obs.Tails {
		if id, ok := f.ident.fileRank[t.File]; ok && t.Lines > 0 {
			r := f.rank(id, "file name")
			r.Lines += t.Lines
			r.seen(t.First, t.Last, "")
			r.addFile(t.File)
			continue
		}
		for i := range t.Writers {
			w := &t.Writers[i]
			first := w.At(t.File, w.First)
			id, basis, ok := f.ident.rankOf(first)
			if !ok {
				continue
			}
			r := f.rank(id, basis)
			r.Lines += w.Lines
			r.seen(first, w.At(t.File, w.Last), w.LastText)
			r.addFile(t.File)
			if w.Who.Pid > 0 {
				r.Pids[w.Who.Pid] = true
			}
		}
	}
}

// introduced counts the line by which a process names its own rank, where nothing else it prints does.
func (f *Facts) introduced(obs *worker.Observations) {
	for i := range obs.Identities {
		x := &obs.Identities[i]
		if x.Global < 0 {
			continue
		}
		r := f.rank(x.Global, "identity line")
		r.Lines++
		r.seen(x.At, x.At, "")
		r.addFile(x.File)
		if r.Node == "" {
			r.Node, r.NodeBasis = f.ident.nodeOf(x.At), f.ident.nodeBasis[x.File]
		}
	}
}

func (r *Rank) addFile(name string) {
	i := sort.SearchStrings(r.Files, name)
	if i < len(r.Files) && r.Files[i] == name {
		return
	}
	r.Files = append(r.Files, "")
	copy(r.Files[i+1:], r.Files[i:])
	r.Files[i] = name
}

func (r *Rank) seen(first, last worker.At, text string) {
	if r.First.File == "" || less(first.Pos, r.First.Pos) {
		r.First = first
	}
	if r.LastAt.File == "" || less(r.LastAt.Pos, last.Pos) {
		r.LastAt, r.LastText = last, text
	}
}

func less(a, b worker.Pos) bool { return comparePos(&a, &b) < 0 }

func comparePos(a, b *worker.Pos) int {
	if a.File != b.File {
		return cmp.Compare(a.File, b.File)
	}
	return cmp.Or(cmp.Compare(a.Off, b.Off), cmp.Compare(a.Len, b.Len))
}

// anchors are the instants that nodes share. Only states of the machine are used, never plain log lines.
func (f *Facts) anchors(g *grouper, obs *worker.Observations) []anchor {
	var out []anchor
	add := func(event string, at worker.At, shift float64) {
		t, ok := f.clock.civil(stampOf(at))
		if !ok || at.Stamp.Emitter != line.Container {
			return
		}
		out = append(out, anchor{event, f.clockNode(at), t - shift})
	}
	for i := range obs.Dumps {
		if !obs.Dumps[i].Local {
			add("dump", obs.Dumps[i].At, 0)
		}
	}
	for i := range obs.Signals {
		if obs.Signals[i].Kind == worker.SignalObserved {
			add("dump", obs.Signals[i].At, 0)
		}
	}
	for _, gr := range g.order {
		for _, p := range gr.Pending {
			if p.Work.RanForMS > 0 {
				add("start "+gr.Key+" "+strconv.FormatInt(p.Work.Seq, 10), p.At, float64(p.Work.RanForMS)/1000)
				add("report", p.At, 0)
			}
		}
	}
	return out
}

// clockNode names the clock of a line: its node, or its file where the node is not known.
func (f *Facts) clockNode(at worker.At) string {
	if n := f.ident.nodeOf(at); n != "" {
		return n
	}
	return "file " + at.File
}

// told notes who was told by whom and whose watchdog got stuck.
func (f *Facts) told(obs *worker.Observations) {
	for i := range obs.Dumps {
		d := &obs.Dumps[i]
		if f.isBygone(d.At) {
			continue
		}
		if r := f.watched(d.At, d.Group); r != nil && r.dumps(d) && f.bygone.Valid {
			f.placed(r, d.At)
		}
	}
	for i := range obs.Signals {
		s := &obs.Signals[i]
		if f.isBygone(s.At) {
			continue
		}
		told := Told{NoRank, s, f.At(s.At)}
		if r := f.watched(s.At, s.Group); r != nil {
			told.Rank = r.ID
			r.hears(s)
		}
		f.Signals = append(f.Signals, told)
	}
}

// watched is the rank whose watchdog writes a line, nil where nothing tells it. In the default group it has its global number.
func (f *Facts) watched(at worker.At, g worker.GroupRef) *Rank {
	id, basis, ok := f.ident.rankOf(at)
	if !ok && g.IsDefault() && g.Rank >= 0 {
		id, basis, ok = g.Rank, "rank in the default group", true
	}
	if !ok {
		return nil
	}
	r := f.rank(id, basis)
	r.seen(at, at, "")
	return r
}

// dumps notes that a rank's watchdog writes a dump, and whether its counters are the first that are known.
func (r *Rank) dumps(d *worker.Dump) (counted bool) {
	counts := d.Enqueued != line.Unknown || d.Completed != line.Unknown
	ofAll := strings.Contains(d.Group.Desc, "default") || d.Group.GUID == "0"
	if counted = (counts || ofAll) && r.Dump == nil; counted {
		r.Dump = &Counters{Enqueued: d.Enqueued, Completed: d.Completed, At: d.At, Group: d.Group}
	}
	if d.Local {
		r.FromLocal = true
	} else if r.Notified == nil {
		r.Notified, r.Notifier = &d.At, "another rank"
		if d.From >= 0 && d.From != r.ID {
			r.Notifier = fmt.Sprintf("rank %d", d.From)
		}
	}
	return counted
}

// hears notes what a rank's watchdog says.
func (r *Rank) hears(s *worker.Signal) {
	switch s.Kind {
	case worker.SignalObserved:
		if r.Notified == nil {
			r.Notified, r.Notifier = &s.At, "another rank"
		}
	case worker.SignalStuck, worker.SignalHeartbeat:
		if r.Stuck == nil {
			r.Stuck = s
		}
	case worker.SignalGIL:
		r.GIL = s
	case worker.SignalFirst:
		r.FromLocal = true
	case worker.SignalFired, worker.SignalTakingDown, worker.SignalAsync:
		r.Fired = true
	}
}

// talked is the number of a group's collective before which its connections have proven to work: setting up takes fewer.
const talked = 32

func (f *Facts) progress(obs *worker.Observations) {
	f.Progress = slices.Grow(f.Progress, len(obs.Progress))
	for i := range obs.Progress {
		p := &obs.Progress[i]
		id, _, ok := f.ident.rankOf(p.At)
		if !ok {
			id = NoRank
		}
		f.Progress = append(f.Progress, ProgressPoint{p, f.At(p.At), id})
	}
	f.Job.Training = len(f.Progress) > 0
	for i := range obs.Signals {
		if v := &obs.Signals[i]; v.Kind == worker.SignalAsync {
			f.Job.Talked = f.Job.Talked || v.N >= talked
		}
	}
	for i := range obs.Timeouts {
		f.Job.Talked = f.Job.Talked || obs.Timeouts[i].Work.Seq >= talked
	}
	for i := range obs.States {
		f.Job.Talked = f.Job.Talked || obs.States[i].Work >= talked
	}
}

// finish orders everything by content and fills what depends on all ranks.
func (f *Facts) finish() {
	for _, r := range f.byRank {
		f.Ranks = append(f.Ranks, r)
		r.Last = f.At(r.LastAt)
		if !r.Last.Valid {
			r.Last = f.NotBefore(r.LastAt)
		}
	}
	sort.Slice(f.Ranks, func(i, j int) bool { return f.Ranks[i].ID < f.Ranks[j].ID })
	sort.SliceStable(f.Anonymous, func(i, j int) bool { return f.Anonymous[i].Label < f.Anonymous[j].Label })
	for _, e := range f.Ends {
		if e.T.Valid && !f.Job.End.Valid {
			f.Job.End = e.T // the only clock there may be; replaced below where the job's own lines are stamped
		}
	}
	stamped := false
	for _, t := range f.Tails {
		for _, at := range []worker.At{t.First, t.Last} {
			m := f.At(at)
			if !m.Valid {
				continue
			}
			if !f.Job.Start.Valid || m.T < f.Job.Start.T {
				f.Job.Start = m
			}
			if !stamped || m.T > f.Job.End.T {
				f.Job.End, stamped = m, true
			}
		}
	}
}

// Describe names a process for people.
func (r *Rank) Describe() string {
	if r.ID == NoRank {
		return r.Label
	}
	if r.Node != "" {
		return fmt.Sprintf("rank %d on %s", r.ID, r.Node)
	}
	return fmt.Sprintf("rank %d", r.ID)
}
