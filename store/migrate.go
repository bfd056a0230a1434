package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed schema/*.sql
var schema embed.FS

// migration is one numbered step of the schema. A step that was released is never changed; the next one mends it.
type migration struct {
	version int
	sql     string
}

// migrations reads the steps in their order: 0001_name.sql, 0002_name.sql, without holes.
func migrations() ([]migration, error) {
	names, err := fs.Glob(schema, "schema/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var steps []migration
	for i, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		if v, err := strconv.Atoi(number); err != nil || v != i+1 {
			return nil, fmt.Errorf("%s should begin with %04d", name, i+1)
		}
		text, err := schema.ReadFile(name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, migration{i + 1, string(text)})
	}
	return steps, nil
}

// migrate brings the schema to the newest of the steps, all of them in one transaction.
func (db *DB) migrate(ctx context.Context, steps []migration) error {
	return db.inTx(ctx, "preparing the tables", func(c *conn) error {
		if err := c.locked(ctx, "schema"); err != nil {
			return err
		}
		if _, err := c.exec(ctx, "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY, at BIGINT NOT NULL)"); err != nil {
			return err
		}
		var have int
		if _, err := c.one(ctx, "SELECT coalesce(max(version), 0) FROM schema_version", nil, &have); err != nil {
			return err
		}
		if have > len(steps) {
			return fmt.Errorf("the tables have version %d, but this program supports versions up to %d: a newer program has used this database; "+
				"run that one, or restore the backup that was made before it", have, len(steps))
		}
		now, err := c.time(ctx)
		if err != nil {
			return err
		}
		for _, step := range steps[have:] {
			if _, err := c.q.ExecContext(ctx, c.dialect.types.Replace(step.sql)); err != nil {
				return fmt.Errorf("migrating the tables to version %d: %w", step.version, err)
			}
			if _, err := c.exec(ctx, "INSERT INTO schema_version (version, at) VALUES (?, ?)", step.version, now); err != nil {
				return err
			}
		}
		return nil
	})
}
