package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"faultline/store"
	"faultline/store/storetest"
	"faultline/workflow"
)

func TestPostgresIsADurable(t *testing.T) {
	t.Parallel()
	server := storetest.SharedPostgres(t)
	storetest.Run(t, func(t *testing.T) storetest.Open {
		dsn := server.DSN(t)
		return func(t *testing.T, now func() time.Time) workflow.Durable {
			db, err := store.OpenPostgres(t.Context(), dsn, store.Options{Now: now})
			if err != nil {
				t.Fatal(err)
			}
			return db
		}
	})
}

// Two bots on two hosts share one database, and its clock: what each believes about the time does not matter.
func TestTwoBotsOnOneDatabaseNeverDoOneJobTwice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dsn := storetest.SharedPostgres(t).DSN(t)
	var bots [2]*store.DB
	var opening sync.WaitGroup
	for i := range bots {
		opening.Go(func() { // both make the tables at the same time
			db, err := store.OpenPostgres(ctx, dsn, store.Options{})
			if err != nil {
				t.Error(err)
			}
			bots[i] = db
		})
	}
	opening.Wait()
	if t.Failed() {
		t.FailNow()
	}
	defer bots[0].Close()
	defer bots[1].Close()

	const jobs = 100
	var working sync.WaitGroup
	for i, bot := range bots {
		for w := range 4 {
			working.Go(func() {
				for n := range jobs { // everybody adds all of them
					if _, err := bot.Enqueue(ctx, workflow.Job{Key: fmt.Sprint("job ", n), Kind: workflow.JobRun, Investigation: fmt.Sprint("F-", n%7)}); err != nil {
						t.Error(err)
						return
					}
				}
				for {
					l, err := bot.Claim(ctx, []string{workflow.JobRun}, fmt.Sprint("bot ", i, " worker ", w), time.Hour)
					if err != nil {
						t.Error(err)
						return
					}
					if l != nil {
						if err := bot.Save(ctx, workflow.Change{Done: l, Entries: []workflow.Entry{{Text: l.Key}}}); err != nil {
							t.Error(err)
							return
						}
						continue
					}
					if left, err := bot.Waiting(ctx); err != nil || len(left) == 0 {
						if err != nil {
							t.Error(err)
						}
						return
					}
				}
			})
		}
	}
	working.Wait()
	entries, err := bots[0].Ledger(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]bool{}
	for _, e := range entries {
		if done[e.Text] {
			t.Errorf("%s was done twice", e.Text)
		}
		done[e.Text] = true
	}
	if len(done) != jobs {
		t.Errorf("%d jobs were done, want %d", len(done), jobs)
	}
}

func TestTheTimeIsTheDatabases(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dsn := storetest.SharedPostgres(t).DSN(t)
	db, err := store.OpenPostgres(ctx, dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	began := time.Now()
	if err := db.Save(ctx, workflow.Change{Entries: []workflow.Entry{{Text: "x"}}, Jobs: []workflow.Job{{Key: "a", Kind: workflow.JobRun, After: time.Hour}, {Key: "b", Kind: workflow.JobRun}}}); err != nil {
		t.Fatal(err)
	}
	l, err := db.Claim(ctx, []string{workflow.JobRun}, "w", time.Hour)
	if err != nil || l == nil || l.Key != "b" {
		t.Fatalf("%+v, %v", l, err)
	}
	entries, err := db.Ledger(ctx, "")
	if err != nil || len(entries) != 1 {
		t.Fatalf("%+v, %v", entries, err)
	}
	for what, at := range map[string]time.Time{"entry": entries[0].At, "job": l.Added, "lease": l.Until.Add(-time.Hour)} {
		if d := at.Sub(began); d < -time.Minute || d > 10*time.Minute {
			t.Errorf("the time of the %s is %v, and it began at %v", what, at, began)
		}
	}
}

func TestAnAddressWithAPasswordIsNotRepeated(t *testing.T) {
	for _, dsn := range []string{"postgres://bot:hunter2@[::1", "postgres://bot:hunter2@127.0.0.1:1/db?connect_timeout=1", "password=hunter2 port=x"} {
		db, err := store.OpenPostgres(context.Background(), dsn, store.Options{})
		if err == nil {
			db.Close()
			t.Errorf("%s: no error", dsn)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is in: %v", err)
		}
	}
}

func TestPostgresSaysWhoMakesItsBackups(t *testing.T) {
	t.Parallel()
	db, err := store.OpenPostgres(context.Background(), storetest.SharedPostgres(t).DSN(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Backup(context.Background(), "x"); err == nil || !strings.Contains(err.Error(), "pg_dump") {
		t.Fatalf("got %v", err)
	}
}

// A connection that began while writing was not allowed refuses for as long as it lives. Once writing is allowed again, nobody meets one.
func TestConnectionsThatBeganReadOnlyAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dsn := storetest.StartPostgres(t).DSN(t)
	db, err := store.OpenPostgres(ctx, dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	admin, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	must := func(statement string) {
		t.Helper()
		if _, err := admin.ExecContext(ctx, "SET default_transaction_read_only = off; "+statement); err != nil {
			t.Fatal(err)
		}
	}
	var role string
	if err := admin.QueryRowContext(ctx, "SELECT current_user").Scan(&role); err != nil {
		t.Fatal(err)
	}
	must("ALTER ROLE \"" + role + "\" SET default_transaction_read_only = on")
	defer must("ALTER ROLE \"" + role + "\" RESET default_transaction_read_only")
	must("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = current_user")
	var reading sync.WaitGroup
	for range 12 { // reading works, so these connections go back to be used again
		reading.Go(func() {
			for range 20 {
				_, _ = db.Note(ctx, "anything")
			}
		})
	}
	reading.Wait()
	if err := db.Probe(ctx); err == nil {
		t.Fatal("a database that may only be read is written to")
	}
	for range 4 {
		reading.Go(func() { _, _ = db.Note(ctx, "anything") })
	}
	reading.Wait()
	must("ALTER ROLE \"" + role + "\" RESET default_transaction_read_only")
	for range 20 {
		if _, err := db.Enqueue(ctx, workflow.Job{Key: "a job", Kind: workflow.JobRun, Investigation: "F-1"}); err != nil {
			t.Fatalf("writing is allowed, and refused: %v", err)
		}
	}
}

// A dump is put back after more cases were opened, and the bot is started again: what the dump holds is there, and the numbers that were given
// since never name another case.
func TestADumpThatIsRestoredGivesNoNumberAgain(t *testing.T) {
	t.Parallel()
	server := storetest.SharedPostgres(t)
	dsn, file := server.DSN(t), filepath.Join(t.TempDir(), "last-case")
	given := map[string]bool{}
	opened := func(n int) {
		t.Helper()
		db, err := store.OpenPostgres(t.Context(), dsn, store.Options{Numbers: file})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for range n {
			id, err := db.NewID(t.Context())
			if err == nil {
				err = db.Save(t.Context(), workflow.Change{Investigation: &workflow.Investigation{ID: id, Job: "4242"}})
			}
			if err != nil || given[id] {
				t.Fatalf("%s; given before: %t; %v", id, given[id], err)
			}
			given[id] = true
		}
		if _, err := db.Load(t.Context(), "F-2"); err != nil {
			t.Error(err)
		}
	}
	opened(3)
	restore := server.Backup(t, dsn)
	opened(4)
	restore()
	opened(2)
	if !given["F-9"] || len(given) != 9 {
		t.Errorf("%v", given)
	}
}
