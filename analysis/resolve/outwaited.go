package resolve

import (
	"fmt"

	"faultline/analysis/worker"
)

// outwaited takes back waits that the job came through: a watchdog that may only report, or a program that tries again, says that a
// collective took too long, and training goes on. It takes further steps by the clock, for text may stand in a buffer, the program's
// statement that it finished after them, and no word of a process that was ended.
func (f *Facts) outwaited() {
	end := f.Finished()
	if end == nil || f.endedHard() {
		return
	}
	var last Moment
	var first *worker.At
	n := 0
	for _, g := range f.Groups {
		for _, p := range g.Pending {
			if !p.Report.Valid || p.At.File == "" {
				return
			}
			if n++; !last.Valid || last.Before(p.Report) {
				last = p.Report
			}
			if first == nil || less(p.At.Pos, first.Pos) {
				first = &p.At
			}
		}
	}
	if n == 0 || !last.Before(f.At(*end)) {
		return
	}
	steps, reached := 0, int64(-1)
	for i := range f.Progress {
		if p := &f.Progress[i]; (p.Phase == "" || p.Phase == "training") && p.Step > reached && last.Before(f.At(p.At)) {
			steps, reached = steps+1, p.Step
		}
	}
	if steps < goesOn {
		return
	}
	for _, g := range f.Groups {
		g.Pending = nil
	}
	for _, r := range f.Ranks {
		r.Pending = nil
	}
	for _, r := range f.Anonymous {
		r.Pending = nil
	}
	f.Warnings = append(f.Warnings, fmt.Sprintf("%s:%d is not counted as a failure: training went on for %d reported steps after the watchdog's report, and the program says that it finished", first.File, first.Line, steps))
}

// endedHard says that something tells of a process that a watchdog, a launcher or the scheduler saw end or ended.
func (f *Facts) endedHard() bool {
	if len(f.Ends) > 0 || len(f.Obs.ChildFailed) > 0 || len(f.Obs.ChildExits) > 0 {
		return true
	}
	for i := range f.Obs.Signals {
		switch f.Obs.Signals[i].Kind {
		case worker.SignalTerminate, worker.SignalTakingDown, worker.SignalHeartbeat, worker.SignalStuck:
			return true
		}
	}
	for i := range f.Obs.Timeouts {
		if f.Obs.Timeouts[i].Form != "error" {
			return true
		}
	}
	return false
}
