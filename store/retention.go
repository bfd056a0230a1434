package store

import (
	"context"
	"fmt"
	"time"

	"faultline/workflow"
)

// Forget implements workflow.Durable.
func (db *DB) Forget(ctx context.Context, id, actor string) error {
	err := db.inTx(ctx, "forgetting investigation "+id, func(c *conn) error {
		known, facts := 0, 0
		if _, err := c.one(ctx, "SELECT (SELECT count(*) FROM investigation WHERE id = ?) + (SELECT count(*) FROM entry WHERE investigation = ?)", []any{id, id}, &known); err != nil {
			return err
		}
		if id == "" || known == 0 {
			return workflow.ErrUnknown
		}
		now, err := c.time(ctx)
		if err != nil {
			return err
		}
		for _, remove := range []string{
			"DELETE FROM investigation WHERE id = ?",
			"DELETE FROM entry WHERE investigation = ? AND kind <> '" + workflow.EntryForgotten + "'",
			"DELETE FROM post WHERE investigation = ?",
		} {
			if _, err := c.exec(ctx, remove, id); err != nil {
				return err
			}
		}
		if _, err := c.exec(ctx, `UPDATE job SET investigation = '', payload = ?, last_error = '',
			settled = CASE WHEN state = 'queued' THEN ? ELSE settled END,
			state = CASE WHEN state = 'queued' THEN 'done' ELSE state END WHERE investigation = ?`, []byte{}, now, id); err != nil {
			return err
		}
		if _, err := c.one(ctx, "SELECT count(*) FROM entry WHERE investigation = ?", []any{id}, &facts); err != nil || facts > 0 {
			return err
		}
		return c.note(ctx, id, []workflow.Entry{{Kind: workflow.EntryForgotten, Actor: actor}})
	})
	if err != nil || db.path == "" {
		return err
	}
	// What was deleted is still in the log of the changes that are not in the main file yet.
	db.gate.RLock()
	defer db.gate.RUnlock()
	if _, err := db.write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return fmt.Errorf("forgetting investigation %s: emptying the write-ahead log: %w", id, err)
	}
	return nil
}

// Purge implements workflow.Durable.
func (db *DB) Purge(ctx context.Context, keep time.Duration) (removed int, err error) {
	err = db.inTx(ctx, "removing expired data", func(c *conn) error {
		now, err := c.time(ctx)
		if err != nil {
			return err
		}
		jobs, err := c.exec(ctx, "DELETE FROM job WHERE state IN ('done', 'buried') AND settled <= ?", now.Add(-max(keep, workflow.KeepKeys)))
		if err != nil {
			return err
		}
		settled := states(workflow.SettledStates())
		posts, err := c.exec(ctx, `DELETE FROM post WHERE state NOT IN ('queued', 'sending') AND settled <= ?
			AND NOT EXISTS (SELECT 1 FROM investigation i WHERE i.id = post.investigation AND i.state NOT IN `+several(len(settled))+`)
			AND (investigation = '' OR NOT EXISTS (SELECT 1 FROM post o WHERE o.investigation = post.investigation AND o.state IN ('queued', 'sending')))`,
			append([]any{now.Add(-max(keep, 0))}, settled...)...)
		removed = int(jobs + posts)
		return err
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}
