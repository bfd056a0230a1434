package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// OpenSQLite opens, or makes, a store in one file on a local disk. One process has it at a time; a second one is refused.
// What the last process had claimed when it ended can be claimed at once: nobody else can be working on it.
func OpenSQLite(ctx context.Context, path string, o Options) (*DB, error) {
	db, err := openSQLite(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("opening the store %s: %w", path, err)
	}
	return db, nil
}

func openSQLite(ctx context.Context, path string, o Options) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	steps, err := migrations()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	release, err := lockFile(path + ".lock")
	if err != nil {
		return nil, err
	}
	db, err := connectSQLite(path, o)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	db.release = release
	if err = db.migrate(ctx, steps); err == nil {
		err = errors.Join(db.keepNumbers(ctx), db.takeOver(ctx))
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// takeOver lets everything be claimed again: nobody but this process can be working on it.
func (db *DB) takeOver(ctx context.Context) error {
	return db.inTx(ctx, "taking over unfinished work", func(c *conn) error {
		_, err := c.exec(ctx, "UPDATE job SET lease_until = 0 WHERE state = 'claimed'")
		return err
	})
}

func connectSQLite(path string, o Options) (*DB, error) {
	// The files beside the database get its permissions.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	db := &DB{dialect: sqliteDialect, now: o.Now, path: path, numbers: numbers(o.Numbers)}
	if db.now == nil {
		db.now = time.Now
	}
	if err := db.connect(); err != nil {
		return nil, err
	}
	return db, nil
}

// connect opens the pools on the file that is there.
func (db *DB) connect() (err error) {
	if db.write, err = sql.Open("sqlite", sqliteDSN(db.path, "_txlock=immediate")); err != nil {
		return err
	}
	// One writer: whoever wants to write waits in Go, in order, instead of in SQLite, by chance.
	db.write.SetMaxOpenConns(1)
	if db.read, err = sql.Open("sqlite", sqliteDSN(db.path, "_pragma=query_only(1)")); err != nil {
		return errors.Join(err, db.write.Close())
	}
	db.read.SetMaxOpenConns(4)
	db.opened = files{}
	db.opened.main, err = os.Stat(db.path)
	return err
}

// sqliteDSN names the file with how it is used: readers do not wait for the writer (WAL), a commit is on the disk when
// it returns (FULL), and what is deleted is overwritten, so that what was forgotten is gone. A file that somebody removed is
// not made by opening it (rw): it would be empty.
func sqliteDSN(path, more string) string {
	u := url.URL{Scheme: "file", Path: path, OmitHost: true}
	return u.String() + "?mode=rw&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=secure_delete(1)&" + more
}

// Backup writes a copy of the store to a new file, while the bot goes on working.
func (db *DB) Backup(ctx context.Context, path string) error {
	if db.path == "" {
		return errors.New("this store is a PostgreSQL database: back it up with pg_dump, which doesn't need downtime either")
	}
	if err := db.backup(ctx, path); err != nil {
		return fmt.Errorf("copying the store to %s: %w", path, err)
	}
	return nil
}

func (db *DB) backup(ctx context.Context, path string) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(errors.New("the file already exists; name a new one"), err)
	}
	part, err := os.CreateTemp(filepath.Dir(path), ".backup-*") // only the owner may read it
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	defer part.Close()
	conn, err := sql.Open("sqlite", sqliteDSN(db.path, ""))
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "VACUUM INTO ?", part.Name()); err != nil {
		return err
	}
	if err := part.Sync(); err != nil {
		return err
	}
	// A link, unlike a rename, never replaces a file that somebody made in the meantime.
	if err := os.Link(part.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
