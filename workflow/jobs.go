package workflow

import (
	"fmt"
	"slices"

	"faultline/analysis"
)

// lastToEnd picks the job whose last stamped line is the latest. Stamps of one input are written alike, so that they
// compare as text; jobs without one lose, and the higher id wins a tie.
func lastToEnd(jobs []analysis.JobSummary) analysis.JobSummary {
	return slices.MaxFunc(jobs, func(a, b analysis.JobSummary) int {
		switch {
		case a.End != b.End && a.End < b.End, a.End == b.End && a.ID < b.ID:
			return -1
		case a.End == b.End && a.ID == b.ID:
			return 0
		}
		return 1
	})
}

func jobText(j analysis.JobSummary) string {
	text := j.ID
	if j.End != "" {
		text += ", ended " + j.End
	}
	if len(j.Nodes) > 0 {
		text += fmt.Sprintf(", %d %s: %s", len(j.Nodes), plural(len(j.Nodes), "node", "nodes"), list(j.Nodes))
	}
	return text
}
