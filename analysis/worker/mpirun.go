package worker

import (
	"faultline/analysis/line"
	"faultline/pattern"
)

var (
	// The name of the program is that under which it was called; Open MPI 5 breaks the sentence before the signal.
	mpiNoticed = pattern.New(`noticed that process rank (\d+) with PID (\d+) on node ([\w.-]+) exited on(?: signal (\d+))?`)
	mpiSignal  = pattern.New(`^\s*signal (\d+)`)
)

// readMPIExit reads what Open MPI's mpirun says of the first of its processes that a signal ended:
//
//	mpirun noticed that process rank 5 with PID 12345 on node gpu-2 exited on signal 11 (Segmentation fault).
//
// Sources: Open MPI orte/tools/orterun/help-orterun.txt (to 4.1), PRRTE help-prte-runtime (5.0).
func readMPIExit(r *reader, rec *record) bool {
	m := mpiNoticed.FindSubmatch(rec.Msg)
	if m == nil {
		return false
	}
	c := ChildFailed{At: rec.At, Rank: bounded(string(m[1])), Local: line.Unknown, Pid: bounded(string(m[2])), Host: string(m[3]), MPI: true}
	if n := bounded(string(m[4])); n > 0 {
		c.ExitCode = -n
		emit(r, &r.obs.ChildFailed, c)
		return true
	}
	r.follow(rec, 1, func(r *reader, rec *record) verdict {
		if rec == nil {
			return ended
		}
		m := mpiSignal.FindSubmatch(rec.Msg)
		if m == nil {
			return ended
		}
		if n := bounded(string(m[1])); n > 0 {
			c.ExitCode = -n
			emit(r, &r.obs.ChildFailed, c)
		}
		return taken
	})
	return true
}
