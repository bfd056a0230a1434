package resolve

import (
	"slices"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// mpiRanks takes back the ranks that mpirun's own report names where the processes it started are launchers of others: then
// its numbers count nodes.
func mpiRanks(obs *worker.Observations) *worker.Observations {
	mpi := slices.ContainsFunc(obs.ChildFailed, func(c worker.ChildFailed) bool { return c.MPI })
	if !mpi || !launchersReport(obs) {
		return obs
	}
	out := *obs
	out.ChildFailed = slices.Clone(obs.ChildFailed)
	for i := range out.ChildFailed {
		if c := &out.ChildFailed[i]; c.MPI {
			c.Rank = line.Unknown
		}
	}
	return &out
}

// launchersReport says that launchers other than mpirun tell of processes of theirs: those of mpirun, if there is one, are these launchers.
func launchersReport(obs *worker.Observations) bool {
	return len(obs.Rendezvous) > 0 || slices.ContainsFunc(obs.ChildFailed, func(c worker.ChildFailed) bool { return !c.MPI }) ||
		slices.ContainsFunc(obs.ChildExits, func(c worker.ChildExit) bool { return c.Local >= 0 })
}
