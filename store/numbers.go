package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// numbers is a file outside of the database with the highest number that an investigation was ever given. A restore takes the
// database back to what it was, but not this file; so a number that people remember never names another case.
type numbers string

// firstClock is when numbers by the clock begin: seconds since then. No installation opens a case a second for years, so such a
// number is above all that were given before.
var firstClock = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// byClock is the number after which those go on that nobody can tell any more.
func byClock(now time.Time) int64 { return max(int64(now.Sub(firstClock)/time.Second), 0) }

// read returns the highest number, and false where there is no file.
func (n numbers) read() (int64, bool, error) {
	b, err := os.ReadFile(string(n))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("reading the highest case number: %w", err)
	}
	last, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || last < 0 {
		return 0, false, fmt.Errorf("%s contains no number: write the highest case number ever posted into it", string(n))
	}
	return last, true, nil
}

// write keeps the highest number; when it returns, a crash does not lose it.
func (n numbers) write(last int64) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("saving the highest case number: %w", err)
		}
	}()
	dir := filepath.Dir(string(n))
	part, err := os.CreateTemp(dir, ".last-case-*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) // after the rename there is nothing to remove
	_, err = fmt.Fprintln(part, last)
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), string(n)); err != nil {
		return err
	}
	return syncDir(dir)
}

// beyond is the number after given, which is the highest that the database knows, and after every one that was ever given.
func (n numbers) beyond(given int64, now time.Time) (int64, error) {
	last, known, err := n.read()
	if err != nil {
		return 0, err
	}
	if !known { // it was lost, and perhaps the newest part of the database with it
		last = byClock(now)
	}
	next := max(given, last) + 1
	return next, n.write(next)
}

// keepNumbers begins to keep the numbers of a database outside of it, where that was not done yet. From then on a missing file
// means that it was lost.
func (db *DB) keepNumbers(ctx context.Context) error {
	if db.numbers == "" {
		return nil
	}
	return db.inTx(ctx, "saving the highest case number", func(c *conn) error {
		begun, err := c.exec(ctx, "UPDATE counter SET value = 1 WHERE name = 'numbers kept' AND value = 0")
		if err != nil || begun == 0 {
			return err
		}
		var given int64
		if _, err := c.one(ctx, "SELECT value FROM counter WHERE name = 'investigation'", nil, &given); err != nil {
			return err
		}
		last, _, err := db.numbers.read()
		if err != nil {
			return err
		}
		return db.numbers.write(max(given, last))
	})
}

// NewID implements workflow.Durable.
func (db *DB) NewID(ctx context.Context) (id string, err error) {
	err = db.inTx(ctx, "numbering an investigation", func(c *conn) error {
		var n int64 // the row is ours from here on: whoever else wants a number waits
		if _, err := c.one(ctx, "UPDATE counter SET value = value + 1 WHERE name = 'investigation' RETURNING value", nil, &n); err != nil {
			return err
		}
		if db.numbers != "" {
			now, err := c.time(ctx)
			if err != nil {
				return err
			}
			if n, err = db.numbers.beyond(n-1, now); err != nil {
				return err
			}
			if _, err := c.exec(ctx, "UPDATE counter SET value = ? WHERE name = 'investigation'", n); err != nil {
				return err
			}
		}
		id = fmt.Sprintf("F-%d", n)
		return nil
	})
	return id, err
}
