package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// files are those of an SQLite store that are open.
type files struct{ main, wal os.FileInfo }

// astray says that the file that is open is not the one that its path leads to.
type astray struct{ short, long string }

func (a *astray) Error() string { return a.long }

// inPlace says why the file that is open is not the one that its path leads to. What is written to a file without a name is gone
// with the process, so nothing is.
func (db *DB) inPlace() error {
	if db.path == "" {
		return nil
	}
	now, err := os.Stat(db.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &astray{"the database file is gone", db.path + " is gone: put it back, or wait until it is rebuilt from the open copy"}
	case err == nil && !os.SameFile(now, db.opened.main):
		return &astray{"the database file was replaced", db.path + " was replaced; put a store in its place"}
	}
	return nil // a path that may not be looked at keeps nobody from the file that is open
}

// adopt goes over to the file that the path leads to, where that is another one: a whole store is what somebody restored.
func (db *DB) adopt(ctx context.Context) error {
	db.gate.RLock()
	stray := db.inPlace()
	db.gate.RUnlock()
	if stray == nil {
		return db.keepLog(ctx)
	}
	now, err := os.Stat(db.path)
	if err != nil {
		return stray
	}
	if err := whole(ctx, db.path); err != nil {
		return fmt.Errorf("%w: %w", stray, err)
	}
	if age := time.Since(now.ModTime()); age >= 0 && age < settled {
		return stray
	}
	return db.changePools(ctx, db.keepTheirs)
}

// keepLog sees to it that what is written lasts. Where somebody removed the log beside the file, SQLite goes on writing to one without
// a name, which a crash would take along: then all of it is brought into the file, and a new log is begun.
func (db *DB) keepLog(ctx context.Context) error {
	if db.path == "" {
		return nil
	}
	wal, err := os.Stat(db.path + "-wal")
	switch was := db.opened.wal; {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil // nobody can tell
	case was == nil, err == nil && os.SameFile(was, wal):
		db.opened.wal = wal
		return nil
	}
	return db.reopen(ctx, func(closing func() error) error {
		var busy, pages, moved int
		if err := db.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved); err != nil || busy != 0 {
			return errors.Join(errors.New("the write-ahead log of "+db.path+" is gone and was not yet merged into it"), err)
		}
		return closing()
	})
}

// whole says why a file is no store that this program can use. It leaves no trace beside the file.
func whole(ctx context.Context, path string) error {
	u := url.URL{Scheme: "file", Path: path, OmitHost: true}
	conn, err := sql.Open("sqlite", u.String()+"?mode=ro&immutable=1")
	if err != nil {
		return err
	}
	defer conn.Close()
	var version int
	if err := conn.QueryRowContext(ctx, "SELECT max(version) FROM schema_version").Scan(&version); err != nil {
		return err
	}
	return nil
}

// Rescue writes a store anew whose file somebody removed: this process still has all of it. It is an error that is
// fs.ErrExist when there is a file.
func (db *DB) Rescue(ctx context.Context) error {
	if db.path == "" {
		return fs.ErrExist
	}
	if _, err := os.Lstat(db.path); !errors.Is(err, fs.ErrNotExist) {
		return fs.ErrExist
	}
	if err := os.MkdirAll(filepath.Dir(db.path), 0o700); err != nil {
		return fmt.Errorf("rewriting the store: %w", err)
	}
	part := db.path + ".rescued"
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("rewriting the store: %w", err)
	}
	err := db.changePools(ctx, func(closing func() error) error {
		f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // only the owner may read it
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := db.write.ExecContext(ctx, "VACUUM INTO ?", part); err != nil {
			return err
		}
		// A link, unlike a rename, never replaces a file that somebody put back in the meantime. Only then nothing is lost
		// with what is open.
		if err := errors.Join(f.Sync(), os.Link(part, db.path), syncDir(filepath.Dir(db.path))); err != nil {
			return err
		}
		return errors.Join(closing(), os.Remove(part))
	})
	if err != nil {
		return fmt.Errorf("rewriting the store: %w", err)
	}
	return nil
}

// changePools goes over to a file that may be another store, or of another time.
func (db *DB) changePools(ctx context.Context, change func(closing func() error) error) error {
	if err := db.reopen(ctx, change); err != nil {
		return err
	}
	steps, err := migrations()
	if err != nil {
		return err
	}
	return errors.Join(db.migrate(ctx, steps), db.takeOver(ctx))
}

// reopen lets change close the pools while nobody uses them, and opens them on the file that is there then. Pools that change leaves
// open go on: they may hold what is nowhere else.
func (db *DB) reopen(ctx context.Context, change func(closing func() error) error) error {
	// Not Lock, which would make those wait who read while they read.
	for !db.gate.TryLock() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	closed := false
	err := change(func() error {
		closed = true
		return db.closePools()
	})
	if closed {
		err = errors.Join(err, db.connect())
	}
	if err == nil {
		err = db.lockAgain()
	}
	db.gate.Unlock()
	return err
}

// closePools closes every connection, and leaves nothing of the old file beside the path: its log would be taken for that of
// another file.
func (db *DB) closePools() error {
	// A file that has moved is not brought up to date when it is closed: without its log it would lack what was written last.
	// An error is nobody's concern: a file that was removed needs it no more.
	_, _ = db.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	err := errors.Join(db.read.Close(), db.write.Close())
	for _, end := range []string{"-wal", "-shm"} {
		if rerr := os.Remove(db.path + end); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}

// keepTheirs calls closing, which removes the log beside the path, and keeps a log that came with the new file.
func (db *DB) keepTheirs(closing func() error) error {
	wal := db.path + "-wal"
	now, err := os.Stat(wal)
	if err != nil || db.opened.wal != nil && os.SameFile(now, db.opened.wal) {
		return closing()
	}
	aside := wal + ".new"
	if err := os.Rename(wal, aside); err != nil {
		return err
	}
	return errors.Join(closing(), os.Rename(aside, wal))
}

// lockAgain takes the lock anew where its file is gone too.
func (db *DB) lockAgain() error {
	if _, err := os.Lstat(db.path + ".lock"); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	release, err := lockFile(db.path + ".lock")
	if err != nil {
		return err
	}
	err = db.release()
	db.release = release
	return err
}
