package console

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"faultline/workflow"
)

// command is one thing that can be typed; the help text is data beside its handler, so that the two cannot drift.
type command struct {
	names []string
	args  string
	help  string
	do    func(c *Console, ctx context.Context, args []string) error
}

// commands is a function, not a table, because the help command reads it.
func commands() []command {
	return []command{
		{[]string{"diagnose"}, "JOBID [PATH...]", "find out why a job failed; PATH names its logs if you have them", (*Console).diagnose},
		{[]string{"logs"}, "PATH...", "give logs (a path alone does the same)", (*Console).give},
		{[]string{"job"}, "ID", "choose a job when the files hold several", (*Console).job},
		{[]string{"nodes"}, "HOSTLIST", "list the job's nodes: nodes node[01-16]", (*Console).nodes},
		{[]string{"world-size"}, "N", "set the number of ranks", (*Console).worldSize},
		{[]string{"access"}, "[NAME | env | URL]", "let me fetch the storage daemons' logs; I'll prompt for a token", (*Console).giveAccess},
		{[]string{"storage-logs"}, "PATH...", "give storage daemon logs that you fetched yourself", (*Console).storageLogs},
		{[]string{"skip"}, "", "continue without what I asked for last", (*Console).skip},
		{[]string{"why?", "why"}, "", "explain the current step and why I'm asking", (*Console).why},
		{[]string{"report"}, "", "the whole report: evidence, timeline, rank map, groups, coverage", (*Console).report},
		{[]string{"status"}, "", "show progress and open questions", (*Console).status},
		{[]string{"history"}, "", "show what happened so far (the ledger)", (*Console).history},
		{[]string{"glossary"}, "TERM", "explain a term: glossary straggler", (*Console).glossary},
		{[]string{"dispute"}, "TEXT", "dispute the verdict", event(workflow.Dispute)},
		{[]string{"uphold"}, "", "withdraw a dispute", event(workflow.Uphold)},
		{[]string{"retry"}, "", "restart a failed investigation", event(workflow.Retry)},
		{[]string{"cancel"}, "", "stop the investigation", event(workflow.Cancel)},
		{[]string{"close"}, "", "close the investigation", event(workflow.Close)},
		{[]string{"help", "?"}, "", "show this list", (*Console).help},
		{[]string{"quit", "exit"}, "", "leave", func(*Console, context.Context, []string) error { return errQuit }},
	}
}

// find looks a typed word up, with or without the slash of a chat command. A path is never mistaken for one: paths hold
// a second slash, a dot or name something that is not in the list.
func find(word string) (command, bool) {
	word = strings.ToLower(strings.TrimPrefix(word, "/"))
	for _, cmd := range commands() {
		for _, name := range cmd.names {
			if name == word {
				return cmd, true
			}
		}
	}
	return command{}, false
}

func (c *Console) diagnose(ctx context.Context, args []string) error {
	if len(args) == 0 {
		c.say("Which job? Type /diagnose JOBID, for example /diagnose 4242. If you don't know the ID: /diagnose - PATH")
		return nil
	}
	job := strings.Trim(args[0], "`#,;")
	if job == "-" {
		job = ""
	}
	if strings.ContainsAny(job, "/\\*?[{ ") || strings.HasPrefix(job, ".") || strings.HasPrefix(job, "-") {
		c.say("%q isn't a job ID. Use what squeue or sacct shows: 4242, 4242_7. To diagnose a directory: /diagnose - %s",
			printable(job), printable(args[0]))
		return nil
	}
	places, ok := c.places(args[1:])
	if !ok {
		return nil
	}
	c.opened++
	id := fmt.Sprintf("%d", c.opened)
	c.current = id
	if job != "" {
		c.say("Investigating job %s.", printable(job))
	}
	return c.Flow.Open(ctx, workflow.Investigation{ID: id, Job: job, Places: places}, workflow.Input{Actor: "console"})
}

func (c *Console) give(ctx context.Context, args []string) error {
	places, ok := c.places(args)
	if !ok {
		return nil
	}
	if len(places) == 0 {
		c.say("Which path? Type: logs PATH")
		return nil
	}
	return c.handle(ctx, workflow.Input{Event: workflow.LogsGiven, Places: places})
}

func (c *Console) job(ctx context.Context, args []string) error {
	if len(args) != 1 {
		c.say("Type: job ID")
		return nil
	}
	return c.handle(ctx, workflow.Input{Event: workflow.Evidence, JobID: args[0]})
}

