package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"faultline/config"
)

func newServeCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "run the Slack bot",
		Long: `
Answers /diagnose in Slack until stopped. It needs two tokens, from the configuration or the environment
(SLACK_APP_TOKEN for Socket Mode, SLACK_BOT_TOKEN). Create the app from slack-manifest.yaml; docs/operations.md leads you from
there to the first answer. Everything is stored first: if stopped at any moment, even with kill -9, it resumes where it was.
SIGHUP reloads channels, access, identities, watches, storage names and site knowledge.

Examples:
  SLACK_APP_TOKEN=xapp-… SLACK_BOT_TOKEN=xoxb-… bot serve --config /etc/faultline.yaml
  bot demo --web          a bot, a Slack look-alike and a failed job in your browser, without any token

Exit code: 0 = stopped normally; 1 = could not run; 2 = usage error.`,
	}
	fs := cmd.Flags()
	var c common
	c.declare(fs)
	cmd.RunE = e.does(func(ctx context.Context, e env, args []string) (int, error) {
		if len(args) > 0 {
			return exitUsage, usage("takes no arguments: %s", args[0])
		}
		cfg, log, err := c.load(e.err)
		if err != nil {
			return exitUsage, err
		}
		if told := config.Exposed(c.configFile); told != "" {
			log.Warn(told)
		}
		if c.configFile == "" { // the tokens of the environment, as the example configuration takes them
			cfg.Slack.AppToken = config.Secret(os.Getenv("SLACK_APP_TOKEN"))
			cfg.Slack.BotToken = config.Secret(os.Getenv("SLACK_BOT_TOKEN"))
			cfg.Slack.SigningSecret = config.Secret(os.Getenv("SLACK_SIGNING_SECRET"))
		}
		if err := tokens(cfg); err != nil {
			return exitUsage, err
		}
		if err := noCore(); err != nil {
			log.Warn("a crash may leave a typed token in a core file", "error", err)
		}
		s, err := newService(ctx, cfg, log)
		if err != nil {
			return exitUnreadable, err
		}
		again := make(chan os.Signal, 1)
		signal.Notify(again, syscall.SIGHUP)
		defer signal.Stop(again)
		go func() {
			for range again {
				next, _, err := c.load(e.err)
				if err != nil {
					log.Error("the configuration was not reloaded: the old one stays in effect", "error", err)
					continue
				}
				s.reload(next)
			}
		}()
		err = s.run(ctx, func(addr string) {
			fmt.Fprintf(e.out, "Faultline answers %s in Slack.", cfg.Slack.Command)
			if addr != "" {
				fmt.Fprintf(e.out, " Administrators: http://%s/readyz", addr)
			}
			fmt.Fprintln(e.out)
		})
		if err = errors.Join(err, s.close()); err != nil {
			return exitUnreadable, err
		}
		return exitOK, nil
	})
	return cmd
}

// tokens says which are missing, and where they come from.
func tokens(cfg config.Config) error {
	switch {
	case cfg.Slack.BotToken == "":
		return usage("slack.bot_token is missing: in the app's settings under OAuth & Permissions, begins with xoxb-; set SLACK_BOT_TOKEN or the key")
	case cfg.Slack.Mode != "http" && cfg.Slack.AppToken == "":
		return usage("slack.app_token is missing: in the app's settings under Basic Information, App-Level Tokens, with the scope connections:write, begins with xapp-; set SLACK_APP_TOKEN or the key")
	case cfg.Slack.Mode != "socket" && cfg.Slack.SigningSecret == "":
		return usage("slack.signing_secret is missing: in the app's settings under Basic Information; set SLACK_SIGNING_SECRET or the key")
	}
	return nil
}
