package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"faultline/config"
)

func newDoctorCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "check everything the bot needs, and how to fix it",
		Long: `
Checks the configuration, the tokens and their scopes, the connection to Slack, the store and its disk, the
archive, the clocks, the clusters' logs, whether their SLURM responds and whether the configured AIStore clusters grant
access. It changes nothing except for a probe object in the archive and a probe file in the data directory, which it removes. Each line says OK, WARN (a feature won't work) or FAIL
(the bot can't run), and how to fix it. The bot can keep running.

Examples:
  bot doctor --config /etc/faultline.yaml
  bot doctor --config /etc/faultline.yaml --cluster west --job 4242

With --job, it shows which of that job's logs were found and which can't be read.

Exit code: 0 when nothing fails; 1 when something does; 2 on a usage error.`,
	}
	fs := cmd.Flags()
	var c common
	c.declare(fs)
	cluster := fs.String("cluster", "", "with --job: only look in cluster `NAME`\ne.g. --cluster west")
	job := fs.String("job", "", "look for the logs of job `ID`\ne.g. --job 4242")
	cmd.RunE = e.does(func(ctx context.Context, e env, args []string) (int, error) {
		if len(args) > 0 {
			return exitUsage, usage("takes no arguments: %s", args[0])
		}
		if fs.Changed("job") {
			id, err := jobID(*job)
			if err != nil {
				return exitUsage, err
			}
			*job = id
		}
		cfg, _, err := c.load(e.err)
		if err != nil {
			return exitUsage, err
		}
		c.environment(&cfg)
		if *cluster != "" && (*job == "" || !knows(cfg, *cluster)) {
			return exitUsage, usage("--cluster %s: it needs --job, and must be the name of a configured cluster", *cluster)
		}
		d := &doctor{cfg: cfg, file: c.configFile, out: e.out, now: time.Now}
		d.all(ctx, *cluster, *job)
		if d.failed {
			return exitUnreadable, nil
		}
		return exitOK, nil
	})
	return cmd
}

// environment takes the tokens of the environment where there is no configuration file, as the example configuration does.
func (c *common) environment(cfg *config.Config) {
	if c.configFile != "" {
		return
	}
	cfg.Slack.AppToken = config.Secret(os.Getenv("SLACK_APP_TOKEN"))
	cfg.Slack.BotToken = config.Secret(os.Getenv("SLACK_BOT_TOKEN"))
	cfg.Slack.SigningSecret = config.Secret(os.Getenv("SLACK_SIGNING_SECRET"))
}

func knows(cfg config.Config, cluster string) bool {
	for _, c := range cfg.Clusters {
		if c.Name == cluster {
			return true
		}
	}
	return false
}

// doctor is one examination. Its checks are in doctor_checks.go.
type doctor struct {
	cfg    config.Config
	file   string // of the configuration; "" = none
	out    io.Writer
	now    func() time.Time
	failed bool
}

// checkTime bounds one check.
const checkTime = 30 * time.Second

func (d *doctor) all(ctx context.Context, cluster, job string) {
	checks := []func(context.Context){d.configuration, d.slack, d.socket, d.clock, d.dataDir, d.store, d.running, d.archive, d.clusters, d.schedulers, d.storage}
	if job != "" {
		checks = append(checks, func(ctx context.Context) { d.job(ctx, cluster, job) })
	}
	for _, check := range checks {
		ctx, cancel := context.WithTimeout(ctx, checkTime)
		check(ctx)
		cancel()
	}
}

// The levels of a line.
const (
	levelOK   = "OK"
	levelWarn = "WARN"
	levelFail = "FAIL"
)

func (d *doctor) ok(what, format string, args ...any)   { d.line(levelOK, what, format, args...) }
func (d *doctor) warn(what, format string, args ...any) { d.line(levelWarn, what, format, args...) }

func (d *doctor) fail(what, format string, args ...any) {
	d.failed = true
	d.line(levelFail, what, format, args...)
}

func (d *doctor) line(level, what, format string, args ...any) {
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ") // errors may have line ends
	fmt.Fprintf(d.out, "%-4s  %-8s  %s\n", level, what, text)
}

// timedOut makes an error of a deadline plain.
func timedOut(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return err.Error()
}
