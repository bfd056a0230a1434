package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// maxConns is how many connections one bot opens: PostgreSQL allows 100 in all by default.
const maxConns = 16

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
	pool := stdlib.OpenDB(*conf)
	pool.SetMaxOpenConns(maxConns)
	pool.SetMaxIdleConns(maxConns)
	return &DB{dialect: postgresDialect, now: o.Now, write: pool, read: pool, numbers: numbers(o.Numbers)}, nil
}
