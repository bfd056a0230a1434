package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"faultline/chat/console"
	"faultline/config"
	"faultline/simulate"
)

func newDemoCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "simulate an incident and investigate it, right here",
		Long: `
Writes the logs of a simulated failed job, with a known cause, to a temporary directory and runs the whole
guided investigation on it: the request, the question about logs, a first verdict with one node missing, the late
file, the revision, the report. It needs no setup and leaves nothing behind.

Examples:
  bot demo
  bot demo --mechanism gpu-ecc --html report.html
  bot demo --interactive
  bot demo --web          the same in a browser, as in Slack

Exit code: 0 on success; 1 when the temporary directory cannot be written; 2 on a usage error.`,
	}
	fs := cmd.Flags()
	var d demo
	fs.StringVar(&d.mechanism, "mechanism", "", "what goes wrong: a `NAME` from bot simulate --list (default: one rank stalls)\ne.g. --mechanism rank-stalled")
	fs.StringVar(&d.html, "html", "", "save the final report as HTML in `FILE`\ne.g. --html report.html")
	fs.BoolVar(&d.interactive, "interactive", false, "answer the questions yourself\ne.g. --interactive")
	fs.BoolVar(&d.keep, "keep", false, "keep the simulated logs and print where they are\ne.g. --keep")
	fs.BoolVar(&d.inBrowser, "web", false, "run it in a browser: a Slack look-alike with the bot and a channel to type /diagnose in\ne.g. --web")
	fs.StringVar(&d.listen, "listen", "127.0.0.1:0", "listen `ADDRESS` for --web; port 0 picks a free port\ne.g. --listen 127.0.0.1:8080")
	fs.StringVar(&d.color, "color", "auto", "`WHEN` to use color: auto (only on a terminal), always or never\ne.g. --color always")
	cmd.RunE = e.does(d.run)
	return cmd
}

type demo struct {
	mechanism, html, color string
	interactive, keep      bool
	inBrowser              bool
	listen                 string
}

// demoPause is the time between typed lines, on a terminal only.
const demoPause = 900 * time.Millisecond

func (d *demo) run(ctx context.Context, e env, args []string) (int, error) {
	if len(args) > 0 {
		return exitUsage, usage("unexpected argument %q", args[0])
	}
	if !slices.Contains(config.Colors, d.color) {
		return exitUsage, usage("--color %s: choose one of %s", d.color, strings.Join(config.Colors, ", "))
	}
	spec := simulate.Demo()
	if d.mechanism != "" {
		if !slices.Contains(simulate.Mechanisms(0), d.mechanism) {
			return exitUsage, usage("unknown --mechanism %s; bot simulate --list shows them all", d.mechanism)
		}
		var err error
		if spec, err = exampleOf(d.mechanism); err != nil {
			return exitUnreadable, err
		}
	}
	inc, err := simulate.Generate(spec)
	if err != nil {
		return exitUnreadable, err
	}
	if d.inBrowser {
		return d.web(ctx, e, inc)
	}
	dir, remove, err := scratch()
	if err != nil {
		return exitUnreadable, err
	}
	if !d.keep {
		defer remove()
	}
	play, err := stage(dir, inc)
	if err != nil {
		return exitUnreadable, err
	}
	d.introduce(e, inc, play)
	cfg := config.Default()
	cfg.Output.Color = d.color
	// Where this bot looks by itself; the logs are elsewhere.
	cfg.Clusters = []config.Cluster{{Logs: config.Logs{Roots: []string{filepath.Join(dir, "cluster")}, Patterns: []string{"{job}"}}}}
	talk := conversation(e, cfg, shared(cfg.Clusters, dir), new(siteKnowledge))
	if d.interactive {
		err = talk.Run(ctx, e.in)
	} else {
		err = d.recite(ctx, e, talk, play.lines)
	}
	if err != nil {
		return exitUnreadable, err
	}
	if d.html != "" {
		if err := keepHTML(ctx, talk.Flow.Store, "1", d.html); err != nil {
			return exitUnreadable, err
		}
		fmt.Fprintf(e.out, "HTML report: %s\n", d.html)
	}
	if d.keep {
		fmt.Fprintf(e.out, "The simulated logs: %s\n", dir)
	}
	fmt.Fprintf(e.out, "\nWhat actually happened in this simulation: %s\n", inc.Title)
	return exitOK, nil
}

// script is what a person types in the demo.
type script struct {
	job         string
	first, late string // directories; late is "" when nothing is held back
	lines       []string
}

// stage writes the logs, holding back the file of one node: the one that the truth is about, because that is the
// one whose absence matters most. Where files are not per node, or there is no such node, everything is there at once.
func stage(dir string, inc *simulate.Incident) (script, error) {
	s := script{job: jobOf(inc), first: filepath.Join(dir, "logs")}
	held := heldBack(inc)
	if held != "" {
		s.late = filepath.Join(dir, "late")
	}
	for _, f := range inc.Files {
		to := s.first
		if f.Name == held {
			to = s.late
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return s, fmt.Errorf("making %s: %w", to, err)
		}
		if err := os.WriteFile(filepath.Join(to, f.Name), f.Data, 0o644); err != nil {
			return s, fmt.Errorf("writing a simulated log: %w", err)
		}
	}
	s.lines = []string{"/diagnose " + s.job, "why?", s.first}
	if s.late != "" {
		s.lines = append(s.lines, "why?", s.late)
	}
	s.lines = append(s.lines, "report")
	return s, nil
}

// heldBack names the log of the root's node, where each node has one.
func heldBack(inc *simulate.Incident) string {
	if inc.Spec.FileMode != "node" || len(inc.Truth.RootRanks) == 0 || inc.Spec.NodeCount < 2 {
		return ""
	}
	node := inc.Truth.RootRanks[0] / inc.Spec.PerNode
	suffix := fmt.Sprintf("-%d.out", node)
	for _, f := range inc.Files {
		if strings.HasSuffix(f.Name, suffix) {
			return f.Name
		}
	}
	return ""
}

// jobOf reads the job id out of names like error-4242-7.out.
func jobOf(inc *simulate.Incident) string {
	for _, f := range inc.Files {
		for _, part := range strings.FieldsFunc(f.Name, func(r rune) bool { return r < '0' || r > '9' }) {
			if len(part) >= 4 {
				return part
			}
		}
	}
	return "4242"
}

func (d *demo) introduce(e env, inc *simulate.Incident, s script) {
	size := 0
	for _, f := range inc.Files {
		size += len(f.Data)
	}
	fmt.Fprintf(e.out, "A job on %d ranks failed. Its logs (simulated): %d files, %.1f MB.\n\n",
		inc.Spec.NodeCount*inc.Spec.PerNode, len(inc.Files), float64(size)/1e6)
	if d.interactive {
		fmt.Fprintf(e.out, "Type /diagnose %s. When asked for logs, give %s", s.job, s.first)
		if s.late != "" {
			fmt.Fprintf(e.out, "; one node's log arrives later, in %s", s.late)
		}
		fmt.Fprint(e.out, ".\n\n")
	}
}

// recite types the script, slowly enough to follow where somebody watches.
func (d *demo) recite(ctx context.Context, e env, talk *console.Console, lines []string) error {
	watched, _ := terminal(e.out)
	for _, line := range lines {
		if watched {
			select {
			case <-time.After(demoPause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		fmt.Fprintf(e.out, "%s%s\n", talk.Prompt, line)
		if err := talk.Line(ctx, line); err != nil {
			return err
		}
		fmt.Fprintln(e.out)
	}
	return nil
}
