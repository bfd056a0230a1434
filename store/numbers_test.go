package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"faultline/store/storetest"
	"faultline/workflow"
)

// numbered opens one of the databases with a file for its numbers, again and again.
func numbered(t *testing.T, kind, file string) func() *DB {
	dir, dsn := t.TempDir(), ""
	if kind == "PostgreSQL" {
		dsn = storetest.SharedPostgres(t).DSN(t)
	}
	o := Options{Numbers: file, Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }}
	return func() *DB {
		var db *DB
		var err error
		if dsn != "" {
			db, err = OpenPostgres(t.Context(), dsn, o)
		} else {
			db, err = OpenSQLite(t.Context(), filepath.Join(dir, "bot.db"), o)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
}

func give(t *testing.T, db *DB, want ...string) {
	t.Helper()
	for _, w := range want {
		if id, err := db.NewID(t.Context()); err != nil || id != w {
			t.Fatalf("%s, want %s; %v", id, w, err)
		}
	}
}

// restored takes the database back to what it knew when one case was open.
func restored(t *testing.T, db *DB) {
	t.Helper()
	if _, err := db.write.ExecContext(t.Context(), "UPDATE counter SET value = 1 WHERE name = 'investigation'"); err != nil {
		t.Fatal(err)
	}
}

func TestNumbersAreNotGivenAgainAfterARestore(t *testing.T) {
	for _, kind := range []string{"SQLite", "PostgreSQL"} {
		t.Run(kind, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "last-case")
			open := numbered(t, kind, file)
			db := open()
			give(t, db, "F-1", "F-2", "F-3")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db = open()
			give(t, db, "F-4")
			restored(t, db)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db = open()
			give(t, db, "F-5")
			restored(t, db)
			give(t, db, "F-6")

			// The disk was lost with the file.
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			restored(t, db)
			give(t, db, "F-31633446", "F-31633447") // seconds since 2025

			if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			if id, err := db.NewID(t.Context()); err == nil || !strings.Contains(err.Error(), "contains no number") {
				t.Fatalf("%s, %v", id, err)
			}
		})
	}
}

// The documented restore, with a copy that the bot made while it worked.
func TestTheDocumentedRestore(t *testing.T) {
	dir := t.TempDir()
	o := Options{Numbers: filepath.Join(dir, "last-case")}
	path, copied := filepath.Join(dir, "bot.db"), filepath.Join(t.TempDir(), "copy.db")
	db, err := OpenSQLite(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	give(t, db, "F-1")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, beside := range []string{"-wal", "-shm"} {
		_ = os.Remove(path + beside) // there may be none
	}
	if db, err = OpenSQLite(t.Context(), path, o); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	give(t, db, "F-2")
}

// An upgrade is no restore: numbers go on, and cases get keys, each its own.
func TestOldCasesGetKeysAndNumbersGoOn(t *testing.T) {
	for name, at := range databases(t) {
		t.Run(name, func(t *testing.T) {
			place := at(t)
			old := place.connect()
			steps, err := migrations()
			if err != nil {
				t.Fatal(err)
			}
			if err := old.migrate(t.Context(), steps[:3]); err != nil {
				t.Fatal(err)
			}
			fill(t, old)
			_, err = old.write.ExecContext(t.Context(), "INSERT INTO investigation (id, version, state, open_key, team, channel, cluster, job, requester, summary, data) SELECT 'F-2', version, state, '', team, channel, cluster, job, requester, summary, data FROM investigation")
			if err != nil {
				t.Fatal(err)
			}
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := place.open()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			keys := map[string]bool{}
			for _, id := range []string{"F-1", "F-2"} {
				inv, err := db.Load(t.Context(), id)
				if err != nil || len(inv.Key) < 16 || keys[inv.Key] {
					t.Fatalf("%s: %q, %v", id, inv.Key, err)
				}
				keys[inv.Key] = true
			}
			inv, err := db.Load(t.Context(), "F-1")
			if err != nil {
				t.Fatal(err)
			}
			key := inv.Key
			if err := db.Save(t.Context(), workflow.Change{Investigation: &inv}); err != nil {
				t.Fatal(err)
			}
			if inv, err = db.Load(t.Context(), "F-1"); err != nil || inv.Key != key {
				t.Fatalf("after a save: %q, was %q; %v", inv.Key, key, err)
			}
			db.numbers = numbers(filepath.Join(t.TempDir(), "last-case"))
			if err := db.keepNumbers(t.Context()); err != nil {
				t.Fatal(err)
			}
			give(t, db, "F-2")
		})
	}
}
