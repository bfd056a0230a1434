package resolve

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"faultline/analysis/ascii"
	"faultline/analysis/line"
	"faultline/analysis/robust"
	"faultline/analysis/worker"
)

// steppedAgain finds further runs of a job by files that report steps before and after SLURM ended a step of it, of which those files
// know nothing: nothing was made for longer than what was killed may have gone on, and then training went on. A clock of another zone than
// SLURM's shows no such gap at that time.
func steppedAgain(obs *worker.Observations, marks map[string][]worker.RunMark) []worker.RunMark {
	c := &clock{}
	var ends []float64
	for _, e := range obs.Ends {
		if t, ok := c.civil(e.Stamp); ok && e.Kind == worker.EndCancelled {
			ends = append(ends, t)
		}
	}
	if len(ends) == 0 {
		return nil
	}
	slices.Sort(ends)
	type dated struct {
		p *worker.Progress
		t float64
	}
	files := map[string][]dated{}
	for i := range obs.Progress {
		p := &obs.Progress[i]
		if t, ok := c.civil(stampOf(p.At)); ok && p.Phase == worker.Training && p.Step >= 0 && len(marks[p.File]) == 0 {
			files[p.File] = append(files[p.File], dated{p, t})
		}
	}
	var out []worker.RunMark
	for _, ds := range files {
		sort.SliceStable(ds, func(i, j int) bool { return ds[i].p.Off < ds[j].p.Off })
		gaps := make([]float64, 0, len(ds))
		for i := range ds[1:] {
			gaps = append(gaps, ds[i+1].t-ds[i].t)
		}
		usual := robust.Median(gaps)
		for i, gap := range gaps {
			last, next := ds[i], ds[i+1]
			if gap < queued || gap < 3*usual {
				continue
			}
			n, _ := slices.BinarySearch(ends, last.t)
			if n == len(ends) || next.t < ends[n]+queued || next.t < ends[n]+2*usual {
				continue
			}
			if ends[len(ends)-1] < ends[n]+queued && inAnotherZone(ds[len(ds)-1].t, ends[n], usual) {
				continue
			}
			var ps []*worker.Progress
			for _, d := range ds[i+1:] {
				if *d.p.Who() == *next.p.Who() && d.p.Form == next.p.Form {
					ps = append(ps, d.p)
				}
			}
			if climbs(ps) {
				out = append(out, worker.RunMark{At: next.p.At, Kind: worker.MarkRequeue, Count: line.Unknown})
			}
		}
	}
	return out
}

// inAnotherZone says that SLURM's only end may be that of the last step, told by a clock that is whole half hours behind: in a pause of the
// job it then stands by chance.
func inAnotherZone(last, end, usual float64) bool {
	const half, slack = 1800.0, 60.0
	ago := math.Ceil((last-end)/half)*half - (last - end) // the end behind the last step, if so
	return last-end > half-2*usual-slack && ago <= 2*usual+slack
}

// afterLine is what SLURM still says when it has ended a step: of its tasks, or, without a time, that it ends it.
type afterLine struct {
	worker.Pos
	exit *worker.TaskExit // nil of a step
}

// aftermath lists those lines in their order.
func aftermath(obs *worker.Observations, c *clock) []afterLine {
	var out []afterLine
	for i := range obs.TaskExits {
		out = append(out, afterLine{obs.TaskExits[i].Pos, &obs.TaskExits[i]})
	}
	for i := range obs.Ends {
		if _, dated := c.civil(obs.Ends[i].Stamp); !dated {
			out = append(out, afterLine{Pos: obs.Ends[i].Pos})
		}
	}
	slices.SortStableFunc(out, func(a, b afterLine) int { return cmp.Compare(a.Off, b.Off) })
	return out
}

// over notes the tasks that ended, by file.
func (l *afterLine) over(ended map[string]map[int]bool) {
	if l.exit == nil {
		return
	}
	if ended[l.File] == nil {
		ended[l.File] = map[int]bool{}
	}
	for _, n := range l.exit.Tasks {
		ended[l.File][n] = true
	}
}

// again says that a task ended once more, which each does once in a run, or in another way than one that is told to.
func (l *afterLine) again(ended map[string]map[int]bool) bool {
	if l.exit == nil {
		return false
	}
	told := ascii.Begins(l.exit.What, "Exited", "Terminated", "Killed")
	return !told || slices.ContainsFunc(l.exit.Tasks, func(n int) bool { return ended[l.File][n] })
}

// pastFiles are files without a mark that say nothing of the newest run: their last time is of before it, or they state none. That holds
// where nothing that states its time, and no task, tells of a failure in that run; then whoever failed did so before.
func (c *cuts) pastFiles(run int) map[string]bool {
	bare := &clock{}
	_, since, ok := c.divide(run)
	if !ok {
		return nil
	}
	earlier := c.earlierEnds(run)
	now := func(file string, off int64) bool {
		if c.divides(file) {
			return c.run(file, off) >= run
		}
		end, over := earlier[file]
		return !over || off > end
	}
	for _, t := range c.obs.TaskExits {
		if t.Code != 0 && now(t.File, t.Off) {
			return nil
		}
	}
	for _, e := range c.obs.Ends {
		if now(e.File, e.Off) {
			return nil
		}
	}
	began := since // of those that tell their runs apart
	for i := range c.obs.Tails {
		if t, dated := bare.civil(c.obs.Tails[i].First.Stamp); dated && c.divides(c.obs.Tails[i].File) {
			began = min(began, t)
		}
	}
	out := map[string]bool{}
	for i := range c.obs.Tails {
		t := &c.obs.Tails[i]
		if c.divides(t.File) {
			continue
		}
		at, dated := bare.civil(t.Last.Stamp)
		first, _ := bare.civil(t.First.Stamp)
		const sameZone = 900
		out[t.File] = t.Last.Stamp.Kind == line.NoStamp || dated && at < since && first > began-sameZone
	}
	for i := range c.obs.Timeouts {
		delete(out, c.obs.Timeouts[i].File)
	}
	return out
}
