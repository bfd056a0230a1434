package resolve

import (
	"slices"
	"sort"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// impliedMarks finds further runs in a file that prints nothing known between them: below a line by which SLURM had taken
// the job away to start it again, a task ends that had ended before (each task of a run ends once), or training begins anew.
// That it begins anew tells of another run also below what launchers say of processes that failed: a script tries again, or
// the launcher itself does.
func impliedMarks(obs *worker.Observations, marks map[string][]worker.RunMark) []worker.RunMark {
	taken := map[string]int64{}
	for _, e := range obs.Ends {
		switch e.Reason {
		case worker.ReasonPreemption, worker.ReasonRequeue, worker.ReasonNodeFailure:
			if o, ok := taken[e.File]; !ok || e.Off < o {
				taken[e.File] = e.Off
			}
		}
	}
	exits := append([]worker.TaskExit(nil), obs.TaskExits...)
	sort.SliceStable(exits, func(i, j int) bool { return less(exits[i].Pos, exits[j].Pos) })
	type task struct {
		file string
		n    int
	}
	ended := map[task]bool{}
	var out []worker.RunMark
	for _, t := range exits {
		from, ok := taken[t.File]
		if !ok || len(marks[t.File]) > 0 {
			continue
		}
		again := false
		for _, n := range t.Tasks {
			again = again || ended[task{t.File, n}]
			ended[task{t.File, n}] = true
		}
		if again && t.Off > from {
			out = append(out, worker.RunMark{At: t.At, Kind: worker.MarkRequeue, Count: line.Unknown})
			delete(taken, t.File)
		}
	}
	ends := map[string][]int64{}
	for file, from := range taken {
		ends[file] = append(ends[file], from)
	}
	for i := range obs.ChildFailed {
		ends[obs.ChildFailed[i].File] = append(ends[obs.ChildFailed[i].File], obs.ChildFailed[i].Off)
	}
	for i := range obs.ChildExits {
		ends[obs.ChildExits[i].File] = append(ends[obs.ChildExits[i].File], obs.ChildExits[i].Off)
	}
	for i := range exits {
		if t := &exits[i]; t.Code > 0 {
			ends[t.File] = append(ends[t.File], t.Off)
		}
	}
	hangs, told := hangsIn(obs), endsIn(obs)
	for file, reports := range hangs {
		for _, r := range reports {
			ends[file] = append(ends[file], r.off)
		}
	}
	steps := map[string][]*worker.Progress{} // of training, by file
	for i := range obs.Progress {
		if p := &obs.Progress[i]; p.Phase == worker.Training && len(ends[p.File]) > 0 {
			steps[p.File] = append(steps[p.File], p)
		}
	}
	for file, offs := range ends {
		if len(marks[file]) > 0 || slices.ContainsFunc(out, func(m worker.RunMark) bool { return m.File == file }) {
			continue
		}
		slices.Sort(offs)
		for i := 0; i < len(offs); {
			from, over := taken[file]
			at, again := begunAnew(obs, steps[file], offs[i], over && from <= offs[i], youngestOf(hangs[file], offs[i]), youngestOf(told[file], offs[i]))
			if !again {
				break
			}
			out = append(out, worker.RunMark{At: at, Kind: worker.MarkRequeue, Count: line.Unknown})
			for i < len(offs) && offs[i] < at.Off {
				i++
			}
		}
	}
	return out
}

// queued is how many seconds after the last step the next ones were not written by the processes that the scheduler was killing, or that
// a launcher saw end: the notice that sites give before a kill is shorter.
const queued = 300

// begunAnew finds where training begins again below an offset of a file: where a checkpoint is loaded, or the steps of one
// writer fall back behind what it had reached, and then go on. What a dying process still prints does neither. Where the job
// was not over, other processes may still empty their buffers, whose steps nobody may have signed: such steps tell of another
// run where they are younger than all above them, or go beyond what had been reached. Steps that are younger than the report of a watchdog
// that had given up, at that time of the year, were not made by those who waited, and steps that are older than what a launcher or a watchdog
// told above them, at told, had stood in a buffer.
func begunAnew(obs *worker.Observations, steps []*worker.Progress, from int64, over bool, hung, told float64) (worker.At, bool) {
	type loop struct {
		who  line.Who
		form string
	}
	if len(steps) == 0 {
		return worker.At{}, false
	}
	loops, uncounted := map[loop][]*worker.Progress{}, map[loop][]int64{}
	for _, p := range steps {
		k := loop{*p.Who(), p.Form}
		if p.Step >= 0 {
			loops[k] = append(loops[k], p)
		} else {
			uncounted[k] = append(uncounted[k], p.Off)
		}
	}
	c := &clock{}
	// begin is the lowest place that something begins at, goOn the highest from which training still goes on.
	begin, goOn := worker.At{}, int64(-1)
	take := func(at worker.At) {
		if begin.File == "" || at.Off < begin.Off {
			begin = at
		}
	}
	for _, offs := range uncounted { // a bar that counts the batches of an epoch: that it goes on is all that it tells
		slices.Sort(offs)
		if n := len(offs) - 1 - goesOn; n >= 0 {
			goOn = max(goOn, offs[n])
		}
	}
	for _, ps := range loops {
		sort.SliceStable(ps, func(i, j int) bool { return ps[i].Off < ps[j].Off })
		reached, fell, signed := int64(-1), false, over || *ps[0].Who() != line.NoOne
		young, youngest, most := 0.0, 0.0, int64(-1)
		for _, p := range ps {
			if t, ok := c.civil(stampOf(p.At)); ok && p.Off < from {
				young = max(young, t)
			}
			if s, ok := season(stampOf(p.At)); ok && p.Off < from {
				youngest = max(youngest, s)
			}
			most = max(most, p.Step)
		}
		for i, p := range ps {
			on := climbs(ps[i:])
			if on {
				goOn = max(goOn, p.Off)
			}
			if p.Off < from {
				reached = max(reached, p.Step)
				continue
			}
			t, ok := c.civil(stampOf(p.At))
			s, dated := season(stampOf(p.At))
			if !fell && hung > 0 && on && dated && s > hung+bygoneSlack && youngest <= hung { // else these clocks are not one
				take(p.At)
				fell = true
			}
			if held := !over && dated && s <= told; !fell && on && ok && young > 0 && t > young+queued && !held {
				take(p.At) // with the steps that follow those above, as a save on the warning leaves them
				fell = true
			}
			if !fell && p.Step <= reached && on && (signed || ok && young > 0 && t > young || most > reached+goesOn) {
				take(p.At)
				fell = true
			}
		}
	}
	file, proven := steps[0].File, over || begin.File != ""
	for i := range obs.Checkpoints {
		if c := &obs.Checkpoints[i]; (proven || *c.Who() != line.NoOne) && c.File == file && c.Off > from && c.Off < goOn && strings.HasPrefix(string(c.Kind), "load-") {
			take(c.At)
		}
	}
	return begin, begin.File != ""
}

// climbs says that a loop goes on from its first step here, for longer than what may stand in a buffer when a process dies.
func climbs(ps []*worker.Progress) bool {
	n, last := 0, ps[0].Step
	for _, p := range ps[1:] {
		if p.Step > last {
			n, last = n+1, p.Step
		}
		if n >= goesOn {
			return true
		}
	}
	return false
}
