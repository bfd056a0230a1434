package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"faultline/chat/slack"
	"faultline/config"
	"faultline/store/bundle"
	"faultline/workflow"
)

func newForgetCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forget [flags] INCIDENT",
		Short: "delete an incident: its posts, stored data and archive",
		Long: `
Deletes everything about an incident (F-12): its Slack messages, rows in the store, attachments, uploads,
unpacked archives, the archive, and any test case made from it. It only keeps a record that it was deleted, when and by
whom. Logs the bot only read are left alone. It reports exactly what was removed and what couldn't be. With
SQLite, stop the bot first: only one process can use the store.

Examples:
  bot forget --config /etc/faultline.yaml F-12
  bot forget --yes F-12

Exit code: 0 when all of it is gone, or will be at the bot's next start; 1 when something could not be removed; 2 on a usage error.`,
	}
	fs := cmd.Flags()
	var c common
	c.declare(fs)
	yes := fs.Bool("yes", false, "don't ask for confirmation\ne.g. --yes")
	cmd.RunE = e.does(func(ctx context.Context, e env, args []string) (int, error) {
		id, err := incidentID(args)
		if err != nil {
			return exitUsage, err
		}
		cfg, log, err := c.load(e.err)
		if err != nil {
			return exitUsage, err
		}
		c.environment(&cfg)
		if _, err := existing(cfg); err != nil {
			return exitUnreadable, err
		}
		s, err := openStores(ctx, cfg)
		if err != nil {
			return exitUnreadable, fmt.Errorf("%w\nTo forget an incident, stop the bot, run this again, and start it", err)
		}
		code, err := forget(ctx, e, cfg, log, s, id, *yes)
		if err = errors.Join(err, s.Close()); err != nil && code == exitOK {
			code = exitUnreadable
		}
		return code, err
	})
	return cmd
}

// existing refuses to make a new store where only an existing one makes sense.
func existing(cfg config.Config) (string, error) {
	dir, err := dataDir(cfg)
	if err != nil || cfg.Data.Postgres != "" {
		return dir, err
	}
	db, err := readSQLite(databaseFile(dir))
	if err != nil {
		return dir, err
	}
	return dir, db.Close()
}

func forget(ctx context.Context, e env, cfg config.Config, log *slog.Logger, s *stores, id string, yes bool) (int, error) {
	inv, err := s.Load(ctx, id)
	if errors.Is(err, workflow.ErrUnknown) {
		_, err = bundle.Read(ctx, s.source(), id) // says when it was forgotten
		if errors.Is(err, bundle.ErrForgotten) {
			fmt.Fprintln(e.out, err)
			return exitOK, nil
		}
		return exitUnreadable, fmt.Errorf("no incident %s in this store", id)
	}
	if err != nil {
		return exitUnreadable, err
	}
	if !yes {
		fmt.Fprintf(e.out, "Incident %s (job %s, asked by %s on %s) will be deleted, including from Slack. Type %s to continue: ",
			id, inv.Job, inv.Home.Requester, inv.Asked.UTC().Format(time.DateOnly), id)
		answer, err := bufio.NewReader(io.LimitReader(e.in, 100)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return exitUnreadable, err
		}
		if !strings.EqualFold(strings.TrimSpace(answer), id) {
			return exitUsage, usage("nothing was removed; use --yes to skip the prompt")
		}
	}
	actor := operator()
	f := s.forgetter()
	done, err := f.Begin(ctx, id, actor)
	say(e.out, done)
	if err != nil {
		return exitUnreadable, err
	}
	if done.Posts > 0 {
		if err := unpost(ctx, cfg, log, s, id); err != nil {
			fmt.Fprintf(e.out, "Slack: %v\n", err)
		}
	}
	waiting, end, err := f.Finish(ctx, id, actor)
	say(e.out, end)
	if err != nil {
		return exitUnreadable, err
	}
	if waiting > 0 {
		fmt.Fprintf(e.out, "waiting: %d messages in Slack and the rows in the store; they will be deleted when the bot next runs (bot serve), or when you run this command again\n", waiting)
		return exitOK, nil
	}
	if len(end.Kept) > 0 {
		return exitUnreadable, nil
	}
	return exitOK, nil
}

func say(w io.Writer, f bundle.Forgotten) {
	for _, text := range f.Removed {
		fmt.Fprintf(w, "removed: %s\n", text)
	}
	for _, text := range f.Kept {
		fmt.Fprintf(w, "remains: %s\n", text)
	}
}

// operator is who runs this command, for the trail.
func operator() string {
	if u, err := user.Current(); err == nil {
		return "administrator " + u.Username
	}
	return "administrator"
}

// removals is an outbox that holds nothing but the removal of one incident's messages.
type removals struct {
	workflow.Outbox
	id string
}

func (r removals) Due(ctx context.Context, _ int) ([]workflow.Post, error) {
	return r.only(r.Outbox.Due(ctx, 1<<20))
}

func (r removals) Unsettled(ctx context.Context) ([]workflow.Post, error) {
	return r.only(r.Outbox.Unsettled(ctx))
}

func (r removals) only(posts []workflow.Post, err error) ([]workflow.Post, error) {
	var mine []workflow.Post
	for _, p := range posts {
		if p.Investigation == r.id && p.Kind == workflow.PostRemove {
			mine = append(mine, p)
		}
	}
	return mine, err
}

// left counts the removals that are still to be done.
func (r removals) left(ctx context.Context) (int, error) {
	posts, err := r.Posts(ctx, r.id)
	n := 0
	for _, p := range posts {
		if p.Kind == workflow.PostRemove && (p.State == workflow.PostQueued || p.State == workflow.PostSending) {
			n++
		}
	}
	return n, err
}

const (
	// unpostPoll is how often it looks whether Slack has removed something, unpostStall how long it waits when nothing moves:
	// Slack removes some fifty messages a minute.
	unpostPoll  = 100 * time.Millisecond
	unpostStall = 20 * time.Second
)

// unpost removes the messages of an incident from Slack now, as far as Slack lets it.
func unpost(ctx context.Context, cfg config.Config, log *slog.Logger, s *stores, id string) error {
	if cfg.Slack.BotToken == "" {
		return errors.New("there is no bot token here, so nothing was removed yet")
	}
	metrics := slack.NewMetrics(nil)
	client, err := slack.NewClient(slack.Config{BotToken: cfg.Slack.BotToken, APIURL: cfg.Slack.APIURL}, metrics, log, time.Now)
	if err != nil {
		return err
	}
	if _, err := client.Probe(ctx, false); err != nil {
		return fmt.Errorf("nothing was removed: %w", err)
	}
	out := removals{s.Durable, id}
	ctx, cancel := context.WithCancel(ctx)
	sender := &slack.Sender{Client: client, Outbox: out, Blobs: s.Blobs, Log: log, Metrics: metrics}
	ended := make(chan error, 1)
	go func() { ended <- sender.Run(ctx) }()
	err = settled(ctx, out)
	cancel()
	return errors.Join(err, <-ended)
}

// settled waits until no removal is left, or none moves any more.
func settled(ctx context.Context, out removals) error {
	before, idle := -1, time.Duration(0)
	for idle < unpostStall {
		n, err := out.left(ctx)
		if n == 0 || err != nil {
			return err
		}
		if n != before {
			before, idle = n, 0
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(unpostPoll):
			idle += unpostPoll
		}
	}
	return errors.New("some messages cannot be removed now")
}
