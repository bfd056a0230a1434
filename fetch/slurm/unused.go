package slurm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
)

// Numbering is a Backend that tells which number its cluster gives to the next job.
type Numbering interface {
	Next(ctx context.Context) (int, error)
}

var _ Numbering = (*Commands)(nil)

// mostLocal is the highest number of one cluster alone: above it, the members of a federation number their jobs side by side.
const mostLocal = 1<<26 - 1

// Unused says that a cluster has not given a number to any job, and which one it gives next. ok is false wherever that is not proven:
// a number below the next may be of a job that the accounting has dropped, one that it shows to others only, or none.
func (c *Cluster) Unused(ctx context.Context, id ID) (next int, ok bool) {
	next, err := c.next(ctx)
	if err != nil || id.Job < next || id.Job > mostLocal {
		return 0, false
	}
	// Where the controller has lost its state it counts from the beginning; the accounting still has the jobs from before.
	_, _, err = c.Jobs(ctx, id)
	return next, errors.Is(err, ErrUnknown)
}

// next asks the first backend that answers.
func (c *Cluster) next(ctx context.Context) (int, error) {
	var failed []error
	for _, b := range c.Backends {
		n, ok := b.(Numbering)
		if !ok {
			continue
		}
		next, err := n.Next(ctx)
		if err == nil {
			return next, nil
		}
		failed = append(failed, err)
	}
	return 0, fmt.Errorf("asking for the next job ID: %w", errors.Join(append(failed, ErrUnknown)...))
}

var nextNumber = regexp.MustCompile(`(?m)^NEXT_JOB_ID\s*=\s*([0-9]{1,10})\s*$`)

// Next implements Numbering.
func (c *Commands) Next(ctx context.Context) (int, error) {
	quick, cancel := asked(ctx, secondAnswer)
	defer cancel()
	out, err := c.run(quick, "scontrol", "show", "config")
	if err != nil {
		return 0, err
	}
	m := nextNumber.FindSubmatch(out.Stdout)
	if out.Code != 0 || m == nil {
		return 0, c.failed("scontrol show config", out)
	}
	return whole(string(m[1])), nil
}
