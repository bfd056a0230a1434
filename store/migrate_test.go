package store

import (
	"context"
	_ "embed"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"faultline/incident"
	"faultline/store/storetest"
	"faultline/workflow"
)

// A snapshot as version 1 wrote it. It is never written anew: that it can be read for ever is the point.
//
//go:embed testdata/version1-investigation.json
var version1Investigation []byte

// database is a way to open one of the two without bringing its tables up to date.
type database struct {
	connect func() *DB
	open    func() (*DB, error)
}

func databases(t *testing.T) map[string]func(t *testing.T) database {
	return map[string]func(t *testing.T) database{
		"SQLite": func(t *testing.T) database {
			path := filepath.Join(t.TempDir(), "bot.db")
			return database{
				func() *DB {
					db, err := connectSQLite(path, Options{})
					if err != nil {
						t.Fatal(err)
					}
					return db
				},
				func() (*DB, error) { return OpenSQLite(t.Context(), path, Options{}) },
			}
		},
		"PostgreSQL": func(t *testing.T) database {
			dsn := storetest.SharedPostgres(t).DSN(t)
			return database{
				func() *DB {
					db, err := connectPostgres(dsn, Options{})
					if err != nil {
						t.Fatal(err)
					}
					return db
				},
				func() (*DB, error) { return OpenPostgres(t.Context(), dsn, Options{}) },
			}
		},
	}
}

func TestWhatAnEarlierVersionBeganIsGoneOnWith(t *testing.T) {
	ctx := context.Background()
	for name, at := range databases(t) {
		t.Run(name, func(t *testing.T) {
			place := at(t)
			old := place.connect()
			steps, err := migrations()
			if err != nil {
				t.Fatal(err)
			}
			if err := old.migrate(ctx, steps[:1]); err != nil {
				t.Fatal(err)
			}
			fill(t, old)
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}

			db, err := place.open()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var version int
			if _, err := db.reader().one(ctx, "SELECT max(version) FROM schema_version", nil, &version); err != nil || version != len(steps) {
				t.Fatalf("version %d, want %d; %v", version, len(steps), err)
			}
			l, err := db.Claim(ctx, []string{workflow.JobRun}, "new", time.Minute)
			if err != nil || l == nil || l.Investigation != "F-1" || l.Fence != 2 {
				t.Fatalf("claimed %+v, %v", l, err)
			}
			flow := workflow.Flow{Store: db, Now: time.Now, Engine: workflow.Engine{
				Verify: func(_ context.Context, sources []incident.Source, r *incident.Report) ([]string, error) {
					if len(sources) != 1 || sources[0].Path != "/spool/a.out" || r.Verdict.Mechanism != "rank-stalled" {
						t.Errorf("to verify: %+v, %+v", sources, r.Verdict)
					}
					return nil, nil
				},
			}}
			if err := flow.Run(ctx, "F-1"); err != nil {
				t.Fatal(err)
			}
			inv, err := db.Load(ctx, "F-1")
			if err != nil || inv.State != workflow.Reported || inv.Version != 5 {
				t.Fatalf("%s, version %d, %v", inv.State, inv.Version, err)
			}
			entries, err := db.Ledger(ctx, "F-1")
			if err != nil || len(entries) < 2 || entries[0].Text != "requested" || entries[1].Seq != 2 {
				t.Fatalf("ledger %+v, %v", entries, err)
			}
			due, err := db.Due(ctx, 0)
			if err != nil || len(due) != 1 || string(due[0].Payload) != "case" {
				t.Fatalf("due %+v, %v", due, err)
			}
			if id, err := db.NewID(ctx); id != "F-2" || err != nil {
				t.Fatalf("the next is %s, %v", id, err)
			}
		})
	}
}

// fill writes rows as version 1 wrote them: an investigation in the middle of its work, claimed by a process that ended.
func fill(t *testing.T, db *DB) {
	t.Helper()
	err := db.inTx(context.Background(), "filling", func(c *conn) error {
		for _, row := range []struct {
			query string
			args  []any
		}{
			{"UPDATE counter SET value = 1", nil},
			{`INSERT INTO investigation (id, version, state, open_key, team, channel, cluster, job, requester, summary, data)
				VALUES ('F-1', 4, 'verifying', 'T1/west/4242', 'T1', 'C1', 'west', '4242', 'U1', ?, ?)`, []any{[]byte("{}"), version1Investigation}},
			{"INSERT INTO entry (investigation, seq, at, kind, from_state, event, to_state, actor, words) VALUES ('F-1', 1, 1767323045000000, 'transition', '', '', 'requested', 'U1', 'requested')", nil},
			{"INSERT INTO job (key, kind, investigation, payload, state, not_before, owner, fence, lease_until, added) VALUES ('run F-1 4', 'run', 'F-1', ?, 'claimed', 0, 'old', 1, 1767323075000000, 1767323045000000)", []any{[]byte{}}},
			{`INSERT INTO post (investigation, kind, key, channel, thread, thread_ts, user_id, respond, link_to, payload, files, added)
				VALUES ('F-1', 'message', 'case', 'C1', '', '', '', '', '', ?, ?, 1767323045000000)`, []any{[]byte("case"), []byte{}}},
		} {
			if _, err := c.exec(context.Background(), row.query, row.args...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTablesOfANewerVersionAreRefused(t *testing.T) {
	for name, at := range databases(t) {
		t.Run(name, func(t *testing.T) {
			place := at(t)
			db, err := place.open()
			if err != nil {
				t.Fatal(err)
			}
			err = db.inTx(t.Context(), "", func(c *conn) error {
				_, err := c.exec(t.Context(), "INSERT INTO schema_version (version, at) VALUES (99, 0)")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := place.open(); err == nil || !strings.Contains(err.Error(), "version 99") || !strings.Contains(err.Error(), "a newer program") {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// A step that fails leaves the tables as they were, whatever it did before it failed.
func TestAFailedMigrationLeavesWhatWasThere(t *testing.T) {
	for name, at := range databases(t) {
		t.Run(name, func(t *testing.T) {
			db := at(t).connect()
			defer db.Close()
			steps, err := migrations()
			if err != nil {
				t.Fatal(err)
			}
			bad := []migration{steps[0], {2, "DROP TABLE entry; SELECT nonsense FROM nowhere;"}}
			if err := db.migrate(t.Context(), steps[:1]); err != nil {
				t.Fatal(err)
			}
			if err := db.migrate(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "to version 2") {
				t.Fatalf("got %v", err)
			}
			if err := db.migrate(t.Context(), steps); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Ledger(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
		})
	}
}
