package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"faultline/fetch/gate"
	"faultline/store/bundle"
	"faultline/workflow"
)

func newExportCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export [flags] INCIDENT | --history",
		Short: "export an incident with its audit trail and evidence, or the history of all incidents",
		Long: `
Exports everything about an incident (F-12, as in its case file): who asked, answered, skipped, disputed and
closed; what was fetched, concluded, revised and posted, and when. The zip holds all this for programs (incident.json) and
for people (incident.md), every report that was posted, and the log files that the report cites, with their checksums.
Secrets are masked. With --raw, cited logs owned by the account running the command go into the zip as they
are, under raw/; other accounts' logs stay masked. The bot can keep running.

With --history it writes one line per incident that has a report: the facts that "bot diagnose --history" checks later
runs against (docs/history.md). Rejected verdicts are left out.

Examples:
  bot export --config /etc/faultline.yaml F-12
  bot export --format markdown F-12
  bot export --format json --out F-12.json F-12
  bot export --raw F-12
  bot export --config /etc/faultline.yaml --history --out history.jsonl

Exit code: 0 on success; 1 when there is no such incident, or it cannot be read or written; 2 on a usage error.`,
	}
	fs := cmd.Flags()
	var c common
	c.declare(fs)
	format := fs.String("format", "zip", "`FORMAT`: zip, markdown or json\ne.g. --format markdown")
	out := fs.String("out", "", "write to `FILE` (default: INCIDENT.zip for the zip, else standard output; - is standard output)\ne.g. --out incident.zip")
	raw := fs.Bool("raw", false, "put your own logs in the zip unmasked, including secrets\ne.g. --raw")
	past := fs.Bool("history", false, "write the history of all incidents instead of one incident\ne.g. --history --out history.jsonl")
	cluster := fs.String("cluster", "", "with --history: only from this cluster, `NAME`\ne.g. --cluster west")
	complete(cmd, "format", []string{"zip", "markdown", "json"})
	cmd.RunE = e.does(func(ctx context.Context, e env, args []string) (int, error) {
		if *past {
			return exportHistory(ctx, e, &c, args, *cluster, *out)
		}
		id, err := incidentID(args)
		if err != nil {
			return exitUsage, err
		}
		if formats := []string{"zip", "markdown", "json"}; !slices.Contains(formats, *format) {
			return exitUsage, usage("--format %s: choose one of zip, markdown, json", *format)
		}
		if *raw && *format != "zip" {
			return exitUsage, usage("--raw needs --format zip: the other formats hold no logs")
		}
		cfg, _, err := c.load(e.err)
		if err != nil {
			return exitUsage, err
		}
		s, done, err := openToRead(ctx, cfg)
		if err != nil {
			return exitUnreadable, err
		}
		src := s.source()
		if *raw {
			src.Raw = ownLogs(s.gate)
		}
		err = export(ctx, e, src, id, *format, *out)
		if err = errors.Join(err, done()); err != nil {
			return exitUnreadable, err
		}
		return exitOK, nil
	})
	return cmd
}

// ownLogs says of a file whether it is a log of the account that runs this program. What the bot keeps below its own folders belongs to that
// account, too, and is a copy of somebody's log.
func ownLogs(g *gate.Gate) func(file string, info fs.FileInfo) bool {
	return func(file string, info fs.FileInfo) bool {
		st, ok := info.Sys().(*syscall.Stat_t)
		return ok && int(st.Uid) == os.Getuid() && !g.Own(file)
	}
}

func export(ctx context.Context, e env, src bundle.Source, id, format, out string) error {
	inc, err := bundle.Read(ctx, src, id)
	if errors.Is(err, workflow.ErrUnknown) {
		return fmt.Errorf("no incident %s in this store", id)
	}
	if err != nil {
		return err
	}
	var manifest bundle.Manifest
	write := map[string]func(io.Writer) error{
		"markdown": inc.Markdown,
		"json":     inc.JSON,
		"zip": func(w io.Writer) (err error) {
			manifest, err = inc.Zip(ctx, w, src)
			return err
		},
	}[format]
	if out == "" && format == "zip" {
		out = id + ".zip"
	}
	if out == "" || out == "-" {
		return write(e.out)
	}
	if err := writeFile(out, write); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "%s: incident %s", out, id)
	if format == "zip" {
		fmt.Fprintf(e.out, ", %d files", len(manifest.Files)+1)
	}
	fmt.Fprintln(e.out)
	for _, m := range manifest.Missing {
		fmt.Fprintf(e.out, "missing: %s: %s\n", m.Path, m.Why)
	}
	for _, f := range manifest.Files {
		if f.Note != "" {
			fmt.Fprintf(e.out, "changed: %s: %s\n", f.Path, f.Note)
		}
	}
	return nil
}
