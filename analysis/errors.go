package analysis

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// ErrNothingToRead says that no source could be read at all.
var ErrNothingToRead = errors.New("nothing readable")

// JobSummary is what tells one job from another when the input holds several.
type JobSummary struct {
	ID    string
	End   string   // last stamp of its lines, as in the report; "" if unknown or not looked for
	Nodes []string // nodes seen, where they were looked for
	Files int
}

// MultipleJobsError says that the input holds several jobs and none was selected, or that the selected one is not
// among them.
type MultipleJobsError struct {
	Jobs  []JobSummary // ascending by id
	Asked string       // the job that was asked for and is not among them; "" if none was
}

// mostDescribed bounds how many of several jobs are read to describe them: a folder may hold the logs of thousands.
const mostDescribed = 24

// Newest are the jobs that are described: all, or the last of many by id.
func (e *MultipleJobsError) Newest() []JobSummary {
	return e.Jobs[max(0, len(e.Jobs)-mostDescribed):]
}

func (e *MultipleJobsError) Error() string {
	var ids []string
	if len(e.Jobs) > mostDescribed {
		ids = append(ids, "…")
	}
	for _, j := range e.Newest() {
		ids = append(ids, j.ID)
	}
	return fmt.Sprintf("%d jobs in these files: %s", len(e.Jobs), strings.Join(ids, ", "))
}

// plain takes the path out of a file error: reports must not depend on where the files lie.
func plain(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
