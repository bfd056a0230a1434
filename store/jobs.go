package store

import (
	"context"
	"fmt"
	"time"

	"faultline/workflow"
)

// jobColumns are the columns of a workflow.Job, in the order of scanJob.
const jobColumns = "id, key, kind, investigation, payload, attempts, last_error, added"

func jobTargets(j *workflow.Job) []any {
	return []any{&j.ID, &j.Key, &j.Kind, &j.Investigation, &j.Payload, &j.Attempts, &j.LastError, &j.Added}
}

// checkJobs refuses a job whose repetition nobody would notice.
func checkJobs(jobs []workflow.Job) error {
	for _, j := range jobs {
		if j.Key == "" {
			return fmt.Errorf("a job of kind %q has no key", j.Kind)
		}
	}
	return nil
}

// Enqueue implements workflow.Durable.
func (db *DB) Enqueue(ctx context.Context, jobs ...workflow.Job) (added int, err error) {
	if err := checkJobs(jobs); err != nil {
		return 0, err
	}
	err = db.inTx(ctx, "adding jobs", func(c *conn) error {
		added, err = c.addJobs(ctx, jobs)
		return err
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

func (c *conn) addJobs(ctx context.Context, jobs []workflow.Job) (added int, err error) {
	// Two who add the same keys in different orders would wait for each other until the database notices, after a second.
	if len(jobs) > 1 {
		if err := c.locked(ctx, "jobs"); err != nil {
			return 0, err
		}
	}
	for _, j := range jobs {
		now, err := c.time(ctx)
		if err != nil {
			return 0, err
		}
		n, err := c.exec(ctx, "INSERT INTO job (key, kind, investigation, payload, not_before, added) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
			j.Key, j.Kind, j.Investigation, j.Payload, notBefore(now, j.After), now)
		if err != nil {
			return 0, fmt.Errorf("adding job %q: %w", j.Key, err)
		}
		added += int(n)
	}
	return added, nil
}

// claimable is a job whose time has come and that nobody has, or somebody who let the lease run out. The first condition
// is that of the index, which SQLite wants to read word for word.
const claimable = `state IN ('queued', 'claimed') AND (state = 'queued' AND not_before <= ?
		AND (investigation = '' OR NOT EXISTS (
			SELECT 1 FROM job o WHERE o.investigation = j.investigation AND o.kind = j.kind AND o.state = 'claimed'))
	OR state = 'claimed' AND lease_until <= ?)`

// oldest is the job that is claimed next, of so many kinds.
func oldest(kinds int) string {
	return "SELECT id FROM job j WHERE kind IN " + several(kinds) + " AND " + claimable + " ORDER BY id LIMIT 1"
}

// Claim implements workflow.Durable.
func (db *DB) Claim(ctx context.Context, kinds []string, owner string, lease time.Duration) (*workflow.Lease, error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	var l *workflow.Lease
	err := db.inTx(ctx, "claiming a job", func(c *conn) error {
		l = nil
		// Two claims at once could each take a job of the same investigation. Claims are short; they take turns.
		if err := c.locked(ctx, "claim"); err != nil {
			return err
		}
		now, err := c.time(ctx)
		if err != nil {
			return err
		}
		args := []any{}
		for _, k := range kinds {
			args = append(args, k)
		}
		var id int64
		found, err := c.one(ctx, oldest(len(kinds))+c.dialect.skipLocked, append(args, now, now), &id)
		if err != nil || !found {
			return err
		}
		claimed := workflow.Lease{Owner: owner, Until: now.Add(lease)}
		_, err = c.one(ctx, "UPDATE job SET state = 'claimed', owner = ?, fence = fence + 1, lease_until = ? WHERE id = ? RETURNING "+jobColumns+", fence",
			[]any{owner, claimed.Until, id}, append(jobTargets(&claimed.Job), &claimed.Fence)...)
		l = &claimed
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// held is the condition that the lease is still good.
const held = " WHERE id = ? AND owner = ? AND fence = ? AND state = 'claimed'"

// withLease runs an UPDATE of job on the job of a lease.
func (c *conn) withLease(ctx context.Context, l *workflow.Lease, update string, args ...any) error {
	n, err := c.exec(ctx, update+held, append(args, l.ID, l.Owner, l.Fence)...)
	if err != nil {
		return err
	}
	if n == 0 {
		return workflow.ErrLost
	}
	return nil
}

// finish ends the job of a lease, one way or the other. What it was about is needed no more once it is done: only its key stays.
func (c *conn) finish(ctx context.Context, l *workflow.Lease, state, reason string) error {
	now, err := c.time(ctx)
	if err != nil {
		return err
	}
	if reason == "" {
		return c.withLease(ctx, l, "UPDATE job SET state = ?, settled = ?, payload = ?", state, now, []byte{})
	}
	return c.withLease(ctx, l, "UPDATE job SET state = ?, settled = ?, last_error = ?", state, now, reason)
}

// Extend implements workflow.Durable.
func (db *DB) Extend(ctx context.Context, l *workflow.Lease, lease time.Duration) error {
	var until time.Time
	err := db.inTx(ctx, "prolonging "+l.Key, func(c *conn) error {
		now, err := c.time(ctx)
		if err != nil {
			return err
		}
		until = now.Add(lease)
		return c.withLease(ctx, l, "UPDATE job SET lease_until = ?", until)
	})
	if err == nil {
		l.Until = until
	}
	return err
}

// Finish implements workflow.Durable.
func (db *DB) Finish(ctx context.Context, l *workflow.Lease) error {
	return db.inTx(ctx, "finishing "+l.Key, func(c *conn) error { return c.finish(ctx, l, "done", "") })
}

// Bury implements workflow.Durable.
func (db *DB) Bury(ctx context.Context, l *workflow.Lease, reason string) error {
	return db.inTx(ctx, "burying "+l.Key, func(c *conn) error { return c.finish(ctx, l, "buried", reason) })
}

// Release implements workflow.Durable.
func (db *DB) Release(ctx context.Context, l *workflow.Lease, after time.Duration, failed error) error {
	return db.inTx(ctx, "giving "+l.Key+" back", func(c *conn) error {
		now, err := c.time(ctx)
		if err != nil {
			return err
		}
		if failed == nil {
			return c.withLease(ctx, l, "UPDATE job SET state = 'queued', not_before = ?", notBefore(now, after))
		}
		return c.withLease(ctx, l, "UPDATE job SET state = 'queued', not_before = ?, attempts = attempts + 1, last_error = ?",
			notBefore(now, after), failed.Error())
	})
}

// Waiting implements workflow.Durable.
func (db *DB) Waiting(ctx context.Context, kinds ...string) ([]workflow.Job, error) {
	c := db.reader()
	now, err := c.time(ctx)
	if err != nil {
		return nil, err
	}
	query, args := "SELECT "+jobColumns+" FROM job WHERE state IN ('queued', 'claimed')", []any{}
	if len(kinds) > 0 {
		query += " AND kind IN " + several(len(kinds))
		for _, k := range kinds {
			args = append(args, k)
		}
	}
	query += " ORDER BY CASE WHEN state = 'claimed' OR not_before <= ? THEN 0 ELSE not_before END, id"
	var jobs []workflow.Job
	err = c.each(ctx, query, append(args, now), func(scan func(...any) error) error {
		var j workflow.Job
		err := scan(jobTargets(&j)...)
		jobs = append(jobs, j)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing jobs: %w", err)
	}
	return jobs, nil
}
