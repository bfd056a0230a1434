package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"faultline/workflow"
)

// Note implements workflow.Durable.
func (db *DB) Note(ctx context.Context, key string) (workflow.Note, error) {
	n := workflow.Note{Key: key}
	_, err := db.reader().one(ctx, "SELECT version, value FROM note WHERE name = ?", []any{key}, &n.Version, &n.Value)
	if err != nil {
		return workflow.Note{}, fmt.Errorf("reading the note %s: %w", key, err)
	}
	return n, nil
}

// saveNotes writes notes that nobody else has changed in the meantime.
func (c *conn) saveNotes(ctx context.Context, notes []workflow.Note) error {
	// In one order, so that two who write the same notes do not wait for each other.
	notes = slices.Clone(notes)
	slices.SortStableFunc(notes, func(a, b workflow.Note) int { return cmp.Compare(a.Key, b.Key) })
	for _, n := range notes {
		if n.Key == "" {
			return errors.New("a note has no key")
		}
		write, args := "UPDATE note SET version = version + 1, value = ? WHERE name = ? AND version = ?", []any{n.Value, n.Key, n.Version}
		if n.Version == 0 {
			write, args = "INSERT INTO note (value, name, version) VALUES (?, ?, 1) ON CONFLICT (name) DO NOTHING", args[:2]
		}
		touched, err := c.exec(ctx, write, args...)
		if err != nil {
			return fmt.Errorf("writing the note %s: %w", n.Key, err)
		}
		if touched == 0 {
			return workflow.ErrConflict
		}
	}
	return nil
}
