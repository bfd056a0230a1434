package workflow

import (
	"context"
	"fmt"
	"time"
)

// Endings knows which jobs ended badly.
type Endings interface {
	// Ended lists the runs that ended badly in [from, to): failed, lost a node, ran out of time or memory. Those that people
	// cancelled, and those that SLURM itself preempted or requeued, are not among them. One call is one query.
	Ended(ctx context.Context, cluster string, from, to time.Time) ([]Ended, error)
	// Runs lists the runs of a user's jobs of one name that ended in [from, to), well or badly, in the order of their ends.
	Runs(ctx context.Context, cluster, user, name string, from, to time.Time) ([]Ended, error)
}

// Ended is one run of a job that ended badly, as the cluster's accounting tells it.
type Ended struct {
	Cluster string `json:"cluster"`
	Job     string `json:"job"` // as people write it: 123, 123_4, 123+1
	Raw     string `json:"raw"` // the number that no other job has
	// Of is the array, or the heterogeneous job, that it is a part of: "123"; "" where it is none.
	Of        string    `json:"of,omitempty"`
	Name      string    `json:"name,omitempty"`
	User      string    `json:"user,omitempty"`
	Account   string    `json:"account,omitempty"`
	Partition string    `json:"partition,omitempty"`
	State     string    `json:"state"` // FAILED, NODE_FAIL, …
	Nodes     []string  `json:"nodes,omitempty"`
	Submit    time.Time `json:"submit,omitzero"`
	Start     time.Time `json:"start,omitzero"` // zero: it never had nodes
	End       time.Time `json:"end"`
}

// Key is the same whoever tells of the run, and another for each run of a job and for a job that is given an old number.
func (e Ended) Key() string {
	began := e.Start
	if began.IsZero() {
		began = e.Submit
	}
	return fmt.Sprintf("ended:%s:%s:%d", e.Cluster, e.Raw, began.Unix())
}

// Took is how long it ran.
func (e Ended) Took() time.Duration {
	if e.Start.IsZero() || e.End.Before(e.Start) {
		return 0
	}
	return e.End.Sub(e.Start)
}
