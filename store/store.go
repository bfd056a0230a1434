// Package store keeps investigations, jobs and posts in a database: SQLite for one process, PostgreSQL for several.
// Both are the same code and the same SQL; dialect.go holds what differs. The package fills workflow.Durable, and
// store/storetest holds it to that.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"faultline/workflow"
)

// Options are the choices that both databases have.
type Options struct {
	// Now tells the time. Nil is the clock of the database: for PostgreSQL that of its host, which all bots share, for
	// SQLite that of this process.
	Now func() time.Time
	// Numbers is a file beside the database, and in no backup, that keeps the highest number of an investigation; bots that share
	// a database share it. "": after a restore, numbers are given again.
	Numbers string
}

// DB is a workflow.Durable in a database. It may be used by any number of goroutines.
type DB struct {
	dialect dialect
	now     func() time.Time // nil: ask the database
	// gate is held for reading while the pools are used, and for writing while they are changed.
	gate    sync.RWMutex
	write   *sql.DB
	read    *sql.DB
	path    string // of the file, for SQLite
	numbers numbers
	release func() error
	opened  files // what the pools have open, for SQLite
}

var _ workflow.Durable = (*DB)(nil)

// Close implements workflow.Durable.
func (db *DB) Close() error {
	db.gate.RLock()
	defer db.gate.RUnlock()
	var errs []error
	if db.read != db.write {
		errs = append(errs, db.read.Close())
	}
	errs = append(errs, db.write.Close())
	if db.release != nil {
		errs = append(errs, db.release())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing the store: %w", err)
	}
	return nil
}

// querier is what a pool and a transaction have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// conn runs SQL of both dialects: placeholders are question marks, arguments and targets are converted.
type conn struct {
	q       querier
	dialect *dialect
	clock   func() time.Time
	use     *sync.RWMutex // held while a statement runs; nil: it is held already
	at      time.Time     // the time of the transaction, once it was asked for
}

func (db *DB) reader() *conn {
	return &conn{q: readPool{db}, dialect: &db.dialect, clock: db.now, use: &db.gate}
}

// readPool is the pool of readers at the moment.
type readPool struct{ db *DB }

func (p readPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.db.read.QueryContext(ctx, query, args...)
}

func (p readPool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return p.db.read.ExecContext(ctx, query, args...)
}

// maxTries is how often a transaction is begun again that only lost against others.
const maxTries = 20

// inTx runs f in one transaction. f may run several times.
func (db *DB) inTx(ctx context.Context, doing string, f func(c *conn) error) error {
	var err error
	for try := range maxTries {
		if err = db.try(ctx, f); err == nil || !db.worthAnother(err, try) {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", doing, ctx.Err())
		case <-time.After(time.Duration(try) * time.Millisecond):
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, db.meaning(err))
	}
	return nil
}

// worthAnother tells whether a transaction that failed may succeed when it is begun again.
func (db *DB) worthAnother(err error, try int) bool {
	if stale := try == 0 && db.dialect.stale != nil && db.dialect.stale(err); stale {
		db.dropIdle()
		return true
	}
	return db.dialect.again(err)
}

func (db *DB) try(ctx context.Context, f func(c *conn) error) error {
	db.gate.RLock()
	defer db.gate.RUnlock()
	if err := db.inPlace(); err != nil {
		return err
	}
	t, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback() }() // after a commit this does nothing
	if err := f(&conn{q: t, dialect: &db.dialect, clock: db.now}); err != nil {
		return err
	}
	return t.Commit()
}

// meaning says what a broken rule of the schema means to the workflow.
func (db *DB) meaning(err error) error {
	switch rule := db.dialect.broken(err); {
	case strings.Contains(rule, "open_key"):
		return workflow.ErrOpen
	case strings.Contains(rule, "post"):
		return workflow.ErrDoubled
	case strings.Contains(rule, "investigation"):
		return workflow.ErrConflict
	}
	return err
}

// time is one instant per transaction, or per reading.
func (c *conn) time(ctx context.Context) (time.Time, error) {
	switch {
	case !c.at.IsZero():
	case c.clock != nil:
		c.at = c.clock().UTC().Truncate(time.Microsecond)
	default:
		if _, err := c.one(ctx, "SELECT "+c.dialect.now, nil, &c.at); err != nil {
			return c.at, fmt.Errorf("reading the database's time: %w", err)
		}
	}
	return c.at, nil
}

// exec runs a statement and returns how many rows it touched.
func (c *conn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	defer c.using()()
	res, err := c.q.ExecContext(ctx, c.dialect.rebind(query), stored(args)...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// using holds the pools as they are until the returned function is called.
func (c *conn) using() (done func()) {
	if c.use == nil {
		return func() {}
	}
	c.use.RLock()
	return c.use.RUnlock
}

// one reads at most one row.
func (c *conn) one(ctx context.Context, query string, args []any, into ...any) (found bool, err error) {
	err = c.each(ctx, query, args, func(scan func(...any) error) error {
		found = true
		return scan(into...)
	})
	return found, err
}

// each calls f for every row; scan reads its columns.
func (c *conn) each(ctx context.Context, query string, args []any, f func(scan func(...any) error) error) error {
	defer c.using()()
	rows, err := c.q.QueryContext(ctx, c.dialect.rebind(query), stored(args)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	scan := func(into ...any) error { return rows.Scan(targets(into)...) }
	for rows.Next() {
		if err := f(scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// several is a list of n placeholders.
func several(n int) string {
	return "(" + strings.TrimSuffix(strings.Repeat("?,", n), ",") + ")"
}
