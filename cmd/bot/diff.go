package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"faultline/analysis/history"
	"faultline/analysis/rerun"
	"faultline/incident"
	"faultline/messages"
	"faultline/messages/redact"
)

func newDiffCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff [flags] BEFORE AFTER",
		Short: "compare two runs of a job: is the failure fixed, is it slower, what changed",
		Long: `
Compares a run with a later one: whether it failed again or got past the step where the first run ended; how step time, throughput,
memory and loss (at the same steps) compare; and what changed in nodes, versions and arguments. BEFORE and AFTER are
each the logs of one run, as for "bot diagnose", or a report on them (bot diagnose --format json). BEFORE may also be a history
(FILE.jsonl, bot diagnose --format history): the newest completed run with AFTER's job name is used, or else the newest.

A change counts if it is at least 5% (memory: 10%) and larger than the noise between steps; this takes at least ten steps. Speeds are
compared only if the number of ranks and the batch size are the same.

Examples:
  bot diff logs-4242/ logs-4243/
  bot diff report-4242.json logs-4243/
  bot diff history.jsonl logs-4243/
  bot diff --json report-4242.json report-4243.json

Exit code: 0 = fixed, or no worse; 3 = not fixed, a regression, or undecided; 2 = usage error; 1 = no readable input.`,
	}
	fs := cmd.Flags()
	var c common
	var asJSON bool
	c.declare(fs)
	c.declareKnowledge(fs)
	fs.IntVar(&c.workers, "workers", 0, "read `N` files at a time; 0 means one per CPU. Doesn't affect the report\ne.g. --workers 4")
	fs.BoolVar(&asJSON, "json", false, "print JSON\ne.g. --json")
	cmd.RunE = e.does(func(ctx context.Context, e env, paths []string) (int, error) {
		if len(paths) != 2 {
			return exitUsage, usage("name two runs, the earlier one first: bot diff logs-4242/ logs-4243/")
		}
		after, code, err := reportOf(ctx, e, c, paths[1])
		if err != nil {
			return code, err
		}
		before, past, code, err := runBefore(ctx, e, c, paths[0], after)
		if err != nil {
			return code, err
		}
		r := rerun.Compare(redact.Report(before), redact.Report(after))
		if past != nil {
			r.Differences = past.Rarest(r.Differences)
		}
		return compared(e, c, r, asJSON)
	})
	return cmd
}

// runBefore is the run that another is compared with: of logs, a report, or the history of the job, which then comes with it.
func runBefore(ctx context.Context, e env, c common, path string, after *incident.Report) (*incident.Report, *history.Past, int, error) {
	if !strings.HasSuffix(path, ".jsonl") {
		r, code, err := reportOf(ctx, e, c, path)
		return r, nil, code, err
	}
	book, err := readBook(ctx, e, path)
	if err != nil {
		return nil, nil, exitUnreadable, err
	}
	this, err := history.Of(after, history.Who{})
	if err != nil {
		return nil, nil, exitUnreadable, err
	}
	if this.Name == "" {
		return nil, nil, exitUnreadable, errors.New("these logs don't show the job's name, so its earlier runs can't be found")
	}
	past := book.Past(history.This{Job: this.Job, Run: this.Run, Name: this.Name, Start: this.Start})
	rec, ok := past.Before()
	if !ok {
		return nil, nil, exitUnreadable, fmt.Errorf("%s has no earlier run of %q", filepath.Base(path), this.Name)
	}
	return rec.Report(), past, exitOK, nil
}

// reportOf reads a report, or makes it from logs.
func reportOf(ctx context.Context, e env, c common, path string) (*incident.Report, int, error) {
	from := reproduction{common: c}
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && strings.HasSuffix(path, ".json") {
		if r, err := readReport(path); err == nil {
			return r, exitOK, nil
		}
	}
	return from.verdict(ctx, e, []string{path})
}

func compared(e env, c common, r *incident.Rerun, asJSON bool) (int, error) {
	cfg, _, err := c.load(e.err)
	if err != nil {
		return exitUsage, err
	}
	if asJSON {
		err = messages.RerunJSON(e.out, r)
	} else {
		err = messages.Rerun(e.out, r, messages.Style{Color: colored(cfg.Output.Color, e.out), Width: columns(e.out)})
	}
	if err != nil {
		return exitUnreadable, err
	}
	if r.Outcome == incident.Fixed || r.Outcome == incident.Same {
		return exitOK, nil
	}
	return exitInconclusive, nil
}
