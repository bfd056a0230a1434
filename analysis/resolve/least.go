package resolve

import (
	"fmt"

	"faultline/analysis/artifact/nccl"
	"faultline/analysis/line"
)

// least finds how many ranks there are at least, where nothing states their number. What proves it:
//
//   - a rank that appears: those below it exist as well;
//   - the size of a communicator, and of the group that a collective's tensors are for: the job is no smaller;
//   - a place in a group: so many members are in front of it.
func (f *Facts) least() (ranks int, why string) {
	if f.Job.WorldSize > 0 {
		return 0, ""
	}
	raise := func(n int, from string) {
		if n > ranks && n <= MaxWorld {
			ranks, why = n, from
		}
	}
	for id := range f.byRank {
		raise(id+1, fmt.Sprintf("rank %d appears", id))
	}
	if f.NCCL != nil {
		for _, l := range f.NCCL.Logs {
			for _, p := range l.Procs {
				for _, c := range p.Comms {
					if c.NRanks != nccl.Unknown {
						raise(c.NRanks, "a communicator in NCCL's log lines")
					}
				}
			}
		}
	}
	for _, g := range f.Groups {
		for _, p := range g.Pending {
			raise(p.Work.Shares(), "input and output sizes of "+p.Work.Op)
			if p.GroupRank != line.Unknown {
				raise(p.GroupRank+1, "a rank's position in its group")
			}
		}
	}
	return ranks, why
}

// AtLeast is how many ranks there are at the least: their number where it is known.
func (j *JobFacts) AtLeast() int { return max(j.WorldSize, j.Least) }

// Counted says that no rank is known to be missing from the count: it is stated, or all that call themselves by their number leave no gap and
// no line proves more.
func (j *JobFacts) Counted() bool { return j.WorldSize > 0 || j.Called > 0 && j.Called == j.Least }
