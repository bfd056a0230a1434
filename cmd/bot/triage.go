package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"faultline/analysis/triage"
	"faultline/incident"
	"faultline/messages"
)

func newTriageCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "triage [flags] [PATH...]",
		Short: "check a running job: is it alive, is it learning, is it still fast",
		Long: `
Reads a running job's logs and shows on one screen: how far it has got, which ranks printed last or went silent, whether the loss
is falling, step time and throughput against the job's own start, memory, the last save and what would be lost now, how severe it is and what to do.
PATH and --job work as in "bot diagnose". Ages are measured from now, or from --now, to the times in the lines; if lines
have no time zone, from when the files were last written. What the logs don't show is listed, not guessed.

Examples:
  bot triage logs-4242/
  bot triage --config faultline.yaml --job 4242 --cluster west
  bot triage --json logs-4242/
  bot triage --history history.jsonl logs-4242/
  bot triage --now 2025-06-03T17:50:00 logs-4242/

If the logs include the end of the job, it shows the first screen of "bot diagnose" instead.

Exit code: 0 = no findings, or notes only; 3 = at least one warning or critical finding; 2 = usage error, or several jobs without --job; 1 = no readable input.`,
	}
	fs := cmd.Flags()
	var d diagnosis
	var now string
	var asJSON bool
	d.common.declare(fs)
	d.common.declareLook(fs)
	d.common.declareKnowledge(fs)
	fs.StringVar(&d.job, "job", "", "look at the job with this `ID` if the files hold several\ne.g. --job 4242")
	fs.StringVar(&d.cluster, "cluster", "", "the job's cluster, `NAME`, if the configuration has several\ne.g. --cluster west")
	fs.StringVar(&d.nodes, "nodes", "", "the job's nodes in SLURM format (`HOSTLIST`)\ne.g. --nodes 'node[01-16]'")
	fs.StringVar(&d.jobZone, "job-zone", "", "time `ZONE` of the job's machines, if its logs don't show it\ne.g. --job-zone America/Los_Angeles")
	fs.IntVar(&d.worldSize, "world-size", 0, "the job's number of ranks, `N`, if its logs don't show it\ne.g. --world-size 128")
	fs.StringVar(&d.history, "history", "", "compare with the last good run of this name in `FILE` (docs/history.md)\ne.g. --history history.jsonl")
	fs.StringVar(&now, "now", "", "use this `TIME` instead of now; without a zone, by the logs' own clock\ne.g. --now 2025-06-03T17:50:00")
	fs.BoolVar(&asJSON, "json", false, "print JSON\ne.g. --json")
	cmd.RunE = e.does(func(ctx context.Context, e env, paths []string) (int, error) {
		if err := d.jobGiven(fs, len(paths) == 0); err != nil {
			return exitUsage, err
		}
		at, err := momentOf(now)
		if err != nil {
			return exitUsage, err
		}
		return d.triage(ctx, e, paths, at, asJSON)
	})
	return cmd
}

// wallTime is a time without a zone.
const wallTime = "2006-01-02T15:04:05"

// momentOf reads --now; "" is the clock.
func momentOf(typed string) (triage.Moment, error) {
	if typed == "" {
		return triage.Moment{At: time.Now()}, nil
	}
	if t, err := time.Parse(time.RFC3339, typed); err == nil {
		return triage.Moment{At: t}, nil
	}
	t, err := time.Parse(wallTime, typed)
	if err != nil {
		return triage.Moment{}, usage("--now %s: write it as 2025-06-03T17:50:00, by the logs' own clock, or with a zone: 2025-06-03T17:50:00Z", typed)
	}
	return triage.Moment{At: t, Logs: true}, nil
}

func (d *diagnosis) triage(ctx context.Context, e env, paths []string, at triage.Moment, asJSON bool) (int, error) {
	cfg, log, err := d.load(e.err)
	if err != nil {
		return exitUsage, err
	}
	d.format = "terminal"
	in, err := d.input(cfg, paths)
	if err != nil {
		return exitUsage, err
	}
	dir, remove, err := scratch()
	if err != nil {
		return exitUnreadable, err
	}
	defer remove()
	set, err := d.bring(ctx, e, cfg, paths, dir, &in)
	if err != nil {
		return exitUnreadable, err
	}
	if in.History, err = earlierRuns(ctx, cfg, d.history, dir); err != nil {
		return exitUsage, err
	}
	in.Sources, in.Moment = set.Sources, &at
	r, err := d.judged(ctx, e, log, in, len(paths) == 0, set.Warnings)
	if err != nil {
		return failure(err)
	}
	if asJSON {
		err = messages.TriageJSON(e.out, r)
	} else {
		err = messages.Triage(e.out, r, messages.Style{Color: colored(cfg.Output.Color, e.out), Width: columns(e.out)})
	}
	if err != nil {
		return exitUnreadable, err
	}
	if t := r.Triage; t != nil && (t.Severity == incident.TriageWarning || t.Severity == incident.TriageCritical) {
		return exitInconclusive, nil
	}
	return exitOK, nil
}
