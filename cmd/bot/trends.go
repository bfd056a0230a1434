package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"faultline/analysis/history"
)

func newTrendsCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trends [flags] HISTORY...",
		Short: "find what the failures of many runs have in common",
		Long: `
Reads histories (bot diagnose --format history, bot export --history; docs/history.md) and shows what occurs with failures more often than
chance explains: a node that is the culprit again and again, a setting, a change since the previous run, a time of day, a running time. Each
comes with its counts, the risk ratio and the probability of that happening by chance (Fisher's exact test; Rayleigh's test for times of day),
corrected for the number of comparisons. It shows correlations, not causes. It needs at least 12 runs and 5 failures.

Examples:
  bot trends history.jsonl
  bot export --history --out history.jsonl && bot trends --json history.jsonl

Exit code: 0 = histories were read, with or without trends; 2 = usage error; 1 = no readable input.`,
	}
	var asJSON bool
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON\ne.g. --json")
	cmd.RunE = e.does(func(ctx context.Context, e env, paths []string) (int, error) {
		if len(paths) == 0 {
			return exitUsage, usage("name a history: bot trends history.jsonl")
		}
		var books []*history.Book
		for _, path := range paths {
			book, err := readBook(ctx, e, path)
			if err != nil {
				return exitUnreadable, err
			}
			books = append(books, book)
		}
		book := history.Merge(books...)
		if len(book.Runs) == 0 {
			return exitUnreadable, fmt.Errorf("no run could be read from %s", filepath.Base(paths[0]))
		}
		trends := book.Trends()
		if asJSON {
			if trends == nil {
				trends = []history.Trend{}
			}
			enc := json.NewEncoder(e.out)
			enc.SetIndent("", "  ")
			return exitOK, enc.Encode(struct {
				Runs   int             `json:"runs"`
				Trends []history.Trend `json:"trends"`
			}{len(book.Runs), trends})
		}
		for _, t := range trends {
			fmt.Fprintln(e.out, printable(t.Statement, 400))
		}
		fmt.Fprintf(e.out, "%s read, %s that chance doesn't explain.\n", count(len(book.Runs), "run"), count(len(trends), "trend"))
		return exitOK, nil
	})
	return cmd
}

// readBook reads one history, and names what of it is not used.
func readBook(ctx context.Context, e env, path string) (*history.Book, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	book, err := history.Read(ctx, filepath.Base(path), f)
	if err != nil {
		return nil, err
	}
	for _, w := range book.Warnings {
		fmt.Fprintln(e.err, printable(w, 200))
	}
	return book, nil
}
