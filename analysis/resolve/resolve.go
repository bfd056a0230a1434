package resolve

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
	obs, called := rollCall(ownCalls(mpiRanks(obs)))
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
	if (len(nodes) == 0 || in.NodesFrom != "") && len(f.Accounting.nodes()) > 0 && !f.Accounting.Het {
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
	logged := f.logged(obs.Tails)
	clock.together, clock.astray = f.startedTogether(logged), f.astray(logged)
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
	f.Ranks = f.ranked()
	f.Job.Least, f.Job.LeastFrom = f.least()
	f.Coverage = coverageOf(f, in)
	f.Fabric = fabricOf(f)
	f.Accounting.strangers(f.Coverage.NodesSeen, &f.Warnings)
	f.Named = f.named()
	f.Stood, f.Listed = stoodOf(f, in.Handed.Stacks, &f.Warnings)
	slices.SortStableFunc(f.Anonymous, func(a, b *Rank) int { return strings.Compare(a.Label, b.Label) })
	f.Job.Start, f.Job.End = f.span(f.Tails, f.Ends)
	f.Job.End = endByScheduler(f.Job.End, f.Ends, f.Progress)
	return f, nil
}

// breakdownOf collects what went wrong by what processes, launchers and schedulers print, and by SLURM's records; and amends it by what
// stands beside it. The facts so far are a copy, which the amendments see filled.
func breakdownOf(f Facts, obs *worker.Observations, warn *notes) breakdown {
	said, orphans := &printed{likes: newLikes(true), tolerance: tolerance{f: &f}, warn: warn, heard: heard{}}, orphansOf(obs)
	said.print(obs, orphans)
	f.Failures = slices.Concat(said.all, f.exits(obs, orphans))
	sharedMemory(f.Failures)
	f.Failures = append(f.Failures, f.tasks(obs)...)
	ends, kills := f.ends(obs)
	f.Ends = slices.Concat(ends, f.Accounting.ends(f.clock, f.controllers))
	f.Failures = append(f.withRecords(append(f.Failures, kills...)), f.ladderFailures()...)
	for _, decide := range []func() []amendment{f.notFetched, f.itemsMissing} {
		enact(decide(), warn)
	}
	f.Failures, f.Flaps = said.rest(f.Failures, warn), said.flaps
	for _, decide := range []func() []amendment{f.pastStart, f.reconsider, f.awaited} {
		enact(decide(), warn)
	}
	charged(f.attributed(), &f.sight)
	placedBy(f.onlyTask(), f.Failures)
	f.Failures = collapse(f.Failures)
	wordsOf(f.Failures)
	retold, nobodys := f.retold()
	enact(retold, warn)
	disown(nobodys)
	return f.breakdown.without(f.backAgain(), warn)
}
