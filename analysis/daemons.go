package analysis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"faultline/analysis/aislog"
	"faultline/analysis/scan"
	"faultline/incident"
)

// namedDaemons is how many files that are no daemon's logs a warning names.
const namedDaemons = 3

// daemons reads the logs of storage daemons. What is among them and is no such log is said and left out.
func daemons(ctx context.Context, in Input) ([]aislog.Daemon, []string, error) {
	if len(in.Storage) == 0 {
		return nil, nil, nil
	}
	sc, err := aislog.NewScanner()
	if err != nil {
		return nil, nil, err
	}
	files := make([]*aislog.File, len(in.Storage))
	notes := make([]string, len(in.Storage))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(in.workers())
	for i, s := range in.Storage {
		g.Go(func() error {
			f, note, err := daemonFile(ctx, in.Opener, s, sc)
			files[i], notes[i] = f, note
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	var others, warnings []string
	for i, s := range in.Storage {
		switch {
		case notes[i] != "":
			warnings = append(warnings, notes[i])
		case files[i] == nil:
			others = append(others, s.Name)
		}
	}
	if len(others) > 0 {
		slices.Sort(others)
		more := ""
		if len(others) > namedDaemons {
			more = ", …"
		}
		warnings = append(warnings, fmt.Sprintf("not read: %d of the files given as storage logs aren't AIStore daemon logs (%s%s)",
			len(others), strings.Join(others[:min(len(others), namedDaemons)], ", "), more))
	}
	slices.Sort(warnings)
	return aislog.Merge(slices.DeleteFunc(files, func(f *aislog.File) bool { return f == nil })), warnings, nil
}

// daemonFile reads one file; it is nil if it is no daemon's log.
func daemonFile(ctx context.Context, from scan.Opener, s incident.Source, sc *aislog.Scanner) (*aislog.File, string, error) {
	if ok, err := isDaemonLog(from, s); err != nil || !ok {
		if err != nil {
			return nil, fmt.Sprintf("not read: %s: %v", s.Name, plain(err)), nil
		}
		return nil, "", nil
	}
	r, err := from.Open(s.Path)
	if err != nil {
		return nil, fmt.Sprintf("not read: %s: %v", s.Name, plain(err)), nil
	}
	defer r.Close()
	archive := ""
	if name, ok := strings.CutPrefix(s.Origin, "archive:"); ok && !strings.Contains(path.Dir(s.Name), name) {
		archive = name
	}
	f, err := aislog.Read(ctx, aislog.Source{Name: s.Name, Archive: archive}, r, sc)
	return f, "", err
}

// isDaemonLog looks at the first lines of a file.
func isDaemonLog(from scan.Opener, s incident.Source) (bool, error) {
	r, err := from.Open(s.Path)
	if err != nil {
		return false, err
	}
	defer r.Close()
	head := make([]byte, aislog.HeadLen)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && n == 0 {
		return false, err
	}
	return aislog.Recognise(head[:n]), nil
}
