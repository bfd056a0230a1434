package analysis

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNothingToRead says that no source could be read at all.
var ErrNothingToRead = errors.New("nothing readable")

// JobSummary is what tells one job from another when the input holds several.
type JobSummary struct {
	ID    string
	End   string   // last stamp of its lines, as in the report; "" if unknown
	Nodes []string // nodes seen
	Files int
}

// MultipleJobsError says that the input holds several jobs and none was selected, or that the selected one is not
// among them.
type MultipleJobsError struct {
	Jobs  []JobSummary // ascending by id
	Asked string       // the job that was asked for and is not among them; "" if none was
}

func (e *MultipleJobsError) Error() string {
	ids := make([]string, len(e.Jobs))
	for i, j := range e.Jobs {
		ids[i] = j.ID
	}
	return fmt.Sprintf("%d jobs in these files: %s", len(e.Jobs), strings.Join(ids, ", "))
}
