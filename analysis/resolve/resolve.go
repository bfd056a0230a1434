package resolve

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// Resolve makes facts of observations. It never fails: what cannot be resolved stays unknown. It is the list of the stages: each makes values of
// what it is given, and no other place sets a field of Facts. Those that are given all facts so far ask a few of many.
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
	f := &Facts{Known: in.Obs.Known, Obs: obs, JobZone: in.JobZone, Daemons: in.Daemons, Handed: in.Handed, which: which{run, runs}, Warnings: warn, Tails: obs.Tails,
		Mismatches: obs.Mismatches, Desyncs: obs.Desyncs, Barriers: obs.Barriers, Saves: obs.Checkpoints}
	if in.Accounting != nil {
		f.controllers, f.book = in.Accounting.Nodes, in.Accounting
		f.Warnings = append(f.Warnings, in.Accounting.Warnings...)
	}

	// Which run, which job, how many ranks.
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

	// Who and when: whose a line is, and by which clock.
	nodes := in.Nodes
	if (len(nodes) == 0 || in.NodesFrom != "") && f.Accounting != nil && !f.Accounting.Het && len(f.Accounting.Nodes) > 0 {
		nodes = f.Accounting.Nodes
	}
	f.nodes, f.nodesTyped = map[string]bool{}, len(in.Nodes) > 0 && in.NodesFrom == ""
	for _, n := range nodes {
		f.nodes[ShortHost(n)] = true
	}
	ident := newIdentity(obs, in.Sources, nodes, f.Job.WorldSize, f.Job.PerNode)
	if f.NCCL != nil {
		f.NCCL.ranks = f.NCCL.ranksOf(ident, f.Job.WorldSize)
	}
	clock := &clock{collector: collectorAhead(obs.Tails)}
	dates := datesOf(obs)
	dates.kernels(f.Handed.Kernel)
	clock.year, clock.newYear = inferYear(dates)
	f.YearProven = clock.year != 0 || !dates.have(line.MonthDay)
	f.sight = newSight(ident, clock, obs, f.NCCL)

	// Who waits in which group; what all see at once ties the clocks.
	g := newGrouper(&f.sight, f.Job, obs, &f.Warnings)
	g.pendings()
	g.recorded(dumps)
	f.Analysed = g.analysedThen(f.Analysed)
	clock.offsets = calibrate(f.anchors(g.order, obs))
	clock.zones = mixed(clock.offsets)
	maps.Copy(clock.offsets, f.slurmClocks(obs))
	clock.records = f.recordsClock(f.Accounting, obs)
	g.times()
	g.dropBygone()
	g.members()
	f.groups, f.Job = g.groups, g.job

	// What the run did: its steps, its reads and writes.
	f.Signals = f.told(obs, f.bygone)
	f.Progress = f.progress(obs)
	if len(f.Progress) == 0 && f.last() {
		f.Progress, f.Restated = stepsInTables(in.Handed.Numbers)
	}
	f.pace = newPace(&f.sight, f.Progress)
	f.Job.Training, f.Job.Talked = len(f.Progress) > 0, talkedIn(obs)
	f.Job.Arguments = argumentsOf(obs)
	f.Job.Name, f.Job.Cluster = nameOf(in.JobName, obs, f.Job.Arguments), mostStated(obs, "cluster")
	f.Job.StepsLogged, f.Job.StepsToCome = stepsLogged(f.Progress), stepsToCome(obs, f.Job.Arguments)
	f.reads = readsOf(&reading{sight: &f.sight, steps: &f.pace, tails: f.Tails, finished: f.Job.ExitOK != nil}, obs, &f.Warnings)

	// What failed, and what was survived.
	f.breakdown = breakdownOf(*f, obs, &f.Warnings)
	kernels := f.kernelLogs(in)
	f.Kernel, f.GPUStates, f.Failures = kernels.events, kernels.states, kernels.failures
	f.breakdown = f.breakdown.without(f.upAgain(), &f.Warnings)
	f.Handed.RAS = f.rasThen(f.Handed.RAS, &f.Warnings)
	nameItems(f.Failures)
	f.Courses = coursesOf(f.Progress, f.Job.WorldSize, obs)
	settle(f, &f.Warnings)

	// What is missing, and what is known from beside the logs.
	f.Job.Least, f.Job.LeastFrom = f.least()
	f.Coverage = coverageOf(f, in)
	f.Fabric = fabricOf(f)
	f.Accounting.strangers(f.Coverage.NodesSeen, &f.Warnings)
	f.Named = f.named()
	f.Stood, f.Listed = stoodOf(f, in.Handed.Stacks, &f.Warnings)
	slices.SortStableFunc(f.Anonymous, func(a, b *Rank) int { return strings.Compare(a.Label, b.Label) })
	f.Ranks = f.ranked()
	f.Job.Start, f.Job.End = f.span(f.Tails, f.Ends)
	return f, nil
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
func (s *sight) anchors(groups []*Group, obs *worker.Observations) []anchor {
	var out []anchor
	add := func(event string, at worker.At, shift float64) {
		t, ok := s.clock.civil(stampOf(at))
		if !ok || at.Stamp.Emitter != line.Container {
			return
		}
		out = append(out, anchor{event, s.clockNode(at), t - shift})
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
	for _, gr := range groups {
		for _, p := range gr.Pending {
			if p.Work.RanForMS > 0 {
				add("start "+gr.Key+" "+strconv.FormatInt(p.Work.Seq, 10), p.At, float64(p.Work.RanForMS)/1000)
				add("report", p.At, 0)
			}
		}
	}
	return out
}

// told are the lines of watchdogs that tell or are told, and enters at ranks who was told by whom and whose watchdog got stuck. What stands
// before the last attempt began to wait, if there were several, is of earlier ones.
func (s *sight) told(obs *worker.Observations, bygone Moment) (all []Told) {
	earlier := func(at worker.At) bool {
		m := s.At(at)
		return bygone.Valid && m.Valid && m.T < bygone.T
	}
	for i := range obs.Dumps {
		d := &obs.Dumps[i]
		if earlier(d.At) {
			continue
		}
		if r := s.watched(d.At, d.Group); r != nil && r.dumps(d) && bygone.Valid {
			r.placed(s.ident, d.At)
		}
	}
	for i := range obs.Signals {
		sig := &obs.Signals[i]
		if earlier(sig.At) {
			continue
		}
		told := Told{NoRank, sig, s.At(sig.At)}
		if r := s.watched(sig.At, sig.Group); r != nil {
			told.Rank = r.ID
			r.hears(sig)
		}
		all = append(all, told)
	}
	return all
}

// watched is the rank whose watchdog writes a line, nil where nothing tells it. In the default group it has its global number.
func (s *sight) watched(at worker.At, g worker.GroupRef) *Rank {
	id, basis, ok := s.ident.rankOf(at)
	if !ok && g.IsDefault() && g.Rank >= 0 {
		id, basis, ok = g.Rank, "rank in the default group", true
	}
	if !ok {
		return nil
	}
	r := s.rank(id, basis)
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

func talkedIn(obs *worker.Observations) bool {
	return slices.ContainsFunc(obs.Signals, func(v worker.Signal) bool { return v.Kind == worker.SignalAsync && v.N >= talked }) ||
		slices.ContainsFunc(obs.Timeouts, func(t worker.Timeout) bool { return t.Work.Seq >= talked }) ||
		slices.ContainsFunc(obs.States, func(s worker.State) bool { return s.Work >= talked })
}

// progress are the lines about steps, with their moments and ranks.
func (s *sight) progress(obs *worker.Observations) []ProgressPoint {
	out := make([]ProgressPoint, len(obs.Progress))
	for i := range obs.Progress {
		p := &obs.Progress[i]
		out[i] = ProgressPoint{p, s.At(p.At), s.rankOr(p.At)}
	}
	return out
}

// ranked are the ranks by their number, with the moments of their last lines.
func (s *sight) ranked() []*Rank {
	ranks := slices.SortedFunc(maps.Values(s.byRank), func(a, b *Rank) int { return a.ID - b.ID })
	for _, r := range ranks {
		r.Last = s.when(r.LastAt)
	}
	return ranks
}

// span is when the job's own lines begin and end; where none is stamped, the scheduler's end is the only clock there may be.
func (s *sight) span(tails []worker.Tail, ends []*End) (start, end Moment) {
	for _, t := range tails {
		for _, at := range []worker.At{t.First, t.Last} {
			m := s.At(at)
			if start = start.Earliest(m); m.Valid && (!end.Valid || m.T > end.T) {
				end = m
			}
		}
	}
	if i := slices.IndexFunc(ends, func(e *End) bool { return e.T.Valid }); i >= 0 && !end.Valid {
		end = ends[i].T
	}
	return start, end
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
