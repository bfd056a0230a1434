package store_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	_ "embed"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"faultline/store"
	"faultline/store/storetest"
	"faultline/workflow"
)

// Databases that the release before schema 4 wrote, with its own code: two cases in the middle of their work, a message that was sent
// and three that wait. They are never written anew. That of PostgreSQL is a dump.
var (
	//go:embed testdata/schema3.db.gz
	schema3 []byte
	//go:embed testdata/schema3.pg.sql.gz
	schema3Postgres []byte
)

func unzipped(t *testing.T, packed []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestTheDatabaseOfThePreviousReleaseGoesOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bot.db")
	if err := os.WriteFile(path, unzipped(t, schema3), 0o600); err != nil {
		t.Fatal(err)
	}
	goesOn(t, "sqlite", path, store.OpenSQLite)
}

func TestThePostgresDatabaseOfThePreviousReleaseGoesOn(t *testing.T) {
	t.Parallel()
	dsn := storetest.SharedPostgres(t).DSN(t)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), string(unzipped(t, schema3Postgres))); err != nil {
		t.Fatal(err)
	}
	goesOn(t, "pgx", dsn, store.OpenPostgres)
}

// goesOn opens an old database with this program, twice, and goes on with its work.
func goesOn(t *testing.T, driver, dsn string, openStore func(context.Context, string, store.Options) (*store.DB, error)) {
	t.Helper()
	ctx := t.Context()
	raw, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	version := func() (n int) {
		if err := raw.QueryRowContext(ctx, "SELECT max(version) FROM schema_version").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	steps, err := filepath.Glob("schema/*.sql")
	if err != nil || len(steps) < 4 {
		t.Fatalf("%d steps; %v", len(steps), err)
	}
	if n := version(); n != 3 {
		t.Fatalf("the database is of schema %d, not 3", n)
	}
	defer raw.Close()
	open := func() *store.DB {
		db, err := openStore(ctx, dsn, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	for _, when := range []string{"the first time", "again"} {
		db := open()
		if n := version(); n != len(steps) {
			t.Errorf("%s: schema %d of %d", when, n, len(steps))
		}
		keys := map[string]bool{}
		for _, id := range []string{"F-1", "F-2"} {
			inv, err := db.Load(ctx, id)
			if err != nil || inv.State != workflow.Verifying || inv.Report == nil || inv.Report.Verdict.Mechanism != "rank-stalled" || len(inv.Sources) != 1 || inv.Sources[0].Path != "/spool/a.out" {
				t.Errorf("%s: %s is %+v; %v", when, id, inv, err)
			}
			keys[inv.Key] = true
			entries, err := db.Ledger(ctx, id)
			if err != nil || len(entries) != 1 || entries[0].Text != "requested" {
				t.Errorf("%s: the ledger of %s: %+v; %v", when, id, entries, err)
			}
		}
		if len(keys) != 2 || keys[""] {
			t.Errorf("%s: keys %v", when, keys)
		}
		sent, err := db.Posted(ctx, "F-1", "case")
		if err != nil || sent.TS != "1767323045.000100" {
			t.Errorf("%s: sent %+v; %v", when, sent, err)
		}
		if n, _, err := db.Backlog(ctx); err != nil || n != 3 {
			t.Errorf("%s: %d posts wait; %v", when, n, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db := open()
	defer db.Close()
	if id, err := db.NewID(ctx); id != "F-3" || err != nil {
		t.Errorf("the next is %s; %v", id, err)
	}
	if l, err := db.Claim(ctx, []string{workflow.JobRun}, "new", time.Minute); err != nil || l == nil || l.Investigation != "F-1" {
		t.Errorf("claimed %+v; %v", l, err)
	}
}
