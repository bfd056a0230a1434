package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// maxConns is how many connections one bot opens: PostgreSQL allows 100 in all by default.
const maxConns = 16

// readOnlyTransaction is the SQLSTATE of a write where only reading is allowed. Whether it is may be settled when a connection begins: by the
// settings of its role, or by the server that a proxy chose while another became the primary. Such a connection would refuse for as long as it
// lives, so it is closed, and the next one asks anew.
const readOnlyTransaction = "25006"

// OpenPostgres opens a store in a PostgreSQL database, which several bots may share; it makes the tables where they are
// missing. The dsn is a URL or "host=… dbname=…", as psql takes it.
func OpenPostgres(ctx context.Context, dsn string, o Options) (*DB, error) {
	steps, err := migrations()
	if err != nil {
		return nil, err
	}
	db, err := connectPostgres(dsn, o)
	if err != nil {
		return nil, err
	}
	err = db.migrate(ctx, steps)
	if err == nil {
		err = db.keepNumbers(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the PostgreSQL store: %w", err), db.Close())
	}
	return db, nil
}

func connectPostgres(dsn string, o Options) (*DB, error) {
	conf, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The error of the parser repeats the dsn, and a password may be in it.
		return nil, errors.New("opening the PostgreSQL store: its address is malformed; write postgres://user@host:5432/database")
	}
	fatal := conf.OnPgError
	conf.OnPgError = func(c *pgconn.PgConn, e *pgconn.PgError) bool { return e.Code != readOnlyTransaction && fatal(c, e) }
	pool := stdlib.OpenDB(*conf)
	pool.SetMaxOpenConns(maxConns)
	pool.SetMaxIdleConns(maxConns)
	return &DB{dialect: postgresDialect, now: o.Now, write: pool, read: pool, numbers: numbers(o.Numbers)}, nil
}

// dropIdle closes the connections that nobody uses: what a connection was told at its beginning may no longer hold.
func (db *DB) dropIdle() {
	db.write.SetMaxIdleConns(0)
	db.write.SetMaxIdleConns(maxConns)
}
