package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"faultline/analysis"
	"faultline/analysis/hostlist"
	"faultline/chat"
	"faultline/chat/console"
	"faultline/config"
	"faultline/fetch"
	"faultline/fetch/ais"
	"faultline/fetch/gate"
	"faultline/fetch/spool"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/messages"
	"faultline/workflow"
)

func newConsoleCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "console [flags]",
		Short: "a guided investigation in this terminal",
		Long: `
The same conversation as in Slack: type /diagnose JOBID, answer questions or skip them, and read the report. Type
why? at any time to see why, or help for a list of commands.

Examples:
  bot console
  bot console --config faultline.yaml
  printf '/diagnose 4242\nlogs-4242/\n' | bot console

Exit code: 0 on success; 1 when something failed that you cannot fix; 2 on a usage error.`,
	}
	fs := cmd.Flags()
	var c common
	c.declare(fs)
	c.declareLook(fs)
	cmd.RunE = e.does(func(ctx context.Context, e env, args []string) (int, error) {
		if len(args) > 0 {
			return exitUsage, usage("takes no arguments; to diagnose files directly, use bot diagnose %s", args[0])
		}
		cfg, _, err := c.load(e.err)
		if err != nil {
			return exitUsage, err
		}
		dir, remove, err := scratch()
		if err != nil {
			return exitUnreadable, err
		}
		defer remove()
		logs, err := sources(ctx, cfg, dir, takenIn(dir), spool.Options{})
		if err != nil {
			return exitUsage, err
		}
		defer logs.Close()
		logs.shared.Gate = gate.Typed()
		known, err := knownTo(cfg)
		if err != nil {
			return exitUsage, err
		}
		talk := conversation(e, cfg, logs, known)
		store := asksForStorage(talk, e, cfg, dir)
		defer store.Close()
		if cfg.Output.Dir != "" {
			talk.Keep = keeper(talk, cfg.Output.Dir)
		}
		fmt.Fprint(e.out, "Faultline finds out why a training job failed. Type /diagnose JOBID, or help.\n")
		if err := talk.Run(ctx, e.in); err != nil {
			return exitUnreadable, err
		}
		return exitOK, nil
	})
	return cmd
}

// textWidth is the widest paragraph that is still read with ease, in columns.
const textWidth = 100

// conversation wires a console to the engine, with everything kept in memory.
func conversation(e env, cfg config.Config, logs workflow.Fetcher, known *siteKnowledge) *console.Console {
	bar := newProgress(e.err, "reading")
	engine := engine(gate.Typed(), known)
	diagnose := engine.Diagnose
	engine.Diagnose = func(ctx context.Context, in analysis.Input) (*incident.Report, error) {
		defer bar.clear()
		return diagnose(ctx, in)
	}
	typed, _ := terminal(e.in)
	l := look{color: colored(cfg.Output.Color, e.out), width: columns(e.out)}
	width := min(l.width, textWidth)
	talk := &console.Console{
		Out: e.out,
		Brief: func(w io.Writer, r *incident.Report) error {
			_, err := fmt.Fprintln(w, strings.Join(messages.FirstScreen(r, width), "\n"))
			return err
		},
		Render: func(w io.Writer, r *incident.Report) error { return render(w, "terminal", r, l) },
		Lookup: lookup,
		Hosts:  hostlist.Expand,
		Prompt: "> ",
		Echo:   !typed,
		Width:  width,
	}
	talk.Flow = &workflow.Flow{
		Fetch: logs, Engine: engine, Post: talk, Store: workflow.NewMemory(), Now: time.Now,
		Hint: hints(cfg.Clusters), Zone: zones(cfg.Clusters), Workers: cfg.Limits.Workers, Version: version, Progress: bar.update,
	}
	return talk
}

// asksForStorage lets a conversation ask for the logs of the storage, and pull them below dir. Close the result.
func asksForStorage(talk *console.Console, e env, cfg config.Config, dir string) *ais.Source {
	rules := cfg.StorageAccess
	source := ais.NewSource(cfg.Storage, rules, dir)
	talk.Storage, talk.Hide = &ownAccesses{accesses{source}, len(rules.Allow) == 0}, echo(e.in)
	for _, s := range cfg.Storage {
		talk.Profiles = append(talk.Profiles, s.Name)
	}
	talk.Flow.AskStorage, talk.Flow.Storage, talk.Flow.Daemons = true, source, daemonLogs(dir, fetch.LocalOptions{Gate: gate.Typed(), Unpack: unpack(cfg.Limits)})
	return source
}

// ownAccesses are those that the person gives who runs the program: where the configuration does not say which hosts may be
// named, that person does.
type ownAccesses struct {
	accesses
	own bool
}

func (o *ownAccesses) Access(ctx context.Context, inv workflow.Investigation, given chat.Access) error {
	access, err := o.of(given)
	if err != nil {
		return err
	}
	if o.own {
		access = ais.Stated(access)
	}
	return o.give(ctx, inv, access)
}

func (o *ownAccesses) Environment(ctx context.Context, inv workflow.Investigation) ([]string, error) {
	if os.Getenv("AIS_ENDPOINT") == "" {
		return nil, errors.New("AIS_ENDPOINT is not set in the environment of this program")
	}
	access, said, err := storageAccess("env")
	if err != nil {
		return said, err
	}
	return said, o.give(ctx, inv, access)
}

// keeper writes each report of a conversation as HTML into a directory.
func keeper(talk *console.Console, dir string) func(string, *incident.Report) (string, error) {
	return func(id string, _ *incident.Report) (string, error) {
		inv, err := talk.Flow.Store.Load(context.Background(), id)
		if err != nil {
			return "", err
		}
		name := "job-" + strings.Map(fileSafe, inv.Job)
		if inv.Job == "" {
			name = "investigation-" + id
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", fmt.Errorf("making %s: %w", dir, err)
		}
		file := filepath.Join(dir, name+".html")
		return file, keepHTML(context.Background(), talk.Flow.Store, id, file)
	}
}

// keepHTML writes the newest report of an investigation into a file.
func keepHTML(ctx context.Context, store workflow.Store, id, file string) error {
	inv, err := store.Load(ctx, id)
	if err != nil {
		return err
	}
	if inv.Report == nil {
		return fmt.Errorf("there is no report to write to %s", file)
	}
	l := look{files: filesOf(inv.Everything())}
	return writeFile(file, func(w io.Writer) error { return render(w, "html", inv.Report, l) })
}

func fileSafe(r rune) rune {
	if r == '_' || r == '-' || r == '+' || (r >= '0' && r <= '9') || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') {
		return r
	}
	return '_'
}

// lookup explains a term or a mechanism.
func lookup(term string) (string, []string) {
	if t, ok := knowledge.TermByName(term); ok {
		return t.Text, nil
	}
	if m, ok := knowledge.MechanismBySlug(knowledge.Slug(term)); ok {
		return m.Meaning, nil
	}
	var known []string
	for _, t := range knowledge.Glossary() {
		known = append(known, t.Name)
	}
	return "", known
}
