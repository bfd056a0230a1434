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
	others := slices.ContainsFunc(obs.ChildFailed, func(c worker.ChildFailed) bool { return !c.MPI })
	if !mpi || !others && len(obs.Rendezvous) == 0 && !slices.ContainsFunc(obs.ChildExits, func(c worker.ChildExit) bool { return c.Local >= 0 }) {
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
