package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"faultline/workflow"
)

// probeNote is the row that Probe writes.
const probeNote = "readiness probe"

// Probe tries whether the store can be read and written: it commits one small row. An SQLite file that was put in the place
// of the one that is open is gone over to, when it is whole.
func (db *DB) Probe(ctx context.Context) error {
	if err := db.adopt(ctx); err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	err := db.inTx(ctx, "writing to the store", func(c *conn) error {
		_, err := c.exec(ctx, "INSERT INTO note (name, version, value) VALUES (?, 1, ?) ON CONFLICT (name) DO UPDATE SET version = note.version + 1", probeNote, []byte{})
		return err
	})
	if err == nil {
		_, err = db.Note(ctx, probeNote)
	}
	if err != nil && db.path == "" {
		db.dropIdle()
	}
	return err
}

// Reason is an error of the store in a few words, without its address.
func (db *DB) Reason(err error) string {
	var known *astray
	if errors.As(err, &known) {
		return known.short
	}
	if why := db.dialect.reason(err); why != "" {
		return why
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return "the database isn't responding"
	}
	return workflow.DiskReason(err)
}

// settled is how long a file must not have changed that was put in the place of another.
const settled = time.Second
