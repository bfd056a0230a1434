package workflow

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// States of a job.
const (
	jobQueued  = "queued"
	jobClaimed = "claimed"
	jobDone    = "done"
	jobBuried  = "buried"
)

type memoryJob struct {
	Job
	state     string
	notBefore time.Time // zero: at once, whatever the clock does
	owner     string
	fence     int64
	until     time.Time
	settled   time.Time // when it was done or buried
}

// Enqueue implements Durable.
func (m *Memory) Enqueue(_ context.Context, jobs ...Job) (int, error) {
	if err := checkJobs(jobs); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.addJobs(jobs), nil
}

// checkJobs refuses a job whose repetition nobody would notice.
func checkJobs(jobs []Job) error {
	for _, j := range jobs {
		if j.Key == "" {
			return fmt.Errorf("a job of kind %q has no key", j.Kind)
		}
	}
	return nil
}

func (m *Memory) addJobs(jobs []Job) (added int) {
	for _, j := range jobs {
		if slices.ContainsFunc(m.jobs, func(old *memoryJob) bool { return old.Key == j.Key }) {
			continue
		}
		m.jobIDs++
		row := &memoryJob{state: jobQueued, Job: Job{ID: m.jobIDs, Key: j.Key, Kind: j.Kind, Investigation: j.Investigation,
			Payload: copied(j.Payload), Added: m.now()}}
		if j.After > 0 {
			row.notBefore = m.now().Add(j.After)
		}
		m.jobs = append(m.jobs, row)
		added++
	}
	return added
}

// Claim implements Durable.
func (m *Memory) Claim(_ context.Context, kinds []string, owner string, lease time.Duration) (*Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	i := slices.IndexFunc(m.jobs, func(j *memoryJob) bool { return slices.Contains(kinds, j.Kind) && m.claimable(j, now) })
	if i < 0 {
		return nil, nil
	}
	j := m.jobs[i]
	j.state, j.owner, j.until = jobClaimed, owner, now.Add(lease)
	j.fence++
	return &Lease{Job: j.shown(), Owner: owner, Fence: j.fence, Until: j.until}, nil
}

func (m *Memory) claimable(j *memoryJob, now time.Time) bool {
	switch j.state {
	case jobClaimed:
		return !j.until.After(now)
	case jobQueued:
		return !j.notBefore.After(now) && (j.Investigation == "" || !slices.ContainsFunc(m.jobs, func(o *memoryJob) bool {
			return o.state == jobClaimed && o.Investigation == j.Investigation && o.Kind == j.Kind
		}))
	}
	return false
}

// held is the job of a lease, nil when the lease is gone.
func (m *Memory) held(l *Lease) *memoryJob {
	for _, j := range m.jobs {
		if j.ID == l.ID && j.state == jobClaimed && j.owner == l.Owner && j.fence == l.Fence {
			return j
		}
	}
	return nil
}

// withLease changes the job of a lease.
func (m *Memory) withLease(l *Lease, change func(j *memoryJob, now time.Time)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.held(l)
	if j == nil {
		return ErrLost
	}
	change(j, m.now())
	return nil
}

// Extend implements Durable.
func (m *Memory) Extend(_ context.Context, l *Lease, lease time.Duration) error {
	return m.withLease(l, func(j *memoryJob, now time.Time) {
		j.until = now.Add(lease)
		l.Until = j.until
	})
}

// Finish implements Durable.
func (m *Memory) Finish(_ context.Context, l *Lease) error {
	return m.withLease(l, func(j *memoryJob, now time.Time) { j.state, j.settled, j.Payload = jobDone, now, nil })
}

// Release implements Durable.
func (m *Memory) Release(_ context.Context, l *Lease, after time.Duration, failed error) error {
	return m.withLease(l, func(j *memoryJob, now time.Time) {
		j.state, j.notBefore = jobQueued, time.Time{}
		if after > 0 {
			j.notBefore = now.Add(after)
		}
		if failed != nil {
			j.Attempts++
			j.LastError = failed.Error()
		}
	})
}

// Bury implements Durable.
func (m *Memory) Bury(_ context.Context, l *Lease, reason string) error {
	return m.withLease(l, func(j *memoryJob, now time.Time) { j.state, j.settled, j.LastError = jobBuried, now, reason })
}

// Waiting implements Durable.
func (m *Memory) Waiting(_ context.Context, kinds ...string) ([]Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	var rows []*memoryJob
	for _, j := range m.jobs {
		if (j.state == jobQueued || j.state == jobClaimed) && (len(kinds) == 0 || slices.Contains(kinds, j.Kind)) {
			rows = append(rows, j)
		}
	}
	due := func(j *memoryJob) time.Time {
		if j.state == jobClaimed || !j.notBefore.After(now) {
			return time.Time{}
		}
		return j.notBefore
	}
	slices.SortStableFunc(rows, func(a, b *memoryJob) int { return cmp.Or(due(a).Compare(due(b)), cmp.Compare(a.ID, b.ID)) })
	var jobs []Job
	for _, j := range rows {
		jobs = append(jobs, j.shown())
	}
	return jobs, nil
}

func (j *memoryJob) shown() Job {
	job := j.Job
	job.Payload = copied(j.Payload)
	return job
}

// copied keeps callers and store apart; nothing and empty are the same to databases.
func copied(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return bytes.Clone(b)
}
