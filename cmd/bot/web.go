package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"faultline/config"
	"faultline/simulate"
	"faultline/simulate/slack"
)

// web plays the conversation in a browser: a Slack look-alike, a bot and the logs of a failed job, all on this machine.
func (d *demo) web(ctx context.Context, e env, inc *simulate.Incident) (code int, err error) {
	if host, _, err := net.SplitHostPort(d.listen); err != nil || net.ParseIP(host) == nil || !net.ParseIP(host).IsLoopback() {
		return exitUsage, usage("--listen %s: use 127.0.0.1:PORT; others must not reach a bot that has no password", d.listen)
	}
	dir, remove, err := scratch()
	if err != nil {
		return exitUnreadable, err
	}
	if !d.keep {
		defer remove()
	}
	play, err := d.cluster(dir, inc)
	if err != nil {
		return exitUnreadable, err
	}
	look := slack.New(slack.Options{Workspace: slack.DefaultWorkspace()})
	url, err := look.Start(d.listen)
	if err != nil {
		return exitUnreadable, err
	}
	defer func() { err = errors.Join(err, look.Close()) }()

	log := logger(e.err, slog.LevelWarn, "text")
	s, err := newService(ctx, webConfig(dir, url), log)
	if err != nil {
		return exitUnreadable, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	err = s.run(ctx, func(string) {
		fmt.Fprintf(e.out, "A bot and a Slack look-alike with a failed job on %d ranks are running on this machine. Open\n\n  %s%s\n\n",
			inc.Spec.NodeCount*inc.Spec.PerNode, url, look.ViewPath("", ""))
		fmt.Fprintf(e.out, "and type  /diagnose %s\n\n", play.job)
		if play.late != "" {
			fmt.Fprintf(e.out, "One node's log is missing at first. When asked for it, upload the file in\n\n  %s\n\n", play.late)
		}
		fmt.Fprint(e.out, "Press Ctrl-C to stop.\n")
	})
	if err != nil {
		return exitUnreadable, err
	}
	return exitOK, nil
}

// cluster lays the logs where the bot looks for them, except the one that comes late.
func (d *demo) cluster(dir string, inc *simulate.Incident) (script, error) {
	play, err := stage(dir, inc)
	if err != nil {
		return play, err
	}
	to := filepath.Join(dir, "cluster", play.job)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return play, fmt.Errorf("creating the logs' directory: %w", err)
	}
	if err := os.Rename(play.first, to); err != nil {
		return play, fmt.Errorf("writing the logs: %w", err)
	}
	play.first = to
	return play, nil
}

// webConfig is a bot for the look-alike's workspace.
func webConfig(dir, url string) config.Config {
	cfg := config.Default()
	cfg.Clusters = []config.Cluster{{Name: "west", LoginHost: "login.west", Logs: config.Logs{Roots: []string{filepath.Join(dir, "cluster")}, Patterns: []string{"{job}"}}}}
	cfg.Slack.AppToken, cfg.Slack.BotToken, cfg.Slack.APIURL = slack.AppToken, slack.BotToken, url+"/api/"
	cfg.Access = config.Access{AnyChannel: true, Direct: true}
	cfg.Data.Dir = filepath.Join(dir, "data")
	return cfg
}
