package resolve

import (
	"slices"
	"sort"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// longIdle is after how many seconds a launcher that starts again in a file is another run's, whatever ended the first: those of several
// nodes start together.
const longIdle = 600

// launches finds further runs of a job by launchers that started again: each file tells it by itself, of launchers that something had
// ended, that had trained, or that had started long before. Scripts start more than one thing, and a launcher may come late to a job that
// has failed at its start: so it must be seen in one file that steps were made before and went on after it.
func launches(obs *worker.Observations, marks map[string][]worker.RunMark) []worker.RunMark {
	byFile := map[string][]worker.RunMark{}
	for _, m := range obs.RunMarks {
		if m.Kind == worker.MarkLaunch && len(marks[m.File]) == 0 {
			byFile[m.File] = append(byFile[m.File], m)
		}
	}
	if len(byFile) == 0 {
		return nil
	}
	ended, steps := map[string][]int64{}, map[string][]*worker.Progress{}
	end := func(at worker.Pos) { ended[at.File] = append(ended[at.File], at.Off) }
	for i := range obs.ChildFailed {
		end(obs.ChildFailed[i].Pos)
	}
	for i := range obs.ChildExits {
		end(obs.ChildExits[i].Pos)
	}
	for i := range obs.Ends {
		end(obs.Ends[i].Pos)
	}
	for i := range obs.Exceptions {
		if x := &obs.Exceptions[i]; bySignal[className(x.Type)] {
			end(x.Pos)
		}
	}
	for i := range obs.Progress {
		if p := &obs.Progress[i]; p.Phase == worker.Training && byFile[p.File] != nil {
			steps[p.File] = append(steps[p.File], p)
		}
	}
	c := &clock{}
	began := map[string]line.Stamp{}
	for i := range obs.Tails {
		began[obs.Tails[i].File] = obs.Tails[i].First.Stamp
	}
	within := func(offs []int64, from, to int64) bool {
		return slices.ContainsFunc(offs, func(o int64) bool { return o > from && o < to })
	}
	var out []worker.RunMark
	resumed := len(marks) > 0 // that another run went on is known
	for file, ms := range byFile {
		sort.Slice(ms, func(i, j int) bool { return ms[i].Off < ms[j].Off })
		ps := steps[file]
		sort.SliceStable(ps, func(i, j int) bool { return ps[i].Off < ps[j].Off })
		if glued(ms, ps, began[file]) {
			continue
		}
		from, since := int64(-1), began[file]
		for _, m := range ms {
			a, dated := c.civil(since)
			b, both := c.civil(m.Stamp)
			i := sort.Search(len(ps), func(i int) bool { return ps[i].Off > m.Off })
			trained := i > 0 && ps[i-1].Off > from
			if !trained && !within(ended[file], from, m.Off) && !(dated && both && since.Kind == m.Stamp.Kind && b-a > longIdle) {
				continue
			}
			resumed = resumed || trained && i < len(ps) && (climbs(ps[i:]) || ps[i].Step < 0 && len(ps)-i > goesOn)
			m.Kind = worker.MarkRequeue
			out = append(out, m)
			from, since = m.Off, m.Stamp
		}
	}
	if !resumed {
		return nil
	}
	return out
}

// together is within how many seconds the launchers of several nodes start.
const together = 60

// glued says that a file is made of those of several nodes, one behind the other: launchers that started together stand above and below
// steps, or one stands below steps that were made after it had started.
func glued(launched []worker.RunMark, steps []*worker.Progress, first line.Stamp) bool {
	last, known := season(first)
	from := int64(-1)
	for _, m := range launched {
		t, dated := season(stampOf(m.At))
		if !dated {
			continue
		}
		i := sort.Search(len(steps), func(i int) bool { return steps[i].Off > m.Off })
		if i > 0 && steps[i-1].Off > from {
			if made, ok := season(stampOf(steps[i-1].At)); ok && t < made || known && t < last+together {
				return true
			}
		}
		last, known, from = t, true, m.Off
	}
	return false
}

// bySignal are the exceptions that a signal from outside raises in a process.
var bySignal = map[string]bool{"SignalException": true, "SIGTERMException": true, "KeyboardInterrupt": true, "SystemExit": true}
