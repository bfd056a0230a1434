package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Whoever removes the log beside a store, to save room say, takes nothing from it: what was written is there after a crash.
func TestAStoreWhoseLogIsRemovedLosesNothingInACrash(t *testing.T) {
	db, path := kept(t)
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	noted(t, db, "before", "1")
	if err := db.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	noted(t, db, "after", "2")
	crashed := filepath.Join(t.TempDir(), "faultline.db")
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + end)
		if err == nil {
			err = os.WriteFile(crashed+end, b, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	again, err := OpenSQLite(t.Context(), crashed, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	has(t, again, "n", "1")
	has(t, again, "before", "1")
	has(t, again, "after", "2")
}
