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
	marks := map[string][]worker.RunMark{}
	for _, m := range obs.RunMarks {
		if m.Kind == worker.MarkBanner || m.Kind == worker.MarkLaunch {
			continue // a banner may repeat inside one run, and launchers may share a file
		}
		marks[m.File] = append(marks[m.File], m)
	}
	for _, m := range steppedAgain(obs, marks) {
		marks[m.File] = append(marks[m.File], m)
	}
	for _, m := range launches(obs, marks) {
		marks[m.File] = append(marks[m.File], m)
	}
	for _, m := range impliedMarks(obs, marks) {
		marks[m.File] = append(marks[m.File], m)
	}
	if len(marks) == 0 {
		return obs, 0, 1, ""
	}
	counted := false
	for f := range marks {
		ms := marks[f]
		sort.SliceStable(ms, func(i, j int) bool { return ms[i].Off < ms[j].Off })
		for _, m := range ms {
			counted = counted || m.Count > 0
		}
		marks[f] = ms
	}
	runs = 1
	index := func(file string, off int64) int {
		n := 0
		for _, m := range marks[file] {
			if m.Off > off {
				break
			}
			if m.Count >= 0 && counted {
				n = m.Count
			} else {
				n++
			}
		}
		return n
	}
	for f, ms := range marks {
		runs = max(runs, index(f, ms[len(ms)-1].Off)+1)
	}
	if runs == 1 {
		return obs, 0, 1, ""
	}
	w := wentWrong(obs, index, runs)
	run = runs - 1
	var past map[string]bool
	if i := lastOf(w.runs); i >= 0 {
		run = i
		if at := finished(obs, marks, index, runs); at != nil && i < runs-1 {
			if !w.told(marks, nil) {
				past = pastFiles(obs, marks, index, runs-1)
			}
			if w.told(marks, past) {
				run, note = runs-1, fmt.Sprintf("reporting run %d of %d (counting from 0), which says at %s:%d that it finished; run %d had failed (%s:%d)",
					runs-1, runs, at.File, at.Line, i, w.at[i].File, w.at[i].Line)
			} else {
				past = nil
			}
		}
	}
	if lastOf(w.runs) < 0 {
		past = stampedOnly(obs, pastFiles(obs, marks, index, run)) // one that was cut off tells of no later run
	}
	if i := listedRun - (listed - runs); listed >= runs && i >= 0 {
		run, note = i, ""
	}
	earlier := earlierEnds(obs, marks, index, run)
	return filter(obs, func(file string, off int64) bool {
		if past[file] && run == runs-1 {
			return false
		}
		if len(marks[file]) == 0 {
			// Nothing in this file tells its runs apart, but what SLURM ended before is over.
			end, over := earlier[file]
			return !over || off > end
		}
		return index(file, off) == run
	}), run, runs, note
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
func (w *wrong) told(marks map[string][]worker.RunMark, past map[string]bool) bool {
	for f := range w.files {
		if len(marks[f]) == 0 && !past[f] {
			return false
		}
	}
	return true
}

// endedByItself is what srun says of tasks that no scheduler and no launcher ended.
var endedByItself = map[string]bool{"Segmentation fault": true, "Bus error": true, "Aborted": true, "Illegal instruction": true, "Floating point exception": true, "Killed": true, "Out Of Memory": true}

// bySignal are the exceptions that a signal from outside raises in a process.
var bySignal = map[string]bool{"SignalException": true, "SIGTERMException": true, "KeyboardInterrupt": true, "SystemExit": true}