func (c *Console) nodes(ctx context.Context, args []string) error {
	if nodes, err := c.Hosts(strings.Join(args, ",")); err == nil && len(nodes) > 0 {
		return c.handle(ctx, workflow.Input{Event: workflow.Evidence, Nodes: nodes})
	}
	c.say("I can't parse that node list. Use SLURM's format: nodes node[01-16],node20")
	return nil
}

func (c *Console) worldSize(ctx context.Context, args []string) error {
	if n, err := strconv.Atoi(strings.Join(args, "")); err == nil && n > 0 {
		return c.handle(ctx, workflow.Input{Event: workflow.Evidence, WorldSize: n})
	}
	c.say("Type the number of ranks: world-size 128")
	return nil
}

func event(e workflow.Event) func(c *Console, ctx context.Context, args []string) error {
	return func(c *Console, ctx context.Context, args []string) error {
		if err := c.handle(ctx, workflow.Input{Event: e, Text: strings.Join(args, " ")}); err != nil || c.current == "" {
			return err
		}
		return c.status(ctx, nil)
	}
}

func (c *Console) handle(ctx context.Context, in workflow.Input) error {
	if c.current == "" {
		c.say("No investigation yet. Type /diagnose JOBID.")
		return nil
	}
	in.Actor = "console"
	return c.Flow.Handle(ctx, c.current, in)
}

func (c *Console) why(ctx context.Context, _ []string) error {
	inv, ok, err := c.load(ctx)
	if !ok {
		return err
	}
	row, _ := workflow.About(inv.State)
	c.say("I'm %s.", row.Doing)
	c.say("%s", row.Why)
	for _, q := range inv.Open {
		c.say("\nI asked: %s", printable(q.Text))
		c.say("Because: %s", printable(q.Why))
	}
	if inv.Report != nil && inv.Report.Verdict.Why != "" {
		c.say("\nWhy this verdict: %s", printable(inv.Report.Verdict.Why))
	}
	return nil
}

func (c *Console) report(ctx context.Context, _ []string) error {
	inv, ok, err := c.load(ctx)
	if !ok {
		return err
	}
	if inv.Report == nil {
		c.say("No report yet: I have no logs.")
		return nil
	}
	if err := c.Render(c.Out, inv.Report); err != nil {
		return fmt.Errorf("showing the report: %w", err)
	}
	return nil
}

func (c *Console) status(ctx context.Context, _ []string) error {
	inv, ok, err := c.load(ctx)
	if !ok {
		return err
	}
	row, _ := workflow.About(inv.State)
	c.say("Job %s: %s (phase %s, %d files read).", orUnknown(printable(inv.Job)), row.Doing, row.Phase, len(inv.Sources))
	if inv.Report != nil {
		c.say("Verdict: %s (%s).", inv.Report.Verdict.Mechanism, inv.Report.Verdict.Status)
	}
	for _, q := range inv.Open {
		c.say("Open: %s", printable(q.Text))
	}
	return nil
}

func (c *Console) history(ctx context.Context, _ []string) error {
	_, ok, err := c.load(ctx)
	if !ok {
		return err
	}
	entries, err := c.Flow.Store.Ledger(ctx, c.current)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	for _, e := range entries {
		text := e.Text
		if e.Event != "" {
			text = strings.TrimSpace(fmt.Sprintf("%s -> %s (%s) %s", e.From, e.To, e.Event, e.Text))
		}
		c.say("%3d  %s  %-10s  %s", e.Seq, e.At.UTC().Format("15:04:05"), e.Kind, printable(text))
	}
	return nil
}

func (c *Console) glossary(_ context.Context, args []string) error {
	term := strings.Join(args, " ")
	text, known := c.Lookup(term)
	if text != "" {
		c.say("%s: %s", term, text)
		return nil
	}
	if term != "" {
		c.say("No entry for %q.", printable(term))
	}
	c.say("Terms: %s", strings.Join(known, ", "))
	return nil
}

func (c *Console) help(context.Context, []string) error {
	c.say("Commands:")
	for _, cmd := range commands() {
		c.say("  %-28s %s", strings.TrimSpace(cmd.names[0]+" "+cmd.args), cmd.help)
	}
	c.say("You never have to answer a question to get a report.")
	return nil
}

// load returns the current investigation; without one it says so.
func (c *Console) load(ctx context.Context) (workflow.Investigation, bool, error) {
	if c.current == "" {
		c.say("No investigation yet. Type /diagnose JOBID, or help.")
		return workflow.Investigation{}, false, nil
	}
	inv, err := c.Flow.Store.Load(ctx, c.current)
	if err != nil {
		return inv, false, fmt.Errorf("investigation %s: %w", c.current, err)
	}
	return inv, true, nil
}

func orUnknown(job string) string {
	if job == "" {
		return "(unknown ID)"
	}
	return job
}
