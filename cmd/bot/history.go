package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"faultline/analysis/history"
	"faultline/config"
	"faultline/fetch"
	"faultline/incident"
	"faultline/messages/redact"
	"faultline/workflow"
)

// formatHistory is a report as one line of a history.
const formatHistory = "history"

// formatBrief is a report as one line to forward: --brief.
const formatBrief = "brief"

// writeHistory writes the line that later runs are compared with. Secrets are masked, as in any report.
func writeHistory(w io.Writer, r *incident.Report, who history.Who) error {
	rec, err := history.Of(redact.Report(r), who)
	if err != nil {
		return err
	}
	line, err := rec.Line()
	if err != nil {
		return err
	}
	if _, err := w.Write(line); err != nil {
		return fmt.Errorf("writing the history line: %w", err)
	}
	return nil
}

// earlierRuns are the history that was named, or the logs of an earlier run; none where none was.
func earlierRuns(ctx context.Context, cfg config.Config, path, dir string) ([]incident.Source, error) {
	if path == "" {
		return nil, nil
	}
	st, err := os.Stat(path)
	if err == nil && st.IsDir() {
		set, err := fetch.Evidence(ctx, []string{path}, filepath.Join(dir, "earlier"), localOptions(cfg, ""))
		if err != nil {
			return nil, fmt.Errorf("the earlier run: %w", err)
		}
		for i := range set.Sources {
			set.Sources[i].Name = strings.Replace(set.Sources[i].Name, fetch.EvidenceDir, "earlier", 1)
		}
		return set.Sources, nil
	}
	if err != nil || !st.Mode().IsRegular() {
		return nil, usage("--history %s: no such file; create it with: bot diagnose --format history LOGS >> %s", path, filepath.Base(path))
	}
	return []incident.Source{{Name: filepath.Base(path), Path: path, Bytes: st.Size(), Origin: "history"}}, nil
}

// exportHistory writes what the store remembers of all incidents, the oldest first.
func exportHistory(ctx context.Context, e env, c *common, args []string, cluster, out string) (int, error) {
	if len(args) > 0 {
		return exitUsage, usage("--history covers all incidents: leave out %s", args[0])
	}
	cfg, _, err := c.load(e.err)
	if err != nil {
		return exitUsage, err
	}
	s, done, err := openToRead(ctx, cfg)
	if err != nil {
		return exitUnreadable, err
	}
	n := 0
	write := func(w io.Writer) (err error) {
		n, err = remembered(ctx, w, s, cluster)
		return err
	}
	if out == "" || out == "-" {
		err = write(e.out)
	} else if err = writeFile(out, write); err == nil {
		fmt.Fprintf(e.out, "%s: %d %s\n", out, n, map[bool]string{true: "run", false: "runs"}[n == 1])
	}
	if err = errors.Join(err, done()); err != nil {
		return exitUnreadable, err
	}
	return exitOK, nil
}

// everything is more investigations than a store holds.
const everything = 1 << 30

// remembered writes a line for each investigation that has something to tell; of several of the same run, each: readers take
// the surest.
func remembered(ctx context.Context, w io.Writer, store workflow.Durable, cluster string) (n int, err error) {
	all, err := store.Find(ctx, workflow.Query{Cluster: cluster, Limit: everything})
	if err != nil {
		return 0, err
	}
	for i := len(all) - 1; i >= 0; i-- {
		inv, err := store.Load(ctx, all[i].ID)
		if errors.Is(err, workflow.ErrUnknown) { // forgotten meanwhile
			continue
		}
		if err != nil {
			return n, fmt.Errorf("reading incident %s: %w", all[i].ID, err)
		}
		rec, ok := inv.Remembered()
		if !ok {
			continue
		}
		line, err := rec.Line()
		if err != nil {
			continue // it fits no line
		}
		if _, err := w.Write(line); err != nil {
			return n, fmt.Errorf("writing the history: %w", err)
		}
		n++
	}
	return n, nil
}
