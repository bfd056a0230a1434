package worker

import (
	"strings"

	"faultline/analysis/line"
	"faultline/pattern"
)

var (
	// The name of the program is that under which it was called; Open MPI 5 breaks the sentence before the signal.
	mpiNoticed = pattern.New(`noticed that process rank (\d+) with PID (\d+) on node ([\w.-]+) exited on(?: signal (\d+))?`)
	mpiSignal  = pattern.New(`^\s*signal (\d+)`)
	// IBM's jsrun.
	jsNoticed = pattern.New(`One or more process \(first noticed rank (\d+)\) terminated with signal (\d+)`)
	// The name is made of the job and the rank: "[[11377,1],3]", since Open MPI 5 "[prterun-n1-4242@1,3]". Horovod's own launcher
	// writes the rank alone.
	mpiFirst = pattern.New(`^\s*Process name: (?:\[(?:\[\d+,\d+\]|[\w.-]+@\d+),(\d+)\]|(\d+))\s*$`)
	mpiCode  = pattern.New(`^\s*Exit code: +(\d+)\s*$`)
)

// readMPIExit reads what Open MPI's mpirun says of the first of its processes that a signal ended:
//
//	mpirun noticed that process rank 5 with PID 12345 on node gpu-2 exited on signal 11 (Segmentation fault).
//
// Sources: Open MPI orte/tools/orterun/help-orterun.txt (to 4.1), PRRTE help-prte-runtime (5.0).
func readMPIExit(r *reader, rec *record) bool {
	m := mpiNoticed.FindSubmatch(rec.Msg)
	if js := jsNoticed.FindSubmatch(rec.Msg); js != nil {
		emit(r, &r.obs.ChildFailed, ChildFailed{At: rec.At, Rank: bounded(string(js[1])), Local: line.Unknown, Pid: line.Unknown, ExitCode: -bounded(string(js[2])), MPI: true})
		return true
	}
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
	c := ChildFailed{At: rec.At, Rank: bounded(string(m[1]) + string(m[2])), Local: line.Unknown, Pid: line.Unknown, MPI: true}
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

var (
	hydraWho    = pattern.New(`^\s*=\s+(?:RANK (\d+) )?PID (\d+) RUNNING AT (?:[\w.-]+@)?([A-Za-z0-9][\w.-]*)`)
	hydraHow    = pattern.New(`^\s*=\s+(KILLED BY SIGNAL|EXIT CODE|EXIT STATUS): (\d+)`)
	hydraString = pattern.New(`EXIT STRING: .{1,60}\(signal (\d+)\)`)
)

// readHydraExit reads the block of MPICH's and Intel MPI's mpiexec about a process that ended badly:
//
//	=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
//	=   RANK 9 PID 22311 RUNNING AT cpu-04
//	=   KILLED BY SIGNAL: 11 (Segmentation fault)
//
// MPICH knows no rank, writes "EXIT CODE: 139", and below the block "EXIT STRING: Segmentation fault (signal 11)". Intel MPI writes a
// block for each process, those that it killed itself among them, so SIGKILL names no rank and SIGTERM says nothing.
// Source: MPICH src/pm/hydra/mpiexec/mpiexec.c; Intel MPI 2019 on.
func readHydraExit(r *reader, rec *record) bool {
	m := hydraWho.FindSubmatch(rec.Msg)
	if m == nil {
		return false
	}
	c := ChildFailed{At: rec.At, Rank: line.Unknown, Local: line.Unknown, Pid: bounded(string(m[2])), Host: string(m[3]), MPI: true}
	if len(m[1]) > 0 {
		c.Rank = bounded(string(m[1]))
	}
	tell := func(r *reader) verdict {
		r.mpiEnded(c)
		return ended
	}
	r.follow(rec, 8, func(r *reader, rec *record) verdict {
		if rec == nil {
			return tell(r)
		}
		if m := hydraHow.FindSubmatch(rec.Msg); m != nil {
			if c.ExitCode = bounded(string(m[2])); m[1][0] == 'K' {
				c.ExitCode = -c.ExitCode
			}
			if c.Rank >= 0 {
				tell(r)
				return final
			}
			return taken
		}
		if m := hydraString.FindSubmatch(rec.Msg); m != nil {
			c.ExitCode = -bounded(string(m[1]))
			tell(r)
			return final
		}
		return pass
	})
	return true
}

// mpiEnded notes how a process of a launcher ended that ends the others by SIGTERM and then SIGKILL: these tell nothing of their rank.
func (r *reader) mpiEnded(c ChildFailed) {
	switch {
	case c.ExitCode == 0, c.ExitCode == -15, c.ExitCode == 15, c.ExitCode == 143:
	case c.Rank >= 0 && bySignal(c.ExitCode) != -9:
		emit(r, &r.obs.ChildFailed, c)
	default:
		who := *c.At.Who()
		if c.Rank < 0 {
			who.Host = c.Host
		}
		emit(r, &r.obs.ChildExits, ChildExit{At: At{Pos: c.Pos, By: &who, Stamp: c.Stamp}, ExitCode: c.ExitCode, Local: line.Unknown, Pid: c.Pid})
	}
}

// How launchers tell of the end of one rank, whoever wrote them: "x1002c1s0b0n0: rank 29 exited with code 1" (Cray PALS), "rank 4 on n07 died from
// signal 11".
var (
	rankEnds  = []string{"exited", "exit", "died", "killed", "terminated", "aborted"} // readSection reads "crashed"
	rankEndBy = []string{"with", "from", "by", "on", "due to"}
	rankEnd   = pattern.New(`(?i)^\s*(?:([a-z][\w.-]*[\w-]): )?(?:mpi )?rank[ #]?(\d{1,7})(?: \(?(?:on|at) (?:node |host )?([\w.-]+)\)?)?(?:,? \(?pid[ =:]\d+\)?)? (?:has |was )?` +
		`(?:` + strings.Join(rankEnds, "|") + `) (?:` + strings.Join(rankEndBy, "|") + `) (?:a |an |the |non-?zero )?(?:exit )?(code|status|signal)[ :=]{1,2}(\d{1,3})\b`)
)

// rankEndLiterals are the literals of such lines.
func rankEndLiterals() (out []string) {
	for _, how := range rankEnds {
		for _, by := range rankEndBy {
			out = append(out, " "+how+" "+by+" ")
		}
	}
	return out
}

func readRankEnd(r *reader, rec *record) bool {
	m := rankEnd.FindSubmatch(rec.Msg)
	if m == nil {
		return false
	}
	c := ChildFailed{At: rec.At, Rank: bounded(string(m[2])), Local: line.Unknown, Pid: line.Unknown, Host: string(m[1]), ExitCode: bounded(string(m[5])), MPI: true}
	switch {
	case len(m[3]) > 0:
		c.Host = string(m[3])
	case c.Host == "":
		c.Host = rec.Who.Host // a label, read off before
	}
	if m[4][1]|0x20 == 'i' { // a signal
		c.ExitCode = -c.ExitCode
	}
	r.mpiEnded(c)
	return true
}
