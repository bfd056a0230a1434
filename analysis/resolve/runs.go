package resolve

import (
	"cmp"
	"fmt"
	"sort"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// selectRun cuts files that hold several runs of a job (requeue, elastic restart) at their marks and keeps one run: the
// newest one in which something went wrong, or simply the newest. It returns which of how many that is.
//
// Runs are matched over files by the restart count where the marks state one, else by their order in the file. Where SLURM's
// records list at least as many runs, they say which one failed: the newest of theirs is the newest of the logs. A newest run
// that says it finished is what became of the job, whatever earlier ones died of: then note tells of those.
func selectRun(obs *worker.Observations, listedRun, listed int) (kept *worker.Observations, run, runs int, note string) {
	c := cutsOf(obs)
	if c.runs == 1 {
		return obs, 0, 1, ""
	}
	run, past, note := c.choose()
	if i := listedRun - (listed - c.runs); listed >= c.runs && i >= 0 {
		run, note = i, ""
	}
	earlier := c.earlierEnds(run)
	return filter(obs, func(file string, off int64) bool {
		if past[file] && run == c.runs-1 {
			return false
		}
		if !c.divides(file) {
			// Nothing in this file tells its runs apart, but what SLURM ended before is over.
			end, over := earlier[file]
			return !over || off > end
		}
		return c.run(file, off) == run
	}), run, c.runs, note
}

// cuts are where files are cut into runs.
type cuts struct {
	obs     *worker.Observations
	marks   map[string][]worker.RunMark // by file, ascending; files without one tell no runs apart
	counted bool                        // marks state the number of a restart
	runs    int
}

func cutsOf(obs *worker.Observations) *cuts {
	c := &cuts{obs: obs, marks: map[string][]worker.RunMark{}, runs: 1}
	for _, m := range obs.RunMarks {
		if m.Kind != worker.MarkBanner && m.Kind != worker.MarkLaunch { // a banner may repeat inside one run, and launchers may share a file
			c.marks[m.File] = append(c.marks[m.File], m)
		}
	}
	for _, find := range []func(*worker.Observations, map[string][]worker.RunMark) []worker.RunMark{steppedAgain, launches, impliedMarks} {
		for _, m := range find(obs, c.marks) {
			c.marks[m.File] = append(c.marks[m.File], m)
		}
	}
	for _, ms := range c.marks {
		sort.SliceStable(ms, func(i, j int) bool { return ms[i].Off < ms[j].Off })
		for _, m := range ms {
			c.counted = c.counted || m.Count > 0
		}
	}
	for file, ms := range c.marks {
		c.runs = max(c.runs, c.run(file, ms[len(ms)-1].Off)+1)
	}
	return c
}

// divides reports whether a file tells its runs apart.
func (c *cuts) divides(file string) bool { return len(c.marks[file]) > 0 }

// run is which run a place of a file is of.
func (c *cuts) run(file string, off int64) int {
	n := 0
	for _, m := range c.marks[file] {
		if m.Off > off {
			break
		}
		if m.Count >= 0 && c.counted {
			n = m.Count
		} else {
			n++
		}
	}
	return n
}

// choose is the run to report, with the files that hold nothing of the newest one and, where that one finished, what is to be said of
// the one that had failed.
func (c *cuts) choose() (run int, past map[string]bool, note string) {
	newest := c.runs - 1
	w := c.wentWrong()
	failed := lastOf(w.runs)
	if failed < 0 {
		return newest, stampedOnly(c.obs, c.pastFiles(newest)), "" // one that was cut off tells of no later run
	}
	at := c.finished()
	if at == nil || failed == newest {
		return failed, nil, ""
	}
	if !w.told(c, nil) {
		past = c.pastFiles(newest)
	}
	if !w.told(c, past) {
		return failed, nil, ""
	}
	return newest, past, fmt.Sprintf("reporting run %d of %d (counting from 0), which says at %s:%d that it finished; run %d had failed (%s:%d)",
		newest, c.runs, at.File, at.Line, failed, w.at[failed].File, w.at[failed].Line)
}

// stampedOnly are those of the files whose last line that was read states a time.
func stampedOnly(obs *worker.Observations, files map[string]bool) map[string]bool {
	for i := range obs.Tails {
		if t := &obs.Tails[i]; t.Last.Stamp.Kind == line.NoStamp {
			delete(files, t.File)
		}
	}
	return files
}

// wrong says in which runs something went wrong, and where each first tells of it.
type wrong struct {
	runs []bool
	at   []worker.Pos
	// files hold what tells of it.
	files map[string]bool
}

// told says that only files that tell their runs apart tell of what went wrong, or files that are all of earlier runs.
func (w *wrong) told(c *cuts, past map[string]bool) bool {
	for f := range w.files {
		if !c.divides(f) && !past[f] {
			return false
		}
	}
	return true
}

// endedByItself is what srun says of tasks that no scheduler and no launcher ended.
var endedByItself = map[string]bool{"Segmentation fault": true, "Bus error": true, "Aborted": true, "Illegal instruction": true, "Floating point exception": true, "Killed": true, "Out Of Memory": true}

func (c *cuts) wentWrong() *wrong {
	obs, runs := c.obs, c.runs
	w := &wrong{runs: make([]bool, runs), at: make([]worker.Pos, runs), files: map[string]bool{}}
	note := func(p worker.Pos) {
		i := c.run(p.File, p.Off)
		if i >= runs {
			return
		}
		if !w.runs[i] || less(p, w.at[i]) {
			w.at[i] = p
		}
		w.runs[i], w.files[p.File] = true, true
	}
	signalled := map[int]bool{} // earlier runs that the scheduler ended: what their processes raise on its signal is no failure of theirs
	for _, e := range obs.Ends {
		if i := c.run(e.File, e.Off); i < runs-1 && (e.Reason == worker.ReasonPreemption || e.Reason == worker.ReasonRequeue) {
			signalled[i] = true
		}
	}
	for _, t := range obs.Timeouts {
		note(t.Pos)
	}
	for i := range obs.Exceptions {
		x := &obs.Exceptions[i]
		if over := signalled[c.run(x.File, x.Off)]; !over || x.Type != "" && !bySignal[className(x.Type)] { // "" where the file was cut off
			note(x.Pos)
		}
	}
	for _, c := range obs.ChildFailed {
		note(c.Pos)
	}
	for _, c := range obs.ChildExits {
		note(c.Pos)
	}
	for _, e := range obs.Ends {
		// What the scheduler followed by another run was not the end of the job, unless a node failed.
		if c.run(e.File, e.Off) == runs-1 || e.Kind == worker.EndNodeFailure || e.Reason == worker.ReasonNodeFailure {
			note(e.Pos)
		}
	}
	for _, t := range obs.TaskExits {
		if (failedItself(t.Code) || endedByItself[strings.TrimSuffix(t.What, " (core dumped)")]) && c.run(t.File, t.Off) == runs-1 {
			note(t.Pos)
		}
	}
	for i := range obs.Signs {
		s := &obs.Signs[i]
		if k := obs.Known.Entry(s.ID); k.Role == knowledge.CauseRole && k.Direct && c.run(s.File, s.Off) == runs-1 {
			note(s.Pos)
		}
	}
	return w
}

// finished is where the newest run first says that it came to its own end; nil where it does not.
func (c *cuts) finished() *worker.At {
	var first *worker.At
	bare := &clock{}
	_, since, known := c.divide(c.runs - 1)
	newest := func(at *worker.At) bool {
		if c.divides(at.File) {
			return c.run(at.File, at.Off) == c.runs-1
		}
		t, dated := bare.civil(stampOf(*at))
		return known && dated && t > since
	}
	for i := range c.obs.Facts {
		if x := &c.obs.Facts[i]; x.Key == "exit_ok" && newest(&x.At) && (first == nil || less(x.Pos, first.Pos)) {
			first = &x.At
		}
	}
	return first
}

// lastOf is the index of the last true, or −1.
func lastOf(list []bool) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] {
			return i
		}
	}
	return -1
}