func wentWrong(obs *worker.Observations, index func(string, int64) int, runs int) *wrong {
	w := &wrong{runs: make([]bool, runs), at: make([]worker.Pos, runs), files: map[string]bool{}}
	note := func(p worker.Pos) {
		i := index(p.File, p.Off)
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
		if i := index(e.File, e.Off); i < runs-1 && (e.Reason == worker.ReasonPreemption || e.Reason == worker.ReasonRequeue) {
			signalled[i] = true
		}
	}
	for _, t := range obs.Timeouts {
		note(t.Pos)
	}
	for i := range obs.Exceptions {
		x := &obs.Exceptions[i]
		if over := signalled[index(x.File, x.Off)]; !over || x.Type != "" && !bySignal[className(x.Type)] { // "" where the file was cut off
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
		if index(e.File, e.Off) == runs-1 || e.Kind == worker.EndNodeFailure || e.Reason == worker.ReasonNodeFailure {
			note(e.Pos)
		}
	}
	for _, t := range obs.TaskExits {
		if (t.Code > 0 && t.Code < 128 || endedByItself[strings.TrimSuffix(t.What, " (core dumped)")]) && index(t.File, t.Off) == runs-1 {
			note(t.Pos)
		}
	}
	for i := range obs.Signs {
		s := &obs.Signs[i]
		if k := obs.Known.Entry(s.ID); k.Role == knowledge.CauseRole && k.Direct && index(s.File, s.Off) == runs-1 {
			note(s.Pos)
		}
	}
	return w
}

// finished is where the newest run first says that it came to its own end; nil where it does not.
func finished(obs *worker.Observations, marks map[string][]worker.RunMark, index func(string, int64) int, runs int) *worker.At {
	var first *worker.At
	c := &clock{}
	_, since, known := divide(obs, c, marks, index, runs-1)
	newest := func(at *worker.At) bool {
		if len(marks[at.File]) > 0 {
			return index(at.File, at.Off) == runs-1
		}
		t, dated := c.civil(stampOf(*at))
		return known && dated && t > since
	}
	for i := range obs.Facts {
		if x := &obs.Facts[i]; x.Key == "exit_ok" && newest(&x.At) && (first == nil || less(x.Pos, first.Pos)) {
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
func divide(obs *worker.Observations, c *clock, marks map[string][]worker.RunMark, index func(string, int64) int, run int) (before, since float64, ok bool) {
	for i := range obs.Progress {
		p := &obs.Progress[i]
		if len(marks[p.File]) == 0 || p.Phase != worker.Training {
			continue
		}
		t, dated := c.civil(stampOf(p.At))
		switch n := index(p.File, p.Off); {
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
func earlierEnds(obs *worker.Observations, marks map[string][]worker.RunMark, index func(string, int64) int, run int) map[string]int64 {
	c := &clock{}
	last, known := 0.0, false
	for _, e := range obs.Ends {
		if len(marks[e.File]) == 0 || index(e.File, e.Off) >= run {
			continue
		}
		if t, ok := c.civil(e.Stamp); ok && (!known || t > last) {
			last, known = t, true
		}
	}
	if before, since, ok := divide(obs, c, marks, index, run); ok {
		for _, e := range obs.Ends {
			if t, dated := c.civil(e.Stamp); dated && len(marks[e.File]) == 0 && t > before && t < since && (!known || t > last) {
				last, known = t, true
			}
		}
	}
	out := map[string]int64{}
	if !known {
		return out
	}
	nodeFailed(obs, marks, index, run, out)
	next := map[string]int64{} // file → the first end of a later run
	for _, e := range obs.Ends {
		t, ok := c.civil(e.Stamp)
		if len(marks[e.File]) > 0 || !ok {
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
	for _, l := range aftermath(obs, c) {
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
func nodeFailed(obs *worker.Observations, marks map[string][]worker.RunMark, index func(string, int64) int, run int, upto map[string]int64) {
	before := false
	for _, e := range obs.Ends {
		if e.Reason == worker.ReasonNodeFailure && len(marks[e.File]) > 0 {
			if index(e.File, e.Off) >= run {
				return
			}
			before = true
		}
	}
	dated := map[string]bool{}
	c := &clock{}
	for _, e := range obs.Ends {
		if _, ok := c.civil(e.Stamp); ok {
			dated[e.File] = true
		}
	}
	for _, e := range obs.Ends {
		if before && e.Kind == worker.EndNodeFailure && len(marks[e.File]) == 0 && !dated[e.File] {
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
