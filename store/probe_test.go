package store

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"faultline/workflow"
)

// kept is a store with one note in it.
func kept(t *testing.T) (db *DB, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "faultline.db")
	db, err := OpenSQLite(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	noted(t, db, "n", "1")
	if err := db.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db, path
}

// Whoever moves a store away has all of it, though the newest is in the log beside the path.
func TestAStoreThatWasMovedAwayIsWhole(t *testing.T) {
	db, path := kept(t)
	aside := path + ".aside"
	if err := os.Rename(path, aside); err != nil {
		t.Fatal(err)
	}
	if err := db.Rescue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, path); err != nil {
		t.Fatal(err)
	}
	if err := db.Save(t.Context(), workflow.Change{Notes: []workflow.Note{{Key: "lost"}}}); err == nil {
		t.Error("something is written to a file that was replaced")
	}
	time.Sleep(settled)
	if err := db.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	has(t, db, "n", "1")
}

func noted(t *testing.T, db *DB, key, value string) {
	t.Helper()
	if err := db.Save(t.Context(), workflow.Change{Notes: []workflow.Note{{Key: key, Value: []byte(value)}}}); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, db *DB, key, value string) {
	t.Helper()
	if n, err := db.Note(t.Context(), key); err != nil || string(n.Value) != value {
		t.Errorf("the note %s is %q (%v)", key, n.Value, err)
	}
}

func TestAStoreWhoseFileIsRemovedIsWrittenAnew(t *testing.T) {
	for name, remove := range map[string]string{"the file": "", "all its files": "*", "its folder": ".."} {
		t.Run(name, func(t *testing.T) {
			db, path := kept(t)
			gone, err := filepath.Glob(path + remove)
			if remove == ".." {
				gone = []string{filepath.Dir(path)}
			}
			for _, g := range gone {
				err = errors.Join(err, os.RemoveAll(g))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Probe(t.Context()); err == nil || db.Reason(err) != "the database file is gone" {
				t.Fatalf("%v", err)
			}
			if err := db.Save(t.Context(), workflow.Change{Notes: []workflow.Note{{Key: "lost"}}}); err == nil {
				t.Error("something is written to a file that is gone")
			}
			has(t, db, "n", "1")
			db.read.SetMaxIdleConns(0) // so that the next reader opens the path
			if _, err := db.Note(t.Context(), "n"); err == nil {
				t.Error("something else than the file is read")
			}
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a reader made an empty file (%v)", err)
			}
			if err := db.Rescue(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := db.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			noted(t, db, "m", "2")
			if err := db.Rescue(t.Context()); !errors.Is(err, fs.ErrExist) {
				t.Errorf("a store that is there is written anew: %v", err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := OpenSQLite(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			has(t, again, "n", "1")
			has(t, again, "m", "2")
		})
	}
}

func TestAStoreThatIsPutInThePlaceOfAnotherIsGoneOverTo(t *testing.T) {
	db, path := kept(t)
	copied := path + ".copy"
	if err := db.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	noted(t, db, "later", "3")
	put := func(file string) {
		t.Helper()
		if err := os.Rename(file, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path+".bad", []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(path + ".bad")
	if err := db.Probe(t.Context()); err == nil || db.Reason(err) != "the database file was replaced" {
		t.Fatalf("%v", err)
	}
	has(t, db, "later", "3") // what is open is still there
	put(copied)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		err := db.Probe(t.Context())
		if err == nil {
			break
		}
		if time.Now().After(end) || !strings.Contains(err.Error(), "replaced") {
			t.Fatal(err)
		}
	}
	has(t, db, "n", "1")
	has(t, db, "later", "")
	noted(t, db, "m", "2")
	has(t, db, "m", "2")
	if err := integrity(t, path); err != nil {
		t.Error(err)
	}
}

func integrity(t *testing.T, path string) error {
	t.Helper()
	db, err := sql.Open("sqlite", sqliteDSN(path, ""))
	if err != nil {
		return err
	}
	defer db.Close()
	var text string
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&text); err != nil {
		return err
	}
	if text != "ok" {
		return errors.New(text)
	}
	return nil
}