// divide is when the runs before one made their last step, and when that one made its first, in a file that tells them apart. What
// SLURM says that it ended in between, by its own clock, is those runs: a clock of another zone would hardly have shown a time just there.
func (c *cuts) divide(run int) (before, since float64, ok bool) {
	bare := &clock{}
	for i := range c.obs.Progress {
		p := &c.obs.Progress[i]
		if !c.divides(p.File) || p.Phase != worker.Training {
			continue
		}
		t, dated := bare.civil(stampOf(p.At))
		switch n := c.run(p.File, p.Off); {
		case !dated:
		case n < run && t > before:
			before = t
		case n == run && (since == 0 || t < since):
			since = t
		}
	}
	return before, since, before > 0 && since > before
}

// earlierEnds finds, in files without marks of their own, up to where they speak of earlier runs: up to the last line by
// which SLURM ended one, and what srun says of its tasks right after. SLURM stamps those lines alike in all files.
func (c *cuts) earlierEnds(run int) map[string]int64 {
	bare := &clock{}
	last, known := 0.0, false
	for _, e := range c.obs.Ends {
		if !c.divides(e.File) || c.run(e.File, e.Off) >= run {
			continue
		}
		if t, ok := bare.civil(e.Stamp); ok && (!known || t > last) {
			last, known = t, true
		}
	}
	if before, since, ok := c.divide(run); ok {
		for _, e := range c.obs.Ends {
			if t, dated := bare.civil(e.Stamp); dated && !c.divides(e.File) && t > before && t < since && (!known || t > last) {
				last, known = t, true
			}
		}
	}
	out := map[string]int64{}
	if !known {
		return out
	}
	c.nodeFailed(run, out)
	next := map[string]int64{} // file → the first end of a later run
	for _, e := range c.obs.Ends {
		t, ok := bare.civil(e.Stamp)
		if c.divides(e.File) || !ok {
			continue
		}
		if t <= last+1 {
			out[e.File] = max(out[e.File], e.Off)
		} else if o, seen := next[e.File]; !seen || e.Off < o {
			next[e.File] = e.Off
		}
	}
	ended := map[string]map[int]bool{}
	grow := func(file string, off int64) {
		from, cut := out[file]
		to, later := next[file]
		if cut && off > from && (!later || off < to) {
			out[file] = off
		}
	}
	for _, l := range aftermath(c.obs, bare) {
		from, cut := out[l.File]
		switch {
		case !cut:
		case l.Off <= from:
			l.over(ended)
		case l.again(ended):
			next[l.File] = min(cmp.Or(next[l.File], l.Off), l.Off)
		default:
			grow(l.File, l.Off)
			l.over(ended)
		}
	}
	return out
}

