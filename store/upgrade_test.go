package store

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"faultline/workflow"
)

// A database that the release before schema 4 wrote, with its own code: two cases in the middle of their work, a message that was sent
// and three that wait. It is never written anew.
//
//go:embed testdata/schema3.db.gz
var schema3 []byte

func TestTheDatabaseOfThePreviousReleaseGoesOn(t *testing.T) {
	ctx := context.Background()
	z, err := gzip.NewReader(bytes.NewReader(schema3))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bot.db")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	old, err := connectSQLite(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var version int
	if _, err := old.reader().one(ctx, "SELECT max(version) FROM schema_version", nil, &version); err != nil || version != 3 {
		t.Fatalf("the file is of schema %d, not 3; %v", version, err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	for _, open := range []string{"the first time", "again"} {
		db, err := OpenSQLite(ctx, path, Options{})
		if err != nil {
			t.Fatalf("%s: %v", open, err)
		}
		steps, err := migrations()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.reader().one(ctx, "SELECT max(version) FROM schema_version", nil, &version); err != nil || version != len(steps) {
			t.Errorf("%s: schema %d of %d; %v", open, version, len(steps), err)
		}
		keys := map[string]bool{}
		for _, id := range []string{"F-1", "F-2"} {
			inv, err := db.Load(ctx, id)
			if err != nil || inv.State != workflow.Verifying || inv.Report == nil || inv.Report.Verdict.Mechanism != "rank-stalled" || len(inv.Sources) != 1 || inv.Sources[0].Path != "/spool/a.out" {
				t.Errorf("%s: %s is %+v; %v", open, id, inv, err)
			}
			keys[inv.Key] = true
			entries, err := db.Ledger(ctx, id)
			if err != nil || len(entries) != 1 || entries[0].Text != "requested" {
				t.Errorf("%s: the ledger of %s: %+v; %v", open, id, entries, err)
			}
		}
		if len(keys) != 2 || keys[""] {
			t.Errorf("%s: keys %v", open, keys)
		}
		sent, err := db.Posted(ctx, "F-1", "case")
		if err != nil || sent.TS != "1767323045.000100" {
			t.Errorf("%s: sent %+v; %v", open, sent, err)
		}
		if n, _, err := db.Backlog(ctx); err != nil || n != 3 {
			t.Errorf("%s: %d posts wait; %v", open, n, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db, err := OpenSQLite(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if id, err := db.NewID(ctx); id != "F-3" || err != nil {
		t.Errorf("the next is %s; %v", id, err)
	}
	if l, err := db.Claim(ctx, []string{workflow.JobRun}, "new", time.Minute); err != nil || l == nil || l.Investigation != "F-1" {
		t.Errorf("claimed %+v; %v", l, err)
	}
}
