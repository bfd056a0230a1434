package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"faultline/analysis"
	"faultline/config"
	"faultline/fetch"
	"faultline/fetch/ais"
	"faultline/workflow"
)

// daemonLogs opens the storage logs of an investigation, below the directory in which what was pulled for it is, too.
func daemonLogs(dir string, opts fetch.LocalOptions) func(context.Context, workflow.Investigation) (workflow.Collection, error) {
	return func(ctx context.Context, inv workflow.Investigation) (workflow.Collection, error) {
		set, err := fetch.Daemons(ctx, inv.StorageLogs, filepath.Join(dir, inv.ID, fetch.DaemonDir), opts)
		if err != nil {
			return workflow.Collection{}, err
		}
		return workflow.Collection{Sources: set.Sources, Warnings: set.Warnings, Fault: set.Fault}, nil
	}
}

// ofStorage says that what lies under paths is mostly logs of storage daemons. What is packed is unpacked for that, in a folder
// of its own below dir.
func ofStorage(dir string, opts fetch.LocalOptions) func(context.Context, []string) bool {
	return func(ctx context.Context, paths []string) bool {
		room, err := os.MkdirTemp(dir, "look-")
		if err != nil {
			return false // whoever reads them says why not
		}
		defer func() { _ = os.RemoveAll(room) }() // it holds copies
		set, err := fetch.Daemons(ctx, paths, room, opts)
		if err != nil {
			return false
		}
		n := 0
		for _, s := range set.Sources {
			if analysis.DaemonLog(opts.Gate.Open, s) {
				n++
			}
		}
		return 2*n > len(set.Sources)
	}
}

// storageLogs takes the logs of the storage that were named, or pulls them from its cluster, below an existing directory.
func (d *diagnosis) storageLogs(ctx context.Context, e env, cfg config.Config, dir string) (workflow.Collection, error) {
	var from, warnings []string
	if d.aisLogs != "" {
		from = []string{d.aisLogs}
	}
	if d.aisEndpoint != "" {
		access, said, err := storageAccess(d.aisEndpoint)
		var missing *fs.PathError
		if errors.As(err, &missing) { // the job's own logs are there all the same
			failed := "The storage logs were not fetched: " + err.Error() + "."
			fmt.Fprintln(e.err, failed)
			return workflow.Collection{Warnings: []string{failed}}, nil
		}
		if err != nil {
			return workflow.Collection{}, err
		}
		for _, s := range said {
			fmt.Fprintln(e.err, s)
		}
		got, err := pullStorage(ctx, e, access, filepath.Join(dir, "pulled"))
		from, warnings = got.Files, slices.Concat(said, got.Missing)
		if ctx.Err() != nil {
			return workflow.Collection{}, ctx.Err()
		}
		if err != nil { // the job's own logs are there all the same
			failed := "The storage logs could not be fetched: " + err.Error() + "."
			fmt.Fprintln(e.err, failed)
			return workflow.Collection{Warnings: append(warnings, failed)}, nil //nolint:nilerr // it is said
		}
	}
	if len(from) == 0 {
		return workflow.Collection{}, nil
	}
	set, err := fetch.Daemons(ctx, from, filepath.Join(dir, fetch.DaemonDir), fetch.LocalOptions{Unpack: unpack(cfg.Limits)})
	if err != nil {
		return workflow.Collection{}, fmt.Errorf("the storage logs: %w", err)
	}
	return workflow.Collection{Sources: set.Sources, Warnings: append(set.Warnings, warnings...)}, nil
}

// pullStorage pulls the logs of all daemons into a new directory.
func pullStorage(ctx context.Context, e env, access ais.Access, dir string) (ais.Pulled, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return ais.Pulled{}, fmt.Errorf("storing the storage logs: %w", err)
	}
	fmt.Fprintln(e.err, "fetching the storage daemons' logs")
	return ais.NewClient(config.StorageAccess{}).Pull(ctx, access, dir)
}

// tellsOperator says in the log what only the operator can fix: a configured access that its storage refuses.
type tellsOperator struct {
	workflow.Storage
	log *slog.Logger
}

func (t tellsOperator) Fetch(ctx context.Context, inv workflow.Investigation) (workflow.StorageLogs, error) {
	got, err := t.Storage.Fetch(ctx, inv)
	var own *ais.Error
	if errors.As(err, &own) && own.Operator() {
		t.log.Error("a configured storage access is refused", "kind", string(own.Kind), "err", own.Text)
	}
	return got, err //nolint:wrapcheck // it is for people, as it is
}
