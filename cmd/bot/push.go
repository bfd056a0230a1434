package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"faultline/config"
	"faultline/fetch"
	"faultline/fetch/gate"
	"faultline/fetch/jobs"
	"faultline/fetch/push"
	"faultline/fetch/slurm"
	"faultline/fetch/source/mounted"
	"faultline/incident"
)

func newPushCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "push [flags] [JOB [FILE|DIRECTORY|'PATTERN'...]]",
		Short: "send your job's logs to a bot that can't read them itself",
		Long: `
Sends a job's logs, with your own permissions, to a bot running elsewhere; /diagnose JOB in Slack then finds them.
Run it on a login node, or in the batch script, where JOB defaults to the job itself. Without files it asks SLURM where the job
wrote its logs, sends the batch script's log and those from every srun, with the accounting record, and reports which
nodes have none. With files it sends those. Files already sent are skipped; an interrupted transfer is
resumed. Nothing is changed on the cluster.

Ask the bot's administrator for its URL, the name it uses for your cluster, and a secret. Save the secret in a file only
you can read:
  mkdir -p ~/.config/faultline; (umask 077; cat > ~/.config/faultline/push)      (paste the secret, then Ctrl-D)
  export FAULTLINE_PUSH_TO=https://bot.example.org FAULTLINE_CLUSTER=west         (in ~/.bashrc)

Examples:
  bot push 4242
  bot push --dry-run 4242
  bot push 4242_7 logs/error-4242_7-*.out /scratch/run7/debug
  bot push --to https://bot.example.org --cluster west --token-file ~/.config/faultline/push 4242

At the top of a batch script. It runs however the script ends, keeps the script's exit code, and never fails the job:
  trap 'bot push --quiet-failure' EXIT
Only when something failed:
  trap '[ $? -eq 0 ] || bot push --quiet-failure' EXIT
It does not run when SLURM kills the script (time limit, lost node): then push from a login node.

Exit code: 0 = every log that was found reached the bot (missing nodes are listed); 1 = some did not (the reason is printed); 2 = usage error.
Always 0 with --quiet-failure.`,
	}
	fs := cmd.Flags()
	p := pusher{}
	fs.StringVar(&p.to, "to", os.Getenv("FAULTLINE_PUSH_TO"), "`ADDRESS` of the bot (default: $FAULTLINE_PUSH_TO)\ne.g. --to https://bot.example.org")
	fs.StringVar(&p.cluster, "cluster", "", "the bot's name for the cluster, `NAME` (default: $FAULTLINE_CLUSTER, else $SLURM_CLUSTER_NAME)\ne.g. --cluster west")
	fs.StringVar(&p.tokenFile, "token-file", "", "read the secret from `FILE` (default: $FAULTLINE_PUSH_TOKEN_FILE, else $FAULTLINE_PUSH_TOKEN itself, else ~/.config/faultline/push)\ne.g. --token-file ~/.config/faultline/push")
	fs.StringVar(&p.caFile, "ca-file", "", "PEM `FILE` with the CA that signed the bot's certificate, if this machine doesn't trust it\ne.g. --ca-file /etc/ssl/site.pem")
	fs.DurationVar(&p.timeout, "timeout", 10*time.Minute, "give up after this `TIME`, so no node is held up; anything already sent counts next time\ne.g. --timeout 2m")
	fs.BoolVar(&p.dry, "dry-run", false, "show what would be sent, without sending\ne.g. --dry-run")
	fs.BoolVar(&p.quiet, "quiet-failure", false, "always exit with 0, printing one line on failure; for batch scripts\ne.g. --quiet-failure")
	fs.StringVar(&p.makeToken, "make-token", "", "for the bot's administrator: print a secret for one `USER`, derived from the cluster's in --token-file; valid only for that user's jobs\ne.g. --make-token alice")
	cmd.RunE = e.does(func(ctx context.Context, e env, args []string) (int, error) {
		code, err := p.run(ctx, e, args)
		if p.quiet && (err != nil || code != exitOK) {
			if err != nil {
				fmt.Fprintf(e.err, "bot push: %s (this does not fail the job)\n", strings.Join(strings.Fields(err.Error()), " "))
			}
			return exitOK, nil
		}
		return code, err
	})
	return cmd
}

const (
	// asks is how often SLURM is asked for a job whose logs are not found, and askWait how long it is given in between.
	asks    = 3
	askWait = 3 * time.Second
)

