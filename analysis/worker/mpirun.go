package worker

import (
	"faultline/analysis/line"
	"faultline/pattern"
)

var (
	// The name of the program is that under which it was called; Open MPI 5 breaks the sentence before the signal.
	mpiNoticed = pattern.New(`noticed that process rank (\d+) with PID (\d+) on node ([\w.-]+) exited on(?: signal (\d+))?`)
	mpiSignal  = pattern.New(`^\s*signal (\d+)`)
	// The name is made of the job and the rank: "[[11377,1],3]", since Open MPI 5 "[prterun-n1-4242@1,3]".
	mpiFirst = pattern.New(`^\s*Process name: \[(?:\[\d+,\d+\]|[\w.-]+@\d+),(\d+)\]\s*$`)
	mpiCode  = pattern.New(`^\s*Exit code: +(\d+)\s*$`)
)

// readMPIExit reads what Open MPI's mpirun says of the first of its processes that a signal ended:
//
//	mpirun noticed that process rank 5 with PID 12345 on node gpu-2 exited on signal 11 (Segmentation fault).
//
// Sources: Open MPI orte/tools/orterun/help-orterun.txt (to 4.1), PRRTE help-prte-runtime (5.0).
func readMPIExit(r *reader, rec *record) bool {
	m := mpiNoticed.FindSubmatch(rec.Msg)
	if m == nil {
		return readMPIFirst(r, rec)
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

// readMPIFirst reads which process mpirun saw end with an error before all others:
//
//	The first process to do so was:
//
//	  Process name: [[11377,1],3]
//	  Exit code:    1
func readMPIFirst(r *reader, rec *record) bool {
	m := mpiFirst.FindSubmatch(rec.Msg)
	if m == nil {
		return false
	}
	c := ChildFailed{At: rec.At, Rank: bounded(string(m[1])), Local: line.Unknown, Pid: line.Unknown, MPI: true}
	r.follow(rec, 1, func(r *reader, rec *record) verdict {
		if rec == nil {
			return ended
		}
		m := mpiCode.FindSubmatch(rec.Msg)
		if m == nil {
			return ended
		}
		if c.ExitCode = bounded(string(m[1])); c.ExitCode > 0 {
			emit(r, &r.obs.ChildFailed, c)
		}
		return taken
	})
	return true
}