// nodeFailed finds up to where files without marks and without times tell of a node's failure in an earlier run: srun names the node without
// a time, and slurmstepd says elsewhere that it ended that run because of it, and no later one.
func (c *cuts) nodeFailed(run int, upto map[string]int64) {
	before := false
	for _, e := range c.obs.Ends {
		if e.Reason == worker.ReasonNodeFailure && c.divides(e.File) {
			if c.run(e.File, e.Off) >= run {
				return
			}
			before = true
		}
	}
	dated := map[string]bool{}
	bare := &clock{}
	for _, e := range c.obs.Ends {
		if _, ok := bare.civil(e.Stamp); ok {
			dated[e.File] = true
		}
	}
	for _, e := range c.obs.Ends {
		if before && e.Kind == worker.EndNodeFailure && !c.divides(e.File) && !dated[e.File] {
			upto[e.File] = max(upto[e.File], e.Off)
		}
	}
}

// filter keeps the observations whose position satisfies keep. Tails keep their file, but lose writers that wrote nothing
// in the kept part.
func filter(obs *worker.Observations, keep func(file string, off int64) bool) *worker.Observations {
	out := obs.Filter(func(at worker.At) bool { return keep(at.File, at.Off) })
	out.Tails = nil
	for _, t := range obs.Tails {
		var ws []worker.WriterSpan
		for _, w := range t.Writers {
			if keep(t.File, w.Last.Off) || keep(t.File, w.First.Off) {
				ws = append(ws, w)
			}
		}
		t.Writers = ws
		if !keep(t.File, t.First.Off) {
			t.First.Stamp = line.Stamp{}
		}
		if !keep(t.File, t.Last.Off) {
			t.Last.Stamp = line.Stamp{}
		}
		if t.Rhythm != nil && !keep(t.File, t.Rhythm.Off) {
			t.Rhythm = nil
		}
		out.Tails = append(out.Tails, t)
	}
	return out
}