// pusher is one run of the command.
type pusher struct {
	to, cluster, tokenFile, caFile, makeToken string
	timeout                                   time.Duration
	dry, quiet                                bool
}

func (p *pusher) run(ctx context.Context, e env, args []string) (int, error) {
	if p.makeToken != "" {
		return p.mint(e)
	}
	id, err := jobToPush(&args)
	if err != nil {
		return exitUsage, err
	}
	for _, name := range []string{"FAULTLINE_CLUSTER", "SLURM_CLUSTER_NAME"} {
		if p.cluster == "" {
			p.cluster = os.Getenv(name)
		}
	}
	client, err := p.client(e)
	if err != nil {
		return exitUsage, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.timeout, fmt.Errorf("not done after %s (--timeout); run the same command to continue", p.timeout))
	defer cancel()
	dir, remove, err := scratch()
	if err != nil {
		return exitUnreadable, err
	}
	defer remove()
	o, files, err := p.gather(ctx, e, dir, id, args)
	if err != nil {
		return exitUnreadable, err
	}
	if p.dry {
		for _, f := range files {
			fmt.Fprintln(e.out, f.Path)
		}
		return exitOK, nil
	}
	bar := newProgress(e.err, "sending")
	client.Progress = bar.update
	answer, left, err := client.Send(ctx, o, files)
	bar.clear()
	for _, l := range left {
		fmt.Fprintln(e.err, l)
	}
	if err != nil {
		return exitUnreadable, explained(err, p)
	}
	fmt.Fprintf(e.out, "The bot has %s from job %s (%d KB) and keeps them for %s. In Slack: /diagnose %s\n",
		count(answer.Files, "file"), o.Job, (answer.Bytes+1023)>>10, config.Duration(answer.Keep), o.Job)
	if len(left) > 0 {
		return exitUnreadable, fmt.Errorf("%s could not be sent", count(len(left), "file"))
	}
	return exitOK, nil
}

// jobToPush takes the job from the arguments, or from the environment of the job that this runs in.
func jobToPush(args *[]string) (slurm.ID, error) {
	if len(*args) > 0 {
		id, err := slurm.ParseID((*args)[0])
		if err == nil && id.Tasks != "" {
			err = fmt.Errorf("push one element of the array at a time: %d_N", id.Job)
		}
		if err != nil {
			return id, usage("%v", err)
		}
		*args = (*args)[1:]
		return id, nil
	}
	text := os.Getenv("SLURM_JOB_ID")
	if array, task := os.Getenv("SLURM_ARRAY_JOB_ID"), os.Getenv("SLURM_ARRAY_TASK_ID"); array != "" && task != "" {
		text = array + "_" + task
	}
	if text == "" {
		return slurm.ID{}, usage("which job? bot push 4242 (inside a job, the job itself is the default)")
	}
	id, err := slurm.ParseID(text)
	if err != nil {
		return id, usage("SLURM_JOB_ID: %v", err)
	}
	return id, nil
}

// defaultToken is where a person keeps the secret.
func defaultToken() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "faultline", "push")
}

// token reads the secret.
func (p *pusher) token() (push.Token, error) {
	name := p.tokenFile
	if name == "" {
		name = os.Getenv("FAULTLINE_PUSH_TOKEN_FILE")
	}
	if text := os.Getenv("FAULTLINE_PUSH_TOKEN"); name == "" && text != "" {
		return push.ParseToken(text), nil
	}
	if name == "" {
		name = defaultToken()
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return push.Token{}, usage("can't read the secret: %v. Get it from the bot's administrator; --token-file says where it is", err)
	}
	t := push.ParseToken(string(text))
	if t.Key == "" {
		return t, usage("%s is empty: put the secret from the bot's administrator there", name)
	}
	return t, nil
}

func (p *pusher) mint(e env) (int, error) {
	t, err := p.token()
	if err != nil {
		return exitUsage, err
	}
	if t.User != "" || strings.ContainsAny(p.makeToken, ": \t\n") {
		return exitUsage, usage("--make-token needs the cluster's own secret in --token-file, and the name of an account")
	}
	fmt.Fprintf(e.out, "%s:%s\n", p.makeToken, push.UserKey(t.Key, p.makeToken).Reveal())
	return exitOK, nil
}

