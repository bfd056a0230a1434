package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"faultline/store"
	"faultline/store/storetest"
	"faultline/workflow"
)

func TestSQLiteIsADurable(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Open {
		path := filepath.Join(t.TempDir(), "bot.db")
		return func(t *testing.T, now func() time.Time) workflow.Durable {
			return openSQLite(t, path, store.Options{Now: now})
		}
	})
}

func openSQLite(t *testing.T, path string, o store.Options) *store.DB {
	t.Helper()
	db, err := store.OpenSQLite(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func save(t *testing.T, db *store.DB, c workflow.Change) {
	t.Helper()
	if err := db.Save(context.Background(), c); err != nil {
		t.Fatal(err)
	}
}

func TestOneSQLiteFileServesOneBot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bot.db")
	first := openSQLite(t, path, store.Options{})
	_, err := store.OpenSQLite(context.Background(), path, store.Options{})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d has it open", os.Getpid())) {
		t.Fatalf("got %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := openSQLite(t, path, store.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAnyNameOfAFileWillDoAndOnlyItsOwnerMayReadIt(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a b.db", "50%41.db", "what?_pragma=x.db", "new/folder/#1&=.db", "ü.db"} {
		db := openSQLite(t, filepath.Join(dir, name), store.Options{})
		save(t, db, workflow.Change{Entries: []workflow.Entry{{Text: name}}})
		entries, err := os.ReadDir(filepath.Dir(filepath.Join(dir, name)))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(e.Name(), filepath.Base(name)) {
				found++
				if info.Mode().Perm() != 0o600 {
					t.Errorf("%s has the mode %v", e.Name(), info.Mode())
				}
			}
		}
		if found != 4 { // the database, its two companions, and the lock
			t.Errorf("%s: %d files, want 4", name, found)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACopyIsMadeWhileTheBotWorks(t *testing.T) {
	dir := t.TempDir()
	db := openSQLite(t, filepath.Join(dir, "bot.db"), store.Options{})
	defer db.Close()
	save(t, db, workflow.Change{Entries: []workflow.Entry{{Text: "before"}}, Jobs: []workflow.Job{{Key: "a", Kind: workflow.JobRun}}})
	l, err := db.Claim(context.Background(), []string{workflow.JobRun}, "w", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "copy.db")
	if err := db.Backup(context.Background(), copied); err != nil {
		t.Fatal(err)
	}
	save(t, db, workflow.Change{Entries: []workflow.Entry{{Text: "after"}}, Done: l})
	if err := db.Backup(context.Background(), copied); err == nil || !strings.Contains(err.Error(), "name a new one") {
		t.Fatalf("over an existing file: %v", err)
	}
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	other := openSQLite(t, copied, store.Options{})
	defer other.Close()
	entries, err := other.Ledger(context.Background(), "")
	if err != nil || len(entries) != 1 || entries[0].Text != "before" {
		t.Fatalf("%+v, %v", entries, err)
	}
	jobs, err := other.Waiting(context.Background())
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%+v, %v", jobs, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".backup*"))
	if err != nil || len(left) > 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
}

// What is forgotten must not be found in the files by somebody who looks at their bytes.
func TestForgottenWordsAreNotInTheFiles(t *testing.T) {
	dir := t.TempDir()
	db := openSQLite(t, filepath.Join(dir, "bot.db"), store.Options{})
	defer db.Close()
	words := []byte("words-to-forget")
	inFiles := func() bool {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(b, words) {
				return true
			}
		}
		return false
	}
	inv := workflow.Investigation{ID: "F-1", State: workflow.Requested, Notes: []string{strings.Repeat(string(words), 1000)}}
	save(t, db, workflow.Change{Investigation: &inv, Entries: []workflow.Entry{{Text: string(words)}},
		Posts: []workflow.Post{{Investigation: "F-1", Kind: workflow.PostMessage, Payload: words}},
		Jobs:  []workflow.Job{{Key: "a", Kind: workflow.JobRun, Investigation: "F-1", Payload: words}, {Key: "b", Kind: workflow.JobOver, Payload: words}}})
	if !inFiles() {
		t.Fatal("the words are not where they should be")
	}
	// A job that is of no investigation keeps nothing once it is done.
	l, err := db.Claim(context.Background(), []string{workflow.JobOver}, "w", time.Minute)
	if err != nil || l == nil || !bytes.Equal(l.Payload, words) {
		t.Fatal(l, err)
	}
	if err := db.Finish(context.Background(), l); err != nil {
		t.Fatal(err)
	}
	if err := db.Forget(context.Background(), "F-1", "U1"); err != nil {
		t.Fatal(err)
	}
	if inFiles() {
		t.Fatal("the words are still there")
	}
}

// A bot that was killed goes on at once: nobody waits for the lease of a process that is gone.
func TestARestartDoesNotWaitForItsOwnLeases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bot.db")
	db := openSQLite(t, path, store.Options{})
	save(t, db, workflow.Change{Jobs: []workflow.Job{{Key: "a", Kind: workflow.JobRun}}})
	if l, err := db.Claim(context.Background(), []string{workflow.JobRun}, "w", time.Hour); l == nil || err != nil {
		t.Fatalf("%+v, %v", l, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openSQLite(t, path, store.Options{})
	defer db.Close()
	if l, err := db.Claim(context.Background(), []string{workflow.JobRun}, "w", time.Hour); l == nil || err != nil || l.Fence != 2 {
		t.Fatalf("%+v, %v", l, err)
	}
}

// writerEnv makes a test binary a bot that writes without end; see TestNothingThatWasAcknowledgedIsLostByKill9.
const writerEnv = "FAULTLINE_TEST_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		if err := writeForEver(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	code := m.Run()
	storetest.StopShared()
	os.Exit(code)
}

// writeForEver saves one change after the other and prints the number of each once it is stored.
func writeForEver(path string) error {
	ctx := context.Background()
	db, err := store.OpenSQLite(ctx, path, store.Options{})
	if err != nil {
		return err
	}
	inv, err := db.Load(ctx, "F-1")
	if errors.Is(err, workflow.ErrUnknown) {
		inv, err = workflow.Investigation{ID: "F-1", State: workflow.Triaging}, nil
	}
	for ; err == nil; inv.Version++ {
		key := fmt.Sprint("step ", inv.Version+1)
		err = db.Save(ctx, workflow.Change{Investigation: &inv, Entries: []workflow.Entry{{Text: key}},
			Posts: []workflow.Post{{Investigation: "F-1", Kind: workflow.PostMessage, Key: key, Channel: "C1"}},
			Jobs:  []workflow.Job{{Key: key, Kind: workflow.JobRun, Investigation: "F-1"}}})
		fmt.Println(inv.Version + 1)
	}
	return err
}

func TestNothingThatWasAcknowledgedIsLostByKill9(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bot.db")
	acknowledged := 0
	for range 5 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writerEnv+"="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if _, err := fmt.Fscan(out, &acknowledged); err != nil {
				t.Fatal(err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for _, err := fmt.Fscan(out, &acknowledged); err == nil; _, err = fmt.Fscan(out, &acknowledged) {
			continue // what it said before it died counts
		}
		_ = cmd.Wait() // it was killed
	}
	db := openSQLite(t, path, store.Options{})
	defer db.Close()
	inv, err := db.Load(context.Background(), "F-1")
	if err != nil || inv.Version < acknowledged || inv.Version > acknowledged+1 {
		t.Fatalf("version %d is stored, %d was acknowledged; %v", inv.Version, acknowledged, err)
	}
	entries, err := db.Ledger(context.Background(), "F-1")
	posts, err2 := db.Posts(context.Background(), "F-1")
	jobs, err3 := db.Waiting(context.Background())
	if n := inv.Version; len(entries) != n || len(posts) != n || len(jobs) != n || errors.Join(err, err2, err3) != nil {
		t.Fatalf("of version %d there are %d entries, %d posts, %d jobs; %v", n, len(entries), len(posts), len(jobs), errors.Join(err, err2, err3))
	}
}
