package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"faultline/analysis/scan"
	"faultline/chat/desk"
	"faultline/config"
	"faultline/fetch/gate"
	"faultline/messages"
	"faultline/store"
	"faultline/store/blob"
	"faultline/store/bundle"
	"faultline/workflow"
)

// stores is everything that survives a restart.
type stores struct {
	workflow.Durable
	Blobs   blob.Store
	Archive *blob.S3   // nil: none is configured
	Dir     string     // holds the database, blobs, uploads, what archives were unpacked to, and test cases
	db      *store.DB  // Durable, as a database
	gate    *gate.Gate // to the logs
	price   messages.Price
	close   []func() error
}

// openStores opens, and makes where it is missing, what the configuration names.
func openStores(ctx context.Context, cfg config.Config) (*stores, error) {
	dir, err := dataDir(cfg)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the data directory: %w; set data.dir to one this account may write to", err)
	}
	s := &stores{Dir: dir, price: priceOf(cfg.Costs)}
	if err := s.open(ctx, cfg, databaseFile(dir)); err != nil {
		return nil, errors.Join(err, s.closeFiles())
	}
	return s, nil
}

func (s *stores) open(ctx context.Context, cfg config.Config, file string) (err error) {
	if s.gate, err = served(cfg.Clusters, s.Dir); err != nil {
		return err
	}
	blobs, err := blob.OpenDir(filepath.Join(s.Dir, "blobs"))
	if err != nil {
		return err
	}
	s.close = append(s.close, blobs.Close)
	s.Blobs = blob.Store{Bucket: blobs}
	if s.Archive, err = openArchive(ctx, cfg); err != nil {
		return err
	}
	o := store.Options{Numbers: filepath.Join(s.Dir, "last-case")}
	if dsn := cfg.Data.Postgres.Reveal(); dsn != "" {
		s.db, err = store.OpenPostgres(ctx, dsn, o)
	} else {
		s.db, err = store.OpenSQLite(ctx, file, o)
	}
	s.Durable = s.db
	return err
}

// Close closes the store and the directories beside it.
func (s *stores) Close() error { return errors.Join(s.Durable.Close(), s.closeFiles()) }

func (s *stores) closeFiles() error {
	var errs []error
	for _, f := range s.close {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func databaseFile(dir string) string { return filepath.Join(dir, "faultline.db") }

// openArchive prepares the archive that is configured; nil where there is none.
func openArchive(ctx context.Context, cfg config.Config) (*blob.S3, error) {
	a := cfg.Archive
	if a.Bucket == "" {
		return nil, nil
	}
	s3, err := blob.OpenS3(ctx, blob.S3Options{
		Bucket: a.Bucket, Prefix: a.Prefix, Region: a.Region, Endpoint: a.Endpoint, AccessKey: a.AccessKey.Reveal(), SecretKey: a.SecretKey.Reveal(),
	})
	if err != nil {
		return nil, err
	}
	return s3, nil
}

// dataDir is data.dir, or the place where programs keep their state on this system.
func dataDir(cfg config.Config) (string, error) {
	if cfg.Data.Dir != "" {
		return cfg.Data.Dir, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "faultline"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.Join(errors.New("there is no place for data: set data.dir"), err)
	}
	return filepath.Join(home, ".local", "state", "faultline"), nil
}

// source is where the parts of an incident are.
func (s *stores) source() bundle.Source {
	return bundle.Source{Store: s.Durable, Blobs: s.Blobs, OpenLog: scan.Opener(s.gate.Open).Open, Open: s.gate.Open, Price: s.price}
}

// forgetter removes incidents from here.
func (s *stores) forgetter() *bundle.Forgetter {
	f := &bundle.Forgetter{
		Store: s.Durable, Blobs: s.Blobs, Now: time.Now,
		Spools: []string{filepath.Join(s.Dir, scratchDir), filepath.Join(s.Dir, uploadsDir), takenIn(s.Dir)}, Cases: filepath.Join(s.Dir, "cases"),
		Beside: func(ctx context.Context, inv workflow.Investigation) (removed []string, err error) {
			noted, err := desk.Unwatch(ctx, s.Durable, inv)
			if noted {
				removed = append(removed, "its watch notes")
			}
			handed, perr := shelf(s.Dir).Forget(inv.Cluster, inv.Job)
			if handed {
				removed = append(removed, "what was pushed for its job")
			}
			return removed, errors.Join(err, perr)
		},
	}
	if s.Archive != nil {
		f.Archive = s.Archive
	}
	return f
}

// keepHouse is the daily routine: forgetting is brought to its end, closed incidents are archived, and what is too old goes. What was
// not archived does not go.
func (s *stores) keepHouse(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	f := s.forgetter()
	left, err := f.FinishAll(ctx)
	if left > 0 {
		log.Warn("posts of forgotten incidents are still in Slack", "incidents", left)
	}
	errs := []error{err}
	var stay []string
	if s.Archive != nil {
		a := &bundle.Archiver{Source: s.source(), Store: s.Durable, Archive: s.Archive, Keep: cfg.Archive.Keep.Std(), Now: time.Now, Temp: s.Dir}
		done, err := a.Run(ctx)
		log.Info("archived", "copied", len(done.Copied), "removed", len(done.Removed))
		if stay = done.Failed; err != nil && stay == nil { // the archive cannot even be listed
			return errors.Join(append(errs, err)...)
		}
		errs = append(errs, err)
	}
	n, err := f.Retire(ctx, cfg.Data.Keep.Std(), stay...)
	log.Info("removed what is too old", "incidents", n)
	return errors.Join(append(errs, err)...)
}