// gather finds what is to be sent.
func (p *pusher) gather(ctx context.Context, e env, dir string, id slurm.ID, paths []string) (push.Offer, []push.Local, error) {
	o := push.Offer{Job: id.String()}
	o.Host, _ = os.Hostname()
	if u, err := user.Current(); err == nil {
		o.User = u.Username
	}
	f, err := p.cluster1(dir)
	if err != nil {
		return o, nil, err
	}
	g, err := f.Gather(ctx, p.cluster, id)
	for n := 1; n < asks && len(paths) == 0 && len(g.Logs) == 0 && ctx.Err() == nil; n++ { // the accounting knows of a job a little late
		if sleep(ctx, askWait) == nil {
			g, err = f.Gather(ctx, p.cluster, id)
		}
	}
	if ctx.Err() != nil {
		return o, nil, context.Cause(ctx)
	}
	logs := g.Logs
	switch {
	case err != nil && len(paths) == 0:
		return o, nil, fmt.Errorf("the location of job %s's logs is unknown: %w. List them: bot push %s FILE", id, err, id)
	case err != nil:
		fmt.Fprintf(e.err, "SLURM has no record of job %s (%v); sending the files without one.\n", id, err)
	default:
		o.Job, o.Restart, o.Submit, o.Nodes, o.NodesFrom = g.ID, g.Restart, g.Submit, g.Nodes, g.NodesFrom
	}
	notes := g.Notes
	if len(paths) > 0 {
		if logs, notes, err = named(ctx, dir, paths); err != nil {
			return o, nil, err
		}
	}
	if g.Says != "" {
		fmt.Fprintln(e.err, g.Says)
	}
	for _, n := range notes {
		fmt.Fprintln(e.err, n)
	}
	if len(logs) == 0 {
		return o, nil, fmt.Errorf("no logs found for job %s. List them: bot push %s FILE", id, id)
	}
	o.Notes = notes
	return o, append(local(logs, dir, false), local(g.Facts, dir, true)...), nil
}

// cluster1 is the cluster that this machine belongs to, as this account sees it.
func (p *pusher) cluster1(dir string) (*jobs.Fetcher, error) {
	disk, err := mounted.New("/")
	if err != nil {
		return nil, err
	}
	place := jobs.Place{Roots: []string{"/"}, Mounted: true}
	place.ID, place.Origin, place.Source = "file://", "shared", disk
	ask := &slurm.Cluster{Name: p.cluster, Now: time.Now, Backends: []slurm.Backend{&slurm.Commands{Command: slurm.Local{}}}}
	return &jobs.Fetcher{
		Now: time.Now, Shared: &fetch.Shared{Spool: dir, Now: time.Now, Gate: gate.Typed()},
		Clusters: []jobs.Cluster{{Name: p.cluster, Ask: ask, Places: []jobs.Place{place}}},
	}, nil
}

// named are the files that somebody named; patterns that the shell has left alone are looked for here.
func named(ctx context.Context, dir string, paths []string) ([]incident.Source, []string, error) {
	var all []string
	for _, p := range paths {
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, nil, usage("%s is not a valid pattern: %v", p, err)
		}
		if len(found) == 0 {
			found = []string{p}
		}
		all = append(all, found...)
	}
	set, err := fetch.Local(ctx, all, fetch.LocalOptions{SpoolDir: dir})
	if err != nil {
		return nil, nil, err
	}
	return set.Sources, set.Warnings, nil
}

// local are sources as they are pushed. What was unpacked here lies nowhere else.
func local(list []incident.Source, dir string, facts bool) []push.Local {
	var out []push.Local
	for _, s := range list {
		l := push.Local{File: push.File{Name: s.Name, Path: s.Path, Fact: facts}, At: s.Path}
		if strings.HasPrefix(s.Path, dir+"/") {
			l.Path = s.Name
		}
		l.Owner = strings.Join(fetch.Owners(context.Background(), gate.Typed(), s.Path), " ")
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b push.Local) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// explained adds what to do.
func explained(err error, p *pusher) error {
	var no *push.Refused
	if !errors.As(err, &no) {
		return err
	}
	switch {
	case no.Status == 401 && strings.Contains(no.Text, "clock"):
		return fmt.Errorf("the bot refuses: %w on this machine, %s. Ask its administrator to set the clock (or the bot's)", err, time.Now().UTC().Format(time.RFC3339))
	case no.Status == 401:
		return fmt.Errorf("the bot refuses: %w. The cluster name was %q; ask the bot's administrator for the right name, and whether the secret has changed", err, p.cluster)
	case no.Status == 422:
		return fmt.Errorf("%w: something is still writing to it. Push again when the job has ended", err)
	}
	return fmt.Errorf("the bot refuses: %w", err)
}
