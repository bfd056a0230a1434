package slurm

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Cluster asks one cluster in several ways: the first that answers counts.
type Cluster struct {
	Name     string
	Backends []Backend
	// Settle is how long after a job's end its accounting may still change: KillWait and some seconds. 0 = DefaultSettle.
	Settle time.Duration
	// Now and Sleep are the clock; nil = the accounting is asked once.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// DefaultSettle is KillWait's default of 30 s, the 2 s that srun adds, and some for the database.
const DefaultSettle = 40 * time.Second

// asks is how often a job that has just ended is asked for.
const asks = 3

// Jobs are the job, the elements of an array or the components of a heterogeneous job, and sentences about who did not
// answer. The error is ErrUnknown only where everybody who was asked said so.
func (c *Cluster) Jobs(ctx context.Context, id ID) (jobs []Job, warnings []string, err error) {
	for n := 1; ; n++ {
		jobs, warnings, err = c.ask(ctx, id)
		wait := c.unsettled(jobs)
		if err != nil || wait <= 0 || n == asks || c.Sleep == nil {
			break
		}
		if by, ok := ctx.Deadline(); ok && by.Sub(c.Now()) < 2*wait {
			break // whoever asks has no time for it
		}
		if err := c.Sleep(ctx, wait); err != nil {
			return nil, warnings, fmt.Errorf("waiting for job %s's accounting to settle: %w", id, err)
		}
	}
	if c.unsettled(jobs) > 0 {
		warnings = append(warnings, fmt.Sprintf("Job %s has just ended: its accounting may still change.", id))
	}
	return jobs, warnings, err
}

func (c *Cluster) ask(ctx context.Context, id ID) ([]Job, []string, error) {
	var warnings []string
	var failed []error
	for _, b := range c.Backends {
		jobs, err := b.Jobs(ctx, id)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err == nil {
			for _, f := range failed {
				if !errors.Is(f, ErrUnknown) {
					warnings = append(warnings, fmt.Sprintf("%s. I queried %s instead.", sentence(f), b))
				}
			}
			return jobs, warnings, nil
		}
		failed = append(failed, err)
	}
	unknown := len(failed) > 0
	for _, f := range failed {
		if !errors.Is(f, ErrUnknown) {
			unknown = false
			warnings = append(warnings, sentence(f)+".")
		}
	}
	if unknown {
		return nil, nil, failed[0]
	}
	var hard []error
	for _, f := range failed {
		if !errors.Is(f, ErrUnknown) {
			hard = append(hard, f)
		}
	}
	if len(hard) == 0 {
		return nil, nil, fmt.Errorf("%w: no source is configured for it", ErrUnknown)
	}
	return nil, warnings, errors.Join(hard...)
}

// unsettled is how long to wait until a job's accounting can be believed; 0 = now.
func (c *Cluster) unsettled(jobs []Job) time.Duration {
	if len(jobs) != 1 || c.Now == nil {
		return 0
	}
	j := &jobs[0]
	r := j.Newest()
	if r == nil {
		return 0
	}
	settle := c.Settle
	if settle <= 0 {
		settle = DefaultSettle
	}
	if r.State() == completing {
		return settle / asks
	}
	if !r.Ended() {
		return 0
	}
	left := r.End().Add(settle).Sub(c.Now())
	if left <= 0 {
		return 0 // whatever a step still claims, it was given its time
	}
	if j.StillReporting() || r.Fate().Bad {
		return min(left, settle)
	}
	return 0
}

// Nodes is the evidence about nodes, from whoever answers; "" and a sentence where nobody does.
func (c *Cluster) Nodes(ctx context.Context, nodes []string) (text, source, warning string) {
	if len(nodes) == 0 {
		return "", "", ""
	}
	for _, b := range c.Backends {
		got, err := b.Nodes(ctx, nodes)
		if err == nil && got != "" {
			return got, nodesSource(b), ""
		}
		if err != nil && warning == "" {
			warning = "The nodes' current state is unknown: " + err.Error() + "."
		}
	}
	return "", "", warning
}

func nodesSource(b Backend) string {
	if _, rest := b.(*REST); rest {
		return "slurmrestd"
	}
	return "scontrol"
}

// Script is the batch script, or why nobody shows it.
func (c *Cluster) Script(ctx context.Context, id ID) Script {
	var why error
	for _, b := range c.Backends {
		s, err := b.Script(ctx, id)
		if err == nil && s != "" {
			return Script{Text: s}
		}
		if why == nil && err != nil && !errors.Is(err, ErrUnknown) {
			why = err
		}
	}
	return Script{Err: why}
}

// window is what counts as the same moment for jobs that died.
const window = 5 * time.Minute

// Neighbours counts the other jobs that ended badly within five minutes of the run's end, and those of them that had a node
// of this one. ok is false where that is not known.
func (c *Cluster) Neighbours(ctx context.Context, j *Job, r *Run) (others, sharing int, ok bool) {
	end := r.End()
	if end.IsZero() {
		return 0, 0, false
	}
	mine := map[string]bool{}
	for _, n := range r.Nodes() {
		mine[n] = true
	}
	for _, b := range c.Backends {
		list, err := b.Deaths(ctx, end.Add(-window), end.Add(window))
		if err != nil {
			continue
		}
		seen := map[int]bool{}
		for _, d := range list {
			if d.Raw == j.Raw || seen[d.Raw] {
				continue
			}
			seen[d.Raw] = true
			others++
			for _, n := range d.Nodes {
				if mine[n] {
					sharing++
					break
				}
			}
		}
		return others, sharing, true
	}
	return 0, 0, false
}

// sentence is an error's text fit for the beginning of a sentence.
func sentence(err error) string {
	s := oneLine(err.Error())
	if s == "" {
		return "The cluster didn't respond"
	}
	if s[0] >= 'a' && s[0] <= 'z' && len(s) > 3 && s[:4] == "the " {
		return "T" + s[1:]
	}
	return s
}
