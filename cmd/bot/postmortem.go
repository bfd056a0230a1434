package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"faultline/messages"
	"faultline/messages/redact"
	"faultline/store/bundle"
	"faultline/workflow"
)

func newPostmortemCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "postmortem [flags] INCIDENT | REPORT | PATH",
		Short: "write one page about an incident: impact, timeline, five whys, action items",
		Long: `
Writes the page that a team keeps about an incident: summary, impact and cost, timeline, five whys, root cause, what went well and what went
wrong, action items with owner and due date, evidence. What the logs show is filled in; what only people can answer is left as a question.
INCIDENT is one of the bot's own (F-12), which adds the time each part of the investigation took. Otherwise give a report
(bot diagnose --format json) or the logs.

Examples:
  bot postmortem --config /etc/faultline.yaml F-12
  bot postmortem --out F-12.html F-12
  bot postmortem report-4242.json
  bot postmortem logs-4242/ > postmortem-4242.md

Exit code: 0 on success; 1 when there is no such incident, or nothing can be read or written; 2 on a usage error.`,
	}
	fs := cmd.Flags()
	var c common
	c.declare(fs)
	c.declareKnowledge(fs)
	fs.IntVar(&c.workers, "workers", 0, "read `N` files at a time; 0 means one per CPU. Doesn't affect the report\ne.g. --workers 4")
	out := fs.String("out", "", "write to `FILE` instead of standard output; HTML if its name ends in .html, else Markdown\ne.g. --out F-12.html")
	cmd.RunE = e.does(func(ctx context.Context, e env, args []string) (int, error) {
		if len(args) == 0 {
			return exitUsage, usage("name an incident, a report or logs: bot postmortem F-12")
		}
		write, code, err := postmortem(ctx, e, c, args, strings.HasSuffix(*out, ".html"))
		if err != nil {
			return code, err
		}
		if *out == "" || *out == "-" {
			err = write(e.out)
		} else if err = writeFile(*out, write); err == nil {
			fmt.Fprintln(e.out, *out)
		}
		if err != nil {
			return exitUnreadable, err
		}
		return exitOK, nil
	})
	return cmd
}

// postmortem finds what the page is about.
func postmortem(ctx context.Context, e env, c common, args []string, html bool) (func(io.Writer) error, int, error) {
	id, err := incidentID(args)
	if _, missing := os.Stat(args[0]); err != nil || missing == nil {
		return ofLogs(ctx, e, c, args, html)
	}
	cfg, _, err := c.load(e.err)
	if err != nil {
		return nil, exitUsage, err
	}
	s, done, err := openToRead(ctx, cfg)
	if err != nil {
		return nil, exitUnreadable, err
	}
	inc, err := bundle.Read(ctx, s.source(), id)
	if errors.Is(err, workflow.ErrUnknown) {
		err = fmt.Errorf("no incident %s in this store", id)
	}
	if err = errors.Join(err, done()); err != nil {
		return nil, exitUnreadable, err
	}
	return func(w io.Writer) error { return inc.Postmortem(w, html) }, exitOK, nil
}

// ofLogs is the page of a report, or of logs.
func ofLogs(ctx context.Context, e env, c common, paths []string, html bool) (func(io.Writer) error, int, error) {
	if len(paths) > 1 {
		return nil, exitUsage, usage("name one incident, one report, or one folder of logs")
	}
	r, code, err := reportOf(ctx, e, c, paths[0])
	if err != nil {
		return nil, code, err
	}
	r = redact.Report(r)
	cfg, _, err := c.load(e.err)
	if err != nil {
		return nil, exitUsage, err
	}
	story := messages.Story{Price: priceOf(cfg.Costs)}
	if html {
		return func(w io.Writer) error { return messages.PostmortemHTML(w, r, story) }, exitOK, nil
	}
	return func(w io.Writer) error { return messages.Postmortem(w, r, story) }, exitOK, nil
}
