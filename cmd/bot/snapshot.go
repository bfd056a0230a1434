package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"faultline/config"
)

// openToRead opens what openStores opens, to be read only. Of an SQLite database it reads a copy, which a running bot does not
// notice; the second result removes it.
func openToRead(ctx context.Context, cfg config.Config) (*stores, func() error, error) {
	if cfg.Data.Postgres != "" {
		s, err := openStores(ctx, cfg)
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	}
	dir, err := dataDir(cfg)
	if err != nil {
		return nil, nil, err
	}
	temp, err := os.MkdirTemp("", "faultline-copy-") // only the owner may read it
	if err != nil {
		return nil, nil, fmt.Errorf("making room for a copy of the store: %w", err)
	}
	s := &stores{Dir: dir, price: priceOf(cfg.Costs)}
	file := filepath.Join(temp, "copy.db")
	if err = copySQLite(ctx, databaseFile(dir), file); err == nil {
		err = s.open(ctx, cfg, file)
	}
	if err != nil {
		return nil, nil, errors.Join(err, s.closeFiles(), os.RemoveAll(temp))
	}
	return s, func() error { return errors.Join(s.Close(), os.RemoveAll(temp)) }, nil
}

// copySQLite writes the database, as it is at one moment, to a new file. A bot that has it open goes on working.
func copySQLite(ctx context.Context, from, to string) error {
	db, err := readSQLite(from)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s already exists; name a new file", to), err)
	}
	part, err := os.CreateTemp(filepath.Dir(to), ".faultline-*") // only the owner may read it
	if err != nil {
		return fmt.Errorf("copying the store to %s: %w", to, err)
	}
	defer os.Remove(part.Name())
	defer part.Close()
	if _, err = db.ExecContext(ctx, "VACUUM INTO ?", part.Name()); err == nil {
		err = part.Sync()
	}
	if err == nil {
		err = os.Link(part.Name(), to) // unlike a rename, it never replaces a file that somebody made in the meantime
	}
	if err != nil {
		return fmt.Errorf("copying the store to %s: %w", to, err)
	}
	return nil
}

// readSQLite opens the database for reading. The driver comes with package store.
func readSQLite(file string) (*sql.DB, error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no store in %s: is this the bot's data.dir? Name its configuration with --config", filepath.Dir(file))
	} else if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	u := url.URL{Scheme: "file", Path: file, OmitHost: true}
	db, err := sql.Open("sqlite", u.String()+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		return nil, fmt.Errorf("opening the store %s: %w", file, err)
	}
	return db, nil
}

// incidentID reads what people write for an incident: F-12, f-12 or 12.
func incidentID(args []string) (string, error) {
	if len(args) != 1 {
		return "", usage("give one incident, as shown in its case file: F-12")
	}
	number := strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(args[0])), "F-")
	if number == "" || strings.Trim(number, "0123456789") != "" {
		return "", usage("%q is not an incident: use F-1, F-2, … (shown in the case file)", args[0])
	}
	return "F-" + number, nil
}
