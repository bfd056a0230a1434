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
	taken := takenAway(obs)
	exits := append([]worker.TaskExit(nil), obs.TaskExits...)
	sort.SliceStable(exits, func(i, j int) bool { return less(exits[i].Pos, exits[j].Pos) })
	out := endedTwice(exits, taken, marks)
	marked := map[string]bool{}
	for _, m := range out {
		marked[m.File] = true
		delete(taken, m.File)
	}
	hangs, told := hangsIn(obs), endsIn(obs)
	ends := endsOfProcesses(obs, exits)
	for file, from := range taken {
		ends[file] = append(ends[file], from)
	}
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
		if len(marks[file]) > 0 || marked[file] {
			continue
		}
		slices.Sort(offs)
		for i := 0; i < len(offs); {
			from, over := taken[file]
			b := beginning{from: offs[i], over: over && from <= offs[i], hung: youngestOf(hangs[file], offs[i]), told: youngestOf(told[file], offs[i]), goOn: -1}
			if !b.find(steps[file], obs.Checkpoints) {
				break
			}
			out = append(out, worker.RunMark{At: b.at, Kind: worker.MarkRequeue, Count: line.Unknown})
			for i < len(offs) && offs[i] < b.at.Off {
				i++
			}
		}
	}
	return out
}

// takenAway is where a file first says that SLURM took the job away to start it again.
func takenAway(obs *worker.Observations) map[string]int64 {
	taken := map[string]int64{}
	for _, e := range obs.Ends {
		switch e.Reason {
		case worker.ReasonPreemption, worker.ReasonRequeue, worker.ReasonNodeFailure:
			if o, ok := taken[e.File]; !ok || e.Off < o {
				taken[e.File] = e.Off
			}
		}
	}
	return taken
}

// endedTwice marks where a task ends that had ended before, in files without a mark from which the job was taken away above.
func endedTwice(exits []worker.TaskExit, taken map[string]int64, marks map[string][]worker.RunMark) (out []worker.RunMark) {
	type task struct {
		file string
		n    int
	}
	ended, done := map[task]bool{}, map[string]bool{}
	for _, t := range exits {
		from, ok := taken[t.File]
		if !ok || done[t.File] || len(marks[t.File]) > 0 {
			continue
		}
		again := false
		for _, n := range t.Tasks {
			again = again || ended[task{t.File, n}]
			ended[task{t.File, n}] = true
		}
		if again && t.Off > from {
			out = append(out, worker.RunMark{At: t.At, Kind: worker.MarkRequeue, Count: line.Unknown})
			done[t.File] = true
		}
	}
	return out
}

// endsOfProcesses is where launchers tell of processes that failed, by file.
func endsOfProcesses(obs *worker.Observations, exits []worker.TaskExit) map[string][]int64 {
	ends := map[string][]int64{}
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
	return ends
}

// queued is how many seconds after the last step the next ones were not written by the processes that the scheduler was killing, or that
// a launcher saw end: the notice that sites give before a kill is shorter.
const queued = 300

// beginning finds where training begins again below an offset of a file: where a checkpoint is loaded, or the steps of one
// writer fall back behind what it had reached, and then go on. What a dying process still prints does neither. Where the job
// was not over, other processes may still empty their buffers, whose steps nobody may have signed: such steps tell of another
// run where they are younger than all above them, or go beyond what had been reached. Steps that are younger than the report of a watchdog
// that had given up, at that time of the year, were not made by those who waited, and steps that are older than what a launcher or a watchdog
// told above them, at told, had stood in a buffer.
type beginning struct {
	from       int64
	over       bool    // the job had been taken away
	hung, told float64 // times of the year, 0 where nothing tells them

	at   worker.At // the lowest place that something begins at
	goOn int64     // the highest from which training still goes on
}

func (b *beginning) find(steps []*worker.Progress, loads []worker.Checkpoint) bool {
	type loop struct {
		who  line.Who
		form string
	}
	if len(steps) == 0 {
		return false
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
	for _, offs := range uncounted { // a bar that counts the batches of an epoch: that it goes on is all that it tells
		slices.Sort(offs)
		if n := len(offs) - 1 - goesOn; n >= 0 {
			b.goOn = max(b.goOn, offs[n])
		}
	}
	for _, ps := range loops {
		sort.SliceStable(ps, func(i, j int) bool { return ps[i].Off < ps[j].Off })
		b.loop(ps)
	}
	file, proven := steps[0].File, b.over || b.at.File != ""
	for i := range loads {
		c := &loads[i]
		below := c.File == file && c.Off > b.from && c.Off < b.goOn
		if below && (proven || *c.Who() != line.NoOne) && strings.HasPrefix(string(c.Kind), "load-") {
			b.take(c.At)
		}
	}
	return b.at.File != ""
}

func (b *beginning) take(at worker.At) {
	if b.at.File == "" || at.Off < b.at.Off {
		b.at = at
	}
}

// above is what the steps of a loop above the offset had come to, and the highest step of all.
type above struct {
	reached, most int64
	young         float64 // the youngest time
	youngest      float64 // the youngest time of the year
	signed        bool    // who writes them is known, or the job was over
}

// loop reads one writer's steps, ascending.
func (b *beginning) loop(ps []*worker.Progress) {
	c := &clock{}
	u := above{reached: -1, most: -1, signed: b.over || *ps[0].Who() != line.NoOne}
	for _, p := range ps {
		u.most = max(u.most, p.Step)
		if p.Off >= b.from {
			continue
		}
		u.reached = max(u.reached, p.Step)
		if t, ok := c.civil(stampOf(p.At)); ok {
			u.young = max(u.young, t)
		}
		if s, ok := season(stampOf(p.At)); ok {
			u.youngest = max(u.youngest, s)
		}
	}
	fell := false
	for i, p := range ps {
		if !climbs(ps[i:]) {
			continue
		}
		b.goOn = max(b.goOn, p.Off)
		if p.Off >= b.from && !fell && b.anew(p, u, c) {
			b.take(p.At)
			fell = true
		}
	}
}

// anew says that a step below the offset, from which its loop goes on, is another run's.
func (b *beginning) anew(p *worker.Progress, u above, c *clock) bool {
	t, ok := c.civil(stampOf(p.At))
	s, dated := season(stampOf(p.At))
	sameClock := b.hung > 0 && u.youngest <= b.hung
	if sameClock && dated && s > b.hung+bygoneSlack {
		return true
	}
	younger := ok && u.young > 0
	buffered := !b.over && dated && s <= b.told
	if younger && t > u.young+queued && !buffered {
		return true // with the steps that follow those above, as a save on the warning leaves them
	}
	fallsBack := p.Step <= u.reached
	return fallsBack && (u.signed || younger && t > u.young || u.most > u.reached+goesOn)
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
