package fetch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"faultline/workflow"
)

// What the names of files that are no logs of the job begin with in a report: files of the job may be called alike.
const (
	DaemonDir   = "ais-logs" // logs of storage daemons
	EvidenceDir = "evidence" // what a person hands in beside logs
	BaselineDir = "baseline" // what a person hands in as good, to compare with
)

// Daemons takes the logs of storage daemons under paths, as Local does: directories, files, the archives that "ais log get"
// writes, and an archive of those. What is unpacked goes into dir, which is made anew.
func Daemons(ctx context.Context, paths []string, dir string, opts LocalOptions) (*Set, error) {
	// What daemons say of themselves when they are asked is kept beside their logs, and is no log.
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return strings.HasSuffix(p, ".status.json") })
	return beside(ctx, paths, dir, DaemonDir, opts)
}

// Evidence takes what is under paths, as Daemons does, whatever the files are called: which of it is of use is told by its content.
func Evidence(ctx context.Context, paths []string, dir string, opts LocalOptions) (*Set, error) {
	opts.anyName = true
	return beside(ctx, paths, dir, EvidenceDir, opts)
}

// Baseline takes what is under paths likewise.
func Baseline(ctx context.Context, paths []string, dir string, opts LocalOptions) (*Set, error) {
	opts.anyName = true
	return beside(ctx, paths, dir, BaselineDir, opts)
}

func beside(ctx context.Context, paths []string, dir, prefix string, opts LocalOptions) (*Set, error) {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return nil, fmt.Errorf("making room for %s: %w", prefix, workflow.NotKept(err))
	}
	opts.SpoolDir, opts.nested = dir, true
	set, err := Local(ctx, paths, opts)
	if err != nil {
		return set, err
	}
	for i := range set.Sources {
		set.Sources[i].Name = path.Join(prefix, set.Sources[i].Name)
	}
	return set, nil
}
